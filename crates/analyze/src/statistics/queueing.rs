//! The simple queue: how many wait if a few servers each serve one customer at a time. A lock is one server, a pool of n
//! things is n servers; to hold is to be served.
//!
//! The formulas assume that threads arrive regardless of how many wait, and that the order of service does not depend on
//! how long each hold will take. Real programs are not that simple, so the results are estimates.

/// Decides: with how many threads a queue is modelled at most.
/// From: arithmetic: with this many threads, a queue with a finite number of sources agrees with one with any number to
/// three digits.
/// Shown by: `how_many_had_to_wait_tells_how_busy_it_is`.
/// Wrong if: never; a difference of a thousandth is too small to report.
const MOST_SOURCES: usize = 2000;
/// Decides: above which size the weights of a sum are scaled down, so that the sum does not overflow.
/// From: arithmetic: far below the largest 64-bit floating-point number.
/// Shown by: `how_many_had_to_wait_tells_how_busy_it_is`, where all of 16 threads always wait.
/// Wrong if: never; what scaling loses is smaller than the last digit.
const LARGE: f64 = 1e100;
/// Decides: how precisely the search finds the load with which as many threads have to wait as were seen waiting.
/// From: arithmetic: more halvings than a 64-bit floating-point number has digits.
/// Shown by: `how_many_had_to_wait_tells_how_busy_it_is`.
/// Wrong if: never; the last steps change nothing.
const HALVINGS: usize = 100;

/// The share of arrivals that have to wait, for `offered` (arrivals per mean hold) below `servers`: Erlang's C
/// formula (1917; Kleinrock, *Queueing Systems* I, 1975, 3.5). With one server it is the utilisation.
fn wait_share(servers: usize, offered: f64) -> f64 {
    // Erlang's B formula, by its recursion.
    let lost = (1..=servers).fold(1.0, |lost, k| offered * lost / (k as f64 + offered * lost));
    let busy = offered / servers as f64;
    lost / (1.0 - busy * (1.0 - lost))
}

/// How many wait on average; none if more arrive than can be served, so that the queue grows without end.
///
/// `variation` is the variance of the holds over their mean squared: 0 if all holds are equally long, 1 if they are
/// exponential. With one server this is the formula of Pollaczek and Khinchine, ρ² (1 + variation) / (2 (1 − ρ))
/// (Kleinrock, 5.6); with several the approximation of Allen and Cunneen (Allen, *Probability, Statistics, and Queueing
/// Theory*, 1990, 5.3).
pub fn waiting(servers: usize, offered: f64, variation: f64) -> Option<f64> {
    let busy = offered / servers.max(1) as f64;
    (busy < 1.0).then(|| wait_share(servers.max(1), offered) * busy / (1.0 - busy) * (1.0 + variation) / 2.0)
}

/// How many are held on average, from how many had to wait: arrivals that found nothing free, per mean hold.
///
/// A thread that finds one free leaves no trace in a recording. But for `sources` threads that come back again and again,
/// the share that has to wait follows from how busy the servers are (the queue with a finite number of sources,
/// Kleinrock, 3.8), because each arrival sees the queue that the other threads alone would make (the arrival theorem: Lavenberg & Reiser,
/// 1980; Sevcik & Mitrani, 1981). None if there are no more threads than servers: then no thread ever waits.
pub fn offered(servers: usize, sources: usize, had_to_wait: f64) -> Option<f64> {
    let (servers, sources) = (servers.max(1), sources.min(MOST_SOURCES));
    if sources <= servers {
        return None;
    }
    // Search for the ratio of the time that a thread holds to the time that it stays away.
    let (mut low, mut high) = (1e-9_f64.ln(), 1e9_f64.ln());
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        let ratio = middle.exp();
        let wait = held(servers, sources, ratio).0 * held(servers, sources - 1, ratio).1;
        *(if wait < had_to_wait { &mut low } else { &mut high }) = middle;
    }
    Some(held(servers, sources, low.exp()).0.min(servers as f64))
}

/// How many are held on average, and the share of time in which none is free.
fn held(servers: usize, sources: usize, ratio: f64) -> (f64, f64) {
    let (mut weight, mut all, mut holding, mut full) = (1.0, 1.0, 0.0, 0.0);
    for there in 1..=sources {
        weight *= (sources + 1 - there) as f64 * ratio / there.min(servers) as f64;
        all += weight;
        holding += weight * there.min(servers) as f64;
        full += if there >= servers { weight } else { 0.0 };
        if weight > LARGE {
            for sum in [&mut all, &mut holding, &mut full] {
                *sum /= LARGE;
            }
            weight /= LARGE;
        }
    }
    (holding / all, full / all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_about(value: Option<f64>, expected: f64) -> bool {
        value.is_some_and(|value| (value - expected).abs() < 1e-6)
    }

    #[test]
    fn the_queue_is_that_of_the_textbook() {
        // One server, half and four fifths busy, exponential and equal holds.
        assert!(is_about(waiting(1, 0.5, 1.0), 0.5) && is_about(waiting(1, 0.8, 1.0), 3.2));
        assert!(is_about(waiting(1, 0.5, 0.0), 0.25) && is_about(waiting(1, 0.8, 0.0), 1.6));
        // Two servers with one offered: a third has to wait.
        assert!(is_about(waiting(2, 1.0, 1.0), 1.0 / 3.0));
        assert!((wait_share(1, 0.7) - 0.7).abs() < 1e-9);
    }

    #[test]
    fn where_more_come_than_can_be_served_the_queue_has_no_end() {
        assert!(waiting(1, 0.999, 1.0).is_some());
        assert_eq!((waiting(1, 1.0, 1.0), waiting(2, 2.4, 0.0)), (None, None));
    }

    #[test]
    fn how_many_had_to_wait_tells_how_busy_it_is() {
        // Two threads that hold as long as they stay away: 1, 2 and 2 parts of five are the time with none, one and two
        // there; one of them alone would be there half of the time. 0.8 hold, and 0.8 × 0.5 had to wait.
        assert!(is_about(offered(1, 2, 0.4), 0.8));
        // Many threads are as good as any number: those who wait are ρ², one for each hold that finds one.
        assert!(offered(1, 2000, 0.25).is_some_and(|held| (held - 0.5).abs() < 0.01));
        // All wait: all is held. Nobody waits: nothing is known to be.
        assert!(
            offered(1, 16, 1.3).is_some_and(|held| held > 0.999) && offered(1, 16, 0.0).is_some_and(|held| held < 1e-3)
        );
        assert!(offered(3, 16, 2.9).is_some_and(|held| held > 2.9 && held <= 3.0));
        assert_eq!((offered(2, 2, 0.1), offered(1, 1, 0.1)), (None, None));
    }
}
