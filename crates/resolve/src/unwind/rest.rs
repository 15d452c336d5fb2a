//! The bytes of a stack: those that were copied, and the rest, which is read from the process's memory when it is needed.
//!
//! Imports nothing of this crate.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes at the end of the copy that must be the same in memory still.
///
/// Decides: whether what lies above the copied bytes now is the rest of the same stack. A thread that left these functions
/// meanwhile, and calls others, leaves other return addresses there.
/// From: chosen: the frames of some ten functions, so that a thread that took another way hardly has the same words in all of
/// them; no measurement.
/// Shown by: `the_rest_of_a_stack_is_read_while_it_is_the_same`.
/// Wrong if: a thread leaves all of these functions and is called back into them from somewhere else before the rest is
/// read: then the outermost callers are those of the later call.
const SAME: usize = 1024;

/// So many bytes are read at first. The largest frame that is often met is that of libuv's loop (`uv__io_poll`), 12 KiB.
const FIRST: usize = 16 << 10;
/// And at most so many: more than 256 frames of usual size.
const MOST: usize = 128 << 10;

/// A stack whose bytes are read as words.
pub(super) struct WholeStack<'a> {
    copied: &'a [u8],
    /// The address of the first copied byte.
    start: u64,
    /// The memory of the process; none where nothing can be read any more.
    memory: Option<&'a Path>,
    /// What follows the copied bytes.
    rest: &'a mut Vec<u8>,
    read: Reading,
}

enum Reading {
    Never,
    Open(File),
    Refused,
}

impl<'a> WholeStack<'a> {
    /// `copied`: the bytes from address `start` on. `rest` is overwritten.
    pub(super) fn new(copied: &'a [u8], start: u64, memory: Option<&'a Path>, rest: &'a mut Vec<u8>) -> WholeStack<'a> {
        rest.clear();
        WholeStack { copied, start, memory, rest, read: Reading::Never }
    }

    /// The word at an address; an error where it is not known.
    pub(super) fn word(&mut self, address: u64) -> Result<u64, ()> {
        let offset = address.checked_sub(self.start).and_then(|offset| usize::try_from(offset).ok()).ok_or(())?;
        if let Some(word) = word_at(self.copied, offset) {
            return Ok(word);
        }
        // A word that lies in both parts is not aligned: no address of code.
        let above = offset.checked_sub(self.copied.len()).ok_or(())?;
        if above.saturating_add(8) > self.rest.len() {
            self.read_to(above.saturating_add(8));
        }
        word_at(self.rest, above).ok_or(())
    }

    /// The address behind the last byte that is known.
    pub(super) fn end(&self) -> u64 {
        self.start.saturating_add((self.copied.len() + self.rest.len()) as u64)
    }

    /// Reads so many bytes that follow the copied ones.
    fn read_to(&mut self, wanted: usize) {
        if wanted > MOST {
            return;
        }
        if matches!(self.read, Reading::Never) {
            self.read = self.open().map_or(Reading::Refused, Reading::Open);
        }
        let Reading::Open(file) = &self.read else { return };
        let known = self.rest.len();
        let size = if wanted <= FIRST { FIRST } else { MOST };
        self.rest.resize(size, 0);
        let from = self.start.saturating_add((self.copied.len() + known) as u64);
        // At the end of the stack less is read.
        let more = file.read_at(&mut self.rest[known..], from).unwrap_or(0);
        self.rest.truncate(known + more);
        if more < size - known {
            self.read = Reading::Refused;
        }
    }

    /// The process's memory, if the stack is still the same.
    fn open(&self) -> Option<File> {
        let known = self.copied.last_chunk::<SAME>()?;
        let file = File::open(self.memory?).ok()?;
        let mut now = [0; SAME];
        let from = self.start.saturating_add((self.copied.len() - SAME) as u64);
        file.read_exact_at(&mut now, from).ok()?;
        (now == *known).then_some(file)
    }
}

fn word_at(bytes: &[u8], offset: usize) -> Option<u64> {
    let word = bytes.get(offset..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*word))
}
