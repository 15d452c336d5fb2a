//! How the C library's allocator keeps memory (glibc's manual, "Memory Allocation Tunables"), and where it puts it.

use crate::trials::preload::Source;
use crate::trials::{Change, Keep, Needs, Trial};
use analyze::answer::CauseId;
use analyze::compare::experiment::Aim;

/// Memory is asked for in large pieces and kept: 64 MiB more than needed, nothing given back below 1 GiB, and no mapping of
/// its own for an allocation below 1 GiB.
pub(super) const TOP_PAD: Trial = Trial {
    id: "keep-memory",
    title: "malloc that keeps its memory",
    changes: &[Change::Variable {
        name: "GLIBC_TUNABLES",
        value: "glibc.malloc.top_pad=67108864:glibc.malloc.trim_threshold=1073741824:\
                glibc.malloc.mmap_threshold=1073741824",
        join: Some(":"),
    }],
    aims: &[(CauseId::KERNEL_LOCK, Aim::Eases), (CauseId::PAGE_FAULT, Aim::Eases), (CauseId::ALLOCATOR, Aim::Eases)],
    only_in: &[],
    needs: Needs::Glibc,
    proves: "malloc and free ask the kernel for memory and give it back too often",
    limits: "anything about memory that the program maps itself",
    keep: Keep::Setting,
};

/// More freed blocks are kept for each thread and size: glibc 2.26 and later.
pub(super) const TCACHE: Trial = Trial {
    id: "thread-cache",
    title: "malloc with larger thread caches",
    changes: &[Change::Variable { name: "GLIBC_TUNABLES", value: "glibc.malloc.tcache_count=65535", join: Some(":") }],
    aims: &[(CauseId::ALLOCATOR, Aim::Eases)],
    only_in: &[],
    needs: Needs::Glibc,
    proves: "threads wait for the locks of malloc's heaps, which a thread's own cache avoids",
    limits: "anything about blocks of more than a kilobyte, which are not kept there",
    keep: Keep::Setting,
};

/// Transparent huge pages for the heap: glibc 2.35 and later.
pub(super) const HUGE: Trial = Trial {
    id: "huge-pages",
    title: "malloc with huge pages",
    changes: &[Change::Variable { name: "GLIBC_TUNABLES", value: "glibc.malloc.hugetlb=1", join: Some(":") }],
    aims: &[(CauseId::PAGE_FAULT, Aim::Eases), (CauseId::MEMORY_BOUND, Aim::EasesSeveral)],
    only_in: &[],
    needs: Needs::Glibc,
    proves: "pages of 4 KiB cost this much, in faults or in looking addresses up",
    limits: "anything where the kernel has no huge pages to give",
    keep: Keep::Setting,
};

/// Every allocation on cache lines of its own.
pub(super) const LINES: Trial = Trial {
    id: "cache-lines",
    title: "a spare cache line per allocation",
    changes: &[Change::Preload(Source::Lines)],
    aims: &[(CauseId::FALSE_SHARING, Aim::Eases)],
    only_in: &[],
    needs: Needs::Glibc,
    proves: "objects of several threads lie in one cache line, and share it falsely",
    limits: "anything about fields of one object, elements of one array, and variables outside the heap",
    keep: Keep::Instead("align what each thread writes to a cache line of its own (64 bytes), or keep it on its stack"),
};
