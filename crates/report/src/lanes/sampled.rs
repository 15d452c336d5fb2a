//! What threads did while they ran, by their samples: who runs for a lock is not drawn as one that gets on.
//!
//! The scheduler tells exactly when a thread ran, its samples what it ran. Each sample stands for the running time of
//! its thread that is nearer to it than to any other; what it shows is the analysis's word ([`Doing`]).

use super::class::Class;
use super::kinds::Kind;
use super::timeline::{Lane, Span, Timeline};
use crate::observed::Observed;
use analyze::account::profile::{Doing, reach_ns};
use analyze::words::reasons::reason;
use recording::ThreadId;
use recording::tables::Sample;
use std::collections::HashMap;

/// A moment of a sample, and the kind that it shows.
pub(super) type KindAt = (u64, u32);

/// The lanes, with running time told apart by samples.
pub fn sampled(observed: &Observed<'_, '_>, timeline: Timeline) -> Timeline {
    let Timeline { begin, end, kinds, lanes, left_out } = timeline;
    let samples = ShownSamples::new(observed, kinds);
    let mut told = false;
    let lanes = lanes.into_iter().map(|lane| {
        let (lane, has_unsampled) = samples.recoloured(lane);
        told |= has_unsampled;
        lane
    });
    let lanes = lanes.collect();
    Timeline { begin, end, kinds: samples.kinds(told), lanes, left_out }
}

/// What the samples of each thread show.
pub(super) struct ShownSamples {
    /// Of slices, calls and samples.
    kinds: Vec<Kind>,
    /// Ascending.
    by_thread: HashMap<ThreadId, Vec<KindAt>>,
    reach: u64,
}

impl ShownSamples {
    /// `kinds`: those of slices and calls.
    pub(super) fn new(observed: &Observed<'_, '_>, kinds: Vec<Kind>) -> ShownSamples {
        let mut kinds = SampledKinds { kinds, of: HashMap::new(), observed };
        kinds.tell_calls();
        let mut by_thread: HashMap<ThreadId, Vec<KindAt>> = HashMap::new();
        for sample in observed.samples() {
            let kind = kinds.kind_of(sample);
            by_thread.entry(sample.thread).or_default().push((sample.time_ns, kind));
        }
        by_thread.values_mut().for_each(|shown| shown.sort_unstable());
        let reach = reach_ns(observed.traced);
        ShownSamples { kinds: kinds.kinds, by_thread, reach }
    }

    /// A lane with running time told apart; true when no sample tells what some of it was.
    pub(super) fn recoloured(&self, lane: Lane) -> (Lane, bool) {
        let shown = self.by_thread.get(&lane.thread).cloned().unwrap_or_default();
        let mut lane = recoloured(lane, shown, self.reach, &self.kinds);
        let index = self.kinds.len() as u32;
        let mut found = false;
        let kinds = lane.spans.iter_mut().map(|span| &mut span.kind);
        let mixed = lane.mixes.iter_mut().flatten().map(|(kind, _)| kind);
        for kind in kinds.chain(mixed).filter(|kind| **kind == UNSAMPLED) {
            (*kind, found) = (index, true);
        }
        (lane, found)
    }

    /// All kinds. `unsampled`: with that of what no sample tells: a legend is made of the kinds.
    pub(super) fn kinds(&self, unsampled: bool) -> Vec<Kind> {
        let more = unsampled.then(|| Kind { class: Class::Unsampled, label: String::new(), waker: None });
        self.kinds.iter().cloned().chain(more).collect()
    }
}

struct SampledKinds<'o, 'a, 't> {
    observed: &'o Observed<'a, 't>,
    kinds: Vec<Kind>,
    of: HashMap<Doing<'t>, u32>,
}

/// Stands for the kind of what no sample tells, until it is known whether there is any.
const UNSAMPLED: u32 = u32::MAX;

impl<'t> SampledKinds<'_, '_, 't> {
    fn doing(&self, sample: &Sample) -> Doing<'t> {
        self.observed.profile.map_or(Doing::Unknown, |profile| profile.doing(self.observed.traced, sample))
    }

    /// The kind of what a sample shows.
    fn kind_of(&mut self, sample: &Sample) -> u32 {
        let doing = match self.doing(sample) {
            // The program's own code is one kind: its functions are told beside it.
            doing if doing.is_own() && !matches!(doing, Doing::Sharing(_)) => Doing::Unknown,
            doing => doing,
        };
        if let Some(known) = self.of.get(&doing) {
            return *known;
        }
        let (class, label) = (class_of(doing), self.label(doing));
        let same = |kind: &Kind| kind.class == class && kind.label == label;
        let index = self.kinds.iter().position(same).unwrap_or_else(|| {
            self.kinds.push(Kind { class, label, waker: None });
            self.kinds.len() - 1
        });
        self.of.insert(doing, index as u32);
        index as u32
    }

    fn label(&self, doing: Doing<'_>) -> String {
        match doing {
            Doing::Synchronising(why) => reason(why).to_owned(),
            Doing::Call(number) => self.observed.model.call_name(number),
            Doing::KernelLock => "lock inside the kernel".to_owned(),
            Doing::Fault => "page fault".to_owned(),
            Doing::Interrupt => "interrupt or fault".to_owned(),
            Doing::Collector => "garbage collector".to_owned(),
            Doing::Compiling => "compiler".to_owned(),
            Doing::Creation => "creating or ending threads".to_owned(),
            Doing::Sharing(_) => "at memory that threads share".to_owned(),
            Doing::Allocator(_) | Doing::Spinning | Doing::Function(..) | Doing::Unknown => String::new(),
        }
    }

    /// Gives each recorded system call the class of what its samples show.
    fn tell_calls(&mut self) {
        for (number, doing) in self.observed.profile.iter().flat_map(|profile| profile.calls()) {
            let (class, name) = (class_of(doing), self.observed.model.call_name(number));
            for kind in self.kinds.iter_mut().filter(|kind| kind.class == Class::System && kind.label == name) {
                // Code called from the program's own is not the program's.
                kind.class = if class == Class::User { Class::System } else { class };
            }
        }
    }
}

/// The colour of what a sample shows.
fn class_of(doing: Doing<'_>) -> Class {
    match doing {
        Doing::Synchronising(_) => Class::Sync,
        Doing::Spinning => Class::Spin,
        Doing::Allocator(_) => Class::Allocator,
        Doing::Collector | Doing::Compiling | Doing::Creation => Class::Runtime,
        Doing::KernelLock | Doing::Call(_) | Doing::Fault | Doing::Interrupt => Class::System,
        Doing::Function(..) | Doing::Sharing(_) | Doing::Unknown => Class::User,
    }
}

/// True for a span that is running, with nothing else known of it.
fn is_plain(kinds: &[Kind], kind: u32) -> bool {
    kinds.get(kind as usize).is_some_and(|kind| kind.class == Class::User && kind.label.is_empty())
}

fn recoloured(lane: Lane, mut shown: Vec<KindAt>, reach: u64, kinds: &[Kind]) -> Lane {
    let Lane { thread, spans, mixes } = lane;
    // What was sampled inside a recorded call says nothing of the code around it.
    let mut calls = spans.iter().filter(|s| s.mix == 0 && is_call(kinds, s.kind)).peekable();
    shown.retain(|(time, _)| {
        while calls.next_if(|call| call.end <= *time).is_some() {}
        calls.peek().is_none_or(|call| call.start > *time)
    });
    let mut made = Lane { thread, spans: Vec::with_capacity(spans.len()), mixes };
    let mut first = 0;
    for span in spans {
        // The last sample before the span may still stand for its start.
        while shown.get(first + 1).is_some_and(|next| next.0 <= span.start) {
            first += 1;
        }
        let near = shown.get(first..).unwrap_or_default();
        if span.mix > 0 {
            let told = share_out(&span, made.mixes.get(span.mix as usize), near, reach, kinds);
            let kind = told.first().map_or(span.kind, |told| told.0);
            if let Some(mix) = made.mixes.get_mut(span.mix as usize) {
                *mix = told;
            }
            made.spans.push(Span { kind, ..span });
        } else if is_plain(kinds, span.kind) {
            split(span, near, reach, &mut made.spans);
        } else {
            made.spans.push(span);
        }
    }
    made
}

fn is_call(kinds: &[Kind], kind: u32) -> bool {
    kinds.get(kind as usize).is_some_and(|kind| kind.class.runs()) && !is_plain(kinds, kind)
}

/// A running span, divided where another sample becomes the nearest.
fn split(span: Span, near: &[KindAt], reach: u64, spans: &mut Vec<Span>) {
    let own = spans.len();
    let mut add = |end: u64, kind: u32| {
        let start = spans.get(own..).and_then(|own| own.last()).map_or(span.start, |last| last.end);
        let end = end.min(span.end);
        match spans.get_mut(own..).and_then(|own| own.last_mut()) {
            _ if end <= start => {}
            Some(last) if last.kind == kind => last.end = end,
            _ => spans.push(Span { start, end, kind, mix: 0 }),
        }
    };
    for (i, (time, kind)) in near.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|i| near.get(i)).map_or(0, |other| other.0.midpoint(*time));
        if before >= span.end {
            break;
        }
        let after = near.get(i + 1).map_or(u64::MAX, |other| time.midpoint(other.0));
        add(before.max(time.saturating_sub(reach)), UNSAMPLED);
        add(after.min(time.saturating_add(reach)), *kind);
    }
    add(span.end, UNSAMPLED);
}

/// The parts of a summed-up stretch, largest first: its running time is shared out among the samples in it.
fn share_out(
    span: &Span,
    mix: Option<&Vec<(u32, u64)>>,
    near: &[KindAt],
    reach: u64,
    kinds: &[Kind],
) -> Vec<(u32, u64)> {
    let mut inside: HashMap<u32, u64> = HashMap::new();
    for (_, kind) in near.iter().filter(|s| s.0 >= span.start).take_while(|s| s.0 < span.end) {
        *inside.entry(*kind).or_default() += 1;
    }
    if inside.is_empty() {
        let distance = |time: u64| span.start.saturating_sub(time).max(time.saturating_sub(span.end));
        let nearest = near.iter().take(2).min_by_key(|s| distance(s.0)).filter(|s| distance(s.0) <= reach);
        inside.insert(nearest.map_or(UNSAMPLED, |s| s.1), 1);
    }
    let all: u64 = inside.values().sum();
    let mut told: HashMap<u32, u64> = HashMap::new();
    for (kind, ns) in mix.into_iter().flatten() {
        if !is_plain(kinds, *kind) {
            *told.entry(*kind).or_default() += ns;
            continue;
        }
        for (kind, n) in &inside {
            *told.entry(*kind).or_default() += (u128::from(*ns) * u128::from(*n) / u128::from(all)) as u64;
        }
    }
    let mut told: Vec<(u32, u64)> = told.into_iter().collect();
    told.sort_by_key(|(kind, ns)| (std::cmp::Reverse(*ns), *kind));
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOT: u32 = UNSAMPLED;

    fn pieces(from: u64, to: u64, near: &[KindAt]) -> Vec<(u64, u64, u32)> {
        let mut spans = Vec::new();
        split(Span { start: from, end: to, kind: 0, mix: 0 }, near, 50, &mut spans);
        spans.into_iter().map(|s| (s.start, s.end, s.kind)).collect()
    }

    #[test]
    fn the_nearest_sample_tells() {
        assert_eq!(pieces(100, 200, &[(110, 1), (130, 2), (190, 1)]), [(100, 120, 1), (120, 160, 2), (160, 200, 1)]);
        assert_eq!(pieces(100, 140, &[(90, 1), (110, 1), (130, 1)]), [(100, 140, 1)], "equal neighbours are joined");
        assert_eq!(pieces(100, 140, &[(90, 1), (200, 2)]), [(100, 140, 1)]);
    }

    #[test]
    fn what_is_far_from_any_sample_is_not_told() {
        assert_eq!(pieces(100, 400, &[]), [(100, 400, NOT)]);
        assert_eq!(pieces(100, 400, &[(200, 1)]), [(100, 150, NOT), (150, 250, 1), (250, 400, NOT)]);
        assert_eq!(pieces(100, 110, &[(20, 1), (300, 2)]), [(100, 110, NOT)]);
    }

    #[test]
    fn the_parts_cover_the_whole() {
        for near in [&[][..], &[(0, 1)], &[(99, 1), (100, 2), (101, 1)], &[(150, 1), (150, 2)], &[(500, 3)]] {
            let made = pieces(100, 200, near);
            assert_eq!(made.first().map(|p| p.0), Some(100), "{near:?}");
            assert_eq!(made.last().map(|p| p.1), Some(200), "{near:?}");
            assert!(made.windows(2).all(|w| w[0].1 == w[1].0), "{near:?}: {made:?}");
        }
    }
}
