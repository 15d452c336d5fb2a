//! Speed-up over a parameter and the thread count as a map: one field per case and count, with the number in it.

use crate::comparison::{Case, Comparison, number};
use crate::html::markup::Markup;
use crate::words;
use recording::meta::Counted;

const FIELD: f64 = 62.0;
const HEIGHT: f64 = 34.0;
const LEFT: f64 = 84.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 44.0;
/// Characters of a value that fit below its column, and the most pixels that a character takes on average.
const VALUE: usize = 7;
const LETTER: f64 = 8.0;
/// Up to this many columns are shrunk to fit a narrow screen.
const FEW: usize = 6;
/// With more columns it would no longer be a readable picture.
const MOST_COLUMNS: usize = 24;

/// The parameter of the x axis: the one chosen for the picture if it has several values, else the first that has.
fn parameter(comparison: &Comparison) -> Option<String> {
    let several = |name: &str| {
        let mut values: Vec<&str> = comparison.cases.iter().filter_map(|case| case.value_of(name)).collect();
        values.sort_unstable();
        values.dedup();
        values.len() > 1
    };
    let known = comparison.cases.iter().flat_map(|case| &case.parameters).map(|p| &p.name);
    comparison.picture.x.iter().chain(known).find(|name| several(name)).cloned()
}

pub(super) fn section(comparison: &Comparison) -> Option<String> {
    let parameter = parameter(comparison)?;
    let counts = comparison.counts();
    if counts.len() < 2 {
        return None;
    }
    let mut m = Markup::default();
    m.raw("<p class=\"lead\">Speed-up over the baseline, by ").text(&parameter);
    m.raw(" and ")
        .raw(comparison.counted().word())
        .raw("s: blue is faster, orange is slower, and each step of the colour is a factor of √2.</p>\n");
    scale(&mut m);
    m.raw("<div class=\"maps\">\n");
    for (name, mut cases) in comparison.along(&parameter) {
        cases.retain(|case| case.value_of(&parameter).is_some());
        // Numbers are sorted; words keep the order of the sweep.
        let value = |case: &&Case| case.value_of(&parameter).and_then(number);
        if cases.iter().all(|case| value(case).is_some()) {
            cases.sort_by(|a, b| value(a).unwrap_or(0.0).total_cmp(&value(b).unwrap_or(0.0)));
        }
        let more = cases.len().saturating_sub(MOST_COLUMNS);
        cases.truncate(MOST_COLUMNS);
        if cases.len() > 1 {
            draw(&name, &parameter, comparison.counted(), &counts, &cases, &mut m);
        }
        if more > 0 {
            m.p("note", &format!("{more} more in the table above."));
        }
    }
    m.raw("</div>\n");
    Some(m.into_html())
}

fn draw(name: &str, parameter: &str, counted: Counted, counts: &[u32], cases: &[&Case], m: &mut Markup) {
    let width = LEFT + cases.len() as f64 * FIELD + 8.0;
    let tall = TOP + counts.len() as f64 * HEIGHT + BOTTOM;
    m.raw("<figure><figcaption>")
        .text(name)
        .raw("</figcaption>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    m.text(name).raw("\">");
    m.raw(&format!(
        "<svg class=\"chart map{}\" width=\"{width}\" viewBox=\"0 0 {width} {tall}\" role=\"img\" aria-label=\"",
        if cases.len() <= FEW { " few" } else { "" }
    ));
    m.text(&format!("Speed-up of {name} by {parameter} and {}s; the table above has the numbers", counted.word()))
        .raw("\">\n");
    // The largest thread count is at the top, as on an axis.
    for (row, threads) in counts.iter().rev().enumerate() {
        let y = TOP + row as f64 * HEIGHT;
        m.raw(&format!(
            "<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">",
            LEFT - 8.0,
            y + HEIGHT / 2.0 + 4.0
        ));
        m.text(&counted.many(*threads)).raw("</text>\n");
        for (column, case) in cases.iter().enumerate() {
            let x = LEFT + column as f64 * FIELD;
            let point = case.curve.iter().find(|p| p.threads == *threads);
            let class = point.map_or_else(|| "h-none".to_owned(), |p| class(p.speedup));
            m.raw(&format!(
                "<rect class=\"heat {class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>",
                x + 1.0,
                y + 1.0,
                FIELD - 2.0,
                HEIGHT - 2.0
            ));
            let value = point.map_or_else(|| "failed".to_owned(), |p| words::times(p.speedup, None));
            m.text(&format!("{}, {}: {value}", case.label(), counted.many(*threads)));
            m.raw("</title></rect>");
            m.raw(&format!(
                "<text class=\"field-text\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">",
                x + FIELD / 2.0,
                y + HEIGHT / 2.0 + 4.0
            ));
            m.text(&value).raw("</text>\n");
        }
    }
    let foot = TOP + counts.len() as f64 * HEIGHT;
    for (column, case) in cases.iter().enumerate() {
        let x = LEFT + (column as f64 + 0.5) * FIELD;
        m.raw(&format!("<text class=\"tick\" x=\"{x}\" y=\"{}\" text-anchor=\"middle\">", foot + 16.0));
        m.text(&crate::text::shorten(case.value_of(parameter).unwrap_or(""), VALUE)).raw("</text>");
    }
    let middle = LEFT + cases.len() as f64 * FIELD / 2.0;
    m.raw(&format!("<text class=\"axis\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">", foot + 36.0));
    let room = ((width - LEFT) / LETTER) as usize;
    m.text(&crate::text::shorten(parameter, room)).raw("</text>\n</svg></div></figure>\n");
}

/// The legend of the colours.
fn scale(m: &mut Markup) {
    m.raw("<ul class=\"legend lanes-legend\">");
    for step in 0..=8_u8 {
        let value = words::times(2_f64.powf((f64::from(step) - 4.0) / 2.0), None);
        let sign = match step {
            0 => "≤ ",
            8 => "≥ ",
            _ => "",
        };
        m.raw(&format!("<li><span class=\"swatch h-{step}\"></span>{sign}{value}</li>"));
    }
    m.raw("</ul>\n");
}

/// Steps of a factor of √2 from 1, at most four to each side: h-0 slowest, h-4 the same, h-8 fastest.
fn class(speedup: f64) -> String {
    if !(speedup.is_finite() && speedup > 0.0) {
        return "h-none".to_owned();
    }
    let steps = (speedup.log2() * 2.0).round().clamp(-4.0, 4.0);
    format!("h-{}", (steps + 4.0) as u8)
}

#[cfg(test)]
mod tests {
    use super::class;

    #[test]
    fn colours_are_steps_of_a_factor() {
        let classes = [0.1, 0.5, 0.71, 1.0, 1.1, 1.41, 2.0, 64.0].map(class);
        assert_eq!(classes, ["h-0", "h-2", "h-3", "h-4", "h-4", "h-5", "h-6", "h-8"]);
        assert_eq!([f64::NAN, 0.0, -1.0, f64::INFINITY].map(class), ["h-none"; 4]);
    }
}
