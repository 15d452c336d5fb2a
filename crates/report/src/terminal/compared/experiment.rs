//! What trials of a program showed.

use crate::experiment::{Experiment, TrialRow};
use crate::terminal::page::Page;
use crate::terminal::style::Tone;
use crate::terminal::table::{Lean, Table};
use crate::terminal::{Style, machine};
use crate::text::sentence;
use recording::meta::Shows;
use std::io::{self, Write};
use std::path::Path;

/// What the intervals mean, below the table.
const INTERVALS: &str = "Speed is that of the unchanged program in the same blocks. All intervals together hold with 95 % \
                         certainty.";

/// Writes the experiment for people. `folder` is where its recordings are.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(experiment: &Experiment, folder: &Path, style: Style, out: &mut impl Write) -> io::Result<()> {
    let page = &mut Page::new(out, style, false);
    let tone = if experiment.shows == Shows::Refutes { Tone::Alert } else { Tone::Strong };
    page.paragraph("", tone, &experiment.summary)?;
    page.blank()?;
    page.command("", &experiment.command)?;
    machine(&experiment.machine, page)?;
    page.blank()?;
    page.table(&table(experiment))?;
    page.blank()?;
    page.paragraph("", Tone::Faint, INTERVALS)?;
    if let Some(predicted) = experiment.suspect.as_ref().and_then(|suspect| suspect.predicted.as_ref()) {
        page.paragraph("Predicted  ", Tone::Plain, predicted)?;
    }
    for row in experiment.trials.iter().filter(|row| row.helps() && !row.control) {
        page.title(&row.title, "")?;
        page.paragraph("   Shows       ", Tone::Plain, &sentence(&row.proves))?;
        page.paragraph("   Not shown   ", Tone::Plain, &sentence(&row.cannot_show))?;
        if let Some(instead) = &row.instead {
            page.paragraph("   Do instead  ", Tone::Plain, &sentence(instead))?;
        }
        if let Some(keep) = &row.keep {
            page.whole("   Shell       ", &keep.shell)?;
            keep.dockerfile.iter().try_for_each(|line| page.whole("   Dockerfile  ", line))?;
            keep.unit.iter().try_for_each(|line| page.whole("   Unit file   ", line))?;
        }
    }
    for row in &experiment.trials {
        if let Some(failed) = &row.failed {
            page.blank()?;
            page.paragraph("Does not count  ", Tone::Warning, &format!("{}: {failed}", row.title))?;
        }
    }
    if !experiment.left_out.is_empty() {
        page.title("Not tried", "")?;
        for left in &experiment.left_out {
            page.paragraph(&format!("   {}  ", left.id), Tone::Faint, &left.why)?;
        }
    }
    page.blank()?;
    if !experiment.complete {
        page.paragraph("Warning  ", Tone::Warning, "stopped early: some runs are missing")?;
    }
    for warning in &experiment.warnings {
        page.paragraph("Note  ", Tone::Warning, &sentence(warning))?;
    }
    let folder = folder.to_string_lossy();
    page.whole("Recordings  ", &format!("{} with experiment.json", folder.trim_end_matches('/')))
}

fn table(experiment: &Experiment) -> Table {
    let mut table = Table::default();
    table.column("trial", Lean::Left, 0);
    table.column("speed", Lean::Right, 0);
    table.column("range", Lean::Right, 0);
    table.column("", Lean::Left, 0);
    for row in &experiment.trials {
        let tone = match () {
            () if row.helps() => Tone::Strong,
            () if row.control => Tone::Faint,
            () => Tone::Plain,
        };
        table.row(tone, cells(row));
    }
    table
}

fn cells(row: &TrialRow) -> Vec<String> {
    let speed = row.change.as_ref().map(|change| format!("{:.2}", change.speed)).unwrap_or_default();
    let interval = row.change.as_ref().and_then(|change| change.interval);
    let range = interval.map(|i| format!("{:.2} to {:.2}", i.low, i.high)).unwrap_or_default();
    // What a faster program shows is told below.
    let says = if row.helps() { "faster".to_owned() } else { row.says() };
    vec![row.title.clone(), speed, range, says]
}
