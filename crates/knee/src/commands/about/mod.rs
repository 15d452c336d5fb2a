//! Subcommands that explain knee and what it can do, and measure nothing.
//!
//! May import: `cli`, `failure`, `file`, `lab`, `ui`, `version`, `analyze`, `collect`, `report`.

pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod man;
pub(crate) mod welcome;
