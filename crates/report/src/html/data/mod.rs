//! What the scripts read: lanes in levels, samples, task marks, the flame graphs. Rooms: [`flame`] their call trees;
//! [`names`] names by number; [`pack`] numbers as compressed text.
//!
//! May import: `detail`, `lanes`, `markup`, `observed`, `page`, `show`, `words`, `analyze`, `recording`.

mod flame;
pub(crate) mod names;
pub(crate) mod pack;

use super::detail::{Detail, Drawn};
use super::markup::readable;
use super::page::{Medium, focus};
use crate::lanes::levels::bucketed;
use crate::lanes::sampled::sampled;
use crate::lanes::tasks::{Task, tasks as all_tasks};
use crate::lanes::{Class, Lane, Timeline};
use crate::observed::Observed;
use crate::show::functions::seconds_per_sample;
use crate::words;
use analyze::Analysis;
use names::NameTable;
use pack::{Packed, compress, number, write_spans, write_stretches};
use recording::ThreadId;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io;

/// Most lanes of one run in the page: more than a screen can show at once, and few enough to scroll.
const MOST_LANES: usize = 512;
/// Bytes of compressed lanes in the page. Base64 adds a third; the whole page stays below 15 MB.
const LANES_BYTES: usize = 9 << 20;
/// No level but a run's first may take more bytes than this, so that most pages stay near 3 MB.
const SOFT_BYTES: usize = 1_600_000;
/// Samples of one run in the page; when there are more, only every second (third, ...) one is kept.
const MOST_SAMPLES: usize = 100_000;
/// Task marks of one run in the page.
const MOST_TASKS: usize = 20_000;
/// Lanes of a served page. They cost little there, because only what is visible is requested; but a browser scrolls no
/// further than some millions of pixels.
const MOST_SERVED_LANES: usize = 65_536;
/// Buckets of the coarsest level: more than a 4K screen has columns (3840).
const COARSEST: u64 = 4096;
/// Each level is this many times finer than the one before.
const FINER: u64 = 8;

/// Packs all traced runs. A served page carries the coarsest level only, and asks for the rest.
///
/// # Errors
/// When compressing fails, which only memory can cause.
pub(super) fn pack(analysis: &Analysis<'_, '_>, medium: Medium) -> io::Result<(Packed, Detail)> {
    let mut packed = Packed::default();
    let mut names = NameTable::default();
    let most = if medium == Medium::Served { MOST_SERVED_LANES } else { MOST_LANES };
    let runs: Vec<(Observed<'_, '_>, Timeline)> =
        Observed::all(analysis).map(|o| (o, sampled(&o, Timeline::new(&o, most)))).collect();
    let levels = levels(&runs, medium, &mut packed)?;
    let mut described = Vec::new();
    let mut drawn = Vec::new();
    for (i, ((observed, timeline), levels)) in runs.into_iter().zip(levels).enumerate() {
        let places = timeline.lanes.iter().enumerate().map(|(i, l)| (l.thread, i)).collect();
        let samples = samples(&observed, &timeline, &places, &mut names);
        let run = Drawn { timeline, samples };
        described.push(describe(i, &observed, &run, &levels, &places, &mut names, &mut packed)?);
        drawn.push(run);
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

/// From coarse to fine, over all runs in turn, so that a large run does not take up the space of the others.
fn levels(runs: &[(Observed<'_, '_>, Timeline)], medium: Medium, packed: &mut Packed) -> io::Result<Vec<Vec<Value>>> {
    let mut made: Vec<Vec<Value>> = vec![Vec::new(); runs.len()];
    let mut open: Vec<bool> = vec![true; runs.len()];
    let mut used = 0;
    let mut count = COARSEST;
    while open.iter().any(|o| *o) {
        for (i, (observed, timeline)) in
            runs.iter().enumerate().filter(|(i, _)| open.get(*i) == Some(&true)).collect::<Vec<_>>()
        {
            let spans: usize = timeline.lanes.iter().map(|l| l.spans.len()).sum();
            let buckets = count.saturating_mul(timeline.lanes.len() as u64);
            // When buckets are no coarser than the spans, the spans themselves are the better picture.
            let exact = buckets >= 2 * spans as u64 || timeline.length() / count < 1000;
            let bytes = compress(&if exact { spans_of(timeline) } else { level_of(timeline, count) })?;
            let first = made.get(i).is_some_and(Vec::is_empty);
            let fits = used + bytes.len() <= LANES_BYTES && (bytes.len() <= SOFT_BYTES || first);
            if let (true, Some(levels), Some(open)) = (fits, made.get_mut(i), open.get_mut(i)) {
                used += bytes.len();
                let id = format!("lanes-{i}-{}", levels.len());
                levels.push(json!({ "id": id, "count": if exact { 0 } else { count } }));
                packed.keep(id, bytes);
                *open = !exact && medium == Medium::File;
            } else if let Some(open) = open.get_mut(i) {
                *open = false;
                let finest = timeline.length() as f64 / 1e9 / (count / FINER) as f64;
                packed.thinned.push(format!(
                    "With {} the picture shows nothing shorter than {}, to keep the page small; knee view shows it all.",
                    observed.traced.count(),
                    words::time(finest)
                ));
            }
        }
        count *= FINER;
    }
    Ok(made)
}

/// Every lane, divided into `count` buckets: made on all processors, because a run may have millions of spans.
fn level_of(timeline: &Timeline, count: u64) -> Vec<u8> {
    let makers = std::thread::available_parallelism().map_or(1, |n| n.get());
    let made = |lanes: &[Lane]| {
        let mut bytes = Vec::new();
        lanes.iter().for_each(|lane| write_stretches(&bucketed(timeline, lane, count), &mut bytes));
        bytes
    };
    let mut parts = timeline.lanes.chunks(timeline.lanes.len().div_ceil(makers).max(1));
    let Some(first) = parts.next() else { return Vec::new() };
    std::thread::scope(|scope| {
        let others: Vec<_> = parts.map(|lanes| scope.spawn(move || made(lanes))).collect();
        let mut bytes = made(first);
        for other in others {
            // A panic there is a bug, and is one here, too.
            bytes.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        bytes
    })
}

/// Every lane as it was recorded.
fn spans_of(timeline: &Timeline) -> Vec<u8> {
    let mut bytes = Vec::new();
    for lane in &timeline.lanes {
        write_spans(&lane.spans, timeline.begin, &mut bytes);
    }
    bytes
}

/// Which lane a thread has.
type LaneIndex = HashMap<ThreadId, usize>;

fn describe(
    index: usize,
    observed: &Observed<'_, '_>,
    run: &Drawn,
    levels: &[Value],
    places: &LaneIndex,
    names: &mut NameTable,
    packed: &mut Packed,
) -> io::Result<Value> {
    let timeline = &run.timeline;
    let kinds = timeline.kinds.iter().map(|k| {
        let waker = k.waker.and_then(|(t, share)| Some((*places.get(&t)?, share)));
        json!([k.class as u8, readable(&k.label), waker.map(|w| w.0), waker.map(|w| (w.1 * 100.0).round())])
    });
    let kinds: Vec<Value> = kinds.collect();
    let id = format!("samples-{index}");
    let each = run.samples.iter().map(Vec::len).sum::<usize>().div_ceil(MOST_SAMPLES).max(1);
    packed.keep(id.clone(), compress(&samples_of(run, each))?);
    // Nobody told the count of a profile of another tool: 0.
    let imported = observed.model.tables.meta.imported.is_some();
    let threads = if imported { observed.traced.run.threads } else { observed.traced.told_count() };
    Ok(json!({
        "threads": threads,
        "length": timeline.length(),
        "processors": observed.traced.processors(),
        "lanes": timeline.lanes.iter().map(|l| readable(&observed.thread(l.thread))).collect::<Vec<_>>(),
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
    let mut by_lane: Vec<Vec<(u64, usize)>> = vec![Vec::new(); timeline.lanes.len()];
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

/// Tasks that the program named: lane, begin and end since the run's begin, name. A task that did not end lasts until
/// the run's end.
fn tasks(observed: &Observed<'_, '_>, timeline: &Timeline, places: &LaneIndex, names: &mut NameTable) -> Vec<Value> {
    let since = |time: u64| time.saturating_sub(timeline.begin);
    let shown = all_tasks(observed).into_iter().filter_map(|t| Some((places.get(&t.thread)?, t)));
    let row = |(lane, t): (&usize, Task<'_>)| json!([lane, since(t.start), since(t.end), names.index(t.name), t.depth]);
    shown.take(MOST_TASKS).map(row).collect()
}
