//! Causes that the account can book a loss to, or whose absence it can show, but whose proof is not built yet.
//!
//! They are clear when the account measures that they cost next to nothing, else unsure, never found. Each moves to a
//! file of its own when its proof is built. May import: `facts`, `account`.

use super::{Description, NOT_TRACED, Outcome};
use crate::account::Ledger;
use crate::account::growth::{NEW_FUNCTIONS, SAME_FUNCTIONS};
use crate::account::profile::Doing;
use crate::answer::CauseId;
use crate::facts::{Facts, MIN_SHARE, large};
use crate::statistics::NORMAL_95;

/// What a cause can be judged by today.
enum By {
    /// Lines of the account carry it.
    Lines,
    /// It makes functions in user space take more time: no growth, no such cause.
    Growth,
    /// It takes kernel time, and nothing else about it is collected.
    Missing(&'static str),
}

macro_rules! not_yet {
    ($($id:ident: $title:literal, $what:literal, $why:literal, $example:literal, $disproved_by:literal;)*) => {
        /// The causes.
        pub const DESCRIPTIONS: &[Description] = &[$(Description {
            id: CauseId::$id,
            title: $title,
            what: $what,
            why: $why,
            example: $example,
            disproved_by: $disproved_by,
            detect,
        }),*];
    };
}

not_yet! {
    ConditionWait: "Waiting for work",
        "Threads wait until another thread hands them work or tells them to go on.",
        "A stage that is too slow, or a single producer, keeps the others idle.",
        "One thread reads and parses, four decode, and the reader cannot keep up.",
        "Make the busy stage faster, for example by giving it prepared input: if the time does not fall, it is not the cause.";
    SpinWait: "Waiting in a loop",
        "Threads wait by reading a variable again and again.",
        "It looks like work, uses a processor, and slows the thread that is waited for.",
        "A worker loops until the row above it is finished.",
        "Let the waiting threads sleep: if the CPU time does not fall, they were not spinning.";
    KernelLock: "A lock inside the kernel",
        "Threads wait for a lock that the kernel takes on their behalf.",
        "System calls and page faults of one process run one after another.",
        "Threads that map and unmap memory wait for the process's memory-map lock.",
        "Avoid the system calls or faults that take the lock: if the time does not fall, it is not the cause.";
    PageFault: "Page faults",
        "Time goes to bringing in, clearing or copying pages of memory.",
        "Each first touch of a page enters the kernel.",
        "Every thread allocates and frees large buffers again and again.",
        "Touch the memory before the measured part: if the time does not fall, faults are not the cause.";
    ThreadCreation: "Creating threads",
        "Time goes to creating and ending threads.",
        "A thread needs a stack, kernel memory, and locks of the whole process.",
        "A new thread for each small task.",
        "Reuse threads: if the time does not fall, their creation is not the cause.";
    FailingSyscall: "System calls that fail",
        "A path that fails first is tried every time.",
        "The failing call is paid for each time and brings nothing.",
        "mmap with a flag that cannot be met, followed by one without it.",
        "Skip the failing call: if the time does not fall, it is not the cause.";
    Allocator: "The memory allocator",
        "Time goes to allocating and freeing memory.",
        "Allocators share state between threads: locks, lists, and memory given back to the kernel.",
        "Every element of a list is allocated by itself.",
        "Preallocate: if the time does not fall, the allocator is not the cause.";
    FalseSharing: "False sharing",
        "Threads write to different variables that lie in one cache line.",
        "The line moves between processors with every write.",
        "An array of counters, one a thread, without padding.",
        "Pad the variables to lines of their own: if the time does not fall, they were not shared.";
    TrueSharing: "A variable that all threads write",
        "Threads write to one variable all the time.",
        "Its cache line moves between processors with every write.",
        "One atomic counter for all threads.",
        "Count per thread and add up at the end: if the time does not fall, the variable is not the cause.";
    IoWait: "Input and output",
        "Threads wait for files, devices, pipes or sockets.",
        "The device or the other side sets the pace.",
        "Reading a cold file.",
        "Serve the data from memory: if the time does not fall, input and output are not the cause.";
    CpuQuota: "A quota of processor time",
        "The control group stops the program when its share of a period is used up.",
        "All its threads stand still until the next period.",
        "A container with a limit of one processor that runs eight threads.",
        "Raise the limit: if the time does not fall, it is not the cause.";
    MemoryBound: "Memory bandwidth or cache",
        "The same code takes more time because the threads share caches, memory or a core.",
        "What one core does not wait for alone it waits for beside others.",
        "All threads sum up large arrays.",
        "Run the same threads on cores that share less: if the time does not fall, sharing is not the cause.";
    ExtraWork: "More work",
        "A unit of work needs more instructions, calls or kernel time with more threads.",
        "Work is repeated, coordinated or merged for each thread.",
        "Each thread builds its own copy of a table.",
        "Compare the number of instructions per unit of work: if it does not grow, there is no extra work.";
}

fn by(id: CauseId) -> By {
    match id {
        CauseId::SpinWait
        | CauseId::Allocator
        | CauseId::FalseSharing
        | CauseId::TrueSharing
        | CauseId::MemoryBound => By::Growth,
        CauseId::FailingSyscall => By::Missing("the results of system calls are not collected yet"),
        CauseId::CpuQuota => By::Missing("the control group's throttled time is not collected yet"),
        _ => By::Lines,
    }
}

fn detect(facts: &Facts<'_, '_>, description: &Description) -> Outcome {
    if facts.ledgers.is_empty() {
        return Outcome::Unsure(NOT_TRACED.to_owned());
    }
    if !facts.any_loss() {
        return Outcome::Clear("no traced count loses enough to look for a cause".to_owned());
    }
    let growth = facts.ledgers.iter().filter(|l| l.loss > 0.0).find(|l| large(l, growth(l)));
    match (by(description.id), booked(facts, description.id)) {
        (By::Missing(missing), _) => Outcome::Unsure(missing.to_owned()),
        (_, Some(booked)) => booked,
        (By::Growth, None) => match growth {
            Some(ledger) => Outcome::Unsure(grown(facts, ledger)),
            None => Outcome::Clear(format!("user-space code does not take {} more time", at_least())),
        },
        (By::Lines, None) => Outcome::Clear(format!("the account books less than {} to it", at_least())),
    }
}

fn at_least() -> String {
    format!("{:.0} % of the capacity", MIN_SHARE * 100.0)
}

/// What the account books to a cause, when it is noticeable at some count.
fn booked(facts: &Facts<'_, '_>, id: CauseId) -> Option<Outcome> {
    let noticeable = |l: &&Ledger| {
        let (seconds, error) = l.charged(id);
        large(l, seconds) && seconds > NORMAL_95 * error
    };
    let ledger = facts.in_order().into_iter().find(noticeable)?;
    let (seconds, _) = ledger.charged(id);
    let largest = ledger.account.lines.iter().find(|l| l.cause == id).map_or("", |l| l.what.as_str());
    Some(Outcome::Unsure(format!(
        "the account books {seconds:.3} s at {} threads to it ({largest}), but the proof is not built yet",
        ledger.account.threads
    )))
}

/// Seconds per unit of work that user-space functions take beyond the smallest count.
fn growth(ledger: &Ledger<'_, '_>) -> f64 {
    let functions = |what: &str| what == SAME_FUNCTIONS || what == NEW_FUNCTIONS;
    let lines = ledger.account.lines.iter().filter(|l| functions(&l.what));
    lines.map(|l| l.seconds).sum::<f64>() + ledger.account.unexplained.max(0.0)
}

fn grown(facts: &Facts<'_, '_>, ledger: &Ledger<'_, '_>) -> String {
    let most = ledger.grown.iter().find_map(|(doing, seconds)| match doing {
        Doing::Function(Some(name), _) if *seconds > 0.0 => Some(format!(", most in {name}")),
        _ => None,
    });
    let cores = facts.model.tables.meta.machine.usable_cores;
    let siblings = match cores < facts.processors {
        true => "; the processors are hardware threads that share cores, which alone may explain it",
        false => "",
    };
    format!(
        "user-space code takes {:.3} s more at {} threads{}{siblings}; what would tell sharing, spinning, memory and \
         extra work apart is not collected yet",
        growth(ledger),
        ledger.account.threads,
        most.unwrap_or_default()
    )
}
