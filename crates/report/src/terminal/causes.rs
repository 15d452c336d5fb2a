//! The causes: culprit, evidence, what to try, what would disprove it. May import: `page`, `words`.

use super::page::{Page, Tone};
use crate::text;
use crate::words;
use analyze::answer::{Answer, Cause, CauseId, Culprit, Evidence, Site};
use std::io;

/// Causes shown; the rest is in the JSON.
const MOST_CAUSES: usize = 3;
/// Numbers shown for a cause.
const MOST_EVIDENCE: usize = 4;
/// Callers shown for a culprit.
const MOST_CALLERS: usize = 2;
/// A name longer than this loses its middle.
const LONGEST_NAME: usize = 40;

pub(super) fn render(answer: &Answer, page: &mut Page<'_>) -> io::Result<()> {
    let verdict = &answer.verdict;
    let causes: Vec<&Cause> = verdict.causes.iter().filter(|c| c.id != CauseId::None).collect();
    let title = if causes.len() == 1 { "Cause" } else { "Causes" };
    for (i, cause) in causes.iter().take(MOST_CAUSES).enumerate() {
        if i == 0 {
            page.title(title, "")?;
        }
        of(cause, i, page)?;
    }
    if causes.len() > MOST_CAUSES {
        let rest = causes.len() - MOST_CAUSES;
        page.paragraph(
            "   ",
            Tone::Faint,
            &format!("and {} in the JSON", words::plural(rest as u64, "smaller cause")),
            1,
        )?;
    }
    // What says that nothing was found has evidence too.
    for cause in verdict.causes.iter().filter(|c| c.id == CauseId::None && causes.is_empty()) {
        // Where nothing was observed, nothing was looked for.
        if !cause.evidence.is_empty() && !answer.account.is_empty() {
            page.title("No cause found", "")?;
            details(cause, page)?;
        }
    }
    Ok(())
}

fn of(cause: &Cause, index: usize, page: &mut Page<'_>) -> io::Result<()> {
    let lost = format!(
        "{}: {} of the loss with {}, {} ({})",
        words::cause(cause.id),
        words::percent(cause.share),
        words::plural(cause.threads.into(), "thread"),
        words::about(cause.lost_seconds),
        words::range(cause.interval.low, cause.interval.high),
    );
    page.paragraph(&format!("{}  ", index + 1), Tone::Strong, &lost, 2)?;
    if let Some(culprit) = &cause.culprit {
        page.paragraph("   ", Tone::Plain, &blame(culprit, page), 3)?;
    }
    // The headline has said the first one's sentence already.
    if index == 0 {
        return details(cause, page);
    }
    page.paragraph("   ", Tone::Plain, &cause.summary, 2)?;
    try_first(cause, page)
}

fn details(cause: &Cause, page: &mut Page<'_>) -> io::Result<()> {
    let rows: Vec<String> = cause.evidence.iter().take(MOST_EVIDENCE).map(number).collect();
    page.paragraph("   Evidence   ", Tone::Plain, &rows.join("; "), if page.brief { 2 } else { 3 })?;
    try_first(cause, page)?;
    page.paragraph("   Disproved  ", Tone::Plain, &cause.disproved_by, if page.brief { 2 } else { 3 })
}

fn try_first(cause: &Cause, page: &mut Page<'_>) -> io::Result<()> {
    page.paragraph("   Try        ", Tone::Plain, &cause.remedies.join("; "), if page.brief { 2 } else { 3 })
}

/// `random in libc.so.6, called from simulate at birthday.c:17`.
pub(super) fn blame(culprit: &Culprit, page: &Page<'_>) -> String {
    let short = |name: &str| text::shorten(&page.shown(name), LONGEST_NAME);
    let mut words = match (&culprit.function, &culprit.object) {
        (Some(function), _) => short(function),
        (None, Some(object)) => format!("the object at {}", short(object)),
        (None, None) => "code without a name".to_owned(),
    };
    words += &format!(" in {}", short(&culprit.module));
    if let Some(file) = &culprit.file {
        words += &format!(" at {}", place(&short(file), culprit.line));
    }
    let (label, places) = words::places(culprit);
    for (i, site) in places.iter().take(MOST_CALLERS).enumerate() {
        words += &if i == 0 { format!(", {label} ") } else { " and ".to_owned() };
        words += &caller(site, short);
    }
    if places.len() > MOST_CALLERS {
        words += &format!(" and {} more", places.len() - MOST_CALLERS);
    }
    words
}

fn caller(site: &Site, short: impl Fn(&str) -> String) -> String {
    let function = site.function.as_deref().map(&short);
    match (&site.file, function) {
        (Some(file), Some(function)) => format!("{function} at {}", place(&short(file), site.line)),
        (Some(file), None) => place(&short(file), site.line),
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
