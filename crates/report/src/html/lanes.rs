//! The lanes: a drawing that needs no script, and the element for the zoomable one.

use super::data::pack::Packed;
use super::markup::{Markup, readable};
use crate::lanes::levels::{Stretch, bucketed};
use crate::lanes::{Class, Drawing, Timeline};
use crate::observed::Observed;
use crate::words;
use analyze::Analysis;
use analyze::model::Traced;
use recording::ThreadId;
use recording::tables::Loss;
use recording::words::LossKind;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Most lanes in the drawing.
const MOST_LANES: usize = 24;
/// Columns of the drawing.
const COLUMNS: u64 = 600;
const LANE: f64 = 16.0;
const NAMES: f64 = 140.0;
/// Columns of a name that fit beside its lane, however wide its letters are.
const NAME: usize = 15;

pub(super) fn section(analysis: &Analysis<'_, '_>, packed: &Packed) -> Option<String> {
    let observed = Observed::at(analysis, None)?;
    let drawing = Drawing::new(&observed, MOST_LANES);
    let (mut lanes, mut has_last) = (Vec::new(), false);
    drawing.each(
        |lane, last| (lane.thread, bucketed(drawing.bare(), &lane, COLUMNS), last),
        |(thread, lane, last)| {
            lanes.push((thread, lane));
            has_last |= last;
            ControlFlow::Continue(())
        },
    );
    let timeline = drawing.into_timeline(has_last);
    let mut m = Markup::default();
    m.p(
        "lead",
        "One lane a thread: what it did when. The highest bars are on a processor, with a line through them where it runs \
         for a lock or spins; those of two thirds are ready and wait for a processor, the low ones wait for something else. \
         When a thread ran is exact; what it ran is that of its nearest sample. Where several things happen within one \
         column, what took most of the time is drawn.",
    );
    if observed.model.tables.meta.imported.is_some() {
        m.p("note", "Running times are estimated from samples; what threads did between them is not recorded.");
    }
    legend(&timeline, &mut m);
    m.raw("<div id=\"lanes-view\" hidden></div>\n<div id=\"lanes-still\">\n");
    let with = observed.traced.count();
    m.p("note", &format!("The observed run with {with}."));
    still(&timeline, &lanes, observed.traced, &|t| observed.thread(t), &mut m);
    if timeline.left_out > 0 {
        m.p(
            "note",
            &format!("{} that lived less long not drawn here.", words::plural(timeline.left_out as u64, "thread")),
        );
    }
    m.raw("</div>\n");
    untold(analysis, &mut m);
    for note in &packed.thinned {
        m.p("note", note);
    }
    Some(m.into_html())
}

/// Says when system calls were not recorded, so that a reader does not take their times for exact.
fn untold(analysis: &Analysis<'_, '_>, m: &mut Markup) {
    let mut missing: BTreeMap<u32, u64> = BTreeMap::new();
    for observed in Observed::all(analysis) {
        let run = &observed.traced.run;
        // Calls that were counted, but whose start and end are not known.
        let dropped = |l: &&Loss| matches!(l.kind(), LossKind::ThinnedCalls | LossKind::DroppedCalls);
        let losses = analysis.model.tables.losses.iter().filter(|l| l.run == run.run).filter(dropped);
        *missing.entry(observed.traced.shown_count()).or_default() += losses.map(|l| l.count).sum::<u64>();
    }
    let told = missing.iter().filter(|(_, count)| **count > 0);
    let told =
        told.map(|(threads, n)| format!("{} with {}", words::count(*n as f64), analysis.answer.counted.many(*threads)));
    let told: Vec<String> = told.collect();
    if !told.is_empty() {
        m.p(
            "note",
            &format!(
                "Some system calls came too fast to record each ({}): where a thread was in one of them, samples tell.",
                told.join(", ")
            ),
        );
    }
}

/// The classes that occur in the run; a script unhides others when another run is chosen.
fn legend(timeline: &Timeline, m: &mut Markup) {
    m.raw("<ul class=\"legend lanes-legend\">");
    for class in Class::ALL {
        let there = timeline.kinds.iter().any(|kind| kind.class == class);
        m.raw(&format!("<li data-class=\"{}\"{}>", class as u8, if there { "" } else { " hidden" }));
        m.raw(&format!("<span class=\"swatch l-{}\"></span>", class.key())).text(class.name()).raw("</li>");
    }
    m.raw("</ul>\n");
}

/// The height of a class as a share of the lane: running and waiting can be told apart without colour.
fn height(class: Class) -> f64 {
    match class {
        class if class.runs() => 1.0,
        Class::Preempted | Class::Runnable => 0.7,
        Class::Lock | Class::Kernel => 0.5,
        _ => 0.28,
    }
}

fn still(
    timeline: &Timeline,
    lanes: &[(ThreadId, Vec<Stretch>)],
    traced: &Traced<'_>,
    name: &dyn Fn(ThreadId) -> String,
    m: &mut Markup,
) {
    let width = NAMES + COLUMNS as f64;
    let tall = 22.0 + lanes.len() as f64 * (LANE + 4.0);
    let with = traced.count();
    m.raw(&format!("<svg class=\"chart still\" viewBox=\"0 0 {width} {tall}\" role=\"img\" aria-label=\"What each thread did over time with {with}\">\n"));
    m.raw(&format!("<text class=\"tick\" x=\"{NAMES}\" y=\"12\">0</text>"));
    m.raw(&format!("<text class=\"tick\" x=\"{width}\" y=\"12\" text-anchor=\"end\">"));
    m.text(&words::time(timeline.length() as f64 / 1e9)).raw("</text>\n");
    for (i, (thread, lane)) in lanes.iter().enumerate() {
        let top = 20.0 + i as f64 * (LANE + 4.0);
        m.raw(&format!("<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">", NAMES - 6.0, top + 12.0));
        m.text(&crate::text::shorten(&readable(&name(*thread)), NAME)).raw("</text>");
        let mut x = 0;
        for &(count, kind) in lane {
            if let Some(class) = kind.map(|k| timeline.class(k)) {
                let tall = (height(class) * LANE * 10.0).round() / 10.0;
                m.raw(&format!(
                    "<rect class=\"l-{}\" x=\"{}\" y=\"{}\" width=\"{count}\" height=\"{tall}\"/>",
                    class.key(),
                    NAMES + x as f64,
                    ((top + LANE - tall) * 10.0).round() / 10.0
                ));
                if class.is_struck() {
                    let (x, y) = (NAMES + x as f64, top + (LANE * 0.3).round());
                    m.raw(&format!("<rect class=\"l-struck\" x=\"{x}\" y=\"{y}\" width=\"{count}\" height=\"2\"/>"));
                }
            }
            x += count;
        }
        m.raw("\n");
    }
    m.raw("</svg>\n");
}
