//! What else uses the processors before anything is measured.
//!
//! Two looks at /proc, some time apart, tell how much of the machine was busy in between, and with which programs. This
//! needs no rights. /proc counts in ticks of 10 ms, so a look over one second cannot show less than about 2 %.

use crate::procfs::{MachineTime, Process, monotonic_ns, processes};
use std::collections::BTreeMap;

/// What was busy between two looks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Busy {
    /// Share of all processors' time, 0 to 1, that others took: other programs, kernel threads, other virtual machines.
    pub share: f64,
    /// Other programs by name with their share of all processors' time, largest first.
    pub by: Vec<(String, f64)>,
}

/// The machine at one moment.
#[derive(Debug, Clone)]
pub struct Look {
    at_ns: u64,
    machine: MachineTime,
    processes: BTreeMap<(u32, u64), Process>,
}

impl Look {
    /// The machine now; none where /proc cannot be read.
    pub fn now() -> Option<Look> {
        let machine = MachineTime::now()?;
        let processes = processes().into_iter().map(|p| ((p.pid, p.started_ticks), p)).collect();
        Some(Look { at_ns: monotonic_ns(), machine, processes })
    }

    /// What others than this process did since an earlier look, on a machine with so many processors online.
    pub fn since(&self, earlier: &Look, processors: u32) -> Busy {
        let own = std::process::id();
        let whole = (self.at_ns.saturating_sub(earlier.at_ns) as f64 * f64::from(processors.max(1))).max(1.0);
        let mut names: BTreeMap<&str, u64> = BTreeMap::new();
        let mut ours = 0;
        for (key, now) in &self.processes {
            let before = earlier.processes.get(key).map_or(0, |p| p.busy_ns);
            let spent = now.busy_ns.saturating_sub(before);
            match now.pid == own {
                true => ours = spent,
                false => *names.entry(&now.name).or_default() += spent,
            }
        }
        let (now, before) = (self.machine, earlier.machine);
        let busy = now.busy_ns.saturating_sub(before.busy_ns) + now.steal_ns.saturating_sub(before.steal_ns);
        let share = |ns: u64| (ns as f64 / whole).min(1.0);
        let mut by: Vec<(String, f64)> =
            names.into_iter().filter(|(_, ns)| *ns > 0).map(|(name, ns)| (name.to_owned(), share(ns))).collect();
        by.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Busy { share: share(busy.saturating_sub(ours)), by }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(at_ns: u64, busy_ns: u64, processes: &[(u32, &str, u64)]) -> Look {
        let process = |(pid, name, busy_ns): &(u32, &str, u64)| {
            let process = Process { pid: *pid, name: (*name).to_owned(), busy_ns: *busy_ns, started_ticks: 1 };
            ((*pid, 1), process)
        };
        let machine = MachineTime { busy_ns, steal_ns: 0 };
        Look { at_ns, machine, processes: processes.iter().map(process).collect() }
    }

    #[test]
    fn what_others_took_is_named_and_our_own_time_is_not_theirs() {
        let own = std::process::id();
        let (s, ms) = (1_000_000_000, 1_000_000);
        let before = look(0, 0, &[(own, "knee", 0), (2_000_001, "make", 70 * ms)]);
        let after =
            look(s, 800 * ms, &[(own, "knee", 200 * ms), (2_000_001, "make", 70 * ms), (2_000_002, "cc1", 600 * ms)]);
        let busy = after.since(&before, 2);
        assert_eq!(busy, Busy { share: 0.3, by: vec![("cc1".to_owned(), 0.3)] });
    }

    #[test]
    fn the_machine_can_be_looked_at() {
        let look = Look::now().unwrap();
        assert!(look.processes.values().any(|p| p.pid == std::process::id()));
        let busy = Look::now().unwrap().since(&look, 1);
        assert!((0.0..=1.0).contains(&busy.share));
    }
}
