//! A sweep over processors: its counts, the processors that the program may use at each count, the variables that tell
//! the program its count, and notes for the reader.
//!
//! Affinity keeps the program to its processors; most runtimes look at it when they choose their number of threads.
//! `variables` is for the runtimes that do not.
//!
//! May import: `failure`, `plan`, `report`.

mod variables;

use crate::failure::{Failure, Status};
use crate::plan::cases::Parameter;
use crate::plan::template::{PLACEHOLDER, PROCESSORS, Template};
use std::ffi::OsString;

/// What a sweep over processors needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The counts, in the order of the command line.
    pub(crate) counts: Vec<u32>,
    /// The numbers of the processors: at a count of n the program uses the first n.
    pub(crate) order: Vec<u32>,
    /// The command, with the variables that tell the program its number of processors.
    pub(crate) template: Template,
    /// What the reader must know.
    pub(crate) notes: Vec<String>,
}

/// The sweep of a command over the counts of processors in `asked`, or over 1, 2, 4, ... up to all of `order`.
/// `inherited` looks up a variable of knee's own environment.
///
/// # Errors
/// When there are not enough processors, or the command is meant for a sweep over threads.
pub(crate) fn from_command(
    template: Template,
    parameters: &[Parameter],
    asked: Option<&[u32]>,
    order: Vec<u32>,
    inherited: impl Fn(&str) -> Option<OsString>,
) -> Result<Bounds, Failure> {
    let program = template.argv.first().cloned().unwrap_or_default();
    let program = program.to_string_lossy();
    if template.mentions(PLACEHOLDER) {
        return Err(match asked {
            None => usage("the thread counts are missing: --threads <LIST>").hint("for example: -t 1,2,4"),
            Some(_) => usage(&format!("{PLACEHOLDER} is the count of --threads, and --processors was given"))
                .hint(format!("write {PROCESSORS} where {program} takes it, or nothing")),
        });
    }
    if parameters.iter().any(|parameter| parameter.name == "processors") {
        return Err(usage("--param processors: in a sweep over processors this is the count")
            .hint("give the parameter another name"));
    }
    let usable = u32::try_from(order.len()).unwrap_or(u32::MAX);
    let counts = match asked {
        Some(asked) => asked.to_vec(),
        None if usable < 2 => {
            return Err(usage(&format!(
                "{program} may use one processor here, so there is no other count to compare with"
            ))
            .hint("one run: knee record -- COMMAND; thread counts: knee sweep -t 1,2,4 -- COMMAND {threads}"));
        }
        None => doublings(usable),
    };
    if let Some(too_many) = counts.iter().find(|count| **count > usable) {
        let there = report::words::plural(usable.into(), "processor");
        return Err(usage(&format!("--processors {too_many}: the program may use {there} here")).hint(
            "knee cannot give it more; with more threads than processors: knee sweep -t 1,2,4 -- COMMAND {threads}",
        ));
    }
    let value = |name: &str| {
        let given = template.env.iter().rev().find(|(own, _)| own == name).map(|(_, value)| value.clone());
        given.or_else(|| inherited(name))
    };
    let notes = variables::fixed_note(value).into_iter().collect();
    let env = variables::to_set(value).chain(template.env.iter().cloned()).collect();
    Ok(Bounds { counts, order, template: Template { env, ..template }, notes })
}

/// 1, 2, 4, ... and finally `most` itself.
fn doublings(most: u32) -> Vec<u32> {
    let mut counts: Vec<u32> =
        std::iter::successors(Some(1_u32), |count| count.checked_mul(2)).take_while(|count| *count < most).collect();
    counts.push(most);
    counts
}

fn usage(what: &str) -> Failure {
    Failure::new(Status::Usage, what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(words: &[&str], env: &[(&str, &str)]) -> Template {
        let env = env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Template { argv: words.iter().map(OsString::from).collect(), env, folder: None, load: None }
    }

    fn refused(words: &[&str], asked: Option<&[u32]>, usable: u32) -> String {
        let failure = from_command(template(words, &[]), &[], asked, (0..usable).collect(), |_| None).unwrap_err();
        format!("{failure:?}")
    }

    #[test]
    fn counts_double_up_to_all_processors() {
        let counts = |usable: u32| {
            from_command(template(&["app"], &[]), &[], None, (0..usable).collect(), |_| None).unwrap().counts
        };
        assert_eq!(counts(2), [1, 2]);
        assert_eq!(counts(6), [1, 2, 4, 6]);
        assert_eq!(counts(8), [1, 2, 4, 8]);
        let asked = from_command(template(&["app"], &[]), &[], Some(&[3, 1]), vec![0, 2, 1], |_| None).unwrap();
        assert_eq!((asked.counts, asked.order), (vec![3, 1], vec![0, 2, 1]));
    }

    #[test]
    fn a_sweep_that_cannot_be_run_is_refused_with_a_hint() {
        assert!(refused(&["app", "{threads}"], None, 2).contains("thread counts are missing"));
        assert!(refused(&["app", "{threads}"], Some(&[1, 2]), 2).contains("write {processors} where app takes it"));
        assert!(refused(&["app"], None, 1).contains("no other count"));
        assert!(refused(&["app"], Some(&[1, 4]), 2).contains("--processors 4: the program may use 2 processors"));
        let parameter = [Parameter { name: "processors".into(), values: vec!["1".into()] }];
        assert!(from_command(template(&["a"], &[]), &parameter, None, vec![0, 1], |_| None).is_err());
    }

    #[test]
    fn variables_of_the_user_are_kept_and_noted_where_they_fix_the_threads() {
        let bounds = |env: &[(&str, &str)], around: &'static str| {
            let around = |name: &str| (name == around).then(|| OsString::from("8"));
            from_command(template(&["app"], env), &[], None, vec![0, 1], around).unwrap()
        };
        let plain = bounds(&[], "");
        assert_eq!(plain.template.env, [("PYTHON_CPU_COUNT".into(), "{processors}".into())]);
        assert!(plain.notes.is_empty());
        let set = bounds(&[("PYTHON_CPU_COUNT", "2"), ("OMP_NUM_THREADS", "{processors}")], "");
        assert_eq!(set.template.env.len(), 2);
        assert!(set.notes[0].starts_with("PYTHON_CPU_COUNT=2 is set:"), "{:?}", set.notes);
        assert!(bounds(&[], "GOMAXPROCS").notes[0].starts_with("GOMAXPROCS=8 is set:"));
    }
}
