//! Perf events of the child and of all its descendants, in one ring for each processor: what the kernel shows
//! unprivileged users of their own programs. Gives the records in order of time.

use super::attribute::{self, Kind, Whom};
use super::record::{self, Record, UserSample};
use super::ring::Ring;
use crate::machine::{online, usable_processors};
use crate::procfs::monotonic_ns;
use resolve::UserRegisters;
use std::collections::HashSet;
use std::fs::File;
use std::io;

/// Ring sizes in bytes that are tried, the largest first. An unprivileged user may lock kernel.perf_event_mlock_kb (516
/// by default) for each processor in all programs together, and RLIMIT_MEMLOCK beyond that. The largest size holds what
/// 1000 samples a second and 20,000 switches a second write in 150 ms.
const RING_BYTES: [usize; 6] = [2 << 20, 1 << 20, 512 << 10, 256 << 10, 128 << 10, 64 << 10];

/// The events of a run.
#[derive(Debug)]
pub(crate) struct PerfEvents {
    rings: Vec<Ring>,
    /// Kept open, because closing a file ends its event.
    _files: Vec<File>,
    clocks: HashSet<u64>,
    held: Vec<Record>,
    /// When the last fetch began: older records have arrived by the next fetch.
    fetched_ns: u64,
    bytes: Vec<u8>,
}

/// Page faults that one sample stands for. A prime, so that loops over pages do not fall into step with it.
pub(super) const FAULT_PERIOD: u64 = 61;

impl PerfEvents {
    /// Opens the events of a process that waits to execute the target, with a sample after each `period_ns` of a
    /// thread's running time.
    pub(crate) fn open(pid: i32, period_ns: u64) -> io::Result<PerfEvents> {
        let (mut owners, mut files, mut clocks) = (Vec::new(), Vec::new(), HashSet::new());
        for processor in processors() {
            let whom = Whom::Child(pid);
            let owner = match attribute::open(Kind::Switches, whom, processor) {
                // The processor has gone offline meanwhile: nothing runs there.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => continue,
                opened => opened?,
            };
            let clock = attribute::open(Kind::Clock { period_ns }, whom, processor)?;
            let faults = attribute::open(Kind::Faults { period: FAULT_PERIOD }, whom, processor)?;
            clocks.insert(attribute::id(&clock)?);
            owners.push(owner);
            files.push((owners.len() - 1, clock));
            files.push((owners.len() - 1, faults));
        }
        let rings = map(&owners)?;
        for (owner, event) in &files {
            attribute::share_ring(event, &owners[*owner])?;
        }
        let files = files.into_iter().map(|(_, file)| file).chain(owners).collect();
        Ok(PerfEvents { rings, _files: files, clocks, held: Vec::new(), fetched_ns: 0, bytes: Vec::new() })
    }

    /// Fetches what the kernel has written, shows it to `seen` in no particular order, and returns the records that are
    /// complete, in order of time. A record may be written a little after a later one of another processor, so the
    /// newest wait for the next fetch, unless `all` is set. Also returns the time up to which the records are complete.
    pub(super) fn fetch(&mut self, all: bool, mut seen: impl FnMut(&Record)) -> (Vec<Record>, u64) {
        let now_ns = monotonic_ns();
        for ring in &mut self.rings {
            self.bytes.clear();
            ring.take(&mut self.bytes);
            for record in record::records(&self.bytes) {
                seen(&record);
                self.held.push(record);
            }
        }
        self.held.sort_by_key(|record| record.time_ns);
        let until_ns = if all { u64::MAX } else { self.fetched_ns };
        self.fetched_ns = now_ns;
        let newest = self.held.split_off(self.held.partition_point(|record| record.time_ns < until_ns));
        (std::mem::replace(&mut self.held, newest), until_ns)
    }

    /// Whether a sample is from the clock; otherwise it is a page fault.
    pub(super) fn of_clock(&self, sample: &UserSample) -> bool {
        self.clocks.contains(&sample.event)
    }
}

/// Processors that the target might run on.
fn processors() -> Vec<u32> {
    online().unwrap_or_else(|| usable_processors().into_iter().map(|p| p as u32).collect())
}

/// Maps rings of one size, the largest that is possible for all.
fn map(owners: &[File]) -> io::Result<Vec<Ring>> {
    let mut refused = io::Error::from_raw_os_error(libc::ENODEV);
    for size in RING_BYTES {
        match owners.iter().map(|owner| Ring::map(owner, size)).collect() {
            Ok(rings) => return Ok(rings),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// Whether all this is allowed, found out by opening it for the calling thread.
pub(crate) fn allowed() -> io::Result<()> {
    let processor = processors().first().copied().unwrap_or(0);
    let owner = attribute::open(Kind::Switches, Whom::Myself, processor)?;
    let clock = attribute::open(Kind::Clock { period_ns: 1_000_000 }, Whom::Myself, processor)?;
    let rings = map(std::slice::from_ref(&owner))?;
    attribute::share_ring(&clock, &owner)?;
    attribute::open(Kind::Faults { period: FAULT_PERIOD }, Whom::Myself, processor)?;
    drop(rings);
    Ok(())
}

impl UserSample {
    /// What the unwinder starts from; absent without user registers.
    pub(super) fn start(&self) -> Option<UserRegisters> {
        // asm/perf_regs.h: BP, SP and IP of x86; x29, x30, SP and PC of AArch64.
        let [ip, sp, bp, lr] = if cfg!(target_arch = "x86_64") {
            [self.register(8)?, self.register(7)?, self.register(6)?, 0]
        } else if cfg!(target_arch = "aarch64") {
            [self.register(32)?, self.register(31)?, self.register(29)?, self.register(30)?]
        } else {
            return None;
        };
        Some(UserRegisters { ip, sp, bp, lr })
    }
}

#[cfg(test)]
mod tests;
