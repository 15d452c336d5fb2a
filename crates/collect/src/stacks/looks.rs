//! When waiting tasks are looked at, and what is told of them.

use super::image::Image;
use super::interner::Interner;
use super::parked::ParkedAt;
use crate::events::Event;
use crate::procfs::{monotonic_ns, thread_cpu_ns};
use std::collections::BTreeMap;

/// At most one part in so many of one processor's time is spent on looks: a program with thousands of goroutines that
/// wait is looked at less often.
const PART: u64 = 50;

/// How much processor time a look may take, nanoseconds: then there is one every ten milliseconds. Where looks take longer, the next ones
/// are at fewer tasks: what tasks wait for changes faster than all of thousands can be looked at.
const TAKES_NS: u64 = 10_000_000 / PART;

/// The fewest and the most tasks of an image in one look; the next look is at the next ones. A server with few connections
/// has some forty goroutines: all of them are read, so that one that sleeps while it holds a lock is in each look.
const TASKS: (u64, u64) = (64, 256);

/// The looks at waiting tasks of a run.
#[derive(Debug)]
pub(super) struct Looks {
    /// The next look is not before this time, nanoseconds of CLOCK_MONOTONIC.
    due_ns: u64,
    /// How many tasks of an image the next look is at.
    at_once: u64,
}

impl Default for Looks {
    fn default() -> Looks {
        Looks { due_ns: 0, at_once: TASKS.1 }
    }
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
        let before_ns = thread_cpu_ns();
        let mut all: Option<BTreeMap<ParkedAt, u32>> = None;
        for of_image in images.filter_map(|image| image.parked(self.at_once, interner, time_ns)) {
            let all = all.get_or_insert_default();
            of_image.into_iter().for_each(|(place, count)| *all.entry(place).or_default() += count);
        }
        let Some(all) = all else { return Vec::new() };
        self.took(time_ns, thread_cpu_ns() - before_ns);
        if all.is_empty() {
            return vec![Event::Parked { time_ns, user_stack: None, timer: false, count: 0 }];
        }
        let each = all.into_iter();
        each.map(|((user_stack, timer), count)| Event::Parked { time_ns, user_stack, timer, count }).collect()
    }

    /// A look at `time_ns` took so much processor time: sets when the next one is due, and at how many tasks.
    fn took(&mut self, time_ns: u64, took_ns: u64) {
        self.due_ns = time_ns + PART * took_ns;
        let fits = self.at_once * TAKES_NS / took_ns.max(1);
        // Grows by steps: the first look at a place unwinds its stack, later ones do not.
        self.at_once = fits.min(2 * self.at_once).clamp(TASKS.0, TASKS.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_looks_take_long_the_next_ones_are_at_fewer_tasks() {
        let mut looks = Looks::default();
        looks.took(1000, TAKES_NS);
        assert_eq!((looks.at_once, looks.due_ns), (256, 1000 + 10_000_000));
        looks.took(0, 2 * TAKES_NS);
        assert_eq!((looks.at_once, looks.due_ns), (128, 20_000_000));
        looks.took(0, 100 * TAKES_NS);
        assert_eq!(looks.at_once, 64);
        looks.took(0, TAKES_NS / 100);
        assert_eq!(looks.at_once, 128);
        looks.took(0, 0);
        looks.took(0, 0);
        looks.took(0, 0);
        assert_eq!(looks.at_once, 256);
    }
}
