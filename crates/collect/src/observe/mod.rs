//! Runs that are observed.
//!
//! Rooms: `ahead` loads the programs of the next run early; `observer` chooses the source of a run; `tracer` observes with programs in the kernel, also a program that
//! runs already; [`live`] keeps nothing and shows what happens now; `observation` is what they share.
//!
//! May import: `bpf`, `build`, `error`, `counters`, `events`, `launch`, `load`, `machine`, `patience`, `procfs`, `rights`,
//! `sampling`, `sinks`, `sockets`, `sources`, `stacks`, `stop`, `syscall_names`, `recording`, `resolve`.

mod ahead;
pub mod live;
mod observation;
mod observer;
mod tracer;

pub use ahead::Ahead;
pub use observer::{Collector, Observer};
pub use tracer::{Attached, End, Tracer};
