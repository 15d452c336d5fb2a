//! Makes the rows of a recording from events, whatever source they come from.
//!
//! Rooms: `rows` the tables and when a part of them is worth writing; `timeline` the slices; `waits` what a blocked
//! thread waits for.
//!
//! May import: `events`, `launch`, `sharing`, `syscall_names`, `recording`.

mod rows;
mod timeline;
mod waits;

#[cfg(test)]
pub(crate) use rows::PART;
pub(crate) use rows::Rows;
pub(crate) use waits::wait_row;

use crate::events::*;
use crate::launch::Loaded;
use crate::syscall_names;
use recording::tables::*;
use recording::{RunId, ThreadId, WaitId, Writer};
use timeline::Timeline;

/// Sums over the threads of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Totals {
    pub(crate) running_ns: u64,
    pub(crate) voluntary_switches: u64,
    pub(crate) involuntary_switches: u64,
    pub(crate) migrations: u64,
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
    /// Time that other programs ran meanwhile, knee excluded; known at the end.
    pub(crate) foreign_ns: u64,
    /// When the last thread ended, so far.
    pub(crate) last_end_ns: Option<u64>,
}

/// The rows of one run on their way to a sink.
#[derive(Debug)]
pub(crate) struct Builder {
    run: RunId,
    pub(crate) rows: Rows,
    timeline: Timeline,
    totals: Totals,
    /// The load, where the target is a server.
    load: Option<Loaded>,
    listens: Option<bool>,
}

impl Builder {
    pub(crate) fn new(run: RunId) -> Builder {
        Builder {
            run,
            rows: Rows::default(),
            timeline: Timeline::new(run),
            totals: Totals::default(),
            load: None,
            listens: None,
        }
    }

    pub(crate) fn run(&self) -> RunId {
        self.run
    }

    /// Sums over the threads so far.
    pub(crate) fn totals(&self) -> Totals {
        self.totals
    }

    /// Keeps the load from counting as another program, and limits the run's summary to the load's time. To be called
    /// before the run's summary is added.
    pub(crate) fn leave_out(&mut self, load: &Loaded) {
        self.load = Some(load.clone());
    }

    /// Whether a process that was running when observing began listened at a socket. To be told before the run's
    /// summary.
    pub(crate) fn set_listens(&mut self, listens: Option<bool>) {
        self.listens = listens;
    }

    /// Takes an event.
    pub(crate) fn add(&mut self, event: Event) {
        let run = self.run;
        match event {
            Event::Spent(spent) => self.timeline.add(&spent),
            Event::Sample(sample) => self.rows.samples.push(sample_row(run, &sample)),
            Event::Called { thread, start_ns, end_ns, number, error } => {
                self.rows.calls.push(Call { run, thread, start_ns, end_ns, number, error });
            }
            Event::Parked { time_ns, user_stack, timer, count } => {
                self.rows.parked_tasks.push(ParkedTasks { run, time_ns, user_stack, timer: Some(timer), count });
            }
            Event::Mark { thread, time_ns, kind, name, amount } => {
                self.rows.marks.push(Mark { run, thread, time_ns, kind, name, amount });
            }
            Event::Thread(life) => self.thread(life),
            Event::Wait { at, sums } => self.rows.waits.push(wait_row(run, at, &sums)),
            Event::Woken(wakes) => self.rows.wakes.push(wake_row(run, &wakes)),
            Event::Calls { thread, number, count } => {
                let name = syscall_names::name(number);
                self.rows.syscalls.push(Syscall { run, thread, number, name, count });
            }
            Event::CallSite(site) => self.rows.sites.push(site_row(run, &site)),
            Event::Durations { of, id, bars } => self.durations(of, id, &bars),
            Event::FutexCalls { thread, operation, count } => {
                let operation = futex_operation(operation);
                self.rows.futexes.push(FutexOperation { run, thread, operation, count });
            }
            Event::KernelLock(lock) => self.rows.locks.push(lock_row(run, lock)),
            Event::Exchanged(peer) => self.rows.peers.push(peer_row(run, peer)),
            Event::Faults { thread, user_stack, sampled, period } => {
                self.rows.faults.push(FaultSite { run, thread, user_stack, sampled, period });
            }
            Event::Foreign { pid, .. } if self.load.as_ref().is_some_and(|load| load.pids.contains(&pid)) => {}
            Event::Foreign { pid, name, running_ns } => {
                self.rows.foreign.push(Foreign { run, pid, name, running_ns });
            }
            Event::Shared(shared) => self.rows.add_shared(*shared),
            Event::Lost { count: 0, .. } => {}
            Event::Lost { what, count, of } => {
                self.rows.losses.push(Loss { run, what: what.to_owned(), count, of });
            }
            Event::Summary(summary) => self.summary(&summary),
        }
    }

    /// For observing threads that slept already when it began: their first blocks are kept here for
    /// [`Builder::first_wait`].
    pub(crate) fn keep_first_blocks(&mut self, begin_ns: u64) {
        self.timeline.keep_first(begin_ns);
    }

    /// Sets the wait of the block that a thread was in when observing began. Returns the block's length, nanoseconds;
    /// `None` when there was no such block.
    pub(crate) fn first_wait(&mut self, thread: ThreadId, begin_ns: u64, wait: WaitId) -> Option<u64> {
        self.timeline.first_wait(thread, begin_ns, wait)
    }

    /// Writes the tables that have enough rows for a part. All are tried; the first error counts.
    pub(crate) fn write_parts(&mut self, writer: &mut Writer) -> Result<(), recording::Error> {
        let slices = self.timeline.write_part(writer);
        slices.and(self.rows.write_parts(writer))
    }

    /// Writes everything that is left.
    pub(crate) fn write(mut self, writer: &mut Writer) -> Result<(), recording::Error> {
        writer.append(&self.timeline.take())?;
        self.rows.write(writer)
    }

    /// The slices since they were last taken or written.
    pub(crate) fn take_slices(&mut self) -> Vec<Slice> {
        self.timeline.take()
    }

    fn thread(&mut self, life: ThreadLife) {
        let totals = &mut self.totals;
        totals.running_ns += life.times.running_ns;
        totals.voluntary_switches += life.voluntary_switches;
        totals.involuntary_switches += life.involuntary_switches;
        totals.migrations += life.migrations;
        totals.minor_faults += life.minor_faults.unwrap_or(0);
        totals.major_faults += life.major_faults.unwrap_or(0);
        totals.last_end_ns = totals.last_end_ns.max(Some(life.end_ns));
        self.rows.threads.push(thread_row(self.run, life));
    }

    fn durations(&mut self, of: Timed, id: u32, bars: &[u32; BARS]) {
        for (bar, count) in bars.iter().enumerate().filter(|(_, count)| **count > 0) {
            let from_ns = if bar == 0 { 0 } else { 1 << (bar + 7) };
            let to_ns = if bar == BARS - 1 { u64::MAX } else { 1 << (bar + 8) };
            self.rows.durations.push(Duration { run: self.run, of, id, from_ns, to_ns, count: u64::from(*count) });
        }
    }

    fn summary(&mut self, summary: &RunSummary) {
        let load = self.load.as_ref();
        let foreign_ns = summary.foreign_ns.saturating_sub(load.map_or(0, |load| load.here_ns));
        self.totals.foreign_ns = foreign_ns;
        self.rows.traces.push(Trace {
            run: self.run,
            begin_ns: summary.begin_ns,
            end_ns: summary.end_ns,
            processors: summary.processors,
            sample_period_ns: summary.sample_period_ns,
            idle_ns: summary.idle_ns,
            foreign_ns,
            observer_ns: summary.observer_ns,
            load_begin_ns: load.map(|load| load.begin_ns),
            load_end_ns: load.map(|load| load.end_ns),
            load_ns: load.map(|load| load.here_ns),
            listens: self.listens,
        });
    }
}

/// The row of a thread.
pub(crate) fn thread_row(run: RunId, life: ThreadLife) -> Thread {
    Thread {
        run,
        thread: life.thread,
        pid: life.pid,
        tid: life.tid,
        name: life.name,
        parent: life.parent,
        start_ns: life.start_ns,
        end_ns: life.end_ns,
        running_ns: life.times.running_ns,
        runnable_ns: life.times.runnable_ns,
        preempted_ns: life.times.preempted_ns,
        blocked_ns: life.times.blocked_ns,
        voluntary_switches: life.voluntary_switches,
        involuntary_switches: life.involuntary_switches,
        migrations: life.migrations,
        created_stack: life.created_stack,
        minor_faults: life.minor_faults,
        major_faults: life.major_faults,
        cycles: life.cycles,
        instructions: life.instructions,
        cache_misses: life.cache_misses,
        stalled_cycles: life.stalled_cycles,
    }
}

fn sample_row(run: RunId, sample: &CpuSample) -> Sample {
    let CpuSample { thread, time_ns, processor, mode, syscall, user_stack, kernel_stack, goroutine } = *sample;
    Sample { run, thread, time_ns, processor, mode, syscall, user_stack, kernel_stack, goroutine }
}

fn wake_row(run: RunId, wakes: &Wakes) -> Wake {
    Wake {
        run,
        wait: wakes.wait,
        waker: wakes.waker,
        waker_stack: wakes.waker_stack,
        waker_syscall: wakes.waker_syscall,
        same_object: wakes.same_object,
        waker_waited_here: wakes.waker_waited_here,
        wakes_many: wakes.wakes_many,
        holder: wakes.holder,
        count: wakes.count,
        blocked_ns: wakes.blocked_ns,
    }
}

fn site_row(run: RunId, site: &CallSums) -> CallSite {
    CallSite {
        run,
        site: site.site,
        thread: site.thread,
        number: site.number,
        name: syscall_names::name(site.number),
        user_stack: site.user_stack,
        error: syscall_names::error(site.error),
        timed: site.timed,
        calls: site.calls,
        calls_low: site.calls_low,
        calls_high: site.calls_high,
        total_ns: site.total_ns,
        on_cpu_ns: site.on_cpu_ns,
        longest_ns: site.longest_ns,
    }
}

fn lock_row(run: RunId, lock: LockSums) -> KernelLock {
    KernelLock {
        run,
        thread: lock.thread,
        lock: lock.lock,
        address: lock.address,
        how: lock.how,
        syscall: lock.syscall,
        user_stack: lock.user_stack,
        kernel_stack: lock.kernel_stack,
        count: lock.count,
        waited_ns: lock.waited_ns,
        blocked_ns: lock.blocked_ns,
        longest_ns: lock.longest_ns,
    }
}

fn peer_row(run: RunId, peer: Exchanges) -> Peer {
    Peer {
        run,
        thread: peer.thread,
        wait: peer.wait,
        side: peer.side,
        address: peer.at.to_string(),
        name: peer.name,
        exchanges: peer.count,
        exchange_ns: peer.total_ns,
        longest_ns: peer.longest_ns,
        waits: peer.waits,
        waited_ns: peer.waited_ns,
    }
}

/// The name of a futex operation (linux/futex.h).
fn futex_operation(operation: usize) -> String {
    const NAMES: [&str; 14] = [
        "FUTEX_WAIT",
        "FUTEX_WAKE",
        "FUTEX_FD",
        "FUTEX_REQUEUE",
        "FUTEX_CMP_REQUEUE",
        "FUTEX_WAKE_OP",
        "FUTEX_LOCK_PI",
        "FUTEX_UNLOCK_PI",
        "FUTEX_TRYLOCK_PI",
        "FUTEX_WAIT_BITSET",
        "FUTEX_WAKE_BITSET",
        "FUTEX_WAIT_REQUEUE_PI",
        "FUTEX_CMP_REQUEUE_PI",
        "FUTEX_LOCK_PI2",
    ];
    NAMES.get(operation).map_or_else(|| operation.to_string(), |name| (*name).to_owned())
}
