//! The causes, one folder each, and their registry: to add a cause, add a folder and a line here.
//!
//! A cause is *found* with its culprit and evidence, *clear* when what was checked shows that it is not there, or
//! *unsure* when evidence is missing. May import: `account`, `answer`, `curve`,
//! `facts`, `model`, `runtimes`, `sharing`, `statistics`, `words`, `recording`.

pub mod lines;
pub mod none;
pub mod shared;

pub use shared::{Meta, NO_PLACES, Outcome, Removal, Standing};

use crate::answer::CauseId;

/// Declares a module for each cause, and lists their [`Meta`].
macro_rules! causes {
    ($($folder:ident)*) => {
        $(pub mod $folder;)*

        /// All causes but [`none`], which stands when none of them is found.
        pub const ALL: &[&Meta] = &[$(&$folder::META),*];
    };
}

causes! {
    user_lock
    resource_pool
    condition_wait
    imbalance
    serial_phase
    allocator
    kernel_lock
    page_fault
    thread_creation
    failing_syscall
    io_wait
    oversubscription
    cpu_pressure
    load
    load_limit
    service
    cpu_quota
    steal
    heat
    compilation
    memory_bound
    extra_work
    spin_wait
    false_sharing
    true_sharing
}

/// All causes but [`none`].
pub fn all() -> impl Iterator<Item = &'static Meta> {
    ALL.iter().copied()
}

/// All causes, and [`none`].
pub fn with_none() -> impl Iterator<Item = &'static Meta> {
    all().chain([&none::META])
}

/// The description of a cause.
pub fn describe(id: CauseId) -> Option<&'static Meta> {
    with_none().find(|meta| meta.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_causes_have_the_same_name_title_or_colour() {
        let ids: BTreeSet<CauseId> = with_none().map(|meta| meta.id).collect();
        let titles: BTreeSet<&str> = with_none().map(|meta| meta.title).collect();
        let colours: BTreeSet<&str> = with_none().map(|meta| meta.colour).collect();
        assert_eq!((ids.len(), titles.len(), colours.len()), (ALL.len() + 1, ALL.len() + 1, ALL.len() + 1));
    }
}
