//! The loop of a live view: looks and keys come in, the screen or text goes out.

use super::history::History;
use super::terminal::{Input, Screen};
use crate::ui;
use collect::Stop;
use collect::observe::live::{Doing, Now, Window};
use recording::{ThreadId, WaitId};
use report::live::{Glance, Look, Moment, State, glance, plain};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

/// How soon a key is answered.
const TICK: Duration = Duration::from_millis(50);

/// What the view says about the target.
pub(crate) struct Subject {
    /// The program, and how it is observed.
    pub(crate) title: String,
    /// False when the collector cannot see which code runs.
    pub(crate) sees_code: bool,
}

/// Shows looks on a terminal until there are no more, or the user quits.
pub(crate) fn interactive(subject: &Subject, looks: &Receiver<Window>, stop: &Stop) -> anyhow::Result<()> {
    let style = ui::style();
    let mut screen = Screen::open()?;
    let (mut history, mut look) = (History::default(), Look::default());
    let mut shown: Option<Glance> = None;
    let mut stale = true;
    loop {
        let mut newest = false;
        let gone = loop {
            match looks.try_recv() {
                Ok(window) => {
                    history.add(window);
                    newest = true;
                }
                Err(TryRecvError::Empty) => break false,
                Err(TryRecvError::Disconnected) => break true,
            }
        };
        if newest && !look.paused {
            shown = glance(subject, &history);
            stale = true;
        }
        if stale {
            screen.draw(|frame| {
                let area = frame.area();
                look.draw(shown.as_ref(), style.unicode, style.colour, area, frame.buffer_mut());
            })?;
            stale = false;
        }
        if gone || stop.requested() {
            return Ok(());
        }
        match screen.input(TICK)? {
            Input::Key(key) => {
                let was_paused = look.paused;
                if look.press(key, shown.as_ref()) {
                    stop.request();
                    return Ok(());
                }
                if was_paused && !look.paused {
                    shown = glance(subject, &history);
                }
                stale = true;
            }
            Input::Resized => stale = true,
            Input::Nothing => {}
        }
    }
}

/// Writes each look as text.
pub(crate) fn plain(subject: &Subject, looks: &Receiver<Window>) -> anyhow::Result<()> {
    let style = ui::style();
    let (mut begin, mut first) = (None, 0.0);
    let mut history = History::default();
    while let Ok(window) = looks.recv() {
        history.add(window);
        if let Some(glance) = glance(subject, &history) {
            if begin.is_none() {
                first = glance.seconds;
            }
            // The first look was taken at the end of its period, so that period is added.
            let since = begin.get_or_insert_with(Instant::now).elapsed().as_secs_f64() + first;
            ui::out(|out| plain::render(&glance, since, style.table(), style.unicode, out))?;
        }
    }
    Ok(())
}

fn glance(subject: &Subject, history: &History) -> Option<Glance> {
    let (tables, now) = history.summed()?;
    let now: Vec<(ThreadId, State, Option<WaitId>)> = now.iter().map(doing).collect();
    let used = history.used();
    let moment =
        Moment { title: &subject.title, tables: &tables, now: &now, used: &used, sees_code: subject.sees_code };
    Some(glance::glance(&moment))
}

fn doing(now: &Now) -> (ThreadId, State, Option<WaitId>) {
    let state = match now.doing {
        Doing::Runs => State::Runs,
        Doing::Ready => State::Ready,
        Doing::RunsOrReady => State::RunsOrReady,
        Doing::Waits => State::Waits,
    };
    (now.thread, state, now.wait)
}
