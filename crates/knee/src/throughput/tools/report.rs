//! The report that a load generator prints about its run.

/// The report of a load about its run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoadReport {
    /// The program, and the name of the line with the number.
    pub(crate) from: &'static str,
    /// What is counted.
    pub(crate) unit: &'static str,
    /// Successful units of work per second.
    pub(crate) rate: f64,
    /// How many failed, if it says so.
    pub(crate) errors: Option<u64>,
    /// The median time of a request, nanoseconds.
    pub(crate) median_ns: Option<u64>,
    /// The time that 99 % of the requests took at most, nanoseconds.
    pub(crate) at_99_ns: Option<u64>,
}
