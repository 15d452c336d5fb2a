//! Turns profiles into a recording: one run per profile.

use crate::event::{Time, user_only};
use crate::header::Header;
use crate::names::{Names, Path};
use crate::perf_script::{self, Sample as Text};
use crate::threads::{self, Key, Seen};
use recording::meta::{Completion, Counted, Imported, Meta};
use recording::tables::{Loss, Mode, Run, RunKind, Sample, Trace};
use recording::{RunId, Tables, ThreadId};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead};

/// The most samples of a profile: at a thousand per second, those of a day on ninety processors.
const MOST_SAMPLES: usize = 8 << 20;

/// perf's default sampling frequency, samples per second (perf-record(1), `--freq`).
const USUAL_HERTZ: u64 = 4000;

/// A profile is reported as sparse when a thread's samples are usually more than this many periods apart. A thread that
/// runs without waiting has samples one period apart, and jitter is far below a whole period.
///
/// Decides: whether a profile is reported as sparse.
/// From: the definition of sampling: a thread that runs without waiting has samples one period apart.
/// Wrong if: a program waits for more than one period between any two samples: its profile is then called sparse
/// although no sample is missing.
const SPARSE: u64 = 2;
const SPARSE_MEANS: &str = "threads waited, or perf missed samples and times are too small; shares are still right";

/// The clock of an imported recording.
const CLOCK: &str = "perf";

/// A profile to be read.
pub struct Source<'a> {
    /// Its name in messages: its path.
    pub name: String,
    /// The thread count that it was made with; 0 for the number of threads in it.
    pub threads: u32,
    /// The text.
    pub text: Box<dyn BufRead + 'a>,
}

/// Why a profile cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Reading failed.
    #[error("cannot read {name}")]
    Io {
        /// The file.
        name: String,
        /// The system's answer.
        source: io::Error,
    },
    /// The file is the binary one that `perf record` writes.
    #[error("{name} is the binary file of perf record, and only its text can be read")]
    Binary {
        /// The file.
        name: String,
    },
    /// No line is a sample.
    #[error("{name} is not the output of perf script{}", shown(.line))]
    NoScript {
        /// The file.
        name: String,
        /// The first line that is not understood.
        line: Option<String>,
    },
    /// Samples have no times.
    #[error("the samples in {name} have no times")]
    NoTimes {
        /// The file.
        name: String,
    },
    /// No event counts time.
    #[error("{name} has no samples of processor time, only of {found}")]
    NoProcessorTime {
        /// The file.
        name: String,
        /// Its events, with the number of samples of each.
        found: String,
    },
    /// Too many samples to keep.
    #[error("{name} has more than {limit} samples")]
    TooMany {
        /// The file.
        name: String,
        /// The limit.
        limit: usize,
    },
    /// Two profiles with the same thread count.
    #[error("two profiles have the thread count {threads}")]
    Twice {
        /// The count.
        threads: u32,
    },
}

fn shown(line: &Option<String>) -> String {
    line.as_ref().map(|line| format!("; its first line is: {line}")).unwrap_or_default()
}

/// Reads profiles into one recording, one run per profile, ascending by thread count. `now_unix_ns` is the present
/// time, nanoseconds since the Unix epoch.
///
/// # Errors
/// When one of them is not a profile of processor time.
pub fn import(sources: Vec<Source<'_>>, knee: &str, now_unix_ns: u64) -> Result<Tables, Error> {
    let mut names = Names::default();
    let mut tables = Tables::empty(blank(knee, now_unix_ns));
    let mut profiles = Vec::new();
    for source in sources {
        profiles.push(Profile::read(source, &mut names)?);
    }
    profiles.sort_by_key(|profile| profile.threads);
    if let Some(pair) = profiles.windows(2).find(|pair| pair[0].threads == pair[1].threads) {
        return Err(Error::Twice { threads: pair[0].threads });
    }
    let processors = profiles.iter().map(|profile| profile.processors).max().unwrap_or(1);
    if let Some(largest) = profiles.last() {
        tables.meta.machine = largest.header.machine(processors);
        tables.meta.command = vec![largest.command()];
    }
    for (number, profile) in profiles.into_iter().enumerate() {
        let run = RunId(u32::try_from(number).unwrap_or(u32::MAX));
        tables.meta.thread_counts.push(profile.threads);
        profile.rows(run, now_unix_ns, &mut tables);
    }
    (tables.modules, tables.frames, tables.stacks) = (names.module_rows, names.frame_rows, names.stack_rows);
    Ok(tables)
}

fn blank(knee: &str, now_unix_ns: u64) -> Meta {
    Meta {
        format: recording::FORMAT,
        knee: knee.to_owned(),
        completion: Completion::Finished,
        started_unix_ns: now_unix_ns,
        command: Vec::new(),
        environment: Vec::new(),
        thread_counts: Vec::new(),
        counted: Counted::Threads,
        processor_order: Vec::new(),
        load: None,
        runs_per_count: 0,
        order_seed: 0,
        machine: Header::default().machine(1),
        clock: CLOCK.to_owned(),
        throughput: None,
        capabilities: Vec::new(),
        imported: Some(Imported { tool: "perf script".to_owned(), files: Vec::new() }),
        folder: None,
        tried: Vec::new(),
        functions: Vec::new(),
        notes: Vec::new(),
    }
}

/// One sample with handles.
#[derive(Debug, Clone, Copy)]
struct KeptSample {
    key: Key,
    time_ns: u64,
    processor: Option<u32>,
    period: Option<u64>,
    mode: Mode,
    path: Path,
    cut: bool,
}

/// One profile that was read.
struct Profile {
    name: String,
    threads: u32,
    event: Time,
    samples: Vec<KeptSample>,
    /// The latest name of each thread.
    comms: BTreeMap<Key, String>,
    header: Header,
    processors: u32,
    notes: Vec<String>,
}

impl Profile {
    fn read(source: Source<'_>, names: &mut Names) -> Result<Profile, Error> {
        let Source { name, threads, mut text } = source;
        let failed = |source| Error::Io { name: name.clone(), source };
        // perf.data begins with these bytes (tools/perf/Documentation/perf.data-file-format.txt).
        let begin = text.fill_buf().map_err(failed)?;
        if begin.starts_with(b"PERFILE2") || begin.starts_with(b"PERFFILE") {
            return Err(Error::Binary { name });
        }
        let mut found = Found::default();
        let mut header = Header::default();
        let rest = perf_script::read(text, |line| header.take(line), |sample| found.take(sample, names));
        let rest = rest.map_err(failed)?;
        if found.too_many {
            return Err(Error::TooMany { name, limit: MOST_SAMPLES });
        }
        let Some(event) = Time::all().find(|event| found.samples_of(*event).next().is_some()) else {
            return Err(match (found.others.is_empty(), rest.without_time) {
                (false, _) => Error::NoProcessorTime { name, found: found.other_events() },
                (true, 0) => Error::NoScript { name, line: rest.strange },
                (true, _) => Error::NoTimes { name },
            });
        };
        let mut samples: Vec<KeptSample> = found.samples_of(event).collect();
        samples.sort_by_key(|sample| sample.time_ns);
        let mut profile = Profile {
            threads,
            event,
            processors: distinct(samples.iter().filter_map(|sample| sample.processor)),
            samples,
            header,
            notes: found.notes(event, &name, rest.strange_lines),
            comms: found.comms,
            name,
        };
        if threads == 0 {
            profile.threads = distinct(profile.samples.iter().map(|sample| sample.key));
        }
        Ok(profile)
    }

    /// What was profiled: the command in the header, else the name of the thread with most samples.
    fn command(&self) -> String {
        let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
        for sample in &self.samples {
            *by_name.entry(self.comms.get(&sample.key).map_or("", String::as_str)).or_default() += 1;
        }
        let most = by_name.into_iter().max_by_key(|(_, samples)| *samples).map(|(name, _)| name.to_owned());
        // After `perf record ... -- ` comes the command itself.
        let command =
            self.header.command.as_deref().map(|whole| whole.split_once(" -- ").map_or(whole, |(_, own)| own));
        command.map(str::to_owned).or(most).unwrap_or_default()
    }

    /// How many nanoseconds a sample stands for, and how that is known.
    fn period_ns(&self) -> (u64, String) {
        let gap = self.usual_gap_ns();
        let printed: Vec<u64> = self.samples.iter().filter_map(|sample| sample.period).filter(|ns| *ns > 0).collect();
        let asked = self.header.hertz(self.event);
        let (period_ns, how) = match (median(printed).filter(|_| self.event.is_clock()), asked, gap) {
            (Some(ns), ..) => (ns, "as printed".to_owned()),
            (None, Some(hertz), _) => (1_000_000_000 / hertz, format!("{hertz} per second were requested")),
            (None, None, Some(ns)) => (ns, "estimated: the usual time between two samples of a thread".to_owned()),
            (None, None, None) => (1_000_000_000 / USUAL_HERTZ, "perf's default: too few samples to tell".to_owned()),
        };
        match gap.filter(|gap| *gap > period_ns.saturating_mul(SPARSE)) {
            Some(gap) => {
                let apart = gap as f64 / 1e6;
                (period_ns, format!("{how}; but those of a thread are usually {apart:.1} ms apart: {SPARSE_MEANS}"))
            }
            None => (period_ns, how),
        }
    }

    /// The median time between two successive samples of a thread on the same processor.
    fn usual_gap_ns(&self) -> Option<u64> {
        let mut last: BTreeMap<(Key, Option<u32>), u64> = BTreeMap::new();
        let mut gaps = Vec::new();
        for sample in &self.samples {
            if let Some(before) = last.insert((sample.key, sample.processor), sample.time_ns) {
                gaps.push(sample.time_ns.saturating_sub(before));
            }
        }
        gaps.retain(|ns| *ns > 0);
        median(gaps)
    }

    fn rows(self, run: RunId, now_unix_ns: u64, tables: &mut Tables) {
        let (period_ns, how) = self.period_ns();
        let mut seen: BTreeMap<Key, Seen> = BTreeMap::new();
        for sample in &self.samples {
            seen.entry(sample.key).or_default().samples.push((sample.time_ns, sample.processor));
        }
        for (key, of) in &mut seen {
            of.name = self.comms.get(key).cloned().unwrap_or_default();
        }
        let (threads, slices) = threads::rows(run, &seen, period_ns);
        let handles: BTreeMap<Key, ThreadId> = seen.keys().copied().zip(threads.iter().map(|t| t.thread)).collect();
        let begin_ns = threads.iter().map(|thread| thread.start_ns).min().unwrap_or(0);
        let end_ns = threads.iter().map(|thread| thread.end_ns).max().unwrap_or(0);
        let running_ns = threads.iter().fold(0_u64, |sum, thread| sum.saturating_add(thread.running_ns));
        let kernel = self.samples.iter().filter(|sample| sample.mode == Mode::Kernel).count();
        let system_ns = (running_ns as f64 * kernel as f64 / self.samples.len().max(1) as f64) as u64;
        let cut = self.samples.iter().filter(|sample| sample.cut).count() as u64;
        if cut > 0 {
            let (what, of) = (recording::words::CUT_STACKS.to_owned(), Some(self.samples.len() as u64));
            tables.losses.push(Loss { run, what, count: cut, of });
        }
        tables.runs.push(Run {
            started_unix_ns: now_unix_ns,
            wall_ns: end_ns - begin_ns,
            user_ns: running_ns.saturating_sub(system_ns),
            system_ns,
            ..Run::blank(run, RunKind::Traced, self.threads)
        });
        tables.traces.push(Trace {
            run,
            begin_ns,
            end_ns,
            processors: self.processors.max(1),
            sample_period_ns: period_ns,
            idle_ns: 0,
            foreign_ns: 0,
            observer_ns: 0,
            listens: None,
            load_begin_ns: None,
            load_end_ns: None,
            load_ns: None,
        });
        tables.samples.extend(self.samples.iter().filter_map(|sample| {
            Some(Sample {
                run,
                thread: *handles.get(&sample.key)?,
                time_ns: sample.time_ns,
                processor: sample.processor.unwrap_or(0),
                mode: sample.mode,
                syscall: None,
                user_stack: sample.path.user,
                kernel_stack: sample.path.kernel,
                goroutine: None,
            })
        }));
        tables.threads.extend(threads);
        tables.slices.extend(slices);
        let milliseconds = period_ns as f64 / 1e6;
        tables.meta.notes.push(format!(
            "{}: {} samples of {}; one stands for {milliseconds:.2} ms ({how})",
            self.name,
            self.samples.len(),
            self.event.name()
        ));
        tables.meta.notes.extend(self.notes);
        if let Some(imported) = &mut tables.meta.imported {
            imported.files.push(self.name);
        }
    }
}

/// The samples of a text, collected while it is read.
#[derive(Default)]
struct Found {
    /// Samples of processor time, by the event's index.
    time: BTreeMap<usize, Vec<KeptSample>>,
    comms: BTreeMap<Key, String>,
    /// Number of samples of other events.
    others: BTreeMap<String, u64>,
    idle: u64,
    user_only: bool,
    kept: usize,
    too_many: bool,
}

/// The most other events that a message names.
const MOST_EVENTS: usize = 8;

impl Found {
    fn take(&mut self, sample: Text, names: &mut Names) {
        let Some(event) = Time::from_event(&sample.event) else {
            // Users choose the names of events, so a text may contain any number of them.
            if self.others.len() < 64 || self.others.contains_key(&sample.event) {
                *self.others.entry(sample.event).or_default() += 1;
            }
            return;
        };
        // The kernel's idle tasks, one per processor, have the thread id 0.
        if sample.tid == 0 {
            self.idle += 1;
            return;
        }
        if self.kept == MOST_SAMPLES {
            self.too_many = true;
            return;
        }
        self.kept += 1;
        self.user_only |= user_only(&sample.event);
        let path = names.path(&sample.frames, sample.cut);
        let mode = match path {
            Path { kernel: Some(_), .. } => Mode::Kernel,
            Path { user: Some(_), .. } => Mode::User,
            _ if user_only(&sample.event) => Mode::User,
            _ => Mode::Unknown,
        };
        let key = (sample.pid, sample.tid);
        let (time_ns, processor, period, cut) = (sample.time_ns, sample.processor, sample.period, sample.cut);
        self.time.entry(event.index()).or_default().push(KeptSample {
            key,
            time_ns,
            processor,
            period,
            mode,
            path,
            cut,
        });
        self.comms.insert(key, sample.comm);
    }

    fn samples_of(&self, event: Time) -> impl Iterator<Item = KeptSample> {
        self.time.get(&event.index()).into_iter().flatten().copied()
    }

    fn other_events(&self) -> String {
        let mut events: Vec<(&String, &u64)> = self.others.iter().collect();
        events.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let name = |event: &str| if event.is_empty() { "an event without a name".to_owned() } else { event.to_owned() };
        let shown = events.iter().take(MOST_EVENTS).map(|(event, samples)| format!("{} ({samples})", name(event)));
        shown.collect::<Vec<_>>().join(", ")
    }

    /// Notes about what was left out.
    fn notes(&self, event: Time, name: &str, strange: u64) -> Vec<String> {
        let mut notes = Vec::new();
        let left: Vec<&str> = Time::all()
            .filter(|other| *other != event && self.samples_of(*other).next().is_some())
            .map(|other| other.name())
            .chain(self.others.keys().map(String::as_str).take(MOST_EVENTS))
            .collect();
        if !left.is_empty() {
            notes.push(format!("{name}: other events were left out: {}", left.join(", ")));
        }
        if self.idle > 0 {
            notes.push(format!("{name}: {} samples of idle processors were left out", self.idle));
        }
        if self.user_only {
            notes.push(format!("{name}: samples were taken only in user space, so time in the kernel is missing"));
        }
        if strange > 0 {
            notes.push(format!("{name}: {strange} lines were not understood and left out"));
        }
        notes
    }
}

fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> u32 {
    u32::try_from(values.collect::<BTreeSet<T>>().len()).unwrap_or(u32::MAX)
}

fn median(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}
