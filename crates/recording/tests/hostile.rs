//! Rows with every kind of cell come back from any number of parts, and a damaged file causes at worst an error.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use proptest::prelude::*;
use recording::reader::TABLES;
use recording::synthetic::{Sketch, meta, ms};
use recording::tables::{Frame, Run, RunKind, Wake};
use recording::{Recording, RunId, Tables, Writer};
use std::fs;
use std::path::{Path, PathBuf};

/// Rows in most tables.
fn sketch() -> Tables {
    Sketch::new(2)
        .clean(1, &[2.0, 2.1])
        .clean(2, &[1.0, 1.1])
        .throughput(2, &[4.5])
        .traced(2, |run| {
            run.thread("a").runs(ms(10), "work@app app.c:7").locks(0x100, ms(5), "random@libc.so.6 < work@app", "b");
            run.thread("b").runs(ms(8), "work@app app.c:7").runnable(ms(1)).preempted(ms(2));
            run.syscalls("a", 202, "futex", 17);
        })
        .tables()
}

/// Every part of a recording.
fn parts(folder: &Path) -> Vec<PathBuf> {
    let tables = TABLES.iter().map(|(name, _)| folder.join(name)).filter(|table| table.is_dir());
    let mut parts: Vec<PathBuf> =
        tables.flat_map(|table| fs::read_dir(table).unwrap()).map(|entry| entry.unwrap().path()).collect();
    parts.sort();
    parts
}

/// Whole numbers, often the extreme ones, whose differences may overflow.
fn edges() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(u64::MAX), Just(i64::MAX as u64), Just(1 << 63), any::<u64>()]
}

prop_compose! {
    fn runs()(
        kind in 0..RunKind::ALL.len(), threads in any::<u32>(), times in prop::array::uniform4(edges()),
        counted in prop::array::uniform4(prop::option::of(edges())), throughput in any::<Option<f64>>(),
        exit_status in any::<Option<i32>>(), signal in any::<Option<i32>>(), run in any::<u32>(),
    ) -> Run {
        Run {
            run: RunId(run), kind: RunKind::ALL[kind], threads, block: threads, started_unix_ns: times[0],
            wall_ns: times[1], user_ns: times[2], system_ns: times[3], voluntary_switches: times[0],
            involuntary_switches: times[1], minor_faults: times[2], major_faults: times[3], max_rss_bytes: times[0],
            migrations: counted[0], cycles: counted[1], instructions: counted[2], cache_misses: counted[3],
            // Rows are compared by value, but NaN is not equal to anything, not even to itself.
            throughput: throughput.filter(|t| !t.is_nan()), foreign_ns: counted[0], steal_ns: counted[1],
            throttled_ns: counted[2], throttled_periods: counted[3], thermal_throttles: counted[0],
            clock_khz: counted[1], exit_status, signal, load_ns: counted[2], load_threads: Some(threads),
            load_errors: counted[3], latency_median_ns: counted[0], latency_99_ns: counted[1],
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn rows_come_back_from_any_number_of_parts(rows in prop::collection::vec(runs(), 0..60), cuts in prop::collection::vec(1..20_usize, 1..6)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r");
        let mut writer = Writer::create(&path, &meta(1)).unwrap();
        let mut rest = rows.as_slice();
        for cut in cuts.iter().cycle() {
            let (part, others) = rest.split_at(rest.len().min(*cut));
            writer.append(part).unwrap();
            rest = others;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(Recording::open(&path).unwrap().rows::<Run>().unwrap(), rows);
    }

    /// Names come from the target. Invalid UTF-8 never gets into a row; all other names are kept unchanged.
    #[test]
    fn any_name_comes_back(name in any::<Option<String>>(), file in any::<Option<String>>(), line in any::<Option<u32>>()) {
        let mut tables = sketch();
        let frame = Frame { function: name, file, line, ..tables.frames[0].clone() };
        tables.frames = vec![frame];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r");
        tables.write(&path).unwrap();
        prop_assert_eq!(Recording::open(&path).unwrap().rows::<Frame>().unwrap(), tables.frames);
    }

    #[test]
    fn truth_values_and_handles_come_back(
        same_object in any::<bool>(),
        waker_waited_here in any::<Option<bool>>(),
        wakes_many in any::<Option<bool>>(),
        waker in any::<Option<u32>>(),
        count in edges(),
    ) {
        let mut tables = sketch();
        for wake in &mut tables.wakes {
            let waker = waker.map(recording::ThreadId);
            *wake = Wake { same_object, waker_waited_here, wakes_many, waker, count, ..wake.clone() };
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r");
        tables.write(&path).unwrap();
        prop_assert_eq!(Recording::open(&path).unwrap().tables().unwrap(), tables);
    }

    /// Some bytes of a part are changed: this gives an error or other values, and nothing worse.
    #[test]
    fn damaged_parts_are_survived(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        at_the_end in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r");
        sketch().write(&path).unwrap();
        let parts = parts(&path);
        let part = &parts[which.index(parts.len())];
        let mut bytes = fs::read(part).unwrap();
        // The footer has the sizes and types.
        let from = if at_the_end { bytes.len() * 3 / 4 } else { 0 };
        for (at, value) in changes {
            let at = from + at.index(bytes.len() - from);
            bytes[at] = value;
        }
        fs::write(part, bytes).unwrap();
        let _ = Recording::open(&path).unwrap().tables();
    }

    #[test]
    fn any_meta_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 0.0..1.0_f64, own in any::<bool>()) {
        let folder = tempfile::tempdir().unwrap();
        let text = serde_json::to_vec(&meta(2)).unwrap();
        let text = if own { text[..(text.len() as f64 * cut) as usize].to_vec() } else { bytes };
        fs::write(folder.path().join("meta.json"), text).unwrap();
        prop_assert!(Recording::open(folder.path()).is_err());
    }
}

#[test]
fn files_in_odd_places_are_errors_or_overlooked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r");
    sketch().write(&path).unwrap();
    let whole = Recording::open(&path).unwrap().tables().unwrap();
    fs::write(path.join("runs/notes.txt"), "mine").unwrap();
    fs::create_dir(path.join("more")).unwrap();
    assert_eq!(Recording::open(&path).unwrap().tables().unwrap(), whole);
    // A folder named like a part, and a file named like a table.
    fs::create_dir(path.join("runs/part-00007.parquet")).unwrap();
    assert!(Recording::open(&path).unwrap().tables().is_err());
    fs::remove_dir(path.join("runs/part-00007.parquet")).unwrap();
    fs::remove_dir_all(path.join("losses")).unwrap_or(());
    fs::write(path.join("losses"), "").unwrap();
    let error = Recording::open(&path).unwrap().tables().unwrap_err();
    assert!(error.to_string().contains("losses"), "{error}");
}

/// Whenever a writer is killed, its recording can be opened and has all parts that were complete.
#[test]
fn a_writer_may_end_after_any_step() {
    let tables = sketch();
    for steps in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r");
        let mut writer = Writer::create(&path, &meta(2)).unwrap();
        for step in 0..steps {
            match step {
                0 => writer.append(&tables.runs[..2]).unwrap(),
                1 => writer.append(&tables.runs[2..]).unwrap(),
                _ => writer.set_meta(&tables.meta).unwrap(),
            }
        }
        // What an unfinished write leaves: a file under its temporary name, cut anywhere.
        fs::write(path.join("meta.unfinished"), "{\"format\"").unwrap();
        if steps > 0 {
            fs::write(path.join("runs/.part-00009.unfinished"), "PAR1").unwrap();
        }
        let read = Recording::open(&path).unwrap().tables().unwrap();
        let expected = [0, 2, tables.runs.len(), tables.runs.len()][steps];
        assert_eq!(read.runs, tables.runs[..expected], "{steps} steps");
    }
}

/// Inputs that the fuzzer of `fuzz/` started from or found: the table's number, then a part.
#[test]
fn inputs_that_were_found_once_are_errors_or_rows() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/recording");
    let (mut read, mut refused) = (0, 0);
    for input in fs::read_dir(corpus).unwrap() {
        let bytes = fs::read(input.unwrap().path()).unwrap();
        for length in [bytes.len(), bytes.len() / 2] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("r");
            Writer::create(&path, &meta(2)).unwrap();
            let table = path.join(TABLES[usize::from(bytes[0]) % TABLES.len()].0);
            fs::create_dir(&table).unwrap();
            fs::write(table.join("part-00000.parquet"), &bytes[1..length.max(1)]).unwrap();
            match Recording::open(&path).unwrap().tables() {
                Ok(_) => read += 1,
                Err(_) => refused += 1,
            }
        }
    }
    assert!(read > 10 && refused > 10, "{read} {refused}");
}
