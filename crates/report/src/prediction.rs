//! What more processors would bring, in words: a table whose cells the terminal and Markdown share, and what is said below
//! it.

use crate::text::sentence;
use crate::words::plural;
use analyze::prediction::{MeasuredSpeed, NotKnown, Predicted, Prediction};

/// How to read the range, below the table; of one count, the notes say it.
#[must_use]
pub fn reading(prediction: &Prediction) -> Option<&'static str> {
    let several = prediction.based_on.len() > 1;
    several.then_some("The range is made to hold nine in ten, by published curves and the noise of the sweep.")
}

/// What a column shows of a point.
type PredictionCell = fn(&Predicted) -> String;

/// A table: titles, and the cells of each row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PredictionTable {
    /// The titles of the columns.
    pub titles: Vec<&'static str>,
    /// A row for each number of processors.
    pub rows: Vec<Vec<String>>,
}

/// The headline: what the figures are over, and what they are made from.
#[must_use]
pub fn headline(prediction: &Prediction) -> String {
    let counted = prediction.counted;
    let [first, rest @ ..] = prediction.based_on.as_slice() else {
        return "What more processors would bring".to_owned();
    };
    let from = match rest.last() {
        Some(last) => format!("{first} to {}", counted.many(*last)),
        None => format!("{} alone", counted.many(*first)),
    };
    format!("How many times as fast as with {}, from measurements with {from}.", counted.many(*first))
}

/// The table. Columns that would be empty are left out.
#[must_use]
pub fn table(prediction: &Prediction) -> PredictionTable {
    let points = &prediction.points;
    let any = |has: fn(&Predicted) -> bool| points.iter().any(has);
    let mut columns: Vec<(&'static str, PredictionCell)> =
        vec![("processors", |p| p.processors.to_string()), ("times as fast", speed), ("range", range)];
    if any(|p| p.measured.is_some()) {
        columns.push(("measured", |p| of_measured(p, |m| format!("{:.2}", m.times_as_fast))));
        columns.push(("error", |p| of_measured(p, error)));
    }
    if any(|p| p.usl.is_some()) {
        columns.push(("USL", |p| p.usl.map(|usl| format!("{usl:.2}")).unwrap_or_default()));
        if any(|p| p.measured.is_some()) {
            columns.push(("its error", |p| of_measured(p, |m| m.usl_error.map(off).unwrap_or_default())));
        }
    }
    columns.push(("limited by", limit));
    PredictionTable {
        titles: columns.iter().map(|column| column.0).collect(),
        rows: points.iter().map(|point| columns.iter().map(|column| column.1(point)).collect()).collect(),
    }
}

/// What is said below the table: why figures are missing, with what would tell, and what to know.
#[must_use]
pub fn below(prediction: &Prediction) -> Vec<String> {
    let mut said: Vec<(String, Vec<u32>)> = Vec::new();
    let known = prediction.points.iter().filter_map(|p| Some((p, p.not_known.as_ref()?)));
    for (point, not_known) in known {
        let missing = if point.range.is_some() { "no single figure" } else { "not known" };
        let text = because(missing, not_known);
        match said.iter_mut().find(|(other, _)| *other == text) {
            Some((_, of)) => of.push(point.processors),
            None => said.push((text, vec![point.processors])),
        }
    }
    let listed = |of: &[u32]| match of {
        [one] => plural(u64::from(*one), "processor"),
        several => {
            let numbers: Vec<String> = several.iter().map(u32::to_string).collect();
            format!("{} processors", numbers.join(", "))
        }
    };
    let reasons: Vec<String> = said.iter().map(|(text, of)| format!("{}: {text}", listed(of))).collect();
    // A reason that stands there already is not said again.
    let notes = prediction.notes.iter().filter(|note| !reasons.iter().any(|reason| reason.contains(note.as_str())));
    let notes: Vec<String> = notes.map(|note| sentence(note)).collect();
    reasons.into_iter().chain(notes).collect()
}

/// Why nothing is predicted.
#[must_use]
pub fn refusal(refused: &NotKnown) -> String {
    because("not known", refused)
}

fn because(missing: &str, not_known: &NotKnown) -> String {
    format!("{missing}, because {}. What would tell: {}.", not_known.why, not_known.would_tell)
}

fn speed(point: &Predicted) -> String {
    match point.times_as_fast {
        Some(speed) if point.at_most => format!("up to {speed:.2}"),
        Some(speed) => format!("{speed:.2}"),
        None if point.range.is_some() => "-".to_owned(),
        None => "not known".to_owned(),
    }
}

fn range(point: &Predicted) -> String {
    point.range.map(|range| format!("{:.2} to {:.2}", range.low, range.high)).unwrap_or_default()
}

fn limit(point: &Predicted) -> String {
    let Some(limit) = point.limit else { return String::new() };
    let cause = limit.cause.map_or("unexplained", |cause| cause.name());
    format!("{cause} ({:.0} %)", 100.0 * limit.share)
}

fn of_measured(point: &Predicted, told: impl Fn(&MeasuredSpeed) -> String) -> String {
    point.measured.as_ref().map(told).unwrap_or_default()
}

fn error(measured: &MeasuredSpeed) -> String {
    match (measured.error, measured.in_range) {
        (Some(error), Some(false)) => format!("{}, out of range", off(error)),
        (Some(error), _) => off(error),
        (None, Some(true)) => "in range".to_owned(),
        (None, Some(false)) => "out of range".to_owned(),
        (None, None) => String::new(),
    }
}

fn off(error: f64) -> String {
    format!("{:+.0} %", 100.0 * error)
}
