//! The scaling curve: two drawings and the table. May import: `chart`, `markup`, `words`.

use super::chart::{Axis, short, ticks};
use super::markup::Markup;
use crate::words;
use analyze::answer::{Answer, Interval, Point, Spread};

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 62.0;
const BOTTOM: f64 = 40.0;
const TOP: f64 = 14.0;
const RIGHT: f64 = 18.0;

/// From this ratio of the largest to the smallest count on, doublings get equal room.
const LOG_FROM: f64 = 8.0;

/// A line of a drawing: place, value, interval.
type Series = Vec<(f64, f64, (f64, f64))>;

pub(super) fn section(answer: &Answer) -> Option<String> {
    if answer.curve.is_empty() {
        return None;
    }
    let mut m = Markup::default();
    if answer.curve.len() > 1 {
        m.raw("<div class=\"charts\">\n");
        let speedup = answer.curve.iter().map(|p| {
            let Interval { low, high } = p.speedup_interval;
            (f64::from(p.threads), p.speedup, (low, high))
        });
        drawing(&mut m, answer, "Speed-up", &speedup.collect(), true, &|v| {
            words::number(v, if v < 10.0 && v.fract() != 0.0 { 1 } else { 0 })
        });
        match &answer.throughput {
            Some(throughput) => {
                let rates = answer.curve.iter().filter_map(|p| Some((f64::from(p.threads), p.throughput?)));
                drawing(&mut m, answer, &throughput.unit, &series(rates), false, &short);
            }
            None => {
                let times = answer.curve.iter().map(|p| (f64::from(p.threads), p.seconds));
                drawing(&mut m, answer, "Time of a run", &series(times), false, &|v| {
                    if v == 0.0 { "0".to_owned() } else { words::about(v) }
                });
            }
        }
        m.raw("</div>\n");
    }
    table(answer, &mut m);
    Some(m.into_html())
}

fn series(values: impl Iterator<Item = (f64, Spread)>) -> Series {
    values.map(|(x, s)| (x, s.median, (s.low, s.high))).collect()
}

fn drawing(m: &mut Markup, answer: &Answer, title: &str, points: &Series, ideal: bool, label: &dyn Fn(f64) -> String) {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
    let log = last.0 / first.0 >= LOG_FROM;
    let top = points.iter().map(|p| p.1.max(p.2.1)).filter(|v| v.is_finite()).fold(0.0, f64::max);
    // The ideal line is what the curve is compared with, but must not press the curve to the ground.
    let machine = f64::from(answer.machine.usable_processors.max(1));
    let best = if ideal { (last.0.min(machine) / first.0).clamp(1.0, (4.0 * top).max(1.0)) } else { 0.0 };
    let high = top.max(best) * 1.08;
    let pad = if log { 1.06 } else { 0.0 };
    let range = if log { (first.0 / pad, last.0 * pad) } else { (first.0 - 0.2, last.0 + 0.2) };
    let x = Axis::new(range, (LEFT, WIDTH - RIGHT), log);
    let y = Axis::new((0.0, high), (HEIGHT - BOTTOM, TOP), false);
    m.raw("<figure><figcaption>").text(title).raw(" over threads</figcaption>\n");
    m.raw(&format!("<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\""));
    let spoken: Vec<String> = points.iter().map(|p| format!("{} threads: {}", p.0, label(p.1))).collect();
    m.text(&format!("{title} over threads. {}", spoken.join("; "))).raw("\">\n");
    for tick in ticks(high, 4.0) {
        let at = y.at(tick);
        m.raw(&format!("<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{at}\" y2=\"{at}\"/>", WIDTH - RIGHT));
        m.raw(&format!("<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">", LEFT - 8.0, at + 4.0));
        m.text(&label(tick)).raw("</text>\n");
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
        "<text class=\"axis\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">threads</text>\n",
        HEIGHT - 4.0
    ));
    if ideal {
        // Ideal: as many times faster as there are more threads, up to the processors that there are.
        let mut path = String::new();
        let steps = 40;
        for i in 0..=steps {
            let share = f64::from(i) / f64::from(steps);
            let threads =
                if log { first.0 * (last.0 / first.0).powf(share) } else { first.0 + (last.0 - first.0) * share };
            let value = threads.min(machine.max(first.0)) / first.0;
            if value <= high {
                path += &format!("{}{},{}", if path.is_empty() { "M" } else { "L" }, x.at(threads), y.at(value));
            }
        }
        m.raw(&format!("<path class=\"ideal\" d=\"{path}\"/>\n"));
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
        m.text(&format!("{threads} threads: {} ({} to {})", label(*value), label(*low), label(*high)));
        m.raw("</title></circle>\n");
    }
    m.raw("</svg>\n<p class=\"legend\"><span class=\"key key-curve\"></span>measured, median with its 95 % interval");
    if ideal {
        m.raw(" <span class=\"key key-ideal\"></span>ideal on this machine");
    }
    m.raw("</p></figure>\n");
}

fn table(answer: &Answer, m: &mut Markup) {
    m.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"scaling\"><table class=\"plain\"><thead><tr>");
    let mut titles = vec!["threads", "runs", "time", "speed-up", "efficiency", "processors used", "context switches"];
    let unit = answer.throughput.as_ref().map(|t| t.unit.clone());
    if let Some(unit) = &unit {
        titles.insert(2, unit);
    }
    for title in titles {
        m.raw("<th scope=\"col\" class=\"n\">").text(title).raw("</th>");
    }
    m.raw("</tr></thead><tbody>\n");
    for point in &answer.curve {
        let knee = answer.knee_at == Some(point.threads);
        m.raw(if knee { "<tr class=\"knee-row\">" } else { "<tr>" });
        for cell in cells(point, unit.is_some(), knee) {
            m.raw("<td class=\"n\">").text(&cell).raw("</td>");
        }
        m.raw("</tr>\n");
    }
    m.raw("</tbody></table></div>\n");
    if let Some(throughput) = &answer.throughput {
        m.raw("<p class=\"note\">").text(&throughput.unit).raw(" is what the program printed, matched by <code>");
        m.text(&throughput.pattern).raw("</code>.</p>\n");
    }
}

fn cells(point: &Point, rate: bool, knee: bool) -> Vec<String> {
    let measured = |s: Spread, scale: words::Scale| {
        let half = (s.high - s.median).max(s.median - s.low);
        scale.within(s.median, (point.runs > 1).then_some(half))
    };
    let interval = (point.runs > 1).then_some((point.speedup_interval.low, point.speedup_interval.high));
    let switches = || {
        let of = |name: &str| point.counters.get(name).copied();
        Some(words::count(of("voluntary_switches")? + of("involuntary_switches")?))
    };
    let mut cells =
        vec![if knee { format!("knee {}", point.threads) } else { point.threads.to_string() }, point.runs.to_string()];
    if rate {
        cells.push(point.throughput.map_or(String::new(), |t| measured(t, words::Scale::count(t.median))));
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
