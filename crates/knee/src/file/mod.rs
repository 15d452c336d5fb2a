//! Sweep files: a sweep that is kept, repeated and compared, as TOML.
//!
//! Rooms: `read` from the text to [`SweepFile`], collecting every mistake with its place; `values` the kinds of values;
//! `problem` mistakes as people read them; `functions` the file in which users say what functions are. May import: `cases`, `counts`, `template`, toml.

pub(crate) mod functions;
mod problem;
mod read;
#[cfg(test)]
mod tests;
mod values;

pub(crate) use problem::nearest;

use crate::cases::{Parameter, Variant};
use crate::failure::{Failure, Status, of_io};
use report::comparison::Picture;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Larger files are no sweep files: a mistyped name is not to fill the memory.
const LARGEST: u64 = 1 << 20;

/// A sweep as its file describes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SweepFile {
    pub(crate) path: PathBuf,
    /// One line.
    pub(crate) title: String,
    /// What is to be learned from it, in a few sentences.
    pub(crate) about: String,
    /// What builds the programs, for people to run in `folder`; knee only shows it.
    pub(crate) build: Option<String>,
    /// Where the programs run and from where their paths count.
    pub(crate) folder: PathBuf,
    pub(crate) threads: Vec<u32>,
    pub(crate) runs: Option<u32>,
    pub(crate) warm_up: Option<u32>,
    /// Seconds.
    pub(crate) timeout: Option<f64>,
    /// Regular expression.
    pub(crate) throughput: Option<String>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) variants: Vec<Described>,
    pub(crate) picture: Picture,
    pub(crate) published: Option<Published>,
}

/// A variant and what its author says about it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Described {
    pub(crate) variant: Variant,
    /// One line.
    pub(crate) about: Option<String>,
    /// Files and shared libraries without which it cannot run.
    pub(crate) needs: Vec<String>,
    /// The guilty place.
    pub(crate) place: Option<String>,
    /// What repairs it.
    pub(crate) repair: Option<String>,
}

/// How the curves are drawn unless the user says otherwise: along the thread counts, or along the only parameter with
/// several numbers, which usually are far apart.
pub(crate) fn usual_picture(parameters: &[Parameter]) -> Picture {
    let mut varied = parameters.iter().filter(|p| p.values.len() > 1 && is_numeric(p));
    match (varied.next(), varied.next()) {
        (Some(parameter), None) => Picture { x: Some(parameter.name.clone()), log_x: true, log_y: true },
        _ => Picture::default(),
    }
}

/// Whether every value has a place on an axis.
fn is_numeric(parameter: &Parameter) -> bool {
    parameter.values.iter().all(|value| report::comparison::number(value).is_some())
}

/// Figures that others have published, to compare with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Published {
    /// Who, where, when.
    pub(crate) source: String,
    /// On which machine.
    pub(crate) machine: Option<String>,
    /// One line each.
    pub(crate) figures: Vec<String>,
}

fn unreadable(path: &Path, why: &str, status: Status) -> Failure {
    Failure::new(status, format!("cannot read {}: {why}", path.display()))
}

/// Reads a sweep file.
///
/// # Errors
/// With the file's lines and a mark under each mistake.
pub(crate) fn load(path: &Path) -> Result<SweepFile, Failure> {
    let unreadable = |why: &str, status| unreadable(path, why, status);
    let io = |error: std::io::Error| unreadable(&error.to_string(), of_io(&error));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| {
        let missing = error.kind() == std::io::ErrorKind::NotFound;
        let failure = io(error);
        if missing {
            failure.hint(
                "`knee lab` lists programs whose sweep files are examples; a program of your own stands behind --",
            )
        } else {
            failure
        }
    })?;
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| match error.kind() {
        std::io::ErrorKind::IsADirectory => unreadable("it is a folder", Status::Usage),
        _ => io(error),
    })?;
    let program = || {
        let shown = path.display();
        format!("a program stands behind --, as in knee sweep -t 1,2 -- {shown} {{threads}}")
    };
    if bytes.len() as u64 > LARGEST || bytes.starts_with(b"\x7fELF") {
        return Err(unreadable("it is no sweep file", Status::Usage).hint(program()));
    }
    let text = String::from_utf8(bytes).map_err(|_| unreadable("it is no text", Status::Usage).hint(program()))?;
    read::read(path, &text).map_err(|problems| problem::failure(path, &text, &problems))
}
