//! A live view: what the threads of a program did since the last look, again and again; nothing is kept.
//!
//! With eBPF it shows what a recording holds except wakers, shared memory and counts of system calls; with /proc alone
//! also no running code and no marks. The target is not disturbed: it goes on when the view ends.

use super::observation::POLL;
use super::observer::Collector;
use super::tracer::{End, has_ended};
use crate::bpf::Programs;
use crate::bpf::abi::{SLOT_ATTACHED, SLOT_PENDING};
use crate::build::Builder;
use crate::error::Error;
use crate::launch::OutputSink;
use crate::launch::{Command, RunOptions, pidfd_open, run};
use crate::machine::usable_processors;
use crate::procfs::{self, monotonic_ns, unix_ns};
use crate::rights;
use crate::sinks::LiveSink;
use crate::sources::LiveSource;
use crate::sources::bpf::BpfSource;
use crate::sources::proc::ProcSource;
use crate::stacks::{Interner, Stacks};
use crate::stop::Stop;
use crate::syscall_names;
use recording::meta::Meta;
use recording::tables::{Run, RunKind, Syscall, Trace};
use recording::{RunId, Tables, ThreadId};
use resolve::ModuleCache;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use crate::events::Doing;
pub use crate::sinks::Now;

/// What happened between two looks.
#[derive(Debug, Clone)]
pub struct Window {
    /// One run: its threads with their times in the window, waits, samples and marks of what was done. Stacks, frames
    /// and modules are all that were met so far; handles stay the same from window to window.
    pub tables: Tables,
    /// The threads that are alive.
    pub now: Vec<Now>,
}

/// What to look at.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// A process that runs already.
    Process(u32),
    /// A program to be started. It ends with the view.
    Command(&'a Command),
}

/// How to look.
#[derive(Debug, Clone, Copy)]
pub struct Looking<'a> {
    /// The collector: eBPF, or any other for /proc alone.
    pub collector: Collector,
    /// Time between two looks.
    pub every: Duration,
    /// How long; until the target's end when absent.
    pub length: Option<Duration>,
    /// The `meta.json` for every window.
    pub meta: &'a Meta,
}

/// Shows windows until the target ends, the time is up, or the user stops it. `sink` gets what a started program
/// prints.
///
/// # Errors
/// When there is no such process, it is not the caller's to observe, the program cannot be started, or the kernel's
/// programs cannot be loaded.
pub fn watch(
    subject: Subject<'_>,
    looking: Looking<'_>,
    sink: &mut dyn OutputSink,
    stop: &Stop,
    show: &mut (dyn FnMut(Window) + Send),
) -> Result<End, Error> {
    let (mut interner, cache) = (Interner::new(), ModuleCache::new());
    match (subject, looking.collector) {
        (Subject::Process(pid), Collector::Bpf) => {
            let handle = open(pid)?;
            if rights::lent() && !rights::gains_none(pid) {
                return Err(Error::MayGain { pid });
            }
            let mut programs = Programs::load()?;
            programs.attach()?;
            let enrolment = programs.enrolment()?;
            enrolment.enrol(handle.as_fd(), SLOT_ATTACHED).map_err(|source| Error::process(pid, source))?;
            programs.enrol_threads(monotonic_ns())?;
            let mut view = Viewed::new(BpfSource::live(programs), Stacks::new(&mut interner, &cache));
            view.source.attached(pid, monotonic_ns(), &mut view.stacks, &mut view.rows);
            Ok(look(&mut view, looking, &|| has_ended(&handle), stop, show))
        }
        (Subject::Process(pid), _) => {
            let handle = open(pid)?;
            let mut source = ProcSource::new(pid);
            source.attached(monotonic_ns());
            let mut view = Viewed::new(source, Stacks::new(&mut interner, &cache));
            Ok(look(&mut view, looking, &|| has_ended(&handle), stop, show))
        }
        (Subject::Command(command), Collector::Bpf) => {
            let mut programs = Programs::load()?;
            programs.attach()?;
            let enrolment = programs.enrolment()?;
            let mut prepare = |pid: i32| enrolment.enrol(pidfd_open(pid)?.as_fd(), SLOT_PENDING);
            let mut view = Some(Viewed::new(BpfSource::live(programs), Stacks::new(&mut interner, &cache)));
            let begin = |_| view.take().map(|view| Box::new(view) as Box<dyn View + Send + '_>);
            start(command, looking, sink, stop, &mut prepare, begin, show)
        }
        (Subject::Command(command), _) => {
            let mut stacks = Some(Stacks::new(&mut interner, &cache));
            let begin = |pid: u32| {
                let view = Viewed::new(ProcSource::new(pid), stacks.take()?);
                Some(Box::new(view) as Box<dyn View + Send + '_>)
            };
            start(command, looking, sink, stop, &mut |_| Ok(()), begin, show)
        }
    }
}

fn open(pid: u32) -> Result<std::os::fd::OwnedFd, Error> {
    let gone = |source: io::Error| Error::process(pid, source);
    let number = i32::try_from(pid).map_err(|_| gone(io::Error::from_raw_os_error(libc::ESRCH)))?;
    let handle = pidfd_open(number).map_err(gone)?;
    procfs::may_observe(pid).map_err(gone)?;
    Ok(handle)
}

/// A source that a live view can show.
trait View {
    /// Takes what is there.
    fn poll(&mut self);
    /// Adds the rows of the time between two looks, and says what threads do now.
    fn window(&mut self, from_ns: u64, to_ns: u64, tables: &mut Tables, now: &mut Vec<Now>);
    /// Adds stacks, frames and modules that are new.
    fn names(&mut self, tables: &mut Tables);
    /// Time between two CPU samples of one processor; 0 without samples.
    fn sample_period_ns(&self) -> u64;
}

struct Viewed<'a, S> {
    source: S,
    stacks: Stacks<'a>,
    rows: Builder,
    sink: LiveSink,
}

impl<'a, S: LiveSource> Viewed<'a, S> {
    fn new(source: S, stacks: Stacks<'a>) -> Viewed<'a, S> {
        Viewed { source, stacks, rows: Builder::new(RunId(0)), sink: LiveSink::default() }
    }
}

impl<S: LiveSource> View for Viewed<'_, S> {
    fn poll(&mut self) {
        self.source.poll(&mut self.stacks, &mut self.rows);
    }

    fn window(&mut self, from_ns: u64, to_ns: u64, tables: &mut Tables, now: &mut Vec<Now>) {
        let Viewed { source, stacks, rows, sink } = self;
        sink.window(source, stacks, rows, (from_ns, to_ns), tables, now);
    }

    fn names(&mut self, tables: &mut Tables) {
        let (stacks, frames, modules) = self.stacks.new_rows();
        tables.stacks.extend(stacks);
        tables.frames.extend(frames);
        tables.modules.extend(modules);
    }

    fn sample_period_ns(&self) -> u64 {
        self.source.sample_period_ns()
    }
}

/// Starts a program and watches it from a separate thread.
fn start<'v>(
    command: &Command,
    looking: Looking<'_>,
    sink: &mut dyn OutputSink,
    stop: &Stop,
    enrol: &mut (dyn FnMut(i32) -> io::Result<()> + Send),
    mut begin: impl FnMut(u32) -> Option<Box<dyn View + Send + 'v>> + Send,
    show: &mut (dyn FnMut(Window) + Send),
) -> Result<End, Error> {
    let ended = AtomicBool::new(false);
    let view = std::sync::Mutex::new(None);
    let mut prepare = |pid: i32| {
        enrol(pid)?;
        *view.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = begin(pid.unsigned_abs());
        Ok(())
    };
    // Either of them ends the program: the user or the time limit.
    let (time_is_up, either) = (Stop::new(), Stop::new());
    std::thread::scope(|scope| {
        let looker = std::thread::Builder::new().spawn_scoped(scope, || {
            let mut view = loop {
                if let Some(view) = view.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take() {
                    break view;
                }
                if ended.load(Ordering::SeqCst) || stop.requested() {
                    return End::Program;
                }
                std::thread::sleep(POLL);
            };
            let end = look(&mut *view, looking, &|| ended.load(Ordering::SeqCst), stop, show);
            if end == End::Time {
                time_is_up.request();
            }
            end
        });
        let looker = looker.map_err(Error::Thread)?;
        let relay = || {
            while !ended.load(Ordering::SeqCst) {
                if stop.requested() || time_is_up.requested() {
                    either.request();
                }
                std::thread::sleep(POLL);
            }
        };
        // The looker ends when the run has ended, also when there was none.
        let finished = match std::thread::Builder::new().spawn_scoped(scope, relay) {
            Ok(_) => run(command, &RunOptions::default(), sink, &either, Some(&mut prepare)),
            Err(source) => Err(Error::Thread(source)),
        };
        ended.store(true, Ordering::SeqCst);
        let end = looker.join().unwrap_or(End::Stopped);
        match finished {
            Ok(_) => Ok(end),
            Err(Error::Interrupted) => Ok(if stop.requested() { End::Stopped } else { end }),
            Err(error) => Err(error),
        }
    })
}

fn look(
    view: &mut dyn View,
    looking: Looking<'_>,
    ended: &dyn Fn() -> bool,
    stop: &Stop,
    show: &mut (dyn FnMut(Window) + Send),
) -> End {
    let begin_ns = monotonic_ns();
    let every_ns = u64::try_from(looking.every.as_nanos()).unwrap_or(u64::MAX).max(1);
    let mut names = Tables::empty(looking.meta.clone());
    let mut from_ns = begin_ns;
    loop {
        std::thread::sleep(POLL);
        view.poll();
        let now_ns = monotonic_ns();
        let end = match () {
            () if ended() => Some(End::Program),
            () if stop.requested() => Some(End::Stopped),
            () if looking.length.is_some_and(|length| u128::from(now_ns - begin_ns) >= length.as_nanos()) => {
                Some(End::Time)
            }
            () => None,
        };
        // The last window is dropped if it is shorter than half a period: it would mean little.
        let last = end.is_some() && (from_ns == begin_ns || now_ns - from_ns >= every_ns / 2);
        if last || now_ns - from_ns >= every_ns {
            let mut tables = Tables::empty(looking.meta.clone());
            let mut now = Vec::new();
            view.window(from_ns, now_ns, &mut tables, &mut now);
            // Names come last, because finding them takes long; what threads do meanwhile belongs to the next window.
            view.names(&mut names);
            (tables.stacks, tables.frames, tables.modules) =
                (names.stacks.clone(), names.frames.clone(), names.modules.clone());
            whole(&mut tables, (from_ns, now_ns), now.len(), view.sample_period_ns());
            show(Window { tables, now });
            from_ns = now_ns;
        }
        if let Some(end) = end {
            return end;
        }
    }
}

/// Adds the rows that describe the window as a whole.
fn whole(tables: &mut Tables, (begin_ns, end_ns): (u64, u64), threads: usize, sample_period_ns: u64) {
    let processors = usable_processors().len() as u32;
    // Names of the calls that threads wait and run in; nothing was counted.
    let waits = tables.waits.iter().filter_map(|wait| wait.syscall);
    let calls: std::collections::BTreeSet<u32> = waits.chain(tables.samples.iter().filter_map(|s| s.syscall)).collect();
    tables.syscalls.extend(calls.into_iter().map(|number| Syscall {
        run: RunId(0),
        thread: ThreadId(0),
        number,
        name: syscall_names::name(number),
        count: 0,
    }));
    let threads = u32::try_from(threads).unwrap_or(u32::MAX).max(1);
    let sum = |of: fn(&recording::tables::Thread) -> u64| tables.threads.iter().map(of).fold(0, u64::saturating_add);
    tables.runs.push(Run {
        started_unix_ns: unix_ns(),
        wall_ns: end_ns.saturating_sub(begin_ns),
        user_ns: sum(|thread| thread.running_ns),
        voluntary_switches: sum(|thread| thread.voluntary_switches),
        involuntary_switches: sum(|thread| thread.involuntary_switches),
        ..Run::blank(RunId(0), RunKind::Traced, threads)
    });
    tables.traces.push(Trace {
        run: RunId(0),
        begin_ns,
        end_ns,
        processors,
        sample_period_ns,
        idle_ns: 0,
        foreign_ns: 0,
        observer_ns: 0,
        listens: None,
        load_begin_ns: None,
        load_end_ns: None,
        load_ns: None,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::tables::{Mode, Sample};

    /// Notes the calls.
    #[derive(Default)]
    struct Noted {
        calls: Vec<&'static str>,
    }

    impl View for Noted {
        fn poll(&mut self) {
            self.calls.push("poll");
        }

        fn window(&mut self, _: u64, _: u64, _: &mut Tables, _: &mut Vec<Now>) {
            self.calls.push("window");
        }

        fn names(&mut self, _: &mut Tables) {
            self.calls.push("names");
        }

        fn sample_period_ns(&self) -> u64 {
            0
        }
    }

    /// The view shows names of system calls, not numbers: of those that threads wait in and of those that they run in.
    #[test]
    fn calls_of_waits_and_of_samples_are_named() {
        let mut tables = Tables::empty(recording::synthetic::meta(1));
        let sample = |syscall| Sample {
            run: RunId(0),
            thread: ThreadId(0),
            time_ns: 1,
            processor: 0,
            mode: Mode::Kernel,
            syscall,
            user_stack: None,
            kernel_stack: None,
            goroutine: None,
        };
        let (munmap, fault) = (libc::SYS_munmap as u32, None);
        tables.samples = vec![sample(Some(munmap)), sample(fault), sample(Some(munmap))];
        whole(&mut tables, (0, 1), 1, 1);
        let named: Vec<(u32, &str)> = tables.syscalls.iter().map(|row| (row.number, row.name.as_str())).collect();
        assert_eq!(named, [(munmap, "munmap")]);
    }

    /// Otherwise a thread's times in a window would exceed the window's length.
    #[test]
    fn nothing_that_takes_long_lies_between_a_windows_end_and_its_rows() {
        let (meta, mut view, stop) = (recording::synthetic::meta(1), Noted::default(), Stop::new());
        stop.request();
        let looking =
            Looking { collector: Collector::Proc, every: Duration::from_millis(1), length: None, meta: &meta };
        let mut windows = 0;
        assert_eq!(look(&mut view, looking, &|| false, &stop, &mut |_| windows += 1), End::Stopped);
        assert_eq!((windows, view.calls), (1, vec!["poll", "window", "names"]));
    }
}
