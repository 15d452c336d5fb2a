//! Two commands against each other, or one against itself.

use super::recordings::{Labels, tables, warnings};
use crate::pair::Pair;
use crate::terminal::page::Page;
use crate::terminal::style::Tone;
use crate::terminal::{Style, machine};
use analyze::answer::{Judgement, Setup};
use std::io::{self, Write};
use std::path::Path;

/// What `seen from` means, below the table.
const RESOLUTION: &str = "Seen from: half the interval's width. A true difference of this size is found in every second \
                          comparison, one of twice the size in nearly all; four times the runs halve it.";

/// Writes the pair for people. `folder` is where its recordings are.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(pair: &Pair, folder: &Path, style: Style, out: &mut impl Write) -> io::Result<()> {
    let page = &mut Page::new(out, style, false);
    let comparison = &pair.comparison;
    let same = comparison.setup == Setup::Same;
    let slower = comparison.curve.iter().any(|point| point.judgement == Judgement::Worse);
    let tone = if slower && !same { Tone::Alert } else { Tone::Strong };
    page.paragraph("", tone, &comparison.summary)?;
    page.blank()?;
    for side in if same { &pair.cases[..1] } else { &pair.cases[..] } {
        let label = if same { String::new() } else { format!("{}  ", side.name) };
        page.command(&label, &side.command)?;
    }
    machine(&pair.machine, page)?;
    let (before, after) = if same { ("first", "second") } else { ("A", "B") };
    tables(
        comparison,
        Labels { before, after, counts: Some(comparison.counted).filter(|_| pair.thread_counts_given) },
        page,
    )?;
    if same && !comparison.curve.is_empty() {
        page.blank()?;
        page.paragraph("", Tone::Faint, RESOLUTION)?;
    }
    page.blank()?;
    if !pair.complete {
        page.paragraph("Warning  ", Tone::Warning, "stopped early: some runs are missing")?;
    }
    warnings(comparison, page)?;
    let folder = folder.to_string_lossy();
    let folder = folder.trim_end_matches('/');
    page.whole("Recordings  ", &format!("{folder} with comparison.json"))?;
    match pair.cases.iter().find(|_| !same) {
        Some(side) => page.whole("In full     ", &format!("knee report '{folder}/{}'", side.recording)),
        None => Ok(()),
    }
}
