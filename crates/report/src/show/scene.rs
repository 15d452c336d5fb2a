//! A recording with what the analysis found in it, ready to be shown. May import: analyze, recording.

use analyze::account::pieces::Why;
use analyze::code::{self, Code};
use analyze::curve::Clean;
use analyze::model::{Model, Traced};
use analyze::waits::{FutexWait, Purpose, classify};
use recording::tables::{Reason, Wait, Wake};
use recording::{StackId, Tables, ThreadId, WaitId};
use std::collections::BTreeMap;

/// A whole recording.
#[derive(Debug)]
pub struct Scene<'t> {
    /// Indexes over the tables.
    pub model: &'t Model<'t>,
    /// The timed runs.
    pub clean: Clean<'t>,
    /// Futex waits of each traced run, classified, in the order of `model.traced`.
    futexes: Vec<BTreeMap<WaitId, FutexWait<'t>>>,
}

/// One traced run.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a, 't> {
    /// The run.
    pub traced: &'a Traced<'t>,
    /// The recording.
    pub model: &'a Model<'t>,
    /// Its futex waits.
    pub futexes: &'a BTreeMap<WaitId, FutexWait<'t>>,
    /// Units of work that it did; 1 when the run is the unit.
    pub work: f64,
}

impl<'t> Scene<'t> {
    /// Classifies the waits of all traced runs.
    pub fn new(model: &'t Model<'t>) -> Scene<'t> {
        let futexes = model.traced.iter().map(|t| classify(t, &model.stacks, model.numbers)).collect();
        Scene { clean: Clean::new(model.tables), futexes, model }
    }

    /// The recording's rows.
    pub fn tables(&self) -> &'t Tables {
        self.model.tables
    }

    /// The traced runs, ascending by thread count.
    pub fn observed(&self) -> impl DoubleEndedIterator<Item = Observed<'_, 't>> {
        self.model.traced.iter().zip(&self.futexes).map(|(traced, futexes)| Observed {
            traced,
            model: self.model,
            futexes,
            work: work(&self.clean, traced),
        })
    }

    /// The traced run at a thread count; without one the run at the largest.
    pub fn at(&self, threads: Option<u32>) -> Option<Observed<'_, 't>> {
        match threads {
            Some(threads) => self.observed().find(|o| o.traced.run.threads == threads),
            None => self.observed().next_back(),
        }
    }

    /// The traced run that others are compared with: at the smallest count that has one.
    pub fn base(&self) -> Option<Observed<'_, 't>> {
        self.observed().next()
    }
}

/// Units of work that an observed run did, as the account counts them: what is printed is a speed of the measured part, and
/// times its length it is the work done there. A run that printed nothing did as much as the timed ones.
fn work(clean: &Clean<'_>, traced: &Traced<'_>) -> f64 {
    let work = match traced.run.throughput {
        Some(_) if clean.by_throughput => clean.work(traced.run) * traced.measured_share(),
        _ => clean.median(traced.run.threads, |run| clean.work(run)).unwrap_or(1.0),
    };
    if work.is_finite() && work > 0.0 { work } else { 1.0 }
}

/// `simulate (birthday.c:41)`: where the program's own code is responsible, else the innermost function.
pub(crate) fn place_of(code: Option<Code<'_>>) -> String {
    code.map(|c| code::place(&c.site())).unwrap_or_default()
}

impl<'t> Observed<'_, 't> {
    /// A thread as people tell it from others: its name and its id.
    pub fn thread(&self, thread: ThreadId) -> String {
        match self.traced.threads.get(&thread) {
            Some(t) if t.name.is_empty() => t.tid.to_string(),
            Some(t) => format!("{} {}", t.name, t.tid),
            None => format!("thread {thread}"),
        }
    }

    /// Where a stack is, in two parts: the library function that was called, and the program's own place.
    pub fn where_(&self, stack: Option<StackId>, in_call: bool) -> (String, String) {
        let view = self.model.stacks.view(stack, in_call);
        let entry = view.entry.or(if view.own.is_none() { view.leaf } else { None });
        (entry.and_then(|c| c.name()).map(str::to_owned).unwrap_or_default(), place_of(view.own))
    }

    /// What a wait is for.
    pub fn why(&self, wait: &Wait) -> Why {
        match wait.reason {
            Reason::Futex => match self.futexes.get(&wait.wait).map(|f| f.purpose) {
                Some(Purpose::Lock) => Why::Lock,
                Some(Purpose::Condition) => Why::Condition,
                Some(Purpose::Barrier) => Why::Barrier,
                Some(Purpose::Join) => Why::Join,
                _ => Why::Futex,
            },
            Reason::Sleep => Why::Sleep,
            Reason::Io => Why::Io,
            Reason::Pipe | Reason::Poll => Why::Poll,
            Reason::Child => Why::Child,
            Reason::Fault | Reason::Reclaim => Why::Fault,
            Reason::KernelLock => Why::KernelLock,
            Reason::Exit | Reason::Other => Why::Call,
            Reason::None => Why::Unknown,
        }
    }

    /// What a wait is for: `kernel lock mmap_lock`, `file or device /tmp/x`.
    pub(super) fn reason(&self, wait: &Wait) -> String {
        let why = why_in_words(self.why(wait));
        // A lock without a name is called `lock taken in` a function.
        let what = wait
            .what
            .as_deref()
            .map(|what| if why.ends_with("lock") { what.trim_start_matches("lock ") } else { what });
        what.map_or_else(|| why.to_owned(), |what| format!("{why} {what}"))
    }

    /// A wait in words: `lock in random, from simulate (birthday.c:41)`.
    pub fn wait_in_words(&self, wait: &Wait) -> String {
        let (entry, own) = self.where_(wait.user_stack, wait.syscall.is_some());
        let mut words = self.reason(wait);
        if wait.reason != Reason::Futex
            && let Some(number) = wait.syscall
        {
            words += &format!(" in {}", self.model.call_name(number));
        } else if !entry.is_empty() {
            words += &format!(" in {entry}");
        }
        if !own.is_empty() {
            words += &format!(", from {own}");
        }
        words
    }

    /// The thread that ended a wait; none for the kernel. Whatever thread runs when a device has answered is interrupted
    /// to wake the one that waits for it: it has ended nothing, unless it was in a call that hands something over.
    pub(crate) fn ended_by(&self, wait: &Wait, wake: &Wake) -> Option<ThreadId> {
        wake.waker.filter(|_| self.why(wait) != Why::Io || self.traced.handed.contains(&wait.wait))
    }

    /// The thread that ended most of a wait's blocked time, and which share of it.
    pub fn waker(&self, wait: WaitId) -> Option<(ThreadId, f64)> {
        let rows = self.traced.wakes.get(&wait)?;
        let all: f64 = rows.iter().map(|w| w.blocked_ns as f64).sum();
        let mut by: BTreeMap<ThreadId, f64> = BTreeMap::new();
        for row in rows {
            if let Some(waker) = row.waker {
                *by.entry(waker).or_default() += row.blocked_ns as f64;
            }
        }
        by.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| all > 0.0).map(|(t, ns)| (t, ns / all))
    }
}

/// What a thread waits for, in words that follow "waits for".
pub fn why_in_words(why: Why) -> &'static str {
    match why {
        Why::Lock => "lock",
        Why::Allocator => "the allocator",
        Why::Creation => "thread creation",
        Why::Condition => "condition or queue",
        Why::Barrier => "barrier",
        Why::Join => "a thread's end",
        Why::Futex => "futex",
        Why::Ended => "other goroutines",
        Why::Task => "a task",
        Why::Sleep => "the clock",
        Why::Io => "file or device",
        Why::Poll => "pipe, socket or event",
        Why::Child => "child process",
        Why::Helper => "a call to act",
        Why::Fault => "page",
        Why::KernelLock => "kernel lock",
        Why::Call => "system call",
        Why::Unknown => "unknown",
    }
}
