//! The names of code that the HotSpot virtual machine (Java) made, read from its memory, with files, lines and inlined
//! methods.
//!
//! HotSpot describes its own data for debuggers: tables of types and fields, exported as `gHotSpotVMTypes` and
//! `gHotSpotVMStructs` (src/hotspot/share/runtime/vmStructs.hpp). With them a code address leads to the code cache's
//! block, the method and its name, without any option of the program; and a compiled method's debug information leads
//! to the methods that were inlined there. Tested with JDK 11, 17, 21 and 25. If a version names a field differently,
//! the facts that depend on it are left out.
//! | module | holds |
//! |---|---|
//! | `pieces` | the names of code that was looked up, kept as long as the code is there |
//! | `machine` | all of this for one process: address → code with its methods |
//! | `tables` | the exported tables |
//! | `blocks` | address → block of the code cache, and how its frames are left |
//! | `methods` | method → name, file, lines of its bytecodes |
//! | `scopes` | compiled method → the methods that were inlined into it, by address |
//! | `ints` | packed numbers, in which lines and scopes are stored |
//!
//! All of it comes from the target and may change while it is read: lengths and steps are bounded, and inconsistent data
//! give no name.
//!
//! May import: `code_map`, `scope_table`, `memory`.

mod blocks;
#[cfg(test)]
mod image;
mod ints;
mod machine;
mod methods;
mod pieces;
mod scopes;
mod tables;
#[cfg(test)]
mod tests;

pub(crate) use machine::{BYTECODE, CALLER, HotSpot, INTERPRETED};
pub(super) use pieces::HotSpotNames;
pub use tables::Tables;
