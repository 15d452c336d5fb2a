//! Trials about locks: one removes a lock, one changes how threads wait for locks.

use crate::trials::preload::Source;
use crate::trials::{Change, Keep, Needs, Trial};
use analyze::answer::CauseId;
use analyze::compare::experiment::Aim;

/// random(3), rand(3) and drand48(3) keep one state for all threads.
pub(super) const RANDOM: Trial = Trial {
    id: "random-per-thread",
    title: "a state of random for each thread",
    changes: &[Change::Preload(Source::Random)],
    aims: &[(CauseId::USER_LOCK, Aim::Removes), (CauseId::TRUE_SHARING, Aim::Removes)],
    only_in: &["random", "rand", "srandom", "srand", "drand48", "lrand48", "mrand48"],
    needs: Needs::DynamicC,
    proves: "the state that random, rand or drand48 keep for all threads costs this much",
    limits: "that the program's results stay the same: threads draw other numbers",
    keep: Keep::Instead("give each thread a generator of its own: random_r, erand48, or one of the language's library"),
};

/// pthread_mutexattr_settype(3): `PTHREAD_MUTEX_ADAPTIVE_NP`; the tunable exists since glibc 2.34.
pub(super) const ADAPTIVE: Trial = Trial {
    id: "adaptive-mutex",
    title: "mutexes that spin before they sleep",
    changes: &[
        Change::Preload(Source::Mutex),
        Change::Variable { name: "GLIBC_TUNABLES", value: "glibc.pthread.mutex_spin_count=1000", join: Some(":") },
    ],
    aims: &[(CauseId::USER_LOCK, Aim::Eases)],
    only_in: &[],
    needs: Needs::Glibc,
    proves: "sleeping and waking at a mutex costs more than the work that the mutex protects",
    limits: "anything about locks other than pthread mutexes, or locks that are held for longer than a thread spins",
    keep: Keep::Instead(
        "hold the lock for less, or less often; else make it adaptive: pthread_mutexattr_settype with \
         PTHREAD_MUTEX_ADAPTIVE_NP",
    ),
};
