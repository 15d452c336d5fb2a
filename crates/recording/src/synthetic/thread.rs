//! One thread of a traced run: what it does, one thing after the other. Imports `run`, `ids`, `tables`.

use super::run::{RunSketch, WakeSketch};
use super::{FUTEX, FUTEX_WAIT_PRIVATE, SAMPLE_PERIOD_NS};
use crate::ids::*;
use crate::tables::*;

/// A thread that is being made: every call advances its time.
#[derive(Debug)]
pub struct ThreadSketch<'s, 'a> {
    row: usize,
    now: u64,
    goroutine: Option<u64>,
    run: &'s mut RunSketch<'a>,
}

impl<'a> RunSketch<'a> {
    /// A thread that starts when the run begins.
    pub fn thread<'s>(&'s mut self, name: &str) -> ThreadSketch<'s, 'a> {
        self.thread_at(name, 0)
    }

    /// A thread that starts `start_ns` nanoseconds after the run begins.
    pub fn thread_at<'s>(&'s mut self, name: &str, start_ns: u64) -> ThreadSketch<'s, 'a> {
        let thread = ThreadId(self.tables.threads.iter().filter(|t| t.run == self.run).count() as u32);
        self.tables.threads.push(Thread {
            pid: 100,
            tid: 100 + thread.0,
            name: name.to_owned(),
            parent: (thread.0 > 0).then_some(ThreadId(0)),
            start_ns,
            end_ns: start_ns,
            ..Thread::blank(self.run, thread)
        });
        let row = self.tables.threads.len() - 1;
        ThreadSketch { row, now: start_ns, goroutine: None, run: self }
    }
}

impl ThreadSketch<'_, '_> {
    /// The goroutine in the samples that follow; none when samples do not show it.
    pub fn goroutine_is(&mut self, address: Option<u64>) {
        self.goroutine = address;
    }

    /// Runs on a processor in user space, with a sample each millisecond.
    pub fn runs(self, ns: u64, stack: &str) -> Self {
        self.running(ns, stack, Mode::User, None, None)
    }

    /// Runs on a processor in the kernel, in a system call, called from a user stack.
    pub fn runs_in_kernel(self, ns: u64, syscall: u32, stack: &str) -> Self {
        self.running(ns, stack, Mode::Kernel, Some(syscall), None)
    }

    /// The same with the kernel's own stack; without a system call the thread is in a page fault or an interrupt.
    pub fn runs_in_kernel_at(self, ns: u64, syscall: Option<u32>, stack: &str, kernel: &str) -> Self {
        self.running(ns, stack, Mode::Kernel, syscall, Some(kernel))
    }

    /// Where the thread was created.
    pub fn created_at(mut self, stack: &str) -> Self {
        self.row_mut().created_stack = Some(self.run.names.stack(stack, self.run.tables));
        self
    }

    /// Blocked in a system call or (without one) a fault, waiting for something that has a name.
    pub fn waits_for(self, reason: Reason, what: &str, syscall: Option<u32>, ns: u64, stack: &str) -> Self {
        let run = self.run.run;
        let thread = self.run.tables.threads[self.row].thread;
        let blocked = self.blocked(reason, None, ns, stack, None);
        let wait = blocked.run.tables.slices.last().and_then(|s| s.wait);
        let rows = blocked.run.tables.waits.iter_mut();
        for row in rows.filter(|w| w.run == run && w.thread == thread && Some(w.wait) == wait) {
            (row.what, row.syscall) = (Some(what.to_owned()), syscall);
        }
        blocked
    }

    /// Blocked in futex(2) on a lock at this address, and woken by the named thread through the same address.
    pub fn locks(self, object: u64, ns: u64, stack: &str, waker: &str) -> Self {
        self.blocked(Reason::Futex, Some(object), ns, stack, Some(waker))
    }

    /// The stack of the waker that ended the last block.
    pub fn woken_at(self, stack: &str) -> Self {
        let stack = self.run.names.stack(stack, self.run.tables);
        if let Some(wake) = self.run.wakes.last_mut() {
            wake.stack = Some(stack);
        }
        self
    }

    /// Blocked until the named thread woke it in a system call.
    pub fn handed(self, reason: Reason, ns: u64, stack: &str, waker: &str, syscall: u32) -> Self {
        let blocked = self.blocked(reason, None, ns, stack, Some(waker));
        if let Some(wake) = blocked.run.wakes.last_mut() {
            wake.syscall = syscall;
        }
        blocked
    }

    /// Blocked for another reason.
    pub fn blocks(self, reason: Reason, ns: u64, stack: &str) -> Self {
        self.blocked(reason, None, ns, stack, None)
    }

    /// Woken and waiting for a processor.
    pub fn runnable(mut self, ns: u64) -> Self {
        self.row_mut().runnable_ns += ns;
        self.slice(State::Runnable, ns, None)
    }

    /// Taken off the processor.
    pub fn preempted(mut self, ns: u64) -> Self {
        let row = self.row_mut();
        row.preempted_ns += ns;
        row.involuntary_switches += 1;
        self.slice(State::Preempted, ns, None)
    }

    fn running(mut self, ns: u64, stack: &str, mode: Mode, syscall: Option<u32>, kernel: Option<&str>) -> Self {
        let user_stack = self.run.names.stack(stack, self.run.tables);
        let kernel_stack = kernel.map(|k| self.run.names.stack(k, self.run.tables));
        let (run, thread) = (self.run.run, self.row_mut().thread);
        // Only ticks within the stretch: an earlier one would sample something else.
        for tick in self.now.div_ceil(SAMPLE_PERIOD_NS)..(self.now + ns).div_ceil(SAMPLE_PERIOD_NS) {
            self.run.tables.samples.push(Sample {
                run,
                thread,
                time_ns: tick * SAMPLE_PERIOD_NS,
                processor: 0,
                mode,
                syscall,
                user_stack: Some(user_stack),
                kernel_stack,
                goroutine: self.goroutine,
            });
        }
        self.row_mut().running_ns += ns;
        self.slice(State::Running, ns, None)
    }

    fn blocked(mut self, reason: Reason, object: Option<u64>, ns: u64, stack: &str, waker: Option<&str>) -> Self {
        let user_stack = Some(self.run.names.stack(stack, self.run.tables));
        let (run, thread) = (self.run.run, self.row_mut().thread);
        let same = |w: &&mut Wait| {
            (w.run, w.thread, w.object, w.reason, w.user_stack) == (run, thread, object, reason, user_stack)
        };
        let next = WaitId(self.run.tables.waits.iter().filter(|w| w.run == run).count() as u32);
        let wait = match self.run.tables.waits.iter_mut().find(same) {
            Some(wait) => {
                wait.count += 1;
                wait.blocked_ns += ns;
                wait.longest_ns = wait.longest_ns.max(ns);
                wait.wait
            }
            None => {
                let futex = reason == Reason::Futex;
                self.run.tables.waits.push(Wait {
                    run,
                    wait: next,
                    thread,
                    reason,
                    syscall: futex.then_some(FUTEX),
                    object,
                    operation: futex.then_some(FUTEX_WAIT_PRIVATE),
                    what: None,
                    expected: futex.then_some(2),
                    timed: false,
                    user_stack,
                    kernel_stack: None,
                    count: 1,
                    blocked_ns: ns,
                    runnable_ns: 0,
                    longest_ns: ns,
                });
                next
            }
        };
        if let Some(waker) = waker {
            let wake = WakeSketch { wait, waker: waker.to_owned(), stack: None, syscall: FUTEX, blocked_ns: ns };
            self.run.wakes.push(wake);
        }
        let row = self.row_mut();
        row.blocked_ns += ns;
        row.voluntary_switches += 1;
        self.slice(State::Blocked, ns, Some(wait))
    }

    fn slice(mut self, state: State, ns: u64, wait: Option<WaitId>) -> Self {
        let (run, thread, start_ns) = (self.run.run, self.row_mut().thread, self.now);
        self.now += ns;
        let end_ns = self.now;
        self.row_mut().end_ns = end_ns;
        let processor = (state == State::Running).then_some(0);
        self.run.tables.slices.push(Slice {
            run,
            thread,
            start_ns,
            end_ns,
            state,
            spent_ns: ns,
            count: 1,
            wait,
            processor,
        });
        self
    }

    fn row_mut(&mut self) -> &mut Thread {
        &mut self.run.tables.threads[self.row]
    }
}
