//! A recording whose every name is an attack, one with many threads, and one of a run alone.

use recording::Tables;
use recording::synthetic::{RunSketch, Sketch, ms, us};
use recording::tables::{Mark, MarkKind, Reason};

/// Markup, quotes, control characters, marks that reorder text, template and shell syntax, and a very long name.
pub(crate) fn names() -> Vec<String> {
    let mut names: Vec<String> = [
        "</script><script>document.title='owned'</script>",
        "<img src=x onerror=\"document.title='owned'\">",
        "\" onmouseover=\"document.title='owned'\" x=\"",
        "' autofocus onfocus='document.title=1",
        "</style><style>*{display:none}</style>",
        "<!--",
        "]]>",
        "-->",
        "javascript:document.title='owned'",
        "${document.title='owned'}{{7*7}}`",
        "\u{202e}evil\u{202c}\u{2066}\u{200f}",
        "\u{1b}[2J\u{1b}]0;owned\u{7}",
        "null\u{0}byte\r\nline\u{2028}sep",
        "&lt;b&gt;&amp;",
        "日本語 ünïcödé 🧵",
        "\\u003cb\\u003e",
        "__proto__",
        "constructor",
        "'; rm -rf ~; echo '",
        "=cmd|' /C calc'!A0",
    ]
    .map(str::to_owned)
    .into();
    names.push("long ".repeat(20_000));
    names.push("<b>".repeat(33_334));
    names
}

/// A recording in which every name is one of [`names`].
pub(crate) fn hostile() -> Tables {
    let names = names();
    let frame = |name: &str| name.replace(" < ", "<").replace('@', "a");
    let run = |run: &mut RunSketch<'_>, each: u64| {
        for (i, name) in names.iter().enumerate() {
            let stack = format!("inner@app < {}@app", frame(name));
            run.thread(name)
                .runs(ms(each), &stack)
                .locks(0x1000 + i as u64, ms(3), &stack, name)
                .runs_in_kernel(ms(2), 1, &stack)
                .waits_for(Reason::Io, name, Some(0), ms(2), &stack)
                .runs(ms(1), &stack);
            run.syscalls(name, 1, name, 10);
            run.call_site(name, (1, name), &stack, Some(22), 10, us(200));
        }
    };
    let mut tables = Sketch::new(2)
        .clean(1, &[0.1, 0.11, 0.1])
        .clean(2, &[0.1, 0.12, 0.11])
        .traced(1, |r| run(r, 5))
        .traced(2, |r| run(r, 9))
        .tables();
    for (i, frame) in tables.frames.iter_mut().enumerate() {
        frame.file = names.get(i % names.len()).cloned();
        frame.line = Some(7);
    }
    for (i, module) in tables.modules.iter_mut().enumerate() {
        module.path = names.get(i % names.len()).cloned().unwrap_or_default();
    }
    let of = |i: usize| names.get(i % names.len()).cloned().unwrap_or_default();
    tables.meta.command = names.clone();
    tables.meta.environment = vec![(of(0), of(1))];
    tables.meta.notes = names.clone();
    tables.meta.machine.model = of(0);
    tables.meta.machine.kernel = of(1);
    tables.meta.machine.distribution = Some(of(2));
    let runs: Vec<_> = tables.traces.iter().map(|t| t.run).collect();
    for run in runs {
        for (i, name) in names.iter().enumerate() {
            for (kind, at) in [(MarkKind::TaskBegin, 1), (MarkKind::TaskEnd, 4)] {
                tables.marks.push(Mark {
                    run,
                    thread: recording::ThreadId(i as u32),
                    time_ns: ms(at),
                    kind,
                    name: Some(name.clone()),
                    amount: None,
                });
            }
        }
    }
    tables
}

/// `threads` threads. Each does `rounds` rounds of running, taking a lock and waiting for the others; its tasks are
/// marked.
pub(crate) fn many(threads: u32, rounds: u64) -> Tables {
    // The same numbers on every machine: a multiplier and modulus of L'Ecuyer (1999), random enough to look alive.
    let mut state = 12345_u64;
    let mut random = move |below: u64| {
        state = state * 1_583_458_089 % 2_147_483_647;
        state % below
    };
    let mut tables = Sketch::new(32)
        .clean(8, &[1.0, 1.01, 0.99])
        .clean(64, &[0.5, 0.52, 0.49])
        .traced(8, |run| {
            for t in 0..8 {
                run.thread(&format!("worker {t}")).runs(ms(rounds / 2 + 10), "work@app app.c:10 < run@app app.c:5");
            }
        })
        .traced(64, |run| {
            for t in 0..threads {
                let mut thread = run.thread_at(&format!("worker {t}"), us(u64::from(t) * 40));
                for round in 0..rounds {
                    thread = thread.runs(us(300 + random(900)), "work@app app.c:10 < run@app app.c:5");
                    thread = match random(8) {
                        0..=3 => {
                            let next = format!("worker {}", (t + 1) % threads);
                            thread.locks(0x40, us(50 + random(400)), "lock@app app.c:20 < run@app app.c:5", &next)
                        }
                        4 => thread.preempted(us(100 + random(300))),
                        5 => thread.runnable(us(20 + random(200))),
                        6 => thread.runs_in_kernel(us(100), 1, "write@libc.so.6 < run@app app.c:6"),
                        _ => thread.blocks(Reason::Sleep, us(random(500)), "nap@app app.c:30 < run@app app.c:5"),
                    };
                    if round % 50 == 49 {
                        thread = thread.blocks(Reason::Fault, us(300), "touch@app app.c:40 < run@app app.c:5");
                    }
                }
            }
        })
        .tables();
    let run = tables.traces.last().map(|t| t.run).unwrap_or_default();
    for thread in 0..threads {
        for task in 0..rounds / 10 {
            let at = ms(task * 9 + u64::from(thread % 5));
            for (kind, time_ns) in [(MarkKind::TaskBegin, at), (MarkKind::TaskEnd, at + ms(7))] {
                let name = Some(format!("task {task}"));
                tables.marks.push(Mark { run, thread: recording::ThreadId(thread), time_ns, kind, name, amount: None });
            }
        }
    }
    tables
}

/// One observed run without a curve, as `knee record` makes it: two workers share a lock. Three threads lived at once,
/// of which the first one only waits for the others.
pub(crate) fn alone() -> Tables {
    let mut tables = Sketch::new(4)
        .traced(3, |run| {
            let joins = "?@libc.so.6 < __pthread_clockjoin_ex@libc.so.6 < main@app app.c:90";
            run.thread("main").runs(ms(1), "main@app app.c:80").blocks(Reason::Futex, ms(999), joins);
            for (i, (name, other)) in [("a", "b"), ("b", "a")].into_iter().enumerate() {
                let (work, save) = ("work@app app.c:5", "write@libc.so.6 < save@app app.c:9");
                let lock = "pthread_mutex_lock@libc.so.6 < update@app app.c:40";
                (0..100).fold(run.thread(name), |thread, round| match round % 2 == i {
                    true => thread.runs(ms(8), work).runs_in_kernel(ms(2), 1, save),
                    false => thread.locks(0x100, ms(10), lock, other),
                });
                run.syscalls(name, 1, "write", 50);
                run.call_site(name, (1, "write"), save, None, 50, ms(2));
            }
        })
        .tables();
    tables.meta.thread_counts.clear();
    tables
}
