//! What load generators print at the end: how much work was done, what failed, how long it took.
//!
//! Rooms: `report` their common report; `web` those that speak HTTP; `stores` those for databases; `text` numbers and
//! times as they print them. The rate counts successful requests only: if a tool includes failed ones, they are subtracted.
//!
//! May import: nothing of knee's.

mod report;
mod stores;
#[cfg(test)]
mod tests;
mod text;
mod web;

pub(crate) use report::LoadReport;

/// Parses the lines of one program's output.
type OutputReader = fn(&[&str]) -> Option<LoadReport>;

/// Parses the output of a load; none if the program is not known or its output was cut short.
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
