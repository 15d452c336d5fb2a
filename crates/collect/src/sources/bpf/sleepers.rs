//! Threads that sleep when observing begins: no switch was seen that shows what they wait for, so it is read from
//! /proc.

use crate::build::Builder;
use crate::events::*;
use crate::procfs::{self, monotonic_ns};
use crate::stacks::{Copied, Stacks};
use crate::task::{self, Activity, Sleep};
use recording::tables::State;
use recording::{StackId, ThreadId, WaitId};
use resolve::UserRegisters;
use std::collections::BTreeMap;

/// What a thread sleeps in.
#[derive(Debug, Clone, Copy)]
struct Asleep {
    within: Within,
    user_stack: Option<StackId>,
}

/// The threads that slept when observing began.
#[derive(Debug, Default)]
pub(super) struct Sleepers {
    begin_ns: u64,
    /// By process and number. In a live view, only those that have not run since.
    threads: BTreeMap<(u32, u32), Asleep>,
}

/// Waits that were emitted, and those of them without a stack.
pub(super) type WaitCounts = (u64, u64);

impl Sleepers {
    /// Reads the threads of a process, whose image has number 0.
    pub(super) fn read(pid: u32, begin_ns: u64, stacks: &mut Stacks) -> Sleepers {
        // All are read before the first stack is unwound, because they may wake up meanwhile.
        let threads: Vec<(u32, Sleep, Vec<u8>)> = procfs::threads(pid)
            .into_iter()
            .filter_map(|tid| match task::doing(pid, tid).ok()? {
                Activity::Sleeping(sleep) => Some((tid, sleep, task::stack(pid, sleep.sp))),
                Activity::Running => None,
            })
            .collect();
        let mut asleep = |sleep: Sleep, stack: &[u8]| {
            let registers = UserRegisters { ip: sleep.ip, sp: sleep.sp, bp: 0, lr: 0 };
            let user_stack = stacks.user(0, pid, Copied::new(registers, stack), monotonic_ns());
            let within =
                sleep.call.map_or(Within::Fault, |(number, all)| Within::Call(BlockedCall::from_call(number, all)));
            Asleep { within, user_stack }
        };
        let threads = threads.into_iter().map(|(tid, sleep, stack)| ((pid, tid), asleep(sleep, &stack))).collect();
        Sleepers { begin_ns, threads }
    }

    /// Emits the waits that began before observing did: of threads that never woke, which no hook has seen, and of
    /// others up to their first wake-up. `seen` finds the handle of a thread; thread handles from `threads` on and wait
    /// handles from `waits` on are free.
    pub(super) fn finish(
        self,
        end_ns: u64,
        seen: impl Fn(u32, u32) -> Option<ThreadId>,
        (mut threads, waits): (u32, u32),
        to: &mut Builder,
    ) -> WaitCounts {
        let mut given = (0, 0);
        let begin_ns = self.begin_ns;
        for (wait, ((pid, tid), asleep)) in (waits..).map(WaitId).zip(self.threads) {
            let thread = seen(pid, tid).unwrap_or_else(|| {
                let thread = ThreadId(threads);
                threads += 1;
                to.add(Event::Thread(slept_on(thread, pid, tid, begin_ns, end_ns)));
                to.add(Event::Spent(Spent::all(thread, State::Blocked, begin_ns, end_ns)));
                thread
            });
            let Some(blocked_ns) = to.first_wait(thread, begin_ns, wait) else { continue };
            let sums = WaitSums { count: 1, blocked_ns, runnable_ns: 0, longest_ns: blocked_ns };
            to.add(Event::Wait { at: place(wait, thread, &asleep), sums });
            given.0 += 1;
            given.1 += u64::from(asleep.user_stack.is_none());
        }
        given
    }

    /// A thread has run.
    pub(super) fn woke(&mut self, pid: u32, tid: u32) {
        self.threads.remove(&(pid, tid));
    }

    /// The threads that still sleep at a time. Each gets a handle and a wait counted down from the largest number, so
    /// that they do not meet the kernel side's, which count up.
    pub(super) fn still_asleep(&mut self, now_ns: u64) -> Vec<(ThreadLife, WaitId)> {
        self.threads.retain(|(pid, tid), _| procfs::command_name(*pid, *tid).is_some());
        let begin_ns = self.begin_ns;
        let of = |(pid, tid): &(u32, u32)| {
            let number = u32::MAX - tid;
            (slept_on(ThreadId(number), *pid, *tid, begin_ns, now_ns), WaitId(number))
        };
        self.threads.keys().map(of).collect()
    }

    /// The place of such a wait.
    pub(super) fn place(&self, wait: WaitId) -> Option<WaitPlace> {
        let (_, asleep) = self.threads.iter().find(|((_, tid), _)| u32::MAX - tid == wait.0)?;
        Some(place(wait, ThreadId(wait.0), asleep))
    }
}

fn place(wait: WaitId, thread: ThreadId, asleep: &Asleep) -> WaitPlace {
    WaitPlace {
        wait,
        thread,
        within: asleep.within,
        file: None,
        in_kernel: None,
        kernel_lock: None,
        user_stack: asleep.user_stack,
        kernel_stack: None,
    }
}

/// The life of a thread that has slept since observing began.
fn slept_on(thread: ThreadId, pid: u32, tid: u32, begin_ns: u64, now_ns: u64) -> ThreadLife {
    ThreadLife {
        name: procfs::command_name(pid, tid).unwrap_or_default(),
        start_ns: begin_ns,
        end_ns: now_ns,
        times: Times { blocked_ns: now_ns.saturating_sub(begin_ns), ..Times::default() },
        minor_faults: Some(0),
        major_faults: Some(0),
        ..ThreadLife::blank(thread, pid, tid)
    }
}
