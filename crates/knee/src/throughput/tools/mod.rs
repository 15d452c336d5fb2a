//! What programs that ask a server for work print at their end: how much they got done, what failed, how long it took.
//!
//! Rooms: `report` what they say; `web` those that speak HTTP; `stores` those that ask databases; `text` numbers and
//! times as they write them. A rate is of what succeeded: what they count among it although it failed is taken off.
//!
//! May import: nothing of knee's.

mod report;
mod stores;
#[cfg(test)]
mod tests;
mod text;
mod web;

pub(crate) use report::LoadReport;

/// Reads the lines of one program's output.
type OutputReader = fn(&[&str]) -> Option<LoadReport>;

/// Reads the output of a load; none where it is of no known program, or of one that was cut short.
pub(crate) fn read(output: &str) -> Option<LoadReport> {
    // Progress displays end their lines with a carriage return.
    let lines: Vec<&str> = output.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).collect();
    let readers: [OutputReader; 10] = [
        web::wrk,
        web::ab,
        web::h2load,
        web::vegeta,
        web::k6,
        web::hey_or_oha,
        stores::redis_benchmark,
        stores::memtier,
        stores::pgbench,
        stores::sysbench,
    ];
    readers.iter().find_map(|reader| reader(&lines)).filter(|report| report.rate.is_finite() && report.rate >= 0.0)
}
