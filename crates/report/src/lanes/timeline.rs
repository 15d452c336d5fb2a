//! Slices and system calls as one sequence of spans per thread.

use super::class::Class;
use super::kinds::{Kind, KindOf, Kinds, RecentKinds};
use crate::observed::Observed;
use analyze::account::pieces::Blocks;
use analyze::model::Traced;
use analyze::model::timelines::ThreadLine;
use recording::ThreadId;
use recording::tables::{Call, Slice, State};
use std::collections::HashMap;

/// A stretch of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Begin.
    pub start: u64,
    /// End, after the start.
    pub end: u64,
    /// Index into [`Timeline::kinds`]: what took most of it.
    pub kind: u32,
    /// For a summed-up stretch the index into [`Lane::mixes`], otherwise 0.
    pub mix: u32,
}

/// One thread.
#[derive(Debug, Clone)]
pub struct Lane {
    /// The thread.
    pub thread: ThreadId,
    /// Its spans, ascending, without overlap.
    pub spans: Vec<Span>,
    /// What summed-up stretches consist of: kinds and nanoseconds. Entry 0 is empty.
    pub mixes: Vec<Vec<(u32, u64)>>,
}

impl Lane {
    /// The spans that reach into the stretch between two times.
    pub fn between(&self, from: u64, to: u64) -> &[Span] {
        let first = self.spans.partition_point(|s| s.end <= from);
        let behind = self.spans.partition_point(|s| s.start < to);
        self.spans.get(first..behind).unwrap_or_default()
    }
}

/// All lanes of a run.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// Start of the run.
    pub begin: u64,
    /// Its end.
    pub end: u64,
    /// The kinds that spans refer to.
    pub kinds: Vec<Kind>,
    /// The lanes: threads in the order of their creation.
    pub lanes: Vec<Lane>,
    /// Threads that were left out.
    pub left_out: usize,
}

/// Which lanes there are, and what they are made of.
pub(super) struct Plan<'a, 't> {
    traced: &'a Traced<'t>,
    blocks: Blocks<'a, 't>,
    /// Start and end of the run.
    pub(super) range: (u64, u64),
    /// Threads in the order of their creation.
    pub(super) threads: Vec<ThreadId>,
    /// Threads that were left out.
    pub(super) left_out: usize,
    calls: HashMap<ThreadId, Vec<&'t Call>>,
}

impl<'a, 't> Plan<'a, 't> {
    /// At most `most` threads, the longest-lived ones.
    pub(super) fn new(observed: &Observed<'a, 't>, most: usize) -> Plan<'a, 't> {
        let traced = observed.traced;
        let mut threads: Vec<_> = traced.threads.values().collect();
        threads.sort_by_key(|t| (std::cmp::Reverse(t.end_ns.saturating_sub(t.start_ns)), t.thread));
        let left_out = threads.len().saturating_sub(most);
        threads.truncate(most);
        threads.sort_by_key(|t| (t.start_ns, t.thread));
        let threads: Vec<ThreadId> = threads.into_iter().map(|t| t.thread).collect();
        let mut calls: HashMap<ThreadId, Vec<&Call>> = threads.iter().map(|thread| (*thread, Vec::new())).collect();
        for call in observed.model.tables.calls.iter().filter(|c| c.run == traced.run.run) {
            if let Some(calls) = calls.get_mut(&call.thread) {
                calls.push(call);
            }
        }
        calls.values_mut().for_each(|calls| calls.sort_by_key(|call| call.start_ns));
        let range = (traced.trace.begin_ns, traced.trace.end_ns);
        Plan { traced, blocks: Blocks::new(traced, observed.reasons), range, threads, left_out, calls }
    }

    /// The lane of a thread.
    pub(super) fn lane(&self, thread: ThreadId, number: impl FnMut(KindOf) -> u32) -> Lane {
        let calls = self.calls.get(&thread).map(Vec::as_slice).unwrap_or_default();
        lane(thread, self.traced.slices.line(thread), calls, self.range, &self.blocks, number)
    }
}

impl Timeline {
    /// The lanes of a run: at most `most` threads, the longest-lived ones.
    pub fn new(observed: &Observed<'_, '_>, most: usize) -> Timeline {
        let plan = Plan::new(observed, most);
        let mut kinds = Kinds::new(observed);
        let lanes = plan.threads.iter().map(|thread| plan.lane(*thread, |kind| kinds.number(kind))).collect();
        Timeline { lanes, ..Timeline::bare(&plan, kinds.kinds) }
    }

    /// Without its lanes.
    pub(super) fn bare(plan: &Plan<'_, '_>, kinds: Vec<Kind>) -> Timeline {
        let (begin, end) = plan.range;
        Timeline { begin, end, kinds, lanes: Vec::new(), left_out: plan.left_out }
    }

    /// Length of the run, nanoseconds; at least 1.
    pub fn length(&self) -> u64 {
        self.end.saturating_sub(self.begin).max(1)
    }

    /// The class of a kind.
    pub fn class(&self, kind: u32) -> Class {
        self.kinds.get(kind as usize).map_or(Class::Unknown, |k| k.class)
    }
}

fn lane(
    thread: ThreadId,
    line: ThreadLine<'_>,
    calls: &[&Call],
    (begin, end): (u64, u64),
    blocks: &Blocks<'_, '_>,
    mut number: impl FnMut(KindOf) -> u32,
) -> Lane {
    let mut lane = Lane { thread, spans: Vec::with_capacity(line.len()), mixes: vec![Vec::new()] };
    let mut calls = calls.iter().peekable();
    let mut last = begin;
    let mut recent = RecentKinds::default();
    let mut slices = SlicesAhead { line, made: Vec::new(), at: 0, until: 0 };
    let mut stretch: Vec<Slice> = Vec::new();
    while let Some(first) = slices.next() {
        stretch.clear();
        while let Some(next) = slices.next_if(|s| (s.start_ns, s.end_ns) == (first.start_ns, first.end_ns)) {
            if stretch.is_empty() {
                stretch.push(first);
            }
            stretch.push(next);
        }
        // Overlapping rows come from a damaged recording: the earlier row wins.
        let (start, stop) = (first.start_ns.max(last), first.end_ns.min(end));
        if stop <= start {
            continue;
        }
        last = stop;
        let single = first.count == 1 && stretch.iter().all(|s| s.count == 1);
        if !stretch.is_empty() {
            let told =
                stretch.iter().map(|s| (recent.number(KindOf::slice(s, single, blocks), &mut number), s.spent_ns));
            let mut mix: Vec<(u32, u64)> = told.collect();
            mix.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
            let kind = mix.first().map_or(0, |m| m.0);
            lane.spans.push(Span { start, end: stop, kind, mix: lane.mixes.len() as u32 });
            lane.mixes.push(mix);
            continue;
        }
        let kind = recent.number(KindOf::slice(&first, single, blocks), &mut number);
        if first.state != State::Running {
            lane.spans.push(Span { start, end: stop, kind, mix: 0 });
            continue;
        }
        // A running stretch is the program's own code, except for the system calls in it.
        let mut at = start;
        while let Some(call) = calls.peek() {
            if call.start_ns >= stop {
                break;
            }
            let (from, to) = (call.start_ns.max(at), call.end_ns.min(stop));
            if to > from {
                if from > at {
                    lane.spans.push(Span { start: at, end: from, kind, mix: 0 });
                }
                lane.spans.push(Span { start: from, end: to, kind: number(KindOf::Call(call.number)), mix: 0 });
                at = to;
            }
            if call.end_ns > stop {
                break;
            }
            calls.next();
        }
        if at < stop {
            lane.spans.push(Span { start: at, end: stop, kind, mix: 0 });
        }
    }
    lane
}

/// Slices that are made at once: reading them one by one takes longer.
const AHEAD: usize = 64;

/// The slices of a line, some of them ahead.
struct SlicesAhead<'a> {
    line: ThreadLine<'a>,
    made: Vec<Slice>,
    /// Which of these is next.
    at: usize,
    /// How many of the line have been made.
    until: usize,
}

impl SlicesAhead<'_> {
    fn next(&mut self) -> Option<Slice> {
        self.next_if(|_| true)
    }

    fn next_if(&mut self, fits: impl Fn(&Slice) -> bool) -> Option<Slice> {
        if self.at == self.made.len() {
            self.at = 0;
            self.made.clear();
            self.line.read(self.until, AHEAD, &mut self.made);
            self.until += self.made.len();
        }
        let next = self.made.get(self.at).filter(|next| fits(next)).copied();
        self.at += usize::from(next.is_some());
        next
    }
}
