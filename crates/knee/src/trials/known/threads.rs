//! What starting a thread costs.

use crate::trials::{Change, Keep, Needs, Trial};
use analyze::answer::CauseId;
use analyze::compare::experiment::Aim;

/// glibc's manual, "POSIX Thread Tunables": since 2.34; 40 MiB of stacks are kept by default.
pub(super) const STACKS: Trial = Trial {
    id: "stack-cache",
    title: "stacks that are kept for new threads",
    changes: &[Change::Variable {
        name: "GLIBC_TUNABLES",
        value: "glibc.pthread.stack_cache_size=1073741824",
        join: Some(":"),
    }],
    aims: &[(CauseId::THREAD_CREATION, Aim::Eases)],
    only_in: &[],
    needs: Needs::Glibc,
    proves: "mapping and unmapping stacks is a part of what starting threads costs",
    limits: "what the rest costs: a pool of threads saves all of it",
    keep: Keep::Setting,
};

/// pthread_attr_setstacksize(3): the default is the limit of the stack, usually 8 MiB.
pub(super) const SMALL_STACKS: Trial = Trial {
    id: "small-stacks",
    title: "stacks of 256 KiB",
    changes: &[Change::Wrapper(&["prlimit", "--stack=262144:", "--"])],
    aims: &[(CauseId::THREAD_CREATION, Aim::Eases)],
    only_in: &[],
    needs: Needs::DynamicC,
    proves: "the size of the stacks is a part of what starting threads costs",
    limits: "whether so small a stack is enough for every input",
    keep: Keep::Setting,
};
