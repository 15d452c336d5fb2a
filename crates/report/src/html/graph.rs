//! The wait graph: a circle of threads with arrows from the thread that waits to the one it waits for.

use super::markup::{Markup, readable};
use crate::observed::Observed;
use crate::text;
use crate::words;
use analyze::wait_graph::{LEAST_SHARE, LEAST_TIED, WaitGraph, WaitNode};
use std::f64::consts::{PI, TAU};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 380.0;
/// Two threads are drawn side by side, with their names below: width and height.
const FLAT: (f64, f64) = (420.0, 120.0);
const RADIUS: f64 = 128.0;
/// Radius of a node.
const NODE: f64 = 15.0;
/// Columns of a name beside its node.
const NAME: usize = 22;
/// Pixels that a letter of a name takes at most on average, also on a narrow screen, where the letters are larger.
const LETTER: f64 = 9.5;
/// How far a loop reaches from its node's centre.
const LOOP: f64 = 60.0;
/// Drawings wider than this scroll on a narrow screen: shrunk to fit, their names would be unreadable.
const SMALL: f64 = 620.0;
/// Share of a run from which on a wait gets the widest arrow.
const LONG: f64 = 0.05;
/// Edges drawn.
const MOST_EDGES: usize = 40;
/// Rows of the table of knots.
const MOST_KNOTS: usize = 5;
/// A name stands beside its node if the node is further from the middle than this share of the radius; else above it or
/// below.
const ASIDE: f64 = 0.2;
/// When less than this share of the waiting is left out, it is not told: it would round to 0 %.
const WORTH_TELLING: f64 = 0.005;

/// Writes picture and table; nothing when no thread waited for another.
pub(super) fn write(observed: &Observed<'_, '_>, m: &mut Markup) {
    let graph = WaitGraph::new(observed.traced, observed.reasons);
    if graph.edges.is_empty() {
        return;
    }
    m.raw("<h3>Wait graph</h3>\n");
    let drawn = graph.nodes.len() > 1;
    if !graph.knots.is_empty() {
        m.p(
            "note",
            &format!(
                "In a knot threads wait for each other in a circle, each for {} of its life or more, so that none gets ahead \
                 alone. Whether that costs time, the answer says.",
                words::percent(LEAST_TIED)
            ),
        );
    }
    heaviest(observed, &graph, m);
    if drawn {
        m.p(
            "note",
            "An arrow leads from a thread that waited to the one that ended the waiting, the wider the longer; the table \
             below has the times. Waits that the kernel ended, as it does for timers and devices, have no arrow.",
        );
        let trace = observed.traced.trace;
        draw(observed, &graph, trace.end_ns.saturating_sub(trace.begin_ns) as f64 / 1e9, m);
    }
    if graph.grouped {
        let stand = if drawn { "are drawn as one" } else { "count as one here, so that there is nothing to draw" };
        m.p("note", &format!("Threads whose names differ by numbers only {stand}, with # for the number."));
    }
    let shown: f64 = graph.edges.iter().map(|e| e.seconds).sum();
    if graph.seconds - shown >= WORTH_TELLING * graph.seconds {
        m.p(
            "note",
            &format!(
                "Left out: waits with less than {} of the time or beyond the heaviest threads, together {}.",
                words::percent(LEAST_SHARE),
                words::time(graph.seconds - shown)
            ),
        );
    }
}

/// What a node is called.
fn name(observed: &Observed<'_, '_>, graph: &WaitGraph, node: &WaitNode) -> String {
    match node.threads.first() {
        Some(thread) if !graph.grouped => readable(&observed.thread(*thread)),
        _ if node.name.is_empty() => "(no name)".to_owned(),
        _ => readable(&node.name),
    }
}

/// The same with the number of threads that it stands for.
fn title(observed: &Observed<'_, '_>, graph: &WaitGraph, node: &WaitNode) -> String {
    let name = name(observed, graph, node);
    match node.threads.len() {
        0 | 1 => name,
        several => format!("{name} ({})", words::plural(several as u64, "thread")),
    }
}

fn heaviest(observed: &Observed<'_, '_>, graph: &WaitGraph, m: &mut Markup) {
    if graph.knots.is_empty() {
        m.p("", "There is no knot: no threads wait for each other in a circle for long.");
        return;
    }
    m.raw(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Knots\"><table class=\"plain\"><thead><tr>",
    );
    m.raw("<th scope=\"col\">knot</th><th scope=\"col\" class=\"n\">waiting inside</th>");
    m.raw("<th scope=\"col\" class=\"n\">of all between threads</th></tr></thead><tbody>\n");
    for knot in graph.knots.iter().take(MOST_KNOTS) {
        let names = knot.nodes.iter().filter_map(|n| graph.nodes.get(*n)).map(|node| title(observed, graph, node));
        m.raw("<tr><td class=\"t\">").text(&names.collect::<Vec<_>>().join(", "));
        m.raw("</td><td class=\"n\">").text(&words::time(knot.seconds)).raw("</td><td class=\"n\">");
        m.text(&words::percent(knot.seconds / graph.seconds)).raw("</td></tr>\n");
    }
    m.raw("</tbody></table></div>\n");
}

/// A place on the drawing.
type Position = (f64, f64);

/// Draws the graph of a run of so many seconds.
fn draw(observed: &Observed<'_, '_>, graph: &WaitGraph, length: f64, m: &mut Markup) {
    let title = |node: &WaitNode| title(observed, graph, node);
    let count = graph.nodes.len() as f64;
    let flat = graph.nodes.len() == 2;
    let (begin, (width, tall)) = if flat { (PI, FLAT) } else { (-PI / 2.0, (WIDTH, HEIGHT)) };
    let angle = |i: usize| i as f64 / count * TAU + begin;
    let places: Vec<Position> = (0..graph.nodes.len())
        .map(|i| (width / 2.0 + RADIUS * angle(i).cos(), tall / 2.0 + RADIUS * angle(i).sin()))
        .collect();
    m.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Wait graph\">");
    let names: Vec<String> = graph.nodes.iter().map(|node| text::shorten(&name(observed, graph, node), NAME)).collect();
    let looped = |i: usize| graph.edges.iter().take(MOST_EDGES).any(|e| e.waiter == i && e.waker == i);
    let (left, right, top, bottom) = (0..graph.nodes.len()).fold(
        (f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY, f64::NEG_INFINITY),
        |(left, right, top, bottom), i| {
            let (x, y) = places.get(i).copied().unwrap_or((width / 2.0, tall / 2.0));
            let side = if flat { 0.0 } else { angle(i).cos() };
            let name = names.get(i).map_or(0.0, |name| text::width(name) as f64 * LETTER);
            let around = if looped(i) { LOOP } else { NODE + 3.0 };
            let (before, behind) = match side {
                side if side > ASIDE => (around, NODE + 7.0 + name),
                side if side < -0.2 => (NODE + 7.0 + name, around),
                _ => ((name / 2.0).max(around), (name / 2.0).max(around)),
            };
            let above = around.max(NODE + 26.0);
            (left.min(x - before), right.max(x + behind), top.min(y - above), bottom.max(y + above))
        },
    );
    let (width, tall) = ((right - left).ceil(), (bottom - top).ceil());
    let class = match () {
        () if flat => "chart waits flat",
        () if width > SMALL => "chart waits wide",
        () => "chart waits",
    };
    m.raw(&format!("<svg class=\"{class}\" viewBox=\"{} {} {width} {tall}\" role=\"img\" aria-label=\"Who waits for whom; the table below has the numbers\">\n", left.floor(), top.floor()));
    // When all waits are short, none is drawn as if it were long.
    let heaviest = graph.edges.first().map_or(1.0, |e| e.seconds).max(LONG * length);
    // Heaviest last, so that they lie on top.
    for edge in graph.edges.iter().take(MOST_EDGES).rev() {
        let (Some(from), Some(to)) = (places.get(edge.waiter), places.get(edge.waker)) else { continue };
        let (Some(waiter), Some(waker)) = (graph.nodes.get(edge.waiter), graph.nodes.get(edge.waker)) else { continue };
        let wide = round(1.0 + 5.0 * (edge.seconds / heaviest).sqrt());
        let class = if edge.knot.is_some() { "wait-edge knotted" } else { "wait-edge" };
        let shape = if edge.waiter == edge.waker { turn(*from, angle(edge.waiter)) } else { arc(*from, *to, wide) };
        m.raw(&format!("<g class=\"{class}\"><title>"));
        m.text(&format!("{} waited for {}: {}", title(waiter), title(waker), words::time(edge.seconds)))
            .raw("</title>");
        m.raw(&format!(
            "<path class=\"shaft\" stroke-width=\"{wide}\" d=\"{}\"/><path class=\"tip\" d=\"{}\"/></g>\n",
            shape.0, shape.1
        ));
    }
    for (i, (node, (x, y))) in graph.nodes.iter().zip(&places).enumerate() {
        let knotted = graph.knots.iter().any(|k| k.nodes.contains(&i));
        let (x, y) = (round(*x), round(*y));
        m.raw(&format!(
            "<circle class=\"{}\" cx=\"{x}\" cy=\"{y}\" r=\"{NODE}\"><title>",
            if knotted { "wait-node knotted" } else { "wait-node" }
        ));
        m.text(&title(node)).raw("</title></circle>");
        if node.threads.len() > 1 {
            m.raw(&format!(
                "<text class=\"wait-count\" x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                y + 4.0,
                node.threads.len()
            ));
        }
        // Names stand outside the circle, where there is room.
        let (cos, sin) = if flat { (0.0, 1.0) } else { (angle(i).cos(), angle(i).sin()) };
        let anchor = if cos > ASIDE {
            "start"
        } else if cos < -ASIDE {
            "end"
        } else {
            "middle"
        };
        let away = if anchor == "middle" { NODE + 14.0 } else { NODE + 7.0 };
        m.raw(&format!(
            "<text class=\"wait-name\" x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">",
            round(x + cos * away),
            round(y + sin * away + 4.0)
        ));
        m.text(names.get(i).map_or("", String::as_str)).raw("</text>\n");
    }
    m.raw("</svg></div>\n");
}

/// A bent arrow (shaft and tip): bent so that two threads that wait for each other get two separate arrows.
fn arc(from: Position, to: Position, wide: f64) -> (String, String) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy).max(1.0);
    let bend = 0.16 * length;
    let middle = (f64::midpoint(from.0, to.0) - dy / length * bend, f64::midpoint(from.1, to.1) + dx / length * bend);
    let near = |a: Position, b: Position, by: f64| {
        let length = (b.0 - a.0).hypot(b.1 - a.1).max(1.0);
        (a.0 + (b.0 - a.0) / length * by, a.1 + (b.1 - a.1) / length * by)
    };
    let size = 6.0 + wide;
    let (begin, point, neck) = (near(from, middle, NODE), near(to, middle, NODE + 1.0), near(to, middle, NODE + size));
    (format!("M{} Q{} {}", at(begin), at(middle), at(neck)), tip(neck, point, 0.55 * size))
}

/// A loop outside the circle.
fn turn((x, y): Position, angle: f64) -> (String, String) {
    let out = |by: f64, turn: f64| (x + by * (angle + turn).cos(), y + by * (angle + turn).sin());
    let (begin, one, two, neck, point) =
        (out(NODE, 1.9), out(56.0, 1.35), out(56.0, 0.95), out(NODE + 8.0, 0.75), out(NODE, 0.75));
    (format!("M{} C{} {} {}", at(begin), at(one), at(two), at(neck)), tip(neck, point, 4.5))
}

fn tip(neck: Position, point: Position, half: f64) -> String {
    let (dx, dy) = (point.0 - neck.0, point.1 - neck.1);
    let length = dx.hypot(dy).max(0.1);
    let side = |sign: f64| (neck.0 - sign * dy / length * half, neck.1 + sign * dx / length * half);
    format!("M{} L{} L{} Z", at(point), at(side(1.0)), at(side(-1.0)))
}

fn at((x, y): Position) -> String {
    format!("{},{}", round(x), round(y))
}

/// Tenths of a pixel are enough.
fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
