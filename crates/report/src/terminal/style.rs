//! How to write on a terminal: its width, its characters, its colours.

use crate::text::WIDEST_PROSE;

/// Narrower than this nothing can be laid out.
const LEAST_WIDTH: usize = 40;

/// How to write. The caller knows the terminal, this crate does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Colour and weight by escape sequences. They only repeat what the words say.
    pub colour: bool,
    /// Columns of a line; fewer than 40 are taken as 40.
    pub width: usize,
    /// Characters outside ASCII; without them `±` becomes `+-`.
    pub unicode: bool,
    /// True where nothing ends a line: tables are as wide as their texts then.
    pub whole: bool,
}

impl Style {
    /// Columns of sentences: longer lines are hard to read, however wide the terminal is.
    pub fn prose(self) -> usize {
        self.width.clamp(LEAST_WIDTH, WIDEST_PROSE)
    }

    /// Columns of tables.
    pub fn table(self) -> usize {
        if self.whole { usize::MAX } else { self.width.max(LEAST_WIDTH) }
    }
}

/// What a text is, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    /// Titles and what counts.
    Strong,
    /// What is rarely read.
    Faint,
    /// Losses.
    Alert,
    /// Warnings.
    Warning,
}
