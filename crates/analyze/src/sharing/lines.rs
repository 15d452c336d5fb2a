//! The accesses of a run, by cache line: which thread uses which bytes.

use recording::tables::{Access, AccessKind, Confirmation};
use recording::{RunId, Tables, ThreadId};
use std::collections::BTreeMap;

/// Bytes of a cache line.
///
/// Decides: which accesses are to the same line.
/// From: the cache line of x86-64, and of most processors of AArch64.
/// Shown by: `different_bytes_of_one_line_are_false_sharing_with_their_names`.
/// Wrong if: a processor fetches lines in pairs: threads that use neighbouring lines slow each other down, and that is
/// not seen.
pub const LINE: u64 = 64;

/// How two threads share a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SharingKind {
    /// They use different parts of it.
    False,
    /// They use the same part.
    True,
}

/// True for a sample at an access or at the instruction after it: most samples of a stalled access are at the latter.
pub(crate) fn is_near(distance: i32) -> bool {
    (-1..=0).contains(&distance)
}

/// Each of two threads must have hit the line in at least this many trials in which another thread hit it as well. A
/// trial takes 600 µs; a thread that uses the line just once hits it in one.
///
/// Decides: whether two threads are reported to use a line at the same time.
/// From: measured: with prototypes, 120 runs of programs without sharing never reached it.
/// Shown by: `without_proof_by_breakpoints_sharing_stays_unsure`, `bench/sharing`.
/// Wrong if: two threads happen to use a line at the same time now and then, in three of forty trials.
const TRIALS: u32 = 3;

/// If the lower quartile of the time between writes is above this, in nanoseconds, the line moves too seldom to matter.
///
/// Decides: whether a line is written often enough to be reported.
/// From: chosen: a transfer of a line takes less than half a microsecond, a hundredth of this limit.
/// Shown by: `without_proof_by_breakpoints_sharing_stays_unsure`, `bench/sharing`.
/// Wrong if: threads share a hundred lines, each written less often than that: together they are expensive, but none is
/// reported.
const RARE_NS: u64 = 50_000;

/// If the lower quartile of the time between accesses of different threads is above this, in nanoseconds, one thread
/// hands the line on to the other.
///
/// Decides: whether threads share a line, or one hands it on to the other.
/// From: measured: a trap takes up to 30 µs in a virtual machine, and is included in these times.
/// Shown by: `without_proof_by_breakpoints_sharing_stays_unsure`, `bench/sharing`.
/// Wrong if: a trap takes more than 30 µs: threads that share a line then seem to hand it on.
const APART_NS: u64 = 30_000;

/// A thread uses a place in a line when at least this many samples show it, and at least [`SHARE`] of the line's
/// samples.
///
/// Decides: which threads are reported as sharing a line.
/// From: chosen: leaves out a thread that only writes the initial values.
/// Shown by: `a_thread_that_fills_in_first_values_is_not_among_those_who_share`, with two samples.
/// Wrong if: a run is so short that a thread which shares a line has only two samples there.
pub(super) const FEWEST: usize = 3;
/// Decides: which threads are reported as sharing a line: those with at least this share of the line's samples at one
/// place in it.
/// From: chosen: leaves out a thread that only writes the initial values.
/// Shown by: `a_thread_that_fills_in_first_values_is_not_among_those_who_share`, with two samples.
/// Wrong if: more than a hundred threads share a line evenly: none of them has a hundredth of its samples.
const SHARE: f64 = 0.01;

/// If at least this share of a thread's accesses to a line are to bytes that others use too, the thread would still
/// wait for the line with everything else moved out of it.
///
/// Decides: whether sharing is reported as true sharing (of the same bytes) or false sharing (of different ones).
/// From: chosen: whichever access comes first pays.
/// Shown by: `what_a_thread_uses_beside_a_variable_that_all_write_is_not_to_blame`.
/// Wrong if: a thread adds to a common sum after every eight updates of its own counter beside it: moving the counter
/// would help most, but true sharing is reported.
const MIXED: f64 = 0.1;

/// What one thread does with some bytes of a line.
#[derive(Debug)]
pub struct Use<'t> {
    /// The thread.
    pub thread: ThreadId,
    /// First byte, from the start of the line.
    pub offset: u64,
    /// Bytes.
    pub width: u64,
    /// True if the thread writes them.
    pub writes: bool,
    /// True if another thread uses some of the same bytes and one of the two writes.
    pub overlaps: bool,
    /// The kind of sharing to which its time there is due.
    pub kind: SharingKind,
    /// The accesses.
    pub rows: Vec<&'t Access>,
}

impl Use<'_> {
    /// Samples that were taken at or just after the access.
    pub fn samples(&self) -> usize {
        self.rows.iter().filter(|row| is_near(row.distance)).count()
    }
}

/// A cache line that several threads use.
#[derive(Debug)]
pub struct SharedLine<'t> {
    /// The run.
    pub run: RunId,
    /// The address of its first byte.
    pub address: u64,
    /// Which threads use which bytes.
    pub uses: Vec<Use<'t>>,
    /// What breakpoints saw there.
    pub trials: Vec<&'t Confirmation>,
    /// Whether breakpoints proved that threads use it at the same time; else what is missing.
    pub confirmed: Result<(), Unconfirmed>,
}

impl SharedLine<'_> {
    /// Samples that were taken at or just after accesses of one kind.
    pub fn samples(&self, kind: SharingKind) -> usize {
        self.uses.iter().filter(|used| used.kind == kind).map(Use::samples).sum()
    }
}

/// Thread, offset, width.
type AccessKey = (ThreadId, u64, u64);

/// All lines that different threads use, at least one of them writing.
pub(super) fn lines<'t>(tables: &'t Tables, process: &dyn Fn(RunId, ThreadId) -> u32) -> Vec<SharedLine<'t>> {
    let mut by_line: BTreeMap<(RunId, u32, u64), BTreeMap<AccessKey, Vec<&Access>>> = BTreeMap::new();
    for row in &tables.accesses {
        let line = by_line.entry((row.run, process(row.run, row.thread), row.address / LINE)).or_default();
        let offset = row.address % LINE;
        let width = u64::from(row.width).clamp(1, LINE - offset);
        line.entry((row.thread, offset, width)).or_default().push(row);
    }
    let mut trials: BTreeMap<(RunId, u32, u64), Vec<&Confirmation>> = BTreeMap::new();
    for row in &tables.confirmations {
        trials.entry((row.run, process(row.run, row.thread), row.address / LINE)).or_default().push(row);
    }
    let mut lines = Vec::new();
    for (key, places) in by_line {
        let all: usize = places.values().map(Vec::len).sum();
        let often = |rows: &Vec<&Access>| rows.len() >= FEWEST && rows.len() as f64 >= SHARE * all as f64;
        let uses: Vec<Use> = places
            .into_iter()
            .filter(|(_, rows)| often(rows))
            .map(|((thread, offset, width), rows)| Use {
                thread,
                offset,
                width,
                writes: rows.iter().any(|row| writes(row.kind)),
                overlaps: false,
                kind: SharingKind::False,
                rows,
            })
            .collect();
        let Some(uses) = shared(uses) else { continue };
        let trials = trials.remove(&key).unwrap_or_default();
        let confirmed = confirmed(&trials);
        lines.push(SharedLine { run: key.0, address: key.2 * LINE, uses, trials, confirmed });
    }
    lines
}

fn writes(kind: AccessKind) -> bool {
    matches!(kind, AccessKind::Store | AccessKind::Update | AccessKind::Atomic)
}

/// The uses that share, each with its kind; `None` when there are none.
fn shared(uses: Vec<Use<'_>>) -> Option<Vec<Use<'_>>> {
    /// What the other uses of a line need to know about one use.
    #[derive(Clone, Copy)]
    struct Seen {
        thread: ThreadId,
        from: u64,
        to: u64,
        writes: bool,
    }
    let seen =
        |u: &Use<'_>| Seen { thread: u.thread, from: u.offset, to: u.offset.saturating_add(u.width), writes: u.writes };
    let all: Vec<Seen> = uses.iter().map(seen).collect();
    let mut shared: Vec<Use> = uses
        .into_iter()
        .filter_map(|mut used| {
            // A thread that writes anywhere in the line loses it to any thread that reads it, and then waits at all its
            // uses of the line.
            let writer = all.iter().any(|own| own.thread == used.thread && own.writes);
            let others: Vec<&Seen> = all.iter().filter(|other| other.thread != used.thread).collect();
            let loses = others.iter().any(|other| other.writes || writer);
            let own = seen(&used);
            let meets = |other: &&Seen| (other.writes || own.writes) && other.from < own.to && own.from < other.to;
            used.overlaps = others.iter().any(meets);
            loses.then_some(used)
        })
        .collect();
    // For each thread: accesses to bytes that others use too, and all accesses.
    let mut threads: BTreeMap<ThreadId, (usize, usize)> = BTreeMap::new();
    for used in &shared {
        let rows = threads.entry(used.thread).or_default();
        rows.0 += if used.overlaps { used.rows.len() } else { 0 };
        rows.1 += used.rows.len();
    }
    for used in &mut shared {
        let (same, all) = threads.get(&used.thread).copied().unwrap_or_default();
        used.kind = if same as f64 >= MIXED * all as f64 { SharingKind::True } else { SharingKind::False };
    }
    (!shared.is_empty()).then_some(shared)
}

/// Why it is not proven that threads share a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unconfirmed {
    /// No breakpoint was set on it.
    NotTried,
    /// In so many trials no two threads were seen there at the same time often enough.
    NotTogether {
        /// Trials.
        trials: u32,
    },
    /// It is written rarely.
    WrittenRarely,
    /// One thread hands it on to the other.
    HandedOn,
}

/// Whether breakpoints proved that threads share the line; else what is missing.
fn confirmed(trials: &[&Confirmation]) -> Result<(), Unconfirmed> {
    let tried = trials.iter().map(|row| row.trials).max().unwrap_or(0);
    if tried == 0 {
        return Err(Unconfirmed::NotTried);
    }
    let together: Vec<&&Confirmation> = trials.iter().filter(|row| row.shared_trials >= TRIALS).collect();
    let mut threads: Vec<ThreadId> = together.iter().map(|row| row.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    if threads.len() < 2 {
        return Err(Unconfirmed::NotTogether { trials: tried });
    }
    let close = |time: Option<u64>, limit: u64| time.is_some_and(|time| time <= limit);
    if !together.iter().any(|row| row.writes && close(row.gap_ns, RARE_NS)) {
        return Err(Unconfirmed::WrittenRarely);
    }
    if !together.iter().any(|row| close(row.across_ns, APART_NS)) {
        return Err(Unconfirmed::HandedOn);
    }
    Ok(())
}
