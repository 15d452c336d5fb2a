//! General code names no runtime: what is known of languages, their libraries and virtual machines is in
//! `src/runtimes/`, and everything else asks there.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Strings of general code that are also names in a runtime's table, and what they mean in general code.
const ALLOWED: &[(&str, &str)] = &[
    ("percpu_rwsem_wait", "a function of the kernel"),
    ("clone", "a system call"),
    ("clone3", "a system call"),
    ("exit", "a system call"),
    ("futex", "a system call"),
    ("mmap", "a system call"),
    ("munmap", "a system call"),
    ("main", "where every program starts"),
    ("goroutines", "what readers of Go programs call tasks"),
    ("lock", "what a thread waits for, in one word"),
    ("barrier", "what a thread waits for, in one word"),
];

/// Words that name a language, a library or a virtual machine.
const WORDS: &[&str] = &[
    "abseil",
    "absl",
    "crossbeam",
    "coreclr",
    "cpython",
    "dotnet",
    "folly",
    "gil",
    "glibc",
    "golang",
    "gomaxprocs",
    "gomp",
    "goroutine",
    "goroutines",
    "hotspot",
    "java",
    "jemalloc",
    "jvm",
    "libc",
    "libgomp",
    "libjvm",
    "mimalloc",
    "mono",
    "musl",
    "node",
    "nodejs",
    "openmp",
    "parking",
    "pthread",
    "python",
    "rayon",
    "rust",
    "sqlite",
    "tcmalloc",
    "tokio",
    "v8",
];

/// Words that general code may use, where, and why.
const ALLOWED_WORDS: &[(&str, &str, &str)] = &[
    ("goroutine", "", "a column of the recording, and what readers of Go programs call a task"),
    ("goroutines", "", "what readers of Go programs call tasks"),
    ("jemalloc", "causes/allocator", "what a reader may try to disprove the cause"),
    ("node", "wait_graph", "a node of a graph"),
    ("mimalloc", "causes/allocator", "what a reader may try to disprove the cause"),
    ("tcmalloc", "causes/allocator", "what a reader may try to disprove the cause"),
];

/// The sources below a folder, those of the runtimes or all others.
fn sources(folder: &Path, of_runtimes: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path, of_runtimes));
        } else if path.extension().is_some_and(|e| e == "rs") && !is_of_tests(&path) {
            found.push(path);
        }
    }
    found.retain(|path| path.components().any(|part| part.as_os_str() == "runtimes") == of_runtimes);
    found.sort();
    found
}

/// A file of tests or of sketches, in which programs of all languages are drawn.
fn is_of_tests(path: &Path) -> bool {
    path.ends_with("tests.rs") || path.iter().any(|part| part == "sketches" || part == "sketches.rs")
}

/// A file's code without comments and without its tests, which are at the end.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]").next().unwrap();
    code.lines().map(|line| line.split("// ").next().unwrap()).filter(|line| !line.trim().starts_with("//")).fold(
        String::new(),
        |mut all, line| {
            all.push_str(line);
            all.push('\n');
            all
        },
    )
}

/// The strings in code.
fn strings(code: &str) -> Vec<&str> {
    // Only sentences contain escaped quotation marks, and sentences are no names.
    code.split('"').skip(1).step_by(2).collect()
}

/// The strings of the runtimes' tables that are names, told from sentences by having no blanks.
fn names() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/runtimes");
    let mut names = BTreeSet::new();
    for path in sources(&folder, true) {
        let code = code(&path);
        names.extend(strings(&code).into_iter().filter(|s| s.len() > 2 && !s.contains(' ')).map(str::to_owned));
    }
    names
}

/// True for a name that is no plain word: a string that contains it was certainly made from it.
fn is_distinctive(name: &str) -> bool {
    name.len() > 4 && name.contains(['_', ':', '.', '(', '$', '/']) || name.chars().any(char::is_uppercase)
}

#[test]
fn general_code_has_no_name_of_a_runtime() {
    let names = names();
    assert!(names.len() > 300, "the runtimes' tables have {} names", names.len());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for path in sources(&source, false) {
        let file = path.strip_prefix(&source).unwrap().to_str().unwrap().to_owned();
        let code = code(&path);
        for string in strings(&code).into_iter().filter(|s| !s.contains(' ')) {
            let name = names.iter().find(|n| *n == string || is_distinctive(n) && string.contains(n.as_str()));
            let Some(name) = name else { continue };
            if !ALLOWED.iter().any(|(allowed, _)| *allowed == string) {
                found.push(format!("{file}: \"{string}\" (the name {name})"));
            }
        }
    }
    assert!(found.is_empty(), "these belong into src/runtimes/:\n{}", found.join("\n"));
}

/// The words in code, of identifiers and of sentences, in lower case.
fn words(code: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for part in code.split(|c: char| !c.is_ascii_alphanumeric()) {
        words.insert(part.to_lowercase());
        let mut word = String::new();
        for letter in part.chars() {
            // `HotSpot` counts as one word and as two.
            if letter.is_ascii_uppercase() && word.ends_with(|last: char| last.is_ascii_lowercase()) {
                words.insert(std::mem::take(&mut word).to_lowercase());
            }
            word.push(letter);
        }
        words.insert(word.to_lowercase());
    }
    words
}

#[test]
fn general_code_speaks_of_no_runtime() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for path in sources(&source, false) {
        let file = path.strip_prefix(&source).unwrap().to_str().unwrap().to_owned();
        let code = code(&path);
        let (words, english) = (words(&code), english_names(&code));
        let known = WORDS.iter().filter(|word| words.contains(**word));
        for word in known.chain(english.iter()) {
            let allowed = |(allowed, at, _): &(&str, &str, &str)| allowed == word && file.starts_with(at);
            if !ALLOWED_WORDS.iter().any(allowed) {
                found.push(format!("{file}: {word}"));
            }
        }
    }
    assert!(found.is_empty(), "these belong into src/runtimes/:\n{}", found.join("\n"));
}

/// The languages whose names are English words, too, where code means the language: identifiers with a part `go`, and
/// `Go` or `.NET` in a sentence, but not `Go` at its beginning.
fn english_names(code: &str) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    for (nth, part) in code.split('"').enumerate() {
        let in_string = nth % 2 == 1;
        if !in_string && part.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == "go" || word == "Go") {
            found.insert("go");
        }
        let begins = |before: &str| before.trim().is_empty() || before.trim_end().ends_with('.');
        let is_word = |at: usize| !part[at + 2..].starts_with(|c: char| c.is_ascii_alphanumeric());
        let starts = |at: usize| !part[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
        if in_string && part.match_indices("Go").any(|(at, _)| is_word(at) && starts(at) && !begins(&part[..at])) {
            found.insert("go");
        }
        if part.contains(".NET") {
            found.insert("dotnet");
        }
    }
    found
}

#[test]
fn languages_with_english_names_are_found() {
    assert_eq!(english_names("fn in_go_scheduler()"), BTreeSet::from(["go"]));
    assert_eq!(english_names("say(\"a profile would tell (Go: block profile)\")"), BTreeSet::from(["go"]));
    assert_eq!(english_names("say(\"try .NET\")"), BTreeSet::from(["dotnet"]));
    assert_eq!(english_names("goes(\"Go on, and let others go first. Go!\")"), BTreeSet::new());
}

#[test]
fn words_are_found_in_names_and_sentences() {
    let found = words("let in_java = HotSpotStack::new(\"the JVM's own\", GOROUTINES);");
    for word in ["java", "hot", "spot", "hotspotstack", "jvm", "goroutines"] {
        assert!(found.contains(word), "{word} in {found:?}");
    }
}
