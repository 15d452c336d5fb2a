//! What unprivileged sources read in /proc about sleeping threads and about the processors.
//!
//! Rooms: `inspect` reads what a sleeping thread waits for; `waits` sums up waits; `budget` limits what reading may
//! cost; `processor_time` is what the machine did meanwhile.
//!
//! May import: `build`, `events`, `file_kind`, `machine`, `procfs`, `stacks`, `syscall_names`, `task`,
//! `recording`, `resolve`, libc.

mod budget;
mod inspect;
mod processor_time;
mod waits;

pub(super) use budget::Budget;
pub(super) use inspect::{Inspected, inspect};
pub(super) use processor_time::{ProcessorTime, own_time_ns};
pub(super) use waits::Waits;
