//! The recording: what a sweep leaves on disk, and the contract between collecting and analysing.
//!
//! A recording is a folder. `meta.json` says what was run, where, and what could not be seen ([`Meta`]); next to it,
//! every kind of fact has a folder of Parquet files with its own row type ([`tables`]). Rows are written in parts while
//! the sweep runs, so the recording of a killed writer still opens, marked as unfinished.
//!
//! Rooms: [`tables`] the row types; [`ids`] handles between them; [`meta`] the JSON; [`words`] the words that readers
//! distinguish; [`writer`] and [`reader`] the folder; [`memory`] rows in little memory; [`synthetic`] recordings sketched
//! in a few lines, for tests; `cell`, `column` and `pages` convert values and columns to Parquet and back.
//!
//! May import: parquet, serde. No system calls but files, no clock.
#![forbid(unsafe_code)]

mod blank;
mod cell;
mod column;
mod encoding;
pub mod error;
pub mod ids;
pub mod memory;
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
pub use memory::quick::QuickMap;
pub use memory::slices::Slices;
pub use meta::{FORMAT, Meta};
pub use reader::{Recording, Tables};
pub use writer::Writer;
