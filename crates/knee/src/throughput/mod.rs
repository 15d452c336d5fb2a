//! Units of work a second, as the program prints them.
//!
//! Rooms: `forms` the common forms and the user's pattern; `scan` one run's output, as it comes; `choose` which form a
//! sweep uses; `tools` what programs that ask a server for work print. A wrong guess would make every number of the answer
//! wrong, so a form counts only where each run printed it exactly once.
//!
//! May import: `recording`, regex.

mod choose;
mod forms;
mod scan;
pub(crate) mod tools;

pub(crate) use choose::{Chosen, choose};
pub(crate) use forms::Forms;
pub(crate) use scan::{Found, Scanner};
