//! The words for the unexplained parts of an account.

use crate::account::Unexplained;

/// The words for an unexplained part.
pub fn unexplained(what: Unexplained) -> &'static str {
    match what {
        Unexplained::Ready => "ready to run while a processor was free",
        Unexplained::Observer => "ready to run while knee had the processor",
        Unexplained::Unseen => "threads whose state was not recorded",
        Unexplained::Wait => "blocked for an unknown reason",
        Unexplained::Call => "blocked in other system calls",
        Unexplained::Futex => "waiting on a futex of unknown purpose",
        Unexplained::FutexCode => "futex calls of unknown purpose",
        Unexplained::NoStack => "on a processor, stack unknown",
        Unexplained::IdleInTimedRuns => "processors idle in the timed runs, and not in the observed one",
        Unexplained::Surplus => "more threads on processors than the capacity counts",
    }
}
