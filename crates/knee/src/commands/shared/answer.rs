//! From a recording on disk to the answer on the screen.

use super::kept::{self, Origin};
use super::sources;
use crate::cli::AnswerFormat;
use crate::failure::{Failure, Status, of_io};
use crate::file::functions;
use crate::{mistakes, ui};
use ::report::terminal::SweepFiles;
use analyze::answer::Answer;
use analyze::model::Model;
use analyze::{Analysis, analyze, answer_for};
use anyhow::Context;
use collect::error::shortage;
use recording::{Recording, Tables};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Beside the recording: the answer for scripts.
pub(in crate::commands) const VERDICT: &str = "verdict.json";
/// Beside the recording: what the target printed.
pub(in crate::commands) const OUTPUT: &str = "output";

/// Beside the recording: the page for people.
pub(in crate::commands) const PAGE: &str = "report.html";

/// Reads a recording.
///
/// # Errors
/// When it cannot be read.
pub(in crate::commands) fn tables(folder: &Path) -> anyhow::Result<Tables> {
    let mut tables = Recording::open(folder).and_then(|recording| recording.tables()).map_err(|error| {
        // Where the machine lacks something, the recording may be whole.
        let lacks = shortage(&error);
        let status = match &error {
            recording::Error::Io { source, .. } if source.kind() == ErrorKind::PermissionDenied => Status::Permission,
            _ if lacks.is_some() => Status::Internal,
            _ => Status::Recording,
        };
        let hint = match &error {
            _ if lacks.is_some() => lacks.map(str::to_owned),
            _ if status == Status::Permission => Some("recordings belong to the user who made them".to_owned()),
            recording::Error::NotARecording { .. } => Some(mistakes::recording_instead(folder)),
            recording::Error::Io { source, .. } => {
                let elsewhere = matches!(source.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
                elsewhere.then(|| mistakes::recording_instead(folder))
            }
            recording::Error::Format { .. } => Some("that release reads it, and so may a newer one".to_owned()),
            // The error's own text already says what is wrong with which file.
            _ => Some(
                "the recording is damaged; what else it holds can be read by other tools (docs/queries.md)".to_owned(),
            ),
        };
        let failure = Failure::new(status, format!("{:#}", anyhow::Error::from(error)));
        hint.into_iter().fold(failure, Failure::hint)
    })?;
    analyze::model::parked_tasks::tell_tasks(&mut tables);
    Ok(tables)
}

/// Reads a recording. If a file of primitives is named, it replaces the recording's list of functions.
///
/// # Errors
/// As [`tables`], and when the file cannot be read or has mistakes.
pub(in crate::commands) fn tables_with(folder: &Path, primitives: Option<&Path>) -> anyhow::Result<Tables> {
    let declared = primitives.map(functions::load).transpose()?;
    let mut tables = tables(folder)?;
    tables.meta.functions = declared.unwrap_or(tables.meta.functions);
    Ok(tables)
}

/// Reads and analyses a recording, or takes the answer that was kept when it was made, if nothing has changed since. Of
/// that one, the queues do not tell which waits they are about.
///
/// # Errors
/// As [`tables_with`].
pub(in crate::commands) fn answer_of(folder: &Path, primitives: Option<&Path>) -> anyhow::Result<Answer> {
    let kept = primitives.is_none().then(|| kept::read(folder)).flatten();
    kept.map_or_else(|| Ok(answer_for(&tables_with(folder, primitives)?)), Ok)
}

/// Reads and analyses a recording, and writes its page.
///
/// # Errors
/// As [`tables_with`], and when the file cannot be written.
pub(in crate::commands) fn write_page(folder: &Path, primitives: Option<&Path>, file: &Path) -> anyhow::Result<()> {
    let tables = tables_with(folder, primitives)?;
    let model = Model::new(&tables);
    fs::write(file, page(&analyze(&model), folder)?).with_context(|| format!("failed to write {}", file.display()))
}

fn page(analysis: &Analysis<'_, '_>, folder: &Path) -> anyhow::Result<Vec<u8>> {
    let name = folder.to_string_lossy();
    let sources = sources::sources_around(&analysis.answer, analysis.model.tables);
    let subject = ::report::html::Subject { analysis, folder: &name, sources: &sources };
    let mut out = Vec::new();
    ::report::html::render(&subject, &mut out)?;
    Ok(out)
}

/// Reads and analyses a recording, and writes the answer for scripts and the page for people beside it.
///
/// # Errors
/// As [`tables`], and when the answer cannot be written.
pub(in crate::commands) fn keep(folder: &Path) -> anyhow::Result<Answer> {
    let origin = Origin::now(folder);
    let tables = tables(folder)?;
    let model = Model::new(&tables);
    let analysis = analyze(&model);
    let mut json = Vec::new();
    ::report::json::render(&with_relative_paths(&analysis.answer), &mut json)?;
    write(folder, VERDICT, &json)?;
    write(folder, PAGE, &page(&analysis, folder)?)?;
    kept::write(folder, origin, &analysis.answer);
    Ok(analysis.answer)
}

/// Writes a file beside a recording.
///
/// # Errors
/// When it cannot be written, for example to a full disk; the recording itself remains.
pub(in crate::commands) fn write(folder: &Path, name: &str, contents: &[u8]) -> Result<(), Failure> {
    let file = folder.join(name);
    recording::private::write(&file, contents).map_err(|error| {
        Failure::new(of_io(&error), format!("failed to write {}: {error}", file.display()))
            .hint(format!("what was recorded is there: knee report {} prints its answer", folder.display()))
    })
}

/// Prints the answer.
///
/// # Errors
/// When standard output cannot be written.
pub(in crate::commands) fn print(answer: &Answer, folder: &Path, format: AnswerFormat) -> anyhow::Result<()> {
    let beside: Vec<&str> = [VERDICT, PAGE, "output/"]
        .into_iter()
        .filter(|name| folder.join(name.trim_end_matches('/')).exists())
        .collect();
    let places = SweepFiles { recording: folder, beside: &beside };
    ui::out(|mut out| match format {
        AnswerFormat::Text => ::report::terminal::render(answer, &places, ui::style(), &mut out),
        AnswerFormat::Json => ::report::json::render(&with_relative_paths(answer), &mut out),
        AnswerFormat::Markdown => ::report::markdown::render(answer, &mut out),
        AnswerFormat::Sarif => ::report::sarif::render(answer, &repository(), &mut out),
    })
}

/// The answer with the paths of its sources relative to the repository.
fn with_relative_paths(answer: &Answer) -> Answer {
    let mut related = answer.clone();
    ::report::repository::relate(&mut related, &repository());
    related
}

/// Paths of sources are relative to this folder: the repository around the working directory, else that directory.
fn repository() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    let root = here.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_owned);
    root.unwrap_or(here)
}

/// A comparison names no source lines, but SARIF consists of them.
///
/// # Errors
/// When SARIF is asked for.
pub(in crate::commands) fn no_sarif(format: AnswerFormat) -> Result<(), Failure> {
    match format {
        AnswerFormat::Text | AnswerFormat::Json | AnswerFormat::Markdown => Ok(()),
        AnswerFormat::Sarif => Err(Failure::new(Status::Usage, "SARIF is for the answer about one program").hint(
            "a comparison can be had as text, json or markdown; `knee report --format sarif` takes one recording",
        )),
    }
}
