//! The Python functions in a stack: they replace the frames of the interpreter's own function that runs them.

use super::interner::Interner;
use recording::FrameId;
use resolve::python::{Python, PythonLayout};
use resolve::{CodeAddress, Unwinder};
use std::collections::HashMap;

/// How many places are remembered with their frames.
const KNOWN: usize = 1 << 18;

/// A Python frame, read while its thread stood still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PythonCall {
    /// The address of the code object.
    pub(crate) code: u64,
    /// Where in the code object the frame is, in the form of its Python version.
    pub(crate) at: u64,
    /// It is the outermost that one frame of the C stack runs.
    pub(crate) outermost: bool,
}

/// Where the interpreter keeps its frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PythonMap {
    /// The address of the pointer to the main interpreter.
    pub(crate) interpreter: u64,
    pub(crate) layout: &'static PythonLayout,
}

/// The Python interpreter of an image, where it has one.
#[derive(Debug, Default)]
pub(super) struct Interpreter {
    python: Option<Python>,
    /// Frames by the address of their place, with their name, because code objects come and go.
    frames: HashMap<(u64, u64), (String, FrameId)>,
}

impl Interpreter {
    /// Searches a changed memory map for the interpreter. Once found it is kept: a process has only one.
    pub(super) fn see(&mut self, pid: u32, unwinder: &Unwinder) {
        if self.python.is_none() {
            self.python = Python::for_process(pid, unwinder);
        }
    }

    pub(super) fn map(&self) -> Option<PythonMap> {
        self.python.as_ref().map(|python| PythonMap { interpreter: python.interpreter(), layout: python.layout() })
    }

    /// Whether a frame is in the function that runs Python code.
    pub(super) fn evaluates(&self, address: CodeAddress) -> bool {
        self.python.as_ref().is_some_and(|python| python.evaluates(address.lookup()))
    }

    /// The handle of a frame in the run-time code with number `number`.
    pub(super) fn frame(
        &mut self,
        frame: PythonCall,
        number: u32,
        now_ns: u64,
        interner: &mut Interner,
    ) -> Option<FrameId> {
        let place = self.python.as_mut()?.place(frame.code, frame.at, now_ns)?;
        let key = (frame.code, place.address);
        if let Some((function, known)) = self.frames.get(&key)
            && *function == place.function
        {
            return Some(*known);
        }
        if self.frames.len() >= KNOWN {
            self.frames.clear();
        }
        let known = interner.named_frame(number, place.address, &place.function, &place.file, place.line);
        self.frames.insert(key, (place.function, known));
        Some(known)
    }
}

/// Puts Python frames in the places of the C function that runs them. `native`: the C stack, innermost first, each
/// frame with whether it is that function. `python`: the Python frames, innermost first (none for a frame without a
/// name), each with whether it is the outermost of its C frame. Python frames that are left over have no C frame; they
/// are put after the last one that was placed.
pub(super) fn merge(
    native: impl Iterator<Item = (FrameId, bool)>,
    mut python: impl Iterator<Item = (Option<FrameId>, bool)>,
    stack: &mut Vec<FrameId>,
) {
    let mut last = None;
    for (frame, evaluates) in native {
        let mut ran = false;
        while evaluates && let Some((function, outermost)) = python.next() {
            stack.extend(function);
            ran |= function.is_some();
            if outermost {
                break;
            }
        }
        if ran {
            last = Some(stack.len());
        } else {
            stack.push(frame);
        }
    }
    let at = last.unwrap_or(stack.len());
    stack.splice(at..at, python.filter_map(|(function, _)| function));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames by number: below 100 C frames, of which those from 50 on run Python; from 100 on Python frames.
    fn merged(native: &[u32], python: &[(u32, bool)]) -> Vec<u32> {
        let mut stack = Vec::new();
        let native = native.iter().map(|number| (FrameId(*number), *number >= 50));
        let python = python.iter().map(|(number, outermost)| ((*number > 0).then_some(FrameId(*number)), *outermost));
        merge(native, python, &mut stack);
        stack.iter().map(|frame| frame.0).collect()
    }

    #[test]
    fn functions_of_python_take_the_place_of_what_runs_them() {
        assert_eq!(merged(&[1, 50, 2, 50, 3], &[(100, true), (101, true)]), [1, 100, 2, 101, 3]);
        assert_eq!(merged(&[1, 50, 3], &[(100, false), (101, false), (102, true)]), [1, 100, 101, 102, 3]);
        assert_eq!(merged(&[50, 2, 50, 3], &[(100, false), (101, true), (102, true)]), [100, 101, 2, 102, 3]);
    }

    #[test]
    fn frames_that_do_not_match_are_kept() {
        assert_eq!(merged(&[1, 50, 2, 50, 3], &[(100, true)]), [1, 100, 2, 50, 3], "no more frames of Python");
        assert_eq!(merged(&[1, 50, 2], &[(100, true), (101, true)]), [1, 100, 101, 2], "the C frame was not found");
        assert_eq!(merged(&[1, 2], &[(100, true), (101, true)]), [1, 2, 100, 101], "the C stack broke off");
        assert_eq!(merged(&[1, 50, 2], &[(0, true)]), [1, 50, 2], "without a name");
        assert_eq!(merged(&[1, 50, 2], &[]), [1, 50, 2]);
    }
}
