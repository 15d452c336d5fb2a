//! Splits the names that Node.js and Python report for their code into function, file, and line.

use super::code_map::{JitFunction, Line};

/// V8's prefixes for JavaScript functions, by how they were compiled (Node.js 12 to 24; `LogEventListener::CodeTag`).
const JAVASCRIPT: [&str; 6] = ["JS:", "LazyCompile:", "Function:", "InterpretedFunction:", "Script:", "Eval:"];

/// CPython's prefix for functions (Python/perf_trampoline.c).
const PYTHON: &str = "py::";

/// A function with its file; none for a name in another form.
pub(super) fn code(raw: &str) -> Option<JitFunction> {
    let (function, file, line) = match raw.strip_prefix(PYTHON) {
        Some(rest) => python(rest)?,
        None => javascript(JAVASCRIPT.iter().find_map(|kind| raw.strip_prefix(kind))?)?,
    };
    let lines = vec![Line { distance: 0, file: file.into(), line }];
    Some(JitFunction { lines, ..JitFunction::named(function.to_owned()) })
}

/// Parses names like `run:/app/jobs.py`.
fn python(rest: &str) -> Option<(&str, &str, u32)> {
    let (function, file) = rest.split_once(':')?;
    (!function.is_empty() && !file.is_empty()).then_some((function, file, 0))
}

/// Parses names like `*work /app/main.js:3:10`: optimization level, function, file, line and column.
fn javascript(rest: &str) -> Option<(&str, &str, u32)> {
    let (function, place) = rest.trim_start_matches(['*', '~', '^', '+']).split_once(' ')?;
    let (file, line) = match place.rsplit_once(':')? {
        (before, last) if before.rsplit_once(':').is_some_and(|(_, line)| line.parse::<u32>().is_ok()) => {
            last.parse::<u32>().ok()?;
            before.rsplit_once(':')?
        }
        both => both,
    };
    let line = line.parse().ok()?;
    let file = file.strip_prefix("file://").unwrap_or(file);
    let function = if function.is_empty() { "(anonymous)" } else { function };
    (!file.is_empty()).then_some((function, file, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(raw: &str) -> Option<(String, String, Option<u32>)> {
        let code = code(raw)?;
        let (file, line) = code.line(4).map(|(file, line)| (file.to_owned(), line))?;
        Some((code.name.clone(), file, line))
    }

    #[test]
    fn functions_have_the_file_in_which_they_are_written() {
        let is = |function: &str, file: &str, line| Some((function.to_owned(), file.to_owned(), line));
        assert_eq!(parsed("LazyCompile:*work /app/main.js:3"), is("work", "/app/main.js", Some(3)));
        assert_eq!(parsed("JS:~parse file:///app/a b.mjs:12:7"), is("parse", "/app/a b.mjs", Some(12)));
        assert_eq!(parsed("JS:* /app/main.js:5:20"), is("(anonymous)", "/app/main.js", Some(5)));
        assert_eq!(parsed("Function:^next node:internal/x:7:1"), is("next", "node:internal/x", Some(7)));
        assert_eq!(parsed("py::run:/x y.py"), is("run", "/x y.py", None));
    }

    #[test]
    fn names_of_other_forms_stay_unchanged() {
        for raw in ["Builtin:ArrayMap", "JS:*work", "JS:*work main.js", "py::run", "py:::/x.py", "work", ""] {
            assert_eq!(parsed(raw), None, "{raw}");
        }
    }
}
