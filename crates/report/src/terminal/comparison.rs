//! Two recordings compared. May import: `page`, `table`, `words`.

use super::Style;
use super::page::{Page, Tone};
use super::table::{Lean, Table};
use crate::words::{self, Scale};
use analyze::answer::{Change, Comparison, Judgement, Kind};
use std::io::{self, Write};

/// Changes shown of each kind at each count; the JSON has them all.
const MOST_CHANGES: usize = 5;

/// Writes a comparison for people.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(comparison: &Comparison, style: Style, out: &mut impl Write) -> io::Result<()> {
    let page = &mut Page::new(out, style, false);
    page.paragraph("", Tone::Strong, &comparison.summary, 5)?;
    if !comparison.curve.is_empty() {
        page.title("Time per unit of work", "medians; 95 % interval of the speed")?;
        page.table(&curve(comparison))?;
    }
    for kind in [Kind::Loss, Kind::Function, Kind::Lock, Kind::SystemCall] {
        let of_kind: Vec<&Change> = comparison.changes.iter().filter(|c| c.kind == kind).collect();
        if !of_kind.is_empty() {
            let (title, beside) = match kind {
                Kind::Loss => ("Losses that changed", "processor-seconds per unit of work"),
                Kind::Function => ("Functions that changed", "seconds on processors per unit of work"),
                Kind::Lock => ("Locks that changed", "seconds blocked per unit of work, all threads"),
                Kind::SystemCall => ("System calls that changed", "calls per unit of work"),
            };
            page.title(title, beside)?;
            page.table(&changes(&of_kind))?;
        }
    }
    if comparison.changes.is_empty() && !comparison.curve.is_empty() {
        page.blank()?;
        page.paragraph("", Tone::Faint, "No loss, function, lock or system call changed by more than the noise.", 2)?;
    }
    for warning in &comparison.warnings {
        page.paragraph("Warning  ", Tone::Warning, warning, 3)?;
    }
    Ok(())
}

fn curve(comparison: &Comparison) -> Table {
    let mut table = Table::default();
    table.column("threads", Lean::Right, 0);
    for name in ["before", "after", "speed", "judgement"] {
        table.column(name, Lean::Left, 0);
    }
    for point in &comparison.curve {
        let (tone, judgement) = match point.judgement {
            Judgement::Better => (Tone::Strong, "faster"),
            Judgement::Worse => (Tone::Alert, "slower"),
            Judgement::Unclear => (Tone::Plain, "not told from noise"),
        };
        table.row(
            tone,
            vec![
                point.threads.to_string(),
                words::time(point.before),
                words::time(point.after),
                words::times(point.speed, point.interval.map(|i| (i.low, i.high))),
                judgement.to_owned(),
            ],
        );
    }
    table
}

fn changes(changes: &[&Change]) -> Table {
    let mut table = Table::default();
    table.column("threads", Lean::Right, 0);
    for name in ["before", "after", "change"] {
        table.column(name, Lean::Right, 0);
    }
    table.column("", Lean::Left, 0);
    for of_count in changes.chunk_by(|a, b| a.threads == b.threads) {
        for change in of_count.iter().take(MOST_CHANGES) {
            let largest = change.before.abs().max(change.after.abs());
            let scale = if change.kind == Kind::SystemCall { Scale::count(largest) } else { Scale::time(largest) };
            let decimals = scale.decimals(largest, 2);
            let sign = if change.after > change.before { "+" } else { "" };
            table.row(
                Tone::Plain,
                vec![
                    change.threads.to_string(),
                    scale.fixed(change.before, decimals),
                    scale.fixed(change.after, decimals),
                    format!("{sign}{}", scale.fixed(change.after - change.before, decimals)),
                    change.name.clone(),
                ],
            );
        }
    }
    table
}
