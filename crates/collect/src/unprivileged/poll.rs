//! The consumer of one run of which only /proc tells. May import: the other rooms of `unprivileged`, `trace::image` and
//! `trace::intern`, `recording`, `resolve`, libc.

use super::Consumer;
use super::books::{self, Books, Processors};
use super::budget::Budget;
use super::looks;
use super::sampled::{Reading, Sampled, Seen};
use super::task::{self, Doing, Stat};
use super::waits::{Place, Waits};
use crate::bpf::abi::Registers;
use crate::error::Error;
use crate::live::Now;
use crate::procfs::{self, monotonic_ns};
use crate::trace::image::Image;
use crate::trace::intern::Interner;
use recording::tables::{Frame, Module, Reason, Stack, Thread};
use recording::{RunId, Tables, ThreadId, WaitId, Writer};
use resolve::ModuleCache;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

/// A clock tick of /proc.
const TICK_NS: u64 = 10_000_000;

/// The name of a thread is read again at each so many readings: programs name their threads when these begin.
const RENAME: u32 = 16;

/// Threads that began and ended between two looks, and the last of the others.
const UNSEEN: &str = "milliseconds of processor time (of short threads, and of others after they were last seen)";

/// A thread with what is not its time.
#[derive(Debug)]
struct Known {
    pid: u32,
    tid: u32,
    name: String,
    readings: u32,
    sampled: Sampled,
}

/// A process of the target.
struct Process {
    /// What it executes.
    program: Option<PathBuf>,
    image: Image,
}

/// The consumer of one run.
pub(super) struct Poll<'a> {
    run: RunId,
    child: u32,
    interner: &'a mut Interner,
    cache: &'a ModuleCache,
    /// Absent for a live view, which keeps nothing.
    writer: Option<&'a mut Writer>,
    /// Sums of threads and waits at the last look of a live view.
    before: Before,
    processes: BTreeMap<u32, Process>,
    threads: BTreeMap<(u32, u32), Known>,
    /// The thread that is read next: those behind it had to wait when the budget was spent.
    next: (u32, u32),
    handles: u32,
    waits: Waits,
    budget: Budget,
    books: Books,
    begin_ns: Option<u64>,
    /// The target was running before: what its threads did until now is not its run's.
    attached: bool,
    /// When the threads were listed last: a new one is younger.
    listed_ns: u64,
    processors: Processors,
    own_begin_ns: u64,
    own_spent_ns: u64,
    ran_ns: u64,
    cut_stacks: u64,
    /// Time for unwinding during the current look.
    unwound_ns: u64,
    stacks: u64,
    hidden: bool,
}

impl<'a> Poll<'a> {
    /// `child` waits to execute the target.
    pub(super) fn new(
        run: RunId,
        child: u32,
        interner: &'a mut Interner,
        cache: &'a ModuleCache,
        writer: Option<&'a mut Writer>,
    ) -> Poll<'a> {
        let now_ns = monotonic_ns();
        Poll {
            run,
            child,
            interner,
            cache,
            writer,
            before: Before::default(),
            processes: BTreeMap::new(),
            threads: BTreeMap::new(),
            next: (0, 0),
            handles: 0,
            waits: Waits::default(),
            budget: Budget::new(now_ns),
            books: Books::default(),
            begin_ns: None,
            attached: false,
            listed_ns: now_ns,
            processors: Processors::now(),
            own_begin_ns: books::own_time_ns(),
            own_spent_ns: 0,
            ran_ns: 0,
            cut_stacks: 0,
            unwound_ns: 0,
            stacks: 0,
            hidden: false,
        }
    }

    /// The target runs already.
    pub(super) fn attached(&mut self, now_ns: u64) {
        self.attached = true;
        self.begin_ns = Some(now_ns);
    }

    /// Adds the rows of the time since the last look, and says what threads do now.
    pub(super) fn window(&mut self, from_ns: u64, to_ns: u64, tables: &mut Tables, now: &mut Vec<Now>) {
        self.books.slices.clear();
        let mut threads = std::mem::take(&mut self.books.threads);
        threads.extend(self.threads.values().map(|known| row(self.run, known)));
        for mut row in threads {
            let sums = [
                row.running_ns,
                row.runnable_ns,
                row.preempted_ns,
                row.blocked_ns,
                row.voluntary_switches,
                row.involuntary_switches,
            ];
            let then = self.before.threads.insert(row.thread, sums).unwrap_or_default();
            let grown = |at: usize| sums[at].saturating_sub(then[at]);
            (row.running_ns, row.runnable_ns, row.preempted_ns, row.blocked_ns) =
                (grown(0), grown(1), grown(2), grown(3));
            (row.voluntary_switches, row.involuntary_switches) = (grown(4), grown(5));
            (row.start_ns, row.end_ns) = (row.start_ns.max(from_ns), row.end_ns.max(from_ns).min(to_ns));
            tables.threads.push(row);
        }
        let alive: HashSet<ThreadId> = self.threads.values().map(|known| known.sampled.thread).collect();
        self.before.threads.retain(|thread, _| alive.contains(thread));
        for mut row in self.waits.rows(self.run).rows {
            let sums = [row.count, row.blocked_ns, row.runnable_ns];
            let then = self.before.waits.insert(row.wait, sums).unwrap_or_default();
            let grown = |at: usize| sums[at].saturating_sub(then[at]);
            if grown(1) > 0 {
                (row.count, row.blocked_ns, row.runnable_ns) = (grown(0).max(1), grown(1), grown(2));
                row.longest_ns = row.longest_ns.min(row.blocked_ns);
                tables.waits.push(row);
            }
        }
        now.extend(self.threads.values().map(|known| {
            let (doing, wait) = known.sampled.now();
            Now { thread: known.sampled.thread, doing, wait }
        }));
    }

    /// Rows of stacks, frames and modules that are new.
    pub(super) fn new_names(&mut self) -> (Vec<Stack>, Vec<Frame>, Vec<Module>) {
        self.interner.new_rows()
    }

    /// Notes processes that are new, or execute another program than before. Before the child has executed the target it
    /// still is a copy of knee.
    fn list_processes(&mut self, now_ns: u64) {
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
            let same = self.processes.get(&pid).is_some_and(|process| process.program == program || program.is_none());
            if !same {
                self.processes.insert(pid, Process { program, image: Image::new(pid, self.cache) });
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
        let sampled = if first || self.attached {
            // What it did before it executed the target was knee's.
            Sampled::new(thread, now_ns, times, task::switches(pid, tid).unwrap_or_default())
        } else {
            let born_ns = born_ns(&stat, self.listed_ns, now_ns.saturating_sub(times.running_ns + times.queued_ns));
            Sampled::new(thread, born_ns, task::Times::default(), task::Switches::default())
        };
        self.threads.insert((pid, tid), Known { pid, tid, name: stat.name, readings: 0, sampled });
    }

    /// Reads threads in turn as far as the budget goes.
    fn read_threads(&mut self) {
        let behind = self.threads.range(self.next..).map(|(id, _)| *id);
        let before = self.threads.range(..self.next).map(|(id, _)| *id);
        let in_turn: Vec<(u32, u32)> = behind.chain(before).collect();
        for id in in_turn {
            self.next = id;
            if !self.budget.allows() {
                return;
            }
            let from_ns = monotonic_ns();
            if !self.read(id) {
                self.close(id, from_ns);
            }
            let unwound_ns = std::mem::take(&mut self.unwound_ns);
            self.budget.spend(monotonic_ns().saturating_sub(from_ns).saturating_sub(unwound_ns));
        }
        self.next = (0, 0);
    }

    /// Reads one thread. False when it has ended.
    fn read(&mut self, id: (u32, u32)) -> bool {
        let (pid, tid) = id;
        let Some(known) = self.threads.get(&id) else { return true };
        let (thread, readings, was) = (known.sampled.thread, known.readings, known.sampled.switches);
        let Some(times) = task::times(pid, tid) else { return false };
        let now_ns = monotonic_ns();
        let (switches, seen) = if known.sampled.stands_still(times) {
            (was, Seen::Same)
        } else {
            (task::switches(pid, tid).unwrap_or(was), self.look(thread, pid, tid))
        };
        let stat = if readings.is_multiple_of(RENAME) { task::stat(pid, tid) } else { None };
        if stat.as_ref().is_some_and(|stat| stat.ended) {
            return false;
        }
        let Some(known) = self.threads.get_mut(&id) else { return true };
        known.readings += 1;
        if let Some(stat) = stat {
            known.name = stat.name;
        }
        let reading = Reading { now_ns, times, switches, seen };
        known.sampled.read(&reading, &mut self.waits, self.run, &mut self.books.slices);
        true
    }

    fn look(&mut self, thread: ThreadId, pid: u32, tid: u32) -> Seen {
        match task::doing(pid, tid) {
            Ok(Doing::Running) => Seen::Ready,
            Ok(Doing::Sleeping(sleep)) => match self.waits.known(thread, &sleep) {
                Some(wait) => Seen::Asleep(wait),
                None => self.tell(thread, pid, tid, &sleep).map_or(Seen::Ready, Seen::Asleep),
            },
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                self.hidden = true;
                self.look_from_afar(thread, pid, tid)
            }
            Err(_) => Seen::Ready,
        }
    }

    /// The wait of a place that is new; `None` when the thread went on meanwhile.
    fn tell(&mut self, thread: ThreadId, pid: u32, tid: u32, sleep: &task::Sleep) -> Option<WaitId> {
        let story = looks::tell(pid, tid, sleep);
        if task::doing(pid, tid).ok()? != Doing::Sleeping(*sleep) {
            return None;
        }
        let registers = Registers { ip: sleep.ip, sp: sleep.sp, fp: 0, lr: 0 };
        let (stacks, cut) = (&mut self.stacks, &mut self.cut_stacks);
        let interner = &mut *self.interner;
        let from_ns = monotonic_ns();
        let user_stack = self.processes.get_mut(&pid).and_then(|process| {
            let (unwound, _) = process.image.unwind((&registers, &story.stack), None, monotonic_ns(), interner);
            *stacks += 1;
            *cut += u64::from(unwound.truncated);
            unwound.stack
        });
        // Paid once a place; else a large program's files would keep knee from looking at all for seconds.
        self.unwound_ns += monotonic_ns().saturating_sub(from_ns);
        let place = Place { reason: story.reason, call: sleep.call, what: story.what, user_stack };
        Some(self.waits.place(thread, sleep, || place))
    }

    /// Without the right to see what a thread sleeps in, its state and its kernel function are left.
    fn look_from_afar(&mut self, thread: ThreadId, pid: u32, tid: u32) -> Seen {
        if task::stat(pid, tid).is_none_or(|stat| stat.ready) {
            return Seen::Ready;
        }
        match task::reason_by_function_alone(pid, tid) {
            Reason::None => Seen::Hidden,
            reason => {
                // No address tells such places apart: one for each reason.
                let sleep = task::Sleep { call: None, sp: 0, ip: reason as u64 };
                let place = || Place { reason, call: None, what: None, user_stack: None };
                Seen::Asleep(self.waits.place(thread, &sleep, place))
            }
        }
    }

    /// The row of a thread, up to when it was found to be gone.
    fn close(&mut self, id: (u32, u32), gone_ns: u64) {
        let Some(mut known) = self.threads.remove(&id) else { return };
        known.sampled.end(gone_ns, self.run, &mut self.books.slices);
        self.ran_ns += known.sampled.running_ns;
        self.books.threads.push(row(self.run, &known));
    }
}

/// Sums of a live view's last look.
#[derive(Debug, Default)]
struct Before {
    threads: HashMap<ThreadId, [u64; 6]>,
    waits: HashMap<WaitId, [u64; 3]>,
}

/// A thread's row up to its last reading.
fn row(run: RunId, known: &Known) -> Thread {
    let (Known { pid, tid, name, sampled, .. }, (voluntary_switches, involuntary_switches)) =
        (known, known.sampled.switched());
    Thread {
        pid: *pid,
        tid: *tid,
        name: name.clone(),
        start_ns: sampled.start_ns,
        end_ns: sampled.last_ns,
        running_ns: sampled.running_ns,
        runnable_ns: sampled.runnable_ns,
        preempted_ns: sampled.preempted_ns,
        blocked_ns: sampled.blocked_ns,
        voluntary_switches,
        involuntary_switches,
        // Not told; the column cannot say so.
        ..Thread::blank(run, sampled.thread)
    }
}

/// When a thread was created: the kernel says it to 10 ms, and it was between two times.
fn born_ns(stat: &Stat, earliest_ns: u64, latest_ns: u64) -> u64 {
    let told = stat.started_ticks.saturating_mul(TICK_NS).saturating_sub(slept_ns());
    // The tick began up to 10 ms before.
    told.max(earliest_ns).min(latest_ns.max(earliest_ns))
}

/// Time that the machine was suspended: what the clock of `started_ticks` is ahead of CLOCK_MONOTONIC.
fn slept_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to; CLOCK_BOOTTIME exists since Linux 2.6.39.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
    (time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64).saturating_sub(monotonic_ns())
}

impl Consumer for Poll<'_> {
    fn starts(&mut self) {
        self.own_begin_ns = books::own_time_ns();
    }

    fn poll(&mut self) {
        let now_ns = monotonic_ns();
        self.budget.grow(now_ns);
        if self.budget.allows() {
            self.list_processes(now_ns);
            self.budget.spend(monotonic_ns().saturating_sub(now_ns));
        }
        self.read_threads();
        if let Some(writer) = &mut self.writer {
            self.books.flush(writer);
        }
        self.own_spent_ns = books::own_time_ns().saturating_sub(self.own_begin_ns);
    }

    fn finish(mut self: Box<Self>, cpu_ns: Option<u64>) -> Result<u64, Error> {
        let alive: Vec<(u32, u32)> = self.threads.keys().copied().collect();
        let now_ns = monotonic_ns();
        alive.into_iter().for_each(|id| self.close(id, now_ns));
        let ends = self.books.threads.iter().map(|thread| thread.end_ns);
        let begin_ns = self.begin_ns.unwrap_or(0);
        let end_ns = ends.max().unwrap_or(begin_ns).max(begin_ns);
        let told = self.waits.rows(self.run);
        let run = self.run;
        let Poll { books: mut rows, writer, interner, .. } = *self;
        rows.waits = told.rows;
        rows.lose(run, "outermost frames of stacks", self.cut_stacks, Some(self.stacks));
        rows.lose(run, super::UNKNOWN_PLACES, told.unknown, Some(told.blocks));
        rows.lose(run, super::INFERRED_PLACES, told.inferred, Some(told.blocks));
        let unseen_ns = cpu_ns.unwrap_or(0).saturating_sub(self.ran_ns);
        rows.lose(run, UNSEEN, unseen_ns / 1_000_000, cpu_ns.map(|ns| ns / 1_000_000));
        let trace = books::trace(run, (begin_ns, end_ns), 0, self.processors, self.ran_ns, self.own_spent_ns);
        let foreign_ns = trace.foreign_ns;
        let Some(writer) = writer else { return Ok(foreign_ns) };
        rows.close(trace, writer)?;
        super::append_names(interner, writer)?;
        Ok(foreign_ns)
    }
}
