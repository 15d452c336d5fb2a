//! The page of a sweep over several cases: the answers side by side, the curves in one picture, a family of curves and
//! a map over a parameter. It needs no script. Rooms: `curves` and `map` the drawings.
//!
//! May import: `answer`, `chart`, `comparison`, `markup`, `page`, `text`, `words`, `analyze`, `recording`.

mod curves;
mod map;

use super::answer::title;
use super::markup::{Markup, escape, readable};
use super::page::{Medium, Section, head, header, main};
use crate::comparison::{Case, Comparison};
use crate::text;
use crate::words::{self, Scale};
use analyze::answer::Point;
use analyze::causes::with_none;
use curves::letter;
use std::io::{self, Write};

/// Columns of the first variant's name above the ratios.
const AGAINST: usize = 24;
/// Causes that are named for a case that is unsure about several.
const MOST_OPEN: usize = 3;

/// A comparison and where its recordings are.
#[derive(Debug, Clone, Copy)]
pub struct Cases<'a> {
    /// What was compared.
    pub comparison: &'a Comparison,
    /// The sweep's folder, as the reader can type it.
    pub folder: &'a str,
    /// Where the pages of the cases are.
    pub pages: Pages<'a>,
    /// What the comparison found, if that is more than the table shows; else empty.
    pub found: &'a str,
}

/// Where the pages of the cases are.
#[derive(Debug, Clone, Copy)]
pub enum Pages<'a> {
    /// In the folders of their recordings. The text is the path from this page to the sweep's folder; empty when the
    /// page lies in that folder.
    Files(&'a str),
    /// Served next to this page, by the number of the case.
    Served,
}

/// Writes the page.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(cases: &Cases<'_>, out: &mut impl Write) -> io::Result<()> {
    let comparison = cases.comparison;
    let mut m = Markup::default();
    head(&comparison.title, None, Medium::File, &mut m);
    m.raw("<a class=\"skip\" href=\"#answer\">Skip to the answer</a>\n");
    let parts: [(&str, &str, Option<String>); 5] = [
        ("answer", "Side by side", Some(table(cases))),
        ("curves", "Curves", curves::section(comparison)),
        ("map", "Over a parameter", map::section(comparison)),
        ("causes", "What stops each", causes(cases)),
        ("run", "The sweep", Some(sweep(cases))),
    ];
    let parts = parts.into_iter().filter_map(|(id, title, body)| Some(Section { id, title, body: body? }));
    let parts: Vec<Section> = parts.collect();
    header(&comparison.title, &parts, &mut m);
    main(&parts, &mut m);
    m.raw("<footer>Made by knee ").text(&comparison.knee.version).raw(" from <code>").text(cases.folder);
    m.raw("</code>. ").raw(match cases.pages {
        Pages::Files(_) => "The page needs no network and sends nothing.",
        Pages::Served => "The page is served by <code>knee view</code> on this machine.",
    });
    m.raw("</footer>\n</body></html>\n");
    out.write_all(m.html().as_bytes())
}

/// A link to a case's own page. The name of its folder comes from the recording: no part of it may be read as a scheme,
/// as another folder or as markup (RFC 3986, 2.3 and 4.2).
fn link(cases: &Cases<'_>, index: usize, case: &Case, m: &mut Markup) {
    let encoded = |text: &str, kept: &str| -> String {
        let plain = |b: u8| b.is_ascii_alphanumeric() || kept.as_bytes().contains(&b);
        text.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
    };
    let page = match cases.pages {
        Pages::Served => format!("./{index}/"),
        Pages::Files(base) => {
            let base = if base.is_empty() { ".".to_owned() } else { encoded(base, "-._~/") };
            format!("{base}/{}/report.html", encoded(&case.recording, "-._~"))
        }
    };
    m.raw(&format!("<a href=\"{page}\">")).name(&readable(&case.label())).raw("</a>");
}

fn table(cases: &Cases<'_>) -> String {
    let comparison = cases.comparison;
    let mut m = Markup::default();
    let counts = comparison.counts();
    // Ratios at the highest count, where differences matter most.
    let highest = counts.last().copied().unwrap_or(0);
    let against = |case: &Case| case.against_first.last().filter(|r| r.threads == highest).cloned();
    let compared = comparison.cases.iter().any(|case| against(case).is_some());
    if !cases.found.is_empty() {
        m.p("verdict", cases.found);
    }
    let what = comparison.unit.as_deref().unwrap_or("Time of a run");
    m.raw("<p class=\"lead\">")
        .text(what)
        .raw(" and speed-up over the baseline, by ")
        .text(comparison.counted().word())
        .raw(" count. Each name leads to ");
    m.raw("the page of its recording.</p>\n");
    m.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Side by side\"><table class=\"plain cards cases\"><thead><tr>");
    m.raw("<th scope=\"col\"></th><th scope=\"col\">case</th>");
    for threads in &counts {
        m.raw("<th scope=\"col\" class=\"n\">").text(&comparison.counted().many(*threads)).raw("</th>");
    }
    let first = comparison.cases.first().map_or(String::new(), |case| text::shorten(&readable(&case.variant), AGAINST));
    let against_first = escape(&format!("against {first}"));
    if compared {
        m.raw("<th scope=\"col\" class=\"n\">").raw(&against_first).raw("</th>");
    }
    m.raw("<th scope=\"col\">verdict</th></tr></thead><tbody>\n");
    let values = comparison.cases.iter().flat_map(|case| &case.curve).filter_map(|p| comparison.value(p));
    let largest = values.filter(|v| v.is_finite()).fold(0.0, f64::max);
    for (index, case) in comparison.cases.iter().enumerate() {
        m.raw("<tr><td class=\"letter\">").text(&letter(index).map(String::from).unwrap_or_default());
        m.raw("</td><th scope=\"row\" class=\"case\">");
        link(cases, index, case, &mut m);
        m.raw("</th>");
        for threads in &counts {
            let point = case.curve.iter().find(|p| p.threads == *threads);
            let value = point.and_then(|point| measured(comparison, point, largest));
            let knee = case.knee_at == Some(*threads) && value.is_some();
            let label = comparison.counted().many(*threads);
            m.raw(&format!("<td class=\"n{}\" data-l=\"{label}\">", if knee { " at-knee" } else { "" }));
            match (point, value) {
                (Some(point), Some(value)) => {
                    m.text(&value)
                        .raw(" <br><span class=\"faint\">")
                        .text(&words::times(point.speedup, None))
                        .raw("</span>");
                }
                (Some(_), None) => drop(m.raw("not measured")),
                (None, _) => drop(m.raw("failed")),
            }
            m.raw("</td>");
        }
        if compared {
            m.raw(&format!("<td class=\"n\" data-l=\"{against_first}\">"));
            if let Some(ratio) = against(case) {
                m.text(&words::times(ratio.ratio, Some((ratio.interval.low, ratio.interval.high))));
            }
            m.raw("</td>");
        }
        m.raw("<td class=\"said\" data-l=\"verdict\">").text(&verdict(case)).raw("</td></tr>\n");
    }
    m.raw("</tbody></table></div>\n");
    if comparison.cases.iter().any(|case| case.knee_at.is_some()) {
        m.p("note", "Underlined: the knee, the last count worth using. Without one the curve has not bent.");
    }
    if compared {
        let same = if comparison.cases.iter().any(|case| !case.parameters.is_empty()) {
            " and the same parameters"
        } else {
            ""
        };
        let with = comparison.counted().many(highest);
        m.p("note", &format!("The last ratio is that of the speeds with {with}{same}."));
    }
    m.into_html()
}

/// Three digits in the table's common unit; intervals are on the pages of the cases and in the pictures.
fn measured(comparison: &Comparison, point: &Point, largest: f64) -> Option<String> {
    let value = comparison.value(point).filter(|value| value.is_finite())?;
    Some(match comparison.unit {
        Some(_) => {
            let scale = Scale::count(largest);
            scale.fixed(value, scale.decimals(value, 3))
        }
        None => words::time(value),
    })
}

/// What limits a case, in the same words as the other pages.
fn verdict(case: &Case) -> String {
    if case.curve.is_empty() {
        return "failed".to_owned();
    }
    if !case.observed {
        return "not observed".to_owned();
    }
    match case.verdict.causes.first() {
        Some(cause) if cause.is_found() => {
            format!("{}, {} of the loss", title(cause.id), words::percent(cause.share))
        }
        _ => open(case),
    }
}

/// When no cause was found: the causes that are not excluded.
fn open(case: &Case) -> String {
    if case.verdict.unsure.is_empty() {
        return "No cause found".to_owned();
    }
    let open: Vec<&str> = case.verdict.unsure.iter().take(MOST_OPEN).map(|unsure| title(unsure.id)).collect();
    let more = case.verdict.unsure.len().saturating_sub(MOST_OPEN);
    let more = if more > 0 { format!(" and {}", words::plural(more as u64, "other")) } else { String::new() };
    format!("Unsure: {}{more}", open.join(", "))
}

/// The first cause of each case; nothing when there is none at all.
fn causes(cases: &Cases<'_>) -> Option<String> {
    let mut m = Markup::default();
    let mut any = false;
    let told = |case: &Case| case.observed && !case.curve.is_empty();
    m.raw("<dl class=\"open\">");
    for (index, case) in cases.comparison.cases.iter().enumerate() {
        let surprise = case.surprise();
        let cause = case.verdict.causes.first().filter(|cause| cause.is_found());
        if cause.is_none() && surprise.is_none() && !told(case) {
            continue;
        }
        any |= cause.is_some() || surprise.is_some();
        m.raw("<dt>").text(&letter(index).map(|l| format!("{l} ")).unwrap_or_default());
        link(cases, index, case, &mut m);
        m.raw("</dt><dd>");
        if let Some(cause) = cause {
            m.raw(&format!("<span class=\"swatch c-{}\" aria-hidden=\"true\"></span>", cause.id.name()));
            let threads = cases.comparison.counted().many(cause.threads);
            m.raw("<strong>").text(title(cause.id)).raw("</strong>, ");
            m.text(&format!("{} of the loss with {threads}. {}", words::percent(cause.share), cause.summary));
        } else {
            m.text(&open(case)).raw(".");
        }
        if surprise.is_some() {
            m.raw("<p class=\"warning\"><span class=\"label\">Not as the sweep file expects</span> ");
            let named: Vec<String> = case.expect.iter().map(|id| named(id).to_owned()).collect();
            m.text(&format!("It names {}.", named.join(" or "))).raw("</p>");
        }
        m.raw("</dd>\n");
    }
    m.raw("</dl>\n");
    any.then(|| m.into_html())
}

/// The title of a cause that a sweep file names, for a case.
fn named(id: &str) -> &str {
    with_none().find(|meta| meta.id.name() == id).map_or(id, |meta| meta.title)
}

fn sweep(cases: &Cases<'_>) -> String {
    let comparison = cases.comparison;
    let mut m = Markup::default();
    if !comparison.complete {
        m.p("warning", "The sweep was stopped early: some runs are missing.");
    }
    for skipped in &comparison.skipped {
        m.p("warning", &format!("{} was left out: {}", skipped.variant, skipped.why));
    }
    if comparison.unit.is_none() && comparison.cases.iter().flat_map(|c| &c.curve).any(|p| p.throughput.is_some()) {
        m.p(
            "warning",
            "The cases do not all print a throughput in the same unit: they are compared by their wall time.",
        );
    }
    // The same warning often applies to several cases.
    let mut warnings: Vec<(&str, Vec<String>)> = Vec::new();
    for (index, case) in comparison.cases.iter().enumerate() {
        let who = letter(index).map_or_else(|| case.label(), String::from);
        for warning in &case.warnings {
            match warnings.iter_mut().find(|(text, _)| text == warning) {
                Some((_, of)) => of.push(who.clone()),
                None => warnings.push((warning, vec![who.clone()])),
            }
        }
    }
    for (warning, of) in &warnings {
        m.raw("<p class=\"warning\"><span class=\"label\">Warning</span> ").text(warning);
        let all = of.len() == comparison.cases.len() && of.len() > 2;
        let who = if all { "all cases".to_owned() } else { of.join(", ") };
        m.text(&format!(" ({who})")).raw("</p>\n");
    }
    m.raw("<dl class=\"open\">");
    let mut row = |what: &str, value: String| {
        m.raw("<dt>").text(what).raw("</dt><dd>").text(&value).raw("</dd>");
    };
    if let Some(machine) = &comparison.machine {
        let of = format!("{} of {} usable, {}", machine.usable_processors, machine.processors, machine.model);
        row("Processors", of);
        row("System", format!("Linux {} {}", machine.kernel, machine.architecture));
    }
    if let Some(file) = &comparison.file {
        row("Sweep file", file.clone());
    }
    for (index, case) in comparison.cases.iter().enumerate() {
        let who = letter(index).map_or_else(|| case.label(), |l| format!("{l} {}", case.label()));
        m.raw("<dt>").text(&who).raw("</dt><dd><code>").text(&case.command.join(" ")).raw("</code></dd>");
    }
    m.raw("</dl>\n");
    m.into_html()
}
