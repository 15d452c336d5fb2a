//! Timelines as pieces: what each thread did, from when to when, and with which fraction of the thread.

use super::lines::Why;
use super::pool::out_of_work;
use crate::model::Traced;
use crate::model::futex::{FutexWait, Purpose};
use crate::model::resources::Pool;
use crate::model::stacks::Stacks;
use crate::model::task_sleeps::SleepReason;
use crate::model::timelines::ThreadLine;
use crate::runtimes::{Primitive, Service, Theme};
use recording::tables::{Reason, Slice, State, Wait};
use recording::{QuickMap, ThreadId, WaitId};
use std::collections::{BTreeMap, HashMap};

/// More than half: no other thread can have as much.
///
/// Decides: whether a thread that waits for requests, such as an acceptor, passes this reason on: threads that mostly
/// wait for it then count as waiting for the load, too.
/// From: the definition of a majority.
/// Shown by: `workers_of_an_idle_acceptor_wait_for_the_load`.
/// Wrong if: an acceptor waits for requests most of the time and still is what keeps its workers waiting: its part is
/// then booked to the load.
const MOST: f64 = 0.5;

/// One whole thread, as a weight. Weights are fixed-point integers, so that sums are exact in any order.
///
/// Decides: how finely a thread's time is divided among the things that it did.
/// From: arithmetic: 64 bits then hold the sum of two billion threads.
/// Shown by: `every_timeline_balances`.
/// Wrong if: never; no machine runs that many threads.
pub const ONE: i64 = 1 << 32;

/// What a thread did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Activity {
    /// It was on a processor.
    Running,
    /// It ran, and it is a thread of a runtime's compiler.
    Compiling,
    /// It waited.
    Blocked(Why),
    /// It had waited, was woken, and waited for a processor.
    Woken(Why),
    /// It waited for a processor, and was new or had waited for something unknown.
    Ready,
    /// It was taken off the processor.
    Preempted,
    /// It waited for a processor, and it is a thread of a runtime's compiler.
    CompilerReady,
    /// It was taken off the processor, and it is a thread of a runtime's compiler.
    CompilerPreempted,
    /// It lived, but the recording does not say what it did.
    Unseen,
}

/// In which order threads are charged for an idle processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// Uses a processor.
    Running,
    /// Was kept from running by a definite obstacle.
    First,
    /// Waits for what others bring: charged for idle processors beyond those charged to the first tier.
    Second,
    /// Could not have used a processor: it waits for others to end, or hardly ever runs.
    Never,
}

/// Activities without a reason.
const SIMPLE: [Activity; 7] = [
    Activity::Running,
    Activity::Ready,
    Activity::Preempted,
    Activity::Unseen,
    Activity::Compiling,
    Activity::CompilerReady,
    Activity::CompilerPreempted,
];

impl Activity {
    /// How many there are.
    pub const COUNT: usize = SIMPLE.len() + 2 * Why::ALL.len();

    /// All of them.
    pub fn all() -> impl Iterator<Item = Activity> + Clone {
        SIMPLE.into_iter().chain(Why::ALL.into_iter().flat_map(|w| [Activity::Blocked(w), Activity::Woken(w)]))
    }

    /// A number below [`Activity::COUNT`], for tables by kind.
    pub fn index(self) -> usize {
        match self {
            Activity::Running => 0,
            Activity::Ready => 1,
            Activity::Preempted => 2,
            Activity::Unseen => 3,
            Activity::Compiling => 4,
            Activity::CompilerReady => 5,
            Activity::CompilerPreempted => 6,
            Activity::Blocked(why) => SIMPLE.len() + why as usize,
            Activity::Woken(why) => SIMPLE.len() + Why::ALL.len() + why as usize,
        }
    }

    /// True for a thread that could run and has no processor.
    pub fn is_ready(self) -> bool {
        matches!(self, Activity::Preempted | Activity::Ready | Activity::Woken(_)) || self.is_ready_compiler()
    }

    /// The same for threads of a runtime's compiler alone.
    pub fn is_ready_compiler(self) -> bool {
        matches!(self, Activity::CompilerReady | Activity::CompilerPreempted)
    }

    /// How it is charged in a thread that hardly ever runs: most of its waits are no loss.
    fn of_helper(self) -> Activity {
        match self {
            Activity::Blocked(Why::Condition | Why::Futex | Why::Poll | Why::Unknown) => Activity::Blocked(Why::Helper),
            Activity::Blocked(Why::Sleep) => Activity::Blocked(Why::Clock),
            other => other,
        }
    }

    /// How it is charged in a thread that a runtime started for itself.
    fn of_service(self, service: Service) -> Activity {
        match self {
            Activity::Blocked(_) => Activity::Blocked(Why::Helper),
            Activity::Running if service == Service::Compiler => Activity::Compiling,
            Activity::Preempted if service == Service::Compiler => Activity::CompilerPreempted,
            ready if service == Service::Compiler && ready.is_ready() => Activity::CompilerReady,
            other => other,
        }
    }

    /// In which order it is charged.
    ///
    /// Decides: which threads are charged for an idle processor: those that something definite keeps from running first,
    /// then those that wait for what others bring; those that wait for others to end never.
    /// From: a thread that waits for a lock would run if it had it; a thread that waits for work would run only if another
    /// had made some, which is what the others are charged for.
    /// Shown by: `every_timeline_balances`.
    /// Wrong if: a thread waits for others to end and has work of its own: the idle processor is charged to others, or
    /// to none.
    pub fn tier(self) -> Tier {
        match self {
            Activity::Running | Activity::Compiling => Tier::Running,
            Activity::Woken(_) | Activity::Ready | Activity::Preempted => Tier::First,
            Activity::CompilerReady | Activity::CompilerPreempted => Tier::First,
            Activity::Unseen => Tier::Second,
            Activity::Blocked(why) => match why {
                Why::Lock | Why::Pool | Why::Allocator | Why::Creation => Tier::First,
                Why::Io | Why::Fault | Why::KernelLock | Why::Call => Tier::First,
                Why::Condition | Why::Barrier | Why::Futex | Why::Ended | Why::Task => Tier::Second,
                Why::Sleep | Why::Poll | Why::Request | Why::Reply | Why::Pause | Why::Unknown => Tier::Second,
                Why::Join | Why::Child | Why::Helper | Why::Clock => Tier::Never,
            },
        }
    }
}

/// A stretch of one thread's time in one state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Piece {
    /// Begin, nanoseconds, inside the measured part.
    pub start: u64,
    /// End, nanoseconds, after the start.
    pub end: u64,
    /// Fraction of the thread, [`ONE`] for all of it.
    pub weight: i64,
    /// What it did.
    pub kind: Activity,
    /// The wait that the thread was in or was woken from.
    pub wait: Option<WaitId>,
}

/// What the waits of a run are for. `pools`: waits for one of a few things.
pub fn reasons<'t>(
    traced: &Traced<'t>,
    stacks: &Stacks<'t>,
    futexes: &BTreeMap<WaitId, FutexWait<'t>>,
    pools: &[Pool<'t>],
) -> QuickMap<WaitId, Why> {
    let mut reasons: QuickMap<WaitId, Why> =
        traced.waits.values().map(|w| (w.wait, why(w, traced, stacks, futexes))).collect();
    let tasks = out_of_work(traced, stacks, &reasons);
    reasons.extend(tasks.into_iter().map(|wait| (wait, Why::Task)));
    reasons.extend(pools.iter().flat_map(|pool| &pool.waits).map(|wait| (*wait, Why::Pool)));
    let handed_on = handed_on(traced, &reasons);
    reasons.extend(handed_on.into_iter().map(|wait| (wait.wait, of_server(wait, traced))));
    reasons
}

/// Waits for other threads that themselves wait for the load most of the time, such as an acceptor: its workers wait
/// for the load too.
fn handed_on<'t>(traced: &Traced<'t>, reasons: &QuickMap<WaitId, Why>) -> Vec<&'t Wait> {
    let is = |wait: &Wait, whys: &[Why]| reasons.get(&wait.wait).is_some_and(|why| whys.contains(why));
    let mut asked: HashMap<ThreadId, u64> = HashMap::new();
    for wait in traced.waits.values().filter(|wait| is(wait, &[Why::Request, Why::Reply])) {
        let sum = asked.entry(wait.thread).or_default();
        *sum = sum.saturating_add(wait.blocked_ns);
    }
    let life = |thread: &ThreadId| traced.threads.get(thread).map(|t| t.end_ns.saturating_sub(t.start_ns));
    asked.retain(|thread, waited| life(thread).is_some_and(|life| *waited as f64 > MOST * life as f64));
    if asked.is_empty() {
        return Vec::new();
    }
    let mostly = |wait: &&Wait| {
        let wakes = traced.wakes.get(&wait.wait).map(Vec::as_slice).unwrap_or_default();
        let by_them = wakes.iter().filter(|wake| wake.waker.is_some_and(|waker| asked.contains_key(&waker)));
        let all: f64 = wakes.iter().map(|wake| wake.blocked_ns as f64).sum();
        by_them.map(|wake| wake.blocked_ns as f64).sum::<f64>() > MOST * all
    };
    let queues = traced.waits.values().copied().filter(|wait| is(wait, &[Why::Condition, Why::Task]));
    queues.filter(mostly).collect()
}

/// What threads were blocked for, slice by slice: the reason of the slice's wait, with a few exceptions.
#[derive(Debug, Clone, Copy)]
pub struct Blocks<'a, 't> {
    traced: &'a Traced<'t>,
    reasons: &'a QuickMap<WaitId, Why>,
}

impl<'a, 't> Blocks<'a, 't> {
    /// The blocks of a run with the given reasons of its waits.
    pub fn new(traced: &'a Traced<'t>, reasons: &'a QuickMap<WaitId, Why>) -> Blocks<'a, 't> {
        Blocks { traced, reasons }
    }

    /// What the thread of a blocked slice waited for. `single`: no slice of its stretch sums up several.
    pub fn reason(&self, slice: &Slice, single: bool) -> Why {
        let length = slice.end_ns.saturating_sub(slice.start_ns);
        match slice.wait {
            // A single sleep of a task scheduler's thread may end in another way than the rest of its wait.
            Some(wait) if single && self.traced.task_sleeps.is_exception(wait, length) => Why::Condition,
            Some(wait) => self.reasons.get(&wait).copied().unwrap_or(Why::Unknown),
            None => Why::Unknown,
        }
    }
}

/// The pieces of a run, thread by thread. `why`: the reasons of its waits.
pub fn pieces(traced: &Traced<'_>, why: &QuickMap<WaitId, Why>) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(traced.slices.len());
    let mut stretch = Vec::new();
    for mut thread in by_thread(traced, why) {
        while thread.next_stretch(&mut stretch) {
            pieces.append(&mut stretch);
        }
    }
    pieces
}

/// The pieces of each thread of a run, which are made one stretch at a time: a run may have millions.
pub fn by_thread<'a, 't>(
    traced: &'a Traced<'t>,
    why: &'a QuickMap<WaitId, Why>,
) -> impl Iterator<Item = ThreadPieces<'a, 't>> {
    let helpers = traced.helpers();
    traced.slices.lines().map(move |(thread, line)| {
        let kind = match traced.services.get(&thread) {
            Some(service) => ThreadKind::Service(*service),
            None if helpers.contains(&thread) => ThreadKind::Helper,
            None => ThreadKind::Worker,
        };
        let blocks = Blocks::new(traced, why);
        ThreadPieces { line, rest: None, blocks, measured: traced.measured, kind, before: None }
    })
}

/// How the waits of a thread are charged.
#[derive(Debug, Clone, Copy)]
enum ThreadKind {
    Worker,
    Helper,
    Service(Service),
}

/// The pieces of one thread.
#[derive(Debug)]
pub struct ThreadPieces<'a, 't> {
    line: ThreadLine<'a>,
    /// Where in the line it is, once it has begun: of a million threads, few live at a time.
    rest: Option<Box<Rest<'a>>>,
    blocks: Blocks<'a, 't>,
    measured: (u64, u64),
    kind: ThreadKind,
    /// The end of the last stretch, and the wait in it.
    before: Option<(u64, Option<WaitId>)>,
}

impl ThreadPieces<'_, '_> {
    /// A time before which no further piece begins.
    pub fn earliest(&self) -> Option<u64> {
        // It is asked for before the first stretch is taken.
        self.line.get(0).map(|slice| slice.start_ns.max(self.measured.0))
    }

    /// Replaces `pieces` by those of the next stretch in the measured part, which all begin and end at the same times.
    /// False after the last one.
    pub fn next_stretch(&mut self, pieces: &mut Vec<Piece>) -> bool {
        let (begin, end) = self.measured;
        pieces.clear();
        let rest = self.rest.get_or_insert_with(|| Box::new(Rest::new(self.line)));
        while let Some(first) = rest.take_stretch() {
            let stretch = rest.stretch.as_slice();
            if first.end_ns <= first.start_ns {
                continue;
            }
            let after = self.before.filter(|before| before.0 == first.start_ns).and_then(|before| before.1);
            let blocked = stretch.iter().rev().find(|s| s.state == State::Blocked);
            self.before = Some((first.end_ns, blocked.and_then(|s| s.wait)));
            // What lies outside the measured part does not count.
            if first.end_ns <= begin || first.start_ns >= end {
                continue;
            }
            cut(stretch, after, &self.blocks, pieces);
            pieces.retain(|piece| piece.weight != 0);
            for piece in pieces.iter_mut() {
                (piece.start, piece.end) = (piece.start.max(begin), piece.end.min(end));
                piece.kind = match self.kind {
                    ThreadKind::Worker => piece.kind,
                    ThreadKind::Helper => piece.kind.of_helper(),
                    ThreadKind::Service(service) => piece.kind.of_service(service),
                };
            }
            if !pieces.is_empty() {
                return true;
            }
        }
        (self.line, self.rest) = (self.line.without(), None);
        false
    }
}

/// Slices that are made at once: reading them one by one takes several times as long.
///
/// Decides: nothing in an answer, only how long it takes.
/// From: chosen: those of some hundred threads fit into a processor's cache.
/// Shown by: `one_thread_and_two_find_the_same`.
/// Wrong if: never; the slices are the same.
const AHEAD: usize = 32;

/// What is left of a thread's slices.
#[derive(Debug)]
struct Rest<'a> {
    line: ThreadLine<'a>,
    /// Slices of the line that have been made, and which of them are next.
    made: Vec<Slice>,
    at: usize,
    /// How many of the line have been made.
    until: usize,
    /// The slices that were taken last.
    stretch: Vec<Slice>,
}

impl<'a> Rest<'a> {
    fn new(line: ThreadLine<'a>) -> Rest<'a> {
        Rest { line, made: Vec::new(), at: 0, until: 0, stretch: Vec::new() }
    }

    fn next(&mut self) -> Option<&Slice> {
        if self.at == self.made.len() {
            self.at = 0;
            self.made.clear();
            self.line.read(self.until, AHEAD, &mut self.made);
            self.until += self.made.len();
        }
        self.made.get(self.at)
    }

    /// Takes the next slices that begin and end at the same times into `stretch`. Returns the first of them.
    fn take_stretch(&mut self) -> Option<Slice> {
        let first = *self.next()?;
        self.stretch.clear();
        while let Some(slice) =
            self.next().copied().filter(|s| (s.start_ns, s.end_ns) == (first.start_ns, first.end_ns))
        {
            self.stretch.push(slice);
            self.at += 1;
        }
        Some(first)
    }
}

/// The pieces of one stretch: one state, or several that share it in proportion to the time spent in each.
fn cut(stretch: &[Slice], after: Option<WaitId>, blocks: &Blocks<'_, '_>, pieces: &mut Vec<Piece>) {
    let Some(first) = stretch.first() else { return };
    let spent: u128 = stretch.iter().map(|s| u128::from(s.spent_ns)).sum();
    let whole = spent.max(u128::from(first.end_ns - first.start_ns));
    // Most stretches are one slice; dividing numbers of 128 bits takes long.
    let fraction = |part: u128| match part >= whole {
        true => ONE,
        false => i64::try_from(part * ONE as u128 / whole).unwrap_or(ONE).min(ONE),
    };
    let reason = |wait: Option<WaitId>| wait.and_then(|w| blocks.reasons.get(&w)).copied();
    let single = stretch.iter().all(|s| s.count == 1);
    let blocked = || stretch.iter().filter(|s| s.state == State::Blocked);
    let times: u128 = blocked().map(|s| u128::from(s.count)).sum();
    for slice in stretch {
        let mut add = |part: u128, kind, wait| {
            let weight = fraction(part);
            pieces.push(Piece { start: slice.start_ns, end: slice.end_ns, weight, kind, wait });
        };
        let spent = u128::from(slice.spent_ns);
        match slice.state {
            State::Running => add(spent, Activity::Running, None),
            State::Preempted => add(spent, Activity::Preempted, None),
            State::Unknown => add(spent, Activity::Unseen, None),
            State::Blocked => add(spent, Activity::Blocked(blocks.reason(slice, single)), slice.wait),
            // In a summed-up stretch every block ended with a wake-up.
            State::Runnable if times > 0 => blocked().for_each(|b| {
                let kind = reason(b.wait).map_or(Activity::Ready, Activity::Woken);
                add(spent * u128::from(b.count) / times, kind, b.wait);
            }),
            State::Runnable => add(spent, reason(after).map_or(Activity::Ready, Activity::Woken), after),
        }
    }
}

/// What a wait of a server at sockets or events is for.
fn of_server(wait: &Wait, traced: &Traced<'_>) -> Why {
    if traced.service_waits.contains_key(&wait.wait) { Why::Reply } else { Why::Request }
}

/// What a wait is for. What the library is busy with comes first: an allocator may wait for locks, pages or the kernel.
fn why(wait: &Wait, traced: &Traced<'_>, stacks: &Stacks<'_>, futexes: &BTreeMap<WaitId, FutexWait<'_>>) -> Why {
    if let Some(reason) = traced.task_sleeps.reason(wait.wait) {
        return match of_task(reason) {
            // What the program sends to itself comes from its own threads, so the wait is for one of them.
            Why::Poll if traced.own_events => Why::Condition,
            Why::Poll if traced.serves() => of_server(wait, traced),
            // A task that sleeps leaves its thread to others.
            Why::Sleep if traced.serves() && traced.answers() => Why::Pause,
            other => other,
        };
    }
    let view = stacks.view(wait.user_stack, wait.syscall.is_some());
    match view.theme {
        Some(Theme::Allocator) => return Why::Allocator,
        Some(Theme::Creation) => return Why::Creation,
        // The program's threads wait inside the collector for memory. Its own threads wait for work like any others.
        Some(Theme::Collector) if view.own.is_some() => return Why::Allocator,
        Some(Theme::Collector | Theme::Compiler) | None => {}
    }
    if view.service {
        return Why::Helper;
    }
    match wait.reason {
        Reason::None => Why::Unknown,
        // Some locks sleep for a moment before they try again.
        Reason::Sleep if view.primitive == Some(Primitive::Lock) => Why::Lock,
        Reason::Sleep => Why::Sleep,
        Reason::Io => Why::Io,
        Reason::Poll if traced.clocked.contains(&wait.wait) => Why::Sleep,
        // Whatever the program's own threads bring is work handed on, by whichever means.
        Reason::Pipe | Reason::Poll if traced.handed.contains(&wait.wait) => Why::Condition,
        // A pipe connects processes of one program: requests of a load do not come through it.
        Reason::Pipe | Reason::Poll if traced.serves() && !wait.is_at_pipe() => of_server(wait, traced),
        Reason::Pipe | Reason::Poll => Why::Poll,
        Reason::Child => Why::Child,
        Reason::Fault | Reason::Reclaim => Why::Fault,
        Reason::KernelLock => Why::KernelLock,
        Reason::Exit | Reason::Other => Why::Call,
        Reason::Futex => match futexes.get(&wait.wait).map_or(Purpose::Unknown, |w| w.purpose) {
            Purpose::Lock => Why::Lock,
            Purpose::Condition => Why::Condition,
            Purpose::Barrier => Why::Barrier,
            Purpose::Join => Why::Join,
            Purpose::Sleep => Why::Sleep,
            Purpose::Unknown => Why::Futex,
        },
    }
}

/// What a task scheduler's thread waits for. If nothing is known, it waits for work.
fn of_task(reason: SleepReason) -> Why {
    match reason {
        SleepReason::Waits(role) | SleepReason::Elsewhere(role) => match role {
            Primitive::Lock => Why::Lock,
            Primitive::Pool => Why::Pool,
            Primitive::Condition => Why::Condition,
            Primitive::Barrier => Why::Barrier,
            Primitive::Join => Why::Ended,
            Primitive::Sleep => Why::Sleep,
        },
        SleepReason::Ended => Why::Ended,
        SleepReason::Sleeps => Why::Sleep,
        SleepReason::Polls => Why::Poll,
        SleepReason::Spare => Why::Helper,
        SleepReason::Unknown => Why::Condition,
    }
}
