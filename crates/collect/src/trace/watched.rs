//! The threads of a run as those who set breakpoints ask for them. May import: the BPF records, `sharing`.

use crate::bpf::abi::{PHASE_RUNNING, THREAD_ENDED, THREAD_FREE, ThreadRecord};
use crate::bpf::mapped::MappedArray;
use crate::sharing::Threads;
use std::mem::offset_of;

/// The records of threads, up to the last that was used.
pub(super) struct Watched<'r> {
    pub(super) records: &'r MappedArray<ThreadRecord>,
    pub(super) last: usize,
}

impl Watched<'_> {
    fn slot(&self, thread: u32) -> Option<usize> {
        (1..=self.last).find(|slot| self.records.peek(*slot, offset_of!(ThreadRecord, thread)) == Some(thread))
    }
}

impl Threads for Watched<'_> {
    fn number(&self, thread: u32) -> Option<u32> {
        self.records.peek(self.slot(thread)?, offset_of!(ThreadRecord, tid))
    }

    fn ran(&self, thread: u32) -> Option<(u32, bool)> {
        let slot = self.slot(thread)?;
        let phase = self.records.peek(slot, offset_of!(ThreadRecord, phase))?;
        Some((self.records.peek(slot, offset_of!(ThreadRecord, running_ns))?, phase == PHASE_RUNNING))
    }

    fn alive(&self, image: u32, pid: u32) -> Vec<u32> {
        let of = |slot: &usize| {
            let state = self.records.peek(*slot, offset_of!(ThreadRecord, state));
            let living = state.is_some_and(|state| state != THREAD_FREE && state != THREAD_ENDED);
            let is = |field: usize, value: u32| self.records.peek(*slot, field) == Some(value);
            living && is(offset_of!(ThreadRecord, image), image) && is(offset_of!(ThreadRecord, pid), pid)
        };
        let slots = (1..=self.last).filter(of);
        slots.filter_map(|slot| self.records.peek(slot, offset_of!(ThreadRecord, thread))).collect()
    }
}
