//! Units of work per second, as the program prints them.
//!
//! Rooms: `forms` the common forms and the user's pattern; `times` the time of the measured part, for programs that print
//! no rate; `scan` one run's output, while it is printed; `choose` which form a sweep uses; `tools` the output of load
//! generators. A wrong guess would make every number of the answer wrong, so a form is used only if each run printed it
//! exactly once.
//!
//! May import: `recording`, regex.

mod choose;
mod forms;
mod scan;
mod times;
pub(crate) mod tools;

pub(crate) use choose::{Chosen, choose, choose_for_runs};
pub(crate) use forms::Forms;
pub(crate) use scan::{Found, Scanner};
