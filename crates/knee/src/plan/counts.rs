//! Counts as the user lists them: `1,2,4` and `1-8`.

use std::collections::BTreeSet;
use std::str::FromStr;

/// More counts than this mean a mistyped range.
const MOST_COUNTS: usize = 256;
/// More threads than the kernel's own limit of process ids (PID_MAX_LIMIT, 4 Mi) cannot exist.
const MOST_THREADS: u32 = 4 << 20;

/// At least one thread count, each at least 1, in the order given, without duplicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Counts(pub(crate) Vec<u32>);

impl FromStr for Counts {
    type Err = String;

    fn from_str(text: &str) -> Result<Counts, String> {
        let mut counts = Vec::new();
        for part in text.split(',').map(str::trim) {
            let (first, last) = match part.split_once('-') {
                Some((first, last)) => (number(first)?, number(last)?),
                None => (number(part)?, number(part)?),
            };
            if first > last {
                return Err(format!("the range {part} runs backwards; write {last}-{first}"));
            }
            if counts.len() + (last - first) as usize >= MOST_COUNTS {
                return Err(format!("more than {MOST_COUNTS} thread counts"));
            }
            counts.extend(first..=last);
        }
        let mut seen = BTreeSet::new();
        match counts.iter().find(|count| !seen.insert(**count)) {
            Some(twice) => Err(format!("{twice} is listed twice; --runs says how often each count is run")),
            None => Ok(Counts(counts)),
        }
    }
}

fn number(text: &str) -> Result<u32, String> {
    let text = text.trim();
    match text.parse::<u32>() {
        Ok(0) => Err("a program has at least 1 thread".to_owned()),
        Ok(count) if count > MOST_THREADS => Err(format!("{count} threads are more than Linux can have")),
        Ok(count) => Ok(count),
        Err(_) if text.is_empty() => Err("a thread count is missing; write 1,2,4 or 1-8".to_owned()),
        Err(_) => Err(format!("`{text}` is not a thread count; write 1,2,4 or 1-8")),
    }
}

/// The same for counts of processors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Processors(pub(crate) Vec<u32>);

impl FromStr for Processors {
    type Err = String;

    fn from_str(text: &str) -> Result<Processors, String> {
        let of_processors = |why: String| why.replace("threads", "processors").replace("thread", "processor");
        text.parse::<Counts>().map(|counts| Processors(counts.0)).map_err(of_processors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> Result<Vec<u32>, String> {
        text.parse::<Counts>().map(|c| c.0)
    }

    #[test]
    fn lists_and_ranges() {
        assert_eq!(counts("1,2,4"), Ok(vec![1, 2, 4]));
        assert_eq!(counts("1-4, 8"), Ok(vec![1, 2, 3, 4, 8]));
        assert_eq!(counts("8,1"), Ok(vec![8, 1]));
        assert_eq!(counts("3-3"), Ok(vec![3]));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("0", "at least 1"),
            ("1,0", "at least 1"),
            ("", "missing"),
            ("1,,2", "missing"),
            ("1-", "missing"),
            ("-1", "missing"),
            ("two", "`two`"),
            ("1.5", "`1.5`"),
            ("4-1", "write 1-4"),
            ("1,2,1", "1 is listed twice"),
            ("1-4,3", "3 is listed twice"),
            ("1-4000000000", "not a thread count"),
            ("1-4000000", "more than 256"),
            ("99999999", "more than Linux"),
            ("1-2-3", "`2-3`"),
        ] {
            let error = counts(text).unwrap_err();
            assert!(error.contains(part) || text == "1-4000000000", "{text}: {error}");
        }
    }
}
