//! Every command has a tested example in `docs/commands.md`. What knee prints about kept recordings is always the same
//! and is quoted there (`documentation.rs`). What it prints about running programs is not; such an example stands
//! between
//!     <!-- tried: knee record -o recording -- sleep 0.1 (as: sudo knee record -- sleep 0.1) (says: No cause) -->
//!     <!-- end -->
//!
//! The command is run; it must succeed and print those words. The page must also show an output with these words, from
//! one of its runs. `(as: …)` is the command that the reader is shown, `(until: …)` cuts a long output before the line
//! that begins with this text, `(writes: …)` names a file that must exist afterwards; `(serves)` is for a command that
//! goes on until Ctrl-C, and `(root)` for one that observes with eBPF, which `./dev live` tries. The commands run in a
//! folder with `lab`, `fixtures` and `numbers`, a file of 300,000 numbers, one per line.
//!
//! `KNEE_WRITE_DOCS=1 cargo test -p knee --test examples` rewrites outdated outputs, `KNEE_WRITE_DOCS=tried` all.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use regex::{Captures, Regex};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The page; only one test at a time may read and write it.
static PAGE: Mutex<()> = Mutex::new(());

/// The content of a marker.
struct Example {
    asked: String,
    words: Vec<String>,
    /// The command that the reader is shown.
    shown: String,
    says: Vec<String>,
    until: Option<String>,
    writes: Option<String>,
    serves: bool,
    root: bool,
}

impl Example {
    fn new(asked: &str) -> Example {
        let option = Regex::new(r" \((as|until|says|writes): ([^)]+)\)| \((serves|root)\)").unwrap();
        let of = |name: &str| -> Vec<String> {
            let named = option.captures_iter(asked).filter(|found| found.get(1).is_some_and(|n| n.as_str() == name));
            named.map(|found| found[2].to_owned()).collect()
        };
        let is = |name: &str| option.captures_iter(asked).any(|found| found.get(3).is_some_and(|n| n.as_str() == name));
        let command = option.replace_all(asked, "").into_owned();
        let words = shlex::split(&command).unwrap();
        assert_eq!(words[0], "knee", "{asked}");
        let example = Example {
            asked: asked.to_owned(),
            words,
            shown: of("as").pop().unwrap_or(command),
            says: of("says"),
            until: of("until").pop(),
            writes: of("writes").pop(),
            serves: is("serves"),
            root: is("root"),
        };
        assert!(!example.says.is_empty() || example.writes.is_some(), "{asked}: it checks nothing");
        example
    }

    /// Runs it and returns what it prints, without the part that is not shown.
    fn output(&self) -> String {
        let folder = tempfile::tempdir().unwrap();
        for name in ["fixtures", "lab"] {
            symlink(root().join(name), folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("numbers"), numbers()).unwrap();
        let errors = folder.path().join("errors");
        let mut command = Command::new(env!("CARGO_BIN_EXE_knee"));
        command.args(&self.words[1..]).current_dir(folder.path()).envs([
            ("NO_COLOR", "1"),
            ("LC_ALL", "C.UTF-8"),
            ("COLUMNS", "80"),
        ]);
        command.env_remove("KNEE_LAB").env_remove("KNEE_COLLECTOR");
        if !self.root {
            // The same collector, whoever runs the tests.
            command.env("KNEE_COLLECTOR", "proc");
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(fs::File::create(&errors).unwrap());
        let mut knee = command.spawn().unwrap();
        let (mut printed, mut asked_to_end) = (String::new(), false);
        for line in BufReader::new(knee.stdout.take().unwrap()).lines() {
            printed += line.unwrap().trim_end();
            printed.push('\n');
            if self.serves && !asked_to_end && self.says.iter().all(|words| printed.contains(words)) {
                assert!(Command::new("kill").args(["-INT", &knee.id().to_string()]).status().unwrap().success());
                asked_to_end = true;
            }
        }
        let status = knee.wait().unwrap();
        assert!(status.success(), "{}: {status}: {}", self.asked, fs::read_to_string(&errors).unwrap());
        if let Some(name) = &self.writes {
            assert!(fs::metadata(folder.path().join(name)).unwrap().len() > 0, "{}: {name} is empty", self.asked);
        }
        self.assert_says(&printed);
        let lines: Vec<&str> = printed.lines().collect();
        let ends = |line: &&str| self.until.as_ref().is_some_and(|end| line.trim_start().starts_with(end.as_str()));
        // The text of `until` may be missing: it depends on what a sweep finds on this machine, at this moment.
        let end = lines.iter().position(ends);
        lines[..end.unwrap_or(lines.len())].join("\n").trim_end().to_owned()
    }

    fn assert_says(&self, printed: &str) {
        for words in &self.says {
            assert!(printed.contains(words), "{}: '{words}' is not in {printed}", self.asked);
        }
    }

    /// Whether the page shows the command and an output that contains the words. They may be missing if `until` cuts
    /// the output.
    fn is_shown_by(&self, block: &str) -> bool {
        let shown = block.starts_with(&format!("```console\n$ {}\n", self.shown));
        shown && (self.until.is_some() || self.says.iter().all(|words| block.contains(words)))
    }
}

/// Lines with unsorted numbers, the same every time (a linear congruential generator, constants from Knuth's MMIX).
fn numbers() -> String {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{}\n", state >> 33)
    };
    (0..300_000).map(|_| next()).collect()
}

/// Tries either the examples of the page that need root, or those that do not.
fn try_examples(of_root: bool, at_least: usize) {
    let _page = PAGE.lock().unwrap_or_else(|error| error.into_inner());
    let path = root().join("docs/commands.md");
    let page = fs::read_to_string(&path).unwrap();
    let write = std::env::var("KNEE_WRITE_DOCS").unwrap_or_default();
    let example = Regex::new(r"(?s)<!-- tried: ([^\n]+?) -->\n(.*?)<!-- end -->").unwrap();
    let mut tried = 0;
    let fresh = example.replace_all(&page, |found: &Captures| {
        let example = Example::new(&found[1]);
        if example.root != of_root {
            return found[0].to_owned();
        }
        tried += 1;
        let output = example.output();
        let holds = example.is_shown_by(&found[2]);
        assert!(
            holds || !write.is_empty(),
            "{}: the page shows something else: run KNEE_WRITE_DOCS=1 cargo test -p knee --test examples",
            example.asked
        );
        if holds && write != "tried" {
            return found[0].to_owned();
        }
        let lines = if output.is_empty() { String::new() } else { format!("{output}\n") };
        format!("<!-- tried: {} -->\n```console\n$ {}\n{lines}```\n<!-- end -->", example.asked, example.shown)
    });
    assert!(tried >= at_least, "{tried} examples are left in the page");
    if fresh != page {
        fs::File::create(&path).unwrap().write_all(fresh.as_bytes()).unwrap();
    }
}

#[test]
fn examples_work() {
    try_examples(false, 8);
}

#[test]
#[ignore = "needs root: run ./dev live"]
fn examples_that_observe_with_ebpf_work() {
    try_examples(true, 3);
}

#[test]
fn every_command_has_a_tested_example() {
    let help = Command::new(env!("CARGO_BIN_EXE_knee")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let listed = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<&str> = names.map(|line| line.split_whitespace().next().unwrap()).filter(|n| *n != "help").collect();
    assert!(names.len() >= 14, "{names:?}");
    let _page = PAGE.lock().unwrap_or_else(|error| error.into_inner());
    let page = fs::read_to_string(root().join("docs/commands.md")).unwrap();
    // Hidden from the list of commands: for people who make packages.
    for name in names.into_iter().chain(["man"]) {
        let section = page.split(&format!("\n## {name}\n")).nth(1).unwrap_or_else(|| panic!("no section about {name}"));
        let section = section.split("\n## ").next().unwrap();
        let tested = Regex::new(&format!(r"<!-- (quoted|tried): knee {name}\b")).unwrap();
        assert!(tested.is_match(section), "no example of knee {name} is tested");
    }
}
