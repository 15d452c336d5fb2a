//! The command with its placeholders.

use recording::meta::Counted;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// The placeholder of the thread count.
pub(crate) const PLACEHOLDER: &str = "{threads}";

/// The placeholder of the number of processors, in a sweep over processors.
pub(crate) const PROCESSORS: &str = "{processors}";

/// Arguments and variables with placeholders for the count and for parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template {
    pub(crate) argv: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Where the program runs; none for knee's own folder.
    pub(crate) folder: Option<PathBuf>,
    /// The command that asks it for work, if it is a server.
    pub(crate) load: Option<Vec<OsString>>,
}

impl Template {
    /// True when the placeholder occurs in an argument of the program or of its load, or in a variable's value.
    pub(crate) fn mentions(&self, placeholder: &str) -> bool {
        let values = self.env.iter().map(|(_, value)| value);
        let texts = self.argv.iter().chain(values).chain(self.load.iter().flatten());
        texts.into_iter().any(|text| replace(text, placeholder, "") != *text)
    }

    /// The command at a count.
    pub(crate) fn at(&self, count: u32, counted: Counted) -> Template {
        let placeholder = match counted {
            Counted::Threads => PLACEHOLDER,
            Counted::Processors => PROCESSORS,
        };
        self.with(placeholder, &count.to_string())
    }

    /// The same with one placeholder replaced.
    pub(crate) fn with(&self, placeholder: &str, value: &str) -> Template {
        let words = |words: &[OsString]| words.iter().map(|word| replace(word, placeholder, value)).collect();
        let env = self.env.iter().map(|(name, text)| (name.clone(), replace(text, placeholder, value))).collect();
        let load = self.load.as_deref().map(words);
        Template { argv: words(&self.argv), env, folder: self.folder.clone(), load }
    }
}

/// The placeholder of a parameter.
pub(crate) fn placeholder(parameter: &str) -> String {
    format!("{{{parameter}}}")
}

/// Splits `NAME=VALUE`.
pub(crate) fn variable(text: &OsStr) -> Result<(OsString, OsString), String> {
    let bytes = text.as_bytes();
    let shown = text.to_string_lossy();
    match bytes.iter().position(|b| *b == b'=') {
        None => Err(format!("`{shown}` is not a variable; write NAME=VALUE")),
        Some(0) => Err(format!("`{shown}` has no name before its =")),
        Some(at) => Ok((OsStr::from_bytes(&bytes[..at]).to_owned(), OsStr::from_bytes(&bytes[at + 1..]).to_owned())),
    }
}

/// Works on bytes, because arguments need not be UTF-8.
fn replace(text: &OsStr, placeholder: &str, value: &str) -> OsString {
    let mut rest = text.as_bytes();
    let mut done = Vec::with_capacity(rest.len());
    while let Some((first, others)) = rest.split_first() {
        match rest.strip_prefix(placeholder.as_bytes()) {
            Some(behind) => {
                done.extend_from_slice(value.as_bytes());
                rest = behind;
            }
            None => {
                done.push(*first);
                rest = others;
            }
        }
    }
    OsString::from_vec(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(argv: &[&str], env: &[(&str, &str)]) -> Template {
        let env = env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Template { argv: argv.iter().map(OsString::from).collect(), env, folder: None, load: None }
    }

    #[test]
    fn placeholders_in_arguments_and_variables() {
        let template = template(&["./p", "-t{threads}", "{threads}{threads}", "{thread}"], &[("N", "{threads}")]);
        assert!(template.mentions(PLACEHOLDER));
        let at = template.at(12, Counted::Threads);
        assert_eq!(at.argv, ["./p", "-t12", "1212", "{thread}"].map(OsString::from));
        assert_eq!(at.env, [("N".into(), "12".into())]);
    }

    #[test]
    fn placeholders_in_the_load_are_replaced_too() {
        let load = Some(["wrk", "-t{threads}", "-c{clients}"].map(OsString::from).to_vec());
        let template = Template { load, ..template(&["server"], &[]) };
        assert!(template.mentions(PLACEHOLDER) && template.mentions("{clients}"));
        let at = template.with("{clients}", "16").at(2, Counted::Threads);
        assert_eq!(at.load.unwrap(), ["wrk", "-t2", "-c16"].map(OsString::from));
    }

    #[test]
    fn each_sweep_has_its_own_placeholder() {
        let template = template(&["p", "{threads}{processors}"], &[]);
        assert_eq!(template.at(2, Counted::Threads).argv[1], "2{processors}");
        assert_eq!(template.at(2, Counted::Processors).argv[1], "{threads}2");
    }

    #[test]
    fn parameters_are_replaced_one_by_one() {
        let template = template(&["p", "{n}", "{threads}"], &[("M", "{n}")]).with(&placeholder("n"), "1K");
        assert_eq!(template.argv, ["p", "1K", "{threads}"].map(OsString::from));
        assert_eq!(template.env, [("M".into(), "1K".into())]);
        assert!(!template.mentions("{n}"));
    }

    #[test]
    fn a_placeholder_in_a_name_does_not_count() {
        assert!(!template(&["p"], &[("{threads}", "1")]).mentions(PLACEHOLDER));
    }

    #[test]
    fn arguments_need_not_be_utf8() {
        let text = OsString::from_vec(b"\xff{threads}\xfe".to_vec());
        assert_eq!(replace(&text, PLACEHOLDER, "3").into_vec(), b"\xff3\xfe");
    }

    #[test]
    fn variables() {
        assert_eq!(variable(OsStr::new("A=b=c")), Ok(("A".into(), "b=c".into())));
        assert!(variable(OsStr::new("A")).unwrap_err().contains("NAME=VALUE"));
        assert!(variable(OsStr::new("=b")).is_err());
    }
}
