//! Goroutines, and the stacks of those that wait, read from the memory of their process.
//!
//! A sleeping thread of Go's scheduler says little: it may run any goroutine next. Go's runtime keeps all its goroutines
//! in a list (`allgs` in runtime/proc.go), each with the registers that it saved when it stopped. The process runs on
//! meanwhile, so a record counts only when it is the same before and after its stack was copied.
//!
//! Room: [`channels`] which channels a goroutine waits on. May import: `address`, `memory`, `unwind`.

mod channels;

use crate::address::UserRegisters;
use crate::memory::Memory;
use crate::unwind::Unwinder;
use std::ops::Range;

/// The list of all goroutines. It is a slice: the address of the first pointer, the length, and the capacity.
const LIST: &str = "runtime.allgs";

/// The function in which every waiting goroutine stops (runtime/proc.go).
const PARK: &str = "runtime.gopark";

/// The most goroutines of a list; a longer one is taken for damaged and not read.
const LONGEST: u64 = 1 << 22;

/// The most bytes that are copied of a stack. Goroutines begin with 2 KiB; handlers of requests have some more. A slice
/// that does not leave its function lies on the stack, up to 64 KiB (`MaxImplicitStackVarSize` in cmd/compile).
const STACK: u64 = 128 << 10;

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

/// The goroutines of a process that wait.
#[derive(Debug)]
pub struct ParkedGoroutines {
    records: GoroutineRecords,
    /// Address of the list.
    list: u64,
    park: Range<u64>,
    /// How far from the first of each part of the list the next look is.
    next: u64,
}

impl ParkedGoroutines {
    /// Those of a process that runs a Go program; none where its symbols are stripped, or its memory may not be read.
    pub fn for_process(pid: u32, unwinder: &Unwinder) -> Option<ParkedGoroutines> {
        let [park] = unwinder.go_functions([PARK])?;
        let list = unwinder.go_variable(LIST)?;
        Some(ParkedGoroutines { records: GoroutineRecords::of_process(pid)?, list, park: park.0..park.1, next: 0 })
    }

    /// Reads at most `at_once` goroutines, the next look the next ones, and passes each that waits now to `each`: all
    /// records, the address of its own, the registers with which it will continue, and its stack from the stack pointer on.
    /// False when the process has ended.
    pub fn look(&mut self, at_once: u64, mut each: impl FnMut(&GoroutineRecords, u64, UserRegisters, &[u8])) -> bool {
        let Some([first, length]) = self.records.words::<2>(self.list) else { return false };
        if length == 0 || length > LONGEST {
            return true;
        }
        // From all parts of the list: goroutines that were started one after the other are often alike.
        let looked = length.min(at_once.max(1));
        let stretch = length.div_ceil(looked);
        let begin = self.next % stretch;
        self.next = begin + 1;
        for nth in 0..looked {
            let at = (nth * length / looked + begin) % length;
            let record = self.records.0.word(first.wrapping_add(at.wrapping_mul(8)));
            if let Some((record, registers, stack)) = record.and_then(|record| self.parked(record)) {
                each(&self.records, record, registers, &stack);
            }
        }
        true
    }

    /// The record's address, registers and stack of a goroutine that waits; none for one that does not.
    fn parked(&self, address: u64) -> Option<(u64, UserRegisters, Vec<u8>)> {
        let record = self.records.read(address)?;
        let GoroutineRecord { sp, pc, .. } = record;
        if !record.stack.contains(&sp) || !self.park.contains(&pc) {
            return None;
        }
        let size = (record.stack.end - sp).min(STACK);
        let stack = self.records.0.some(sp, usize::try_from(size).ok()?)?;
        // It may have continued meanwhile.
        let unchanged = self.records.read(address).is_some_and(|now| now == record);
        unchanged.then_some((address, UserRegisters { ip: pc, sp, bp: 0, lr: 0 }, stack))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const WORDS: usize = GoroutineRecord::WORDS;
    const LOW: usize = GoroutineRecord::LOW;
    const HIGH: usize = GoroutineRecord::HIGH;
    const SP: usize = GoroutineRecord::SP;
    const PC: usize = GoroutineRecord::PC;
    const ITSELF: usize = GoroutineRecord::ITSELF;

    /// Goroutines in this process's memory, each a record and a stack of so many words.
    struct World {
        records: Vec<[u64; WORDS]>,
        stacks: Vec<Vec<u64>>,
        list: Vec<u64>,
        header: Box<[u64; 2]>,
    }

    const PARKED: u64 = 0x1010;

    impl World {
        fn new(goroutines: usize) -> World {
            let stacks: Vec<Vec<u64>> = (0..goroutines).map(|number| vec![number as u64; 32]).collect();
            let mut records = vec![[0; WORDS]; goroutines];
            for (record, stack) in records.iter_mut().zip(&stacks) {
                let low = stack.as_ptr() as u64;
                (record[LOW], record[HIGH], record[SP], record[PC]) = (low, low + 256, low + 64, PARKED);
                record[ITSELF] = record.as_ptr() as u64;
            }
            let list: Vec<u64> = records.iter().map(|record| record.as_ptr() as u64).collect();
            let header = Box::new([list.as_ptr() as u64, list.len() as u64]);
            World { records, stacks, list, header }
        }

        fn looks(&self) -> ParkedGoroutines {
            let records = GoroutineRecords::of_process(std::process::id()).expect("this process's own memory");
            ParkedGoroutines { records, list: self.header.as_ptr() as u64, park: 0x1000..0x1020, next: 0 }
        }
    }

    fn seen(looks: &mut ParkedGoroutines) -> Vec<u64> {
        let mut seen = Vec::new();
        assert!(looks.look(256, |_, record, registers, stack| {
            assert_eq!((registers.ip, stack.len()), (PARKED, 192));
            seen.push(record);
        }));
        seen
    }

    #[test]
    fn waiting_goroutines_are_seen_with_their_stacks() {
        let world = World::new(3);
        assert_eq!(seen(&mut world.looks()), world.list);
    }

    #[test]
    fn running_goroutines_and_other_memory_are_not_seen() {
        let mut world = World::new(5);
        world.records[0][SP] = 0;
        world.records[1][PC] = 0x1020;
        world.records[2][ITSELF] = 8;
        world.records[3][SP] = world.stacks[3].as_ptr() as u64 + 256;
        assert_eq!(seen(&mut world.looks()), world.list[4..]);
    }

    #[test]
    fn the_next_look_sees_the_next_of_many_goroutines() {
        let world = World::new(600);
        let mut looks = world.looks();
        let first = seen(&mut looks);
        assert_eq!((first.len(), first[0], first[255]), (256, world.list[0], world.list[597]));
        let mut all: BTreeSet<u64> = first.into_iter().collect();
        (0..2).for_each(|_| all.extend(seen(&mut looks)));
        assert_eq!(all, world.list.iter().copied().collect());
    }

    /// Whatever the words are, only memory that can be read is returned.
    #[test]
    fn a_damaged_list_yields_nothing() {
        let mut world = World::new(2);
        *world.header = [8, 2];
        assert_eq!(seen(&mut world.looks()), []);
        *world.header = [world.list.as_ptr() as u64, u64::MAX];
        assert_eq!(seen(&mut world.looks()), []);
        let mut gone = world.looks();
        gone.list = 8;
        assert!(!gone.look(256, |_, _, _, _| {}));
        // A stack that cannot be read, and one that ends before it begins.
        let mut world = World::new(2);
        (world.records[0][LOW], world.records[0][SP], world.records[0][HIGH]) = (8, 8, 4096);
        (world.records[1][LOW], world.records[1][HIGH]) = (world.records[1][HIGH], 0);
        assert_eq!(seen(&mut world.looks()), []);
    }
}
