//! A server and what asks it for work: the server is started, and when it is ready the load runs to its end. A run is
//! from then to then; what the server does before and after does not count.
//!
//! Rooms: `serve` the phases of a run; `ready` when a server is ready; `sockets` what its processes listen at; `family` a
//! process with those that belong to it: what they used, and their end.
//!
//! May import: `counters`, `error`, `exit`, `launch`, `machine`, `procfs`, `stop`, `task`.

mod family;
mod ready;
mod serve;
mod sockets;

pub use ready::{LineTest, Ready, is_line};
pub(crate) use serve::serve;
pub use serve::{Loading, Server, Serving, run_clean_under};
