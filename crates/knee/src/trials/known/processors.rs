//! Where and how the kernel runs the threads.

use crate::trials::{Change, Keep, Needs, Trial};
use analyze::answer::CauseId;
use analyze::compare::experiment::Aim;

/// All threads on one processor: nothing has to move from one processor's cache to another's, and no thread waits for a
/// lock whose holder runs elsewhere.
pub(super) const ONE: Trial = Trial {
    id: "one-processor",
    title: "all threads on one processor",
    changes: &[Change::Wrapper(&["taskset", "-c", super::super::apply::FIRST_PROCESSOR])],
    aims: &[
        (CauseId::USER_LOCK, Aim::EasesSeveral),
        (CauseId::FALSE_SHARING, Aim::EasesSeveral),
        (CauseId::TRUE_SHARING, Aim::EasesSeveral),
        (CauseId::ALLOCATOR, Aim::EasesSeveral),
        (CauseId::KERNEL_LOCK, Aim::EasesSeveral),
    ],
    only_in: &[],
    needs: Needs::ThreadsByCount,
    proves: "handing locks or memory from processor to processor costs more than a second processor brings",
    limits: "what it is that is handed over",
    keep: Keep::Never,
};

/// sched(7): a woken SCHED_BATCH thread preempts running threads less often.
pub(super) const BATCH: Trial = Trial {
    id: "batch",
    title: "batch scheduling",
    changes: &[Change::Wrapper(&["chrt", "--batch", "0"])],
    aims: &[(CauseId::OVERSUBSCRIPTION, Aim::Eases), (CauseId::CONDITION_WAIT, Aim::EasesSeveral)],
    only_in: &[],
    needs: Needs::Nothing,
    proves: "threads that are woken interrupt running ones too often",
    limits: "why there are so many wake-ups",
    keep: Keep::Setting,
};
