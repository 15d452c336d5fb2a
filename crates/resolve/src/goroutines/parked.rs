//! The goroutines of a process that wait: their stacks, and whether they wait for the clock.

use super::{GoroutineRecord, GoroutineRecords};
use crate::address::UserRegisters;
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

/// The functions in which a goroutine receives from a channel, and from one of several (runtime/chan.go, select.go).
const RECEIVE: [&str; 2] = ["runtime.chanrecv", "runtime.selectgo"];

/// How many words from the stack pointer on are searched for a return address into these: they call `gopark`, whose frame
/// has less than 128 bytes.
const NEAREST: usize = 64;

/// The goroutines of a process that wait.
#[derive(Debug)]
pub struct ParkedGoroutines {
    records: GoroutineRecords,
    /// Address of the list.
    list: u64,
    park: Range<u64>,
    /// Where the program's code lies.
    code: Range<u64>,
    /// The functions in which a goroutine receives from channels.
    receive: Vec<Range<u64>>,
    /// How far from the first of each part of the list the next look is.
    next: u64,
}

impl ParkedGoroutines {
    /// Those of a process that runs a Go program; none where its symbols are stripped, or its memory may not be read.
    pub fn for_process(pid: u32, unwinder: &Unwinder) -> Option<ParkedGoroutines> {
        let [park] = unwinder.go_functions([PARK])?;
        let list = unwinder.go_variable(LIST)?;
        let code = unwinder.go_code()?;
        let receive = RECEIVE.into_iter().filter_map(|name| unwinder.go_functions([name]));
        let receive = receive.map(|[(start, end)]| start..end).collect();
        let records = GoroutineRecords::of_process(pid)?;
        Some(ParkedGoroutines { records, list, park: park.0..park.1, code, receive, next: 0 })
    }

    /// Reads at most `at_once` goroutines, the next look the next ones, and passes each that waits now to `each`. False when
    /// the process has ended.
    pub fn look(&mut self, at_once: u64, mut each: impl FnMut(ParkedGoroutine<'_>)) -> bool {
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
                each(ParkedGoroutine { of: self, record, registers, stack: &stack });
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

/// A goroutine that waits.
#[derive(Debug)]
pub struct ParkedGoroutine<'p> {
    of: &'p ParkedGoroutines,
    /// The address of its record.
    pub record: u64,
    /// The registers with which it will continue.
    pub registers: UserRegisters,
    /// Its stack from the stack pointer on.
    pub stack: &'p [u8],
}

impl ParkedGoroutine<'_> {
    /// A hash of all words of the stack that may be return addresses, and of where they are: equal for two goroutines that
    /// came the same way to where they wait, whatever their variables are.
    pub fn path_hash(&self) -> u64 {
        let words = self.stack.as_chunks().0.iter().copied().map(u64::from_le_bytes).enumerate();
        let code = words.filter(|(_, word)| self.of.code.contains(word));
        code.fold(mix(0, self.registers.ip), |hash, (at, word)| mix(mix(hash, at as u64), word))
    }

    /// A hash of the whole stack: equal while the goroutine waits, or where nothing that it waits for has changed.
    pub fn hash(&self) -> u64 {
        let (words, rest) = self.stack.as_chunks();
        let start = mix(mix(mix(0, self.registers.ip), self.registers.sp), self.stack.len() as u64);
        let hash = words.iter().fold(start, |hash, word| mix(hash, u64::from_ne_bytes(*word)));
        rest.iter().fold(hash, |hash, byte| mix(hash, u64::from(*byte)))
    }

    /// Whether it waits for the clock, as [`GoroutineRecords::waits_for_timer`] says. Channels are only looked for on the
    /// stacks of goroutines that receive.
    pub fn waits_for_timer(&self) -> bool {
        let mut words = self.stack.as_chunks().0.iter().take(NEAREST).copied().map(u64::from_le_bytes);
        let receives = words.any(|word| self.of.receive.iter().any(|function| function.contains(&word)));
        receives && self.of.records.waits_for_timer(self.record, self.stack)
    }
}

/// A multiplication and a rotation a word, as rustc hashes: stacks have some kilobytes, and are looked at often.
fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
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
    const RECEIVES: u64 = 0x1100;

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
            let (park, code, receive) = (0x1000..0x1020, 0x1000..0x2000, vec![RECEIVES..RECEIVES + 16, 0x1400..0x1410]);
            ParkedGoroutines { records, list: self.header.as_ptr() as u64, park, code, receive, next: 0 }
        }
    }

    fn seen(looks: &mut ParkedGoroutines) -> Vec<u64> {
        let mut seen = Vec::new();
        assert!(looks.look(256, |parked| {
            assert_eq!((parked.registers.ip, parked.stack.len()), (PARKED, 192));
            seen.push(parked.record);
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

    /// The hashes of the path and of the whole stack, of goroutines whose stacks hold these words.
    fn hashes<const N: usize>(stacks: [&[u64]; N]) -> Vec<(u64, u64)> {
        let world = World::new(0);
        let of = world.looks();
        let of_one = |words: &&[u64]| {
            let stack: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let registers = UserRegisters { ip: PARKED, sp: 64, bp: 0, lr: 0 };
            let parked = ParkedGoroutine { of: &of, record: 8, registers, stack: &stack };
            (parked.path_hash(), parked.hash())
        };
        stacks.iter().map(of_one).collect()
    }

    #[test]
    fn the_same_way_to_a_place_has_one_hash() {
        let all = hashes([
            &[7, 0x1200, 9, 0x1300],
            &[8, 0x1200, 5, 0x1300],
            &[7, 0x1200, 0x1300, 9],
            &[7, 0x1200, 9, 0x1301],
        ]);
        assert_eq!(all[0].0, all[1].0, "other variables");
        assert_ne!(all[0].1, all[1].1);
        assert_ne!(all[0].0, all[2].0, "another frame");
        assert_ne!(all[0].0, all[3].0, "another call");
    }

    /// The near miss: the same channel on the stack of a goroutine that does not receive.
    #[test]
    fn channels_are_looked_for_where_a_goroutine_receives() {
        let world = World::new(1);
        let of = world.looks();
        let record = world.list[0];
        let queued = [record, 0];
        let mut channel = [0_u64; 11];
        (channel[4], channel[8]) = (0x5000, queued.as_ptr() as u64);
        let waits = |function: u64| {
            let stack: Vec<u8> = [function, channel.as_ptr() as u64].into_iter().flat_map(u64::to_le_bytes).collect();
            let registers = UserRegisters { ip: PARKED, sp: 64, bp: 0, lr: 0 };
            ParkedGoroutine { of: &of, record, registers, stack: &stack }.waits_for_timer()
        };
        assert!(waits(RECEIVES));
        assert!(!waits(0x1200));
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
        assert!(!gone.look(256, |_| {}));
        // A stack that cannot be read, and one that ends before it begins.
        let mut world = World::new(2);
        (world.records[0][LOW], world.records[0][SP], world.records[0][HIGH]) = (8, 8, 4096);
        (world.records[1][LOW], world.records[1][HIGH]) = (world.records[1][HIGH], 0);
        assert_eq!(seen(&mut world.looks()), []);
    }
}
