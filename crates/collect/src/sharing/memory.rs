//! The memory of a process: its bytes and its map.

use recording::tables::Region;
use resolve::{MappedFile, Mapping, parse_maps};
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Bytes of the address space in which one stack pointer is remembered.
const BLOCK: u64 = 1 << 16;

/// Blocks that are remembered. Beyond that the list starts over; some stacks are then taken for the heap.
const BLOCKS: usize = 1 << 16;

/// The memory of one process, while it lives.
#[derive(Debug)]
pub(super) struct Memory {
    pid: u32,
    bytes: Option<File>,
    mappings: Vec<Mapping>,
    /// Stack pointers that were seen, one for each [`BLOCK`]. By address and not by thread, because new threads reuse
    /// the stacks of ended ones.
    /// `None` for a stack that lies among other data.
    stacks: HashMap<u64, Option<u64>>,
}

impl Memory {
    pub(super) fn for_process(pid: u32) -> Memory {
        let mut memory = Memory { pid, bytes: None, mappings: Vec::new(), stacks: HashMap::new() };
        memory.refresh();
        memory
    }

    /// Its number.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Closes the file descriptor until bytes are read again.
    pub(super) fn close(&mut self) {
        self.bytes = None;
    }

    /// Copies bytes at an address; returns how many there are up to the first that cannot be read.
    pub(super) fn read(&mut self, address: u64, buffer: &mut [u8]) -> usize {
        if self.bytes.is_none() {
            self.bytes = File::open(format!("/proc/{}/mem", self.pid)).ok();
        }
        let Some(file) = &self.bytes else { return 0 };
        file.read_at(buffer, address).unwrap_or(0)
    }

    /// Notes where a thread's stack is. `alone`: its mapping holds nothing else.
    pub(super) fn saw_stack(&mut self, sp: u64, alone: bool) {
        if self.stacks.len() >= BLOCKS {
            self.stacks.clear();
        }
        let new = self.stacks.insert(sp / BLOCK, alone.then_some(sp)).is_none();
        if new {
            // A thread's stack is mapped before the thread runs, so the map now includes it, and mostly the data too.
            self.refresh();
        }
    }

    fn refresh(&mut self) {
        let text = std::fs::read(format!("/proc/{}/maps", self.pid)).ok().filter(|text| !text.is_empty());
        if let Some(mappings) = text.and_then(|text| parse_maps(text).ok()) {
            self.mappings = mappings;
        }
    }

    /// What kind of memory an address lies in.
    pub(super) fn region(&self, address: u64) -> Region {
        let holds = |mapping: &&Mapping, address: u64| (mapping.start..mapping.end).contains(&address);
        let Some(mapping) = self.mappings.iter().find(|mapping| holds(mapping, address)) else {
            return Region::Unknown;
        };
        match mapping.path {
            MappedFile::Anonymous if self.stacks.values().flatten().any(|sp| holds(&mapping, *sp)) => Region::Stack,
            MappedFile::Anonymous => Region::Heap,
            MappedFile::File(_) => Region::File,
            _ => Region::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_among_other_data_makes_no_stack_of_it() {
        let on_stack = 0_u64;
        let address = std::ptr::from_ref(&on_stack) as u64;
        let mut memory = Memory::for_process(std::process::id());
        // A test runs in a thread with a mapping of its own.
        memory.saw_stack(address, true);
        assert_eq!(memory.region(address), Region::Stack);
        let mut memory = Memory::for_process(std::process::id());
        memory.saw_stack(address, false);
        assert_eq!(memory.region(address), Region::Heap);
    }
}
