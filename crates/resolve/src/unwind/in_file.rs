//! How frames of functions in files are left, where the unwinding engine has no answer or a wrong one.
//!
//! Imports `epilogue`, `leaving`, and `address`, `go`, `maps`, `module` of the crate.

use super::epilogue::{AHEAD, FAR_AHEAD, end_ahead, keeps_frame_pointer};
use super::leaving::{CODE, Leaving, leaving};
use crate::address::CodeAddress;
use crate::go::GoFrame;
use crate::maps::Mapping;
use crate::module::Module;

/// How a frame in a file is left: by Go's function table, by where a function that aligns its stack keeps its frame, or by
/// the instructions where there is nothing else.
pub(super) fn module_leaving(mapping: &Mapping, module: &Module, at: CodeAddress) -> Option<Leaving> {
    let offset = |address: u64| Some(address.checked_sub(mapping.start)? + mapping.file_offset);
    let stated = offset(at.lookup()).and_then(|offset| module.stated_address(offset));
    if let (Some(go), Some(address)) = (module.go(), stated)
        && let Some(function) = go.find(address)
    {
        return match go.frame(function, address)? {
            GoFrame::Outermost => Some(Leaving::Outermost),
            GoFrame::Switches => Some(Leaving::OtherStack),
            // The frame pointer is saved first, below the return address; in a function without a frame it is not
            // saved. On other architectures the return address has another place.
            GoFrame::Size(skip) => {
                cfg!(target_arch = "x86_64").then_some(Leaving::Return { skip, frame_pointer: skip.checked_sub(8) })
            }
        };
    }
    // The engine cannot evaluate this, and takes the frame pointer for the frame.
    let kept_at = stated.filter(|_| cfg!(target_arch = "x86_64")).and_then(|address| module.unwind.realigned(address));
    if let Some(kept_at) = kept_at {
        return Some(Leaving::Realigned { kept_at });
    }
    let innermost = matches!(at, CodeAddress::InstructionPointer(_));
    let raw = offset(at.raw())?;
    let found = leaving(&module.code(raw, CODE), innermost);
    if found == Some(Leaving::Signal) || !module.unwind.any() {
        return found;
    }
    // The unwind information leaves out some functions: those of V8's library, and much that is written in assembler. The
    // engine leaves one that has called another by its frame pointer, but takes the innermost for one without a frame.
    let covered = || stated.is_some_and(|address| module.unwind.function_start(address).is_some());
    if !cfg!(target_arch = "x86_64") || !innermost || covered() {
        return None;
    }
    let code = module.code(raw, FAR_AHEAD);
    found
        .or_else(|| end_ahead(code.get(..AHEAD).unwrap_or(&code), at.raw()))
        .or_else(|| keeps_frame_pointer(&code, at.raw()).then_some(Leaving::Framed))
}
