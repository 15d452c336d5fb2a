//! Threads that slept when observing began, in what no switch tells of: their waits are known when it ends.
//!
//! May import: `asleep`, `consumer`, /proc.

use super::asleep::{Call, Sleeper};
use super::consumer::Consumer;
use crate::procfs::monotonic_ns;
use recording::tables::Thread;
use recording::{RunId, StackId, ThreadId, WaitId};

/// The system call that a thread sleeps in, and the stack of user space.
pub(super) type Asleep = (Option<Call>, Option<StackId>);

impl Consumer<'_> {
    /// Threads that slept when observing began, by number, and what in.
    pub(super) fn asleep_at_begin(&mut self, pid: u32, sleepers: Vec<(u32, Sleeper)>) {
        for (tid, sleeper) in sleepers {
            let user_stack = self.user_stack(0, pid, (&sleeper.registers, &sleeper.stack), None, monotonic_ns());
            self.sleepers.insert((pid, tid), (sleeper.call, user_stack));
        }
    }

    /// Waits that began before observing did: of threads that never woke, which no hook has seen, and of others up to
    /// their first wake-up. `places`: the largest number of a wait.
    pub(super) fn sleeping_rows(&mut self, end_ns: u64, places: u32) {
        let Some(begin_ns) = self.begin_ns.filter(|_| self.attached) else { return };
        let mut next = self.roll.next_thread;
        let mut sleepers: Vec<_> = std::mem::take(&mut self.sleepers).into_iter().collect();
        sleepers.sort_by_key(|(id, _)| *id);
        for (position, ((pid, tid), (call, user_stack))) in sleepers.into_iter().enumerate() {
            let wait = WaitId(places + 1 + position as u32);
            let thread = match self.roll.first(pid, tid) {
                Some(thread) => thread,
                None => {
                    let thread = ThreadId(next);
                    next += 1;
                    self.roll.rows.threads.push(unseen(self.run, thread, pid, tid, begin_ns, end_ns));
                    self.slices.unseen(thread, begin_ns, end_ns);
                    thread
                }
            };
            let Some(blocked_ns) = self.slices.first_wait(thread, begin_ns, wait) else { continue };
            self.roll.rows.asleep(self.run, wait, thread, call, user_stack, blocked_ns);
            self.roll.count_wait(user_stack.is_some());
        }
    }
}

/// A thread that slept from the beginning to the end.
pub(super) fn unseen(run: RunId, thread: ThreadId, pid: u32, tid: u32, start_ns: u64, end_ns: u64) -> Thread {
    let name = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).unwrap_or_default();
    Thread {
        pid,
        tid,
        name: name.trim_end().to_owned(),
        start_ns,
        end_ns,
        blocked_ns: end_ns.saturating_sub(start_ns),
        minor_faults: Some(0),
        major_faults: Some(0),
        ..Thread::blank(run, thread)
    }
}
