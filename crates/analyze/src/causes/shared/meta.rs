//! What a cause says of itself, and what looking for it comes to.

use crate::account::{Ledger, LineId, Unexplained};
use crate::answer::{Cause, CauseId, Condition};
use crate::facts::Facts;
use crate::model::Model;
use crate::words::said;

/// What stands in a line's words for the name of the system call.
pub(crate) const CALL: &str = "{call}";

/// What looking for a cause came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It is there: once, or once for each culprit.
    Found(Vec<Cause>),
    /// It is not there: what was checked.
    Clear(String),
    /// It can be neither claimed nor excluded: what is missing.
    Unsure(String),
    /// It comes from outside, and is there.
    Outside(Condition),
    /// It comes from outside, and is not there or not known: no fault of the program in any case.
    Nothing,
}

impl Outcome {
    /// The same, in tests that replace all words without its own.
    pub(crate) fn said(self) -> Outcome {
        let instead = |words: String| said(words, || "said".to_owned());
        let all = |words: Vec<String>| words.into_iter().map(instead).collect();
        match self {
            Outcome::Clear(words) => Outcome::Clear(instead(words)),
            Outcome::Unsure(words) => Outcome::Unsure(instead(words)),
            Outcome::Outside(condition) => Outcome::Outside(Condition {
                summary: instead(condition.summary),
                remedies: all(condition.remedies),
                ..condition
            }),
            Outcome::Nothing => Outcome::Nothing,
            Outcome::Found(causes) => Outcome::Found(
                causes
                    .into_iter()
                    .map(|cause| Cause {
                        summary: instead(cause.summary),
                        remedies: all(cause.remedies),
                        disproved_by: instead(cause.disproved_by),
                        ..cause
                    })
                    .collect(),
            ),
        }
    }
}

/// What a cause says of itself. Whatever is told of it elsewhere, its title on a page, its colour, the names that a schema
/// allows, comes from here.
#[derive(Debug, Clone, Copy)]
pub struct Meta {
    /// Its name in answers.
    pub id: CauseId,
    /// Its colour in drawings, as CSS has it.
    pub colour: &'static str,
    /// Its one name for people.
    pub title: &'static str,
    /// What it is.
    pub what: &'static str,
    /// Why it costs time.
    pub why: &'static str,
    /// A typical example.
    pub example: &'static str,
    /// What observation would show that a verdict of this cause is wrong.
    pub disproved_by: &'static str,
    /// The lines of the account that are its own, with what they are called. `{call}` stands for the name of a system call.
    pub lines: fn(LineId) -> Option<&'static str>,
    /// The unexplained parts of an account that its time may be among when nothing was booked to it.
    pub hides_in: &'static [Unexplained],
    /// Lines of other causes that are its own where too little was seen to tell.
    pub may_be_in: &'static [LineId],
    /// True for what comes from outside of the program and is no fault of it.
    pub outside: bool,
    /// So many samples have to be of it before it is seen: what fewer stand for may have escaped.
    pub samples_needed: u64,
    /// Looks for it.
    pub judge: fn(&Facts<'_, '_>, &Meta) -> Outcome,
}

impl Meta {
    /// True for a line that is this cause's.
    pub fn claims(&self, id: LineId) -> bool {
        (self.lines)(id).is_some()
    }

    /// What the lines of this cause sum to in an account, and the standard error from sampling.
    pub fn charged(&self, ledger: &Ledger<'_, '_>) -> (f64, f64) {
        ledger.sum(|id| self.claims(id))
    }

    /// What a line of this cause is called; empty for a line that is not its own.
    pub fn words(&self, model: &Model<'_>, id: LineId) -> String {
        let words = (self.lines)(id).unwrap_or_default();
        let words = match id {
            LineId::Call(number) | LineId::FailingCall(number) => words.replace(CALL, &model.call_name(number)),
            _ => words.to_owned(),
        };
        said(words, || format!("{id:?}"))
    }
}
