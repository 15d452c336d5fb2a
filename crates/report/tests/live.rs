//! The live view's screen on a simulated terminal, and as text.

use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;
use recording::synthetic::{Sketch, ms};
use recording::tables::{Mark, MarkKind, Reason};
use recording::{Tables, ThreadId, WaitId};
use report::live::{Glance, Key, Look, Moment, State, glance, plain};

fn tables() -> Tables {
    let mut tables = Sketch::new(2)
        .traced(4, |run| {
            run.thread("main").blocks(Reason::Sleep, ms(1000), "nap@libc.so.6 < main@app app.c:9");
            run.thread("worker one").runs(ms(700), "work@app app.c:20").locks(
                0x7f00,
                ms(300),
                "pthread_mutex_lock@libc.so.6 < step@app app.c:31",
                "worker two",
            );
            run.thread("worker two")
                .runs(ms(250), "work@app app.c:20")
                .runs(ms(150), "__random@libc.so.6 < step@app app.c:33")
                .locks(0x7f00, ms(600), "pthread_mutex_lock@libc.so.6 < step@app app.c:31", "worker one");
            run.thread("<script>\u{1b}[2J\u{202e}").runs(ms(1000), "<b>hostile</b>@app app.c:66");
        })
        .tables();
    for trace in &mut tables.traces {
        (trace.begin_ns, trace.end_ns) = (0, ms(1000));
    }
    tables
}

fn seen(tables: &Tables, sees_code: bool) -> Glance {
    let wait = |thread: u32| tables.waits.iter().find(|w| w.thread == ThreadId(thread)).map(|w: &_| w.wait);
    let now: [(ThreadId, State, Option<WaitId>); 4] = [
        (ThreadId(0), State::Waits, wait(0)),
        (ThreadId(1), State::Runs, None),
        (ThreadId(2), State::Waits, wait(2)),
        (ThreadId(3), State::Ready, None),
    ];
    let used = [0.5, 1.0, 1.9, 2.0, 1.2, 2.1];
    glance::glance(&Moment { title: "app (4711), by eBPF", tables, now: &now, used: &used, sees_code })
}

fn screen(look: &Look, glance: Option<&Glance>, (width, height): (u16, u16), unicode: bool) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a buffer is always there");
    terminal
        .draw(|frame| {
            let area = frame.area();
            look.draw(glance, unicode, false, area, frame.buffer_mut());
        })
        .expect("a buffer can be drawn on");
    terminal.backend().to_string()
}

#[test]
fn a_wide_screen_shows_all_tables() {
    insta::assert_snapshot!(screen(&Look::default(), Some(&seen(&tables(), true)), (140, 24), true));
}

#[test]
fn a_usual_screen_shows_threads_and_one_more_table() {
    let mut look = Look::default();
    let glance = seen(&tables(), true);
    look.press(Key::Next, Some(&glance));
    look.press(Key::Next, Some(&glance));
    insta::assert_snapshot!(screen(&look, Some(&glance), (80, 24), true));
}

#[test]
fn a_small_screen_without_unicode_shows_the_table_with_the_focus() {
    insta::assert_snapshot!(screen(&Look::default(), Some(&seen(&tables(), true)), (60, 12), false));
}

#[test]
fn no_size_is_too_small() {
    let glance = seen(&tables(), true);
    for width in 1..30 {
        for height in 1..10 {
            screen(&Look::default(), Some(&glance), (width, height), width % 2 == 0);
        }
    }
    assert!(screen(&Look::default(), None, (30, 5), true).contains("looking"));
}

#[test]
fn keys_move_sort_pause_and_end() {
    let glance = seen(&tables(), true);
    let mut look = Look::default();
    let at = |look: &Look| screen(look, Some(&glance), (80, 12), true);
    let first_row = |text: &str| text.lines().nth(4).unwrap_or_default().to_owned();
    assert!(first_row(&at(&look)).contains("103"), "most running first: {}", at(&look));
    look.press(Key::Down, Some(&glance));
    assert!(first_row(&at(&look)).contains("101"), "{}", at(&look));
    for _ in 0..20 {
        look.press(Key::Down, Some(&glance));
    }
    assert!(first_row(&at(&look)).contains("100"), "the last row stays: {}", at(&look));
    look.press(Key::PageUp, Some(&glance));
    assert!(first_row(&at(&look)).contains("103"));
    look.press(Key::Sort, Some(&glance));
    assert!(at(&look).contains("by run %"), "{}", at(&look));
    look.press(Key::Sort, Some(&glance));
    look.press(Key::Sort, Some(&glance));
    assert!(first_row(&at(&look)).contains("100") && at(&look).contains("by wait %"), "{}", at(&look));
    look.press(Key::Previous, Some(&glance));
    assert!(at(&look).contains("* 1 lock "), "{}", at(&look));
    look.press(Key::Pause, Some(&glance));
    assert!(look.paused && at(&look).contains("PAUSED"));
    assert!(look.press(Key::Quit, Some(&glance)));
}

#[test]
fn as_text_it_is_the_same_and_harmless() {
    let mut out = Vec::new();
    plain::render(&seen(&tables(), true), 1.0, 80, true, &mut out).expect("a vector takes everything");
    let text = String::from_utf8(out).expect("UTF-8");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
    insta::assert_snapshot!(text);
}

/// A lock with many short waits stands below one with a long wait, the kernel's among the program's.
#[test]
fn locks_are_ranked_by_the_waiting_for_them() {
    let often = "pthread_mutex_lock@libc.so.6 < often@app app.c:1";
    let mut tables = Sketch::new(2)
        .traced(2, |run| {
            let a = run.thread("a").locks(0x100, ms(300), "pthread_mutex_lock@libc.so.6 < long@app app.c:2", "b");
            (0..20).fold(a, |a, _| a.locks(0x200, ms(10), often, "b")).waits_for(
                Reason::KernelLock,
                "lock mmap_lock",
                Some(11),
                ms(250),
                "munmap@libc.so.6 < unmap@app app.c:3",
            );
            run.thread("b").runs(ms(750), "work@app app.c:20");
        })
        .tables();
    tables.traces.iter_mut().for_each(|trace| (trace.begin_ns, trace.end_ns) = (0, ms(1000)));
    let last = tables.waits.iter().find(|w| w.reason == Reason::KernelLock).map(|w| w.wait);
    let now = [(ThreadId(0), State::Waits, last), (ThreadId(1), State::Runs, None)];
    let moment = Moment { title: "app", tables: &tables, now: &now, used: &[1.0], sees_code: true };
    let glance = glance::glance(&moment);
    let locks = glance.panels.last().expect("four tables");
    let shown: Vec<Vec<String>> = locks.rows.iter().map(|row| row.iter().map(|cell| cell.shown()).collect()).collect();
    let brief: Vec<[&str; 3]> = shown.iter().map(|row| [row[0].as_str(), &row[2], &row[3]]).collect();
    assert_eq!(
        brief,
        [
            ["0x100", "long (app.c:2)", "0"],
            ["lock mmap_lock", "unmap (app.c:3)", "1"],
            ["0x200", "often (app.c:1)", "0"]
        ]
    );
    // What the threads do instead is in no row.
    assert_eq!(locks.rows.len(), 3);
}

/// Units of work where the program counts them, else tasks; nothing where it says nothing.
#[test]
fn what_the_program_counts_is_told_a_second() {
    let mut tables = tables();
    let headline = |tables: &Tables| {
        let mut out = Vec::new();
        plain::render(&seen(tables, true), 1.0, 200, true, &mut out).expect("a vector takes everything");
        String::from_utf8(out).expect("UTF-8").lines().next().unwrap_or_default().to_owned()
    };
    assert!(!headline(&tables).contains("/s"), "{}", headline(&tables));
    let mark =
        |kind, amount| Mark { run: tables.traces[0].run, thread: ThreadId(1), time_ns: 5, kind, name: None, amount };
    let (begun, ended, work) =
        (mark(MarkKind::TaskBegin, None), mark(MarkKind::TaskEnd, None), mark(MarkKind::Work, Some(40)));
    tables.marks = vec![begun.clone()];
    assert!(!headline(&tables).contains("/s"), "what began is not done: {}", headline(&tables));
    tables.marks = vec![begun, ended.clone(), ended];
    assert!(headline(&tables).contains("2.10 of 2 processors, 2 tasks/s, 4 threads"), "{}", headline(&tables));
    tables.marks.extend([work.clone(), work]);
    assert!(headline(&tables).contains(", 80 units of work/s, "), "{}", headline(&tables));
}

#[test]
fn without_samples_it_says_so() {
    let mut bare = tables();
    bare.samples.clear();
    let mut out = Vec::new();
    plain::render(&seen(&bare, false), 1.0, 80, false, &mut out).expect("a vector takes everything");
    let text = String::from_utf8(out).expect("UTF-8");
    assert!(text.is_ascii() && text.contains("/proc does not tell which code runs"), "{text}");
}
