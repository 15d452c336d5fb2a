//! Locks inside the kernel.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::CauseId;
use crate::common::no_faster::*;
use crate::common::*;
use recording::Tables;
use recording::synthetic::ms;
use recording::tables::Reason;

const MUNMAP: u32 = 11;
const UNMAP: &str = "munmap@libc.so.6 < unmap_chunk@app app.c:31 < work@app app.c:42";
const SLOW_LOCK: &str = "rwsem_down_write_slowpath@kernel < down_write@kernel < __vm_munmap@kernel";

fn mapping() -> Tables {
    flat()
        .traced(2, |run| {
            for name in ["a", "b"] {
                let mut thread = run.thread(name);
                for _ in 0..50 {
                    thread = thread
                        .runs(ms(10), WORK)
                        .waits_for(Reason::KernelLock, "mmap_lock", Some(MUNMAP), ms(8), UNMAP)
                        .runs_in_kernel_at(ms(2), Some(MUNMAP), UNMAP, SLOW_LOCK);
                }
            }
            for name in ["a", "b"] {
                run.syscalls(name, MUNMAP, "munmap", 500);
                run.kernel_lock(name, "mmap_lock", Some(MUNMAP), UNMAP, 500, ms(400));
                run.kernel_lock(name, "mmap_lock", None, WORK, 20, ms(50));
            }
        })
        .tables()
}

mod positive {
    use super::*;

    #[test]
    fn the_memory_map_lock_is_explained_with_its_calls_and_call_sites() {
        let answer = answer_for(&mapping());
        assert_balanced(&answer);
        assert_eq!(answer.verdict.causes[0].id, CauseId::KERNEL_LOCK, "{:#?}", answer.verdict);
        let cause = &answer.verdict.causes[0];
        assert!(
            cause.summary.contains("memory-map lock (mmap_lock), which munmap and page faults take"),
            "{}",
            cause.summary
        );
        let culprit = cause.culprit.as_ref().unwrap();
        assert_eq!((culprit.function.as_deref(), culprit.line), (Some("unmap_chunk"), Some(31)));
        assert_eq!(culprit.object.as_deref(), Some("mmap_lock"));
        assert!(cause.remedies.iter().any(|r| r.contains("MAP_POPULATE")), "{:?}", cause.remedies);
        insta::assert_snapshot!(text(&answer));
    }

    #[test]
    fn a_kernel_lock_is_found_without_the_table_of_locks() {
        let mut tables = mapping();
        tables.kernel_locks.clear();
        let answer = answer_for(&tables);
        let cause = found(&answer, CauseId::KERNEL_LOCK).unwrap();
        assert!(cause.summary.contains("mmap_lock") && cause.summary.contains("unmap_chunk"), "{}", cause.summary);
    }
}

mod near_miss {
    use super::*;

    #[test]
    fn many_kernel_lock_waits_that_cost_nothing_are_clear() {
        let answer = answer_for(
            &with_base(halved(), WORK)
                .traced(2, |run| {
                    for name in ["a", "b"] {
                        run.thread(name).runs(ms(500), WORK);
                        run.kernel_lock(name, "mmap_lock", Some(MUNMAP), UNMAP, 1_000_000, ms(3));
                    }
                })
                .tables(),
        );
        assert!(answer.verdict.clear.contains(&CauseId::KERNEL_LOCK));
        assert_eq!(ids(&answer), [CauseId::NONE]);
    }
}

mod clean {
    use super::*;

    #[test]
    fn threads_that_never_wait_in_the_kernel_clear_it() {
        let answer = answer_for(&repaired());
        assert!(answer.verdict.clear.contains(&CauseId::KERNEL_LOCK), "{:#?}", answer.verdict);
    }
}
