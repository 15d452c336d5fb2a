//! What the scripts read: lanes in levels, samples, task marks, the flame graph. May import: `pack`, `show`, `lanes`.

use super::markup::readable;
use super::pack::{Packed, compress, number};
use super::{focus, grew};
use crate::lanes::levels::bucketed;
use crate::lanes::tasks::{Task, tasks as all_tasks};
use crate::lanes::{Class, Timeline};
use crate::show::{Observed, Scene};
use crate::words;
use analyze::answer::Answer;
use recording::ThreadId;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io;

/// Lanes of one run in the page: more than a screen can show at once, and few enough to scroll.
const MOST_LANES: usize = 512;
/// Bytes of compressed lanes in the page. As text they are a third more; with everything else below 15 MB.
const LANES_BYTES: usize = 9 << 20;
/// Of them, what one finest level may take when the page shall stay near 3 MB: most recordings are below.
const SOFT_BYTES: usize = 1_600_000;
/// Samples of one run in the page; beyond, every second (third, ...) one is left out.
const MOST_SAMPLES: usize = 100_000;
/// Task marks of one run in the page.
const MOST_TASKS: usize = 20_000;
/// Buckets of the coarsest level: what the widest screens have in columns.
const COARSEST: u64 = 4096;
/// Each level is so many times finer than the one before.
const FINER: u64 = 8;

/// Names given out so far.
#[derive(Debug, Default)]
pub(super) struct Names {
    names: Vec<String>,
    known: HashMap<String, usize>,
}

impl Names {
    pub(super) fn of(&mut self, name: &str) -> usize {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let index = self.names.len();
        self.names.push(readable(name));
        self.known.insert(name.to_owned(), index);
        index
    }
}

/// Packs all traced runs.
///
/// # Errors
/// When compressing fails, which only memory can cause.
pub(super) fn pack(scene: &Scene<'_>, answer: &Answer) -> io::Result<Packed> {
    let mut packed = Packed::default();
    let mut names = Names::default();
    let runs: Vec<(Observed<'_, '_>, Timeline)> =
        scene.observed().map(|o| (o, Timeline::new(&o, MOST_LANES))).collect();
    let levels = levels(&runs, &mut packed)?;
    let mut described = Vec::new();
    for (i, ((observed, timeline), levels)) in runs.iter().zip(levels).enumerate() {
        described.push(describe(i, observed, timeline, &levels, &mut names, &mut packed)?);
    }
    let flame = grew::flame(scene, &mut names);
    packed.index = json!({
        "runs": described,
        "classes": Class::ALL.map(|c| json!([c as u8, c.key(), c.name()])),
        "flame": flame,
        "names": names.names,
        "focus": focus(answer),
    });
    Ok(packed)
}

/// From coarse to fine over all runs in turn, so that a large run does not take the room of the others.
fn levels(runs: &[(Observed<'_, '_>, Timeline)], packed: &mut Packed) -> io::Result<Vec<Vec<Value>>> {
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
            // Where buckets are no coarser than the spans, the spans themselves are the better picture.
            let exact = buckets >= 2 * spans as u64 || timeline.length() / count < 1000;
            let bytes = compress(&if exact { spans_of(timeline) } else { level_of(timeline, count) })?;
            let first = made.get(i).is_some_and(Vec::is_empty);
            let fits = used + bytes.len() <= LANES_BYTES && (bytes.len() <= SOFT_BYTES || first);
            if let (true, Some(levels), Some(open)) = (fits, made.get_mut(i), open.get_mut(i)) {
                used += bytes.len();
                let id = format!("lanes-{i}-{}", levels.len());
                levels.push(json!({ "id": id, "count": if exact { 0 } else { count } }));
                packed.keep(id, bytes);
                *open = !exact;
            } else if let Some(open) = open.get_mut(i) {
                *open = false;
                let finest = timeline.length() as f64 / 1e9 / (count / FINER) as f64;
                packed.thinned.push(format!(
                    "With {} the picture shows nothing shorter than {}, to keep the page small; knee show timeline has it all.",
                    words::plural(observed.traced.run.threads.into(), "thread"),
                    words::time(finest)
                ));
            }
        }
        count *= FINER;
    }
    Ok(made)
}

/// Each lane: how many stretches, then their length in buckets and kind + 1 (0 for none).
fn level_of(timeline: &Timeline, count: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for lane in &timeline.lanes {
        let stretches = bucketed(timeline, lane, count);
        number(stretches.len() as u64, &mut bytes);
        for (length, kind) in stretches {
            number(length, &mut bytes);
            number(kind.map_or(0, |k| u64::from(k) + 1), &mut bytes);
        }
    }
    bytes
}

/// Each lane: how many spans, then their distance from the one before, length in nanoseconds, and kind × 2, odd where
/// the span is summed up.
fn spans_of(timeline: &Timeline) -> Vec<u8> {
    let mut bytes = Vec::new();
    for lane in &timeline.lanes {
        number(lane.spans.len() as u64, &mut bytes);
        let mut at = timeline.begin;
        for span in &lane.spans {
            number(span.start.saturating_sub(at), &mut bytes);
            number(span.end - span.start, &mut bytes);
            number(u64::from(span.kind) * 2 + u64::from(span.mix > 0), &mut bytes);
            at = span.end;
        }
    }
    bytes
}

fn describe(
    index: usize,
    observed: &Observed<'_, '_>,
    timeline: &Timeline,
    levels: &[Value],
    names: &mut Names,
    packed: &mut Packed,
) -> io::Result<Value> {
    let place: HashMap<ThreadId, usize> = timeline.lanes.iter().enumerate().map(|(i, l)| (l.thread, i)).collect();
    let kinds = timeline.kinds.iter().map(|k| {
        let waker = k.waker.and_then(|(t, share)| Some((*place.get(&t)?, share)));
        json!([k.class as u8, readable(&k.label), waker.map(|w| w.0), waker.map(|w| (w.1 * 100.0).round())])
    });
    let kinds: Vec<Value> = kinds.collect();
    let id = format!("samples-{index}");
    let (bytes, each) = samples(observed, timeline, &place, names);
    packed.keep(id.clone(), compress(&bytes)?);
    Ok(json!({
        "threads": observed.traced.run.threads,
        "length": timeline.length(),
        "processors": observed.traced.processors(),
        "lanes": timeline.lanes.iter().map(|l| readable(&observed.thread(l.thread))).collect::<Vec<_>>(),
        "left_out": timeline.left_out,
        "kinds": kinds,
        "levels": levels,
        "samples": id,
        "sample_ns": observed.traced.trace.sample_period_ns.saturating_mul(each as u64),
        "tasks": tasks(observed, timeline, &place, names),
    }))
}

/// Each lane: how many samples, then their distance from the one before and the function's name.
fn samples(
    observed: &Observed<'_, '_>,
    timeline: &Timeline,
    place: &HashMap<ThreadId, usize>,
    names: &mut Names,
) -> (Vec<u8>, usize) {
    let rows = &observed.traced.samples;
    let each = rows.len().div_ceil(MOST_SAMPLES).max(1);
    let mut by_lane: Vec<Vec<(u64, usize)>> = vec![Vec::new(); timeline.lanes.len()];
    let mut known = HashMap::new();
    for sample in rows.iter().step_by(each) {
        let Some(lane) = place.get(&sample.thread).and_then(|i| by_lane.get_mut(*i)) else { continue };
        let key = (sample.mode, sample.syscall, sample.user_stack);
        let name = *known.entry(key).or_insert_with(|| names.of(&grew::leaf(observed, sample)));
        lane.push((sample.time_ns.clamp(timeline.begin, timeline.end), name));
    }
    let mut bytes = Vec::new();
    for mut lane in by_lane {
        lane.sort_unstable();
        number(lane.len() as u64, &mut bytes);
        let mut at = timeline.begin;
        for (time, name) in lane {
            number(time - at, &mut bytes);
            number(name as u64, &mut bytes);
            at = time;
        }
    }
    (bytes, each)
}

/// Tasks that the program named: lane, begin and end since the run's begin, name. One that never ended lasts to the end.
fn tasks(
    observed: &Observed<'_, '_>,
    timeline: &Timeline,
    place: &HashMap<ThreadId, usize>,
    names: &mut Names,
) -> Vec<Value> {
    let since = |time: u64| time.saturating_sub(timeline.begin);
    let shown = all_tasks(observed).into_iter().filter_map(|t| Some((place.get(&t.thread)?, t)));
    let row = |(lane, t): (&usize, Task<'_>)| json!([lane, since(t.start), since(t.end), names.of(t.name), t.depth]);
    shown.take(MOST_TASKS).map(row).collect()
}
