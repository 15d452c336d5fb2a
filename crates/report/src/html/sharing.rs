//! Contended cache lines, each drawn as its 64 bytes. May import: `markup`, `tables`, `show`.

use super::markup::{Markup, readable};
use super::{focus, tables};
use crate::show::sharing::{LINE, shared, sharing};
use crate::show::{Pick, Scene};
use crate::words;
use analyze::answer::Answer;
use recording::ThreadId;

/// Lines drawn.
const MOST_LINES: usize = 12;
/// Width of one byte in the drawing.
const BYTE: f64 = 11.0;
/// Threads that have a colour of their own; the others share the last.
const COLOURS: usize = 8;

pub(super) fn section(scene: &Scene<'_>, answer: &Answer) -> Option<String> {
    let observed = scene.at(focus(answer))?;
    let lines = shared(&observed, Pick::default());
    if lines.is_empty() {
        return None;
    }
    let mut m = Markup::default();
    m.p(
        "lead",
        "Cache lines that several threads touch and at least one writes, byte by byte, from samples whose addresses could \
         be worked out. One box is one field; different fields of different threads in one line are false sharing, one \
         field of several threads is true sharing. The verdict above says which of it costs time.",
    );
    for line in lines.iter().take(MOST_LINES) {
        let width = BYTE * LINE as f64;
        m.raw("<figure class=\"line64\"><figcaption>");
        m.text(&format!(
            "line {:#x}: {}, {}",
            line.line.1,
            words::plural(line.threads.len() as u64, "thread"),
            words::plural(line.samples, "sample")
        ));
        m.raw(&format!("</figcaption><svg class=\"chart\" viewBox=\"0 0 {width} 44\" role=\"img\" aria-label=\"64 bytes; the table below names the fields\">"));
        for byte in 0..LINE {
            let x = byte as f64 * BYTE;
            let class = if byte % 8 == 0 { "byte eighth" } else { "byte" };
            m.raw(&format!("<rect class=\"{class}\" x=\"{x}\" y=\"0\" width=\"{BYTE}\" height=\"28\"/>"));
        }
        for field in &line.fields {
            let (x, w) = (field.at as f64 * BYTE, field.width as f64 * BYTE);
            let colour = match field.threads.iter().collect::<Vec<_>>().as_slice() {
                [one] => line.threads.iter().position(|t| t == *one).unwrap_or(0).min(COLOURS - 1).to_string(),
                _ => "many".to_owned(),
            };
            m.raw(&format!("<rect class=\"field f-{colour}\" x=\"{x}\" y=\"1\" width=\"{w}\" height=\"26\"><title>"));
            m.text(&readable(&format!("bytes {} to {}: {}", field.at, field.at + field.width - 1, field.name)));
            m.raw("</title></rect>");
            if field.writes > 0 {
                m.raw(&format!(
                    "<text class=\"field-text\" x=\"{}\" y=\"18\" text-anchor=\"middle\">w</text>",
                    x + w / 2.0
                ));
            }
        }
        for tick in [0, 16, 32, 48] {
            m.raw(&format!("<text class=\"tick\" x=\"{}\" y=\"41\">{tick}</text>", f64::from(tick) * BYTE));
        }
        m.raw("</svg>\n<ul class=\"legend lanes-legend\">");
        // Only who has a field of its own has a colour.
        let alone = |thread: &ThreadId| line.fields.iter().any(|f| f.threads.len() == 1 && f.threads.contains(thread));
        for (colour, thread) in line.threads.iter().enumerate().filter(|(_, thread)| alone(thread)).take(COLOURS) {
            let colour = colour.min(COLOURS - 1);
            m.raw(&format!("<li><span class=\"swatch f-{colour}\"></span>"));
            m.text(&observed.thread(*thread)).raw("</li>");
        }
        if line.threads.iter().filter(|thread| alone(thread)).count() > COLOURS {
            m.raw("<li>and more</li>");
        }
        if line.fields.iter().any(|field| field.threads.len() > 1) {
            m.raw("<li><span class=\"swatch f-many\"></span>several threads</li>");
        }
        let written = line.fields.iter().any(|field| field.writes > 0);
        m.raw(if written { "<li>w: written</li></ul></figure>\n" } else { "</ul></figure>\n" });
    }
    let view = sharing(&observed, Pick::default());
    tables::table(&view.arrange(None, 100).unwrap_or_default(), &mut m);
    Some(m.into_html())
}
