//! The arguments of the commands that read recordings or tell about knee.

use super::values::moment;
use super::{AnswerFormat, Format};
use clap::{Args, ValueEnum, ValueHint};
use clap_complete::Shell;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Folder of a recording, or of a sweep over several cases
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Write the page with pictures, lanes and tables to this file instead of printing the answer
    #[arg(long, value_name = "FILE", conflicts_with = "format")]
    pub(crate) html: Option<PathBuf>,
    /// Write the answer as one picture (SVG) to this file, for an issue or a chat
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "html"])]
    pub(crate) card: Option<PathBuf>,
    /// Take from this file what functions do (docs/primitives.md), not from the recording
    #[arg(long, value_name = "FILE")]
    pub(crate) primitives: Option<PathBuf>,
    /// How to print the answer
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: AnswerFormat,
}

const WHAT_IF_EXAMPLES: &str = "\
Examples:
  knee what-if knee-server-20261121-101112
  knee what-if DIR --format json";

#[derive(Debug, Args)]
#[command(after_help = WHAT_IF_EXAMPLES)]
pub(crate) struct WhatIf {
    /// Folder of the recording of a sweep
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Take from this file what functions do (docs/primitives.md), not from the recording
    #[arg(long, value_name = "FILE")]
    pub(crate) primitives: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
}

const PREDICT_EXAMPLES: &str = "\
Examples:
  knee predict knee-server-20261121-101112 --processors 4,8,16
  knee predict DIR --from 1          # from one count alone, beside what was measured
  knee predict DIR --from 2 --model usl --format json";

#[derive(Debug, Args)]
#[command(after_help = PREDICT_EXAMPLES)]
pub(crate) struct Predict {
    /// Folder of the recording of a sweep
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Numbers of processors [default: twice, four and eight times the largest measured count]
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) processors: Vec<u32>,
    /// Use only the counts up to this one, and compare with what was measured above it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) from: Option<u32>,
    /// Show another law beside it, with its error
    #[arg(long, value_enum, value_name = "LAW")]
    pub(crate) model: Option<Law>,
    /// Take from this file what functions do (docs/primitives.md), not from the recording
    #[arg(long, value_name = "FILE")]
    pub(crate) primitives: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: PredictionFormat,
}

/// A law of scaling to show beside a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Law {
    /// The universal scalability law
    Usl,
}

/// How a prediction is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum PredictionFormat {
    /// For people
    #[default]
    Text,
    /// For scripts (see docs/prediction.schema.json)
    Json,
    /// For a comment on a pull request
    Markdown,
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
    /// The observed run with this many threads [default: the largest count]
    #[arg(short, long, value_name = "N")]
    pub(crate) threads: Option<u32>,
    /// Only this thread, by its id
    #[arg(long, value_name = "TID")]
    pub(crate) thread: Option<u32>,
    /// Only what happened between two times, in seconds since the start of the run
    #[arg(long, num_args = 2, value_names = ["FROM", "TO"], value_parser = moment)]
    pub(crate) between: Option<Vec<f64>>,
    /// Column to sort by, the largest first; its name is that of the CSV [default: what matters most]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) sort: Option<String>,
    /// At most this many rows or lanes [default: 20 rows or 40 lanes of text, else all]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Take from this file what functions do (docs/primitives.md), not from the recording
    #[arg(long, value_name = "FILE")]
    pub(crate) primitives: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: ShowFormat,
}

/// What `knee show` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Table {
    /// Threads, and how each spent its time
    Threads,
    /// Locks that threads waited for, the program's and the kernel's
    Locks,
    /// Waits by place and reason
    Waits,
    /// Who waits for whom
    Wakers,
    /// System calls with their errors and times
    Syscalls,
    /// Functions by processor time and by growth against the baseline, the smallest thread count
    Functions,
    /// Source lines, in the same way
    Lines,
    /// Cache lines that several threads touch
    Sharing,
    /// The lanes of the threads over time
    Timeline,
}

/// How a table is printed.
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
Only this machine can reach it, and only with the whole address, which holds a secret. Nothing else is served.";

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
    /// The observed run with this many threads [default: the largest count]
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

A profile has samples and nothing else. It shows where processor time went, but not which thread waited for what, nor
how fast the program is: every cause stays unsure. knee sweep finds these.";

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
    pub(crate) format: AnswerFormat,
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
    pub(crate) format: AnswerFormat,
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

/// How an explanation is printed.
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
