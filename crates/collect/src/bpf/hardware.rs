//! Hardware events of every processor, for the programs to read when a thread comes to a processor or leaves it.
//!
//! Most virtual machines have none; then nothing is opened and the programs do not look.

use super::abi::COUNTERS;
use crate::counters::{self, CounterKind};
use aya::maps::MapData;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};

/// What an event counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HardwareEvent {
    Cycles,
    Instructions,
    CacheMisses,
    StalledCycles,
}

impl HardwareEvent {
    fn kind(self) -> CounterKind {
        match self {
            HardwareEvent::Cycles => CounterKind::Cycles,
            HardwareEvent::Instructions => CounterKind::Instructions,
            HardwareEvent::CacheMisses => CounterKind::CacheMisses,
            HardwareEvent::StalledCycles => CounterKind::StalledCycles,
        }
    }
}

/// Open events, by what they count and by processor.
pub(crate) struct Hardware {
    events: Vec<HardwareEvent>,
    files: Vec<Vec<(u32, File)>>,
}

impl Hardware {
    /// Opens what the machine counts on all of the processors; an event that one of them lacks is left out.
    pub(super) fn open(processors: &[usize]) -> Hardware {
        let wanted = [
            HardwareEvent::Cycles,
            HardwareEvent::Instructions,
            HardwareEvent::CacheMisses,
            HardwareEvent::StalledCycles,
        ];
        Hardware::open_these(&wanted.map(|event| (event, event.kind())), processors)
    }

    /// The kernel's own clock in place of cycles, for tests on machines without hardware events.
    #[cfg(test)]
    pub(crate) fn stand_in(processors: &[usize]) -> Hardware {
        Hardware::open_these(&[(HardwareEvent::Cycles, CounterKind::Clock)], processors)
    }

    fn open_these(wanted: &[(HardwareEvent, CounterKind)], processors: &[usize]) -> Hardware {
        let mut hardware = Hardware { events: Vec::new(), files: Vec::new() };
        for (event, kind) in wanted {
            let open = |processor: &usize| {
                let processor = u32::try_from(*processor).ok()?;
                Some((processor, counters::open_on(processor, *kind)?))
            };
            if let Some(files) = processors.iter().map(open).collect::<Option<Vec<_>>>() {
                hardware.events.push(*event);
                hardware.files.push(files);
            }
        }
        hardware
    }

    /// What is open, in the order of the programs' counters.
    pub(super) fn events(&self) -> &[HardwareEvent] {
        &self.events
    }

    /// Hands the events to the programs; returns how many kinds they may read.
    pub(super) fn install(&self, maps: &[MapData; COUNTERS]) -> u32 {
        let mut installed = 0;
        for (map, files) in maps.iter().zip(&self.files) {
            let put = |(processor, file): &(u32, File)| {
                super::enrol::update(map.fd().as_fd().as_raw_fd(), processor, &(file.as_raw_fd() as u32)).is_ok()
            };
            if !files.iter().all(put) {
                break;
            }
            installed += 1;
        }
        installed
    }
}
