//! Which goroutine a sample was taken in.
//!
//! Go keeps the address of the running goroutine's record in a register (r14 on x86-64: src/cmd/compile/abi-internal.md
//! of Go, since 1.17). Assembly code may use that register for something else, and a thread's own goroutine, g0, is not
//! one of the program's. So the record must point to itself, and the stack pointer must lie on its stack.

use resolve::GoroutineRecords;
use std::collections::HashMap;
use std::ops::Range;

/// The register's index in the kernel's `pt_regs` (arch/x86/include/asm/ptrace.h): r15 is the first.
#[cfg(target_arch = "x86_64")]
const REGISTER: Option<usize> = Some(1);
#[cfg(not(target_arch = "x86_64"))]
const REGISTER: Option<usize> = None;

/// How many records are remembered. Go reuses those of ended goroutines, so a program seldom has more.
const KNOWN: usize = 1 << 16;

/// The goroutines of a process.
#[derive(Debug, Default)]
pub(super) struct Goroutines {
    records: Option<GoroutineRecords>,
    /// Both ends of each one's stack; none for g0 and for what is not a goroutine.
    known: HashMap<u64, Option<Range<u64>>>,
}

impl Goroutines {
    /// The address of the goroutine that ran with these registers and this stack pointer.
    pub(super) fn running(&mut self, pid: u32, registers: &[u64], stack_pointer: u64) -> Option<u64> {
        let goroutine = *registers.get(REGISTER?)?;
        let on_stack = |stack: &Option<Range<u64>>| stack.as_ref().is_some_and(|stack| stack.contains(&stack_pointer));
        if self.known.get(&goroutine).is_some_and(on_stack) {
            return Some(goroutine);
        }
        if self.known.len() >= KNOWN {
            self.known.clear();
        }
        // Go moves a stack when it grows.
        let stack = self.stack(pid, goroutine);
        let runs = on_stack(&stack);
        self.known.insert(goroutine, stack);
        runs.then_some(goroutine)
    }

    fn stack(&mut self, pid: u32, goroutine: u64) -> Option<Range<u64>> {
        if self.records.is_none() {
            self.records = GoroutineRecords::of_process(pid);
        }
        let records = self.records.as_ref()?;
        let record = records.read(goroutine)?;
        (!records.is_scheduler_goroutine(goroutine, &record)).then_some(record.stack)
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use resolve::GoroutineRecord;

    const WORDS: usize = GoroutineRecord::WORDS;
    const LOW: usize = GoroutineRecord::LOW;
    const HIGH: usize = GoroutineRecord::HIGH;
    const THREAD: usize = GoroutineRecord::THREAD;
    const ITSELF: usize = GoroutineRecord::ITSELF;

    /// A record of a goroutine on a stack, run by a thread whose g0 is at an address.
    fn record(low: u64, high: u64, thread: &[u64]) -> Box<[u64; WORDS]> {
        let mut record = Box::new([0; WORDS]);
        (record[LOW], record[HIGH], record[THREAD]) = (low, high, thread.as_ptr() as u64);
        record[ITSELF] = record.as_ptr() as u64;
        record
    }

    fn running(record: &[u64; WORDS], stack_pointer: u64) -> Option<u64> {
        let registers = [0, record.as_ptr() as u64, 0];
        Goroutines::default().running(std::process::id(), &registers, stack_pointer)
    }

    #[test]
    fn a_goroutine_is_one_that_names_itself_and_whose_stack_is_in_use() {
        let goroutine = record(0x1000, 0x2000, &[7]);
        assert_eq!(running(&goroutine, 0x1800), Some(goroutine.as_ptr() as u64));
        assert_eq!(running(&goroutine, 0x2000), None);
        let mut other = record(0x1000, 0x2000, &[7]);
        other[ITSELF] = 5;
        assert_eq!(running(&other, 0x1800), None);
        let mut thread = vec![0];
        let own = record(0x1000, 0x2000, &thread);
        thread[0] = own.as_ptr() as u64;
        assert_eq!(running(&own, 0x1800), None);
    }

    #[test]
    fn a_stack_that_was_moved_is_found_again_and_bad_addresses_are_nobody() {
        let mut goroutine = record(0x1000, 0x2000, &[7]);
        let registers = [0, goroutine.as_ptr() as u64, 0];
        let (mut goroutines, pid) = (Goroutines::default(), std::process::id());
        assert_eq!(goroutines.running(pid, &registers, 0x1800), Some(registers[1]));
        (goroutine[LOW], goroutine[HIGH]) = (0x5000, 0x9000);
        assert_eq!(goroutines.running(pid, &registers, 0x6000), Some(registers[1]));
        assert_eq!(goroutines.running(pid, &[0, 8, 0], 0x6000), None);
        assert_eq!(goroutines.running(pid, &[0, u64::MAX - 3, 0], 0x6000), None);
        assert_eq!(goroutines.running(pid, &[], 0x6000), None);
        assert_eq!(Goroutines::default().running(u32::MAX, &registers, 0x6000), None);
    }
}
