//! The trials that knee knows: to add one, add it to a file here and to [`ALL`].
//!
//! May import: `trials`, `analyze`.

mod allocators;
mod controls;
mod locks;
mod memory;
mod processors;
mod runtimes;
mod threads;

pub(crate) use controls::EMPTY;

use controls::NOTHING;

use super::Trial;

/// All of them, the most conclusive first. An experiment makes the first that fit.
pub(crate) const ALL: &[&Trial] = &[
    &locks::RANDOM,
    &allocators::TCMALLOC,
    &allocators::JEMALLOC,
    &allocators::MIMALLOC,
    &memory::TOP_PAD,
    &locks::ADAPTIVE,
    &memory::LINES,
    &runtimes::PASSIVE,
    &runtimes::BLAS,
    &runtimes::GO_GC,
    &runtimes::PARALLEL_GC,
    &runtimes::YOUNG,
    &threads::STACKS,
    &threads::SMALL_STACKS,
    &memory::TCACHE,
    &memory::HUGE,
    &processors::ONE,
    &runtimes::BOUND,
    &processors::BATCH,
    &controls::ONE_ARENA,
    &runtimes::PYTHON_MALLOC,
];

/// The trial with this name.
pub(crate) fn find(id: &str) -> Option<&'static Trial> {
    ALL.iter().copied().chain([&EMPTY, &NOTHING]).find(|trial| trial.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trials::{Change, Keep};
    use std::collections::BTreeSet;

    #[test]
    fn each_trial_has_its_own_name_and_says_what_it_shows() {
        let all: Vec<&Trial> = ALL.iter().copied().chain([&EMPTY, &NOTHING]).collect();
        let ids: BTreeSet<&str> = all.iter().map(|trial| trial.id).collect();
        assert_eq!(ids.len(), all.len());
        for trial in all {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(trial.id.chars().all(plain), "{}: a folder gets this name", trial.id);
            assert!(!trial.title.is_empty() && !trial.proves.is_empty() && !trial.limits.is_empty(), "{}", trial.id);
            assert!(find(trial.id).is_some_and(|found| found.title == trial.title), "{}", trial.id);
        }
    }

    /// knee's own libraries exist only during an experiment, so no advice may be to keep one.
    #[test]
    fn no_advice_keeps_a_library_of_knees() {
        for trial in ALL {
            let own = trial.changes.iter().any(|change| matches!(change, Change::Preload(_)));
            assert!(!own || trial.keep != Keep::Setting, "{}", trial.id);
        }
    }

    #[test]
    fn every_trial_but_the_controls_aims_at_a_cause() {
        for trial in ALL {
            assert_eq!(trial.aims.is_empty(), trial.id == "one-arena", "{}", trial.id);
        }
        assert!(EMPTY.aims.is_empty() && NOTHING.aims.is_empty());
    }
}
