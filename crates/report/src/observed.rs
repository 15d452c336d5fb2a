//! One traced run of an analysis, and what people call its parts.

use analyze::Analysis;
use analyze::account::lines::Why;
use analyze::account::profile::Profile;
use analyze::account::wakers::{MainWaker, ended_by, main_waker};
use analyze::answer::Queue;
use analyze::model::code::{self, Code};
use analyze::model::futex::{FutexWait, Purpose};
use analyze::model::{Model, Traced};
use analyze::words::reasons::reason;
use recording::tables::{Reason, Sample, Wait, Wake};
use recording::{QuickMap, StackId, ThreadId, WaitId};
use std::collections::BTreeMap;

/// One traced run, as the analysis understands it.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a, 't> {
    /// The run.
    pub traced: &'a Traced<'t>,
    /// The recording.
    pub model: &'a Model<'t>,
    /// Its futex waits, classified.
    pub futexes: &'a BTreeMap<WaitId, FutexWait<'t>>,
    /// What its waits are for.
    pub reasons: &'a QuickMap<WaitId, Why>,
    /// What its samples show; absent in a live view.
    pub profile: Option<&'a Profile<'t>>,
    /// Units of work that it did; 1 when the run is the unit.
    pub work: f64,
    /// Locks and pools as queues, of all runs of the recording.
    pub queues: &'a [Queue],
}

impl<'a, 't> Observed<'a, 't> {
    /// The traced runs, ascending by thread count.
    pub fn all(analysis: &'a Analysis<'_, 't>) -> impl DoubleEndedIterator<Item = Observed<'a, 't>> {
        analysis.ledgers.iter().map(|ledger| Observed {
            traced: ledger.traced,
            model: analysis.model,
            futexes: &ledger.futexes,
            reasons: &ledger.reasons,
            profile: Some(&ledger.profile),
            work: ledger.work,
            queues: &analysis.answer.queues,
        })
    }

    /// The traced run at a thread count of the answer; without one the run at the largest.
    pub fn at(analysis: &'a Analysis<'_, 't>, threads: Option<u32>) -> Option<Observed<'a, 't>> {
        match threads {
            Some(threads) => Observed::all(analysis).find(|o| o.traced.shown_count() == threads),
            None => Observed::all(analysis).next_back(),
        }
    }

    /// The baseline: the traced run at the smallest count that has one.
    pub fn base(analysis: &'a Analysis<'_, 't>) -> Option<Observed<'a, 't>> {
        Observed::all(analysis).next()
    }
}

/// `simulate (birthday.c:41)`: the program's own code if there is any, else the innermost function.
pub(crate) fn place_of(code: Option<Code<'_>>) -> String {
    code.map(|c| code::place(&c.site())).unwrap_or_default()
}

impl<'t> Observed<'_, 't> {
    /// Its own locks and pools as queues.
    pub fn queues(&self) -> impl Iterator<Item = &Queue> {
        self.queues.iter().filter(|queue| queue.threads == self.traced.shown_count())
    }

    /// The samples of the whole run: those of [`Traced`] are of its measured part.
    pub(crate) fn samples(&self) -> impl Iterator<Item = &'t Sample> {
        let run = self.traced.run.run;
        self.model.tables.samples.iter().filter(move |sample| sample.run == run)
    }

    /// A thread as people tell it from others: its name and its id.
    pub fn thread(&self, thread: ThreadId) -> String {
        match self.traced.threads.get(&thread) {
            Some(t) if t.name.is_empty() => t.tid.to_string(),
            Some(t) => format!("{} {}", t.name, t.tid),
            None => format!("thread {thread}"),
        }
    }

    /// The place of a stack in two parts: the library function that was called, and the program's own code.
    pub fn where_(&self, stack: Option<StackId>, in_call: bool) -> (String, String) {
        let view = self.model.stacks.view(stack, in_call);
        let entry = view.entry.or(if view.own.is_none() { view.leaf } else { None });
        (entry.and_then(|c| c.name()).map(str::to_owned).unwrap_or_default(), place_of(view.own))
    }

    /// What a wait is for.
    pub fn why(&self, wait: &Wait) -> Why {
        self.reasons.get(&wait.wait).copied().unwrap_or(Why::Unknown)
    }

    /// True for a wait for a lock of the program or its libraries, including locks whose wait has another reason, such
    /// as the allocator's.
    pub fn is_for_lock(&self, wait: &Wait) -> bool {
        let by_futex = self.futexes.get(&wait.wait).is_some_and(|futex| futex.purpose == Purpose::Lock);
        by_futex || self.why(wait) == Why::Lock
    }

    /// The address of the lock that a wait is for; none where the wait does not tell it, as of a goroutine, or of a thread
    /// that sleeps for a moment before it tries again.
    pub(crate) fn lock_address(&self, wait: &Wait) -> Option<u64> {
        wait.object.filter(|_| wait.reason == Reason::Futex)
    }

    /// What a wait is for: `kernel lock mmap_lock`, `file or device /tmp/x`.
    pub(super) fn reason(&self, wait: &Wait) -> String {
        self.named(self.why(wait), wait)
    }

    fn named(&self, why: Why, wait: &Wait) -> String {
        let words = reason(why);
        // A lock without a name is called `lock taken in` a function: here the word `lock` must not be said twice.
        let what = wait.what.as_deref().map(|what| match why {
            Why::Lock | Why::KernelLock => what.trim_start_matches("lock "),
            _ => what,
        });
        what.map_or_else(|| words.to_owned(), |what| format!("{words} {what}"))
    }

    /// A wait in words: `lock in random, from simulate (birthday.c:41)`.
    pub fn wait_in_words(&self, wait: &Wait) -> String {
        self.block_in_words(self.why(wait), wait)
    }

    /// The same for one block, which may have had another reason than most blocks of its wait.
    pub(crate) fn block_in_words(&self, why: Why, wait: &Wait) -> String {
        let (entry, own) = self.where_(wait.user_stack, wait.syscall.is_some());
        let mut words = self.named(why, wait);
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

    /// The thread that ended a wait; none for the kernel.
    pub(crate) fn ended_by(&self, wait: &Wait, wake: &Wake) -> Option<ThreadId> {
        ended_by(self.traced, self.why(wait), wait, wake)
    }

    /// The thread that ended most of a wait's blocked time.
    pub(crate) fn main_waker(&self, wait: &Wait) -> Option<MainWaker> {
        main_waker(self.traced, self.why(wait), wait.wait)
    }
}
