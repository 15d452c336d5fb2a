//! A traced run: its calls, locks, faults and tasks that wait. Imports `names`, `ids`, `reader`, `tables`.

use super::names::Names;
use super::{FUTEX, SAMPLE_PERIOD_NS};
use crate::ids::*;
use crate::reader::Tables;
use crate::tables::*;
use std::collections::HashMap;

/// A traced run that is being made.
#[derive(Debug)]
pub struct RunSketch<'a> {
    pub(super) run: RunId,
    pub(super) tables: &'a mut Tables,
    pub(super) names: &'a mut Names,
    pub(super) wakes: Vec<WakeSketch>,
}

/// A wake-up. Wakers are given by name; names become ids when all threads are known.
#[derive(Debug)]
pub(super) struct WakeSketch {
    pub(super) wait: WaitId,
    pub(super) waker: String,
    pub(super) stack: Option<StackId>,
    pub(super) syscall: u32,
    pub(super) blocked_ns: u64,
}

impl<'a> RunSketch<'a> {
    pub(super) fn new(run: RunId, tables: &'a mut Tables, names: &'a mut Names) -> RunSketch<'a> {
        RunSketch { run, tables, names, wakes: Vec::new() }
    }

    /// System calls of a thread that the sketch already has.
    pub fn syscalls(&mut self, thread: &str, number: u32, name: &str, count: u64) {
        let thread = self.thread_named(thread);
        self.tables.syscalls.push(Syscall { run: self.run, thread, number, name: name.to_owned(), count });
    }

    fn thread_named(&self, name: &str) -> ThreadId {
        let thread = self.tables.threads.iter().find(|t| t.run == self.run && t.name == name).map(|t| t.thread);
        thread.expect("a sketch names its own threads")
    }

    /// Calls of a system call at one place, all timed; `error` when they failed, `each_ns` of processor time per call.
    pub fn call_site(
        &mut self,
        thread: &str,
        (number, name): (u32, &str),
        stack: &str,
        error: Option<u32>,
        count: u64,
        each_ns: u64,
    ) {
        let (thread, user_stack) = (self.thread_named(thread), self.names.stack(stack, self.tables));
        let site = SiteId(self.tables.call_sites.iter().filter(|s| s.run == self.run).count() as u32);
        self.tables.call_sites.push(CallSite {
            run: self.run,
            site,
            thread,
            number,
            name: name.to_owned(),
            user_stack: Some(user_stack),
            error,
            timed: count,
            calls: count as f64,
            calls_low: count as f64,
            calls_high: count as f64,
            total_ns: count * each_ns,
            on_cpu_ns: count * each_ns,
            longest_ns: each_ns,
        });
    }

    /// Waits for a lock inside the kernel, in a system call or (without one) a page fault.
    pub fn kernel_lock(
        &mut self,
        thread: &str,
        lock: &str,
        syscall: Option<u32>,
        stack: &str,
        count: u64,
        waited_ns: u64,
    ) {
        let (thread, user_stack) = (self.thread_named(thread), self.names.stack(stack, self.tables));
        self.tables.kernel_locks.push(KernelLock {
            run: self.run,
            thread,
            lock: lock.to_owned(),
            address: 0xffff_0000,
            how: KernelWait::Write,
            syscall,
            user_stack: Some(user_stack),
            kernel_stack: None,
            count,
            waited_ns,
            blocked_ns: waited_ns,
            longest_ns: waited_ns,
        });
    }

    /// Page faults at one place, each of them counted.
    pub fn fault_site(&mut self, thread: &str, stack: &str, faults: u64) {
        let (thread, user_stack) = (self.thread_named(thread), self.names.stack(stack, self.tables));
        self.tables.fault_sites.push(FaultSite {
            run: self.run,
            thread,
            user_stack: Some(user_stack),
            sampled: faults,
            period: 1,
        });
    }

    /// One look at the tasks of a scheduler: how many wait at each of these stacks.
    pub fn look(&mut self, time_ns: u64, waiting: &[(&str, u32)]) {
        let run = self.run;
        if waiting.is_empty() {
            self.tables.parked_tasks.push(ParkedTasks { run, time_ns, user_stack: None, timer: None, count: 0 });
        }
        waiting.iter().for_each(|(stack, count)| self.waiting_tasks(time_ns, stack, None, *count));
    }

    /// One look that found `count` tasks at this stack, waiting for the clock at a timer's channel.
    pub fn look_at_timer(&mut self, time_ns: u64, stack: &str, count: u32) {
        self.waiting_tasks(time_ns, stack, Some(true), count);
    }

    fn waiting_tasks(&mut self, time_ns: u64, stack: &str, timer: Option<bool>, count: u32) {
        let user_stack = Some(self.names.stack(stack, self.tables));
        self.tables.parked_tasks.push(ParkedTasks { run: self.run, time_ns, user_stack, timer, count });
    }

    /// What a thread exchanged at an address: how many times and for how long, and for how long it waited for
    /// it at one of its places.
    pub fn peer(
        &mut self,
        thread: &str,
        side: PeerSide,
        address: &str,
        (exchanges, exchange_ns): (u64, u64),
        (stack, waited_ns): (&str, u64),
    ) {
        let (run, thread, stack) = (self.run, self.thread_named(thread), self.names.stack(stack, self.tables));
        let is_there = |wait: &&Wait| wait.run == run && wait.thread == thread && wait.user_stack == Some(stack);
        let wait = self.tables.waits.iter().find(is_there).map(|wait| wait.wait);
        let row = Peer {
            run,
            thread,
            wait: None,
            side,
            address: address.to_owned(),
            name: None,
            exchanges,
            exchange_ns,
            longest_ns: exchange_ns,
            waits: 0,
            waited_ns: 0,
        };
        let waits = Peer { wait, exchanges: 0, exchange_ns: 0, longest_ns: 0, waits: 1, waited_ns, ..row.clone() };
        self.tables.peers.extend([row, waits]);
    }

    /// The row of the run itself.
    pub fn row(&mut self) -> &mut Run {
        let run = self.run;
        self.tables.runs.iter_mut().find(|r| r.run == run).expect("a traced run has a row")
    }

    pub(super) fn finish(self) {
        let threads = || self.tables.threads.iter().filter(|t| t.run == self.run);
        let by_name: HashMap<&str, ThreadId> = threads().map(|t| (t.name.as_str(), t.thread)).collect();
        let end_ns = threads().map(|t| t.end_ns).max().unwrap_or(0);
        let count = self.tables.runs.iter().find(|r| r.run == self.run).map_or(1, |r| r.threads);
        let processors = self.tables.meta.usable_at(count);
        let (running, runs_threads) = threads().fold((0, 0), |(ns, n), t| (ns + t.running_ns, n + 1));
        for wake in self.wakes {
            self.tables.wakes.push(Wake {
                run: self.run,
                wait: wake.wait,
                waker: by_name.get(wake.waker.as_str()).copied(),
                waker_stack: wake.stack,
                waker_syscall: Some(wake.syscall),
                same_object: wake.syscall == FUTEX,
                waker_waited_here: None,
                wakes_many: None,
                holder: None,
                count: 1,
                blocked_ns: wake.blocked_ns,
            });
        }
        self.tables.traces.push(Trace {
            run: self.run,
            begin_ns: 0,
            end_ns,
            processors,
            sample_period_ns: SAMPLE_PERIOD_NS,
            idle_ns: (end_ns * u64::from(processors)).saturating_sub(running),
            foreign_ns: 0,
            observer_ns: 0,
            listens: None,
            load_begin_ns: None,
            load_end_ns: None,
            load_ns: None,
        });
        debug_assert!(runs_threads > 0, "a traced run has threads");
        if let Some(row) = self.tables.runs.iter_mut().find(|r| r.run == self.run) {
            row.wall_ns = end_ns;
            row.user_ns = running;
        }
    }
}
