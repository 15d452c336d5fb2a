//! A sample at an access to memory.

use crate::decode::Registers;
use crate::decode::replay::StackBytes;

/// One sample at an access, from which the code's variables are read.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// The registers.
    pub registers: &'a Registers,
    /// The bytes of the stack.
    pub stack: StackBytes<'a>,
    /// The stated address (as in the module's file) of the sampled instruction.
    pub stated: u64,
    /// The stated address of the instruction that made the access.
    pub access_stated: u64,
    /// The value of the register to which the accessing instruction adds an index: the start of an array.
    pub array: Option<u64>,
}
