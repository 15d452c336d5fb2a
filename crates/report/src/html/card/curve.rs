//! The speed-up over the counts, with its intervals and the ideal line.

use super::super::chart::{Axis, below, short, ticks};
use super::super::markup::Markup;
use analyze::answer::{Answer, Point};

const WIDTH: f64 = 380.0;
/// Pixels of the whole drawing.
pub(super) const HEIGHT: f64 = 250.0;
/// Room for the numbers beside the axis, below it, above the drawing.
const LEFT: f64 = 40.0;
const BOTTOM: f64 = 40.0;
const TOP: f64 = 24.0;
const RIGHT: f64 = 14.0;
/// From this ratio of the largest to the smallest count on, each doubling has the same room.
const LOG_FROM: f64 = 8.0;
/// Pixels that a count needs below the axis.
const APART: f64 = 30.0;

/// Draws it with its upper left corner at a place; the right edge, or none where there is nothing to draw.
pub(super) fn draw(answer: &Answer, left: f64, top: f64, m: &mut Markup) -> Option<f64> {
    let (first, last) = (answer.curve.first()?, answer.curve.last()?);
    if answer.curve.len() < 2 {
        return None;
    }
    let (low, most) = (f64::from(first.threads).max(1.0), f64::from(last.threads).max(1.0));
    let seen = |p: &Point| p.speedup.max(p.speedup_interval.high);
    let highest = answer.curve.iter().map(seen).filter(|v| v.is_finite()).fold(1.0, f64::max);
    let machine = f64::from(answer.machine.usable_processors.max(1));
    let best = (most.min(machine) / low).clamp(1.0, 4.0 * highest);
    let high = highest.max(best) * 1.08;
    let log = most / low >= LOG_FROM;
    let range = if log { (low / 1.1, most * 1.1) } else { (low - 0.2, most + 0.2) };
    let x = Axis::new(range, (left + LEFT, left + WIDTH - RIGHT), log);
    let y = Axis::new((0.0, high), (top + HEIGHT - BOTTOM, top + TOP), false);
    m.raw(&format!("<text class=\"faint\" x=\"{left}\" y=\"{}\" font-size=\"13\">", top + 12.0));
    m.text(&format!("speed-up over {}s", answer.counted.word())).raw("</text>\n");
    for tick in ticks(high, 4.0) {
        let (at, from, to) = (y.at(tick), left + LEFT, left + WIDTH - RIGHT);
        m.raw(&format!("<line class=\"grid\" x1=\"{from}\" x2=\"{to}\" y1=\"{at}\" y2=\"{at}\"/>"));
        m.raw(&format!("<text class=\"faint\" x=\"{}\" y=\"{}\" font-size=\"12\" ", from - 7.0, at + 4.0));
        m.raw("text-anchor=\"end\">").text(&short(tick)).raw("</text>\n");
    }
    let mut free = f64::NEG_INFINITY;
    for point in &answer.curve {
        let at = x.at(f64::from(point.threads));
        if at >= free {
            let bottom = top + HEIGHT - BOTTOM + 18.0;
            m.raw(&format!("<text class=\"faint\" x=\"{at}\" y=\"{bottom}\" font-size=\"12\" text-anchor=\"middle\">"));
            m.raw(&format!("{}</text>\n", point.threads));
            free = at + APART;
        }
        if answer.knee_at == Some(point.threads) {
            let (from, to) = (top + TOP, top + HEIGHT - BOTTOM);
            m.raw(&format!("<line class=\"knee\" x1=\"{at}\" x2=\"{at}\" y1=\"{from}\" y2=\"{to}\"/>"));
            m.raw(&format!("<text class=\"alert\" x=\"{at}\" y=\"{}\" font-size=\"12\" ", top + HEIGHT - 6.0));
            m.raw("text-anchor=\"middle\">knee</text>\n");
        }
    }
    let places = |value: &dyn Fn(&Point) -> f64| -> Vec<(f64, f64)> {
        answer.curve.iter().map(|p| (x.at(f64::from(p.threads)), y.at(value(p)))).collect()
    };
    let ideal = places(&|p| f64::from(p.threads).min(machine.max(low)) / low);
    m.raw(&format!("<polyline class=\"ideal\" points=\"{}\"/>\n", below(top + TOP, &ideal)));
    for (point, (at, _)) in answer.curve.iter().zip(places(&|p| p.speedup)) {
        let (from, to) = (y.at(point.speedup_interval.low), y.at(point.speedup_interval.high));
        m.raw(&format!("<line class=\"whisker\" x1=\"{at}\" x2=\"{at}\" y1=\"{from}\" y2=\"{to}\"/>"));
        for end in [from, to] {
            m.raw(&format!(
                "<line class=\"whisker\" x1=\"{}\" x2=\"{}\" y1=\"{end}\" y2=\"{end}\"/>",
                at - 4.0,
                at + 4.0
            ));
        }
    }
    let line = places(&|p| p.speedup);
    let points: Vec<String> = line.iter().map(|(x, y)| format!("{x},{y}")).collect();
    m.raw(&format!("\n<polyline class=\"curve\" points=\"{}\"/>\n", points.join(" ")));
    for (x, y) in line {
        m.raw(&format!("<circle class=\"point\" cx=\"{x}\" cy=\"{y}\" r=\"4\"/>"));
    }
    m.raw("\n");
    Some(left + WIDTH)
}
