//! Tables that scripts make sortable.

use super::graph;
use super::markup::{Markup, escape};
use super::page::focus;
use crate::observed::Observed;
use crate::show::view::{Cell, Column};
use crate::show::{NOT_IN_PROFILES, Pick, View, locks, syscalls, threads, waits};
use analyze::Analysis;

/// Rows that are visible before the reader asks for more.
const FOLDED: usize = 12;

/// Titles that can be longer here than on a terminal.
const TITLES: [(&str, &str); 3] =
    [("runnable_s", "waited for a processor"), ("involuntary", "times preempted"), ("migrations", "moved")];

/// The tables, each with at most `most` rows; `knee show` has the rest.
pub(super) fn section(analysis: &Analysis<'_, '_>, folder: &str, most: usize) -> Option<String> {
    let observed = Observed::at(analysis, focus(&analysis.answer))?;
    let pick = Pick::default();
    let mut m = Markup::default();
    m.p("lead", &format!("Of the observed run with {}.", observed.traced.count()));
    let imported = observed.model.tables.meta.imported.is_some();
    if imported {
        m.p("note", NOT_IN_PROFILES);
    }
    let views = [
        ("locks", "Locks", locks::locks(&observed, pick)),
        ("waits", "Waits", waits::waits(&observed, pick)),
        ("wakers", "Who waits for whom", threads::wakers(&observed, pick)),
        ("syscalls", "System calls", syscalls::syscalls(&observed, pick)),
        ("threads", "Threads", threads::threads(&observed, pick)),
    ];
    for (word, title, view) in views.into_iter().filter(|(word, ..)| !imported || *word == "threads") {
        if word == "wakers" {
            graph::write(&observed, &mut m);
        }
        let all = view.rows.len();
        // Otherwise it stands beside the flame graph of processor time.
        if word == "waits" && observed.traced.samples.is_empty() {
            m.raw("<div id=\"flame-waits\" hidden></div>\n");
        }
        m.raw("<h3>").text(title).raw("</h3>\n");
        let titles: Vec<(&str, String)> = TITLES.iter().map(|(key, title)| (*key, (*title).to_owned())).collect();
        let own = Own { titles: &titles, ..Own::default() };
        table(&view.arrange(None, most).unwrap_or_default(), &own, &mut m);
        if all > most {
            let word = if word == "wakers" { "threads" } else { word };
            let command = format!("knee show {word} {folder} --limit {all}");
            m.raw("<p class=\"note\">").text(&format!("{} of {all} are not in this page: ", all - most));
            m.raw("<code>").text(&command).raw("</code></p>\n");
        }
    }
    Some(m.into_html())
}

/// Titles of fewer letters stay on one line.
const SHORT: usize = 8;

/// On a narrow screen and on paper, columns whose `minor` is above this are hidden.
const STAYS: u8 = 3;

/// A condition on a row.
type RowFilter<'a> = dyn Fn(&[Cell]) -> bool + 'a;

/// What this page adds to a table.
#[derive(Default)]
pub(super) struct Own<'a> {
    /// Titles by column key, where the page knows a better one than the view.
    pub(super) titles: &'a [(&'a str, String)],
    /// Rows that say little and are shown in grey.
    pub(super) faint: Option<&'a RowFilter<'a>>,
}

/// One table. Columns without any value are left out.
pub(super) fn table(view: &View, own: &Own<'_>, m: &mut Markup) {
    if view.rows.is_empty() {
        m.p("note", "Nothing of the kind was seen.");
        return notes(view, m);
    }
    let filled = |i: usize| view.rows.iter().any(|r| r.get(i).is_some_and(|c| !matches!(c, Cell::None)));
    let kept: Vec<usize> = (0..view.columns.len()).filter(|i| filled(*i)).collect();
    let title = |column: &Column| {
        let known = own.titles.iter().find(|(key, _)| *key == column.key);
        let title = known.map_or(column.title, |(_, title)| title.as_str());
        // Two lines for two short words would be taller than they are wide.
        if title.len() < SHORT { title.replace(' ', "\u{a0}") } else { title.to_owned() }
    };
    let numeric = |i: usize| view.rows.iter().any(|r| r.get(i).is_some_and(|c| c.number().is_some()));
    // On a narrow screen minor columns are hidden, as on a narrow terminal.
    let class = |kind: &'static str, i: usize| {
        let minor = view.columns.get(i).is_some_and(|c| c.minor > STAYS);
        if minor { format!("{kind} minor") } else { kind.to_owned() }
    };
    // The column behind whose numbers bars are drawn: the first column of times.
    let bar = kept
        .iter()
        .copied()
        .find(|i| view.columns.get(*i).is_some_and(|c| c.key == "growth_s" || c.key == "blocked_s"));
    // For the threads of an imported profile only this time is known.
    let bar = bar.or(kept.iter().copied().find(|i| view.columns.get(*i).is_some_and(|c| c.key == "running_s")));
    let bar =
        bar.or(kept.iter().copied().find(|i| view.rows.iter().any(|r| matches!(r.get(*i), Some(Cell::Seconds(_))))));
    let longest =
        bar.map_or(0.0, |i| view.rows.iter().filter_map(|r| r.get(i)?.number()).fold(0.0, |a: f64, b| a.max(b.abs())));
    m.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"").text(view.title);
    m.raw(&format!(
        "\"><table class=\"data cards\" data-fold=\"{FOLDED}\" data-all=\"{}\"><thead><tr>",
        view.rows.len() + view.more
    ));
    for i in &kept {
        let Some(column) = view.columns.get(*i) else { continue };
        m.raw(&format!("<th scope=\"col\" class=\"{}\" title=\"", class(if numeric(*i) { "n" } else { "t" }, *i)));
        m.text(column.what).raw("\">").text(&title(column)).raw("</th>");
    }
    m.raw("</tr></thead><tbody>\n");
    // On a narrow screen a row becomes a card, and each value is preceded by its title.
    let labels: Vec<String> = view.columns.iter().map(|c| escape(&title(c))).collect();
    let label = |i: usize| labels.get(i).map_or("", String::as_str);
    for row in &view.rows {
        m.raw(if own.faint.is_some_and(|faint| faint(row)) { "<tr class=\"faint\">" } else { "<tr>" });
        for i in &kept {
            let cell = row.get(*i).unwrap_or(&Cell::None);
            match cell.number() {
                Some(value) => {
                    m.raw(&format!("<td class=\"{}\" data-l=\"{}\" data-v=\"{value}\">", class("n", *i), label(*i)));
                    m.text(&cell.shown());
                    if bar == Some(*i) && longest > 0.0 {
                        let width = (value.abs() / longest * 100.0).round();
                        let key = view.columns.get(*i).map_or("", |c| c.key);
                        let class = match key {
                            "growth_s" if value < 0.0 => "bar less",
                            "growth_s" => "bar more",
                            "running_s" => "bar own",
                            _ => "bar",
                        };
                        m.raw(&format!(
                            "<svg class=\"{class}\" aria-hidden=\"true\" viewBox=\"0 0 100 2\" preserveAspectRatio=\"none\">\
                             <rect width=\"{width}\" height=\"2\"/></svg>"
                        ));
                    }
                    m.raw("</td>");
                }
                None if numeric(*i) => {
                    m.raw(&format!("<td class=\"{}\"></td>", class("n", *i)));
                }
                None => {
                    let Cell::Text(text) = cell else {
                        m.raw(&format!("<td class=\"{}\"></td>", class("t", *i)));
                        continue;
                    };
                    m.raw(&format!("<td class=\"{}\" data-l=\"{}\">", class("t", *i), label(*i)));
                    m.name(&super::markup::readable(text)).raw("</td>");
                }
            }
        }
        m.raw("</tr>\n");
    }
    m.raw("</tbody></table></div>\n");
    notes(view, m);
}

fn notes(view: &View, m: &mut Markup) {
    for note in &view.notes {
        m.p("note", note);
    }
}
