//! Checks that the sources of this workspace follow its own rules, and makes the register of heuristics from them. Part
//! of no program: only its own tests use it (`cargo test -p upkeep`).
//!
//! Rooms: `imports` which file uses which; `register` the constants that decide something;
//! `sketches` what a cause is tested by; `tree` the sources.
//!
//! May import: syn.

pub mod imports;
pub mod register;
pub mod sketches;
pub mod tree;
