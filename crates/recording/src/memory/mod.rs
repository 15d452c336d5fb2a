//! Rows in memory: [`slices`] those of `slices` in less room, `blocks` how few bytes each takes, `held` what may hold the
//! rows of a table, [`quick`] maps by handles.
//!
//! May import: `ids`, `tables`, `words`.

mod blocks;
pub(crate) mod held;
pub mod quick;
pub mod slices;
