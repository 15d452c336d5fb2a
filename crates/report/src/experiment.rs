//! An experiment: trials of a program, run in the same blocks as the unchanged one. All conclusions come from the analysis;
//! here is what is shown of them, in words.
//!
//! The JSON of [`Experiment`] is an interface: `docs/experiment.schema.json` describes it, a test holds both together.
//! Fields may be added, never renamed.

use crate::text::sentence;
use analyze::answer::{Answer, Cause, CurveChange, Interval, Knee};
use analyze::compare::experiment::Effect;
use recording::meta::{Counted, Machine, Shows, Tried};
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of the experiment's shape, "major.minor".
pub const FORMAT: &str = "1.0";

/// An experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Experiment {
    /// Who says so; the format is [`FORMAT`].
    pub knee: Knee,
    /// The command with its placeholders.
    pub command: Vec<String>,
    /// The machine that ran it.
    pub machine: Machine,
    /// The thread count, or number of processors.
    pub threads: u32,
    /// What that counts.
    pub counted: Counted,
    /// False when the program chose its threads by itself; then `threads` is the number of processors.
    pub thread_counts_given: bool,
    /// False when it was stopped early.
    pub complete: bool,
    /// What the trials are to show; null where they were chosen by the program alone.
    pub suspect: Option<Suspect>,
    /// What the trials say about it together.
    pub shows: Shows,
    /// The result in a sentence.
    pub summary: String,
    /// The trials, in the order in which they were chosen.
    pub trials: Vec<TrialRow>,
    /// Trials that were not made.
    pub left_out: Vec<NotMade>,
    /// What the reader should know before believing the numbers.
    pub warnings: Vec<String>,
}

/// The cause that an experiment is about.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suspect {
    /// The recording whose answer named it; null where the user did.
    pub recording: Option<String>,
    /// Its id.
    pub cause: String,
    /// Its title.
    pub title: String,
    /// The function that it was found in.
    pub function: Option<String>,
    /// What removing it was predicted to bring; null where nothing was predicted.
    pub predicted: Option<String>,
}

/// One trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrialRow {
    /// Its name.
    pub id: String,
    /// What was different.
    pub title: String,
    /// Variables that were set, with their values.
    pub variables: BTreeMap<String, String>,
    /// The words that came before the command.
    pub wrapper: Vec<String>,
    /// How fast it was compared with the unchanged program; null where it could not be run.
    pub change: Option<CurveChange>,
    /// Why it could not be run, or why it does not count.
    pub failed: Option<String>,
    /// What it says about the suspect.
    pub shows: Shows,
    /// What a faster program shows.
    pub proves: String,
    /// What it cannot show.
    pub cannot_show: String,
    /// True for a trial that is there to change nothing, or to do harm.
    pub control: bool,
    /// How the change is kept; null where it did not help, or is no advice.
    pub keep: Option<KeepLines>,
    /// What to do in the program instead; null where it did not help.
    pub instead: Option<String>,
}

/// The lines that keep a change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeepLines {
    /// In a shell.
    pub shell: String,
    /// In a Dockerfile; null where that has no line for it.
    pub dockerfile: Option<String>,
    /// In a unit of systemd; null likewise.
    pub unit: Option<String>,
}

/// A trial that was not made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NotMade {
    /// Its name.
    pub id: String,
    /// What would have been different.
    pub title: String,
    /// Why it was not made.
    pub why: String,
}

impl TrialRow {
    /// True if the program was faster by so much that it matters.
    pub fn helps(&self) -> bool {
        self.failed.is_none() && self.change.as_ref().map(Effect::from_change) == Some(Effect::Faster)
    }

    /// What came of it, in a few words.
    pub fn says(&self) -> String {
        if self.failed.is_some() {
            return "does not count".to_owned();
        }
        let Some(change) = &self.change else { return "it was not run".to_owned() };
        match Effect::from_change(change) {
            Effect::Faster => format!("faster: {}", self.proves),
            Effect::HardlyFaster | Effect::PerhapsFaster => "hardly faster".to_owned(),
            Effect::Slower => "slower".to_owned(),
            Effect::NoFaster => "no faster".to_owned(),
            Effect::Unclear => "cannot be told".to_owned(),
            Effect::TooFewBlocks => "too few blocks".to_owned(),
        }
    }
}

impl Experiment {
    /// The result in a sentence, from its trials. `preload_changes`: the empty library changed the speed.
    pub fn summarise(&mut self, preload_changes: bool) {
        let fastest = |shows: Shows| {
            let rows = self.trials.iter().filter(|row| row.shows == shows);
            rows.max_by(|a, b| speed(a).total_cmp(&speed(b)))
        };
        let with = match self.thread_counts_given {
            true => format!("with {} ", self.counted.many(self.threads)),
            false => String::new(),
        };
        let what = self.suspect.as_ref().map(|suspect| match &suspect.function {
            Some(function) => format!("{} in {}", suspect.cause, function),
            None => suspect.cause.clone(),
        });
        let effect = |row: &TrialRow| format!("{with}the program is {} with {}", times(row), row.title);
        self.summary = match (&what, self.shows) {
            (None, _) => {
                let helping = self.trials.iter().filter(|row| row.helps() && !row.control);
                match helping.max_by(|a, b| speed(a).total_cmp(&speed(b))) {
                    Some(row) => sentence(&format!("{}: {}", effect(row), row.proves)),
                    None => sentence(&format!("{with}no trial makes the program faster by 5 % or more")),
                }
            }
            (Some(what), Shows::Confirms) => match fastest(Shows::Confirms) {
                Some(row) => format!("Confirmed by experiment: {what}. {}", sentence(&effect(row))),
                None => String::new(),
            },
            (Some(what), Shows::Supports) => match fastest(Shows::Supports) {
                Some(row) => {
                    let why = sentence(&format!("{}: {}", effect(row), row.proves));
                    format!("Supported by experiment, not proven: {what}. {why}")
                }
                None => String::new(),
            },
            (Some(what), Shows::Refutes) => match fastest(Shows::Refutes) {
                Some(row) => format!(
                    "Not confirmed: {what}. {} It is not what limits the program, or something else takes its place.",
                    sentence(&effect(row))
                ),
                None => String::new(),
            },
            (Some(what), Shows::Nothing) => sentence(&format!("{with}the trials neither confirm {what} nor refute it")),
        };
        if preload_changes {
            self.warnings.push(
                "a library that changes nothing changed the speed: trials that load a library do not count here"
                    .to_owned(),
            );
        }
    }
}

fn speed(row: &TrialRow) -> f64 {
    row.change.as_ref().map_or(0.0, |change| change.speed)
}

/// "2.31 times as fast (2.20 to 2.42)", "1.41 times slower (1.39 to 1.41)".
pub fn times(row: &TrialRow) -> String {
    let Some(change) = &row.change else { return "not measured".to_owned() };
    speed_in_words(change.speed, change.interval.map(|Interval { low, high }| (low, high)))
}

/// A ratio of speeds: a program that is slower for certain is so many times slower, because nobody reads a slow-down in
/// "0.71 times as fast".
fn speed_in_words(speed: f64, interval: Option<(f64, f64)>) -> String {
    match interval {
        Some((low, high)) if high < 1.0 => {
            format!("{:.2} times slower ({:.2} to {:.2})", 1.0 / speed, 1.0 / high, 1.0 / low)
        }
        Some((low, high)) => format!("{speed:.2} times as fast ({low:.2} to {high:.2})"),
        None => format!("{speed:.2} times as fast"),
    }
}

/// What trials showed about a cause of an answer, in a sentence: the most telling of them. `None` where none was made.
pub fn told(answer: &Answer, cause: &Cause) -> Option<String> {
    let number = answer.verdict.causes.iter().position(|other| std::ptr::eq(other, cause))?;
    let of_cause = answer.tried.iter().filter(|tried| tried.number == Some(number)).map(|tried| &tried.tried);
    let order = [Shows::Nothing, Shows::Supports, Shows::Refutes, Shows::Confirms];
    let telling = |tried: &Tried| order.iter().position(|shows| *shows == tried.shows);
    let best = of_cause.max_by(|a, b| telling(a).cmp(&telling(b)).then(a.times_as_fast.total_cmp(&b.times_as_fast)))?;
    let says = match best.shows {
        Shows::Confirms => "confirmed by experiment",
        Shows::Supports => "supported by experiment",
        Shows::Refutes => "not confirmed by experiment",
        Shows::Nothing => "neither confirmed nor refuted",
    };
    let speed = speed_in_words(best.times_as_fast, best.low.zip(best.high));
    let with = answer.counted.many(best.threads);
    Some(format!("{says}: {speed} with {}, at {with}", best.title))
}
