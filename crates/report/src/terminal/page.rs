//! The only way to the output: makes every text harmless, keeps to the width, adds colour.

use super::style::{Style, Tone};
use super::table::Table;
use crate::culprit::{ON_A_LINE, WITHOUT_END};
use crate::text;
use anstyle::{AnsiColor, Effects};
use std::io::{self, Write};

/// More lines than any text of ours has; a longer text contains names that were made long on purpose.
const MOST_LINES: usize = 40;
/// However narrow the room is, so much of a word is shown.
const LEAST_WORD: usize = 48;
/// Most lines of a command: what the user typed may be longer than all that is said about it.
const MOST_COMMAND_LINES: usize = 2;

/// The page being written.
pub(super) struct Page<'a> {
    out: &'a mut dyn Write,
    style: Style,
    /// True when the whole answer would not fit one screen: then the least important lines are only in [`Self::rest`] and
    /// the JSON.
    pub(super) brief: bool,
    /// Where the reader finds what is left out here: `report.html`.
    pub(super) rest: &'static str,
}

impl<'a> Page<'a> {
    pub(super) fn new(out: &'a mut dyn Write, style: Style, brief: bool) -> Page<'a> {
        Page { out, style, brief, rest: "the HTML report" }
    }

    /// Longest word that is shown whole, except where [`Page::whole`] is used.
    pub(super) fn longest(&self) -> usize {
        if self.style.whole { WITHOUT_END } else { ON_A_LINE }
    }

    /// The text in lines of `room` columns. Where lines have no end, a word is never broken, so that it can be found.
    fn wrapped(&self, text: &str, room: usize, most: usize) -> Vec<String> {
        match self.style.whole {
            true => text::wrap_words(&text::shorten_words(text, WITHOUT_END), room),
            false => text::wrap_short(text, room, ON_A_LINE.min(room.max(LEAST_WORD)), most),
        }
    }

    /// Columns of sentences and drawings.
    pub(super) fn prose(&self) -> usize {
        self.style.prose()
    }

    /// True when more than ASCII can be shown.
    pub(super) fn unicode(&self) -> bool {
        self.style.unicode
    }

    /// The text as it may be shown: no control characters, and only ASCII where the terminal knows nothing else.
    pub(super) fn shown(&self, text: &str) -> String {
        let text = text::harmless(text);
        if self.style.unicode { text } else { text::ascii(&text) }
    }

    pub(super) fn blank(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    /// The title of a section, with a remark beside it.
    pub(super) fn title(&mut self, title: &str, beside: &str) -> io::Result<()> {
        self.blank()?;
        let title = text::shorten(&self.shown(title), self.prose());
        let beside = self.wrapped(&self.shown(beside), self.prose(), MOST_LINES);
        let mut beside = beside.iter();
        self.paint(Tone::Strong, &title)?;
        let fits = |line: &&String| text::width(&title) + 2 + text::width(line) <= self.prose();
        if let ([one], true) = (beside.as_slice(), beside.as_slice().first().as_ref().is_some_and(fits)) {
            write!(self.out, "  ")?;
            self.paint(Tone::Faint, one)?;
            beside.next();
        }
        writeln!(self.out)?;
        for line in beside {
            self.paint(Tone::Faint, line)?;
            writeln!(self.out)?;
        }
        Ok(())
    }

    /// Text after a label, wrapped and indented to the label's width. Long words lose their middle; places and
    /// sentences stay whole.
    pub(super) fn paragraph(&mut self, label: &str, tone: Tone, text: &str) -> io::Result<()> {
        let (label, room) = self.label(label);
        let lines = self.wrapped(&self.shown(text), room, MOST_LINES);
        self.lines(&label, tone, &lines)
    }

    /// The beginning of a command, at most [`MOST_COMMAND_LINES`] lines of a terminal.
    pub(super) fn command(&mut self, label: &str, words: &[String]) -> io::Result<()> {
        let (label, room) = self.label(label);
        let lines = self.wrapped(&self.shown(&words.join(" ")), room, MOST_COMMAND_LINES);
        self.lines(&label, Tone::Plain, &lines)
    }

    /// Text after a label, complete: commands and paths, which people copy.
    pub(super) fn whole(&mut self, label: &str, text: &str) -> io::Result<()> {
        let (label, room) = self.label(label);
        let text = self.shown(text);
        let lines = if self.style.whole { text::wrap_words(&text, room) } else { text::wrap(&text, room) };
        self.lines(&label, Tone::Plain, &lines)
    }

    fn label(&self, label: &str) -> (String, usize) {
        let label = self.shown(label);
        let room = self.prose().saturating_sub(text::width(&label));
        (label, room)
    }

    fn lines(&mut self, label: &str, tone: Tone, lines: &[String]) -> io::Result<()> {
        let indent = " ".repeat(text::width(label));
        for (i, line) in lines.iter().enumerate() {
            if i == 0 {
                self.paint(Tone::Faint, label)?;
            } else {
                write!(self.out, "{indent}")?;
            }
            self.paint(tone, line)?;
            writeln!(self.out)?;
        }
        Ok(())
    }

    /// Lines that are laid out already. They must contain only text of this crate.
    pub(super) fn drawn(&mut self, lines: &[String]) -> io::Result<()> {
        lines.iter().try_for_each(|line| writeln!(self.out, "{line}"))
    }

    pub(super) fn table(&mut self, table: &Table) -> io::Result<()> {
        let texts = table.map(|cell| self.shown(cell));
        for (tone, line) in texts.lines(self.style.table()) {
            self.paint(tone, &line)?;
            writeln!(self.out)?;
        }
        Ok(())
    }

    fn paint(&mut self, tone: Tone, text: &str) -> io::Result<()> {
        let style = match tone {
            Tone::Plain => anstyle::Style::new(),
            Tone::Strong => anstyle::Style::new().effects(Effects::BOLD),
            Tone::Faint => anstyle::Style::new().effects(Effects::DIMMED),
            Tone::Alert => anstyle::Style::new().fg_color(Some(AnsiColor::Red.into())).effects(Effects::BOLD),
            Tone::Warning => anstyle::Style::new().fg_color(Some(AnsiColor::Yellow.into())),
        };
        // Shortening adds ellipses after the text became ASCII. One column stays one column.
        let text = &if self.style.unicode { text.to_owned() } else { text::ascii(text) };
        // Spaces alone stay as they are: no escape sequences around an empty label.
        if self.style.colour && tone != Tone::Plain && !text.trim().is_empty() {
            write!(self.out, "{style}{text}{style:#}")
        } else {
            write!(self.out, "{text}")
        }
    }
}
