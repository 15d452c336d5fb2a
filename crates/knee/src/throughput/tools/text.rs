//! Numbers and times in lines of text.

/// The text after a label, in the first line that begins with it.
pub(super) fn after_label<'t>(lines: &[&'t str], label: &str) -> Option<&'t str> {
    lines.iter().find_map(|line| line.strip_prefix(label)).map(str::trim)
}

/// The number at the beginning of a text: `1,234.5 [#/sec]`, `12%`.
pub(super) fn number(text: &str) -> Option<f64> {
    let digits: String = text
        .trim_start()
        .chars()
        .take_while(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | 'e' | '+' | '-'))
        .filter(|c| *c != ',')
        .collect();
    digits.trim_end_matches(['.', 'e', '-', '+']).parse().ok().filter(|number: &f64| number.is_finite())
}

/// The same, as a count.
pub(super) fn count(text: &str) -> Option<u64> {
    number(text).filter(|number| *number >= 0.0).map(|number| number as u64)
}

/// `635.91us`, `1.2ms`, `3s`, `1.5m`, as nanoseconds.
pub(super) fn time_ns(text: &str) -> Option<u64> {
    let text = text.trim().trim_end_matches([',', ';']);
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim();
    let scale = match unit {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" | "msec" => 1e6,
        "s" | "sec" | "secs" => 1e9,
        "m" => 60e9,
        _ => return None,
    };
    Some((number(text)? * scale).round() as u64)
}

/// Milliseconds, written without a unit.
pub(super) fn milliseconds(text: &str) -> Option<u64> {
    number(text).filter(|number| *number >= 0.0).map(|number| (number * 1e6).round() as u64)
}

/// The rate of successful requests, from the rate of all of them.
pub(super) fn good(rate: f64, failed: u64, all: u64) -> f64 {
    if all == 0 { rate } else { rate * (1.0 - (failed.min(all) as f64 / all as f64)) }
}
