//! From the recordings of an experiment to what its trials show.

use super::answer;
use crate::cli::AnswerFormat;
use crate::failure::{Failure, Status};
use crate::index::{self, Suspected};
use crate::trials::output::{Same, not_loaded, same};
use crate::trials::{EMPTY, Keep, Trial, UNCHANGED, find};
use crate::ui;
use analyze::answer::{CauseId, Knee};
use analyze::compare::experiment::{Aim, Judged, TrialRuns, judge, title};
use anyhow::Context;
use recording::meta::{Meta, Tried};
use recording::{Recording, Tables};
use report::experiment::{Experiment, FORMAT, KeepLines, NotMade, Suspect, TrialRow};
use std::collections::BTreeMap;
use std::path::Path;

/// Beside the recordings: the experiment for scripts.
const EXPERIMENT: &str = "experiment.json";

/// The cause with this id.
pub(in crate::commands) fn cause(id: &str) -> Option<CauseId> {
    analyze::causes::with_none().map(|meta| meta.id).find(|known| known.name() == id)
}

/// Reads and judges an experiment, and writes the result beside its recordings.
///
/// # Errors
/// When the index or a recording cannot be read, or the result cannot be written.
pub(in crate::commands) fn keep(folder: &Path) -> anyhow::Result<Experiment> {
    let experiment = experiment_of(folder)?;
    let mut json = Vec::new();
    report::json::render(&experiment, &mut json)?;
    answer::write(folder, EXPERIMENT, &json)?;
    Ok(experiment)
}

/// Prints an experiment.
///
/// # Errors
/// When standard output cannot be written.
pub(in crate::commands) fn print(experiment: &Experiment, folder: &Path, format: AnswerFormat) -> anyhow::Result<()> {
    answer::no_sarif(format)?;
    ui::out(|mut out| match format {
        AnswerFormat::Text => report::terminal::render_experiment(experiment, folder, ui::style(), &mut out),
        AnswerFormat::Markdown => report::markdown::render_experiment(experiment, &mut out),
        AnswerFormat::Json | AnswerFormat::Sarif => report::json::render(experiment, &mut out),
    })
}

/// A trial with its runs, before it is judged.
struct Tested {
    trial: &'static Trial,
    name: String,
    aim: Aim,
    tables: Tables,
    same: Same,
    /// Why its runs do not count.
    failed: Option<String>,
}

/// Reads and judges an experiment.
///
/// # Errors
/// When the index or a recording cannot be read.
pub(in crate::commands) fn experiment_of(folder: &Path) -> anyhow::Result<Experiment> {
    let index = index::read(folder)?;
    let damaged = |what: &str| Failure::new(Status::Recording, format!("{}: {what}", folder.display()));
    let Some(about) = index.experiment.clone() else {
        return Err(damaged("the index says nothing about its trials").into());
    };
    let (first, others) = index
        .cases
        .split_first()
        .filter(|(first, _)| first.variant == UNCHANGED)
        .ok_or_else(|| damaged("its first case is not the unchanged program"))?;
    let at = |recording: &str| folder.join(recording);
    // Without these there is nothing to compare with, as when knee was ended at once.
    let unchanged = timed(&at(&first.recording)).map_err(|error| {
        damaged(&format!("the runs of the unchanged program cannot be read: {error:#}"))
            .hint("if the trials were ended before their first run, make them again with `knee try`")
    })?;
    let (mut cases, mut unread) = (Vec::new(), Vec::new());
    for entry in others {
        // A name may have a number behind it.
        let id = entry.variant.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('-');
        let Some(trial) = find(&entry.variant).or_else(|| find(id)) else {
            return Err(damaged(&format!("this version of knee knows no trial {}", entry.variant)).into());
        };
        // A full disk can end an experiment between the entry and its runs: the other trials still count.
        match tested(&about, trial, entry, (&at(&first.recording), &at(&entry.recording))) {
            Ok(case) => cases.push(case),
            Err(error) => unread.push(NotMade {
                id: entry.variant.clone(),
                title: trial.title.to_owned(),
                why: format!("its runs cannot be read: {error:#}"),
            }),
        }
    }
    let threads = unchanged.meta.thread_counts.first().copied().unwrap_or(1);
    let runs: Vec<TrialRuns<'_>> = cases
        .iter()
        .map(|case| TrialRuns {
            aim: case.aim,
            preloaded: case.trial.preloads(),
            control: case.trial == &EMPTY,
            tables: &case.tables,
            same_output: case.failed.is_none(),
        })
        .collect();
    let findings = judge(&unchanged, &runs, threads);
    let rows = cases.iter().zip(findings.results).map(|(case, judged)| {
        let spoiled = findings.preload_changes && case.trial.preloads() && case.trial != &EMPTY;
        row(case, judged, &unchanged, spoiled.then(|| "an empty library changes the speed, too".to_owned()))
    });
    let suspect = about.subject.as_ref().map(|subject| Suspect {
        recording: subject.recording.clone(),
        cause: subject.cause.clone(),
        title: title(&subject.cause).unwrap_or_default().to_owned(),
        function: subject.function.clone(),
        predicted: subject.predicted.clone(),
    });
    let left_out = about.not_tried.iter().map(|left| NotMade {
        id: left.trial.clone(),
        title: find(&left.trial).map(|trial| trial.title.to_owned()).unwrap_or_default(),
        why: left.why.clone(),
    });
    let mut experiment = Experiment {
        knee: Knee { version: env!("CARGO_PKG_VERSION").to_owned(), format: FORMAT.to_owned() },
        command: unchanged.meta.command.clone(),
        machine: unchanged.meta.machine.clone(),
        threads,
        counted: unchanged.meta.counted,
        thread_counts_given: index.counts != Some(false),
        complete: index.complete,
        suspect,
        shows: findings.shows,
        summary: String::new(),
        trials: rows.collect(),
        left_out: left_out.chain(unread).collect(),
        warnings: warnings(&unchanged, &cases),
    };
    experiment.summarise(findings.preload_changes);
    Ok(experiment)
}

/// The runs of one trial. The folders: of the unchanged program's recording, and of the trial's.
fn tested(
    about: &index::Experiment,
    trial: &'static Trial,
    entry: &index::Entry,
    (unchanged, place): (&Path, &Path),
) -> anyhow::Result<Tested> {
    let printed = |folder: &Path| folder.join(answer::OUTPUT);
    let unread = || format!("failed to read what {} printed", entry.variant);
    let tables = timed(place)?;
    let same = same(about.same_output, &printed(unchanged), &printed(place)).with_context(unread)?;
    let broken = about.failed.iter().find(|failed| failed.trial == entry.variant);
    let failed = match broken {
        Some(broken) => Some(format!("the program failed: {}", broken.why)),
        None if not_loaded(&printed(place)).with_context(unread)? => {
            Some("the loader could not load the library before the program's own".to_owned())
        }
        None => (same == Same::No).then(|| "the program printed something else".to_owned()),
    };
    Ok(Tested {
        trial,
        name: entry.variant.clone(),
        aim: about.subject.as_ref().map_or(Aim::Misses, |subject| aim(trial, subject)),
        tables,
        same,
        failed,
    })
}

/// What it shows when the program gets faster with the trial, or does not. A program that stays as slow disproves the
/// cause only where the trial surely took effect: where the recording found the cause in the C library that it replaces.
fn aim(trial: &Trial, subject: &Suspected) -> Aim {
    let Some(cause) = cause(&subject.cause) else { return Aim::Misses };
    match trial.aim(cause, subject.function.as_deref()) {
        Aim::Removes if !subject.in_c_library => Aim::Eases,
        aim => aim,
    }
}

/// The runs of a recording; a case that failed has none.
fn timed(folder: &Path) -> anyhow::Result<Tables> {
    let opened = Recording::open(folder).with_context(|| format!("the recording {}", folder.display()))?;
    let mut tables = Tables::empty(opened.meta().clone());
    tables.runs = opened.rows()?;
    Ok(tables)
}

fn row(case: &Tested, judged: Judged, unchanged: &Tables, spoiled: Option<String>) -> TrialRow {
    let (variables, wrapper) = difference(&unchanged.meta, &case.tables.meta);
    let mut row = TrialRow {
        id: case.name.clone(),
        title: case.trial.title.to_owned(),
        change: judged.change,
        failed: case.failed.clone().or(spoiled),
        shows: judged.shows,
        proves: case.trial.proves.to_owned(),
        cannot_show: case.trial.limits.to_owned(),
        control: case.trial.aims.is_empty(),
        keep: None,
        instead: None,
        variables,
        wrapper,
    };
    if row.helps() {
        match case.trial.keep {
            Keep::Setting => row.keep = Some(keep_lines(&row, &unchanged.meta)),
            Keep::Instead(instead) => row.instead = Some(instead.to_owned()),
            Keep::Never => {}
        }
    }
    row
}

/// Variables that only the trial sets, and the words before its command.
fn difference(unchanged: &Meta, changed: &Meta) -> (BTreeMap<String, String>, Vec<String>) {
    let new = changed.environment.iter().filter(|variable| !unchanged.environment.contains(variable));
    let wrapper = changed.command.len().saturating_sub(unchanged.command.len());
    (new.cloned().collect(), changed.command.iter().take(wrapper).cloned().collect())
}

fn keep_lines(row: &TrialRow, unchanged: &Meta) -> KeepLines {
    let quoted = |word: &str| shlex::try_quote(word).map_or_else(|_| word.to_owned(), |word| word.into_owned());
    let set = |(name, value): (&String, &String)| format!("{name}={}", quoted(value));
    let variables: Vec<String> = row.variables.iter().map(set).collect();
    let command = row.wrapper.iter().chain(&unchanged.command).map(|word| quoted(word));
    let all = |line: fn((&String, &String)) -> String| {
        let lines: Vec<String> = row.variables.iter().map(line).collect();
        (!lines.is_empty()).then(|| lines.join(" "))
    };
    let unit = match row.wrapper.first().map(String::as_str) {
        // systemd.exec(5).
        Some("chrt") => Some("CPUSchedulingPolicy=batch".to_owned()),
        Some("prlimit") => Some("LimitSTACK=256K".to_owned()),
        _ => all(|(name, value)| format!("Environment=\"{name}={value}\"")),
    };
    KeepLines {
        shell: variables.iter().cloned().chain(command).collect::<Vec<_>>().join(" "),
        dockerfile: all(|(name, value)| format!("{name}=\"{value}\"")).map(|variables| format!("ENV {variables}")),
        unit,
    }
}

fn warnings(unchanged: &Tables, cases: &[Tested]) -> Vec<String> {
    // The blocks of all cases are the same.
    let mut warnings = analyze::words::runs::disturbed(unchanged);
    if cases.iter().any(|case| case.same == Same::Varies) {
        let what = "the unchanged program prints something else in each run, so outputs cannot be compared";
        warnings.push(what.to_owned());
    }
    let unit = |tables: &Tables| tables.meta.throughput.as_ref().map(|throughput| throughput.unit.clone());
    let other = cases.iter().filter(|case| !case.tables.runs.is_empty() && unit(&case.tables) != unit(unchanged));
    for case in other {
        warnings.push(format!("{} prints another throughput: whole runs are compared", case.name));
    }
    warnings
}

/// Notes the trials in the recording whose answer they are about, and writes its answer and page anew.
///
/// # Errors
/// When the recording's folder cannot be written.
pub(in crate::commands) fn mark(experiment: &Experiment) -> anyhow::Result<()> {
    let Some(suspect) = experiment.suspect.as_ref().filter(|_| experiment.complete) else { return Ok(()) };
    let Some(folder) = suspect.recording.as_deref().map(Path::new) else { return Ok(()) };
    let mut meta = Recording::open(folder)?.meta().clone();
    for row in experiment.trials.iter().filter(|row| !row.control && row.failed.is_none()) {
        let Some(change) = &row.change else { continue };
        let tried = Tried {
            trial: row.id.clone(),
            title: row.title.clone(),
            cause: suspect.cause.clone(),
            function: suspect.function.clone(),
            threads: experiment.threads,
            times_as_fast: change.speed,
            low: change.interval.map(|interval| interval.low),
            high: change.interval.map(|interval| interval.high),
            shows: row.shows,
        };
        let same = |known: &Tried| {
            (&known.trial, &known.cause, &known.function, known.threads)
                == (&tried.trial, &tried.cause, &tried.function, tried.threads)
        };
        meta.tried.retain(|known| !same(known));
        meta.tried.push(tried);
    }
    recording::writer::set_meta(folder, &meta)?;
    answer::keep(folder)?;
    collect::launch::user::give_to_caller(folder).context("failed to give the recording to its user")
}
