//! What a unit of work already waits for at the baseline: a reply, a device, a pause of its own. More threads do
//! not make these waits shorter; they wait at the same time. So, like the processor time that the work takes, such
//! waiting is no loss at other counts. Only waiting beyond it is.

use super::lines::{Balance, Booked, LineId, Why};
use crate::statistics::MIN_SHARE;
use std::collections::BTreeMap;

/// What the work waits for at the baseline.
pub(super) struct Latency {
    /// Idle processor-seconds per unit of work, by line.
    waits: BTreeMap<LineId, f64>,
    /// Thread-seconds per unit of work that threads were blocked, by line.
    waited: BTreeMap<LineId, f64>,
    /// Time of a unit of work × threads, in seconds. With t threads that do not hinder each other, a unit takes a t-th
    /// of it.
    thread_seconds: f64,
    /// True where several threads shared the work at the baseline too, so that they waited for each other there.
    several: bool,
    /// True where threads waited for work at the baseline while others ran: for those, and for nothing outside.
    each_other: bool,
}

/// Waits for what another thread brings.
const FOR_OTHERS: LineId = LineId::Blocked(Why::Condition);

/// True for what a thread can wait for even if no other thread does the same work. A thread at a lock or a barrier, or
/// waiting for a thread's end, waits for threads that do the same work.
fn of_the_work(id: LineId) -> bool {
    matches!(id, LineId::Blocked(Why::Sleep | Why::Io | Why::Poll | Why::Condition) | LineId::ReadingPages)
}

impl Latency {
    /// From the account of the baseline, with the processors it could use and its threads: where a sweep counts
    /// processors, several threads may share one. `waited`: thread-seconds per unit of work that threads were blocked.
    ///
    /// `holds_up`: what keeps other work from the thread, although the work could do without; it is loss at every count.
    pub(super) fn new(
        smallest: &Balance,
        waited: BTreeMap<LineId, f64>,
        (processors, threads): (u32, u32),
        holds_up: Option<LineId>,
    ) -> Latency {
        let of_the_work = |l: &&Booked| of_the_work(l.id) && Some(l.id) != holds_up && l.seconds > 0.0;
        let lines = smallest.lines.iter().filter(of_the_work);
        let time = smallest.capacity / f64::from(processors.max(1));
        let waits: BTreeMap<LineId, f64> = lines.map(|l| (l.id, l.seconds)).collect();
        let idle = waits.get(&FOR_OTHERS).copied().unwrap_or(0.0);
        Latency {
            each_other: waited.get(&FOR_OTHERS).is_some_and(|waited| waited - idle > MIN_SHARE * time),
            waits,
            waited,
            thread_seconds: time * f64::from(threads.max(1)),
            several: threads > smallest.threads.max(1),
        }
    }

    /// Removes from the lines of an account what the work waits for anyway, counts it as useful, and returns it.
    ///
    /// Threads that wait at the same time leave processors idle no longer than the work would take if they did not
    /// hinder each other. Idle time beyond that is loss, whatever the threads wait for. `waited`, processors and
    /// threads: as in [`Latency::new`].
    pub(super) fn leave_out(
        &self,
        account: &mut Balance,
        waited: &BTreeMap<LineId, f64>,
        (processors, threads): (u32, u32),
    ) -> f64 {
        let unhindered = self.thread_seconds * f64::from(processors) / f64::from(threads.max(1));
        let most = (unhindered - account.useful).max(0.0);
        let anyway = |id: &LineId, seconds: f64| self.waits.get(id).copied().unwrap_or(0.0).min(seconds).max(0.0);
        let all: f64 = account.lines.iter().map(|l| anyway(&l.id, l.seconds)).sum();
        let part = if all > most { most / all } else { 1.0 };
        let mut own = 0.0;
        for line in &mut account.lines {
            let taken = anyway(&line.id, line.seconds) * part;
            line.seconds -= taken;
            own += taken;
        }
        // If threads waited for each other at the baseline, these waits say nothing about what grew.
        if !self.several {
            self.pass_on(account, waited);
        }
        account.lines.retain(|l| l.seconds > 0.0 || !self.waits.contains_key(&l.id));
        account.lines.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        account.useful += own;
        account.loss_interval.low -= own;
        account.loss_interval.high -= own;
        own
    }

    /// Idle processors are charged in equal parts to all waiting threads. Waits that are as long as at the baseline
    /// explain no loss: their part goes to the waits that have grown, in proportion to their growth. A wait leaves
    /// no more than one processor idle: what exceeds its growth stays unexplained, and so does what goes to waits of
    /// unknown purpose. Only waits for other threads keep what no growth explains.
    fn pass_on(&self, account: &mut Balance, waited: &BTreeMap<LineId, f64>) {
        let before = |id: &LineId| self.waited.get(id).copied().unwrap_or(0.0);
        let grown: BTreeMap<LineId, f64> = waited
            .iter()
            .filter(|(id, seconds)| **seconds > (1.0 + MIN_SHARE) * before(id))
            .map(|(id, seconds)| (*id, seconds - before(id)))
            .collect();
        let all: f64 = grown.values().sum();
        if all <= 0.0 {
            return;
        }
        let (mut rest, mut for_others) = (0.0, 0.0);
        for line in &mut account.lines {
            if self.waits.contains_key(&line.id) && !grown.contains_key(&line.id) {
                let taken = line.seconds.max(0.0);
                rest += taken;
                for_others += if line.id == FOR_OTHERS && self.each_other { taken } else { 0.0 };
                line.seconds = line.seconds.min(0.0);
            }
        }
        let mut left = rest;
        for line in &mut account.lines {
            if let Some(growth) = grown.get(&line.id) {
                let part = (rest * growth / all).min(*growth);
                line.seconds += part;
                left -= part;
            }
        }
        let kept = left.max(0.0).min(for_others);
        if let Some(line) = account.lines.iter_mut().find(|line| line.id == FOR_OTHERS) {
            line.seconds += kept;
            left -= kept;
        }
        account.unexplained += left;
    }
}
