//! Servers that are swept under load: when they are ready, how long that may take, where the load runs.
//!
//! Rooms: `ready` what `--ready` says; `trouble` messages about runs without a result. Here: the options together.
//!
//! May import: `collect`, `failure`, `throughput`.

mod ready;
mod trouble;

pub(crate) use ready::ready;
pub(crate) use trouble::{nothing_done, of_error};

use crate::failure::{Failure, Status};
use collect::load::Ready;
use std::ffi::OsString;
use std::time::Duration;

/// What is noted, once, when a server had to be killed.
pub(crate) const SERVER_KILLED: &str = "the server did not end when it was asked to (SIGTERM), and was killed \
                                        (SIGKILL); --stop-within gives it more time";

/// How a server runs under its load.
#[derive(Debug, Clone)]
pub(crate) struct ServingPlan {
    pub(crate) ready: Ready,
    pub(crate) ready_within: Duration,
    pub(crate) stop_within: Duration,
    /// The processors that the load is kept to; if empty, it may run wherever knee may.
    pub(crate) processors: Vec<u32>,
}

/// Numbers of processors: `0`, `2,3` or `2-3`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessorNumbers(pub(crate) Vec<u32>);

impl std::str::FromStr for ProcessorNumbers {
    type Err = String;

    fn from_str(text: &str) -> Result<ProcessorNumbers, String> {
        // Linux cannot be built for more.
        const MOST: u32 = 1 << 16;
        let number = |word: &str| match word.trim().parse::<u32>() {
            Ok(number) if number < MOST => Ok(number),
            _ => Err(format!("`{word}` is not the number of a processor; write 0, 2,3 or 2-3")),
        };
        let mut numbers = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            numbers.extend(number(first)?..=number(last)?);
        }
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() { Err(format!("the range {text} runs backwards")) } else { Ok(ProcessorNumbers(numbers)) }
    }
}

/// Splits a load into its words. No shell is involved.
///
/// # Errors
/// When there are none, or a quote is not closed.
pub(crate) fn words(load: &str) -> Result<Vec<OsString>, Failure> {
    let usage = |what: &str| Failure::new(Status::Usage, what.to_owned());
    match shlex::split(load) {
        None => Err(usage("--load: a quote is not closed")),
        Some(words) if words.is_empty() => {
            Err(usage("--load: the command is empty")
                .hint("for example: --load 'wrk -c 16 -d 5 http://localhost:8080/'"))
        }
        Some(words) => Ok(words.into_iter().map(OsString::from).collect()),
    }
}

/// Checks that the load can be kept to the processors in `asked`; `usable` are those that knee may use.
///
/// # Errors
/// When it cannot.
pub(crate) fn may_run_on(asked: &[u32], usable: &[u32]) -> Result<(), Failure> {
    match asked.iter().find(|processor| !usable.contains(processor)) {
        None => Ok(()),
        Some(missing) => {
            let mut there = usable.to_vec();
            there.sort_unstable();
            let there: Vec<String> = there.iter().map(u32::to_string).collect();
            let what = format!("--load-processors: a program may not use processor {missing} here");
            Err(Failure::new(Status::Usage, what).hint(format!("it may use: {}", there.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_named_by_their_numbers() {
        let numbers = |text: &str| text.parse::<ProcessorNumbers>().map(|numbers| numbers.0);
        assert_eq!(numbers("0"), Ok(vec![0]));
        assert_eq!(numbers("5,2-4,2"), Ok(vec![2, 3, 4, 5]));
        for text in ["", "x", "1,", "4-2", "-1", "99999999"] {
            assert!(numbers(text).is_err(), "{text}");
        }
        assert!(may_run_on(&[1], &[1, 0]).is_ok());
        let failure = may_run_on(&[1, 7], &[1, 0]).unwrap_err();
        assert!(failure.to_string().contains("processor 7") && failure.hint.unwrap().ends_with("0, 1"));
    }

    #[test]
    fn a_load_is_split_like_a_command_without_a_shell() {
        assert_eq!(words("wrk -H 'A: b c' $x").unwrap(), ["wrk", "-H", "A: b c", "$x"].map(OsString::from));
        assert!(words("wrk 'x").is_err() && words(" ").is_err());
    }
}
