//! The command with its placeholder. May import: std.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What is replaced by the thread count.
pub(crate) const PLACEHOLDER: &str = "{threads}";

/// Arguments and variables in which the placeholder stands for the thread count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template {
    pub(crate) argv: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
}

impl Template {
    /// True when the thread count would reach the program.
    pub(crate) fn has_placeholder(&self) -> bool {
        let values = self.env.iter().map(|(_, value)| value);
        self.argv.iter().chain(values).any(|text| replace(text, 1) != *text)
    }

    /// The command at a thread count.
    pub(crate) fn at(&self, threads: u32) -> (Vec<OsString>, Vec<(OsString, OsString)>) {
        let argv = self.argv.iter().map(|argument| replace(argument, threads)).collect();
        let env = self.env.iter().map(|(name, value)| (name.clone(), replace(value, threads))).collect();
        (argv, env)
    }
}

/// Splits `NAME=VALUE`.
pub(crate) fn variable(text: &OsStr) -> Result<(OsString, OsString), String> {
    let bytes = text.as_bytes();
    let shown = text.to_string_lossy();
    match bytes.iter().position(|b| *b == b'=') {
        None => Err(format!("`{shown}` is no variable; write NAME=VALUE")),
        Some(0) => Err(format!("`{shown}` has no name before its =")),
        Some(at) => Ok((OsStr::from_bytes(&bytes[..at]).to_owned(), OsStr::from_bytes(&bytes[at + 1..]).to_owned())),
    }
}

/// Works on bytes, because arguments need not be UTF-8.
fn replace(text: &OsStr, threads: u32) -> OsString {
    let number = threads.to_string();
    let mut rest = text.as_bytes();
    let mut done = Vec::with_capacity(rest.len());
    while let Some((first, others)) = rest.split_first() {
        match rest.strip_prefix(PLACEHOLDER.as_bytes()) {
            Some(behind) => {
                done.extend_from_slice(number.as_bytes());
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

    #[test]
    fn placeholders_in_arguments_and_variables() {
        let template = Template {
            argv: vec!["./p".into(), "-t{threads}".into(), "{threads}{threads}".into(), "{thread}".into()],
            env: vec![("N".into(), "{threads}".into())],
        };
        assert!(template.has_placeholder());
        let (argv, env) = template.at(12);
        assert_eq!(argv, ["./p", "-t12", "1212", "{thread}"].map(OsString::from));
        assert_eq!(env, [("N".into(), "12".into())]);
    }

    #[test]
    fn a_name_is_no_place_for_it() {
        let env = vec![("{threads}".into(), "1".into())];
        assert!(!Template { argv: vec!["p".into()], env }.has_placeholder());
    }

    #[test]
    fn arguments_need_not_be_utf8() {
        let text = OsString::from_vec(b"\xff{threads}\xfe".to_vec());
        assert_eq!(replace(&text, 3).into_vec(), b"\xff3\xfe");
    }

    #[test]
    fn variables() {
        assert_eq!(variable(OsStr::new("A=b=c")), Ok(("A".into(), "b=c".into())));
        assert!(variable(OsStr::new("A")).unwrap_err().contains("NAME=VALUE"));
        assert!(variable(OsStr::new("=b")).is_err());
    }
}
