//! What several subcommands do.
//!
//! Rooms: `answer` from a recording on disk to the answer on the screen; `kept` the answer that need not be worked out again; `pair` the comparison of two recordings;
//! `side_by_side` the cases of a sweep; `sources` the source around culprits; `dry_run` what would be run;
//! `new_folder` what to do where a recording's folder cannot be made; `trials` what an experiment shows.
//!
//! May import: `cli`, `failure`, `file`, `index`, `job`, `mistakes`, `plan`, `trials`, `ui`, `version`, `analyze`, `collect`,
//! `recording`, `report`.

pub(super) mod answer;
pub(super) mod dry_run;
mod kept;
pub(super) mod new_folder;
pub(super) mod pair;
pub(super) mod side_by_side;
pub(super) mod sources;
pub(super) mod trials;
