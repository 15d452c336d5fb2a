//! What grew between two thread counts: functions, lines, and the flame graph's call tree.

use super::answer::per_work;
use super::data::names::NameTable;
use super::markup::Markup;
use super::page::focus;
use super::tables;
use super::tables::Own;
use crate::observed::Observed;
use crate::show::functions::{functions, kernel_name, lines, seconds_per_sample};
use crate::show::view::Cell;
use crate::show::{Pick, View};
use analyze::Analysis;
use recording::StackId;
use recording::tables::{Mode, Sample};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// Rows of each table.
const MOST_ROWS: usize = 40;
/// Columns of the own time and of the base's own time in the views of functions and lines.
const OWN: usize = 2;
const BASE: usize = 5;
const GROWTH: usize = 6;
/// Standard errors within which 95 % of chance changes lie (normal distribution).
const ERRORS: f64 = 1.96;
/// A call path with less than this share of the processor time in every run is left out of the picture: it would be
/// narrower than a pixel.
const SMALLEST: f64 = 0.0005;

pub(super) fn section(analysis: &Analysis<'_, '_>) -> Option<String> {
    let answer = &analysis.answer;
    let now = Observed::at(analysis, focus(answer))?;
    if now.traced.samples.is_empty() {
        return None;
    }
    let base = Observed::base(analysis);
    let mut m = Markup::default();
    let imported = now.model.tables.meta.imported.is_some();
    let compared = base.filter(|b| b.traced.run.run != now.traced.run.run);
    let with = now.traced.count();
    m.p(
        "lead",
        &match &compared {
            Some(base) => format!(
                "Processor time {} with {with}, against {}: what grew comes first.",
                if imported { "of the whole profile" } else { per_work(answer) },
                base.traced.count()
            ),
            None => "Processor time by function. A sweep over several thread counts would show what grows.".to_owned(),
        },
    );
    m.raw("<div id=\"flame\" hidden></div>\n");
    let of = |view: View| {
        let mut view = view;
        // What took no time of its own in either run cannot have grown.
        let own = |row: &Vec<Cell>, i: usize| matches!(row.get(i), Some(Cell::Seconds(s)) if *s > 0.0);
        view.rows.retain(|row| own(row, OWN) || own(row, BASE));
        view.arrange(None, MOST_ROWS).unwrap_or_default()
    };
    let titles = match &compared {
        Some(base) => {
            let [one, other] = [&base, &&now].map(|o| o.traced.count());
            vec![("self_s", format!("self, {other}")), ("base_s", format!("self, {one}"))]
        }
        None => Vec::new(),
    };
    let within = |row: &[Cell]| {
        compared.as_ref().is_some_and(|base| is_noise(row, seconds_per_sample(&now), seconds_per_sample(base)))
    };
    let own = Own { titles: &titles, faint: Some(&within) };
    let (by_function, by_line) = (of(functions(&now, base, Pick::default())), of(lines(&now, base, Pick::default())));
    m.raw("<h3>Functions</h3>\n");
    tables::table(&by_function, &own, &mut m);
    if !by_line.rows.is_empty() {
        m.raw("<h3>Source lines</h3>\n");
        tables::table(&by_line, &own, &mut m);
        m.p("note", "A line has the time of the system calls that it makes; functions do not.");
    }
    if by_function.rows.iter().chain(&by_line.rows).any(|row| within(row)) {
        m.p("note", "Grey: the change lies within the error of sampling (95 %), and may be chance.");
    }
    Some(m.into_html())
}

/// Whether a row's growth lies within the error of sampling. The standard error of n samples is √n. A time of `s`
/// seconds at `each` seconds per sample has s / each samples, so the error of the difference is √(s·each + s'·each').
fn is_noise(row: &[Cell], each: f64, each_base: f64) -> bool {
    let seconds = |i: usize| match row.get(i) {
        Some(Cell::Seconds(s) | Cell::Change(s)) => *s,
        _ => 0.0,
    };
    let (own, base, growth) = (seconds(OWN), seconds(BASE), seconds(GROWTH));
    growth.abs() < ERRORS * (own * each + base * each_base).sqrt()
}

/// The innermost function of a sample.
pub(super) fn leaf(observed: &Observed<'_, '_>, sample: &Sample) -> String {
    if sample.mode == Mode::Kernel {
        return kernel_name(observed, sample.syscall, sample.kernel_stack);
    }
    let view = observed.model.stacks.view(sample.user_stack, false);
    view.leaf.map_or_else(|| "(no stack)".to_owned(), |c| frame(&c))
}

fn frame(code: &analyze::model::code::Code<'_>) -> String {
    match code.name() {
        Some(name) => name.to_owned(),
        None => format!("{}+{:#x}", analyze::model::code::file_name(code.module), code.frame.address),
    }
}

/// Everything that determines a sample's path: mode, system call, stacks in user space and in the kernel.
type Kept = (Mode, Option<u32>, [Option<StackId>; 2]);

#[derive(Default)]
struct CallNode {
    children: BTreeMap<String, usize>,
    /// Seconds per unit of work, including callees; one value per run.
    spent: Vec<f64>,
}

/// The call tree of all runs: nodes `[parent, name, seconds per unit of work of each run ...]`, parents first.
pub(super) fn flame(analysis: &Analysis<'_, '_>, names: &mut NameTable) -> Value {
    let runs: Vec<Observed<'_, '_>> = Observed::all(analysis).collect();
    let mut tree: Vec<CallNode> = vec![CallNode { spent: vec![0.0; runs.len()], ..CallNode::default() }];
    for (r, observed) in runs.iter().enumerate() {
        let each = seconds_per_sample(observed);
        let imported = observed.model.tables.meta.imported.is_some();
        let mut counts: HashMap<Kept, f64> = HashMap::new();
        for sample in &observed.traced.samples {
            // Only an imported profile names the kernel's part by its stack; otherwise the system call names it.
            let stacks = [sample.user_stack, sample.kernel_stack.filter(|_| imported)];
            *counts.entry((sample.mode, sample.syscall, stacks)).or_default() += each;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|a| a.0);
        for ((mode, syscall, [stack, kernel]), seconds) in counts {
            let mut path: Vec<String> = Vec::new();
            path.extend((mode == Mode::Kernel).then(|| kernel_name(observed, syscall, kernel)));
            path.extend(stack.iter().flat_map(|s| observed.model.stacks.frames(*s)).map(|c| frame(&c)));
            let mut at = 0;
            add(&mut tree, at, r, seconds);
            for name in path.into_iter().rev() {
                at = child(&mut tree, at, name, runs.len());
                add(&mut tree, at, r, seconds);
            }
        }
    }
    let whole: Vec<f64> = tree.first().map(|n| n.spent.clone()).unwrap_or_default();
    let seen = |n: &CallNode| n.spent.iter().zip(&whole).any(|(s, all)| *s > SMALLEST * all);
    let mut nodes: Vec<Value> = Vec::new();
    let mut open: Vec<(usize, Option<usize>, usize)> = vec![(0, None, names.index("all"))];
    while let Some((at, parent, name)) = open.pop() {
        let Some(node) = tree.get(at).filter(|n| seen(n)) else { continue };
        let mut row = vec![json!(parent), json!(name)];
        row.extend(node.spent.iter().map(|s| json!((s * 1e9).round() / 1e9)));
        let index = nodes.len();
        nodes.push(Value::Array(row));
        for (name, child) in node.children.iter().rev() {
            if tree.get(*child).is_some_and(&seen) {
                open.push((*child, Some(index), names.index(name)));
            }
        }
    }
    Value::Array(nodes)
}

fn add(tree: &mut [CallNode], at: usize, run: usize, seconds: f64) {
    if let Some(spent) = tree.get_mut(at).and_then(|n| n.spent.get_mut(run)) {
        *spent += seconds;
    }
}

fn child(tree: &mut Vec<CallNode>, at: usize, name: String, runs: usize) -> usize {
    let next = tree.len();
    let index = match tree.get_mut(at) {
        Some(node) => *node.children.entry(name).or_insert(next),
        None => return at,
    };
    if index == next {
        tree.push(CallNode { spent: vec![0.0; runs], ..CallNode::default() });
    }
    index
}
