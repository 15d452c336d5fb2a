//! The terminal while a view uses it: an alternate screen, keys without waiting for Enter, and everything restored
//! afterwards, however the view ends.

use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use ratatui_crossterm::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui_crossterm::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui_crossterm::crossterm::{cursor, execute};
use report::live::Key;
use std::io::{self, Stdout};
use std::time::Duration;

/// A terminal that is drawn on.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

/// What came from the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    Key(Key),
    /// The window's size has changed.
    Resized,
    Nothing,
}

impl Screen {
    /// Takes the terminal.
    pub(super) fn open() -> io::Result<Screen> {
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        enable_raw_mode()?;
        let screen = Screen { terminal };
        execute!(io::stdout(), EnterAlternateScreen, cursor::Hide)?;
        Ok(screen)
    }

    /// Draws.
    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut ratatui_core::terminal::Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(draw).map(drop)
    }

    /// Waits for input, at most for `patience`.
    pub(super) fn input(&self, patience: Duration) -> io::Result<Input> {
        if !event::poll(patience)? {
            return Ok(Input::Nothing);
        }
        Ok(match event::read()? {
            Event::Key(pressed) if pressed.kind != KeyEventKind::Release => {
                key(pressed).map_or(Input::Nothing, Input::Key)
            }
            Event::Resize(..) => Input::Resized,
            _ => Input::Nothing,
        })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // If the terminal is gone, there is nowhere to report it.
        let _ = execute!(io::stdout(), LeaveAlternateScreen, cursor::Show);
        let _ = disable_raw_mode();
    }
}

/// What a key means.
fn key(pressed: KeyEvent) -> Option<Key> {
    let control = pressed.modifiers.contains(KeyModifiers::CONTROL);
    Some(match pressed.code {
        KeyCode::Char('c' | 'd') if control => Key::Quit,
        KeyCode::Char('q') | KeyCode::Esc => Key::Quit,
        KeyCode::Char('p' | ' ') => Key::Pause,
        KeyCode::Char('s') => Key::Sort,
        KeyCode::Tab | KeyCode::Right | KeyCode::Char('l') => Key::Next,
        KeyCode::BackTab | KeyCode::Left | KeyCode::Char('h') => Key::Previous,
        KeyCode::Up | KeyCode::Char('k') => Key::Up,
        KeyCode::Down | KeyCode::Char('j') => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_do_what_the_last_line_says() {
        let plain = |code| key(KeyEvent::new(code, KeyModifiers::NONE));
        assert_eq!(plain(KeyCode::Char('q')), Some(Key::Quit));
        assert_eq!(plain(KeyCode::Char('p')), Some(Key::Pause));
        assert_eq!(plain(KeyCode::Char('s')), Some(Key::Sort));
        assert_eq!(plain(KeyCode::Tab), Some(Key::Next));
        assert_eq!(plain(KeyCode::Left), Some(Key::Previous));
        assert_eq!(plain(KeyCode::Down), Some(Key::Down));
        assert_eq!(key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Some(Key::Quit));
        assert_eq!(plain(KeyCode::Char('c')), None);
    }
}
