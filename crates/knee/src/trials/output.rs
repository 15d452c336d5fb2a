//! Whether a program printed the same with a trial's change as without it.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

/// Which part of the output must stay the same for a trial to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SameOutput {
    /// The exit status, and what the throughput counts
    #[default]
    Status,
    /// Also each line of standard output, in any order
    Sorted,
    /// Also standard output as a whole
    Exact,
}

/// The result of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Same {
    Yes,
    No,
    /// The unchanged program's own output differs from run to run.
    Varies,
}

/// Compares what the runs of two cases printed; the folders hold the kept output of their runs.
///
/// # Errors
/// When the kept output cannot be read.
pub(crate) fn same(mode: SameOutput, unchanged: &Path, changed: &Path) -> io::Result<Same> {
    if mode == SameOutput::Status {
        return Ok(Same::Yes);
    }
    let (first, second) = (printed(mode, unchanged)?, printed(mode, changed)?);
    Ok(match first.len() {
        0 | 1 if first == second => Same::Yes,
        0 | 1 => Same::No,
        _ => Same::Varies,
    })
}

/// True if glibc's loader reported that it ignored a library of LD_PRELOAD: then nothing was tried.
///
/// # Errors
/// When the kept output cannot be read.
pub(crate) fn not_loaded(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let errors = path.extension().is_some_and(|extension| extension == "err");
        if errors && memchr::memmem::find(&fs::read(&path)?, b"cannot be preloaded").is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The different outputs of a case's runs.
fn printed(mode: SameOutput, folder: &Path) -> io::Result<BTreeSet<Vec<u8>>> {
    let mut outputs = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "out") {
            continue;
        }
        let text = fs::read(&path)?;
        outputs.insert(match mode {
            SameOutput::Sorted => {
                let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
                lines.sort_unstable();
                lines.join(&b'\n')
            }
            SameOutput::Exact | SameOutput::Status => text,
        });
    }
    Ok(outputs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(outputs: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (number, output) in outputs.iter().enumerate() {
            fs::write(folder.path().join(format!("run-{number:03}.out")), output).unwrap();
            fs::write(folder.path().join(format!("run-{number:03}.err")), number.to_string()).unwrap();
        }
        folder
    }

    #[test]
    fn a_library_that_the_loader_ignored_is_noticed() {
        let folder = case(&["1\n"]);
        assert!(!not_loaded(folder.path()).unwrap());
        let message = "ERROR: ld.so: object '/x.so' from LD_PRELOAD cannot be preloaded (wrong ELF class): ignored.";
        fs::write(folder.path().join("run-007.err"), message).unwrap();
        assert!(not_loaded(folder.path()).unwrap());
    }

    #[test]
    fn outputs_are_compared_as_asked() {
        let of = |mode, a: &[&str], b: &[&str]| same(mode, case(a).path(), case(b).path()).unwrap();
        assert_eq!(of(SameOutput::Exact, &["a\nb\n", "a\nb\n"], &["a\nb\n"]), Same::Yes);
        assert_eq!(of(SameOutput::Exact, &["a\nb\n"], &["b\na\n"]), Same::No);
        assert_eq!(of(SameOutput::Sorted, &["a\nb\n"], &["b\na\n"]), Same::Yes);
        assert_eq!(of(SameOutput::Sorted, &["a\nb\n"], &["b\na\n", "c\n"]), Same::No);
        assert_eq!(of(SameOutput::Exact, &["1\n", "2\n"], &["1\n"]), Same::Varies);
        assert_eq!(of(SameOutput::Status, &["1\n", "2\n"], &["3\n"]), Same::Yes);
        assert_eq!(of(SameOutput::Exact, &[], &["words"]), Same::No);
    }
}
