//! Records as bytes: known, truncated and hostile ones; and real ones from the kernel.

use super::*;
use crate::sources::perf::attribute::STACK_BYTES;
use crate::sources::perf::record::{MOST_REGISTERS, RecordKind, records};
use proptest::prelude::*;

/// A record with its header. `size` is written unchecked, whether right or wrong.
fn framed(kind: u32, misc: u16, body: &[u8], size: Option<u16>) -> Vec<u8> {
    let size = size.unwrap_or(body.len() as u16 + 8);
    let mut bytes = kind.to_ne_bytes().to_vec();
    bytes.extend(misc.to_ne_bytes());
    bytes.extend(size.to_ne_bytes());
    bytes.extend(body);
    bytes
}

fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

fn long(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

/// The end of each record: process 10, thread 11, time 1000, processor 3, event 77.
fn trailer() -> Vec<u8> {
    [words(&[10, 11]), long(&[1000]), words(&[3, 0]), long(&[77])].concat()
}

fn sample(registers: bool, stack: &[u8], copied: u64) -> Vec<u8> {
    let mut body = [long(&[77, 0x4000]), words(&[10, 11]), long(&[1000]), words(&[3, 0])].concat();
    body.extend(long(&[u64::from(registers) * 2]));
    if registers {
        body.extend((0..MOST_REGISTERS as u64).flat_map(|n| (0x100 + n).to_ne_bytes()));
    }
    body.extend(long(&[stack.len() as u64]));
    body.extend(stack);
    if !stack.is_empty() {
        body.extend(long(&[copied]));
    }
    framed(9, 2, &body, None)
}

fn whats(bytes: &[u8]) -> Vec<RecordKind> {
    records(bytes).map(|record| record.what).collect()
}

#[test]
fn known_records_are_understood() {
    let bytes = [
        framed(7, 0, &[words(&[10, 10, 12, 11]), long(&[900]), trailer()].concat(), None),
        framed(14, 0, &trailer(), None),
        framed(14, 1 << 13, &trailer(), None),
        framed(14, (1 << 13) | (1 << 14), &trailer(), None),
        framed(3, 1 << 13, &[words(&[10, 11]), b"<b>\xff\0\0\0\0".to_vec(), trailer()].concat(), None),
        framed(2, 0, &[long(&[77, 5]), trailer()].concat(), None),
        // A record of a kind that was not requested is skipped.
        framed(10, 0, &[0; 64], None),
        framed(4, 0, &[words(&[10, 10, 11, 10]), long(&[990]), trailer()].concat(), None),
    ]
    .concat();
    let expected = [
        RecordKind::Fork { parent_tid: 11 },
        RecordKind::In,
        RecordKind::Out { preempted: false },
        RecordKind::Out { preempted: true },
        RecordKind::Name { name: "<b>\u{fffd}".to_owned(), exec: true },
        RecordKind::Lost { count: 5 },
        RecordKind::Exit,
    ];
    assert_eq!(whats(&bytes), expected);
    let first = records(&bytes).next().unwrap();
    assert_eq!((first.time_ns, first.pid, first.tid, first.processor), (900, 10, 12, 3));
}

#[test]
fn a_sample_has_registers_by_number_and_the_copied_part_of_the_stack() {
    let bytes = sample(true, &[7; 64], 48);
    let Some(RecordKind::Sample(sample)) = whats(&bytes).pop() else { panic!("a sample") };
    assert_eq!((sample.event, sample.stack.len(), sample.registers.len()), (77, 48, MOST_REGISTERS));
    // A thread that is leaving has neither registers nor stack.
    let Some(RecordKind::Sample(leaving)) = whats(&self::sample(false, &[], 0)).pop() else { panic!("a sample") };
    assert_eq!((leaving.start(), leaving.stack.len()), (None, 0));
    #[cfg(target_arch = "x86_64")]
    {
        assert_eq!(sample.start(), Some(UserRegisters { ip: 0x108, sp: 0x107, bp: 0x106, lr: 0 }));
        // r15 is the last register; the segment registers before it are absent.
        assert_eq!((sample.register(23), sample.register(12)), (Some(0x100 + 19), None));
    }
}

#[test]
fn a_copied_length_beyond_the_stack_is_cut() {
    let Some(RecordKind::Sample(sample)) = whats(&sample(true, &[7; 64], u64::MAX)).pop() else { panic!("a sample") };
    assert_eq!(sample.stack.len(), 64);
}

#[test]
fn impossible_sizes_end_the_reading() {
    let good = framed(14, 0, &trailer(), None);
    for bad in [framed(14, 0, &trailer(), Some(0)), framed(14, 0, &trailer(), Some(7)), framed(9, 0, &[], Some(60_000))]
    {
        assert_eq!(whats(&[good.clone(), bad, good.clone()].concat()), [RecordKind::In]);
    }
    // Too short for its contents: it is left out, and the next record is read.
    let short = framed(7, 0, &trailer(), None);
    assert_eq!(whats(&[short, good].concat()), [RecordKind::In]);
}

proptest! {
    #[test]
    fn no_bytes_are_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = whats(&bytes);
    }

    /// Whole records of all kinds with a changed byte, cut anywhere.
    #[test]
    fn damaged_records_are_no_trouble(at in 0..4000_usize, value in any::<u8>(), cut in 0..4000_usize) {
        let mut bytes = [
            framed(7, 0, &[words(&[10, 10, 12, 11]), long(&[900]), trailer()].concat(), None),
            sample(true, &[7; 256], 256),
            framed(3, 1 << 13, &[words(&[10, 11]), vec![0; 8], trailer()].concat(), None),
            sample(false, &[], 0),
            framed(2, 0, &[long(&[77, 5]), trailer()].concat(), None),
            framed(14, 1 << 13, &trailer(), None),
        ]
        .concat();
        let length = bytes.len();
        bytes[at % length] = value;
        bytes.truncate(cut % length);
        for record in records(&bytes) {
            if let RecordKind::Sample(sample) = record.what {
                prop_assert!(sample.stack.len() <= STACK_BYTES as usize);
            }
        }
    }
}

/// Where the kernel allows it, observes a child from its exec to its end.
#[test]
#[expect(clippy::print_stderr, reason = "says what it did not check")]
fn a_child_is_told_of_from_its_program_to_its_end() {
    if let Err(error) = allowed() {
        eprintln!("NOT CHECKED: perf events are not allowed here: {error}");
        return;
    }
    let mut child = std::process::Command::new("sh");
    child.args(["-c", "read line; exec sh -c 'sleep 0.05 & wait; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'"]);
    let mut child = child.stdin(std::process::Stdio::piped()).spawn().expect("sh");
    let mut events = PerfEvents::open(child.id() as i32, 1_003_009).expect("perf events are allowed");
    drop(child.stdin.take());
    child.wait().expect("it ends");
    let (records, _) = events.fetch(true, |_| {});
    assert!(records.is_sorted_by_key(|record| record.time_ns));
    let count = |wanted: fn(&RecordKind) -> bool| records.iter().filter(|record| wanted(&record.what)).count();
    assert!(count(|what| matches!(what, RecordKind::Name { exec: true, .. })) >= 2, "sh, then sleep");
    assert!(count(|what| matches!(what, RecordKind::Fork { .. })) >= 1);
    assert!(count(|what| matches!(what, RecordKind::Exit)) >= 2);
    assert!(
        count(|what| matches!(what, RecordKind::In)) >= 1 && count(|what| matches!(what, RecordKind::Out { .. })) >= 1
    );
    let sampled = records.iter().filter_map(|record| match &record.what {
        RecordKind::Sample(sample) if events.of_clock(sample) => Some(sample),
        _ => None,
    });
    let sampled: Vec<_> = sampled.collect();
    assert!(!sampled.is_empty() && sampled.iter().all(|sample| sample.start().is_some() && !sample.stack.is_empty()));
}
