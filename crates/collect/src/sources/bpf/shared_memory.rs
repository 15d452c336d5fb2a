//! The BPF side of the room `sharing`: CPU samples for it, and the threads on which it sets breakpoints.

use crate::bpf::Programs;
use crate::bpf::abi::{Globals, PHASE_RUNNING, SampleEvent, THREAD_ENDED, THREAD_FREE, ThreadRecord};
use crate::bpf::mapped::MappedArray;
use crate::procfs::monotonic_ns;
use crate::sharing::{Sampled, SharingSampler, Threads};
use crate::stacks::Stacks;
use recording::StackId;
use std::mem::offset_of;

/// How many return addresses are checked for a loop around a call: unoptimised code wraps atomics in several functions.
const CALLERS: usize = 4;

/// Passes on a sample in user space; its stack must be the one that was unwound last.
pub(super) fn sample(
    sharing: &mut SharingSampler,
    event: &SampleEvent,
    stack: &[u8],
    user_stack: Option<StackId>,
    stacks: &Stacks,
) {
    let Some(data) = stacks.data(event.image) else { return };
    let callers: Vec<u64> = stacks.callers(event.image).take(CALLERS).collect();
    let sampled = Sampled {
        thread: event.header.thread,
        pid: event.pid,
        image: event.image,
        time_ns: event.time_ns,
        registers: &event.all_registers,
        stack,
        red_zone: event.red_zone.get(..event.red_zone_bytes as usize).unwrap_or_default(),
        callers: &callers,
        user_stack,
    };
    sharing.sample(&sampled, &data);
}

/// Watches suspects.
pub(super) fn watch(sharing: &mut SharingSampler, programs: &Programs) {
    let last = programs.globals.peek(0, offset_of!(Globals, next_slot)).unwrap_or(0);
    sharing.tick(monotonic_ns(), &Records { records: &programs.threads, last: last as usize });
}

/// The records of threads, up to the last slot that was used.
struct Records<'r> {
    records: &'r MappedArray<ThreadRecord>,
    last: usize,
}

impl Records<'_> {
    fn slot(&self, thread: u32) -> Option<usize> {
        (1..=self.last).find(|slot| self.records.peek(*slot, offset_of!(ThreadRecord, thread)) == Some(thread))
    }
}

impl Threads for Records<'_> {
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
