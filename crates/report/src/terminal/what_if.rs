//! What the program would do without its causes: the page of `knee what-if`.

use super::Style;
use super::page::Page;
use super::style::Tone;
use super::table::{Lean, Table};
use crate::culprit::blame;
use crate::words::{cause_number, which_causes};
use analyze::answer::{Answer, Foreseen, Removed};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// How to read the table, below it: upper bounds, and estimates.
const BOUNDS: &str = "\"up to\" is the most that removing it can bring: threads may then wait for something else.";
const RANGES: &str = "Ranges are 90 % intervals.";
const INSTEAD: &str = "What you put in the place of what you remove costs time too.";

/// Writes what is predicted, for people.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(answer: &Answer, style: Style, out: &mut impl Write) -> io::Result<()> {
    let page = &mut Page::new(out, style, false);
    page.paragraph("", Tone::Strong, &answer.verdict.summary)?;
    page.blank()?;
    if let Some(refused) = &answer.what_if.refused {
        return page.paragraph("Not told   ", Tone::Warning, refused);
    }
    if answer.what_if.removals.is_empty() {
        let nothing = "no cause of this answer can be removed on paper: there is none, or an account does not tell what \
                       its removal would bring";
        return page.paragraph("Not told   ", Tone::Warning, nothing);
    }
    for (at, cause) in answer.verdict.causes.iter().enumerate() {
        if answer.what_if.removals.iter().any(|removed| removed.numbers.contains(&at)) {
            let number = cause_number(answer, at);
            let place = cause.culprit.as_ref().map(|culprit| blame(culprit, page.longest(), |name| page.shown(name)));
            let place = place.unwrap_or_else(|| cause.summary.clone());
            page.paragraph(&format!("{number}  "), Tone::Strong, &format!("{}: {place}", cause.id.name()))?;
        }
    }
    page.blank()?;
    page.table(&table(answer))?;
    page.blank()?;
    let any = |at_most: bool| answer.what_if.removals.iter().any(|removed| removed.at_most == at_most);
    let notes = [(any(true), BOUNDS), (any(false), RANGES), (true, INSTEAD)];
    let notes: Vec<&str> = notes.into_iter().filter(|note| note.0).map(|note| note.1).collect();
    page.paragraph("", Tone::Faint, &notes.join(" "))
}

/// A row for each removal, with its speeds at each thread count over the program as it is.
fn table(answer: &Answer) -> Table {
    let counts: BTreeSet<u32> = answer.what_if.removals.iter().flat_map(|r| &r.points).map(|p| p.threads).collect();
    let mut table = Table::default();
    table.column("times as fast without", Lean::Left, 0);
    for threads in &counts {
        table.column(answer.counted.many(*threads), Lean::Right, 0);
    }
    for removed in &answer.what_if.removals {
        let at = |threads: &u32| removed.points.iter().find(|p| p.threads == *threads);
        let speeds = counts.iter().map(|n| at(n).map(|point| speed(point, removed.at_most)).unwrap_or_default());
        let tone = if removed.part < 1.0 { Tone::Faint } else { Tone::Plain };
        table.row(tone, std::iter::once(what(answer, removed)).chain(speeds).collect());
    }
    table
}

fn what(answer: &Answer, removed: &Removed) -> String {
    let which = which_causes(answer, removed);
    if removed.part < 1.0 { format!("half of {which}") } else { which }
}

fn speed(point: &Foreseen, at_most: bool) -> String {
    match at_most {
        true => format!("up to {:.2}", point.times_as_fast),
        false => format!("{:.2} ({:.2} to {:.2})", point.times_as_fast, point.interval.low, point.interval.high),
    }
}
