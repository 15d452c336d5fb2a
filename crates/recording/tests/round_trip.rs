//! A recording read from disk is what was written, and a damaged one gives an error, not a crash.

use proptest::prelude::*;
use recording::meta::Completion;
use recording::synthetic::{Sketch, meta, ms};
use recording::tables::{Reason, Syscall, Wait};
use recording::{Error, Recording, RunId, StackId, Tables, ThreadId, WaitId, Writer};

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

#[test]
fn tables_come_back_as_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r");
    let tables = sketch();
    tables.write(&path).unwrap();
    assert_eq!(Recording::open(&path).unwrap().tables().unwrap(), tables);
}

#[test]
fn a_writer_that_was_killed_leaves_a_readable_recording() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r");
    let tables = sketch();
    let mut unfinished = meta(2);
    unfinished.completion = Completion::Unfinished;
    let mut writer = Writer::create(&path, &unfinished).unwrap();
    writer.append(&tables.runs).unwrap();
    std::fs::write(path.join("runs").join(".part-00001.unfinished"), b"PAR1 half a part").unwrap();
    drop(writer);
    let recording = Recording::open(&path).unwrap();
    assert_eq!(recording.meta().completion, Completion::Unfinished);
    assert_eq!(recording.tables().unwrap().runs, tables.runs);
}

#[test]
fn parts_are_read_in_the_order_of_writing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r");
    let mut writer = Writer::create(&path, &meta(2)).unwrap();
    for part in 0..12_u32 {
        let row = Syscall { run: RunId(part), thread: ThreadId(0), number: 1, name: "write".into(), count: 3 };
        writer.append(&[row]).unwrap();
    }
    let runs: Vec<u32> =
        Recording::open(&path).unwrap().rows::<Syscall>().unwrap().into_iter().map(|s| s.run.0).collect();
    assert_eq!(runs, (0..12).collect::<Vec<_>>());
}

#[test]
fn a_newer_major_format_names_the_release_that_wrote_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("meta.json"), r#"{"format":{"major":9,"minor":2},"knee":"8.1.0"}"#).unwrap();
    let error = Recording::open(folder.path()).unwrap_err();
    assert!(matches!(error, Error::Format { .. }), "{error:?}");
    assert!(error.to_string().contains("8.1.0"), "{error}");
}

#[test]
fn a_folder_without_meta_is_not_a_recording() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(Recording::open(folder.path()), Err(Error::NotARecording { .. })));
}

#[test]
fn a_column_of_another_type_is_an_error_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r");
    sketch().write(&path).unwrap();
    // `waits` and `wakes` share the column `wait`, but `wakes` lacks the column `thread`.
    std::fs::copy(path.join("wakes/part-00000.parquet"), path.join("waits/part-00000.parquet")).unwrap();
    let error = Recording::open(&path).unwrap().rows::<Wait>().unwrap_err();
    assert!(matches!(error, Error::MissingColumn { column: "thread", .. }), "{error:?}");
}

#[test]
fn every_column_is_documented() {
    for (table, columns) in recording::reader::TABLES {
        for column in *columns {
            assert!(!column.doc.trim().is_empty(), "{table}.{}", column.name);
        }
    }
}

prop_compose! {
    fn waits()(
        wait in any::<u32>(), thread in any::<u32>(), reason in 0..Reason::ALL.len(), syscall in any::<Option<u32>>(),
        object in any::<Option<u64>>(), operation in any::<Option<u64>>(), expected in any::<Option<u32>>(),
        timed in any::<bool>(), stack in any::<Option<u32>>(), count in any::<u64>(), blocked_ns in any::<u64>(),
    ) -> Wait {
        Wait {
            run: RunId(0), wait: WaitId(wait), thread: ThreadId(thread), reason: Reason::ALL[reason], syscall, object,
            operation, what: None, expected, timed, user_stack: stack.map(StackId), kernel_stack: None, count, blocked_ns,
            runnable_ns: 0, longest_ns: blocked_ns,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_rows_come_back(rows in prop::collection::vec(waits(), 1..200)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r");
        Writer::create(&path, &meta(1)).unwrap().append(&rows).unwrap();
        prop_assert_eq!(Recording::open(&path).unwrap().rows::<Wait>().unwrap(), rows);
    }

    /// A truncated part gives an error, never other rows.
    #[test]
    fn a_truncated_part_is_an_error(keep in 0.0..1.0_f64) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r");
        sketch().write(&path).unwrap();
        let part = path.join("slices/part-00000.parquet");
        let bytes = std::fs::read(&part).unwrap();
        std::fs::write(&part, &bytes[..(bytes.len() as f64 * keep) as usize]).unwrap();
        prop_assert!(Recording::open(&path).unwrap().tables().is_err());
    }
}
