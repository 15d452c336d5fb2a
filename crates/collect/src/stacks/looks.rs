//! When waiting tasks are looked at, and what is told of them.

use super::image::Image;
use super::interner::Interner;
use super::parked::ParkedAt;
use crate::events::Event;
use crate::procfs::monotonic_ns;
use std::collections::BTreeMap;

/// At most one part in so many of one processor's time is spent on looks: a program with thousands of goroutines that
/// wait is looked at less often.
const PART: u64 = 50;

/// The looks at waiting tasks of a run.
#[derive(Debug, Default)]
pub(super) struct Looks {
    /// The next look is not before this time, nanoseconds of CLOCK_MONOTONIC.
    due_ns: u64,
}

impl Looks {
    /// Looks, unless the last look took too long. Gives one event for each place, and one without a stack for tasks whose
    /// stacks are unknown; when no task waited, one without a stack that counts 0.
    pub(super) fn look<'i>(
        &mut self,
        images: impl Iterator<Item = &'i mut Image>,
        interner: &mut Interner,
    ) -> Vec<Event> {
        let time_ns = monotonic_ns();
        if time_ns < self.due_ns {
            return Vec::new();
        }
        let mut all: Option<BTreeMap<ParkedAt, u32>> = None;
        for of_image in images.filter_map(|image| image.parked(interner, time_ns)) {
            let all = all.get_or_insert_default();
            of_image.into_iter().for_each(|(place, count)| *all.entry(place).or_default() += count);
        }
        let Some(all) = all else { return Vec::new() };
        self.due_ns = time_ns + PART * (monotonic_ns() - time_ns);
        if all.is_empty() {
            return vec![Event::Parked { time_ns, user_stack: None, timer: false, count: 0 }];
        }
        let each = all.into_iter();
        each.map(|((user_stack, timer), count)| Event::Parked { time_ns, user_stack, timer, count }).collect()
    }
}
