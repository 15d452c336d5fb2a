//! Several cases of one sweep side by side: variants of a program, values of a parameter. What is compared was
//! concluded by the analysis; here are only the parts of its answers that stand beside each other.
//!
//! The JSON of [`Comparison`] is an interface: `docs/comparison.schema.json` describes it, a test holds both together.
//! Fields may be added, never renamed. May import: analyze's answer, serde.

use analyze::against::Ratio;
use analyze::answer::{Answer, Knee, Point, Verdict};
use recording::meta::Machine;
use serde::{Deserialize, Serialize};

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
    /// Cause ids that the sweep file's author expects; empty when none was told.
    pub expect: Vec<String>,
    /// One point a thread count, ascending; empty when every count failed.
    pub curve: Vec<Point>,
    /// The last thread count worth using; null when the curve has not bent.
    pub knee_at: Option<u32>,
    /// True when runs were observed: without that no cause can be found.
    pub observed: bool,
    /// Why it does not get faster.
    pub verdict: Verdict,
    /// Speed over the first variant's at the same parameters, by thread count; empty for the first variant.
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
