//! Slices and system calls as one sequence of spans per thread.

use crate::observed::Observed;
use analyze::account::lines::Why;
use analyze::account::pieces::Blocks;
use analyze::model::timelines::ThreadLine;
use recording::tables::{Call, Slice, State};
use recording::{ThreadId, WaitId};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What a thread did; each class has one colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    /// On a processor, in its own code as far as we know.
    User = 1,
    /// On a processor, in the kernel: in a system call, a page fault, an interrupt.
    System = 2,
    /// Woken, waiting for a processor.
    Runnable = 3,
    /// Taken off the processor.
    Preempted = 4,
    /// Waiting for a lock.
    Lock = 5,
    /// Waiting for a condition, a barrier, another thread, or a futex of unknown purpose.
    Wait = 6,
    /// Waiting for a file, a pipe, a socket, a child.
    Io = 7,
    /// Waiting for the clock.
    Sleep = 8,
    /// Waiting for a page or a lock inside the kernel.
    Kernel = 9,
    /// The recording does not say.
    Unknown = 10,
    /// On a processor, taking or releasing a lock, or in a futex call.
    Sync = 11,
    /// On a processor, in a loop that waits for another thread.
    Spin = 12,
    /// On a processor, in the memory allocator.
    Allocator = 13,
    /// On a processor, in a collector, a compiler, or making threads.
    Runtime = 14,
    /// On a processor; no sample near tells what it ran.
    Unsampled = 15,
}

impl Class {
    /// All of them, in the order of legends.
    pub const ALL: [Class; 15] = [
        Class::User,
        Class::Sync,
        Class::Spin,
        Class::System,
        Class::Allocator,
        Class::Runtime,
        Class::Unsampled,
        Class::Lock,
        Class::Wait,
        Class::Kernel,
        Class::Io,
        Class::Sleep,
        Class::Runnable,
        Class::Preempted,
        Class::Unknown,
    ];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Class::User => "running, own code",
            Class::Sync => "running, lock and futex code",
            Class::Spin => "running, spinning",
            Class::System => "running, in the kernel",
            Class::Allocator => "running, memory allocator",
            Class::Runtime => "running, work of the runtime",
            Class::Unsampled => "running, not sampled",
            Class::Runnable => "woken, waiting for a processor",
            Class::Preempted => "preempted",
            Class::Lock => "waiting for a lock",
            Class::Wait => "waiting for other threads",
            Class::Io => "waiting for input or output",
            Class::Sleep => "sleeping",
            Class::Kernel => "waiting for a kernel lock or a page",
            Class::Unknown => "not recorded",
        }
    }

    /// The name in style sheets.
    pub fn key(self) -> &'static str {
        match self {
            Class::User => "user",
            Class::Sync => "sync",
            Class::Spin => "spin",
            Class::System => "system",
            Class::Allocator => "allocator",
            Class::Runtime => "runtime",
            Class::Unsampled => "unsampled",
            Class::Runnable => "runnable",
            Class::Preempted => "preempted",
            Class::Lock => "lock",
            Class::Wait => "wait",
            Class::Io => "io",
            Class::Sleep => "sleep",
            Class::Kernel => "kernel",
            Class::Unknown => "unknown",
        }
    }

    /// True while a thread is on a processor.
    pub fn runs(self) -> bool {
        match self {
            Class::User | Class::System | Class::Sync | Class::Spin => true,
            Class::Allocator | Class::Runtime | Class::Unsampled => true,
            Class::Lock | Class::Wait | Class::Io | Class::Sleep | Class::Kernel => false,
            Class::Runnable | Class::Preempted | Class::Unknown => false,
        }
    }

    /// True for what runs without getting on: drawn with a line through its bar.
    pub fn is_struck(self) -> bool {
        matches!(self, Class::Sync | Class::Spin)
    }

    /// The class of a wait.
    pub fn of_wait(why: Why) -> Class {
        match why {
            Why::Lock | Why::Pool | Why::Allocator => Class::Lock,
            Why::Condition | Why::Barrier | Why::Join | Why::Futex | Why::Ended | Why::Task => Class::Wait,
            Why::Helper | Why::Creation => Class::Wait,
            Why::Io | Why::Poll | Why::Request | Why::Reply | Why::Child | Why::Call => Class::Io,
            Why::Sleep | Why::Clock | Why::Pause => Class::Sleep,
            Why::Fault | Why::KernelLock => Class::Kernel,
            Why::Unknown => Class::Unknown,
        }
    }
}

/// A class with the details that are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    /// The colour.
    pub class: Class,
    /// Details in words: the system call, the lock and its place.
    pub label: String,
    /// The thread that ends most of such waits, and its share of them.
    pub waker: Option<(ThreadId, f64)>,
}

/// A stretch of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Begin.
    pub start: u64,
    /// End, after the begin.
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
    /// Begin of the run.
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

/// Beyond this number, kinds are not told apart: otherwise a recording with forty thousand waits for joins would need
/// as many names.
const MOST_KINDS: usize = 4096;

struct Kinds<'a, 'o, 't> {
    observed: &'o Observed<'a, 't>,
    kinds: Vec<Kind>,
    plain: BTreeMap<Class, u32>,
    calls: HashMap<u32, u32>,
    blocks: Blocks<'o, 't>,
    waits: HashMap<(WaitId, Why), u32>,
    /// Equal labels share a kind.
    equal: HashMap<(Class, String, Option<ThreadId>), u32>,
}

impl Kinds<'_, '_, '_> {
    fn add(&mut self, kind: Kind) -> u32 {
        let key = (kind.class, kind.label.clone(), kind.waker.map(|w| w.0));
        if let Some(known) = self.equal.get(&key) {
            return *known;
        }
        if self.kinds.len() >= MOST_KINDS && !kind.label.is_empty() {
            return self.plain(kind.class);
        }
        let index = self.kinds.len() as u32;
        self.kinds.push(kind);
        self.equal.insert(key, index);
        index
    }

    fn plain(&mut self, class: Class) -> u32 {
        if let Some(known) = self.plain.get(&class) {
            return *known;
        }
        let index = self.add(Kind { class, label: String::new(), waker: None });
        self.plain.insert(class, index);
        index
    }

    fn call(&mut self, number: u32) -> u32 {
        if let Some(known) = self.calls.get(&number) {
            return *known;
        }
        let kind = Kind { class: Class::System, label: self.observed.model.call_name(number), waker: None };
        let index = self.add(kind);
        self.calls.insert(number, index);
        index
    }

    fn wait(&mut self, id: WaitId, why: Why) -> u32 {
        if let Some(known) = self.waits.get(&(id, why)) {
            return *known;
        }
        let class = Class::of_wait(why);
        let index = match self.observed.traced.waits.get(&id) {
            Some(wait) => {
                let mut label = self.observed.block_in_words(why, wait);
                if let (Class::Lock, Some(object)) = (class, wait.object) {
                    label += &format!(" [{object:#x}]");
                }
                self.add(Kind { class, label, waker: self.observed.waker(id) })
            }
            None => self.plain(class),
        };
        self.waits.insert((id, why), index);
        index
    }

    /// `single`: each slice of the stretch is one event, not the sum of several.
    fn slice(&mut self, slice: &Slice, single: bool) -> u32 {
        match (slice.state, slice.wait) {
            (State::Running, _) => self.plain(Class::User),
            (State::Runnable, _) => self.plain(Class::Runnable),
            (State::Preempted, _) => self.plain(Class::Preempted),
            (State::Blocked, wait) => {
                let why = self.blocks.reason(slice, single);
                match wait {
                    Some(wait) => self.wait(wait, why),
                    None => self.plain(Class::of_wait(why)),
                }
            }
            (State::Unknown, _) => self.plain(Class::Unknown),
        }
    }
}

impl Timeline {
    /// The lanes of a run: at most `most` threads, the longest-lived ones.
    pub fn new(observed: &Observed<'_, '_>, most: usize) -> Timeline {
        let traced = observed.traced;
        let (begin, end) = (traced.trace.begin_ns, traced.trace.end_ns);
        let mut threads: Vec<_> = traced.threads.values().collect();
        threads.sort_by_key(|t| (std::cmp::Reverse(t.end_ns.saturating_sub(t.start_ns)), t.thread));
        let left_out = threads.len().saturating_sub(most);
        threads.truncate(most);
        threads.sort_by_key(|t| (t.start_ns, t.thread));
        let shown: HashSet<ThreadId> = threads.iter().map(|t| t.thread).collect();
        let mut calls: HashMap<ThreadId, Vec<&Call>> = HashMap::new();
        for call in observed.model.tables.calls.iter().filter(|c| c.run == traced.run.run) {
            if shown.contains(&call.thread) {
                calls.entry(call.thread).or_default().push(call);
            }
        }
        let mut kinds = Kinds {
            observed,
            kinds: Vec::new(),
            plain: BTreeMap::new(),
            calls: HashMap::new(),
            blocks: Blocks::new(traced, observed.reasons),
            waits: HashMap::new(),
            equal: HashMap::new(),
        };
        let lanes = threads.iter().map(|t| {
            let calls = calls.remove(&t.thread).unwrap_or_default();
            lane(t.thread, traced.slices.line(t.thread), calls, (begin, end), &mut kinds)
        });
        let lanes = lanes.collect();
        Timeline { begin, end, kinds: kinds.kinds, lanes, left_out }
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
    mut calls: Vec<&Call>,
    (begin, end): (u64, u64),
    kinds: &mut Kinds<'_, '_, '_>,
) -> Lane {
    calls.sort_by_key(|c| c.start_ns);
    let mut lane = Lane { thread, spans: Vec::with_capacity(line.len()), mixes: vec![Vec::new()] };
    let mut calls = calls.into_iter().peekable();
    let mut last = begin;
    let mut slices = line.iter().peekable();
    let mut stretch: Vec<Slice> = Vec::new();
    while let Some(first) = slices.next() {
        stretch.clear();
        stretch.push(first);
        while let Some(next) = slices.next_if(|s| (s.start_ns, s.end_ns) == (first.start_ns, first.end_ns)) {
            stretch.push(next);
        }
        // Overlapping rows come from a damaged recording: the earlier row wins.
        let (start, stop) = (first.start_ns.max(last), first.end_ns.min(end));
        if stop <= start {
            continue;
        }
        last = stop;
        let single = stretch.iter().all(|s| s.count == 1);
        if stretch.len() > 1 {
            let mut mix: Vec<(u32, u64)> = stretch.iter().map(|s| (kinds.slice(s, single), s.spent_ns)).collect();
            mix.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
            let kind = mix.first().map_or(0, |m| m.0);
            lane.spans.push(Span { start, end: stop, kind, mix: lane.mixes.len() as u32 });
            lane.mixes.push(mix);
            continue;
        }
        let kind = kinds.slice(&first, single);
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
                lane.spans.push(Span { start: from, end: to, kind: kinds.call(call.number), mix: 0 });
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
