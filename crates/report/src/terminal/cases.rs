//! Several cases side by side: one table, one picture of the curves, the causes in one line each.

use super::page::Page;
use super::plot::{Axes, PlottedCurve, SEVERAL, draw};
use super::style::Tone;
use super::table::{Lean, Table};
use super::{Style, machine};
use crate::comparison::{Case, Comparison, number};
use crate::culprit::blame;
use crate::text;
use crate::words::{self, Scale};
use analyze::answer::{Cause, Point};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

/// Most thread counts side by side; of more, the first, the last and some between, in equal steps, are shown.
const MOST_COUNTS: usize = 5;
/// Columns of the first variant's name above the ratios to it.
const LONGEST_FIRST: usize = 12;
/// Lines of the picture.
const HEIGHT: usize = 14;
/// More curves in one picture cannot be told apart.
const MOST_CURVES: usize = 10;

/// Writes the comparison for people. `folder` is the sweep's.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(comparison: &Comparison, folder: &Path, style: Style, out: &mut impl Write) -> io::Result<()> {
    let page = &mut Page::new(out, style, false);
    page.paragraph("", Tone::Strong, &comparison.title)?;
    if let Some(of) = &comparison.machine {
        machine(of, page)?;
    }
    let counts = comparison.counts();
    table(comparison, &counts, page)?;
    picture(comparison, &counts, page)?;
    causes(comparison, page)?;
    surprises(comparison, page)?;
    ending(comparison, folder, page)
}

/// `A`, `B`, ...: the letter of a case in the picture. Cases beyond the alphabet have no letter and no curve.
fn letter(index: usize) -> Option<char> {
    u8::try_from(index).ok().filter(|index| *index < 26).map(|index| char::from(b'A' + index))
}

/// The case's name, with its letter.
fn title(index: usize, case: &Case) -> String {
    letter(index).map_or_else(|| case.label(), |letter| format!("{letter} {}", case.label()))
}

fn table(comparison: &Comparison, counts: &[u32], page: &mut Page<'_>) -> io::Result<()> {
    let shown: Vec<u32> = match counts.len() {
        0..=MOST_COUNTS => counts.to_vec(),
        n => (0..MOST_COUNTS).filter_map(|i| counts.get(i * (n - 1) / (MOST_COUNTS - 1))).copied().collect(),
    };
    let what = comparison.unit.as_deref().unwrap_or("time");
    let mut beside = format!("{what} and speed-up by {} count", comparison.counted().word());
    if shown.len() < counts.len() {
        beside += &format!("; {} of {} counts, all are in the JSON", shown.len(), counts.len());
    }
    // Ratios at the highest count, where differences matter most.
    let highest = counts.last().copied().unwrap_or(0);
    let first = comparison.cases.first().map_or("", |case| case.variant.as_str());
    let against = |case: &Case| case.against_first.last().filter(|r| r.threads == highest).map(|r| r.ratio);
    let versus = format!("vs {}", text::shorten(first, LONGEST_FIRST));
    if comparison.cases.iter().any(|case| against(case).is_some()) {
        beside += &format!("; {versus}: speed over its speed with {highest}");
    }
    page.title("Comparison", &beside)?;
    let largest = comparison.cases.iter().flat_map(|case| &case.curve).filter_map(|p| comparison.value(p));
    let largest = largest.filter(|v| v.is_finite()).fold(0.0, f64::max);
    let mut table = Table::default();
    table.column("", Lean::Left, 0);
    for threads in &shown {
        table.column(comparison.counted().many(*threads), Lean::Right, 0);
    }
    table.column(versus, Lean::Right, 1);
    table.column("verdict", Lean::Left, 0);
    for (index, case) in comparison.cases.iter().enumerate() {
        let cell = |threads: &u32| match case.curve.iter().find(|p| p.threads == *threads) {
            Some(point) => measured(comparison, point, largest),
            None => "failed".to_owned(),
        };
        let mut cells = vec![title(index, case)];
        cells.extend(shown.iter().map(cell));
        cells.push(against(case).map_or(String::new(), |ratio| words::times(ratio, None)));
        cells.push(case.in_short());
        table.row(Tone::Plain, cells);
    }
    page.table(&table)
}

/// `8.63 1.9×`: three digits, because a table of many numbers has no room for intervals; they are in the JSON.
fn measured(comparison: &Comparison, point: &Point, largest: f64) -> String {
    let Some(value) = comparison.value(point) else { return "?".to_owned() };
    let text = match comparison.unit {
        Some(_) => {
            let scale = Scale::count(largest);
            scale.fixed(value, scale.decimals(value, 3))
        }
        None => words::time(value),
    };
    format!("{text} {}", words::times(point.speedup, None))
}

fn picture(comparison: &Comparison, counts: &[u32], page: &mut Page<'_>) -> io::Result<()> {
    let (curves, legend) = match &comparison.picture.x {
        Some(parameter) => over_parameter(comparison, parameter, counts),
        None => over_threads(comparison),
    };
    let x = comparison.picture.x.clone().unwrap_or_else(|| format!("{}s", comparison.counted().word()));
    let axes = Axes {
        x: page.shown(&x),
        y: page.shown(comparison.speed_unit()),
        log_x: comparison.picture.log_x,
        log_y: comparison.picture.log_y,
    };
    let Some(lines) = draw(&curves, &axes, page.prose(), HEIGHT, page.unicode()) else { return Ok(()) };
    let logarithmic = match (axes.log_x, axes.log_y) {
        (true, true) => "both axes logarithmic",
        (true, false) => "x axis logarithmic",
        (false, true) => "y axis logarithmic",
        (false, false) => "",
    };
    page.title("Curves", logarithmic)?;
    page.drawn(&lines)?;
    let mut legend = legend.join("; ");
    if lines.iter().any(|line| line.contains(SEVERAL)) {
        legend += &format!("; {SEVERAL} several");
    }
    page.paragraph("", Tone::Faint, &legend)
}

/// One curve per case. The table is the legend.
fn over_threads(comparison: &Comparison) -> (Vec<PlottedCurve>, Vec<String>) {
    let curve = |(index, case): (usize, &Case)| {
        let point = |p: &Point| Some((f64::from(p.threads), comparison.speed(p)?));
        Some(PlottedCurve { letter: letter(index)?, points: case.curve.iter().filter_map(point).collect() })
    };
    let all = comparison.cases.iter().enumerate();
    let curves: Vec<PlottedCurve> = all.clone().filter_map(curve).take(MOST_CURVES).collect();
    let mut legend: Vec<String> = all.take(curves.len()).map(|(index, case)| title(index, case)).collect();
    if comparison.cases.len() > curves.len() {
        legend.push(format!("(the first {} of {})", curves.len(), comparison.cases.len()));
    }
    (curves, legend)
}

/// A curve for each thread count and each combination of variant and other parameters. If these are too many, only the
/// smallest and the largest count.
fn over_parameter(comparison: &Comparison, parameter: &str, counts: &[u32]) -> (Vec<PlottedCurve>, Vec<String>) {
    let value_of = |case: &Case| case.value_of(parameter).and_then(number);
    let groups = comparison.along(parameter);
    let few: Vec<u32> = match groups.len() * counts.len() <= MOST_CURVES {
        true => counts.to_vec(),
        false => {
            counts.first().into_iter().chain(counts.last()).copied().collect::<BTreeSet<_>>().into_iter().collect()
        }
    };
    let (mut curves, mut legend) = (Vec::new(), Vec::new());
    for (name, cases) in &groups {
        for threads in &few {
            let point = |case: &&Case| {
                let point = case.curve.iter().find(|p| p.threads == *threads)?;
                Some((value_of(case)?, comparison.speed(point)?))
            };
            let mut points: Vec<(f64, f64)> = cases.iter().filter_map(point).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            if points.is_empty() || curves.len() == MOST_CURVES {
                continue;
            }
            // Small letters, because the table's capitals stand for single cases.
            let letter = char::from(b'a' + curves.len() as u8);
            legend.push(format!("{letter} {name}, {}", comparison.counted().many(*threads)));
            curves.push(PlottedCurve { letter, points });
        }
    }
    (curves, legend)
}

/// What limits each case, one line each; cases without a cause are in the table already.
fn causes(comparison: &Comparison, page: &mut Page<'_>) -> io::Result<()> {
    let found = |case: &Case| case.verdict.causes.first().is_some_and(Cause::is_found);
    if comparison.cases.iter().any(found) {
        page.title("Causes", "the first of each; knee report DIR/CASE shows all")?;
    }
    for (index, case) in comparison.cases.iter().enumerate() {
        let Some(cause) = case.verdict.causes.first().filter(|_| found(case)) else { continue };
        let threads = comparison.counted().many(cause.threads);
        let share = words::percent(cause.share);
        let place = cause
            .culprit
            .as_ref()
            .map_or(String::new(), |culprit| format!(": {}", blame(culprit, page.longest(), |name| page.shown(name))));
        let label = letter(index).map_or_else(|| format!("{} ", case.label()), |letter| format!("{letter} "));
        page.paragraph(&label, Tone::Plain, &format!("{} ({share} with {threads}){place}", cause.id.name()))?;
    }
    Ok(())
}

/// Cases whose verdict is not what the sweep file's author expects.
fn surprises(comparison: &Comparison, page: &mut Page<'_>) -> io::Result<()> {
    let mut titled = false;
    for (index, case) in comparison.cases.iter().enumerate() {
        let Some(surprise) = case.surprise() else { continue };
        if !std::mem::replace(&mut titled, true) {
            page.title("Not as the sweep file expects", "")?;
        }
        page.paragraph(&format!("{}  ", title(index, case)), Tone::Plain, &surprise)?;
    }
    Ok(())
}

fn ending(comparison: &Comparison, folder: &Path, page: &mut Page<'_>) -> io::Result<()> {
    page.blank()?;
    if !comparison.complete {
        page.paragraph("Warning     ", Tone::Warning, "the sweep was stopped early: some runs are missing")?;
    }
    for skipped in &comparison.skipped {
        page.paragraph("Left out    ", Tone::Warning, &format!("{}: {}", skipped.variant, skipped.why))?;
    }
    if comparison.unit.is_none() && comparison.cases.iter().flat_map(|c| &c.curve).any(|p| p.throughput.is_some()) {
        let why = "the cases do not all print a throughput in the same unit: they are compared by their wall time";
        page.paragraph("Warning     ", Tone::Warning, why)?;
    }
    // The same warning often applies to several cases.
    let mut warnings: Vec<(&str, Vec<String>)> = Vec::new();
    for (index, case) in comparison.cases.iter().enumerate() {
        let who = letter(index).map_or_else(|| case.label(), String::from);
        for warning in &case.warnings {
            match warnings.iter_mut().find(|(text, _)| text == warning) {
                Some((_, of)) => of.push(who.clone()),
                None => warnings.push((warning, vec![who.clone()])),
            }
        }
    }
    warnings.sort_by_key(|(_, of)| std::cmp::Reverse(of.len()));
    for (warning, of) in warnings.iter().take(3) {
        page.paragraph("Warning     ", Tone::Warning, &format!("{} ({})", warning, of.join(" ")))?;
    }
    if warnings.len() > 3 {
        page.paragraph("            ", Tone::Faint, &format!("and {} more in the JSON", warnings.len() - 3))?;
    }
    let folder = folder.to_string_lossy();
    let folder = folder.trim_end_matches('/');
    page.whole("Recordings  ", &format!("{folder} with comparison.json, report.html"))?;
    match comparison.cases.iter().find(|case| !case.curve.is_empty()) {
        Some(case) => page.whole("In full     ", &format!("knee report '{folder}/{}'", case.recording)),
        None => Ok(()),
    }
}
