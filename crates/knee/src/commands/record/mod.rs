//! `knee record`: one observed run, of a program that it starts or of a running process. Rooms: `under_load` a server
//! that is started with its load.
//!
//! May import: `cli`, `failure`, `file`, `interrupt`, `job`, `naming`, `observing`, `plan`, `serving`, `shared`, `sweep`,
//! `target`, `throughput`, `ui`, `collect`, `recording`.

mod under_load;

use super::shared::answer;
use super::sweep::{create, default_folder, explain};
use crate::cli;
use crate::failure::{Failure, Status};
use crate::file::functions;
use crate::naming;
use crate::observing::{self, Wanted};
use crate::plan::Planned;
use crate::plan::template::variable;
use crate::sweep::record::row;
use crate::target;
use crate::{interrupt, ui};
use collect::error::shortage;
use collect::probe::Findings;
use collect::{Attached, Collector, Command, End, Error, Observer, OutputSink, RunOptions, Stop, Stream, Tracer};
use recording::meta::{Capability, Completion, Counted, Meta};
use recording::tables::{Run, RunKind, Thread};
use recording::{Recording, Writer};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use under_load::{RUN, UnderLoad};

pub(crate) fn run(options: &cli::Record) -> anyhow::Result<ui::Code> {
    let env = options.env.iter().map(|text| variable(text)).collect::<Result<Vec<_>, _>>();
    let env = env.map_err(|what| Failure::new(Status::Usage, what))?;
    if let Some(program) = options.command.first() {
        target::check(program, None, std::env::var_os("PATH").as_deref())?;
    }
    let loaded = UnderLoad::from_options(options)?;
    let command = match options.pid {
        Some(pid) => running_command(pid)?,
        None => options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
    };
    let functions = functions::declared(options.primitives.as_deref())?;
    let load = loaded.as_ref().map(UnderLoad::described);
    let Findings { capabilities, lacked_descriptors } = collect::probe::probe();
    let mut meta = Meta { functions, load, ..describe(command, &env, options.pid, capabilities) };
    let wanted = if options.pid.is_some() { Wanted::ForRunning } else { Wanted::from_option(options.collector) };
    let Some(collector) = observing::choose(wanted, lacked_descriptors, &mut meta.capabilities)? else {
        return Err(observing::nothing_works(lacked_descriptors, &meta.capabilities).into());
    };
    let folder = options.output.clone().unwrap_or_else(|| default_folder(&PathBuf::from(&meta.command[0])));
    let mut writer = create(&folder, &meta)?;
    let stop = Stop::new();
    interrupt::listen(&stop)?;
    let made = match (options.pid, &loaded) {
        (Some(pid), _) => attach(pid, options, &stop, &mut writer, &mut meta.notes),
        (None, Some(load)) => load
            .observe(collector, (&options.command, env), &stop, &mut writer, &mut meta)
            .and_then(|(run, stopped)| Ok((Run { threads: peak(writer.folder())?, ..run }, stopped))),
        (None, None) => start(collector, options, env, &stop, &mut writer, &mut meta.notes),
    };
    collect::rights::keep_for(collect::rights::Task::Reading)?;
    let result = made.and_then(|(run, stopped)| conclude(run, stopped, &folder, &mut writer, &mut meta, options));
    if result.is_err() {
        // Nothing was observed: an empty recording would only be in the way. If it cannot be removed, it does no harm.
        let _ = fs::remove_dir_all(&folder);
    } else if let Err(error) = collect::launch::user::give_to_caller(&folder) {
        ui::say(&format!("knee: the recording stays root's: {error}"));
    }
    result
}

/// Starts the program and observes it to its end. The flag is true when the user stopped it.
fn start(
    collector: Collector,
    options: &cli::Record,
    env: Vec<(OsString, OsString)>,
    stop: &Stop,
    writer: &mut Writer,
    notes: &mut Vec<String>,
) -> anyhow::Result<(Run, bool)> {
    let named = naming::variables(&options.command, &env, collector, |name| std::env::var_os(name));
    let command = Command {
        argv: options.command.clone(),
        env: env.into_iter().chain(named).collect(),
        cwd: None,
        processors: Vec::new(),
    };
    let run_options = RunOptions { interactive: true, ..RunOptions::default() };
    let mut observer = Observer::new(collector);
    let finished = observer.run(&command, &run_options, &mut Terminal, stop, writer, RUN);
    notes.extend(observer.notes());
    let finished = finished.map_err(|error| explain(error.into()))?;
    let threads = peak(writer.folder())?;
    Ok((row(RUN, Planned { case: 0, kind: RunKind::Traced, threads, block: 0 }, &finished), stop.requested()))
}

/// Observes a running program. The flag is true when the user stopped it before its time was up.
fn attach(
    pid: u32,
    options: &cli::Record,
    stop: &Stop,
    writer: &mut Writer,
    notes: &mut Vec<String>,
) -> anyhow::Result<(Run, bool)> {
    let until = if options.length.is_some() { "" } else { "; Ctrl-C ends observing and leaves the program alone" };
    ui::say(&format!("knee: observing process {pid}{until}"));
    let mut tracer = Tracer::new();
    let attached = tracer.attach(pid, options.length, stop, writer, RUN);
    notes.extend(tracer.notes());
    let Attached { run, end } = attached.map_err(of_process)?;
    Ok((run, end == End::Stopped && options.length.is_some()))
}

pub(super) fn of_process(error: Error) -> anyhow::Error {
    match refused(&error, is_root()) {
        Some((status, hint)) => Failure::new(status, format!("{:#}", anyhow::Error::from(error))).hint(hint).into(),
        None => error.into(),
    }
}

/// The exit status of a process that cannot be observed, and what to do; none for other errors.
fn refused(error: &Error, root: bool) -> Option<(Status, &'static str)> {
    if let Some(advice) = shortage(error) {
        return Some((Status::Internal, advice));
    }
    Some(match error {
        Error::NoProcess { .. } => (Status::Usage, "`pgrep -l NAME` finds a process by its name"),
        Error::MayGain { .. } => (
            Status::Permission,
            "use sudo, or start it with `knee record -- COMMAND` or `setpriv --no-new-privs COMMAND`",
        ),
        Error::Process { .. } if root => (
            Status::Permission,
            "the kernel keeps it from root too: outside of the container it may be possible, or where a security module \
             such as AppArmor or SELinux allows it",
        ),
        Error::Process { .. } => {
            (Status::Permission, "observing another user's process needs root: the same command with sudo")
        }
        _ => return None,
    })
}

/// True when knee runs as root: /proc/self belongs to the user that knee acts as.
fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0)
}

fn conclude(
    mut run: Run,
    stopped: bool,
    folder: &Path,
    writer: &mut Writer,
    meta: &mut Meta,
    options: &cli::Record,
) -> anyhow::Result<ui::Code> {
    run.threads = run.threads.max(1);
    meta.thread_counts = vec![run.threads];
    meta.completion = if stopped { Completion::Interrupted } else { Completion::Finished };
    let whose = if meta.load.is_some() { "load" } else { "program" };
    let failed = match (run.exit_status, run.signal) {
        // The user ended the load.
        _ if stopped && meta.load.is_some() => None,
        (_, Some(signal)) => Some(format!("signal {signal} ended the {whose}")),
        (Some(status), _) if status != 0 => Some(format!("the {whose} ended with status {status}")),
        _ => None,
    };
    meta.notes.extend(failed);
    writer.append(&[run])?;
    writer.set_meta(meta)?;
    let answer = answer::keep(folder)?;
    answer::print(&answer, folder, options.format)?;
    Ok(if stopped { ui::INTERRUPTED } else { ui::OK })
}

/// The largest number of threads alive at the same time.
fn peak(folder: &Path) -> anyhow::Result<u32> {
    let threads: Vec<Thread> = Recording::open(folder)?.rows()?;
    let mut changes: Vec<(u64, i32)> = threads.iter().flat_map(|t| [(t.start_ns, 1), (t.end_ns, -1)]).collect();
    // At the same time, ends sort before begins, because -1 < 1.
    changes.sort_unstable();
    let mut alive = 0;
    let peak = changes.into_iter().map(|(_, change)| {
        alive += change;
        alive
    });
    Ok(peak.max().unwrap_or(1).unsigned_abs())
}

/// What is known before anything is observed; `pid` is that of a program that runs already.
pub(super) fn describe(
    command: Vec<String>,
    env: &[(OsString, OsString)],
    pid: Option<u32>,
    capabilities: Vec<Capability>,
) -> Meta {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let text = |text: &OsString| text.to_string_lossy().into_owned();
    Meta {
        format: recording::FORMAT,
        knee: env!("CARGO_PKG_VERSION").to_owned(),
        completion: Completion::Unfinished,
        started_unix_ns: now,
        command,
        environment: env.iter().map(|(name, value)| (text(name), text(value))).collect(),
        thread_counts: Vec::new(),
        counted: Counted::Threads,
        processor_order: Vec::new(),
        load: None,
        runs_per_count: 0,
        order_seed: 0,
        machine: pid.map_or_else(collect::machine::machine, collect::machine::machine_of),
        clock: "CLOCK_MONOTONIC".to_owned(),
        throughput: None,
        capabilities,
        imported: None,
        folder: None,
        tried: Vec::new(),
        functions: Vec::new(),
        notes: Vec::new(),
    }
}

/// The command line of a running process, as the process shows it.
pub(super) fn running_command(pid: u32) -> anyhow::Result<Vec<String>> {
    let gone = |source| of_process(Error::process(pid, source));
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).map_err(gone)?;
    let command: Vec<String> =
        bytes.split(|b| *b == 0).filter(|a| !a.is_empty()).map(|a| String::from_utf8_lossy(a).into_owned()).collect();
    // Kernel threads have none, nor have programs that erased theirs.
    Ok(if command.is_empty() { vec![format!("process-{pid}")] } else { command })
}

/// A sink for a program that writes to the terminal itself.
struct Terminal;

impl OutputSink for Terminal {
    fn bytes(&mut self, _: Stream, _: &[u8]) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For example `knee watch -p 1` in a container, where even root is refused.
    #[test]
    fn only_users_who_are_not_root_are_told_to_use_root() {
        let denied = Error::process(1, std::io::Error::from_raw_os_error(EACCES));
        let hint = |root| refused(&denied, root).map(|(status, hint)| (status as u8, hint)).unwrap_or_default();
        assert!(hint(false).1.contains("needs root") && hint(false).0 == Status::Permission as u8);
        assert!(!hint(true).1.contains("needs root") && hint(true).1.contains("outside of the container"));
        assert_eq!(hint(true).0, Status::Permission as u8);
    }

    /// "Permission denied" of errno(3).
    const EACCES: i32 = 13;
}
