//! `knee import`: profiles of other tools as a recording.

use super::shared::answer;
use super::sweep::default_folder;
use crate::cli::Import;
use crate::failure::{Failure, Status};
use crate::ui;
use ::import::{Error, Source, import};
use anyhow::anyhow;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) fn run(options: &Import) -> anyhow::Result<ui::Code> {
    let files: Vec<(u32, &OsStr)> = options.files.iter().map(counted).collect();
    if files.len() > 1 && files.iter().any(|(threads, _)| *threads == 0) {
        let what = "several profiles are compared by their thread counts, and one has none";
        return Err(usage(what).hint("write each as N=FILE: knee import 1=one.txt 4=four.txt").into());
    }
    if files.iter().filter(|(_, file)| *file == "-").count() > 1 {
        return Err(usage("standard input can be read only once").into());
    }
    let sources = files.iter().map(|(threads, file)| open(*threads, file)).collect::<Result<Vec<_>, Failure>>()?;
    let now_unix_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let tables = import(sources, env!("CARGO_PKG_VERSION"), now_unix_ns).map_err(refused)?;
    let folder = options.output.clone().unwrap_or_else(|| default_folder(&stem(files.first().map(|(_, file)| *file))));
    tables.write(&folder).map_err(|error| {
        Failure::new(Status::Usage, format!("{:#}", anyhow!(error))).hint("-o names a folder that does not exist yet")
    })?;
    let answer = answer::keep(&folder)?;
    answer::print(&answer, &folder, options.format)?;
    Ok(ui::OK)
}

fn usage(what: &str) -> Failure {
    Failure::new(Status::Usage, what)
}

/// `4=four.txt`: a thread count and a file; 0 without a count.
fn counted(file: &OsString) -> (u32, &OsStr) {
    let bytes = file.as_bytes();
    let count = bytes.iter().position(|byte| *byte == b'=').and_then(|at| {
        let threads: u32 = std::str::from_utf8(bytes.get(..at)?).ok()?.parse().ok()?;
        Some((threads, OsStr::from_bytes(bytes.get(at + 1..)?))).filter(|(threads, _)| *threads > 0)
    });
    count.unwrap_or((0, file))
}

fn open(threads: u32, file: &OsStr) -> Result<Source<'static>, Failure> {
    let name = if file == "-" { "standard input".to_owned() } else { file.to_string_lossy().into_owned() };
    let text: Box<dyn BufRead> = if file == "-" {
        Box::new(BufReader::new(io::stdin()))
    } else {
        let opened = File::open(file).and_then(|opened| match opened.metadata()?.is_dir() {
            true => Err(io::Error::from(io::ErrorKind::IsADirectory)),
            false => Ok(opened),
        });
        let opened = opened.map_err(|error| {
            let status = match error.kind() {
                io::ErrorKind::PermissionDenied => Status::Permission,
                _ => Status::Usage,
            };
            Failure::new(status, format!("cannot read {name}: {error}"))
        })?;
        Box::new(BufReader::with_capacity(1 << 16, opened))
    };
    Ok(Source { name, threads, text })
}

/// The part of the recording's name that comes from the file.
fn stem(file: Option<&OsStr>) -> PathBuf {
    let file = file.filter(|file| *file != "-").map(Path::new);
    file.and_then(Path::file_stem).map_or_else(|| PathBuf::from("profile"), PathBuf::from)
}

fn refused(error: Error) -> anyhow::Error {
    let (status, hint) = match &error {
        Error::Io { source, .. } => (crate::failure::of_io(source), String::new()),
        Error::Binary { name } => {
            (Status::Recording, format!("make the text first: perf script --header -i {name} > profile.txt"))
        }
        Error::NoScript { .. } => (Status::Recording, "it is made by: perf script --header > profile.txt".to_owned()),
        Error::NoTimes { .. } => (Status::Recording, "print them, too: perf script -F +time > profile.txt".to_owned()),
        Error::NoProcessorTime { .. } => {
            (Status::Recording, "record the processor clock: perf record -e cpu-clock -g -- COMMAND".to_owned())
        }
        Error::TooMany { .. } => {
            (Status::Recording, "print a part of it: perf script --time 0%-10% > profile.txt".to_owned())
        }
        Error::Twice { .. } => (Status::Usage, "each profile needs a thread count of its own".to_owned()),
    };
    let failure = Failure::new(status, format!("{:#}", anyhow!(error)));
    if hint.is_empty() { failure.into() } else { failure.hint(hint).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_count_stands_before_the_file() {
        for (text, threads, file) in [
            ("a.txt", 0, "a.txt"),
            ("4=a.txt", 4, "a.txt"),
            ("4=", 4, ""),
            ("0=a", 0, "0=a"),
            ("x=a", 0, "x=a"),
            ("4=5=a", 4, "5=a"),
            ("./4=a", 0, "./4=a"),
        ] {
            assert_eq!(counted(&OsString::from(text)), (threads, OsStr::new(file)), "{text}");
        }
    }
}
