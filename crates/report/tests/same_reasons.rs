//! Tables, lanes, exports and the account agree on the reason of each wait: on kept recordings and synthetic ones.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

#[path = "common/hostile.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod hostile;

use analyze::account::Ledger;
use analyze::account::lines::Why;
use analyze::account::pieces::{Activity, ONE, pieces};
use analyze::account::profile::Doing;
use analyze::model::Model;
use analyze::model::futex::Purpose;
use analyze::words::reasons::reason as reason_name;
use analyze::{Analysis, analyze};
use recording::synthetic::{Sketch, ms};
use recording::tables::{Reason, State, Wait};
use recording::{Recording, Tables};
use report::export::{firefox, perfetto, pprof};
use report::lanes::sampled::sampled;
use report::lanes::{Class, Drawing, Lane, Timeline};
use report::observed::Observed;
use report::show::view::{Cell, View};
use report::show::{Pick, locks, threads, waits};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// The kept recordings, and sketches of waits for which the account has another reason than the kernel.
fn recordings() -> Vec<(String, Tables)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")];
    while let Some(folder) = folders.pop() {
        if folder.join("meta.json").exists() {
            let tables = Recording::open(&folder).and_then(|r| r.tables()).unwrap();
            found.push((folder.display().to_string(), tables));
            continue;
        }
        let inside = std::fs::read_dir(folder).unwrap().filter_map(|entry| Some(entry.ok()?.path()));
        folders.extend(inside.filter(|path| path.is_dir()));
    }
    assert!(found.len() >= 8, "{} kept recordings", found.len());
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found.push(("allocator".to_owned(), allocator()));
    found.push(("helper".to_owned(), helper()));
    found.push(("many".to_owned(), hostile::many(4, 40)));
    found
}

/// Threads that wait for a lock inside malloc.
fn allocator() -> Tables {
    let waiting = "__lll_lock_wait_private@libc.so.6 < malloc@libc.so.6 < work@app app.c:10";
    let sketch = Sketch::new(2).traced(2, |run| {
        for (name, other) in [("a", "b"), ("b", "a")] {
            run.thread(name).runs(ms(50), "work@app app.c:10").locks(0x100, ms(50), waiting, other);
        }
    });
    sketch.tables()
}

/// Two workers, and a thread that waits during almost its whole life.
fn helper() -> Tables {
    let sketch = Sketch::new(2).traced(2, |run| {
        run.thread("a").runs(ms(500), "work@app app.c:10");
        run.thread("b").runs(ms(250), "work@app app.c:10").blocks(
            Reason::Io,
            ms(250),
            "read@libc.so.6 < work@app app.c:12",
        );
        run.thread("timer")
            .blocks(Reason::Sleep, ms(499), "nap@libc.so.6 < timer@app app.c:20")
            .runs(ms(1), "timer@app");
    });
    sketch.tables()
}

/// Calls `check` for each observed run of each recording.
fn each(mut check: impl FnMut(&str, &Analysis<'_, '_>, &Ledger<'_, '_>, &Observed<'_, '_>)) {
    let mut runs = 0;
    for (name, tables) in recordings() {
        let model = Model::new(&tables);
        let analysis = analyze(&model);
        for (ledger, observed) in analysis.ledgers.iter().zip(Observed::all(&analysis)) {
            assert_eq!(ledger.traced.run.run, observed.traced.run.run);
            check(&format!("{name}, {} threads", ledger.traced.run.threads), &analysis, ledger, &observed);
            runs += 1;
        }
    }
    assert!(runs >= 15, "{runs} observed runs");
}

fn column(view: &View, key: &str) -> usize {
    view.columns.iter().position(|c| c.key == key).unwrap()
}

fn text(cell: &Cell) -> &str {
    if let Cell::Text(text) = cell { text } else { "" }
}

/// The reason that a text begins with: `kernel lock mmap_lock` is a wait for a kernel lock.
fn reason(words: &str) -> Why {
    let begins = |why: &Why| {
        let rest = words.strip_prefix(reason_name(*why));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let fitting: Vec<Why> = ledger_reasons().filter(begins).collect();
    assert_eq!(fitting.len(), 1, "{words:?} may be {fitting:?}");
    fitting[0]
}

/// Every reason that there is.
fn ledger_reasons() -> impl Iterator<Item = Why> {
    Activity::all().filter_map(|kind| if let Activity::Blocked(why) = kind { Some(why) } else { None })
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 + 1e-6 * a.abs().max(b.abs())
}

#[test]
fn the_rows_of_waits_sum_to_the_ledger_s_by_reason() {
    each(|name, _, ledger, observed| {
        let mut expected: BTreeMap<Why, f64> = BTreeMap::new();
        for wait in ledger.traced.waits.values() {
            *expected.entry(ledger.reasons[&wait.wait]).or_default() += wait.blocked_ns as f64 / 1e9;
        }
        let view = waits::waits(observed, Pick::default());
        let (why, blocked) = (column(&view, "for"), column(&view, "blocked_s"));
        let mut shown: BTreeMap<Why, f64> = BTreeMap::new();
        for row in &view.rows {
            *shown.entry(reason(text(&row[why]))).or_default() += row[blocked].number().unwrap_or(0.0);
        }
        for why in expected.keys().chain(shown.keys()) {
            let [in_table, in_ledger] = [&shown, &expected].map(|sums| sums.get(why).copied().unwrap_or(0.0));
            assert!(near(in_table, in_ledger), "{name}: {why:?} {in_table} in the table, {in_ledger} in the ledger");
        }
    });
}

#[test]
fn the_account_charges_idle_time_to_the_same_reasons() {
    each(|name, _, ledger, _| {
        // A single sleep of Go's scheduler can end otherwise than most of its wait: it then is a wait for work, and its
        // wait is one for other goroutines. Only their sum is the same.
        let group = |why: Why| if why == Why::Ended { Why::Condition } else { why };
        let mut by_wait: BTreeMap<Why, f64> = BTreeMap::new();
        for (wait, seconds) in &ledger.split.by_wait {
            *by_wait.entry(group(ledger.reasons[wait])).or_default() += seconds;
        }
        let mut charged: BTreeMap<Why, f64> = BTreeMap::new();
        for (kind, seconds) in &ledger.split.charged {
            if let Activity::Blocked(why) | Activity::Woken(why) = kind {
                *charged.entry(group(*why)).or_default() += seconds;
            }
        }
        // A block whose wait has no row is unknown, and no wait has its time.
        let blocks = ledger.traced.slices.iter().filter(|slice| slice.state == State::Blocked);
        let without_row = blocks.clone().any(|slice| slice.wait.is_none_or(|w| !ledger.traced.waits.contains_key(&w)));
        for why in charged.keys().chain(by_wait.keys()) {
            let [charged, waited] = [&charged, &by_wait].map(|sums| sums.get(why).copied().unwrap_or(0.0));
            let more = *why == Why::Unknown && without_row && charged > waited;
            assert!(near(charged, waited) || more, "{name}: {why:?} {charged} {waited}");
        }
    });
}

#[test]
fn locks_are_those_that_threads_wait_for_as_for_a_lock() {
    each(|name, _, ledger, observed| {
        // Locks whose wait has another reason, such as the allocator's, have a row too.
        let is_lock = |wait: &Wait| {
            let futex = ledger.futexes.get(&wait.wait).is_some_and(|futex| futex.purpose == Purpose::Lock);
            futex || ledger.reasons[&wait.wait] == Why::Lock
        };
        let waits = ledger.traced.waits.values().filter(|wait| is_lock(wait));
        let expected: f64 = waits.map(|wait| wait.blocked_ns as f64 / 1e9).sum();
        let view = locks::locks(observed, Pick::default());
        let (kind, blocked) = (column(&view, "kind"), column(&view, "blocked_s"));
        let own = view.rows.iter().filter(|row| text(&row[kind]) == "program or library");
        let shown: f64 = own.filter_map(|row| row[blocked].number()).sum();
        assert!(near(shown, expected), "{name}: {shown} {expected}");
    });
}

#[test]
fn threads_and_who_waits_for_whom_say_the_same() {
    each(|name, _, ledger, observed| {
        let view = threads::threads(observed, Pick::default());
        let blocked = column(&view, "blocked_s");
        let shown: f64 = view.rows.iter().filter_map(|row| row[blocked].number()).sum();
        let expected: f64 = ledger.traced.threads.values().map(|t| t.blocked_ns as f64 / 1e9).sum();
        assert!(near(shown, expected), "{name}: {shown} {expected}");
        let reasons: BTreeSet<Why> = ledger.reasons.values().copied().collect();
        let view = threads::wakers(observed, Pick::default());
        let longest = column(&view, "mostly_for");
        for row in &view.rows {
            let words = text(&row[longest]);
            let fits = |why: &Why| words.starts_with(reason_name(*why));
            assert!(reasons.iter().any(fits), "{name}: {words:?}");
        }
    });
}

/// Nanoseconds of all threads by colour.
type Coloured = BTreeMap<Class, f64>;

#[test]
fn lanes_show_what_the_account_counts() {
    each(|name, _, ledger, observed| {
        let traced = ledger.traced;
        let mut counted: Coloured = BTreeMap::new();
        for piece in pieces(traced, &ledger.reasons) {
            let class = match piece.kind {
                Activity::Running | Activity::Compiling => Class::User,
                // A thread that hardly ever runs is no loss while it waits, whatever it waits for.
                Activity::Blocked(Why::Helper) => {
                    Class::of_wait(piece.wait.map_or(Why::Unknown, |wait| ledger.reasons[&wait]))
                }
                Activity::Blocked(why) => Class::of_wait(why),
                Activity::Woken(_) | Activity::Ready | Activity::CompilerReady => Class::Runnable,
                Activity::Preempted | Activity::CompilerPreempted => Class::Preempted,
                Activity::Unseen => Class::Unknown,
            };
            let spent = (piece.end - piece.start) as f64 * piece.weight as f64 / ONE as f64;
            *counted.entry(class).or_default() += spent;
        }
        // The account covers the measured part, lanes cover the whole run.
        let mut shown = coloured(&Timeline::new(observed, usize::MAX), traced.measured);
        let in_calls = shown.remove(&Class::System).unwrap_or(0.0);
        *shown.entry(Class::User).or_default() += in_calls;
        for key in counted.keys().chain(shown.keys()) {
            let [in_lane, in_account] = [&shown, &counted].map(|sums| sums.get(key).copied().unwrap_or(0.0) / 1e9);
            assert!((in_lane - in_account).abs() < 1e-4, "{name}: {key:?} {in_lane} in the lane, {in_account} counted");
        }
    });
}

/// Nanoseconds of all lanes of a timeline between two times by colour.
fn coloured(timeline: &Timeline, (from, to): (u64, u64)) -> Coloured {
    let mut shown: Coloured = BTreeMap::new();
    for lane in &timeline.lanes {
        for span in lane.between(from, to) {
            let inside = span.end.min(to) - span.start.max(from);
            for (kind, ns) in report::lanes::levels::parts(lane, span, inside) {
                *shown.entry(timeline.class(kind)).or_default() += ns;
            }
        }
    }
    shown
}

/// Lanes that are made one at a time have the same spans, and the same kinds with the same numbers.
#[test]
fn lanes_made_one_at_a_time_are_the_same() {
    each(|name, _, _, observed| {
        let whole = sampled(observed, Timeline::new(observed, 8));
        let mut drawing = Drawing::new(observed, 8);
        let (mut spans, mut has_last) = (Vec::new(), false);
        drawing.each(
            |lane, last| (lane.spans.clone(), lane.mixes.clone(), last),
            |(lane, mixes, last)| {
                spans.push((lane, mixes));
                has_last |= last;
                ControlFlow::Continue(())
            },
        );
        let all = whole.lanes.iter().map(|lane| (lane.spans.clone(), lane.mixes.clone()));
        assert!(spans == all.collect::<Vec<_>>(), "{name}");
        drawing.keep();
        let kept = drawing.into_timeline(has_last);
        assert_eq!(kept.kinds, whole.kinds, "{name}");
        assert!(kept.lanes.iter().map(|lane| &lane.spans).eq(whole.lanes.iter().map(|lane| &lane.spans)), "{name}");
    });
}

/// What waits stays as it was recorded. What ran is told apart as the account tells its samples apart: who fights for a
/// lock is not drawn as one that gets on.
#[test]
fn running_lanes_show_what_the_profile_counts() {
    let mut compared = 0;
    each(|name, _, ledger, observed| {
        let plain = Timeline::new(observed, usize::MAX);
        let told = sampled(observed, plain.clone());
        for (lane, other) in told.lanes.iter().zip(&plain.lanes) {
            assert!(lane.spans.windows(2).all(|pair| pair[0].end <= pair[1].start), "{name}: spans overlap");
            let length = |lane: &Lane| lane.spans.iter().map(|s| s.end - s.start).sum::<u64>();
            assert_eq!(length(lane), length(other), "{name}");
        }
        let whole = (0, u64::MAX);
        let part = coloured(&told, observed.traced.measured);
        let (told, plain) = (coloured(&told, whole), coloured(&plain, whole));
        let running = |sums: &Coloured| sums.iter().filter(|(c, _)| c.runs()).map(|(_, ns)| ns).sum::<f64>();
        assert!((running(&told) - running(&plain)).abs() < 1e-4 * running(&plain) + 1e3, "{name}: {told:?} {plain:?}");
        for (class, ns) in plain.iter().filter(|(class, _)| !class.runs()) {
            let in_told = told.get(class).copied().unwrap_or(0.0);
            assert!((in_told - ns).abs() < 1e-4 * ns + 1e3, "{name}: {class:?}");
        }
        // With few samples, shares differ by chance.
        if ledger.profile.total < 300 || observed.model.tables.meta.imported.is_some() {
            return;
        }
        let counted = |fits: fn(&Doing<'_>) -> bool| {
            let fitting = ledger.profile.counts.iter().filter(|(doing, _)| fits(doing)).map(|(_, n)| *n).sum::<u64>();
            fitting as f64 / ledger.profile.total as f64
        };
        let drawn = |class| part.get(&class).copied().unwrap_or(0.0) / running(&part);
        for (class, share) in [
            (Class::Sync, counted(|doing| matches!(doing, Doing::Synchronising(_)))),
            (Class::Spin, counted(|doing| matches!(doing, Doing::Spinning))),
            (Class::Allocator, counted(|doing| matches!(doing, Doing::Allocator(_)))),
        ] {
            assert!((drawn(class) - share).abs() < 0.08, "{name}: {class:?} {} drawn, {share} sampled", drawn(class));
        }
        compared += 1;
    });
    assert!(compared >= 6, "{compared} runs have enough samples");
}

#[test]
fn exports_name_the_same_reasons() {
    each(|name, _, ledger, observed| {
        let reasons: BTreeSet<Why> = ledger.reasons.values().copied().collect();
        let mut packed = Vec::new();
        pprof::render(observed, &mut packed).unwrap();
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).unwrap();
        let profile = String::from_utf8_lossy(&bytes).into_owned();
        for why in ledger_reasons() {
            let named = profile.contains(&format!("[waits: {}]", reason_name(why)));
            assert_eq!(named, reasons.contains(&why), "{name}: {why:?} in pprof");
        }
        // Formats that draw over time take their data from the lanes: each kind of wait must be in them.
        let timeline = Timeline::new(observed, usize::MAX);
        let mut trace = Vec::new();
        perfetto::render(observed, &mut trace).unwrap();
        let mut profile = Vec::new();
        firefox::render(observed, Duration::ZERO, &mut profile).unwrap();
        let (trace, profile) = (String::from_utf8_lossy(&trace), String::from_utf8_lossy(&profile));
        let used: BTreeSet<u32> = timeline.lanes.iter().flat_map(|l| &l.spans).map(|s| s.kind).collect();
        for kind in used.iter().filter_map(|kind| timeline.kinds.get(*kind as usize)) {
            let wait = !matches!(kind.class, Class::User | Class::System | Class::Runnable | Class::Preempted);
            if wait && !kind.label.is_empty() && kind.label.is_ascii() && !kind.label.contains(['"', '\\', '\u{1b}']) {
                let begin: String = kind.label.chars().take(30).collect();
                assert!(trace.contains(&begin), "{name}: {begin:?} in the trace");
                assert!(profile.contains(&begin), "{name}: {begin:?} in the profile");
            }
        }
    });
}
