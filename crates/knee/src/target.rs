//! Looks for the program before anything is created, so that a mistyped name leaves no folder behind.

use crate::failure::{Failure, Status};
use crate::file::nearest;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// In a folder with more entries no similar name is searched.
const MOST_ENTRIES: usize = 2_000;

/// Checks that the program can be found and executed as execvp(3) would, in the folder where it is to run.
///
/// # Errors
/// With a hint if it is a known mistake.
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
            Err(error) => {
                let failure = failure(format!("cannot start {shown}: {error}"));
                Err(instead(path).into_iter().fold(failure, Failure::hint))
            }
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
        _ if shown.contains(' ') => missing.hint(WORDS),
        _ => missing.hint("it is in no folder of PATH; the path of a program has a /, as in ./app"),
    })
}

const WORDS: &str = "write the program and each argument as words of their own behind --";

/// What a path that does not exist may have been meant to be.
fn instead(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy();
    let folder = path.parent()?;
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    // Program and arguments in one word, as in "./app --threads=4".
    let shown = path.to_string_lossy();
    if shown.split_once(' ').is_some_and(|(first, _)| is_executable(Path::new(first))) {
        return Some(WORDS.to_owned());
    }
    if !here.is_dir() {
        return Some(format!("there is no folder {}", here.display()));
    }
    let entries = std::fs::read_dir(here).ok()?.take(MOST_ENTRIES).filter_map(Result::ok);
    let programs = entries.filter(|entry| is_executable(&entry.path()));
    let names: Vec<String> = programs.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let near = nearest(&name, names.iter().map(String::as_str))?;
    Some(format!("did you mean {}?", folder.join(near).display()))
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
        // Tests run in the crate's folder, which has a Cargo.toml.
        assert_eq!(told("Cargo.toml", Some(OsStr::new("/bin"))).1, "the one in this folder is ./Cargo.toml");
        assert!(told("./a --b", Some(OsStr::new("/bin"))).0.contains("./a --b"));
        assert_eq!(told("/bin/sh -c true", None).1, WORDS);
        let near = folder.path().join("workers");
        std::fs::write(&near, "").unwrap();
        std::fs::set_permissions(&near, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mistyped = folder.path().join("wokers");
        assert_eq!(told(mistyped.to_str().unwrap(), None).1, format!("did you mean {}?", near.display()));
        assert!(told(folder.path().join("build/app").to_str().unwrap(), None).1.starts_with("there is no folder"));
        assert!(told("missing", None).1.contains("PATH"));
        assert!(told("a --b", Some(OsStr::new("/bin"))).1.contains("words of their own"));
    }
}
