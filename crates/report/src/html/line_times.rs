//! The time of source lines, for the margin of the lines that a page shows.

use super::markup::Markup;
use crate::observed::Observed;
use crate::show::functions::seconds_per_sample;
use crate::words;
use analyze::Analysis;
use recording::StackId;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Seconds per unit of work.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct LineTime {
    /// On a processor, in the line and in all that it calls.
    running: f64,
    /// Of all threads: blocked in it, or in what it calls.
    waiting: f64,
}

/// The times of the lines of some files in one observed run.
#[derive(Debug, Default)]
pub(super) struct LineTimes<'t> {
    lines: BTreeMap<(&'t str, u32), LineTime>,
    /// In words: what the times are of.
    of: String,
}

impl<'t> LineTimes<'t> {
    /// Those of the run with so many threads, of lines in these files; none where no such run was observed.
    pub(super) fn new(
        analysis: &Analysis<'_, 't>,
        threads: u32,
        files: &BTreeSet<&str>,
        per_work: &str,
    ) -> LineTimes<'t> {
        let mut times = LineTimes::default();
        let Some(observed) = Observed::at(analysis, Some(threads)).filter(|_| !files.is_empty()) else { return times };
        times.of = format!("of the line and its calls, {per_work} with {}", observed.traced.count());
        let mut by_stack: HashMap<StackId, LineTime> = HashMap::new();
        let each = seconds_per_sample(&observed);
        for stack in observed.traced.samples.iter().filter_map(|sample| sample.user_stack) {
            by_stack.entry(stack).or_default().running += each;
        }
        for wait in observed.traced.waits.values() {
            if let Some(stack) = wait.user_stack {
                by_stack.entry(stack).or_default().waiting += wait.blocked_ns as f64 / 1e9 / observed.work;
            }
        }
        for (stack, spent) in by_stack {
            // A line that calls itself counts once.
            let lines = observed.model.stacks.frames(stack).into_iter();
            let lines = lines.filter_map(|code| code.frame.file.as_deref().zip(code.frame.line));
            for line in lines.filter(|(file, _)| files.contains(file)).collect::<BTreeSet<_>>() {
                let sum = times.lines.entry(line).or_default();
                sum.running += spent.running;
                sum.waiting += spent.waiting;
            }
        }
        times
    }

    /// The margin of some lines of a file.
    pub(super) fn margin<'m>(&'m self, file: &'m str, lines: impl Iterator<Item = u32> + Clone) -> Margin<'m> {
        let of = |line: u32| self.lines.get(&(file, line)).copied().unwrap_or_default();
        let any = |value: &dyn Fn(LineTime) -> f64| lines.clone().any(|line| value(of(line)) > 0.0);
        Margin { times: self, file, runs: any(&|s| s.running), waits: any(&|s| s.waiting) }
    }
}

/// Columns beside source lines; none for what no line has.
pub(super) struct Margin<'m> {
    times: &'m LineTimes<'m>,
    file: &'m str,
    runs: bool,
    waits: bool,
}

impl Margin<'_> {
    fn columns(&self, [runs, waits]: [&str; 2], m: &mut Markup) {
        for (text, _) in [(runs, self.runs), (waits, self.waits)].into_iter().filter(|(_, there)| *there) {
            m.raw("<span class=\"spent\">").text(text).raw("</span> ");
        }
    }

    /// The titles of the columns.
    pub(super) fn titles(&self, m: &mut Markup) {
        if self.runs || self.waits {
            m.raw("<span class=\"titles\">");
            self.columns(["runs", "waits"], m);
            m.raw("<span class=\"number\">line</span> ").text(&self.times.of).raw("\n</span>");
        }
    }

    /// What stands beside a line.
    pub(super) fn beside(&self, line: u32, m: &mut Markup) {
        let spent = self.times.lines.get(&(self.file, line)).copied().unwrap_or_default();
        let told = [spent.running, spent.waiting].map(|s| if s > 0.0 { words::about(s) } else { String::new() });
        self.columns([&told[0], &told[1]], m);
    }
}
