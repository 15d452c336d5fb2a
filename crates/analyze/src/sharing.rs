//! What the samples show about memory that threads share: cache lines that several threads use at the same time, and
//! loops in which threads wait.
//!
//! A line or a loop counts only when breakpoints showed which threads really touch the memory. Rooms: `lines` groups
//! the accesses of a run by cache line; `alike` lines that are like one that was tried; `lock_words` what belongs to locks.

mod alike;
mod lines;
mod lock_words;

use crate::model::stacks::Stacks;
use recording::tables::{Access, Confirmation, ModuleKind, Sample, Spin, Variable};
use recording::words::CapabilityKind;
use recording::{FrameId, RunId, StackId, Tables, ThreadId};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

pub(crate) use lines::is_near;
pub use lines::{LINE, SharedLine, SharingKind, Unconfirmed, Use};

/// What a sample shows about shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SharedMemoryWait {
    /// It waits in a loop.
    Waiting,
    /// It is delayed at an instruction that uses a shared line.
    At(SharingKind),
    /// It is at an instruction that uses a lock's word.
    AtLock,
}

/// A loop that waits, with all samples of a run in it.
#[derive(Debug)]
pub struct Waiting<'t> {
    /// The run.
    pub run: RunId,
    /// The instruction that reads.
    pub frame: FrameId,
    /// The addresses that it reads, where known.
    pub addresses: BTreeSet<u64>,
    /// Its samples by thread and stack.
    pub rows: Vec<&'t Spin>,
    /// Which threads write what it reads, as breakpoints saw it; the loop is confirmed if this is not empty.
    pub writers: Vec<&'t Confirmation>,
}

impl Waiting<'_> {
    /// CPU samples in the loop.
    pub fn samples(&self) -> u64 {
        self.rows.iter().fold(0, |sum, row| sum.saturating_add(row.samples))
    }

    /// Threads that wait in it.
    pub fn threads(&self) -> BTreeSet<ThreadId> {
        self.rows.iter().map(|row| row.thread).collect()
    }
}

/// Everything known about shared memory.
#[derive(Debug)]
pub struct Sharing<'t> {
    /// Whether the machine could observe it at all.
    pub observed: bool,
    /// Cache lines that several threads use, of all runs.
    pub lines: Vec<SharedLine<'t>>,
    /// Loops that wait, of all runs.
    pub loops: Vec<Waiting<'t>>,
    /// Instructions most of whose samples wait for a confirmed line, or use a lock's word.
    held: HashMap<FrameId, SharedMemoryWait>,
    /// Call stacks inside a confirmed loop.
    waiting: HashSet<StackId>,
    variables: HashMap<(RunId, u64), &'t Variable>,
}

/// The name of the variable at an address of a run, where known.
pub fn variable_at(tables: &Tables, run: RunId, address: u64) -> Option<&str> {
    let holds = |row: &&Variable| {
        let start = row.address.checked_sub(row.offset.unwrap_or(0));
        start.zip(row.size).is_some_and(|(start, size)| (start..start.saturating_add(size)).contains(&address))
    };
    let mut named = tables.variables.iter().filter(|row| row.run == run && row.name.is_some());
    named.find(holds).and_then(|row| row.name.as_deref())
}

/// A sampled instruction waits for a shared cache line when at least this share of its samples in the run show that.
///
/// Decides: whether the time of an instruction, or of a function that is made at run time, is booked to sharing.
/// From: chosen: with less, the time of its other work would be booked to the line.
/// Shown by: `nameless_code_stands_for_that_of_another_run_only_where_all_runs_show_it`.
/// Wrong if: one instruction updates all counters of a table in turn, and a third of them are shared: that cost is not
/// reported.
const MOSTLY: f64 = 0.5;

impl<'t> Sharing<'t> {
    /// Groups the rows of the tables.
    pub fn new(tables: &'t Tables, stacks: &Stacks<'t>) -> Sharing<'t> {
        let processes: HashMap<(RunId, ThreadId), u32> =
            tables.threads.iter().map(|row| ((row.run, row.thread), row.pid)).collect();
        let process = |run: RunId, thread: ThreadId| processes.get(&(run, thread)).copied().unwrap_or(0);
        let mut lines = lines::lines(tables, &process);
        alike::confirm_alike(&mut lines);
        let of_locks = lock_words::taken(tables, stacks, &process, &mut lines);
        let loops = loops(tables, &process);
        let confirmed = loops.iter().filter(|one| !one.writers.is_empty());
        let waiting: HashSet<StackId> =
            confirmed.flat_map(|one| one.rows.iter().filter_map(|row| row.user_stack)).collect();
        let capable = |kind| tables.meta.capabilities.iter().any(|c| c.kind() == kind && c.available);
        Sharing {
            observed: capable(CapabilityKind::SharedMemory) && capable(CapabilityKind::Bpf),
            held: held(tables, stacks, &lines, &of_locks),
            lines,
            loops,
            waiting,
            variables: tables.variables.iter().map(|row| ((row.run, row.address), row)).collect(),
        }
    }

    /// What a sample with this stack shows.
    pub fn held(&self, stacks: &Stacks<'_>, stack: Option<StackId>) -> Option<SharedMemoryWait> {
        let stack = stack?;
        if self.waiting.contains(&stack) {
            return Some(SharedMemoryWait::Waiting);
        }
        self.held.get(&stacks.innermost(stack)?).copied()
    }

    /// The variable at an address of a run.
    pub fn variable(&self, run: RunId, address: u64) -> Option<&'t Variable> {
        self.variables.get(&(run, address)).copied()
    }
}

/// Samples of an instruction: delayed by false sharing, by true sharing, at a lock's word, and others.
type Counts = [u64; 4];

/// Those that are delayed, or at a lock's word.
fn delayed([falsely, truly, at_lock, _]: Counts) -> u64 {
    falsely + truly + at_lock
}

fn mostly(counts: Counts) -> bool {
    delayed(counts) as f64 >= MOSTLY * counts.iter().sum::<u64>() as f64
}

/// What most of the delayed samples show.
fn kind_of([falsely, truly, at_lock, _]: Counts) -> SharedMemoryWait {
    match () {
        () if at_lock > falsely.max(truly) => SharedMemoryWait::AtLock,
        () if truly > falsely => SharedMemoryWait::At(SharingKind::True),
        () => SharedMemoryWait::At(SharingKind::False),
    }
}

/// Instructions whose samples mostly wait for a confirmed line, or use a lock's word.
fn held(
    tables: &Tables,
    stacks: &Stacks<'_>,
    lines: &[SharedLine<'_>],
    of_locks: &[&Access],
) -> HashMap<FrameId, SharedMemoryWait> {
    let mut at: HashMap<(RunId, ThreadId, u64), SharedMemoryWait> = HashMap::new();
    for line in lines.iter().filter(|line| line.confirmed.is_ok()) {
        for used in &line.uses {
            for access in used.rows.iter().filter(|access| is_near(access.distance)) {
                // A sample next to accesses of both kinds counts as true sharing, which certainly delays it.
                let shown = SharedMemoryWait::At(used.kind);
                let kind = at.entry((access.run, access.thread, access.time_ns)).or_insert(shown);
                *kind = (*kind).max(shown);
            }
        }
    }
    for access in of_locks.iter().filter(|access| is_near(access.distance)) {
        at.insert((access.run, access.thread, access.time_ns), SharedMemoryWait::AtLock);
    }
    if at.is_empty() {
        return HashMap::new();
    }
    let runs: BTreeSet<RunId> = at.keys().map(|key| key.0).collect();
    let mut counts: HashMap<(RunId, FrameId), Counts> = HashMap::new();
    for sample in tables.samples.iter().filter(|sample| runs.contains(&sample.run)) {
        let Some(frame) = sample.user_stack.and_then(|stack| stacks.innermost(stack)) else { continue };
        let count = counts.entry((sample.run, frame)).or_default();
        count[match at.get(&key_of(sample)) {
            Some(SharedMemoryWait::At(SharingKind::False)) => 0,
            Some(SharedMemoryWait::At(SharingKind::True)) => 1,
            Some(SharedMemoryWait::AtLock) => 2,
            Some(SharedMemoryWait::Waiting) | None => 3,
        }] += 1;
    }
    let mut kinds: HashMap<FrameId, Counts> = HashMap::new();
    let made = made_at_run_time(tables, stacks, &counts);
    for ((_, frame), count) in counts {
        if mostly(count) {
            let kind = kinds.entry(frame).or_default();
            (0..3).for_each(|nth| kind[nth] += count[nth]);
        }
    }
    let mut held: HashMap<FrameId, SharedMemoryWait> =
        kinds.into_iter().map(|(frame, kind)| (frame, kind_of(kind))).collect();
    for (frame, kind) in made {
        held.entry(frame).or_insert_with(|| kind_of(kind));
    }
    held
}

/// Code made at run time has other addresses in each run. So in runs that show no sharing it is matched by function: if
/// most of a function's samples are delayed in runs that show sharing, its frames in the other runs count too. Returns
/// these frames, with the function's samples.
fn made_at_run_time(
    tables: &Tables,
    stacks: &Stacks<'_>,
    counts: &HashMap<(RunId, FrameId), Counts>,
) -> Vec<(FrameId, Counts)> {
    let function = |frame: FrameId| {
        let code = stacks.code(frame).last()?;
        (code.kind == ModuleKind::Anonymous).then(|| (code.module, code.name()))
    };
    let mut in_runs: HashMap<_, HashMap<RunId, Counts>> = HashMap::new();
    for ((run, frame), count) in counts {
        if let Some(function) = function(*frame) {
            let sum = in_runs.entry(function).or_default().entry(*run).or_default();
            (0..count.len()).for_each(|nth| sum[nth] += count[nth]);
        }
    }
    // This must hold in each run that shows sharing: all code without names counts as one function, and only a part may
    // be delayed.
    in_runs.retain(|_, runs| runs.values().all(|counts| mostly(*counts)));
    let sum = |runs: HashMap<RunId, Counts>| {
        runs.into_values().fold([0; 4], |sum: Counts, count| [0, 1, 2, 3].map(|nth| sum[nth] + count[nth]))
    };
    let functions: HashMap<_, Counts> = in_runs.into_iter().map(|(function, runs)| (function, sum(runs))).collect();
    if functions.is_empty() {
        return Vec::new();
    }
    let seen: HashSet<FrameId> = counts.keys().map(|(_, frame)| *frame).collect();
    let frames: HashSet<FrameId> = tables.samples.iter().filter_map(|s| stacks.innermost(s.user_stack?)).collect();
    let elsewhere = frames.into_iter().filter(|frame| !seen.contains(frame));
    elsewhere.filter_map(|frame| functions.get(&function(frame)?).map(|counts| (frame, *counts))).collect()
}

fn key_of(sample: &Sample) -> (RunId, ThreadId, u64) {
    (sample.run, sample.thread, sample.time_ns)
}

/// Loops by run and reading instruction, with the writers of what they read.
fn loops<'t>(tables: &'t Tables, process: &dyn Fn(RunId, ThreadId) -> u32) -> Vec<Waiting<'t>> {
    let mut loops: BTreeMap<(RunId, FrameId), Waiting<'t>> = BTreeMap::new();
    for row in &tables.spins {
        let one = loops.entry((row.run, row.frame)).or_insert_with(|| Waiting {
            run: row.run,
            frame: row.frame,
            addresses: BTreeSet::new(),
            rows: Vec::new(),
            writers: Vec::new(),
        });
        one.addresses.extend(row.address);
        one.rows.push(row);
    }
    // A breakpoint watches up to eight bytes, aligned to their number.
    let word = |address: u64| address / 8;
    let mut written: HashMap<(RunId, u32, u64), Vec<&Confirmation>> = HashMap::new();
    for row in tables.confirmations.iter().filter(|row| row.writes && row.hits > 0) {
        written.entry((row.run, process(row.run, row.thread), word(row.address))).or_default().push(row);
    }
    for one in loops.values_mut() {
        let mut seen: BTreeSet<(ThreadId, u64)> = BTreeSet::new();
        for row in &one.rows {
            let Some(address) = row.address else { continue };
            let writers = written.get(&(row.run, process(row.run, row.thread), word(address)));
            // What only the waiting thread writes is not what it waits for.
            let others = writers.into_iter().flatten().filter(|writer| writer.thread != row.thread);
            one.writers.extend(others.filter(|writer| seen.insert((writer.thread, writer.address))));
        }
        one.writers.sort_by_key(|row| (std::cmp::Reverse(row.hits), row.thread, row.address));
    }
    loops.into_values().collect()
}
