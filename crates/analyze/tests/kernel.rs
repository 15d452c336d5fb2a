//! What the kernel does on behalf of a program: locks, faults, threads, failing calls, memory.

#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use analyze::answer::{Answer, CauseId};
use common::*;
use recording::Tables;
use recording::synthetic::{RunSketch, Sketch, ms, us};
use recording::tables::Reason;

const MMAP: u32 = 9;
const MUNMAP: u32 = 11;
const MADVISE: u32 = 28;
const CLONE3: u32 = 435;
const WORK: &str = "sum_pages@app app.c:20 < work@app app.c:40";
const UNMAP: &str = "munmap@libc.so.6 < unmap_chunk@app app.c:31 < work@app app.c:42";
const SLOW_LOCK: &str = "rwsem_down_write_slowpath@kernel < down_write@kernel < __vm_munmap@kernel";

/// A sweep that gains nothing from the second thread.
fn flat() -> Sketch {
    with_base(Sketch::new(2).clean(1, &around(1.0)).clean(2, &around(1.0)), WORK)
}

/// Two threads, each of which does what `other` says.
fn halves<'a>(run: &mut RunSketch<'a>, other: impl Fn(recording::synthetic::ThreadSketch<'_, 'a>, bool)) {
    for (i, name) in ["a", "b"].into_iter().enumerate() {
        other(run.thread(name), i == 0);
    }
}

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

const FAULT: &str = "clear_page@kernel < handle_mm_fault@kernel < exc_page_fault@kernel";

/// Threads that spend half of their time in faults that one thread does not have.
fn faulting(user: &str) -> Tables {
    flat()
        .traced(2, |run| {
            halves(run, |thread, _| {
                thread.runs(ms(500), WORK).runs_in_kernel_at(ms(500), None, user, FAULT);
            });
            run.fault_site("a", user, 100_000);
            run.row().minor_faults = 200_000;
        })
        .tables()
}

#[test]
fn page_faults_are_named_by_the_line_that_touches() {
    let answer = answer_for(&faulting("fill@app app.c:25 < work@app app.c:41"));
    assert_balanced(&answer);
    assert_eq!(ids(&answer), [CauseId::PAGE_FAULT], "{:#?}", answer.verdict);
    let cause = &answer.verdict.causes[0];
    assert!(cause.summary.contains("fill (app.c:25)"), "{}", cause.summary);
    let one = cause.evidence.iter().find(|e| e.what.contains("one fault")).unwrap();
    assert!((one.value - 5.0).abs() < 0.5, "{one:?}");
}

#[test]
fn page_faults_inside_the_allocator_are_the_allocator_s() {
    let answer = answer_for(&faulting("?@libc.so.6 < malloc@libc.so.6 < new_node@app app.c:25 < work@app app.c:41"));
    assert_balanced(&answer);
    assert_eq!(ids(&answer), [CauseId::ALLOCATOR], "{:#?}", answer.verdict);
}

#[test]
fn faults_that_the_base_has_too_are_clear() {
    let user = "fill@app app.c:25";
    let fault = |run: &mut RunSketch<'_>, names: &[&str], each: u64| {
        for name in names {
            run.thread(name).runs(ms(each), WORK).runs_in_kernel_at(ms(each), None, user, FAULT);
        }
    };
    let answer =
        answer_for(&halved().traced(1, |r| fault(r, &["a"], 500)).traced(2, |r| fault(r, &["a", "b"], 250)).tables());
    assert!(answer.verdict.clear.contains(&CauseId::PAGE_FAULT));
}

/// All that an allocator does: its code, its locks, its system calls and their kernel locks.
fn allocating(function: &str) -> Tables {
    let stack = |inner: &str| format!("{inner}{function} < new_node@app app.c:25 < insert@app app.c:41");
    flat()
        .traced(2, |run| {
            for (name, other) in [("a", "b"), ("b", "a")] {
                let mut thread = run.thread(name);
                for _ in 0..50 {
                    thread = thread
                        .runs(ms(10), WORK)
                        .runs(ms(3), &stack(""))
                        .locks(0x7f00, ms(4), &stack("__lll_lock_wait_private@libc.so.6 < "), other)
                        .runs_in_kernel(ms(1), 202, &stack("__lll_lock_wait_private@libc.so.6 < "))
                        .runs_in_kernel(ms(1), MADVISE, &stack("madvise@libc.so.6 < ?@libc.so.6 < "))
                        .waits_for(
                            Reason::KernelLock,
                            "mmap_lock",
                            Some(MADVISE),
                            ms(1),
                            &stack("madvise@libc.so.6 < "),
                        );
                }
                run.call_site(name, (MADVISE, "madvise"), &stack("madvise@libc.so.6 < "), None, 5000, us(10));
            }
        })
        .tables()
}

#[test]
fn the_allocator_is_one_cause_with_the_program_s_call_sites() {
    let answer = answer_for(&allocating("malloc@libc.so.6"));
    assert_balanced(&answer);
    assert_eq!(ids(&answer), [CauseId::ALLOCATOR], "{:#?}", answer.verdict);
    let cause = &answer.verdict.causes[0];
    assert!(cause.share > 0.95, "{cause:?}");
    assert!(cause.summary.contains("malloc, called from new_node (app.c:25)"), "{}", cause.summary);
    assert!(cause.remedies.iter().any(|r| r.contains("M_TRIM_THRESHOLD")), "{:?}", cause.remedies);
    insta::assert_snapshot!(text(&answer));
}

#[test]
fn allocators_of_other_makes_are_known_too() {
    for function in [
        "operator new(unsigned long)@libstdc++.so.6",
        "je_malloc@app",
        "mi_malloc@libmimalloc.so.2",
        "runtime.mallocgc@app",
    ] {
        let answer = answer_for(&allocating(function));
        assert_eq!(ids(&answer), [CauseId::ALLOCATOR], "{function}: {:#?}", answer.verdict);
        assert_eq!(answer.verdict.causes[0].culprit.as_ref().unwrap().callers[0].function.as_deref(), Some("new_node"));
    }
}

#[test]
fn a_function_that_merely_sounds_like_an_allocator_is_the_program_s_lock() {
    let answer = answer_for(&allocating("pool_malloc@app pool.c:9"));
    assert!(found(&answer, CauseId::ALLOCATOR).is_none(), "{:#?}", answer.verdict);
    assert!(found(&answer, CauseId::USER_LOCK).is_some(), "{:#?}", answer.verdict);
}

/// The main thread creates a thread for each task; tasks are short.
fn creating(threads: u32) -> Tables {
    let create = "?@libc.so.6 < pthread_create@libc.so.6 < spawn_all@app app.c:60 < main@app app.c:90";
    flat()
        .traced(2, |run| {
            run.thread("main").runs_in_kernel(ms(1000), CLONE3, create);
            for i in 0..threads {
                let start = ms(u64::from(i) * 1000 / u64::from(threads));
                run.thread_at(&format!("t{i}"), start).runs(ms(2), WORK).created_at(create);
            }
            run.call_site("main", (CLONE3, "clone3"), create, None, u64::from(threads), us(50));
        })
        .tables()
}

#[test]
fn creating_a_thread_for_each_task_is_named_by_the_line_that_creates() {
    let answer = answer_for(&creating(200));
    assert_balanced(&answer);
    assert_eq!(answer.verdict.causes[0].id, CauseId::THREAD_CREATION, "{:#?}", answer.verdict);
    let cause = &answer.verdict.causes[0];
    assert!(cause.summary.contains("200 threads in spawn_all (app.c:60)"), "{}", cause.summary);
}

/// A thread for each task, created one after the other: it costs as much with one task at a time as with two.
#[test]
fn creating_threads_is_loss_at_the_smallest_count_too() {
    let create = "?@libc.so.6 < pthread_create@libc.so.6 < spawn_all@app app.c:60 < main@app app.c:90";
    let tasks = |run: &mut RunSketch<'_>, first: u64, apart: u64| {
        run.thread("main").runs_in_kernel(ms(600), CLONE3, create);
        for i in 0..200 {
            run.thread_at(&format!("t{i}"), ms(first + i * apart)).runs(ms(2), WORK).created_at(create);
        }
    };
    let tables = Sketch::new(2)
        .clean(1, &around(1.0))
        .clean_cpu(2, &around(0.6), &around(1.0))
        .traced(1, |run| tasks(run, 600, 2))
        .traced(2, |run| tasks(run, 1, 3))
        .tables();
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    let cause = &answer.verdict.causes[0];
    assert_eq!(cause.id, CauseId::THREAD_CREATION, "{:#?}", answer.verdict);
    // 0.6 s of it on a processor, and 0.2 s in which the other processor had no task.
    assert!((cause.lost_seconds - 0.8).abs() < 0.1, "{cause:#?}");
    assert!((answer.account[0].useful - 0.4).abs() < 0.1, "{:#?}", answer.account[0]);
}

/// A fifth of the time goes into creating threads at each count, and two threads take half as long.
#[test]
fn creating_threads_is_no_loss_of_a_program_that_scales() {
    let create = "?@libc.so.6 < pthread_create@libc.so.6 < spawn_all@app app.c:60 < main@app app.c:90";
    let tables = Sketch::new(2)
        .clean(1, &around(1.0))
        .clean_cpu(2, &around(0.5), &around(1.0))
        .traced(1, |run| {
            run.thread("a").runs_in_kernel(ms(200), CLONE3, create).runs(ms(800), WORK);
        })
        .traced(2, |run| {
            for name in ["a", "b"] {
                run.thread(name).runs_in_kernel(ms(100), CLONE3, create).runs(ms(400), WORK);
            }
        })
        .tables();
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    assert!(found(&answer, CauseId::THREAD_CREATION).is_none(), "{:#?}", answer.verdict);
}

#[test]
fn many_threads_that_are_created_cheaply_are_clear() {
    let create = "?@libc.so.6 < pthread_create@libc.so.6 < spawn_all@app app.c:60 < main@app app.c:90";
    let answer = answer_for(
        &with_base(halved(), WORK)
            .traced(2, |run| {
                main_joins(run, ms(499));
                for i in 0..100 {
                    run.thread_at(&format!("t{i}"), ms(i / 2 * 10)).runs(ms(10), WORK).created_at(create);
                }
            })
            .tables(),
    );
    assert!(answer.verdict.clear.contains(&CauseId::THREAD_CREATION), "{:#?}", answer.verdict);
}

/// Half of the time in mmap; `failed` of its calls fail, at 10 µs each.
fn failing(failed: u64, error: u32) -> Tables {
    let map = "mmap@libc.so.6 < stack_map@app app.c:12 < work@app app.c:40";
    flat()
        .traced(2, |run| {
            halves(run, |thread, _| {
                thread.runs(ms(500), WORK).runs_in_kernel(ms(500), MMAP, map);
            });
            for name in ["a", "b"] {
                run.syscalls(name, MMAP, "mmap", 50_000);
                run.call_site(name, (MMAP, "mmap"), map, Some(error), failed, us(10));
                run.call_site(name, (MMAP, "mmap"), map, None, 50_000 - failed, us(10));
            }
        })
        .tables()
}

fn lost(answer: &Answer, id: CauseId) -> f64 {
    found(answer, id).map_or(0.0, |c| c.lost_seconds)
}

#[test]
fn a_call_that_fails_each_time_first_is_named_with_its_error() {
    let answer = answer_for(&failing(40_000, 12));
    assert_balanced(&answer);
    assert!((lost(&answer, CauseId::FAILING_SYSCALL) - 0.8).abs() < 0.05, "{:#?}", answer.verdict);
    let cause = &answer.verdict.causes[0];
    assert!(
        cause.summary.contains("mmap fails with ENOMEM 80000 times, called from stack_map (app.c:12)"),
        "{cause:?}"
    );
}

#[test]
fn failing_calls_that_cost_nothing_or_only_say_not_yet_are_no_cause() {
    let answer = answer_for(&failing(500, 12));
    assert!(found(&answer, CauseId::FAILING_SYSCALL).is_none(), "{:#?}", answer.verdict);
    let answer = answer_for(&failing(40_000, 11));
    assert!(found(&answer, CauseId::FAILING_SYSCALL).is_none(), "{:#?}", answer.verdict);
    assert!(answer.verdict.clear.contains(&CauseId::FAILING_SYSCALL));
}

#[test]
fn without_results_of_calls_failing_ones_stay_unsure() {
    let mut tables = failing(40_000, 12);
    tables.call_sites.clear();
    assert!(missing(&answer_for(&tables), CauseId::FAILING_SYSCALL).contains("not in this recording"));
}

#[test]
fn more_calls_per_unit_of_work_are_extra_work() {
    let answer = answer_for(&failing(0, 12));
    let cause = found(&answer, CauseId::EXTRA_WORK).unwrap();
    assert!(cause.summary.contains("mmap is called 100000 times per unit of work instead of 0"), "{}", cause.summary);
}
