//! What a sweep has to do, from the command line alone, or from a sweep file and the options that override it.

use crate::bounds::{self, Bounds};
use crate::cli::{Compare, Making, Serve, Sweep, SweepOptions};
use crate::failure::{Failure, Status};
use crate::file::{Described, SweepFile, nearest, usual_picture};
use crate::index::{Experiment, Question};
use crate::plan::Amounts;
use crate::plan::cases::{CaseSpec, Parameter, Variant, expand};
use crate::plan::template::{PLACEHOLDER, Template, placeholder, variable};
use crate::serving::{self, ServingPlan};
use crate::target;
use crate::throughput::Forms;
use crate::trials::choose::installed;
use crate::trials::preload::Source;
use collect::load::Ready;
use recording::meta::Counted;
use report::comparison::{Picture, Skipped};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A sweep that is ready to be made.
#[derive(Debug)]
pub(crate) struct Job {
    /// Its title on the screen.
    pub(crate) title: String,
    /// The name that its folder begins with.
    pub(crate) name: PathBuf,
    /// Where its recordings go; none for a folder named after the program and the time.
    pub(crate) folder: Option<PathBuf>,
    /// Name of the sweep file.
    pub(crate) file: Option<String>,
    /// The question that several cases answer together.
    pub(crate) question: Question,
    /// At least one. A single case gives an ordinary recording; several are compared.
    pub(crate) cases: Vec<CaseSpec>,
    /// Variants that this machine cannot run.
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) picture: Picture,
    pub(crate) threads: Vec<u32>,
    /// False when the program chooses its number of threads itself; then `threads` is the number of processors.
    pub(crate) counts: bool,
    /// What `threads` are counts of.
    pub(crate) counted: Counted,
    /// For a sweep over processors, their numbers: a count of n runs on the first n.
    pub(crate) order: Vec<u32>,
    /// What the reader must know.
    pub(crate) notes: Vec<String>,
    pub(crate) amounts: Amounts,
    /// Number of disturbed blocks that may be made again.
    pub(crate) repeats: u32,
    pub(crate) timeout: Option<Duration>,
    pub(crate) forms: Forms,
    /// How a server runs under its load.
    pub(crate) serving: Option<ServingPlan>,
    /// Libraries of knee's own that some cases load.
    pub(crate) preloads: Vec<Source>,
    /// Whether trials follow, to show whether the first cause is really one.
    pub(crate) confirm: bool,
    /// What the cases are trials of.
    pub(crate) experiment: Option<Experiment>,
    /// The command that builds the programs.
    pub(crate) build: Option<String>,
}

/// The sweep of a command.
///
/// # Errors
/// When the arguments are wrong.
pub(crate) fn of_command(command: &[OsString], sweep: &Sweep) -> Result<Job, Failure> {
    let options = &sweep.options;
    if let Some(name) = options.variant.first() {
        return Err(usage(format!("--variant {name}: only a sweep file has variants")));
    }
    let load = sweep.serve.load.as_deref().map(serving::words).transpose()?;
    if load.is_some() && options.check_noise {
        return Err(usage("--check-noise cannot be used with --load".to_owned()));
    }
    let template = Template { argv: command.to_vec(), env: variables(&options.making)?, folder: None, load };
    let program = command.first().cloned().unwrap_or_default();
    let asked = sweep.processors.as_ref().map(|counts| counts.0.as_slice());
    let Bounds { counts: threads, order, template, notes } = match &options.threads {
        Some(counts) => {
            if !template.mentions(PLACEHOLDER) && !given_by_parameter(options) {
                return Err(without_thread_count(&program.to_string_lossy()));
            }
            Bounds { counts: counts.0.clone(), order: Vec::new(), template, notes: Vec::new() }
        }
        None if given_by_parameter(options) => {
            let missing = "the thread counts are missing: --threads <LIST>".to_owned();
            return Err(usage(missing).hint("for example: -t 1,2,4"));
        }
        None => bounds::from_command(template, &options.param, asked, collect::machine::order(), |name| {
            std::env::var_os(name)
        })?,
    };
    let counted = if options.threads.is_some() { Counted::Threads } else { Counted::Processors };
    let name = PathBuf::from(Path::new(&program).file_name().unwrap_or(&program));
    let variant =
        Variant { name: name.to_string_lossy().into_owned(), template, parameters: Vec::new(), expect: Vec::new() };
    let mut amounts = amounts(options, None, None);
    // Each run of a server includes its start and its load, and a quick sweep is to stay short.
    if sweep.serve.load.is_some() && options.making.quick {
        amounts.more = 0;
    }
    Job {
        title: shown(command),
        name,
        folder: None,
        file: None,
        question: Question::Cases,
        cases: expand(&[variant], &options.param, counted).map_err(usage)?,
        skipped: Vec::new(),
        picture: usual_picture(&options.param),
        threads,
        counts: true,
        counted,
        order,
        notes,
        amounts,
        repeats: repeats(&options.making, amounts),
        timeout: options.making.timeout.map(Duration::from_secs_f64),
        forms: forms(options.making.throughput.as_deref())?,
        serving: serving(&sweep.serve)?,
        preloads: Vec::new(),
        confirm: false,
        experiment: None,
        build: None,
    }
    .with_noise_check(options)
}

/// The sweep of a file. Options of the command line override the file.
///
/// # Errors
/// When the options do not fit the file.
pub(crate) fn of_file(file: &SweepFile, options: &SweepOptions) -> Result<Job, Failure> {
    let variants = chosen(file, options)?;
    let (variants, skipped): (Vec<&Described>, Vec<&Described>) =
        variants.into_iter().partition(|v| lacks(v, &file.folder).is_none());
    let skip = |v: &&Described| lacks(v, &file.folder).map(|why| Skipped { variant: v.variant.name.clone(), why });
    let skipped: Vec<Skipped> = skipped.iter().filter_map(skip).collect();
    if let (true, Some(first)) = (variants.is_empty(), skipped.first()) {
        return Err(Failure::new(Status::Target, format!("{}: {}", first.variant, first.why)));
    }
    let env = variables(&options.making)?;
    let variants: Vec<Variant> = variants.into_iter().map(|v| with_environment(&v.variant, &env)).collect();
    let parameters = parameters(file, &variants, options)?;
    let seconds = options.making.timeout.or(file.timeout);
    let amounts = amounts(options, file.runs, file.warm_up);
    let mut picture = file.picture.clone();
    // When the command line gives other values, the file's picture may have nothing to show.
    let drawn = |name: &String| parameters.iter().any(|p| p.name == *name && p.values.len() > 1);
    if picture.x.as_ref().is_some_and(|name| !drawn(name)) {
        picture = Picture { log_x: false, log_y: picture.log_y, x: None };
    }
    Job {
        title: file.title.clone(),
        name: PathBuf::from(file.path.file_stem().unwrap_or(OsStr::new("sweep"))),
        folder: None,
        file: file.path.file_name().map(|name| name.to_string_lossy().into_owned()),
        question: Question::Cases,
        cases: expand(&variants, &parameters, Counted::Threads).map_err(usage)?,
        skipped,
        picture,
        threads: options.threads.as_ref().map_or_else(|| file.threads.clone(), |counts| counts.0.clone()),
        counts: true,
        counted: Counted::Threads,
        order: Vec::new(),
        notes: Vec::new(),
        amounts,
        repeats: repeats(&options.making, amounts),
        timeout: seconds.map(Duration::from_secs_f64),
        forms: forms(options.making.throughput.as_deref().or(file.throughput.as_deref()))?,
        serving: None,
        preloads: Vec::new(),
        confirm: false,
        experiment: None,
        build: file.build.clone(),
    }
    .with_noise_check(options)
}

/// Two commands in turn. `processors` is the number of processors that the program may use.
///
/// # Errors
/// When the arguments are wrong.
pub(crate) fn of_pair(options: &Compare, processors: u32) -> Result<Job, Failure> {
    let commands = two(&options.commands)?;
    let env = variables(&options.making)?;
    let templates = commands.map(|argv| Template { argv: argv.to_vec(), env: env.clone(), folder: None, load: None });
    let mentioned = templates.iter().any(|template| template.mentions(PLACEHOLDER));
    let threads = match (&options.threads, mentioned) {
        (Some(counts), true) => counts.0.clone(),
        (None, false) => vec![processors],
        (Some(_), false) => {
            return Err(usage(format!("{PLACEHOLDER} occurs in neither command, so every run would be the same"))
                .hint(format!("leave --threads away, or write {PLACEHOLDER} where the thread count goes")));
        }
        (None, true) => {
            return Err(usage("the thread counts are missing: --threads <LIST>".to_owned()).hint("for example: -t 4"));
        }
    };
    let (timed, warm) = if options.making.quick { (QUICK_PAIRS, 0) } else { (USUAL_PAIRS, 1) };
    let amounts = Amounts {
        timed: options.runs.unwrap_or(timed),
        // A comparison makes no runs beyond those that were asked for.
        more: 0,
        warm_up: options.making.warm_up.unwrap_or(warm),
        traced: !options.observing.no_trace,
    };
    let program = commands[0].first().map(Path::new).and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let [a, b] = templates;
    Ok(Job {
        title: format!("{} against {}", shown(&a.argv), shown(&b.argv)),
        name: PathBuf::from(format!("compare-{program}")),
        folder: None,
        file: None,
        question: Question::Compare,
        cases: vec![side("A", a), side("B", b)],
        skipped: Vec::new(),
        picture: Picture::default(),
        threads,
        counts: options.threads.is_some(),
        counted: Counted::Threads,
        order: Vec::new(),
        notes: Vec::new(),
        amounts,
        repeats: repeats(&options.making, amounts),
        timeout: options.making.timeout.map(Duration::from_secs_f64),
        forms: forms(options.making.throughput.as_deref())?,
        serving: None,
        preloads: Vec::new(),
        confirm: false,
        experiment: None,
        build: None,
    })
}

/// Splits at the `--` between the commands.
fn two(words: &[OsString]) -> Result<[&[OsString]; 2], Failure> {
    let mut commands = words.split(|word| word == "--");
    let (Some(a), Some(b)) = (commands.next(), commands.next()) else {
        return Err(usage("the second command is missing: write -- A -- B".to_owned())
            .hint("for example: knee compare -- ./old input.dat -- ./new input.dat"));
    };
    if commands.next().is_some() {
        return Err(usage(
            "there is more than one -- between the commands, so where the second begins is not clear".to_owned(),
        )
        .hint("commands with a -- of their own can be the variants of a sweep file: knee sweep FILE.toml"));
    }
    if a.is_empty() || b.is_empty() {
        return Err(usage("one of the two commands is empty: write -- A -- B".to_owned()));
    }
    Ok([a, b])
}

fn side(name: &str, template: Template) -> CaseSpec {
    CaseSpec { variant: name.to_owned(), parameters: Vec::new(), expect: Vec::new(), template, folder: name.to_owned() }
}

/// A command as one line.
pub(crate) fn shown(words: &[OsString]) -> String {
    words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

impl Job {
    /// With --check-noise the only case is compared with itself, and nothing is observed.
    fn with_noise_check(mut self, options: &SweepOptions) -> Result<Job, Failure> {
        if !options.check_noise {
            return Ok(self);
        }
        let [only] = self.cases.as_slice() else {
            let failure =
                usage(format!("--check-noise runs one case against itself, and the sweep has {}", self.cases.len()));
            return Err(failure.hint("choose one with --variant, and one value with --param"));
        };
        let template = only.template.clone();
        self.cases = vec![side("first", template.clone()), side("second", template)];
        self.question = Question::Noise;
        self.name = PathBuf::from(format!("noise-{}", self.name.display()));
        self.amounts.traced = false;
        Ok(self)
    }

    /// Checks that every program can be started, before anything is created.
    ///
    /// # Errors
    /// With the command that builds it, if the file has one.
    pub(crate) fn check_programs(&self, search_path: Option<&OsStr>) -> Result<(), Failure> {
        for case in &self.cases {
            // The placeholder may be part of the program's name.
            let at = case.template.at(self.threads.first().copied().unwrap_or(1), self.counted);
            let first = |argv: &[OsString]| argv.first().cloned().unwrap_or_default();
            if let Some(load) = &at.load {
                target::check(&first(load), case.template.folder.as_deref(), search_path)?;
            }
            target::check(&first(&at.argv), case.template.folder.as_deref(), search_path).map_err(|failure| {
                let folder = case.template.folder.as_deref().unwrap_or(Path::new(".")).display();
                match &self.build {
                    Some(build) if failure.status == Status::Target => {
                        failure.hint(format!("build it first: {}", build.replace("{folder}", &folder.to_string())))
                    }
                    _ => failure,
                }
            })?;
        }
        Ok(())
    }
}

/// The variants that the user wants.
fn chosen<'f>(file: &'f SweepFile, options: &SweepOptions) -> Result<Vec<&'f Described>, Failure> {
    let names = || file.variants.iter().map(|v| v.variant.name.as_str());
    if let Some(unknown) = options.variant.iter().find(|name| names().all(|known| known != **name)) {
        let failure = usage(format!("{} has no variant {unknown}", file.path.display()));
        return Err(match nearest(unknown, names()) {
            Some(near) => failure.hint(format!("did you mean {near}?")),
            None => failure.hint(format!("its variants: {}", names().collect::<Vec<_>>().join(", "))),
        });
    }
    let wanted = |v: &&Described| options.variant.is_empty() || options.variant.contains(&v.variant.name);
    Ok(file.variants.iter().filter(wanted).collect())
}

/// Why a variant cannot run here.
fn lacks(variant: &Described, folder: &Path) -> Option<String> {
    let missing = variant.needs.iter().find(|needed| match needed.contains('/') {
        true => !folder.join(needed).exists(),
        false => installed(&[needed]).is_none(),
    })?;
    Some(format!("it needs {missing}, which is not installed"))
}

fn with_environment(variant: &Variant, env: &[(OsString, OsString)]) -> Variant {
    let mut variant = variant.clone();
    variant.template.env.retain(|(name, _)| env.iter().all(|(own, _)| own != name));
    variant.template.env.extend_from_slice(env);
    variant
}

/// The file's parameters; values from the command line replace the file's.
fn parameters(file: &SweepFile, variants: &[Variant], options: &SweepOptions) -> Result<Vec<Parameter>, Failure> {
    let mut parameters = file.parameters.clone();
    for given in &options.param {
        match parameters.iter_mut().find(|known| known.name == given.name) {
            Some(known) => known.values.clone_from(&given.values),
            // A placeholder for which the file has no parameter.
            None if variants.iter().any(|v| v.template.mentions(&placeholder(&given.name))) => {
                if let Some(own) = variants.iter().find(|v| v.parameters.iter().any(|p| p.name == given.name)) {
                    let what = format!("--param {}: the variant {} has a value of its own", given.name, own.name);
                    return Err(usage(what));
                }
                parameters.push(given.clone());
            }
            None => {
                let failure = usage(format!("--param {}: the sweep file has no such parameter", given.name));
                let near = nearest(&given.name, file.parameters.iter().map(|p| p.name.as_str()));
                return Err(match near {
                    Some(near) => failure.hint(format!("did you mean {near}?")),
                    None => failure,
                });
            }
        }
    }
    // A variant that was left out may have been the only one that used a parameter.
    parameters.retain(|p| variants.iter().any(|v| v.template.mentions(&placeholder(&p.name))));
    Ok(parameters)
}

fn usage(what: String) -> Failure {
    Failure::new(Status::Usage, what)
}

/// How a server is run under its load.
///
/// # Errors
/// When the load cannot be kept to its processors.
pub(crate) fn serving(options: &Serve) -> Result<Option<ServingPlan>, Failure> {
    if options.load.is_none() {
        return Ok(None);
    }
    let processors = options.load_processors.as_ref().map(|numbers| numbers.0.clone()).unwrap_or_default();
    serving::may_run_on(&processors, &collect::machine::order())?;
    Ok(Some(ServingPlan {
        ready: options.ready.clone().unwrap_or(Ready::Listens),
        ready_within: options.ready_within,
        stop_within: options.stop_within,
        processors,
    }))
}

/// True if the thread count's placeholder is in all values of a parameter.
fn given_by_parameter(options: &SweepOptions) -> bool {
    options.param.iter().any(|p| p.values.iter().all(|value| value.contains(PLACEHOLDER)))
}

fn without_thread_count(program: &str) -> Failure {
    usage(format!("{PLACEHOLDER} occurs nowhere, so every run would be the same")).hint(format!(
        "write it where {program} takes its thread count, as in -- {program} --threads={PLACEHOLDER}; for OpenMP and \
         others that read a variable: --env OMP_NUM_THREADS={PLACEHOLDER}; for one that counts the processors: knee sweep \
         --processors 1,2 -- {program}"
    ))
}

/// The variables that the user sets.
///
/// # Errors
/// When one is not NAME=VALUE.
pub(crate) fn variables(options: &Making) -> Result<Vec<(OsString, OsString)>, Failure> {
    options.env.iter().map(|text| variable(text)).collect::<Result<_, _>>().map_err(usage)
}

/// The forms of a throughput: the user's, the common ones, or none.
///
/// # Errors
/// When the user's form is not a regular expression.
pub(crate) fn forms(pattern: Option<&str>) -> Result<Forms, Failure> {
    match pattern {
        Some(pattern) => Forms::given(pattern).map_err(|why| usage(format!("--throughput: {why}"))),
        None => Forms::common().map_err(|why| Failure::new(Status::Internal, why)),
    }
}

/// Blocks of a comparison.
///
/// Decides: how many blocks a comparison or a check of the noise has.
/// From: statistics: the interval then extends about as far to each side as the times of single runs spread.
/// Shown by: `bench/intervals`.
/// Wrong if: single runs spread so widely that a real difference is not reported.
const USUAL_PAIRS: u32 = 10;
/// The fewest blocks from which anything can be concluded for one thread count.
///
/// Decides: how many blocks a quick comparison or a quick check of the noise has.
/// From: arithmetic: with fewer, no order of signs is rarer than one in twenty.
/// Shown by: `bench/intervals`.
/// Wrong if: never for one thread count; with several, intervals are wider than said here.
const QUICK_PAIRS: u32 = 6;

/// Further blocks of a quick sweep, where its three leave open whether time is lost.
///
/// Decides: how many blocks a quick sweep gets beyond three.
/// From: statistics: if all of five blocks show a loss, there is one, with a chance of error of one in 32
/// (`statistics::intervals::above`); three blocks are never enough.
/// Shown by: `amounts_by_default`.
/// Wrong if: a program's runs scatter so much that five leave it open, too: the sweep then takes longer for nothing.
const QUICK_MORE: u32 = 2;

fn amounts(options: &SweepOptions, runs: Option<u32>, warm_up: Option<u32>) -> Amounts {
    // The command line's --quick overrides the file's number of runs.
    let (timed, warm) = match (options.making.quick, options.check_noise) {
        (true, true) => (QUICK_PAIRS, 0),
        (true, false) => (3, 0),
        // The file's number of runs is meant for a curve, not for a noise check.
        (false, true) => (USUAL_PAIRS, warm_up.unwrap_or(1)),
        (false, false) => (runs.unwrap_or(5), warm_up.unwrap_or(1)),
    };
    // No further blocks if the user or the file gives a number.
    let number_given = options.runs.or(runs).is_some() || options.check_noise;
    let more = match options.making.quick {
        _ if number_given => 0,
        true => QUICK_MORE,
        false => timed,
    };
    let (timed, warm_up) = (options.runs.unwrap_or(timed), options.making.warm_up.unwrap_or(warm));
    Amounts { timed, more, warm_up, traced: !options.observing.no_trace }
}

/// Half the blocks, so that on a machine that is never quiet a sweep takes at most half as long again.
fn repeats(options: &Making, amounts: Amounts) -> u32 {
    options.repeats.unwrap_or(amounts.timed / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    #[test]
    fn amounts_by_default() {
        let of = |words: &[&str]| {
            let line = ["knee", "sweep", "-t", "1,2"].iter().chain(words).chain(&["--", "app", "{threads}"]);
            let Ok(Cli { command: Some(Command::Sweep(sweep)), .. }) = Cli::try_parse_from(line) else {
                panic!("{words:?}")
            };
            let Amounts { timed, more, warm_up, .. } = of_command(&sweep.command, &sweep).unwrap().amounts;
            (timed, more, warm_up)
        };
        assert_eq!(of(&[]), (5, 5, 1));
        assert_eq!(of(&["--quick"]), (3, 2, 0));
        assert_eq!(of(&["--quick", "--load", "wrk http://localhost/"]), (3, 0, 0), "a server takes its time to start");
        assert_eq!((of(&["--quick", "--runs", "4"]), of(&["--runs", "9"])), ((4, 0, 0), (9, 0, 1)));
        assert_eq!(of(&["--check-noise"]), (10, 0, 1));
    }
}
