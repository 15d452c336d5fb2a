//! `knee sweep`: from the options to the recordings and their answer.

use super::shared::new_folder::new_folder;
use super::shared::{answer, dry_run, pair, side_by_side, trials};
use crate::cli::{self, AnswerFormat, Making, Observing};
use crate::executor::Processes;
use crate::failure::{Failure, Status, of_io};
use crate::file::functions;
use crate::gate::{self, Gate, Passage};
use crate::index::{self, Entry, Index, NotTried, Question};
use crate::job::{self, Job};
use crate::observing::{self, Wanted};
use crate::plan::template::Template;
use crate::plan::{more, plan};
use crate::serving::ServingPlan;
use crate::sweep::{Case, Outcome, Progress, ProgressMode, SweepRuns};
use crate::{file, interrupt, quiet, target, ui};
use anyhow::Context;
use collect::error::shortage;
use collect::machine::busy::Busy;
use collect::{Ahead, Collector, Stop};
use recording::Writer;
use recording::meta::{Completion, Load, Meta};
use recording::tables::RunKind;
use report::comparison::Parameter;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) fn run(options: &cli::Sweep) -> anyhow::Result<ui::Code> {
    let job = match &options.file {
        Some(path) => job::of_file(&file::load(path)?, &options.options)?,
        None => job::of_command(&options.command, options)?,
    };
    let job = Job { confirm: options.confirm, ..job };
    if job.confirm && job.cases.len() > 1 {
        let what = format!("--confirm is for one case, and the sweep has {}", job.cases.len());
        return Err(Failure::new(Status::Usage, what)
            .hint("choose one with --variant, and one value with --param")
            .into());
    }
    if let Some(first) = options.fail_if.first() {
        let asked = options.fail_if.iter().find(|condition| !job.threads.contains(&condition.at()));
        if let Some(condition) = asked {
            let what = format!("--fail-if: {condition}: the sweep does not run that count");
            return Err(Failure::new(Status::Usage, what).into());
        }
        if job.cases.len() > 1 {
            let what =
                format!("--fail-if: {first}: the sweep has {} cases, and a condition is about one", job.cases.len());
            return Err(Failure::new(Status::Usage, what)
                .hint("choose one with --variant, and one value with --param")
                .into());
        }
    }
    let gate = if options.fail_if.is_empty() { Gate::Open } else { Gate::FailIf(options.fail_if.clone()) };
    carry_out(&job, (&options.options.making, &options.options.observing), &gate, options.fail_if_unsure)
}

/// A case's recording while it is being made.
struct Recording {
    folder: PathBuf,
    writer: Writer,
    meta: Meta,
}

/// Runs the sweep and prints its answer.
pub(super) fn carry_out(
    job: &Job,
    (options, observe): (&Making, &Observing),
    gate: &Gate,
    unsure_fails: bool,
) -> anyhow::Result<ui::Code> {
    job.check_programs(std::env::var_os("PATH").as_deref())?;
    if job.cases.len() > 1 {
        answer::no_sarif(options.format)?;
    }
    let functions = functions::declared(observe.primitives.as_deref())?;
    // Loads the BPF programs while `probe` runs, which takes as long, and before anything is timed.
    let ahead = Arc::new(Ahead::new());
    if !options.plan && job.amounts.traced && observe.collector.is_none_or(|asked| asked == Collector::Bpf) {
        ahead.start();
    }
    let found = collect::probe::probe();
    let mut described = Meta { functions, capabilities: found.capabilities, ..describe(job, options) };
    let wanted = Wanted::from_option(observe.collector);
    let collector = observing::choose(wanted, found.lacked_descriptors, &mut described.capabilities)?;
    let amounts = crate::plan::Amounts { traced: job.amounts.traced && collector.is_some(), ..job.amounts };
    if options.plan {
        return dry_run::print(job, amounts);
    }
    let plan = plan(job.cases.len(), &job.threads, amounts, described.order_seed);
    let more = more(job.cases.len(), &job.threads, amounts, described.order_seed);
    let asked = options.output.as_ref().or(job.folder.as_ref()).cloned();
    let folder = asked.unwrap_or_else(|| default_folder(&job.name));
    let mut recordings = create_all(job, &folder, &described)?;
    for library in &job.preloads {
        library.write(&folder).with_context(|| format!("failed to write {}", library.within(&folder).display()))?;
    }
    // The program runs as the calling user and must be able to load them.
    if !job.preloads.is_empty() {
        collect::launch::user::give_to_caller(&folder)?;
    }
    let stop = Stop::new();
    interrupt::listen(&stop)?;
    let mode = match (options.quiet, ui::watched()) {
        (true, _) => ProgressMode::Quiet,
        (false, true) => ProgressMode::Line,
        (false, false) => ProgressMode::Plain,
    };
    let labels = if job.cases.len() > 1 { job.cases.iter().map(|case| case.label()).collect() } else { Vec::new() };
    let mut stderr = ui::Stderr;
    let mut progress = Progress::new(&mut stderr, mode, labels, job.counted);
    if let Some(busy) = before_the_first_run(options, described.machine.processors, &stop, &mut progress) {
        recordings.iter_mut().for_each(|recording| recording.meta.notes.push(busy.clone()));
    }
    let sweep = SweepRuns {
        plan: &plan,
        more: &more,
        forms: &job.forms,
        stop: &stop,
        show_output: options.show_output,
        repeats: job.repeats,
        processors: described.machine.usable_processors,
        counted: job.counted,
        first_answer: (job.cases.len() == 1 && mode != ProgressMode::Quiet).then_some(&first_answer as _),
    };
    let cases = job.cases.iter().zip(&mut recordings).map(|(case, recording)| Case {
        template: &case.template,
        output: recording.folder.join(answer::OUTPUT),
        writer: &mut recording.writer,
        meta: &mut recording.meta,
    });
    let observed = plan.iter().filter(|planned| planned.kind == RunKind::Traced).count();
    ahead.expect(if collector == Some(Collector::Bpf) { observed } else { 0 });
    // Without a collector no run is observed; then this one is never used.
    let mut executor =
        Processes::new(job.timeout, stop.clone(), collector.unwrap_or(Collector::Proc), job.order.clone())
            .serving(job.serving.clone())
            .loaded(ahead);
    let outcomes = sweep.run(cases.collect(), &mut executor, &mut progress);
    collect::rights::keep_for(collect::rights::Task::Reading)?;
    let result = outcomes.map_err(explain).and_then(|outcomes| {
        for recording in &mut recordings {
            recording.meta.completion =
                if outcomes.interrupted { Completion::Interrupted } else { Completion::Finished };
            recording.writer.set_meta(&recording.meta)?;
        }
        let failed = |case: &Outcome| case.timed == 0;
        let nothing = match job.question {
            Question::Cases => outcomes.cases.iter().all(failed),
            // One command alone is no comparison.
            Question::Compare | Question::Noise => outcomes.cases.iter().any(failed),
            // Without the unchanged program there is nothing to compare with.
            Question::Try => outcomes.cases.first().is_none_or(failed),
        };
        if nothing {
            return Err(nothing_measured(job, outcomes.cases, outcomes.interrupted).into());
        }
        let failed = failed_trials(job, &outcomes.cases);
        let passage = conclude(job, &folder, (!outcomes.interrupted, failed), options.format, gate)?;
        Ok(if outcomes.interrupted { ui::INTERRUPTED } else { code(passage, unsure_fails) })
    });
    // Under sudo, give the files to the calling user. If that fails they stay root's; the user can see and change that.
    if let Err(error) = collect::launch::user::give_to_caller(&folder) {
        ui::say(&format!("knee: the recording stays root's: {error}"));
    }
    result
}

/// Waits for a quiet machine. Returns what to note if it is not quiet.
fn before_the_first_run(options: &Making, processors: u32, stop: &Stop, progress: &mut Progress<'_>) -> Option<String> {
    if options.no_wait {
        return None;
    }
    let usual = if ui::watched() && !options.quiet { quiet::USUAL } else { Duration::ZERO };
    let patience = options.wait_for_quiet.unwrap_or(usual);
    let waits = |busy: &Busy, waited| progress.waits(&quiet::words(busy), waited, patience);
    match quiet::wait(patience, stop, || quiet::look(processors), waits) {
        quiet::Quietness::Quiet => None,
        quiet::Quietness::Busy(busy) => Some(format!("before the first run {}", quiet::words(&busy))),
    }
}

/// One case becomes a recording; several become a folder of recordings with an index.
fn create_all(job: &Job, folder: &Path, described: &Meta) -> anyhow::Result<Vec<Recording>> {
    let of = |template: &Template| {
        let text = |text: &OsString| text.to_string_lossy().into_owned();
        let mut meta = described.clone();
        meta.command = template.argv.iter().map(text).collect();
        meta.folder = ran_in(template.folder.as_deref());
        let load = |(plan, words): (&ServingPlan, &Vec<OsString>)| Load {
            command: words.iter().map(text).collect(),
            processors: plan.processors.clone(),
            ready: plan.ready.option(),
        };
        meta.load = job.serving.as_ref().zip(template.load.as_ref()).map(load);
        meta.environment = template.env.iter().map(|(name, value)| (text(name), text(value))).collect();
        meta
    };
    let make = |folder: PathBuf, template: &Template| {
        let meta = of(template);
        Ok(Recording { writer: create(&folder, &meta)?, folder, meta })
    };
    if let [only] = job.cases.as_slice() {
        return Ok(vec![make(folder.to_owned(), &only.template)?]);
    }
    // Only for its owner, like each recording.
    DirBuilder::new().mode(0o700).create(folder).map_err(|error| {
        Failure::new(of_io(&error), format!("cannot create {}: {error}", folder.display()))
            .hint(new_folder(folder, &error))
    })?;
    index::write(&index_of(job, false, Vec::new()), folder)?;
    job.cases.iter().map(|case| make(folder.join(&case.folder), &case.template)).collect()
}

/// Trials with which the program failed.
fn failed_trials(job: &Job, outcomes: &[Outcome]) -> Vec<NotTried> {
    let failed = job.cases.iter().zip(outcomes).filter_map(|(case, outcome)| {
        let (_, broken) = outcome.broken.iter().next()?;
        Some(NotTried { trial: case.variant.clone(), why: broken.why.clone() })
    });
    failed.collect()
}

fn index_of(job: &Job, complete: bool, failed: Vec<NotTried>) -> Index {
    let parameter = |(name, value): &(String, String)| Parameter { name: name.clone(), value: value.clone() };
    let entry = |case: &crate::plan::cases::CaseSpec| Entry {
        variant: case.variant.clone(),
        parameters: case.parameters.iter().map(parameter).collect(),
        recording: case.folder.clone(),
        expect: case.expect.clone(),
    };
    Index {
        format: index::format(),
        knee: env!("CARGO_PKG_VERSION").to_owned(),
        title: job.title.clone(),
        question: job.question,
        counts: Some(false).filter(|_| !job.counts),
        file: job.file.clone(),
        complete,
        picture: job.picture.clone(),
        cases: job.cases.iter().map(entry).collect(),
        skipped: job.skipped.clone(),
        experiment: job.experiment.clone().map(|experiment| index::Experiment { failed, ..experiment }),
    }
}

/// Answers from what was recorded.
fn conclude(
    job: &Job,
    folder: &Path,
    (complete, failed): (bool, Vec<NotTried>),
    format: AnswerFormat,
    gate: &Gate,
) -> anyhow::Result<Passage> {
    if job.cases.len() == 1 {
        let mut answer = answer::keep(folder)?;
        if job.confirm && complete && answer.verdict.found().next().is_some() {
            confirm(folder)?;
            answer = answer::answer_of(folder, None)?;
        }
        answer::print(&answer, folder, format)?;
        return Ok(match gate {
            Gate::FailIf(conditions) => gate::fails(&answer, conditions),
            _ => Passage::Free,
        });
    }
    index::write(&index_of(job, complete, failed), folder)?;
    match job.question {
        Question::Try => {
            let experiment = trials::keep(folder)?;
            trials::mark(&experiment)?;
            trials::print(&experiment, folder, format)?;
            Ok(Passage::Free)
        }
        Question::Cases => {
            side_by_side::print(&side_by_side::keep(folder)?, folder, format)?;
            Ok(Passage::Free)
        }
        Question::Compare | Question::Noise => {
            let pair = pair::keep(folder)?;
            pair::print(&pair, folder, format)?;
            Ok(match gate {
                Gate::Slower(by) => gate::slower(&pair.comparison, *by),
                _ => Passage::Free,
            })
        }
    }
}

/// Makes the trials of a recording's first cause, in a second knee: before it read the recording, this process gave up
/// the rights that it would need to start a program as another user.
fn confirm(folder: &Path) -> anyhow::Result<()> {
    let knee = std::env::current_exe().context("failed to find knee itself")?;
    let beside = default_folder(&PathBuf::from(format!("try-{}", folder.file_name().unwrap_or_default().display())));
    let mut command = std::process::Command::new(knee);
    command.arg("try").arg(folder).args(["--no-wait", "-o"]).arg(&beside).stdout(std::process::Stdio::null());
    // What stops it is on standard error. The answer of the sweep stands without it.
    command.status().context("failed to start knee for the trials")?;
    if beside.exists() {
        ui::say(&format!("knee: the trials are in {}: knee report {0}", beside.display()));
    }
    Ok(())
}

/// What an unfinished recording's answer says in a sentence or two, if it has a cause. It is made by a second knee, because this
/// one still has the rights to start programs, and reads no recording while it has them.
fn first_answer(folder: &Path) -> Option<String> {
    let knee = std::env::current_exe().ok()?;
    let report = std::process::Command::new(knee)
        .arg("report")
        .arg(folder)
        .args(["--format", "json"])
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .output()
        .ok()?;
    let answer: serde_json::Value = serde_json::from_slice(&report.stdout).ok()?;
    let verdict = answer.get("verdict")?;
    let cause = verdict.get("causes")?.get(0)?.get("id")?.as_str()?;
    if cause == "none" {
        return None;
    }
    Some(verdict.get("summary")?.as_str()?.to_owned())
}

/// The exit status for scripts.
fn code(passage: Passage, unsure_fails: bool) -> ui::Code {
    match passage {
        Passage::Free => ui::OK,
        Passage::Barred(why) => {
            ui::say(&format!("knee: {why}"));
            ui::BARRED
        }
        Passage::Open(why) => {
            ui::say(&format!("knee: {why}"));
            if unsure_fails { ui::UNSURE } else { ui::OK }
        }
    }
}

/// The failure of a sweep without any timed run.
fn nothing_measured(job: &Job, cases: Vec<Outcome>, interrupted: bool) -> Failure {
    if interrupted {
        return Failure::new(Status::Interrupted, "interrupted before a timed run was finished");
    }
    let failed = cases.into_iter().enumerate().filter(|(_, case)| case.timed == 0);
    match failed.flat_map(|(case, of)| of.broken.into_iter().map(move |broken| (case, broken))).next() {
        Some((case, (threads, broken))) => {
            let threads = job.counted.many(threads);
            let who = match (job.question, job.cases.get(case)) {
                (Question::Compare, Some(case)) => case.variant.as_str(),
                _ => "the program",
            };
            let failure = Failure::new(
                Status::Target,
                match job.counts {
                    true => {
                        format!("{who} failed at every {} count; with {threads}: {}", job.counted.word(), broken.why)
                    }
                    false => format!("{who} failed: {}", broken.why),
                },
            );
            // Its last lines of output were shown when it failed.
            if broken.output.is_empty() { failure.hint("it printed nothing") } else { failure }
        }
        None => Failure::new(Status::Internal, "no run was made"),
    }
}

/// Gives knee's own failures an exit status.
pub(super) fn explain(error: anyhow::Error) -> anyhow::Error {
    let Some(reason) = error.downcast_ref::<collect::Error>() else { return error };
    let failure = |status| Failure::new(status, format!("{error:#}"));
    if let Some(advice) = shortage(reason) {
        return failure(Status::Internal).hint(advice).into();
    }
    match reason {
        collect::Error::Start { program, source } => {
            let user = collect::launch::user::sudo_caller().map(|caller| caller.name);
            let hint = target::not_started(program, source.kind(), user.as_deref());
            hint.into_iter().fold(failure(Status::Target), Failure::hint).into()
        }
        collect::Error::EmptyCommand => failure(Status::Target).into(),
        collect::Error::SetUserId { .. } => failure(Status::Permission).into(),
        _ => error,
    }
}

/// The folder where a program runs, as an absolute path.
pub(super) fn ran_in(folder: Option<&Path>) -> Option<String> {
    let whole = std::path::absolute(folder.unwrap_or(Path::new("."))).ok()?;
    Some(whole.canonicalize().unwrap_or(whole).to_string_lossy().into_owned())
}

fn describe(job: &Job, options: &Making) -> Meta {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    Meta {
        format: recording::FORMAT,
        knee: env!("CARGO_PKG_VERSION").to_owned(),
        completion: Completion::Unfinished,
        started_unix_ns: now,
        command: Vec::new(),
        environment: Vec::new(),
        thread_counts: job.threads.clone(),
        counted: job.counted,
        processor_order: job.order.clone(),
        load: None,
        runs_per_count: job.amounts.timed,
        order_seed: options.seed.unwrap_or(now),
        machine: collect::machine::machine(),
        clock: "CLOCK_MONOTONIC".to_owned(),
        throughput: None,
        capabilities: Vec::new(),
        imported: None,
        folder: None,
        tried: Vec::new(),
        functions: Vec::new(),
        notes: notes(job),
    }
}

/// What the reader of a single recording must know.
fn notes(job: &Job) -> Vec<String> {
    let why = "no thread count was given: the account is that of all processors, whatever the program's threads";
    let count_chosen_by_program = !job.counts && job.amounts.traced;
    job.notes.iter().cloned().chain(count_chosen_by_program.then(|| why.to_owned())).collect()
}

/// `./knee-PROGRAM-YYYYMMDD-HHMMSS`, in local time; a number is appended when that exists.
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
        let (status, hint) = match &error {
            recording::Error::Io { source, .. } => (of_io(source), Some(new_folder(folder, source))),
            _ => (Status::Internal, None),
        };
        let failure = Failure::new(status, format!("{:#}", anyhow::Error::from(error)));
        hint.into_iter().fold(failure, Failure::hint)
    })?;
    DirBuilder::new()
        .mode(0o700)
        .create(folder.join(answer::OUTPUT))
        .context("failed to create the folder of the program's output")?;
    Ok(writer)
}
