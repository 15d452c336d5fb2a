//! Tests that knee accepts every command line shown to readers, in help texts and in the documentation.
//! `tests/documentation.rs` and `tests/examples.rs` check what the commands print.

use crate::cli::{self, Cli};
use clap::error::ErrorKind;
use clap::{Command, CommandFactory};
use regex::Regex;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The pages at the root, and those of the book.
fn pages() -> Vec<PathBuf> {
    fn below(folder: &Path, into: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                below(&path, into);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                into.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found =
        ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md"].map(|name| root.join(name)).to_vec();
    below(&root.join("docs"), &mut found);
    found
}

/// The words of a shown line that calls knee: without prompt, sudo and comment, up to a pipe, && or redirection.
fn words(line: &str) -> Option<Vec<String>> {
    let line = line.trim();
    let line = ["$ ", "# "].iter().find_map(|prompt| line.strip_prefix(prompt)).unwrap_or(line);
    let line = line.strip_prefix("sudo ").unwrap_or(line).trim_start_matches("-E ");
    let start = line.split(' ').next()?;
    if !["knee", "./target/release/knee", "~/.cargo/bin/knee", "target/static/knee"].contains(&start) {
        return None;
    }
    let ends = [" #", " | ", " && ", " > "];
    let end = ends.iter().filter_map(|end| line.find(end)).min().unwrap_or(line.len());
    // What a shell substitutes here is one word for knee.
    shlex::split(&Regex::new(r"\$\([^)]*\)").unwrap().replace_all(&line[..end], "x"))
}

/// The lines in a page's code blocks that call knee. In a block with prompts, lines without one are output.
fn shown(page: &str) -> Vec<Vec<String>> {
    let block = Regex::new(r"(?ms)^ *```(?:console|sh|text)?\n(.*?)^ *```$").unwrap();
    let mut found = Vec::new();
    for block in block.captures_iter(page) {
        let prompts = block[1].lines().any(|line| line.starts_with("$ ") || line.starts_with("# "));
        let lines = block[1].lines().filter(|line| !prompts || line.starts_with("$ ") || line.starts_with("# "));
        found.extend(lines.filter_map(words));
    }
    found
}

/// Clap's error for these words, unless they only ask for help.
fn refused(words: &[String]) -> Option<String> {
    let error = cli::parse(words.iter().map(OsString::from)).err()?;
    let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    (!asked).then(|| format!("{}: {error}", words.join(" ")))
}

#[test]
fn examples_in_the_help_texts_parse() {
    fn all(command: &Command, into: &mut Vec<String>) {
        into.extend(command.get_after_help().map(ToString::to_string));
        command.get_subcommands().for_each(|sub| all(sub, into));
    }
    let mut texts = Vec::new();
    all(&Cli::command(), &mut texts);
    let examples: Vec<Vec<String>> = texts.iter().flat_map(|text| text.lines()).filter_map(words).collect();
    assert!(examples.len() > 30, "{}", examples.len());
    let wrong: Vec<String> = examples.iter().filter_map(|words| refused(words)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn commands_in_the_documentation_parse() {
    let mut tried = 0;
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        for words in shown(&page) {
            tried += 1;
            // In a page without prompts, a line of a sweep's table that begins with `knee` is tried, too.
            let wrong = refused(&words);
            assert!(wrong.is_none(), "{}: {}", path.display(), wrong.unwrap_or_default());
        }
    }
    assert!(tried > 60, "{tried} commands found");
}

#[test]
fn commands_and_options_that_prose_names_exist() {
    let code = Regex::new(r"`(?:sudo )?knee ([^`\n]+)`").unwrap();
    let mut root = Cli::command();
    root.build();
    let mut named = 0;
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        for found in code.captures_iter(&page) {
            let own: Vec<&str> = found[1].split(' ').take_while(|word| *word != "--").collect();
            // `knee -- COMMAND` has no subcommand.
            if own.first().is_none_or(|word| *word == "COMMAND") {
                continue;
            }
            named += 1;
            let depth = own.iter().take_while(|word| word.starts_with(|c: char| c.is_ascii_lowercase())).count();
            // Words after the subcommands are arguments, such as the name of a cause.
            let (mut command, mut below) = (&root, 0);
            while let Some(sub) = own[below..depth].first().and_then(|word| command.find_subcommand(word)) {
                (command, below) = (sub, below + 1);
            }
            let shown = &found[0];
            assert!(below > 0 || own[0].starts_with('-'), "{}: {shown} is not a command", path.display());
            for option in own.iter().filter_map(|word| word.strip_prefix("--")) {
                let name = option.split('=').next().unwrap_or(option);
                let known = command.get_arguments().any(|argument| argument.get_long() == Some(name));
                assert!(known, "{}: {shown}: no option --{name}", path.display());
            }
        }
    }
    assert!(named > 40, "{named} commands found");
}
