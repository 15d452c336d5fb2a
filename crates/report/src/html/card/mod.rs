//! The answer as one picture, for an issue or a chat: headline, curve, cause and place, gain. An SVG that needs nothing
//! else: no script, no font, no file. Rooms: `curve` the speed-up over the counts.
//!
//! May import: `chart`, `markup`, `culprit`, `text`, `words`, `analyze`.

mod curve;

use super::markup::Markup;
use crate::culprit::{ON_A_LINE, blame};
use crate::{text, words};
use analyze::answer::{Answer, Cause};
use analyze::causes::describe;
use std::io::{self, Write};

const WIDTH: f64 = 900.0;
const EDGE: f64 = 30.0;
/// Between the curve and the words beside it.
const GAP: f64 = 34.0;

/// A command longer than this loses its middle: it would be larger than the answer.
const LONGEST_COMMAND: usize = 600;

/// Colours, for light ground: a picture in a chat does not know what is around it, so it brings its own.
const STYLE: &str = "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif;fill:#1b1f24}\
.faint{fill:#5c6570}.mono{font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace}.strong{font-weight:600}\
.ground{fill:#fff;stroke:#d9dde2}.grid{stroke:#e6e9ed}.ideal{fill:none;stroke:#5c6570;stroke-dasharray:4 4}\
.curve{fill:none;stroke:#0b5cad;stroke-width:2.4;stroke-linejoin:round}.whisker{stroke:#0b5cad;stroke-width:1.4}\
.point{fill:#0b5cad;stroke:#fff;stroke-width:1.5}.knee{stroke:#a8321f;stroke-dasharray:2 3}.alert{fill:#a8321f}";

/// How a text is set: class, size in pixels, and how wide a letter is, as a share of the size: a tenth above the mean of
/// sentences in DejaVu Sans, the widest of the fonts named above, so that no line leaves the picture.
struct Type {
    class: &'static str,
    size: f64,
    letter: f64,
}

const HEADLINE: Type = Type { class: "strong", size: 22.0, letter: 0.64 };
const TITLE: Type = Type { class: "strong", size: 16.0, letter: 0.64 };
const TEXT: Type = Type { class: "", size: 15.0, letter: 0.58 };
const SMALL: Type = Type { class: "faint", size: 13.0, letter: 0.58 };
const COMMAND: Type = Type { class: "faint mono", size: 13.0, letter: 0.61 };

/// Writes the picture.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(answer: &Answer, out: &mut impl Write) -> io::Result<()> {
    let mut m = Markup::default();
    let mut y = EDGE;
    let whole = WIDTH - 2.0 * EDGE;
    let command = text::shorten(&answer.command.join(" "), LONGEST_COMMAND);
    y = paragraph(&command, &COMMAND, EDGE, whole, y, &mut m) + 8.0;
    let summary = if answer.verdict.summary.is_empty() { "No verdict." } else { &answer.verdict.summary };
    y = paragraph(summary, &HEADLINE, EDGE, whole, y, &mut m) + 16.0;
    let beside = match curve::draw(answer, EDGE, y, &mut m) {
        Some(right) => (right + GAP, y + curve::HEIGHT),
        None => (EDGE, y),
    };
    let below = first_cause(answer, beside.0, WIDTH - EDGE - beside.0, y, &mut m);
    y = below.max(beside.1) + 14.0;
    y = paragraph(&made_on(answer), &SMALL, EDGE, whole, y, &mut m);
    let height = y + EDGE - 8.0;
    let mut whole = Markup::default();
    whole.raw(&format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\" aria-labelledby=\"knee-title\">\n<title id=\"knee-title\">"
    ));
    whole.text(summary).raw("</title>\n<style>").raw(STYLE).raw("</style>\n");
    whole.raw(&format!(
        "<rect class=\"ground\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\"/>\n",
        WIDTH - 1.0,
        height - 1.0
    ));
    whole.raw(m.html()).raw("</svg>\n");
    out.write_all(whole.html().as_bytes())
}

/// Lines of a text from a height on; the height below them.
fn paragraph(words: &str, of: &Type, x: f64, width: f64, mut y: f64, m: &mut Markup) -> f64 {
    let letters = (width / (of.size * of.letter)).floor().max(8.0) as usize;
    for line in text::wrap(&text::harmless(words), letters) {
        y += of.size * 1.35;
        let Type { class, size, .. } = of;
        m.raw(&format!("<text class=\"{class}\" x=\"{x}\" y=\"{}\" font-size=\"{size}\">", round(y - of.size * 0.35)));
        m.text(&line).raw("</text>\n");
    }
    y.round()
}

/// Tenths of a pixel are enough.
fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// What stands beside the curve; the height below it.
fn first_cause(answer: &Answer, x: f64, width: f64, mut y: f64, m: &mut Markup) -> f64 {
    let Some(cause) = answer.verdict.found().next() else {
        return paragraph("No cause was found.", &TEXT, x, width, y, m);
    };
    let (title, colour) = describe(cause.id).map_or((cause.id.name(), "#5c6570"), |meta| (meta.title, meta.colour));
    m.raw(&format!(
        "<rect x=\"{x}\" y=\"{}\" width=\"13\" height=\"13\" rx=\"2\" fill=\"{colour}\"/>\n",
        round(y + 4.0)
    ));
    let small = if answer.verdict.only_small_losses() { "Small loss: " } else { "" };
    y = paragraph(&format!("{small}{title}"), &TITLE, x + 22.0, width - 22.0, y, m) + 4.0;
    y = paragraph(&loss(answer, cause), &TEXT, x, width, y, m) + 8.0;
    if let Some(culprit) = &cause.culprit {
        y = paragraph(&blame(culprit, ON_A_LINE, text::harmless), &TEXT, x, width, y, m) + 8.0;
    }
    if let Some(removed) = answer.what_if.without(&answer.verdict, cause) {
        y = paragraph(&removed.summary, &TEXT, x, width, y, m) + 8.0;
    }
    y
}

fn loss(answer: &Answer, cause: &Cause) -> String {
    let with = answer.counted.many(cause.threads);
    let interval = words::range(cause.interval.low, cause.interval.high);
    let lost = words::about(cause.lost_seconds);
    format!("{} of the loss with {with}: {lost} of processor time ({interval})", words::percent(cause.share))
}

fn made_on(answer: &Answer) -> String {
    let machine = &answer.machine;
    let runs = answer.curve.iter().map(|point| point.runs).max().unwrap_or(0);
    let medians = if runs > 1 { format!("medians of {runs} runs, 95 % intervals; ") } else { String::new() };
    let processors = words::plural(u64::from(machine.usable_processors), "processor");
    format!("{medians}{processors}, {}, Linux {}; knee {}", machine.model, machine.kernel, answer.knee.version)
}
