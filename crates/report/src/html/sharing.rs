//! Contended cache lines, each drawn as its 64 bytes.

use super::markup::{Markup, readable};
use super::page::focus;
use super::tables;
use crate::observed::Observed;
use crate::show::Pick;
use crate::show::sharing::{Field, Shared, shared, sharing};
use crate::words;
use analyze::Analysis;
use analyze::sharing::LINE;
use recording::ThreadId;

/// Cache lines that are drawn.
const MOST_LINES: usize = 12;
/// Names given to memory that has no symbol.
const REGIONS: [&str; 5] = ["global", "stack of a thread", "heap", "mapped file", "unknown memory"];
/// Most names in the title of a cache line.
const MOST_NAMES: usize = 3;
/// Width of one byte in the drawing.
const BYTE: f64 = 11.0;
/// Threads that have a colour of their own; the others share the last.
const COLOURS: usize = 8;

pub(super) fn section(analysis: &Analysis<'_, '_>) -> Option<String> {
    let observed = Observed::at(analysis, focus(&analysis.answer))?;
    let lines = shared(&observed, Pick::default());
    if lines.is_empty() {
        return None;
    }
    let mut m = Markup::default();
    m.p(
        "lead",
        "Cache lines that several threads touch and at least one writes, as samples or breakpoints have shown; byte by \
         byte, from samples whose addresses could be worked out. One box is one field; different fields of different threads in one line are false sharing, one \
         field of several threads is true sharing. Which of it costs time, the answer says.",
    );
    // A thread has the same colour in all lines; a thread without a field of its own needs none.
    let mut alone: Vec<ThreadId> = Vec::new();
    for field in lines.iter().flat_map(|line| &line.fields) {
        if let [one] = field.threads.iter().collect::<Vec<_>>().as_slice()
            && !alone.contains(one)
        {
            alone.push(**one);
        }
    }
    let colour = |field: &Field| match field.threads.iter().collect::<Vec<_>>().as_slice() {
        [one] => alone.iter().position(|t| t == *one).unwrap_or(0).min(COLOURS - 1).to_string(),
        _ => "many".to_owned(),
    };
    // Lines that would look the same are drawn once.
    let mut drawn: Vec<(String, &Shared, usize)> = Vec::new();
    for line in &lines {
        let looks =
            line.fields.iter().map(|f| format!("{} {} {} {} {}", f.at, f.width, f.name, colour(f), f.writes > 0));
        let looks = looks.collect::<Vec<_>>().join("|");
        match drawn.iter_mut().find(|(known, ..)| *known == looks) {
            Some((_, _, alike)) => *alike += 1,
            None => drawn.push((looks, line, 0)),
        }
    }
    let shown = drawn.get(..MOST_LINES).unwrap_or(&drawn);
    legend(shown, &alone, &|thread| observed.thread(thread), &mut m);
    for (_, line, alike) in shown {
        draw(line, *alike, &colour, &mut m);
    }
    if drawn.len() > shown.len() {
        let more = words::plural((drawn.len() - shown.len()) as u64, "more line");
        m.p("note", &format!("{more} in the table."));
    }
    let view = sharing(&observed, Pick::default());
    let titles = [("at", "at byte".to_owned())];
    let own = tables::Own { titles: &titles, ..tables::Own::default() };
    tables::table(&view.arrange(None, 100).unwrap_or_default(), &own, &mut m);
    Some(m.into_html())
}

/// What lies in a line: the fields' names, most samples first.
fn content(line: &Shared) -> String {
    let mut named: Vec<(&str, u64)> = Vec::new();
    for field in line.fields.iter().filter(|f| !f.name.is_empty()) {
        match named.iter_mut().find(|(name, _)| *name == field.name) {
            Some((_, samples)) => *samples += field.reads + field.writes,
            None => named.push((&field.name, field.reads + field.writes)),
        }
    }
    named.sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
    let more = named.len().saturating_sub(MOST_NAMES);
    let mut names: Vec<String> = named.iter().take(MOST_NAMES).map(|(name, _)| (*name).to_owned()).collect();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    let heaviest = line.fields.iter().max_by_key(|f| f.reads + f.writes);
    let from = heaviest.map_or("", |f| f.from.as_str());
    match names.as_slice() {
        // When only the region is known, the code that uses it tells more.
        [] if from.is_empty() => "memory without a name".to_owned(),
        [] => format!("memory used in {from}"),
        [region] if REGIONS.contains(&region.as_str()) && !from.is_empty() => format!("{region}, used in {from}"),
        _ => names.join(", "),
    }
}

fn draw(line: &Shared, alike: usize, colour: &dyn Fn(&Field) -> String, m: &mut Markup) {
    let width = BYTE * LINE as f64;
    m.raw("<figure class=\"line64\"><figcaption>").text(&readable(&content(line)));
    let threads = words::plural(line.threads.len() as u64, "thread");
    let samples = words::plural(line.samples, "sample");
    m.raw(" <span class=\"faint\">").text(&format!("{threads}, {samples}, at {:#x}", line.line.1));
    if alike > 0 {
        m.text(&format!("; {} like it", words::plural(alike as u64, "more line")));
    }
    m.raw(&format!("</span></figcaption><svg class=\"chart\" viewBox=\"0 0 {width} 56\" role=\"img\" aria-label=\"64 bytes; the table below names the fields\">"));
    for byte in 0..LINE {
        let x = byte as f64 * BYTE;
        let class = if byte % 8 == 0 { "byte eighth" } else { "byte" };
        m.raw(&format!("<rect class=\"{class}\" x=\"{x}\" y=\"0\" width=\"{BYTE}\" height=\"28\"/>"));
    }
    for field in &line.fields {
        let (x, w) = (field.at as f64 * BYTE, field.width as f64 * BYTE);
        m.raw(&format!(
            "<rect class=\"field f-{}\" x=\"{x}\" y=\"1\" width=\"{w}\" height=\"26\"><title>",
            colour(field)
        ));
        m.text(&readable(&format!("bytes {} to {}: {}", field.at, field.at + field.width - 1, field.name)));
        m.raw("</title></rect>");
        if field.writes > 0 {
            m.raw(&format!(
                "<text class=\"field-text\" x=\"{}\" y=\"20\" text-anchor=\"middle\">w</text>",
                x + w / 2.0
            ));
        }
    }
    for (tick, anchor) in [(0, "start"), (16, "middle"), (32, "middle"), (48, "middle"), (64, "end")] {
        let label = if tick == 0 { "byte 0".to_owned() } else { tick.to_string() };
        m.raw(&format!(
            "<text class=\"tick\" x=\"{}\" y=\"48\" text-anchor=\"{anchor}\">{label}</text>",
            f64::from(tick) * BYTE
        ));
    }
    m.raw("</svg></figure>\n");
}

fn legend(shown: &[(String, &Shared, usize)], alone: &[ThreadId], name: &dyn Fn(ThreadId) -> String, m: &mut Markup) {
    let fields = || shown.iter().flat_map(|(_, line, _)| &line.fields);
    m.raw("<ul class=\"legend lanes-legend\">");
    for (colour, thread) in alone.iter().enumerate().take(COLOURS) {
        m.raw(&format!("<li><span class=\"swatch f-{colour}\"></span>")).text(&name(*thread));
        let others = alone.len() - COLOURS.min(alone.len());
        if colour + 1 == COLOURS && others > 0 {
            m.text(&format!(" and {}", words::plural(others as u64, "other")));
        }
        m.raw("</li>");
    }
    if fields().any(|field| field.threads.len() > 1) {
        m.raw("<li><span class=\"swatch f-many\"></span>several threads</li>");
    }
    m.raw(if fields().any(|field| field.writes > 0) {
        "<li>w: a sample shows a write; without it, only reads were seen there</li></ul>\n"
    } else {
        "<li>no sample shows which of them is written</li></ul>\n"
    });
}
