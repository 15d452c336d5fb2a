//! From two recordings with interleaved runs to their comparison.

use super::answer;
use crate::cli::AnswerFormat;
use crate::failure::{Failure, Status};
use crate::index::{self, Index, Question};
use crate::ui;
use analyze::answer::Knee;
use anyhow::Context;
use recording::Tables;
use report::pair::{FORMAT, Pair, Side};
use std::path::Path;

/// Beside the recordings: the comparison for scripts.
const COMPARISON: &str = "comparison.json";

/// Reads and compares both recordings.
///
/// # Errors
/// When the index or a recording cannot be read.
pub(in crate::commands) fn compare_pair(folder: &Path) -> anyhow::Result<Pair> {
    let index = index::read(folder)?;
    let (a, b) = both(&index, folder)?;
    Ok(made(index, &a, &b))
}

/// As [`compare_pair`], but also writes the comparison and the answer of each recording beside them.
///
/// # Errors
/// As [`compare_pair`], and when something cannot be written.
pub(in crate::commands) fn keep(folder: &Path) -> anyhow::Result<Pair> {
    let index = index::read(folder)?;
    for case in &index.cases {
        answer::keep(&folder.join(&case.recording)).with_context(|| format!("the recording {}", case.recording))?;
    }
    let pair = compare_pair(folder)?;
    let mut json = Vec::new();
    report::json::render(&pair, &mut json)?;
    answer::write(folder, COMPARISON, &json)?;
    Ok(pair)
}

/// Prints the comparison.
///
/// # Errors
/// When standard output cannot be written.
pub(in crate::commands) fn print(pair: &Pair, folder: &Path, format: AnswerFormat) -> anyhow::Result<()> {
    answer::no_sarif(format)?;
    ui::out(|mut out| match format {
        AnswerFormat::Text => report::terminal::render_pair(pair, folder, ui::style(), &mut out),
        AnswerFormat::Markdown => report::markdown::render_pair(pair, &mut out),
        AnswerFormat::Json | AnswerFormat::Sarif => report::json::render(pair, &mut out),
    })
}

fn both(index: &Index, folder: &Path) -> anyhow::Result<(Tables, Tables)> {
    let [a, b] = index.cases.as_slice() else {
        let what = format!("{} compares two recordings and names {}", folder.display(), index.cases.len());
        return Err(Failure::new(Status::Recording, what).into());
    };
    Ok((answer::tables(&folder.join(&a.recording))?, answer::tables(&folder.join(&b.recording))?))
}

fn made(index: Index, a: &Tables, b: &Tables) -> Pair {
    let comparison = match index.question {
        Question::Noise => analyze::compare::noise(a, b),
        Question::Cases | Question::Compare | Question::Try => analyze::compare::interleaved(a, b),
    };
    let side = |case: Option<&index::Entry>, tables: &Tables| Side {
        name: case.map_or_else(String::new, |case| case.variant.clone()),
        command: tables.meta.command.clone(),
        recording: case.map_or_else(String::new, |case| case.recording.clone()),
    };
    Pair {
        knee: Knee { version: env!("CARGO_PKG_VERSION").to_owned(), format: FORMAT.to_owned() },
        machine: a.meta.machine.clone(),
        complete: index.complete,
        thread_counts_given: index.counts != Some(false),
        cases: [side(index.cases.first(), a), side(index.cases.get(1), b)],
        comparison,
    }
}
