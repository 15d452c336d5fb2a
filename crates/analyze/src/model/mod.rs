//! What was observed, indexed and typed: runs, threads, waits, wakes, samples, stacks.
//!
//! Rooms: [`run`] one observed run; [`chosen_run`] which of several runs is analysed; [`code`] whose code a frame is;
//! [`stacks`] and [`stack_view`] call stacks, and what one says; [`futex`] what futex waits are for, by names and by
//! who waits and who wakes; [`parked_tasks`] what tasks waited for while their scheduler's threads slept; [`resources`]
//! where threads wait for one of a few things; [`requests`] what a server answered, and which services it asked;
//! [`task_sleeps`], [`task_pools`] and [`tasks`] programs whose runtime schedules tasks on threads; [`fixed_threads`]
//! threads whose number does not follow the thread count; [`lock_functions`] the program's functions that only take or
//! release locks; [`similar_threads`] threads that do the same work; [`window`] which part of a run the printed rate
//! covers; [`linux`] what is known of the kernel.
//!
//! May import: `answer`, `curve`, `disturbance`, `runtimes`, `sharing`, `statistics`, `recording`.

mod chosen_run;
pub mod code;
pub(crate) mod fixed_threads;
pub mod futex;
pub mod held_up;
pub mod linux;
mod lock_functions;
pub mod parked_tasks;
pub mod requests;
pub mod resources;
mod run;
pub mod similar_threads;
pub mod stack_view;
pub mod stacks;
pub mod task_pools;
pub mod task_sleeps;
pub mod tasks;
pub mod window;

use crate::curve::Clean;
use crate::runtimes::{self, Service};
use crate::sharing::Sharing;
use chosen_run::{distance, measured};
use code::{Code, Owner};
use fixed_threads::{fixed_threads, library_threads};
use futex::FutexWait;
use linux::SyscallNumbers;
use lock_functions::lock_functions;
use recording::tables::{Reason, Run, RunKind, Trace, Wait, Wake};
use recording::{QuickMap, RunId, StackId, Tables, ThreadId, WaitId};
pub use run::Traced;
pub use run::timelines;
use run::timelines::Timelines;
use stacks::Stacks;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::OnceLock;
use task_sleeps::TaskSleeps;
use tasks::Tasks;
use window::Part;

/// Everything that the analysis reads, indexed.
#[derive(Debug)]
pub struct Model<'t> {
    /// The recording.
    pub tables: &'t Tables,
    /// Its stacks.
    pub stacks: Stacks<'t>,
    /// What threads do to each other's memory.
    pub sharing: Sharing<'t>,
    /// One traced run per thread count, ascending: of those that ended well, the one nearest to the timed runs.
    pub traced: Vec<Traced<'t>>,
    /// System-call numbers of its machine.
    pub numbers: SyscallNumbers,
    /// Which part of a run the printed rate covers.
    pub part: Part,
    /// The futex waits of each of these runs, classified.
    pub futexes: Vec<BTreeMap<WaitId, FutexWait<'t>>>,
    /// Where threads of each of these runs acquire something.
    pub sites: Vec<resources::Sites<'t>>,
    /// Where threads wait for one of a few things, at any thread count.
    pub places: resources::Places<'t>,
}

impl<'t> Model<'t> {
    /// True for a function of the program in which threads wait for one of a few things, at any of the thread counts.
    pub fn is_place_of_pool(&self, own: &Code<'t>) -> bool {
        self.places.pools.contains(&resources::function(own))
    }

    /// The name of a system call, or its number where no row names it.
    pub fn call_name(&self, number: u32) -> String {
        let row = self.tables.syscalls.iter().find(|s| s.number == number);
        let site = || self.tables.call_sites.iter().find(|s| s.number == number).map(|s| s.name.clone());
        row.map(|s| s.name.clone()).or_else(site).unwrap_or_else(|| number.to_string())
    }

    /// The numbers that a recording gives to a system call of this name, some of them more than once.
    pub fn numbers_of(&self, name: &str) -> impl Iterator<Item = u32> {
        let counted = self.tables.syscalls.iter().map(|row| (row.number, &row.name));
        let timed = self.tables.call_sites.iter().map(|row| (row.number, &row.name));
        counted.chain(timed).filter(move |row| row.1 == name).map(|row| row.0)
    }

    /// Indexes a recording. Rows of unknown runs are left out.
    pub fn new(tables: &'t Tables) -> Model<'t> {
        let traces: HashMap<RunId, &Trace> = tables.traces.iter().map(|t| (t.run, t)).collect();
        let mut traced: BTreeMap<u32, Traced> = BTreeMap::new();
        let observed = tables.runs.iter().filter(|r| r.kind == RunKind::Traced).count();
        let alone = observed == 1 && !tables.runs.iter().any(|r| r.kind == RunKind::Clean);
        // A recording of a single run is analysed whatever its thread count and however it ended.
        let ended_well = |r: &Run| alone || (r.threads > 0 && r.exit_status.is_none_or(|s| s == 0));
        let whole = |r: &&Run| r.kind == RunKind::Traced && ended_well(r);
        // Timed runs do not record when their measured part was: only a printed rate is of that part alone.
        let by_marks = alone || Clean::new(tables).by_throughput;
        let mut candidates: Vec<(f64, &Run)> =
            tables.runs.iter().filter(whole).map(|r| (distance(tables, r), r)).collect();
        candidates.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, run) in candidates {
            if let Some(trace) = traces.get(&run.run).filter(|t| t.end_ns > t.begin_ns) {
                traced.entry(run.threads).or_insert_with(|| Traced {
                    run,
                    trace,
                    is_only_run: alone,
                    counted: tables.meta.counted,
                    measured: match by_marks || trace.load_begin_ns.is_some() {
                        true => measured(tables, trace).unwrap_or((trace.begin_ns, trace.end_ns)),
                        false => (trace.begin_ns, trace.end_ns),
                    },
                    threads: BTreeMap::new(),
                    slices: Timelines::none(&tables.slices),
                    waits: BTreeMap::new(),
                    wakes: QuickMap::default(),
                    handed: HashSet::new(),
                    clocked: HashSet::new(),
                    own_events: false,
                    task_sleeps: TaskSleeps::default(),
                    task_pools: Vec::new(),
                    tasks: Tasks::default(),
                    tasks_seen: false,
                    few_tasks_left: Vec::new(),
                    gatherings: BTreeSet::new(),
                    fixed_threads: HashSet::new(),
                    services: HashMap::new(),
                    without_share: BTreeSet::new(),
                    collecting: 0.0,
                    syscalls: Vec::new(),
                    call_sites: Vec::new(),
                    kernel_locks: Vec::new(),
                    fault_sites: Vec::new(),
                    foreign: Vec::new(),
                    peers: Vec::new(),
                    service_waits: HashMap::new(),
                    samples: Vec::new(),
                    thread_calls: OnceLock::new(),
                });
            }
        }
        let mut traced: Vec<Traced> = traced.into_values().collect();
        let place: HashMap<RunId, usize> = traced.iter().enumerate().map(|(i, t)| (t.run.run, i)).collect();
        // Rows of one run come together: remembering the last run saves a look-up for each of a million rows.
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
        let mut slices = Timelines::of_runs(&tables.slices, traced.iter().map(|run| run.run.run));
        for run in &mut traced {
            run.slices = slices.remove(&run.run.run).unwrap_or_else(|| Timelines::none(&tables.slices));
        }
        deal!(&tables.waits, |t, row| t.waits.insert(row.wait, row));
        deal!(&tables.wakes, |t, row| t.wakes.entry(row.wait).or_default().push(row));
        deal!(&tables.syscalls, |t, row| t.syscalls.push(row));
        deal!(&tables.call_sites, |t, row| t.call_sites.push(row));
        deal!(&tables.kernel_locks, |t, row| t.kernel_locks.push(row));
        deal!(&tables.fault_sites, |t, row| t.fault_sites.push(row));
        deal!(&tables.foreign, |t, row| t.foreign.push(row));
        deal!(&tables.peers, |t, row| t.peers.push(row));
        deal!(&tables.samples, |t, row| {
            if (t.measured.0..=t.measured.1).contains(&row.time_ns) || t.measured == (t.trace.begin_ns, t.trace.end_ns)
            {
                t.samples.push(row);
            }
        });
        let numbers = SyscallNumbers::for_architecture(&tables.meta.machine.architecture);
        let runs: Vec<_> = traced.iter().map(|run| (run.run.threads, &run.threads)).collect();
        // Where the sweep counts processors, a runtime's own threads follow the count, which says nothing about the
        // program's.
        let tells = |name: &str| tables.meta.counted.is_threads() || runtimes::service_thread(name).is_none();
        let fixed = fixed_threads(&runs, tells);
        for (run, fixed) in traced.iter_mut().zip(fixed) {
            run.own_events = own_events(&run.waits, &run.wakes, &numbers);
            run.handed = handed(&run.waits, &run.wakes, &numbers, run.own_events);
            // A program that already ran, or that is observed alone, may have connections that the recording does not show.
            if !run.is_only_run && !run.loaded() {
                run.clocked = run::clocked(&run.waits, &run.wakes, &run.syscalls, &numbers, |w| by_own(w, &numbers));
            }
            run.fixed_threads = fixed;
            run.service_waits = requests::waits_for_services(run);
        }
        let mut stacks = Stacks::new(tables);
        stacks.count_as_locks(&lock_functions(&traced, &stacks));
        let others: Vec<_> = traced.iter().map(|run| (run.run.threads, without_own_code(run, &stacks))).collect();
        let standing = if tables.meta.counted.is_threads() { library_threads(&others) } else { Vec::new() };
        for (run, standing) in traced.iter_mut().zip(standing) {
            run.fixed_threads.extend(standing);
        }
        for run in &mut traced {
            run.services = services(run, &stacks);
            run.collecting = collecting(run, &stacks);
            run.without_share = run::without_share(run, &stacks);
        }
        let marked = traced.iter().any(|t| (by_marks || t.loaded()) && measured(tables, t.trace).is_some());
        let part = match (marked, by_marks && !alone) {
            (true, _) => Part::Marked,
            (false, false) => Part::Whole,
            (false, true) => {
                for run in &mut traced {
                    run.tasks = Tasks::new(&run.samples, &stacks);
                }
                let (part, stretches) = window::infer(tables, &traced);
                for (run, stretch) in traced.iter_mut().zip(stretches).filter(|(run, s)| run.measured != *s) {
                    run.measured = stretch;
                    run.samples.retain(|s| (stretch.0..=stretch.1).contains(&s.time_ns));
                }
                part
            }
        };
        let mut pools = task_pools::of_runs(tables, &stacks);
        for run in &mut traced {
            run.tasks_seen = parked_tasks::well_seen(tables, run.run.run, run.measured);
            run.task_pools = pools.remove(&run.run.run).unwrap_or_default();
            run.task_sleeps = TaskSleeps::new(&run.waits, &run.wakes, &stacks, &run.task_pools, numbers.futex);
            run.tasks = Tasks::new(&run.samples, &stacks);
            run.few_tasks_left = run.tasks.fewer_than(run.processors());
            run.task_sleeps.settle(run.slices.iter(), &run.few_tasks_left);
        }
        let gatherings = futex::gatherings(&traced, &stacks);
        traced.iter_mut().zip(gatherings).for_each(|(run, waits)| run.gatherings = waits);
        let sharing = Sharing::new(tables, &stacks);
        let futexes: Vec<_> = traced.iter().map(|run| futex::classify(run, &stacks, numbers)).collect();
        let sites: Vec<_> =
            traced.iter().zip(&futexes).map(|(run, found)| resources::look(run, &stacks, found)).collect();
        let places = resources::places(sites.iter().zip(&futexes));
        Model { tables, stacks, sharing, traced, numbers, part, futexes, sites, places }
    }
}

/// Threads that a runtime started for itself: by their names, or by a start function in the stack of one of their
/// waits.
fn services(run: &Traced<'_>, stacks: &Stacks<'_>) -> HashMap<ThreadId, Service> {
    let threads = run.threads.values();
    let mut services: HashMap<ThreadId, Service> =
        threads.filter_map(|t| Some((t.thread, runtimes::service_thread(&t.name)?))).collect();
    for wait in run.waits.values() {
        let Some(stack) = wait.user_stack.filter(|_| !services.contains_key(&wait.thread)) else { continue };
        let started = stacks.frames(stack).iter().filter_map(Code::name).find_map(runtimes::service_start);
        services.extend(started.map(|service| (wait.thread, service)));
    }
    services
}

/// Threads but the first that have stacks, none of which has a function of the program.
fn without_own_code(run: &Traced<'_>, stacks: &Stacks<'_>) -> HashSet<ThreadId> {
    let mut known: HashMap<StackId, bool> = HashMap::new();
    let mut owned = |stack: StackId| {
        *known.entry(stack).or_insert_with(|| stacks.frames(stack).iter().any(|code| code.owner == Owner::Own))
    };
    let sampled = run.samples.iter().map(|sample| (sample.thread, sample.user_stack));
    let seen = sampled.chain(run.waits.values().map(|wait| (wait.thread, wait.user_stack)));
    let mut own: HashMap<ThreadId, bool> = HashMap::new();
    for (thread, stack) in seen.filter_map(|(thread, stack)| Some((thread, stack?))) {
        *own.entry(thread).or_default() |= owned(stack);
    }
    let first = |thread: &ThreadId| run.threads.get(thread).is_none_or(|t| t.tid == t.pid);
    own.into_iter().filter(|(thread, own)| !own && !first(thread)).map(|(thread, _)| thread).collect()
}

/// The share of a run's samples in which the program's own threads ran tasks of a garbage collector.
fn collecting(run: &Traced<'_>, stacks: &Stacks<'_>) -> f64 {
    let mut known: HashMap<StackId, bool> = HashMap::new();
    let mut collects =
        |stack: StackId| *known.entry(stack).or_insert_with(|| stacks.view(Some(stack), false).is_collector());
    let (mut count, mut all) = (0, 0_usize);
    for sample in run.samples.iter().filter(|sample| !run.services.contains_key(&sample.thread)) {
        all += 1;
        count += usize::from(sample.user_stack.is_some_and(&mut collects));
    }
    count as f64 / all.max(1) as f64
}

/// When the program's own threads end at least this share of the waiting for pipes, sockets and events, all of that
/// waiting counts as waiting for the program's own threads.
///
/// Decides: whether waiting for a socket is input and output, or waiting for another thread.
/// From: two servers with their clients in the same process (Go's net/http, Netty): more than 99 %. A program that asks
/// another process is woken by that process or by an interrupt.
/// Shown by: `what_a_program_sends_to_itself_is_no_input`.
/// Wrong if: a program mostly talks to itself and now and then waits for another process: that part is then hidden.
const OWN_EVENTS: f64 = 0.9;

/// True where a program talks to itself: a server and its clients in one process, event loops that wake each other.
/// Waits that ended with the process or thread do not count.
fn own_events(waits: &BTreeMap<WaitId, &Wait>, wakes: &QuickMap<WaitId, Vec<&Wake>>, numbers: &SyscallNumbers) -> bool {
    let polls = waits.values().filter(|wait| matches!(wait.reason, Reason::Pipe | Reason::Poll));
    let ends = |wake: &&&Wake| wake.waker_syscall.is_some_and(|call| numbers.exit.contains(&call));
    let woken = polls.flat_map(|wait| wakes.get(&wait.wait).map(Vec::as_slice).unwrap_or_default());
    let (mut own, mut all) = (0.0, 0.0);
    for wake in woken.filter(|wake| !ends(wake)) {
        all += wake.blocked_ns as f64;
        own += if by_own(wake, numbers) { wake.blocked_ns as f64 } else { 0.0 };
    }
    all > 0.0 && own >= OWN_EVENTS * all
}

/// True for a wake-up by a thread of the same program in a system call that hands something over.
fn by_own(wake: &Wake, numbers: &SyscallNumbers) -> bool {
    wake.waker.is_some() && wake.waker_syscall.is_some_and(|call| numbers.hand_over.contains(&call))
}

/// Decides: whether a wait for a pipe, a socket or an event is one for the program's own threads: they must have ended more
/// than this share of its blocked time by handing something over.
/// From: reasoned, not measured: an interrupt wakes in the name of any thread, but hardly ever of one in such a call.
/// Wrong if: a wait is for other programs and for own threads in equal parts: it then counts as one for other programs.
const BY_OWN: f64 = 0.5;

/// Waits most of whose blocked time was ended by a thread of the same program in a system call that hands something
/// over. An interrupt also wakes in the name of the thread that it interrupts, but that thread is rarely in such a
/// call. Where the program talks to itself, all its waits for pipes, sockets and events are included.
fn handed(
    waits: &BTreeMap<WaitId, &Wait>,
    wakes: &QuickMap<WaitId, Vec<&Wake>>,
    numbers: &SyscallNumbers,
    own_events: bool,
) -> HashSet<WaitId> {
    let mostly = |wait: &&Wait| {
        let wakes = wakes.get(&wait.wait).map(Vec::as_slice).unwrap_or_default();
        let blocked = |wakes: &mut dyn Iterator<Item = &&Wake>| wakes.map(|w| w.blocked_ns as f64).sum::<f64>();
        blocked(&mut wakes.iter().filter(|wake| by_own(wake, numbers))) > BY_OWN * blocked(&mut wakes.iter())
    };
    let polls = |wait: &Wait| own_events && matches!(wait.reason, Reason::Pipe | Reason::Poll);
    waits.values().filter(|wait| polls(wait) || mostly(wait)).map(|wait| wait.wait).collect()
}
