//! A table with typed cells, written as text, JSON or CSV.

use crate::text;
use crate::text::WIDEST_PROSE;
use crate::words;
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::io::{self, Write};

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Words, perhaps from the target.
    Text(String),
    /// A number of things.
    Count(f64),
    /// A time in seconds.
    Seconds(f64),
    /// The change of a time, in seconds.
    Change(f64),
    /// A share from 0 to 1.
    Share(f64),
    /// A mean number of things.
    Mean(f64),
    /// It is not known or there is none.
    None,
}

impl Cell {
    /// A time given in nanoseconds.
    pub fn ns(ns: u64) -> Cell {
        Cell::Seconds(ns as f64 / 1e9)
    }

    /// A count.
    pub fn count(count: u64) -> Cell {
        Cell::Count(count as f64)
    }

    /// A text, or none when it is empty.
    pub fn text(text: impl Into<String>) -> Cell {
        let text = text.into();
        if text.is_empty() { Cell::None } else { Cell::Text(text) }
    }

    /// As people read it, names made harmless.
    pub fn shown(&self) -> String {
        match self {
            Cell::Text(text) => text::harmless(text),
            Cell::Count(n) => words::count(*n),
            Cell::Seconds(s) if *s == 0.0 => "0".to_owned(),
            Cell::Seconds(s) => words::time(*s),
            Cell::Change(s) if *s > 0.0 => format!("+{}", words::time(*s)),
            Cell::Change(s) if *s == 0.0 => "0".to_owned(),
            Cell::Change(s) => words::time(*s),
            Cell::Share(s) => words::percent(*s),
            Cell::Mean(n) => words::mean(*n),
            Cell::None => String::new(),
        }
    }

    /// The number, for sorting and drawing.
    pub fn number(&self) -> Option<f64> {
        match self {
            Cell::Count(n) | Cell::Seconds(n) | Cell::Change(n) | Cell::Share(n) | Cell::Mean(n) => Some(*n),
            Cell::Text(_) | Cell::None => None,
        }
    }

    /// Numbers descending, then texts alphabetically, then empty cells.
    fn order(&self, other: &Cell) -> Ordering {
        match (self, other) {
            (Cell::None, Cell::None) => Ordering::Equal,
            (Cell::None, _) => Ordering::Greater,
            (_, Cell::None) => Ordering::Less,
            (Cell::Text(a), Cell::Text(b)) => a.cmp(b),
            (a, b) => b.number().unwrap_or(0.0).total_cmp(&a.number().unwrap_or(0.0)),
        }
    }

    fn value(&self) -> Value {
        match self {
            Cell::Text(text) => text.as_str().into(),
            Cell::Count(n) | Cell::Seconds(n) | Cell::Change(n) | Cell::Share(n) | Cell::Mean(n) => (*n).into(),
            Cell::None => Value::Null,
        }
    }
}

/// One column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name in JSON and CSV, and for `--sort`; times end in `_s`.
    pub key: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What it is, in a sentence.
    pub what: &'static str,
    /// On a narrow screen minor columns are dropped to keep names legible: the largest number first, 0 never.
    pub minor: u8,
    /// True for places and the like, which must not be shortened.
    pub whole: bool,
}

/// Shorthand for a column.
pub const fn column(key: &'static str, title: &'static str, what: &'static str) -> Column {
    Column { key, title, what, minor: 0, whole: false }
}

impl Column {
    /// Makes the column minor: it may be dropped on a narrow screen.
    pub const fn minor(self, minor: u8) -> Column {
        Column { minor, ..self }
    }

    /// Makes the column whole: a text that does not fit continues on the next line.
    pub const fn whole(self) -> Column {
        Column { whole: true, ..self }
    }
}

/// With fewer columns than this a name can hardly be told from others: `simulate (birthday.c:41)` is this long.
const LEGIBLE: usize = 24;

/// No column is narrower than this.
const NARROWEST: usize = 8;
/// A column is kept wide enough for a place of up to this many letters; longer places continue on the next line.
const WIDEST_PLACE: usize = 40;
/// Least room for a name before its place.
const SHORTEST_NAME: usize = 6;
/// Most lines of a cell; a place that needs more was made long on purpose.
const MOST_LINES: usize = 6;

/// A table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct View {
    /// What it is called.
    pub title: &'static str,
    /// What the reader should know about the numbers, in sentences.
    pub notes: Vec<String>,
    /// Columns.
    pub columns: Vec<Column>,
    /// Rows, one cell a column.
    pub rows: Vec<Vec<Cell>>,
    /// Rows that were cut off.
    pub more: usize,
}

/// The error for a column that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoColumn {
    /// The columns that exist.
    pub known: Vec<&'static str>,
}

impl View {
    /// An empty table.
    pub fn new(title: &'static str, columns: &[Column]) -> View {
        View { title, columns: columns.to_vec(), ..View::default() }
    }

    /// Sorts by a column, the largest first, then keeps the first `limit` rows.
    ///
    /// # Errors
    /// When there is no such column.
    pub fn arrange(mut self, sort: Option<&str>, limit: usize) -> Result<View, NoColumn> {
        if let Some(key) = sort {
            let Some(at) = self.columns.iter().position(|c| c.key == key || c.key.trim_end_matches("_s") == key) else {
                return Err(NoColumn { known: self.columns.iter().map(|c| c.key).collect() });
            };
            let cell = |row: &Vec<Cell>| row.get(at).cloned().unwrap_or(Cell::None);
            self.rows.sort_by(|a, b| cell(a).order(&cell(b)));
        }
        self.more += self.rows.len().saturating_sub(limit);
        self.rows.truncate(limit);
        Ok(self)
    }

    /// As JSON: one object per row.
    pub fn value(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let pairs = self.columns.iter().zip(row).map(|(c, cell)| (c.key.to_owned(), cell.value()));
            Value::Object(pairs.collect::<Map<_, _>>())
        });
        serde_json::json!({ "table": self.title, "rows": rows.collect::<Vec<_>>(), "more": self.more, "notes": self.notes })
    }

    /// As CSV (RFC 4180), times in seconds. A text that a spreadsheet would take for a formula gets a quote before it,
    /// because the target chooses the names.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let keys: Vec<&str> = self.columns.iter().map(|c| c.key).collect();
        write!(out, "{}\r\n", keys.join(","))?;
        for row in &self.rows {
            let cells = row.iter().map(|cell| match cell {
                Cell::Text(text) => quoted(text),
                Cell::None => String::new(),
                other => other.number().map(|n| n.to_string()).unwrap_or_default(),
            });
            write!(out, "{}\r\n", cells.collect::<Vec<_>>().join(","))?;
        }
        Ok(())
    }

    /// As text in columns: numbers right-aligned. When the line is too short for legible names, minor columns are left
    /// out and named below; then the widest text is shortened until the line fits.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn text(&self, width: usize, unicode: bool, out: &mut dyn Write) -> io::Result<()> {
        let plain = |text: String| if unicode { text } else { text::ascii(&text) };
        let mut left_out = self.grid(width, unicode, out)?;
        if self.more > 0 {
            writeln!(out, "and {} more; --limit N shows them", self.more)?;
        }
        if !left_out.is_empty() {
            left_out.sort_unstable();
            let titles: Vec<&str> = left_out.into_iter().filter_map(|i| Some(self.columns.get(i)?.title)).collect();
            let note = format!(
                "Hidden for lack of width: {}. A wider terminal shows them, and --format csv.",
                titles.join(", ")
            );
            for line in text::wrap(&plain(note), width.min(WIDEST_PROSE)) {
                writeln!(out, "{line}")?;
            }
        }
        for note in &self.notes {
            for line in text::wrap(&plain(text::harmless(note)), width.min(WIDEST_PROSE)) {
                writeln!(out, "{line}")?;
            }
        }
        Ok(())
    }

    /// The titles and the rows alone. Returns the columns that were left out.
    pub(crate) fn grid(&self, width: usize, unicode: bool, out: &mut dyn Write) -> io::Result<Vec<usize>> {
        let plain = |text: String| if unicode { text } else { text::ascii(&text) };
        let shown: Vec<Vec<String>> = self.rows.iter().map(|r| r.iter().map(|c| plain(c.shown())).collect()).collect();
        let cell = |row: &[String], i: usize| row.get(i).cloned().unwrap_or_default();
        let title = |i: usize| self.columns.get(i).map_or("", |c| c.title);
        let natural =
            |i: usize| shown.iter().map(|r| text::width(&cell(r, i))).chain([text::width(title(i))]).max().unwrap_or(0);
        // Leave out columns that are empty in all rows.
        let mut kept: Vec<(usize, usize)> = (0..self.columns.len())
            .filter(|i| shown.is_empty() || shown.iter().any(|r| r.get(*i).is_some_and(|c| !c.is_empty())))
            .map(|i| (i, natural(i)))
            .collect();
        let room = |columns: usize| width.saturating_sub(2 * columns.saturating_sub(1)).max(columns);
        let minor = |i: usize| self.columns.get(i).map_or(0, |c| c.minor);
        let mut left_out: Vec<usize> = Vec::new();
        while kept.iter().map(|(_, width)| *width.min(&LEGIBLE)).sum::<usize>() > room(kept.len()) {
            let Some(at) = (0..kept.len()).max_by_key(|at| minor(kept[*at].0)).filter(|at| minor(kept[*at].0) > 0)
            else {
                break;
            };
            left_out.push(kept.remove(at).0);
        }
        let (kept, mut widths): (Vec<usize>, Vec<usize>) = kept.into_iter().unzip();
        // First only names are shortened; places keep their width as long as that suffices.
        let places = |i: usize| {
            let whole = self.columns.get(i).is_some_and(|c| c.whole);
            let place = |cell: &str| match whole {
                true => text::width(cell),
                false => text::width(text::place_in(cell)) + SHORTEST_NAME,
            };
            shown.iter().map(|r| place(&cell(r, i))).max().unwrap_or(0)
        };
        let least: Vec<usize> = kept.iter().map(|i| places(*i).clamp(NARROWEST, WIDEST_PLACE)).collect();
        for floor in [least, vec![NARROWEST; kept.len()]] {
            while widths.iter().sum::<usize>() > room(kept.len()) {
                let open = widths.iter_mut().zip(&floor).filter(|(width, floor)| **width > **floor);
                let Some((widest, _)) = open.max_by_key(|(width, _)| **width) else { break };
                *widest -= 1;
            }
        }
        let is_number = |i: usize| self.rows.iter().any(|r| r.get(i).is_some_and(|c| c.number().is_some()));
        let whole = |i: usize| self.columns.get(i).is_some_and(|c| c.whole);
        let mut line = |cells: Vec<String>| -> io::Result<()> {
            let each = kept.iter().zip(&cells).zip(&widths);
            let folded: Vec<Vec<String>> = each.map(|((i, cell), width)| lines_of(cell, whole(*i), *width)).collect();
            for n in 0..folded.iter().map(Vec::len).max().unwrap_or(0) {
                let mut text = String::new();
                for ((i, lines), width) in kept.iter().zip(&folded).zip(&widths) {
                    let cell = plain(lines.get(n).cloned().unwrap_or_default());
                    let pad = " ".repeat(width.saturating_sub(text::width(&cell)));
                    let (before, after) = if is_number(*i) { (pad, String::new()) } else { (String::new(), pad) };
                    text += &format!("{before}{cell}{after}  ");
                }
                writeln!(out, "{}", text.trim_end())?;
            }
            Ok(())
        };
        line(kept.iter().map(|i| title(*i).to_owned()).collect())?;
        for row in &shown {
            line(kept.iter().map(|i| cell(row, *i)).collect())?;
        }
        if self.rows.is_empty() {
            writeln!(out, "(nothing)")?;
        }
        Ok(left_out)
    }
}

/// A cell's lines: a name may lose its middle; its place is never shortened and continues on the next line if needed.
fn lines_of(cell: &str, whole: bool, width: usize) -> Vec<String> {
    let place = text::place_in(cell);
    if text::width(cell) <= width {
        return vec![cell.to_owned()];
    }
    if whole {
        return text::wrap_short(cell, width, width * MOST_LINES, MOST_LINES);
    }
    if place.is_empty() || text::width(place) + SHORTEST_NAME <= width {
        return vec![text::shorten_name(cell, width)];
    }
    let name = text::shorten(cell.strip_suffix(place).unwrap_or(cell), width);
    let place = text::wrap_short(place, width, width * MOST_LINES, MOST_LINES);
    std::iter::once(name).chain(place).collect()
}

fn quoted(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = format!("{}{text}", if formula { "'" } else { "" });
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view() -> View {
        let mut view = View::new("t", &[column("name", "name", "n"), column("blocked_s", "blocked", "b")]);
        view.rows.push(vec![Cell::text("a"), Cell::Seconds(0.5)]);
        view.rows.push(vec![Cell::text("=b,\"c\""), Cell::Seconds(2.0)]);
        view.rows.push(vec![Cell::text("\u{1b}[2J"), Cell::None]);
        view
    }

    #[test]
    fn sorted_by_a_column_the_largest_first_and_what_is_missing_last() {
        let sorted = view().arrange(Some("blocked"), 2).unwrap();
        assert_eq!(sorted.rows[0][1], Cell::Seconds(2.0));
        assert_eq!((sorted.rows.len(), sorted.more), (2, 1));
        assert_eq!(view().arrange(Some("x"), 2).unwrap_err().known, ["name", "blocked_s"]);
    }

    #[test]
    fn csv_keeps_its_shape_and_starts_no_formula() {
        let mut out = Vec::new();
        view().csv(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "name,blocked_s\r\na,0.5\r\n\"'=b,\"\"c\"\"\",2\r\n\u{1b}[2J,\r\n");
    }

    #[test]
    fn minor_columns_give_way_to_legible_names() {
        let columns = [
            column("name", "name", "n"),
            column("longest_s", "longest", "l").minor(2),
            column("blocked_s", "blocked", "b"),
            column("by", "woken by", "w").minor(1),
        ];
        let mut view = View::new("t", &columns);
        let name = "a_function_of_some_length (file.c:4711)";
        view.rows.push(vec![Cell::text(name), Cell::Seconds(1.0), Cell::Seconds(2.0), Cell::text("somebody 12")]);
        let text = |width| {
            let mut out = Vec::new();
            view.text(width, true, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert!(!text(100).contains("Hidden"));
        assert!(
            text(50).contains("Hidden for lack of width: longest.") && text(50).contains("somebody 12"),
            "{}",
            text(50)
        );
        let told = text(34).replace('\n', " ");
        assert!(
            told.contains("Hidden for lack of width: longest, woken by.") && text(34).contains("blocked"),
            "{}",
            text(34)
        );
        assert!(text(34).lines().nth(1).is_some_and(|l| l.contains("…") && l.contains("file.c:4711)")), "{}", text(34));
    }

    #[test]
    fn text_is_harmless_and_keeps_to_the_width() {
        let mut out = Vec::new();
        let mut wide = view();
        wide.rows.push(vec![Cell::text("x".repeat(100_000)), Cell::Seconds(1.0)]);
        wide.text(40, false, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.is_ascii() && !text.contains('\u{1b}'));
        assert!(text.lines().all(|l| l.len() <= 40), "{text}");
    }
}
