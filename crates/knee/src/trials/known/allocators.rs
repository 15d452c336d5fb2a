//! Other allocators in the place of the C library's.

use crate::trials::{Change, Keep, Needs, Trial};
use analyze::answer::CauseId;
use analyze::compare::experiment::Aim;

const AIMS: &[(CauseId, Aim)] = &[
    (CauseId::ALLOCATOR, Aim::Removes),
    (CauseId::KERNEL_LOCK, Aim::EasesSeveral),
    (CauseId::PAGE_FAULT, Aim::EasesSeveral),
    (CauseId::FALSE_SHARING, Aim::EasesSeveral),
];
const PROVES: &str = "the C library's malloc and free, or what they ask of the kernel, cost this much";
const LIMITS: &str = "which of the program's allocations it is";

pub(super) const TCMALLOC: Trial = Trial {
    id: "tcmalloc",
    title: "tcmalloc as the allocator",
    changes: &[Change::Library(&["libtcmalloc_minimal.so.4", "libtcmalloc.so.4"])],
    aims: AIMS,
    only_in: &[],
    needs: Needs::Glibc,
    proves: PROVES,
    limits: LIMITS,
    keep: Keep::Setting,
};

pub(super) const JEMALLOC: Trial = Trial {
    id: "jemalloc",
    title: "jemalloc as the allocator",
    changes: &[Change::Library(&["libjemalloc.so.2"])],
    ..TCMALLOC
};

pub(super) const MIMALLOC: Trial = Trial {
    id: "mimalloc",
    title: "mimalloc as the allocator",
    changes: &[Change::Library(&["libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so.2.0"])],
    ..TCMALLOC
};
