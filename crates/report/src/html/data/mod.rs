//! What the scripts read: lanes in levels, samples, task marks, the flame graphs. Rooms: [`flame`] their call trees;
//! [`levels`] lanes from coarse to fine; [`names`] names by number; [`pack`] numbers as compressed text.
//!
//! May import: `detail`, `lanes`, `markup`, `observed`, `page`, `show`, `words`, `analyze`, `recording`.

mod flame;
mod levels;
pub(crate) mod names;
pub(crate) mod pack;

use super::detail::{Detail, Drawn};
use super::markup::readable;
use super::page::{Medium, focus};
use crate::lanes::tasks::{Task, tasks as all_tasks};
use crate::lanes::{Class, Drawing, Timeline};
use crate::observed::Observed;
use crate::show::functions::seconds_per_sample;
use analyze::Analysis;
use names::NameTable;
use pack::{Packed, compress, number};
use recording::ThreadId;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io;

/// Most lanes of one run in the page: more than a screen can show at once, and few enough to scroll.
const MOST_LANES: usize = 512;
/// Samples of one run in the page; when there are more, only every second (third, ...) one is kept.
const MOST_SAMPLES: usize = 100_000;
/// Task marks of one run in the page.
const MOST_TASKS: usize = 20_000;
/// Lanes of a served page. They cost little there, because only what is visible is requested; but a browser scrolls no
/// further than some millions of pixels.
const MOST_SERVED_LANES: usize = 65_536;
/// Packs all traced runs. A served page carries the coarsest level only, and asks for the rest.
///
/// # Errors
/// When compressing fails, which only memory can cause.
pub(super) fn pack(analysis: &Analysis<'_, '_>, medium: Medium) -> io::Result<(Packed, Detail)> {
    let mut packed = Packed::default();
    let mut names = NameTable::default();
    let most = if medium == Medium::Served { MOST_SERVED_LANES } else { MOST_LANES };
    let all: Vec<Observed<'_, '_>> = Observed::all(analysis).collect();
    let mut drawings: Vec<Drawing> = all.iter().map(|observed| Drawing::new(observed, most)).collect();
    if medium == Medium::Served {
        drawings.iter_mut().for_each(Drawing::keep);
    }
    let levels = levels::levels(&all, &drawings, medium, &mut packed)?;
    let mut described = Vec::new();
    let mut drawn = Vec::new();
    for (i, ((observed, drawing), made)) in all.iter().zip(drawings).zip(levels).enumerate() {
        let places = drawing.threads().iter().enumerate().map(|(i, thread)| (*thread, i)).collect();
        let threads = drawing.threads().to_vec();
        let timeline = drawing.into_timeline(made.unsampled);
        let samples = samples(observed, &timeline, &places, &mut names);
        let run = Drawn { timeline, samples };
        described.push(describe(i, observed, &threads, &run, &made.levels, &places, &mut names, &mut packed)?);
        if medium == Medium::Served {
            drawn.push(run);
        }
    }
    let flame = flame::on_cpu(analysis, &mut names);
    let waited = flame::waited(analysis, &mut names);
    packed.index = json!({
        "runs": described,
        "classes": Class::ALL.map(|c| json!([c as u8, c.key(), c.name(), c.runs()])),
        "flame": flame,
        "waited": waited,
        "names": names.names,
        "focus": focus(&analysis.answer),
        "counted": analysis.answer.counted.word(),
    });
    Ok((packed, Detail::new(drawn)))
}

/// Which lane a thread has.
type LaneIndex = HashMap<ThreadId, usize>;

#[allow(clippy::too_many_arguments, reason = "each is a part of the description")]
fn describe(
    index: usize,
    observed: &Observed<'_, '_>,
    threads: &[ThreadId],
    run: &Drawn,
    levels: &[Value],
    places: &LaneIndex,
    names: &mut NameTable,
    packed: &mut Packed,
) -> io::Result<Value> {
    let timeline = &run.timeline;
    let kinds = timeline.kinds.iter().map(|k| {
        let waker = k.waker.and_then(|waker| Some((*places.get(&waker.thread)?, waker.share)));
        json!([k.class as u8, readable(&k.label), waker.map(|w| w.0), waker.map(|w| (w.1 * 100.0).round())])
    });
    let kinds: Vec<Value> = kinds.collect();
    let id = format!("samples-{index}");
    let each = run.samples.iter().map(Vec::len).sum::<usize>().div_ceil(MOST_SAMPLES).max(1);
    packed.keep(id.clone(), compress(&samples_of(run, each))?);
    // Nobody told the count of a profile of another tool: 0.
    let imported = observed.model.tables.meta.imported.is_some();
    let count = if imported { observed.traced.run.threads } else { observed.traced.shown_count() };
    Ok(json!({
        "threads": count,
        "length": timeline.length(),
        "processors": observed.traced.processors(),
        "lanes": threads.iter().map(|thread| readable(&observed.thread(*thread))).collect::<Vec<_>>(),
        "left_out": timeline.left_out,
        "kinds": kinds,
        "levels": levels,
        "samples": id,
        "each": seconds_per_sample(observed),
        "sample_ns": observed.traced.trace.sample_period_ns.saturating_mul(each as u64),
        "tasks": tasks(observed, timeline, places, names),
    }))
}

/// The samples of each lane, ascending by time: the time, and the index of the innermost function's name.
fn samples(
    observed: &Observed<'_, '_>,
    timeline: &Timeline,
    places: &LaneIndex,
    names: &mut NameTable,
) -> Vec<Vec<(u64, usize)>> {
    let mut by_lane: Vec<Vec<(u64, usize)>> = vec![Vec::new(); places.len()];
    let mut known = HashMap::new();
    for sample in observed.samples() {
        let Some(lane) = places.get(&sample.thread).and_then(|i| by_lane.get_mut(*i)) else { continue };
        let key = (sample.mode, sample.syscall, sample.user_stack);
        let name = *known.entry(key).or_insert_with(|| names.index(&flame::leaf(observed, sample)));
        lane.push((sample.time_ns.clamp(timeline.begin, timeline.end.max(timeline.begin)), name));
    }
    by_lane.iter_mut().for_each(|lane| lane.sort_unstable());
    by_lane
}

/// For each lane the number of samples, then for each its distance from the one before and its function's name. Of
/// `each` samples one is kept.
fn samples_of(run: &Drawn, each: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Counted across all lanes, so that lanes with few samples are thinned like the others.
    let mut seen = 0_usize;
    for lane in &run.samples {
        let kept: Vec<&(u64, usize)> = lane
            .iter()
            .filter(|_| {
                seen += 1;
                (seen - 1).is_multiple_of(each)
            })
            .collect();
        number(kept.len() as u64, &mut bytes);
        let mut at = run.timeline.begin;
        for (time, name) in kept {
            number(time - at, &mut bytes);
            number(*name as u64, &mut bytes);
            at = *time;
        }
    }
    bytes
}

/// Tasks that the program named: lane, start and end since the run's start, name. A task that did not end lasts until
/// the run's end.
fn tasks(observed: &Observed<'_, '_>, timeline: &Timeline, places: &LaneIndex, names: &mut NameTable) -> Vec<Value> {
    let since = |time: u64| time.saturating_sub(timeline.begin);
    let shown = all_tasks(observed).into_iter().filter_map(|t| Some((places.get(&t.thread)?, t)));
    let row = |(lane, t): (&usize, Task<'_>)| json!([lane, since(t.start), since(t.end), names.index(t.name), t.depth]);
    shown.take(MOST_TASKS).map(row).collect()
}
