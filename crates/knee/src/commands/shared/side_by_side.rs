//! From the recordings of a sweep over several cases to their comparison, side by side.

use super::answer;
use crate::cli::AnswerFormat;
use crate::index::{self, Entry};
use crate::ui;
use analyze::answer::{Answer, Knee};
use analyze::compare::blocks::{Ratio, ratios};
use analyze::curve::Clean;
use anyhow::Context;
use recording::{Recording, Tables};
use report::comparison::{Case, Comparison, FORMAT};
use report::html::cases;
use std::fs;
use std::path::Path;

/// Beside the recordings: the comparison for scripts.
const COMPARISON: &str = "comparison.json";

/// Reads and analyses all recordings of a sweep.
///
/// # Errors
/// When the index or a recording cannot be read.
pub(in crate::commands) fn compare_cases(folder: &Path) -> anyhow::Result<Comparison> {
    made(folder, |folder| answer::answer_of(folder, None))
}

/// As [`compare_cases`], but also writes the comparison, its page and every answer beside the recordings.
///
/// # Errors
/// As [`compare_cases`], and when something cannot be written.
pub(in crate::commands) fn keep(folder: &Path) -> anyhow::Result<Comparison> {
    let comparison = made(folder, answer::keep)?;
    let mut json = Vec::new();
    report::json::render(&comparison, &mut json)?;
    answer::write(folder, COMPARISON, &json)?;
    write_page(&comparison, folder, &folder.join(answer::PAGE))?;
    Ok(comparison)
}

/// Writes the page. Its links lead to the pages of the cases.
///
/// # Errors
/// When the file cannot be written.
pub(in crate::commands) fn write_page(comparison: &Comparison, folder: &Path, file: &Path) -> anyhow::Result<()> {
    let beside = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let base =
        if whole(beside) == whole(folder) { String::new() } else { whole(folder).to_string_lossy().into_owned() };
    let name = folder.to_string_lossy();
    let mut out = Vec::new();
    let pages = cases::Pages::Files(&base);
    cases::render(&cases::Cases { comparison, folder: &name, pages, found: "" }, &mut out)?;
    fs::write(file, out).with_context(|| format!("failed to write {}", file.display()))
}

/// Prints the comparison.
///
/// # Errors
/// When standard output cannot be written.
pub(in crate::commands) fn print(comparison: &Comparison, folder: &Path, format: AnswerFormat) -> anyhow::Result<()> {
    answer::no_sarif(format)?;
    ui::out(|mut out| match format {
        AnswerFormat::Text => report::terminal::render_cases(comparison, folder, ui::style(), &mut out),
        AnswerFormat::Markdown => report::markdown::render_cases(comparison, &mut out),
        AnswerFormat::Json | AnswerFormat::Sarif => report::json::render(comparison, &mut out),
    })
}

fn made(folder: &Path, answer: impl Fn(&Path) -> anyhow::Result<Answer>) -> anyhow::Result<Comparison> {
    let index = index::read(folder)?;
    let mut cases: Vec<Case> = Vec::new();
    let mut units = Vec::new();
    let mut timed: Vec<Tables> = Vec::new();
    let mut machine = None;
    for Entry { variant, parameters, recording, expect } in index.cases {
        // Reads one recording at a time, to save memory: only its runs are needed later.
        let at = folder.join(&recording);
        let answer = answer(&at).with_context(|| format!("the recording {recording}"))?;
        let opened = Recording::open(&at)?;
        let mut runs = Tables::empty(opened.meta().clone());
        runs.runs = opened.rows()?;
        timed.push(runs);
        units.push(answer.throughput.as_ref().map(|throughput| throughput.unit.clone()));
        machine.get_or_insert_with(|| answer.machine.clone());
        cases.push(Case::new(variant, parameters, expect, recording, answer));
    }
    // A case in which every count failed has no unit, and must not spoil the unit of the others.
    let mut known = cases.iter().zip(&units).filter(|(case, _)| !case.curve.is_empty()).map(|(_, unit)| unit);
    let unit = known.next().cloned().flatten().filter(|first| known.all(|unit| unit.as_ref() == Some(first)));
    let clean: Vec<Clean<'_>> = timed.iter().map(Clean::new).collect();
    let against: Vec<Vec<Ratio>> = (0..cases.len())
        .map(|case| match base_of(&cases, case) {
            Some(base) if units[case] == units[base] => ratios(&clean[case], &clean[base]),
            _ => Vec::new(),
        })
        .collect();
    cases.iter_mut().zip(against).for_each(|(case, against)| case.against_first = against);
    Ok(Comparison {
        knee: Knee { version: env!("CARGO_PKG_VERSION").to_owned(), format: FORMAT.to_owned() },
        title: index.title,
        file: index.file,
        complete: index.complete,
        machine,
        unit,
        picture: index.picture,
        cases,
        skipped: index.skipped,
    })
}

/// The first variant's case with the same parameters; none for the first variant itself.
fn base_of(cases: &[Case], case: usize) -> Option<usize> {
    let (first, case) = (cases.first()?, cases.get(case)?);
    if case.variant == first.variant {
        return None;
    }
    cases.iter().position(|other| other.variant == first.variant && other.parameters == case.parameters)
}
