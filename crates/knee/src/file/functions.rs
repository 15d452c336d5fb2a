//! What the user says about functions: `knee.toml`, or the file that `--primitives` names.

use super::problem::{self, Problem};
use super::values::{Section, Value, section, text, wrong};
use super::{LARGEST, unreadable};
use crate::failure::{Failure, Status, of_io};
use recording::meta::{FunctionKind, NamedFunction};
use std::io::{ErrorKind, Read};
use std::path::Path;
use toml::de::DeTable;

/// The file that is read from the current folder when none is named.
const USUAL: &str = "knee.toml";

/// The tables of the file, and the kind of the functions in each.
const KINDS: [(&str, FunctionKind); 5] = [
    ("lock", FunctionKind::Lock),
    ("pool", FunctionKind::Pool),
    ("condition", FunctionKind::Condition),
    ("barrier", FunctionKind::Barrier),
    ("runtime-frame", FunctionKind::RuntimeFrame),
];
const TOP: &[&str] = &["lock", "pool", "condition", "barrier", "runtime-frame"];
const ENTRY: &[&str] = &["function"];

/// The content of the named file, else of `knee.toml` in the current folder, if there is one.
///
/// # Errors
/// When the named file cannot be read, or any file has mistakes (all are listed).
pub(crate) fn declared(named: Option<&Path>) -> Result<Vec<NamedFunction>, Failure> {
    match named {
        Some(path) => load(path),
        None if Path::new(USUAL).exists() => load(Path::new(USUAL)),
        None => Ok(Vec::new()),
    }
}

/// Reads a file.
///
/// # Errors
/// When it cannot be read, and with the file's lines and a mark under each mistake.
pub(crate) fn load(path: &Path) -> Result<Vec<NamedFunction>, Failure> {
    let io = |error: std::io::Error| match error.kind() {
        ErrorKind::IsADirectory => unreadable(path, "it is a folder", Status::Usage),
        _ => unreadable(path, &error.to_string(), of_io(&error)),
    };
    let mut bytes = Vec::new();
    std::fs::File::open(path).map_err(io)?.take(LARGEST + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > LARGEST {
        return Err(unreadable(path, "it is too large for such a file", Status::Usage));
    }
    let text = String::from_utf8(bytes).map_err(|_| unreadable(path, "it is not text", Status::Usage))?;
    read(&text).map_err(|problems| problem::failure(path, &text, &problems))
}

fn read(text: &str) -> Result<Vec<NamedFunction>, Vec<Problem>> {
    let parsed = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        vec![Problem { span, what: error.message().to_owned(), help: None }]
    })?;
    let mut problems = Vec::new();
    let top = Section::new(parsed.get_ref(), 0..0, TOP, &mut problems);
    let mut found: Vec<NamedFunction> = Vec::new();
    for (key, kind) in KINDS {
        let Some(value) = top.get(key) else { continue };
        for (function, at) in functions(value, key, &mut problems) {
            if found.iter().any(|known| known.function == function) {
                wrong::<()>(at, "this function is named twice", &mut problems);
            }
            found.push(NamedFunction { function, kind });
        }
    }
    if problems.is_empty() { Ok(found) } else { Err(problems) }
}

/// The functions of one kind, each with its place.
fn functions<'r, 't>(value: &'r Value<'t>, key: &str, problems: &mut Vec<Problem>) -> Vec<(String, &'r Value<'t>)> {
    let Some(items) = value.get_ref().as_array() else {
        wrong::<()>(value, format!("expected [[{key}]] tables"), problems);
        return Vec::new();
    };
    let mut found = Vec::new();
    for item in items {
        let Some(entry) = section(item, ENTRY, problems) else { continue };
        let name = entry.required("function", "function = \"mylib::SpinLock::acquire\"", problems, text);
        found.extend(name.zip(entry.get("function")));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistakes(text: &str) -> Vec<String> {
        read(text).unwrap_err().into_iter().map(|p| p.what).collect()
    }

    #[test]
    fn each_kind_is_read() {
        let declared = read(
            "[[lock]]\nfunction = \"mylib::SpinLock::acquire\"\n[[lock]]\nfunction = \"b\"\n[[pool]]\nfunction = \"c\"\n\
             [[condition]]\nfunction = \"d\"\n[[barrier]]\nfunction = \"e\"\n[[runtime-frame]]\nfunction = \"f\"\n",
        )
        .unwrap();
        let kinds: Vec<_> = declared.iter().map(|f| (f.function.as_str(), f.kind)).collect();
        use FunctionKind::{Barrier, Condition, Lock, Pool, RuntimeFrame};
        let expected = [
            ("mylib::SpinLock::acquire", Lock),
            ("b", Lock),
            ("c", Pool),
            ("d", Condition),
            ("e", Barrier),
            ("f", RuntimeFrame),
        ];
        assert_eq!(kinds, expected);
        assert_eq!(read("").unwrap(), []);
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(mistakes("[[locks]]\nfunction = \"a\""), ["unknown key `locks`"]);
        assert_eq!(mistakes("[lock]\nfunction = \"a\""), ["expected [[lock]] tables"]);
        assert_eq!(mistakes("[[lock]]\nname = \"a\""), ["unknown key `name`", "`function` is missing"]);
        assert_eq!(mistakes("[[lock]]\nfunction = 3"), ["expected a text in quotes, found integer"]);
        assert_eq!(
            mistakes("[[lock]]\nfunction = \"a\"\n[[pool]]\nfunction = \"a\""),
            ["this function is named twice"]
        );
        assert_eq!(mistakes("[[lock]\n").len(), 1);
    }

    #[test]
    fn a_mistake_is_shown_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("knee.toml");
        std::fs::write(&path, "[[lock]]\nfunction = \"a\"\n[[barier]]\nfunction = \"b\"\n").unwrap();
        let failure = load(&path).unwrap_err();
        assert_eq!(failure.status, Status::Usage);
        let shown = failure.shown.join("\n");
        assert!(shown.contains("knee.toml:3:3") && shown.contains("did you mean `barrier`?"), "{shown}");
    }
}
