//! Memory that is allocated.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::{Answer, CauseId};
use crate::common::no_faster::*;
use crate::common::*;
use recording::Tables;
use recording::synthetic::{Sketch, ms, us};
use recording::tables::Reason;

const MADVISE: u32 = 28;

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

mod positive {
    use super::*;

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
            assert_eq!(
                answer.verdict.causes[0].culprit.as_ref().unwrap().callers[0].function.as_deref(),
                Some("new_node")
            );
        }
    }
}

mod asked {
    use super::*;

    const CLOSE: &str = "Program.CloseDay@anonymous < Program.Work@anonymous";
    const BOOK: &str = "Ledger.Book@anonymous < Program.Work@anonymous";
    const CALLED: &str = "?@libc.so.6 < thread_native_entry(Thread*)@libjvm.so";
    const WAITS: &str = "futex@libc.so.6 < WKS::GCHeap::WaitUntilGCComplete(bool)@libcoreclr.so";
    const COLLECTS: &str = "WKS::gc_heap::mark_phase(int, int)@libcoreclr.so < WKS::gc_heap::gc1()@libcoreclr.so";

    /// Two threads in turn collect for 10 ms while the other one waits where it allocates. Of ten collections, this many
    /// are asked for.
    fn collects(asked: u64) -> Answer {
        let call = format!("{COLLECTS} < GCInterface::Collect(int, int)@libcoreclr.so < {CLOSE}");
        let needed = format!("{COLLECTS} < WKS::GCHeap::Alloc(gc_alloc_context*)@libcoreclr.so < {BOOK}");
        let waits = format!("{WAITS} < {BOOK}");
        let tables = with_base(Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.5)), BOOK)
            .traced(2, |run| {
                main_joins(run, ms(1000));
                for (first, name, other) in [(true, "a", "b"), (false, "b", "a")] {
                    let mut thread = run.thread(name);
                    for round in 0..25 {
                        let stack = if round % 10 < asked { &call } else { &needed };
                        thread = thread.runs(ms(20), BOOK);
                        thread = match first {
                            true => thread.runs(ms(10), stack).locks(0x10, ms(10), &waits, other),
                            false => thread.locks(0x10, ms(10), &waits, other).runs(ms(10), stack),
                        };
                    }
                }
            })
            .tables();
        let answer = answer_for(&tables);
        assert_balanced(&answer);
        answer
    }

    /// The other thread waits where it allocates, but that is not why there are collections.
    #[test]
    fn collections_that_the_program_asks_for_are_told_where_it_does() {
        let answer = collects(8);
        let cause = found(&answer, CauseId::ALLOCATOR).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
        let told = "Threads wait for garbage collections that the program itself asks for, most in Program.CloseDay.";
        assert_eq!(cause.summary, told);
        assert_eq!(cause.culprit.as_ref().unwrap().function.as_deref(), Some("Program.CloseDay"));
        assert!(cause.remedies[0].contains("take the call out"), "{cause:#?}");
    }

    #[test]
    fn a_call_for_one_collection_of_many_is_not_the_reason() {
        let answer = collects(2);
        let cause = found(&answer, CauseId::ALLOCATOR).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
        assert!(cause.summary.contains("where they allocate, most in Ledger.Book"), "{}", cause.summary);
    }

    /// In Java, who asks for a collection waits for the virtual machine's threads, which do it.
    #[test]
    fn a_thread_that_asks_for_a_collection_may_wait_for_other_threads_that_do_it() {
        const ASKS: &str = "pthread_cond_wait@libc.so.6 < VMThread::execute(VM_Operation*)@libjvm.so < JVM_GC@libjvm.so < \
                            java.lang.Runtime.gc@anonymous < java.lang.System.gc@anonymous < used@app Report.java:14";
        const COLLECT: &str = "G1FullCollector::collect()@libjvm.so < VM_G1CollectFull::doit()@libjvm.so < \
                               thread_native_entry(Thread*)@libjvm.so";
        let tables = with_base(Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.5)), WORK)
            .traced(2, |run| {
                main_joins(run, ms(1000));
                for name in ["a", "b"] {
                    run.thread(name).runs(ms(500), WORK).locks(0x10, ms(500), ASKS, "VM Thread");
                }
                run.thread("VM Thread").blocks(Reason::Futex, ms(500), CALLED).runs(ms(500), COLLECT);
            })
            .tables();
        let answer = answer_for(&tables);
        assert_balanced(&answer);
        let cause = found(&answer, CauseId::ALLOCATOR).unwrap_or_else(|| panic!("{:#?}", answer.verdict));
        let told =
            "Threads wait for garbage collections that the program itself asks for, most in used (Report.java:14).";
        assert_eq!(cause.summary, told);
        assert!(cause.remedies[0].contains("-XX:+DisableExplicitGC"), "{cause:#?}");
    }
}

/// In G1 and at stops of the virtual machine, the program's threads wait in the collector's own functions; its workers
/// wait there for work.
#[test]
fn threads_that_wait_inside_the_collector_wait_for_memory() {
    const REFILLS: &str = "futex_wait@libc.so.6 < Mutex::lock_contended(Thread*)@libjvm.so < \
                           G1CollectedHeap::attempt_allocation_slow(unsigned long)@libjvm.so < \
                           MemAllocator::allocate() const@libjvm.so < build@app Report.java:8";
    const STOPPED: &str = "syscall@libc.so.6 < LinuxWaitBarrier::wait(int)@libjvm.so < \
                           SafepointSynchronize::block(JavaThread*)@libjvm.so < build@app Report.java:8";
    const WORKER: &str = "GangWorker::run()@libjvm.so < thread_native_entry(Thread*)@libjvm.so";
    let idle = format!("futex_wait@libc.so.6 < Semaphore::wait()@libjvm.so < {WORKER}");
    let copies = format!("G1ParScanThreadState::do_copy_to_survivor_space()@libjvm.so < {WORKER}");
    let tables = with_base(Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.5)), WORK)
        .traced(2, |run| {
            main_joins(run, ms(1000));
            run.thread("a").runs(ms(500), WORK).locks(0x10, ms(500), REFILLS, "GC Thread#0");
            run.thread("b").runs(ms(500), WORK).locks(0x20, ms(500), STOPPED, "GC Thread#0");
            run.thread("GC Thread#0").blocks(Reason::Futex, ms(500), &idle).runs(ms(500), &copies);
        })
        .tables();
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    assert_eq!(ids(&answer), [CauseId::ALLOCATOR], "{:#?}", answer.verdict);
    let told = "Threads wait for the garbage collector (G1) where they allocate, most in build (Report.java:8).";
    assert_eq!(answer.verdict.causes[0].summary, told);
}

mod near_miss {
    use super::*;

    /// Nothing can be preloaded in place of a runtime's own allocator, and its collector has settings.
    #[test]
    fn an_allocator_that_a_collector_belongs_to_is_not_replaced() {
        let answer = answer_for(&allocating("runtime.mallocgc@app < runtime.newobject@app"));
        let cause = &answer.verdict.causes[0];
        assert!(cause.remedies.iter().any(|r| r.contains("GOGC")), "{:?}", cause.remedies);
        let mut all = cause.remedies.iter().chain([&cause.disproved_by]);
        assert!(!all.any(|r| r.contains("jemalloc") || r.contains("preload")), "{cause:?}");
    }

    #[test]
    fn a_function_that_merely_sounds_like_an_allocator_is_the_program_s_lock() {
        let answer = answer_for(&allocating("pool_malloc@app pool.c:9"));
        assert!(found(&answer, CauseId::ALLOCATOR).is_none(), "{:#?}", answer.verdict);
        assert!(found(&answer, CauseId::USER_LOCK).is_some(), "{:#?}", answer.verdict);
    }
}

mod clean {
    use super::*;

    #[test]
    fn allocating_that_costs_nothing_is_clear() {
        let allocates = "malloc@libc.so.6 < new_node@app app.c:25 < work@app app.c:40";
        let tables = Sketch::new(2)
            .clean(1, &around(1.0))
            .clean(2, &around(0.5))
            .traced(1, |run| {
                run.thread("a").runs(ms(900), WORK).runs(ms(100), allocates);
            })
            .traced(2, |run| {
                for name in ["a", "b"] {
                    run.thread(name).runs(ms(450), WORK).runs(ms(50), allocates);
                }
            })
            .tables();
        let answer = answer_for(&tables);
        assert_eq!(ids(&answer), [CauseId::NONE], "{:#?}", answer.verdict);
        assert!(answer.verdict.clear.contains(&CauseId::ALLOCATOR), "{:#?}", answer.verdict);
    }

    /// A program's thread collects for 0.3 s, with a helper beside it, with one thread as with two. Only the helper's time is
    /// new in the capacity.
    #[test]
    fn what_a_program_s_own_thread_collects_at_the_baseline_is_no_growth() {
        let collects = |inner: &str| format!("v8::internal::Heap::CollectGarbage()@node < {inner}");
        let sketch = Sketch::new(2).clean_cpu(1, &around(1.0), &around(1.3)).clean_cpu(2, &around(1.0), &around(1.3));
        let tables = [1, 2]
            .into_iter()
            .fold(sketch, |sketch, count| {
                sketch.traced(count, |run| {
                    run.thread("main").runs(ms(700), WORK).runs(ms(300), &collects(WORK));
                    run.thread_at("helper", ms(700)).runs(ms(300), &collects("worker@node"));
                })
            })
            .tables();
        let answer = answer_for(&tables);
        assert_balanced(&answer);
        let collected = |at: usize| answer.account[at].lines.iter().find(|line| line.what == "garbage collection");
        let seconds = collected(1).map_or(0.0, |line| line.seconds);
        assert!((seconds - 0.3).abs() < 0.03, "{seconds}: {:#?}", answer.account);
    }

    /// On a slower processor all code takes longer: the allocator's as much as the program's.
    #[test]
    fn an_allocator_that_is_as_much_slower_as_the_program_is_none() {
        let evenly = slower(1.25, 1.25);
        assert_eq!(found(&evenly, CauseId::ALLOCATOR).map(|c| &c.summary), None);
        assert!(!evenly.verdict.clear.contains(&CauseId::ALLOCATOR), "it may be why: {:#?}", evenly.verdict);
        assert!(found(&slower(1.0, 1.5), CauseId::ALLOCATOR).is_some(), "it alone is slower");
        assert!(found(&slower(1.25, 2.0), CauseId::ALLOCATOR).is_some(), "it is slower than the rest");
    }
}

/// A second of work, of which 40 % is allocating; with two threads, own code takes `code` times as long, and the allocator
/// `allocator` times as long.
fn slower(code: f64, allocator: f64) -> Answer {
    let malloc = "malloc@libc.so.6 < new_node@app app.c:25 < insert@app app.c:41";
    let (own, allocating) = ((300.0 * code) as u64, (200.0 * allocator) as u64);
    let each = (own + allocating) as f64 * 1e-3;
    let tables = Sketch::new(2)
        .clean(1, &around(1.0))
        .clean_cpu(2, &around(each), &around(2.0 * each))
        .traced(1, |run| {
            run.thread("a").runs(ms(600), WORK).runs(ms(400), malloc);
        })
        .traced(2, |run| {
            for name in ["a", "b"] {
                run.thread(name).runs(ms(own), WORK).runs(ms(allocating), malloc);
            }
        })
        .tables();
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    answer
}
