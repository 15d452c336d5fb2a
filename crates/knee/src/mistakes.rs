//! Hints for typical mistakes of beginners: a program without `--`, counts with spaces, a recording in another place.
//! Clap says what is wrong with the arguments; this file says what was probably meant.

use crate::index;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Folders with more entries hold other things than recordings; looking at all entries would take noticeable time.
const MOST_ENTRIES: usize = 2_000;

/// How to correct arguments that clap refused. `words` are those after `knee`; `is_program` says whether a word can be
/// started; `newest` finds the newest recording in the current folder.
pub(crate) fn instead(
    error: &clap::Error,
    words: &[String],
    is_program: impl Fn(&str) -> bool,
    newest: impl FnOnce() -> Option<PathBuf>,
) -> Option<String> {
    if error.get(ContextKind::SuggestedArg).is_some() {
        return None;
    }
    let first = words.first()?.as_str();
    let own: Vec<&str> = words.iter().map(String::as_str).take_while(|word| *word != "--").collect();
    let has_command = own.len() < words.len();
    match (first, error.kind()) {
        (word, ErrorKind::UnknownArgument) if word.starts_with('-') && has_command => {
            Some(format!("options belong to a command: knee sweep {}", words.join(" ")))
        }
        (word, ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument) if word.starts_with('-') => {
            Some(format!("a command comes first, as in {}", example("sweep")))
        }
        (word, ErrorKind::InvalidSubcommand) if word.contains('/') || is_program(word) => Some(format!(
            "one run of {word}: knee record -- {0}; why it does not get faster with more processors: knee -- {0}; with more \
             threads: knee sweep -t 1,2,4 -- {word} --threads={{threads}}",
            words.join(" ")
        )),
        ("sweep", ErrorKind::UnknownArgument | ErrorKind::ArgumentConflict) if spaced_counts(&own) => {
            Some(format!("thread counts are one word, with commas: {}", example(first)))
        }
        ("sweep" | "record" | "watch" | "compare", kind)
            if !has_command
                && (kind == ErrorKind::UnknownArgument
                    || own[1..].iter().any(|word| word.contains('/') && !word.contains('=') && is_program(word))) =>
        {
            Some(format!("the program and its arguments go after --, as in {}", example(first)))
        }
        ("sweep" | "record" | "watch" | "compare", ErrorKind::MissingRequiredArgument) => {
            Some(format!("for example: {}", example(first)))
        }
        ("show", ErrorKind::InvalidValue) if own.get(1).is_some_and(|word| Path::new(word).is_dir()) => {
            Some(format!("the table goes first: knee show locks {}", own[1]))
        }
        ("export", ErrorKind::MissingRequiredArgument) if !lacks(error, "<DIR>") => {
            Some("for example: knee export DIR --to perfetto -o run.pftrace".to_owned())
        }
        (_, ErrorKind::MissingRequiredArgument) if lacks(error, "<DIR>") => Some(match newest() {
            Some(folder) => format!("the newest recording here is {}", folder.display()),
            None => "knee sweep and knee record make recordings; there is none in this folder".to_owned(),
        }),
        _ => None,
    }
}

/// An example call for each command that runs programs.
fn example(command: &str) -> &'static str {
    match command {
        "record" => "knee record -- ./app --port=8080",
        "watch" => "knee watch -- ./app --port=8080, or knee watch -p 4711",
        "compare" => "knee compare -- ./old input.dat -- ./new input.dat",
        _ => "knee sweep -t 1,2,4 -- ./app --threads={threads}",
    }
}

/// `-t 1 2 4` instead of `-t 1,2,4`.
fn spaced_counts(own: &[&str]) -> bool {
    let numeric = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    own.windows(3).any(|words| matches!(words[0], "-t" | "--threads") && numeric(words[1]) && numeric(words[2]))
}

/// Whether clap reports this positional argument as missing.
fn lacks(error: &clap::Error, name: &str) -> bool {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing)) => missing.iter().any(|missing| missing == name),
        Some(ContextValue::String(missing)) => missing == name,
        _ => false,
    }
}

/// A hint for a folder that is not a recording.
pub(crate) fn recording_instead(folder: &Path) -> String {
    let is_recording = |folder: &Path| folder.join(META).is_file() || index::is_there(folder);
    if let Some(parent) = folder.parent().filter(|parent| folder.exists() && is_recording(parent)) {
        return format!("name the recording's folder: {}", parent.display());
    }
    if let Some(inside) = newest_recording(folder) {
        return format!("the newest recording in it is {}", inside.display());
    }
    match newest_recording(Path::new("")) {
        Some(near) => format!("the newest recording in this folder is {}", near.display()),
        None => "knee sweep and knee record make recordings, and say where".to_owned(),
    }
}

/// A file that every recording has.
const META: &str = "meta.json";

/// The recording in a folder (an empty path is the current folder) that was started last.
pub(crate) fn newest_recording(folder: &Path) -> Option<PathBuf> {
    let readable = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = fs::read_dir(readable).ok()?.take(MOST_ENTRIES).filter_map(Result::ok);
    let begun = |path: &Path| -> Option<SystemTime> {
        let file = [META, index::NAME].map(|name| path.join(name)).into_iter().find(|file| file.is_file())?;
        file.metadata().ok()?.modified().ok()
    };
    let found = entries.filter_map(|entry| {
        let path = folder.join(entry.file_name());
        Some((begun(&path)?, path))
    });
    found.max().map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser;

    fn hint(arguments: &[&str]) -> String {
        let error = Cli::try_parse_from([&["knee"], arguments].concat()).unwrap_err();
        let words: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
        instead(&error, &words, |word| word == "make" || word == "/bin/app", || Some("knee-app-1".into()))
            .unwrap_or_default()
    }

    #[test]
    fn programs_go_after_two_dashes() {
        for (arguments, part) in [
            (&["./app", "--threads=4"][..], "knee record -- ./app --threads=4;"),
            (
                &["make", "test"],
                "one run of make: knee record -- make test; why it does not get faster with more processors: knee -- make",
            ),
            (&["-t", "1,2", "--", "./app"], "options belong to a command: knee sweep -t 1,2 -- ./app"),
            (&["-t", "1,2", "./app"], "a command comes first, as in knee sweep"),
            (&["sweep", "-t", "1,2", "./app", "{threads}"], "go after --, as in knee sweep"),
            (&["record", "./app", "--port=1"], "go after --, as in knee record"),
            (&["watch", "./app"], "knee watch -p 4711"),
            (&["sweep", "-t", "1,2", "/bin/app", "--threads={threads}"], "go after --"),
            (&["export", "x"], "knee export DIR --to perfetto"),
            (&["compare", "./a", "./b"], "knee compare -- ./old"),
            (&["sweep"], "for example: knee sweep"),
            (&["record"], "for example: knee record"),
            (&["sweep", "-t", "1", "2", "4", "--", "./app", "{threads}"], "with commas"),
            (&["sweep", "-t", "1", "2", "--", "./app", "{threads}"], "with commas"),
        ] {
            assert!(hint(arguments).contains(part), "{arguments:?}: {}", hint(arguments));
        }
    }

    #[test]
    fn the_newest_recording_is_named() {
        for arguments in [&["report"][..], &["view"], &["show", "locks"], &["export", "--to", "pprof", "-o", "x"]] {
            assert_eq!(hint(arguments), "the newest recording here is knee-app-1", "{arguments:?}");
        }
        assert_eq!(hint(&["show", "/", "locks"]), "the table goes first: knee show locks /");
    }

    #[test]
    fn no_hint_where_clap_has_one() {
        for arguments in
            [&["swep"][..], &["sweep", "--thread", "4"], &["report", "a", "b"], &["--help"], &["explain", "a", "b"]]
        {
            assert_eq!(hint(arguments), "", "{arguments:?}");
        }
    }

    #[test]
    fn recordings_are_found_nearby() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert!(recording_instead(root).contains("make recordings"));
        for (name, file, seconds) in [("knee-old", META, 10), ("several", index::NAME, 20), ("notes", "text", 30)] {
            fs::create_dir(root.join(name)).unwrap();
            let file = fs::File::create(root.join(name).join(file)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds)).unwrap();
        }
        assert_eq!(newest_recording(root), Some(root.join("several")));
        assert!(recording_instead(root).ends_with("/several"));
        assert_eq!(
            recording_instead(&root.join("knee-old/meta.json")),
            format!("name the recording's folder: {}", root.join("knee-old").display())
        );
    }
}
