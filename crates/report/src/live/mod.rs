//! The live view: what a program's threads do now, as a screen that is drawn again and again, or as plain text.
//!
//! Rooms: [`glance`] what is shown, from a recording's rows of the last seconds; [`screen`] its layout and what keys
//! do; [`plain`] the same as text. Nothing here depends on a terminal.
//!
//! May import: `observed`, `show`, `text`, `words`, `analyze`, `recording`, ratatui.

pub mod glance;
pub mod plain;
pub mod screen;

pub use glance::{Glance, Moment, State};
pub use screen::{Key, Look};
