//! What the user sees while the runs are made.
//!
//! On a terminal it is one line, rewritten before each run; elsewhere a line from time to time, so that a log stays
//! short. Nothing is written during a run, because that would disturb the measurement.

use super::Broken;
use crate::plan::Planned;
use recording::meta::Counted;
use recording::tables::RunKind;
use report::text::{harmless, shorten};
use report::words;
use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

/// Without a terminal, a line is printed after this much time of runs.
const PLAIN_EVERY_NS: u64 = 30_000_000_000;
/// An observed run takes longer: preparation, and resolving names afterwards. Only for the estimate of the time left.
const TRACED_FACTOR: f64 = 1.5;
/// Columns of the rewritten line; a longer one would wrap and could not be rewritten.
const WIDTH: usize = 79;

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// One line, rewritten.
    Line,
    /// A few plain lines.
    Plain,
    /// Nothing.
    Quiet,
}

/// The progress display.
pub(crate) struct Progress<'o> {
    out: &'o mut dyn Write,
    mode: Mode,
    /// The names of the cases; empty when there is only one.
    labels: Vec<String>,
    /// Whether the counts are of threads or of processors.
    counted: Counted,
    /// Wall times so far, in ns, by case and thread count.
    walls: BTreeMap<(usize, u32), Vec<u64>>,
    /// The largest count and its speed-up so far.
    so_far: Option<(u32, f64)>,
    since_line_ns: u64,
    line_is_open: bool,
    /// The lines of the failed run that was shown last.
    shown: Option<Vec<String>>,
}

impl<'o> Progress<'o> {
    /// `labels` are the names of the cases; empty when there is only one.
    pub(crate) fn new(out: &'o mut dyn Write, mode: Mode, labels: Vec<String>, counted: Counted) -> Progress<'o> {
        Progress {
            out,
            mode,
            labels,
            counted,
            walls: BTreeMap::new(),
            so_far: None,
            since_line_ns: 0,
            line_is_open: false,
            shown: None,
        }
    }

    /// The run with this number in the plan is about to start.
    pub(crate) fn starts(&mut self, plan: &[Planned], number: usize) {
        self.number(plan, number, "");
    }

    /// The same for the further blocks, made when the planned ones leave open whether the program loses time.
    pub(super) fn starts_more(&mut self, plan: &[Planned], number: usize) {
        self.number(plan, number, " more, it is not certain yet");
    }

    fn number(&mut self, plan: &[Planned], number: usize, more: &str) {
        let Some(planned) = plan.get(number) else { return };
        let left = self.left(plan.get(number..).unwrap_or_default());
        let left = left.map_or(String::new(), |seconds| format!(", about {} left", words::about(seconds)));
        let so_far = self.so_far.map_or(String::new(), |(count, speedup)| {
            format!("; so far {} with {}", words::times(speedup, None), self.counted.many(count))
        });
        self.line(&format!("run {} of {}{more}: {}{left}{so_far}", number + 1, plan.len(), self.describe(*planned)));
    }

    /// What the runs so far show, in a sentence that stays on the screen.
    pub(super) fn so_far(&mut self, sentence: &str) {
        if self.mode != Mode::Quiet {
            self.clear();
            let _ = writeln!(self.out, "So far: {}", harmless(sentence));
        }
    }

    /// The largest count and its speed-up, as far as they are known.
    pub(super) fn shows(&mut self, so_far: Option<(u32, f64)>) {
        self.so_far = so_far;
    }

    fn line(&mut self, line: &str) {
        match self.mode {
            Mode::Quiet => {}
            Mode::Line => {
                // Carriage return and "erase to the end of the line" (ECMA-48, EL).
                let _ = write!(self.out, "\r\u{1b}[K{}", shorten(line, WIDTH)).and_then(|()| self.out.flush());
                self.line_is_open = true;
            }
            Mode::Plain if self.since_line_ns >= PLAIN_EVERY_NS => {
                let _ = writeln!(self.out, "knee: {line}");
                self.since_line_ns = 0;
            }
            Mode::Plain => {}
        }
    }

    /// The first run waits until the machine is quiet.
    pub(crate) fn waits(&mut self, why: &str, waited: Duration, patience: Duration) {
        if waited.is_zero() && self.mode == Mode::Plain {
            let _ =
                writeln!(self.out, "knee: {why}; waiting up to {} s (--no-wait starts at once)", patience.as_secs());
        }
        self.line(&format!("{why}; waiting, {} of {} s", waited.as_secs(), patience.as_secs()));
    }

    /// A run is made again, for this reason.
    pub(super) fn repeats(&mut self, planned: Planned, why: &str) {
        self.line(&format!("{}, again: {why}", self.describe(planned)));
    }

    /// A run succeeded.
    pub(crate) fn ended(&mut self, planned: Planned, wall_ns: u64) {
        self.since_line_ns = self.since_line_ns.saturating_add(wall_ns);
        if planned.kind != RunKind::Traced {
            self.walls.entry((planned.case, planned.threads)).or_default().push(wall_ns);
        }
    }

    /// A thread count was given up. Shown even with --quiet: it is a result, not progress.
    pub(super) fn breaks(&mut self, planned: Planned, broken: &Broken) {
        self.clear();
        let why = harmless(&broken.why);
        let _ = writeln!(self.out, "knee: {} failed: {why}; going on without this count", self.describe(planned));
        // A program that fails at every count usually prints the same each time.
        if self.shown.as_ref() == Some(&broken.output) {
            return;
        }
        for line in &broken.output {
            let _ = writeln!(self.out, "  | {}", harmless(line));
        }
        self.shown = Some(broken.output.clone());
    }

    /// Shows what the target printed, because the user asked for it.
    pub(super) fn output(&mut self, planned: Planned, lines: &[String]) {
        self.clear();
        let _ = writeln!(self.out, "--- {}", self.describe(planned));
        for line in lines {
            let _ = writeln!(self.out, "{}", harmless(line));
        }
    }

    /// Removes the rewritten line.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.line_is_open) {
            let _ = write!(self.out, "\r\u{1b}[K").and_then(|()| self.out.flush());
        }
    }

    /// Seconds that these runs will take, by the median of the times so far. None until a run has ended.
    pub(super) fn left(&self, plan: &[Planned]) -> Option<f64> {
        let medians: BTreeMap<(usize, u32), f64> = self.walls.iter().map(|(of, walls)| (*of, median(walls))).collect();
        let usual = medians.values().sum::<f64>() / medians.len() as f64;
        if medians.is_empty() {
            return None;
        }
        let one = |planned: &Planned| {
            let factor = if planned.kind == RunKind::Traced { TRACED_FACTOR } else { 1.0 };
            factor * medians.get(&(planned.case, planned.threads)).copied().unwrap_or(usual)
        };
        Some(plan.iter().map(one).sum())
    }

    fn describe(&self, planned: Planned) -> String {
        let case = match self.labels.get(planned.case) {
            Some(label) if !label.is_empty() => format!("{}, ", harmless(label)),
            _ => String::new(),
        };
        let threads = self.counted.many(planned.threads);
        let kind = match planned.kind {
            RunKind::WarmUp => "warm-up",
            RunKind::Traced => "observed",
            _ => "timed",
        };
        format!("{case}{threads}, {kind}")
    }
}

/// In seconds, from ns.
fn median(walls: &[u64]) -> f64 {
    let mut sorted = walls.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).map_or(0.0, |ns| *ns as f64 * 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(kind: RunKind, threads: u32) -> Planned {
        Planned { case: 0, kind, threads, block: 0 }
    }

    fn shown(mode: Mode) -> String {
        let plan = [
            planned(RunKind::Clean, 1),
            planned(RunKind::Clean, 2),
            planned(RunKind::Clean, 2),
            planned(RunKind::Traced, 1),
        ];
        let mut out = Vec::new();
        let mut progress = Progress::new(&mut out, mode, Vec::new(), Counted::Threads);
        progress.starts(&plan, 0);
        progress.ended(plan[0], 40_000_000_000);
        progress.starts(&plan, 1);
        progress.ended(plan[1], 10_000_000_000);
        progress.starts(&plan, 2);
        progress.breaks(plan[2], &Broken { why: "exit status 1".into(), output: vec!["bad \u{1b}[2J".into()] });
        progress.clear();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn one_line_on_a_terminal() {
        let text = shown(Mode::Line);
        let first = "\r\u{1b}[Krun 1 of 4: 1 thread, timed\r\u{1b}[Krun 2 of 4: 2 threads, timed, about 140 s left";
        assert!(text.starts_with(first), "{text:?}");
        assert!(text.contains("run 3 of 4: 2 threads, timed, about 70 s left\r\u{1b}[Kknee: 2 threads, timed failed"));
        assert!(text.contains("  | bad \u{fffd}[2J\n"));
    }

    #[test]
    fn each_case_has_its_own_time_and_name() {
        let of = |case, threads| Planned { case, kind: RunKind::Clean, threads, block: 0 };
        let plan = [of(0, 1), of(1, 1), of(1, 1), of(0, 1)];
        let mut out = Vec::new();
        let mut progress =
            Progress::new(&mut out, Mode::Line, vec!["slow".into(), "fast \u{1b}".into()], Counted::Threads);
        progress.ended(plan[0], 40_000_000_000);
        progress.ended(plan[1], 2_000_000_000);
        progress.starts(&plan, 2);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "\r\u{1b}[Krun 3 of 4: fast \u{fffd}, 1 thread, timed, about 42 s left");
    }

    #[test]
    fn the_line_has_the_speed_up_so_far() {
        let plan = [planned(RunKind::Clean, 1), planned(RunKind::Clean, 4), planned(RunKind::Traced, 4)];
        let mut out = Vec::new();
        let mut progress = Progress::new(&mut out, Mode::Line, Vec::new(), Counted::Threads);
        plan.iter().for_each(|run| progress.ended(*run, 10_000_000_000));
        progress.shows(Some((4, 1.93)));
        progress.starts(&plan, 2);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "\r\u{1b}[Krun 3 of 3: 4 threads, observed, about 15 s left; so far 1.9× with 4 threads");
    }

    #[test]
    fn the_first_answer_stays_on_the_screen() {
        for (mode, expected) in [
            (Mode::Line, "\r\u{1b}[Krun 1 of 1: 4 threads, observed\r\u{1b}[KSo far: \u{fffd}it waits.\n"),
            (Mode::Plain, "So far: \u{fffd}it waits.\n"),
            (Mode::Quiet, ""),
        ] {
            let mut out = Vec::new();
            let mut progress = Progress::new(&mut out, mode, Vec::new(), Counted::Threads);
            progress.starts(&[planned(RunKind::Traced, 4)], 0);
            progress.so_far("\u{1b}it waits.");
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn few_lines_elsewhere_and_failures_always() {
        assert_eq!(shown(Mode::Plain).lines().filter(|l| l.contains("run ")).count(), 1);
        let quiet = shown(Mode::Quiet);
        assert!(quiet.starts_with("knee: 2 threads, timed failed: exit status 1"));
    }
}
