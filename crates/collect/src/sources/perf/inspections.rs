//! Inspects sleeping threads: each block once, as soon as it is noticed, as far as the budget allows.

use super::record::{Record, RecordKind};
use crate::procfs::monotonic_ns;
use crate::sources::sleeping::{Budget, Inspected, inspect};
use crate::task::{self, Activity, Sleep};
use std::collections::{HashMap, HashSet, VecDeque};

/// What an inspection found; it was made between `from_ns` and `to_ns`.
#[derive(Debug)]
pub(super) struct Inspection {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    pub(super) sleep: Sleep,
    /// What the thread waits for, if the place was not described before.
    pub(super) found: Option<Inspected>,
}

/// The latest known state of a thread, ahead of the order of records.
#[derive(Debug, Clone, Copy)]
struct Newest {
    pid: u32,
    time_ns: u64,
    blocked: bool,
    queued: bool,
}

/// The sleeping threads, and what their inspections found.
#[derive(Debug, Default)]
pub(super) struct Inspections {
    newest: HashMap<u32, Newest>,
    queue: VecDeque<u32>,
    made: HashMap<u32, VecDeque<Inspection>>,
    /// Places that have been described: thread, call, object, stack pointer, code address.
    described: HashSet<(u32, Option<u32>, u64, u64, u64)>,
    /// Set when the kernel does not allow reading what threads sleep in.
    pub(super) refused: bool,
}

impl Inspections {
    /// To be called for each fetched record, in any order.
    pub(super) fn saw(&mut self, record: &Record) {
        let blocked = match record.what {
            RecordKind::Out { preempted } => !preempted,
            RecordKind::In | RecordKind::Fork { .. } => false,
            RecordKind::Exit => {
                self.newest.remove(&record.tid);
                return;
            }
            RecordKind::Name { .. } | RecordKind::Sample(_) | RecordKind::Lost { .. } => return,
        };
        let unknown = Newest { pid: record.pid, time_ns: 0, blocked: false, queued: false };
        let newest = self.newest.entry(record.tid).or_insert(unknown);
        if record.time_ns < newest.time_ns {
            return;
        }
        (newest.time_ns, newest.blocked, newest.pid) = (record.time_ns, blocked, record.pid);
        if blocked && !newest.queued {
            newest.queued = true;
            self.queue.push_back(record.tid);
        }
    }

    /// Inspects sleeping threads that were not inspected since they fell asleep.
    pub(super) fn inspect(&mut self, budget: &mut Budget) {
        for _ in 0..self.queue.len() {
            if !budget.allows() || self.refused {
                return;
            }
            let Some(tid) = self.queue.pop_front() else { return };
            let Some(newest) = self.newest.get_mut(&tid) else { continue };
            newest.queued = false;
            if !newest.blocked {
                continue;
            }
            let pid = newest.pid;
            let from_ns = monotonic_ns();
            match self.one(pid, tid, from_ns) {
                Ok(Some(look)) => self.made.entry(tid).or_default().push_back(look),
                Ok(None) => {}
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => self.refused = true,
                // The thread has ended meanwhile.
                Err(_) => {}
            }
            budget.spend(monotonic_ns().saturating_sub(from_ns));
        }
    }

    fn one(&mut self, pid: u32, tid: u32, from_ns: u64) -> std::io::Result<Option<Inspection>> {
        let Activity::Sleeping(sleep) = task::doing(pid, tid)? else { return Ok(None) };
        let key = key(tid, &sleep);
        let found = if self.described.contains(&key) {
            None
        } else {
            let found = inspect(pid, tid, &sleep);
            // If the thread ran on while its stack was read, the bytes are inconsistent.
            if task::doing(pid, tid)? != Activity::Sleeping(sleep) {
                return Ok(None);
            }
            self.described.insert(key);
            Some(found)
        };
        Ok(Some(Inspection { from_ns, to_ns: monotonic_ns(), sleep, found }))
    }

    /// The inspection of a thread's block between two times; earlier inspections are dropped.
    pub(super) fn at(&mut self, tid: u32, from_ns: u64, to_ns: u64) -> Option<Inspection> {
        let found = self.made.get_mut(&tid)?;
        let mut given_up = Vec::new();
        let mut met = None;
        while let Some(look) = found.pop_front() {
            if look.from_ns >= to_ns {
                found.push_front(look);
                break;
            }
            if look.from_ns >= from_ns && look.to_ns <= to_ns && met.is_none() {
                met = Some(look);
            } else {
                given_up.push(look);
            }
        }
        for look in given_up.iter().filter(|look| look.found.is_some()) {
            // What it found is lost, so the next inspection must describe the place again.
            self.described.remove(&key(tid, &look.sleep));
        }
        met
    }

    /// A thread has ended; its number may soon be reused.
    pub(super) fn ended(&mut self, tid: u32) {
        for look in self.made.remove(&tid).into_iter().flatten() {
            self.described.remove(&key(tid, &look.sleep));
        }
    }
}

fn key(tid: u32, sleep: &Sleep) -> (u32, Option<u32>, u64, u64, u64) {
    let object = sleep.call.map_or(0, |(_, arguments)| arguments[0]);
    (tid, sleep.call.map(|(number, _)| number), object, sleep.sp, sleep.ip)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Within;

    fn record(tid: u32, time_ns: u64, what: RecordKind) -> Record {
        Record { time_ns, pid: 1, tid, processor: 0, what }
    }

    fn inspection(from_ns: u64, found: bool) -> Inspection {
        let nothing = Inspected { within: Within::Fault, file: None, in_kernel: None, stack: Vec::new() };
        let sleep = Sleep { call: None, sp: 1, ip: from_ns };
        Inspection { from_ns, to_ns: from_ns + 5, sleep, found: found.then_some(nothing) }
    }

    #[test]
    fn each_block_is_queued_once_and_the_newest_record_counts() {
        let mut inspections = Inspections::default();
        inspections.saw(&record(7, 20, RecordKind::Out { preempted: false }));
        inspections.saw(&record(7, 10, RecordKind::In));
        inspections.saw(&record(8, 5, RecordKind::Out { preempted: true }));
        assert_eq!(inspections.queue, [7]);
        assert!(inspections.newest[&7].blocked && !inspections.newest[&8].blocked);
        inspections.saw(&record(7, 30, RecordKind::In));
        inspections.saw(&record(7, 40, RecordKind::Out { preempted: false }));
        assert_eq!(inspections.queue, [7]);
        inspections.saw(&record(7, 50, RecordKind::Exit));
        assert!(!inspections.newest.contains_key(&7));
    }

    #[test]
    fn a_look_belongs_to_the_block_that_holds_it_wholly() {
        let mut inspections = Inspections::default();
        inspections.made.insert(
            7,
            VecDeque::from([inspection(10, true), inspection(50, true), inspection(97, false), inspection(200, false)]),
        );
        for held in &inspections.made[&7] {
            inspections.described.insert(key(7, &held.sleep));
        }
        assert_eq!(inspections.at(7, 40, 90).map(|look| look.from_ns), Some(50));
        assert_eq!(inspections.described.len(), 3, "the first was lost, and is to be described again");
        // It was made while the thread woke.
        assert!(inspections.at(7, 95, 100).is_none());
        assert_eq!(inspections.at(7, 150, 300).map(|look| look.from_ns), Some(200));
        assert!(inspections.at(8, 0, 300).is_none());
    }
}
