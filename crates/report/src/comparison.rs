//! Several cases of one sweep side by side: variants of a program, values of a parameter. All conclusions come from the
//! analysis; here are only the parts of its answers that are shown side by side.
//!
//! The JSON of [`Comparison`] is an interface: `docs/comparison.schema.json` describes it, a test holds both together.
//! Fields may be added, never renamed. The terminal and the page show it.

use crate::words;
use analyze::answer::{Answer, Knee, Point, Verdict};
use analyze::compare::blocks::Ratio;
use recording::meta::{Counted, Machine};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How many possible causes are named when none is certain.
const MOST_OPEN: usize = 3;

/// Version of the comparison's shape, "major.minor".
pub const FORMAT: &str = "1.0";

/// A sweep over several cases.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Who says so; the format is [`FORMAT`].
    pub knee: Knee,
    /// What the sweep is called.
    pub title: String,
    /// Name of the sweep file, when there was one.
    pub file: Option<String>,
    /// False when the sweep was stopped early, or is not finished yet.
    pub complete: bool,
    /// The machine that ran it.
    pub machine: Option<Machine>,
    /// Unit of the throughput that all cases print; null when their speeds are compared by wall time.
    pub unit: Option<String>,
    /// How the curves are to be drawn.
    pub picture: Picture,
    /// The cases, in the order of the sweep.
    pub cases: Vec<Case>,
    /// Variants that were not run.
    pub skipped: Vec<Skipped>,
}

/// How the curves of a comparison are drawn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Picture {
    /// The parameter along the x axis; null for the thread count.
    pub x: Option<String>,
    /// Whether the x axis is logarithmic.
    pub log_x: bool,
    /// Whether the y axis is.
    pub log_y: bool,
}

/// A variant with one value of each parameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Case {
    /// The variant.
    pub variant: String,
    /// Parameters that differ between cases.
    pub parameters: Vec<Parameter>,
    /// Folder of its recording inside the sweep's; `knee report` shows it in full.
    pub recording: String,
    /// The command with `{threads}` in it.
    pub command: Vec<String>,
    /// Cause ids that the sweep file's author expects; empty when none is named.
    pub expect: Vec<String>,
    /// One point per thread count, ascending; empty when every count failed.
    pub curve: Vec<Point>,
    /// The last thread count worth using; null when the curve does not bend.
    pub knee_at: Option<u32>,
    /// True when runs were observed: without that, no cause can be found.
    pub observed: bool,
    /// Why it does not get faster.
    pub verdict: Verdict,
    /// Speed divided by the first variant's speed at the same parameters, by thread count; empty for the first variant.
    pub against_first: Vec<Ratio>,
    /// What the reader should know before believing the numbers.
    pub warnings: Vec<String>,
}

/// A parameter's value in one case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value, as it stands in the command.
    pub value: String,
}

/// A variant that was not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Its name.
    pub variant: String,
    /// Why.
    pub why: String,
}

impl Comparison {
    /// Whether the counts are of threads or of processors.
    pub fn counted(&self) -> Counted {
        match self.cases.iter().flat_map(|case| &case.curve).any(|point| point.processors.is_some()) {
            true => Counted::Processors,
            false => Counted::Threads,
        }
    }

    /// The counts of all cases, ascending.
    pub fn counts(&self) -> Vec<u32> {
        let all = self.cases.iter().flat_map(|case| &case.curve).map(|point| point.threads);
        all.collect::<BTreeSet<u32>>().into_iter().collect()
    }

    /// The throughput when all cases print one in the same unit, otherwise seconds.
    pub fn value(&self, point: &Point) -> Option<f64> {
        match self.unit {
            Some(_) => point.throughput.map(|t| t.median),
            None => Some(point.seconds.median),
        }
    }

    /// Speed in units of work, or runs, per second.
    pub fn speed(&self, point: &Point) -> Option<f64> {
        let value = self.value(point)?;
        Some(if self.unit.is_some() { value } else { 1.0 / value }).filter(|speed| speed.is_finite())
    }

    /// What speeds are counted in.
    pub fn speed_unit(&self) -> &str {
        self.unit.as_deref().unwrap_or("runs a second")
    }

    /// Groups of cases that differ in this parameter only, each with the name of what its cases have in common.
    pub fn along(&self, parameter: &str) -> Vec<(String, Vec<&Case>)> {
        let mut groups: Vec<(String, Vec<&Case>)> = Vec::new();
        for case in &self.cases {
            let others = case.parameters.iter().filter(|p| p.name != parameter);
            let others = others.map(|p| format!("{}={}", p.name, p.value));
            let rest = std::iter::once(case.variant.clone()).chain(others).collect::<Vec<_>>().join(", ");
            match groups.iter_mut().find(|(name, _)| *name == rest) {
                Some((_, cases)) => cases.push(case),
                None => groups.push((rest, vec![case])),
            }
        }
        groups
    }
}

impl Case {
    /// The case whose answer this is.
    pub fn new(
        variant: String,
        parameters: Vec<Parameter>,
        expect: Vec<String>,
        recording: String,
        answer: Answer,
    ) -> Case {
        Case {
            variant,
            parameters,
            recording,
            command: answer.command,
            expect,
            curve: answer.curve,
            knee_at: answer.knee_at,
            observed: !answer.account.is_empty(),
            verdict: answer.verdict,
            against_first: Vec::new(),
            warnings: answer.warnings,
        }
    }

    /// The value of a parameter, as it stands in the command.
    pub fn value_of(&self, parameter: &str) -> Option<&str> {
        self.parameters.iter().find(|p| p.name == parameter).map(|p| p.value.as_str())
    }

    /// The verdict in few words: `user-lock 92 %`.
    pub fn in_short(&self) -> String {
        if self.curve.is_empty() {
            return "failed".to_owned();
        }
        if !self.observed {
            return "not observed".to_owned();
        }
        match self.verdict.causes.first() {
            Some(cause) if cause.is_found() => {
                format!("{} {}", cause.id.name(), words::percent(cause.share))
            }
            _ if self.verdict.unsure.is_empty() => "none".to_owned(),
            _ => {
                let open: Vec<&str> = self.verdict.unsure.iter().take(MOST_OPEN).map(|u| u.id.name()).collect();
                let more = match self.verdict.unsure.len().saturating_sub(MOST_OPEN) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                format!("unsure: {}{more}", open.join(", "))
            }
        }
    }

    /// A sentence, when the verdict is not what the sweep file's author expects. Either may be wrong.
    pub fn surprise(&self) -> Option<String> {
        let found: Vec<&str> = self.verdict.causes.iter().map(|cause| cause.id.name()).collect();
        if !self.observed || self.expect.is_empty() || self.expect.iter().any(|id| found.contains(&id.as_str())) {
            return None;
        }
        let unsure = |id: &&String| self.verdict.unsure.iter().any(|u| u.id.name() == **id);
        let open: Vec<&str> = self.expect.iter().filter(unsure).map(String::as_str).collect();
        let told = match open.is_empty() {
            true => "knee found".to_owned(),
            false => format!("knee is unsure about {}, and found", open.join(" and ")),
        };
        Some(format!("expected {}; {told} {}", self.expect.join(" or "), found.join(", ")))
    }

    /// What it is called: `per-thread, iterations=100`.
    pub fn label(&self) -> String {
        let parameters = self.parameters.iter().map(|p| format!("{}={}", p.name, p.value));
        std::iter::once(self.variant.clone()).chain(parameters).collect::<Vec<_>>().join(", ")
    }
}

/// The number that a parameter's value stands for on an axis: `100`, `0.5`, `16K` (thousands).
pub fn number(value: &str) -> Option<f64> {
    let (digits, factor) = match value.char_indices().last()? {
        (at, 'k' | 'K') => (&value[..at], 1e3),
        (at, 'M') => (&value[..at], 1e6),
        (at, 'G') => (&value[..at], 1e9),
        _ => (value, 1.0),
    };
    // `inf` and `nan` parse, but have no place on an axis.
    digits.parse::<f64>().ok().map(|number| number * factor).filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_parameters() {
        for (text, value) in [("0", 0.0), ("100", 100.0), ("-2", -2.0), ("0.5", 0.5), ("16K", 16e3), ("2M", 2e6)] {
            assert_eq!(number(text), Some(value), "{text}");
        }
        for text in ["", "K", "spin", "inf", "NaN", "1 000", "10MB"] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
