//! The scaling curve: two drawings and the table. Rooms: `what_if` the curves that are predicted without a cause.
//!
//! May import: `chart`, `markup`, `words`, `analyze`, `recording`.

mod what_if;

use super::chart::{Axis, below, short, ticks};
use super::markup::Markup;
use crate::words;
use analyze::answer::{Answer, CounterId, Interval, Point, Spread};
use recording::meta::Throughput;

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 62.0;
const BOTTOM: f64 = 40.0;
const TOP: f64 = 14.0;
const RIGHT: f64 = 18.0;

/// From this ratio of the largest to the smallest count on, the x axis is logarithmic: equal room for each doubling.
const LOG_FROM: f64 = 8.0;

/// Columns of the table that are hidden on a narrow screen.
const MINOR: [&str; 3] = ["runs", "processors used", "context switches"];

/// A line of a drawing: place, value, interval.
type Series = Vec<(f64, f64, (f64, f64))>;

pub(super) fn section(answer: &Answer) -> Option<String> {
    if answer.curve.is_empty() {
        return None;
    }
    let mut m = Markup::default();
    if answer.curve.len() > 1 {
        m.raw("<div class=\"charts\">\n");
        let ratios = answer.curve.iter().map(|p| {
            let Interval { low, high } = p.speedup_interval;
            (f64::from(p.threads), p.speedup, (low, high))
        });
        let speedup = Shown { title: "Speed-up", ideal: true, tick: &ratio, value: &|v| words::times(v, None) };
        drawing(&mut m, answer, &speedup, &ratios.collect());
        match &answer.throughput {
            Some(throughput) if throughput.times => {
                let printed = |p: &Point| Some(words::printed_spread(throughput, p.throughput?));
                let times = answer.curve.iter().filter_map(|p| Some((f64::from(p.threads), printed(p)?)));
                let time = Shown { title: "Printed time", ideal: false, tick: &time, value: &words::about };
                drawing(&mut m, answer, &time, &series(times));
            }
            Some(throughput) => {
                let rates = answer.curve.iter().filter_map(|p| Some((f64::from(p.threads), p.throughput?)));
                let rate = Shown { title: &throughput.unit, ideal: false, tick: &|v, _, _| short(v), value: &short };
                drawing(&mut m, answer, &rate, &series(rates));
            }
            None => {
                let times = answer.curve.iter().map(|p| (f64::from(p.threads), p.seconds));
                let time = Shown { title: "Time of a run", ideal: false, tick: &time, value: &words::about };
                drawing(&mut m, answer, &time, &series(times));
            }
        }
        m.raw("</div>\n");
    }
    table(answer, &mut m);
    if let Some(how) = words::bounds(answer) {
        m.p("note", &format!("{how}."));
    }
    Some(m.into_html())
}

/// What a drawing shows, and how its numbers are written: `tick` at an axis (value, step, largest value), `value`
/// alone.
struct Shown<'a> {
    title: &'a str,
    ideal: bool,
    tick: &'a dyn Fn(f64, f64, f64) -> String,
    value: &'a dyn Fn(f64) -> String,
}

fn ratio(value: f64, step: f64, _: f64) -> String {
    words::number(value, i32::from(step.fract() != 0.0))
}

/// One unit for the whole axis.
fn time(value: f64, step: f64, high: f64) -> String {
    let scale = words::Scale::time(high);
    if value == 0.0 { "0".to_owned() } else { scale.fixed(value, scale.decimals_of_step(step)) }
}

fn series(values: impl Iterator<Item = (f64, Spread)>) -> Series {
    values.map(|(x, s)| (x, s.median, (s.low, s.high))).collect()
}

fn drawing(m: &mut Markup, answer: &Answer, shown: &Shown<'_>, points: &Series) {
    let (title, ideal, label) = (shown.title, shown.ideal, shown.value);
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
    let log = last.0 / first.0 >= LOG_FROM;
    let top = points.iter().map(|p| p.1.max(p.2.1)).filter(|v| v.is_finite()).fold(0.0, f64::max);
    // The curve is compared with the ideal line, but that line must not squeeze the curve to the bottom.
    let machine = f64::from(answer.machine.usable_processors.max(1));
    let best = if ideal { (last.0.min(machine) / first.0).clamp(1.0, (4.0 * top).max(1.0)) } else { 0.0 };
    let foreseen = if ideal { what_if::highest(answer).min(2.0 * best) } else { 0.0 };
    let high = top.max(best).max(foreseen) * 1.08;
    let pad = if log { 1.06 } else { 0.0 };
    let range = if log { (first.0 / pad, last.0 * pad) } else { (first.0 - 0.2, last.0 + 0.2) };
    let x = Axis::new(range, (LEFT, WIDTH - RIGHT), log);
    let y = Axis::new((0.0, high), (HEIGHT - BOTTOM, TOP), false);
    let what = format!("{}s", answer.counted.word());
    m.raw("<figure><figcaption>").text(title).raw(&format!(" over {what}</figcaption>\n"));
    m.raw(&format!("<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\""));
    let spoken: Vec<String> = points.iter().map(|p| format!("{} {what}: {}", p.0, label(p.1))).collect();
    m.text(&format!("{title} over {what}. {}", spoken.join("; "))).raw("\">\n");
    let heights = ticks(high, 4.0);
    let step = heights.get(1).copied().unwrap_or(high);
    for tick in heights {
        let at = y.at(tick);
        m.raw(&format!("<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{at}\" y2=\"{at}\"/>", WIDTH - RIGHT));
        m.raw(&format!("<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">", LEFT - 8.0, at + 4.0));
        m.text(&(shown.tick)(tick, step, high)).raw("</text>\n");
    }
    let mut next = f64::NEG_INFINITY;
    for point in points {
        let at = x.at(point.0);
        if at >= next {
            m.raw(&format!(
                "<text class=\"tick\" x=\"{at}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                HEIGHT - BOTTOM + 18.0,
                point.0
            ));
            next = at + 24.0;
        }
    }
    let middle = f64::midpoint(LEFT, WIDTH - RIGHT);
    m.raw(&format!(
        "<text class=\"axis\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
        HEIGHT - 4.0,
        if log { format!("{what} (logarithmic)") } else { what.clone() }
    ));
    if ideal {
        // Ideal: speed grows with the number of threads, up to the number of processors. Straight lines between the
        // measured counts, as for the curve.
        let mut counts: Vec<f64> = points.iter().map(|p| p.0).collect();
        counts.extend((first.0 < machine && machine < last.0).then_some(machine));
        counts.sort_by(f64::total_cmp);
        let place = |threads: &f64| (x.at(*threads), y.at(threads.min(machine.max(first.0)) / first.0));
        let places: Vec<(f64, f64)> = counts.iter().map(place).collect();
        m.raw(&format!("<polyline class=\"ideal\" points=\"{}\"/>\n", below(TOP, &places)));
    }
    if ideal {
        what_if::lines(answer, (&x, &y), TOP, m);
    }
    if let Some(knee) = answer.knee_at.map(f64::from).filter(|k| points.iter().any(|p| p.0 == *k)) {
        let at = x.at(knee);
        m.raw(&format!("<line class=\"knee\" x1=\"{at}\" x2=\"{at}\" y1=\"{TOP}\" y2=\"{}\"/>", HEIGHT - BOTTOM));
        m.raw(&format!(
            "<text class=\"tick knee-label\" x=\"{}\" y=\"{}\">knee</text>\n",
            at + 5.0,
            HEIGHT - BOTTOM - 6.0
        ));
    }
    let upper = points.iter().map(|p| format!("{},{}", x.at(p.0), y.at(p.2.1)));
    let lower = points.iter().rev().map(|p| format!("{},{}", x.at(p.0), y.at(p.2.0)));
    let band: Vec<String> = upper.chain(lower).collect();
    m.raw(&format!("<polygon class=\"spread\" points=\"{}\"/>\n", band.join(" ")));
    let line: Vec<String> = points.iter().map(|p| format!("{},{}", x.at(p.0), y.at(p.1))).collect();
    m.raw(&format!("<polyline class=\"curve\" points=\"{}\"/>\n", line.join(" ")));
    for (threads, value, (low, high)) in points {
        let (cx, cy) = (x.at(*threads), y.at(*value));
        m.raw(&format!(
            "<line class=\"whisker\" x1=\"{cx}\" x2=\"{cx}\" y1=\"{}\" y2=\"{}\"/>",
            y.at(*low),
            y.at(*high)
        ));
        m.raw(&format!("<circle class=\"point\" cx=\"{cx}\" cy=\"{cy}\" r=\"4\"><title>"));
        m.text(&format!("{threads} {what}: {} ({} to {})", label(*value), label(*low), label(*high)));
        m.raw("</title></circle>\n");
    }
    m.raw("</svg>\n<ul class=\"legend lanes-legend\"><li><span class=\"key key-curve\"></span>measured, median with its 95 % interval</li>");
    if ideal {
        m.raw("<li><span class=\"key key-ideal\"></span>ideal on this machine</li>");
        what_if::legend(answer, m);
    }
    m.raw("</ul></figure>\n");
}

fn table(answer: &Answer, m: &mut Markup) {
    m.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"scaling\"><table class=\"plain cards counts\"><thead><tr>");
    let counts = if answer.counted.is_threads() { "threads" } else { "processors" };
    let mut titles: Vec<&str> =
        vec![counts, "runs", "time", "speed-up", "efficiency", "processors used", "context switches"];
    let printed = answer.throughput.as_ref();
    if let Some(throughput) = printed {
        titles[2] = if throughput.times { "whole run" } else { "time" };
        titles.insert(2, words::printed(throughput));
    }
    for title in &titles {
        let minor = if MINOR.contains(title) { " minor" } else { "" };
        m.raw(&format!("<th scope=\"col\" class=\"n{minor}\">")).text(title).raw("</th>");
    }
    m.raw("</tr></thead><tbody>\n");
    for point in &answer.curve {
        let knee = answer.knee_at == Some(point.threads);
        m.raw(if knee { "<tr class=\"knee-row\">" } else { "<tr>" });
        for (i, (title, cell)) in titles.iter().zip(cells(point, printed)).enumerate() {
            let minor = if MINOR.contains(title) { " minor" } else { "" };
            m.raw(&format!("<td class=\"n{minor}\" data-l=\"")).text(title).raw("\">");
            m.raw(if knee && i == 0 { "<span class=\"badge\">knee</span> " } else { "" });
            // A printed page shows the interval below its value.
            match cell.split_once(" (") {
                Some((value, interval)) => {
                    m.text(value).raw(" <span class=\"interval\">(").text(interval).raw("</span>");
                }
                None => drop(m.text(&cell)),
            }
            m.raw("</td>");
        }
        m.raw("</tr>\n");
    }
    m.raw("</tbody></table></div>\n");
    if answer.curve.iter().any(|point| point.runs > 1) {
        m.p("note", "In brackets: the 95 % interval of the median.");
    }
    if let Some(throughput) = &answer.throughput {
        // Folded: to somebody who did not write the pattern it means little at first sight.
        m.raw("<details><summary>")
            .text(words::printed(throughput))
            .raw(" is what the program printed</summary><p class=\"note\">");
        m.raw("The last match of <code>")
            .text(&throughput.pattern)
            .raw("</code> in the program's output.")
            .raw(if throughput.times { " Speed-ups are of this time, not of the whole run." } else { "" })
            .raw("</p></details>\n");
    }
}

fn cells(point: &Point, printed: Option<&Throughput>) -> Vec<String> {
    let measured =
        |s: Spread, scale: words::Scale| scale.between(s.median, (point.runs > 1).then_some((s.low, s.high)));
    let interval = (point.runs > 1).then_some((point.speedup_interval.low, point.speedup_interval.high));
    let switches = || {
        let of = |id| point.counters.get(&id).copied();
        Some(words::count(of(CounterId::VoluntarySwitches)? + of(CounterId::InvoluntarySwitches)?))
    };
    let mut cells = vec![point.threads.to_string(), point.runs.to_string()];
    if let Some(throughput) = printed {
        let spread = point.throughput.map(|rates| words::printed_spread(throughput, rates));
        cells.push(spread.map_or(String::new(), |t| measured(t, words::printed_scale(throughput, t.median))));
    }
    cells.extend([
        measured(point.seconds, words::Scale::time(point.seconds.median)),
        words::times(point.speedup, interval),
        words::percent(point.efficiency),
        words::number(point.processors_used, 2),
        switches().unwrap_or_default(),
    ]);
    cells
}
