//! The live view as text, for pipes and files.

use super::glance::{Glance, Rate};
use crate::text::WIDEST_PROSE;
use crate::{text, words};
use std::io::{self, Write};

/// Rows of each table.
const FEW: usize = 5;

/// The first line: the program, the processors that it uses, its work per second, its threads.
pub(super) fn headline(glance: &Glance) -> String {
    let used = glance.used.last().copied().unwrap_or(0.0);
    let threads: usize = glance.states.iter().map(|(_, count)| count).sum();
    let states: Vec<String> = glance.states.iter().map(|(what, count)| format!("{count} {what}")).collect();
    let all = words::plural(threads as u64, "thread");
    let busy = format!("{} of {}", words::number(used, 2), words::plural(glance.processors.into(), "processor"));
    let rate = match glance.rate {
        None => String::new(),
        Some(Rate::Work(rate)) => format!(", {} units of work/s", words::count(rate)),
        Some(Rate::Tasks(rate)) => format!(", {} tasks/s", words::count(rate)),
    };
    let states = if states.is_empty() { String::new() } else { format!(": {}", states.join(", ")) };
    format!("{}  {busy}{rate}, {all}{states}", text::harmless(&glance.title))
}

/// Writes one look. `since` are the seconds since the first.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(glance: &Glance, since: f64, width: usize, unicode: bool, out: &mut dyn Write) -> io::Result<()> {
    let plain = |line: String| if unicode { line } else { text::ascii(&line) };
    let prose = width.min(WIDEST_PROSE);
    for line in text::wrap(&plain(format!("{since:.0} s  {}", headline(glance))), prose) {
        writeln!(out, "{line}")?;
    }
    for panel in &glance.panels {
        writeln!(out, "\n{}, last {} s", panel.title, words::number(glance.seconds, 0))?;
        if panel.rows.is_empty() {
            let notes = if panel.notes.is_empty() { &vec!["none".to_owned()] } else { &panel.notes };
            for line in notes.iter().flat_map(|note| text::wrap(&plain(note.clone()), prose)) {
                writeln!(out, "{line}")?;
            }
            continue;
        }
        let mut panel = panel.clone();
        panel.rows.truncate(FEW);
        panel.grid(width, unicode, out)?;
    }
    writeln!(out)
}
