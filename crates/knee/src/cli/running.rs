//! The arguments of the commands that run or observe programs.

use super::AnswerFormat;
use super::values::{collector, duration, parameter, seconds, share};
use crate::gate::condition::Condition;
use crate::plan::cases::Parameter;
use crate::plan::counts::{Counts, Processors};
use crate::serving::{ProcessorNumbers, ready};
use crate::trials::output::SameOutput;
use clap::{Args, Subcommand, ValueHint};
use collect::Collector;
use collect::load::Ready;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

const SWEEP_EXAMPLES: &str = "\
Examples:
  A program that takes as many threads as it finds processors (also without `sweep`):
    knee sweep --processors 1,2,4 -- ./app input.dat

  A program that takes its thread count as an argument:
    knee sweep -t 1,2,4 -- ./birthday --threads={threads} --attempts=2M

  A program that takes it from the environment:
    knee sweep -t 1,2,4 --env OMP_NUM_THREADS={threads} -- ./solver input.dat

  A program whose work grows with its threads, compared by what it prints:
    knee sweep -t 1-8 --throughput 'tput\\(Mops\\)=([0-9.]+)' -- ./list {threads}

  Several values of a parameter, compared with each other:
    knee sweep -t 1,2 --param size=1K,1M -- ./sum --size={size} {threads}

  A server, which another program asks for work:
    knee sweep -t 1,2,4 --load 'wrk -c 16 -d 5 http://localhost:8080/' -- ./server --workers={threads}

  Variants of a program, as a file describes them:
    knee sweep lab/sweeps/list.toml --quick --variant list --variant list-pmla

  Its cause, and whether trials confirm it:
    knee sweep -t 1,2 --confirm -- ./birthday --threads={threads}

  How much this machine's noise hides, from the same command twice:
    knee sweep -t 1,2 --check-noise -- ./birthday --threads={threads}

Exit status: 0 an answer was given, 2 wrong usage, 3 the program failed, 4 no
permission, 5 unreadable recording, 130 interrupted (the answer so far is
still written); 1 a condition of --fail-if is true, 6 with --fail-if-unsure it
cannot be told.";

const TARGET: &str = "The program";
const SWEEPING: &str = "The sweep";
const TRYING: &str = "The trials";
const SERVING: &str = "A server under load";
const OUTPUT: &str = "Output";

#[derive(Debug, Args)]
#[command(after_help = SWEEP_EXAMPLES)]
pub(crate) struct Sweep {
    /// A sweep that is kept in a file (TOML): variants of a program, parameters, thread counts
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "load", help_heading = TARGET)]
    pub(crate) file: Option<PathBuf>,
    /// Counts of processors, such as 1,2,4: the program is kept to this many, and starts as many threads as it likes
    ///
    /// This is what happens without --threads, with 1, 2, 4, ... up to all processors. `{processors}` in the command is
    /// replaced by the count.
    #[arg(long, value_name = "LIST", conflicts_with_all = ["file", "threads"], help_heading = SWEEPING)]
    pub(crate) processors: Option<Processors>,
    /// Exit status 1 when this is true with 95 % certainty, such as 'efficiency(4) < 0.6'; also speedup, seconds, throughput, and >
    #[arg(long, value_name = "CONDITION", help_heading = OUTPUT)]
    pub(crate) fail_if: Vec<Condition>,
    /// Exit status 6 when that cannot be told
    #[arg(long, requires = "fail_if", help_heading = OUTPUT)]
    pub(crate) fail_if_unsure: bool,
    /// Try what makes the program faster, too, to show whether the first cause is really one: as `knee try` does
    #[arg(long, conflicts_with_all = ["check_noise", "no_trace", "plan"], help_heading = SWEEPING)]
    pub(crate) confirm: bool,
    #[command(flatten)]
    pub(crate) serve: Serve,
    #[command(flatten)]
    pub(crate) options: SweepOptions,
    /// The program and its arguments, behind `--`; `{threads}` is replaced by the thread count
    #[arg(required_unless_present = "file", conflicts_with = "file", last = true, value_name = "COMMAND", help_heading = TARGET)]
    pub(crate) command: Vec<OsString>,
}

/// Options of a program that is a server.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The program is a server: start it, run this command when it is ready, then end it
    ///
    /// The command asks the server for work and prints how much it got done; a run lasts from its start to its end. What wrk, wrk2,
    /// hey, ab, oha, h2load, vegeta, k6, redis-benchmark, memtier_benchmark, pgbench and sysbench print is known; --throughput
    /// REGEX reads others. No shell is involved. In a sweep `{threads}`, `{processors}` and `{NAME}` of --param are replaced in it, too.
    #[arg(long, value_name = "COMMAND", help_heading = SERVING)]
    pub(crate) load: Option<String>,
    /// When the server is ready: port:8080, http://localhost:8080/health, or a regular expression of a line that it prints
    /// [default: it listens]
    #[arg(long, value_name = "WHEN", value_parser = ready, requires = "load", help_heading = SERVING)]
    pub(crate) ready: Option<Ready>,
    /// How long the server may take to be ready, such as 10s or 5m
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "60s", requires = "load", help_heading = SERVING)]
    pub(crate) ready_within: Duration,
    /// How long the server may take to end when it is asked to (SIGTERM); then it is killed
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s", requires = "load", help_heading = SERVING)]
    pub(crate) stop_within: Duration,
    /// Keep the load to the processors with these numbers, such as 3 or 2,3
    #[arg(long, value_name = "LIST", requires = "load", help_heading = SERVING)]
    pub(crate) load_processors: Option<ProcessorNumbers>,
}

/// What `knee sweep` and `knee lab run` have in common. These options override what a sweep file says.
#[derive(Debug, Args)]
pub(crate) struct SweepOptions {
    /// Thread counts: numbers and ranges, such as 1,2,4 or 1-8
    #[arg(short, long, value_name = "LIST", help_heading = SWEEPING)]
    pub(crate) threads: Option<Counts>,
    /// Values of a parameter, each run at every thread count; `{NAME}` in the command is replaced
    #[arg(long, value_name = "NAME=V1,V2", value_parser = parameter, help_heading = SWEEPING)]
    pub(crate) param: Vec<Parameter>,
    /// Run only this variant of a sweep file, or these when given several times
    #[arg(long, value_name = "NAME", help_heading = SWEEPING)]
    pub(crate) variant: Vec<String>,
    /// Run the command against itself, observing nothing: how large a difference has to be to be seen here
    #[arg(long, help_heading = SWEEPING)]
    pub(crate) check_noise: bool,
    /// Timed runs at each count [default: 5, and 5 more where those leave open whether time is lost; with --quick 3 and 2;
    /// with --check-noise 10, and 6 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = SWEEPING)]
    pub(crate) runs: Option<u32>,
    #[command(flatten)]
    pub(crate) observing: Observing,
    #[command(flatten)]
    pub(crate) making: Making,
}

/// Whether and how one run at each count is observed.
#[derive(Debug, Default, Args)]
pub(crate) struct Observing {
    /// Do not observe a run at each count: the curve without the causes
    #[arg(long, help_heading = SWEEPING)]
    pub(crate) no_trace: bool,
    /// Observe with bpf, perf or proc [default: the best that is allowed here]
    #[arg(long, value_name = "NAME", value_parser = collector(), env = "KNEE_COLLECTOR", hide_env_values = true, help_heading = SWEEPING)]
    pub(crate) collector: Option<Collector>,
    /// File that says which functions of yours take locks, wait, ... (docs/primitives.md) [default: ./knee.toml, if it is there]
    #[arg(long, value_name = "FILE", help_heading = TARGET)]
    pub(crate) primitives: Option<PathBuf>,
}

/// What all commands that time runs have in common.
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
    /// Repeat at most this many blocks of timed runs, those that something else disturbed [default: half the runs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=10_000), help_heading = SWEEPING)]
    pub(crate) repeats: Option<u32>,
    /// Wait at most this long until other programs leave the processors alone, such as 30s or 5m [default: 60s at a terminal,
    /// else 0]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = SWEEPING, num_args = 0..=1, require_equals = true, default_missing_value = "10m")]
    pub(crate) wait_for_quiet: Option<Duration>,
    /// Start at once, without a look at what else runs
    #[arg(long, conflicts_with = "wait_for_quiet", help_heading = SWEEPING)]
    pub(crate) no_wait: bool,
    /// Seed of the random order of the runs, to repeat a sweep
    #[arg(long, value_name = "N", help_heading = SWEEPING)]
    pub(crate) seed: Option<u64>,
    /// Regular expression for the throughput in a line of the program's output; its group is the number
    ///
    /// Programs whose work grows with their threads are compared by it. Without the option, common forms such as
    /// `tput(Mops)=8.63` or `1200 ops/s` are recognised where each run prints exactly one; else a time such as `time=2.41 s`
    /// that leaves out the start of the program. `none` compares whole runs.
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
    pub(crate) format: AnswerFormat,
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

  In the CI of a project, which fails when the new build is slower:
    knee compare --fail-if-slower 5% -- ./old input.dat -- ./new input.dat

Both are run once in each block, in random order; what disturbs a block counts
for neither. With fewer than 6 blocks nothing can be told.

Exit status: as of knee sweep. Both an answer and \"cannot be told\" are 0;
1 and 6 only with --fail-if-slower and --fail-if-unsure.";

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
    /// Exit status 1 when B is slower than A by at least so much, with 95 % certainty
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = OUTPUT)]
    pub(crate) fail_if_slower: Option<f64>,
    /// Exit status 6 when that cannot be told
    #[arg(long, requires = "fail_if_slower", help_heading = OUTPUT)]
    pub(crate) fail_if_unsure: bool,
    #[command(flatten)]
    pub(crate) observing: Observing,
    #[command(flatten)]
    pub(crate) making: Making,
}

const TRY_EXAMPLES: &str = "\
Examples:
  Is the cause that a sweep found really the cause, and what does it cost?
    knee try knee-app-20261126-101500

  What makes a program faster, without a sweep before?
    knee try -t 2 -- ./app --threads={threads}

  Is it the allocator?
    knee try -t 2 --suspect allocator -- ./app --threads={threads}

  One trial, with a library of your own, and only if the output stays the same:
    knee try DIR --trial tcmalloc --with ./libtcmalloc.so.4 --same-output exact

  What there is:
    knee try --list

Each trial changes how the program is run: variables, a library that is loaded
first, a wrapper. Nothing is installed and no setting of the machine changes.
The unchanged program runs once in each block, too, in random order.

Exit status: as of knee sweep.";

#[derive(Debug, Args)]
#[command(after_help = TRY_EXAMPLES, override_usage = "knee try [OPTIONS] DIR\n       knee try [OPTIONS] -- COMMAND")]
pub(crate) struct Try {
    /// The recording of a sweep: its program is run, to show whether its first cause is one
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath, required_unless_present_any = ["command", "list"], conflicts_with = "command", help_heading = TARGET)]
    pub(crate) folder: Option<PathBuf>,
    /// The program and its arguments, behind `--`; `{threads}` is replaced by the thread count
    #[arg(last = true, value_name = "COMMAND", help_heading = TARGET)]
    pub(crate) command: Vec<OsString>,
    /// The thread count [default: that of the cause]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = TRYING)]
    pub(crate) threads: Option<u32>,
    /// The number of the cause in the answer [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), requires = "folder", help_heading = TRYING)]
    pub(crate) cause: Option<u32>,
    /// Try this cause, such as allocator or false-sharing, instead of one of an answer (`knee explain` names them)
    #[arg(long, value_name = "CAUSE", conflicts_with = "cause", help_heading = TRYING)]
    pub(crate) suspect: Option<String>,
    /// Only this trial, or these when given several times [default: those that show the cause]
    #[arg(long, value_name = "NAME", help_heading = TRYING)]
    pub(crate) trial: Vec<String>,
    /// Name and explain all trials, and run nothing
    #[arg(long, help_heading = TRYING)]
    pub(crate) list: bool,
    /// An allocator's library, for the trial of that allocator
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = TRYING)]
    pub(crate) with: Option<PathBuf>,
    /// What has to stay the same for a trial to count
    #[arg(long, value_enum, default_value_t, value_name = "WHAT", help_heading = TRYING)]
    pub(crate) same_output: SameOutput,
    /// Timed runs of each trial and of the unchanged program [default: 8, or as many as the trials need; with --quick these]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = TRYING)]
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

  A server, while another program asks it for work:
    knee record --load 'wrk -c 16 -d 5 http://localhost:8080/' -- ./server

One run cannot show what stops a program from scaling: knee sweep compares counts.

Exit status: as of knee sweep.";

#[derive(Debug, Args)]
#[command(after_help = RECORD_EXAMPLES)]
pub(crate) struct Record {
    /// Observe this running process with all its threads, instead of starting a program
    #[arg(short, long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..), help_heading = TARGET, conflicts_with_all = ["command", "env", "load"])]
    pub(crate) pid: Option<u32>,
    /// Observe for this long, such as 10s, 500ms or 2m [default: until the program ends, or Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = duration, help_heading = TARGET, requires = "pid")]
    pub(crate) length: Option<Duration>,
    /// Observe with bpf, perf or proc [default: the best that is allowed here; with -p always bpf]
    #[arg(long, value_name = "NAME", value_parser = collector(), env = "KNEE_COLLECTOR", hide_env_values = true, help_heading = TARGET)]
    pub(crate) collector: Option<Collector>,
    /// Variable for the program
    #[arg(long, value_name = "NAME=VALUE", value_parser = clap::value_parser!(OsString), help_heading = TARGET)]
    pub(crate) env: Vec<OsString>,
    /// File that says which functions of yours take locks, wait, ... (docs/primitives.md) [default: ./knee.toml, if it is there]
    #[arg(long, value_name = "FILE", help_heading = TARGET)]
    pub(crate) primitives: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) serve: Serve,
    /// Regular expression for the throughput in a line of the load's output; its group is the number
    #[arg(long, value_name = "REGEX", requires = "load", help_heading = SERVING)]
    pub(crate) throughput: Option<String>,
    /// The program and its arguments, behind `--`
    #[arg(required_unless_present = "pid", last = true, value_name = "COMMAND", help_heading = TARGET)]
    pub(crate) command: Vec<OsString>,
    /// Folder for the recording; it must not exist yet [default: ./knee-PROGRAM-DATE-TIME]
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT)]
    pub(crate) output: Option<PathBuf>,
    /// How to print the answer
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = OUTPUT)]
    pub(crate) format: AnswerFormat,
}

const WATCH_EXAMPLES: &str = "\
Examples:
  A program that runs already; it goes on unchanged:
    sudo knee watch -p 4711

  Your own program, without any rights, as text for ten seconds:
    knee watch -p 4711 --plain --for 10s

  A program that is started, and ends with the view; what it prints is not shown:
    knee watch -- ./server --port=8080

Keys: q quit, p pause, Tab or the arrows left and right another table, up and down its rows, s sort it by another
column. The tables are of the last 5 seconds and change once a second; nothing is kept. With eBPF (root) they have the
functions that run and every wait; with /proc alone no function that runs, and only some of the short waits.";

#[derive(Debug, Args)]
#[command(after_help = WATCH_EXAMPLES)]
pub(crate) struct Watch {
    /// Look at this running process with all its threads, instead of starting a program
    #[arg(short, long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..), help_heading = TARGET, conflicts_with_all = ["command", "env"])]
    pub(crate) pid: Option<u32>,
    /// Look for this long, such as 10s, 500ms or 2m [default: until the program ends, or q]
    #[arg(long = "for", value_name = "TIME", value_parser = duration, help_heading = TARGET)]
    pub(crate) length: Option<Duration>,
    /// Look with bpf or proc [default: the best that is allowed here]
    #[arg(long, value_name = "NAME", value_parser = collector(), env = "KNEE_COLLECTOR", hide_env_values = true, help_heading = TARGET)]
    pub(crate) collector: Option<Collector>,
    /// Variable for the program
    #[arg(long, value_name = "NAME=VALUE", value_parser = clap::value_parser!(OsString), help_heading = TARGET)]
    pub(crate) env: Vec<OsString>,
    /// Text, one look after the other, instead of a screen; also used without a terminal
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
