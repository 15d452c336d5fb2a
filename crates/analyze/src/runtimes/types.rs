//! What runtimes tell about threads, stacks and functions.

/// A synchronisation primitive: what a function does to the thread that calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Primitive {
    /// Takes or releases a lock.
    Lock,
    /// Takes one of several things of a kind, or gives it back.
    Pool,
    /// Waits for or signals a condition or a channel, or waits for another thread to wake it.
    Condition,
    /// Waits until all threads have arrived.
    Barrier,
    /// Waits for a thread to end.
    Join,
    /// Waits for the clock.
    Sleep,
}

/// What tasks do with each other: each of these waits for its opposite, or lets it go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Exchange {
    /// Sends to a channel.
    Sends,
    /// Receives from a channel.
    Receives,
    /// Waits for a condition.
    Waits,
    /// Wakes one that waits for a condition.
    Wakes,
}

impl Exchange {
    /// What it waits for, or lets go on.
    pub fn opposite(self) -> Exchange {
        match self {
            Exchange::Sends => Exchange::Receives,
            Exchange::Receives => Exchange::Sends,
            Exchange::Waits => Exchange::Wakes,
            Exchange::Wakes => Exchange::Waits,
        }
    }
}

/// What a library is busy with.
///
/// Each is one cause although its time shows as locks, system calls, page faults and plain code, so the theme of a
/// stack comes before everything else in it. Where an allocator has no symbols, its time is booked to what the kernel
/// and the samples show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Theme {
    /// Allocating and freeing memory.
    Allocator,
    /// Finding memory that is no longer used: the garbage collector of a managed language.
    Collector,
    /// Compiling the program while it runs.
    Compiler,
    /// Creating and ending threads.
    Creation,
}

/// What a thread that a runtime starts for itself does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Service {
    /// Compiles the program while it runs.
    Compiler,
    /// Collects garbage.
    Collector,
    /// Anything else: executes operations, watches the clock, delivers signals.
    Other,
}

/// Why a thread sleeps, by what it did before, where a runtime schedules tasks (such as goroutines) on threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Parked {
    /// It runs no tasks: it watches the others, or has handed its right to run tasks to another thread.
    Spare,
    /// Its task ended.
    Ended,
    /// Its task waits for this.
    Waits(Primitive),
    /// The stack is that of a task itself, which waits for this.
    TaskWaits(Primitive),
    /// Its task sleeps.
    Sleeps,
    /// Its task waits for a file or a socket.
    Polls,
    /// Its task was preempted, and another thread took it.
    Preempted,
    /// Its task waited, but went on in another thread before this one slept.
    Moved,
    /// Not known.
    Unknown,
}

/// A function of a stack.
#[derive(Debug, Clone, Copy)]
pub struct Called<'a> {
    /// Its name; empty when it has none.
    pub name: &'a str,
    /// File name of its module.
    pub module: &'a str,
}

/// A stack in the form that runtimes examine.
#[derive(Debug, Clone, Copy)]
pub struct CallStack<'a> {
    /// Its functions, the innermost first.
    pub functions: &'a [Called<'a>],
    /// How many of them come before the program's first own function.
    pub library: usize,
    /// True when the program called from an address at which another stack, with names, takes a lock ([`takes_lock`]).
    pub at_lock_call: bool,
}

impl<'a> CallStack<'a> {
    /// The functions before the program's first own one, the innermost first.
    pub fn in_library(&self) -> &'a [Called<'a>] {
        self.functions.get(..self.library).unwrap_or(self.functions)
    }
}

/// A runtime's own lock, or a kind of lock that it provides for programs.
#[derive(Debug, PartialEq, Eq)]
pub struct RuntimeLock {
    /// What threads wait for: the end of a sentence.
    pub called: &'static str,
    /// True when the sentence should name the program's function that takes it.
    pub taken_by_program: bool,
    /// True where a process has only one of it, so that all places wait for the same one.
    pub only_one: bool,
    /// What to try.
    pub remedies: &'static [&'static str],
    /// What to try in a program that already divides its work among processes; empty for locks that each object has.
    pub beside_processes: &'static [&'static str],
    /// What would show that it is not the cause; `None` where that is as for any lock.
    pub disproved_by: Option<&'static str>,
}

/// A scheduler that runs tasks on threads.
#[derive(Debug, PartialEq, Eq)]
pub struct Scheduler {
    /// How the names of its functions start.
    pub(super) start: &'static str,
    /// What it is called, after "threads of".
    pub called: &'static str,
    /// What one of its tasks is called; several have an `s` more.
    pub task: &'static str,
    /// What tells what they wait for: a sentence without its stop.
    pub tells: &'static str,
    /// What tells for which locks they wait, likewise.
    pub tells_locks: &'static str,
}

/// What a runtime offers where its garbage collector takes the time.
#[derive(Debug, PartialEq, Eq)]
pub struct CollectorSettings {
    /// What lets it log its collections.
    pub log: &'static str,
    /// What lets the heap grow further between them; `None` where no setting does.
    pub heap: Option<&'static str>,
    /// Functions with which a program asks for a collection.
    pub(super) asked_by: &'static [&'static str],
    /// What makes such calls do nothing; `None` where no setting does.
    pub ignores_calls: Option<&'static str>,
}

/// Threads that a library keeps for work which programs hand in.
#[derive(Debug, PartialEq, Eq)]
pub struct WorkerPool {
    /// What it is called, after "the threads of".
    pub called: &'static str,
    /// What to try where its threads are busy all the time.
    pub remedies: &'static [&'static str],
}

/// What to try against the locks inside a family of library functions.
#[derive(Debug)]
pub(super) struct Advice {
    pub(super) functions: &'static [&'static str],
    pub(super) remedies: &'static [&'static str],
}

impl RuntimeLock {
    /// What to try. `processes`: the program already divides its work among processes.
    pub fn remedies(&self, processes: bool) -> Vec<String> {
        let list = if processes { self.beside_processes } else { self.remedies };
        list.iter().map(|r| (*r).to_owned()).collect()
    }
}
