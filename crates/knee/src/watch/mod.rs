//! The live view behind `knee watch`. Rooms: [`history`] the last seconds of what was seen; [`terminal`] the terminal
//! that is drawn on and restored; [`screen`] the loop between both.
//!
//! May import: `ui`, `collect`, `recording`, `report`, ratatui.

pub(crate) mod history;
pub(crate) mod screen;
mod terminal;
