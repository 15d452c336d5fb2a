//! Machine code read from sampled addresses: which memory a sample was about to touch or had just touched, and whether
//! it was taken in a loop that only waits.
//!
//! Rooms: `instruction` the form in which the rest sees an instruction, independent of the architecture; `x86` and
//! `aarch64` the decoders; `code` the instructions decoded so far and how they follow each other; `expression` and `replay` the
//! addresses of the memory accesses around a sample; `flow` which values a short piece of code carries from one
//! instruction to the next; `loops` and `spin` waiting loops. Pure: the caller supplies code and stack bytes.
//!
//! x86-64 and AArch64 are decoded. [`decoder`] returns `None` for every other architecture: sharing and spin waits then
//! remain unsure. A further architecture needs an implementation of [`Decode`]; nothing else here depends on it.
//!
//! May import: iced-x86 (in x86.rs alone), rustc-hash (addresses are looked up some ten times a sample).

mod aarch64;
pub mod code;
mod expression;
mod flow;
pub mod instruction;
mod loops;
pub mod replay;
pub mod spin;
mod x86;

pub use code::CodeGraph;
pub use instruction::{AccessKind, Decode, Instruction, Registers};
pub use replay::{Certainty, Replay, SampledAccess};
pub use spin::{Spin, Spins};

/// Where code is read from: the ELF file that is mapped, or the memory of the process for code made at run time.
pub trait CodeReader {
    /// Copies code from an address on into the buffer and returns how many bytes were copied; 0 where there is no code.
    fn code(&mut self, address: u64, buffer: &mut [u8]) -> usize;

    /// The start of the function around an address, where it is known (unwind tables, symbols). With it, the
    /// instructions before a sampled one can be found; without it, only where the code loops.
    fn function_start(&mut self, address: u64) -> Option<u64> {
        let _ = address;
        None
    }

    /// The eight bytes of data at an address, as they are now. Used to follow calls through the linkage table only.
    fn pointer(&mut self, address: u64) -> Option<u64> {
        let _ = address;
        None
    }
}

/// The decoder for an architecture, named as by `uname -m`; `None` when there is none yet.
pub fn decoder(architecture: &str) -> Option<Box<dyn Decode + Send>> {
    match architecture {
        "x86_64" => Some(Box::new(x86::X86::default())),
        "aarch64" => Some(Box::new(aarch64::AArch64)),
        _ => None,
    }
}
