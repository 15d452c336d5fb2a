//! The page: one HTML file with the answer, pictures, tables and lanes. No network, no build step.
//!
//! Everything that must be readable is plain HTML and SVG, written here; scripts only add zooming, sorting and
//! searching. The same page can be served; then it asks its server for data that a file has no room for. Rooms: `page`
//! what a page is about and the frame around its sections; `markup` the only way to write text (escapes it); `answer`,
//! `scaling`, `account`, `lanes`, `growth`, `tables`, `graph`, `sharing`, `machine` the sections; `chart` axes; `data`
//! what the scripts read; [`detail`] what a served page asks for; [`sources`] lines around culprits, `line_times` what stands in their margin; [`cases`] the page
//! of a sweep over several cases; [`card`] the answer as one picture.
//!
//! May import: `culprit`, `experiment`, `lanes`, `observed`, `requests`, `show`, `text`, `words`, `analyze`, `recording`, base64, flate2, sha2.

mod account;
mod answer;
pub mod card;
pub mod cases;
mod chart;
mod data;
pub mod detail;
mod graph;
mod growth;
mod lanes;
mod line_times;
mod machine;
mod markup;
mod page;
mod scaling;
mod sharing;
pub mod sources;
mod tables;

use detail::Detail;
use markup::Markup;
pub use page::Subject;
use page::{Medium, Section, head, header, main};
use std::io::{self, Write};

/// The scripts, definitions first. They become one classic script, so that a page opened from disk may run it.
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

/// The last script: it starts the others.
const MAIN: &str = include_str!("../../assets/main.js");

/// Only in a served page: a file has no server to ask.
const ASKING: &str = include_str!("../../assets/served.js");

/// Rows of a table in a file; `knee show` and a served page have the rest.
const FILE_ROWS: usize = 100;
/// Rows of a table in a served page: more take long to lay out, and nobody reads them.
const SERVED_ROWS: usize = 5000;

/// A page together with the data that it will request.
#[derive(Debug)]
pub struct Served {
    /// The page.
    pub page: Vec<u8>,
    /// The data for its requests.
    pub detail: Detail,
}

/// Writes the page as a file.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(subject: &Subject<'_, '_>, out: &mut impl Write) -> io::Result<()> {
    write(subject, Medium::File, out).map(drop)
}

/// The page for a server, which answers at `lanes`, `sums` and `find` beside it.
///
/// # Errors
/// When compressing fails, which only memory can cause.
pub fn serve(subject: &Subject<'_, '_>) -> io::Result<Served> {
    let mut page = Vec::new();
    let detail = write(subject, Medium::Served, &mut page)?;
    Ok(Served { page, detail })
}

fn write(subject: &Subject<'_, '_>, medium: Medium, out: &mut impl Write) -> io::Result<Detail> {
    let answer = &subject.analysis.answer;
    let (packed, detail) = data::pack(subject.analysis, medium)?;
    let title = answer.command.first().map_or("", |c| c.rsplit('/').next().unwrap_or(c));
    let script = script(medium);
    let mut m = Markup::default();
    head(&format!("{title}: why it does not scale"), Some(&script), medium, &mut m);
    m.raw("<a class=\"skip\" href=\"#answer\">Skip to the answer</a>\n");
    let sections = sections(subject, &packed, medium);
    header(&answer.command.join(" "), &sections, &mut m);
    main(&sections, &mut m);
    m.raw("<footer>Made by knee ").text(&answer.knee.version).raw(" from ");
    m.raw("<code>").text(subject.folder).raw("</code>. ").raw(match medium {
        Medium::File => "The page needs no network and sends nothing.",
        Medium::Served => "The page asks <code>knee view</code> on this machine for detail, and nobody else.",
    });
    m.raw("</footer>\n");
    out.write_all(m.html().as_bytes())?;
    packed.write(out)?;
    write!(out, "<script>{script}</script>\n</body></html>\n")?;
    Ok(detail)
}

fn script(medium: Medium) -> String {
    let asking = if medium == Medium::Served { ASKING } else { "" };
    format!("(()=>{{\"use strict\";\n{}{asking}{MAIN}}})();", SCRIPTS.concat())
}

fn sections(subject: &Subject<'_, '_>, packed: &data::pack::Packed, medium: Medium) -> Vec<Section> {
    let analysis = subject.analysis;
    let answer = &analysis.answer;
    let rows = if medium == Medium::Served { SERVED_ROWS } else { FILE_ROWS };
    let grew = growth::title(analysis);
    let parts: [(&'static str, &'static str, Option<String>); 8] = [
        ("answer", "The answer", Some(answer::section(analysis, subject.sources))),
        ("scaling", "Scaling", scaling::section(answer)),
        ("account", "Where the time went", account::section(answer)),
        ("lanes", "Threads over time", lanes::section(analysis, packed)),
        (grew.0, grew.1, growth::section(analysis)),
        ("tables", "Locks, waits, system calls, threads", tables::section(analysis, subject.folder, rows)),
        ("sharing", "Shared cache lines", sharing::section(analysis)),
        ("run", "The run", Some(machine::section(subject))),
    ];
    parts.into_iter().filter_map(|(id, title, body)| Some(Section { id, title, body: body? })).collect()
}
