//! A sample at an access to memory.

use crate::decode::Registers;
use crate::decode::replay::StackBytes;

/// One sample at an access: what the code's variables are read from.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// The registers.
    pub registers: &'a Registers,
    /// The bytes of the stack.
    pub stack: StackBytes<'a>,
    /// The address that the module's file states for the sampled instruction.
    pub stated: u64,
    /// The same for the instruction that made the access.
    pub access_stated: u64,
    /// The value of the register to which the accessing instruction adds an index: where an array begins.
    pub array: Option<u64>,
}
