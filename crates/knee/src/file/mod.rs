//! Sweep files: a sweep described in TOML, so that it can be kept, repeated and compared.
//!
//! Rooms: `read` from the text to [`SweepFile`] in `sweep_file`, collecting every mistake with its place; `values` the
//! kinds of values; `problem` how mistakes are shown; `functions` the file in which users describe functions.
//!
//! May import: `failure`, `plan`, `throughput`, `analyze`, `recording`, `report`, toml.

pub(crate) mod functions;
mod problem;
mod read;
mod sweep_file;
#[cfg(test)]
mod tests;
mod values;

pub(crate) use problem::nearest;
pub(crate) use sweep_file::{Described, SweepFile, usual_picture};

use crate::failure::{Failure, Status, of_io};
use std::io::Read;
use std::path::Path;

/// A larger file is not a sweep file: a mistyped name must not fill the memory.
const LARGEST: u64 = 1 << 20;

fn unreadable(path: &Path, why: &str, status: Status) -> Failure {
    Failure::new(status, format!("cannot read {}: {why}", path.display()))
}

/// Reads a sweep file.
///
/// # Errors
/// All mistakes, each with the file's line and a mark under it.
pub(crate) fn load(path: &Path) -> Result<SweepFile, Failure> {
    let unreadable = |why: &str, status| unreadable(path, why, status);
    let io = |error: std::io::Error| unreadable(&error.to_string(), of_io(&error));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| {
        let missing = error.kind() == std::io::ErrorKind::NotFound;
        let failure = io(error);
        if missing {
            failure
                .hint("`knee lab` lists programs whose sweep files are examples; a program of your own goes after --")
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
        format!("a program goes after --, as in knee sweep -t 1,2 -- {shown} {{threads}}")
    };
    if bytes.len() as u64 > LARGEST || bytes.starts_with(b"\x7fELF") {
        return Err(unreadable("it is not a sweep file", Status::Usage).hint(program()));
    }
    let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not text", Status::Usage).hint(program()))?;
    read::read(path, &text).map_err(|problems| problem::failure(path, &text, &problems))
}
