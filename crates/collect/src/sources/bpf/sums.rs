//! What the kernel side summed up → events: waits, wake-ups, call sites, kernel locks, faults.

use super::estimate::{CallGroup, Estimate, TimedCalls};
use super::kernel_stack::lock_kind;
use super::places::Places;
use super::tables::TableRows;
use super::thread_time::thread_id;
use crate::bpf::FAULT_PERIOD;
use crate::bpf::abi::*;
use crate::build::Builder;
use crate::events::{CallSums, Event, Exchanges, LockSums, WaitSums, Wakes};
use crate::sockets::{SocketName, program_at};
use crate::stacks::Stacks;
use recording::tables::{PeerSide, Timed};
use recording::{SiteId, WaitId};
use std::collections::{BTreeMap, HashMap};
use std::net::{Ipv6Addr, SocketAddr};

/// How system calls have been timed so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallTiming {
    /// Windows of time in which calls were timed.
    pub(super) windows: u32,
    /// True when every call was timed.
    pub(super) complete: bool,
}

/// Which threads the numbers stand for.
#[derive(Debug, Default)]
pub(super) struct Who {
    /// The process of each thread.
    pub(super) processes: HashMap<u32, u32>,
    /// The thread by process and thread number as the program sees it, to identify the number beside a futex.
    pub(super) owners: HashMap<(u32, u32), u32>,
    /// The program at the address of each service, where it is on this machine: looking for it reads much of /proc.
    services: HashMap<SocketName, Option<String>>,
}

/// Counts of system calls by thread and number.
pub(super) type CallCounts = BTreeMap<(u32, u32), u64>;

/// Emits the sums of threads that can no longer change.
pub(super) struct Sums<'m, 's> {
    pub(super) places: &'m Places,
    pub(super) who: &'m mut Who,
    pub(super) stacks: &'m mut Stacks<'s>,
    pub(super) timing: CallTiming,
    pub(super) to: &'m mut Builder,
}

impl Sums<'_, '_> {
    /// Emits everything that was taken out of the kernel's tables. `calls` counts all system calls. Returns how many
    /// waits there are, and how many of them have no stack.
    pub(super) fn emit(mut self, rows: &TableRows, calls: &CallCounts) -> (u64, u64) {
        let waits = self.waits(rows);
        self.wakes(rows);
        self.sites(&rows.calls, calls);
        let mut locks: Vec<LockSums> = rows.locks.iter().map(|(key, value)| self.kernel_lock(key, value)).collect();
        locks.sort_by_key(|lock| (lock.thread, lock.address, lock.user_stack, lock.syscall));
        locks.into_iter().for_each(|lock| self.to.add(Event::KernelLock(lock)));
        let of_row = |(key, value): &(PeerKey, PeerValue)| exchanges(key, value, &rows.paths);
        let mut exchanges: Vec<Exchanges> = rows.peers.iter().filter_map(of_row).collect();
        for peer in exchanges.iter_mut().filter(|peer| peer.side == PeerSide::Service) {
            peer.name = self.who.services.entry(peer.at.clone()).or_insert_with_key(program_at).clone();
        }
        exchanges.sort_by(|a, b| (a.thread, a.side, &a.at, a.wait).cmp(&(b.thread, b.side, &b.at, b.wait)));
        exchanges.into_iter().for_each(|peer| self.to.add(Event::Exchanged(peer)));
        for ((thread, number), count) in calls {
            self.to.add(Event::Calls { thread: thread_id(*thread), number: *number, count: *count });
        }
        waits
    }

    /// Waits and faults.
    fn waits(&mut self, rows: &TableRows) -> (u64, u64) {
        let (mut waits, mut without_stack) = (0, 0);
        let mut places: Vec<&(PlaceKey, PlaceValue)> = rows.places.iter().collect();
        places.sort_unstable_by_key(|(_, value)| value.place);
        for (key, value) in places {
            match key.kind & !0xffff {
                0 | KIND_LOCK if value.count > 0 => {
                    let at = self.places.wait_place(value.place, key.thread, key.kind, key.object, self.stacks);
                    waits += 1;
                    without_stack += u64::from(at.user_stack.is_none() && at.kernel_stack.is_none());
                    let sums = WaitSums {
                        count: value.count,
                        blocked_ns: value.blocked_ns,
                        runnable_ns: value.runnable_ns,
                        longest_ns: value.longest_ns,
                    };
                    self.to.add(Event::Wait { at, sums });
                    self.to.add(Event::Durations { of: Timed::Wait, id: value.place, bars: value.bars });
                }
                KIND_FAULT_SITE => self.to.add(Event::Faults {
                    thread: thread_id(key.thread),
                    user_stack: self.places.stack_of(value.place),
                    sampled: value.count,
                    period: FAULT_PERIOD,
                }),
                _ => {}
            }
        }
        (waits, without_stack)
    }

    fn wakes(&mut self, rows: &TableRows) {
        let threads: HashMap<u32, u32> = rows.places.iter().map(|(key, value)| (value.place, key.thread)).collect();
        let waiting = |place: u32| threads.get(&place).or_else(|| rows.living.get(&place)).copied();
        let wakes = rows.edges.iter().map(|(key, value)| self.wake(key, value, waiting(key.place)));
        let mut wakes: Vec<Wakes> = wakes.collect();
        wakes.sort_by_key(|wake| (wake.wait, wake.waker, wake.waker_stack, wake.waker_syscall, wake.holder));
        wakes.into_iter().for_each(|wake| self.to.add(Event::Woken(wake)));
    }

    fn wake(&self, key: &EdgeKey, value: &EdgeValue, waiting: Option<u32>) -> Wakes {
        let call = key.waker_call & !(SAME_OBJECT | WAITED_HERE | WAKES_MANY);
        let same_object = key.waker_call & SAME_OBJECT != 0;
        // The word beside a futex is taken for a thread's number only when the same process has such a thread.
        let process = waiting.and_then(|thread| self.who.processes.get(&thread));
        let holder = process.and_then(|pid| self.who.owners.get(&(*pid, key.holder))).copied();
        Wakes {
            wait: WaitId(key.place),
            waker: (key.waker != 0).then(|| thread_id(key.waker)),
            waker_stack: self.places.stack_of(key.waker_place),
            waker_syscall: call.checked_sub(1),
            same_object,
            waker_waited_here: same_object.then_some(key.waker_call & WAITED_HERE != 0),
            wakes_many: same_object.then_some(key.waker_call & WAKES_MANY != 0),
            // A thread cannot wait for a lock that it holds itself.
            holder: holder.filter(|holder| key.holder != 0 && waiting != Some(*holder)).map(thread_id),
            count: value.count,
            blocked_ns: value.blocked_ns,
        }
    }

    fn sites(&mut self, calls: &[(CallKey, CallValue)], counts: &CallCounts) {
        let windows = self.timing.windows;
        let mut places = self.same_places(calls);
        places.sort_unstable_by_key(|(_, value)| value.place);
        let timed = |value: &CallValue| TimedCalls { calls: value.count, squares: value.squares as f64 };
        let mut sites: BTreeMap<(u32, u32), Vec<TimedCalls>> = BTreeMap::new();
        for (key, value) in &places {
            sites.entry((key.thread, u32::from(key.number))).or_default().push(timed(value));
        }
        let groups: BTreeMap<(u32, u32), CallGroup> = sites
            .into_iter()
            .map(|(call, sites)| {
                let all = counts.get(&call).copied().unwrap_or(0);
                (call, CallGroup::new(all, windows, sites.into_iter()))
            })
            .collect();
        for (key, value) in &places {
            let exact = Estimate { calls: value.count as f64, low: value.count as f64, high: value.count as f64 };
            let group = groups.get(&(key.thread, u32::from(key.number))).filter(|_| !self.timing.complete);
            let estimate = group.map_or(exact, |group| group.estimate(timed(value)));
            self.to.add(Event::CallSite(CallSums {
                site: SiteId(value.place),
                thread: thread_id(key.thread),
                number: u32::from(key.number),
                error: key.error,
                user_stack: self.places.stack_of(value.place),
                timed: value.count,
                calls: estimate.calls,
                calls_low: estimate.low,
                calls_high: estimate.high,
                total_ns: value.total_ns,
                on_cpu_ns: value.total_ns.saturating_sub(value.off_ns),
                longest_ns: value.longest_ns,
            }));
            self.to.add(Event::Durations { of: Timed::CallSite, id: value.place, bars: value.bars });
        }
    }

    /// Merges the entries of one call path. The kernel side distinguishes paths by a hash of code addresses, which
    /// changes when the program maps code; the unwound stacks do not change. `squares` then includes the last window.
    fn same_places(&self, calls: &[(CallKey, CallValue)]) -> Vec<(CallKey, CallValue)> {
        let mut places: BTreeMap<_, (CallKey, CallValue)> = BTreeMap::new();
        for (key, value) in calls {
            let stack = self.places.stack_of(value.place);
            // A place without a known stack is not merged with any other.
            let alone = if stack.is_none() { value.place } else { 0 };
            let mut value = *value;
            value.squares += u64::from(value.window_count) * u64::from(value.window_count);
            let path = (key.thread, key.number, key.error, stack, alone);
            places.entry(path).and_modify(|(_, sum)| add(sum, &value)).or_insert((*key, value));
        }
        places.into_values().collect()
    }

    fn kernel_lock(&mut self, key: &LockKey, value: &LockValue) -> LockSums {
        let path = self.places.stacks_of(key.place);
        LockSums {
            thread: thread_id(key.thread),
            lock: self.places.lock_name(key.place, key.lock, key.flags & LOCK_IS_MMAP != 0, self.stacks),
            address: key.lock,
            how: lock_kind(key.flags),
            syscall: (key.kind != KIND_FAULT).then_some(key.kind),
            user_stack: path.and_then(|path| path.user),
            kernel_stack: path.and_then(|path| path.kernel),
            count: value.count,
            waited_ns: value.waited_ns,
            blocked_ns: value.off_ns,
            longest_ns: value.longest_ns,
        }
    }
}

/// Absent where the path of the socket is.
fn exchanges(key: &PeerKey, value: &PeerValue, paths: &HashMap<u32, String>) -> Option<Exchanges> {
    let side = if u32::from(key.side) == PEER_CLIENTS { PeerSide::Clients } else { PeerSide::Service };
    let at = match side {
        _ if key.path != 0 => SocketName::Path(paths.get(&key.path)?.clone()),
        PeerSide::Clients => SocketName::Port(key.port),
        _ => SocketName::Tcp(SocketAddr::new(Ipv6Addr::from(key.address).to_canonical(), key.port)),
    };
    Some(Exchanges {
        thread: thread_id(key.thread),
        wait: (key.place != 0).then_some(WaitId(key.place)),
        side,
        at,
        name: None,
        count: value.exchanges,
        total_ns: value.exchange_ns,
        longest_ns: value.longest_ns,
        waits: value.waits,
        waited_ns: value.waited_ns,
    })
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
