//! Threads that come and go, simulated without a kernel.

use super::*;
use crate::build::{PART, Totals};
use crate::sources::bpf::places::FirstHit;
use crate::sources::bpf::thread;
use crate::stacks::Interner;
use recording::{Recording, RunId, Tables, Writer, synthetic};
use resolve::ModuleCache;
use std::path::Path;

const ROUNDS: u32 = 12;
const EACH: u32 = 5_000;
const TIMING: CallTiming = CallTiming { windows: 0, complete: true };
const FUTEX: u32 = 202;
/// The thread that lives through the whole run, and its place.
const MAIN: u32 = 1;
const MAIN_PLACE: u32 = 1;

fn record(thread: u32, state: u32) -> ThreadRecord {
    let bytes = [0; size_of::<ThreadRecord>()];
    let (mut record, _) = parse::<ThreadRecord>(&bytes).expect("as many bytes as it has");
    (record.thread, record.state, record.pid) = (thread, state, 7);
    // Numbers are reused, as by the kernel, but not while their thread is alive.
    record.tid = if thread == MAIN { 500 } else { 1_000 + thread % 30_000 };
    record.inner_tid = record.tid;
    (record.start_ns, record.end_ns) = (u64::from(thread) * 10, u64::from(thread) * 10 + 9);
    record
}

fn life(record: &ThreadRecord) -> ThreadLife {
    let mut life = thread::life(record, record.end_ns, &[], None);
    life.times.running_ns = 9;
    life
}

/// Where a thread waits, and where it wakes another.
fn places(thread: u32) -> (u32, u32) {
    (2 * thread, 2 * thread + 1)
}

/// The state of the consumer.
struct Simulated {
    ended: EndedThreads,
    places: Places,
    rows: Builder,
}

impl Simulated {
    fn new() -> Simulated {
        Simulated { ended: EndedThreads::default(), places: Places::default(), rows: Builder::new(RunId(0)) }
    }

    fn hit(&mut self, thread: u32, place: u32) {
        self.places.add(place, FirstHit { thread, ..FirstHit::default() });
    }
}

fn place(thread: u32, place: u32, count: u64) -> (PlaceKey, PlaceValue) {
    let (bars, told) = ([0; BARS], 1);
    let value = PlaceValue { place, told, count, blocked_ns: 0, runnable_ns: 0, longest_ns: 0, bars };
    (PlaceKey { thread, kind: FUTEX, object: 64, path: u64::from(place) }, value)
}

fn edge(place: u32, waker: u32, waker_place: u32, holder: u32) -> (EdgeKey, EdgeValue) {
    (EdgeKey { place, waker, waker_place, waker_call: FUTEX + 1, holder }, EdgeValue { count: 1, blocked_ns: 3 })
}

/// One thread that made a call, waited once for a lock that main held, and woke main when it ended.
fn ended(run: &mut Simulated, table: &mut TableRows, thread: u32, main: &ThreadRecord) {
    let mut record = record(thread, THREAD_ENDED);
    let (waits, wakes) = places(thread);
    record.syscalls[0] = SyscallCount { number: 1, count: 1 };
    record.futexes[0] = 1;
    (record.wait.place, record.wait.kind, record.wait.object) = (waits, FUTEX, 64);
    (record.wait.path, record.wait.count, record.wait.blocked_ns) = (u64::from(waits), 1, 5);
    (record.edge.place, record.edge.waker, record.edge.count) = (waits, MAIN, 1);
    record.edge.holder = main.inner_tid;
    run.hit(thread, waits);
    run.hit(thread, wakes);
    table.places.extend([place(thread, waits, 0), place(thread, wakes, 0)]);
    table.edges.push(edge(MAIN_PLACE, thread, wakes, record.inner_tid));
    table.living.insert(MAIN_PLACE, MAIN);
    table.syscalls.push((SyscallKey { thread, number: 2 }, 4));
    run.ended.add(&record, life(&record), &mut run.rows);
}

struct Outcome {
    tables: Tables,
    /// The most places that were remembered after a round had been settled.
    most_places: usize,
    /// The most bytes of rows that waited to be written then.
    most_rows: usize,
    totals: Totals,
}

fn simulate(folder: &Path) -> Outcome {
    let path = folder.join("recording");
    let mut writer = Writer::create(&path, &synthetic::meta(1)).expect("an empty folder");
    let (mut run, mut interner, cache) = (Simulated::new(), Interner::new(), ModuleCache::new());
    let mut stacks = Stacks::new(&mut interner, &cache);
    let mut main = record(MAIN, 1);
    run.hit(MAIN, MAIN_PLACE);
    let (mut most_places, mut most_rows) = (0, 0);
    for round in 0..ROUNDS {
        let mut table = TableRows::default();
        let first = 2 + round * EACH;
        for thread in first..first + EACH {
            ended(&mut run, &mut table, thread, &main);
        }
        assert!(!run.ended.is_due(0), "their last events may still be in the ring");
        run.ended.ripen();
        assert!(run.ended.is_due(0));
        // The wake-up by the last thread is still in main's record.
        let (_, wakes) = places(first + EACH - 1);
        (main.edge.waker_place, main.edge.holder) = (wakes, record(first, 0).inner_tid);
        let gone = run.ended.gone();
        let (places, to) = (&mut run.places, &mut run.rows);
        let context = Context { places, places_now: 0, stacks: &mut stacks, timing: TIMING, to };
        run.ended.settle((&gone, table), &[main], |_| false, context);
        assert!(run.places.first_hit(wakes).is_some(), "main may still name it");
        for batch in [&run.ended.fresh, &run.ended.ripe] {
            assert!(batch.threads.is_empty() && batch.calls.is_empty());
            assert!(batch.pending.places.is_empty() && batch.pending.edges.is_empty());
        }
        let who = &run.ended.who;
        assert!(who.processes.is_empty() && who.owners.len() <= 1 && run.ended.pids.len() == 1);
        most_places = most_places.max(run.places.count());
        run.rows.write_parts(&mut writer).expect("room on the disk");
        let rows = &run.rows.rows;
        let sizes = [size_of_val(&*rows.threads), size_of_val(&*rows.waits), size_of_val(&*rows.wakes)];
        most_rows = most_rows.max(sizes.iter().sum());
    }
    main.end_ns = u64::from(u32::MAX);
    run.ended.add(&main, life(&main), &mut run.rows);
    let (places, to) = (&mut run.places, &mut run.rows);
    let context = Context { places, places_now: 0, stacks: &mut stacks, timing: TIMING, to };
    run.ended.settle_rest(TableRows::default(), context);
    let totals = run.rows.totals();
    run.rows.write(&mut writer).expect("room on the disk");
    let tables = Recording::open(&path).and_then(|recording| recording.tables()).expect("a recording");
    Outcome { tables, most_places, most_rows, totals }
}

#[test]
fn threads_that_have_ended_are_forgotten_and_the_tables_hold_all_of_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let outcome = simulate(folder.path());
    let all = (ROUNDS * EACH) as usize;
    // Main's place, and the place that main's record refers to.
    assert!(outcome.most_places <= 2, "{} places are remembered", outcome.most_places);
    // A part of each table, and what one round adds to it.
    assert!(outcome.most_rows < 3 * (PART + EACH as usize * 512), "{} bytes wait", outcome.most_rows);
    let tables = &outcome.tables;
    let threads: HashSet<ThreadId> = tables.threads.iter().map(|row| row.thread).collect();
    assert_eq!((tables.threads.len(), threads.len()), (all + 1, all + 1));
    assert_eq!(outcome.totals.running_ns, 9 * (all as u64 + 1));
    let waits: HashSet<_> = tables.waits.iter().map(|row| (row.wait, row.thread)).collect();
    assert_eq!((tables.waits.len(), waits.len()), (all, all));
    assert!(tables.waits.iter().all(|row| (row.count, row.blocked_ns) == (1, 5)));
    assert_eq!(tables.futex_operations.len(), all);
    assert_eq!(tables.syscalls.iter().map(|row| row.count).sum::<u64>(), 5 * all as u64);
    // Each thread was woken by main, which held the lock, and then woke main.
    let main = thread_id(MAIN);
    let (by_main, of_main): (Vec<_>, Vec<_>) = tables.wakes.iter().partition(|row| row.waker == Some(main));
    assert_eq!((by_main.len(), of_main.len()), (all, all));
    assert!(by_main.iter().all(|row| row.holder == Some(main)));
    assert!(of_main.iter().all(|row| row.wait.0 == MAIN_PLACE && row.holder.is_some() && row.holder == row.waker));
}

#[test]
fn a_few_threads_wait_for_the_end() {
    let mut run = Simulated::new();
    let main = record(MAIN, 1);
    for thread in 2..100 {
        ended(&mut run, &mut TableRows::default(), thread, &main);
    }
    run.ended.ripen();
    assert!(!run.ended.is_due(200));
    assert!(run.ended.is_due(PLACES + 1));
}
