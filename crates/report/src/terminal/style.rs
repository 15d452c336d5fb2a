//! How to write on a terminal: its width, its characters, its colours.

use crate::text::WIDEST_PROSE;

/// Nothing can be laid out in fewer columns.
const LEAST_WIDTH: usize = 40;

/// How to write. The caller knows the terminal, this crate does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Colour and weight by escape sequences. They only repeat what the words say.
    pub colour: bool,
    /// Columns of a line; fewer than 40 are taken as 40.
    pub width: usize,
    /// True when characters outside ASCII can be shown; otherwise `±` becomes `+-`.
    pub unicode: bool,
    /// True when lines have no limit: then tables are as wide as their texts.
    pub whole: bool,
}

impl Style {
    /// Columns of sentences: longer lines are hard to read, even on a wide terminal.
    pub fn prose(self) -> usize {
        self.width.clamp(LEAST_WIDTH, WIDEST_PROSE)
    }

    /// Columns of tables.
    pub fn table(self) -> usize {
        if self.whole { usize::MAX } else { self.width.max(LEAST_WIDTH) }
    }
}

/// The role of a text, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    /// Titles and the most important lines.
    Strong,
    /// What is rarely read.
    Faint,
    /// Losses.
    Alert,
    /// Warnings.
    Warning,
}
