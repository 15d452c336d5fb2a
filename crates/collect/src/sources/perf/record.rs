//! Records as the kernel writes them (perf_event_open(2), "MMAP layout") → typed ones. Bytes that are no whole record
//! of a known form are skipped and never cause a panic.

use super::attribute::REGISTERS;

// linux/perf_event.h: types of records, and bits of `misc`.
const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const LOST_SAMPLES: u32 = 13;
const SWITCH: u32 = 14;
const MISC_COMM_EXEC: u16 = 1 << 13;
const MISC_SWITCH_OUT: u16 = 1 << 13;
const MISC_SWITCH_OUT_PREEMPT: u16 = 1 << 14;

/// Bytes of a record's header: type, misc, size.
const HEADER: usize = 8;
/// Bytes of the fields at the end of all records but samples (see `attribute::RECORD_FIELDS`).
const TRAILER: usize = 32;

/// Most registers that a sample can hold.
pub(super) const MOST_REGISTERS: usize = REGISTERS.count_ones() as usize;

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// CLOCK_MONOTONIC.
    pub(super) time_ns: u64,
    /// The process that it is about.
    pub(super) pid: u32,
    /// The thread that it is about.
    pub(super) tid: u32,
    /// The processor it happened on.
    pub(super) processor: u32,
    pub(super) what: RecordKind,
}

/// What a record reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// The thread was created by another.
    Fork { parent_tid: u32 },
    /// The thread ends.
    Exit,
    /// The thread has a new name; with `exec`, because its process executes another program.
    Name { name: String, exec: bool },
    /// It goes on running.
    In,
    /// It stops running: to wait, or preempted.
    Out { preempted: bool },
    /// A sample of the event with this number.
    Sample(Box<UserSample>),
    /// Records for which the ring had no room.
    Lost { count: u64 },
}

/// A sample of user space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UserSample {
    /// The event's number.
    pub(super) event: u64,
    /// In the order of their bits; empty when the thread has no user space any more.
    pub(super) registers: Vec<u64>,
    /// Bytes from the stack pointer on.
    pub(super) stack: Vec<u8>,
}

impl UserSample {
    /// A register by its bit in the kernel's numbering (asm/perf_regs.h).
    pub(super) fn register(&self, bit: u32) -> Option<u64> {
        let asked = REGISTERS & (1 << bit) != 0;
        let position = (REGISTERS & ((1 << bit) - 1)).count_ones() as usize;
        self.registers.get(position).copied().filter(|_| asked)
    }
}

/// Bytes that are read from the front.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_ne_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_ne_bytes(self.take(8)?.try_into().ok()?))
    }
}

/// The records in bytes that were taken out of a ring, in order. Records of unknown kinds are left out; after a record
/// with an impossible size, the rest is dropped.
pub(super) fn records(bytes: &[u8]) -> impl Iterator<Item = Record> + '_ {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        loop {
            let mut header = Bytes(rest);
            let (kind, misc_and_size) = (header.u32()?, header.u32()?.to_ne_bytes());
            let misc = u16::from_ne_bytes([misc_and_size[0], misc_and_size[1]]);
            let size = usize::from(u16::from_ne_bytes([misc_and_size[2], misc_and_size[3]]));
            if size < HEADER {
                return None;
            }
            let (record, after) = rest.split_at_checked(size)?;
            rest = after;
            if let Some(record) = parse(kind, misc, &record[HEADER..]) {
                return Some(record);
            }
        }
    })
}

fn parse(kind: u32, misc: u16, body: &[u8]) -> Option<Record> {
    if kind == SAMPLE {
        return sample(body);
    }
    let (body, trailer) = body.split_at_checked(body.len().checked_sub(TRAILER)?)?;
    let mut trailer = Bytes(trailer);
    let (pid, tid, time_ns, processor) = (trailer.u32()?, trailer.u32()?, trailer.u64()?, trailer.u32()?);
    let mut body = Bytes(body);
    let about = |pid, tid, time_ns, what| Some(Record { time_ns, pid, tid, processor, what });
    match kind {
        FORK | EXIT => {
            let (pid, _parent, tid, parent_tid) = (body.u32()?, body.u32()?, body.u32()?, body.u32()?);
            let time_ns = body.u64()?;
            about(pid, tid, time_ns, if kind == FORK { RecordKind::Fork { parent_tid } } else { RecordKind::Exit })
        }
        COMM => {
            let (pid, tid) = (body.u32()?, body.u32()?);
            let name = body.0.split(|byte| *byte == 0).next().unwrap_or_default();
            let name = String::from_utf8_lossy(name).into_owned();
            about(pid, tid, time_ns, RecordKind::Name { name, exec: misc & MISC_COMM_EXEC != 0 })
        }
        SWITCH if misc & MISC_SWITCH_OUT == 0 => about(pid, tid, time_ns, RecordKind::In),
        SWITCH => about(pid, tid, time_ns, RecordKind::Out { preempted: misc & MISC_SWITCH_OUT_PREEMPT != 0 }),
        LOST => {
            let _event = body.u64()?;
            about(pid, tid, time_ns, RecordKind::Lost { count: body.u64()? })
        }
        LOST_SAMPLES => about(pid, tid, time_ns, RecordKind::Lost { count: body.u64()? }),
        _ => None,
    }
}

/// Fields in the order of perf_event_open(2) for `attribute::SAMPLE_FIELDS`.
fn sample(body: &[u8]) -> Option<Record> {
    let mut body = Bytes(body);
    let (event, _ip) = (body.u64()?, body.u64()?);
    let (pid, tid, time_ns) = (body.u32()?, body.u32()?, body.u64()?);
    let (processor, _reserved) = (body.u32()?, body.u32()?);
    // PERF_SAMPLE_REGS_ABI_NONE: the thread is leaving and has no user registers.
    let mut registers = Vec::new();
    if body.u64()? != 0 {
        registers.reserve(MOST_REGISTERS);
        for _ in 0..MOST_REGISTERS {
            registers.push(body.u64()?);
        }
    }
    let size = usize::try_from(body.u64()?).ok()?;
    let mut stack = body.take(size)?.to_vec();
    if size > 0 {
        stack.truncate(usize::try_from(body.u64()?).ok()?);
    }
    let what = RecordKind::Sample(Box::new(UserSample { event, registers, stack }));
    Some(Record { time_ns, pid, tid, processor, what })
}
