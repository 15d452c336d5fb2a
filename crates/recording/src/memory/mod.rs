//! Rows in memory: [`slices`] the rows of `slices` in less memory, `blocks` their compact forms, `row_store` containers for
//! the rows of a table, [`quick`] maps by handles.
//!
//! May import: `ids`, `tables`, `words`.

mod blocks;
pub mod quick;
pub(crate) mod row_store;
pub mod slices;
