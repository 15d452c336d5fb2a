//! What a load says of its run.

/// What a load says of its run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoadReport {
    /// The program, and the line that has the number.
    pub(crate) from: &'static str,
    /// What is counted.
    pub(crate) unit: &'static str,
    /// Units of work that succeeded, a second.
    pub(crate) rate: f64,
    /// How many failed, where it says so.
    pub(crate) errors: Option<u64>,
    /// The median time of one, nanoseconds.
    pub(crate) median_ns: Option<u64>,
    /// The time that 99 % of them took at most, nanoseconds.
    pub(crate) at_99_ns: Option<u64>,
}
