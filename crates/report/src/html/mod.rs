//! The page: one HTML file with the answer, pictures, tables and lanes. No network, no build step.
//!
//! Everything that must be readable is plain HTML and SVG, written here; scripts only add zooming, sorting and
//! searching. The same page can be served, and then asks its server for what a file has no room for. Rooms: `markup` the
//! only way to write a text (escapes it); `answer`, `scaling`, `account`, `lanes`, `grew`, `tables`, `graph`, `sharing`,
//! `machine` the sections; `chart` axes; `data` what the scripts read; [`detail`] what a served page asks for;
//! [`sources`] lines around culprits;
//! [`cases`] the page of a sweep over several cases.
//! May import: analyze, recording, `show`, `lanes`, `text`, `words`, flate2, base64, sha2.

mod account;
mod answer;
pub mod cases;
mod chart;
mod data;
pub mod detail;
mod graph;
mod grew;
mod lanes;
mod machine;
mod markup;
mod scaling;
mod sharing;
pub mod sources;
mod tables;

use analyze::Analysis;
use analyze::answer::Answer;
use analyze::causes::{Meta, with_none};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use detail::Detail;
use markup::Markup;
use sha2::{Digest, Sha256};
use sources::Sources;
use std::io::{self, Write};

const STYLE: &str = include_str!("../../assets/page.css");

/// The scripts, in the order of their definitions; one classic script, so that a page opened from disk may run it.
const SCRIPTS: &[&str] = &[
    include_str!("../../assets/util.js"),
    include_str!("../../assets/data.js"),
    include_str!("../../assets/lanes.js"),
    include_str!("../../assets/lanes_draw.js"),
    include_str!("../../assets/lanes_listen.js"),
    include_str!("../../assets/lanes_range.js"),
    include_str!("../../assets/flame.js"),
    include_str!("../../assets/tables.js"),
];

/// The last one: it starts the others.
const MAIN: &str = include_str!("../../assets/main.js");

/// Only in a page that is served: a file asks nobody.
const ASKING: &str = include_str!("../../assets/served.js");

/// Rows of a table in a file; the rest is in `knee show` and in a served page.
const FILE_ROWS: usize = 100;
/// Rows of a table in a served page: more are slow to lay out, and nobody reads them.
const SERVED_ROWS: usize = 5000;

/// Where a page is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    File,
    Served,
}

/// A page with what it asks for.
#[derive(Debug)]
pub struct Served {
    /// The page.
    pub page: Vec<u8>,
    /// The rest.
    pub detail: Detail,
}

/// What the page is about.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a, 't> {
    /// The recording and what was found in it.
    pub analysis: &'a Analysis<'a, 't>,
    /// The folder of the recording, as the reader can type it.
    pub folder: &'a str,
    /// Source lines around the culprits.
    pub sources: &'a Sources,
}

/// Writes the page as a file.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(subject: &Subject<'_, '_>, out: &mut impl Write) -> io::Result<()> {
    write(subject, Place::File, out).map(drop)
}

/// The page for a server, which answers at `lanes`, `sums` and `find` beside it.
///
/// # Errors
/// When compressing fails, which only memory can cause.
pub fn serve(subject: &Subject<'_, '_>) -> io::Result<Served> {
    let mut page = Vec::new();
    let detail = write(subject, Place::Served, &mut page)?;
    Ok(Served { page, detail })
}

fn write(subject: &Subject<'_, '_>, place: Place, out: &mut impl Write) -> io::Result<Detail> {
    let answer = &subject.analysis.answer;
    let (packed, detail) = data::pack(subject.analysis, place)?;
    let title = answer.command.first().map_or("", |c| c.rsplit('/').next().unwrap_or(c));
    let script = script(place);
    let mut m = Markup::default();
    head(&format!("{title}: why it does not scale"), Some(&script), place, &mut m);
    m.raw("<a class=\"skip\" href=\"#answer\">Skip to the answer</a>\n");
    let sections = sections(subject, &packed, place);
    header(&answer.command.join(" "), &sections, &mut m);
    main(&sections, &mut m);
    m.raw("<footer>Made by knee ").text(&answer.knee.version).raw(" from ");
    m.raw("<code>").text(subject.folder).raw("</code>. ").raw(match place {
        Place::File => "The page needs no network and sends nothing.",
        Place::Served => "The page asks <code>knee view</code> on this machine for detail, and nobody else.",
    });
    m.raw("</footer>\n");
    out.write_all(m.html().as_bytes())?;
    packed.write(out)?;
    write!(out, "<script>{script}</script>\n</body></html>\n")?;
    Ok(detail)
}

fn script(place: Place) -> String {
    let asking = if place == Place::Served { ASKING } else { "" };
    format!("(()=>{{\"use strict\";\n{}{asking}{MAIN}}})();", SCRIPTS.concat())
}

/// The page's style, with a class for the colour of each cause.
fn style() -> String {
    let colour = |meta: &Meta| format!(".c-{} {{ fill: {1}; background: {1}; }}\n", meta.id, meta.colour);
    STYLE.to_owned() + &with_none().map(colour).collect::<String>()
}

/// Everything before the body's first element.
fn head(title: &str, script: Option<&str>, place: Place, m: &mut Markup) {
    m.raw("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
    m.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    m.raw("<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n");
    let style = style();
    // Data blocks are no scripts to the policy, and nothing else may run or be fetched.
    let script = script.map_or("'none'".to_owned(), |script| format!("'{}'", hash(script)));
    m.raw(&format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {script}; \
         style-src '{}'; {}base-uri 'none'; form-action 'none'\">\n",
        hash(&style),
        if place == Place::Served { "connect-src 'self'; " } else { "" }
    ));
    m.raw("<title>").text(title).raw(" – knee</title>\n");
    m.raw("<style>").raw(&style).raw("</style></head>\n<body>\n");
}

fn main(sections: &[Section], m: &mut Markup) {
    m.raw("<main>\n");
    for section in sections {
        m.raw(&format!("<section id=\"{}\" aria-labelledby=\"h-{0}\"><h2 id=\"h-{0}\">", section.id));
        m.text(section.title).raw("</h2>\n").raw(&section.body).raw("</section>\n");
    }
    m.raw("</main>\n");
}

/// A part of the page.
struct Section {
    id: &'static str,
    title: &'static str,
    body: String,
}

fn sections(subject: &Subject<'_, '_>, packed: &data::pack::Packed, place: Place) -> Vec<Section> {
    let analysis = subject.analysis;
    let answer = &analysis.answer;
    let rows = if place == Place::Served { SERVED_ROWS } else { FILE_ROWS };
    let parts: [(&str, &str, Option<String>); 8] = [
        ("answer", "The answer", Some(answer::section(answer, subject.sources))),
        ("scaling", "Scaling", scaling::section(answer)),
        ("account", "Where the time went", account::section(answer)),
        ("lanes", "Threads over time", lanes::section(analysis, packed)),
        ("grew", "What grew", grew::section(analysis)),
        ("tables", "Locks, waits, system calls, threads", tables::section(analysis, subject.folder, rows)),
        ("sharing", "Shared cache lines", sharing::section(analysis)),
        ("run", "The run", Some(machine::section(subject))),
    ];
    parts.into_iter().filter_map(|(id, title, body)| Some(Section { id, title, body: body? })).collect()
}

fn header(title: &str, sections: &[Section], m: &mut Markup) {
    m.raw("<header><p class=\"command\"><code>").text(title).raw("</code></p>\n");
    m.raw("<nav aria-label=\"Sections\"><ul>");
    for section in sections {
        m.raw(&format!("<li><a href=\"#{}\">", section.id)).text(section.title).raw("</a></li>");
    }
    m.raw("</ul></nav></header>\n");
}

/// A source expression of a content security policy (CSP level 3, 2.3.1).
fn hash(inline: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(inline.as_bytes())))
}

/// The thread count whose tables are shown: the one that the verdict is about, else the largest traced.
fn focus(answer: &Answer) -> Option<u32> {
    let traced: Vec<u32> = answer.account.iter().map(|a| a.threads).collect();
    let spoken_of = answer.verdict.causes.iter().map(|c| c.threads).find(|t| traced.contains(t));
    spoken_of.filter(|t| Some(t) != traced.first()).or(traced.last().copied())
}
