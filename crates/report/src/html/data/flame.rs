//! The call trees behind the flame graphs: processor time, and waiting, by call path.

use super::names::NameTable;
use crate::observed::Observed;
use crate::show::functions::{kernel_name, seconds_per_sample};
use analyze::Analysis;
use analyze::model::code::{Code, file_name};
use recording::StackId;
use recording::tables::{Mode, Sample};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// A call path with less than this share of a run's time, in all runs, is left out of the picture: it would be narrower
/// than a pixel.
const SMALLEST: f64 = 0.0005;

/// The innermost function of a sample.
pub(super) fn leaf(observed: &Observed<'_, '_>, sample: &Sample) -> String {
    if sample.mode == Mode::Kernel {
        return kernel_name(observed, sample.syscall, sample.kernel_stack);
    }
    let view = observed.model.stacks.view(sample.user_stack, false);
    view.leaf.map_or_else(|| "(no stack)".to_owned(), |c| frame(&c))
}

fn frame(code: &Code<'_>) -> String {
    match code.name() {
        Some(name) => name.to_owned(),
        None => format!("{}+{:#x}", file_name(code.module), code.frame.address),
    }
}

/// Names of a stack's functions, outermost first.
fn path(observed: &Observed<'_, '_>, stack: Option<StackId>) -> Vec<String> {
    let mut path: Vec<String> =
        stack.iter().flat_map(|s| observed.model.stacks.frames(*s)).map(|c| frame(&c)).collect();
    path.reverse();
    path
}

/// All that decides a sample's path: mode, system call, stacks in user space and in the kernel.
type FlameKey = (Mode, Option<u32>, [Option<StackId>; 2]);

/// Processor time of all runs: nodes `[parent, name, seconds per unit of work of each run ...]`, parents first.
pub(super) fn on_cpu(analysis: &Analysis<'_, '_>, names: &mut NameTable) -> Value {
    let runs: Vec<Observed<'_, '_>> = Observed::all(analysis).collect();
    let mut tree = CallTree::new(runs.len());
    for (r, observed) in runs.iter().enumerate() {
        let each = seconds_per_sample(observed);
        let imported = observed.model.tables.meta.imported.is_some();
        let mut counts: HashMap<FlameKey, f64> = HashMap::new();
        for sample in &observed.traced.samples {
            // Only an imported profile names the kernel's part by its stack.
            let stacks = [sample.user_stack, sample.kernel_stack.filter(|_| imported)];
            *counts.entry((sample.mode, sample.syscall, stacks)).or_default() += each;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|a| a.0);
        for ((mode, syscall, [stack, kernel]), seconds) in counts {
            let mut path = path(observed, stack);
            path.extend((mode == Mode::Kernel).then(|| kernel_name(observed, syscall, kernel)));
            tree.add(path, r, seconds);
        }
    }
    tree.nodes(names)
}

/// Blocked time of all threads of all runs, in the same way. Innermost is what was waited for, in brackets; who waits
/// for a processor is not blocked.
pub(super) fn waited(analysis: &Analysis<'_, '_>, names: &mut NameTable) -> Value {
    let runs: Vec<Observed<'_, '_>> = Observed::all(analysis).collect();
    let mut tree = CallTree::new(runs.len());
    for (r, observed) in runs.iter().enumerate() {
        for wait in observed.traced.waits.values().filter(|wait| wait.blocked_ns > 0) {
            let mut path = path(observed, wait.user_stack);
            path.push(format!("[{}]", observed.reason(wait)));
            tree.add(path, r, wait.blocked_ns as f64 / 1e9 / observed.work);
        }
    }
    tree.nodes(names)
}

#[derive(Default)]
struct CallNode {
    children: BTreeMap<String, usize>,
    /// Seconds per unit of work with all that it calls, one a run.
    spent: Vec<f64>,
}

/// Call paths of several runs. The first node is all of them.
struct CallTree {
    nodes: Vec<CallNode>,
    runs: usize,
}

impl CallTree {
    fn new(runs: usize) -> CallTree {
        CallTree { nodes: vec![CallNode { spent: vec![0.0; runs], ..CallNode::default() }], runs }
    }

    /// Adds time of a run at a path, outermost first.
    fn add(&mut self, path: Vec<String>, run: usize, seconds: f64) {
        let mut at = 0;
        self.spend(at, run, seconds);
        for name in path {
            at = self.child(at, name);
            self.spend(at, run, seconds);
        }
    }

    fn spend(&mut self, at: usize, run: usize, seconds: f64) {
        if let Some(spent) = self.nodes.get_mut(at).and_then(|n| n.spent.get_mut(run)) {
            *spent += seconds;
        }
    }

    fn child(&mut self, at: usize, name: String) -> usize {
        let next = self.nodes.len();
        let index = match self.nodes.get_mut(at) {
            Some(node) => *node.children.entry(name).or_insert(next),
            None => return at,
        };
        if index == next {
            self.nodes.push(CallNode { spent: vec![0.0; self.runs], ..CallNode::default() });
        }
        index
    }

    /// The nodes that can be seen, as the scripts read them.
    fn nodes(&self, names: &mut NameTable) -> Value {
        let whole: Vec<f64> = self.nodes.first().map(|n| n.spent.clone()).unwrap_or_default();
        let seen = |n: &CallNode| n.spent.iter().zip(&whole).any(|(s, all)| *s > SMALLEST * all);
        let mut nodes: Vec<Value> = Vec::new();
        let mut open: Vec<(usize, Option<usize>, usize)> = vec![(0, None, names.index("all"))];
        while let Some((at, parent, name)) = open.pop() {
            let Some(node) = self.nodes.get(at).filter(|n| seen(n)) else { continue };
            let mut row = vec![json!(parent), json!(name)];
            row.extend(node.spent.iter().map(|s| json!((s * 1e9).round() / 1e9)));
            let index = nodes.len();
            nodes.push(Value::Array(row));
            for (name, child) in node.children.iter().rev() {
                if self.nodes.get(*child).is_some_and(&seen) {
                    open.push((*child, Some(index), names.index(name)));
                }
            }
        }
        Value::Array(nodes)
    }
}
