//! The description of a cause, and the outcome of looking for it.

use crate::account::{Ledger, LineId, Unexplained};
use crate::answer::{Cause, CauseId, Condition};
use crate::facts::Facts;
use crate::model::Model;
use crate::words::said;

/// The placeholder for a system call's name in a line's words.
pub(crate) const CALL: &str = "{call}";

/// The outcome of looking for a cause.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It is there: once, or once for each culprit.
    Found(Vec<Cause>),
    /// It is not there; the text says what was checked.
    Clear(String),
    /// It can be neither claimed nor excluded; the text says what is missing.
    Unsure(String),
    /// It comes from outside the program, and is there.
    Outside(Condition),
    /// It comes from outside the program, and is not there or not known: in either case not the program's fault.
    Nothing,
}

impl Outcome {
    /// The same without its words, in tests that replace all words.
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

/// What taking a cause away would save.
#[derive(Debug, Clone, Copy)]
pub enum Removal {
    /// The time that is charged to it: threads that waited for a lock run instead, and memory that is no longer shared
    /// costs no delay.
    Time,
    /// At most the time that is charged to it: threads that no longer wait for this may wait for something else.
    AtMost,
    /// At most the time that is charged to it, and its code's time at the baseline. The function tells that part
    /// as a share of the processor time there; it gets the cause, and the accounts of the count and of the smallest one.
    Code(for<'t> fn(&Facts<'_, 't>, &Meta, &Ledger<'_, 't>, &Ledger<'_, 't>) -> f64),
    /// Cannot be known from an account.
    Unknown,
}

/// Whose fault a cause is, and whether a program is expected to have some of it: this decides how little of it is an
/// answer, and what comes before it.
#[derive(Debug, Clone, Copy)]
pub enum Standing {
    /// A change of the program removes it: it is the answer even where it costs little.
    Defect,
    /// The same, except in accounts where the function says that each program of its language has such a loss.
    DefectUnless(fn(&Ledger<'_, '_>, &Cause) -> bool),
    /// Neither a defect of the program nor something that every program has, such as the number of threads that the user
    /// asked for.
    Neither,
    /// Every parallel program loses something to it. Where it costs little, it is a remark on a program that scales.
    Usual,
    /// The same, and it lies at the start and the end of a program: where it costs little, each defect comes before it,
    /// even one at another count.
    UsualStart,
    /// It comes from outside the program.
    Outside,
    /// The same, and it is about the pace at which the program is asked: its own sentence says who waited for whom.
    OutsidePace,
}

impl Standing {
    /// True for what comes from outside the program and is not its fault.
    pub fn is_outside(self) -> bool {
        matches!(self, Standing::Outside | Standing::OutsidePace)
    }
}

/// Of causes that compare nothing but their lines.
pub const NO_PLACES: fn(&Ledger<'_, '_>) -> Vec<(String, f64)> = |_| Vec::new();

/// The description of a cause. Everything said about it elsewhere (its title on a page, its colour, the names that a
/// schema allows) comes from here.
#[derive(Debug, Clone, Copy)]
pub struct Meta {
    /// Its name in answers.
    pub id: CauseId,
    /// Its colour in drawings, in CSS syntax.
    pub colour: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it is.
    pub what: &'static str,
    /// Why it costs time.
    pub why: &'static str,
    /// A typical example.
    pub example: &'static str,
    /// What observation would show that a verdict of this cause is wrong.
    pub disproved_by: &'static str,
    /// The words for the account's lines that belong to it; `None` for others. `{call}` stands for the name of a system
    /// call.
    pub lines: fn(LineId) -> Option<&'static str>,
    /// The unexplained parts of an account in which its time may be hidden when nothing was booked to it.
    pub hides_in: &'static [Unexplained],
    /// Lines of other causes that may be due to it where too little was seen to tell.
    pub may_be_in: &'static [LineId],
    /// Whose fault it is, and whether a program is expected to have some of it.
    pub standing: Standing,
    /// Its places in an account that are compared between counts and recordings, beside its lines: what each is called,
    /// and the processor-seconds per unit of work that threads were blocked there.
    pub places: fn(&Ledger<'_, '_>) -> Vec<(String, f64)>,
    /// What taking it away would save.
    pub removal: Removal,
    /// How many samples of it are needed to see it: the time that fewer samples stand for may have been missed.
    pub samples_needed: u64,
    /// Looks for it.
    pub judge: fn(&Facts<'_, '_>, &Meta) -> Outcome,
}

impl Meta {
    /// True for a line that is this cause's.
    pub fn claims(&self, id: LineId) -> bool {
        (self.lines)(id).is_some()
    }

    /// The sum of this cause's lines in an account, and its standard error from sampling.
    pub fn charged(&self, ledger: &Ledger<'_, '_>) -> (f64, f64) {
        ledger.sum(|id| self.claims(id))
    }

    /// The words for a line of this cause; empty for other lines.
    pub fn words(&self, model: &Model<'_>, id: LineId) -> String {
        let words = (self.lines)(id).unwrap_or_default();
        let words = match id {
            LineId::Call(number) | LineId::FailingCall(number) => words.replace(CALL, &model.call_name(number)),
            _ => words.to_owned(),
        };
        said(words, || format!("{id:?}"))
    }
}
