//! How often what is said of timed runs is wrong: of one recording, of two, of trials.

#[path = "../common/mod.rs"]
mod common;

mod experiment;
mod intervals;
mod machine;
mod noise;
mod recordings;
