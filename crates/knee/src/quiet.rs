//! Before the first run: is the machine quiet? If not, which programs are busy, and how long should knee wait?

use analyze::disturbance::beyond;
use collect::Stop;
use collect::machine::busy::{Busy, Look};
use report::words::percent;
use std::time::Duration;

/// How long one look takes: /proc counts in ticks of 10 ms, and a build starts a new compiler several times a second.
pub(crate) const LOOK: Duration = Duration::from_secs(1);

/// How long a user at a terminal is kept waiting for a quiet machine, unless another time is given.
///
/// Decides: when a sweep starts although the machine is busy.
/// From: chosen; most single commands on a developer's machine are over by then.
/// Wrong if: the machine is always busy; `--no-wait` then saves the minute.
pub(crate) const USUAL: Duration = Duration::from_secs(60);

/// Programs that a message names.
const NAMED: usize = 2;

/// How the look at the machine ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Quietness {
    /// No other program used the processors, or this cannot be known.
    Quiet,
    /// The runs start although other programs use the processors.
    Busy(Busy),
}

/// Looks until the machine is quiet, or until `patience` is over; at least once. A `look` takes [`LOOK`]. `waits` is
/// called before each further look, with what was seen and the time waited.
pub(crate) fn wait(
    patience: Duration,
    stop: &Stop,
    mut look: impl FnMut() -> Option<Busy>,
    mut waits: impl FnMut(&Busy, Duration),
) -> Quietness {
    let mut waited = Duration::ZERO;
    loop {
        let Some(busy) = look() else { return Quietness::Quiet };
        if !beyond(busy.share, 0.0) {
            return Quietness::Quiet;
        }
        if waited >= patience || stop.requested() {
            return Quietness::Busy(busy);
        }
        waits(&busy, waited);
        waited += LOOK;
    }
}

/// Looks at a machine with this many processors for the duration [`LOOK`].
pub(crate) fn look(processors: u32) -> Option<Busy> {
    let before = Look::now()?;
    std::thread::sleep(LOOK);
    Some(Look::now()?.since(&before, processors))
}

/// `other programs take 43 % of the processors (cc1plus 31 %, make 9 %)`.
pub(crate) fn words(busy: &Busy) -> String {
    let named: Vec<String> =
        busy.by.iter().take(NAMED).map(|(name, share)| format!("{name} {}", percent(*share))).collect();
    let named = if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) };
    format!("other programs take {} of the processors{named}", percent(busy.share))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(share: f64) -> Busy {
        Busy { share, by: vec![("cc1plus".to_owned(), share * 0.75), ("make".to_owned(), share * 0.25)] }
    }

    /// Simulates looks that see these shares; returns how it ended, and how often it waited.
    fn waits(patience: u64, shares: &[f64]) -> (Quietness, usize) {
        let mut shares = shares.iter();
        let mut times = 0;
        let look = || shares.next().map(|share| busy(*share));
        let found = wait(Duration::from_secs(patience), &Stop::new(), look, |_, _| times += 1);
        (found, times)
    }

    #[test]
    fn a_quiet_machine_is_looked_at_once() {
        assert_eq!(waits(60, &[0.02, 0.9]), (Quietness::Quiet, 0));
        assert_eq!(waits(60, &[]), (Quietness::Quiet, 0), "where /proc is hidden nothing can be waited for");
    }

    #[test]
    fn knee_waits_until_others_are_done_or_its_patience_is_over() {
        assert_eq!(waits(60, &[0.5, 0.4, 0.01]), (Quietness::Quiet, 2));
        assert_eq!(waits(2, &[0.5, 0.4, 0.3, 0.0]), (Quietness::Busy(busy(0.3)), 2));
        assert_eq!(waits(0, &[0.5, 0.0]), (Quietness::Busy(busy(0.5)), 0));
    }

    #[test]
    fn ctrl_c_ends_the_waiting() {
        let stop = Stop::new();
        stop.request();
        assert_eq!(wait(USUAL, &stop, || Some(busy(0.5)), |_, _| ()), Quietness::Busy(busy(0.5)));
    }

    #[test]
    fn busy_programs_are_named() {
        assert_eq!(words(&busy(0.4)), "other programs take 40 % of the processors (cc1plus 30 %, make 10 %)");
        assert_eq!(words(&Busy { share: 0.4, by: Vec::new() }), "other programs take 40 % of the processors");
    }
}
