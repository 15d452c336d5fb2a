//! The machine that runs the target, as far as it matters for scaling.
//!
//! Rooms: `facts` its processors and its kernel; [`busy`] what else runs there; `order` in which a sweep takes
//! processors; `clock` their clock and heat; `cgroup` the quota of a process's control groups.
//!
//! May import: `procfs`, `recording`.

pub mod busy;
pub(crate) mod cgroup;
pub(crate) mod clock;
mod facts;
mod order;

pub use facts::{machine, machine_of, usable_processors};
pub(crate) use facts::{online, possible_processors, usable_by};
pub use order::order;
