//! Numbers as people read them. May import: analyze (the names of causes).
//!
//! A number shows no more digits than its interval supports: the last digit shown is the first (or, where that digit
//! is a 1, the second) of the interval's half-width, as the GUM (JCGM 100:2008, 7.2.6) has it.

use analyze::answer::CauseId;

/// Most significant digits that a number is given, however exact it is: nobody reads more.
const MOST_DIGITS: i32 = 4;
/// Digits of a number whose exactness is not known (a single run).
const DIGITS_OF_ONE_RUN: i32 = 2;

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
        // What would be rounded up to the next unit belongs to it: 999.96 ms is 1.00 s.
        let value = value.abs() * (1.0 + 0.5e-3);
        let found = scales.iter().rev().find(|(from, _)| value >= *from);
        found.map_or(Scale { factor: 1.0, unit: "" }, |(_, scale)| *scale)
    }

    /// The value with its unit, with so many decimals.
    pub fn fixed(self, value: f64, decimals: i32) -> String {
        let number = rounded(value / self.factor, decimals);
        if value.is_finite() { number + self.unit } else { number }
    }

    /// Decimals that show so many significant digits of a value.
    pub fn decimals(self, value: f64, digits: i32) -> i32 {
        let value = value.abs() / self.factor;
        let e = exponent(value);
        // 9.996 with three digits becomes 10.0: rounding may carry into a new first digit.
        let step = 10_f64.powi(e + 1 - digits);
        let carried = (value / step).round() * step >= 10_f64.powi(e + 1) * (1.0 - 1e-9);
        (digits - 1 - e - i32::from(carried)).max(0)
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
        // Rounded up, so that the interval shown holds the interval found.
        let step = 10_f64.powi(-decimals);
        let half = ((half / self.factor / step) - 1e-9).ceil().max(0.0) * step;
        if half == 0.0 {
            return self.fixed(value, decimals);
        }
        format!("{} ± {}", self.fixed(value, decimals), rounded(half, decimals))
    }
}

/// A time in seconds, three digits: `1.93 s`, `640 ms`.
pub fn time(seconds: f64) -> String {
    let scale = Scale::time(seconds);
    scale.fixed(seconds, scale.decimals(seconds, 3))
}

/// A time in seconds, two digits: for what is only estimated.
pub fn about(seconds: f64) -> String {
    let scale = Scale::time(seconds);
    scale.fixed(seconds, scale.decimals(seconds, 2))
}

/// A count: `312`, `12.3 k`, `2.99 M`.
pub fn count(value: f64) -> String {
    let scale = Scale::count(value);
    let whole = scale.factor == 1.0 && value.fract() == 0.0;
    scale.fixed(value, if whole { 0 } else { scale.decimals(value, 3) })
}

/// A share of 1: `47 %`. What is there but rounds to nothing is `<1 %`.
pub fn percent(share: f64) -> String {
    let hundredths = share * 100.0;
    if hundredths > 0.0 && hundredths < 0.5 {
        return "<1 %".to_owned();
    }
    format!("{} %", rounded(hundredths, 0))
}

/// A ratio and its interval with the digits that the interval supports: `3.2× (3.1–3.4)`. Without an interval, two
/// digits; an interval of no width is not shown.
pub fn times(ratio: f64, interval: Option<(f64, f64)>) -> String {
    let scale = Scale { factor: 1.0, unit: "×" };
    let Some((low, high)) = interval else {
        return scale.fixed(ratio, scale.decimals(ratio, DIGITS_OF_ONE_RUN));
    };
    let half = (high - ratio).max(ratio - low);
    let decimals = scale.decimals_within(ratio, half).clamp(0, 2);
    let text = scale.fixed(ratio, decimals);
    if half > 0.0 { format!("{text} ({}–{})", rounded(low, decimals), rounded(high, decimals)) } else { text }
}

/// A plain number with so many decimals.
pub fn number(value: f64, decimals: i32) -> String {
    rounded(value, decimals)
}

/// The name of a cause, as the JSON has it.
pub fn cause(id: CauseId) -> String {
    let name = serde_json::to_value(id).ok();
    name.as_ref().and_then(|n| n.as_str()).unwrap_or("unknown").to_owned()
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
        // No sign before what was rounded to nothing.
        Some(digits) if digits.bytes().all(|b| matches!(b, b'0' | b'.')) => digits.to_owned(),
        Some(digits) => format!("−{digits}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_change_their_unit_where_digits_would_run_out() {
        let cases = [
            (0.0, "0.00 ns"),
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
    fn ratios() {
        assert_eq!(times(3.218, Some((3.15, 3.28))), "3.22× (3.15–3.28)");
        assert_eq!(times(3.218, Some((2.9, 3.3))), "3.2× (2.9–3.3)");
        assert_eq!(times(14.62, Some((13.8, 15.4))), "14.6× (13.8–15.4)");
        assert_eq!(times(14.62, Some((11.6, 17.6))), "15× (12–18)");
        assert_eq!(times(1.66, Some((1.44, 1.72))), "1.7× (1.4–1.7)");
        assert_eq!(times(1.0, Some((1.0, 1.0))), "1.00×");
        assert_eq!(times(0.42, None), "0.42×");
        assert_eq!(times(f64::NAN, Some((f64::NAN, 1.0))), "?");
        assert_eq!(plural(1, "thread"), "1 thread");
        assert_eq!(plural(12, "run"), "12 runs");
    }
}
