//! Numbers, and the names of things, as people read them.
//!
//! A number shows no more digits than its interval supports: the last digit shown has the position of the first digit
//! of the interval's half-width (or of the second, when the first is a 1), following the GUM (JCGM 100:2008, 7.2.6).

use analyze::answer::{Answer, CauseId, Culprit, Evidence, Removed, Site, Spread, Unit};
use analyze::causes::describe;
use recording::meta::Throughput;
use recording::words::RUN_TIME_CODE;

/// Most significant digits of a number, however exact it is: nobody reads more.
const MOST_DIGITS: i32 = 4;
/// Digits of a number whose precision is not known (a single run).
const DIGITS_OF_ONE_RUN: i32 = 2;
/// `±` states the longer side of an interval. When the shorter side is below this share of the longer, `±` would be
/// misleading, and both ends are written instead.
const LOPSIDED: f64 = 1.0 / 3.0;
/// When `±` is more than this share of the value, it reads as if the value might be 0.
const WIDE: f64 = 0.5;

/// A unit and how much of the base unit it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    factor: f64,
    unit: &'static str,
}

/// Units of time, smallest first. From ten minutes on, seconds are no longer read as a length of time.
const TIMES: &[(f64, Scale)] = &[
    (0.0, Scale { factor: 1e-9, unit: " ns" }),
    (1e-6, Scale { factor: 1e-6, unit: " µs" }),
    (1e-3, Scale { factor: 1e-3, unit: " ms" }),
    (1.0, Scale { factor: 1.0, unit: " s" }),
    (600.0, Scale { factor: 60.0, unit: " min" }),
    (7200.0, Scale { factor: 3600.0, unit: " h" }),
];

/// Multiples of a count.
const COUNTS: &[(f64, Scale)] = &[
    (0.0, Scale { factor: 1.0, unit: "" }),
    (1e4, Scale { factor: 1e3, unit: " k" }),
    (1e6, Scale { factor: 1e6, unit: " M" }),
    (1e9, Scale { factor: 1e9, unit: " G" }),
    (1e12, Scale { factor: 1e12, unit: " T" }),
];

impl Scale {
    /// The unit for a time in seconds.
    pub fn time(seconds: f64) -> Scale {
        Scale::pick(TIMES, seconds)
    }

    /// The multiple for a count or a rate.
    pub fn count(value: f64) -> Scale {
        Scale::pick(COUNTS, value)
    }

    fn pick(scales: &[(f64, Scale)], value: f64) -> Scale {
        // A value that would be rounded up to the next unit gets that unit: 999.96 ms is 1.00 s.
        let value = value.abs() * (1.0 + 0.5e-3);
        let found = scales.iter().rev().find(|(from, _)| value >= *from);
        found.map_or(Scale { factor: 1.0, unit: "" }, |(_, scale)| *scale)
    }

    /// The value with its unit and this many decimals.
    pub fn fixed(self, value: f64, decimals: i32) -> String {
        let number = rounded(value / self.factor, decimals);
        if value.is_finite() { number + self.unit } else { number }
    }

    /// The smallest value other than 0 that this many decimals can show.
    pub fn smallest(self, decimals: i32) -> f64 {
        self.factor * 10_f64.powi(-decimals)
    }

    /// Decimals that show this many significant digits of a value.
    pub fn decimals(self, value: f64, digits: i32) -> i32 {
        let value = value.abs() / self.factor;
        let e = exponent(value);
        // 9.996 with three digits becomes 10.0: rounding may carry into a new first digit.
        let step = 10_f64.powi(e + 1 - digits);
        let carried = (value / step).round() * step >= 10_f64.powi(e + 1) * (1.0 - 1e-9);
        (digits - 1 - e - i32::from(carried)).max(0)
    }

    /// Decimals that tell multiples of a round step apart: one for 0.5 s, none for 200 ms.
    pub fn decimals_of_step(self, step: f64) -> i32 {
        let size = step.abs() / self.factor;
        let exact = |decimals: &i32| {
            let parts = size * 10_f64.powi(*decimals);
            (parts - parts.round()).abs() < 1e-6 * parts.abs()
        };
        (0..6).find(exact).unwrap_or(0)
    }

    /// Decimals that an interval of this half-width supports for a value.
    pub fn decimals_within(self, value: f64, half: f64) -> i32 {
        let most = MOST_DIGITS - 1 - exponent(value / self.factor);
        let half = half / self.factor;
        if !(half > 0.0 && half.is_finite()) {
            return most.max(0);
        }
        let e = exponent(half);
        let leading = half / 10_f64.powi(e);
        let supported = if leading < 1.95 { 1 - e } else { -e };
        supported.min(most.max(0))
    }

    /// The value and the half-width of its interval: `1.93 s ± 0.02`. Without a half-width, two digits.
    pub fn within(self, value: f64, half: Option<f64>) -> String {
        let Some(half) = half else {
            return self.fixed(value, self.decimals(value, DIGITS_OF_ONE_RUN));
        };
        let decimals = self.decimals_within(value, half);
        // Rounded up, so that the shown interval contains the computed one.
        let step = 10_f64.powi(-decimals);
        let half = ((half / self.factor / step) - 1e-9).ceil().max(0.0) * step;
        if half == 0.0 {
            return self.fixed(value, decimals);
        }
        format!("{} ± {}", self.fixed(value, decimals), rounded(half, decimals))
    }

    /// The value and the ends of its interval, which need not be symmetric: `512 ms (478–546)`. The interval's width
    /// has two digits. Without an interval, two digits.
    pub fn between(self, value: f64, interval: Option<(f64, f64)>) -> String {
        let Some((low, high)) = interval else {
            return self.within(value, None);
        };
        let width = (high - low) / self.factor;
        if !(width > 0.0 && width.is_finite()) {
            return self.within(value, Some(0.0));
        }
        let most = MOST_DIGITS - 1 - exponent(value / self.factor);
        let decimals = (1 - exponent(width)).min(most.max(0));
        let end = |v: f64| rounded(v / self.factor, decimals);
        format!("{} ({}–{})", self.fixed(value, decimals), end(low), end(high))
    }
}

/// A time in seconds, three digits: `1.93 s`, `640 ms`.
pub fn time(seconds: f64) -> String {
    if seconds == 0.0 {
        return "0 s".to_owned();
    }
    let scale = Scale::time(seconds);
    scale.fixed(seconds, scale.decimals(seconds, 3))
}

/// A time in seconds, two digits: for estimates.
pub fn about(seconds: f64) -> String {
    let scale = Scale::time(seconds);
    scale.fixed(seconds, scale.decimals(seconds, 2))
}

/// Two times in the unit of the larger, two digits or a few more: `97 to 130 ms`, `0.10 to 1.2 s`.
pub fn range(low: f64, high: f64) -> String {
    let scale = Scale::time(low.abs().max(high.abs()));
    let end = |seconds: f64| match seconds == 0.0 {
        true => "0".to_owned(),
        false => rounded(seconds / scale.factor, scale.decimals(seconds, DIGITS_OF_ONE_RUN).min(2)),
    };
    let unit = if high.is_finite() { scale.unit } else { "" };
    format!("{} to {}{unit}", end(low), end(high))
}

impl Scale {
    /// The value and its interval: as [`Scale::within`], or with both ends when `±` would mislead because the interval
    /// is lopsided or too wide: `400 ms (370–790)`. Without an interval, two digits.
    pub fn around(self, value: f64, interval: Option<(f64, f64)>) -> String {
        let Some((low, high)) = interval else { return self.within(value, None) };
        let (longer, shorter) = ((high - value).max(value - low), (high - value).min(value - low));
        if !longer.is_finite() || (shorter >= LOPSIDED * longer && longer <= WIDE * value.abs()) {
            return self.within(value, Some(longer));
        }
        let decimals = self.decimals_within(value, longer).max(self.decimals(value, DIGITS_OF_ONE_RUN));
        let end = |end: f64| rounded(end / self.factor, decimals);
        let text = self.fixed(value, decimals);
        if longer == 0.0 || end(low) == end(high) { text } else { format!("{text} ({}–{})", end(low), end(high)) }
    }
}

/// A count: `312`, `12.3 k`, `2.99 M`.
pub fn count(value: f64) -> String {
    let scale = Scale::count(value);
    let whole = scale.factor == 1.0 && value.fract() == 0.0;
    scale.fixed(value, if whole { 0 } else { scale.decimals(value, 3) })
}

/// A share of 1: `47 %`. More than 0 that rounds to 0 is `<1 %`.
pub fn percent(share: f64) -> String {
    let hundredths = share * 100.0;
    if hundredths > 0.0 && hundredths < 0.5 {
        return "<1 %".to_owned();
    }
    format!("{} %", rounded(hundredths, 0))
}

/// A ratio and its interval with the digits that the interval supports: `3.2× (3.1–3.4)`. Without an interval, two
/// digits; an interval of width 0 is not shown.
pub fn times(ratio: f64, interval: Option<(f64, f64)>) -> String {
    let scale = Scale { factor: 1.0, unit: "×" };
    let Some((low, high)) = interval else {
        return scale.fixed(ratio, scale.decimals(ratio, DIGITS_OF_ONE_RUN));
    };
    let half = (high - ratio).max(ratio - low);
    // Two decimals are enough unless the ratio is far below 1; then it gets two digits.
    let decimals = scale.decimals_within(ratio, half).clamp(0, scale.decimals(ratio, DIGITS_OF_ONE_RUN).max(2));
    let [value, low, high] = [ratio, low, high].map(|v| rounded(v, decimals));
    let text = scale.fixed(ratio, decimals);
    // Leave out ends that differ from the value by less than the last digit.
    if half > 0.0 && (low != value || high != value) { format!("{text} ({low}–{high})") } else { text }
}

/// A plain number with this many decimals.
pub fn number(value: f64, decimals: i32) -> String {
    rounded(value, decimals)
}

/// A mean number of things: one decimal where the number is small.
pub fn mean(value: f64) -> String {
    rounded(value, if value < 9.95 { 1 } else { 0 })
}

/// What the program prints, as the title of its column.
pub fn printed(throughput: &Throughput) -> &str {
    if throughput.times { "printed time" } else { &throughput.unit }
}

/// The spread of what the runs printed: rates, or the seconds that they stand for.
pub fn printed_spread(throughput: &Throughput, rates: Spread) -> Spread {
    match throughput.times {
        true => {
            let Spread { median, low, high, min, max } = rates;
            Spread { median: 1.0 / median, low: 1.0 / high, high: 1.0 / low, min: 1.0 / max, max: 1.0 / min }
        }
        false => rates,
    }
}

/// The scale of what the runs printed, by the largest.
pub fn printed_scale(throughput: &Throughput, largest: f64) -> Scale {
    if throughput.times { Scale::time(largest) } else { Scale::count(largest) }
}

/// The unit of work in words that follow "per": `run`, `million operations` for Mops/s, `request` for requests/s.
pub fn unit_of_work(answer: &Answer) -> String {
    match &answer.throughput {
        Some(throughput) => unit_of(throughput),
        // The unit of a run alone is a request where these were counted.
        None if answer.curve.is_empty() && !answer.requests.is_empty() => "request".to_owned(),
        None => "run".to_owned(),
    }
}

fn unit_of(throughput: &Throughput) -> String {
    let unit = throughput.unit.strip_suffix("/s").unwrap_or("unit of work");
    let words = match unit {
        "ops" => "operation",
        "kops" | "Kops" => "thousand operations",
        "Mops" => "million operations",
        "Gops" => "billion operations",
        _ => return singular(unit),
    };
    words.to_owned()
}

/// The program's places that belong to a culprit, with a label: its callers, or, when the culprit is one of these
/// places itself, the other places where the same happens.
pub fn places(culprit: &Culprit) -> (&'static str, Vec<&Site>) {
    let same = |site: &Site| {
        culprit.function.is_some() && (&site.function, &site.module) == (&culprit.function, &culprit.module)
    };
    let itself = |site: &Site| same(site) && (&site.file, site.line) == (&culprit.file, culprit.line);
    let label = if culprit.callers.iter().any(same) { "also at" } else { "called from" };
    (label, culprit.callers.iter().filter(|site| !itself(site)).collect())
}

/// The module of a culprit, if it tells more than the file does. For run-time code with a file (a script), it would
/// only say where the runtime keeps that code.
pub fn module(culprit: &Culprit) -> Option<&str> {
    let script = culprit.file.is_some() && culprit.module.starts_with(RUN_TIME_CODE);
    (!script).then_some(culprit.module.as_str())
}

/// The value of a row of evidence, with its unit unless the row's words contain it.
pub fn measured(evidence: &Evidence) -> String {
    let value = evidence.value;
    // The words beside it often contain the unit.
    let said = |unit: &str| evidence.what.contains(unit) || evidence.what.starts_with("times ");
    match evidence.unit {
        Unit::Seconds => time(value),
        Unit::Milliseconds => time(value * 1e-3),
        Unit::Microseconds => time(value * 1e-6),
        Unit::PerSecond if said("a second") => count(value),
        Unit::PerSecond => format!("{}/s", count(value)),
        Unit::Ratio => format!("{}×", number(value, 2)),
        Unit::Share => percent(value),
        Unit::Of(what) if said(what) || what == "calls" => count(value),
        Unit::Of(what) if value == 1.0 => format!("1 {}", singular(what)),
        Unit::Of(what) => format!("{} {what}", count(value)),
    }
}

/// `thread` of `threads`, `switch` of `switches`, `query` of `queries`. A word that is no plural stays as it is.
fn singular(unit: &str) -> String {
    let ends = |ends: &[&str]| ends.iter().any(|end| unit.ends_with(end));
    if ends(&["ss", "us", "is", "series"]) || unit.len() < 2 {
        return unit.to_owned();
    }
    if let Some(stem) = unit.strip_suffix("ies").filter(|stem| stem.len() > 1 && !matches!(*stem, "mov" | "cook")) {
        return format!("{stem}y");
    }
    let cache = ends(&["aches"]) && !ends(&["eaches", "oaches"]);
    let long = ends(&["ches", "shes", "sses", "xes"]) && !cache;
    unit.strip_suffix(if long { "es" } else { "s" }).unwrap_or(unit).to_owned()
}

/// How the processors were limited in a sweep over processors; none when threads were counted.
pub fn bounds(answer: &Answer) -> Option<String> {
    if answer.counted.is_threads() {
        return None;
    }
    let set: Vec<&str> =
        answer.environment.iter().filter(|(_, value)| value == "{processors}").map(|(name, _)| name.as_str()).collect();
    let told = if set.is_empty() { String::new() } else { format!(", and told by {}", set.join(" and ")) };
    Some(format!(
        "The program was kept to so many processors by their affinity{told}; how many threads it starts is its own choice"
    ))
}

/// `1 thread`, `2 threads`.
pub fn plural(count: u64, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

/// Position of the first digit: 0 for 1 to 9.99, -1 for 0.1 to 0.999.
fn exponent(value: f64) -> i32 {
    let size = value.abs();
    if size > 0.0 && size.is_finite() { size.log10().floor() as i32 } else { 0 }
}

/// Negative decimals round to tens, hundreds, ...
fn rounded(value: f64, decimals: i32) -> String {
    if !value.is_finite() {
        return "?".to_owned();
    }
    let text = if decimals < 0 {
        let step = 10_f64.powi(-decimals);
        format!("{:.0}", (value / step).round() * step)
    } else {
        format!("{value:.*}", decimals.min(9) as usize)
    };
    match text.strip_prefix('-') {
        // No sign before a value that was rounded to 0.
        Some(digits) if digits.bytes().all(|b| matches!(b, b'0' | b'.')) => digits.to_owned(),
        Some(digits) => format!("−{digits}"),
        None => text,
    }
}

/// The number that people see of a cause, from its place in the verdict: `none`, which comes first where a program
/// scales, has none.
pub(crate) fn cause_number(answer: &Answer, at: usize) -> usize {
    let unnumbered = answer.verdict.causes.iter().take(at).filter(|cause| !cause.is_found()).count();
    at + 1 - unnumbered
}

/// A cause's title, the same everywhere, with the id that commands take: `Waiting in a loop (spin-wait)`.
pub fn title(id: CauseId) -> String {
    match describe(id) {
        Some(meta) => format!("{} ({})", meta.title, id.name()),
        None => id.name().to_owned(),
    }
}

/// The numbers of removed causes: "1 and 2".
pub(crate) fn which_causes(answer: &Answer, removed: &Removed) -> String {
    let numbers: Vec<String> = removed.numbers.iter().map(|at| cause_number(answer, *at).to_string()).collect();
    numbers.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_change_their_unit_where_digits_would_run_out() {
        let cases = [
            (0.0, "0 s"),
            (1e-9, "1.00 ns"),
            (9.994e-7, "999 ns"),
            (9.996e-7, "1.00 µs"),
            (0.00064, "640 µs"),
            (0.64, "640 ms"),
            (0.9994, "999 ms"),
            (0.9996, "1.00 s"),
            (1.9, "1.90 s"),
            (59.94, "59.9 s"),
            (599.0, "599 s"),
            (600.0, "10.0 min"),
            (7199.0, "2.00 h"),
            (90_000.0, "25.0 h"),
            (-1.9, "−1.90 s"),
        ];
        for (seconds, text) in cases {
            assert_eq!(time(seconds), text, "{seconds}");
        }
        assert_eq!(about(1.93), "1.9 s");
        assert_eq!(time(f64::NAN), "?");
    }

    #[test]
    fn one_of_many() {
        let cases = [
            ("threads", "thread"),
            ("batches", "batch"),
            ("caches", "cache"),
            ("searches", "search"),
            ("boxes", "box"),
            ("passes", "pass"),
            ("sizes", "size"),
            ("queries", "query"),
            ("movies", "movie"),
            ("series", "series"),
            ("mass", "mass"),
            ("s", "s"),
            ("", ""),
        ];
        for (many, one) in cases {
            assert_eq!(singular(many), one, "{many}");
        }
    }

    #[test]
    fn counts() {
        let cases = [
            (0.0, "0"),
            (7.0, "7"),
            (0.5, "0.500"),
            (312.0, "312"),
            (9_994.0, "9994"),
            (9_999.0, "10.0 k"),
            (10_000.0, "10.0 k"),
            (999_400.0, "999 k"),
            (999_600.0, "1.00 M"),
            (2_994_237.0, "2.99 M"),
            (4.1e9, "4.10 G"),
            (6.5e13, "65.0 T"),
        ];
        for (value, text) in cases {
            assert_eq!(count(value), text, "{value}");
        }
    }

    #[test]
    fn both_ends_where_plus_and_minus_would_be_wrong() {
        let ms = |value: f64, low: f64, high: f64| Scale::time(value).around(value, Some((low, high)));
        assert_eq!(ms(1.934, 1.914, 1.955), "1.93 s ± 0.03");
        assert_eq!(ms(0.4, 0.37, 0.79), "400 ms (370–790)");
        assert_eq!(ms(0.4, 0.05, 0.85), "400 ms (50–850)");
        assert_eq!(ms(0.5, 0.27, 0.74), "500 ms ± 300");
        assert_eq!(ms(1.3, 1.03, 1.33), "1.3 s (1.0–1.3)");
        assert_eq!(ms(2.0, 2.0, 2.0), "2.000 s");
        assert_eq!(Scale::time(1.9345).around(1.9345, None), "1.9 s");
        assert_eq!(range(0.097, 1.2), "0.10 to 1.2 s");
        assert_eq!(range(0.000_77, 0.0101), "0.77 to 10 ms");
        assert_eq!(range(0.0, 0.126), "0 to 126 ms");
    }

    fn row(what: &str, value: f64, unit: Unit) -> String {
        measured(&Evidence { what: what.to_owned(), value, unit, source: "waits" })
    }

    #[test]
    fn evidence_tells_its_unit_once() {
        assert_eq!(row("mean wait", 4000.0, Unit::Microseconds), "4.00 ms");
        assert_eq!(row("times a thread blocked", 189.0, Unit::Of("waits")), "189");
        assert_eq!(row("context switches a second", 526.0, Unit::PerSecond), "526");
        assert_eq!(row("threads that waited", 1.0, Unit::Of("threads")), "1");
        assert_eq!(row("it was waited for by", 1.0, Unit::Of("threads")), "1 thread");
        assert_eq!(row("taken off the processor", 1.0, Unit::Of("switches")), "1 switch");
        assert_eq!(row("efficiency", 0.96, Unit::Share), "96 %");
        assert_eq!(row("time blocked", 0.0, Unit::Seconds), "0 s");
    }

    #[test]
    fn units_of_work_follow_per() {
        let unit = |unit: &str| {
            unit_of(&Throughput { pattern: String::new(), unit: unit.to_owned(), given: false, times: false })
        };
        assert_eq!(unit("Mops/s"), "million operations");
        assert_eq!(unit("requests/s"), "request");
        assert_eq!(unit("MB"), "unit of work");
    }

    #[test]
    fn other_places_of_a_culprit_are_no_callers() {
        let site = |function: &str, line| Site {
            function: Some(function.to_owned()),
            module: "app".to_owned(),
            file: Some("app.c".to_owned()),
            path: None,
            relative: None,
            line: Some(line),
            address: "0x1".to_owned(),
        };
        let mut culprit = Culprit {
            function: Some("insert".to_owned()),
            module: "app".to_owned(),
            file: Some("app.c".to_owned()),
            path: None,
            relative: None,
            line: Some(7),
            object: None,
            object_name: None,
            callers: vec![site("insert", 7), site("insert", 9)],
        };
        assert_eq!(places(&culprit), ("also at", vec![&site("insert", 9)]));
        culprit.callers = vec![site("work", 30)];
        assert_eq!(places(&culprit), ("called from", vec![&site("work", 30)]));
    }

    #[test]
    fn percents() {
        let cases = [
            (0.0, "0 %"),
            (0.001, "<1 %"),
            (0.00499, "<1 %"),
            (0.0051, "1 %"),
            (0.474, "47 %"),
            (0.996, "100 %"),
            (1.3, "130 %"),
            (-0.03, "−3 %"),
            (-0.001, "0 %"),
        ];
        for (share, text) in cases {
            assert_eq!(percent(share), text, "{share}");
        }
    }

    #[test]
    fn no_more_digits_than_the_interval_supports() {
        let s = |value: f64, half: f64| Scale::time(value).within(value, Some(half));
        assert_eq!(s(1.9345, 0.021), "1.93 s ± 0.03");
        assert_eq!(s(1.9345, 0.2), "1.9 s ± 0.2");
        assert_eq!(s(1.9345, 0.14), "1.93 s ± 0.14");
        assert_eq!(s(1.9345, 3.0), "2 s ± 3");
        assert_eq!(s(1.9342, 0.000_01), "1.934 s ± 0.001");
        assert_eq!(s(1.9342, 0.0), "1.934 s");
        assert_eq!(s(0.512, 0.034), "510 ms ± 40");
        assert_eq!(Scale::time(1.9345).within(1.9345, None), "1.9 s");
        assert_eq!(Scale::count(8.634e6).within(8.634e6, Some(0.05e6)), "8.63 M ± 0.05");
    }

    #[test]
    fn an_interval_need_not_be_symmetrical() {
        let s = |value: f64, low: f64, high: f64| Scale::time(value).between(value, Some((low, high)));
        assert_eq!(s(0.412, 0.381, 0.794), "410 ms (380–790)");
        assert_eq!(s(0.512, 0.478, 0.546), "512 ms (478–546)");
        assert_eq!(s(1.934, 1.934, 1.934), "1.934 s");
        assert_eq!(s(1.934, 1.933_99, 1.934_01), "1.934 s (1.934–1.934)");
        assert_eq!(Scale::time(1.9).between(1.9345, None), "1.9 s");
        assert_eq!(Scale::count(1.16e8).between(1.16e8, Some((1.1e8, 1.22e8))), "116 M (110–122)");
        assert!(s(0.412, f64::NAN, 0.794).starts_with("412"));
    }

    #[test]
    fn multiples_of_a_step_have_as_many_decimals_as_it() {
        let of = |step: f64, high: f64| Scale::time(high).decimals_of_step(step);
        assert_eq!([of(0.5, 1.5), of(0.25, 1.5), of(1.0, 4.0), of(0.2, 0.8), of(0.0025, 0.01)], [1, 2, 0, 0, 1]);
        assert_eq!([of(f64::NAN, 1.0), of(0.0, 1.0)], [0, 0]);
    }

    #[test]
    fn ratios() {
        assert_eq!(times(3.218, Some((3.15, 3.28))), "3.22× (3.15–3.28)");
        assert_eq!(times(3.218, Some((2.9, 3.3))), "3.2× (2.9–3.3)");
        assert_eq!(times(14.62, Some((13.8, 15.4))), "14.6× (13.8–15.4)");
        assert_eq!(times(14.62, Some((11.6, 17.6))), "15× (12–18)");
        assert_eq!(times(1.66, Some((1.44, 1.72))), "1.7× (1.4–1.7)");
        assert_eq!(times(1.0, Some((1.0, 1.0))), "1.00×");
        assert_eq!(times(28.5, Some((28.499, 28.501))), "28.50×");
        assert_eq!(times(0.0028, Some((0.002_79, 0.002_81))), "0.0028×");
        assert_eq!(times(0.0661, Some((0.0632, 0.0702))), "0.066× (0.063–0.070)");
        assert_eq!(times(0.42, None), "0.42×");
        assert_eq!(times(f64::NAN, Some((f64::NAN, 1.0))), "?");
        assert_eq!(plural(1, "thread"), "1 thread");
        assert_eq!(plural(12, "run"), "12 runs");
    }
}
