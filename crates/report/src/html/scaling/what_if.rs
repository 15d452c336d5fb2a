//! The curves that are predicted without a cause: dashed lines in the drawing of the speed-up, and the choice of them.

use crate::html::chart::{Axis, below};
use crate::html::markup::Markup;
use crate::words::which_causes;
use analyze::answer::{Answer, Foreseen, Removed};

/// Curves that can be chosen; each needs a rule in `page.css`.
const MOST: usize = 6;

/// What is shown: causes removed as a whole.
fn shown(answer: &Answer) -> impl Iterator<Item = (usize, &Removed)> {
    answer.what_if.removals.iter().filter(|removed| removed.part >= 1.0).take(MOST).enumerate()
}

/// The largest speed-up of the curve that is visible at first.
pub(super) fn highest(answer: &Answer) -> f64 {
    let points = shown(answer).take(1).flat_map(|(_, removed)| &removed.points);
    points.map(|point| point.speedup).filter(|v| v.is_finite()).fold(0.0, f64::max)
}

/// Draws the lines. Counts at which the cause costs nothing keep their measured speed-up.
pub(super) fn lines(answer: &Answer, (x, y): (&Axis, &Axis), top: f64, m: &mut Markup) {
    for (number, removed) in shown(answer) {
        let foreseen =
            |threads: u32| removed.points.iter().find(|p| p.threads == threads).map(|p: &Foreseen| p.speedup);
        let at =
            |(threads, measured): (u32, f64)| (x.at(f64::from(threads)), y.at(foreseen(threads).unwrap_or(measured)));
        let places: Vec<(f64, f64)> = answer.curve.iter().map(|p| at((p.threads, p.speedup))).collect();
        m.raw(&format!("<g class=\"what-if what-if-{number}\"><polyline points=\"{}\"/>", below(top, &places)));
        for (point, place) in removed.points.iter().filter_map(|p| Some((p, place(answer, p.threads, &places)?))) {
            m.raw(&format!("<circle cx=\"{}\" cy=\"{}\" r=\"3\"><title>", place.0, place.1.max(top)));
            m.text(&format!(
                "{}: {}{:.2} times as fast",
                answer.counted.many(point.threads),
                bound(removed),
                point.times_as_fast
            ));
            m.raw("</title></circle>");
        }
        m.raw("</g>\n");
    }
}

/// Where the point of a thread count is drawn.
fn place(answer: &Answer, threads: u32, places: &[(f64, f64)]) -> Option<(f64, f64)> {
    places.get(answer.curve.iter().position(|p| p.threads == threads)?).copied()
}

fn bound(removed: &Removed) -> &'static str {
    if removed.at_most { "at most " } else { "" }
}

/// The choice, as items of the drawing's legend.
pub(super) fn legend(answer: &Answer, m: &mut Markup) {
    for (number, removed) in shown(answer) {
        let names: Vec<&str> = removed.causes.iter().map(|id| id.name()).collect();
        let checked = if number == 0 { " checked" } else { "" };
        m.raw(&format!("<li><label><input type=\"checkbox\" class=\"choose-{number}\"{checked}>"));
        m.raw("<span class=\"key key-what-if\"></span>");
        let at_most = if removed.at_most { ", at most" } else { "" };
        let which = which_causes(answer, removed);
        m.text(&format!("without {which} ({}){at_most}", names.join(", "))).raw("</label></li>");
    }
}
