//! No circular imports: a file can be read without the files that import it.
//!
//! Imports are `use` lines and paths that begin with `crate`, `super` or a child module. Declaring a module does not
//! count as an import; nor do tests inside files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Crates that still have circles. Remove a name when its last circle is gone.
const LEFT: [&str; 5] = ["analyze", "knee", "recording", "report", "resolve"];

/// The module path of a file: `a/b.rs` and `a/b/mod.rs` are `a::b`, the crate's root is empty.
type Module = Vec<String>;
type Imports = BTreeMap<Module, BTreeSet<Module>>;

#[test]
fn files_do_not_import_each_other_in_a_circle() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of all crates");
    let mut checked = 0;
    for entry in fs::read_dir(crates).expect("the crates").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let source = entry.path().join("src");
        if source.is_dir() && !LEFT.contains(&name.as_str()) {
            let left = circle(imports(&source));
            assert!(
                left.is_empty(),
                "these files of `{name}` import each other in a circle, or are imported by it: {left:?}"
            );
            checked += 1;
        }
    }
    assert!(checked >= 3, "{checked}");
}

#[test]
fn circles_are_found_and_declarations_do_not_count() {
    let graph = |edges: &[(&str, &[&str])]| -> Imports {
        let module = |name: &str| vec![name.to_owned()];
        edges.iter().map(|(from, to)| (module(from), to.iter().map(|name| module(name)).collect())).collect()
    };
    assert!(circle(graph(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])])).is_empty());
    let left = circle(graph(&[("a", &["b"]), ("b", &["c"]), ("c", &["b", "d"]), ("d", &[])]));
    assert_eq!(left.len(), 2, "{left:?}");

    let text = "//! use crate::no;\nmod child;\nuse super::{self as up, b::{C, d}};\nfn f() -> crate::g::H { child::i() }\n#[cfg(test)]\nmod tests { use crate::j; }";
    let found: BTreeSet<String> = paths(&code(text)).iter().map(|path| path.join("::")).collect();
    for path in ["super::b::C", "super::b::d", "crate::g::H", "child::i"] {
        assert!(found.contains(path), "{path} in {found:?}");
    }
    assert!(!found.iter().any(|path| path.contains("no") || path.contains('j')), "{found:?}");
}

/// Removes, again and again, all files that import no remaining file or that no remaining file imports. Only circles and
/// the files between circles are left.
fn circle(mut imports: Imports) -> Vec<String> {
    loop {
        let before = imports.len();
        let remaining: BTreeSet<Module> = imports.keys().cloned().collect();
        imports.retain(|_, to| to.iter().any(|module| remaining.contains(module)));
        let imported: BTreeSet<Module> = imports.values().flatten().cloned().collect();
        imports.retain(|module, _| imported.contains(module));
        if imports.len() == before {
            return imports.into_keys().map(|module| module.join("::")).collect();
        }
    }
}

/// Which files of a crate import which.
fn imports(source: &Path) -> Imports {
    let mut files = Vec::new();
    list(source, &mut files);
    let modules: BTreeMap<Module, PathBuf> = files.into_iter().map(|file| (module(source, &file), file)).collect();
    let of = |(module, file): (&Module, &PathBuf)| {
        let text = code(&fs::read_to_string(file).expect("a source file"));
        let found = paths(&text).into_iter().filter_map(|path| target(module, &path, &modules));
        (module.clone(), found.filter(|other| other != module).collect())
    };
    modules.iter().filter(|(module, _)| module.last().is_none_or(|name| name != "tests")).map(of).collect()
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources").flatten() {
        let path = entry.path();
        if path.is_dir() {
            list(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn module(source: &Path, file: &Path) -> Module {
    let inside = file.strip_prefix(source).expect("a file of the crate").with_extension("");
    let mut module: Module = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if module.last().is_some_and(|name| ["mod", "lib", "main"].contains(&name.as_str())) {
        module.pop();
    }
    module
}

/// The text without comments and tests.
fn code(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    let tests = ["\n#[cfg(test)]\nmod tests", "\n#[cfg(all(test"].iter().filter_map(|mark| text.find(mark)).min();
    text[..tests.unwrap_or(text.len())].to_owned()
}

/// All paths with more than one name, and those in `use`.
fn paths(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    for statement in text.split("use ").skip(1) {
        expand(&mut Vec::new(), statement.split(';').next().unwrap_or_default(), &mut found);
    }
    // A word that ends in colons is the beginning of a tree.
    for word in text.split(|c: char| !is_word(c)).filter(|word| word.contains("::") && !word.ends_with("::")) {
        found.push(word.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect());
    }
    found
}

/// Takes a tree of imports apart: `a::{b, c::d}` are `a::b` and `a::c::d`.
fn expand(prefix: &mut Vec<String>, tree: &str, found: &mut Vec<Vec<String>>) {
    let (mut depth, mut begin) = (0_usize, 0);
    for (at, c) in tree.char_indices().chain([(tree.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                branch(prefix, tree[begin..at].trim(), found);
                begin = (at + 1).min(tree.len());
            }
            _ => {}
        }
    }
}

fn branch(prefix: &mut Vec<String>, branch: &str, found: &mut Vec<Vec<String>>) {
    let (head, rest) = branch.split_once('{').map_or((branch, None), |(head, rest)| (head, Some(rest)));
    let length = prefix.len();
    let head = head.split(" as ").next().unwrap_or_default();
    prefix.extend(head.split("::").map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()));
    match rest {
        Some(rest) => expand(prefix, rest.trim_end().strip_suffix('}').unwrap_or(rest), found),
        None if prefix.len() > length => found.push(prefix.clone()),
        None => {}
    }
    prefix.truncate(length);
}

/// The file that a path leads to: its longest part that is a file. A path that only leads to another module's folder
/// means that module's own file.
fn target(from: &Module, path: &[String], modules: &BTreeMap<Module, PathBuf>) -> Option<Module> {
    let mut base = from.clone();
    let mut rest = path;
    match rest.first()?.as_str() {
        "crate" => (base, rest) = (Vec::new(), &rest[1..]),
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first().is_some_and(|name| name == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
        name => {
            let child: Module = from.iter().cloned().chain([name.to_owned()]).collect();
            modules.contains_key(&child).then_some(())?;
        }
    }
    let full: Module = base.into_iter().chain(rest.iter().cloned()).collect();
    (0..=full.len()).rev().map(|length| full[..length].to_vec()).find(|part| modules.contains_key(part))
}
