//! The analysis: from a recording to an [`Analysis`], whose end is the answer.
//!
//! Rooms: [`answer`] the shape of the result; [`statistics`], [`curve`], [`knee`] the clean runs; [`runtimes`] what is
//! known of languages and libraries; [`model`] and [`sharing`] what the traced runs say; [`account`] where the
//! processors' time went; [`facts`] and [`causes`] why, one folder per cause; [`verdict`] the conclusion in words;
//! [`foresight`] what removing a cause would bring; [`prediction`] what more processors would; [`amounts`] and
//! [`growth`] the same items at several thread counts; [`queues`] locks and pools as queues; [`wait_graph`] who waits for whom; [`compare`] two
//! recordings, two cases of a sweep, or trials of a program; [`disturbance`] what came from outside; `imported` what
//! another tool's profile tells; [`load`] what asked a server for work; [`words`] phrases that several sentences need. Pure: no clock, no files, no environment. The
//! same recording gives the same answer.
//!
//! May import: `recording`, serde.

pub mod account;
pub mod amounts;
pub mod answer;
pub mod causes;
pub mod compare;
pub mod curve;
pub mod disturbance;
pub mod facts;
pub mod foresight;
pub mod growth;
mod imported;
pub mod knee;
pub mod load;
pub mod model;
pub mod prediction;
pub mod queues;
pub mod runtimes;
mod scaling;
pub mod sharing;
pub mod statistics;
pub mod verdict;
pub mod wait_graph;
pub mod words;

#[cfg(any(test, feature = "rewording"))]
#[doc(hidden)]
pub use words::reworded::reworded;

#[cfg(test)]
extern crate self as analyze;
#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;
#[cfg(test)]
mod rewording;

use account::Ledger;
use answer::{Answer, Knee};
use causes::Meta;
use causes::lines::{told, words};
use curve::Clean;
use facts::Facts;
use model::Model;
use prediction::{Ask, Prediction};
use recording::Tables;

/// A recording with everything that was found in it. Code that displays results reads them here and decides nothing
/// again.
#[derive(Debug)]
pub struct Analysis<'m, 't> {
    /// The recording, indexed.
    pub model: &'m Model<'t>,
    /// The timed runs.
    pub clean: Clean<'t>,
    /// The account of each traced run, with what each of its waits and samples is; in the order of `model.traced`,
    /// ascending by thread count.
    pub ledgers: Vec<Ledger<'m, 't>>,
    /// The answer.
    pub answer: Answer,
}

/// Finds out why a program does not get faster with more threads.
///
/// Never panics, whatever the tables hold: dangling handles are left out, impossible times are cut to the trace.
pub fn analyze<'m, 't>(model: &'m Model<'t>) -> Analysis<'m, 't> {
    analyze_for(model, causes::ALL)
}

/// The same, but looks only for these causes.
pub fn analyze_for<'m, 't>(model: &'m Model<'t>, causes: &[&Meta]) -> Analysis<'m, 't> {
    let tables = model.tables;
    let clean = Clean::new(tables);
    let ledgers = account::ledgers(model, &clean);
    let answer = match &tables.meta.imported {
        Some(from) => imported::answer(model, from),
        None => concluded(model, &clean, &ledgers, causes),
    };
    Analysis { model, clean, ledgers, answer }
}

/// What more processors would bring to the program of a recording.
pub fn predict(analysis: &Analysis<'_, '_>, ask: &Ask) -> Prediction {
    prediction::predict((analysis.model, &analysis.clean), &analysis.ledgers, &analysis.answer, ask)
}

/// The answer alone, for callers that need nothing else from the recording.
pub fn answer_for(tables: &Tables) -> Answer {
    analyze(&Model::new(tables)).answer
}

fn concluded<'t>(model: &Model<'t>, clean: &Clean<'t>, ledgers: &[Ledger<'_, 't>], causes: &[&Meta]) -> Answer {
    let tables = model.tables;
    let mut points = clean.points();
    points.iter_mut().for_each(|point| point.load = load::point(clean, point.threads));
    let processors = tables.meta.machine.usable_processors.max(1);
    let more_threads = facts::more_threads(ledgers);
    let facts = Facts { model, clean, points: &points, ledgers, processors, more_threads, named: words, only: None };
    let verdict = verdict::verdict(&facts, causes);
    Answer {
        what_if: foresight::what_if(&facts, causes, &verdict),
        knee: Knee { version: env!("CARGO_PKG_VERSION").to_owned(), format: tables.meta.format.to_string() },
        command: tables.meta.command.clone(),
        environment: tables.meta.environment.clone(),
        load: tables.meta.load.clone(),
        machine: tables.meta.machine.clone(),
        counted: tables.meta.counted,
        throughput: tables.meta.throughput.clone().filter(|_| clean.by_throughput),
        knee_at: knee::knee(clean),
        growth: growth::growth(&facts),
        queues: ledgers.iter().flat_map(|ledger| queues::queues(model, ledger)).collect(),
        requests: ledgers.iter().filter_map(|ledger| model::requests::requests(ledger.traced)).collect(),
        tried: compare::experiment::kept(&tables.meta.tried, &verdict),
        verdict,
        limitations: verdict::limitations(&facts),
        warnings: verdict::warnings(&facts),
        account: ledgers.iter().map(|l| told(model, l)).collect(),
        curve: points.clone(),
    }
}
