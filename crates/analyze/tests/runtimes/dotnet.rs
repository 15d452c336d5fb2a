//! .NET, with and without the names that its virtual machine and its map file give.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::*;
use analyze::answer::{Answer, CauseId};
use recording::synthetic::{Sketch, ms};
use recording::tables::Reason;

const WORK: &str = "Shop.Render@anonymous < Shop.Main.lambda@anonymous < ?@System.Private.CoreLib.dll < \
                    KickOffThread@libcoreclr.so < CorUnix::CPalThread::ThreadEntry(void*)@libcoreclr.so";

/// A stack of `Cache.Add` that waits in these functions of the virtual machine and the class library.
fn within(functions: &str) -> String {
    format!(
        "?@libc.so.6 < pthread_cond_wait@libc.so.6 < \
         CorUnix::CPalSynchronizationManager::BlockThread(unsigned int)@libcoreclr.so < {functions} < \
         Cache.Add@anonymous < {WORK}"
    )
}

/// Two threads that each run for 500 ms and wait as long in this stack while the other runs, and a thread of the
/// virtual machine that waits for commands all the time.
fn takes_turns(waits: &str) -> Answer {
    let sketch = Sketch::new(2)
        .clean_cpu(1, &around(1.0), &around(1.0))
        .traced(1, |run| {
            main_joins(run, ms(1000));
            run.thread("dotnet").runs(ms(1000), WORK);
        })
        .clean_cpu(2, &around(1.0), &around(1.0))
        .traced(2, |run| {
            main_joins(run, ms(1000));
            let mut first = run.thread("dotnet");
            for _ in 0..50 {
                first = first.runs(ms(10), WORK).locks(0x10, ms(10), waits, "second").woken_at(waits);
            }
            let mut second = run.thread("second");
            for _ in 0..50 {
                second = second.locks(0x10, ms(10), waits, "dotnet").woken_at(waits).runs(ms(10), WORK);
            }
            let accepts = "accept@libc.so.6 < DiagnosticsServerThread(void*)@libcoreclr.so < \
                           CorUnix::CPalThread::ThreadEntry(void*)@libcoreclr.so";
            run.thread("diagnostics").blocks(Reason::Io, ms(1000), accepts);
        });
    let answer = answer_for(&sketch.tables());
    assert_balanced(&answer);
    answer
}

#[test]
fn a_monitor_is_a_lock_and_its_place_is_the_method_that_takes_it() {
    let stack = within(
        "AwareLock::EnterEpilogHelper(Thread*, int)@libcoreclr.so < JIT_MonReliableEnter_Portable@libcoreclr.so",
    );
    let answer = takes_turns(&stack);
    assert_eq!(ids(&answer), [CauseId::USER_LOCK], "{:#?}", answer.verdict);
    let cause = &answer.verdict.causes[0];
    assert_eq!(cause.culprit.as_ref().unwrap().function.as_deref(), Some("Cache.Add"), "{cause:#?}");
    assert!(
        cause.summary.contains("a .NET monitor (lock)") && cause.summary.contains("Cache.Add"),
        "{}",
        cause.summary
    );
}

/// The outermost class of the library says what a wait is for, whatever it is built on.
#[test]
fn the_class_that_the_program_calls_tells_what_a_wait_is_for() {
    let stack = within(
        "?@libcoreclr.so < ?@System.Private.CoreLib.dll < \
         System.Threading.ReaderWriterLockSlim.TryEnterWriteLockCore@anonymous",
    );
    assert_eq!(ids(&takes_turns(&stack)), [CauseId::USER_LOCK]);
}

/// Waiting for the clock is no lock, although the wait looks the same.
#[test]
fn a_thread_that_sleeps_is_told_so() {
    let answer = takes_turns(&within("SleepEx@libcoreclr.so < ThreadNative::Sleep(int)@libcoreclr.so"));
    assert_eq!(ids(&answer), [CauseId::CONDITION_WAIT], "{:#?}", answer.verdict);
    assert!(answer.verdict.causes[0].summary.contains("sleep"), "{:#?}", answer.verdict.causes);
}

/// Released builds name only the functions that managed code calls, by the methods that they implement.
#[test]
fn a_monitor_is_a_lock_in_a_build_without_symbols() {
    for entry in ["System.Threading.Monitor.ReliableEnter", "CoreCLR::JIT_Mon", "CoreCLR::Monitor_Enter_Slowpath"] {
        let answer = takes_turns(&within(&format!("?@libcoreclr.so < ?@libcoreclr.so < {entry}@libcoreclr.so")));
        assert_eq!(ids(&answer), [CauseId::USER_LOCK], "{entry}: {:#?}", answer.verdict);
        let summary = &answer.verdict.causes[0].summary;
        assert!(summary.contains("a .NET monitor (lock)") && summary.contains("Cache.Add"), "{summary}");
    }
}

/// Who allocates waits for the collector, not for another thread of the program.
#[test]
fn allocating_waits_for_the_collector_in_a_build_without_symbols() {
    for entry in ["CoreCLR::JIT_New", "CoreCLR::JIT_NewArr1", "CoreCLR::FramedAllocateString"] {
        let answer = takes_turns(&within(&format!("?@libcoreclr.so < ?@libcoreclr.so < {entry}@libcoreclr.so")));
        assert_eq!(ids(&answer), [CauseId::ALLOCATOR], "{entry}: {:#?}", answer.verdict);
        assert!(answer.verdict.causes[0].summary.contains("garbage collector"), "{:#?}", answer.verdict.causes);
    }
}

/// A collection stops threads wherever they are: in calls that never wait, and in compiled code by a signal.
#[test]
fn a_thread_that_a_collection_stopped_waits_for_the_collector() {
    let stopped = ["System.Buffer.__BulkMoveWithWriteBarrier@libcoreclr.so", "?@libcoreclr.so < ?@libc.so.6"];
    for entry in stopped {
        let answer = takes_turns(&within(&format!("?@libcoreclr.so < ?@libcoreclr.so < {entry}")));
        assert_eq!(ids(&answer), [CauseId::ALLOCATOR], "{entry}: {:#?}", answer.verdict);
        assert!(answer.verdict.causes[0].summary.contains("garbage collector"), "{:#?}", answer.verdict.causes);
    }
    // The near miss: an initializer of a class waits for the thread that runs it.
    let entry = "System.Runtime.CompilerServices.RuntimeHelpers.RunClassConstructor@libcoreclr.so";
    let answer = takes_turns(&within(&format!("?@libcoreclr.so < ?@libcoreclr.so < {entry}")));
    assert!(!ids(&answer).contains(&CauseId::ALLOCATOR), "{:#?}", answer.verdict);
}

/// The class library is compiled ahead of time; its methods have the names of the assembly's own tables.
#[test]
fn the_outermost_method_of_the_class_library_tells_what_a_monitor_serves() {
    let waits = "?@libcoreclr.so < System.Threading.Monitor.ObjWait@libcoreclr.so < \
                 System.Threading.Monitor.Wait@System.Private.CoreLib.dll";
    let library = |method: &str| within(&format!("{waits} < {method}@System.Private.CoreLib.dll"));
    let lock = takes_turns(&library("System.Threading.ReaderWriterLockSlim.TryEnterReadLockCore"));
    assert_eq!(ids(&lock), [CauseId::USER_LOCK], "{:#?}", lock.verdict);
    let barrier = takes_turns(&library("System.Threading.Barrier.SignalAndWait"));
    assert_eq!(ids(&barrier), [CauseId::IMBALANCE], "{:#?}", barrier.verdict);
    // The near miss: nothing around it says what the condition is for.
    let condition = takes_turns(&within(waits));
    assert_eq!(ids(&condition), [CauseId::CONDITION_WAIT], "{:#?}", condition.verdict);
}

/// Builds without symbols, and programs without a map: a lock, a queue and a pause look alike.
#[test]
fn without_any_name_nothing_is_told_of_a_wait() {
    let stack = format!("?@libc.so.6 < pthread_cond_wait@libc.so.6 < ?@libcoreclr.so < ?@anonymous < {WORK}");
    let answer = takes_turns(&stack);
    assert!(!answer.verdict.clear.contains(&CauseId::USER_LOCK), "{:#?}", answer.verdict);
    assert!(!ids(&answer).contains(&CauseId::CONDITION_WAIT), "{:#?}", answer.verdict);
}

/// A thread that waits for a task lets others run at first. That is no end of a thread.
#[test]
fn yielding_while_a_task_is_awaited_creates_no_threads() {
    const NUMBER_OF_SCHED_YIELD: u32 = 24;
    const NUMBER_OF_MUNMAP: u32 = 11;
    let answer = |number: u32, stack: &str| {
        let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(2.0));
        let tables = with_base(sketch, WORK)
            .traced(2, |run| {
                for name in ["a", "b"] {
                    run.thread(name).runs(ms(500), WORK).runs_in_kernel(ms(500), number, stack);
                }
            })
            .tables();
        answer_for(&tables)
    };
    let awaits = "sched_yield@libc.so.6 < SwitchToThread@libcoreclr.so < ThreadNative::YieldThread()@libcoreclr.so < \
                  System.Threading.Tasks.Task.SpinWait@System.Private.CoreLib.dll < \
                  System.Threading.Tasks.Task.Wait@System.Private.CoreLib.dll < Shop.Send@anonymous < Shop.Main@anonymous";
    let told = answer(NUMBER_OF_SCHED_YIELD, awaits);
    assert!(found(&told, CauseId::THREAD_CREATION).is_none(), "{:#?}", told.verdict);
    let joins = told.account.iter().flat_map(|account| &account.lines).find(|line| line.what == "joining threads");
    assert!(joins.is_some_and(|line| line.seconds > 0.5), "{told:#?}");
    // The near miss: a join that frees the stack of the ended thread.
    let frees = "munmap@libc.so.6 < System.Threading.Thread.Join@System.Private.CoreLib.dll < Shop.Main@anonymous";
    assert!(found(&answer(NUMBER_OF_MUNMAP, frees), CauseId::THREAD_CREATION).is_some());
}
