//! Where the processors' time went in one traced run, instant by instant.
//!
//! At each instant P processors could be used, and R are. The missing P − R are charged to the threads that could have
//! run and did not: to the first tier in equal parts, at most one processor per thread; then to the second tier; the
//! rest to the shape of the program (serial phase, imbalance). By construction: capacity + surplus = on-CPU time + idle
//! capacity, where the surplus is on-CPU time while R exceeds P.
//!
//! Rooms: [`split`] what is found; [`beside_compiler`] what threads waited for while a runtime's compiler ran;
//! [`pace`] the thread that sets the pace. May import:
//! `criticality`, `lines`, `parts`, `pieces`, `curve`, `model`, `statistics`, `recording`.

mod beside_compiler;
pub mod pace;
mod split;

pub use split::Split;

use super::criticality::{Idle, Instant};
use super::lines::{Shape, Why};
use super::pieces::{Activity, ONE, Piece, ThreadPieces, Tier, by_thread};
use crate::curve::seconds;
use crate::model::Traced;
use recording::tables::Sample;
use recording::{QuickMap, ThreadId, WaitId};
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::mpsc::sync_channel;

/// When the running threads' weights add up to less than this, no thread counts as running: stretches that are summed
/// up leave fractions.
///
/// Decides: whether idle time counts as time in which no thread runs.
/// From: chosen: stretches that are summed up leave about a twentieth of a thread; no measurement.
/// Shown by: `a_lock_that_is_handed_to_sleepers_is_a_convoy`, `a_pool_without_work_is_no_problem_of_the_program`.
/// Wrong if: the thread that all others wait for runs in very short turns, for less than a twentieth of a summed-up
/// stretch: it then counts as not running.
const NEARLY_NOBODY: i64 = ONE / 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Begin,
    End,
    WorkerBorn,
    WorkerGone,
    OtherBorn,
    OtherGone,
    Sample,
}

/// A run with so many slices is swept by two threads: one makes the steps, the other sums them up in their order.
///
/// Decides: nothing in an answer, only how long it takes.
/// From: chosen: a thread starts in less time than a thousandth of so many slices takes.
/// Shown by: `one_thread_and_two_find_the_same`.
/// Wrong if: never; the sums are the same.
const WORTH_A_THREAD: usize = 100_000;

/// Steps that are handed over together.
///
/// Decides: nothing in an answer, only how long it takes.
/// From: chosen: handing over then costs next to nothing, and a batch fits into a processor's cache.
/// Shown by: `one_thread_and_two_find_the_same`.
/// Wrong if: never; the sums are the same.
const BATCH: usize = 1024;

/// Sweeps over the pieces of a run in the order of time. `why`: the reasons of its waits.
pub fn split(traced: &Traced<'_>, why: &QuickMap<WaitId, Why>) -> Split {
    swept(traced, why, traced.slices.len() >= WORTH_A_THREAD)
}

fn swept(traced: &Traced<'_>, why: &QuickMap<WaitId, Why>, by_two: bool) -> Split {
    let mut sweep = Sweep::new(traced);
    match by_two {
        false => steps(traced, why, |batch| sweep.takes(batch)),
        true => std::thread::scope(|scope| {
            // A few batches may queue up. The receiving side reads all of them or panics, and then the scope panics too.
            let (send, received) = sync_channel(8);
            scope.spawn(move || steps(traced, why, |batch| drop(send.send(batch))));
            received.into_iter().for_each(|batch| sweep.takes(batch));
        }),
    }
    sweep.advance(traced.measured.1);
    sweep.finish()
}

/// What happens next, with the number of its thread.
#[derive(Debug, Clone, Copy)]
enum SweepStep<'t> {
    /// A thread is about to begin.
    Passes,
    /// The next so many pieces begin.
    Enters(usize, usize),
    /// The pieces of a thread end; true for its last ones.
    Leaves(usize, bool),
    Sample(&'t Sample),
    Life(What),
}

/// Steps in the order of time, and the pieces that begin in them.
#[derive(Debug, Default)]
struct Steps<'t> {
    steps: Vec<(u64, SweepStep<'t>)>,
    pieces: Vec<Piece>,
}

/// Hands over all steps of a run, in the order of time.
fn steps<'t>(traced: &Traced<'t>, why: &QuickMap<WaitId, Why>, mut hand_over: impl FnMut(Steps<'t>)) {
    let (begin, end) = traced.measured;
    let mut threads: Vec<OneThread> = by_thread(traced, why).map(OneThread::new).collect();
    // What happens next in each thread, the earliest first.
    let mut changes: BinaryHeap<Reverse<u128>> = BinaryHeap::with_capacity(threads.len());
    let earliest = |(i, thread): (usize, &OneThread)| Some(Reverse(key(thread.pieces.earliest()?, What::Begin, i)));
    changes.extend(threads.iter().enumerate().filter_map(earliest));
    let mut lives = lives(traced).into_iter().peekable();
    let mut samples: Vec<&Sample> = traced.samples.clone();
    samples.sort_by_key(|sample| sample.time_ns);
    let mut samples = samples.into_iter().peekable();
    let mut batch = Steps::default();
    // What comes next of lives and samples: most steps are changes, which leave it as it is.
    let mut other = earlier(lives.peek(), samples.peek());
    loop {
        let change = changes.peek().map(|Reverse(key)| (of_key(*key).0, of_key(*key).1));
        let Some((time, what)) = (match (change, other) {
            (Some(change), Some(other)) => Some(change.min(other)),
            (change, other) => change.or(other),
        }) else {
            break;
        };
        let step = match what {
            What::Begin | What::End => {
                let Some(mut first) = changes.peek_mut() else { break };
                let Reverse(key) = *first;
                let (.., index) = of_key(key);
                let Some(thread) = threads.get_mut(index) else { break };
                let (step, then) = match what {
                    // Its first stretch is made only now: of a million threads, few live at a time.
                    What::Begin if thread.now.is_empty() => (SweepStep::Passes, thread.begins(index)),
                    What::Begin => {
                        batch.pieces.extend_from_slice(&thread.now);
                        (SweepStep::Enters(index, thread.now.len()), thread.ends(index))
                    }
                    _ => {
                        let then = thread.begins(index);
                        (SweepStep::Leaves(index, then.is_none()), then)
                    }
                };
                match then {
                    Some(then) => *first = Reverse(then),
                    None => drop(PeekMut::pop(first)),
                }
                step
            }
            What::Sample => match samples.next().filter(|_| time >= begin && time < end) {
                Some(sample) => SweepStep::Sample(sample),
                None => SweepStep::Passes,
            },
            What::WorkerBorn | What::WorkerGone | What::OtherBorn | What::OtherGone => {
                lives.next();
                SweepStep::Life(what)
            }
        };
        if !matches!(what, What::Begin | What::End) {
            other = earlier(lives.peek(), samples.peek());
        }
        batch.steps.push((time.clamp(begin, end), step));
        if batch.steps.len() >= BATCH {
            let room = Steps { steps: Vec::with_capacity(BATCH), pieces: Vec::with_capacity(BATCH) };
            hand_over(std::mem::replace(&mut batch, room));
        }
    }
    hand_over(batch);
}

/// The first of the two.
fn earlier(life: Option<&(u64, What)>, sample: Option<&&Sample>) -> Option<(u64, What)> {
    life.copied().into_iter().chain(sample.map(|sample| (sample.time_ns, What::Sample))).min()
}

/// A number that orders what happens in threads by time, kind and thread. Only begins and ends have one.
fn key(time: u64, what: What, thread: usize) -> u128 {
    u128::from(time) << 64 | u128::from(what == What::End) << 63 | thread as u128
}

fn of_key(key: u128) -> (u64, What, usize) {
    let what = if key >> 63 & 1 == 1 { What::End } else { What::Begin };
    ((key >> 64) as u64, what, (key as u64 & (u64::MAX >> 1)) as usize)
}

/// When threads begin and end, in the order of time.
fn lives(traced: &Traced<'_>) -> Vec<(u64, What)> {
    let (begin, end) = traced.measured;
    let others = others(traced);
    let mut lives = Vec::with_capacity(traced.threads.len() * 2);
    for thread in traced.threads.values() {
        let (born, gone) = if others.contains(&thread.thread) {
            (What::OtherBorn, What::OtherGone)
        } else {
            (What::WorkerBorn, What::WorkerGone)
        };
        let (start, stop) = (thread.start_ns.clamp(begin, end), thread.end_ns.clamp(begin, end));
        if start < stop {
            lives.extend([(start, born), (stop, gone)]);
        }
    }
    lives.sort_unstable();
    lives
}

/// A thread's pieces, one stretch at a time.
struct OneThread<'a, 't> {
    pieces: ThreadPieces<'a, 't>,
    /// Those of the stretch that begins next or has begun.
    now: Vec<Piece>,
}

impl<'a, 't> OneThread<'a, 't> {
    fn new(pieces: ThreadPieces<'a, 't>) -> OneThread<'a, 't> {
        OneThread { pieces, now: Vec::new() }
    }

    /// Takes the next stretch: when it begins.
    fn begins(&mut self, index: usize) -> Option<u128> {
        if !self.pieces.next_stretch(&mut self.now) {
            self.now = Vec::new();
        }
        Some(key(self.now.first()?.start, What::Begin, index))
    }

    /// When the present stretch ends.
    fn ends(&self, index: usize) -> Option<u128> {
        Some(key(self.now.first()?.end, What::End, index))
    }
}

/// What a thread is charged with.
#[derive(Debug, Clone, Default)]
struct Charged {
    /// The pieces that have begun, each with what its tier had been charged at its start.
    now: Vec<(Piece, f64)>,
    /// What the latest waits at one place were charged with, which is not booked yet.
    sum: Option<(WaitId, f64)>,
}

/// Threads that are no workers: the main thread, which starts the others, and helpers.
pub fn others(traced: &Traced<'_>) -> BTreeSet<ThreadId> {
    let mut others = traced.helpers();
    others.extend(traced.main().map(|t| t.thread));
    others
}

/// Sums by what threads did.
struct BySort([Option<f64>; Activity::COUNT]);

impl Default for BySort {
    fn default() -> BySort {
        BySort([None; Activity::COUNT])
    }
}

impl BySort {
    fn add(&mut self, kind: Activity, seconds: f64) {
        if let Some(sum) = self.0.get_mut(kind.index()) {
            *sum.get_or_insert_default() += seconds;
        }
    }

    fn found(&self) -> BTreeMap<Activity, f64> {
        Activity::all().filter_map(|kind| Some((kind, (*self.0.get(kind.index())?)?))).collect()
    }
}

struct Sweep {
    split: Split,
    threads: Vec<Charged>,
    /// Sums of `split.spent` and `split.charged`, which change at every piece.
    spent: BySort,
    charged: BySort,
    now: u64,
    processors: i64,
    running: i64,
    /// Weight of the pieces of ready threads without a processor.
    ready: i64,
    first: i64,
    second: i64,
    /// Weight of all pieces. `alive` (living threads × [`ONE`]) minus this is what the recording does not cover.
    covered: i64,
    /// Weight of all pieces by kind.
    present: [i64; Activity::COUNT],
    /// All kinds, which are gone through at each sample.
    kinds: Vec<Activity>,
    alive: i64,
    workers: u64,
    ended: u64,
    /// There are workers that get no work.
    without_share: bool,
    /// Processor-seconds that one whole thread of the tier would have been charged with since the start.
    first_so_far: f64,
    second_so_far: f64,
    first_worker: Option<u64>,
    last_worker: u64,
}

impl Sweep {
    fn new(traced: &Traced<'_>) -> Sweep {
        let others = others(traced);
        let workers = || traced.threads.values().filter(|t| !others.contains(&t.thread));
        let capacity = f64::from(traced.processors()) * seconds(traced.length_ns());
        Sweep {
            split: Split { capacity, ..Split::default() },
            threads: vec![Charged::default(); traced.slices.lines().count()],
            spent: BySort::default(),
            charged: BySort::default(),
            now: traced.measured.0,
            processors: i64::from(traced.processors()) * ONE,
            running: 0,
            ready: 0,
            first: 0,
            second: 0,
            covered: 0,
            present: [0; Activity::COUNT],
            kinds: Activity::all().collect(),
            alive: 0,
            workers: 0,
            ended: 0,
            without_share: !traced.without_share.is_empty(),
            first_so_far: 0.0,
            second_so_far: 0.0,
            first_worker: workers().map(|t| t.start_ns).min(),
            last_worker: workers().map(|t| t.end_ns).max().unwrap_or(0),
        }
    }

    fn takes(&mut self, batch: Steps<'_>) {
        let mut pieces = batch.pieces.as_slice();
        for (time, step) in batch.steps {
            self.advance(time);
            match step {
                SweepStep::Passes => {}
                SweepStep::Enters(thread, count) => {
                    let (now, rest) = pieces.split_at_checked(count).unwrap_or((pieces, &[]));
                    self.enters(thread, now);
                    pieces = rest;
                }
                SweepStep::Leaves(thread, last) => self.leaves(thread, last),
                SweepStep::Sample(sample) => {
                    let instant = self.instant();
                    self.split.criticality.sampled(sample, &instant);
                }
                SweepStep::Life(what) => self.happens(what),
            }
        }
    }

    fn advance(&mut self, to: u64) {
        if to <= self.now {
            return;
        }
        let time = seconds(to - self.now) / ONE as f64;
        self.split.on_cpu += self.running as f64 * time;
        // Time of a second thread, which may be a fraction of one where stretches are summed up.
        let second = |weight: i64| (weight - ONE).clamp(0, ONE) as f64 * time;
        self.split.together += second(self.running);
        self.split.together_wanted += second(self.running + self.ready);
        self.split.surplus += (self.running - self.processors).max(0) as f64 * time;
        let idle = (self.processors - self.running).max(0);
        let compiling = self.present_of(Activity::Compiling);
        if compiling > 0 {
            // Processors that would be idle without the compiler, less those that ready threads would take. Its own would
            // be gone with it.
            let others = self.running - compiling;
            let its_own = self.present_of(Activity::CompilerReady) + self.present_of(Activity::CompilerPreempted);
            let ready = self.ready - its_own;
            let free = (self.processors - others).clamp(0, compiling) - ready;
            let present = self.present;
            let waiting = Activity::all().map(|kind| (kind, present.get(kind.index()).copied().unwrap_or(0)));
            self.split.beside_compiler.passes(compiling, free.max(0), idle, waiting, time);
        }
        if idle > 0 {
            self.split.idle += idle as f64 * time;
            self.charge(idle, time);
            if self.running < NEARLY_NOBODY {
                let instant = self.instant();
                let present = self.present;
                let kinds = Activity::all().filter(|k| present.get(k.index()).is_some_and(|w| *w > 0));
                self.split.criticality.nobody_ran(&instant, kinds, time * ONE as f64);
            }
        }
        self.now = to;
    }

    fn charge(&mut self, idle: i64, time: f64) {
        let unseen = (self.alive - self.covered).max(0);
        let first = idle.min(self.first);
        if first > 0 {
            self.first_so_far += first as f64 / self.first as f64 * time * ONE as f64;
        }
        let waiting = self.second + unseen;
        let second = (idle - first).min(waiting);
        if second > 0 {
            let each = second as f64 / waiting as f64 * time;
            self.second_so_far += each * ONE as f64;
            if unseen > 0 {
                self.charged.add(Activity::Unseen, each * unseen as f64);
            }
        }
        let nobody = idle - first - second;
        if nobody > 0 {
            *self.split.shapes.entry(self.shape()).or_default() += nobody as f64 * time;
        }
    }

    /// What is idle now, and why, in processors.
    fn instant(&self) -> Instant {
        let one = ONE as f64;
        let running = self.running as f64 / one;
        let idle = (self.processors - self.running).max(0);
        let mut why = Vec::new();
        let first = idle.min(self.first);
        let waiting = self.second + (self.alive - self.covered).max(0);
        let second = (idle - first).min(waiting);
        let share = |part: i64, of: i64| if of > 0 { part as f64 / of as f64 } else { 0.0 };
        let (of_first, of_second) = (share(first, self.first), share(second, waiting));
        for &kind in &self.kinds {
            let present = self.present_of(kind);
            if present <= 0 {
                continue;
            }
            let charged = match kind.tier() {
                Tier::First => of_first,
                Tier::Second => of_second,
                Tier::Running | Tier::Never => 0.0,
            };
            if charged > 0.0 {
                why.push((Idle::Waiting(kind), present as f64 / one * charged));
            }
        }
        if idle > first + second {
            why.push((Idle::Shape(self.shape()), (idle - first - second) as f64 / one));
        }
        Instant { running, why }
    }

    fn present_of(&self, kind: Activity) -> i64 {
        self.present.get(kind.index()).copied().unwrap_or(0)
    }

    fn shape(&self) -> Shape {
        match self.first_worker {
            None => Shape::OneThread,
            Some(first) if self.now < first => Shape::StartUp,
            Some(_) if self.now >= self.last_worker => Shape::Tail,
            Some(_) if self.workers == 0 => Shape::Between,
            Some(_) if self.ended > 0 => Shape::Finished,
            Some(_) if self.without_share => Shape::NoShare,
            Some(_) => Shape::TooFew,
        }
    }

    /// The pieces of a thread's stretch begin.
    fn enters(&mut self, thread: usize, pieces: &[Piece]) {
        let mut now = self.threads.get_mut(thread).map(|thread| std::mem::take(&mut thread.now)).unwrap_or_default();
        now.clear();
        for piece in pieces {
            let spent = seconds(piece.end - piece.start) * piece.weight as f64 / ONE as f64;
            self.spent.add(piece.kind, spent);
            now.push((*piece, self.changes(piece, piece.weight)));
        }
        if let Some(thread) = self.threads.get_mut(thread) {
            thread.now = now;
        }
    }

    /// They end. Of a million threads, only those that live take room for pieces.
    fn leaves(&mut self, thread: usize, last: bool) {
        let Some(mut charged) = self.threads.get_mut(thread).map(std::mem::take) else { return };
        for (piece, entered) in &charged.now {
            let so_far = self.changes(piece, -piece.weight);
            let seconds = (so_far - entered) * piece.weight as f64 / ONE as f64;
            if seconds > 0.0 {
                self.charged.add(piece.kind, seconds);
                self.add_wait(&mut charged.sum, piece.wait, seconds);
            }
        }
        if last {
            charged.now = Vec::new();
        }
        if let Some(thread) = self.threads.get_mut(thread) {
            *thread = charged;
        }
    }

    /// Adds what a piece of a thread is charged with to its wait. Most pieces have the wait of the one before.
    fn add_wait(&mut self, sum: &mut Option<(WaitId, f64)>, wait: Option<WaitId>, seconds: f64) {
        let Some(wait) = wait else { return };
        match sum {
            Some((same, sum)) if *same == wait => *sum += seconds,
            _ => {
                if let Some((wait, seconds)) = sum.replace((wait, seconds)) {
                    *self.split.by_wait.entry(wait).or_default() += seconds;
                }
            }
        }
    }

    /// What was found, after the last piece.
    fn finish(mut self) -> Split {
        for (wait, seconds) in self.threads.iter().filter_map(|thread| thread.sum) {
            *self.split.by_wait.entry(wait).or_default() += seconds;
        }
        self.split.spent = self.spent.found();
        self.split.charged = self.charged.found();
        self.split
    }

    /// Adds the weight of a piece; returns what one whole thread of its tier has been charged with so far.
    fn changes(&mut self, piece: &Piece, weight: i64) -> f64 {
        self.covered += weight;
        if piece.kind.is_ready() {
            self.ready += weight;
        }
        if let Some(present) = self.present.get_mut(piece.kind.index()) {
            *present += weight;
        }
        match piece.kind.tier() {
            Tier::Running => {
                self.running += weight;
                0.0
            }
            Tier::First => {
                self.first += weight;
                self.first_so_far
            }
            Tier::Second => {
                self.second += weight;
                self.second_so_far
            }
            Tier::Never => 0.0,
        }
    }

    fn happens(&mut self, what: What) {
        match what {
            What::WorkerBorn => {
                self.alive += ONE;
                self.workers += 1;
            }
            What::WorkerGone => {
                self.alive -= ONE;
                self.workers = self.workers.saturating_sub(1);
                self.ended = if self.workers == 0 { 0 } else { self.ended + 1 };
            }
            What::OtherBorn => self.alive += ONE,
            What::OtherGone => self.alive -= ONE,
            What::Begin | What::End | What::Sample => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::WaitReasons;
    use crate::model::Model;
    use recording::synthetic::{Sketch, us};

    #[test]
    fn one_thread_and_two_find_the_same() {
        let stack = "?@libc.so.6 < pthread_mutex_lock@libc.so.6 < take@app app.c:7 < work@app app.c:5";
        let sketch = Sketch::new(2).traced(3, |run| {
            for (at, name) in ["a", "b", "c"].into_iter().enumerate() {
                (0..2 * BATCH as u64).fold(run.thread_at(name, us(at as u64)), |thread, round| {
                    thread.runs(us(3 + round % 7), "work@app app.c:5").locks(1, us(2 + round % 5), stack, "a")
                });
            }
        });
        let tables = sketch.tables();
        let model = Model::new(&tables);
        let run = &model.traced[0];
        let reasons = WaitReasons::new(&model, run).reasons;
        let told = |by_two| {
            let found = swept(run, &reasons, by_two);
            let waits: BTreeMap<WaitId, f64> = found.by_wait.iter().map(|(wait, sum)| (*wait, *sum)).collect();
            assert!(!waits.is_empty() && found.idle > 0.0);
            let samples = found.criticality.during(|_| true);
            format!("{:?}", (found.idle, found.on_cpu, found.charged, found.spent, found.shapes, waits, samples))
        };
        assert_eq!(told(false), told(true));
    }
}
