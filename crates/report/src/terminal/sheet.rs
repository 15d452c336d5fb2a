//! Sheets of headings and labelled texts, for output that is not an answer: what a sweep would run, what the lab holds.

use super::Style;
use super::page::Page;
use super::style::Tone;
use crate::text;
use std::io::{self, Write};

/// Labels longer than this lose their middle, so that the texts keep most of the line.
const LONGEST_LABEL: usize = 24;

/// A part of a sheet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// The title of the sheet, in bold.
    Title(String),
    /// The heading of the entries below, with a remark beside it.
    Heading(String, String),
    /// A text after a label, wrapped and indented to the label's width. Labels under one heading are equally wide.
    Text(String, String),
    /// As [`Entry::Text`], but complete, with no word shortened: commands and paths, which people copy.
    Whole(String, String),
    /// An empty line.
    Blank,
}

/// Writes a sheet.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(entries: &[Entry], style: Style, out: &mut impl Write) -> io::Result<()> {
    let page = &mut Page::new(out, style, false);
    for part in entries.chunk_by(|_, next| !matches!(next, Entry::Heading(..))) {
        let width = part.iter().filter_map(label).map(|label| text::width(&page.shown(label)));
        let width = width.max().unwrap_or(0).min(LONGEST_LABEL);
        for entry in part {
            let padded = |label: &str| {
                let label = text::shorten(&page.shown(label), width);
                let gap = if width == 0 { 0 } else { 2 };
                format!("{label}{}", " ".repeat(width + gap - text::width(&label)))
            };
            match entry {
                Entry::Title(title) => page.paragraph("", Tone::Strong, title)?,
                Entry::Heading(title, beside) => page.title(title, beside)?,
                Entry::Text(label, text) => page.paragraph(&padded(label), Tone::Plain, text)?,
                Entry::Whole(label, text) => page.whole(&padded(label), text)?,
                Entry::Blank => page.blank()?,
            }
        }
    }
    Ok(())
}

fn label(entry: &Entry) -> Option<&str> {
    match entry {
        Entry::Text(label, _) | Entry::Whole(label, _) => Some(label),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_line_up_and_nothing_raw_passes() {
        let entries = [
            Entry::Title("The lab".into()),
            Entry::Text(String::new(), "Programs that lose their scaling for one known reason each.".into()),
            Entry::Heading("Programs".into(), "13".into()),
            Entry::Text("list".into(), "one lock, five steps to a list that scales, and no word of it is lost".into()),
            Entry::Text("wave\u{1b}front".into(), "spins".into()),
            Entry::Blank,
            Entry::Whole("run".into(), "knee lab run list".into()),
        ];
        let mut out = Vec::new();
        render(&entries, Style { colour: false, width: 50, unicode: true, whole: false }, &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }
}
