//! When the tasks of a runtime's scheduler are looked at.

use crate::build::Builder;
use crate::events::Event;
use crate::procfs::monotonic_ns;
use crate::stacks::Stacks;
use std::collections::BTreeMap;

/// At most one part in so many of one processor's time is spent on looks: a program with thousands of goroutines that wait is
/// looked at less often.
const PART: u64 = 100;

/// The looks at waiting tasks of a run.
#[derive(Debug, Default)]
pub(super) struct TaskLooks {
    /// The next look is not before this time, nanoseconds of CLOCK_MONOTONIC.
    due_ns: u64,
}

impl TaskLooks {
    /// Looks, unless the last look was too long for that.
    pub(super) fn look(&mut self, stacks: &mut Stacks<'_>, to: &mut Builder) {
        let time_ns = monotonic_ns();
        if time_ns < self.due_ns {
            return;
        }
        if let Some(parked) = stacks.parked(time_ns) {
            events(time_ns, &parked).for_each(|event| to.add(event));
            self.due_ns = time_ns + PART * (monotonic_ns() - time_ns);
        }
    }
}

/// One for each stack; that there was a look is told also when nobody waited.
fn events(time_ns: u64, parked: &BTreeMap<recording::StackId, u32>) -> impl Iterator<Item = Event> + '_ {
    let nobody = parked.is_empty().then_some(Event::Parked { time_ns, user_stack: None, count: 0 });
    let each =
        parked.iter().map(move |(stack, count)| Event::Parked { time_ns, user_stack: Some(*stack), count: *count });
    nobody.into_iter().chain(each)
}
