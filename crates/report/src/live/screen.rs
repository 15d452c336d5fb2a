//! The live view's screen: a line of sums, and four tables, side by side where there is room and one at a time where
//! there is not.

use super::glance::Glance;
use super::plain::headline;
use crate::show::View;
use crate::text;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Constraint, Layout, Rect};
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::symbols::border;
use ratatui_core::text::{Line, Span};
use ratatui_core::widgets::Widget;
use ratatui_widgets::block::Block;
use ratatui_widgets::paragraph::Paragraph;
use ratatui_widgets::sparkline::Sparkline;

/// From this many columns on, two tables fit side by side with legible names.
const WIDE: u16 = 120;
/// From this many lines on, two tables fit above each other.
const TALL: u16 = 20;
/// Lines that PageUp and PageDown move by.
const PAGE: usize = 10;
/// Tables.
const PANELS: usize = 4;

/// A key by its meaning, not by its place on the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// End the view.
    Quit,
    /// Pause, or go on.
    Pause,
    /// The next table.
    Next,
    /// The table before.
    Previous,
    /// A line up.
    Up,
    /// A line down.
    Down,
    /// Some lines up.
    PageUp,
    /// Some lines down.
    PageDown,
    /// Sort the table by its next column.
    Sort,
}

/// What the user looks at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Look {
    focus: usize,
    scroll: [usize; PANELS],
    /// 0 is the tables' own order; n sorts by the n-th column with numbers.
    sort: [usize; PANELS],
    /// True while the screen is paused.
    pub paused: bool,
}

impl Look {
    /// Does what a key means. Returns true to end the view.
    pub fn press(&mut self, key: Key, glance: Option<&Glance>) -> bool {
        let panel = glance.and_then(|g| g.panels.get(self.focus));
        let last = panel.map_or(0, |p| p.rows.len().saturating_sub(1));
        let focus = self.focus;
        let (Some(scroll), Some(sort)) = (self.scroll.get_mut(focus), self.sort.get_mut(focus)) else { return false };
        match key {
            Key::Quit => return true,
            Key::Pause => self.paused = !self.paused,
            Key::Next => self.focus = (focus + 1) % PANELS,
            Key::Previous => self.focus = (focus + PANELS - 1) % PANELS,
            Key::Up => *scroll = scroll.saturating_sub(1),
            Key::Down => *scroll = (*scroll + 1).min(last),
            Key::PageUp => *scroll = scroll.saturating_sub(PAGE),
            Key::PageDown => *scroll = (*scroll + PAGE).min(last),
            Key::Sort => {
                *sort = (*sort + 1) % (panel.map_or(0, |p| numeric(p).len()) + 1);
                *scroll = 0;
            }
        }
        false
    }

    /// Draws a screenful. `glance` is absent until the first look.
    pub fn draw(&self, glance: Option<&Glance>, unicode: bool, colour: bool, area: Rect, buffer: &mut Buffer) {
        let tone = TextStyle { unicode, colour };
        let [head, body, foot] =
            Layout::vertical([Constraint::Length(2), Constraint::Min(0), Constraint::Length(1)]).areas(area);
        let Some(glance) = glance else {
            return Line::raw("looking ...").render(head, buffer);
        };
        top(glance, tone, head, buffer);
        for (at, area) in self.places(body) {
            if let Some(panel) = glance.panels.get(at) {
                self.panel(at, panel, tone, area, buffer);
            }
        }
        let keys = "q quit   p pause   Tab or arrows: table   up, down: rows   s sort";
        let mut line = vec![Span::styled(keys, tone.faint())];
        if self.paused {
            line.insert(0, Span::styled(" PAUSED  ", tone.strong()));
        }
        Line::from(line).render(foot, buffer);
    }

    /// Where tables go: all four, two of them, or only the one that has the focus.
    fn places(&self, area: Rect) -> Vec<(usize, Rect)> {
        let halves = |area: Rect| {
            let parts: [Rect; 2] = Layout::vertical([Constraint::Fill(1), Constraint::Fill(1)]).areas(area);
            parts
        };
        if area.width >= WIDE && area.height >= TALL {
            let [left, right]: [Rect; 2] = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(area);
            let ([a, c], [b, d]) = (halves(left), halves(right));
            return vec![(0, a), (1, b), (2, c), (3, d)];
        }
        if area.height >= TALL {
            // The threads above; below them the table with the focus, or the second one when the threads have it.
            let [above, below] = halves(area);
            let second = if self.focus == 0 { 1 } else { self.focus };
            return vec![(0, above), (second, below)];
        }
        vec![(self.focus, area)]
    }

    fn panel(&self, at: usize, view: &View, tone: TextStyle, area: Rect, buffer: &mut Buffer) {
        let focused = at == self.focus;
        let columns = numeric(view);
        let sorted = self.sort.get(at).and_then(|n| n.checked_sub(1)).and_then(|n| columns.get(n));
        let by = sorted.and_then(|key| view.columns.iter().find(|c| c.key == *key)).map(|c| c.title);
        let mark = if focused { "* " } else { "" };
        let by = by.map(|title| format!(" by {title}")).unwrap_or_default();
        let what = if view.rows.len() == 1 { view.title.trim_end_matches('s') } else { view.title };
        let title = format!(" {mark}{} {what}{by} ", view.rows.len());
        let style = if focused { tone.strong() } else { tone.faint() };
        let block = Block::bordered().border_set(tone.border()).border_style(style).title(Span::styled(title, style));
        let inner = block.inner(area);
        block.render(area, buffer);
        let Ok(mut view) = view.clone().arrange(sorted.copied(), usize::MAX) else { return };
        let skipped = self.scroll.get(at).copied().unwrap_or(0).min(view.rows.len().saturating_sub(1));
        view.rows.drain(..skipped);
        // A row for the titles.
        view.rows.truncate(usize::from(inner.height).saturating_sub(1));
        let mut written = Vec::new();
        // Writing to a vector cannot fail.
        let drawn = view.grid(usize::from(inner.width), tone.unicode, &mut written);
        let written = match (drawn.is_ok() && !view.rows.is_empty(), view.notes.is_empty()) {
            (true, _) => String::from_utf8_lossy(&written).into_owned(),
            (false, true) => "none".to_owned(),
            (false, false) => text::wrap(&view.notes.join(" "), usize::from(inner.width)).join("\n"),
        };
        let title = |line: usize| line == 0 && !view.rows.is_empty();
        let lines: Vec<Line<'_>> = written
            .lines()
            .enumerate()
            .map(|(i, line)| Line::styled(line.to_owned(), if title(i) { tone.faint() } else { Style::new() }))
            .collect();
        Paragraph::new(lines).render(inner, buffer);
    }
}

/// Keys of the columns that tables can be sorted by.
fn numeric(view: &View) -> Vec<&'static str> {
    let is = |at: usize| view.rows.iter().any(|row| row.get(at).is_some_and(|cell| cell.number().is_some()));
    view.columns.iter().enumerate().filter(|(at, _)| is(*at)).map(|(_, column)| column.key).collect()
}

/// The line of sums, and how busy the processors were at the last looks.
fn top(glance: &Glance, tone: TextStyle, area: Rect, buffer: &mut Buffer) {
    let line = headline(glance);
    let line = if tone.unicode { line } else { text::ascii(&line) };
    let line = text::shorten(&line, usize::from(area.width));
    let line = if tone.unicode { line } else { text::ascii(&line) };
    Line::styled(line, tone.strong()).render(Rect { height: area.height.min(1), ..area }, buffer);
    if area.height < 2 || !tone.unicode {
        return;
    }
    let label = "processors  ";
    let second = Rect { y: area.y + 1, height: 1, ..area };
    Line::styled(label, tone.faint()).render(second, buffer);
    let room = u16::try_from(label.len()).unwrap_or(0).min(second.width);
    let bars = Rect { x: second.x + room, width: second.width - room, ..second };
    // In tenths of a processor; the newest look is at the right end.
    let all: Vec<u64> = glance.used.iter().map(|used| (used.max(0.0) * 10.0).round() as u64).collect();
    let newest = all.get(all.len().saturating_sub(usize::from(bars.width))..).unwrap_or_default();
    Sparkline::default()
        .data(newest)
        .max(u64::from(glance.processors.max(1)) * 10)
        .style(tone.bars())
        .render(bars, buffer);
}

/// How texts look.
#[derive(Debug, Clone, Copy)]
struct TextStyle {
    unicode: bool,
    colour: bool,
}

impl TextStyle {
    fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    fn bars(self) -> Style {
        if self.colour { Style::new().fg(Color::Green) } else { Style::new() }
    }

    fn border(self) -> border::Set<'static> {
        if self.unicode {
            return border::PLAIN;
        }
        border::Set {
            top_left: "+",
            top_right: "+",
            bottom_left: "+",
            bottom_right: "+",
            vertical_left: "|",
            vertical_right: "|",
            horizontal_top: "-",
            horizontal_bottom: "-",
        }
    }
}
