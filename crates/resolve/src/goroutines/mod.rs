//! Goroutines, and the stacks of those that wait, read from the memory of their process.
//!
//! A sleeping thread of Go's scheduler says little: it may run any goroutine next. Go's runtime keeps all its goroutines
//! in a list (`allgs` in runtime/proc.go), each with the registers that it saved when it stopped. The process runs on
//! meanwhile, so a record counts only when it is the same before and after its stack was copied.
//!
//! Room: [`channels`] which channels a goroutine waits on, [`parked`] the goroutines that wait. May import: `address`,
//! `memory`, `unwind`.

mod channels;
mod parked;

pub use parked::{ParkedGoroutine, ParkedGoroutines};

use crate::memory::Memory;
use std::ops::Range;

/// A goroutine's record, as far as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoroutineRecord {
    /// Both ends of its stack.
    pub stack: Range<u64>,
    /// The address of the record of the thread that runs it (`m`).
    pub thread: u64,
    /// The stack pointer that it saved when it stopped; 0 while it runs.
    pub sp: u64,
    /// The code address at which it stopped.
    pub pc: u64,
}

/// The indexes of a record's words: `g` in Go's runtime/runtime2.go, from Go 1.17 to 1.26. The BPF side reads the same
/// ones (`place.h` of `collect`).
impl GoroutineRecord {
    /// How many words are read.
    pub const WORDS: usize = 10;
    /// The low end of the stack.
    pub const LOW: usize = 0;
    /// Its high end.
    pub const HIGH: usize = 1;
    /// The thread.
    pub const THREAD: usize = 6;
    /// The stack pointer, the first of the saved registers.
    pub const SP: usize = 7;
    /// The code address, the second of the saved registers.
    pub const PC: usize = 8;
    /// The record's own address.
    pub const ITSELF: usize = 9;
}

/// The records of goroutines in a process's memory.
#[derive(Debug)]
pub struct GoroutineRecords(Memory);

impl GoroutineRecords {
    /// Those of a process; none when it has ended, or its memory may not be read.
    pub fn of_process(pid: u32) -> Option<GoroutineRecords> {
        Memory::of_process(pid).map(GoroutineRecords)
    }

    /// The record at an address; none where there is none. A record is recognised by its own address in it.
    pub fn read(&self, address: u64) -> Option<GoroutineRecord> {
        let words: [u64; GoroutineRecord::WORDS] = self.words(address)?;
        (words[GoroutineRecord::ITSELF] == address).then(|| GoroutineRecord {
            stack: words[GoroutineRecord::LOW]..words[GoroutineRecord::HIGH],
            thread: words[GoroutineRecord::THREAD],
            sp: words[GoroutineRecord::SP],
            pc: words[GoroutineRecord::PC],
        })
    }

    /// True for the goroutine on which a thread runs the scheduler (`g0`); the program's code does not run on it. The
    /// thread's record begins with its address.
    pub fn is_scheduler_goroutine(&self, address: u64, record: &GoroutineRecord) -> bool {
        self.0.word(record.thread) == Some(address)
    }

    fn words<const N: usize>(&self, address: u64) -> Option<[u64; N]> {
        let bytes = self.0.some(address, 8 * N)?;
        let mut words = [0; N];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        Some(words)
    }
}
