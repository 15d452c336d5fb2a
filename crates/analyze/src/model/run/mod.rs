//! One observed run with its rows: threads, what they waited for, who woke them, samples. Rooms: [`timelines`]
//! its slices in the order of threads; [`clocked`] the waits that only the clock ends; [`without_share`] workers that get no work.
//!
//! May import: `code`, `linux`, `similar_threads`, `stacks`, `task_pools`, `task_sleeps`, `tasks`, `runtimes`, `statistics`, `recording`.

mod clocked;
pub mod timelines;
mod without_share;

pub(super) use clocked::clocked;
pub(super) use without_share::without_share;

use super::similar_threads::{self, Calls};
use super::stacks::Stacks;
use super::task_pools::TaskPool;
use super::task_sleeps::TaskSleeps;
use super::tasks::Tasks;
use crate::runtimes::{Service, kernel};
use crate::statistics::MIN_SHARE;
use recording::meta::Counted;
use recording::tables::{
    CallSite, FaultSite, Foreign, KernelLock, Peer, PeerSide, Run, Sample, Slice, State, Syscall, Thread, Trace, Wait,
    Wake,
};
use recording::{QuickMap, ThreadId, WaitId};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::OnceLock;
use timelines::Timelines;

/// More processors than Linux can be built for; keeps sums of a hostile recording within their types.
///
/// Decides: how many processors a run is taken to have at most.
/// From: the largest number that Linux can be built for is 8192.
/// Shown by: `hostile_tables_get_an_answer`.
/// Wrong if: never; no kernel supports as many.
const MOST_PROCESSORS: u32 = 1 << 16;

/// A thread that runs for less than this share of its life is no worker: a timer, a signal handler, a logger, a main
/// thread that waits for the others.
///
/// Decides: which threads' waiting is ignored, and whether the first thread is only a launcher.
/// From: arithmetic: five such threads could not make up the smallest loss that is called a cause.
/// Shown by: `a_timer_thread_takes_no_blame`, `threads_that_hardly_run_are_the_workers_where_no_other_does`.
/// Wrong if: a thread hands out all work, waits for a remote answer before each part, and hardly runs: its waiting for
/// the answer is not reported.
const HELPER_SHARE: f64 = MIN_SHARE / 5.0;

/// The same limit for a thread that exists whatever the thread count: it works only when called, like a runtime's
/// garbage collectors and compilers.
///
/// Decides: whether a thread that exists whatever the thread count, like a garbage collector, counts as a stage of the
/// program, which others may wait for.
/// From: chosen: the busiest of Java's own threads ran for a twentieth of its life, in a program that allocates little.
/// Shown by: `threads_of_a_runtime_that_wait_for_calls_hide_no_serial_phase`,
/// `a_stage_that_is_busy_for_longer_is_no_runtime_thread`.
/// Wrong if: a program allocates so much that a garbage collector runs for more than a fifth of its life: it is taken
/// for a stage.
const FIXED_THREAD_SHARE: f64 = 0.2;

/// Decides: which threads are helpers, and whether the first thread counts as a worker: who is blocked for less than this
/// share of its life only waited for a processor, and is one.
/// From: reasoned, not measured: on a busy machine a worker may hardly run, but is ready, not blocked.
/// Shown by: `a_timer_thread_takes_no_blame`, `threads_that_hardly_run_are_the_workers_where_no_other_does`.
/// Wrong if: a machine is so busy that a timer thread waits for a processor for most of its life: it counts as a worker.
const ONLY_WAITS: f64 = 0.5;

/// One traced run with its rows.
#[derive(Debug)]
pub struct Traced<'t> {
    /// The run.
    pub run: &'t Run,
    /// Its trace as a whole.
    pub trace: &'t Trace,
    /// True when the recording holds this one run and no timed one: then the thread count is the program's own choice.
    pub is_only_run: bool,
    /// What the count of its run counts: threads or processors.
    pub counted: Counted,
    /// Start and end of its measured part, nanoseconds: the time of its load; else the part that the program marks,
    /// where it also prints a rate; else the stretch that its rate covers, where that could be inferred; else the whole
    /// trace.
    pub measured: (u64, u64),
    /// Its threads, by handle.
    pub threads: BTreeMap<ThreadId, &'t Thread>,
    /// Its timelines, thread by thread, each in the order of time.
    pub slices: Timelines<'t>,
    /// Its waits, by handle.
    pub waits: BTreeMap<WaitId, &'t Wait>,
    /// Who ended them.
    pub wakes: QuickMap<WaitId, Vec<&'t Wake>>,
    /// Waits that the program's own threads and processes end, by writing or reading at the other end.
    pub handed: HashSet<WaitId>,
    /// Waits for events that only the clock ends.
    pub clocked: HashSet<WaitId>,
    /// True where waits for pipes, sockets and events are ended by the program's own threads.
    pub own_events: bool,
    /// Why threads of a task scheduler sleep.
    pub task_sleeps: TaskSleeps,
    /// Limited resources that its tasks pass to each other.
    pub task_pools: Vec<TaskPool>,
    /// Its tasks, where samples tell them.
    pub tasks: Tasks<'t>,
    /// Its waiting tasks were looked at often enough that a lock which they wait for would show.
    pub tasks_seen: bool,
    /// Times at which fewer tasks than processors were left to run (see [`Tasks::fewer_than`]): start and end, in
    /// order.
    pub few_tasks_left: Vec<(u64, u64)>,
    /// Waits for a condition where threads gather, as at a barrier.
    pub gatherings: BTreeSet<WaitId>,
    /// Threads that exist whatever the thread count, as far as names tell.
    pub fixed_threads: HashSet<ThreadId>,
    /// Threads that a runtime started for itself, and what they do.
    pub services: HashMap<ThreadId, Service>,
    /// Workers that get no work: they wait all the time where another one takes its work.
    pub without_share: BTreeSet<ThreadId>,
    /// The share of the other threads' running time in which they ran tasks of a garbage collector, 0 to 1.
    pub collecting: f64,
    /// Its system calls.
    pub syscalls: Vec<&'t Syscall>,
    /// Its system calls by place and error.
    pub call_sites: Vec<&'t CallSite>,
    /// Its waits for locks inside the kernel.
    pub kernel_locks: Vec<&'t KernelLock>,
    /// Where its page faults came from.
    pub fault_sites: Vec<&'t FaultSite>,
    /// Other programs that ran at the same time.
    pub foreign: Vec<&'t Foreign>,
    /// What its threads exchanged over TCP and sockets in the file system.
    pub peers: Vec<&'t Peer>,
    /// The service that ends most of a wait at sockets, where one does.
    pub service_waits: HashMap<WaitId, &'t Peer>,
    /// Its CPU samples.
    pub samples: Vec<&'t Sample>,
    /// See [`Traced::thread_calls`].
    pub(super) thread_calls: OnceLock<BTreeMap<ThreadId, Calls>>,
}

impl<'t> Traced<'t> {
    /// The calls of each thread that has samples, by which threads are compared. They are summed up when they are first
    /// asked for, and must not be before the samples of the measured part are chosen.
    pub fn thread_calls(&self, stacks: &Stacks<'_>) -> &BTreeMap<ThreadId, Calls> {
        self.thread_calls.get_or_init(|| similar_threads::calls(stacks, &self.samples))
    }

    /// The slices of a thread that touch a stretch of time, in order.
    pub fn within(&self, thread: ThreadId, start: u64, end: u64) -> impl Iterator<Item = Slice> + '_ {
        let line = self.slices.line(thread);
        let first = line.partition_point(|s| s.end_ns < start);
        line.from(first).take_while(move |s| s.start_ns <= end)
    }

    /// The blocked slices of these waits.
    pub fn blocked<'s>(
        &'s self,
        waits: impl IntoIterator<Item = &'s WaitId, IntoIter: 's>,
    ) -> impl Iterator<Item = Slice> + 's {
        self.slices.blocked(waits.into_iter().copied())
    }

    /// The count of its run in words: "4 threads", or "4 processors" where these are counted.
    pub fn count(&self) -> String {
        self.counted.many(self.shown_count())
    }

    /// The thread count that answers give for this run: the one that was asked for. For a single run none was asked for; then it
    /// is the number of threads that did more than wait.
    pub fn shown_count(&self) -> u32 {
        if self.is_only_run { self.asked() } else { self.run.threads }
    }

    /// True where a load asked the program for work; the measured part is then the time of the load.
    pub fn loaded(&self) -> bool {
        self.trace.load_begin_ns.is_some()
    }

    /// True for a server: a load asked it for work, or it ran already and listened at a socket.
    pub fn serves(&self) -> bool {
        self.loaded() || self.trace.listens == Some(true)
    }

    /// True where requests of clients were counted.
    pub fn answers(&self) -> bool {
        self.peers.iter().any(|peer| peer.side == PeerSide::Clients && peer.exchanges > 0)
    }

    /// Processors that the program could have used: min(threads, processors), at least 1. For a single run, whose
    /// program chose its thread count itself, all processors; where the sweep counts processors, those that the program
    /// was given. A program that used more than it was asked to (a pipeline of n threads plus two) could have used one
    /// for each of its working threads.
    pub fn processors(&self) -> u32 {
        let threads = match self.is_only_run {
            true => self.trace.processors,
            false if self.counted == Counted::Processors => self.run.threads,
            false if self.uses_more() => self.run.threads.max(self.working()),
            false => self.run.threads,
        };
        threads.min(self.trace.processors).clamp(1, MOST_PROCESSORS)
    }

    /// True when the threads ran for more time than one processor per requested thread has, by more than the smallest
    /// loss that is called a cause. The time of a runtime's own threads, and of its collector's tasks, does not count. Always false where the sweep
    /// counts processors: no threads were requested, and nothing can run on more processors.
    pub fn uses_more(&self) -> bool {
        if self.counted == Counted::Processors {
            return false;
        }
        let own = self.threads.values().filter(|t| !self.services.contains_key(&t.thread));
        let ran = own.fold(0, |sum: u64, t| sum.saturating_add(t.running_ns)) as f64;
        let whole = self.trace.end_ns.saturating_sub(self.trace.begin_ns) as f64;
        let ran = ran * (1.0 - self.collecting);
        ran > (1.0 + MIN_SHARE) * whole * f64::from(self.run.threads)
    }

    /// Threads that were asked for. Where no number was asked for (a single run, a sweep that counts processors), the
    /// most that lived at once and did more than wait; at least 1.
    pub fn asked(&self) -> u32 {
        match self.is_only_run || self.counted == Counted::Processors {
            true => self.working(),
            false => self.run.threads,
        }
    }

    /// The most threads that lived at once and did more than wait, at least 1.
    fn working(&self) -> u32 {
        let helpers = self.helpers();
        // In a short run, a first thread that starts the others and then waits for them does not count as a helper yet.
        let waits = |t: &Thread| t.blocked_ns as f64 > ONLY_WAITS * t.end_ns.saturating_sub(t.start_ns) as f64;
        let starter = self.main().filter(|t| waits(t)).map(|t| t.thread);
        let workers = self.threads.values().filter(|t| !helpers.contains(&t.thread) && Some(t.thread) != starter);
        let mut changes: Vec<(u64, i32)> = workers.flat_map(|t| [(t.start_ns, 1), (t.end_ns, -1)]).collect();
        // At the same time, ends (-1) sort before starts (1).
        changes.sort_unstable();
        let mut alive = 0;
        let most = changes.into_iter().map(|(_, change)| {
            alive += change;
            alive
        });
        most.max().and_then(|most| u32::try_from(most).ok()).unwrap_or(1).max(1)
    }

    /// Threads that are no workers: a runtime's own, and those that hardly ever run. If all of the program's threads
    /// hardly run, these count as workers.
    pub fn helpers(&self) -> BTreeSet<ThreadId> {
        let starter = self.starter();
        let idle = |t: &&&Thread| {
            if let Some(since) = starter.filter(|s| s.thread == t.thread) {
                return since.only_waits();
            }
            let life = t.end_ns.saturating_sub(t.start_ns) as f64;
            let most = if self.fixed_threads.contains(&t.thread) { FIXED_THREAD_SHARE } else { HELPER_SHARE };
            (t.running_ns as f64) < most * life && t.blocked_ns as f64 > ONLY_WAITS * life
        };
        let serves = |t: &&&Thread| self.services.contains_key(&t.thread);
        let stands = |t: &&&Thread| serves(t) || self.fixed_threads.contains(&t.thread);
        let everybody = self.threads.values().filter(|t| !stands(t)).all(|t| idle(&t));
        let helps = |t: &&&Thread| serves(t) || idle(t) && (!everybody || stands(t));
        self.threads.values().filter(helps).map(|t| t.thread).collect()
    }

    /// The main thread, from when it starts the first thread that works; `None` where it starts none or never blocks
    /// after that.
    fn starter(&self) -> Option<Starter> {
        let main = self.main()?;
        let others = self.threads.values().filter(|t| t.parent == Some(main.thread));
        let works = |t: &&&Thread| {
            let life = t.end_ns.saturating_sub(t.start_ns) as f64;
            !self.services.contains_key(&t.thread) && t.running_ns as f64 >= HELPER_SHARE * life
        };
        let since = others.filter(works).map(|t| t.start_ns).min()?;
        let mut found = Starter { thread: main.thread, life: main.end_ns.saturating_sub(since), ran: 0, blocked: 0 };
        for slice in self.slices.line(main.thread).iter().filter(|s| s.start_ns >= since) {
            match slice.state {
                State::Running => found.ran = found.ran.saturating_add(slice.spent_ns),
                State::Blocked => found.blocked = found.blocked.saturating_add(slice.spent_ns),
                _ => {}
            }
        }
        (found.blocked > 0).then_some(found)
    }

    /// Calls of one number by all threads.
    pub fn calls(&self, number: u32) -> u64 {
        self.syscalls.iter().filter(|s| s.number == number).fold(0, |n, s| n.saturating_add(s.count))
    }

    /// The process of a thread: the same futex address in two processes may be two futexes.
    pub fn pid(&self, thread: ThreadId) -> Option<u32> {
        self.threads.get(&thread).map(|t| t.pid)
    }

    /// The thread that starts the others: the first thread, or the only thread that it creates if it just waits for
    /// that one to end, as the launcher of a Java program does.
    pub fn main(&self) -> Option<&'t Thread> {
        // The times of threads that existed when observing began, or that only /proc showed, do not tell their order:
        // of the oldest process, the main thread comes first.
        let oldest = self.threads.values().min_by_key(|t| (t.start_ns, t.tid != t.pid, t.thread))?;
        let of_oldest = |t: &&'t Thread| t.pid == oldest.pid;
        let first =
            self.threads.values().copied().filter(of_oldest).min_by_key(|t| (t.tid != t.pid, t.start_ns, t.thread))?;
        let mut created = self.threads.values().filter(|t| t.parent == Some(first.thread));
        let life = first.end_ns.saturating_sub(first.start_ns) as f64;
        match (created.next(), created.next()) {
            (Some(only), None)
                if (first.running_ns as f64) < HELPER_SHARE * life
                    && self.threads.values().any(|t| t.parent == Some(only.thread)) =>
            {
                Some(only)
            }
            _ => Some(first),
        }
    }

    /// Wall time of the measured part, nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.measured.1.saturating_sub(self.measured.0)
    }

    /// The kernel threads' share of the time that others had the processors, 0 to 1. They do deferred work of programs,
    /// of this one most of all: freed memory, writes, packets. They cannot be stopped.
    pub fn kernel_threads(&self) -> f64 {
        let (mut all, mut kernel) = (0.0, 0.0);
        for other in &self.foreign {
            all += other.running_ns as f64;
            kernel += if kernel::is_thread(&other.name) { other.running_ns as f64 } else { 0.0 };
        }
        if all > 0.0 { kernel / all } else { 0.0 }
    }

    /// The measured part's share of the trace, 0 to 1.
    pub fn measured_share(&self) -> f64 {
        let whole = self.trace.end_ns.saturating_sub(self.trace.begin_ns);
        if whole == 0 { 1.0 } else { self.length_ns() as f64 / whole as f64 }
    }
}

/// The thread that starts the others, from then on. Times are nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Starter {
    thread: ThreadId,
    life: u64,
    ran: u64,
    blocked: u64,
}

/// If the thread that starts the others has run for less than this share of its time since then, it only waits for
/// them, whether in an event loop, at a channel or at a condition.
///
/// Decides: whether the waiting of the thread that starts the others is ignored.
/// From: arithmetic: one thread that runs for less than the smallest loss that is called a cause cannot bring about a
/// cause by not running.
/// Shown by: `who_starts_the_others_and_then_waits_is_no_worker`, `who_hands_out_the_work_is_one`.
/// Wrong if: the others wait for what it hands out, and waking it takes longer than its work: their waiting is still
/// reported, but its own is not.
const STARTER_SHARE: f64 = MIN_SHARE;

impl Starter {
    /// True where it does nothing but wait for the others.
    fn only_waits(&self) -> bool {
        (self.ran as f64) < STARTER_SHARE * self.life as f64 && self.blocked as f64 > ONLY_WAITS * self.life as f64
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Model;
    use recording::synthetic::{Sketch, ms};

    /// The index among these threads of the main one. Its number is the process's; it starts `late_ns` after the other.
    fn main_of(names: [&str; 2], late_ns: u64) -> usize {
        let sketch = Sketch::new(2).traced(2, |run| {
            names.iter().for_each(|name| {
                run.thread(name).runs(ms(10), "main@app app.c:3");
            })
        });
        let mut tables = sketch.tables();
        let pid = tables.threads[0].pid;
        for thread in &mut tables.threads {
            match thread.name.as_str() {
                "app" => (thread.tid, thread.start_ns) = (pid, thread.start_ns + late_ns),
                _ => thread.tid = pid + 1,
            }
        }
        let main = Model::new(&tables).traced[0].main().map(|t| t.name.clone());
        names.iter().position(|name| Some(*name) == main.as_deref()).unwrap()
    }

    #[test]
    fn of_threads_that_began_together_the_process_s_own_is_the_first() {
        assert_eq!(main_of(["worker", "app"], 0), 1);
    }

    #[test]
    fn a_thread_that_seems_older_than_its_process_is_not_its_main_thread() {
        // As /proc tells it: in steps of 10 ms.
        assert_eq!(main_of(["app", "worker"], 7_000_000), 0);
    }
}
