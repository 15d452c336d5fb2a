//! One file per subcommand: options in, an exit status out.
//!
//! Rooms: `shared` what several of them do; `about` those that only explain knee.
//!
//! May import: `cli`, `executor`, `failure`, `file`, `gate`, `index`, `interrupt`, `job`, `lab`, `naming`, `observing`,
//! `plan`, `quiet`, `serving`, `sweep`, `target`, `trials`, `ui`, `view`, `watch`, `analyze`, `collect`, `import`, `recording`,
//! `report`.

pub(crate) mod about;
pub(crate) mod compare;
pub(crate) mod diff;
pub(crate) mod experiment;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod lab;
pub(crate) mod predict;
pub(crate) mod record;
pub(crate) mod report;
mod shared;
pub(crate) mod show;
pub(crate) mod sweep;
pub(crate) mod view;
pub(crate) mod watch;
pub(crate) mod what_if;
