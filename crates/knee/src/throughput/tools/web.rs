//! wrk, wrk2, ab, h2load, vegeta, k6, hey and oha.

use super::report::LoadReport;
use super::text::{after_label, count, good, milliseconds, number, time_ns};

const UNIT: &str = "requests/s";

/// `99%   5.80ms`, and in wrk2 `99.000%    5.80ms`.
fn percentile<'t>(lines: &[&'t str], percent: f64) -> Option<&'t str> {
    lines.iter().find_map(|line| {
        let (share, rest) = line.split_once('%')?;
        let share: f64 = share.trim().parse().ok()?;
        ((share - percent).abs() < 1e-6).then(|| rest.trim_start_matches('%').trim())
    })
}

pub(super) fn wrk(lines: &[&str]) -> Option<LoadReport> {
    let rate = number(after_label(lines, "Requests/sec:")?)?;
    // `22464657 requests in 30.00s, 17.76GB read`
    let all =
        lines.iter().find(|line| line.contains(" requests in ") && line.contains(" read")).and_then(|l| count(l))?;
    let refused = after_label(lines, "Non-2xx or 3xx responses:").and_then(count).unwrap_or(0);
    // `connect 0, read 0, write 0, timeout 5`
    let sockets = after_label(lines, "Socket errors:").unwrap_or_default();
    let broken: u64 = sockets.split(',').filter_map(|part| count(part.rsplit_once(' ')?.1)).sum();
    let time = |percent| percentile(lines, percent).and_then(time_ns);
    Some(LoadReport {
        from: "wrk's Requests/sec",
        unit: UNIT,
        // Requests that broke at a socket are not among the completed ones.
        rate: good(rate, refused, all),
        errors: Some(refused + broken),
        median_ns: time(50.0),
        at_99_ns: time(99.0),
    })
}

pub(super) fn ab(lines: &[&str]) -> Option<LoadReport> {
    let rate = number(after_label(lines, "Requests per second:")?)?;
    let all = count(after_label(lines, "Complete requests:")?)?;
    let failed = after_label(lines, "Failed requests:").and_then(count).unwrap_or(0);
    // `(Connect: 0, Receive: 0, Length: 12, Exceptions: 0)`: an answer whose length differs from the first one's did
    // not fail.
    let kinds = lines.iter().find(|line| line.starts_with("(Connect:")).map(|line| line.trim_matches(['(', ')']));
    let other_length =
        kinds.into_iter().flat_map(|kinds| kinds.split(',')).filter_map(|kind| kind.trim().strip_prefix("Length:"));
    let failed = failed.saturating_sub(other_length.filter_map(count).sum());
    let refused = after_label(lines, "Non-2xx responses:").and_then(count).unwrap_or(0);
    let time = |percent| percentile(lines, percent).and_then(milliseconds);
    Some(LoadReport {
        from: "ab's Requests per second",
        unit: UNIT,
        rate: good(rate, failed + refused, all),
        errors: Some(failed + refused),
        median_ns: time(50.0),
        at_99_ns: time(99.0),
    })
}

/// Its rate is of successful requests.
pub(super) fn h2load(lines: &[&str]) -> Option<LoadReport> {
    // `finished in 5.00s, 1234.56 req/s, 1.20MB/s`
    let finished = after_label(lines, "finished in ")?;
    let rate = finished.split(',').find_map(|part| number(part.trim().strip_suffix("req/s")?))?;
    // `10000 total, 10000 started, 10000 done, 9990 succeeded, 10 failed, 0 errored, 0 timeout`
    let requests = after_label(lines, "requests:").unwrap_or_default();
    let failed = requests.split(',').find_map(|part| count(part.trim().strip_suffix("failed")?));
    Some(LoadReport { from: "h2load's req/s", unit: UNIT, rate, errors: failed, median_ns: None, at_99_ns: None })
}

/// Its throughput is of successful requests; its rate is of all requests.
pub(super) fn vegeta(lines: &[&str]) -> Option<LoadReport> {
    let row = |label: &str| {
        lines.iter().find(|line| line.starts_with(label) && line.contains('[')).and_then(|line| line.split_once(']'))
    };
    let (names, values) = row("Requests")?;
    if !names.contains("total, rate, throughput") {
        return None;
    }
    let rate = number(values.split(',').nth(2)?)?;
    // `0:1  200:499`
    let codes = row("Status Codes").map(|(_, codes)| codes).unwrap_or_default();
    let failed = codes.split_whitespace().filter_map(|pair| pair.split_once(':')).filter_map(|(code, times)| {
        let failed = !(200..400).contains(&code.parse::<u32>().ok()?);
        count(times).filter(|_| failed)
    });
    let latencies = row("Latencies");
    let time = |name: &str| {
        let (names, values) = latencies?;
        let at = names.split_once('[')?.1.split(',').position(|each| each.trim() == name)?;
        time_ns(values.split(',').nth(at)?)
    };
    Some(LoadReport {
        from: "vegeta's throughput",
        unit: UNIT,
        rate,
        errors: Some(failed.sum()),
        median_ns: time("50"),
        at_99_ns: time("99"),
    })
}

pub(super) fn k6(lines: &[&str]) -> Option<LoadReport> {
    // `http_reqs......................: 1000   99.8/s`
    let metric = |name: &str| {
        lines
            .iter()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('.')?.split_once(':'))
            .map(|(_, value)| value.trim())
    };
    let requests = metric("http_reqs")?;
    let rate = requests.split_whitespace().find_map(|word| number(word.strip_suffix("/s")?))?;
    let all = count(requests)?;
    // `0.50%  ✓ 5  ✗ 995`, later `0.50% 5 out of 1000`
    let share = metric("http_req_failed").and_then(number).unwrap_or(0.0) / 100.0;
    let failed = (all as f64 * share).round() as u64;
    let time = |name: &str| {
        let values = metric("http_req_duration")?;
        values.split_whitespace().find_map(|word| time_ns(word.strip_prefix(name)?.strip_prefix('=')?))
    };
    Some(LoadReport {
        from: "k6's http_reqs",
        unit: UNIT,
        rate: good(rate, failed, all),
        errors: Some(failed),
        median_ns: time("med"),
        at_99_ns: time("p(99)"),
    })
}

/// oha resembles hey, but its rate counts answers only, and it counts requests cut off at the end as errors.
pub(super) fn hey_or_oha(lines: &[&str]) -> Option<LoadReport> {
    let rate = number(after_label(lines, "Requests/sec:")?)?;
    let from = |label: &str| lines.iter().position(|line| line.starts_with(label)).and_then(|at| lines.get(at + 1..));
    let pairs = |label: &str| -> Vec<(String, String)> {
        let part = from(label).unwrap_or_default().iter().take_while(|line| line.starts_with('['));
        part.filter_map(|line| line.trim_start_matches('[').split_once(']'))
            .map(|(a, b)| (a.to_owned(), b.trim().to_owned()))
            .collect()
    };
    let statuses = pairs("Status code distribution:");
    let is_oha = lines.iter().any(|line| line.starts_with("Success rate:"));
    if statuses.is_empty() && !is_oha && !lines.iter().any(|line| line.starts_with("Slowest:")) {
        return None;
    }
    let answers: u64 = statuses.iter().filter_map(|(_, times)| count(times)).sum();
    let refused = statuses.iter().filter(|(code, _)| code.parse().is_ok_and(|code: u32| !(200..400).contains(&code)));
    let refused: u64 = refused.filter_map(|(_, times)| count(times)).sum();
    let broken = pairs("Error distribution:").into_iter().filter(|(_, what)| !what.contains("aborted due to deadline"));
    let broken: u64 = broken.filter_map(|(times, _)| count(&times)).sum();
    let rate = match is_oha {
        true => good(rate, refused, answers),
        false => good(rate, refused + broken, answers + broken),
    };
    let time = |percent| {
        let time = percentile(lines, percent)?.strip_prefix("in ")?;
        time_ns(time)
    };
    Some(LoadReport {
        from: if is_oha { "oha's Requests/sec" } else { "hey's Requests/sec" },
        unit: UNIT,
        rate,
        errors: Some(refused + broken),
        median_ns: time(50.0),
        at_99_ns: time(99.0),
    })
}
