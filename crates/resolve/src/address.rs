//! Code addresses and the registers at which unwinding starts.
//!
//! Imports nothing: everything else in the crate may use it.

/// A code address of a process, and how it was found.
///
/// The difference matters when the address is looked up: see [`CodeAddress::lookup`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CodeAddress {
    /// The instruction that the thread was executing, or will execute next.
    InstructionPointer(u64),
    /// Where a called function will return to: the instruction after the call.
    ReturnAddress(u64),
    /// A method that a virtual machine's interpreter runs.
    Interpreted {
        /// Address of the method's description.
        method: u64,
        /// Address of the bytecode that made the call; 0 where that is not known.
        bytecode: u64,
    },
}

impl CodeAddress {
    /// The address as found in the register or on the stack; for an interpreted method, that of its description.
    pub fn raw(self) -> u64 {
        match self {
            Self::InstructionPointer(address) | Self::ReturnAddress(address) => address,
            Self::Interpreted { method, .. } => method,
        }
    }

    /// The address to look up for function, line and unwind rule.
    ///
    /// A return address points just past the call. When the call is the last instruction of a line, or of a function
    /// (because the called function never returns), the address already belongs to the next one; one byte less lies
    /// within the call.
    pub fn lookup(self) -> u64 {
        match self {
            Self::InstructionPointer(address) => address,
            Self::ReturnAddress(address) => address.saturating_sub(1),
            Self::Interpreted { method, .. } => method,
        }
    }
}

/// The user registers from which a stack is unwound, as saved at kernel entry or in a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UserRegisters {
    /// Instruction pointer (x86-64 `rip`, aarch64 `pc`).
    pub ip: u64,
    /// Stack pointer (`rsp`, `sp`).
    pub sp: u64,
    /// Frame pointer (`rbp`, `x29`); in code that keeps none it may hold anything.
    pub bp: u64,
    /// Link register (aarch64 `x30`); not used on x86-64.
    pub lr: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn return_addresses_are_looked_up_inside_the_call() {
        assert_eq!(CodeAddress::InstructionPointer(0x1000).lookup(), 0x1000);
        assert_eq!(CodeAddress::ReturnAddress(0x1000).lookup(), 0xfff);
        assert_eq!(CodeAddress::ReturnAddress(0).lookup(), 0);
        assert_eq!(CodeAddress::ReturnAddress(7).raw(), 7);
    }
}
