//! Checks that the sources of this workspace follow its own rules, and makes the register of heuristics from them. It is
//! part of no program: only its own tests use it (`cargo test -p upkeep`).
//!
//! Rooms: `imports` which file uses which; `register` the constants that decide something; `sketches` which sketches
//! test a cause; `tree` the sources.
//!
//! May import: syn.

pub mod imports;
pub mod register;
pub mod sketches;
pub mod tree;
