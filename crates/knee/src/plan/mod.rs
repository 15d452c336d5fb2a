//! From the arguments or a sweep file to the list of planned runs. Pure.
//!
//! Rooms: `cases` variants of a program and values of parameters; `counts` thread counts as users list them; `template`
//! the command with its placeholders; `order` the order of the runs.
//!
//! May import: `recording`.

pub(crate) mod cases;
pub(crate) mod counts;
mod order;
pub(crate) mod template;

pub(crate) use order::*;
