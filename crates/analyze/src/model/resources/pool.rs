//! A pool: things of one kind that threads wait for, by the place that acquires one.

use super::hand_over::Hold;
use crate::model::code::Code;
use recording::{ThreadId, WaitId};
use std::collections::BTreeSet;

/// Things of one kind that threads wait for.
#[derive(Debug)]
pub struct Pool<'t> {
    /// The program's function that acquires.
    pub place: Code<'t>,
    /// The waits for one.
    pub waits: BTreeSet<WaitId>,
    /// Threads that waited.
    pub waiters: BTreeSet<ThreadId>,
    /// How many were held at once while others waited; `None` where the holds do not show it.
    pub size: Option<usize>,
    /// When threads held one, as far as that could be told.
    pub holds: Vec<Hold>,
}

/// Module, function name, and the address (0 for a function with a name).
pub type AcquireFunction<'t> = (&'t str, Option<&'t str>, u64);

/// The key of a place that acquires.
pub fn function<'t>(code: &Code<'t>) -> AcquireFunction<'t> {
    (code.module, code.name(), if code.name().is_some() { 0 } else { code.frame.address })
}
