//! Looks for the program before anything is created, so that a mistyped name leaves no folder behind.
//! May import: `failure`.

use crate::failure::{Failure, Status};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Checks that the program can be found and executed as execvp(3) would, in the folder where it is to run.
///
/// # Errors
/// With a hint where the mistake is a known one.
pub(crate) fn check(program: &OsStr, folder: Option<&Path>, search_path: Option<&OsStr>) -> Result<(), Failure> {
    let shown = program.to_string_lossy();
    let failure = |what: String| Failure::new(Status::Target, what);
    let path = &folder.unwrap_or(Path::new("")).join(program);
    if program.is_empty() {
        return Err(Failure::new(Status::Usage, "the command is empty"));
    }
    if shown.contains('/') {
        let shown = path.display();
        return match path.metadata() {
            Err(error) => Err(failure(format!("cannot start {shown}: {error}"))),
            Ok(meta) if meta.is_dir() => Err(failure(format!("cannot start {shown}: it is a folder"))),
            Ok(_) if !is_executable(path) => {
                Err(failure(format!("cannot start {shown}: it is not executable")).hint(format!("chmod +x {shown}")))
            }
            Ok(_) => Ok(()),
        };
    }
    let folders: Vec<PathBuf> = search_path.map(|p| std::env::split_paths(p).collect()).unwrap_or_default();
    if folders.iter().any(|folder| is_executable(&folder.join(program))) {
        return Ok(());
    }
    let missing = failure(format!("cannot find the program {shown}"));
    Err(match path.metadata() {
        Ok(meta) if meta.is_file() => missing.hint(format!("the one in this folder is ./{shown}")),
        _ if shown.contains(' ') => missing.hint("write the program and each argument as words of their own behind --"),
        _ => missing,
    })
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(program: &str, search_path: Option<&OsStr>) -> (String, String) {
        let failure = check(OsStr::new(program), None, search_path).unwrap_err();
        (failure.to_string(), failure.hint.unwrap_or_default())
    }

    #[test]
    fn what_can_be_started_passes() {
        assert!(check(OsStr::new("/bin/sh"), None, None).is_ok());
        assert!(check(OsStr::new("./sh"), Some(Path::new("/bin")), None).is_ok());
        assert!(check(OsStr::new("sh"), None, Some(OsStr::new("/nowhere:/bin"))).is_ok());
    }

    #[test]
    fn mistakes_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("data");
        std::fs::write(&file, "").unwrap();
        let name = file.to_str().unwrap();
        let (what, hint) = told(name, None);
        assert!(what.contains("not executable") && hint.starts_with("chmod +x"));
        assert!(told(folder.path().to_str().unwrap(), None).0.contains("folder"));
        assert!(told("./missing", None).0.contains("No such file"));
        assert!(told("missing", Some(OsStr::new("/bin"))).0.contains("cannot find the program missing"));
        // Tests run in the crate's folder.
        assert_eq!(told("Cargo.toml", Some(OsStr::new("/bin"))).1, "the one in this folder is ./Cargo.toml");
        assert!(told("./a --b", Some(OsStr::new("/bin"))).0.contains("./a --b"));
        assert!(told("a --b", Some(OsStr::new("/bin"))).1.contains("words of their own"));
    }
}
