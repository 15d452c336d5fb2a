//! The source for machines that forbid perf events too: files of /proc, read within a budget. They give exact sums of
//! times, and states and places at single moments.
//!
//! `readings` makes one thread's time of readings.
//!
//! May import: `build`, `error`, `events`, `procfs`, `sleeping`, `sources`, `stacks`, `task`, `recording`, libc.

mod readings;

use super::sleeping::{Budget, Inspected, ProcessorTime, Waits, inspect, own_time_ns};
use super::{LiveSource, Living, Source};
use crate::build::Builder;
use crate::error::Error;
use crate::events::{Event, ThreadLife, WaitPlace, Within};
use crate::procfs::{self, monotonic_ns};
use crate::stacks::Stacks;
use crate::task::{self, Activity, SchedulerTimes, Sleep, Stat, Switches};
use readings::{ReadThread, Reading, SeenState};
use recording::tables::Reason;
use recording::{ThreadId, WaitId};
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

/// A clock tick of /proc.
const TICK_NS: u64 = 10_000_000;

/// The name of a thread is read again at every so many readings: most programs name a thread at its beginning.
const RENAME: u32 = 16;

/// Running time that was missed: of threads that began and ended between two looks, and of others after their last
/// look.
const UNSEEN: &str = "milliseconds of processor time (of short threads, and of others after they were last seen)";

/// A thread: its time, and everything else.
#[derive(Debug)]
struct ListedThread {
    pid: u32,
    tid: u32,
    name: String,
    readings: u32,
    time: ReadThread,
}

/// The threads of a process and of those that it starts.
pub(crate) struct ProcSource {
    child: u32,
    /// The program that each process executes.
    programs: BTreeMap<u32, Option<PathBuf>>,
    threads: BTreeMap<(u32, u32), ListedThread>,
    /// The thread that is read next: the budget was spent before its turn.
    next: (u32, u32),
    handles: u32,
    waits: Waits,
    budget: Budget,
    begin_ns: Option<u64>,
    /// The target was running before: what its threads did before now does not count.
    attached: bool,
    /// When the threads were last listed: a new thread is younger.
    listed_ns: u64,
    processors: ProcessorTime,
    own_begin_ns: u64,
    own_spent_ns: u64,
    /// Time that was spent on unwinding during the current look.
    unwound_ns: u64,
}

impl ProcSource {
    /// `child` waits to execute the target.
    pub(crate) fn new(child: u32) -> ProcSource {
        let now_ns = monotonic_ns();
        ProcSource {
            child,
            programs: BTreeMap::new(),
            threads: BTreeMap::new(),
            next: (0, 0),
            handles: 0,
            waits: Waits::default(),
            budget: Budget::new(now_ns),
            begin_ns: None,
            attached: false,
            listed_ns: now_ns,
            processors: ProcessorTime::for_process(child),
            own_begin_ns: own_time_ns(),
            own_spent_ns: 0,
            unwound_ns: 0,
        }
    }

    /// To be called when the target is running already.
    pub(crate) fn attached(&mut self, now_ns: u64) {
        self.attached = true;
        self.begin_ns = Some(now_ns);
    }

    /// Notes processes that are new or execute another program than before. Before the child has executed the target,
    /// it is still a copy of knee.
    fn list_processes(&mut self, now_ns: u64, stacks: &mut Stacks<'_>) {
        if self.begin_ns.is_none() {
            let program = |pid: &str| std::fs::read_link(format!("/proc/{pid}/exe")).ok();
            let there = program(&self.child.to_string());
            if there.is_none() || there == program("self") {
                return;
            }
            self.begin_ns = Some(now_ns);
        }
        let mut alive = HashSet::new();
        let mut found = vec![self.child];
        while let Some(pid) = found.pop() {
            if !alive.insert(pid) {
                continue;
            }
            let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
            let same = self.programs.get(&pid).is_some_and(|before| *before == program || program.is_none());
            if !same {
                // The process number serves as the image number.
                stacks.execute(pid, pid);
                self.programs.insert(pid, program);
            }
            let threads = procfs::threads(pid);
            found.extend(threads.iter().flat_map(|tid| task::children(pid, *tid)));
            threads.into_iter().for_each(|tid| self.appears(pid, tid, now_ns));
        }
        self.attached = false;
        self.listed_ns = now_ns;
    }

    fn appears(&mut self, pid: u32, tid: u32, now_ns: u64) {
        if self.threads.contains_key(&(pid, tid)) {
            return;
        }
        let (Some(stat), Some(times)) = (task::stat(pid, tid), task::times(pid, tid)) else { return };
        if stat.ended {
            return;
        }
        let thread = ThreadId(self.handles);
        self.handles += 1;
        let first = (pid, tid) == (self.child, self.child);
        if first {
            // The program's threads cannot be older than it, whatever the tick says that a thread started in.
            self.listed_ns = now_ns;
        }
        let time = if first || self.attached {
            // What it did before it executed the target does not count: it was knee.
            ReadThread::new(thread, now_ns, times, task::switches(pid, tid).unwrap_or_default())
        } else {
            let born_ns = born_ns(&stat, self.listed_ns, now_ns.saturating_sub(times.running_ns + times.queued_ns));
            ReadThread::new(thread, born_ns, SchedulerTimes::default(), Switches::default())
        };
        self.threads.insert((pid, tid), ListedThread { pid, tid, name: stat.name, readings: 0, time });
    }

    /// Reads threads in turn as far as the budget goes.
    fn read_threads(&mut self, stacks: &mut Stacks<'_>, to: &mut Builder) {
        let behind = self.threads.range(self.next..).map(|(id, _)| *id);
        let before = self.threads.range(..self.next).map(|(id, _)| *id);
        let in_turn: Vec<(u32, u32)> = behind.chain(before).collect();
        for id in in_turn {
            self.next = id;
            if !self.budget.allows() {
                return;
            }
            let from_ns = monotonic_ns();
            if !self.read(id, stacks, to) {
                self.close(id, from_ns, to);
            }
            let unwound_ns = std::mem::take(&mut self.unwound_ns);
            self.budget.spend(monotonic_ns().saturating_sub(from_ns).saturating_sub(unwound_ns));
        }
        self.next = (0, 0);
    }

    /// Reads one thread. False when it has ended.
    fn read(&mut self, id: (u32, u32), stacks: &mut Stacks<'_>, to: &mut Builder) -> bool {
        let (pid, tid) = id;
        let Some(listed) = self.threads.get(&id) else { return true };
        let (thread, readings, was) = (listed.time.thread, listed.readings, listed.time.switches);
        let Some(times) = task::times(pid, tid) else { return false };
        let now_ns = monotonic_ns();
        let (switches, seen) = if listed.time.stands_still(times) {
            (was, SeenState::Same)
        } else {
            (task::switches(pid, tid).unwrap_or(was), self.look(thread, pid, tid, stacks))
        };
        let stat = if readings.is_multiple_of(RENAME) { task::stat(pid, tid) } else { None };
        if stat.as_ref().is_some_and(|stat| stat.ended) {
            return false;
        }
        let Some(listed) = self.threads.get_mut(&id) else { return true };
        listed.readings += 1;
        if let Some(stat) = stat {
            listed.name = stat.name;
        }
        let reading = Reading { now_ns, read: times, switches, seen };
        listed.time.take(&reading, &mut self.waits, to);
        true
    }

    fn look(&mut self, thread: ThreadId, pid: u32, tid: u32, stacks: &mut Stacks<'_>) -> SeenState {
        match task::doing(pid, tid) {
            Ok(Activity::Running) => SeenState::Ready,
            Ok(Activity::Sleeping(sleep)) => match self.waits.known(thread, &sleep) {
                Some(wait) => SeenState::Asleep(wait),
                None => self.describe(thread, pid, tid, &sleep, stacks).map_or(SeenState::Ready, SeenState::Asleep),
            },
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => self.look_from_afar(thread, pid, tid),
            Err(_) => SeenState::Ready,
        }
    }

    /// The wait of a new place; `None` when the thread ran on meanwhile.
    fn describe(
        &mut self,
        thread: ThreadId,
        pid: u32,
        tid: u32,
        sleep: &Sleep,
        stacks: &mut Stacks<'_>,
    ) -> Option<WaitId> {
        let found = inspect(pid, tid, sleep);
        if task::doing(pid, tid).ok()? != Activity::Sleeping(*sleep) {
            return None;
        }
        let from_ns = monotonic_ns();
        let user_stack = found.stack(pid, pid, sleep, stacks);
        // Not charged to the budget: it happens once for each place, and reading a large program's files would keep
        // knee from looking for seconds.
        self.unwound_ns += monotonic_ns().saturating_sub(from_ns);
        Some(self.waits.add(thread, sleep, found, user_stack))
    }

    /// When what a thread sleeps in may not be read, its state and its kernel function are still readable.
    fn look_from_afar(&mut self, thread: ThreadId, pid: u32, tid: u32) -> SeenState {
        if task::stat(pid, tid).is_none_or(|stat| stat.ready) {
            return SeenState::Ready;
        }
        match task::reason_by_function_alone(pid, tid) {
            Reason::None => SeenState::Hidden,
            reason => {
                // There is no address that would distinguish such places, so there is one for each reason.
                let sleep = Sleep { call: None, sp: 0, ip: reason as u64 };
                let wait = self.waits.known(thread, &sleep).unwrap_or_else(|| {
                    let (within, in_kernel) = (Within::Hidden, Some(reason));
                    self.waits.add(thread, &sleep, Inspected { within, file: None, in_kernel, stack: Vec::new() }, None)
                });
                SeenState::Asleep(wait)
            }
        }
    }

    /// A thread was found to have ended.
    fn close(&mut self, id: (u32, u32), gone_ns: u64, to: &mut Builder) {
        let Some(mut listed) = self.threads.remove(&id) else { return };
        listed.time.end(gone_ns, to);
        to.add(Event::Thread(listed.life()));
    }
}

impl ListedThread {
    /// The thread's life up to its last reading.
    fn life(&self) -> ThreadLife {
        let (voluntary_switches, involuntary_switches) = self.time.switched();
        ThreadLife {
            name: self.name.clone(),
            start_ns: self.time.start_ns,
            end_ns: self.time.last_ns,
            times: self.time.times,
            voluntary_switches,
            involuntary_switches,
            ..ThreadLife::blank(self.time.thread, self.pid, self.tid)
        }
    }
}

/// When a thread was created: the kernel gives the time in steps of 10 ms, and it must lie between two known times.
fn born_ns(stat: &Stat, earliest_ns: u64, latest_ns: u64) -> u64 {
    let by_stat = stat.started_ticks.saturating_mul(TICK_NS).saturating_sub(slept_ns());
    // The tick may have begun up to 10 ms earlier.
    by_stat.max(earliest_ns).min(latest_ns.max(earliest_ns))
}

/// Time that the machine was suspended: the clock of `started_ticks` is ahead of CLOCK_MONOTONIC by this.
fn slept_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to; CLOCK_BOOTTIME exists since Linux 2.6.39.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
    (time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64).saturating_sub(monotonic_ns())
}

impl Source for ProcSource {
    fn begin(&mut self) {
        self.own_begin_ns = own_time_ns();
    }

    fn poll(&mut self, stacks: &mut Stacks<'_>, to: &mut Builder) {
        let now_ns = monotonic_ns();
        self.budget.grow(now_ns);
        if self.budget.allows() {
            self.list_processes(now_ns, stacks);
            self.budget.spend(monotonic_ns().saturating_sub(now_ns));
        }
        self.read_threads(stacks, to);
        self.own_spent_ns = own_time_ns().saturating_sub(self.own_begin_ns);
    }

    fn finish(mut self, cpu_ns: Option<u64>, stacks: &mut Stacks<'_>, to: &mut Builder) -> Result<(), Error> {
        let alive: Vec<(u32, u32)> = self.threads.keys().copied().collect();
        let now_ns = monotonic_ns();
        alive.into_iter().for_each(|id| self.close(id, now_ns, to));
        let begin_ns = self.begin_ns.unwrap_or(0);
        let end_ns = to.totals().last_end_ns.unwrap_or(begin_ns).max(begin_ns);
        let ran_ns = to.totals().running_ns;
        self.waits.emit(to);
        to.add(stacks.lost());
        let unseen_ns = cpu_ns.unwrap_or(0).saturating_sub(ran_ns);
        to.add(Event::Lost { what: UNSEEN, count: unseen_ns / 1_000_000, of: cpu_ns.map(|ns| ns / 1_000_000) });
        to.add(Event::Summary(self.processors.summary((begin_ns, end_ns), 0, ran_ns, self.own_spent_ns)));
        Ok(())
    }
}

impl LiveSource for ProcSource {
    fn living(&mut self, _: u64) -> Vec<Living> {
        let living = |listed: &ListedThread| Living {
            life: listed.life(),
            doing: listed.time.doing(),
            blocked: listed.time.blocked(),
        };
        self.threads.values().map(living).collect()
    }

    fn place(&self, wait: WaitId, _: &mut Stacks<'_>) -> Option<WaitPlace> {
        self.waits.place(wait)
    }

    fn forget(&mut self) {}

    fn sample_period_ns(&self) -> u64 {
        0
    }
}
