//! Lanes in buckets of equal length, each with the kind that took most of it.

use super::class::Class;
use super::timeline::{Lane, Span, Timeline};

/// A stretch of equal buckets: how many, and their kind; none where the thread did not exist or nothing is known.
pub type Stretch = (u64, Option<u32>);

/// One lane in `count` buckets that divide the run, neighbours with the same kind joined.
///
/// Finds the class with the most time in a bucket, then the kind with the most time in that class: a bucket with twenty
/// locks of 4 % each is waiting for locks, even when running takes 10 %. All classes that run are one at first.
pub fn bucketed(timeline: &Timeline, lane: &Lane, count: u64) -> Vec<Stretch> {
    bucketed_between(timeline, lane, (timeline.begin, timeline.begin + timeline.length()), count)
}

/// As [`bucketed`], for the stretch between two times on the recording's clock.
pub fn bucketed_between(timeline: &Timeline, lane: &Lane, (from, to): (u64, u64), count: u64) -> Vec<Stretch> {
    let mut made = Made { stretches: Vec::new(), timeline, now: Vec::new(), at: 0 };
    let length = to.saturating_sub(from).max(1);
    let bucket = |time: u64| scaled(time - from, count, length, false);
    let begin_of = |bucket: u64| from.saturating_add(scaled(bucket, length, count, true));
    // Most spans end in the bucket where the one before ended: this takes no division.
    let mut edge = begin_of(1);
    for span in lane.between(from, to) {
        let (start, end) = (span.start.max(from), span.end.min(to));
        if end <= start {
            continue;
        }
        if end <= edge {
            made.add(lane, span, end - start);
            continue;
        }
        let (first, last) = (bucket(start), bucket(end - 1).min(count - 1));
        edge = begin_of(last + 1);
        made.go_to(first);
        if first == last {
            made.add(lane, span, end - start);
            continue;
        }
        made.add(lane, span, begin_of(first + 1).saturating_sub(start));
        made.go_to(first + 1);
        if last > first + 1 {
            let kind = made.heaviest(lane, span);
            made.push(last - first - 1, Some(kind));
            made.at = last;
        }
        made.add(lane, span, end.saturating_sub(begin_of(last)));
    }
    made.go_to(count);
    made.stretches
}

/// `number × by ÷ of`, rounded up or down. Numbers of 128 bits take long to divide, and are seldom needed.
fn scaled(number: u64, by: u64, of: u64, up: bool) -> u64 {
    match number.checked_mul(by) {
        Some(product) if up => product.div_ceil(of),
        Some(product) => product / of,
        None => {
            let (product, of) = (u128::from(number) * u128::from(by), u128::from(of));
            (if up { product.div_ceil(of) } else { product / of }) as u64
        }
    }
}

/// What a part of a span consists of: kinds and nanoseconds. Any part of a summed-up stretch has the mix of the whole.
pub fn parts<'l>(lane: &'l Lane, span: &Span, ns: u64) -> impl Iterator<Item = (u32, f64)> + use<'l> {
    let mix = lane.mixes.get(span.mix as usize).filter(|_| span.mix > 0);
    let all = mix.map_or(1.0, |mix| mix.iter().map(|m| m.1 as f64).sum::<f64>().max(1.0));
    let alone = mix.is_none().then_some((span.kind, ns as f64));
    let mixed = mix.into_iter().flatten().map(move |(kind, spent)| (*kind, ns as f64 * *spent as f64 / all));
    alone.into_iter().chain(mixed)
}

struct Made<'a> {
    stretches: Vec<Stretch>,
    timeline: &'a Timeline,
    /// What the current bucket holds: kinds and nanoseconds.
    now: Vec<(u32, f64)>,
    at: u64,
}

impl Made<'_> {
    fn go_to(&mut self, bucket: u64) {
        if bucket <= self.at {
            return;
        }
        let kind = dominant(self.timeline, &self.now);
        self.now.clear();
        self.push(1, kind);
        self.push(bucket - self.at - 1, None);
        self.at = bucket;
    }

    fn push(&mut self, count: u64, kind: Option<u32>) {
        match self.stretches.last_mut() {
            _ if count == 0 => {}
            Some((n, same)) if *same == kind => *n += count,
            _ => self.stretches.push((count, kind)),
        }
    }

    fn add(&mut self, lane: &Lane, span: &Span, ns: u64) {
        if span.mix == 0 {
            return self.put(span.kind, ns as f64);
        }
        for (kind, ns) in parts(lane, span, ns) {
            self.put(kind, ns);
        }
    }

    fn put(&mut self, kind: u32, ns: f64) {
        match self.now.iter_mut().find(|n| n.0 == kind) {
            Some(known) => known.1 += ns,
            None => self.now.push((kind, ns)),
        }
    }

    fn heaviest(&self, lane: &Lane, span: &Span) -> u32 {
        let mix = lane.mixes.get(span.mix as usize).filter(|_| span.mix > 0);
        let parts: Vec<(u32, f64)> = mix.into_iter().flatten().map(|(k, ns)| (*k, *ns as f64)).collect();
        dominant(self.timeline, &parts).unwrap_or(span.kind)
    }
}

fn dominant(timeline: &Timeline, parts: &[(u32, f64)]) -> Option<u32> {
    if let [(only, _)] = parts {
        return Some(*only);
    }
    // All that runs counts together: else a thread that runs for two things in turn would seem to wait.
    let runs = |class: Class| if class.runs() { Class::User } else { class };
    let group = heaviest(parts.iter().map(|(kind, ns)| (runs(timeline.class(*kind)), *ns)))?;
    let inside = parts.iter().map(|(kind, ns)| (timeline.class(*kind), *ns)).filter(|(class, _)| runs(*class) == group);
    let heaviest = heaviest(inside)?;
    let of_it = parts.iter().filter(|(kind, _)| timeline.class(*kind) == heaviest);
    of_it.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(kind, _)| *kind)
}

/// The class with the most time.
fn heaviest(parts: impl Iterator<Item = (Class, f64)>) -> Option<Class> {
    // In the order in which they come: of equal ones the last wins. No memory is asked for, because this is done for
    // each of millions of buckets.
    let mut classes = [(Class::Unknown, 0.0); Class::ALL.len()];
    let mut count = 0;
    for (class, ns) in parts {
        match classes.iter_mut().take(count).find(|c| c.0 == class) {
            Some(known) => known.1 += ns,
            None => {
                if let Some(free) = classes.get_mut(count) {
                    (*free, count) = ((class, ns), count + 1);
                }
            }
        }
    }
    classes.into_iter().take(count).max_by(|a, b| a.1.total_cmp(&b.1)).map(|(class, _)| class)
}

#[cfg(test)]
mod tests {
    use super::super::kinds::Kind;
    use super::*;
    use recording::ThreadId;

    fn timeline(spans: &[(u64, u64, u32)], end: u64) -> Timeline {
        let kind = |class| Kind { class, label: String::new(), waker: None };
        let spans = spans.iter().map(|(start, end, kind)| Span { start: *start, end: *end, kind: *kind, mix: 0 });
        let lane = Lane { thread: ThreadId(0), spans: spans.collect(), mixes: vec![Vec::new()] };
        let kinds = vec![kind(Class::User), kind(Class::Lock), kind(Class::Lock), kind(Class::System)];
        Timeline { begin: 100, end: 100 + end, kinds, lanes: vec![lane], left_out: 0 }
    }

    fn buckets(spans: &[(u64, u64, u32)], end: u64, count: u64) -> Vec<Stretch> {
        let timeline = timeline(spans, end);
        bucketed(&timeline, &timeline.lanes[0], count)
    }

    #[test]
    fn long_spans_are_joined_and_gaps_stay_empty() {
        assert_eq!(buckets(&[(100, 400, 0), (600, 1100, 1)], 1000, 10), [(3, Some(0)), (2, None), (5, Some(1))]);
        assert_eq!(buckets(&[], 1000, 10), [(10, None)]);
        assert_eq!(buckets(&[(100, 1100, 0)], 1000, 1), [(1, Some(0))]);
    }

    #[test]
    fn the_heaviest_class_wins_then_its_heaviest_kind() {
        // Class User has the largest single kind, but both locks together have more.
        let spans = [(100, 140, 0), (140, 165, 1), (165, 200, 2)];
        assert_eq!(buckets(&spans, 100, 1), [(1, Some(2))]);
    }

    #[test]
    fn who_runs_for_two_things_does_not_wait() {
        // Own code and system calls have 60 % together, each less than the lock.
        assert_eq!(buckets(&[(100, 135, 0), (135, 160, 3), (160, 200, 1)], 100, 1), [(1, Some(0))]);
    }

    #[test]
    fn every_level_covers_the_run() {
        let spans = [(100, 133, 0), (133, 134, 1), (134, 777, 2), (780, 1103, 3)];
        for count in [1, 2, 3, 7, 64, 1000, 4096, 100_000] {
            let made = buckets(&spans, 1003, count);
            assert_eq!(made.iter().map(|s| s.0).sum::<u64>(), count, "{count}");
            assert!(made.windows(2).all(|w| w[0].1 != w[1].1), "{count}");
        }
    }

    #[test]
    fn a_stretch_is_the_same_as_its_part_of_the_whole() {
        let spans = [(100, 133, 0), (133, 134, 1), (134, 777, 2), (780, 1100, 3)];
        let timeline = timeline(&spans, 1000);
        let lane = &timeline.lanes[0];
        let flat = |stretches: Vec<Stretch>| -> Vec<Option<u32>> {
            stretches.iter().flat_map(|(n, kind)| (0..*n).map(move |_| *kind)).collect()
        };
        let whole = flat(bucketed(&timeline, lane, 1000));
        for (from, to) in [(0, 1000), (30, 36), (33, 34), (676, 681), (990, 1000)] {
            let part = bucketed_between(&timeline, lane, (100 + from, 100 + to), to - from);
            assert_eq!(flat(part), whole[from as usize..to as usize], "{from} {to}");
        }
        // After the end of the run there is nothing.
        assert_eq!(bucketed_between(&timeline, lane, (1100, 1200), 4), [(4, None)]);
    }

    #[test]
    fn finest_buckets_are_the_spans() {
        assert_eq!(
            buckets(&[(100, 103, 0), (103, 104, 1), (106, 110, 2)], 10, 10),
            [(3, Some(0)), (1, Some(1)), (2, None), (4, Some(2))]
        );
    }
}
