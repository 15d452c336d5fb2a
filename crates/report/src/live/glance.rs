//! What is shown: the last seconds of a program.

use super::locks::locks;
use crate::observed::Observed;
use crate::show::view::{Cell, View, column};
use crate::show::{Pick, functions, waits};
use analyze::account::WaitReasons;
use analyze::model::Model;
use recording::tables::MarkKind;
use recording::{Tables, ThreadId, WaitId};
use std::collections::BTreeMap;

/// What a thread does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// On a processor.
    Runs,
    /// Waiting for a processor.
    Ready,
    /// On a processor or waiting for one.
    RunsOrReady,
    /// Waiting for something else.
    Waits,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Runs => "running",
            State::Ready => "ready",
            State::RunsOrReady => "running or ready",
            State::Waits => "waiting",
        }
    }
}

/// What was seen.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// What is looked at, in words.
    pub title: &'a str,
    /// The rows of the last seconds: one run.
    pub tables: &'a Tables,
    /// The threads that exist, what each is doing, and the wait that it is in.
    pub now: &'a [(ThreadId, State, Option<WaitId>)],
    /// Processors that the program kept busy at each look, the newest last.
    pub used: &'a [f64],
    /// False when nothing tells which code runs.
    pub sees_code: bool,
}

/// What a program says that it does, a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// Units of work.
    Work(f64),
    /// Tasks that ended, where it counts no units.
    Tasks(f64),
}

/// A screenful.
#[derive(Debug, Clone, PartialEq)]
pub struct Glance {
    /// What is looked at.
    pub title: String,
    /// The period that the tables cover, seconds.
    pub seconds: f64,
    /// Processors that the program kept busy at each look, the newest last.
    pub used: Vec<f64>,
    /// Processors that it may use.
    pub processors: u32,
    /// What the program says that it does, a second, where it says so by marks.
    pub rate: Option<Rate>,
    /// How many threads are in each state: `running`, `waiting for lock`.
    pub states: Vec<(String, usize)>,
    /// Threads, functions, waits, locks.
    pub panels: Vec<View>,
}

/// Works out what is shown.
pub fn glance(moment: &Moment<'_>) -> Glance {
    let model = Model::new(moment.tables);
    let trace = moment.tables.traces.first();
    let seconds = trace.map_or(0.0, |t| t.end_ns.saturating_sub(t.begin_ns) as f64 / 1e9);
    let (mut panels, mut states) = (Vec::new(), Vec::new());
    if let Some(traced) = model.traced.last() {
        let WaitReasons { futexes, reasons, .. } = &WaitReasons::new(&model, traced);
        let observed = Observed { traced, model: &model, futexes, reasons, profile: None, work: 1.0, queues: &[] };
        let why = |wait: &WaitId| observed.traced.waits.get(wait).map(|w| reason(&observed, w));
        let mut counts: BTreeMap<(State, String), usize> = BTreeMap::new();
        for (_, state, wait) in moment.now {
            *counts.entry((*state, wait.as_ref().and_then(why).unwrap_or_default())).or_default() += 1;
        }
        let mut sorted: Vec<_> = counts.into_iter().collect();
        sorted.sort_by(|a, b| a.0.0.cmp(&b.0.0).then(b.1.cmp(&a.1)).then(a.0.1.cmp(&b.0.1)));
        states = sorted
            .into_iter()
            .map(|((state, why), count)| match why.is_empty() {
                true => (state.word().to_owned(), count),
                false => (format!("{} for {why}", state.word()), count),
            })
            .collect();
        panels.push(threads(&observed, moment, seconds));
        panels.push(code(&observed, moment.sees_code));
        panels.push(named("waits", waits::waits(&observed, Pick::default())));
        let waits = moment.now.iter().filter(|(_, state, _)| *state == State::Waits);
        panels.push(locks(&observed, &waits.filter_map(|(_, _, wait)| *wait).collect()));
    }
    Glance {
        title: moment.title.to_owned(),
        seconds,
        used: moment.used.to_vec(),
        processors: trace.map_or(1, |t| t.processors),
        rate: rate(moment.tables, seconds),
        states,
        panels,
    }
}

/// Units of work by the marks of so many seconds; where there are none, tasks.
fn rate(tables: &Tables, seconds: f64) -> Option<Rate> {
    let of = |kind: MarkKind| tables.marks.iter().filter(move |mark| mark.kind == kind);
    let units: u64 = of(MarkKind::Work).filter_map(|mark| mark.amount).fold(0, u64::saturating_add);
    let tasks = of(MarkKind::TaskEnd).count();
    match (units, tasks) {
        _ if seconds <= 0.0 => None,
        (1.., _) => Some(Rate::Work(units as f64 / seconds)),
        (0, 1..) => Some(Rate::Tasks(tasks as f64 / seconds)),
        (0, 0) => None,
    }
}

fn reason(observed: &Observed<'_, '_>, wait: &recording::tables::Wait) -> String {
    analyze::words::reasons::reason(observed.why(wait)).to_owned()
}

fn named(title: &'static str, mut view: View) -> View {
    view.title = title;
    view.notes.clear();
    view
}

fn code(observed: &Observed<'_, '_>, seen: bool) -> View {
    let mut view = named("functions", functions::functions(observed, None, Pick::default()));
    if !seen {
        view.rows.clear();
        view.notes.push("/proc does not tell which code runs; as root eBPF does.".to_owned());
    }
    view
}

/// One row a thread that lives, or has lived in the last seconds.
fn threads(observed: &Observed<'_, '_>, moment: &Moment<'_>, seconds: f64) -> View {
    let mut view = View::new(
        "threads",
        &[
            column("tid", "tid", "The thread's id."),
            column("name", "name", "Its name.").minor(1),
            column("running", "run %", "Time on a processor, of the last seconds."),
            column("ready", "ready %", "Time waiting for a processor."),
            column("blocked", "wait %", "Time waiting for something else.").minor(2),
            column("switches", "switches/s", "Times a second that it left its processor.").minor(4),
            column("now", "now", "What it does now, and where."),
        ],
    );
    let now: BTreeMap<ThreadId, (State, Option<WaitId>)> =
        moment.now.iter().map(|(thread, state, wait)| (*thread, (*state, *wait))).collect();
    let share = |ns: u64| if seconds > 0.0 { Cell::Share((ns as f64 / 1e9 / seconds).min(1.0)) } else { Cell::None };
    let mut rows: Vec<(u64, Vec<Cell>)> = Vec::new();
    for (id, t) in &observed.traced.threads {
        let doing = match now.get(id) {
            None => "ended".to_owned(),
            Some((State::Waits, wait)) => match wait.and_then(|w| observed.traced.waits.get(&w)) {
                Some(wait) => observed.wait_in_words(wait),
                None => State::Waits.word().to_owned(),
            },
            Some((state, _)) => state.word().to_owned(),
        };
        let switches = t.voluntary_switches.saturating_add(t.involuntary_switches) as f64;
        rows.push((
            t.running_ns,
            vec![
                Cell::Text(t.tid.to_string()),
                Cell::text(t.name.clone()),
                share(t.running_ns),
                share(t.runnable_ns.saturating_add(t.preempted_ns)),
                share(t.blocked_ns),
                if seconds > 0.0 { Cell::Count((switches / seconds).round()) } else { Cell::None },
                Cell::text(doing),
            ],
        ));
    }
    rows.sort_by_key(|(running, _)| std::cmp::Reverse(*running));
    view.rows = rows.into_iter().map(|(_, row)| row).collect();
    view
}
