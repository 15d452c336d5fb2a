//! `knee try`: trials of a program, beside the unchanged one.

use super::shared::{answer, trials};
use super::sweep;
use crate::cli::{Observing, Try};
use crate::failure::{Failure, Status};
use crate::gate::Gate;
use crate::index::{self, Experiment, NotTried, Question, Suspected};
use crate::job::{self, Job};
use crate::plan::Amounts;
use crate::plan::cases::CaseSpec;
use crate::plan::template::{PLACEHOLDER, Template};
use crate::serving::ServingPlan;
use crate::trials::apply::{Surroundings, apply};
use crate::trials::choose::{self, ChosenTrial, LeftOut, Machine, Suspect};
use crate::trials::preload;
use crate::trials::program::Program;
use crate::trials::{ALL, Change, UNCHANGED};
use crate::ui;
use analyze::answer::Answer;
use analyze::compare::experiment::blocks_for;
use collect::load::Ready;
use recording::Tables;
use recording::meta::{Counted, Meta};
use report::comparison::Picture;
use report::terminal::sheet::{self, Entry};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The fewest blocks of an experiment.
///
/// Decides: how often each trial and the unchanged program are run.
/// From: arithmetic: six trials together can be judged in eight blocks (`compare::experiment::blocks_for`).
/// Wrong if: single runs spread so widely that an effect of a tenth hides in eight of them.
const BLOCKS: u32 = 8;

pub(crate) fn run(options: &Try) -> anyhow::Result<ui::Code> {
    if options.list {
        return list();
    }
    let target = match &options.folder {
        Some(folder) => of_recording(folder, options)?,
        None => of_command(options)?,
    };
    let job = job(target, options)?;
    sweep::carry_out(&job, (&options.making, &Observing::default()), &Gate::Open, false)
}

/// The program that the trials are about, and how it is run.
struct TriedProgram {
    template: Template,
    threads: u32,
    counted: Counted,
    /// False if the program chooses its number of threads itself.
    counts: bool,
    order: Vec<u32>,
    pattern: Option<String>,
    serving: Option<ServingPlan>,
    subject: Option<Suspected>,
    program: Program,
}

/// The program of a recording, and the cause of its answer.
fn of_recording(folder: &Path, options: &Try) -> anyhow::Result<TriedProgram> {
    let usage = |what: String| Failure::new(Status::Usage, what);
    if index::is_there(folder) {
        let what = format!("{} holds several recordings; try is about one", folder.display());
        return Err(usage(what).hint("name the folder of one of them").into());
    }
    let tables = answer::tables(folder)?;
    let meta = &tables.meta;
    let found = analyze::answer_for(&tables);
    if found.no_curve().is_some() {
        let what = format!("{} has no timed runs: trials are runs of a sweep's program", folder.display());
        return Err(usage(what).hint("knee sweep -t 1,2,4 -- COMMAND, with {threads} where the count goes").into());
    }
    let subject = match suspected(options)? {
        Some(suspected) => Some((suspected, found.verdict.causes.first().map_or(1, |cause| cause.threads))),
        None => subject(&found, folder, options)?,
    };
    let threads = match (&options.threads, &subject) {
        (Some(threads), _) => *threads,
        (None, Some((_, threads))) => *threads,
        (None, None) => meta.thread_counts.iter().copied().max().unwrap_or(1),
    };
    let counted = meta.counted;
    let mut env: Vec<(OsString, OsString)> =
        meta.environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
    env.extend(job::variables(&options.making)?);
    let argv: Vec<OsString> = meta.command.iter().map(OsString::from).collect();
    let at = meta.folder.as_ref().map(PathBuf::from);
    let load = meta.load.as_ref().map(|load| load.command.iter().map(OsString::from).collect());
    let template = Template { argv, env, folder: at, load };
    let program = program(&template, threads, counted, Some(&tables));
    let given = meta.throughput.as_ref().filter(|throughput| throughput.given).map(|t| t.pattern.clone());
    Ok(TriedProgram {
        template,
        threads,
        counted,
        counts: true,
        order: meta.processor_order.clone(),
        pattern: options.making.throughput.clone().or(given),
        serving: serving(meta)?,
        subject: subject.map(|(subject, _)| subject),
        program,
    })
}

/// The cause that the user names. It is from no answer, so there is no recording in which to note the trials.
fn suspected(options: &Try) -> Result<Option<Suspected>, Failure> {
    let Some(cause) = &options.suspect else { return Ok(None) };
    if trials::cause(cause).is_none() {
        let names: Vec<&str> = analyze::causes::all().map(|meta| meta.id.name()).collect();
        let failure = Failure::new(Status::Usage, format!("--suspect {cause}: there is no such cause"));
        let near = crate::file::nearest(cause, names.iter().copied());
        return Err(failure.hint(match near {
            Some(near) => format!("did you mean {near}?"),
            None => "knee explain names them".to_owned(),
        }));
    }
    Ok(Some(Suspected { recording: None, cause: cause.clone(), function: None, in_c_library: false, predicted: None }))
}

/// The cause that the trials are about, with its thread count.
fn subject(found: &Answer, folder: &Path, options: &Try) -> Result<Option<(Suspected, u32)>, Failure> {
    let causes: Vec<_> = found.verdict.found().collect();
    let number = options.cause.unwrap_or(1);
    let Some(cause) = causes.get(number as usize - 1) else {
        return match options.cause {
            Some(number) => {
                let what = format!("--cause {number}: the answer has {} causes", causes.len());
                Err(Failure::new(Status::Usage, what).hint(format!("knee report {} shows them", folder.display())))
            }
            None => Ok(None),
        };
    };
    let predicted = found.what_if.without(&found.verdict, cause).map(|removed| removed.summary.clone());
    let culprit = cause.culprit.as_ref();
    let subject = Suspected {
        recording: Some(folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).to_string_lossy().into_owned()),
        cause: cause.id.name().to_owned(),
        function: culprit.and_then(|culprit| culprit.function.clone()),
        in_c_library: culprit.is_some_and(|culprit| analyze::runtimes::is_c_library_module(&culprit.module)),
        predicted,
    };
    Ok(Some((subject, cause.threads)))
}

/// How the recording's server was run under its load.
fn serving(meta: &Meta) -> Result<Option<ServingPlan>, Failure> {
    let Some(load) = &meta.load else { return Ok(None) };
    let ready = match &load.ready {
        Some(text) => crate::serving::ready(text).map_err(|why| Failure::new(Status::Recording, why))?,
        None => Ready::Listens,
    };
    // The defaults of `knee sweep`.
    Ok(Some(ServingPlan {
        ready,
        ready_within: Duration::from_secs(60),
        stop_within: Duration::from_secs(10),
        processors: load.processors.clone(),
    }))
}

/// A command without a recording: no answer names a cause.
fn of_command(options: &Try) -> anyhow::Result<TriedProgram> {
    let template =
        Template { argv: options.command.clone(), env: job::variables(&options.making)?, folder: None, load: None };
    let usage = |what: String| Failure::new(Status::Usage, what);
    let threads = match (options.threads, template.mentions(PLACEHOLDER)) {
        (Some(threads), true) => threads,
        (None, false) => collect::machine::machine().usable_processors.max(1),
        (Some(_), false) => {
            let what = format!("{PLACEHOLDER} does not occur in the command, so --threads would change nothing");
            return Err(usage(what).hint("leave --threads away").into());
        }
        (None, true) => {
            return Err(usage("the thread count is missing: --threads N".to_owned()).hint("for example: -t 4").into());
        }
    };
    // A program that chooses its number of threads itself may go by the number of processors.
    let counted = if options.threads.is_some() { Counted::Threads } else { Counted::Processors };
    let program = program(&template, threads, counted, None);
    Ok(TriedProgram {
        template,
        threads,
        counted: Counted::Threads,
        counts: options.threads.is_some(),
        order: Vec::new(),
        pattern: options.making.throughput.clone(),
        serving: None,
        subject: suspected(options)?,
        program,
    })
}

fn program(template: &Template, threads: u32, counted: Counted, recording: Option<&Tables>) -> Program {
    let at = template.at(threads, counted);
    let path = std::env::var_os("PATH");
    Program::from_command(&at.argv, at.folder.as_deref(), path.as_deref(), recording, counted == Counted::Processors)
}

fn job(target: TriedProgram, options: &Try) -> Result<Job, Failure> {
    let path = std::env::var_os("PATH");
    let machine = Machine { search_path: path.as_deref(), with: options.with.as_deref() };
    let (chosen, left_out) = match options.trial.is_empty() {
        false => (choose::named(&options.trial, &target.program, &machine)?, Vec::new()),
        true => {
            let suspect = target.subject.as_ref().and_then(|subject| {
                let cause = trials::cause(&subject.cause)?;
                Some(Suspect { cause, function: subject.function.as_deref() })
            });
            choose::choose(suspect, &target.program, &machine)
        }
    };
    if chosen.is_empty() {
        return Err(none_fits(target.subject.as_ref(), &left_out));
    }
    let words = target.template.argv.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
    let name = PathBuf::from(format!("try-{}", words.to_string_lossy()));
    let folder = options.making.output.clone().unwrap_or_else(|| sweep::default_folder(&name));
    let whole = std::path::absolute(&folder)
        .map_err(|error| Failure::new(Status::Internal, format!("the working directory is not known: {error}")))?;
    let preloads: Vec<preload::Source> = sources(&chosen);
    if !preloads.is_empty() && whole.to_string_lossy().contains([' ', ':']) {
        let what = format!("a library in {} cannot be loaded: LD_PRELOAD takes no space and no colon", whole.display());
        return Err(Failure::new(Status::Usage, what).hint("-o DIR names another folder"));
    }
    let first = target.order.first().or(collect::machine::order().first()).copied().unwrap_or(0);
    let case = |variant: String, template: Template| CaseSpec {
        folder: variant.clone(),
        variant,
        parameters: Vec::new(),
        expect: Vec::new(),
        template,
    };
    let mut cases = vec![case(UNCHANGED.to_owned(), target.template.clone())];
    for (number, ChosenTrial { trial, library }) in chosen.iter().enumerate() {
        let around = Surroundings {
            folder: &whole,
            library: library.as_deref(),
            first_processor: first,
            variable: &|name| std::env::var_os(name),
        };
        // The same trial may be named more than once.
        let before = chosen.iter().take(number).filter(|other| other.trial == *trial).count();
        let name = if before == 0 { trial.id.to_owned() } else { format!("{}-{}", trial.id, before + 1) };
        cases.push(case(name, apply(&target.template, trial, &around)));
    }
    let quick = options.making.quick;
    // A quick experiment has as few blocks as can give any result.
    let usual = (blocks_for(chosen.len()) as u32).max(if quick { 0 } else { BLOCKS });
    let blocks = options.runs.unwrap_or(usual);
    let warm_up = options.making.warm_up.unwrap_or(u32::from(!quick));
    let amounts = Amounts { timed: blocks, more: 0, warm_up, traced: false };
    let not_tried = left_out.iter().map(|left| NotTried { trial: left.trial.id.to_owned(), why: left.why.clone() });
    Ok(Job {
        title: format!("trials of {}", job::shown(&target.template.argv)),
        name,
        folder: Some(folder),
        file: None,
        question: Question::Try,
        cases,
        skipped: Vec::new(),
        picture: Picture::default(),
        threads: vec![target.threads],
        counts: target.counts,
        counted: target.counted,
        order: target.order,
        notes: Vec::new(),
        amounts,
        repeats: options.making.repeats.unwrap_or(blocks / 2),
        timeout: options.making.timeout.map(Duration::from_secs_f64),
        forms: job::forms(target.pattern.as_deref())?,
        serving: target.serving,
        preloads,
        confirm: false,
        experiment: Some(Experiment {
            subject: target.subject,
            same_output: options.same_output,
            not_tried: not_tried.collect(),
            failed: Vec::new(),
        }),
        build: None,
    })
}

fn sources(chosen: &[ChosenTrial]) -> Vec<preload::Source> {
    let changes = chosen.iter().flat_map(|chosen| chosen.trial.changes);
    let mut sources: Vec<preload::Source> = changes
        .filter_map(|change| match change {
            Change::Preload(source) => Some(*source),
            _ => None,
        })
        .collect();
    sources.sort_unstable();
    sources.dedup();
    sources
}

/// The failure where no trial fits. Some causes, such as a serial phase, only show when the program itself is changed.
fn none_fits(subject: Option<&Suspected>, left_out: &[LeftOut]) -> Failure {
    let what = match subject {
        Some(subject) => format!("there is no trial for {}: only a change of the program shows it", subject.cause),
        None => "there is no trial that fits this program".to_owned(),
    };
    let what = match left_out.first() {
        Some(left) => format!("{what}, or what is missing here: {} ({})", left.trial.id, left.why),
        None => what,
    };
    Failure::new(Status::Usage, what).hint("knee try --list names all trials; --trial NAME makes one")
}

fn list() -> anyhow::Result<ui::Code> {
    let mut entries = vec![Entry::Title("The trials that knee try makes".to_owned())];
    for trial in ALL {
        entries.push(Entry::Heading(trial.id.to_owned(), trial.title.to_owned()));
        entries.push(Entry::Text("shows".to_owned(), format!("when faster: {}", trial.proves)));
        entries.push(Entry::Text("not".to_owned(), trial.limits.to_owned()));
        let causes: Vec<&str> = trial.aims.iter().map(|(cause, _)| cause.name()).collect();
        if !causes.is_empty() {
            entries.push(Entry::Text("for".to_owned(), causes.join(", ")));
        }
    }
    ui::out(|mut out| sheet::render(&entries, ui::style(), &mut out))?;
    Ok(ui::OK)
}
