//! What the account consists of: typed lines with seconds. No words, and no causes: the cause that claims a line says
//! what it is called (`causes`).

use crate::answer::Interval;
use crate::sharing::SharingKind;

/// What a blocked thread waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Why {
    /// A lock of the program or of its libraries.
    Lock,
    /// Anything inside the memory allocator.
    Allocator,
    /// Anything inside the creation or the end of a thread.
    Creation,
    /// One of a few things that other threads hold.
    Pool,
    /// A condition or a queue.
    Condition,
    /// The other threads.
    Barrier,
    /// A thread's end.
    Join,
    /// A futex of unknown purpose.
    Futex,
    /// The tasks of a scheduler that are left, which are fewer than processors: those that this thread could run have ended.
    Ended,
    /// The next task: a pool has fewer tasks left than threads.
    Task,
    /// The clock.
    Sleep,
    /// A file or a device.
    Io,
    /// A pipe, a socket, an event.
    Poll,
    /// In a server, at a socket or an event: the next request of the load.
    Request,
    /// In a server, at a socket or an event: the reply of a service that it asked.
    Reply,
    /// In a server whose requests are tasks: the clock, inside requests. Other requests could be under way meanwhile.
    Pause,
    /// A child process.
    Child,
    /// Anything, in a thread that hardly ever runs: it is no worker and could not use more processors.
    Helper,
    /// The clock, in a thread that hardly ever runs: it may bring others their work.
    Clock,
    /// A page.
    Fault,
    /// A lock inside the kernel.
    KernelLock,
    /// Another system call.
    Call,
    /// The recording does not say.
    Unknown,
}

impl Why {
    /// All of them.
    pub const ALL: [Why; 23] = [
        Why::Lock,
        Why::Allocator,
        Why::Creation,
        Why::Pool,
        Why::Condition,
        Why::Barrier,
        Why::Join,
        Why::Futex,
        Why::Ended,
        Why::Task,
        Why::Sleep,
        Why::Io,
        Why::Poll,
        Why::Request,
        Why::Reply,
        Why::Pause,
        Why::Child,
        Why::Helper,
        Why::Clock,
        Why::Fault,
        Why::KernelLock,
        Why::Call,
        Why::Unknown,
    ];
}

/// Idle capacity that no thread could have used, by the shape of the program at that instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shape {
    /// Before the first worker thread started.
    StartUp,
    /// After the last worker thread ended.
    Tail,
    /// Between two groups of worker threads.
    Between,
    /// Fewer threads than processors, and none of them has ended.
    TooFew,
    /// The same, and workers were there that got no work.
    NoShare,
    /// Some worker threads had ended, others had not.
    Finished,
    /// The program never had a second thread.
    OneThread,
}

impl Shape {
    /// All of them.
    pub const ALL: [Shape; 7] =
        [Shape::StartUp, Shape::Tail, Shape::Between, Shape::TooFew, Shape::NoShare, Shape::Finished, Shape::OneThread];
}

/// What the allocator was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Within {
    /// Its own code.
    Code,
    /// Its locks.
    Lock,
    /// A system call: asking the kernel for memory, or giving it back.
    Call,
    /// A page fault on memory that it touches.
    Fault,
}

impl Within {
    /// All of them.
    pub const ALL: [Within; 4] = [Within::Code, Within::Lock, Within::Call, Within::Fault];
}

/// What a line of the account is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LineId {
    /// On a processor, beyond what the baseline spends: code of locks, conditions, barriers, joins.
    Synchronising(Why),
    /// On a processor in the memory allocator.
    Allocator(Within),
    /// On a processor in the garbage collector.
    Collector,
    /// On a processor, compiling the program while it runs.
    Compiling,
    /// On a processor, creating or ending threads.
    Creation,
    /// On a processor, getting a lock inside the kernel.
    KernelLock,
    /// On a processor in page faults.
    Fault,
    /// On a processor in interrupts, or in a part of the kernel that cannot be told.
    Interrupt,
    /// On a processor, delayed at a cache line that threads share.
    Sharing(SharingKind),
    /// On a processor in a loop that waits.
    Spinning,
    /// On a processor in sched_yield.
    Yielding,
    /// On a processor in the system call with this number.
    Call(u32),
    /// The same, in calls that fail.
    FailingCall(u32),
    /// On a processor, in functions that the baseline runs too.
    SameFunctions,
    /// The same as a gain: these functions take less time than at the baseline.
    SameFunctionsLess,
    /// On a processor in functions that the baseline does not run.
    NewFunctions,
    /// Changes of all kinds that are each within their sampling error.
    Noise,
    /// Processor time of the baseline beyond its capacity, as a gain: more threads ran than were asked for, or the
    /// medians are of different runs. It is part of the useful work, and the capacity does not hold it.
    Beyond,
    /// Ready to run, and held back by the control group's quota.
    Throttled,
    /// Ready to run while other programs had the processor.
    OtherPrograms,
    /// Ready to run while the load of a server had the processor.
    LoadRan,
    /// What other programs took from the timed runs but not from the observed one.
    OtherProgramsTimed,
    /// Ready to run while threads of the kernel had the processor.
    KernelThreads,
    /// Ready to run, and there are more threads than processors.
    Crowded,
    /// Woken for a lock, not yet running.
    WokenForLock,
    /// Blocked for this reason, or woken from it and not yet running. Make it with [`LineId::blocked`]: some waits have
    /// other lines.
    Blocked(Why),
    /// Blocked for pages that a device has to bring.
    ReadingPages,
    /// No thread could have run, by the shape of the program.
    Shape(Shape),
    /// Threads waited while one thread ran code that never runs beside other code.
    OneAlone,
    /// One thread sets the pace: what the others do meanwhile, and no other evidence explains.
    Paced,
    /// No other thread could have run while one created or ended threads.
    Creating,
    /// What no evidence explains.
    Unexplained(Unexplained),
}

/// What no evidence explains, by what is known about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unexplained {
    /// Ready to run while a processor was free.
    Ready,
    /// Ready to run while knee had the processor.
    Observer,
    /// Threads whose state was not recorded.
    Unseen,
    /// Blocked for an unknown reason.
    Wait,
    /// Blocked in system calls of other kinds.
    Call,
    /// Blocked on a futex of unknown purpose.
    Futex,
    /// On a processor in futex calls of unknown purpose.
    FutexCode,
    /// On a processor, without a stack that tells where.
    NoStack,
    /// Processors idle in the timed runs but not in the observed one.
    IdleInTimedRuns,
    /// More threads on processors than the capacity counts.
    Surplus,
}

impl Unexplained {
    /// All of them.
    pub const ALL: [Unexplained; 10] = [
        Unexplained::Ready,
        Unexplained::Observer,
        Unexplained::Unseen,
        Unexplained::Wait,
        Unexplained::Call,
        Unexplained::Futex,
        Unexplained::FutexCode,
        Unexplained::NoStack,
        Unexplained::IdleInTimedRuns,
        Unexplained::Surplus,
    ];
}

impl LineId {
    /// True for time that other programs, a control group's quota, a runtime's compiler, a server's load or a service
    /// took: it is not the program's own loss.
    pub fn is_outside(self) -> bool {
        let load = matches!(self, LineId::LoadRan | LineId::Blocked(Why::Request | Why::Reply | Why::Pause));
        load || matches!(
            self,
            LineId::OtherPrograms | LineId::OtherProgramsTimed | LineId::Throttled | LineId::Compiling
        )
    }

    /// The line of a wait.
    pub fn blocked(why: Why) -> LineId {
        match why {
            Why::Futex => LineId::Unexplained(Unexplained::Futex),
            Why::Call => LineId::Unexplained(Unexplained::Call),
            Why::Join | Why::Child | Why::Helper | Why::Clock | Why::Unknown => LineId::Unexplained(Unexplained::Wait),
            explained => LineId::Blocked(explained),
        }
    }

    /// The line of code that synchronises threads.
    pub fn synchronising(why: Why) -> LineId {
        match why {
            Why::Futex => LineId::Unexplained(Unexplained::FutexCode),
            Why::Lock | Why::Condition | Why::Barrier | Why::Pool => LineId::Synchronising(why),
            _ => LineId::Synchronising(Why::Join),
        }
    }

    /// All of them, with one example number for system calls.
    pub fn all() -> impl Iterator<Item = LineId> {
        let single = [
            LineId::Collector,
            LineId::Compiling,
            LineId::Creation,
            LineId::KernelLock,
            LineId::Fault,
            LineId::Interrupt,
            LineId::Sharing(SharingKind::False),
            LineId::Sharing(SharingKind::True),
            LineId::Spinning,
            LineId::Yielding,
            LineId::Call(0),
            LineId::FailingCall(0),
            LineId::SameFunctions,
            LineId::SameFunctionsLess,
            LineId::NewFunctions,
            LineId::Noise,
            LineId::Beyond,
            LineId::Throttled,
            LineId::OtherPrograms,
            LineId::LoadRan,
            LineId::OtherProgramsTimed,
            LineId::KernelThreads,
            LineId::Crowded,
            LineId::WokenForLock,
            LineId::ReadingPages,
            LineId::OneAlone,
            LineId::Paced,
            LineId::Creating,
        ];
        let waits = Why::ALL.into_iter().flat_map(|why| [LineId::blocked(why), LineId::synchronising(why)]);
        let all = single.into_iter().chain(waits);
        let all = all.chain(Within::ALL.map(LineId::Allocator)).chain(Shape::ALL.map(LineId::Shape));
        let all = all.chain(Unexplained::ALL.map(LineId::Unexplained));
        all.collect::<std::collections::BTreeSet<LineId>>().into_iter()
    }
}

/// One line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Booked {
    /// What it is about.
    pub id: LineId,
    /// Processor-seconds per unit of work; a negative line is a gain.
    pub seconds: f64,
    /// Its standard error from sampling; 0 if measured exactly.
    pub sampling_error: f64,
}

/// Where the processors' time went at one thread count: `useful` + all lines + `unexplained` = `capacity`. All in
/// processor-seconds per unit of work.
#[derive(Debug, Clone, PartialEq)]
pub struct Balance {
    /// The thread count.
    pub threads: u32,
    /// What the program could have used: min(threads, processors) × time.
    pub capacity: f64,
    /// What the work takes: the processor time of the baseline, and what the work waits for there too.
    pub useful: f64,
    /// The part of the loss that no evidence explains. Negative when the parts found exceed the loss.
    pub unexplained: f64,
    /// Wall time (per unit of work) of the traced run over the clean median.
    pub traced_over_clean: f64,
    /// 95 % interval of the loss (capacity − useful), from the clean runs.
    pub loss_interval: Interval,
    /// The lines that evidence explains, largest first.
    pub lines: Vec<Booked>,
}
