//! The arguments: names, help texts, examples. May import: clap, collect (names), `cases`, `counts`,
//! `version`.

use crate::cases::Parameter;
use crate::counts::Counts;
use crate::version;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use collect::Collector;
use collect::rights::Task;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Finds out why a multithreaded program does not get faster with more threads.
#[derive(Debug, Parser)]
#[command(name = "knee", version, long_version = version::long(), max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs a program at several thread counts and says what stops it from scaling
    Sweep(Sweep),
    /// Observes one run of a program, or one that runs already, and says where its time goes
    Record(Record),
    /// Shows what the threads of a program do now, and its hottest functions, waits and locks
    Watch(Watch),
    /// Shows the answer of a recording again
    Report(Report),
    /// Shows a table of an observed run: its threads, locks, waits, functions, lanes, ...
    Show(Show),
    /// Serves the page of a recording with all of its detail, for a browser on this machine
    View(View),
    /// Writes an observed run in a format of another tool
    Export(Export),
    /// Reads a profile that perf made, so that knee shows where its processor time went
    Import(Import),
    /// Runs two commands in turn and says which is faster, or that it cannot be told
    Compare(Compare),
    /// Compares two recordings, before and after a change
    Diff(Diff),
    /// Says what a cause is, what it costs and what would disprove it
    Explain(Explain),
    /// Lists the programs of the lab, each with a known bottleneck; runs and explains them
    Lab(Lab),
    /// Says what this machine lets knee see, and how to unlock the rest
    Doctor(Doctor),
    /// Prints a completion script for a shell
    Completions(Completions),
    /// Prints a manual page, or writes all of them
    #[command(hide = true)]
    Man(Man),
}

impl Command {
    /// What the rights are for that it needs.
    pub(crate) fn task(&self) -> Task {
        match self {
            Command::Sweep(_)
            | Command::Record(_)
            | Command::Watch(_)
            | Command::Compare(_)
            | Command::Lab(_)
            | Command::Doctor(_) => Task::Observing,
            Command::Report(_)
            | Command::Show(_)
            | Command::View(_)
            | Command::Export(_)
            | Command::Import(_)
            | Command::Diff(_)
            | Command::Explain(_)
            | Command::Completions(_)
            | Command::Man(_) => Task::Reading,
        }
    }
}

/// Examples of the whole tool, also shown by `knee` alone.
pub(crate) const EXAMPLES: &str = "\
Examples:
  Why does a program not get faster with more threads?
    knee sweep -t 1,2,4 -- ./birthday --threads={threads}

  What do the threads of a program that runs already wait for?
    sudo knee record -p 4711 --for 10s

  Which of two builds is faster with 4 threads?
    knee compare -t 4 -- ./old --threads={threads} -- ./new --threads={threads}

`knee doctor` says what this machine lets it see, `knee lab` has programs to try
it on, and `knee COMMAND --help` more examples.";

const SWEEP_EXAMPLES: &str = "\
Examples:
  A program that takes its thread count as an argument:
    knee sweep -t 1,2,4 -- ./birthday --threads={threads} --attempts=2M

  A program that takes it from the environment:
    knee sweep -t 1,2,4 --env OMP_NUM_THREADS={threads} -- ./solver input.dat

  A program whose work grows with its threads, compared by what it prints:
    knee sweep -t 1-8 --throughput 'tput\\(Mops\\)=([0-9.]+)' -- ./list {threads}

  Several values of a parameter, compared with each other:
    knee sweep -t 1,2 --param size=1K,1M -- ./sum --size={size} {threads}

  Variants of a program, as a file describes them:
    knee sweep lab/sweeps/list.toml --quick --variant list --variant list-pmla

  How much this machine's noise hides, from the same command twice:
    knee sweep -t 1,2 --check-noise -- ./birthday --threads={threads}

Exit status: 0 an answer was given, 2 wrong usage, 3 the program failed, 4 no
permission, 5 unreadable recording, 130 interrupted (the answer so far is
still written).";

const TARGET: &str = "The program";
const SWEEPING: &str = "The sweep";
const OUTPUT: &str = "Output";

#[derive(Debug, Args)]
#[command(after_help = SWEEP_EXAMPLES)]
pub(crate) struct Sweep {
    /// A sweep that is kept in a file (TOML): variants of a program, parameters, thread counts
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = TARGET)]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) options: SweepOptions,
    /// The program and its arguments, behind `--`; `{threads}` is replaced by the thread count
    #[arg(required_unless_present = "file", conflicts_with = "file", last = true, value_name = "COMMAND", help_heading = TARGET)]
    pub(crate) command: Vec<OsString>,
}

/// What `knee sweep` and `knee lab run` have in common. With a sweep file these go before what the file says.
#[derive(Debug, Args)]
pub(crate) struct SweepOptions {
    /// Thread counts: numbers and ranges, such as 1,2,4 or 1-8
    #[arg(short, long, value_name = "LIST", help_heading = SWEEPING)]
    pub(crate) threads: Option<Counts>,
    /// Values of a parameter, each run at every thread count; `{NAME}` in the command is replaced
    #[arg(long, value_name = "NAME=V1,V2", value_parser = parameter, help_heading = SWEEPING)]
    pub(crate) param: Vec<Parameter>,
    /// Of a sweep file: only this variant, or these when given several times
    #[arg(long, value_name = "NAME", help_heading = SWEEPING)]
    pub(crate) variant: Vec<String>,
    /// Run the command against itself, observing nothing: how large a difference has to be to be seen here
    #[arg(long, help_heading = SWEEPING)]
    pub(crate) check_noise: bool,
    /// Timed runs at each count [default: 5; with --quick 3; with --check-noise 10 and 6]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = SWEEPING)]
    pub(crate) runs: Option<u32>,
    #[command(flatten)]
    pub(crate) making: Making,
}

/// What `knee sweep` and `knee compare` have in common.
#[derive(Debug, Args)]
pub(crate) struct Making {
    /// Say what would be run, and run nothing
    #[arg(long, help_heading = SWEEPING)]
    pub(crate) plan: bool,
    /// Runs at each count that are not timed, before the others [default: 1; with --quick 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=10_000), help_heading = SWEEPING)]
    pub(crate) warm_up: Option<u32>,
    /// Few runs: for a first look, with wide intervals
    #[arg(long, help_heading = SWEEPING)]
    pub(crate) quick: bool,
    /// Make at most so many blocks of timed runs again that something else disturbed [default: half the runs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=10_000), help_heading = SWEEPING)]
    pub(crate) repeats: Option<u32>,
    /// Do not observe a run at each count: the curve without the causes
    #[arg(long, help_heading = SWEEPING)]
    pub(crate) no_trace: bool,
    /// Observe with bpf, perf or proc [default: the best that is allowed here]
    #[arg(long, value_name = "NAME", value_parser = collector(), env = "KNEE_COLLECTOR", hide_env_values = true, help_heading = SWEEPING)]
    pub(crate) collector: Option<Collector>,
    /// Seed of the random order of the runs, to repeat a sweep
    #[arg(long, value_name = "N", help_heading = SWEEPING)]
    pub(crate) seed: Option<u64>,
    /// Regular expression for the throughput in a line of the program's output; its group is the number
    ///
    /// Programs whose work grows with their threads are compared by it. Without the option, common forms such as
    /// `tput(Mops)=8.63` or `1200 ops/s` are recognised where each run prints exactly one.
    #[arg(long, value_name = "REGEX", help_heading = TARGET)]
    pub(crate) throughput: Option<String>,
    /// Variable for the program; `{threads}` in the value is replaced
    #[arg(long, value_name = "NAME=VALUE", value_parser = clap::value_parser!(OsString), help_heading = TARGET)]
    pub(crate) env: Vec<OsString>,
    /// A run that takes longer than this is ended and counts as failed
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = TARGET)]
    pub(crate) timeout: Option<f64>,
    /// Folder for the recording; it must not exist yet [default: ./knee-PROGRAM-DATE-TIME]
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT)]
    pub(crate) output: Option<PathBuf>,
    /// How to print the answer
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = OUTPUT)]
    pub(crate) format: Format,
    /// Show what the program prints, after each run, on standard error
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) show_output: bool,
    /// No progress on standard error
    #[arg(short, long, help_heading = OUTPUT)]
    pub(crate) quiet: bool,
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  Two builds of a program, with as many threads as they like:
    knee compare -- ./old input.dat -- ./new input.dat

  Two ways to call it, at two thread counts:
    knee compare -t 2,4 --runs 20 -- ./sum --lock {threads} -- ./sum {threads}

Both are run once in each block, in random order; what disturbs a block counts
for neither. With fewer than 6 blocks nothing can be told.

Exit status: as of knee sweep. Both an answer and \"cannot be told\" are 0.";

#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES, override_usage = "knee compare [OPTIONS] -- A [ARGUMENTS] -- B [ARGUMENTS]")]
pub(crate) struct Compare {
    /// The two commands: A behind the first `--`, B behind the second; `{threads}` is replaced by the thread count
    #[arg(required = true, last = true, value_name = "COMMANDS", help_heading = TARGET)]
    pub(crate) commands: Vec<OsString>,
    /// Thread counts: numbers and ranges, such as 4 or 1,2,4 [default: the commands choose by themselves]
    #[arg(short, long, value_name = "LIST", help_heading = SWEEPING)]
    pub(crate) threads: Option<Counts>,
    /// Timed runs of each at each count [default: 10; with --quick 6]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = SWEEPING)]
    pub(crate) runs: Option<u32>,
    #[command(flatten)]
    pub(crate) making: Making,
}

const RECORD_EXAMPLES: &str = "\
Examples:
  One run of a program, with the terminal as its own:
    knee record -- ./server --port=8080

  A program that runs already, for ten seconds; it goes on unchanged:
    sudo knee record -p 4711 --for 10s

What stops a program from scaling is told by comparing thread counts: knee sweep.

Exit status: as of knee sweep.";

#[derive(Debug, Args)]
#[command(after_help = RECORD_EXAMPLES)]
pub(crate) struct Record {
    /// Observe this running process with all its threads, instead of starting a program
    #[arg(short, long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..), help_heading = TARGET, conflicts_with_all = ["command", "env"])]
    pub(crate) pid: Option<u32>,
    /// Observe so long, such as 10s, 500ms or 2m [default: until the program ends, or Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = duration, help_heading = TARGET, requires = "pid")]
    pub(crate) length: Option<Duration>,
    /// Observe with bpf, perf or proc [default: the best that is allowed here; with -p always bpf]
    #[arg(long, value_name = "NAME", value_parser = collector(), env = "KNEE_COLLECTOR", hide_env_values = true, help_heading = TARGET)]
    pub(crate) collector: Option<Collector>,
    /// Variable for the program
    #[arg(long, value_name = "NAME=VALUE", value_parser = clap::value_parser!(OsString), help_heading = TARGET)]
    pub(crate) env: Vec<OsString>,
    /// The program and its arguments, behind `--`
    #[arg(required_unless_present = "pid", last = true, value_name = "COMMAND", help_heading = TARGET)]
    pub(crate) command: Vec<OsString>,
    /// Folder for the recording; it must not exist yet [default: ./knee-PROGRAM-DATE-TIME]
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT)]
    pub(crate) output: Option<PathBuf>,
    /// How to print the answer
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = OUTPUT)]
    pub(crate) format: Format,
}

const WATCH_EXAMPLES: &str = "\
Examples:
  A program that runs already; it goes on unchanged:
    sudo knee watch -p 4711

  One's own program, without any rights, as text for ten seconds:
    knee watch -p 4711 --plain --for 10s

  A program that is started, and ends with the view; what it prints is not shown:
    knee watch -- ./server --port=8080

Keys: q quit, p pause, Tab or the arrows left and right another table, up and down its rows, s sort it by another
column. The tables are of the last 5 seconds and change once a second; nothing is kept. With eBPF (root) they have the
functions that run and every wait; by /proc alone no function that runs, and of short waits only a part.";

#[derive(Debug, Args)]
#[command(after_help = WATCH_EXAMPLES)]
pub(crate) struct Watch {
    /// Look at this running process with all its threads, instead of starting a program
    #[arg(short, long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..), help_heading = TARGET, conflicts_with_all = ["command", "env"])]
    pub(crate) pid: Option<u32>,
    /// Look so long, such as 10s, 500ms or 2m [default: until the program ends, or q]
    #[arg(long = "for", value_name = "TIME", value_parser = duration, help_heading = TARGET)]
    pub(crate) length: Option<Duration>,
    /// Look with bpf or proc [default: the best that is allowed here]
    #[arg(long, value_name = "NAME", value_parser = collector(), env = "KNEE_COLLECTOR", hide_env_values = true, help_heading = TARGET)]
    pub(crate) collector: Option<Collector>,
    /// Variable for the program
    #[arg(long, value_name = "NAME=VALUE", value_parser = clap::value_parser!(OsString), help_heading = TARGET)]
    pub(crate) env: Vec<OsString>,
    /// Text, a look after the other, instead of a screen; also without a terminal
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) plain: bool,
    /// The program and its arguments, behind `--`
    #[arg(required_unless_present = "pid", last = true, value_name = "COMMAND", help_heading = TARGET)]
    pub(crate) command: Vec<OsString>,
}

const LAB_EXAMPLES: &str = "\
Examples:
  knee lab                    # the programs, a line each
  knee lab show list          # what is wrong with it, and what others measured
  knee lab run list --quick   # all its variants, side by side";

#[derive(Debug, Args)]
#[command(after_help = LAB_EXAMPLES)]
pub(crate) struct Lab {
    #[command(subcommand)]
    pub(crate) command: Option<LabCommand>,
    /// The lab's folder, the one that holds `sweeps` [default: found from the current folder or knee's own upwards]
    #[arg(long, global = true, value_name = "DIR", env = "KNEE_LAB", hide_env_values = true, value_hint = ValueHint::DirPath)]
    pub(crate) lab: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Runs a program's sweep and compares its variants
    Run(Box<LabRun>),
    /// Says what is wrong with a program, where, what repairs it, and what others measured
    Show(LabShow),
}

#[derive(Debug, Args)]
pub(crate) struct LabRun {
    /// The program, as `knee lab` lists it
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) options: SweepOptions,
}

#[derive(Debug, Args)]
pub(crate) struct LabShow {
    /// The program, as `knee lab` lists it
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Folder of a recording, or of a sweep over several cases
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Write the page with pictures, lanes and tables to this file instead of printing the answer
    #[arg(long, value_name = "FILE", conflicts_with = "format")]
    pub(crate) html: Option<PathBuf>,
    /// How to print the answer
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  knee show locks knee-server-20261121-101112
  knee show functions DIR --threads 4 --sort growth --limit 10
  knee show timeline DIR --between 0.2 0.25
  knee show waits DIR --thread 4711 --format csv";

#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub(crate) struct Show {
    /// What to show
    #[arg(value_enum, value_name = "TABLE")]
    pub(crate) table: Table,
    /// Folder of the recording
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// The observed run with so many threads [default: the largest count]
    #[arg(short, long, value_name = "N")]
    pub(crate) threads: Option<u32>,
    /// Only this thread, by its id
    #[arg(long, value_name = "TID")]
    pub(crate) thread: Option<u32>,
    /// Only what happened between two times, in seconds since the run's begin
    #[arg(long, num_args = 2, value_names = ["FROM", "TO"], value_parser = moment)]
    pub(crate) between: Option<Vec<f64>>,
    /// Column to sort by, the largest first; its name is that of the CSV [default: what matters most]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) sort: Option<String>,
    /// At most so many rows or lanes [default: 20 rows or 40 lanes of text, else all]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// How to print it
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: ShowFormat,
}

/// What `knee show` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Table {
    /// Threads, and what each did with its life
    Threads,
    /// Locks that threads waited for, the program's and the kernel's
    Locks,
    /// Waits by place and reason
    Waits,
    /// Who waits for whom
    Wakers,
    /// System calls with their errors and times
    Syscalls,
    /// Functions by processor time and by growth against the smallest thread count
    Functions,
    /// Source lines by the same
    Lines,
    /// Cache lines that several threads touch
    Sharing,
    /// The lanes of the threads over time
    Timeline,
}

/// For whom a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ShowFormat {
    /// For people
    #[default]
    Text,
    /// For scripts
    Json,
    /// For spreadsheets
    Csv,
}

const VIEW_EXAMPLES: &str = "\
Examples:
  knee view knee-server-20261121-101112
  knee view DIR --port 8080      # on a machine that you reach by: ssh -L 8080:127.0.0.1:8080

The page is that of knee report --html, but its lanes show everything that was recorded, however long the recording is.
Only this machine can reach it, and only who knows the address, which holds a secret. Nothing else is served.";

#[derive(Debug, Args)]
#[command(after_help = VIEW_EXAMPLES)]
pub(crate) struct View {
    /// Folder of the recording, or of a sweep over several cases
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Port on 127.0.0.1; 0 takes a free one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) port: u16,
    /// Open it in the desktop's browser (xdg-open); others on the machine may then see the address among the processes
    #[arg(long)]
    pub(crate) open: bool,
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  knee export DIR --to perfetto -o run.pftrace     # open in ui.perfetto.dev
  knee export DIR --to firefox -o run.json         # open in profiler.firefox.com
  knee export DIR --to folded -o - | inferno-flamegraph > run.svg
  knee export DIR --to pprof --threads 4 -o run.pb.gz && go tool pprof -http : run.pb.gz";

#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLES)]
pub(crate) struct Export {
    /// Folder of the recording
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// The format
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: Target,
    /// The observed run with so many threads [default: the largest count]
    #[arg(short, long, value_name = "N")]
    pub(crate) threads: Option<u32>,
    /// Where to: a file, - for standard output; for csv and parquet a new folder
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

/// Formats of other tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// Perfetto: states of threads, wake-ups, tasks, how many threads run
    Perfetto,
    /// Firefox Profiler: samples, states, waits, tasks
    Firefox,
    /// Folded stacks of the samples, for flame graphs
    Folded,
    /// pprof: samples, processor time, waits, blocked time by call path
    Pprof,
    /// The tables of knee show, a file each
    Csv,
    /// The whole recording, one Parquet file a table
    Parquet,
}

const IMPORT_EXAMPLES: &str = "\
Examples:
  A profile, with its call paths:
    perf record -e cpu-clock -F 997 -g -- ./app
    perf script --header > app.txt
    knee import app.txt

  Profiles at several thread counts, to see what grew:
    knee import 1=one.txt 4=four.txt -o profiles
    knee show functions profiles --sort growth

A profile has samples and nothing else. It tells where processor time went, and not who waited for what, nor how fast
the program is: every cause stays unsure. Those are told by knee sweep.";

#[derive(Debug, Args)]
#[command(after_help = IMPORT_EXAMPLES)]
pub(crate) struct Import {
    /// What `perf script` printed; - for standard input; N=FILE when it was made with N threads
    #[arg(required = true, value_name = "[N=]FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<OsString>,
    /// Folder for the recording; it must not exist yet [default: ./knee-FILE-DATE-TIME]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// How to print the answer
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// Folder of the recording before the change
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,
    /// Folder of the recording after it
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,
    /// How to print the comparison
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  knee explain                            # the causes, a line each
  knee explain user-lock
  knee explain --all --format markdown    # the chapter of the documentation";

#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub(crate) struct Explain {
    /// The cause, such as user-lock; without it all are listed
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Explain all of them, one after the other
    #[arg(long, conflicts_with = "id")]
    pub(crate) all: bool,
    /// How to print it
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: ExplainFormat,
}

/// For whom an explanation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ExplainFormat {
    /// For people at a terminal
    #[default]
    Text,
    /// For a page
    Markdown,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// How to print the findings
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

const MAN_EXAMPLES: &str = "\
Examples:
  knee man sweep | man -l -
  knee man lab run > knee-lab-run.1
  knee man --all /usr/local/share/man/man1";

#[derive(Debug, Args)]
#[command(after_help = MAN_EXAMPLES)]
pub(crate) struct Man {
    /// The command, such as `sweep` or `lab run`; without it knee's own page
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Write the pages of all commands to this folder
    #[arg(long, value_name = "DIR", conflicts_with = "command", value_hint = ValueHint::DirPath)]
    pub(crate) all: Option<PathBuf>,
}

/// For whom the answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// For scripts (see docs/answer.schema.json)
    Json,
}

fn collector() -> impl TypedValueParser<Value = Collector> {
    PossibleValuesParser::new(Collector::ALL.map(Collector::name)).try_map(|name| name.parse::<Collector>())
}

/// `NAME=V1,V2`.
fn parameter(text: &str) -> Result<Parameter, String> {
    let (name, values) = text.split_once('=').ok_or("write NAME=VALUE,VALUE, such as size=1K,1M")?;
    let values: Vec<String> = values.split(',').map(str::to_owned).collect();
    if name.is_empty() || name.contains(['{', '}']) {
        return Err("the parameter has no name before its =".to_owned());
    }
    if name == "threads" {
        return Err("thread counts are given by --threads".to_owned());
    }
    if values.iter().any(String::is_empty) {
        return Err(format!("a value of {name} is empty"));
    }
    match values.iter().enumerate().find(|(i, value)| values[..*i].contains(value)) {
        Some((_, twice)) => Err(format!("{twice} is listed twice")),
        None => Ok(Parameter { name: name.to_owned(), values }),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        // An upper end keeps it a duration: a year is longer than any run.
        Ok(value) if value > 0.0 && value <= 31_536_000.0 => Ok(value),
        _ => Err("expected a number of seconds above 0, such as 60 or 0.5".to_owned()),
    }
}

/// A moment of a run.
fn moment(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value),
        _ => Err("expected seconds since the run's begin, such as 0.25".to_owned()),
    }
}

/// A time with its unit; a bare number is seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a time such as 10s, 500ms or 2m".to_owned();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match text.get(digits.len()..).unwrap_or("") {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let number: f64 = digits.parse().map_err(|_| wrong())?;
    seconds(&(number * scale).to_string()).map(Duration::from_secs_f64).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn parameters_have_names_and_values() {
        let values = vec!["1K".to_owned(), "a=b".to_owned()];
        assert_eq!(parameter("size=1K,a=b"), Ok(Parameter { name: "size".into(), values }));
        for (text, part) in [
            ("size", "NAME=VALUE"),
            ("=1", "no name"),
            ("{n}=1", "no name"),
            ("threads=1,2", "--threads"),
            ("n=", "is empty"),
            ("n=1,,2", "is empty"),
            ("n=1,2,1", "1 is listed twice"),
        ] {
            assert!(parameter(text).unwrap_err().contains(part), "{text}");
        }
    }

    #[test]
    fn times_have_units() {
        for (text, ms) in [("10s", 10_000), ("500ms", 500), ("2m", 120_000), ("0.5", 500), ("1h", 3_600_000)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "s", "-1s", "10 s", "10y", "nan", "1e99h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn seconds_are_positive() {
        assert_eq!(seconds("0.5"), Ok(0.5));
        for text in ["0", "-1", "NaN", "inf", "1e300", "5s", ""] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
