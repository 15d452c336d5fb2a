//! A server and its load: the server is started, and when it is ready the load runs to its end. A run is the time of
//! the load; what the server does before and after does not count.
//!
//! Rooms: `serve` the phases of a run; `ready` when a server is ready.
//!
//! May import: `counters`, `error`, `exit`, `launch`, `machine`, `patience`, `procfs`, `sockets`, `stop`, `task`.

mod ready;
mod serve;

pub use ready::{LineTest, Ready, is_line};
pub(crate) use serve::serve;
pub use serve::{Loading, Server, Serving, run_clean_under};
