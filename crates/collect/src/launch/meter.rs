//! What the machine did during a measured stretch of time, besides the run itself.

use super::command::Finished;
use crate::machine::cgroup::{Groups, Throttled};
use crate::machine::clock::Processors;
use crate::procfs::MachineTime;

/// Readings at the beginning of the stretch.
#[derive(Debug)]
pub(crate) struct Meter {
    groups: Groups,
    processors: Processors,
    of: Vec<u32>,
    heat: Option<u64>,
    time: Option<MachineTime>,
    throttled: Option<Throttled>,
}

/// What changed up to the end of the stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Metered {
    /// Time that these processors were busy with anything, nanoseconds.
    pub(crate) busy_ns: Option<u64>,
    steal_ns: Option<u64>,
    throttled: Option<Throttled>,
    thermal_throttles: Option<u64>,
    clock_khz: Option<u64>,
}

impl Meter {
    /// Begins metering these processors; all when none are given.
    pub(crate) fn begin(of: &[u32]) -> Meter {
        let (groups, processors) = (Groups::own(), Processors::of_machine());
        let heat = processors.thermal_throttles();
        let (time, throttled) = (MachineTime::read(of), groups.throttled());
        Meter { groups, processors, of: of.to_vec(), heat, time, throttled }
    }

    /// To be called as soon as the stretch has ended, because an idle processor lowers its clock.
    pub(crate) fn end(self) -> Metered {
        let now = MachineTime::read(&self.of);
        let (clock_khz, heat) = (self.processors.clock_khz(), self.processors.thermal_throttles());
        let machine = self.time.zip(now);
        Metered {
            busy_ns: machine.map(|(b, a)| a.busy_ns.saturating_sub(b.busy_ns)),
            steal_ns: machine.map(|(b, a)| a.steal_ns.saturating_sub(b.steal_ns)),
            throttled: self.throttled.zip(self.groups.throttled()).map(|(before, after)| after.since(before)),
            thermal_throttles: self.heat.zip(heat).map(|(before, after)| after.saturating_sub(before)),
            clock_khz,
        }
    }
}

impl Metered {
    /// Adds it to a run. `ours_ns`: processor time of the run and of all that belongs to it.
    pub(crate) fn beside(self, run: Finished, ours_ns: u64) -> Finished {
        Finished {
            foreign_ns: self.busy_ns.map(|busy| busy.saturating_sub(ours_ns)),
            steal_ns: self.steal_ns,
            throttled_ns: self.throttled.map(|throttled| throttled.ns),
            throttled_periods: self.throttled.map(|throttled| throttled.periods),
            thermal_throttles: self.thermal_throttles,
            clock_khz: self.clock_khz,
            ..run
        }
    }
}
