//! The report: an answer as people and as programs read it.
//!
//! Rooms: [`terminal`] one screen of text; [`comparison`] cases side by side, [`pair`] two of them, [`experiment`]
//! trials; [`prediction`] what more processors would bring; [`json`] the whole answer for scripts, [`markdown`] for a
//! pull request, [`sarif`] for code scanning; [`html`] the page; [`observed`] one observed run; [`show`] tables of one
//! run; [`lanes`] threads over time; [`live`] what they do now; [`export`] formats of other tools; [`culprit`] a
//! culprit in one line; [`repository`] places in the repository around; [`words`] numbers as people read them; [`text`]
//! names that came from the target, made harmless. Everything is written to an `impl Write` that the caller gives;
//! nothing is concluded here that the analysis did not say.
//!
//! May import: `analyze`, `recording`.
#![forbid(unsafe_code)]

pub mod comparison;
pub mod culprit;
pub mod experiment;
pub mod export;
pub mod html;
pub mod json;
pub mod lanes;
pub mod live;
pub mod markdown;
pub mod observed;
pub mod pair;
pub mod prediction;
pub mod repository;
pub mod requests;
pub mod sarif;
pub mod show;
pub mod terminal;
pub mod text;
pub mod words;
