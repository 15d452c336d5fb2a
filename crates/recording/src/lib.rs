//! The recording: what a sweep leaves on disk, and the contract between collecting and analysing.
//!
//! A recording is a folder. `meta.json` says what was run, where, and what could not be seen ([`Meta`]); every kind of
//! fact is a folder of Parquet files beside it, one row type each ([`tables`]). Rows are written in parts while the
//! sweep runs, so a recording whose writer was killed still opens, marked as unfinished.
//!
//! Rooms: [`tables`] the row types; [`ids`] handles between them; [`meta`] the JSON; [`words`] the words that readers tell apart;
//! [`writer`] and [`reader`] the folder; [`synthetic`] recordings sketched in a few lines, for tests; `cell`, `column`
//! and `pages` how one value and one column travel to Parquet and back.
//!
//! May import: parquet, serde. No system calls but files, no clock.
#![forbid(unsafe_code)]

mod blank;
mod cell;
mod column;
mod encoding;
pub mod error;
pub mod ids;
pub mod meta;
mod pages;
pub mod private;
pub mod reader;
pub mod synthetic;
pub mod tables;
pub mod words;
pub mod writer;

pub use error::Error;
pub use ids::{FrameId, ModuleId, RunId, SiteId, StackId, ThreadId, WaitId};
pub use meta::Meta;
pub use reader::{Recording, Tables};
pub use writer::Writer;

/// The format that this crate writes. Minor: tables and columns were added; major: older readers would misread it.
pub const FORMAT: meta::FormatVersion = meta::FormatVersion { major: 1, minor: 9 };
