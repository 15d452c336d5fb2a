//! The analysis: from a recording to an answer.
//!
//! Rooms: [`answer`] the shape of the result; [`statistics`], [`intervals`], [`curve`], [`knee`] the clean runs; [`names`],
//! [`themes`], [`code`], [`stacks`], [`alike`], [`lives`], [`sharing`], [`model`], [`waits`] what the traced runs say; [`account`] where the
//! processors' time went; [`facts`] and [`causes`] why, one file a cause; [`verdict`] the conclusion in words;
//! [`amounts`], [`growth`] and [`compare`] the same things at several thread counts and in two recordings, with
//! `counters` and [`paired`] for runs made in the same blocks; [`disturbance`] what came from outside; `imported` what another tool's profile
//! tells. Pure: no
//! clock, no files, no environment. The same recording gives the same answer. May import: recording, serde.
#![forbid(unsafe_code)]

pub mod account;
pub mod against;
pub mod alike;
pub mod amounts;
pub mod answer;
mod at_place;
pub mod causes;
pub mod code;
pub mod compare;
mod counters;
pub mod curve;
pub mod disturbance;
pub mod facts;
pub mod goroutines;
pub mod growth;
mod imported;
pub mod intervals;
pub mod knee;
pub mod lives;
pub mod model;
pub mod names;
pub mod paired;
pub mod parked;
mod paths;
pub mod sharing;
pub mod stacks;
mod standing;
pub mod statistics;
pub mod themes;
pub mod verdict;
pub mod waits;
mod words;

use answer::{Answer, Knee};
use curve::Clean;
use facts::Facts;
use model::Model;
use recording::Tables;

/// Answers why a program does not get faster with more threads.
///
/// Never panics, whatever the tables hold: dangling handles are left out, impossible times are cut to the trace.
pub fn analyze(tables: &Tables) -> Answer {
    let clean = Clean::new(tables);
    let model = Model::new(tables);
    if let Some(from) = &tables.meta.imported {
        return imported::answer(&model, from);
    }
    let points = clean.points();
    let ledgers = account::ledgers(&model, &clean);
    let facts = Facts {
        model: &model,
        clean: &clean,
        points: &points,
        ledgers: &ledgers,
        processors: tables.meta.machine.usable_processors.max(1),
    };
    Answer {
        knee: Knee { version: env!("CARGO_PKG_VERSION").to_owned(), format: tables.meta.format.to_string() },
        command: tables.meta.command.clone(),
        machine: tables.meta.machine.clone(),
        throughput: tables.meta.throughput.clone().filter(|_| clean.by_throughput),
        knee_at: knee::knee(&clean),
        growth: growth::growth(&facts),
        verdict: verdict::verdict(&facts),
        limitations: verdict::limitations(&facts),
        warnings: verdict::warnings(&facts),
        account: ledgers.iter().map(|l| l.account.clone()).collect(),
        curve: points.clone(),
    }
}
