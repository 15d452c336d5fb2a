//! Two recordings compared.

use crate::terminal::Style;
use crate::terminal::page::Page;
use crate::terminal::style::Tone;
use crate::terminal::table::{Lean, Table};
use crate::words::{self, Scale};
use analyze::answer::{Change, Comparison, CurveChange, Judgement, Kind, Setup};
use recording::meta::Counted;
use std::io::{self, Write};

/// Changes shown of each kind at each count; the JSON has them all.
const MOST_CHANGES: usize = 5;

/// What the page calls the two recordings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Labels {
    pub(super) before: &'static str,
    pub(super) after: &'static str,
    /// What the counts are of; none when the program chose its own number of threads: then the count says nothing.
    pub(super) counts: Option<Counted>,
}

/// Writes a comparison for people.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(comparison: &Comparison, style: Style, out: &mut impl Write) -> io::Result<()> {
    let page = &mut Page::new(out, style, false);
    page.paragraph("", Tone::Strong, &comparison.summary)?;
    let names = Labels { before: "before", after: "after", counts: Some(comparison.counted) };
    tables(comparison, names, page)?;
    warnings(comparison, page)
}

/// Times, and what changed.
pub(super) fn tables(comparison: &Comparison, names: Labels, page: &mut Page<'_>) -> io::Result<()> {
    if !comparison.curve.is_empty() {
        page.title("Time per unit of work", beside(comparison))?;
        page.table(&curve(comparison, names))?;
    }
    for kind in [Kind::Loss, Kind::Function, Kind::Lock, Kind::SystemCall, Kind::ProcessorTime, Kind::Counter] {
        let of_kind: Vec<&Change> = comparison.changes.iter().filter(|c| c.kind == kind).collect();
        if !of_kind.is_empty() {
            let (title, beside) = match kind {
                Kind::Loss => ("Losses that changed", "processor-seconds per unit of work"),
                Kind::Function => ("Functions that changed", "seconds on processors per unit of work"),
                Kind::Lock => ("Locks that changed", "seconds blocked per unit of work, all threads"),
                Kind::SystemCall => ("System calls that changed", "calls per unit of work"),
                Kind::ProcessorTime => ("Processor time that changed", "timed runs, per unit of work"),
                Kind::Counter => ("Counters that changed", "timed runs, per unit of work"),
            };
            page.title(title, beside)?;
            page.table(&changes(&of_kind, names))?;
        }
    }
    if comparison.changes.is_empty() && !comparison.curve.is_empty() && comparison.setup != Setup::Same {
        page.blank()?;
        page.paragraph("", Tone::Faint, "No loss, function, lock or system call changed by more than the noise.")?;
    }
    Ok(())
}

/// What the reader should know.
pub(super) fn warnings(comparison: &Comparison, page: &mut Page<'_>) -> io::Result<()> {
    comparison.warnings.iter().try_for_each(|warning| page.paragraph("Warning  ", Tone::Warning, warning))
}

fn beside(comparison: &Comparison) -> &'static str {
    match (comparison.setup, comparison.curve.len()) {
        (Setup::Apart, _) => "medians; 95 % interval of the speed",
        (_, 1) => "medians; speed of B relative to A, 95 % interval from pairs of runs",
        _ => "medians; intervals from pairs of runs, 95 % for all together",
    }
}

fn curve(comparison: &Comparison, names: Labels) -> Table {
    let mut table = Table::default();
    if let Some(counted) = names.counts {
        table.column(format!("{}s", counted.word()), Lean::Right, 0);
    }
    let last = if comparison.setup == Setup::Same { "seen from" } else { "judgement" };
    for name in [names.before, names.after, "speed", last] {
        table.column(name, Lean::Left, 0);
    }
    for point in &comparison.curve {
        let (tone, judgement) = match point.judgement {
            Judgement::Better => (Tone::Strong, "faster"),
            Judgement::Worse => (Tone::Alert, "slower"),
            Judgement::Unclear if comparison.setup == Setup::Apart => (Tone::Plain, "cannot be told from noise"),
            Judgement::Unclear => (Tone::Plain, "cannot be told"),
        };
        let last = match (comparison.setup, point.resolution) {
            (Setup::Same, Some(resolution)) => share(resolution),
            (Setup::Same, None) => "not known".to_owned(),
            _ => judgement.to_owned(),
        };
        let mut cells = Vec::new();
        if names.counts.is_some() {
            cells.push(point.threads.to_string());
        }
        cells.extend([words::time(point.before), words::time(point.after), speed(point, comparison.setup), last]);
        table.row(tone, cells);
    }
    table
}

/// For interleaved runs the ends of the interval decide, so they are always shown to the hundredth.
fn speed(point: &CurveChange, setup: Setup) -> String {
    match point.interval {
        Some(i) if setup != Setup::Apart => format!("{:.2}× ({:.2}–{:.2})", point.speed, i.low, i.high),
        _ => words::times(point.speed, point.interval.map(|i| (i.low, i.high))),
    }
}

/// Small shares get one decimal: `1.8 %`.
fn share(share: f64) -> String {
    if share < 0.0995 { format!("{:.1} %", share * 100.0) } else { words::percent(share) }
}

fn changes(changes: &[&Change], names: Labels) -> Table {
    let mut table = Table::default();
    if let Some(counted) = names.counts {
        table.column(format!("{}s", counted.word()), Lean::Right, 0);
    }
    for name in [names.before, names.after, "change"] {
        table.column(name, Lean::Right, 0);
    }
    table.column("", Lean::Left, 0);
    for of_count in changes.chunk_by(|a, b| a.threads == b.threads) {
        for change in of_count.iter().take(MOST_CHANGES) {
            let largest = change.before.abs().max(change.after.abs());
            let counted = matches!(change.kind, Kind::SystemCall | Kind::Counter);
            let scale = if counted { Scale::count(largest) } else { Scale::time(largest) };
            let decimals = scale.decimals(largest, 2);
            let sign = if change.after > change.before { "+" } else { "" };
            let mut cells = Vec::new();
            if names.counts.is_some() {
                cells.push(change.threads.to_string());
            }
            cells.extend([
                scale.fixed(change.before, decimals),
                scale.fixed(change.after, decimals),
                format!("{sign}{}", scale.fixed(change.after - change.before, decimals)),
                change.name.clone(),
            ]);
            table.row(Tone::Plain, cells);
        }
    }
    table
}
