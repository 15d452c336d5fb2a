//! Threads that come and go, played without a kernel.

use super::*;
use crate::trace::parts::PART;
use crate::trace::story::Story;
use recording::{Recording, Tables, Writer, synthetic};
use std::path::Path;

const ROUNDS: u32 = 12;
const EACH: u32 = 5_000;
const TIMING: CallTiming = CallTiming { windows: 0, complete: true };
const FUTEX: u32 = 202;
/// The thread that lives through all, and its place.
const MAIN: u32 = 1;
const MAIN_PLACE: u32 = 1;

fn record(thread: u32, state: u32) -> ThreadRecord {
    let bytes = [0; size_of::<ThreadRecord>()];
    let (mut record, _) = parse::<ThreadRecord>(&bytes).expect("as many bytes as it has");
    (record.thread, record.state, record.pid) = (thread, state, 7);
    // Numbers are used again, as the kernel does, but not while their thread lives.
    record.tid = if thread == MAIN { 500 } else { 1_000 + thread % 30_000 };
    record.inner_tid = record.tid;
    (record.start_ns, record.end_ns) = (u64::from(thread) * 10, u64::from(thread) * 10 + 9);
    record
}

fn row(record: &ThreadRecord) -> Thread {
    Thread { running_ns: 9, ..crate::trace::record::row(RunId(0), record, record.end_ns, &[], None) }
}

/// Where a thread waits and where it wakes somebody.
fn places(thread: u32) -> (u32, u32) {
    (2 * thread, 2 * thread + 1)
}

fn told(roll: &mut Roll, thread: u32, place: u32) {
    roll.told.add_story(place, Story { thread, ..Story::default() });
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
fn ended(roll: &mut Roll, kept: &mut Kept, thread: u32, main: &ThreadRecord) {
    let mut record = record(thread, THREAD_ENDED);
    let (waits, wakes) = places(thread);
    record.syscalls[0] = SyscallCount { number: 1, count: 1 };
    record.futexes[0] = 1;
    (record.wait.place, record.wait.kind, record.wait.object) = (waits, FUTEX, 64);
    (record.wait.path, record.wait.count, record.wait.blocked_ns) = (u64::from(waits), 1, 5);
    (record.edge.place, record.edge.waker, record.edge.count) = (waits, MAIN, 1);
    record.edge.holder = main.inner_tid;
    told(roll, thread, waits);
    told(roll, thread, wakes);
    kept.places.extend([place(thread, waits, 0), place(thread, wakes, 0)]);
    kept.edges.push(edge(MAIN_PLACE, thread, wakes, record.inner_tid));
    kept.living.insert(MAIN_PLACE, MAIN);
    kept.syscalls.push((SyscallKey { thread, number: 2 }, 4));
    roll.add(&record, row(&record));
}

struct Played {
    tables: Tables,
    /// The most places that were remembered when a round had been settled.
    most_places: usize,
    /// Rows that waited to be written then, at most, bytes.
    most_rows: usize,
    totals: Totals,
}

fn play(folder: &Path) -> Played {
    let path = folder.join("recording");
    let mut writer = Writer::create(&path, &synthetic::meta(1)).expect("an empty folder");
    let (mut roll, mut interner) = (Roll::new(RunId(0)), Interner::new());
    let mut main = record(MAIN, 1);
    told(&mut roll, MAIN, MAIN_PLACE);
    let (mut most_places, mut most_rows) = (0, 0);
    for round in 0..ROUNDS {
        let mut kept = Kept::default();
        let first = 2 + round * EACH;
        for thread in first..first + EACH {
            ended(&mut roll, &mut kept, thread, &main);
        }
        assert!(!roll.is_due(0), "what they told last is on its way");
        roll.ripen();
        assert!(roll.is_due(0));
        // The last one's wake-up is still in main's record.
        let (_, wakes) = places(first + EACH - 1);
        (main.edge.waker_place, main.edge.holder) = (wakes, record(first, 0).inner_tid);
        let gone = roll.gone();
        roll.settle((&gone, kept), 0, &[main], |_| false, &mut interner, TIMING);
        assert!(roll.told.story(wakes).is_some(), "main may still name it");
        for batch in [&roll.fresh, &roll.ripe] {
            assert!(batch.threads.is_empty() && batch.calls.is_empty());
            assert!(batch.pending.places.is_empty() && batch.pending.edges.is_empty());
        }
        assert!(roll.who.processes.is_empty() && roll.who.owners.len() <= 1 && roll.pids.len() == 1);
        most_places = most_places.max(roll.told.places());
        roll.rows.write_parts(&mut writer).expect("room on the disk");
        let rows = &roll.rows;
        let sizes = [size_of_val(&*rows.threads), size_of_val(&*rows.waits), size_of_val(&*rows.wakes)];
        most_rows = most_rows.max(sizes.iter().sum());
    }
    main.end_ns = u64::from(u32::MAX);
    roll.add(&main, row(&main));
    roll.settle_rest(Kept::default(), &mut interner, TIMING);
    let totals = roll.totals;
    take(&mut roll.rows).append(&mut writer).expect("room on the disk");
    let tables = Recording::open(&path).and_then(|recording| recording.tables()).expect("a recording");
    Played { tables, most_places, most_rows, totals }
}

#[test]
fn threads_that_have_ended_are_forgotten_and_the_tables_hold_all_of_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let played = play(folder.path());
    let all = (ROUNDS * EACH) as usize;
    // Main's place, and what main's record names.
    assert!(played.most_places <= 2, "{} places are remembered", played.most_places);
    // A part of each table, and what one round adds to it.
    assert!(played.most_rows < 3 * (PART + EACH as usize * 512), "{} bytes wait", played.most_rows);
    let tables = &played.tables;
    let threads: HashSet<ThreadId> = tables.threads.iter().map(|row| row.thread).collect();
    assert_eq!((tables.threads.len(), threads.len()), (all + 1, all + 1));
    assert_eq!(played.totals.running_ns, 9 * (all as u64 + 1));
    let waits: HashSet<_> = tables.waits.iter().map(|row| (row.wait, row.thread)).collect();
    assert_eq!((tables.waits.len(), waits.len()), (all, all));
    assert!(tables.waits.iter().all(|row| (row.count, row.blocked_ns) == (1, 5)));
    assert_eq!(tables.futex_operations.len(), all);
    assert_eq!(tables.syscalls.iter().map(|row| row.count).sum::<u64>(), 5 * all as u64);
    // Each thread was woken by main, the holder, and woke main, when it was the holder itself.
    let main = thread_id(MAIN);
    let (by_main, of_main): (Vec<_>, Vec<_>) = tables.wakes.iter().partition(|row| row.waker == Some(main));
    assert_eq!((by_main.len(), of_main.len()), (all, all));
    assert!(by_main.iter().all(|row| row.holder == Some(main)));
    assert!(of_main.iter().all(|row| row.wait.0 == MAIN_PLACE && row.holder.is_some() && row.holder == row.waker));
}

#[test]
fn a_few_threads_wait_for_the_end() {
    let mut roll = Roll::new(RunId(0));
    let main = record(MAIN, 1);
    for thread in 2..100 {
        ended(&mut roll, &mut Kept::default(), thread, &main);
    }
    roll.ripen();
    assert!(!roll.is_due(200));
    assert!(roll.is_due(PLACES + 1));
}
