//! The tables of a recording: one struct per kind of fact; its fields are the columns.
//!
//! Times are nanoseconds of CLOCK_MONOTONIC unless a column says otherwise; durations end in `_ns`. An absent value
//! means that it could not be known, never zero.

use crate::column::tables;
pub use crate::column::{ColumnInfo, Table};
use crate::ids::{FrameId, ModuleId, RunId, SiteId, StackId, ThreadId, WaitId};
pub use crate::words::{
    AccessKind, AddressCertainty, KernelWait, MarkKind, Mode, ModuleKind, PeerSide, Reason, Region, RunKind, State,
    Timed,
};
use crate::words::{LossKind, PIPE};

tables! {
    /// One execution of the target, traced or not.
    pub struct Run in "runs" {
        /// Handle of the run.
        run: RunId,
        /// Why it was made.
        kind: RunKind,
        /// The thread count that the program was given; in a sweep over processors, the number of processors that it
        /// could use.
        threads: u32,
        /// Block of the randomised order that it belongs to; runs of one block are compared with each other.
        block: u32,
        /// Start, nanoseconds since the Unix epoch.
        started_unix_ns: u64,
        /// Wall time from start to exit; for a server under load, the wall time of the load.
        wall_ns: u64,
        /// CPU time in user space, all threads and waited-for children; for a server under load, during the load.
        user_ns: u64,
        /// CPU time in the kernel, likewise.
        system_ns: u64,
        /// Voluntary context switches.
        voluntary_switches: u64,
        /// Involuntary context switches.
        involuntary_switches: u64,
        /// Page faults served without input/output.
        minor_faults: u64,
        /// Page faults that needed input/output.
        major_faults: u64,
        /// Largest resident set, bytes.
        max_rss_bytes: u64,
        /// Moves between processors.
        migrations: Option<u64>,
        /// Hardware cycles.
        cycles: Option<u64>,
        /// Instructions retired.
        instructions: Option<u64>,
        /// Last-level cache misses.
        cache_misses: Option<u64>,
        /// Units of work per second, as the program printed them; the unit is in `meta.json`. Where the program printed a
        /// time (`times` there), one run in so many seconds.
        throughput: Option<f64>,
        /// Processor time that other programs took during the run, all processors; without that of a load.
        foreign_ns: Option<u64>,
        /// Time that the hypervisor gave to other machines during the run, all processors.
        steal_ns: Option<u64>,
        /// Time that a control group's quota kept its threads from running, all threads.
        throttled_ns: Option<u64>,
        /// Quota periods in which that happened.
        throttled_periods: Option<u64>,
        /// Times that a processor throttled itself during the run because of heat or power, all processors.
        thermal_throttles: Option<u64>,
        /// Highest clock of the processors when the run had just ended, kHz.
        clock_khz: Option<u64>,
        /// Exit status; absent when a signal ended it. For a server under load, that of the load.
        exit_status: Option<i32>,
        /// The signal that ended it, likewise.
        signal: Option<i32>,
        /// CPU time of the load, all its processes; absent without a load, as in all columns that follow.
        load_ns: Option<u64>,
        /// Threads of the load that ran for at least a twentieth of the busiest one's time, as far as they were seen.
        load_threads: Option<u32>,
        /// Failed requests, as the load reports them; they are not in the throughput. Absent where it does not report them.
        load_errors: Option<u64>,
        /// Median time of a request, as the load printed it.
        latency_median_ns: Option<u64>,
        /// Time that 99 % of the requests took at most, as the load printed it.
        latency_99_ns: Option<u64>,
    }
    /// Facts about one traced run as a whole.
    pub struct Trace in "traces" {
        /// The traced run.
        run: RunId,
        /// When the target's first instruction could run.
        begin_ns: u64,
        /// When its last thread had ended.
        end_ns: u64,
        /// Processors that the target was allowed to use.
        processors: u32,
        /// Time between two CPU samples of one processor.
        sample_period_ns: u64,
        /// Idle time of those processors between start and end.
        idle_ns: u64,
        /// Time of other programs on those processors, without that of a load.
        foreign_ns: u64,
        /// Time of knee itself on those processors.
        observer_ns: u64,
        /// When the load began; absent without one. From then to its end is the part of the run that counts.
        load_begin_ns: Option<u64>,
        /// When the load had ended.
        load_end_ns: Option<u64>,
        /// Time of the load on those processors.
        load_ns: Option<u64>,
        /// For a process that ran before it was observed: whether it listened at a socket then, as servers do; since
        /// format 1.9.
        listens: Option<bool>,
    }
    /// One thread of a traced run. Its four times (running, runnable, preempted, blocked) add up to its life.
    pub struct Thread in "threads" {
        /// The traced run.
        run: RunId,
        /// Handle, unique in the run.
        thread: ThreadId,
        /// Process id.
        pid: u32,
        /// Thread id.
        tid: u32,
        /// Its name when it ended.
        name: String,
        /// The thread that created it.
        parent: Option<ThreadId>,
        /// Creation.
        start_ns: u64,
        /// End, or the end of the run.
        end_ns: u64,
        /// Time on a processor.
        running_ns: u64,
        /// Time woken and waiting for a processor.
        runnable_ns: u64,
        /// Time taken off the processor although it could have gone on.
        preempted_ns: u64,
        /// Time blocked.
        blocked_ns: u64,
        /// Times it left the processor to wait.
        voluntary_switches: u64,
        /// Times it was taken off the processor.
        involuntary_switches: u64,
        /// Moves between processors.
        migrations: u64,
        /// Where the parent created it.
        created_stack: Option<StackId>,
        /// Page faults served without input/output.
        minor_faults: Option<u64>,
        /// Page faults that needed input/output.
        major_faults: Option<u64>,
        /// Hardware cycles.
        cycles: Option<u64>,
        /// Instructions retired.
        instructions: Option<u64>,
        /// Last-level cache misses.
        cache_misses: Option<u64>,
        /// Cycles in which the back end of the processor waited, mostly for memory.
        stalled_cycles: Option<u64>,
    }
    /// A stretch of one thread's time. The slices of a thread cover its life without gaps.
    ///
    /// Where switches come too fast for one row each, a stretch is summed up: several rows with the same start and end,
    /// one per state, whose `spent_ns` add up to the stretch.
    pub struct Slice in "slices" {
        /// The traced run.
        run: RunId,
        /// The thread.
        thread: ThreadId,
        /// Start of the stretch.
        start_ns: u64,
        /// End of the stretch.
        end_ns: u64,
        /// What the thread did.
        state: State,
        /// Time in this state within the stretch; end − start unless the stretch is summed up.
        spent_ns: u64,
        /// How often the thread was in this state; 1 unless the stretch is summed up.
        count: u32,
        /// For a blocked slice: the wait, with its place and reason.
        wait: Option<WaitId>,
        /// For a slice on one processor: its number.
        processor: Option<u32>,
    }
    /// A place where a thread waited, and how long in total.
    pub struct Wait in "waits" {
        /// The traced run.
        run: RunId,
        /// Handle, unique in the run.
        wait: WaitId,
        /// The thread that waited.
        thread: ThreadId,
        /// What it waited for.
        reason: Reason,
        /// The system call in which it waited; absent for a fault.
        syscall: Option<u32>,
        /// The futex address, or the call's first argument.
        object: Option<u64>,
        /// The futex operation, as passed (command and flags), or the call's second argument.
        operation: Option<u64>,
        /// What was waited for, where it has a name: the descriptor's file, `pipe`, `socket`, the kernel lock.
        what: Option<String>,
        /// The value that the futex was expected to have.
        expected: Option<u32>,
        /// True when the call had a time limit.
        timed: bool,
        /// Call stack in user space.
        user_stack: Option<StackId>,
        /// Call stack in the kernel.
        kernel_stack: Option<StackId>,
        /// Times it blocked.
        count: u64,
        /// Time blocked.
        blocked_ns: u64,
        /// Time from being woken to running again.
        runnable_ns: u64,
        /// The longest block.
        longest_ns: u64,
    }
    /// Who ended a wait.
    pub struct Wake in "wakes" {
        /// The traced run.
        run: RunId,
        /// The wait that ended.
        wait: WaitId,
        /// The thread that woke it; absent when it was the kernel (a timer, a device) or another program.
        waker: Option<ThreadId>,
        /// The waker's call stack.
        waker_stack: Option<StackId>,
        /// The system call the waker was in; absent for a fault or an interrupt.
        waker_syscall: Option<u32>,
        /// True when the waker's futex call was for the address that the thread waited on.
        same_object: bool,
        /// True when the waker's own latest wait at any futex was at this address, as with a thread that waited for
        /// a lock and then releases it. Absent unless `same_object`, and in recordings of format 1.3 and older.
        waker_waited_here: Option<bool>,
        /// True when the waker's futex call asked to wake more than one thread, as in a broadcast or at a barrier;
        /// releasing a lock wakes one. Absent in the same cases as `waker_waited_here`.
        wakes_many: Option<bool>,
        /// Who held the lock when the thread began to wait: the owner written beside the futex word (glibc's mutexes).
        holder: Option<ThreadId>,
        /// How many blocks of the wait it ended.
        count: u64,
        /// The blocked time of these.
        blocked_ns: u64,
    }
    /// System calls of one thread by number. Counts are exact unless `meta.json` says that they are estimates.
    pub struct Syscall in "syscalls" {
        /// The traced run.
        run: RunId,
        /// The thread.
        thread: ThreadId,
        /// The number, as the architecture of `meta.json` numbers them.
        number: u32,
        /// The name, or the number as text when this release does not know it.
        name: String,
        /// Calls begun.
        count: u64,
    }
    /// A place that makes a system call, and the results of its calls. Calls that fail have rows of their own.
    ///
    /// Where calls come too fast to time each, they are timed only during some windows of time; `calls` is then an
    /// estimate of all, and `calls_low` to `calls_high` is its 95 % interval.
    pub struct CallSite in "call_sites" {
        /// The traced run.
        run: RunId,
        /// Handle, unique in the run.
        site: SiteId,
        /// The thread.
        thread: ThreadId,
        /// The system call's number.
        number: u32,
        /// Its name, or the number as text.
        name: String,
        /// Call stack in user space.
        user_stack: Option<StackId>,
        /// The error number that the calls returned; absent for those that succeeded.
        error: Option<u32>,
        /// Calls that were timed.
        timed: u64,
        /// All calls; equal to `timed` when all were timed.
        calls: f64,
        /// Lower end of the interval of `calls`.
        calls_low: f64,
        /// Upper end of the interval of `calls`.
        calls_high: f64,
        /// Time between entry and return of the timed calls, blocked time included.
        total_ns: u64,
        /// Of that, time on a processor.
        on_cpu_ns: u64,
        /// The longest timed call.
        longest_ns: u64,
    }
    /// One system call on the timeline. Where calls come fast, only some are kept; `losses` says how many are missing.
    pub struct Call in "calls" {
        /// The traced run.
        run: RunId,
        /// The thread.
        thread: ThreadId,
        /// Entry.
        start_ns: u64,
        /// Return.
        end_ns: u64,
        /// The system call's number.
        number: u32,
        /// The error number that it returned; absent when it succeeded.
        error: Option<u32>,
    }
    /// How long the blocks of a wait, or the timed calls of a call site, took: one bar of a histogram.
    pub struct Duration in "durations" {
        /// The traced run.
        run: RunId,
        /// Whether they are those of a wait or of a call site.
        of: Timed,
        /// The `wait` or `site` handle.
        id: u32,
        /// Shortest duration that the bar holds.
        from_ns: u64,
        /// First duration that is too long for the bar.
        to_ns: u64,
        /// How many.
        count: u64,
    }
    /// A lock inside the kernel that one thread waited for, at one place.
    pub struct KernelLock in "kernel_locks" {
        /// The traced run.
        run: RunId,
        /// The thread that waited.
        thread: ThreadId,
        /// Which lock: `mmap_lock`, a kernel variable's name, or the kernel function that takes it.
        lock: String,
        /// The lock's address in the kernel.
        address: u64,
        /// How it waited.
        how: KernelWait,
        /// The system call that needed the lock; absent for a page fault or an interrupt.
        syscall: Option<u32>,
        /// Call stack in user space; absent where the waits were too short to record it.
        user_stack: Option<StackId>,
        /// Call stack in the kernel; likewise.
        kernel_stack: Option<StackId>,
        /// Times it had to wait.
        count: u64,
        /// Time from the first try to having the lock.
        waited_ns: u64,
        /// Of that, time off the processor; the rest was spent spinning.
        blocked_ns: u64,
        /// The longest wait.
        longest_ns: u64,
    }
    /// Futex operations of one thread by kind, counted at entry, no matter whether they blocked.
    pub struct FutexOperation in "futex_operations" {
        /// The traced run.
        run: RunId,
        /// The thread.
        thread: ThreadId,
        /// The operation without its flags, as futex(2) names it: `FUTEX_WAIT`, `FUTEX_WAKE`, ...
        operation: String,
        /// Calls begun.
        count: u64,
    }
    /// A place whose code caused page faults, from samples: one fault in `period`.
    pub struct FaultSite in "fault_sites" {
        /// The traced run.
        run: RunId,
        /// The thread.
        thread: ThreadId,
        /// Call stack in user space.
        user_stack: Option<StackId>,
        /// Faults that were sampled.
        sampled: u64,
        /// Faults that one sample stands for.
        period: u64,
    }
    /// A mark that the program made (see `knee.h`).
    pub struct Mark in "marks" {
        /// The traced run.
        run: RunId,
        /// The thread.
        thread: ThreadId,
        /// When.
        time_ns: u64,
        /// What it says.
        kind: MarkKind,
        /// The task's name.
        name: Option<String>,
        /// Units of work.
        amount: Option<u64>,
    }
    /// Another program that ran on the target's processors during the run.
    pub struct Foreign in "foreign" {
        /// The traced run.
        run: RunId,
        /// Its process id.
        pid: u32,
        /// Its name.
        name: String,
        /// Time it ran.
        running_ns: u64,
    }
    /// One CPU sample. It stands for one sample period of running time.
    pub struct Sample in "samples" {
        /// The traced run.
        run: RunId,
        /// The thread that was on the processor.
        thread: ThreadId,
        /// When.
        time_ns: u64,
        /// The processor.
        processor: u32,
        /// User or kernel.
        mode: Mode,
        /// For the kernel: the system call it was in; absent for a fault or an interrupt.
        syscall: Option<u32>,
        /// Call stack in user space.
        user_stack: Option<StackId>,
        /// Call stack in the kernel.
        kernel_stack: Option<StackId>,
        /// For Go: the address of the record of the goroutine that ran. Records of ended goroutines serve new ones.
        goroutine: Option<u64>,
    }
    /// Tasks of a runtime's scheduler (goroutines) that waited at one moment, by place; since format 1.9. Each moment
    /// has a row for each stack. A row without a stack counts tasks whose stacks are unknown; it counts 0 where no task
    /// waited. Where there are many tasks, only some are looked at each time.
    pub struct ParkedTasks in "parked_tasks" {
        /// The traced run.
        run: RunId,
        /// When.
        time_ns: u64,
        /// Where the tasks waited: their stack. Its innermost function takes a task off its thread.
        user_stack: Option<StackId>,
        /// For Go: whether they waited for the clock, at the channel of a timer; since format 1.12.
        timer: Option<bool>,
        /// How many tasks waited there.
        count: u32,
    }
    /// What a thread exchanged over TCP, and over stream sockets in the file system; since format 1.10. Several
    /// requests that are sent at once over one connection count as one, except streams of HTTP/2 (from format 1.12 on;
    /// not with TLS). A row with a wait says for whom the thread waited there, other rows say what it exchanged.
    pub struct Peer in "peers" {
        /// The traced run.
        run: RunId,
        /// The thread that answered, or received the reply.
        thread: ThreadId,
        /// Where it waited at sockets until data came from this peer.
        wait: Option<WaitId>,
        /// What is at the other end: clients or a service.
        side: PeerSide,
        /// `port 8080` of the program itself for clients; address and port of a service. For sockets in the file system
        /// the path where the listening side was bound, for both; `@name` is an abstract one, `./name` a relative path.
        address: String,
        /// The program that listens at a service's address or path, where it runs on the same machine.
        name: Option<String>,
        /// Requests of clients that were answered, or replies of a service.
        exchanges: u64,
        /// From the first data of a request until the answer began; for a service, from sending until the reply began.
        exchange_ns: u64,
        /// The longest one.
        longest_ns: u64,
        /// How often it waited.
        waits: u64,
        /// How long it waited, in total.
        waited_ns: u64,
    }
    /// A call stack as a tree: a frame and the stack of its caller. The stack of a thread that waits in Go's scheduler
    /// continues with the goroutine that it ran last.
    pub struct Stack in "stacks" {
        /// Handle of the stack whose innermost frame this is.
        stack: StackId,
        /// The caller's stack; absent for the outermost frame.
        parent: Option<StackId>,
        /// The frame.
        frame: FrameId,
        /// On the outermost frame: true when unwinding broke off there instead of reaching the thread's start.
        truncated: bool,
    }
    /// A code address and one function there: several rows, innermost first, if functions were inlined.
    pub struct Frame in "frames" {
        /// Handle of the address.
        frame: FrameId,
        /// 0 for the innermost inlined function, and so on outwards.
        depth: u32,
        /// The module that holds it.
        module: ModuleId,
        /// The address inside the module's file (the kernel's: the address).
        address: u64,
        /// The function, demangled; absent when no symbol covers the address.
        function: Option<String>,
        /// The source file as the compiler recorded it.
        file: Option<String>,
        /// The line; in a caller, the line of the call.
        line: Option<u32>,
    }
    /// A mapped file, the kernel, or code without a file.
    pub struct Module in "modules" {
        /// Handle.
        module: ModuleId,
        /// What kind of code it holds.
        kind: ModuleKind,
        /// The path as the target saw it.
        path: String,
        /// True when it carries line tables, or a separate debug file was found.
        has_lines: bool,
    }
    /// What was not recorded, and how much of it.
    pub struct Loss in "losses" {
        /// The run in which it happened.
        run: RunId,
        /// What was lost: `timeline periods`, `samples`, `wait stacks`, `threads`, ...
        what: String,
        /// How many.
        count: u64,
        /// Out of how many, when that is known.
        of: Option<u64>,
    }
    /// A memory access at or near a CPU sample, derived from the code there and the registers. Accesses are kept only
    /// for cache lines that several threads of a process touch and at least one of them writes.
    ///
    /// A sample has several: `thread` and `time_ns` are those of its row in `samples`.
    pub struct Access in "accesses" {
        /// The traced run.
        run: RunId,
        /// The thread.
        thread: ThreadId,
        /// When the sample was taken.
        time_ns: u64,
        /// Address of the first byte, in the thread's process.
        address: u64,
        /// Bytes.
        width: u32,
        /// What the instruction does.
        kind: AccessKind,
        /// The instruction.
        frame: FrameId,
        /// Distance from the sampled instruction: −1 is the instruction before, for which the processor mostly waited; 0
        /// the one that would have run next. Fences are not counted: a fence waits for the write before it.
        distance: i32,
        /// How certain the address is.
        certainty: AddressCertainty,
    }
    /// A loop in which a thread waited, found from its samples: by the address that the loop reads repeatedly, and by
    /// call stack. All samples of the thread with this stack were in the loop.
    pub struct Spin in "spins" {
        /// The traced run.
        run: RunId,
        /// The thread that waits.
        thread: ThreadId,
        /// The instruction that reads.
        frame: FrameId,
        /// Address of what it reads; absent when no sample showed it.
        address: Option<u64>,
        /// Bytes that it reads.
        width: u32,
        /// CPU samples in the loop.
        samples: u64,
        /// Time of the first of these samples.
        first_ns: u64,
        /// Time of the last of these samples.
        last_ns: u64,
        /// The loop tells the processor that it waits (PAUSE).
        pauses: bool,
        /// The loop gives the processor away (sched_yield).
        yields: bool,
        /// The loop tries to take something by an atomic write.
        takes: bool,
        /// Call stack of the samples.
        user_stack: Option<StackId>,
    }
    /// What hardware breakpoints showed about one thread at one address: whether it really accesses it, and how often.
    ///
    /// A trial watches several threads for a short time, each at an address of its own in the same cache line. For a
    /// thread it ends after a few hits.
    pub struct Confirmation in "confirmations" {
        /// The traced run.
        run: RunId,
        /// The thread that was watched.
        thread: ThreadId,
        /// The address.
        address: u64,
        /// Bytes from there that were watched.
        width: u32,
        /// True when only writes were watched, false when reads were, too.
        writes: bool,
        /// The instruction that most hits came from; absent without a hit.
        frame: Option<FrameId>,
        /// Times that it was watched.
        trials: u32,
        /// Of these, those with a hit.
        hit_trials: u32,
        /// Of these, those in which another thread hit the same cache line too.
        shared_trials: u32,
        /// Hits in all trials.
        hits: u64,
        /// Lower quartile of the times between two hits of the thread in a trial; absent with fewer than two hits. Each
        /// includes what a trap costs, some microseconds to tens of microseconds.
        gap_ns: Option<u64>,
        /// Lower quartile of the times from another thread's hit in the same line to the next one of this thread.
        across_ns: Option<u64>,
    }
    /// What lies at an address of `accesses`, `spins` or `confirmations`.
    pub struct Variable in "variables" {
        /// The traced run.
        run: RunId,
        /// The address.
        address: u64,
        /// What kind of memory it is.
        region: Region,
        /// For a variable: the path of the program or library that has it.
        module: Option<String>,
        /// The variable's name, demangled.
        name: Option<String>,
        /// Distance of the address from the start of the variable, or of the object of `type_name`, bytes.
        offset: Option<u64>,
        /// The size of the variable, or of that object, bytes.
        size: Option<u64>,
        /// The member or element at that distance, as the source would name it (`[3].value`).
        member: Option<String>,
        /// For memory outside of variables: the type of the object there, where debug information says what a variable
        /// of the accessing code points to (`struct stats`); or that variable, if it does not point to a structure
        /// (`*count`).
        type_name: Option<String>,
    }
    /// Code made at run time, as read from the process when samples fell there: rows of `accesses`, `spins` and
    /// `confirmations` with an address in it were derived from these bytes.
    pub struct RuntimeBytes in "runtime_bytes" {
        /// The traced run.
        run: RunId,
        /// The process.
        pid: u32,
        /// Address of the first byte.
        address: u64,
        /// When these bytes were read first.
        first_ns: u64,
        /// When they were last seen to be the same.
        last_ns: u64,
        /// The bytes.
        bytes: Vec<u8>,
    }
}

/// Small, and read by value from [`crate::memory::slices::Slices`].
impl Copy for Slice {}

impl Wait {
    /// True for a wait at a pipe, which connects processes of one program.
    pub fn is_at_pipe(&self) -> bool {
        self.what.as_deref() == Some(PIPE)
    }
}

impl Loss {
    /// What was lost.
    pub fn kind(&self) -> LossKind {
        LossKind::named(&self.what)
    }
}
