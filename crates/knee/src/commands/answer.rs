//! From a recording on disk to the answer on the screen. May import: recording, analyze, report, `ui`.

use crate::cli::Format;
use crate::failure::{Failure, Status};
use crate::ui;
use ::report::terminal::Places;
use analyze::answer::Answer;
use anyhow::Context;
use recording::{Recording, Tables};
use std::fs;
use std::path::Path;

/// Beside the recording: the answer for scripts.
pub(super) const VERDICT: &str = "verdict.json";
/// Beside the recording: what the target printed.
pub(super) const OUTPUT: &str = "output";

/// Reads and analyses a recording.
///
/// # Errors
/// When the recording cannot be read.
pub(super) fn of(folder: &Path) -> anyhow::Result<Answer> {
    Ok(analyze::analyze(&tables(folder)?))
}

/// Reads a recording.
///
/// # Errors
/// When it cannot be read.
pub(super) fn tables(folder: &Path) -> anyhow::Result<Tables> {
    Recording::open(folder).and_then(|recording| recording.tables()).map_err(|error| {
        let status = match &error {
            recording::Error::Io { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
                Status::Permission
            }
            _ => Status::Recording,
        };
        let failure = Failure::new(status, format!("{:#}", anyhow::Error::from(error)));
        let failure = match status {
            Status::Permission => failure.hint("recordings belong to the user who made them"),
            _ => failure,
        };
        failure.into()
    })
}

/// As [`of`], and writes the answer for scripts beside the recording.
///
/// # Errors
/// As [`of`], and when the answer cannot be written.
pub(super) fn keep(folder: &Path) -> anyhow::Result<Answer> {
    let answer = of(folder)?;
    let mut json = Vec::new();
    ::report::json::render(&answer, &mut json)?;
    fs::write(folder.join(VERDICT), json).context("failed to write the answer")?;
    Ok(answer)
}

/// Prints the answer.
///
/// # Errors
/// When standard output cannot be written.
pub(super) fn print(answer: &Answer, folder: &Path, format: Format) -> anyhow::Result<()> {
    let beside: Vec<&str> =
        [VERDICT, "output/"].into_iter().filter(|name| folder.join(name.trim_end_matches('/')).exists()).collect();
    let places = Places { recording: folder, beside: &beside };
    ui::out(|mut out| match format {
        Format::Text => ::report::terminal::render(answer, &places, ui::style(), &mut out),
        Format::Json => ::report::json::render(answer, &mut out),
    })
}
