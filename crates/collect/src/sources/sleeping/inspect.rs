//! What a sleeping thread waits for, with its stack.

use crate::events::{BlockedCall, Within};
use crate::file_kind::FileKind;
use crate::procfs::monotonic_ns;
use crate::stacks::{Copied, Stacks};
use crate::syscall_names;
use crate::task::{self, Sleep};
use recording::StackId;
use recording::tables::Reason;
use resolve::UserRegisters;

/// What an inspection found at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sources) struct Inspected {
    pub(in crate::sources) within: Within,
    pub(in crate::sources) file: Option<FileKind>,
    pub(in crate::sources) in_kernel: Option<Reason>,
    /// Bytes from the stack pointer on.
    pub(in crate::sources) stack: Vec<u8>,
}

/// Reads what a sleeping thread waits for.
pub(in crate::sources) fn inspect(pid: u32, tid: u32, sleep: &Sleep) -> Inspected {
    let number = sleep.call.map(|(number, _)| number);
    let descriptor = sleep.call.filter(|(number, _)| syscall_names::takes_descriptor(*number));
    let file = descriptor.and_then(|(_, arguments)| {
        let (mode, link) = task::descriptor(pid, u32::try_from(arguments[0]).ok()?)?;
        FileKind::from_mode(mode, link.as_deref())
    });
    let by_call = syscall_names::reason(number);
    let reason = file.as_ref().filter(|_| by_call == Reason::Io).map_or(by_call, FileKind::reason);
    // For these reasons the kernel function adds nothing to what the call says.
    let known = matches!(reason, Reason::Futex | Reason::Sleep | Reason::Pipe | Reason::Poll | Reason::Child);
    let in_kernel = if known { None } else { task::reason_in_kernel(pid, tid) };
    let within = sleep.call.map_or(Within::Fault, |(number, all)| Within::Call(BlockedCall::from_call(number, all)));
    Inspected { within, file, in_kernel, stack: task::stack(pid, sleep.sp) }
}

impl Inspected {
    /// The handle of the stack.
    pub(in crate::sources) fn stack(
        &self,
        image: u32,
        pid: u32,
        sleep: &Sleep,
        stacks: &mut Stacks<'_>,
    ) -> Option<StackId> {
        let registers = UserRegisters { ip: sleep.ip, sp: sleep.sp, bp: 0, lr: 0 };
        stacks.user(image, pid, Copied::new(registers, &self.stack), monotonic_ns())
    }
}
