//! Controls: trials that are expected to change nothing, or to do harm. They show that the others can be believed.

use crate::trials::preload::Source;
use crate::trials::{Change, Keep, Needs, Trial};

/// The program as it is, once more.
pub(crate) const NOTHING: Trial = Trial {
    id: "nothing",
    title: "the same again (control)",
    changes: &[],
    aims: &[],
    only_in: &[],
    needs: Needs::Nothing,
    proves: "the runs differ without a reason",
    limits: "anything about the program",
    keep: Keep::Never,
};

/// A library that changes nothing.
pub(crate) const EMPTY: Trial = Trial {
    id: "empty-preload",
    title: "an empty library (control)",
    changes: &[Change::Preload(Source::Nothing)],
    aims: &[],
    only_in: &[],
    needs: Needs::DynamicC,
    proves: "loading a library changes the program by itself, so no trial with one can be judged",
    limits: "anything about the program",
    keep: Keep::Never,
};

/// One heap for all threads. mallopt(3): `M_ARENA_MAX`.
pub(super) const ONE_ARENA: Trial = Trial {
    id: "one-arena",
    title: "one heap for all threads (control)",
    changes: &[Change::Variable { name: "GLIBC_TUNABLES", value: "glibc.malloc.arena_max=1", join: Some(":") }],
    aims: &[],
    only_in: &[],
    needs: Needs::Glibc,
    proves: "threads do not wait for each other in malloc: one heap is no worse than several",
    limits: "that one heap is to be kept: it is there to do harm",
    keep: Keep::Never,
};
