//! Looks for the program before anything is created, so that a mistyped name leaves no folder behind.

use crate::failure::{Failure, Status};
use crate::file::nearest;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// In a folder with more entries than this, no similar name is looked for.
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
            Ok(meta) if meta.is_dir() => {
                let inside = path.join("app");
                let hint = format!("name the program in it, as in {}", inside.display());
                Err(failure(format!("cannot start {shown}: it is a folder")).hint(hint))
            }
            Ok(_) if !is_executable(path) => {
                Err(failure(format!("cannot start {shown}: it is not executable")).hint(format!("chmod +x {shown}")))
            }
            Ok(_) => runs_here(path),
        };
    }
    let folders: Vec<PathBuf> = search_path.map(|p| std::env::split_paths(p).collect()).unwrap_or_default();
    if let Some(found) = folders.iter().map(|folder| folder.join(program)).find(|path| is_executable(path)) {
        return runs_here(&found);
    }
    let missing = failure(format!("cannot find the program {shown}"));
    Err(match path.metadata() {
        Ok(meta) if meta.is_file() => missing.hint(format!("the one in this folder is ./{shown}")),
        _ if shown.contains(' ') => missing.hint(WORDS),
        _ => missing.hint("it is in no folder of PATH; the path of a program has a /, as in ./app"),
    })
}

const WORDS: &str = "write the program and each argument as separate words after --";

/// Refuses a program of another architecture: the C library would give its bytes to a shell.
fn runs_here(path: &Path) -> Result<(), Failure> {
    let Some(machine) = first_bytes(path).and_then(|bytes| machine(&bytes)) else { return Ok(()) };
    if NATIVE.contains(&machine) || emulates(Path::new(EMULATORS)) {
        return Ok(());
    }
    let known = ARCHITECTURES.iter().find(|(number, _)| *number == machine);
    let other = known.map_or_else(|| format!("architecture number {machine}"), |(_, name)| (*name).to_owned());
    let here = std::env::consts::ARCH;
    let what = format!("cannot start {}: it is a program for {other}, and this machine is {here}", path.display());
    Err(Failure::new(Status::Target, what).hint(format!("build it for {here}, or run knee where it was built for")))
}

/// Architectures of programs (e_machine of elf(5)) that messages name.
const ARCHITECTURES: [(u16, &str); 7] =
    [(3, "x86"), (21, "ppc64"), (22, "s390x"), (40, "arm"), (62, "x86_64"), (183, "aarch64"), (243, "riscv64")];

/// Architectures that this machine runs: its own, and the 32-bit one that came before it.
const NATIVE: &[u16] = if cfg!(target_arch = "x86_64") { &[3, 62] } else { &[40, 183] };

/// Where emulators for programs of other architectures are registered (binfmt_misc).
const EMULATORS: &str = "/proc/sys/fs/binfmt_misc";

fn emulates(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).any(|name| name != "register" && name != "status")
}

/// The beginning of a program, which shows its kind; none where it may not be read.
fn first_bytes(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(256).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The architecture of an ELF file: e_machine, in the byte order that e_ident names.
fn machine(bytes: &[u8]) -> Option<u16> {
    let pair = bytes.get(18..20)?.try_into().ok()?;
    match (bytes.starts_with(b"\x7fELF"), bytes[5]) {
        (true, 1) => Some(u16::from_le_bytes(pair)),
        (true, 2) => Some(u16::from_be_bytes(pair)),
        _ => None,
    }
}

/// What to do about a program that exists but cannot be executed. `user`: whom it runs as, under sudo.
pub(crate) fn not_started(program: &Path, why: ErrorKind, user: Option<&str>) -> Option<String> {
    let shown = program.display();
    let bytes = first_bytes(program).unwrap_or_default();
    let interpreter = bytes.strip_prefix(b"#!").and_then(|rest| {
        let line = rest.split(|byte| *byte == b'\n').next()?.trim_ascii();
        Some(String::from_utf8_lossy(line.split(u8::is_ascii_whitespace).next()?).into_owned())
    });
    match (why, interpreter) {
        (ErrorKind::NotFound, Some(interpreter)) => {
            Some(format!("{shown} exists, but {interpreter}, which its #! line names, does not"))
        }
        (ErrorKind::NotFound, None) => Some(format!("{shown} exists, but the loader that it needs does not")),
        (ErrorKind::PermissionDenied, _) => Some(match user {
            Some(user) => format!(
                "under sudo the program runs as {user}, who may not execute it, or may not enter a folder of its path"
            ),
            None => format!("`namei -l {shown}` shows who may execute it and enter the folders of its path"),
        }),
        // ENOEXEC, which has no kind of its own.
        (_, None) if !bytes.is_empty() && machine(&bytes).is_none() => {
            Some(format!("{shown} is neither a program nor a script with a #! line: sh {shown}"))
        }
        _ => None,
    }
}

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
    Some(match nearest(&name, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {}?", folder.join(near).display()),
        None => format!("no program in {} has a name like that", here.display()),
    })
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(program: &str, search_path: Option<&OsStr>) -> (String, String) {
        let failure = check(OsStr::new(program), None, search_path).unwrap_err();
        (failure.to_string(), failure.hint.unwrap_or_default())
    }

    #[test]
    fn programs_that_can_be_started_pass() {
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
        let (what, hint) = refusal(name, None);
        assert!(what.contains("not executable") && hint.starts_with("chmod +x"));
        assert!(refusal(folder.path().to_str().unwrap(), None).0.contains("folder"));
        assert!(refusal("./missing", None).0.contains("No such file"));
        assert!(refusal("missing", Some(OsStr::new("/bin"))).0.contains("cannot find the program missing"));
        // Tests run in the crate's folder, which has a Cargo.toml.
        assert_eq!(refusal("Cargo.toml", Some(OsStr::new("/bin"))).1, "the one in this folder is ./Cargo.toml");
        assert!(refusal("./a --b", Some(OsStr::new("/bin"))).0.contains("./a --b"));
        assert_eq!(refusal("/bin/sh -c true", None).1, WORDS);
        let near = folder.path().join("workers");
        std::fs::write(&near, "").unwrap();
        std::fs::set_permissions(&near, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mistyped = folder.path().join("wokers");
        assert_eq!(refusal(mistyped.to_str().unwrap(), None).1, format!("did you mean {}?", near.display()));
        assert!(refusal(folder.path().join("build/app").to_str().unwrap(), None).1.starts_with("there is no folder"));
        assert!(refusal("missing", None).1.contains("PATH"));
        assert!(refusal("a --b", Some(OsStr::new("/bin"))).1.contains("separate words"));
    }

    #[test]
    fn a_program_of_another_architecture_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("app");
        let elf = |order: u8, machine: [u8; 2]| {
            let mut bytes = b"\x7fELF\x02".to_vec();
            bytes.push(order);
            bytes.resize(18, 0);
            bytes.extend(machine);
            bytes
        };
        assert_eq!((machine(&elf(1, [183, 0])), machine(&elf(2, [0, 22]))), (Some(183), Some(22)));
        assert_eq!((machine(b"#!/bin/sh"), machine(&elf(7, [1, 1]))), (None, None));
        std::fs::write(&file, elf(2, [0, 22])).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        if !emulates(Path::new(EMULATORS)) {
            let (what, hint) = refusal(file.to_str().unwrap(), None);
            assert!(what.contains("is a program for s390x") && hint.starts_with("build it for"), "{what} {hint}");
        }
        assert!(!emulates(&folder.path().join("none")) && emulates(folder.path()));
    }

    #[test]
    fn what_a_program_lacks_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("app");
        let hint = |bytes: &[u8], kind, user| {
            std::fs::write(&file, bytes).unwrap();
            not_started(&file, kind, user).unwrap_or_default()
        };
        assert!(hint(b"#! /no/sh -e\nx", ErrorKind::NotFound, None).contains("/no/sh, which its #! line names"));
        assert!(hint(b"#!/bin/env x", ErrorKind::NotFound, None).contains("/bin/env, which"));
        assert!(hint(b"\x7fELF", ErrorKind::NotFound, None).contains("loader"));
        assert!(hint(b"x", ErrorKind::PermissionDenied, None).starts_with("`namei -l "));
        assert!(hint(b"x", ErrorKind::PermissionDenied, Some("ann")).contains("runs as ann"));
        assert!(hint(b"echo hi", ErrorKind::Other, None).contains("#! line: sh "));
        assert_eq!(hint(b"", ErrorKind::Other, None), "");
    }
}
