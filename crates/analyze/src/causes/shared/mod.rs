//! What causes are built from, and what several of them have in common.
//!
//! May import: `account`, `answer`, `facts`, `model`, `runtimes`, `sharing`, `statistics`, `words`, `recording`.

pub mod blame;
pub mod for_whom;
pub(crate) mod hidden;
pub mod holders;
mod judging;
pub(super) mod line_sharing;
mod meta;
pub(crate) mod processes;
pub mod removal;
pub mod repeated;
pub mod repeated_memory;
pub(super) mod shared_memory;
pub mod slower_code;
pub mod unexplained;

pub use judging::{
    NOMINATED, NOT_TRACED, UNSEEN, by_lines, contradicted, duration, evidence, found, heaviest, line, not_clear_beside,
    not_significant,
};
#[cfg(test)]
pub(crate) use meta::CALL;
pub use meta::{Meta, NO_PLACES, Outcome, Removal, Standing};
