//! What threads do to each other's memory: which cache lines several of them touch, and which loops wait for a write.
//!
//! Every CPU sample in user space comes with all registers and some bytes of the stack. The code around the sampled
//! instruction gives the addresses of the memory accesses there (`resolve::decode`), which are gathered by cache line
//! (`lines`) and by loop (`spins`), within a budget (`effort`). Hardware breakpoints (`confirm` on `watch`) then show
//! whether, and how often, several threads really touch a suspected line at the same time. At the end, all of it
//! becomes rows, with the variables at these addresses (`variables`).
//!
//! May import: `patience`, `procfs`, `recording`, `resolve`, libc.

mod confirm;
mod effort;
mod input;
mod lines;
mod memory;
mod runtime;
mod snapshots;
mod spins;
mod variables;
mod watch;

use recording::tables::{Access, AccessKind, AddressCertainty, Confirmation, Loss, RuntimeBytes, Spin, Variable};
use recording::{FrameId, RunId, ThreadId};
use resolve::decode::replay::StackBytes;
use resolve::decode::{self, Certainty, CodeGraph, CodeReader, Registers, Replay, SampledAccess};
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::procfs::monotonic_ns;
pub(crate) use confirm::Threads;
use confirm::{Confirm, Seen};
use effort::Effort;
pub(crate) use input::{ImageCode, NamedVariable, Sampled};
use lines::{Lines, Row};
use memory::Memory;
use runtime::Runtime;
pub(crate) use snapshots::Snapshot;
use snapshots::Snapshots;
use spins::Tallies;

/// With more processes than this, the memory of earlier ones is closed: open memory takes a file descriptor, and a
/// program may make thousands of processes. It is opened again when needed.
const OPEN_MEMORIES: usize = 64;

/// Why sharing cannot be seen or proven.
#[derive(Debug)]
pub(crate) enum Unavailable {
    /// The code of this machine's programs is not read.
    Architecture,
    /// Hardware breakpoints cannot be set.
    Breakpoints(std::io::Error),
}

/// Whether sharing can be seen and proven on this machine.
pub(crate) fn available() -> Result<(), Unavailable> {
    if !SharingSampler::can_decode() {
        return Err(Unavailable::Architecture);
    }
    let here = 0_u64;
    watch::Watch::open(0, (&raw const here).addr() as u64, 8, true, 1).map(drop).map_err(Unavailable::Breakpoints)
}

/// The rows of a run.
#[derive(Debug, Default)]
pub(crate) struct SharedRows {
    pub(crate) accesses: Vec<Access>,
    pub(crate) spins: Vec<Spin>,
    pub(crate) confirmations: Vec<Confirmation>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) runtime_bytes: Vec<RuntimeBytes>,
    pub(crate) losses: Vec<Loss>,
}

/// One process while it executes one program: its code, and what was derived from it. Forked processes have the same
/// program, but other memory at the same addresses.
struct Space {
    image: u32,
    code: CodeGraph,
    replay: Replay,
    loops: decode::Spins,
    memory: Memory,
    runtime: Runtime,
}

/// Gathers what samples show about memory that threads share.
pub(crate) struct SharingSampler {
    spaces: Vec<Space>,
    /// By program image and process.
    space_ids: HashMap<(u32, u32), u32>,
    lines: Lines,
    spins: Tallies,
    confirm: Option<Confirm>,
    snapshots: Snapshots,
    effort: Effort,
    found: Vec<SampledAccess>,
    stack: Vec<u8>,
}

impl SharingSampler {
    /// With `breakpoints`, suspects are checked; without, they remain suspects.
    pub(crate) fn new(breakpoints: bool) -> SharingSampler {
        SharingSampler {
            spaces: Vec::new(),
            space_ids: HashMap::new(),
            lines: Lines::default(),
            spins: Tallies::default(),
            confirm: breakpoints.then(Confirm::new),
            snapshots: Snapshots::default(),
            effort: Effort::default(),
            found: Vec::new(),
            stack: Vec::new(),
        }
    }

    /// Whether code of this machine's architecture can be decoded.
    pub(crate) fn can_decode() -> bool {
        decode::decoder(std::env::consts::ARCH).is_some()
    }

    /// Takes one sample.
    pub(crate) fn sample(&mut self, sampled: &Sampled<'_>, known: &dyn ImageCode) {
        let Some(registers) = Registers::saved(std::env::consts::ARCH, sampled.registers) else { return };
        let Some(number) = self.space(sampled) else { return };
        let begun_ns = monotonic_ns();
        if !self.effort.allows(number, registers.ip, begun_ns) {
            return;
        }
        self.decode(sampled, known, &registers, number);
        self.effort.spend(monotonic_ns().saturating_sub(begun_ns));
    }

    fn decode(&mut self, sampled: &Sampled<'_>, known: &dyn ImageCode, registers: &Registers, number: u32) {
        let Some(space) = self.spaces.get_mut(number as usize) else { return };
        if known.made_at_run_time(registers.ip)
            && let Some(changed) = space.runtime.check(&mut space.memory, registers.ip, monotonic_ns())
        {
            space.code.forget(changed);
            space.replay.clear();
            space.loops.clear();
        }
        let mut reader = Reader { memory: &mut space.memory, runtime: &mut space.runtime, known };
        space.code.explore(registers.ip, sampled.callers, &mut reader);
        let sp = registers.general[usize::from(space.code.architecture().stack_pointer())];
        let start = sp.wrapping_sub(sampled.red_zone.len() as u64);
        self.stack.clear();
        self.stack.extend_from_slice(sampled.red_zone);
        self.stack.extend_from_slice(sampled.stack);
        let stack = StackBytes { start, bytes: &self.stack };
        // A variable that goroutines share is never on one's stack: Go moves it to the heap.
        space.memory.saw_stack(sp, !known.stacks_in_heap());
        space.replay.accesses(&space.code, registers, stack, &mut self.found);
        for access in &self.found {
            let row = Row {
                thread: sampled.thread,
                time_ns: sampled.time_ns,
                address: access.address,
                instruction: access.instruction,
                width: access.width,
                kind: kind(access.kind),
                distance: access.distance,
                certainty: certainty(access.certainty),
            };
            self.lines.add(number, row);
        }
        let spin = space.loops.at(&space.code, registers, sampled.callers);
        for access in &self.found {
            if spin.is_some() || self.lines.is_shared(number, access.address) {
                self.snapshots.keep(number, access, registers, (start, &self.stack), &space.code);
            }
        }
        if let Some(spin) = spin {
            self.spins.add(number, sampled, &spin, &self.found);
        }
    }

    /// The number of a sample's address space; none where code is not decoded.
    fn space(&mut self, sampled: &Sampled<'_>) -> Option<u32> {
        let key = (sampled.image, sampled.pid);
        if let Some(number) = self.space_ids.get(&key) {
            return Some(*number);
        }
        if self.spaces.len().is_multiple_of(OPEN_MEMORIES) {
            for space in &mut self.spaces {
                space.memory.close();
            }
        }
        let number = self.spaces.len() as u32;
        self.spaces.push(Space {
            image: sampled.image,
            code: CodeGraph::new(decode::decoder(std::env::consts::ARCH)?),
            replay: Replay::new(),
            loops: decode::Spins::new(),
            memory: Memory::for_process(sampled.pid),
            runtime: Runtime::default(),
        });
        self.space_ids.insert(key, number);
        Some(number)
    }

    /// Watches suspects, for a short time and within a budget.
    pub(crate) fn tick(&mut self, now_ns: u64, threads: &dyn Threads) {
        let Some(confirm) = &mut self.confirm else { return };
        for (space, line) in self.lines.nominated() {
            confirm.suspect_line(space, line);
        }
        for (space, address, width) in self.spins.nominated() {
            confirm.suspect_spin(space, address, width);
        }
        let spaces = &self.spaces;
        let alive = |space: u32| {
            let space = spaces.get(space as usize);
            space.map_or_else(Vec::new, |space| threads.alive(space.image, space.memory.pid()))
        };
        confirm.tick(now_ns, &self.lines, threads, &alive);
    }

    /// All results as rows. `frame` gives the handle of a code address of an image.
    pub(crate) fn finish<'k>(
        mut self,
        run: RunId,
        thread: &dyn Fn(u32) -> ThreadId,
        known: &dyn Fn(u32) -> Option<Box<dyn ImageCode + 'k>>,
        frame: &mut dyn FnMut(u32, u64) -> Option<FrameId>,
    ) -> SharedRows {
        let images: Vec<u32> = self.spaces.iter().map(|space| space.image).collect();
        let mut rows = SharedRows::default();
        let mut used: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
        let mut code = |space: u32, address: u64| {
            used.entry(space).or_default().insert(address);
            frame(images.get(space as usize).copied()?, address)
        };
        let mut addresses: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
        let polled: BTreeSet<(u32, u64)> = self.spins.lines().collect();
        for (space, row) in self.lines.shared(&polled) {
            let Some(frame) = code(space, row.instruction) else { continue };
            addresses.entry(space).or_default().insert(row.address);
            rows.accesses.push(Access {
                run,
                thread: thread(row.thread),
                time_ns: row.time_ns,
                address: row.address,
                width: u32::from(row.width),
                kind: row.kind,
                frame,
                distance: i32::from(row.distance),
                certainty: row.certainty,
            });
        }
        let confirmed = self.confirm.take().map(Confirm::finish).unwrap_or_default();
        let mut written: HashMap<(u32, u64), u64> = HashMap::new();
        for (key, seen) in confirmed.iter().filter(|(key, _)| key.writes) {
            *written.entry((key.space, key.address)).or_default() += seen.hits * 1000 / u64::from(seen.trials.max(1));
        }
        for tally in self.spins.all() {
            let (instruction, address, width) = tally.awaited(|space, address| {
                let (address, _) = confirm::aligned(address, 8);
                let hits = written.iter().filter(|((of, at), _)| *of == space && confirm::aligned(*at, 8).0 == address);
                hits.map(|(_, hits)| *hits).sum()
            });
            let Some(frame) = code(tally.space, instruction) else { continue };
            addresses.entry(tally.space).or_default().extend(address);
            rows.spins.push(Spin {
                run,
                thread: thread(tally.thread),
                frame,
                address,
                width: u32::from(width),
                samples: tally.samples,
                first_ns: tally.first_ns,
                last_ns: tally.last_ns,
                pauses: tally.pauses,
                yields: tally.yields,
                takes: tally.takes,
                user_stack: tally.user_stack,
            });
        }
        for (key, seen) in &confirmed {
            addresses.entry(key.space).or_default().insert(key.address);
            let at = seen.most_frequent().map(|ip| self.accessing(key.space, ip));
            rows.confirmations.push(confirmation(
                run,
                thread(key.thread),
                key,
                seen,
                at.and_then(|ip| code(key.space, ip)),
            ));
        }
        for (number, addresses) in addresses {
            let Some(space) = self.spaces.get(number as usize) else { continue };
            let (memory, named) = (&space.memory, known(space.image));
            let snapshots = |address: u64| self.snapshots.at(number, address);
            rows.variables.extend(variables::rows(run, &addresses, memory, named.as_deref(), &snapshots));
        }
        for (number, addresses) in used {
            let Some(space) = self.spaces.get_mut(number as usize) else { continue };
            let runtime = std::mem::take(&mut space.runtime);
            rows.runtime_bytes.extend(runtime.rows(run, space.memory.pid(), &addresses));
        }
        rows.losses = self.lines.losses(run);
        rows.losses.extend(self.spins.losses(run));
        rows
    }

    /// The instruction that made the access for which a breakpoint trapped: where the thread stood, or the one before.
    fn accessing(&self, space: u32, trapped: u64) -> u64 {
        let code = self.spaces.get(space as usize).map(|space| &space.code);
        if code.is_some_and(|code| !code.architecture().traps_after()) {
            return trapped;
        }
        let previous = code.and_then(|code| code.before(trapped).find(|edge| !edge.branch));
        previous.map_or(trapped.saturating_sub(1), |edge| edge.from)
    }
}

fn confirmation(
    run: RunId,
    thread: ThreadId,
    key: &confirm::WatchKey,
    seen: &Seen,
    frame: Option<FrameId>,
) -> Confirmation {
    Confirmation {
        run,
        thread,
        address: key.address,
        width: u32::from(key.width),
        writes: key.writes,
        frame,
        trials: seen.trials,
        hit_trials: seen.hit_trials,
        shared_trials: seen.shared_trials,
        hits: seen.hits,
        gap_ns: confirm::lower_quartile(&seen.gaps_ns),
        across_ns: confirm::lower_quartile(&seen.across_ns),
    }
}

/// Code from the memory of the process, with what the caller knows about it.
struct Reader<'a> {
    memory: &'a mut Memory,
    runtime: &'a mut Runtime,
    known: &'a dyn ImageCode,
}

impl CodeReader for Reader<'_> {
    fn code(&mut self, address: u64, buffer: &mut [u8]) -> usize {
        if self.known.made_at_run_time(address) {
            return self.runtime.read(self.memory, address, buffer, monotonic_ns());
        }
        self.memory.read(address, buffer)
    }

    fn function_start(&mut self, address: u64) -> Option<u64> {
        self.known.function_start(address)
    }

    fn pointer(&mut self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        (self.memory.read(address, &mut bytes) == bytes.len()).then(|| u64::from_le_bytes(bytes))
    }
}

fn kind(kind: decode::AccessKind) -> AccessKind {
    match kind {
        decode::AccessKind::Load => AccessKind::Load,
        decode::AccessKind::Store => AccessKind::Store,
        decode::AccessKind::Update => AccessKind::Update,
        decode::AccessKind::Atomic => AccessKind::Atomic,
    }
}

fn certainty(certainty: Certainty) -> AddressCertainty {
    match certainty {
        Certainty::Exact => AddressCertainty::Exact,
        Certainty::Likely => AddressCertainty::Likely,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// Knows only where the code begins that the samples are in.
    struct Begins(u64);

    impl ImageCode for Begins {
        fn made_at_run_time(&self, _: u64) -> bool {
            false
        }

        fn stacks_in_heap(&self) -> bool {
            false
        }

        fn function_start(&self, _: u64) -> Option<u64> {
            Some(self.0)
        }

        fn variable(&self, _: u64) -> Option<NamedVariable> {
            None
        }

        fn pointed(&self, _: &[Snapshot], _: u64) -> Option<resolve::Placed> {
            None
        }
    }

    #[test]
    fn breakpoints_are_asked_for_before_they_are_promised() {
        // Whatever this machine allows, a refusal must give a reason.
        if let Err(Unavailable::Breakpoints(error)) = available() {
            assert!(error.raw_os_error().is_some(), "{error}");
        }
    }

    /// A million samples at a thousand addresses of this program's own code, from sixteen threads that touch the same
    /// lines.
    #[test]
    #[ignore = "measures time: wants an optimised build and a quiet machine"]
    fn a_million_samples_are_decoded_and_gathered_in_seconds() {
        let begin = (SharingSampler::sample as *const ()).addr() as u64;
        let known = Begins(begin);
        let (mut memory, mut runtime) = (Memory::for_process(std::process::id()), Runtime::default());
        let mut code = CodeGraph::new(decode::decoder(std::env::consts::ARCH).expect("x86-64"));
        let mut places = Vec::new();
        let mut next = begin;
        while places.len() < 1000 {
            code.explore(next, &[], &mut Reader { memory: &mut memory, runtime: &mut runtime, known: &known });
            let Some(instruction) = code.at(next) else { break };
            places.push(next);
            next = instruction.next();
        }
        assert!(places.len() > 300, "{} instructions", places.len());
        let (shared, stack) = (vec![0_u64; 4096], vec![0x55_u8; 8192]);
        let (shared, bottom) = (shared.as_ptr().addr() as u64, stack.as_ptr().addr() as u64);
        let mut sampler = SharingSampler::new(false);
        let start = Instant::now();
        for number in 0..1_000_000_u64 {
            let mut registers = [shared + number % 64 * 8; 21];
            // `struct pt_regs`: rbp, ip and sp.
            (registers[4], registers[19]) = (bottom + 64, bottom);
            registers[16] = places[(number * 7 % places.len() as u64) as usize];
            let sampled = Sampled {
                thread: (number % 16) as u32 + 1,
                pid: std::process::id(),
                image: 1,
                time_ns: number * 60_000,
                registers: &registers,
                stack: &stack,
                red_zone: &[],
                callers: &[],
                user_stack: None,
            };
            sampler.sample(&sampled, &known);
        }
        let rows = sampler.finish(RunId(0), &ThreadId, &|_| None, &mut |_, _| Some(FrameId(0)));
        let taken = start.elapsed();
        assert!(rows.accesses.len() > 100_000, "{} accesses", rows.accesses.len());
        // The goal is 3 s. A busy machine takes longer and must not fail the test; ten times as long means another
        // algorithm.
        assert!(taken.as_secs_f64() < 30.0, "{taken:?} for {} accesses", rows.accesses.len());
    }
}
