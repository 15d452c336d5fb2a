//! The live view: what a program's threads do now, as a screen that is drawn again and again, or as plain text.
//!
//! Rooms: [`glance`] what is shown, from a recording's rows of the last seconds, and [`locks`] its table of locks;
//! [`screen`] how it is laid out and what keys do; [`plain`] the same as text. Nothing here knows a terminal.
//!
//! May import: `observed`, `show`, `text`, `words`, `analyze`, `recording`, ratatui.

pub mod glance;
mod locks;
pub mod plain;
pub mod screen;

pub use glance::{Glance, Moment, Rate, State};
pub use screen::{Key, Look};
