//! The conclusion in words: causes in order, what is clear, what stays unsure, limitations and warnings.
//!
//! Rooms: `conclusion` puts it together; `beyond` what larger counts lose; `open` what the causes that were found leave
//! open; `outside` what the printed rate does not count; `power` how much of a cause could have been missed;
//! `usual` small losses to what every program has.
//!
//! May import: `account`, `answer`, `causes`, `curve`, `disturbance`, `facts`, `load`, `model`, `statistics`, `words`,
//! `recording`.

mod beyond;
mod conclusion;
mod open;
mod outside;
mod power;
mod usual;

pub use conclusion::{limitations, verdict, warnings};
