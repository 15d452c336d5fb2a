//! The causes: culprit, evidence, what to try, what would disprove it.

use super::page::Page;
use super::style::Tone;
use crate::culprit::blame;
use crate::experiment;
use crate::text::sentence;
use crate::words;
use analyze::answer::{Answer, Cause, Evidence};
use std::io;

/// Causes shown; the rest is in the HTML report and the JSON.
const MOST_CAUSES: usize = 3;
/// The same, when the whole would not fit the screen.
const MOST_CAUSES_BRIEF: usize = 2;
/// Numbers shown for a cause.
const MOST_EVIDENCE: usize = 4;
/// The same, when the whole would not fit the screen.
const MOST_EVIDENCE_BRIEF: usize = 2;

pub(super) fn render(answer: &Answer, page: &mut Page<'_>) -> io::Result<()> {
    let verdict = &answer.verdict;
    if !verdict.machine.is_empty() {
        page.blank()?;
    }
    for condition in &verdict.machine {
        let with = answer.counted.many(condition.threads);
        let taken = condition.seconds.map(|seconds| format!(", {}", words::about(seconds))).unwrap_or_default();
        page.paragraph("The machine: ", Tone::Warning, &format!("{}{taken}, with {with}", condition.summary))?;
    }
    let causes: Vec<&Cause> = verdict.found().collect();
    let title = match causes.len() {
        _ if verdict.only_small_losses() => "Small losses",
        1 => "Cause",
        _ => "Causes",
    };
    let most = if page.brief { MOST_CAUSES_BRIEF } else { MOST_CAUSES };
    for (i, cause) in causes.iter().take(most).enumerate() {
        if i == 0 {
            page.title(title, "")?;
        }
        numbered(cause, answer, i, page)?;
    }
    if causes.len() > most {
        let rest = causes.len() - most;
        page.paragraph(
            "   ",
            Tone::Faint,
            &format!("and {} in {}", words::plural(rest as u64, "smaller cause"), page.rest),
        )?;
    }
    if let Some(beyond) = &verdict.beyond {
        let first = verdict.causes.first().map_or(1, |c| c.threads);
        let beyond_first = format!("Beyond {}: ", answer.counted.many(first));
        page.paragraph(&beyond_first, Tone::Strong, &format!("{}.", beyond.summary))?;
        if let Some(cause) = beyond.causes.first().filter(|_| !beyond.same) {
            if let Some(culprit) = &cause.culprit {
                page.paragraph("   ", Tone::Plain, &blame(culprit, page.longest(), |name| page.shown(name)))?;
            }
            try_first(cause, page)?;
        }
    }
    // The verdict "none" has evidence too.
    for cause in verdict.causes.iter().filter(|cause| !cause.is_found() && causes.is_empty()) {
        // When no run was observed, nothing was looked for.
        if !cause.evidence.is_empty() && !answer.account.is_empty() {
            page.title("No cause found", "")?;
            details(cause, None, page)?;
        }
    }
    Ok(())
}

fn numbered(cause: &Cause, answer: &Answer, index: usize, page: &mut Page<'_>) -> io::Result<()> {
    let lost = format!(
        "{}: {} of the loss with {}, {} ({}) per {}",
        words::title(cause.id),
        words::percent(cause.share),
        answer.counted.many(cause.threads),
        words::about(cause.lost_seconds),
        words::range(cause.interval.low, cause.interval.high),
        words::unit_of_work(answer),
    );
    page.paragraph(&format!("{}  ", index + 1), Tone::Strong, &lost)?;
    if let Some(culprit) = &cause.culprit {
        page.paragraph("   ", Tone::Plain, &blame(culprit, page.longest(), |name| page.shown(name)))?;
    }
    // The headline is already the first cause's sentence.
    if index == 0 {
        return details(cause, Some(answer), page);
    }
    page.paragraph("   ", Tone::Plain, &cause.summary)?;
    gain(cause, answer, page)?;
    try_first(cause, page)
}

/// What the program would do without the cause, and what it did in trials.
fn gain(cause: &Cause, answer: &Answer, page: &mut Page<'_>) -> io::Result<()> {
    if let Some(removed) = answer.what_if.without(&answer.verdict, cause) {
        page.paragraph("   Gain       ", Tone::Plain, &removed.summary)?;
    }
    match experiment::told(answer, cause) {
        Some(told) => page.paragraph("   Tried      ", Tone::Strong, &sentence(&told)),
        None => Ok(()),
    }
}

fn details(cause: &Cause, answer: Option<&Answer>, page: &mut Page<'_>) -> io::Result<()> {
    let most = if page.brief { MOST_EVIDENCE_BRIEF } else { MOST_EVIDENCE };
    let rows: Vec<String> = cause.evidence.iter().take(most).map(number).collect();
    page.paragraph("   Evidence   ", Tone::Plain, &rows.join("; "))?;
    answer.map_or(Ok(()), |answer| gain(cause, answer, page))?;
    try_first(cause, page)?;
    page.paragraph("   To check   ", Tone::Plain, &cause.disproved_by)
}

fn try_first(cause: &Cause, page: &mut Page<'_>) -> io::Result<()> {
    page.paragraph("   Try        ", Tone::Plain, &cause.remedies.join("; "))
}

fn number(evidence: &Evidence) -> String {
    format!("{}: {}", evidence.what, words::measured(evidence))
}
