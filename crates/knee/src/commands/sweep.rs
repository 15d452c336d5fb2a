//! `knee sweep`: from the options to a recording and its answer. May import: everything.

use super::answer;
use crate::cli::{self, Format};
use crate::executor::Processes;
use crate::failure::{Failure, Status, of_io};
use crate::observing;
use crate::plan::{Amounts, Planned, plan};
use crate::sweep::{Outcome, Progress, ProgressMode, Sweep};
use crate::template::{PLACEHOLDER, Template, variable};
use crate::throughput::Forms;
use crate::{interrupt, target, ui};
use anyhow::Context;
use collect::{Collector, Stop};
use recording::Writer;
use recording::meta::{Completion, Meta};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) fn run(options: &cli::Sweep) -> anyhow::Result<ui::Code> {
    let template = template(options)?;
    let forms = forms(options)?;
    // The placeholder may be part of the program's name.
    let (argv, _) = template.at(options.threads.0.first().copied().unwrap_or(1));
    target::check(argv.first().map_or(OsStr::new(""), OsString::as_os_str), std::env::var_os("PATH").as_deref())?;

    let mut meta = describe(options, &template);
    let collector = observing::choose(options.collector, &mut meta.capabilities)?;
    let traced = !options.no_trace && collector.is_some();
    let amounts = amounts(options, traced);
    meta.runs_per_count = amounts.timed;
    let plan = plan(&meta.thread_counts, amounts, meta.order_seed);

    let folder = options
        .output
        .clone()
        .unwrap_or_else(|| default_folder(template.argv.first().map_or(Path::new(""), Path::new)));
    let mut writer = create(&folder, &meta)?;
    let stop = Stop::new();
    interrupt::listen(&stop)?;
    // Without any, no run is observed.
    let executor = Processes::new(
        options.timeout.map(Duration::from_secs_f64),
        stop.clone(),
        collector.unwrap_or(Collector::Proc),
    );
    let outcome = sweep(executor, options, &template, &plan, &forms, &stop, &mut writer, &mut meta);
    let result = conclude(outcome, &folder, &mut writer, &mut meta, options.format);
    // Under sudo the files are the caller's. Failing that they stay root's, which the user can see and change.
    if let Err(error) = collect::user::give_to_caller(&folder) {
        ui::say(&format!("knee: the recording stays root's: {error}"));
    }
    result
}

#[expect(clippy::too_many_arguments, reason = "what a sweep is made of, named where it is called")]
fn sweep(
    mut executor: Processes,
    options: &cli::Sweep,
    template: &Template,
    plan: &[Planned],
    forms: &Forms,
    stop: &Stop,
    writer: &mut Writer,
    meta: &mut Meta,
) -> anyhow::Result<Outcome> {
    let mode = match (options.quiet, ui::watched()) {
        (true, _) => ProgressMode::Quiet,
        (false, true) => ProgressMode::Line,
        (false, false) => ProgressMode::Plain,
    };
    let mut stderr = ui::Stderr;
    let mut progress = Progress::new(&mut stderr, mode);
    let output = writer.folder().join(answer::OUTPUT);
    let sweep = Sweep { template, plan, forms, stop, output, show_output: options.show_output };
    sweep.run(&mut executor, writer, meta, &mut progress)
}

/// Closes the recording, answers, and decides the exit status.
fn conclude(
    outcome: anyhow::Result<Outcome>,
    folder: &Path,
    writer: &mut Writer,
    meta: &mut Meta,
    format: Format,
) -> anyhow::Result<ui::Code> {
    let outcome = outcome.map_err(explain)?;
    meta.completion = if outcome.interrupted { Completion::Interrupted } else { Completion::Finished };
    writer.set_meta(meta)?;
    if outcome.timed == 0 {
        return Err(nothing_measured(outcome).into());
    }
    let answer = answer::keep(folder)?;
    answer::print(&answer, folder, format)?;
    Ok(if outcome.interrupted { ui::INTERRUPTED } else { ui::OK })
}

/// Without a timed run there is no answer.
fn nothing_measured(outcome: Outcome) -> Failure {
    if outcome.interrupted {
        return Failure::new(Status::Interrupted, "interrupted before a timed run was finished");
    }
    match outcome.broken.into_iter().next() {
        Some((threads, broken)) => {
            let threads = report::words::plural(threads.into(), "thread");
            let failure = Failure::new(
                Status::Target,
                format!("the program failed at every thread count; with {threads}: {}", broken.why),
            );
            // Its last lines were shown when it failed.
            if broken.output.is_empty() { failure.hint("it printed nothing") } else { failure }
        }
        None => Failure::new(Status::Internal, "no run was made"),
    }
}

/// Gives knee's own failures an exit status.
pub(super) fn explain(error: anyhow::Error) -> anyhow::Error {
    let status = match error.downcast_ref::<collect::Error>() {
        Some(collect::Error::Start { .. } | collect::Error::EmptyCommand) => Status::Target,
        Some(collect::Error::SetUserId { .. }) => Status::Permission,
        _ => return error,
    };
    let failure = Failure::new(status, format!("{error:#}"));
    match error.downcast_ref::<collect::Error>() {
        Some(collect::Error::Start { program, source }) if source.kind() == std::io::ErrorKind::NotFound => failure
            .hint(format!("{} is there; what it needs to be run (its #! line or its loader) is not", program.display()))
            .into(),
        _ => failure.into(),
    }
}

fn template(options: &cli::Sweep) -> Result<Template, Failure> {
    let usage = |what: String| Failure::new(Status::Usage, what);
    let env = options.env.iter().map(|text| variable(text)).collect::<Result<_, _>>().map_err(usage)?;
    let template = Template { argv: options.command.clone(), env };
    if template.has_placeholder() {
        return Ok(template);
    }
    let program = template.argv.first().map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
    Err(usage(format!("{PLACEHOLDER} occurs nowhere, so every run would be the same")).hint(format!(
        "write it where {program} takes its thread count, as in -- {program} --threads={PLACEHOLDER}; for OpenMP and \
         others that read a variable: --env OMP_NUM_THREADS={PLACEHOLDER}"
    )))
}

fn forms(options: &cli::Sweep) -> Result<Forms, Failure> {
    match &options.throughput {
        Some(pattern) => {
            Forms::given(pattern).map_err(|why| Failure::new(Status::Usage, format!("--throughput: {why}")))
        }
        None => Forms::common().map_err(|why| Failure::new(Status::Internal, why)),
    }
}

fn amounts(options: &cli::Sweep, traced: bool) -> Amounts {
    let (timed, warm_up) = if options.quick { (3, 0) } else { (5, 1) };
    Amounts { timed: options.runs.unwrap_or(timed), warm_up: options.warm_up.unwrap_or(warm_up), traced }
}

fn describe(options: &cli::Sweep, template: &Template) -> Meta {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let text = |text: &OsString| text.to_string_lossy().into_owned();
    Meta {
        format: recording::FORMAT,
        knee: env!("CARGO_PKG_VERSION").to_owned(),
        completion: Completion::Unfinished,
        started_unix_ns: now,
        command: template.argv.iter().map(text).collect(),
        environment: template.env.iter().map(|(name, value)| (text(name), text(value))).collect(),
        thread_counts: options.threads.0.clone(),
        runs_per_count: 0,
        order_seed: options.seed.unwrap_or(now),
        machine: collect::machine::machine(),
        clock: "CLOCK_MONOTONIC".to_owned(),
        throughput: None,
        capabilities: collect::probe::probe(),
        notes: Vec::new(),
    }
}

/// `./knee-PROGRAM-YYYYMMDD-HHMMSS`, in local time; with a number behind it when that exists.
pub(super) fn default_folder(program: &Path) -> PathBuf {
    let program = program.file_name().unwrap_or_default().to_string_lossy();
    // A folder name that needs no quotes in any shell.
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    let program: String = program.chars().take(40).map(plain).collect();
    let name = format!("knee-{program}-{}", jiff::Zoned::now().strftime("%Y%m%d-%H%M%S"));
    let numbered = (2..).map(|n| PathBuf::from(format!("{name}-{n}")));
    std::iter::once(PathBuf::from(&name)).chain(numbered).find(|folder| !folder.exists()).unwrap_or(name.into())
}

pub(super) fn create(folder: &Path, meta: &Meta) -> anyhow::Result<Writer> {
    let writer = Writer::create(folder, meta).map_err(|error| {
        let status = match &error {
            recording::Error::Io { source, .. } => of_io(source),
            _ => Status::Internal,
        };
        Failure::new(status, format!("{:#}", anyhow::Error::from(error)))
            .hint("-o DIR names a new folder for the recording")
    })?;
    fs::create_dir(folder.join(answer::OUTPUT)).context("failed to create the folder of the program's output")?;
    Ok(writer)
}
