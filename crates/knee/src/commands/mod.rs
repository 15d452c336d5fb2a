//! One file a subcommand: options in, an exit status out. May import: everything.

mod answer;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod lab;
pub(crate) mod man;
mod pair;
mod plan;
pub(crate) mod record;
pub(crate) mod report;
pub(crate) mod show;
mod side_by_side;
mod sources;
pub(crate) mod sweep;
pub(crate) mod view;
pub(crate) mod watch;
pub(crate) mod welcome;
