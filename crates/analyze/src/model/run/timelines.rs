//! The slices of a run thread by thread, and its blocked slices by what they waited for. Both are made once, because a
//! run may have millions of slices, and both say where slices are instead of holding them.

use recording::memory::slices::{SliceRows, Slices};
use recording::tables::{Slice, State};
use recording::{QuickMap, RunId, ThreadId, WaitId};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

/// Of so many slices, another thread looks at a half.
///
/// Decides: nothing in an answer, only how long it takes.
/// From: chosen: a thread starts in less time than a hundredth of so many slices takes.
/// Shown by: `threads_that_are_woken_in_vain_gather_nowhere`.
/// Wrong if: never; what is found is the same.
const WORTH_A_THREAD: usize = 1_000_000;

/// The timelines of a run: thread by thread, each in the order of time.
#[derive(Debug)]
pub struct Timelines<'t> {
    rows: &'t Slices,
    /// Each thread in order, and which of the stretches are its.
    lines: Vec<(ThreadId, Range<usize>)>,
    /// Places of rows in the table that follow each other there and in a line.
    stretches: Vec<Range<usize>>,
    /// How many slices the line has up to the end of each stretch.
    ends: Vec<usize>,
    /// Places of rows; a recording of more rows than these can tell does not fit into memory.
    blocked: OnceLock<QuickMap<WaitId, Vec<u32>>>,
}

/// The slices of one thread, in the order of time.
#[derive(Debug, Clone, Copy)]
pub struct ThreadLine<'a> {
    rows: &'a Slices,
    stretches: &'a [Range<usize>],
    ends: &'a [usize],
}

impl<'a> ThreadLine<'a> {
    /// The line without slices.
    pub fn without(self) -> ThreadLine<'a> {
        ThreadLine { stretches: &[], ends: &[], ..self }
    }

    /// All of them, in order.
    pub fn iter(self) -> LineRows<'a> {
        self.from(0)
    }

    /// Those from a place in the line on.
    pub fn from(self, at: usize) -> LineRows<'a> {
        let stretch = self.ends.partition_point(|end| *end <= at);
        let skipped = at.saturating_sub(self.before(stretch));
        let (first, rest) = match self.stretches.get(stretch..).and_then(<[Range<usize>]>::split_first) {
            Some((first, rest)) => (first.start + skipped..first.end, rest),
            None => (0..0, <&[Range<usize>]>::default()),
        };
        LineRows { rows: self.rows, now: self.rows.range(first), rest }
    }

    /// Adds at most so many of them, from a place in the line on: this takes less time than one by one.
    pub fn read(self, mut at: usize, most: usize, to: &mut Vec<Slice>) {
        let end = at.saturating_add(most).min(self.len());
        let mut stretch = self.ends.partition_point(|end| *end <= at);
        while at < end {
            let Some(places) = self.stretches.get(stretch) else { break };
            let first = places.start + (at - self.before(stretch));
            let taken = places.end.min(first + (end - at));
            self.rows.range(first..taken).for_each(|slice| to.push(slice));
            (at, stretch) = (at + (taken - first), stretch + 1);
        }
    }

    /// How many slices.
    pub fn len(self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// True without slices.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The slice at a place in the line.
    pub fn get(self, at: usize) -> Option<Slice> {
        let stretch = self.ends.partition_point(|end| *end <= at);
        let places = self.stretches.get(stretch)?;
        self.rows.get(places.start + (at - self.before(stretch)))
    }

    /// Slices in the stretches before one.
    fn before(self, stretch: usize) -> usize {
        stretch.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0)
    }

    /// The place of the first slice for which `before` is false; it is true for those before that.
    pub fn partition_point(self, before: impl Fn(&Slice) -> bool) -> usize {
        let at = |place: usize| self.rows.get(place).is_some_and(|slice| before(&slice));
        let stretch = self.stretches.partition_point(|places| places.end.checked_sub(1).is_some_and(at));
        let Some(places) = self.stretches.get(stretch) else { return self.before(stretch) };
        let (mut low, mut high) = (places.start, places.end);
        while low < high {
            let middle = low + (high - low) / 2;
            (low, high) = if at(middle) { (middle + 1, high) } else { (low, middle) };
        }
        self.before(stretch) + (low - places.start)
    }
}

/// Slices of a line, in order.
#[derive(Debug, Clone)]
pub struct LineRows<'a> {
    rows: &'a Slices,
    now: SliceRows<'a>,
    rest: &'a [Range<usize>],
}

impl Iterator for LineRows<'_> {
    type Item = Slice;

    #[inline]
    fn next(&mut self) -> Option<Slice> {
        loop {
            if let Some(slice) = self.now.next() {
                return Some(slice);
            }
            let (next, rest) = self.rest.split_first()?;
            (self.now, self.rest) = (self.rows.range(next.clone()), rest);
        }
    }

    #[inline]
    fn fold<B, F: FnMut(B, Slice) -> B>(self, first: B, mut add: F) -> B {
        let sum = self.now.fold(first, &mut add);
        self.rest.iter().fold(sum, |sum, places| self.rows.range(places.clone()).fold(sum, &mut add))
    }
}

impl<'t> Timelines<'t> {
    /// The timelines of these runs.
    pub fn of_runs(rows: &'t Slices, runs: impl IntoIterator<Item = RunId>) -> HashMap<RunId, Timelines<'t>> {
        let mut found: HashMap<RunId, Vec<(ThreadId, Range<usize>)>> =
            runs.into_iter().map(|run| (run, Vec::new())).collect();
        // Rows of a thread come together: so many look-ups are saved.
        let mut of = None;
        let mut since = 0;
        let mut ends = |of: Option<(RunId, ThreadId)>, places: Range<usize>| {
            if let Some((stretches, thread)) = of.and_then(|(run, thread)| Some((found.get_mut(&run)?, thread))) {
                stretches.push((thread, places));
            }
        };
        rows.iter().enumerate().for_each(|(at, slice)| {
            let next = Some((slice.run, slice.thread));
            if of != next {
                ends(of, since..at);
                (of, since) = (next, at);
            }
        });
        ends(of, since..rows.len());
        found.into_iter().map(|(run, stretches)| (run, Timelines::new(rows, stretches))).collect()
    }

    /// Timelines without slices.
    pub fn none(rows: &'t Slices) -> Timelines<'t> {
        Timelines::new(rows, Vec::new())
    }

    /// `stretches`: of each thread, in the order of the table.
    fn new(rows: &'t Slices, mut stretches: Vec<(ThreadId, Range<usize>)>) -> Timelines<'t> {
        stretches.sort_by_key(|(thread, _)| *thread);
        let mut found =
            Timelines { rows, lines: Vec::new(), stretches: Vec::new(), ends: Vec::new(), blocked: OnceLock::new() };
        for line in stretches.chunk_by(|a, b| a.0 == b.0) {
            let first = found.stretches.len();
            let mut slices = 0;
            for places in sorted(rows, line.iter().map(|(_, places)| places.clone()).collect()) {
                slices += places.len();
                found.stretches.push(places);
                found.ends.push(slices);
            }
            found.lines.extend(line.first().map(|(thread, _)| (*thread, first..found.stretches.len())));
        }
        found
    }

    /// How many slices.
    pub fn len(&self) -> usize {
        self.stretches.iter().map(|places| places.len()).sum()
    }

    /// True without slices.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// All slices, thread by thread, each in the order of time.
    pub fn iter(&self) -> LineRows<'_> {
        LineRows { rows: self.rows, now: self.rows.range(0..0), rest: &self.stretches }
    }

    /// The slices of one thread, in the order of time.
    pub fn line(&self, thread: ThreadId) -> ThreadLine<'_> {
        let found = self.lines.binary_search_by_key(&thread, |line| line.0);
        self.line_of(found.ok().and_then(|at| self.lines.get(at)).map_or(0..0, |line| line.1.clone()))
    }

    /// Each thread that has slices, in order, with these.
    pub fn lines(&self) -> impl Iterator<Item = (ThreadId, ThreadLine<'_>)> {
        self.lines.iter().map(|(thread, stretches)| (*thread, self.line_of(stretches.clone())))
    }

    /// Makes something of the line of each of these threads, in their order; on two processors where that is worth it.
    pub fn of_lines<T: Send>(&self, threads: &[ThreadId], make: impl Fn(ThreadLine<'_>) -> T + Sync) -> Vec<T> {
        let made = |threads: &[ThreadId]| threads.iter().map(|thread| make(self.line(*thread))).collect::<Vec<T>>();
        if self.len() < WORTH_A_THREAD {
            return made(threads);
        }
        let (first, rest) = threads.split_at(threads.len() / 2);
        std::thread::scope(|scope| {
            let rest = scope.spawn(|| made(rest));
            let mut found = made(first);
            // A panic there is a bug, and is one here, too.
            found.extend(rest.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            found
        })
    }

    fn line_of(&self, stretches: Range<usize>) -> ThreadLine<'_> {
        ThreadLine {
            rows: self.rows,
            stretches: self.stretches.get(stretches.clone()).unwrap_or_default(),
            ends: self.ends.get(stretches).unwrap_or_default(),
        }
    }

    /// The blocked slices of these waits, wait by wait, each in the order of threads and of time.
    pub fn blocked<'s>(
        &'s self,
        waits: impl IntoIterator<Item = WaitId, IntoIter: 's>,
    ) -> impl Iterator<Item = Slice> + 's {
        let index = self.blocked.get_or_init(|| {
            let mut index: QuickMap<WaitId, Vec<u32>> = QuickMap::default();
            for places in &self.stretches {
                let mut at = places.start;
                self.rows.range(places.clone()).for_each(|slice| {
                    if let (State::Blocked, Some(wait), Ok(at)) = (slice.state, slice.wait, u32::try_from(at)) {
                        index.entry(wait).or_default().push(at);
                    }
                    at += 1;
                });
            }
            index.values_mut().for_each(Vec::shrink_to_fit);
            index
        });
        self.rows.picked(waits.into_iter().filter_map(|wait| index.get(&wait)).flatten().map(|at| *at as usize))
    }
}

/// The places of a thread's slices in the order of time. Recordings are in this order, as a rule.
fn sorted(rows: &Slices, places: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let (mut last, mut in_order) = ((0, 0), true);
    for places in &places {
        rows.range(places.clone()).for_each(|slice| {
            let now = (slice.start_ns, slice.end_ns);
            in_order &= last <= now;
            last = now;
        });
    }
    if in_order {
        return places;
    }
    let slices = || places.iter().flat_map(|places| rows.range(places.clone()));
    let mut order: Vec<(u64, u64, usize)> =
        places.iter().cloned().flatten().zip(slices()).map(|(at, s)| (s.start_ns, s.end_ns, at)).collect();
    // Of equal ones, the earlier row stays first.
    order.sort_unstable();
    let mut found: Vec<Range<usize>> = Vec::new();
    for (.., at) in order {
        match found.last_mut() {
            Some(last) if last.end == at => last.end += 1,
            _ => found.push(at..at + 1),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::synthetic::{Sketch, ms};
    use recording::tables::Reason;

    #[test]
    fn slices_come_thread_by_thread_and_blocks_by_wait() {
        let stack = "nanosleep@libc.so.6 < work@app app.c:5";
        let tables = Sketch::new(2)
            .traced(2, |run| {
                for name in ["a", "b"] {
                    (0..10).fold(run.thread(name), |thread, _| {
                        thread
                            .runs(ms(2), "work@app app.c:5")
                            .blocks(Reason::Sleep, ms(3), stack)
                            .runs(ms(1), "work@app app.c:6")
                    });
                }
            })
            .tables();
        let run = tables.traces[0].run;
        let all: Vec<Slice> = tables.slices.iter().collect();
        // As parts of a long recording follow each other, where every part has all threads; and in no order at all.
        let mut mixed = all.clone();
        mixed.sort_by_key(|slice| (slice.start_ns, slice.thread));
        let reversed: Vec<Slice> = all.iter().rev().copied().collect();
        for rows in [all.clone(), mixed, reversed] {
            let rows: Slices = rows.into_iter().collect();
            let found = Timelines::of_runs(&rows, [run]).remove(&run).unwrap();
            assert!(found.iter().eq(all.iter().copied()));
            assert_eq!(found.len(), all.len());
            for (thread, line) in found.lines() {
                let own: Vec<Slice> = line.iter().collect();
                assert!(own.iter().all(|slice| slice.thread == thread));
                assert!(found.line(thread).iter().eq(own.iter().copied()));
                for at in 0..=own.len() {
                    assert_eq!(line.get(at).as_ref(), own.get(at));
                    assert!(line.from(at).eq(own[at..].iter().copied()));
                    for most in [0, 1, 3, 100] {
                        let mut read = Vec::new();
                        line.read(at, most, &mut read);
                        assert_eq!(read, own[at..own.len().min(at + most)]);
                    }
                    let time = own.get(at).map_or(u64::MAX, |slice| slice.start_ns);
                    assert_eq!(line.partition_point(|slice| slice.start_ns < time), at);
                }
            }
            let waits: Vec<WaitId> = tables.waits.iter().map(|wait| wait.wait).collect();
            let blocked: Vec<Slice> = found.blocked(waits.clone()).collect();
            let asleep = all.iter().filter(|slice| slice.wait.is_some_and(|wait| waits.contains(&wait)));
            assert!(!blocked.is_empty() && blocked.iter().all(|slice| slice.state == State::Blocked));
            assert!(blocked.iter().eq(asleep), "threads follow each other, and each has one wait");
            assert_eq!(found.blocked([]).count(), 0);
            assert_eq!(found.line(ThreadId(u32::MAX)).iter().count(), 0);
        }
    }
}
