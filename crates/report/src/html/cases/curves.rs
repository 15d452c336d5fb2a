//! Several curves in one drawing. Letters at their ends tell them apart, colours only help.

use crate::comparison::{Comparison, number};
use crate::html::chart::{Axis, below, decades, short, ticks};
use crate::html::markup::Markup;
use analyze::answer::Point;

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 62.0;
const BOTTOM: f64 = 40.0;
const TOP: f64 = 14.0;
/// Room for the letters at the right.
const RIGHT: f64 = 34.0;
/// Letters keep this distance, as long as there is room for all.
const APART: f64 = 13.0;
/// Pixels between the intervals of two curves at the same place, and half the width of their caps.
const ASIDE: f64 = 3.0;
const CAP: f64 = 2.5;
/// Colours of curves in the style sheet.
const COLOURS: usize = 8;

/// A value and its interval.
type Value = (f64, (f64, f64));

/// `A`, `B`, ...: the letter of a case in the pictures. Cases beyond the alphabet have no letter and no curve.
pub(super) fn letter(index: usize) -> Option<char> {
    u8::try_from(index).ok().filter(|index| *index < 26).map(|index| char::from(b'A' + index))
}

/// One curve: x, y and the interval of y, in the order of x.
struct Curve {
    sign: String,
    name: String,
    colour: usize,
    points: Vec<(f64, f64, (f64, f64))>,
}

/// One drawing.
struct Frame<'a> {
    title: String,
    x: &'a str,
    log_x: bool,
    log_y: bool,
    /// The ideal line that curves are compared with: x and y.
    ideal: Vec<(f64, f64)>,
}

pub(super) fn section(comparison: &Comparison) -> Option<String> {
    if comparison.counts().is_empty() {
        return None;
    }
    let mut m = Markup::default();
    m.raw("<div class=\"charts\">\n");
    // Values that are not numbers have no place on an axis.
    let is_axis =
        |name: &&String| comparison.cases.iter().filter_map(|c| c.value_of(name)).any(|v| number(v).is_some());
    match comparison.picture.x.as_ref().filter(is_axis) {
        Some(parameter) => families(comparison, parameter, &mut m),
        None => over_threads(comparison, &mut m),
    }
    m.raw("</div>\n");
    Some(m.into_html())
}

/// A value with its interval as speed. Of times, the smallest is the fastest.
fn speed(comparison: &Comparison, point: &Point) -> Option<Value> {
    let value = comparison.speed(point)?;
    let spread = if comparison.unit.is_some() {
        point.throughput.map(|t| (t.low, t.high))?
    } else {
        (1.0 / point.seconds.high, 1.0 / point.seconds.low)
    };
    Some((value, spread))
}

fn over_threads(comparison: &Comparison, m: &mut Markup) {
    let counts = comparison.counts();
    let curves = |of: &dyn Fn(&Point) -> Option<Value>| -> Vec<Curve> {
        let curve = |(index, case): (usize, &crate::comparison::Case)| {
            let point = |p: &Point| of(p).map(|(y, spread)| (f64::from(p.threads), y, spread));
            let points = case.curve.iter().filter_map(point).collect();
            Some(Curve { sign: letter(index)?.into(), name: case.label(), colour: index % COLOURS, points })
        };
        comparison.cases.iter().enumerate().filter_map(curve).collect()
    };
    let wide = counts.last().zip(counts.first()).is_some_and(|(last, first)| last / first.max(&1) >= 8);
    let (log_x, log_y) = (comparison.picture.log_x || wide, comparison.picture.log_y);
    let what = format!("{}s", comparison.counted().word());
    let title = format!("{} over {what}", comparison.speed_unit());
    let frame = Frame { title, x: &what, log_x, log_y, ideal: Vec::new() };
    draw(&frame, &curves(&|p| speed(comparison, p)), None, m);
    let machine = comparison.machine.as_ref().map_or(f64::INFINITY, |m| f64::from(m.usable_processors.max(1)));
    let first = counts.first().map_or(1.0, |c| f64::from(*c));
    let last = counts.last().map_or(1.0, |c| f64::from(*c));
    // Ideal: speed grows with the number of threads, up to the number of processors.
    let bend = machine.clamp(first, last.max(first));
    let ideal = vec![(first, 1.0), (bend, bend / first), (last, bend / first)];
    let frame = Frame { title: format!("Speed-up over {what}"), x: &what, log_x, log_y, ideal };
    let speedups = curves(&|p| Some((p.speedup, (p.speedup_interval.low, p.speedup_interval.high))));
    draw(&frame, &speedups, None, m);
}

/// One drawing per variant, all with the same axes; in each, one curve per thread count.
fn families(comparison: &Comparison, parameter: &str, m: &mut Markup) {
    let mut drawings: Vec<(String, Vec<Curve>)> = Vec::new();
    for (name, cases) in comparison.along(parameter) {
        let mut curves: Vec<Curve> = Vec::new();
        for (i, threads) in comparison.counts().into_iter().enumerate() {
            let mut points: Vec<(f64, f64, (f64, f64))> = Vec::new();
            for case in &cases {
                let x = case.value_of(parameter).and_then(number);
                let point = case.curve.iter().find(|p| p.threads == threads);
                if let (Some(x), Some((y, spread))) = (x, point.and_then(|p| speed(comparison, p))) {
                    points.push((x, y, spread));
                }
            }
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            let name = comparison.counted().many(threads);
            curves.push(Curve { sign: threads.to_string(), name, colour: i % COLOURS, points });
        }
        drawings.push((name, curves));
    }
    let all = || drawings.iter().flat_map(|(_, curves)| curves).flat_map(|c| &c.points);
    let range = Range::around_values(all(), comparison.picture.log_x, comparison.picture.log_y);
    for (name, curves) in &drawings {
        let frame = Frame {
            title: format!(
                "{name}: {} over {parameter}, one curve per {} count",
                comparison.speed_unit(),
                comparison.counted().word()
            ),
            x: parameter,
            log_x: comparison.picture.log_x,
            log_y: comparison.picture.log_y,
            ideal: Vec::new(),
        };
        draw(&frame, curves, range, m);
    }
}

/// The ranges of the axes.
#[derive(Clone, Copy)]
struct Range {
    x: (f64, f64),
    y: (f64, f64),
    /// A logarithmic axis has no 0: the value 0 is drawn a decade below the smallest value.
    zero: Option<f64>,
}

impl Range {
    fn around_values<'p>(
        points: impl Iterator<Item = &'p (f64, f64, (f64, f64))> + Clone,
        log_x: bool,
        log_y: bool,
    ) -> Option<Range> {
        let usable = points.filter(|(x, y, _)| x.is_finite() && y.is_finite() && (!log_y || *y > 0.0));
        let xs = usable.clone().map(|p| p.0);
        let least = xs.clone().fold(f64::INFINITY, f64::min);
        let most = xs.clone().fold(f64::NEG_INFINITY, f64::max);
        let positive = xs.filter(|x| *x > 0.0).fold(f64::INFINITY, f64::min);
        let low = usable.clone().map(|p| p.1.min(if p.2.0 > 0.0 { p.2.0 } else { p.1 })).fold(f64::INFINITY, f64::min);
        let high = usable.map(|p| p.1.max(if p.2.1.is_finite() { p.2.1 } else { p.1 })).fold(0.0, f64::max);
        if !(least.is_finite() && high > 0.0) {
            return None;
        }
        let zero = (log_x && least == 0.0 && positive.is_finite()).then_some(positive / 10.0);
        let y = if log_y { (low / 1.15, high * 1.15) } else { (0.0, high * 1.08) };
        Some(Range { x: (zero.unwrap_or(least), most), y, zero })
    }
}

fn draw(frame: &Frame<'_>, curves: &[Curve], range: Option<Range>, m: &mut Markup) {
    let all = || curves.iter().flat_map(|c| &c.points);
    let Some(range) = range.or_else(|| Range::around_values(all(), frame.log_x, frame.log_y)) else { return };
    let pad = if frame.log_x { 1.06 } else { 1.0 };
    let room = (range.x.1 - range.x.0) * if frame.log_x { 0.0 } else { 0.04 };
    let x = Axis::new((range.x.0 / pad - room, range.x.1 * pad + room), (LEFT, WIDTH - RIGHT), frame.log_x);
    let y = Axis::new(range.y, (HEIGHT - BOTTOM, TOP), frame.log_y);
    let x_at = |value: f64| x.at(if value == 0.0 { range.zero.unwrap_or(value) } else { value });
    m.raw("<figure><figcaption>").text(&frame.title).raw("</figcaption>\n");
    m.raw(&format!("<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\""));
    m.text(&format!("{}; the tables have the numbers", frame.title)).raw("\">\n");
    let heights = if frame.log_y { decades(range.y.0, range.y.1) } else { ticks(range.y.1, 4.0) };
    for tick in heights {
        let at = y.at(tick);
        m.raw(&format!("<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{at}\" y2=\"{at}\"/>", WIDTH - RIGHT));
        m.raw(&format!("<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">", LEFT - 8.0, at + 4.0));
        m.text(&short(tick)).raw("</text>\n");
    }
    let mut next = f64::NEG_INFINITY;
    let mut measured: Vec<f64> = all().map(|p| p.0).collect();
    measured.sort_by(f64::total_cmp);
    measured.dedup();
    for value in measured {
        let at = x_at(value);
        if at >= next {
            m.raw(&format!("<text class=\"tick\" x=\"{at}\" y=\"{}\" text-anchor=\"middle\">", HEIGHT - BOTTOM + 18.0));
            m.text(&short(value)).raw("</text>\n");
            next = at + 34.0;
        }
    }
    let middle = f64::midpoint(LEFT, WIDTH - RIGHT);
    m.raw(&format!("<text class=\"axis\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">", HEIGHT - 4.0));
    m.text(frame.x).raw(if frame.log_x { " (logarithmic)" } else { "" }).raw("</text>\n");
    if !frame.ideal.is_empty() {
        // Straight lines between the measured counts, as for the curves.
        let mut counts: Vec<f64> = all().map(|p| p.0).chain(frame.ideal.iter().map(|p| p.0)).collect();
        counts.retain(|count| (range.x.0..=range.x.1).contains(count));
        counts.sort_by(f64::total_cmp);
        counts.dedup();
        let place = |count: f64| (x.at(count), y.at(along(&frame.ideal, count).max(range.y.0)));
        let places: Vec<(f64, f64)> = counts.into_iter().map(place).collect();
        m.raw(&format!("<polyline class=\"ideal\" points=\"{}\"/>\n", below(TOP, &places)));
    }
    let mut ends: Vec<(f64, f64, &Curve)> = Vec::new();
    // Intervals at the same place stand side by side.
    let aside = |i: usize| ((i as f64 - (curves.len() as f64 - 1.0) / 2.0) * ASIDE).clamp(-2.0 * ASIDE, 2.0 * ASIDE);
    let mut intervals = false;
    for (i, curve) in curves.iter().enumerate() {
        let points = || curve.points.iter().filter(|p| !frame.log_y || p.1 > 0.0);
        let colour = format!("s-{}", curve.colour);
        let line: Vec<String> = points().map(|p| format!("{},{}", x_at(p.0), y.at(p.1))).collect();
        m.raw(&format!("<polyline class=\"line {colour}\" points=\"{}\"/>\n", line.join(" ")));
        for (value, height, (low, high)) in points() {
            let cx = x_at(*value);
            let (from, to) = (y.at(low.max(range.y.0)), y.at(high.min(range.y.1)));
            if (from - to).abs() > 1.0 {
                intervals = true;
                let bar = cx + aside(i);
                let (left, right) = (bar - CAP, bar + CAP);
                m.raw(&format!(
                    "<path class=\"spread-line {colour}\" d=\"M{left},{from}H{right}M{bar},{from}V{to}M{left},{to}H{right}\"/>"
                ));
            }
            m.raw(&format!("<circle class=\"dot {colour}\" cx=\"{cx}\" cy=\"{}\" r=\"3.5\"><title>", y.at(*height)));
            m.text(&format!("{}, {} {}: {}", curve.name, frame.x, short(*value), short(*height)));
            m.raw("</title></circle>\n");
        }
        if let Some(last) = points().next_back() {
            ends.push((x_at(last.0), y.at(last.1), curve));
        }
    }
    // Letters stand beside the ends of their curves, pushed apart where they would overlap.
    ends.sort_by(|a, b| a.1.total_cmp(&b.1));
    let crowded = ends.len().saturating_sub(1) as f64 * APART > HEIGHT - BOTTOM - TOP;
    let ends = signs(&ends, crowded);
    let mut lowest = f64::NEG_INFINITY;
    let mut places: Vec<f64> = ends
        .iter()
        .map(|end| {
            lowest = end.1.max(lowest + APART);
            lowest
        })
        .collect();
    let over = (lowest - (HEIGHT - BOTTOM)).max(0.0);
    places.iter_mut().for_each(|place| *place -= over);
    for ((at, _, colour, sign), place) in ends.iter().zip(places) {
        let class = colour.map_or("sign".to_owned(), |colour| format!("sign s-{colour}"));
        m.raw(&format!("<text class=\"{class}\" x=\"{}\" y=\"{}\">", at + 8.0, place + 4.0));
        m.text(sign).raw("</text>\n");
    }
    m.raw("</svg>\n<ul class=\"legend lanes-legend curves-legend\">");
    for curve in curves {
        m.raw(&format!("<li><span class=\"key k-{}\"></span>", curve.colour));
        // The name of such a curve begins with its count already.
        if !curve.name.starts_with(&format!("{} ", curve.sign)) {
            m.text(&format!("{} ", curve.sign));
        }
        m.text(&curve.name).raw("</li>");
    }
    if !frame.ideal.is_empty() {
        m.raw("<li><span class=\"key key-ideal\"></span>ideal on this machine</li>");
    }
    if intervals {
        m.raw("<li><span class=\"mark interval\">I</span>95 % interval</li>");
    }
    m.raw("</ul></figure>\n");
}

/// A sign at the end of a curve: place, colour, text.
type Sign = (f64, f64, Option<usize>, String);

/// The signs of the curves' ends, which are sorted by height. When there is no room for all, signs that would overlap
/// are merged into one.
fn signs(ends: &[(f64, f64, &Curve)], crowded: bool) -> Vec<Sign> {
    let mut signs: Vec<Sign> = Vec::new();
    let mut group: Vec<&str> = Vec::new();
    for (x, y, curve) in ends {
        match signs.last_mut() {
            Some((right, height, colour, text)) if crowded && *y - *height < APART => {
                group.push(&curve.sign);
                *right = right.max(*x);
                *colour = None;
                let ends = (group.iter().min(), group.iter().max());
                *text = match (group.as_slice(), ends) {
                    ([one, other], _) => format!("{one} {other}"),
                    (_, (Some(first), Some(last))) => format!("{first}…{last}"),
                    _ => String::new(),
                };
            }
            _ => {
                group = vec![&curve.sign];
                signs.push((*x, *y, Some(curve.colour), curve.sign.clone()));
            }
        }
    }
    signs
}

/// The height of a broken line at `x`.
fn along(line: &[(f64, f64)], x: f64) -> f64 {
    let piece = line.windows(2).find(|w| matches!(w, [_, (to, _)] if x <= *to)).or_else(|| line.windows(2).last());
    match piece {
        Some([(x0, y0), (x1, y1)]) if x1 > x0 => y0 + (y1 - y0) * ((x - x0) / (x1 - x0)).clamp(0.0, 1.0),
        Some([_, (_, y1)]) => *y1,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ideal_line_bends_where_the_processors_end() {
        let line = [(1.0, 1.0), (4.0, 4.0), (16.0, 4.0)];
        assert_eq!([1.0, 2.0, 4.0, 8.0, 16.0].map(|x| along(&line, x)), [1.0, 2.0, 4.0, 4.0, 4.0]);
        // One processor: flat from the start on.
        assert_eq!(along(&[(1.0, 1.0), (1.0, 1.0), (4.0, 1.0)], 4.0), 1.0);
    }

    #[test]
    fn signs_without_room_stand_together() {
        let curves: Vec<Curve> = ["A", "B", "C", "D"]
            .map(|sign| Curve { sign: sign.to_owned(), name: String::new(), colour: 0, points: Vec::new() })
            .into();
        let ends: Vec<(f64, f64, &Curve)> =
            curves.iter().zip([10.0, 12.0, 15.0, 90.0]).map(|(c, y)| (1.0, y, c)).collect();
        let texts = |crowded| signs(&ends, crowded).into_iter().map(|s| s.3).collect::<Vec<_>>();
        assert_eq!(texts(false), ["A", "B", "C", "D"]);
        assert_eq!(texts(true), ["A…C", "D"]);
    }

    #[test]
    fn zero_has_a_place_on_a_logarithmic_axis() {
        let points = [(0.0, 1.0, (0.9, 1.1)), (100.0, 2.0, (f64::NAN, f64::INFINITY))];
        let range = Range::around_values(points.iter(), true, true).unwrap();
        assert_eq!((range.x, range.zero), ((10.0, 100.0), Some(10.0)));
        assert!(range.y.0 > 0.0 && range.y.1.is_finite());
        assert!(Range::around_values([(1.0, f64::NAN, (0.0, 0.0))].iter(), false, false).is_none());
    }
}
