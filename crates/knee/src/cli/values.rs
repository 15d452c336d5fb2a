//! Parsers for the values of arguments: parameters, times, shares, collectors.

use crate::plan::cases::Parameter;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use collect::Collector;
use std::time::Duration;

pub(super) fn collector() -> impl TypedValueParser<Value = Collector> {
    PossibleValuesParser::new(Collector::ALL.map(Collector::name)).try_map(|name| name.parse::<Collector>())
}

/// `NAME=V1,V2`.
pub(super) fn parameter(text: &str) -> Result<Parameter, String> {
    let (name, values) = text.split_once('=').ok_or("write NAME=VALUE,VALUE, such as size=1K,1M")?;
    let values: Vec<String> = values.split(',').map(str::to_owned).collect();
    if name.is_empty() || name.contains(['{', '}']) {
        return Err("the parameter has no name before its =".to_owned());
    }
    if name == "threads" {
        return Err("thread counts are given by --threads".to_owned());
    }
    if values.iter().any(String::is_empty) {
        return Err(format!("a value of {name} is empty"));
    }
    match values.iter().enumerate().find(|(i, value)| values[..*i].contains(value)) {
        Some((_, twice)) => Err(format!("{twice} is listed twice")),
        None => Ok(Parameter { name: name.to_owned(), values }),
    }
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        // An upper limit, so that it fits a duration: no run takes a year.
        Ok(value) if value > 0.0 && value <= 31_536_000.0 => Ok(value),
        _ => Err("expected a number of seconds above 0, such as 60 or 0.5".to_owned()),
    }
}

/// A share of something: `5%` or `0.05`.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let (digits, scale) = match text.strip_suffix('%') {
        Some(percent) => (percent.trim_end(), 0.01),
        None => (text, 1.0),
    };
    match digits.parse::<f64>().map(|number| number * scale) {
        Ok(share) if (0.0..1.0).contains(&share) => Ok(share),
        _ => Err("expected a share below 100 %, such as 5% or 0.05".to_owned()),
    }
}

/// A time within a run, in seconds.
pub(super) fn moment(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value),
        _ => Err("expected seconds since the start of the run, such as 0.25".to_owned()),
    }
}

/// A time with its unit; a bare number is seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a time such as 10s, 500ms or 2m".to_owned();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match text.get(digits.len()..).unwrap_or("") {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let number: f64 = digits.parse().map_err(|_| wrong())?;
    seconds(&(number * scale).to_string()).map(Duration::from_secs_f64).map_err(|_| wrong())
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_names_and_values() {
        let values = vec!["1K".to_owned(), "a=b".to_owned()];
        assert_eq!(parameter("size=1K,a=b"), Ok(Parameter { name: "size".into(), values }));
        for (text, part) in [
            ("size", "NAME=VALUE"),
            ("=1", "no name"),
            ("{n}=1", "no name"),
            ("threads=1,2", "--threads"),
            ("n=", "is empty"),
            ("n=1,,2", "is empty"),
            ("n=1,2,1", "1 is listed twice"),
        ] {
            assert!(parameter(text).unwrap_err().contains(part), "{text}");
        }
    }

    #[test]
    fn times_have_units() {
        for (text, ms) in [("10s", 10_000), ("500ms", 500), ("2m", 120_000), ("0.5", 500), ("1h", 3_600_000)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "s", "-1s", "10 s", "10y", "nan", "1e99h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shares_are_below_one() {
        for (text, value) in [("5%", 0.05), ("0.05", 0.05), ("2.5 %", 0.025), ("0", 0.0)] {
            assert!((share(text).unwrap() - value).abs() < 1e-12, "{text}");
        }
        for text in ["100%", "5", "-1%", "%", "five", "nan"] {
            assert!(share(text).is_err(), "{text}");
        }
    }

    #[test]
    fn seconds_are_positive() {
        assert_eq!(seconds("0.5"), Ok(0.5));
        for text in ["0", "-1", "NaN", "inf", "1e300", "5s", ""] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
