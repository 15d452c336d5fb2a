//! What stays open, what to know before believing the numbers, and where the files are.

use super::page::Page;
use super::style::Tone;
use crate::words;
use analyze::answer::{Answer, CauseId, Limitation};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Reasons for being unsure that are shown.
const MOST_OPEN: usize = 2;
/// Locks and pools near their limit that are shown.
const MOST_QUEUES: usize = 2;
/// Warnings shown; and when the whole would not fit the screen.
const MOST_WARNINGS: [usize; 2] = [4, 2];
/// Most limitations; and when the whole would not fit the screen.
const MOST_LIMITATIONS: [usize; 2] = [3, 1];

/// Where the files of a sweep are.
#[derive(Debug, Clone, Copy)]
pub struct SweepFiles<'a> {
    /// The recording's folder.
    pub recording: &'a Path,
    /// The files in it that the reader is told about: `verdict.json`, `output/`.
    pub beside: &'a [&'a str],
}

pub(super) fn render(answer: &Answer, files: &SweepFiles<'_>, page: &mut Page<'_>) -> io::Result<()> {
    page.blank()?;
    // A lock near its limit at several counts is told once.
    let near = || answer.queues.iter().filter(|queue| queue.summary.is_some());
    let most = near().map(|queue| queue.threads).max();
    let near: Vec<&str> =
        near().filter(|queue| Some(queue.threads) == most).filter_map(|queue| queue.summary.as_deref()).collect();
    some(&near, MOST_QUEUES, page, |summary, page| {
        page.paragraph("Near its limit ", Tone::Plain, &format!("{}.", crate::text::capital(summary)))
    })?;
    open(answer, page)?;
    if !answer.verdict.clear.is_empty() {
        let clear = match page.brief {
            true => {
                format!("{} (listed in {})", words::plural(answer.verdict.clear.len() as u64, "other cause"), page.rest)
            }
            false => names(answer.verdict.clear.iter().copied()),
        };
        page.paragraph("Not the cause  ", Tone::Plain, &clear)?;
    }
    some(&answer.warnings, MOST_WARNINGS[usize::from(page.brief)], page, |warning, page| {
        page.paragraph("Warning        ", Tone::Warning, warning)
    })?;
    let limitations: Vec<&Limitation> = answer.limitations.iter().collect();
    some(&limitations, MOST_LIMITATIONS[usize::from(page.brief)], page, |limitation, page| {
        let what = match page.brief {
            true => format!("{} (why: see {})", limitation.what.words(), page.rest),
            false => format!("{}: {}", limitation.what.words(), limitation.why),
        };
        page.paragraph("Not measured   ", Tone::Plain, &what)?;
        limitation.unlock.as_ref().map_or(Ok(()), |command| page.whole("    unlock it  ", command))
    })?;
    let folder = files.recording.to_string_lossy();
    page.whole("Recording      ", &format!("{} with {}", folder.trim_end_matches('/'), files.beside.join(", ")))
}

/// Open causes grouped by what is missing, because one missing thing often leaves several open. They come most first.
fn open(answer: &Answer, page: &mut Page<'_>) -> io::Result<()> {
    let mut reasons: Vec<(&str, Vec<CauseId>)> = Vec::new();
    for unsure in &answer.verdict.unsure {
        match reasons.iter_mut().find(|(missing, _)| *missing == unsure.missing) {
            Some((_, ids)) => ids.push(unsure.id),
            None => reasons.push((&unsure.missing, vec![unsure.id])),
        }
    }
    // Without a cause, the reader should next provide what is missing to name the largest loss.
    let found = answer.verdict.found().next().is_some();
    let write = |(missing, ids): &(&str, Vec<CauseId>), page: &mut Page<'_>| {
        page.paragraph("Unsure         ", Tone::Plain, &format!("{}: {missing}", names(ids.iter().copied())))
    };
    if page.brief && reasons.len() > 1 {
        let told = usize::from(!found);
        reasons.iter().take(told).try_for_each(|reason| write(reason, page))?;
        let all = names(reasons.iter().skip(told).flat_map(|reason| reason.1.iter().copied()));
        return page.paragraph("Unsure         ", Tone::Plain, &format!("{all} (what is missing: see {})", page.rest));
    }
    some(&reasons, MOST_OPEN, page, write)
}

fn names(ids: impl Iterator<Item = CauseId>) -> String {
    ids.map(CauseId::name).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
}

/// Writes the first `most` items and says how many more there are.
fn some<T>(
    items: &[T],
    most: usize,
    page: &mut Page<'_>,
    mut write: impl FnMut(&T, &mut Page<'_>) -> io::Result<()>,
) -> io::Result<()> {
    for item in items.iter().take(most) {
        write(item, page)?;
    }
    if items.len() > most {
        page.paragraph("               ", Tone::Faint, &format!("and {} more in {}", items.len() - most, page.rest))?;
    }
    Ok(())
}
