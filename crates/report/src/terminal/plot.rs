//! Curves drawn with characters: a letter at each measured value, a thin line between.
//!
//! Only this file knows the drawing library. It returns lines of text without colour: letters tell the curves apart.

use crate::text;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Color;
use ratatui_core::symbols::Marker;
use ratatui_core::widgets::Widget;
use ratatui_widgets::canvas::{Canvas, Line};

/// Marks a place that several curves share.
pub(super) const SEVERAL: char = '*';

/// One curve.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlottedCurve {
    pub(super) letter: char,
    /// Sorted by x.
    pub(super) points: Vec<(f64, f64)>,
}

/// What the axes are.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axes {
    pub(super) x: String,
    pub(super) y: String,
    pub(super) log_x: bool,
    pub(super) log_y: bool,
}

/// Maps the values of an axis to places from 0 to 1.
#[derive(Debug, Clone, Copy)]
struct AxisScale {
    low: f64,
    high: f64,
    log: bool,
    /// A logarithmic axis has no 0: the value 0 is drawn at this value instead, left of the smallest one.
    zero: Option<f64>,
}

impl AxisScale {
    /// A scale that holds all values. With `from_zero` a linear one begins at 0, so that lengths can be compared.
    fn new(values: impl Iterator<Item = f64> + Clone, log: bool, from_zero: bool) -> Option<AxisScale> {
        let most = values.clone().fold(f64::NEG_INFINITY, f64::max);
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let least_positive = values.filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
        if !(most.is_finite() && least.is_finite()) {
            return None;
        }
        if log && least >= 0.0 && least_positive.is_finite() {
            // Everybody reads a step of a decade as "less than the smallest".
            let zero = (least == 0.0).then_some(least_positive / 10.0);
            let low = zero.unwrap_or(least_positive);
            let (low, high) = if low == most { (low / 2.0, most * 2.0) } else { (low, most) };
            return Some(AxisScale { low: low.log10(), high: high.log10(), log: true, zero });
        }
        let low = if from_zero { least.min(0.0) } else { least };
        let (low, high) = if low == most { (low - 0.5, most + 0.5) } else { (low, most) };
        Some(AxisScale { low, high, log: false, zero: None })
    }

    fn place(&self, value: f64) -> f64 {
        let value = match self.zero {
            Some(zero) if value == 0.0 => zero,
            _ => value,
        };
        let value = if self.log { value.log10() } else { value };
        (value - self.low) / (self.high - self.low)
    }

    /// Round values along the axis: multiples of 1, 2 or 5 times a power of ten.
    fn ticks(&self, about: usize) -> Vec<f64> {
        if self.log {
            let (first, last) = (self.low.floor() as i32, self.high.ceil() as i32);
            // Over few decades, the steps between them are needed too.
            let steps: &[f64] = if last - first <= 2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
            let all = (first..=last).flat_map(|e| steps.iter().map(move |s| s * 10_f64.powi(e)));
            return all.filter(|v| (-1e-9..=1.0 + 1e-9).contains(&self.place(*v))).collect();
        }
        let rough = (self.high - self.low) / about.max(1) as f64;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|s| s * power).into_iter().find(|s| *s >= rough).unwrap_or(rough);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        (first..=last).take(1000).map(|n| n as f64 * step).collect()
    }
}

/// Draws the curves into lines of at most `width` columns, `height` of them for the curves. None when there is nothing
/// to draw.
pub(super) fn draw(
    curves: &[PlottedCurve],
    axes: &Axes,
    width: usize,
    height: usize,
    unicode: bool,
) -> Option<Vec<String>> {
    let all = || curves.iter().flat_map(|c| &c.points).filter(|(x, y)| x.is_finite() && y.is_finite());
    let usable = |(x, y): &&(f64, f64)| (!axes.log_y || *y > 0.0) && (!axes.log_x || *x >= 0.0);
    let x = AxisScale::new(all().filter(usable).map(|(x, _)| *x), axes.log_x, false)?;
    let y = AxisScale::new(all().filter(usable).map(|(_, y)| *y), axes.log_y, true)?;
    let labels: Vec<(f64, String)> = y.ticks(height / 3).into_iter().map(|tick| (tick, number(tick))).collect();
    let margin = labels.iter().map(|(_, label)| text::width(label)).max()?;
    // Room for the labels, the axis, and a column at each side, so that letters do not touch the frame.
    let columns = width.checked_sub(margin + 3).filter(|columns| *columns >= 10)?;
    let area = Rect::new(0, 0, columns as u16, height.max(4) as u16);
    let cells = curves_in(area, curves, (x, y), unicode);

    let rows = usize::from(area.height);
    let row_of = |place: f64| ((1.0 - place) * (rows - 1) as f64).round() as usize;
    let (bar, corner, dash, tick) = if unicode { ('│', '└', '─', '┤') } else { ('|', '+', '-', '+') };
    let mut lines = vec![format!("{} {}", " ".repeat(margin), axes.y)];
    for (row, cells) in cells.iter().enumerate() {
        let label = labels.iter().find(|(value, _)| row_of(y.place(*value)) == row);
        let text = label.map_or("", |(_, label)| label.as_str());
        let line = format!("{text:>margin$} {} {cells}", if label.is_some() { tick } else { bar });
        lines.push(line.trim_end().to_owned());
    }
    lines.push(format!("{} {corner}{}", " ".repeat(margin), dash.to_string().repeat(columns + 1)));
    lines.extend(below(margin + 3, columns, x, all().map(|(x, _)| *x), &axes.x));
    Some(lines)
}

/// The inside of the picture, one text per row.
fn curves_in(area: Rect, curves: &[PlottedCurve], (x, y): (AxisScale, AxisScale), unicode: bool) -> Vec<String> {
    let mut buffer = Buffer::empty(area);
    let place = |(px, py): &(f64, f64)| {
        let place = (x.place(*px), y.place(*py));
        (place.0.is_finite() && place.1.is_finite()).then_some(place)
    };
    Canvas::default()
        .marker(if unicode { Marker::Braille } else { Marker::Custom('.') })
        .x_bounds([0.0, 1.0])
        .y_bounds([0.0, 1.0])
        .paint(|context| {
            for curve in curves {
                let places: Vec<(f64, f64)> = curve.points.iter().filter_map(place).collect();
                for pair in places.windows(2) {
                    if let [from, to] = pair {
                        context.draw(&Line::new(from.0, from.1, to.0, to.1, Color::Reset));
                    }
                }
            }
        })
        .render(area, &mut buffer);
    let mut letters: Vec<((u16, u16), char)> = Vec::new();
    for curve in curves {
        for (px, py) in curve.points.iter().filter_map(place) {
            let cell = (nearest(px, area.width), nearest(1.0 - py, area.height));
            match letters.iter_mut().find(|(taken, _)| *taken == cell) {
                Some((_, letter)) if *letter != curve.letter => *letter = SEVERAL,
                Some(_) => {}
                None => letters.push((cell, curve.letter)),
            }
        }
    }
    for (cell, letter) in letters {
        if let Some(cell) = buffer.cell_mut(cell) {
            cell.set_char(letter);
        }
    }
    let row = |row| (0..area.width).filter_map(|column| buffer.cell((column, row))).map(|cell| cell.symbol()).collect();
    (0..area.height).map(row).collect()
}

/// The cell for a place from 0 to 1.
fn nearest(place: f64, cells: u16) -> u16 {
    (place.clamp(0.0, 1.0) * f64::from(cells - 1)).round() as u16
}

/// The values under the x axis, without those that would run into another, and the axis's name at the right.
fn below(
    margin: usize,
    columns: usize,
    scale: AxisScale,
    values: impl Iterator<Item = f64>,
    name: &str,
) -> [String; 2] {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let mut line = " ".repeat(margin);
    // First the values at both ends, which matter most; then those that still have room.
    let mut taken: Vec<(usize, String)> = Vec::new();
    let ends = values.first().into_iter().chain(values.last()).copied();
    for value in ends.chain(values.iter().copied()) {
        let label = number(value);
        let cell = (scale.place(value).clamp(0.0, 1.0) * (columns - 1) as f64).round() as usize;
        let start = (margin + cell).saturating_sub(text::width(&label) / 2).min(margin + columns - text::width(&label));
        let end = start + text::width(&label);
        if taken.iter().all(|(at, other)| end < *at || start > at + text::width(other)) {
            taken.push((start, label));
        }
    }
    taken.sort();
    for (start, label) in taken {
        line.push_str(&" ".repeat(start.saturating_sub(text::width(&line))));
        line.push_str(&label);
    }
    let room = (margin + columns).saturating_sub(text::width(name));
    [line, format!("{}{name}", " ".repeat(room))]
}

/// A value on an axis: `0.5`, `12`, `20k`.
fn number(value: f64) -> String {
    let size = value.abs();
    let (scaled, unit) = match size {
        _ if size >= 1e13 || (size > 0.0 && size < 1e-6) => return format!("{value:.0e}"),
        _ if size >= 1e9 => (value / 1e9, "G"),
        _ if size >= 1e6 => (value / 1e6, "M"),
        _ if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    // No axis needs more than six digits.
    let digits = if scaled == 0.0 { 0 } else { (5 - scaled.abs().log10().floor() as i32).clamp(0, 12) };
    let text = format!("{scaled:.*}", digits as usize);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(letter: char, points: &[(f64, f64)]) -> PlottedCurve {
        PlottedCurve { letter, points: points.to_vec() }
    }

    fn axes(log_x: bool, log_y: bool) -> Axes {
        Axes { x: "threads".into(), y: "Mops/s".into(), log_x, log_y }
    }

    fn picture(curves: &[PlottedCurve], axes: &Axes, unicode: bool) -> String {
        draw(curves, axes, 60, 12, unicode).unwrap().join("\n")
    }

    #[test]
    fn letters_stand_at_the_measured_values() {
        let curves =
            [curve('A', &[(1.0, 8.6), (2.0, 4.1), (4.0, 2.1)]), curve('B', &[(1.0, 8.7), (2.0, 15.0), (4.0, 16.0)])];
        insta::assert_snapshot!("linear", picture(&curves, &axes(false, false), true));
        insta::assert_snapshot!("ascii", picture(&curves, &axes(false, false), false));
    }

    #[test]
    fn zero_has_a_place_on_a_logarithmic_axis() {
        let curves = [curve('A', &[(0.0, 0.02), (100.0, 0.4), (1000.0, 3.0), (100_000.0, 20_000.0)])];
        insta::assert_snapshot!("logarithmic", picture(&curves, &axes(true, true), true));
    }

    #[test]
    fn odd_values_draw_or_give_nothing() {
        let odd = [0.0, -1.0, 1.0, 1e300, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE];
        for x in odd {
            for y in odd {
                for (log_x, log_y) in [(false, false), (true, true)] {
                    let curves = [curve('A', &[(x, y), (1.0, 1.0)]), curve('B', &[(x, y)])];
                    let lines = draw(&curves, &axes(log_x, log_y), 60, 12, true).unwrap();
                    assert!(lines.iter().all(|line| text::width(line) <= 60), "{x} {y}");
                }
            }
        }
        assert_eq!(draw(&[], &axes(false, false), 60, 12, true), None);
        assert_eq!(draw(&[curve('A', &[(f64::NAN, 1.0)])], &axes(false, false), 60, 12, true), None);
        assert_eq!(draw(&[curve('A', &[(1.0, 1.0)])], &axes(false, false), 8, 12, true), None);
    }

    #[test]
    fn numbers_on_axes_are_short() {
        let cases = [(0.0, "0"), (0.05, "0.05"), (2.0, "2"), (2.5, "2.5"), (1000.0, "1000"), (20_000.0, "20k")];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!(number(-1.5e6), "-1.5M");
        assert_eq!((number(1e300).as_str(), number(2e-9).as_str()), ("1e300", "2e-9"));
    }
}
