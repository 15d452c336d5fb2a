//! The traced runs of a recording, with their rows at hand. May import: `curve`, `disturbance`, `goroutines`, `lives`, `sharing`,
//! `stacks`, `standing`, `statistics`.

use crate::curve::Clean;
use crate::disturbance::load;
use crate::goroutines::Goroutines;
use crate::lives::Lives;
use crate::sharing::Sharing;
use crate::stacks::Stacks;
use crate::standing::standing;
use crate::statistics::MIN_SHARE;
use crate::statistics::median;
use recording::tables::{
    CallSite, FaultSite, Foreign, KernelLock, MarkKind, Run, RunKind, Sample, Slice, Syscall, Thread, Trace, Wait, Wake,
};
use recording::{RunId, Tables, ThreadId, WaitId};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// More than Linux can be built for (8192); keeps sums of a hostile recording inside their types.
const MOST_PROCESSORS: u32 = 1 << 16;

/// A thread that is on a processor for less than this share of its life is no worker: a timer, a signal handler, a
/// logger, a main thread that waits for the others. Five of them could not make up the smallest loss that is called a
/// cause.
const HELPER_SHARE: f64 = MIN_SHARE / 5.0;

/// The same for a thread that is there whatever the thread count: it acts when it is called, as collectors and compilers of
/// a run-time do. The busiest of Java's ran for a twentieth of its life in a program that allocates little; with more than a
/// fifth a thread is taken for a stage of the program, which others may wait for.
const STANDING_SHARE: f64 = 0.2;

/// System-call numbers that the analysis looks at, by architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    /// futex(2).
    pub futex: u32,
    /// exit(2) and exit_group(2).
    pub exit: [u32; 2],
    /// sched_yield(2).
    pub sched_yield: u32,
    /// clone(2) and clone3(2).
    pub clone: [u32; 2],
    /// Calls that hand something over to whoever waits at the other end of a pipe, socket or eventfd: write(2),
    /// writev(2), sendfile(2), splice(2), tee(2), vmsplice(2), sendto(2), sendmsg(2), sendmmsg(2); and read(2), readv(2),
    /// recvfrom(2), recvmsg(2), which make room.
    pub hand_over: [u32; 13],
}

impl Numbers {
    /// Those of a machine, by what `uname -m` calls it. Unknown architectures share the generic table of the kernel's
    /// `asm-generic/unistd.h`, which aarch64 and riscv64 use.
    pub fn of(architecture: &str) -> Numbers {
        match architecture {
            "x86_64" => Numbers {
                futex: 202,
                exit: [60, 231],
                sched_yield: 24,
                clone: [56, 435],
                hand_over: [1, 20, 40, 275, 276, 278, 44, 46, 307, 0, 19, 45, 47],
            },
            _ => Numbers {
                futex: 98,
                exit: [93, 94],
                sched_yield: 124,
                clone: [220, 435],
                hand_over: [64, 66, 71, 76, 77, 75, 206, 211, 269, 63, 65, 207, 212],
            },
        }
    }
}

/// One traced run with its rows.
#[derive(Debug)]
pub struct Traced<'t> {
    /// The run.
    pub run: &'t Run,
    /// Its trace as a whole.
    pub trace: &'t Trace,
    /// True when the recording holds this one run and no timed one: then the thread count is the program's own choice.
    pub alone: bool,
    /// Begin and end of its measured part: the program's own when it marks one and prints what it did in it, else of
    /// the whole trace. Nanoseconds.
    pub measured: (u64, u64),
    /// Its threads, by handle.
    pub threads: BTreeMap<ThreadId, &'t Thread>,
    /// Its timelines, in the order of the recording.
    pub slices: Vec<&'t Slice>,
    /// Its waits, by handle.
    pub waits: BTreeMap<WaitId, &'t Wait>,
    /// Who ended them.
    pub wakes: HashMap<WaitId, Vec<&'t Wake>>,
    /// Waits that the program's own threads and processes end, by writing or reading at the other end.
    pub handed: HashSet<WaitId>,
    /// Why threads of Go's runtime sleep.
    pub goroutines: Goroutines,
    /// Its goroutines, where samples tell them.
    pub lives: Lives<'t>,
    /// Times at which fewer of them than processors had yet to run (see [`Lives::few`]): begin and end, in order.
    pub few: Vec<(u64, u64)>,
    /// Threads that are there whatever the thread count, as far as names tell.
    pub standing: HashSet<ThreadId>,
    /// Its system calls.
    pub syscalls: Vec<&'t Syscall>,
    /// Its system calls by place and error.
    pub call_sites: Vec<&'t CallSite>,
    /// Its waits for locks inside the kernel.
    pub kernel_locks: Vec<&'t KernelLock>,
    /// Where its page faults came from.
    pub fault_sites: Vec<&'t FaultSite>,
    /// Other programs that ran meanwhile.
    pub foreign: Vec<&'t Foreign>,
    /// Its CPU samples.
    pub samples: Vec<&'t Sample>,
}

impl<'t> Traced<'t> {
    /// Processors that the program could have used: min(threads, processors), at least 1; for a run alone, whose
    /// program chose its threads by itself, all of them. A program that used more than it was asked to (a pipeline of
    /// so many threads and two more) could have used those of all its working threads.
    pub fn processors(&self) -> u32 {
        let threads = match self.alone {
            true => self.trace.processors,
            false if self.uses_more() => self.run.threads.max(self.working()),
            false => self.run.threads,
        };
        threads.min(self.trace.processors).clamp(1, MOST_PROCESSORS)
    }

    /// True when the threads ran for more time than as many processors as threads that were asked for have, by more
    /// than the smallest loss that is called a cause.
    pub fn uses_more(&self) -> bool {
        let ran = self.threads.values().fold(0, |sum: u64, t| sum.saturating_add(t.running_ns)) as f64;
        let whole = self.trace.end_ns.saturating_sub(self.trace.begin_ns) as f64;
        ran > (1.0 + MIN_SHARE) * whole * f64::from(self.run.threads)
    }

    /// Threads that were asked for; for a run alone the most that lived at once and did more than wait, at least 1.
    pub fn asked(&self) -> u32 {
        if self.alone { self.working() } else { self.run.threads }
    }

    /// The most threads that lived at once and did more than wait, at least 1.
    fn working(&self) -> u32 {
        let helpers = self.helpers();
        // In a short run a first thread that starts the others and then waits for them is no helper yet.
        let waits = |t: &Thread| t.blocked_ns > t.end_ns.saturating_sub(t.start_ns) / 2;
        let starter = self.main().filter(|t| waits(t)).map(|t| t.thread);
        let workers = self.threads.values().filter(|t| !helpers.contains(&t.thread) && Some(t.thread) != starter);
        let mut changes: Vec<(u64, i32)> = workers.flat_map(|t| [(t.start_ns, 1), (t.end_ns, -1)]).collect();
        // At the same instant ends come first: they sort below.
        changes.sort_unstable();
        let mut alive = 0;
        let most = changes.into_iter().map(|(_, change)| {
            alive += change;
            alive
        });
        most.max().and_then(|most| u32::try_from(most).ok()).unwrap_or(1).max(1)
    }

    /// Threads that hardly ever run. Where no thread of the program's own does more, these are what it has for workers.
    pub fn helpers(&self) -> BTreeSet<ThreadId> {
        let idle = |t: &&&Thread| {
            let life = t.end_ns.saturating_sub(t.start_ns) as f64;
            let most = if self.standing.contains(&t.thread) { STANDING_SHARE } else { HELPER_SHARE };
            (t.running_ns as f64) < most * life && t.blocked_ns as f64 > life / 2.0
        };
        let everybody = self.threads.values().filter(|t| !self.standing.contains(&t.thread)).all(|t| idle(&t));
        let helps = |t: &&&Thread| idle(t) && (!everybody || self.standing.contains(&t.thread));
        self.threads.values().filter(helps).map(|t| t.thread).collect()
    }

    /// Calls of one number by all threads.
    pub fn calls(&self, number: u32) -> u64 {
        self.syscalls.iter().filter(|s| s.number == number).fold(0, |n, s| n.saturating_add(s.count))
    }

    /// The process of a thread: futexes of several processes may share an address and still differ.
    pub fn pid(&self, thread: ThreadId) -> Option<u32> {
        self.threads.get(&thread).map(|t| t.pid)
    }

    /// The thread that starts the others: the first one, or the only thread that it creates, when all it does itself is to
    /// wait for that one's end, as the launcher of a Java program does.
    pub fn main(&self) -> Option<&'t Thread> {
        let first = self.threads.values().copied().min_by_key(|t| (t.start_ns, t.thread))?;
        let mut created = self.threads.values().filter(|t| t.parent == Some(first.thread));
        let life = first.end_ns.saturating_sub(first.start_ns) as f64;
        match (created.next(), created.next()) {
            (Some(only), None)
                if (first.running_ns as f64) < HELPER_SHARE * life
                    && self.threads.values().any(|t| t.parent == Some(only.thread)) =>
            {
                Some(only)
            }
            _ => Some(first),
        }
    }

    /// Wall time of the measured part, nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.measured.1.saturating_sub(self.measured.0)
    }

    /// Of the time that others had the processors, the share of the kernel's own threads, 0 to 1. They work off what
    /// programs left behind, this one most of all: freed memory, writes, packets. Nobody can stop them.
    pub fn kernel_threads(&self) -> f64 {
        let (mut all, mut kernel) = (0.0, 0.0);
        for other in &self.foreign {
            all += other.running_ns as f64;
            kernel += if is_kernel_thread(&other.name) { other.running_ns as f64 } else { 0.0 };
        }
        if all > 0.0 { kernel / all } else { 0.0 }
    }

    /// The measured part's share of the trace, 0 to 1.
    pub fn measured_share(&self) -> f64 {
        let whole = self.trace.end_ns.saturating_sub(self.trace.begin_ns);
        if whole == 0 { 1.0 } else { self.length_ns() as f64 / whole as f64 }
    }
}

/// True for the name of a thread of the kernel, as Linux has named them from 2.6 to 6.18: what runs after interrupts, work
/// queues, RCU, memory reclaim and compaction, journals.
pub fn is_kernel_thread(name: &str) -> bool {
    const NAMES: [&str; 12] = [
        "ksoftirqd/",
        "kworker/",
        "rcu_",
        "rcuo",
        "rcub",
        "rcuc",
        "migration/",
        "kswapd",
        "kcompactd",
        "khugepaged",
        "jbd2/",
        "irq/",
    ];
    NAMES.iter().any(|start| name.starts_with(start))
}

/// Everything that the analysis reads, indexed.
#[derive(Debug)]
pub struct Model<'t> {
    /// The recording.
    pub tables: &'t Tables,
    /// Its stacks.
    pub stacks: Stacks<'t>,
    /// What threads do to each other's memory.
    pub sharing: Sharing<'t>,
    /// One traced run a thread count, ascending: of those that ended well the one nearest to the timed runs.
    pub traced: Vec<Traced<'t>>,
    /// System-call numbers of its machine.
    pub numbers: Numbers,
}

impl<'t> Model<'t> {
    /// The name of a system call, or its number where no row names it.
    pub fn call_name(&self, number: u32) -> String {
        let row = self.tables.syscalls.iter().find(|s| s.number == number);
        let site = || self.tables.call_sites.iter().find(|s| s.number == number).map(|s| s.name.clone());
        row.map(|s| s.name.clone()).or_else(site).unwrap_or_else(|| number.to_string())
    }

    /// Indexes a recording. Rows of unknown runs are left out.
    pub fn new(tables: &'t Tables) -> Model<'t> {
        let traces: HashMap<RunId, &Trace> = tables.traces.iter().map(|t| (t.run, t)).collect();
        let mut traced: BTreeMap<u32, Traced> = BTreeMap::new();
        let observed = tables.runs.iter().filter(|r| r.kind == RunKind::Traced).count();
        let alone = observed == 1 && !tables.runs.iter().any(|r| r.kind == RunKind::Clean);
        // What a single run's program was asked for, and how it ended, is its own business.
        let ended_well = |r: &Run| alone || (r.threads > 0 && r.exit_status.is_none_or(|s| s == 0));
        let whole = |r: &&Run| r.kind == RunKind::Traced && ended_well(r);
        // Timed runs do not tell when their measured part was: only what they print is of that part alone.
        let by_marks = alone || Clean::new(tables).by_throughput;
        let mut candidates: Vec<(f64, &Run)> =
            tables.runs.iter().filter(whole).map(|r| (distance(tables, r), r)).collect();
        candidates.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, run) in candidates {
            if let Some(trace) = traces.get(&run.run).filter(|t| t.end_ns > t.begin_ns) {
                traced.entry(run.threads).or_insert_with(|| Traced {
                    run,
                    trace,
                    alone,
                    measured: match by_marks {
                        true => measured(tables, trace).unwrap_or((trace.begin_ns, trace.end_ns)),
                        false => (trace.begin_ns, trace.end_ns),
                    },
                    threads: BTreeMap::new(),
                    slices: Vec::new(),
                    waits: BTreeMap::new(),
                    wakes: HashMap::new(),
                    handed: HashSet::new(),
                    goroutines: Goroutines::default(),
                    lives: Lives::default(),
                    few: Vec::new(),
                    standing: HashSet::new(),
                    syscalls: Vec::new(),
                    call_sites: Vec::new(),
                    kernel_locks: Vec::new(),
                    fault_sites: Vec::new(),
                    foreign: Vec::new(),
                    samples: Vec::new(),
                });
            }
        }
        let mut traced: Vec<Traced> = traced.into_values().collect();
        let place: HashMap<RunId, usize> = traced.iter().enumerate().map(|(i, t)| (t.run.run, i)).collect();
        // Rows come in long stretches of one run: remembering the last saves a look-up for each of a million.
        macro_rules! deal {
            ($rows:expr, |$traced:ident, $row:ident| $put:expr) => {
                let mut last = None;
                for $row in $rows {
                    if last.is_none_or(|(run, _)| run != $row.run) {
                        last = Some(($row.run, place.get(&$row.run).copied()));
                    }
                    if let Some($traced) = last.and_then(|(_, i)| i).and_then(|i| traced.get_mut(i)) {
                        $put;
                    }
                }
            };
        }
        deal!(&tables.threads, |t, row| t.threads.insert(row.thread, row));
        deal!(&tables.slices, |t, row| t.slices.push(row));
        deal!(&tables.waits, |t, row| t.waits.insert(row.wait, row));
        deal!(&tables.wakes, |t, row| t.wakes.entry(row.wait).or_default().push(row));
        deal!(&tables.syscalls, |t, row| t.syscalls.push(row));
        deal!(&tables.call_sites, |t, row| t.call_sites.push(row));
        deal!(&tables.kernel_locks, |t, row| t.kernel_locks.push(row));
        deal!(&tables.fault_sites, |t, row| t.fault_sites.push(row));
        deal!(&tables.foreign, |t, row| t.foreign.push(row));
        deal!(&tables.samples, |t, row| {
            if (t.measured.0..=t.measured.1).contains(&row.time_ns) || t.measured == (t.trace.begin_ns, t.trace.end_ns)
            {
                t.samples.push(row);
            }
        });
        let numbers = Numbers::of(&tables.meta.machine.architecture);
        let runs: Vec<_> = traced.iter().map(|run| (run.run.threads, &run.threads)).collect();
        let standing = standing(&runs);
        for (run, standing) in traced.iter_mut().zip(standing) {
            run.handed = handed(&run.waits, &run.wakes, &numbers);
            run.standing = standing;
        }
        let stacks = Stacks::new(tables);
        for run in &mut traced {
            run.goroutines = Goroutines::new(&run.waits, &run.wakes, &stacks, numbers.futex);
            run.lives = Lives::new(&run.samples, &stacks);
            run.few = run.lives.few(run.processors());
            run.goroutines.settle(&run.slices, &run.few);
        }
        let sharing = Sharing::new(tables, &stacks);
        Model { tables, stacks, sharing, traced, numbers }
    }
}

/// Waits most of whose blocked time ended when a thread of the same program was in a call that hands something over. An
/// interrupt also wakes in the name of whatever thread it meets, but not just in such a call.
fn handed(waits: &BTreeMap<WaitId, &Wait>, wakes: &HashMap<WaitId, Vec<&Wake>>, numbers: &Numbers) -> HashSet<WaitId> {
    let by_own = |wake: &&&Wake| {
        let call = wake.waker_syscall.filter(|call| numbers.hand_over.contains(call));
        wake.waker.is_some() && call.is_some()
    };
    let mostly = |wait: &&WaitId| {
        let wakes = wakes.get(wait).map(Vec::as_slice).unwrap_or_default();
        let blocked = |wakes: &mut dyn Iterator<Item = &&Wake>| wakes.map(|w| u128::from(w.blocked_ns)).sum::<u128>();
        2 * blocked(&mut wakes.iter().filter(by_own)) > blocked(&mut wakes.iter())
    };
    waits.keys().filter(mostly).copied().collect()
}

/// From the first mark that begins the measured part to the last that ends it, inside the trace; absent without marks.
/// A part that is never ended lasts to the end of the trace.
fn measured(tables: &Tables, trace: &Trace) -> Option<(u64, u64)> {
    let mut begin: Option<u64> = None;
    let mut end: Option<u64> = None;
    let mut open = 0_i64;
    for mark in tables.marks.iter().filter(|m| m.run == trace.run) {
        match mark.kind {
            MarkKind::Begin => {
                open += 1;
                begin = Some(begin.map_or(mark.time_ns, |b| b.min(mark.time_ns)));
            }
            MarkKind::End => {
                open -= 1;
                end = Some(end.map_or(mark.time_ns, |e| e.max(mark.time_ns)));
            }
            _ => {}
        }
    }
    let end = end.filter(|_| open <= 0).unwrap_or(trace.end_ns).min(trace.end_ns);
    let begin = begin?.max(trace.begin_ns);
    (end > begin).then_some((begin, end))
}

/// How far a run is from the timed runs of its count: of its time for a unit of work |ln(time / median)|, and the share of
/// the processors that other programs took beyond the usual.
///
/// Contended programs can have two speeds. A sweep traces a count again when the first traced run fell into the other
/// one, or was disturbed; here the one that shows what the timed runs show is taken.
fn distance(tables: &Tables, run: &Run) -> f64 {
    let time = |r: &Run| match r.throughput {
        Some(units) => 1.0 / units,
        None => r.wall_ns as f64,
    };
    let processors = tables.meta.machine.usable_processors.max(1);
    let clean = || tables.runs.iter().filter(|r| r.kind == RunKind::Clean && r.threads == run.threads);
    let slower = median(&clean().map(time).collect::<Vec<_>>()).map_or(0.0, |median| (time(run) / median).ln().abs());
    let usual = median(&clean().filter_map(|r| load(r, processors)).collect::<Vec<_>>()).unwrap_or(0.0);
    let disturbed = load(run, processors).map_or(0.0, |load| (load - usual).max(0.0));
    let distance = slower + disturbed;
    if distance.is_nan() { f64::INFINITY } else { distance }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::synthetic::{Sketch, ms};

    #[test]
    fn of_several_traced_runs_the_one_most_like_the_timed_ones_is_taken() {
        let mut sketch = Sketch::new(2).clean(2, &[0.010, 0.011, 0.012]);
        for length in [50, 11, 2] {
            sketch = sketch.traced(2, |run| {
                run.thread("a").runs(ms(length), "work@app");
            });
        }
        let tables = sketch.tables();
        let model = Model::new(&tables);
        assert_eq!(model.traced.iter().map(|t| t.run.wall_ns).collect::<Vec<_>>(), [ms(11)]);
    }
}
