//! redis-benchmark, memtier_benchmark, pgbench and sysbench.

use super::report::LoadReport;
use super::text::{after_label, count, milliseconds, number};

/// One row per test, each with equally many requests; several tests give the rate of all of them together.
pub(super) fn redis_benchmark(lines: &[&str]) -> Option<LoadReport> {
    let mut rates: Vec<f64> = Vec::new();
    let (mut median, mut at_99) = (None, None);
    for (at, line) in lines.iter().enumerate() {
        if line.starts_with('"') {
            // --csv: "SET","123456.79","0.222","0.080","0.215","0.335","0.431","1.200"
            let fields: Vec<&str> = line.split(',').map(|field| field.trim_matches('"')).collect();
            if let Some(rate) = fields.get(1).and_then(|field| number(field)) {
                rates.push(rate);
                median = fields.get(4).and_then(|field| milliseconds(field));
                at_99 = fields.get(6).and_then(|field| milliseconds(field));
            }
        } else if let Some((before, after)) = line.split_once(" requests per second") {
            // `SET: 123456.79 requests per second, p50=0.207 msec`; `throughput summary: 123456.79 requests per second`
            if let Some(rate) = before.rsplit([' ', ':']).next().and_then(number) {
                rates.push(rate);
                median = after.split_once("p50=").and_then(|(_, time)| milliseconds(time)).or(median);
            }
        } else if line.starts_with("latency summary (msec):") {
            let of = |name: &str| {
                let column = lines.get(at + 1)?.split_whitespace().position(|each| each == name)?;
                milliseconds(lines.get(at + 2)?.split_whitespace().nth(column)?)
            };
            (median, at_99) = (of("p50"), of("p99"));
        }
    }
    let known = |line: &&&str| line.contains(" requests per second") || line.starts_with("\"test\",\"rps\"");
    let first = lines.iter().find(known)?;
    // In the output of ab and others the label comes first: `Requests per second:`.
    let of_redis = !first.contains("Requests per second") && !rates.is_empty() && rates.iter().all(|rate| *rate > 0.0);
    let one = rates.len() == 1;
    let errors = lines.iter().filter(|line| line.starts_with("Error from server")).count() as u64;
    of_redis.then(|| LoadReport {
        from: "redis-benchmark's requests per second",
        unit: "requests/s",
        rate: rates.len() as f64 / rates.iter().map(|rate| 1.0 / rate).sum::<f64>(),
        errors: Some(errors),
        median_ns: median.filter(|_| one),
        at_99_ns: at_99.filter(|_| one),
    })
}

pub(super) fn memtier(lines: &[&str]) -> Option<LoadReport> {
    let heading = lines.iter().rfind(|line| line.starts_with("Type") && line.contains("Ops/sec"))?;
    // Columns are separated by two spaces: `Avg. Latency` is one column.
    let columns: Vec<&str> = heading.split("  ").map(str::trim).filter(|column| !column.is_empty()).collect();
    let totals: Vec<&str> = lines.iter().rfind(|line| line.starts_with("Totals"))?.split_whitespace().collect();
    let of = |name: &str| totals.get(columns.iter().position(|column| *column == name)?).copied();
    Some(LoadReport {
        from: "memtier_benchmark's Ops/sec",
        unit: "ops/s",
        rate: number(of("Ops/sec")?)?,
        errors: None,
        median_ns: of("p50 Latency").and_then(milliseconds),
        at_99_ns: of("p99 Latency").and_then(milliseconds),
    })
}

/// Its rate counts successful transactions; older versions print two rates, with and without the time to connect.
pub(super) fn pgbench(lines: &[&str]) -> Option<LoadReport> {
    let tps = |line: &&str| line.strip_prefix("tps = ").filter(|rest| rest.contains("connection")).and_then(number);
    let rate = lines.iter().rev().find_map(tps)?;
    Some(LoadReport {
        from: "pgbench's tps",
        unit: "transactions/s",
        rate,
        errors: after_label(lines, "number of failed transactions:").and_then(count),
        median_ns: None,
        at_99_ns: None,
    })
}

pub(super) fn sysbench(lines: &[&str]) -> Option<LoadReport> {
    lines.iter().find(|line| line.starts_with("sysbench "))?;
    // `transactions:  20  (2.0 per sec.)`
    let in_brackets = |label| after_label(lines, label).and_then(|rest| number(rest.split_once('(')?.1));
    let (rate, unit) = match (in_brackets("transactions:"), after_label(lines, "events per second:").and_then(number)) {
        (Some(rate), _) => (rate, "transactions/s"),
        (None, Some(rate)) => (rate, "events/s"),
        (None, None) => match after_label(lines, "events/s (eps):").and_then(number) {
            Some(rate) => (rate, "events/s"),
            None => (in_brackets("Total operations:")?, "operations/s"),
        },
    };
    Some(LoadReport {
        from: "sysbench's rate",
        unit,
        rate,
        errors: after_label(lines, "ignored errors:").and_then(count),
        median_ns: after_label(lines, "50th percentile:").and_then(milliseconds),
        at_99_ns: after_label(lines, "99th percentile:").and_then(milliseconds),
    })
}
