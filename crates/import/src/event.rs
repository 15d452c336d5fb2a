//! Which events of a profile measure processor time.

/// Events that count while a thread is on a processor, the best first: clocks count time directly; cycles measure time
/// as long as the processor does not change its speed.
const TIME: [&str; 5] = ["cpu-clock", "task-clock", "cycles", "cpu-cycles", "ref-cycles"];

/// How many of these, from the first on, have a period in nanoseconds (perf_event_open(2), PERF_COUNT_SW_CPU_CLOCK and
/// _TASK_CLOCK).
const CLOCKS: usize = 2;

/// An event that measures processor time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Time(usize);

impl Time {
    /// All of them, the best first.
    pub(crate) fn all() -> impl Iterator<Item = Time> {
        (0..TIME.len()).map(Time)
    }

    /// The event with a printed name: `cycles:ppp`, `cpu_core/cycles/P`, `cpu-clock`.
    pub(crate) fn from_event(event: &str) -> Option<Time> {
        let base = base(event);
        TIME.iter().position(|name| *name == base).map(Time)
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        TIME.get(self.0).copied().unwrap_or_default()
    }

    /// Whether its period is a time in nanoseconds.
    pub(crate) fn is_clock(self) -> bool {
        self.0 < CLOCKS
    }

    /// Its index in [`TIME`].
    pub(crate) fn index(self) -> usize {
        self.0
    }
}

/// An event without its unit and its modifiers (perf-list(1)).
pub(crate) fn base(event: &str) -> &str {
    let event = match event.split_once('/') {
        Some((_, inside)) => inside.split(['/', ',']).next().unwrap_or(inside),
        None => event,
    };
    event.split(':').next().unwrap_or(event)
}

/// Whether the event was requested for user space only (modifier `u` without `k`).
pub(crate) fn user_only(event: &str) -> bool {
    let modifiers = match event.rsplit_once('/') {
        Some((_, modifiers)) => modifiers,
        None => event.split_once(':').map_or("", |(_, modifiers)| modifiers),
    };
    modifiers.contains('u') && !modifiers.contains('k')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_known_by_their_base() {
        for (event, name) in [
            ("cycles", "cycles"),
            ("cycles:P", "cycles"),
            ("cpu_core/cycles/Pu", "cycles"),
            ("cpu/cpu-cycles,period=100/", "cpu-cycles"),
            ("cpu-clock:ppp", "cpu-clock"),
            ("task-clock", "task-clock"),
        ] {
            assert_eq!(Time::from_event(event).map(Time::name), Some(name), "{event}");
        }
        for event in ["", "sched:sched_switch", "cache-misses", "instructions:u", "dummy:HG", "cycles_x"] {
            assert_eq!(Time::from_event(event), None, "{event}");
        }
    }

    #[test]
    fn modifiers_tell_what_is_missing() {
        assert!(user_only("cycles:u") && user_only("cpu_core/cycles/Pu") && user_only("cycles:uH"));
        assert!(
            !user_only("cycles:P") && !user_only("cpu-clock") && !user_only("cycles:uk") && !user_only("cpu/cycles/")
        );
    }
}
