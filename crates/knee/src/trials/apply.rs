//! A command with a trial's change.

use super::{Change, Trial};
use crate::plan::template::Template;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Stands for the first processor that the program may use.
pub(super) const FIRST_PROCESSOR: &str = "{first processor}";

/// The variable with libraries that are loaded before the program's (ld.so(8)).
const PRELOAD: &str = "LD_PRELOAD";

/// What a change to a command may depend on.
pub(crate) struct Surroundings<'a> {
    /// The experiment's folder, which holds knee's libraries; absolute.
    pub(crate) folder: &'a Path,
    /// An installed library that the trial loads.
    pub(crate) library: Option<&'a Path>,
    /// The first processor that the program may use.
    pub(crate) first_processor: u32,
    /// Looks up a variable of knee's own environment, which the program inherits.
    pub(crate) variable: &'a dyn Fn(&str) -> Option<OsString>,
}

/// The command with the trial's changes.
pub(crate) fn apply(template: &Template, trial: &Trial, around: &Surroundings<'_>) -> Template {
    let mut changed = template.clone();
    for change in trial.changes {
        match *change {
            Change::Preload(source) => {
                join(&mut changed, PRELOAD, source.within(around.folder).as_os_str(), Some(":"), around);
            }
            Change::Library(_) => {
                if let Some(path) = around.library {
                    join(&mut changed, PRELOAD, path.as_os_str(), Some(":"), around);
                }
            }
            Change::Variable { name, value, join: between } => {
                join(&mut changed, name, OsStr::new(value), between, around);
            }
            Change::Wrapper(words) => {
                let first = around.first_processor.to_string();
                let word = |word: &&str| OsString::from(if *word == FIRST_PROCESSOR { &first } else { *word });
                changed.argv = words.iter().map(word).chain(changed.argv).collect();
            }
        }
    }
    changed
}

/// Sets a variable: appends to its old value or replaces it. A library of the trial goes before those that the user loads.
fn join(template: &mut Template, name: &str, value: &OsStr, between: Option<&str>, around: &Surroundings<'_>) {
    let set = template.env.iter().position(|(known, _)| known == name);
    let old = match set {
        Some(at) => Some(template.env.remove(at).1),
        None => (around.variable)(name),
    };
    let mut whole = OsString::new();
    match (old.filter(|old| !old.is_empty()), between) {
        (Some(old), Some(between)) if name == PRELOAD => {
            [value, OsStr::new(between), &old].map(|part| whole.push(part))
        }
        (Some(old), Some(between)) => [&old, OsStr::new(between), value].map(|part| whole.push(part)),
        _ => [value, OsStr::new(""), OsStr::new("")].map(|part| whole.push(part)),
    };
    template.env.push((name.into(), whole));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trials::find;

    /// The difference between two commands.
    #[derive(Debug, PartialEq, Eq)]
    struct Shown {
        variables: Vec<(String, String)>,
        /// The words before the command.
        wrapper: Vec<String>,
    }

    fn shown(unchanged: &Template, changed: &Template) -> Shown {
        let text = |text: &OsString| text.to_string_lossy().into_owned();
        let new = changed.env.iter().filter(|variable| !unchanged.env.contains(variable));
        let wrapper = changed.argv.len() - unchanged.argv.len();
        Shown {
            variables: new.map(|(name, value)| (text(name), text(value))).collect(),
            wrapper: changed.argv.iter().take(wrapper).map(text).collect(),
        }
    }

    fn tried(id: &str, env: &[(&str, &str)], own: &'static [(&'static str, &'static str)]) -> Shown {
        let env = env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let template = Template { argv: vec!["./app".into(), "{threads}".into()], env, folder: None, load: None };
        let variable =
            |name: &str| own.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
        let around = Surroundings {
            folder: Path::new("/e"),
            library: Some(Path::new("/lib/x.so")),
            first_processor: 3,
            variable: &variable,
        };
        shown(&template, &apply(&template, find(id).unwrap(), &around))
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| (String::from(*name), String::from(*value))).collect()
    }

    #[test]
    fn libraries_come_before_the_user_s() {
        assert_eq!(tried("tcmalloc", &[], &[]).variables, pairs(&[("LD_PRELOAD", "/lib/x.so")]));
        assert_eq!(
            tried("cache-lines", &[("LD_PRELOAD", "/u.so")], &[("LD_PRELOAD", "/ignored.so")]).variables,
            pairs(&[("LD_PRELOAD", "/e/preload/lines.so:/u.so")])
        );
        assert_eq!(
            tried("cache-lines", &[], &[("LD_PRELOAD", "/own.so")]).variables,
            pairs(&[("LD_PRELOAD", "/e/preload/lines.so:/own.so")])
        );
    }

    #[test]
    fn settings_are_appended_to_existing_ones() {
        let tunables = tried("one-arena", &[("GLIBC_TUNABLES", "a=1")], &[]).variables;
        assert_eq!(tunables, pairs(&[("GLIBC_TUNABLES", "a=1:glibc.malloc.arena_max=1")]));
        let java = tried("parallel-gc", &[], &[("JAVA_TOOL_OPTIONS", "-Xmx1g")]).variables;
        assert_eq!(java, pairs(&[("JAVA_TOOL_OPTIONS", "-Xmx1g -XX:+UseParallelGC")]));
        assert_eq!(tried("go-gc", &[("GOGC", "50")], &[]).variables, pairs(&[("GOGC", "400")]));
    }

    #[test]
    fn a_wrapper_comes_before_the_program() {
        let one = tried("one-processor", &[], &[]);
        assert_eq!((one.variables, one.wrapper), (Vec::new(), ["taskset", "-c", "3"].map(str::to_owned).to_vec()));
        assert_eq!(tried("nothing", &[], &[]), Shown { variables: Vec::new(), wrapper: Vec::new() });
    }
}
