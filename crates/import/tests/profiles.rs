//! Whole profiles: real ones, and arbitrary text.

use import::perf_script::{Frame, Sample, read};
use import::{Error, Source, import};
use proptest::prelude::*;
use recording::tables::{Mode, State};
use recording::{Recording, Tables};
use std::fmt::Write;
use std::path::Path;

const NOW: u64 = 1_700_000_000_000_000_000;

fn of(texts: &[(u32, &[u8])]) -> Result<Tables, Error> {
    let source = |(threads, text): &(u32, &[u8])| Source {
        name: format!("{threads}.txt"),
        threads: *threads,
        text: Box::new(std::io::Cursor::new(text.to_vec())),
    };
    import(texts.iter().map(source).collect(), "0.0.0", NOW)
}

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/perf-script").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn real_profiles_show_where_time_went_and_no_cause() {
    let tables = of(&[(4, &fixture("birthday-4.txt")), (1, &fixture("birthday-1.txt"))]).unwrap();
    assert_eq!(tables.meta.thread_counts, [1, 4], "ascending, whatever the order of the files");
    assert_eq!(tables.meta.machine.kernel, "6.18.44-fc-v595");
    assert_eq!(tables.meta.command, ["./birthday --threads=4 --attempts=200K --rng=random"]);
    assert!(
        tables.samples.iter().any(|s| s.mode == Mode::Kernel) && tables.samples.iter().any(|s| s.mode == Mode::User)
    );
    assert!(tables.meta.notes.iter().any(|note| note.contains("sched:sched_switch")), "{:?}", tables.meta.notes);
    let answer = analyze::answer_for(&tables);
    assert_eq!((answer.curve.len(), answer.account.len(), answer.verdict.clear.len()), (0, 0, 0));
    let own = analyze::causes::all().filter(|meta| !meta.standing.is_outside()).count();
    assert_eq!(answer.verdict.unsure.len(), own, "every cause of a program's own stays unsure");
    assert!(answer.verdict.causes.iter().all(|cause| cause.id == analyze::answer::CauseId::NONE));
    assert!(answer.verdict.summary.starts_with("From 1 thread to 4 "), "{}", answer.verdict.summary);
}

#[test]
fn inlined_functions_and_lines_of_a_real_profile() {
    let tables = of(&[(0, &fixture("birthday-dwarf.txt"))]).unwrap();
    assert_eq!(tables.meta.thread_counts, [2], "the threads that it holds");
    let line =
        |function: &str| tables.frames.iter().find(|f| f.function.as_deref() == Some(function)).and_then(|f| f.line);
    assert!(line("simulate").is_some() && line("msort_with_tmp").is_some());
    assert!(tables.frames.iter().any(|frame| frame.depth > 0), "inlined");
    assert!(tables.losses.iter().any(|loss| loss.what == "outermost frames of stacks"));
}

#[test]
fn a_recording_of_a_profile_opens_again() {
    let folder = tempfile::tempdir().unwrap();
    let tables = of(&[(0, &fixture("birthday-1.txt"))]).unwrap();
    tables.write(folder.path().join("r")).unwrap();
    let again = Recording::open(folder.path().join("r")).and_then(|r| r.tables()).unwrap();
    assert_eq!(again, tables);
    assert_eq!(again.meta.imported.unwrap().files, ["0.txt"]);
}

#[test]
fn other_texts_are_refused_with_the_reason() {
    let text = |bytes: &[u8]| of(&[(0, bytes)]).unwrap_err().to_string();
    assert!(text(b"PERFILE2\0\0").contains("binary file of perf record"));
    assert!(text(b"").contains("not the output of perf script"));
    assert!(text(b"root:x:0:0\n").contains("its first line is: root:x:0:0"));
    assert!(text(b"app 12 cpu-clock: \n\t7f1234 f (/x)\n\n").contains("have no times"));
    let switches = text(b"app 12 [000] 1.0: sched:sched_switch: x\n\napp 12 [000] 1.1: cache-misses: 7f1234 f (/x)\n");
    assert!(switches.contains("only of cache-misses (1), sched:sched_switch (1)"), "{switches}");
    let one = b"app 12 [000] 1.0: cycles: 7f1234 f (/x)\n";
    assert!(of(&[(2, one), (2, one)]).unwrap_err().to_string().contains("thread count 2"));
}

#[test]
fn only_one_event_counts_and_idle_time_belongs_to_no_thread() {
    let text = b"app 12 [000] 1.0: 1000000 cpu-clock: 7f1234 f (/x)\n\
                 app 12 [000] 1.0: 4000000 cycles:u: 7f1234 f (/x)\n\
                 swapper 0 [001] 1.0: 1000000 cpu-clock: ffffffff81000000 idle ([kernel.kallsyms])\n";
    let tables = of(&[(0, text)]).unwrap();
    assert_eq!((tables.samples.len(), tables.threads.len(), tables.traces[0].sample_period_ns), (1, 1, 1_000_000));
    let notes = tables.meta.notes.join("\n");
    assert!(notes.contains("left out: cycles") && notes.contains("1 samples of idle processors"), "{notes}");
}

#[test]
fn samples_that_are_far_apart_are_noted() {
    let text: String = (0..20).map(|n| format!("a 1 {n}.5: 1000000 cpu-clock: 7f1234 f (/x)\n")).collect();
    let notes = of(&[(0, text.as_bytes())]).unwrap().meta.notes.join("\n");
    assert!(notes.contains("usually 1000.0 ms apart"), "{notes}");
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z_]{1,8}", "[ -~]{1,15}", "(<b>|\"|&|;|\\(|\\)| \\[0\\]|é|\u{202e}){1,5}"]
        .prop_map(|name| name.split_whitespace().collect::<Vec<_>>().join(" "))
        .prop_filter("not empty", |name| !name.is_empty())
}

fn frames() -> impl Strategy<Value = Vec<Frame>> {
    let one = ("[a-z][a-z0-9_:<>, ]{0,12}[a-z]", "/[a-z/.]{1,12}", 0x1_0000_u64..u64::MAX - 1, any::<bool>()).prop_map(
        |(function, module, address, inlined)| Frame {
            address,
            function: Some(function.split_whitespace().collect::<Vec<_>>().join(" ")),
            module: if inlined { String::new() } else { module },
            file: None,
            line: None,
            inlined,
        },
    );
    proptest::collection::vec(one, 0..12)
}

fn samples() -> impl Strategy<Value = Vec<Sample>> {
    let one =
        (name(), 0..99_999_u32, 1..99_999_u32, proptest::option::of(0..512_u32), 0..1_000_000_000_000_u64, frames())
            .prop_map(|(comm, pid, tid, processor, time_us, frames)| Sample {
                comm,
                pid: Some(pid),
                tid,
                processor,
                time_ns: time_us * 1000,
                period: Some(1_000_000),
                event: "cpu-clock".to_owned(),
                frames,
                cut: false,
            });
    proptest::collection::vec(one, 0..20)
}

/// The text as perf prints it.
fn printed(samples: &[Sample]) -> String {
    let mut text = String::new();
    for s in samples {
        let cpu = s.processor.map(|cpu| format!("[{cpu:03}] ")).unwrap_or_default();
        let (seconds, rest) = (s.time_ns / 1_000_000_000, s.time_ns % 1_000_000_000 / 1000);
        let (pid, period) = (s.pid.unwrap_or(0), s.period.unwrap_or(0));
        let _ = writeln!(text, "{} {pid}/{} {cpu}{seconds}.{rest:06}: {period:10} {}: ", s.comm, s.tid, s.event);
        for f in &s.frames {
            let place = if f.inlined { "inlined".to_owned() } else { f.module.clone() };
            let _ = writeln!(text, "\t{:16x} {} ({place})", f.address, f.function.as_deref().unwrap_or("[unknown]"));
        }
        text.push('\n');
    }
    text
}

fn parsed(text: &[u8]) -> Vec<Sample> {
    let mut found = Vec::new();
    read(text, |_| {}, |sample| found.push(sample)).expect("bytes in memory can be read");
    found
}

proptest! {
    #[test]
    fn samples_that_perf_prints_are_read_unchanged(samples in samples()) {
        prop_assert_eq!(parsed(printed(&samples).as_bytes()), samples);
    }

    #[test]
    fn a_cut_text_gives_no_more_than_the_whole(samples in samples(), part in 0.0..1.0_f64) {
        let text = printed(&samples);
        let cut = &text.as_bytes()[..(text.len() as f64 * part) as usize];
        let found = parsed(cut);
        prop_assert!(found.len() <= samples.len());
        for (found, whole) in found.iter().zip(&samples) {
            prop_assert!(found.frames.len() <= whole.frames.len());
        }
        let _ = of(&[(0, cut)]);
    }

    #[test]
    fn any_text_gives_an_error_or_a_sound_recording(text in "([a-z0-9\\[\\]()/.:+#é \t\n-]|: |cycles: |1\\.5: |\n\t|\n  |ffffffff8100 |\\(inlined\\)){0,200}") {
        if let Ok(tables) = of(&[(0, text.as_bytes())]) {
            check(&tables);
        }
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = of(&[(0, &bytes)]);
    }

    #[test]
    fn every_recording_is_sound(samples in samples()) {
        if let Ok(tables) = of(&[(0, printed(&samples).as_bytes())]) {
            check(&tables);
            let answer = analyze::answer_for(&tables);
            prop_assert_eq!(answer.verdict.clear.len(), 0);
        }
    }
}

/// All handles refer to rows, and lanes have no gaps.
fn check(tables: &Tables) {
    for sample in &tables.samples {
        for stack in [sample.user_stack, sample.kernel_stack].into_iter().flatten() {
            assert_eq!(tables.stacks[stack.0 as usize].stack, stack);
        }
        assert!(tables.threads.iter().any(|thread| (thread.run, thread.thread) == (sample.run, sample.thread)));
    }
    for stack in &tables.stacks {
        assert!(tables.frames.iter().any(|frame| frame.frame == stack.frame));
    }
    for frame in &tables.frames {
        assert_eq!(tables.modules[frame.module.0 as usize].module, frame.module);
    }
    for thread in &tables.threads {
        let lane: Vec<_> = tables.slices.iter().filter(|slice| slice.thread == thread.thread).collect();
        assert!(lane.windows(2).all(|pair| pair[0].end_ns == pair[1].start_ns));
        let running: u64 = lane.iter().filter(|slice| slice.state == State::Running).map(|slice| slice.spent_ns).sum();
        assert_eq!(
            (lane[0].start_ns, lane[lane.len() - 1].end_ns, running),
            (thread.start_ns, thread.end_ns, thread.running_ns)
        );
    }
}
