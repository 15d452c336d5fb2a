//! The events that sources give: what can be observed of a program, whatever observes it.
//!
//! Programs in the kernel, perf events and /proc are three sources of these events; `build` makes rows of them. A
//! source never gives an event for what it cannot see. Each source gives out its own handles (threads, waits, stacks),
//! each handle once a run. Times are nanoseconds of CLOCK_MONOTONIC.

use crate::file_kind::FileKind;
use crate::sharing::SharedRows;
use crate::sockets::SocketName;
use recording::tables::{KernelWait, MarkKind, Mode, PeerSide, Reason, State, Timed};
use recording::{SiteId, StackId, ThreadId, WaitId};

/// Bars of a histogram of durations: bar 0 holds those below 2^8 ns, bar b those below 2^(b+8), the last all others.
pub(crate) const BARS: usize = 32;

/// One thing that was observed.
#[derive(Debug)]
pub(crate) enum Event {
    /// A thread spent time in one state.
    Spent(Spent),
    /// A thread has ended, or is still alive when observing ends: the sums over its life.
    Thread(ThreadLife),
    /// Sums of a thread's waits at one place. May be given several times for a place; the sums then add up.
    Wait { at: WaitPlace, sums: WaitSums },
    /// How waits at a place were ended by one waker.
    Woken(Wakes),
    /// One system call, from entry to return.
    Called { thread: ThreadId, start_ns: u64, end_ns: u64, number: u32, error: Option<u32> },
    /// How many times a thread made a system call.
    Calls { thread: ThreadId, number: u32, count: u64 },
    /// Sums of one system call by one thread at one call site.
    CallSite(CallSums),
    /// Durations of waits at a place, or of the calls of a site.
    Durations { of: Timed, id: u32, bars: [u32; BARS] },
    /// How many times a thread made a futex operation (linux/futex.h).
    FutexCalls { thread: ThreadId, operation: usize, count: u64 },
    /// Sums of a thread's waits for a lock inside the kernel.
    KernelLock(LockSums),
    /// What a thread exchanged with clients or with one service, over TCP or sockets in the file system.
    Exchanged(Exchanges),
    /// Page faults of a thread at one call path, of which one in `period` was sampled.
    Faults { thread: ThreadId, user_stack: Option<StackId>, sampled: u64, period: u64 },
    /// A thread was found on a processor.
    Sample(CpuSample),
    /// Tasks of a runtime's scheduler that waited at one moment, by where: one event for each stack.
    Parked { time_ns: u64, user_stack: Option<StackId>, timer: bool, count: u32 },
    /// The program made a mark.
    Mark { thread: ThreadId, time_ns: u64, kind: MarkKind, name: Option<String>, amount: Option<u64> },
    /// Another program ran on the target's processors.
    Foreign { pid: u32, name: String, running_ns: u64 },
    /// Threads' accesses to shared memory.
    Shared(Box<SharedRows>),
    /// Something was missed: how many, and out of how many where that is known.
    Lost { what: &'static str, count: u64, of: Option<u64> },
    /// The run as a whole; the last event.
    Summary(RunSummary),
}

/// What a thread does at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Doing {
    /// On a processor.
    Runs,
    /// Waiting for a processor.
    Ready,
    /// Running or ready: /proc does not distinguish them.
    RunsOrReady,
    /// Waiting for something else.
    Waits,
}

/// Time of a thread in one state, inside a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spent {
    pub(crate) thread: ThreadId,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) state: State,
    /// Less than the length of the stretch where the thread also was in other states.
    pub(crate) spent_ns: u64,
    /// How many times it entered the state.
    pub(crate) count: u32,
    /// Where it waited, when blocked.
    pub(crate) wait: Option<WaitId>,
    /// The processor, when it ran on one only.
    pub(crate) processor: Option<u32>,
}

impl Spent {
    /// A thread that was in one state for the whole time.
    pub(crate) fn all(thread: ThreadId, state: State, start_ns: u64, end_ns: u64) -> Spent {
        let spent_ns = end_ns.saturating_sub(start_ns);
        Spent { thread, start_ns, end_ns, state, spent_ns, count: 1, wait: None, processor: None }
    }
}

/// Times of a thread in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Times {
    pub(crate) running_ns: u64,
    /// Woken, and waiting for a processor.
    pub(crate) runnable_ns: u64,
    /// Taken off the processor.
    pub(crate) preempted_ns: u64,
    /// Includes the time of which nothing is known.
    pub(crate) blocked_ns: u64,
}

/// A thread's life, up to its end or to now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ThreadLife {
    pub(crate) thread: ThreadId,
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) name: String,
    pub(crate) parent: Option<ThreadId>,
    pub(crate) created_stack: Option<StackId>,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) times: Times,
    pub(crate) voluntary_switches: u64,
    pub(crate) involuntary_switches: u64,
    pub(crate) migrations: u64,
    pub(crate) minor_faults: Option<u64>,
    pub(crate) major_faults: Option<u64>,
    pub(crate) cycles: Option<u64>,
    pub(crate) instructions: Option<u64>,
    pub(crate) cache_misses: Option<u64>,
    pub(crate) stalled_cycles: Option<u64>,
}

impl ThreadLife {
    /// A thread for which nothing has been counted yet.
    pub(crate) fn blank(thread: ThreadId, pid: u32, tid: u32) -> ThreadLife {
        ThreadLife {
            thread,
            pid,
            tid,
            name: String::new(),
            parent: None,
            created_stack: None,
            start_ns: 0,
            end_ns: 0,
            times: Times::default(),
            voluntary_switches: 0,
            involuntary_switches: 0,
            migrations: 0,
            minor_faults: None,
            major_faults: None,
            cycles: None,
            instructions: None,
            cache_misses: None,
            stalled_cycles: None,
        }
    }
}

/// Where a thread blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WaitPlace {
    pub(crate) wait: WaitId,
    pub(crate) thread: ThreadId,
    pub(crate) within: Within,
    /// The file behind the descriptor that was given to the call.
    pub(crate) file: Option<FileKind>,
    /// What the thread waits for according to its functions in the kernel, where they say more than the system call.
    pub(crate) in_kernel: Option<Reason>,
    /// The lock inside the kernel that it waits for, and the lock's address.
    pub(crate) kernel_lock: Option<(String, u64)>,
    pub(crate) user_stack: Option<StackId>,
    pub(crate) kernel_stack: Option<StackId>,
}

/// What a thread was doing when it blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Within {
    Call(BlockedCall),
    Fault,
    /// Hidden from the source.
    Hidden,
}

/// A system call that blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockedCall {
    pub(crate) number: u32,
    /// The first two arguments. The second is absent where only the first was seen.
    pub(crate) object: u64,
    pub(crate) operation: Option<u64>,
    /// Of a futex call: the value that the word was expected to have, and whether there is a time limit.
    pub(crate) expected: Option<u32>,
    pub(crate) timed: bool,
}

impl BlockedCall {
    /// A call with all its arguments.
    pub(crate) fn from_call(number: u32, arguments: [u64; 6]) -> BlockedCall {
        let [object, operation, expected, timeout, ..] = arguments;
        BlockedCall { number, object, operation: Some(operation), expected: Some(expected as u32), timed: timeout != 0 }
    }
}

/// Sums of waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct WaitSums {
    pub(crate) count: u64,
    pub(crate) blocked_ns: u64,
    pub(crate) runnable_ns: u64,
    pub(crate) longest_ns: u64,
}

/// Wake-ups of one wait by one waker, all alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wakes {
    pub(crate) wait: WaitId,
    /// Absent when the waker was no thread of the program.
    pub(crate) waker: Option<ThreadId>,
    pub(crate) waker_stack: Option<StackId>,
    pub(crate) waker_syscall: Option<u32>,
    /// The waker's futex call was for the address waited on.
    pub(crate) same_object: bool,
    /// The waker's own latest wait at a futex was at that address.
    pub(crate) waker_waited_here: Option<bool>,
    /// It asked to wake more than one thread.
    pub(crate) wakes_many: Option<bool>,
    /// The thread that held the mutex when the wait ended.
    pub(crate) holder: Option<ThreadId>,
    pub(crate) count: u64,
    pub(crate) blocked_ns: u64,
}

/// Calls of one thread at one call site, with one result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CallSums {
    pub(crate) site: SiteId,
    pub(crate) thread: ThreadId,
    pub(crate) number: u32,
    pub(crate) error: u16,
    pub(crate) user_stack: Option<StackId>,
    /// Calls that were timed. `calls` estimates all calls, with a 95 % interval.
    pub(crate) timed: u64,
    pub(crate) calls: f64,
    pub(crate) calls_low: f64,
    pub(crate) calls_high: f64,
    /// Of the timed calls.
    pub(crate) total_ns: u64,
    pub(crate) on_cpu_ns: u64,
    pub(crate) longest_ns: u64,
}

/// Waits of one thread for one lock inside the kernel, at one call path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LockSums {
    pub(crate) thread: ThreadId,
    pub(crate) lock: String,
    pub(crate) address: u64,
    pub(crate) how: KernelWait,
    pub(crate) syscall: Option<u32>,
    pub(crate) user_stack: Option<StackId>,
    pub(crate) kernel_stack: Option<StackId>,
    pub(crate) count: u64,
    pub(crate) waited_ns: u64,
    pub(crate) blocked_ns: u64,
    pub(crate) longest_ns: u64,
}

/// Requests and replies of one thread at connections of one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exchanges {
    pub(crate) thread: ThreadId,
    /// Where the thread waited; absent in the sums of exchanges.
    pub(crate) wait: Option<WaitId>,
    pub(crate) side: PeerSide,
    /// Where the program listens, for clients; where the service does.
    pub(crate) at: SocketName,
    /// The program that is a service, where it is on this machine.
    pub(crate) name: Option<String>,
    pub(crate) count: u64,
    pub(crate) total_ns: u64,
    pub(crate) longest_ns: u64,
    pub(crate) waits: u64,
    pub(crate) waited_ns: u64,
}

/// A thread on a processor at a tick of the sampling clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CpuSample {
    pub(crate) thread: ThreadId,
    pub(crate) time_ns: u64,
    pub(crate) processor: u32,
    pub(crate) mode: Mode,
    pub(crate) syscall: Option<u32>,
    pub(crate) user_stack: Option<StackId>,
    pub(crate) kernel_stack: Option<StackId>,
    pub(crate) goroutine: Option<u64>,
}

/// A run as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunSummary {
    pub(crate) begin_ns: u64,
    pub(crate) end_ns: u64,
    /// Processors that the target may use, and their times between start and end.
    pub(crate) processors: u32,
    pub(crate) idle_ns: u64,
    pub(crate) foreign_ns: u64,
    pub(crate) observer_ns: u64,
    /// Time between two samples of one processor; 0 without samples.
    pub(crate) sample_period_ns: u64,
}
