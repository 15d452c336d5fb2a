//! The names of call paths, the same in every format.

use crate::observed::Observed;
use crate::show::functions::kernel_name;
use crate::text;
use recording::StackId;
use recording::tables::{Mode, Sample};

/// Names of templates can be thousands of characters long, hostile names longer; every viewer cuts them much earlier.
const LONGEST: usize = 500;

/// One function of a call path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct CallSite {
    /// Its name, or its module and address.
    pub(super) function: String,
    /// Path of its module; empty for the kernel's part.
    pub(super) module: String,
    /// Its source file; empty when unknown.
    pub(super) file: String,
    /// Its line; 0 when unknown.
    pub(super) line: u32,
    /// Address in the module's file; 0 for the kernel's part.
    pub(super) address: u64,
}

/// A name without control characters, of a length that viewers show.
pub(super) fn clean(name: &str) -> String {
    let cut: String = if name.len() > 8 * LONGEST { name.chars().take(2 * LONGEST).collect() } else { name.to_owned() };
    text::shorten(&text::harmless(&cut), LONGEST)
}

/// The call path of a stack, innermost first.
pub(super) fn path(observed: &Observed<'_, '_>, stack: StackId) -> Vec<CallSite> {
    let frames = observed.model.stacks.frames(stack);
    let place = |code: &analyze::model::code::Code<'_>| CallSite {
        function: clean(&match code.name() {
            Some(name) => name.to_owned(),
            None => format!("{}+{:#x}", analyze::model::code::file_name(code.module), code.frame.address),
        }),
        module: clean(code.module),
        file: clean(code.frame.file.as_deref().unwrap_or("")),
        line: code.frame.line.unwrap_or(0),
        address: code.frame.address,
    };
    frames.iter().map(place).collect()
}

/// A frame that represents the kernel's part of a call path.
pub(super) fn kernel(name: String) -> CallSite {
    CallSite { function: clean(&name), module: String::new(), file: String::new(), line: 0, address: 0 }
}

/// The frame for the kernel's part of a sample, if the sample was taken in the kernel.
pub(super) fn kernel_of(observed: &Observed<'_, '_>, sample: &Sample) -> Option<CallSite> {
    (sample.mode == Mode::Kernel).then(|| kernel(kernel_name(observed, sample.syscall, sample.kernel_stack)))
}
