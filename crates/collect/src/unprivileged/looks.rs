//! Looking at threads that sleep: at each block once, as soon as it has been noticed, as far as the budget allows.
//!
//! May import: `task`, `budget`, `perf`'s records, `syscall_names`, `trace::story` (the names of files).

use super::budget::Budget;
use super::perf::{Record, What};
use super::task::{self, Doing, Sleep};
use crate::procfs::monotonic_ns;
use crate::syscall_names;
use crate::trace::story::FileKind;
use recording::tables::Reason;
use std::collections::{HashMap, HashSet, VecDeque};

/// What was seen of a block, at some time between two.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    pub(super) sleep: Sleep,
    /// More about the place, where it had not been seen before.
    pub(super) story: Option<Story>,
}

/// What a place waits for, and the stack there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Story {
    pub(super) reason: Reason,
    pub(super) what: Option<String>,
    pub(super) stack: Vec<u8>,
}

/// The newest that is known of a thread, ahead of the order of records.
#[derive(Debug, Clone, Copy)]
struct Newest {
    pid: u32,
    time_ns: u64,
    blocked: bool,
    queued: bool,
}

/// The threads that sleep, and what looks at them found.
#[derive(Debug, Default)]
pub(super) struct Looks {
    newest: HashMap<u32, Newest>,
    queue: VecDeque<u32>,
    found: HashMap<u32, VecDeque<Look>>,
    /// Places of which the story has been read: thread, call, object, stack pointer, code address.
    told: HashSet<(u32, Option<u32>, u64, u64, u64)>,
    /// Set when the kernel refuses to show what threads sleep in.
    pub(super) refused: bool,
}

impl Looks {
    /// A record was fetched, maybe before an older one.
    pub(super) fn saw(&mut self, record: &Record) {
        let blocked = match record.what {
            What::Out { preempted } => !preempted,
            What::In | What::Fork { .. } => false,
            What::Exit => {
                self.newest.remove(&record.tid);
                return;
            }
            What::Name { .. } | What::Sample(_) | What::Lost { .. } => return,
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

    /// Looks at threads that sleep and were not looked at since they fell asleep.
    pub(super) fn look(&mut self, budget: &mut Budget) {
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
                Ok(Some(look)) => self.found.entry(tid).or_default().push_back(look),
                Ok(None) => {}
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => self.refused = true,
                // It has ended meanwhile.
                Err(_) => {}
            }
            budget.spend(monotonic_ns().saturating_sub(from_ns));
        }
    }

    fn one(&mut self, pid: u32, tid: u32, from_ns: u64) -> std::io::Result<Option<Look>> {
        let Doing::Sleeping(sleep) = task::doing(pid, tid)? else { return Ok(None) };
        let key = key(tid, &sleep);
        let story = if self.told.contains(&key) {
            None
        } else {
            let story = tell(pid, tid, &sleep);
            // It may have gone on while its stack was read: then the bytes are a mixture.
            if task::doing(pid, tid)? != Doing::Sleeping(sleep) {
                return Ok(None);
            }
            self.told.insert(key);
            Some(story)
        };
        Ok(Some(Look { from_ns, to_ns: monotonic_ns(), sleep, story }))
    }

    /// What was seen of a thread's block between two times; older looks are given up.
    pub(super) fn at(&mut self, tid: u32, from_ns: u64, to_ns: u64) -> Option<Look> {
        let found = self.found.get_mut(&tid)?;
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
        for look in given_up.iter().filter(|look| look.story.is_some()) {
            // Its story goes with it: the next look at the place shall read it again.
            self.told.remove(&key(tid, &look.sleep));
        }
        met
    }

    /// A thread has ended; its number may be another's soon.
    pub(super) fn ended(&mut self, tid: u32) {
        for look in self.found.remove(&tid).into_iter().flatten() {
            self.told.remove(&key(tid, &look.sleep));
        }
    }
}

fn key(tid: u32, sleep: &Sleep) -> (u32, Option<u32>, u64, u64, u64) {
    let object = sleep.call.map_or(0, |(_, arguments)| arguments[0]);
    (tid, sleep.call.map(|(number, _)| number), object, sleep.sp, sleep.ip)
}

/// What a sleeping thread waits for, with its stack.
pub(super) fn tell(pid: u32, tid: u32, sleep: &Sleep) -> Story {
    let number = sleep.call.map(|(number, _)| number);
    let mut reason = syscall_names::reason(number);
    let descriptor = sleep.call.filter(|(number, _)| syscall_names::takes_descriptor(*number));
    let file = descriptor.and_then(|(_, arguments)| {
        let (mode, link) = task::descriptor(pid, u32::try_from(arguments[0]).ok()?)?;
        FileKind::of(mode, link.as_deref())
    });
    if let Some(file) = file.as_ref().filter(|_| reason == Reason::Io) {
        reason = file.reason();
    }
    // In these the kernel function can say no more than the call does.
    if !matches!(reason, Reason::Futex | Reason::Sleep | Reason::Pipe | Reason::Poll | Reason::Child) {
        reason = match task::reason_in_kernel(pid, tid) {
            // A fault that waits for a page is known by its missing system call.
            Some(Reason::Io) if number.is_none() => Reason::Fault,
            Some(told) => told,
            None => reason,
        };
    }
    let what = file.map(|file| file.name()).filter(|_| reason != Reason::KernelLock);
    Story { reason, what, stack: task::stack(pid, sleep.sp) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(tid: u32, time_ns: u64, what: What) -> Record {
        Record { time_ns, pid: 1, tid, processor: 0, what }
    }

    fn look(from_ns: u64, story: bool) -> Look {
        let story = story.then(|| Story { reason: Reason::Futex, what: None, stack: Vec::new() });
        Look { from_ns, to_ns: from_ns + 5, sleep: Sleep { call: None, sp: 1, ip: from_ns }, story }
    }

    #[test]
    fn each_block_is_queued_once_and_the_newest_record_counts() {
        let mut looks = Looks::default();
        looks.saw(&record(7, 20, What::Out { preempted: false }));
        looks.saw(&record(7, 10, What::In));
        looks.saw(&record(8, 5, What::Out { preempted: true }));
        assert_eq!(looks.queue, [7]);
        assert!(looks.newest[&7].blocked && !looks.newest[&8].blocked);
        looks.saw(&record(7, 30, What::In));
        looks.saw(&record(7, 40, What::Out { preempted: false }));
        assert_eq!(looks.queue, [7]);
        looks.saw(&record(7, 50, What::Exit));
        assert!(!looks.newest.contains_key(&7));
    }

    #[test]
    fn a_look_belongs_to_the_block_that_holds_it_wholly() {
        let mut looks = Looks::default();
        looks.found.insert(7, VecDeque::from([look(10, true), look(50, true), look(97, false), look(200, false)]));
        for held in &looks.found[&7] {
            looks.told.insert(key(7, &held.sleep));
        }
        assert_eq!(looks.at(7, 40, 90).map(|look| look.from_ns), Some(50));
        assert_eq!(looks.told.len(), 3, "the story of the first was lost with it");
        // Read while the thread woke.
        assert!(looks.at(7, 95, 100).is_none());
        assert_eq!(looks.at(7, 150, 300).map(|look| look.from_ns), Some(200));
        assert!(looks.at(8, 0, 300).is_none());
    }
}
