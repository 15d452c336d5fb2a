//! The names of code that the HotSpot virtual machine (Java) made, read from its memory, with files, lines and inlined
//! methods.
//!
//! HotSpot describes its own data for debuggers: tables of types and fields, exported as `gHotSpotVMTypes` and
//! `gHotSpotVMStructs` (src/hotspot/share/runtime/vmStructs.hpp). With them a code address leads to the code cache's
//! block, the method and its name, without any option of the program; and a compiled method's debug information leads
//! to the methods that were inlined there. Tested with JDK 11, 17, 21 and 25. If a field has another name, what needs
//! it is left out.
//! | module | holds |
//! |---|---|
//! | `pieces` | the names of code that was asked for, as long as it is there |
//! | `machine` | all of this for one process: address → code with its methods |
//! | `tables` | the exported tables |
//! | `blocks` | address → block of the code cache, and how its frames are left |
//! | `methods` | method → name, file, lines of its bytecodes |
//! | `scopes` | compiled method → which methods are where in it |
//! | `ints` | packed numbers, of which lines and scopes are made |
//!
//! All that is read may change meanwhile and comes from the target: lengths and steps are bounded, and what does not
//! fit gives no name.
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

pub(crate) use machine::{BYTECODE, HotSpot, INTERPRETED};
pub(super) use pieces::HotSpotNames;
pub use tables::Tables;
