//! Functions and lines by processor time, and what grew.

use super::pick::{Pick, overlap};
use super::view::{Cell, View, column};
use crate::observed::Observed;
use analyze::growth::{SampledSeconds, differ};
use analyze::model::Traced;
use recording::StackId;
use recording::tables::{Mode, State};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A function or a line with its module.
type FunctionKey = (String, String);

/// What tells the functions of a sample: its stack, and in the kernel the system call and the stack there.
type SampledAt = (Option<StackId>, Option<(Option<u32>, Option<StackId>)>);

/// Processor time by key, seconds per unit of work: in itself, and with all that it calls.
#[derive(Debug, Default)]
struct Spent {
    by: BTreeMap<FunctionKey, (f64, f64)>,
    samples: BTreeMap<FunctionKey, u64>,
}

/// The name of the kernel's part of a sample: its system call, or in an imported profile the kernel's function.
pub(crate) fn kernel_name(observed: &Observed<'_, '_>, syscall: Option<u32>, stack: Option<StackId>) -> String {
    if let Some(number) = syscall {
        return format!("[{}]", observed.model.call_name(number));
    }
    if observed.model.tables.meta.imported.is_none() {
        return "[fault or interrupt]".to_owned();
    }
    let function = stack.and_then(|s| observed.model.stacks.frames(s).first().and_then(|code| code.name()));
    function.map_or_else(|| "[kernel]".to_owned(), |name| format!("[{name}]"))
}

/// Processor-seconds per unit of work that a sample of the run stands for: the running time of its threads in the
/// measured part, divided by the number of samples in that part, so that the sums are what the scheduler counted.
pub(crate) fn seconds_per_sample(observed: &Observed<'_, '_>) -> f64 {
    let samples = observed.traced.samples.len() as f64;
    if samples > 0.0 { running(observed.traced) / samples / 1e9 / observed.work } else { 0.0 }
}

/// Nanoseconds that threads ran in the measured part.
fn running(traced: &Traced<'_>) -> f64 {
    let whole: f64 = traced.threads.values().map(|t| t.running_ns as f64).sum();
    if traced.measured == (traced.trace.begin_ns, traced.trace.end_ns) {
        return whole;
    }
    let inside = traced.slices.iter().filter(|slice| slice.state == State::Running).map(|slice| {
        let length = slice.end_ns.saturating_sub(slice.start_ns).max(1) as f64;
        slice.spent_ns as f64 * overlap(traced.measured, slice.start_ns, slice.end_ns) as f64 / length
    });
    let inside: f64 = inside.sum();
    // Without timelines, assume that threads ran as much in this part as in any other of the same length.
    if inside > 0.0 { inside } else { whole * traced.measured_share() }
}

fn name_of(function: Option<&str>, module: &str, address: u64) -> String {
    match function {
        Some(name) => name.to_owned(),
        None => format!("{}+{address:#x}", analyze::model::code::file_name(module)),
    }
}

/// The keys of a stack's frames, innermost first.
fn keys(observed: &Observed<'_, '_>, stack: StackId, lines: bool) -> Vec<FunctionKey> {
    let frames = observed.model.stacks.frames(stack);
    let key = |code: &analyze::model::code::Code<'_>| -> FunctionKey {
        let module = analyze::model::code::file_name(code.module).to_owned();
        let name = name_of(code.name(), code.module, code.frame.address);
        match (&code.frame.file, code.frame.line) {
            (Some(file), Some(line)) if lines => (format!("{}:{line}", analyze::model::code::file_name(file)), name),
            _ if lines => (String::new(), module),
            _ => (name, module),
        }
    };
    frames.iter().map(key).collect()
}

fn spent(observed: &Observed<'_, '_>, pick: Pick, lines: bool) -> Spent {
    let each = seconds_per_sample(observed);
    let (from, to) = pick.range(observed);
    let meant = pick.threads(observed);
    // A million samples have some thousands of stacks.
    let mut counts: HashMap<SampledAt, u64> = HashMap::new();
    for sample in &observed.traced.samples {
        let inside = pick.between.is_none() || (from..to).contains(&sample.time_ns);
        if inside && meant.contains(&sample.thread) {
            let kernel = (sample.mode == Mode::Kernel && !lines).then_some((sample.syscall, sample.kernel_stack));
            *counts.entry((sample.user_stack, kernel)).or_default() += 1;
        }
    }
    let mut counts: Vec<(SampledAt, u64)> = counts.into_iter().collect();
    counts.sort_unstable();
    let mut found = Spent::default();
    let mut known: HashMap<StackId, Vec<FunctionKey>> = HashMap::new();
    for ((stack, kernel), count) in counts {
        let of_stack = match stack {
            Some(stack) => known.entry(stack).or_insert_with(|| keys(observed, stack, lines)).as_slice(),
            None => &[],
        };
        let kernel = kernel.map(|(syscall, stack)| (kernel_name(observed, syscall, stack), "kernel".to_owned()));
        let own = || kernel.iter().chain(of_stack);
        let seconds = each * count as f64;
        match own().next() {
            Some(leaf) => {
                found.by.entry(leaf.clone()).or_default().0 += seconds;
                *found.samples.entry(leaf.clone()).or_default() += count;
            }
            None => found.by.entry(("(no stack)".to_owned(), String::new())).or_default().0 += seconds,
        }
        // A function that calls itself counts once for its total.
        for key in own().collect::<BTreeSet<_>>() {
            found.by.entry(key.clone()).or_default().1 += seconds;
        }
    }
    found
}

/// One row a function. With a run to compare with, ordered by growth.
pub fn functions(observed: &Observed<'_, '_>, base: Option<Observed<'_, '_>>, pick: Pick) -> View {
    let columns = &[
        column("function", "function", "The function; in brackets the kernel's work in a system call."),
        column("module", "module", "The file that holds it.").minor(1),
    ];
    table("functions", columns, observed, base, pick, false)
}

/// One row a source line.
pub fn lines(observed: &Observed<'_, '_>, base: Option<Observed<'_, '_>>, pick: Pick) -> View {
    let columns =
        &[column("line", "line", "The source line.").whole(), column("function", "function", "The function there.")];
    let mut view = table("lines", columns, observed, base, pick, true);
    let all = view.rows.len();
    view.rows.retain(|row| matches!(row.first(), Some(Cell::Text(line)) if line.contains(':')));
    if view.rows.len() < all {
        view.notes.push("Code without line tables is left out; build with -g to see it.".to_owned());
    }
    view
}

fn table(
    title: &'static str,
    first: &[super::view::Column],
    observed: &Observed<'_, '_>,
    base: Option<Observed<'_, '_>>,
    pick: Pick,
    by_line: bool,
) -> View {
    let mut columns = first.to_vec();
    columns.extend([
        column("self_s", "self", "Processor time in it, per unit of work."),
        column("share", "self %", "Of all processor time of the run."),
        column("total_s", "total", "The same with all that it calls.").minor(3),
        column(
            "base_s",
            "self at baseline",
            "Its own time at the baseline, the smallest thread count, per unit of work.",
        )
        .minor(2),
        column("growth_s", "growth", "How much its own time grew against the baseline."),
        column("samples", "samples", "Samples that this rests on: fewer than about ten say little."),
    ]);
    let mut view = View::new(title, &columns);
    let base = base.filter(|b| b.traced.run.run != observed.traced.run.run);
    let now = spent(observed, pick, by_line);
    let before = base.as_ref().map(|b| spent(b, Pick::default(), by_line));
    let all: f64 = now.by.values().map(|s| s.0).sum();
    let each = [seconds_per_sample(observed), base.as_ref().map_or(0.0, seconds_per_sample)];
    let mut rows: Vec<((u8, f64), Vec<Cell>)> = Vec::new();
    let mut names: BTreeSet<&FunctionKey> = now.by.keys().collect();
    names.extend(before.iter().flat_map(|b| b.by.keys()));
    for key in names {
        let (own, total) = now.by.get(key).copied().unwrap_or_default();
        let was = before.as_ref().map(|b| b.by.get(key).copied().unwrap_or_default().0);
        let samples = now.samples.get(key).copied().unwrap_or(0);
        let grows = |was: f64| {
            let sampled = |seconds, each| SampledSeconds { seconds, each };
            own > was && differ(sampled(own, each[0]), sampled(was, each[1]))
        };
        let place = match was {
            None => (0, own),
            Some(was) if grows(was) => (0, own - was),
            // Functions that only call others are the least interesting.
            Some(was) if own > 0.0 || was > 0.0 => (1, own),
            Some(_) => (2, total),
        };
        rows.push((
            place,
            vec![
                Cell::text(key.0.clone()),
                Cell::text(key.1.clone()),
                Cell::Seconds(own),
                if all > 0.0 { Cell::Share(own / all) } else { Cell::None },
                Cell::Seconds(total),
                was.map_or(Cell::None, Cell::Seconds),
                was.map_or(Cell::None, |w| Cell::Change(own - w)),
                Cell::count(samples),
            ],
        ));
    }
    rows.sort_by(|a, b| a.0.0.cmp(&b.0.0).then(b.0.1.total_cmp(&a.0.1)));
    if before.is_some() {
        view.notes
            .push("First what grew by more than its sampling error (95 %), then the rest by its own time.".to_owned());
    }
    view.rows = rows.into_iter().map(|(_, row)| row).collect();
    view
}
