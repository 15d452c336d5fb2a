//! The forms in which programs print a throughput.

use super::times::{self, TimeForm};
use regex::bytes::{Regex, RegexSet};
use std::borrow::Cow;

/// A number: `8.63`, `1,234,567.8`, `2.5e6`.
const NUMBER: &str = r"([0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)";
/// What must come before a number, so that it is not the end of another number.
const BEFORE: &str = r"(?:^|[^0-9.,eE_A-Za-z-])";
/// What is counted.
const THINGS: &str = "ops?|operations?|iops|req(?:uest)?s?|rps|quer(?:y|ies)|events?|transactions?|txns?|tx|\
                      messages?|msgs?|items?|tasks?|jobs?|packets?|pkts?|rows?|records?|keys?|lookups?|inserts?|\
                      iterations?|iters?|it|steps?|samples?|images?|frames?|tokens?|words?|lines?|calls?|updates?|\
                      attempts?|hashes|hash|h|nodes?|points?|cells?|pixels?|px|edges?|flops?";
/// Units that already mean a rate. `Mops` is not one: `20 Mops` may be an amount of work.
const RATES: &str = "[kKMG]?(?:[fqtrFQTR][pP][sS]|iops|IOPS|FLOPS)";

/// Units of speeds in a simulated world (metres per second), which are not work that the program does.
const NO_WORK: [&str; 14] = [
    "meter", "meters", "metre", "metres", "mile", "miles", "feet", "rad", "radian", "radians", "deg", "degree",
    "degrees", "second",
];
/// One form.
#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) regex: Regex,
    /// The group that holds the number.
    pub(crate) number: usize,
    /// The group that holds the unit, when the form has one.
    unit: Option<usize>,
    /// True when the output itself calls the number a throughput.
    pub(crate) labelled: bool,
    /// True when any word may name what is counted: used only when no other form fits and the runs' rates differ.
    pub(crate) loose: bool,
}

/// The forms that are looked for: the user's pattern alone, or the common ones.
#[derive(Debug)]
pub(crate) struct Forms {
    pub(crate) forms: Vec<Form>,
    /// Finds in one pass which forms occur in a line, so that long outputs cost little while the target runs: first those of
    /// a rate, then those of a time.
    pub(crate) set: RegexSet,
    /// Forms of a time, for programs that print no rate; none where the user gave the pattern.
    pub(super) times: Vec<TimeForm>,
    /// True when the user gave the pattern.
    pub(crate) given: bool,
}

impl Forms {
    /// The user's pattern; `none` looks for nothing, so that whole runs are compared.
    ///
    /// # Errors
    /// When it is not a regular expression or does not have exactly one group; the text shows the place.
    pub(crate) fn given(pattern: &str) -> Result<Forms, String> {
        if pattern == "none" {
            return Forms::new(Vec::new(), Vec::new(), false);
        }
        let regex = Regex::new(pattern).map_err(|error| error.to_string())?;
        match regex.captures_len() - 1 {
            1 => {}
            0 => return Err(format!("the pattern {pattern} has no group; put the number in brackets: tput=([0-9.]+)")),
            n => {
                return Err(format!("the pattern {pattern} has {n} groups; write those without the number as (?:...)"));
            }
        }
        Forms::new(vec![Form { regex, number: 1, unit: None, labelled: true, loose: false }], Vec::new(), true)
    }

    /// The common forms, best first.
    ///
    /// # Errors
    /// When a form is not a regular expression, which the tests rule out.
    pub(crate) fn common() -> Result<Forms, String> {
        let form = |pattern: String, number, unit, labelled| {
            // Without Unicode: its word boundaries are slow on binary output, and the target would wait for its reader.
            let regex = Regex::new(&format!("(?-u){pattern}")).map_err(|error| error.to_string())?;
            Ok::<Form, String>(Form { regex, number, unit, labelled, loose: false })
        };
        let loose =
            |pattern, number, unit| Ok::<Form, String>(Form { loose: true, ..form(pattern, number, unit, false)? });
        let second = r"\s*(?:/|\bper\b)\s*s(?:ec(?:ond)?s?)?";
        // A number without a unit: the line ends here, or the next name begins. `95 %` does not match.
        let no_unit = r"|\s*(?:$|[,;)])|\s+[a-z_][a-z_0-9().]*\s*[=:]";
        let forms = vec![
            // tput(Mops)=8.63
            form(
                format!(r"(?i)\b(?:tput|throughput)\s*[(\[]\s*([^()\[\]\s]{{1,24}})\s*[)\]]\s*[=:]\s*{NUMBER}"),
                2,
                Some(1),
                true,
            )?,
            // Throughput: 8.63 Mops/s; throughput=1200
            form(
                format!(
                    r"(?i)\b(?:tput|throughput)\s*[=:]\s*{NUMBER}(?:\s*([a-z]{{1,16}}{second}|{RATES}|[kmg]?ops)(?:[\s,;)]|$){no_unit})"
                ),
                1,
                Some(2),
                true,
            )?,
            // Requests per second:    1234.5 [#/sec] (mean); Requests/sec: 1234.5; events per second: 77
            form(format!(r"(?i)\b([kmg]?(?:{THINGS}){second})\b\s*[=:]\s*{NUMBER}"), 2, Some(1), false)?,
            // 1234.5 ops/s; 2.99 Mops/sec; 12 requests per second; transactions: 20 (2.0 per sec.)
            form(format!(r"(?i){BEFORE}{NUMBER}\s*([kmg]?(?:{THINGS}){second})(?:[^a-z0-9]|$)"), 1, Some(2), false)?,
            // 60 fps, 12.5 GFLOPS
            form(format!(r"{BEFORE}{NUMBER}\s*({RATES})(?:[^/A-Za-z0-9]|$)"), 1, Some(2), false)?,
            // fps=60, QPS: 1200
            form(format!(r"(?i)\b({RATES})\s*[=:]\s*{NUMBER}(?:[\s,;)]|$)"), 2, Some(1), false)?,
            // 512.3 MB/s
            form(format!(r"{BEFORE}{NUMBER}\s*([kKMGT]i?B{second})(?:[^A-Za-z0-9]|$)"), 1, Some(2), false)?,
            // 2137 statements/s; 12.5 page renders per second
            loose(
                format!(
                    r"(?i){BEFORE}{NUMBER}\s*((?:[a-z][a-z_-]{{1,23}}\s){{0,2}}[a-z][a-z_-]{{2,23}}{second})(?:[^a-z0-9]|$)"
                ),
                1,
                Some(2),
            )?,
            // Documents per second: 77; docs/sec=77
            loose(format!(r"(?i)\b([a-z][a-z_-]{{2,23}}{second})\b\s*[=:]\s*{NUMBER}"), 2, Some(1))?,
            // docs_per_sec=77; "docsPerSecond": 77
            loose(
                format!(
                    r#"\b([A-Za-z][A-Za-z0-9]*(?:[A-Za-z0-9_]*_per_s|PerS)(?:ec(?:ond)?)?)["']?\s*[=:]\s*{NUMBER}"#
                ),
                2,
                Some(1),
            )?,
            // 1234.5/s
            loose(format!(r"(?i){BEFORE}{NUMBER}{second}(?:[^a-z0-9]|$)"), 1, None)?,
        ];
        Forms::new(forms, times::forms()?, false)
    }

    fn new(forms: Vec<Form>, times: Vec<TimeForm>, given: bool) -> Result<Forms, String> {
        let patterns = forms.iter().map(|f| &f.regex).chain(times.iter().map(|f| &f.regex)).map(Regex::as_str);
        let set = RegexSet::new(patterns).map_err(|error| error.to_string())?;
        Ok(Forms { forms, set, times, given })
    }
}

impl Form {
    /// All matches in a line: number and unit. The number is none when it is not finite and positive.
    ///
    /// A line that says that its rate is that of one thread has no matches.
    pub(crate) fn matches(&self, line: &[u8]) -> Vec<(Option<f64>, String)> {
        if !(self.labelled && self.unit.is_none()) && times::of_one(line) {
            return Vec::new();
        }
        let found = self.regex.captures_iter(line).map(|captures| {
            let text = |group| captures.get(group).map_or(Cow::Borrowed(""), |m| String::from_utf8_lossy(m.as_bytes()));
            let number = text(self.number);
            let value = number.replace(',', "").trim().parse::<f64>().ok().filter(|v| v.is_finite() && *v > 0.0);
            (value, rate(&self.unit.map_or(Cow::Borrowed(""), text)))
        });
        let work = |unit: &str| !NO_WORK.contains(&unit.trim_end_matches("/s").rsplit(' ').next().unwrap_or_default());
        found.filter(|(_, unit)| !self.loose || work(&unit.to_ascii_lowercase())).collect()
    }
}

/// The unit in its usual form: `Mops` and `Mops per sec` become `Mops/s`.
fn rate(unit: &str) -> String {
    let unit = unit.trim();
    if unit.is_empty() {
        return "units/s".to_owned();
    }
    let lower = unit.to_ascii_lowercase();
    let ends = [" per ", "/", "_per_", "pers"].into_iter().find_map(|end| lower.find(end).filter(|at| *at > 0));
    let cut = ends.unwrap_or(unit.len());
    let thing = unit.get(..cut).unwrap_or(unit).trim();
    // `fps`, `IOPS` and `GFLOPS` include "per second", `Mops` does not.
    let inside = ["fps", "qps", "tps", "rps", "iops", "flops"].iter().any(|rate| lower.ends_with(rate));
    let whole = cut == unit.len() && inside;
    if whole { thing.to_owned() } else { format!("{thing}/s") }
}
