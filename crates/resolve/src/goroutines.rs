//! Goroutines that wait, and the stacks on which they do, read from the memory of their process.
//!
//! A thread of Go's scheduler that sleeps tells little: any goroutine may be what it will run next. Go's runtime keeps
//! all its goroutines in a list (`allgs` in runtime/proc.go), each with the registers that it left off with. Nothing
//! stops the process meanwhile, so a record counts only when it is the same before and after its stack was copied.

use crate::address::UserRegisters;
use crate::memory::Memory;
use crate::unwind::Unwinder;
use std::ops::Range;

/// The list of all goroutines: a slice, that is the address of the first pointer, the length, and the capacity.
const LIST: &str = "runtime.allgs";

/// In which every goroutine leaves off that waits for something (runtime/proc.go).
const PARK: &str = "runtime.gopark";

/// The most goroutines of a list; one that says to be longer is none.
const LONGEST: u64 = 1 << 22;

/// Goroutines that are looked at in one look: of more, the next look sees the next ones.
const AT_ONCE: u64 = 256;

/// The most bytes that are copied of a stack. Goroutines begin with 2 KiB; handlers of requests have some more.
const STACK: u64 = 16 << 10;

/// Words of the record that are read, and which of them are what (`g` in runtime/runtime2.go, from Go 1.17 to 1.26):
/// both ends of the stack, and of the saved registers the stack pointer, the address of code, and the record's own
/// address.
const WORDS: usize = 10;
const LOW: usize = 0;
const HIGH: usize = 1;
const SP: usize = 7;
const PC: usize = 8;
const ITSELF: usize = 9;

/// The goroutines of a process.
#[derive(Debug)]
pub struct ParkedGoroutines {
    memory: Memory,
    /// Address of the list.
    list: u64,
    park: Range<u64>,
    /// The place in the list at which the next look begins.
    next: u64,
}

impl ParkedGoroutines {
    /// Those of a process that runs a Go program; none where its symbols are stripped, or its memory may not be read.
    pub fn of(pid: u32, unwinder: &Unwinder) -> Option<ParkedGoroutines> {
        let [park] = unwinder.go_functions([PARK])?;
        let list = unwinder.go_variable(LIST)?;
        Some(ParkedGoroutines { memory: Memory::of_process(pid)?, list, park: park.0..park.1, next: 0 })
    }

    /// Looks at the goroutines that wait now, at most [`AT_ONCE`]: the record's address, the registers with which it
    /// goes on, and its stack from the stack pointer on. False when the process has ended.
    pub fn look(&mut self, mut each: impl FnMut(u64, UserRegisters, &[u8])) -> bool {
        let Some([first, length]) = self.words::<2>(self.list) else { return false };
        if length == 0 || length > LONGEST {
            return true;
        }
        let looked = length.min(AT_ONCE);
        let begin = if self.next < length { self.next } else { 0 };
        self.next = (begin + looked) % length;
        // At most to the list's end, then from its start.
        let upto_end = looked.min(length - begin);
        for (at, count) in [(begin, upto_end), (0, looked - upto_end)] {
            let place = first.wrapping_add(at.wrapping_mul(8));
            let Some(records) = self.memory.some(place, 8 * count as usize) else { continue };
            for record in records.as_chunks().0.iter().copied().map(u64::from_le_bytes) {
                if let Some((record, registers, stack)) = self.parked(record) {
                    each(record, registers, &stack);
                }
            }
        }
        true
    }

    /// One that waits, and its stack.
    fn parked(&self, record: u64) -> Option<(u64, UserRegisters, Vec<u8>)> {
        let before: [u64; WORDS] = self.words(record)?;
        let (low, high, sp, pc) = (before[LOW], before[HIGH], before[SP], before[PC]);
        // Who runs has no saved stack pointer.
        let waits = before[ITSELF] == record && low <= sp && sp < high && self.park.contains(&pc);
        let size = high.checked_sub(sp).filter(|_| waits)?.min(STACK);
        let stack = self.memory.some(sp, usize::try_from(size).ok()?)?;
        let after: [u64; WORDS] = self.words(record)?;
        (after == before).then_some((record, UserRegisters { ip: pc, sp, bp: 0, lr: 0 }, stack))
    }

    fn words<const N: usize>(&self, address: u64) -> Option<[u64; N]> {
        let bytes = self.memory.some(address, 8 * N)?;
        let mut words = [0; N];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        Some(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let memory = Memory::of_process(std::process::id()).expect("this process's own memory");
            ParkedGoroutines { memory, list: self.header.as_ptr() as u64, park: 0x1000..0x1020, next: 0 }
        }
    }

    fn seen(looks: &mut ParkedGoroutines) -> Vec<u64> {
        let mut seen = Vec::new();
        assert!(looks.look(|record, registers, stack| {
            assert_eq!((registers.ip, stack.len()), (PARKED, 192));
            seen.push(record);
        }));
        seen
    }

    #[test]
    fn goroutines_that_wait_are_seen_with_their_stacks() {
        let world = World::new(3);
        assert_eq!(seen(&mut world.looks()), world.list);
    }

    #[test]
    fn one_that_runs_or_is_none_is_not_seen() {
        let mut world = World::new(5);
        world.records[0][SP] = 0;
        world.records[1][PC] = 0x1020;
        world.records[2][ITSELF] = 8;
        world.records[3][SP] = world.stacks[3].as_ptr() as u64 + 256;
        assert_eq!(seen(&mut world.looks()), world.list[4..]);
    }

    #[test]
    fn of_many_the_next_look_sees_the_next_ones() {
        let world = World::new(300);
        let mut looks = world.looks();
        assert_eq!(seen(&mut looks), world.list[..256]);
        let second = seen(&mut looks);
        assert_eq!((second.len(), second[0], second[44]), (256, world.list[256], world.list[0]));
    }

    /// Whatever the words say, nothing but what can be read comes back.
    #[test]
    fn a_list_that_lies_leads_nowhere() {
        let mut world = World::new(2);
        *world.header = [8, 2];
        assert_eq!(seen(&mut world.looks()), []);
        *world.header = [world.list.as_ptr() as u64, u64::MAX];
        assert_eq!(seen(&mut world.looks()), []);
        let mut gone = world.looks();
        gone.list = 8;
        assert!(!gone.look(|_, _, _| {}));
        // A stack that cannot be read, and one that ends before it begins.
        let mut world = World::new(2);
        (world.records[0][LOW], world.records[0][SP], world.records[0][HIGH]) = (8, 8, 4096);
        (world.records[1][LOW], world.records[1][HIGH]) = (world.records[1][HIGH], 0);
        assert_eq!(seen(&mut world.looks()), []);
    }
}
