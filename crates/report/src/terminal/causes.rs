//! The causes: culprit, evidence, what to try, what would disprove it.

use super::page::Page;
use super::style::Tone;
use crate::text;
use crate::words;
use analyze::answer::{Answer, Cause, CauseId, Culprit, Evidence, Site};
use analyze::runtimes::function_name::readable;
use recording::meta::Counted;
use std::io;

/// Causes shown; the rest is in the JSON.
const MOST_CAUSES: usize = 3;
/// Of them, when the whole would not fit the screen.
const MOST_CAUSES_BRIEF: usize = 2;
/// Numbers shown for a cause.
const MOST_EVIDENCE: usize = 4;
/// Of them, when the whole would not fit the screen.
const MOST_EVIDENCE_BRIEF: usize = 2;
/// Callers shown for a culprit.
const MOST_CALLERS: usize = 2;
/// A function's name longer than this loses its middle.
const LONGEST_NAME: usize = 40;
/// A file's name longer than this is made to be long.
const LONGEST_FILE: usize = 100;

pub(super) fn render(answer: &Answer, page: &mut Page<'_>) -> io::Result<()> {
    let verdict = &answer.verdict;
    for condition in &verdict.machine {
        let with = answer.counted.many(condition.threads);
        let taken = condition.seconds.map(|seconds| format!(", {}", words::about(seconds))).unwrap_or_default();
        page.paragraph("The machine: ", Tone::Warning, &format!("{}{taken}, with {with}", condition.summary))?;
        page.blank()?;
    }
    let causes: Vec<&Cause> = verdict.causes.iter().filter(|c| c.id != CauseId::NONE).collect();
    let title = if causes.len() == 1 { "Cause" } else { "Causes" };
    let most = if page.brief { MOST_CAUSES_BRIEF } else { MOST_CAUSES };
    for (i, cause) in causes.iter().take(most).enumerate() {
        if i == 0 {
            page.title(title, "")?;
        }
        numbered(cause, answer.counted, i, page)?;
    }
    if causes.len() > most {
        let rest = causes.len() - most;
        page.paragraph(
            "   ",
            Tone::Faint,
            &format!("and {} in the JSON", words::plural(rest as u64, "smaller cause")),
        )?;
    }
    if let Some(beyond) = &verdict.beyond {
        let first = verdict.causes.first().map_or(1, |c| c.threads);
        let beyond_first = format!("Beyond {}: ", answer.counted.many(first));
        page.paragraph(&beyond_first, Tone::Strong, &format!("{}.", beyond.summary))?;
        if let Some(cause) = beyond.causes.first().filter(|_| !beyond.same) {
            if let Some(culprit) = &cause.culprit {
                page.paragraph("   ", Tone::Plain, &blame(culprit, page))?;
            }
            try_first(cause, page)?;
        }
    }
    // What says that nothing was found has evidence too.
    for cause in verdict.causes.iter().filter(|c| c.id == CauseId::NONE && causes.is_empty()) {
        // Where nothing was observed, nothing was looked for.
        if !cause.evidence.is_empty() && !answer.account.is_empty() {
            page.title("No cause found", "")?;
            details(cause, page)?;
        }
    }
    Ok(())
}

fn numbered(cause: &Cause, counted: Counted, index: usize, page: &mut Page<'_>) -> io::Result<()> {
    let lost = format!(
        "{}: {} of the loss with {}, {} ({})",
        cause.id.name(),
        words::percent(cause.share),
        counted.many(cause.threads),
        words::about(cause.lost_seconds),
        words::range(cause.interval.low, cause.interval.high),
    );
    page.paragraph(&format!("{}  ", index + 1), Tone::Strong, &lost)?;
    if let Some(culprit) = &cause.culprit {
        page.paragraph("   ", Tone::Plain, &blame(culprit, page))?;
    }
    // The headline has said the first one's sentence already.
    if index == 0 {
        return details(cause, page);
    }
    page.paragraph("   ", Tone::Plain, &cause.summary)?;
    try_first(cause, page)
}

fn details(cause: &Cause, page: &mut Page<'_>) -> io::Result<()> {
    let most = if page.brief { MOST_EVIDENCE_BRIEF } else { MOST_EVIDENCE };
    let rows: Vec<String> = cause.evidence.iter().take(most).map(number).collect();
    page.paragraph("   Evidence   ", Tone::Plain, &rows.join("; "))?;
    try_first(cause, page)?;
    page.paragraph("   To check   ", Tone::Plain, &cause.disproved_by)
}

fn try_first(cause: &Cause, page: &mut Page<'_>) -> io::Result<()> {
    page.paragraph("   Try        ", Tone::Plain, &cause.remedies.join("; "))
}

/// `random in libc.so.6, called from simulate at birthday.c:17`.
pub(super) fn blame(culprit: &Culprit, page: &Page<'_>) -> String {
    let short = |name: &str| text::shorten(&page.shown(name), LONGEST_NAME);
    let whole = |file: &str| text::shorten(&page.shown(file), LONGEST_FILE);
    let mut words = match (&culprit.function, &culprit.object) {
        (Some(function), _) => short(&readable(function)),
        (None, Some(object)) => format!("the object at {}", short(object)),
        (None, None) => "code without a name".to_owned(),
    };
    if let Some(module) = words::module(culprit) {
        words += &format!(" in {}", short(module));
    }
    if let Some(file) = &culprit.file {
        words += &format!(" at {}", place(&whole(file), culprit.line));
    }
    let (label, places) = words::places(culprit);
    for (i, site) in places.iter().take(MOST_CALLERS).enumerate() {
        words += &if i == 0 { format!(", {label} ") } else { " and ".to_owned() };
        let same = site.function.is_some() && site.function == culprit.function;
        words += &match (&site.file, same) {
            (Some(file), true) => place(&whole(file), site.line),
            _ => caller(site, short, whole),
        };
    }
    if places.len() > MOST_CALLERS {
        words += &format!(" and {} more", places.len() - MOST_CALLERS);
    }
    words
}

fn caller(site: &Site, short: impl Fn(&str) -> String, whole: impl Fn(&str) -> String) -> String {
    let function = site.function.as_deref().map(|name| short(&readable(name)));
    match (&site.file, function) {
        (Some(file), Some(function)) => format!("{function} at {}", place(&whole(file), site.line)),
        (Some(file), None) => place(&whole(file), site.line),
        (None, Some(function)) if site.address.is_empty() => format!("{function} ({})", short(&site.module)),
        (None, Some(function)) => format!("{function} ({}+{})", short(&site.module), short(&site.address)),
        (None, None) => format!("{}+{}", short(&site.module), short(&site.address)),
    }
}

fn place(file: &str, line: Option<u32>) -> String {
    line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"))
}

fn number(evidence: &Evidence) -> String {
    format!("{} {}", evidence.what, words::measured(evidence))
}
