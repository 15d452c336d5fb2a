//! Source lines around a culprit: which ones are wanted, and how they are shown. The caller reads the files: this crate
//! opens none.

use super::line_times::LineTimes;
use super::markup::{Markup, readable};
use analyze::answer::{Answer, Site};
use analyze::model::code::file_name;
use recording::Tables;
use std::collections::{BTreeMap, BTreeSet};

/// A place in a source file: its path as the compiler recorded it, and the line.
pub type SourceLine = (String, u32);

/// Lines shown before and after the one that is meant.
pub const AROUND: u32 = 3;
/// Call sites of a culprit that are shown.
const MOST_CALLERS: usize = 3;

/// The lines around each place, with their numbers; only for places whose file could be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources(BTreeMap<SourceLine, Excerpt>);

/// Some lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Excerpt {
    /// The file as the compiler recorded it.
    path: String,
    /// Number and text.
    lines: Vec<(u32, String)>,
}

/// A place as the answer gives it: function, file name without folders, line.
type NamedLine<'a> = (Option<&'a str>, &'a str, u32);

fn told<'a>(function: Option<&'a String>, file: Option<&'a String>, line: Option<u32>) -> Option<NamedLine<'a>> {
    Some((function.map(String::as_str), file?, line?))
}

/// The places of the culprits and of their call sites, most lost time first.
fn all(answer: &Answer) -> impl Iterator<Item = NamedLine<'_>> {
    let beyond = answer.verdict.beyond.iter().flat_map(|b| &b.causes);
    answer.verdict.causes.iter().chain(beyond).filter_map(|cause| cause.culprit.as_ref()).flat_map(|culprit| {
        let own = told(culprit.function.as_ref(), culprit.file.as_ref(), culprit.line);
        let callers = culprit.callers.iter().take(MOST_CALLERS);
        let callers = callers.filter_map(|site| told(site.function.as_ref(), site.file.as_ref(), site.line));
        own.into_iter().chain(callers)
    })
}

impl Sources {
    /// Looks for the source of every culprit. `read` returns the text of a file as it was when the program was
    /// recorded, or nothing.
    pub fn find(answer: &Answer, tables: &Tables, mut read: impl FnMut(&str) -> Option<String>) -> Sources {
        let mut files: BTreeMap<String, Option<String>> = BTreeMap::new();
        let mut found = BTreeMap::new();
        for (function, file, line) in all(answer) {
            let Some(path) = path_of(tables, (function, file, line)) else { continue };
            let text = files.entry(path.to_owned()).or_insert_with(|| read(path));
            let Some(lines) = text.as_ref().map(|text| around(text, line)).filter(|l| !l.is_empty()) else { continue };
            found.insert((file.to_owned(), line), Excerpt { path: path.to_owned(), lines });
        }
        Sources(found)
    }

    /// The files of which lines are shown.
    pub(super) fn files(&self) -> BTreeSet<&str> {
        self.0.values().map(|excerpt| excerpt.path.as_str()).collect()
    }

    /// Shows the lines around a place with their times; its own line is marked.
    pub(super) fn show(&self, file: Option<&String>, line: Option<u32>, times: &LineTimes<'_>, m: &mut Markup) {
        let (Some(file), Some(line)) = (file, line) else { return };
        let Some(Excerpt { path, lines }) = self.0.get(&(file.clone(), line)) else { return };
        let margin = times.margin(path, lines.iter().map(|(number, _)| *number));
        m.raw("<pre class=\"source-lines\"><code>");
        margin.titles(m);
        for (number, text) in lines {
            m.raw(if *number == line { "<span class=\"hit\">" } else { "<span>" });
            margin.beside(*number, m);
            m.raw(&format!("<span class=\"number\">{number}</span> ")).text(&readable(text)).raw("\n</span>");
        }
        m.raw("</code></pre>\n");
    }

    /// As [`Sources::show`], for a call site.
    pub(super) fn show_site(&self, index: usize, site: &Site, times: &LineTimes<'_>, m: &mut Markup) {
        if index < MOST_CALLERS {
            self.show(site.file.as_ref(), site.line, times, m);
        }
    }
}

/// The full path for a place of the answer. None when it is ambiguous: when two files have the same name, and such a
/// line in such a function.
fn path_of<'t>(tables: &'t Tables, (function, file, line): NamedLine<'_>) -> Option<&'t str> {
    let frames = tables.frames.iter().filter(|f| f.line == Some(line) && f.function.as_deref() == function);
    let paths: BTreeSet<&str> = frames.filter_map(|f| f.file.as_deref()).filter(|p| file_name(p) == file).collect();
    paths.first().copied().filter(|_| paths.len() == 1)
}

/// The lines from [`AROUND`] before to [`AROUND`] after; nothing when the file has no such line. Tabs become two
/// spaces, and the indentation common to all lines is removed.
fn around(text: &str, line: u32) -> Vec<(u32, String)> {
    let first = line.saturating_sub(AROUND).max(1);
    let lines =
        text.lines().zip(1_u32..).skip(first as usize - 1).take_while(|(_, n)| *n <= line.saturating_add(AROUND));
    let lines: Vec<(u32, String)> = lines.map(|(text, n)| (n, text.trim_end().replace('\t', "  "))).collect();
    if !lines.iter().any(|(n, text)| *n == line && !text.trim().is_empty()) {
        return Vec::new();
    }
    let indent = |text: &str| text.len() - text.trim_start_matches(' ').len();
    let common = lines.iter().filter(|(_, text)| !text.is_empty()).map(|(_, text)| indent(text)).min().unwrap_or(0);
    lines.into_iter().map(|(n, text)| (n, text.get(common..).unwrap_or("").to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "one\n\n\tthree\n\t\tfour\n  five\nsix\n   seven\neight\n";

    #[test]
    fn lines_around_a_place_keep_their_shape() {
        let lines = |line| around(TEXT, line).into_iter().map(|(n, text)| format!("{n}|{text}")).collect::<Vec<_>>();
        assert_eq!(lines(1), ["1|one", "2|", "3|  three", "4|    four"]);
        assert_eq!(lines(4), ["1|one", "2|", "3|  three", "4|    four", "5|  five", "6|six", "7|   seven"]);
        assert_eq!(around("    a\n      b\n", 2), [(1, "a".to_owned()), (2, "  b".to_owned())]);
    }

    #[test]
    fn a_line_that_is_not_there_has_no_neighbours() {
        assert!(around(TEXT, 2).is_empty(), "nobody calls from an empty line: the file is another one");
        for line in [0, 9, 12, u32::MAX] {
            assert!(around(TEXT, line).is_empty(), "{line}");
        }
        assert!(around("", 1).is_empty());
    }
}
