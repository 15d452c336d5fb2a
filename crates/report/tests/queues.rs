//! Locks and pools as queues: in the table of locks, on the terminal's page and on the HTML page.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

mod common;
#[path = "common/hostile.rs"]
#[allow(dead_code, reason = "each test file uses its part")]
mod hostile;

use analyze::answer::{Bounded, Queue, QueueKind, Site};
use analyze::model::Model;
use analyze::{Analysis, analyze};
use recording::Tables;
use report::html::sources::Sources;
use report::html::{Subject, render};
use report::observed::Observed;
use report::show::{Pick, locks};
use report::terminal::{Style, SweepFiles};
use std::collections::BTreeSet;
use std::path::Path;

const SENTENCE: &str = "the lock \"table_lock\" that update (app.c:40) takes is 83 % utilised (81 to 85 %): at 1.2 times the load it \
                        is the limit";

fn site() -> Site {
    let (function, file) = (Some("update".to_owned()), Some("app.c".to_owned()));
    Site {
        function,
        module: "app".to_owned(),
        file,
        path: None,
        relative: None,
        line: Some(40),
        address: "0x40".to_owned(),
    }
}

/// A run alone whose lock is busy, with a pool beside it.
fn analysed<'m, 't>(model: &'m Model<'t>) -> Analysis<'m, 't> {
    let mut analysis = analyze(model);
    let object = Some("0x100".to_owned());
    let waits = analysis.ledgers.iter().flat_map(|ledger| ledger.futexes.keys().copied()).collect();
    let lock = Queue { object, waits, summary: Some(SENTENCE.to_owned()), ..common::busy_lock(2, site()) };
    let pool = Queue {
        kind: QueueKind::Pool,
        size: 3,
        object: None,
        waits: BTreeSet::new(),
        object_name: None,
        utilisation: 0.2,
        waiting: 0.25,
        waiting_at_twice: Some(Bounded { mean: 1.4, low: 1.1, high: None }),
        summary: None,
        ..lock.clone()
    };
    // Of another run: in no table of this one.
    let other = Queue { threads: 9, utilisation: 0.99, ..lock.clone() };
    analysis.answer.queues = vec![lock, pool, other];
    analysis
}

fn table(tables: &Tables, pick: Pick, width: usize) -> String {
    let model = Model::new(tables);
    let analysis = analysed(&model);
    let mut out = Vec::new();
    locks::locks(&Observed::at(&analysis, None).unwrap(), pick).text(width, true, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_table_of_locks_tells_how_busy_each_is() {
    let wide = table(&hostile::alone(), Pick::default(), 220);
    let row = |name: &str| wide.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    for cell in ["83 %", "1.00 ms", "830", "4.00 ms", "2.6", "no end"] {
        assert!(row("0x100").contains(cell), "{cell}: {wide}");
    }
    for cell in ["one of a few resources", "update (app.c:40)", "20 %", "0.2", "1.4 (1.1 to no end)"] {
        assert!(row("pool of 3").contains(cell), "{cell}: {wide}");
    }
    assert!(!wide.contains("99 %"), "another run's: {wide}");
    let narrow = table(&hostile::alone(), Pick::default(), 80);
    assert!(narrow.contains("83 %") && narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
}

/// A queue is that of all threads and of the whole run.
#[test]
fn a_part_of_a_run_has_no_queues() {
    for pick in [Pick { tid: Some(101), between: None }, Pick { tid: None, between: Some((0.0, 0.5)) }] {
        let text = table(&hostile::alone(), pick, 200);
        assert!(text.contains("0x100") && !text.contains("held") && !text.contains("83 %"), "{text}");
        assert!(!text.contains("pool of 3"), "{text}");
    }
}

#[test]
fn what_is_near_its_limit_is_told_in_a_sentence() {
    let tables = hostile::alone();
    let model = Model::new(&tables);
    let mut analysis = analysed(&model);
    let told = |analysis: &Analysis<'_, '_>| {
        let (mut text, mut page) = (Vec::new(), Vec::new());
        let files = SweepFiles { recording: Path::new("x"), beside: &[] };
        let style = Style { colour: false, width: 80, unicode: true, whole: false };
        report::terminal::render(&analysis.answer, &files, style, &mut text).unwrap();
        render(&Subject { analysis, folder: "x", sources: &Sources::default() }, &mut page).unwrap();
        (String::from_utf8(text).unwrap(), String::from_utf8(page).unwrap())
    };
    let (text, page) = told(&analysis);
    assert!(text.contains("\nNear its limit The lock \"table_lock\" that update"), "{text}");
    assert!(page.contains("The lock &quot;table_lock&quot; that update (app.c:40) takes is 83"));
    let same = analysis.answer.queues.iter().find(|queue| queue.summary.is_some()).unwrap().clone();
    analysis.answer.queues.push(Queue { threads: same.threads - 1, ..same });
    assert_eq!(told(&analysis).0.matches("Near its limit").count(), 1);
    analysis.answer.queues.iter_mut().for_each(|queue| queue.summary = None);
    let (text, page) = told(&analysis);
    assert!(!text.contains("Near its limit") && !page.contains("it is the limit"), "{text}");
}
