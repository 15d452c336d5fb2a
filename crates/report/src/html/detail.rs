//! What a served page requests: any stretch of a run, in as much detail as a screen can show, from the whole recording.

use super::data::pack::{number, write_spans, write_stretches};
use super::markup::readable;
use crate::lanes::levels::{bucketed_between, parts};
use crate::lanes::{Class, Timeline};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// Most columns of an answer: twice 8192; an 8K screen has 7680.
const MOST_COLUMNS: u64 = 16_384;
/// Rows of each table of a stretch.
const FEW: usize = 8;

/// One run as its lanes are drawn.
#[derive(Debug)]
pub(super) struct Drawn {
    pub(super) timeline: Timeline,
    /// For each lane, ascending: the time on the recording's clock, and the index of a name.
    pub(super) samples: Vec<Vec<(u64, usize)>>,
}

/// All observed runs of a recording, in the order of the page. It does not refer to the recording any more.
#[derive(Debug)]
pub struct Detail {
    runs: Vec<Drawn>,
}

/// A stretch of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRange {
    /// The run's index in the page.
    pub run: usize,
    /// Begin, nanoseconds since the run's.
    pub from: u64,
    /// End.
    pub to: u64,
}

impl Detail {
    pub(super) fn new(runs: Vec<Drawn>) -> Detail {
        Detail { runs }
    }

    /// The run and the stretch on the recording's clock, cut to the run; none when nothing is left of it.
    fn at(&self, stretch: TimeRange) -> Option<(&Drawn, u64, u64)> {
        let run = self.runs.get(stretch.run)?;
        let length = run.timeline.length();
        let (from, to) = (stretch.from.min(length), stretch.to.min(length));
        (from < to).then(|| (run, run.timeline.begin + from, run.timeline.begin + to))
    }

    /// The lanes of a stretch in this many columns, as numbers of seven bits per byte: 1 for spans as they were
    /// recorded or 0 for buckets, start and end since the run's start, the number of buckets, then each lane as in the
    /// page. None when there is no such stretch.
    pub fn lanes(&self, stretch: TimeRange, columns: u64) -> Option<Vec<u8>> {
        let (run, from, to) = self.at(stretch)?;
        let timeline = &run.timeline;
        let columns = columns.clamp(1, MOST_COLUMNS);
        let spans: usize = timeline.lanes.iter().map(|l| l.between(from, to).len()).sum();
        // When buckets are no coarser than the spans, the spans are the better picture and take no more bytes.
        let exact = columns.saturating_mul(timeline.lanes.len() as u64) >= 2 * spans as u64 || to - from <= columns;
        let mut bytes = Vec::new();
        for head in [u64::from(exact), from - timeline.begin, to - timeline.begin, columns] {
            number(head, &mut bytes);
        }
        for lane in &timeline.lanes {
            if exact {
                write_spans(lane.between(from, to), timeline.begin, &mut bytes);
            } else {
                write_stretches(&bucketed_between(timeline, lane, (from, to), columns), &mut bytes);
            }
        }
        Some(bytes)
    }

    /// What happened in a stretch: nanoseconds by class, the longest waits, the most sampled functions, the busiest
    /// threads. None when there is no such stretch.
    pub fn sums(&self, stretch: TimeRange) -> Option<Value> {
        let (run, from, to) = self.at(stretch)?;
        let timeline = &run.timeline;
        let mut kinds: BTreeMap<u32, f64> = BTreeMap::new();
        let mut threads: Vec<(usize, f64, f64)> = Vec::new();
        for (i, lane) in timeline.lanes.iter().enumerate() {
            let (mut running, mut waiting) = (0.0, 0.0);
            for span in lane.between(from, to) {
                let inside = span.end.min(to).saturating_sub(span.start.max(from));
                for (kind, ns) in parts(lane, span, inside) {
                    *kinds.entry(kind).or_default() += ns;
                    *(if timeline.class(kind).runs() { &mut running } else { &mut waiting }) += ns;
                }
            }
            if running + waiting > 0.0 {
                threads.push((i, running, waiting));
            }
        }
        let mut classes: BTreeMap<Class, f64> = BTreeMap::new();
        for (kind, ns) in &kinds {
            *classes.entry(timeline.class(*kind)).or_default() += ns;
        }
        let mut classes: Vec<(Class, f64)> = classes.into_iter().collect();
        classes.sort_by(|a, b| b.1.total_cmp(&a.1));
        let is_wait = |kind: u32| {
            !timeline.class(kind).runs() && timeline.kinds.get(kind as usize).is_some_and(|k| !k.label.is_empty())
        };
        // Kinds are also told apart by who wakes, which no row says: one row for what is called the same.
        let mut by_words: HashMap<&str, (u32, f64)> = HashMap::new();
        for (kind, ns) in kinds.into_iter().filter(|(kind, _)| is_wait(*kind)) {
            let words = timeline.kinds.get(kind as usize).map_or("", |k| k.label.as_str());
            by_words.entry(words).or_insert((kind, 0.0)).1 += ns;
        }
        let mut waits: Vec<(u32, f64)> = by_words.into_values().collect();
        waits.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        waits.truncate(FEW);
        let mut names: HashMap<usize, u64> = HashMap::new();
        for lane in &run.samples {
            let first = lane.partition_point(|s| s.0 < from);
            for (_, name) in lane.get(first..).unwrap_or_default().iter().take_while(|s| s.0 < to) {
                *names.entry(*name).or_default() += 1;
            }
        }
        let sampled: u64 = names.values().sum();
        let mut names: Vec<(usize, u64)> = names.into_iter().collect();
        names.sort_by_key(|(name, n)| (std::cmp::Reverse(*n), *name));
        names.truncate(FEW);
        threads.sort_by(|a, b| b.1.total_cmp(&a.1));
        threads.truncate(FEW);
        let classes: Vec<(u8, f64)> = classes.into_iter().map(|(class, ns)| (class as u8, ns)).collect();
        Some(json!({ "classes": classes, "waits": waits, "functions": names, "samples": sampled, "threads": threads }))
    }

    /// The next span after (or before) a moment whose words contain the text: its lane and its middle; null when there
    /// is none. None when there is no such run.
    pub fn find(&self, run: usize, text: &str, at: u64, forward: bool) -> Option<Value> {
        let timeline = &self.runs.get(run)?.timeline;
        let wanted = text.trim().to_lowercase();
        let words = |kind: &crate::lanes::Kind| format!("{} {}", kind.class.name(), readable(&kind.label));
        let kinds: Vec<bool> = timeline.kinds.iter().map(|k| words(k).to_lowercase().contains(&wanted)).collect();
        let mut best: Option<(u64, usize, u64)> = None;
        for (lane, spans) in timeline.lanes.iter().map(|l| &l.spans).enumerate() {
            let middle = |i: usize| spans.get(i).map(|s| s.start.midpoint(s.end).saturating_sub(timeline.begin));
            let matches = |i: &usize| {
                spans.get(*i).is_some_and(|s| kinds.get(s.kind as usize) == Some(&true)) && middle(*i) != Some(at)
            };
            let behind = spans.partition_point(|s| s.start.midpoint(s.end).saturating_sub(timeline.begin) <= at);
            let found = if forward { (behind..spans.len()).find(matches) } else { (0..behind).rev().find(matches) };
            if let Some(middle) = found.and_then(middle)
                && best.is_none_or(|b| middle.abs_diff(at) < b.0)
            {
                best = Some((middle.abs_diff(at), lane, middle));
            }
        }
        Some(best.map_or(Value::Null, |(_, lane, middle)| json!({ "lane": lane, "at": middle })))
    }
}
