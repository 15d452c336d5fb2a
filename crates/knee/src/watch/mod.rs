//! The live view of `knee watch`. Rooms: [`history`] what was seen in the last seconds; [`terminal`] the terminal that
//! is drawn on and restored; [`screen`] the loop between the two.
//!
//! May import: `ui`, `collect`, `recording`, `report`, ratatui.

pub(crate) mod history;
pub(crate) mod screen;
mod terminal;
