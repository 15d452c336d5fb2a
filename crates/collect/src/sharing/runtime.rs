//! Code that is made at run time (Java, JavaScript, .NET): its bytes as they were when samples fell there.
//!
//! Such code is moved, replaced, and lost when the process ends, so its bytes are copied while the process lives, in
//! blocks, and decoded from the copy. A block is read again from time to time when samples fall into it. If it has
//! changed, what was derived from it is forgotten, and the old copy is kept with the time until which it was valid.

use super::memory::Memory;
use recording::RunId;
use recording::tables::RuntimeBytes;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Bytes of a block: a few hundred instructions; reading it takes about a microsecond.
const BLOCK: u64 = 1024;

/// A block is read again at most this often, in nanoseconds. Code is replaced when it has run for a while, a few times
/// in its life.
const ANEW_NS: u64 = 20_000_000;

/// Blocks that are held at most (some 8 MiB), old copies included.
const HELD: usize = 8192;

#[derive(Debug)]
struct Block {
    first_ns: u64,
    last_ns: u64,
    bytes: Vec<u8>,
}

/// The run-time code of one process.
#[derive(Debug, Default)]
pub(super) struct Runtime {
    /// By number of the block in the address space.
    blocks: BTreeMap<u64, Block>,
    /// Copies that are no longer valid, with the number of the block.
    old: Vec<(u64, Block)>,
}

impl Runtime {
    /// Checks whether the code at an address is still what was copied. Returns the range to be forgotten if not.
    pub(super) fn check(&mut self, memory: &mut Memory, address: u64, now_ns: u64) -> Option<Range<u64>> {
        let number = address / BLOCK;
        let block = self.blocks.get_mut(&number)?;
        if now_ns.saturating_sub(block.last_ns) < ANEW_NS {
            return None;
        }
        let mut bytes = vec![0; BLOCK as usize];
        let read = memory.read(number * BLOCK, &mut bytes);
        bytes.truncate(read);
        // The bytes of a process that has ended cannot be read; the copy stays valid for its samples.
        if bytes.is_empty() {
            return None;
        }
        if bytes == block.bytes {
            block.last_ns = now_ns;
            return None;
        }
        let fresh = Block { first_ns: now_ns, last_ns: now_ns, bytes };
        let replaced = std::mem::replace(block, fresh);
        if self.blocks.len() + self.old.len() < HELD {
            self.old.push((number, replaced));
        }
        Some(number * BLOCK..(number + 1) * BLOCK)
    }

    /// Copies code at an address into a buffer, up to the end of the block; first reads the block if it is not held.
    /// Returns how many bytes were copied.
    pub(super) fn read(&mut self, memory: &mut Memory, address: u64, buffer: &mut [u8], now_ns: u64) -> usize {
        let mut copied = 0;
        while copied < buffer.len() {
            let at = address + copied as u64;
            let (number, within) = (at / BLOCK, (at % BLOCK) as usize);
            if !self.blocks.contains_key(&number) {
                if self.blocks.len() + self.old.len() >= HELD {
                    return copied + memory.read(at, &mut buffer[copied..]);
                }
                let mut bytes = vec![0; BLOCK as usize];
                let read = memory.read(number * BLOCK, &mut bytes);
                bytes.truncate(read);
                if bytes.is_empty() {
                    break;
                }
                self.blocks.insert(number, Block { first_ns: now_ns, last_ns: now_ns, bytes });
            }
            let held = self.blocks.get(&number).and_then(|block| block.bytes.get(within..)).unwrap_or_default();
            let count = held.len().min(buffer.len() - copied);
            if count == 0 {
                break;
            }
            buffer[copied..copied + count].copy_from_slice(&held[..count]);
            copied += count;
        }
        copied
    }

    /// The blocks that contain these addresses.
    pub(super) fn rows(self, run: RunId, pid: u32, addresses: &BTreeSet<u64>) -> Vec<RuntimeBytes> {
        let wanted: BTreeSet<u64> = addresses.iter().map(|address| address / BLOCK).collect();
        let blocks = self.blocks.into_iter().chain(self.old).filter(|(number, _)| wanted.contains(number));
        let mut rows: Vec<RuntimeBytes> = blocks
            .map(|(number, block)| RuntimeBytes {
                run,
                pid,
                address: number * BLOCK,
                first_ns: block.first_ns,
                last_ns: block.last_ns,
                bytes: block.bytes,
            })
            .collect();
        rows.sort_by_key(|row| (row.address, row.first_ns));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_copied_once_and_seen_to_change() {
        // This process's own memory serves as the code.
        let mut code = vec![0x90_u8; 4 * BLOCK as usize];
        let start = (code.as_ptr().addr() as u64).next_multiple_of(BLOCK);
        let offset = (start - code.as_ptr().addr() as u64) as usize;
        let (mut memory, mut runtime) = (Memory::for_process(std::process::id()), Runtime::default());
        let mut buffer = [0; 64];
        assert_eq!(runtime.read(&mut memory, start + BLOCK - 32, &mut buffer, 5), 64, "over the end of a block");
        assert_eq!(buffer, [0x90; 64]);
        assert_eq!(runtime.check(&mut memory, start, 5 + ANEW_NS), None);
        code[offset + 7] = 0xcc;
        assert_eq!(runtime.check(&mut memory, start, 6 + ANEW_NS), None, "not again so soon");
        assert_eq!(runtime.check(&mut memory, start, 6 + 2 * ANEW_NS), Some(start..start + BLOCK));
        assert_eq!(runtime.read(&mut memory, start + 7, &mut buffer[..1], 7 + 2 * ANEW_NS), 1);
        assert_eq!(buffer[0], 0xcc);
        let rows = runtime.rows(RunId(0), 1, &BTreeSet::from([start + 9]));
        let times: Vec<_> = rows.iter().map(|row| (row.first_ns, row.last_ns, row.bytes[7])).collect();
        assert_eq!(times, [(5, 5 + ANEW_NS, 0x90), (6 + 2 * ANEW_NS, 6 + 2 * ANEW_NS, 0xcc)]);
    }
}
