//! The answer in words: verdict, causes, what could not be seen.

use super::line_times::LineTimes;
use super::markup::Markup;
use super::sources::Sources;
use crate::experiment;
use crate::text::sentence;
use crate::words;
use analyze::Analysis;
use analyze::answer::{Answer, Beyond, Cause, CauseId, Condition, Culprit, Site};
use analyze::causes::describe;
use analyze::runtimes::function_name;
use std::collections::BTreeSet;

/// Call sites of a culprit.
const MOST_SITES: usize = 8;
/// Warnings that are seen before the reader asks for more.
const MOST_WARNINGS: usize = 5;

pub(super) fn section(analysis: &Analysis<'_, '_>, sources: &Sources) -> String {
    let answer = &analysis.answer;
    let sources = &Context { analysis, sources };
    let mut m = Markup::default();
    m.p("verdict", if answer.verdict.summary.is_empty() { "No verdict." } else { &answer.verdict.summary });
    for condition in &answer.verdict.machine {
        banner(condition, answer, &mut m);
    }
    facts(answer, &mut m);
    let causes: Vec<&Cause> = answer.verdict.found().collect();
    // When nothing was measured, nothing can be found or disproved.
    let measured = !answer.curve.is_empty() || !answer.account.is_empty() || answer.verdict.unsure.is_empty();
    if causes.is_empty() && measured {
        for none in answer.verdict.causes.iter().filter(|c| !c.evidence.is_empty()) {
            m.raw("<article class=\"cause\" id=\"cause-none\"><h3>No cause found</h3>\n");
            details(none, false, &mut m);
            m.raw("</article>\n");
        }
    }
    let mut seen = BTreeSet::new();
    for (i, one) in causes.iter().enumerate() {
        // The account links to a cause by its id: when two causes have the same id, the link can only go to the first.
        let id = if seen.insert(one.id) { format!(" id=\"cause-{}\"", one.id.name()) } else { String::new() };
        m.raw(&format!("<article class=\"cause\"{id}>"));
        cause(i, one, answer, sources, &mut m);
        m.raw("</article>\n");
    }
    if let Some(worse) = &answer.verdict.beyond {
        beyond(worse, answer, sources, &mut m);
    }
    rest(answer, &mut m);
    m.into_html()
}

/// Source lines, and what their times are made of.
struct Context<'a, 't> {
    analysis: &'a Analysis<'a, 't>,
    sources: &'a Sources,
}

impl<'t> Context<'_, 't> {
    /// The times of the lines with so many threads.
    fn times(&self, threads: u32) -> LineTimes<'t> {
        LineTimes::new(self.analysis, threads, &self.sources.files(), &per_work(&self.analysis.answer))
    }
}

/// Why a larger count collapses. When the reason is the first cause, the page has explained it already.
fn beyond(beyond: &Beyond, answer: &Answer, sources: &Context<'_, '_>, m: &mut Markup) {
    let first = answer.verdict.causes.first().map_or(1, |cause| cause.threads);
    m.raw("<article class=\"cause\" id=\"beyond\"><h3>");
    m.text(&format!("Beyond {}", answer.counted.many(first))).raw("</h3>\n<p>");
    m.sentence(&format!("{}.", crate::text::capital(&beyond.summary))).raw("</p>\n");
    if let Some(cause) = beyond.causes.first().filter(|_| !beyond.same) {
        if let Some(culprit) = &cause.culprit {
            blame(culprit, cause.threads, sources, m);
        }
        details(cause, counts_work(answer), m);
    }
    m.raw("</article>\n");
}

/// What the machine took away, shown before anything is said about the program.
fn banner(condition: &Condition, answer: &Answer, m: &mut Markup) {
    m.raw(&format!("<div class=\"warning machine\" id=\"cause-{}\">", condition.id.name()));
    m.raw("<span class=\"label\">The machine</span> ");
    // The summary is a clause, because elsewhere it is part of a longer sentence.
    m.sentence(&format!("{}.", crate::text::capital(&condition.summary)));
    if let Some(seconds) = condition.seconds {
        let with = answer.counted.many(condition.threads);
        m.text(&format!(" That is {} {} with {with}.", words::about(seconds), per_work(answer)));
    }
    m.raw("<ul>");
    for remedy in &condition.remedies {
        m.raw("<li>").text(remedy).raw("</li>");
    }
    m.raw("</ul></div>\n");
}

/// The numbers that readers look for first.
fn facts(answer: &Answer, m: &mut Markup) {
    let mut facts: Vec<(String, String)> = Vec::new();
    // For the count that the first sentence is about.
    let said = answer.verdict.causes.first().map(|cause| cause.threads);
    let said = answer.curve.iter().skip(1).find(|point| Some(point.threads) == said);
    if let Some(point) = said.or(answer.curve.last()).filter(|_| answer.curve.len() > 1) {
        let interval = (point.runs > 1).then_some((point.speedup_interval.low, point.speedup_interval.high));
        let with = answer.counted.many(point.threads);
        let first = answer.curve.first().map_or(1, |p| p.threads);
        let against = if first > 1 { format!(" against {first}") } else { String::new() };
        facts.push((words::times(point.speedup, interval), format!("speed-up with {with}{against}")));
        facts.push((words::percent(point.efficiency), format!("efficiency with {with}")));
    }
    match answer.knee_at {
        Some(threads) if answer.curve.len() > 1 => {
            let what = "the knee: last count worth using".to_owned();
            facts.push((answer.counted.many(threads), what));
        }
        None if answer.curve.len() > 1 => {
            facts.push(("none".to_owned(), "the knee: the curve has not bent".to_owned()));
        }
        _ => {}
    }
    if let Some(first) = answer.verdict.causes.first().filter(|cause| cause.is_found()) {
        let with = answer.counted.many(first.threads);
        facts.push((words::percent(first.share), format!("of the loss with {with} is due to the first cause")));
    }
    if facts.is_empty() {
        return;
    }
    m.raw("<dl class=\"facts\">");
    for (value, what) in facts {
        m.raw("<div><dd>").text(&value).raw("</dd><dt>").text(&what).raw("</dt></div>");
    }
    m.raw("</dl>\n");
}

fn cause(index: usize, cause: &Cause, answer: &Answer, sources: &Context<'_, '_>, m: &mut Markup) {
    let id = cause.id.name();
    m.raw(&format!("<h3><span class=\"swatch c-{id}\" aria-hidden=\"true\"></span>"));
    let small = if answer.verdict.only_small_losses() { "Small loss " } else { "" };
    m.text(&format!("{small}{}. {}", index + 1, title(cause.id))).raw("</h3>\n");
    m.p(
        "lost",
        &format!(
            "{} of the loss with {}: {} ({} to {}) of processor time {}",
            words::percent(cause.share),
            answer.counted.many(cause.threads),
            words::about(cause.lost_seconds),
            words::about(cause.interval.low),
            words::about(cause.interval.high),
            per_work(answer),
        ),
    );
    m.p("", &cause.summary);
    if let Some(culprit) = &cause.culprit {
        blame(culprit, cause.threads, sources, m);
    }
    if let Some(removed) = answer.what_if.without(&answer.verdict, cause) {
        m.p("gain", &removed.summary);
    }
    if let Some(told) = experiment::told(answer, cause) {
        m.p("gain", &sentence(&told));
    }
    details(cause, counts_work(answer), m);
}

fn blame(culprit: &Culprit, threads: u32, shown: &Context<'_, '_>, m: &mut Markup) {
    let (sources, times) = (shown.sources, &shown.times(threads));
    m.raw("<div class=\"culprit\"><span class=\"label\">Culprit</span> <strong>");
    match (&culprit.function, &culprit.object) {
        (Some(function), _) => m.text(&super::markup::readable(&function_name::readable(function))),
        (None, Some(object)) => m.text(&format!("the object at {object}")),
        (None, None) => m.text("code without a name"),
    };
    m.raw("</strong>");
    if let Some(module) = words::module(culprit) {
        m.raw(" in <code>").text(module).raw("</code>");
    }
    if let Some(file) = &culprit.file {
        m.raw(" at <code>").text(&place(file, culprit.line)).raw("</code>");
    }
    if let (Some(_), Some(object)) = (&culprit.function, &culprit.object) {
        m.raw(", object <code>").text(object).raw("</code>");
    }
    sources.show(culprit.file.as_ref(), culprit.line, times, m);
    // No function counts as called from itself: when the culprit's own lines are among the sites, they are other places
    // of the same kind ("also at").
    let own = |site: &Site| culprit.function.is_some() && site.function == culprit.function;
    let said = |site: &Site| own(site) && (&site.file, site.line) == (&culprit.file, culprit.line);
    let sites = || culprit.callers.iter().take(MOST_SITES).enumerate().filter(|(_, site)| !said(site));
    if sites().next().is_some() {
        let beside = culprit.callers.iter().any(own);
        m.raw("<div class=\"callers\">").raw(if beside { "also at" } else { "called from" }).raw("<ul>");
        for (i, site) in sites() {
            m.raw("<li><code>").text(&super::markup::readable(&caller(site))).raw("</code>");
            sources.show_site(i, site, times, m);
            m.raw("</li>");
        }
        m.raw("</ul></div>");
    }
    m.raw("</div>\n");
}

fn caller(site: &Site) -> String {
    let function = site
        .function
        .as_deref()
        .map(function_name::readable)
        .unwrap_or_else(|| format!("{}+{}", site.module, site.address));
    match &site.file {
        Some(file) => format!("{function} ({})", place(file, site.line)),
        None => format!("{function} ({})", site.module),
    }
}

fn place(file: &str, line: Option<u32>) -> String {
    line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"))
}

/// A table of the recording in words; `knee` itself uses the table's name.
fn source(table: &'static str) -> &'static str {
    match table {
        "accesses" => "sampled accesses",
        "call_sites" => "system calls by place",
        "confirmations" => "watched addresses",
        "foreign" => "other programs",
        "kernel_locks" => "waits for kernel locks",
        "meta" => "the machine",
        "runs" => "timed runs",
        "slices" => "timelines of threads",
        "spins" => "sampled loops",
        "syscalls" => "system calls",
        "traces" => "the observed run",
        "wakes" => "wake-ups",
        other => other,
    }
}

fn details(cause: &Cause, whole: bool, m: &mut Markup) {
    m.raw("<div class=\"sides\"><div>");
    if !cause.remedies.is_empty() {
        m.raw("<h4>What to try</h4><ul>");
        for remedy in &cause.remedies {
            m.raw("<li>").text(remedy).raw("</li>");
        }
        m.raw("</ul>\n");
    }
    if !cause.disproved_by.is_empty() {
        let title = if cause.is_found() { "To check" } else { "What would tell more" };
        m.raw("<h4>").text(title).raw("</h4><p>").text(&cause.disproved_by).raw("</p>\n");
    }
    m.raw("</div>");
    if !cause.evidence.is_empty() {
        m.raw("<details open><summary>Evidence</summary>");
        if whole {
            m.p("note", "Most times are sums over the observed run, not per unit of work.");
        }
        m.raw("<div class=\"scroll\"><table class=\"plain evidence\"><thead><tr><th scope=\"col\">what</th>");
        m.raw("<th scope=\"col\" class=\"n\">measured</th><th scope=\"col\">source</th></tr></thead><tbody>");
        for row in &cause.evidence {
            m.raw("<tr><td>").text(&row.what).raw("</td><td class=\"n\">").text(&words::measured(row));
            m.raw("</td><td class=\"source\" title=\"")
                .text(row.source)
                .raw("\">")
                .text(source(row.source))
                .raw("</td></tr>");
        }
        m.raw("</tbody></table></div></details>\n");
    }
    m.raw("</div>\n");
}

/// What stays open and what to know before believing the numbers.
fn rest(answer: &Answer, m: &mut Markup) {
    warnings(&answer.warnings, m);
    if !answer.verdict.unsure.is_empty() {
        m.raw("<details><summary>");
        let count = words::plural(answer.verdict.unsure.len() as u64, "cause");
        m.text(&format!("Unsure about {count}")).raw("</summary><dl class=\"open\">");
        for unsure in &answer.verdict.unsure {
            m.raw("<dt>").text(title(unsure.id)).raw("</dt><dd>").text(&unsure.missing).raw("</dd>");
        }
        m.raw("</dl></details>\n");
    }
    if !answer.verdict.clear.is_empty() {
        let clear: Vec<&str> = answer.verdict.clear.iter().map(|id| title(*id)).collect();
        m.raw("<details><summary>Looked for and not there</summary><p>");
        m.text(&clear.join(", ")).raw("</p></details>\n");
    }
    if !answer.limitations.is_empty() {
        m.raw("<details><summary>What could not be seen</summary><dl class=\"open\">");
        for limitation in &answer.limitations {
            m.raw("<dt>").text(limitation.what.words()).raw("</dt><dd>").text(&limitation.why);
            if let Some(unlock) = &limitation.unlock {
                m.raw(" <code>").text(unlock).raw("</code>");
            }
            m.raw("</dd>");
        }
        m.raw("</dl></details>\n");
    }
}

/// One box for all warnings: separate boxes would each be as loud as the verdict.
fn warnings(warnings: &[String], m: &mut Markup) {
    let item = |warning: &String, m: &mut Markup| {
        m.raw("<li>").sentence(warning).raw("</li>\n");
    };
    match warnings {
        [] => {}
        [one] => {
            m.raw("<p class=\"warning\"><span class=\"label\">Warning</span> ").sentence(one).raw("</p>\n");
        }
        several => {
            // Hiding a single warning is not worth a click.
            let seen = if several.len() > MOST_WARNINGS + 1 { MOST_WARNINGS } else { several.len() };
            m.raw("<div class=\"warning\"><span class=\"label\">Warnings</span><ul>\n");
            several.iter().take(seen).for_each(|w| item(w, m));
            m.raw("</ul>");
            if several.len() > seen {
                m.raw("<details><summary>").text(&format!("{} more", several.len() - seen)).raw("</summary><ul>\n");
                several.iter().skip(seen).for_each(|w| item(w, m));
                m.raw("</ul></details>");
            }
            m.raw("</div>\n");
        }
    }
}

/// True where the program counts its work itself.
fn counts_work(answer: &Answer) -> bool {
    answer.throughput.as_ref().is_some_and(recording::meta::Throughput::counts_work)
}

/// What times of processors are divided by.
pub(super) fn per_work(answer: &Answer) -> String {
    format!("per {}", work(answer))
}

/// `unit of work` where the program counts one, which is said elsewhere; else `request` or `run`.
pub(super) fn work(answer: &Answer) -> String {
    if counts_work(answer) { "unit of work".to_owned() } else { words::unit_of_work(answer) }
}

/// As a title.
pub(super) fn title(id: CauseId) -> &'static str {
    describe(id).map_or(id.name(), |meta| meta.title)
}
