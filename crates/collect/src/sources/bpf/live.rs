//! What threads do now, according to their records.

use super::{BpfSource, thread};
use crate::bpf::abi::*;
use crate::events::{Doing, WaitPlace};
use crate::sources::{LiveSource, Living};
use crate::stacks::Stacks;
use recording::WaitId;
use std::collections::HashSet;

/// With more places than this, a live view forgets those of ended threads: half of what the kernel side's table holds.
const MOST_LIVE_PLACES: usize = 65_536;

impl LiveSource for BpfSource {
    fn living(&mut self, now_ns: u64) -> Vec<Living> {
        let mut living = Vec::new();
        for record in self.alive().into_iter().filter(|record| record.state != THREAD_ENDED) {
            if let Some(sleepers) = &mut self.sleepers {
                sleepers.woke(record.pid, record.tid);
            }
            let waits = record.phase == PHASE_BLOCKED && record.was_preempted == 0;
            let doing = match record.phase {
                PHASE_RUNNING => Doing::Runs,
                PHASE_BLOCKED if waits => Doing::Waits,
                _ => Doing::Ready,
            };
            let blocked = (waits && record.place != 0).then_some((WaitId(record.place), record.off_ns));
            let created_stack = self.places.stack_of(record.created_place);
            let life = thread::life(&record, now_ns, self.programs.counted(), created_stack);
            living.push(Living { life, doing, blocked });
        }
        for (life, wait) in self.sleepers.iter_mut().flat_map(|sleepers| sleepers.still_asleep(now_ns)) {
            let blocked = Some((wait, life.start_ns));
            living.push(Living { life, doing: Doing::Waits, blocked });
        }
        living
    }

    fn place(&self, wait: WaitId, stacks: &mut Stacks<'_>) -> Option<WaitPlace> {
        if let Some(hit) = self.places.first_hit(wait.0) {
            return Some(self.places.wait_place(wait.0, hit.thread, hit.kind, hit.object, stacks));
        }
        self.sleepers.as_ref()?.place(wait)
    }

    fn forget(&mut self) {
        self.ended.forget();
        if self.places.count() > MOST_LIVE_PLACES {
            let alive: HashSet<u32> = self.alive().iter().map(|record| record.thread).collect();
            self.places.retain(|thread| alive.contains(&thread));
        }
    }

    fn sample_period_ns(&self) -> u64 {
        1_000_000_000 / self.programs.sample_hz.max(1)
    }
}
