//! What the kernel side summed up → rows: waits, wake-ups, call sites, kernel locks, faults, other programs.
//!
//! May import: the BPF side's records and the other rooms of `trace`.

use super::asleep::Call as SleepingCall;
use super::estimate::{Estimate, Group, Timed as Seen};
use super::intern::Interner;
use super::kept::Kept;
use super::parts::Rows;
use super::slices::thread_id;
use super::story::{self, Story};
use super::told::Told;
use crate::bpf::FAULT_PERIOD;
use crate::bpf::abi::*;
use crate::syscall_names;
use recording::tables::*;
use recording::{RunId, SiteId, StackId, ThreadId, WaitId};
use std::collections::{BTreeMap, HashMap};

impl Rows {
    /// Waits whose stack never found room.
    pub(super) fn untold(&self) -> u64 {
        self.waits.iter().filter(|wait| wait.user_stack.is_none() && wait.kernel_stack.is_none()).count() as u64
    }

    /// A wait that began before observing did.
    pub(super) fn asleep(
        &mut self,
        run: RunId,
        wait: WaitId,
        thread: ThreadId,
        call: Option<SleepingCall>,
        user_stack: Option<StackId>,
        blocked_ns: u64,
    ) {
        let reason = syscall_names::reason(call.map(|(number, _)| number));
        let futex = reason == Reason::Futex;
        self.waits.push(Wait {
            run,
            wait,
            thread,
            reason,
            syscall: call.map(|(number, _)| number),
            object: call.map(|(_, arguments)| arguments[0]),
            operation: call.map(|(_, arguments)| arguments[1]),
            what: None,
            expected: call.filter(|_| futex).map(|(_, arguments)| arguments[2] as u32),
            timed: futex && call.is_some_and(|(_, arguments)| arguments[3] != 0),
            user_stack,
            kernel_stack: None,
            count: 1,
            blocked_ns,
            runnable_ns: 0,
            longest_ns: blocked_ns,
        });
    }
}

/// How system calls were timed until now.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallTiming {
    /// Windows of time in which they were.
    pub(super) windows: u32,
    /// Every one was.
    pub(super) complete: bool,
}

/// Who is meant by numbers.
#[derive(Debug, Default)]
pub(super) struct Who {
    /// The process of each thread.
    pub(super) processes: HashMap<u32, u32>,
    /// By process and thread number as the program sees it: who a number beside a futex means.
    pub(super) owners: HashMap<(u32, u32), u32>,
}

/// Counts of system calls by thread and number.
pub(super) type CallCounts = BTreeMap<(u32, u32), u64>;

/// Makes rows.
pub(super) struct Maker<'m> {
    pub(super) run: RunId,
    pub(super) told: &'m Told,
    pub(super) who: &'m Who,
    pub(super) interner: &'m mut Interner,
    pub(super) timing: CallTiming,
}

impl Maker<'_> {
    /// All rows of what was taken out of the kernel's tables, with the calls that were counted beside them.
    pub(super) fn rows(&mut self, kept: &Kept, calls: &CallCounts) -> Rows {
        let mut rows = Rows::default();
        for (key, value) in &kept.places {
            match key.kind & !0xffff {
                0 | KIND_LOCK if value.count > 0 => self.wait(key, value, &mut rows),
                KIND_FAULT_SITE => rows.faults.push(FaultSite {
                    run: self.run,
                    thread: thread_id(key.thread),
                    user_stack: self.told.stack_of(value.place),
                    sampled: value.count,
                    period: FAULT_PERIOD,
                }),
                _ => {}
            }
        }
        rows.waits.sort_by_key(|wait| wait.wait);
        rows.faults.sort_by_key(|site| (site.thread, site.user_stack));
        let threads: HashMap<u32, u32> = kept.places.iter().map(|(key, value)| (value.place, key.thread)).collect();
        for (key, value) in &kept.edges {
            let waiting = threads.get(&key.place).or_else(|| kept.living.get(&key.place));
            rows.wakes.push(self.wake(key, value, waiting.copied()));
        }
        rows.wakes.sort_by_key(|wake| (wake.wait, wake.waker, wake.waker_stack, wake.waker_syscall, wake.holder));
        self.sites(&kept.calls, calls, &mut rows);
        rows.durations.sort_by_key(|bar| (bar.of, bar.id, bar.from_ns));
        for (key, value) in &kept.locks {
            let row = self.kernel_lock(key, value);
            rows.locks.push(row);
        }
        rows.locks.sort_by_key(|lock| (lock.thread, lock.address, lock.user_stack, lock.syscall));
        rows.syscalls = calls
            .iter()
            .map(|((thread, number), count)| Syscall {
                run: self.run,
                thread: thread_id(*thread),
                number: *number,
                name: syscall_names::name(*number),
                count: *count,
            })
            .collect();
        rows
    }

    pub(super) fn wait(&mut self, key: &PlaceKey, value: &PlaceValue, rows: &mut Rows) {
        let kind = key.kind & 0xffff;
        let syscall = (kind != KIND_FAULT).then_some(kind);
        let for_lock = key.kind & KIND_LOCK != 0;
        let untold = Story::default();
        let in_kernel = self.told.reason_in_kernel(value.place, self.interner);
        let story = self.told.story(value.place).unwrap_or(&untold);
        let told = self.told.story(value.place).is_some();
        let mut reason = syscall_names::reason(syscall);
        if for_lock {
            reason = Reason::KernelLock;
        } else if let Some(file) = story.file.as_ref().filter(|_| syscall_names::takes_descriptor(kind)) {
            reason = if reason == Reason::Io { file.reason() } else { reason };
        }
        if !for_lock && reason != Reason::Pipe && reason != Reason::Poll {
            reason = match in_kernel {
                // A fault that waits for a page is known by its missing system call.
                Some(Reason::Io) if syscall.is_none() => Reason::Fault,
                Some(told) => told,
                None => reason,
            };
        }
        let what = if for_lock {
            Some(self.told.lock_name(value.place, key.object, false, self.interner))
        } else {
            let file = story.file.as_ref().filter(|_| syscall_names::takes_descriptor(kind));
            file.map(|file| file.name()).or_else(|| {
                let reads = syscall.is_none() && in_kernel == Some(Reason::Io);
                reads.then(|| "a page of a file".to_owned())
            })
        };
        let futex = reason == Reason::Futex;
        rows.waits.push(Wait {
            run: self.run,
            wait: WaitId(value.place),
            thread: thread_id(key.thread),
            reason,
            syscall,
            object: (syscall.is_some() || for_lock).then_some(key.object),
            operation: (told && syscall.is_some()).then_some(story.operation),
            what,
            expected: (told && futex).then_some(story.expected),
            timed: futex && story.timed,
            user_stack: self.told.stack_of(value.place),
            kernel_stack: self.told.stacks_of(value.place).and_then(|stacks| stacks.kernel),
            count: value.count,
            blocked_ns: value.blocked_ns,
            runnable_ns: value.runnable_ns,
            longest_ns: value.longest_ns,
        });
        durations(self.run, Timed::Wait, value.place, &value.bars, &mut rows.durations);
    }

    fn wake(&self, key: &EdgeKey, value: &EdgeValue, waiting: Option<u32>) -> Wake {
        let call = key.waker_call & !(SAME_OBJECT | WAITED_HERE | WAKES_MANY);
        let same_object = key.waker_call & SAME_OBJECT != 0;
        // The word beside a futex is a thread's number only when it is one of the same process.
        let process = waiting.and_then(|thread| self.who.processes.get(&thread));
        let holder = process.and_then(|pid| self.who.owners.get(&(*pid, key.holder))).copied();
        Wake {
            run: self.run,
            wait: WaitId(key.place),
            waker: (key.waker != 0).then(|| thread_id(key.waker)),
            waker_stack: self.told.stack_of(key.waker_place),
            waker_syscall: call.checked_sub(1),
            same_object,
            waker_waited_here: same_object.then_some(key.waker_call & WAITED_HERE != 0),
            wakes_many: same_object.then_some(key.waker_call & WAKES_MANY != 0),
            // A thread does not wait for itself.
            holder: holder.filter(|holder| key.holder != 0 && waiting != Some(*holder)).map(thread_id),
            count: value.count,
            blocked_ns: value.blocked_ns,
        }
    }

    fn sites(&self, calls: &[(CallKey, CallValue)], counts: &CallCounts, rows: &mut Rows) {
        let windows = self.timing.windows;
        let places = self.same_places(calls);
        let seen = |value: &CallValue| Seen { calls: value.count, squares: value.squares as f64 };
        let mut sites: BTreeMap<(u32, u32), Vec<Seen>> = BTreeMap::new();
        for (key, value) in &places {
            sites.entry((key.thread, u32::from(key.number))).or_default().push(seen(value));
        }
        let groups: BTreeMap<(u32, u32), Group> = sites
            .into_iter()
            .map(|(call, sites)| {
                let all = counts.get(&call).copied().unwrap_or(0);
                (call, Group::new(all, windows, sites.into_iter()))
            })
            .collect();
        for (key, value) in &places {
            let exact = Estimate { calls: value.count as f64, low: value.count as f64, high: value.count as f64 };
            let group = groups.get(&(key.thread, u32::from(key.number))).filter(|_| !self.timing.complete);
            let estimate = group.map_or(exact, |group| group.of(seen(value)));
            rows.sites.push(CallSite {
                run: self.run,
                site: SiteId(value.place),
                thread: thread_id(key.thread),
                number: u32::from(key.number),
                name: syscall_names::name(u32::from(key.number)),
                user_stack: self.told.stack_of(value.place),
                error: syscall_names::error(key.error),
                timed: value.count,
                calls: estimate.calls,
                calls_low: estimate.low,
                calls_high: estimate.high,
                total_ns: value.total_ns,
                on_cpu_ns: value.total_ns.saturating_sub(value.off_ns),
                longest_ns: value.longest_ns,
            });
            durations(self.run, Timed::CallSite, value.place, &value.bars, &mut rows.durations);
        }
        rows.sites.sort_by_key(|site| site.site);
    }

    /// One entry a call path. The kernel side tells paths apart by a hash of code addresses, which changes when the
    /// program maps code; the unwound stacks do not. `squares` comes to include the last window.
    fn same_places(&self, calls: &[(CallKey, CallValue)]) -> Vec<(CallKey, CallValue)> {
        let mut places: BTreeMap<_, (CallKey, CallValue)> = BTreeMap::new();
        for (key, value) in calls {
            let stack = self.told.stack_of(value.place);
            // A place whose stack is not known is like no other.
            let untold = if stack.is_none() { value.place } else { 0 };
            let mut value = *value;
            value.squares += u64::from(value.window_count) * u64::from(value.window_count);
            let path = (key.thread, key.number, key.error, stack, untold);
            places.entry(path).and_modify(|(_, sum)| add(sum, &value)).or_insert((*key, value));
        }
        places.into_values().collect()
    }

    fn kernel_lock(&mut self, key: &LockKey, value: &LockValue) -> KernelLock {
        let stacks = self.told.stacks_of(key.place);
        let (user_stack, kernel_stack) = (stacks.and_then(|s| s.user), stacks.and_then(|s| s.kernel));
        KernelLock {
            run: self.run,
            thread: thread_id(key.thread),
            lock: self.told.lock_name(key.place, key.lock, key.flags & LOCK_IS_MMAP != 0, self.interner),
            address: key.lock,
            how: story::how(key.flags),
            syscall: (key.kind != KIND_FAULT).then_some(key.kind),
            user_stack,
            kernel_stack,
            count: value.count,
            waited_ns: value.waited_ns,
            blocked_ns: value.off_ns,
            longest_ns: value.longest_ns,
        }
    }
}

fn add(sum: &mut CallValue, value: &CallValue) {
    sum.place = sum.place.min(value.place);
    sum.count += value.count;
    sum.total_ns += value.total_ns;
    sum.off_ns += value.off_ns;
    sum.longest_ns = sum.longest_ns.max(value.longest_ns);
    sum.squares += value.squares;
    for (bar, more) in sum.bars.iter_mut().zip(value.bars) {
        *bar += more;
    }
}

fn durations(run: RunId, of: Timed, id: u32, bars: &[u32; BARS], rows: &mut Vec<Duration>) {
    // The scale of shared.h: bar 0 is below 2^8 ns, bar b below 2^(b+8); the last has no end.
    for (bar, count) in bars.iter().enumerate().filter(|(_, count)| **count > 0) {
        let from_ns = if bar == 0 { 0 } else { 1 << (bar + 7) };
        let to_ns = if bar == BARS - 1 { u64::MAX } else { 1 << (bar + 8) };
        rows.push(Duration { run, of, id, from_ns, to_ns, count: u64::from(*count) });
    }
}

/// Other programs, those that ran most first.
pub(super) fn foreign(run: RunId, others: impl Iterator<Item = (u32, ForeignValue)>) -> Vec<Foreign> {
    let mut rows: Vec<Foreign> = others
        .filter(|(pid, _)| *pid != std::process::id()) // knee's own time is in the trace's row
        .map(|(pid, value)| Foreign { run, pid, name: text(&value.comm), running_ns: value.running_ns })
        .collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(row.running_ns), row.pid));
    rows
}

/// Bytes that the kernel side copied, up to their first zero.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}
