//! Tables that scripts make sortable. May import: `graph`, `markup`, `show`.

use super::markup::Markup;
use super::{focus, graph};
use crate::show::view::Cell;
use crate::show::{Pick, Scene, UNTOLD, View, locks, syscalls, threads, waits};
use crate::words;
use analyze::answer::Answer;

/// Rows that are seen before the reader asks for more.
const FOLDED: usize = 12;

/// The tables, each of at most so many rows; `knee show` has the rest.
pub(super) fn section(scene: &Scene<'_>, answer: &Answer, folder: &str, most: usize) -> Option<String> {
    let observed = scene.at(focus(answer))?;
    let pick = Pick::default();
    let mut m = Markup::default();
    m.p("lead", &format!("Of the observed run with {}.", words::plural(observed.traced.run.threads.into(), "thread")));
    let imported = scene.tables().meta.imported.is_some();
    if imported {
        m.p("note", UNTOLD);
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
            graph::write(scene, answer, &mut m);
        }
        let all = view.rows.len();
        m.raw("<h3>").text(title).raw("</h3>\n");
        table(&view.arrange(None, most).unwrap_or_default(), &mut m);
        if all > most {
            let word = if word == "wakers" { "threads" } else { word };
            let command = format!("knee show {word} {folder} --limit {all}");
            m.raw("<p class=\"note\">").text(&format!("{} more: ", all - most));
            m.raw("<code>").text(&command).raw("</code></p>\n");
        }
    }
    Some(m.into_html())
}

/// One table. Columns without any value are left out.
pub(super) fn table(view: &View, m: &mut Markup) {
    if view.rows.is_empty() {
        m.p("note", "Nothing of the kind was seen.");
        return notes(view, m);
    }
    let filled = |i: usize| view.rows.iter().any(|r| r.get(i).is_some_and(|c| !matches!(c, Cell::None)));
    let kept: Vec<usize> = (0..view.columns.len()).filter(|i| filled(*i)).collect();
    let numeric = |i: usize| view.rows.iter().any(|r| r.get(i).is_some_and(|c| c.number().is_some()));
    // Where the screen is narrow they give way to the others, as on a narrow terminal.
    let class = |kind: &'static str, i: usize| {
        let minor = view.columns.get(i).is_some_and(|c| c.minor > 0);
        if minor { format!("{kind} minor") } else { kind.to_owned() }
    };
    // What bars are drawn behind: the first column of times.
    let bar = kept
        .iter()
        .copied()
        .find(|i| view.columns.get(*i).is_some_and(|c| c.key == "growth_s" || c.key == "blocked_s"));
    // Of an imported profile's threads only this time is known.
    let bar = bar.or(kept.iter().copied().find(|i| view.columns.get(*i).is_some_and(|c| c.key == "running_s")));
    let bar =
        bar.or(kept.iter().copied().find(|i| view.rows.iter().any(|r| matches!(r.get(*i), Some(Cell::Seconds(_))))));
    let longest =
        bar.map_or(0.0, |i| view.rows.iter().filter_map(|r| r.get(i)?.number()).fold(0.0, |a: f64, b| a.max(b.abs())));
    m.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"").text(view.title);
    m.raw(&format!("\"><table class=\"data\" data-fold=\"{FOLDED}\"><thead><tr>"));
    for i in &kept {
        let Some(column) = view.columns.get(*i) else { continue };
        m.raw(&format!("<th scope=\"col\" class=\"{}\" title=\"", class(if numeric(*i) { "n" } else { "t" }, *i)));
        m.text(column.what).raw("\">").text(column.title).raw("</th>");
    }
    m.raw("</tr></thead><tbody>\n");
    for row in &view.rows {
        m.raw("<tr>");
        for i in &kept {
            let cell = row.get(*i).unwrap_or(&Cell::None);
            match cell.number() {
                Some(value) => {
                    m.raw(&format!("<td class=\"{}\" data-v=\"{value}\">", class("n", *i)));
                    m.text(&cell.shown());
                    if bar == Some(*i) && longest > 0.0 {
                        let width = (value.abs() / longest * 100.0).round();
                        let class = if value < 0.0 { "bar less" } else { "bar" };
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
                    m.raw(&format!("<td class=\"{}\">", class("t", *i)));
                    m.text(&super::markup::readable(text)).raw("</td>");
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
