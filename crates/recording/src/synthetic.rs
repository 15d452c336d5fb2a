//! Recordings sketched in a few lines, for tests of everything that reads one.
//!
//! ```
//! use recording::synthetic::{Sketch, ms};
//! let tables = Sketch::new(2)
//!     .clean(1, &[2.00, 2.01, 1.99])
//!     .clean(2, &[2.50, 2.49, 2.52])
//!     .traced(2, |run| {
//!         run.thread("a").runs(ms(10), "work@app app.c:7").locks(0x100, ms(5), "work@app app.c:8", "b");
//!         run.thread("b").runs(ms(15), "work@app app.c:7");
//!     })
//!     .tables();
//! assert_eq!(tables.threads.len(), 2);
//! ```
//!
//! A stack is written innermost first, frames separated by ` < `, a frame as `function@module` with an optional
//! ` file:line`; the function `?` has no name. Modules: `kernel` is the kernel, a name with `.so` a library, anything
//! else the program.

use crate::ids::*;
use crate::meta::*;
use crate::reader::Tables;
use crate::tables::*;
use std::collections::HashMap;

/// Milliseconds in nanoseconds.
pub fn ms(milliseconds: u64) -> u64 {
    milliseconds * 1_000_000
}

/// Microseconds in nanoseconds.
pub fn us(microseconds: u64) -> u64 {
    microseconds * 1_000
}

/// One CPU sample per millisecond, the default of the real collector.
pub const SAMPLE_PERIOD_NS: u64 = 1_000_000;

/// FUTEX_WAIT | FUTEX_PRIVATE_FLAG, see futex(2).
pub const FUTEX_WAIT_PRIVATE: u64 = 128;

/// The number of futex(2) on x86-64, the architecture of every sketch.
pub const FUTEX: u32 = 202;

/// The meta data of a machine with this many processors.
pub fn meta(processors: u32) -> Meta {
    Meta {
        format: crate::FORMAT,
        knee: "0.0.0".to_owned(),
        completion: Completion::Finished,
        started_unix_ns: 1_700_000_000_000_000_000,
        command: vec!["./app".to_owned(), "--threads={threads}".to_owned()],
        environment: Vec::new(),
        thread_counts: Vec::new(),
        counted: Counted::Threads,
        processor_order: Vec::new(),
        load: None,
        runs_per_count: 0,
        order_seed: 1,
        machine: Machine {
            processors,
            usable_processors: processors,
            usable_cores: processors,
            quota_milliprocessors: None,
            model: "Synthetic".to_owned(),
            architecture: "x86_64".to_owned(),
            kernel: "6.1.0".to_owned(),
            hypervisor: None,
            memory_bytes: 8 << 30,
            distribution: None,
        },
        clock: "CLOCK_MONOTONIC".to_owned(),
        throughput: None,
        capabilities: Vec::new(),
        imported: None,
        folder: None,
        tried: Vec::new(),
        functions: Vec::new(),
        notes: Vec::new(),
    }
}

/// A recording that is being made.
#[derive(Debug)]
pub struct Sketch {
    tables: Tables,
    names: Names,
    /// Timed runs whose processor time was not given.
    without_cpu_time: Vec<RunId>,
}

/// The handles of stacks, frames and modules so far.
#[derive(Debug, Default)]
struct Names {
    stacks: HashMap<(Option<StackId>, FrameId), StackId>,
    frames: HashMap<String, FrameId>,
    modules: HashMap<String, ModuleId>,
}

impl Sketch {
    /// An empty recording of a machine with this many processors.
    pub fn new(processors: u32) -> Sketch {
        Sketch { tables: Tables::empty(meta(processors)), names: Names::default(), without_cpu_time: Vec::new() }
    }

    /// The same for a sweep over processors.
    #[must_use]
    pub fn counting_processors(mut self) -> Sketch {
        self.tables.meta.counted = Counted::Processors;
        self
    }

    /// Timed runs at a thread count, each with its wall time in seconds. They use as many processors as the traced run
    /// of that count; without one, every thread that has a processor is busy all the time.
    pub fn clean(mut self, threads: u32, seconds: &[f64]) -> Sketch {
        let busy = f64::from(threads.min(self.tables.meta.machine.usable_processors));
        let cpu: Vec<f64> = seconds.iter().map(|s| s * busy).collect();
        let first = self.tables.runs.len();
        self = self.clean_cpu(threads, seconds, &cpu);
        self.without_cpu_time.extend(self.tables.runs.iter().skip(first).map(|run| run.run));
        self
    }

    /// Timed runs, each with its wall time and CPU time in seconds.
    pub fn clean_cpu(mut self, threads: u32, seconds: &[f64], cpu: &[f64]) -> Sketch {
        for (block, (wall, cpu)) in seconds.iter().zip(cpu).enumerate() {
            let mut run = self.blank_run(RunKind::Clean, threads, block as u32);
            run.wall_ns = (wall * 1e9) as u64;
            run.user_ns = (cpu * 1e9) as u64;
            self.tables.runs.push(run);
        }
        if !self.tables.meta.thread_counts.contains(&threads) {
            self.tables.meta.thread_counts.push(threads);
        }
        self
    }

    /// The throughput that each run so far at this thread count printed.
    pub fn throughput(mut self, threads: u32, units_per_second: &[f64]) -> Sketch {
        self.tables.meta.throughput =
            Some(Throughput { pattern: "tput=([0-9.]+)".to_owned(), unit: "ops/s".to_owned(), given: true });
        let runs = self.tables.runs.iter_mut().filter(|r| r.threads == threads);
        for (run, units) in runs.zip(units_per_second.iter().cycle()) {
            run.throughput = Some(*units);
        }
        self
    }

    /// A traced run at a thread count, sketched by the closure.
    pub fn traced(mut self, threads: u32, sketch: impl FnOnce(&mut RunSketch<'_>)) -> Sketch {
        let run = self.blank_run(RunKind::Traced, threads, 0);
        let id = run.run;
        self.tables.runs.push(run);
        let mut draft = RunSketch { run: id, tables: &mut self.tables, names: &mut self.names, wakes: Vec::new() };
        sketch(&mut draft);
        draft.finish();
        self
    }

    /// The recording.
    pub fn tables(mut self) -> Tables {
        let traced = |run: &&Run| run.kind == RunKind::Traced && run.wall_ns > 0;
        let used: HashMap<u32, f64> = self
            .tables
            .runs
            .iter()
            .filter(traced)
            .rev()
            .map(|run| (run.threads, run.user_ns as f64 / run.wall_ns as f64))
            .collect();
        for run in self.tables.runs.iter_mut().filter(|run| self.without_cpu_time.contains(&run.run)) {
            if let Some(used) = used.get(&run.threads) {
                run.user_ns = (run.wall_ns as f64 * used) as u64;
            }
        }
        self.tables
    }

    fn blank_run(&self, kind: RunKind, threads: u32, block: u32) -> Run {
        Run {
            block,
            started_unix_ns: self.tables.meta.started_unix_ns,
            exit_status: Some(0),
            ..Run::blank(RunId(self.tables.runs.len() as u32), kind, threads)
        }
    }
}

/// A traced run that is being made.
#[derive(Debug)]
pub struct RunSketch<'a> {
    run: RunId,
    tables: &'a mut Tables,
    names: &'a mut Names,
    wakes: Vec<WakeSketch>,
}

/// A wake-up. Wakers are given by name; names become ids when all threads are known.
#[derive(Debug)]
struct WakeSketch {
    wait: WaitId,
    waker: String,
    stack: Option<StackId>,
    syscall: u32,
    blocked_ns: u64,
}

impl<'a> RunSketch<'a> {
    /// A thread that starts when the run begins.
    pub fn thread<'s>(&'s mut self, name: &str) -> ThreadSketch<'s, 'a> {
        self.thread_at(name, 0)
    }

    /// A thread that starts `start_ns` nanoseconds after the run begins.
    pub fn thread_at<'s>(&'s mut self, name: &str, start_ns: u64) -> ThreadSketch<'s, 'a> {
        let thread = ThreadId(self.tables.threads.iter().filter(|t| t.run == self.run).count() as u32);
        self.tables.threads.push(Thread {
            pid: 100,
            tid: 100 + thread.0,
            name: name.to_owned(),
            parent: (thread.0 > 0).then_some(ThreadId(0)),
            start_ns,
            end_ns: start_ns,
            ..Thread::blank(self.run, thread)
        });
        let row = self.tables.threads.len() - 1;
        ThreadSketch { row, now: start_ns, goroutine: None, run: self }
    }

    /// System calls of a thread that the sketch already has.
    pub fn syscalls(&mut self, thread: &str, number: u32, name: &str, count: u64) {
        let thread = self.thread_named(thread);
        self.tables.syscalls.push(Syscall { run: self.run, thread, number, name: name.to_owned(), count });
    }

    fn thread_named(&self, name: &str) -> ThreadId {
        let thread = self.tables.threads.iter().find(|t| t.run == self.run && t.name == name).map(|t| t.thread);
        thread.expect("a sketch names its own threads")
    }

    /// Calls of a system call at one place, all timed; `error` when they failed, `each_ns` of processor time per call.
    pub fn call_site(
        &mut self,
        thread: &str,
        (number, name): (u32, &str),
        stack: &str,
        error: Option<u32>,
        count: u64,
        each_ns: u64,
    ) {
        let (thread, user_stack) = (self.thread_named(thread), self.names.stack(stack, self.tables));
        let site = SiteId(self.tables.call_sites.iter().filter(|s| s.run == self.run).count() as u32);
        self.tables.call_sites.push(CallSite {
            run: self.run,
            site,
            thread,
            number,
            name: name.to_owned(),
            user_stack: Some(user_stack),
            error,
            timed: count,
            calls: count as f64,
            calls_low: count as f64,
            calls_high: count as f64,
            total_ns: count * each_ns,
            on_cpu_ns: count * each_ns,
            longest_ns: each_ns,
        });
    }

    /// Waits for a lock inside the kernel, in a system call or (without one) a page fault.
    pub fn kernel_lock(
        &mut self,
        thread: &str,
        lock: &str,
        syscall: Option<u32>,
        stack: &str,
        count: u64,
        waited_ns: u64,
    ) {
        let (thread, user_stack) = (self.thread_named(thread), self.names.stack(stack, self.tables));
        self.tables.kernel_locks.push(KernelLock {
            run: self.run,
            thread,
            lock: lock.to_owned(),
            address: 0xffff_0000,
            how: KernelWait::Write,
            syscall,
            user_stack: Some(user_stack),
            kernel_stack: None,
            count,
            waited_ns,
            blocked_ns: waited_ns,
            longest_ns: waited_ns,
        });
    }

    /// Page faults at one place, each of them counted.
    pub fn fault_site(&mut self, thread: &str, stack: &str, faults: u64) {
        let (thread, user_stack) = (self.thread_named(thread), self.names.stack(stack, self.tables));
        self.tables.fault_sites.push(FaultSite {
            run: self.run,
            thread,
            user_stack: Some(user_stack),
            sampled: faults,
            period: 1,
        });
    }

    /// One look at the tasks of a scheduler: how many wait at each of these stacks.
    pub fn look(&mut self, time_ns: u64, waiting: &[(&str, u32)]) {
        let run = self.run;
        if waiting.is_empty() {
            self.tables.parked_tasks.push(ParkedTasks { run, time_ns, user_stack: None, timer: None, count: 0 });
        }
        waiting.iter().for_each(|(stack, count)| self.waiting_tasks(time_ns, stack, None, *count));
    }

    /// One look that found `count` tasks at this stack, waiting for the clock at a timer's channel.
    pub fn look_at_timer(&mut self, time_ns: u64, stack: &str, count: u32) {
        self.waiting_tasks(time_ns, stack, Some(true), count);
    }

    fn waiting_tasks(&mut self, time_ns: u64, stack: &str, timer: Option<bool>, count: u32) {
        let user_stack = Some(self.names.stack(stack, self.tables));
        self.tables.parked_tasks.push(ParkedTasks { run: self.run, time_ns, user_stack, timer, count });
    }

    /// What a thread exchanged at an address: how many times and for how long, and for how long it waited for
    /// it at one of its places.
    pub fn peer(
        &mut self,
        thread: &str,
        side: PeerSide,
        address: &str,
        (exchanges, exchange_ns): (u64, u64),
        (stack, waited_ns): (&str, u64),
    ) {
        let (run, thread, stack) = (self.run, self.thread_named(thread), self.names.stack(stack, self.tables));
        let is_there = |wait: &&Wait| wait.run == run && wait.thread == thread && wait.user_stack == Some(stack);
        let wait = self.tables.waits.iter().find(is_there).map(|wait| wait.wait);
        let row = Peer {
            run,
            thread,
            wait: None,
            side,
            address: address.to_owned(),
            name: None,
            exchanges,
            exchange_ns,
            longest_ns: exchange_ns,
            waits: 0,
            waited_ns: 0,
        };
        let waits = Peer { wait, exchanges: 0, exchange_ns: 0, longest_ns: 0, waits: 1, waited_ns, ..row.clone() };
        self.tables.peers.extend([row, waits]);
    }

    /// The row of the run itself.
    pub fn row(&mut self) -> &mut Run {
        let run = self.run;
        self.tables.runs.iter_mut().find(|r| r.run == run).expect("a traced run has a row")
    }

    fn finish(self) {
        let threads = || self.tables.threads.iter().filter(|t| t.run == self.run);
        let by_name: HashMap<&str, ThreadId> = threads().map(|t| (t.name.as_str(), t.thread)).collect();
        let end_ns = threads().map(|t| t.end_ns).max().unwrap_or(0);
        let count = self.tables.runs.iter().find(|r| r.run == self.run).map_or(1, |r| r.threads);
        let processors = self.tables.meta.usable_at(count);
        let (running, runs_threads) = threads().fold((0, 0), |(ns, n), t| (ns + t.running_ns, n + 1));
        for wake in self.wakes {
            self.tables.wakes.push(Wake {
                run: self.run,
                wait: wake.wait,
                waker: by_name.get(wake.waker.as_str()).copied(),
                waker_stack: wake.stack,
                waker_syscall: Some(wake.syscall),
                same_object: wake.syscall == FUTEX,
                waker_waited_here: None,
                wakes_many: None,
                holder: None,
                count: 1,
                blocked_ns: wake.blocked_ns,
            });
        }
        self.tables.traces.push(Trace {
            run: self.run,
            begin_ns: 0,
            end_ns,
            processors,
            sample_period_ns: SAMPLE_PERIOD_NS,
            idle_ns: (end_ns * u64::from(processors)).saturating_sub(running),
            foreign_ns: 0,
            observer_ns: 0,
            listens: None,
            load_begin_ns: None,
            load_end_ns: None,
            load_ns: None,
        });
        debug_assert!(runs_threads > 0, "a traced run has threads");
        if let Some(row) = self.tables.runs.iter_mut().find(|r| r.run == self.run) {
            row.wall_ns = end_ns;
            row.user_ns = running;
        }
    }
}

/// A thread that is being made: every call advances its time.
#[derive(Debug)]
pub struct ThreadSketch<'s, 'a> {
    row: usize,
    now: u64,
    goroutine: Option<u64>,
    run: &'s mut RunSketch<'a>,
}

impl ThreadSketch<'_, '_> {
    /// The goroutine in the samples that follow; none when samples do not show it.
    pub fn goroutine_is(&mut self, address: Option<u64>) {
        self.goroutine = address;
    }

    /// Runs on a processor in user space, with a sample each millisecond.
    pub fn runs(self, ns: u64, stack: &str) -> Self {
        self.running(ns, stack, Mode::User, None, None)
    }

    /// Runs on a processor in the kernel, in a system call, called from a user stack.
    pub fn runs_in_kernel(self, ns: u64, syscall: u32, stack: &str) -> Self {
        self.running(ns, stack, Mode::Kernel, Some(syscall), None)
    }

    /// The same with the kernel's own stack; without a system call the thread is in a page fault or an interrupt.
    pub fn runs_in_kernel_at(self, ns: u64, syscall: Option<u32>, stack: &str, kernel: &str) -> Self {
        self.running(ns, stack, Mode::Kernel, syscall, Some(kernel))
    }

    /// Where the thread was created.
    pub fn created_at(mut self, stack: &str) -> Self {
        self.row_mut().created_stack = Some(self.run.names.stack(stack, self.run.tables));
        self
    }

    /// Blocked in a system call or (without one) a fault, waiting for something that has a name.
    pub fn waits_for(self, reason: Reason, what: &str, syscall: Option<u32>, ns: u64, stack: &str) -> Self {
        let run = self.run.run;
        let thread = self.run.tables.threads[self.row].thread;
        let blocked = self.blocked(reason, None, ns, stack, None);
        let wait = blocked.run.tables.slices.last().and_then(|s| s.wait);
        let rows = blocked.run.tables.waits.iter_mut();
        for row in rows.filter(|w| w.run == run && w.thread == thread && Some(w.wait) == wait) {
            (row.what, row.syscall) = (Some(what.to_owned()), syscall);
        }
        blocked
    }

    /// Blocked in futex(2) on a lock at this address, and woken by the named thread through the same address.
    pub fn locks(self, object: u64, ns: u64, stack: &str, waker: &str) -> Self {
        self.blocked(Reason::Futex, Some(object), ns, stack, Some(waker))
    }

    /// The stack of the waker that ended the last block.
    pub fn woken_at(self, stack: &str) -> Self {
        let stack = self.run.names.stack(stack, self.run.tables);
        if let Some(wake) = self.run.wakes.last_mut() {
            wake.stack = Some(stack);
        }
        self
    }

    /// Blocked until the named thread woke it in a system call.
    pub fn handed(self, reason: Reason, ns: u64, stack: &str, waker: &str, syscall: u32) -> Self {
        let blocked = self.blocked(reason, None, ns, stack, Some(waker));
        if let Some(wake) = blocked.run.wakes.last_mut() {
            wake.syscall = syscall;
        }
        blocked
    }

    /// Blocked for another reason.
    pub fn blocks(self, reason: Reason, ns: u64, stack: &str) -> Self {
        self.blocked(reason, None, ns, stack, None)
    }

    /// Woken and waiting for a processor.
    pub fn runnable(mut self, ns: u64) -> Self {
        self.row_mut().runnable_ns += ns;
        self.slice(State::Runnable, ns, None)
    }

    /// Taken off the processor.
    pub fn preempted(mut self, ns: u64) -> Self {
        let row = self.row_mut();
        row.preempted_ns += ns;
        row.involuntary_switches += 1;
        self.slice(State::Preempted, ns, None)
    }

    fn running(mut self, ns: u64, stack: &str, mode: Mode, syscall: Option<u32>, kernel: Option<&str>) -> Self {
        let user_stack = self.run.names.stack(stack, self.run.tables);
        let kernel_stack = kernel.map(|k| self.run.names.stack(k, self.run.tables));
        let (run, thread) = (self.run.run, self.row_mut().thread);
        // Only ticks within the stretch: an earlier one would sample something else.
        for tick in self.now.div_ceil(SAMPLE_PERIOD_NS)..(self.now + ns).div_ceil(SAMPLE_PERIOD_NS) {
            self.run.tables.samples.push(Sample {
                run,
                thread,
                time_ns: tick * SAMPLE_PERIOD_NS,
                processor: 0,
                mode,
                syscall,
                user_stack: Some(user_stack),
                kernel_stack,
                goroutine: self.goroutine,
            });
        }
        self.row_mut().running_ns += ns;
        self.slice(State::Running, ns, None)
    }

    fn blocked(mut self, reason: Reason, object: Option<u64>, ns: u64, stack: &str, waker: Option<&str>) -> Self {
        let user_stack = Some(self.run.names.stack(stack, self.run.tables));
        let (run, thread) = (self.run.run, self.row_mut().thread);
        let same = |w: &&mut Wait| {
            (w.run, w.thread, w.object, w.reason, w.user_stack) == (run, thread, object, reason, user_stack)
        };
        let next = WaitId(self.run.tables.waits.iter().filter(|w| w.run == run).count() as u32);
        let wait = match self.run.tables.waits.iter_mut().find(same) {
            Some(wait) => {
                wait.count += 1;
                wait.blocked_ns += ns;
                wait.longest_ns = wait.longest_ns.max(ns);
                wait.wait
            }
            None => {
                let futex = reason == Reason::Futex;
                self.run.tables.waits.push(Wait {
                    run,
                    wait: next,
                    thread,
                    reason,
                    syscall: futex.then_some(FUTEX),
                    object,
                    operation: futex.then_some(FUTEX_WAIT_PRIVATE),
                    what: None,
                    expected: futex.then_some(2),
                    timed: false,
                    user_stack,
                    kernel_stack: None,
                    count: 1,
                    blocked_ns: ns,
                    runnable_ns: 0,
                    longest_ns: ns,
                });
                next
            }
        };
        if let Some(waker) = waker {
            let wake = WakeSketch { wait, waker: waker.to_owned(), stack: None, syscall: FUTEX, blocked_ns: ns };
            self.run.wakes.push(wake);
        }
        let row = self.row_mut();
        row.blocked_ns += ns;
        row.voluntary_switches += 1;
        self.slice(State::Blocked, ns, Some(wait))
    }

    fn slice(mut self, state: State, ns: u64, wait: Option<WaitId>) -> Self {
        let (run, thread, start_ns) = (self.run.run, self.row_mut().thread, self.now);
        self.now += ns;
        let end_ns = self.now;
        self.row_mut().end_ns = end_ns;
        let processor = (state == State::Running).then_some(0);
        self.run.tables.slices.push(Slice {
            run,
            thread,
            start_ns,
            end_ns,
            state,
            spent_ns: ns,
            count: 1,
            wait,
            processor,
        });
        self
    }

    fn row_mut(&mut self) -> &mut Thread {
        &mut self.run.tables.threads[self.row]
    }
}

impl Names {
    fn stack(&mut self, text: &str, tables: &mut Tables) -> StackId {
        let mut parent = None;
        for frame in text.split(" < ").collect::<Vec<_>>().into_iter().rev() {
            let frame = self.frame(frame.trim(), tables);
            let next = StackId(self.stacks.len() as u32);
            let stack = *self.stacks.entry((parent, frame)).or_insert(next);
            if stack == next {
                tables.stacks.push(Stack { stack, parent, frame, truncated: false });
            }
            parent = Some(stack);
        }
        parent.expect("splitting gives at least one frame")
    }

    fn frame(&mut self, text: &str, tables: &mut Tables) -> FrameId {
        if let Some(frame) = self.frames.get(text) {
            return *frame;
        }
        // A function's name may contain spaces, a module's may not.
        let (function, rest) = text.split_once('@').unwrap_or((text, "app"));
        let (module, place) = rest.split_once(' ').map_or((rest, None), |(m, p)| (m, p.rsplit_once(':')));
        let frame = FrameId(self.frames.len() as u32);
        let module = self.module(module, tables);
        tables.frames.push(Frame {
            frame,
            depth: 0,
            module,
            address: 0x1000 + 16 * u64::from(frame.0),
            function: (function != "?").then(|| function.to_owned()),
            file: place.map(|(file, _)| file.to_owned()),
            line: place.map(|(_, line)| line.parse().expect("a line is a number")),
        });
        self.frames.insert(text.to_owned(), frame);
        frame
    }

    fn module(&mut self, name: &str, tables: &mut Tables) -> ModuleId {
        if let Some(module) = self.modules.get(name) {
            return *module;
        }
        let module = ModuleId(self.modules.len() as u32);
        let (kind, path) = match name {
            "kernel" => (ModuleKind::Kernel, "kernel".to_owned()),
            "anonymous" => (ModuleKind::Anonymous, "anonymous".to_owned()),
            library if library.contains(".so") => (ModuleKind::Library, format!("/usr/lib/{library}")),
            program => (ModuleKind::Program, format!("/home/user/{program}")),
        };
        tables.modules.push(Module { module, kind, path, has_lines: kind == ModuleKind::Program });
        self.modules.insert(name.to_owned(), module);
        module
    }
}
