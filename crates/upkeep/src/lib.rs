//! Holds the sources of this workspace to its own rules, and makes the register of heuristics of them. A part of no program:
//! only its tests use it (`cargo test -p upkeep`).
//!
//! Rooms: `tree` the sources as they are read; `imports` which file uses which; `register` the constants
//! that decide something.
//!
//! May import: syn.

pub mod imports;
pub mod register;
pub mod tree;
