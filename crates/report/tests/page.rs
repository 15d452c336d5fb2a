//! The page: nothing from the target runs in it, and it stays small. What it looks like is tested in a browser
//! (`tests/browser`).

#[path = "common/hostile.rs"]
mod hostile;

use analyze::analyze;
use analyze::answer::Beyond;
use analyze::model::Model;
use recording::Tables;
use recording::synthetic::{Sketch, ms};
use recording::tables::PeerSide;
use report::html::detail::TimeRange;
use report::html::sources::Sources;
use report::html::{Subject, render, serve};

fn page(tables: &Tables) -> String {
    let model = Model::new(tables);
    let analysis = analyze(&model);
    let mut out = Vec::new();
    render(&Subject { analysis: &analysis, folder: "/tmp/<i>'\"", sources: &Sources::default() }, &mut out)
        .expect("a Vec takes everything");
    String::from_utf8(out).expect("the page is UTF-8")
}

/// The sentence begins with a capital and ends with a full stop, and what came from the target in it is escaped.
#[test]
fn a_collapse_beyond_the_first_count_is_shown() {
    let tables = hostile::many(4, 40);
    let model = Model::new(&tables);
    let mut analysis = analyze(&model);
    let summary = "with 4 threads it is 3.2 times slower than with 2: a lock in <b>".to_owned();
    let beyond = Beyond { threads: 4, slower: 3.2, same: false, summary, causes: Vec::new() };
    analysis.answer.verdict.beyond = Some(beyond);
    let mut out = Vec::new();
    render(&Subject { analysis: &analysis, folder: "/tmp", sources: &Sources::default() }, &mut out)
        .expect("a Vec takes everything");
    let page = String::from_utf8(out).expect("the page is UTF-8");
    assert!(page.contains("<h3>Beyond "), "{page:.3000}");
    assert!(page.contains("With 4 threads it is 3.2 times slower than with 2: a lock in &lt;b&gt;."), "{page:.3000}");
}

/// The times of a server that was observed alone are per request, and the page says so everywhere.
#[test]
fn times_of_a_server_are_per_request() {
    let tables = Sketch::new(2)
        .traced(1, |run| {
            run.thread("a").runs(ms(50), "answer@server server.c:9");
            run.peer("a", PeerSide::Clients, "port 80", (20, ms(40)), ("recv@server server.c:5", 0));
        })
        .tables();
    let page = page(&tables);
    assert!(page.contains("All the processor time that each request could have used"), "{page:.3000}");
    assert!(page.contains("20 requests, 400 a second; each took 2.0 ms until the answer began"), "{page:.3000}");
    assert!(page.contains("Processor time per request with 1 thread") && !page.contains("per run"), "{page:.3000}");
}

#[test]
fn nothing_of_the_target_becomes_markup() {
    let page = page(&hostile::hostile());
    // The page's own elements have no event handlers; a name that got through unescaped would add elements or handlers.
    let mut rest = page.as_str();
    let mut scripts = 0;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
        if name == "script" {
            scripts += 1;
            let end = rest.find("</script>").expect("every script ends");
            assert!(rest.starts_with("script>") || rest.starts_with("script type=\"application/"));
            rest = &rest[end + 1..];
            continue;
        }
        if name == "style" {
            rest = &rest[rest.find("</style>").expect("the style ends") + 1..];
            continue;
        }
        let tag = &rest[..rest.find('>').expect("every tag ends")];
        let known = ["img", "b", "i", "iframe", "object", "embed", "form", "base", "link"];
        assert!(!known.contains(&name.as_str()), "<{tag}>");
        // Outside quotes: here an attribute that a name has smuggled in, such as a handler, would appear.
        let attributes: String = tag.split('"').step_by(2).collect();
        assert!(!attributes.contains(" on") && !attributes.contains('\''), "<{tag}>");
    }
    assert!(scripts >= 4, "index, lanes, samples and the code: {scripts}");
    for c in ['\u{202e}', '\u{2066}', '\u{200f}', '\u{1b}', '\u{0}', '\u{2028}', '\u{7}'] {
        assert!(!page.contains(c), "{:x}", c as u32);
    }
    assert!(!page.contains(" style="), "the policy forbids style attributes");
    assert!(page.len() < 3_000_000, "{}", page.len());
}

#[test]
fn the_policy_allows_the_page_s_own_code_and_nothing_else() {
    let page = page(&hostile::many(4, 10));
    let policy = page.split("Content-Security-Policy\" content=\"").nth(1).and_then(|p| p.split('"').next());
    let policy = policy.expect("there is a policy");
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    for never in
        ["http://", "https://", "//cdn", "@import", "fetch(", "XMLHttp", "innerHTML", "eval(", "document.write"]
    {
        assert!(!page.contains(never), "{never}");
    }
}

#[test]
fn many_threads_fit_the_page() {
    let page = page(&hostile::many(64, 200));
    assert!(page.len() < 3_000_000, "{}", page.len());
    assert!(page.contains("<svg class=\"chart still\""), "the lanes can be seen without scripts");
}

#[test]
fn a_recording_without_rows_has_a_page() {
    let page = page(&Tables::empty(recording::synthetic::meta(2)));
    assert!(page.contains("id=\"answer\"") && page.ends_with("</body></html>\n"));
}

/// Whatever was recorded of a run alone is in its page: only what compares counts is not. The answer tells of the two
/// threads that work, while three lived at once.
#[test]
fn a_run_alone_has_every_section_but_those_that_compare_counts() {
    let headings = |tables: &Tables| -> Vec<String> {
        let page = page(tables);
        let after = page.split("<h2 ").chain(page.split("<h3>").skip(1)).skip(1);
        after.filter_map(|rest| Some(rest.split_once('<')?.0.rsplit('>').next()?.to_owned())).collect()
    };
    let (alone, swept) = (headings(&hostile::alone()), headings(&hostile::many(4, 40)));
    let only_of_a_sweep: Vec<&str> = swept.iter().filter(|title| !alone.contains(title)).map(String::as_str).collect();
    assert_eq!(only_of_a_sweep, ["Scaling", "What grew"], "{alone:#?}");
    for title in ["Functions and call paths", "Locks", "Waits", "Wait graph", "System calls", "Threads"] {
        assert!(alone.iter().any(|found| found == title), "{title}: {alone:#?}");
    }
    let page = page(&hostile::alone());
    assert!(page.contains("Of the observed run with 2 threads.") && !page.contains("with 3 threads"));
    assert!(page.contains("id=\"flame\"") && page.contains("id=\"flame-waits\""));
}

/// The tree of waits: call paths as they were called, and innermost what was waited for. Time on a processor is not in
/// it.
#[test]
fn waits_are_a_call_tree_of_their_own() {
    let page = page(&hostile::alone());
    let index = page.split("id=\"index\">").nth(1).and_then(|rest| rest.split("</script>").next());
    let index: serde_json::Value = serde_json::from_str(index.expect("there is an index")).expect("it is JSON");
    let name = |node: &serde_json::Value| index["names"][node[1].as_u64().unwrap_or(0) as usize].clone();
    let nodes = index["waited"].as_array().expect("nodes");
    let lock = nodes.iter().find(|node| name(node) == "[lock]").expect("the lock is waited for");
    // Each of the two threads waits for the other half of the time.
    assert!((lock[2].as_f64().expect("seconds") - 1.0).abs() < 1e-6, "{lock}");
    let above = &nodes[lock[0].as_u64().expect("a parent") as usize];
    assert_eq!(
        (name(above), name(&nodes[above[0].as_u64().expect("a parent") as usize])),
        ("pthread_mutex_lock".into(), "update".into())
    );
    assert!(nodes.iter().all(|node| name(node) != "work"), "who works waits for nothing");
    assert!((nodes[0][2].as_f64().expect("seconds") - 1.999).abs() < 1e-6, "{}", nodes[0]);
}

#[test]
fn a_served_page_asks_its_own_server_only() {
    let tables = hostile::many(4, 10);
    let model = Model::new(&tables);
    let analysis = analyze(&model);
    let served = serve(&Subject { analysis: &analysis, folder: "x", sources: &Sources::default() })
        .expect("it is packed in memory");
    let page = String::from_utf8(served.page).expect("the page is UTF-8");
    assert!(page.contains("; connect-src 'self'; base-uri 'none'; form-action 'none'"));
    assert_eq!(page.matches("fetch(").count(), 1);
    for never in ["http://", "https://", "XMLHttp", "innerHTML", "eval(", "document.write"] {
        assert!(!page.contains(never), "{never}");
    }
}

#[test]
fn served_detail_is_what_the_recording_holds() {
    let tables = hostile::many(16, 300);
    let model = Model::new(&tables);
    let analysis = analyze(&model);
    let served = serve(&Subject { analysis: &analysis, folder: "x", sources: &Sources::default() })
        .expect("it is packed in memory");
    let run = 1;
    // However the run is cut into stretches, their sums add up to the whole.
    let length = 300 * 1_200_000;
    let whole = TimeRange { run, from: 0, to: length };
    let classes = |stretch| {
        let sums = served.detail.sums(stretch).expect("there is such a stretch");
        let rows = sums["classes"].as_array().expect("rows").clone();
        rows.iter().map(|r| (r[0].as_u64().expect("a class"), r[1].as_f64().expect("ns"))).collect::<Vec<_>>()
    };
    let mut parts = std::collections::BTreeMap::new();
    for (from, to) in [(0, 12_345), (12_345, 12_346), (12_346, 99_000_001), (99_000_001, length)] {
        for (class, ns) in classes(TimeRange { run, from, to }) {
            *parts.entry(class).or_insert(0.0) += ns;
        }
    }
    assert_eq!(parts, classes(whole).into_iter().collect());
    // Few columns give buckets, many the spans themselves; the first byte says which.
    let first = |columns| served.detail.lanes(whole, columns).expect("there is such a stretch")[0];
    assert_eq!((first(10), first(10_000)), (0, 1));
    let short = TimeRange { run, from: 1_000_000, to: 1_010_000 };
    assert!(served.detail.lanes(short, 1000).expect("there is such a stretch").len() < 1000);
    assert_eq!(served.detail.lanes(TimeRange { run: 9, ..whole }, 10), None);
    assert_eq!(served.detail.sums(TimeRange { run, from: 5, to: 5 }), None);
}

/// Kinds of lanes are told apart by who wakes, too; the table of a stretch does not say who, and has one row.
#[test]
fn a_lock_is_one_row_of_a_stretch_whoever_wakes() {
    let tables = hostile::many(16, 300);
    let model = Model::new(&tables);
    let analysis = analyze(&model);
    let served = serve(&Subject { analysis: &analysis, folder: "x", sources: &Sources::default() })
        .expect("it is packed in memory");
    let page = String::from_utf8(served.page).expect("the page is UTF-8");
    let index = page.split("id=\"index\">").nth(1).and_then(|rest| rest.split("</script>").next());
    let index: serde_json::Value = serde_json::from_str(index.expect("there is an index")).expect("it is JSON");
    let kinds = index["runs"][1]["kinds"].as_array().expect("kinds");
    let sums = served.detail.sums(TimeRange { run: 1, from: 0, to: 300_000_000 }).expect("there is such a stretch");
    let rows = sums["waits"].as_array().expect("rows");
    let words: Vec<&str> =
        rows.iter().filter_map(|row| kinds[row[0].as_u64().expect("a kind") as usize][1].as_str()).collect();
    let lock = words.iter().find(|words| words.starts_with("lock")).expect("a lock is waited for");
    assert!(kinds.iter().filter(|kind| kind[1] == *lock).count() > 1, "kinds of one name: else this tests nothing");
    assert_eq!(words.iter().collect::<std::collections::BTreeSet<_>>().len(), words.len(), "{words:#?}");
}

#[test]
fn source_lines_are_text_around_the_culprit() {
    let tables = hostile::many(16, 300);
    let model = Model::new(&tables);
    let analysis = analyze(&model);
    let place = analysis.answer.verdict.causes.iter().filter_map(|c| c.culprit.as_ref()).flat_map(|c| {
        let own = c.file.clone().zip(c.line);
        own.into_iter().chain(c.callers.iter().filter_map(|s| s.file.clone().zip(s.line)))
    });
    let (file, line) = place.into_iter().next().expect("a culprit with a line");
    let mut asked = Vec::new();
    let text: String = (1..100).map(|n| format!("  <b onclick='x'>line {n}</b>\u{1b}[2J\n")).collect();
    let sources = Sources::find(&analysis.answer, &tables, |path| {
        asked.push(path.to_owned());
        (path == file).then(|| text.clone())
    });
    assert!(asked.contains(&file), "{asked:?}");
    assert_eq!(asked.len(), asked.iter().collect::<std::collections::BTreeSet<_>>().len(), "each file is read once");
    let mut out = Vec::new();
    let subject = Subject { analysis: &analysis, folder: "x", sources: &sources };
    render(&subject, &mut out).expect("a Vec takes everything");
    let page = String::from_utf8(out).expect("the page is UTF-8");
    let hit = format!("<span class=\"number\">{line}</span> &lt;b onclick=&#39;x&#39;&gt;line {line}&lt;/b&gt;");
    assert!(page.contains(&hit) && page.contains("<span class=\"hit\">"), "{hit}");
    assert!(page.contains(&format!("<span class=\"number\">{}</span>", line + 3)));
    assert!(!page.contains('\u{1b}') && !page.contains("<b onclick"));
}

/// In the margin of the lines stands what they took: here each of two threads waits for half a second for a lock that a
/// line takes, and is never sampled there.
#[test]
fn source_lines_have_their_seconds() {
    let tables = hostile::alone();
    let model = Model::new(&tables);
    let analysis = analyze(&model);
    let text: String = (1..100).map(|n| format!("line {n}\n")).collect();
    let sources = Sources::find(&analysis.answer, &tables, |path| (path == "app.c").then(|| text.clone()));
    let mut out = Vec::new();
    render(&Subject { analysis: &analysis, folder: "x", sources: &sources }, &mut out).expect("a Vec takes everything");
    let page = String::from_utf8(out).expect("the page is UTF-8");
    let beside = |line: u32, spent: &str| {
        let words = format!("<span class=\"spent\">{spent}</span> <span class=\"number\">{line}</span> line {line}\n");
        assert!(page.contains(&words), "{words}");
    };
    beside(40, "1.0 s");
    beside(39, "");
    let titles = "<span class=\"spent\">waits</span> <span class=\"number\">line</span> of the line and its calls, \
                  per run with 2 threads";
    assert!(page.contains(titles), "{titles}");
}
