//! Columns under their titles, without frames. If the table is too wide, the least important columns are left out
//! first; then the widest column gets narrower, and its texts continue on further lines.

use super::style::Tone;
use crate::text;

/// Spaces between two columns.
const GAP: usize = 2;
/// Extra indentation of a cell's second and later lines.
const INDENT: usize = 2;
/// Most lines of a cell; a text that needs more was made long on purpose.
const MOST_LINES: usize = 6;
/// No column is shortened below this.
const LEAST_COLUMN: usize = 8;

/// How a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lean {
    Left,
    Right,
}

/// One column.
#[derive(Debug, Clone)]
pub(super) struct TableColumn {
    pub(super) title: String,
    pub(super) lean: Lean,
    /// The column with the highest number is left out first; 0 always stays.
    pub(super) spare: u8,
}

/// One line of the table.
#[derive(Debug, Clone)]
pub(super) struct TableRow {
    pub(super) tone: Tone,
    pub(super) cells: Vec<String>,
}

/// A table being filled.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    pub(super) columns: Vec<TableColumn>,
    pub(super) rows: Vec<TableRow>,
}

impl Table {
    pub(super) fn column(&mut self, title: impl Into<String>, lean: Lean, spare: u8) {
        self.columns.push(TableColumn { title: title.into(), lean, spare });
    }

    pub(super) fn row(&mut self, tone: Tone, cells: Vec<String>) {
        self.rows.push(TableRow { tone, cells });
    }

    /// The same table with `change` applied to every text.
    pub(super) fn map(&self, change: impl Fn(&str) -> String) -> Table {
        let mut table = self.clone();
        for column in &mut table.columns {
            column.title = change(&column.title);
        }
        for cell in table.rows.iter_mut().flat_map(|r| &mut r.cells) {
            *cell = change(cell);
        }
        table
    }

    /// The lines, at most `limit` columns wide.
    pub(super) fn lines(&self, limit: usize) -> Vec<(Tone, String)> {
        let widths = self.widths(limit);
        let titles: Vec<&str> = self.columns.iter().map(|c| c.title.as_str()).collect();
        let mut lines = vec![(Tone::Faint, self.line(&titles, &widths))];
        for row in &self.rows {
            let cells = self.columns.iter().zip(&row.cells).zip(&widths);
            let cells: Vec<Vec<String>> =
                cells.map(|((column, cell), width)| folded(column.lean, cell, *width)).collect();
            for i in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
                let of_line: Vec<&str> = cells.iter().map(|lines| lines.get(i).map_or("", String::as_str)).collect();
                lines.push((row.tone, self.line(&of_line, &widths)));
            }
        }
        if titles.iter().all(|t| t.is_empty()) {
            lines.remove(0);
        }
        lines
    }

    /// Width of each column; 0 leaves it out.
    fn widths(&self, limit: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|c| text::width(&c.title)).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(&row.cells) {
                *width = (*width).max(text::width(cell));
            }
        }
        // A column without content takes no room, however long its title is.
        for (i, width) in widths.iter_mut().enumerate() {
            if !self.rows.is_empty() && self.rows.iter().all(|r| r.cells.get(i).is_none_or(String::is_empty)) {
                *width = 0;
            }
        }
        while total(&widths) > limit {
            let kept = || self.columns.iter().enumerate().zip(&widths).filter(|(_, w)| **w > 0);
            let spare = kept().filter(|((_, c), _)| c.spare > 0).max_by_key(|((_, c), _)| c.spare);
            if let Some(((index, _), _)) = spare {
                widths[index] = 0;
                continue;
            }
            let Some(widest) = kept().max_by_key(|(_, w)| **w).map(|((i, _), _)| i) else { break };
            let excess = total(&widths) - limit;
            let least = LEAST_COLUMN.min(limit);
            if widths[widest] <= least {
                break;
            }
            widths[widest] = widths[widest].saturating_sub(excess).max(least);
        }
        widths
    }

    fn line(&self, cells: &[&str], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((column, width), cell) in self.columns.iter().zip(widths).zip(cells) {
            if *width == 0 {
                continue;
            }
            if !line.is_empty() {
                line.push_str(&" ".repeat(GAP));
            }
            let cell = text::shorten(cell, *width);
            let pad = " ".repeat(width.saturating_sub(text::width(&cell)));
            match column.lean {
                Lean::Left => line.extend([cell, pad]),
                Lean::Right => line.extend([pad, cell]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// A cell's lines: words continue on further, indented lines; numbers are never broken.
fn folded(lean: Lean, cell: &str, width: usize) -> Vec<String> {
    if width == 0 || lean == Lean::Right || text::width(cell) <= width {
        return vec![cell.to_owned()];
    }
    let inside = width.saturating_sub(INDENT).max(1);
    let lines = text::wrap_short(cell, inside, inside * MOST_LINES, MOST_LINES);
    lines.into_iter().enumerate().map(|(i, line)| if i == 0 { line } else { " ".repeat(INDENT) + &line }).collect()
}

fn total(widths: &[usize]) -> usize {
    let kept = widths.iter().filter(|w| **w > 0).count();
    widths.iter().sum::<usize>() + GAP * kept.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::default();
        table.column("name", Lean::Left, 0);
        table.column("value", Lean::Right, 0);
        table.column("remark", Lean::Left, 1);
        table.row(Tone::Plain, vec!["first".into(), "1".into(), "none".into()]);
        table.row(Tone::Plain, vec!["the second one".into(), "22".into(), String::new()]);
        table
    }

    fn text(limit: usize) -> Vec<String> {
        table().lines(limit).into_iter().map(|(_, line)| line).collect()
    }

    #[test]
    fn columns_line_up() {
        assert_eq!(text(80), ["name            value  remark", "first               1  none", "the second one     22"]);
    }

    #[test]
    fn spare_columns_go_first_then_the_widest_shrinks() {
        assert_eq!(text(22), ["name            value", "first               1", "the second one     22"]);
        assert_eq!(text(17), ["name        value", "first           1", "the            22", "  second", "  one"]);
        assert!(text(5).iter().all(|l| !l.is_empty()));
    }
}
