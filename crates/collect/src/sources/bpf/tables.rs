//! Takes rows out of the kernel's tables: those of ended threads, to make room for others, and at the end the rest.
//! Otherwise a program that keeps making threads would fill the tables.

use crate::bpf::Programs;
use crate::bpf::abi::*;
use crate::sockets::path_name;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// What was taken out.
#[derive(Debug, Default)]
pub(super) struct TableRows {
    pub(super) places: Vec<(PlaceKey, PlaceValue)>,
    pub(super) edges: Vec<(EdgeKey, EdgeValue)>,
    pub(super) calls: Vec<(CallKey, CallValue)>,
    pub(super) locks: Vec<(LockKey, LockValue)>,
    pub(super) peers: Vec<(PeerKey, PeerValue)>,
    /// Paths of sockets by the numbers that `peers` has of them.
    pub(super) paths: HashMap<u32, String>,
    pub(super) syscalls: Vec<(SyscallKey, u64)>,
    /// The threads of places that are not in `places` because these threads are still alive.
    pub(super) living: HashMap<u32, u32>,
    /// Addresses of the locks of memory maps, whoever waited for them.
    pub(super) mmap_locks: HashSet<u64>,
    /// Places at which a thread still waits when observing ends, and since how long, nanoseconds. The kernel side sums
    /// up a wait when it ends.
    pub(super) open: Vec<(u32, u64)>,
}

/// The threads whose rows are taken out.
#[derive(Debug, Default)]
pub(super) struct Gone {
    /// Threads that have ended.
    pub(super) threads: HashSet<u32>,
    /// Their numbers as the program itself sees them.
    pub(super) numbers: HashSet<u32>,
}

impl Gone {
    /// True when a row of wake-ups is complete because its waiter, its waker or the holder has ended. A wake-up that the
    /// kernel adds later makes a new row.
    fn settles(&self, key: &EdgeKey, waiter: impl Fn(u32) -> bool) -> bool {
        waiter(key.place) || self.threads.contains(&key.waker) || self.numbers.contains(&key.holder)
    }
}

impl TableRows {
    /// Takes out the rows of threads that have ended.
    pub(super) fn of_ended(programs: &mut Programs, gone: &Gone) -> TableRows {
        let mut taken = TableRows::default();
        // A row that cannot be removed is not taken either, because it would be counted twice.
        macro_rules! move_out {
            ($table:ident, $gone:expr) => {
                let rows: Vec<_> = programs.$table.iter().flatten().filter($gone).collect();
                for (key, value) in rows {
                    if programs.$table.remove(&key).is_ok() {
                        taken.$table.push((key, value));
                    }
                }
            };
        }
        let mut threads = HashMap::new();
        move_out!(places, |(key, value)| {
            threads.insert(value.place, key.thread);
            gone.threads.contains(&key.thread)
        });
        let ended = |place: u32| threads.get(&place).is_some_and(|thread| gone.threads.contains(thread));
        move_out!(edges, |(key, _)| gone.settles(key, ended));
        let (edges, living) = (&taken.edges, &mut taken.living);
        let of_edge = |(key, _): &(EdgeKey, EdgeValue)| Some((key.place, *threads.get(&key.place)?));
        living.extend(edges.iter().filter_map(of_edge));
        move_out!(calls, |(key, _)| gone.threads.contains(&key.thread));
        let mut mmap_locks = HashSet::new();
        move_out!(locks, |(key, _)| {
            mmap_locks.extend(mmap_lock(key));
            gone.threads.contains(&key.thread)
        });
        taken.mmap_locks = mmap_locks;
        move_out!(peers, |(key, _)| gone.threads.contains(&key.thread));
        taken.paths = paths(programs, &taken.peers);
        move_out!(syscalls, |(key, _)| gone.threads.contains(&key.thread));
        taken
    }

    /// Takes out everything that is left.
    pub(super) fn rest(programs: &Programs) -> TableRows {
        let locks: Vec<_> = programs.locks.iter().flatten().collect();
        let peers: Vec<_> = programs.peers.iter().flatten().collect();
        TableRows {
            places: programs.places.iter().flatten().collect(),
            edges: programs.edges.iter().flatten().collect(),
            calls: programs.calls.iter().flatten().collect(),
            mmap_locks: locks.iter().filter_map(|(key, _)| mmap_lock(key)).collect(),
            locks,
            paths: paths(programs, &peers),
            peers,
            syscalls: programs.syscalls.iter().flatten().collect(),
            living: HashMap::new(),
            open: Vec::new(),
        }
    }

    /// Takes what a thread's record holds but the tables do not yet. `end_ns`: when the thread ended, or observing did.
    pub(super) fn add_pending(&mut self, record: &ThreadRecord, end_ns: u64) {
        let (wait, edge) = (&record.wait, &record.edge);
        let waits = record.state != THREAD_ENDED && record.phase == PHASE_BLOCKED && record.was_preempted == 0;
        if waits && record.place != 0 {
            self.open.push((record.place, end_ns.saturating_sub(record.off_ns)));
        }
        if wait.place != 0 && wait.count > 0 {
            let key = PlaceKey { thread: record.thread, kind: wait.kind, object: wait.object, path: wait.path };
            let value = PlaceValue {
                place: wait.place,
                told: 0,
                count: wait.count,
                blocked_ns: wait.blocked_ns,
                runnable_ns: wait.runnable_ns,
                longest_ns: wait.longest_ns,
                bars: wait.bars,
            };
            self.places.push((key, value));
        }
        if edge.place != 0 && edge.count > 0 {
            let key = EdgeKey {
                place: edge.place,
                waker: edge.waker,
                waker_place: edge.waker_place,
                waker_call: edge.waker_call,
                holder: edge.holder,
            };
            self.edges.push((key, EdgeValue { count: edge.count, blocked_ns: edge.blocked_ns }));
        }
    }

    /// Adds what records held, and sums up rows with the same key.
    pub(super) fn with(mut self, mut pending: TableRows) -> TableRows {
        // What records hold comes first; the order only decides which of two places gives a sum its name.
        pending.places.append(&mut self.places);
        pending.edges.append(&mut self.edges);
        self.places = sum_up(pending.places, |sum, value: &PlaceValue| {
            sum.count += value.count;
            sum.blocked_ns += value.blocked_ns;
            sum.runnable_ns += value.runnable_ns;
            sum.longest_ns = sum.longest_ns.max(value.longest_ns);
            for (bar, more) in sum.bars.iter_mut().zip(value.bars) {
                *bar += more;
            }
        });
        for (place, blocked_ns) in pending.open {
            if let Some((_, sum)) = self.places.iter_mut().find(|(_, value)| value.place == place) {
                sum.count += 1;
                sum.blocked_ns += blocked_ns;
                sum.longest_ns = sum.longest_ns.max(blocked_ns);
            }
        }
        self.edges = sum_up(pending.edges, |sum, value: &EdgeValue| {
            sum.count += value.count;
            sum.blocked_ns += value.blocked_ns;
        });
        self
    }
}

/// The paths of sockets that these rows name.
fn paths(programs: &Programs, peers: &[(PeerKey, PeerValue)]) -> HashMap<u32, String> {
    if peers.iter().all(|(key, _)| key.path == 0) {
        return HashMap::new();
    }
    let name = |path: &SocketPath| path_name(path.bytes.get(..path.length as usize).unwrap_or(&path.bytes));
    programs.paths.iter().flatten().map(|(path, number)| (number, name(&path))).collect()
}

fn mmap_lock(key: &LockKey) -> Option<u64> {
    (key.flags & LOCK_IS_MMAP != 0).then_some(key.lock)
}

/// Merges rows with the same key.
fn sum_up<K: Eq + Hash, V>(rows: Vec<(K, V)>, add: impl Fn(&mut V, &V)) -> Vec<(K, V)> {
    let mut sums: HashMap<K, V> = HashMap::with_capacity(rows.len());
    for (key, value) in rows {
        match sums.get_mut(&key) {
            Some(sum) => add(sum, &value),
            None => drop(sums.insert(key, value)),
        }
    }
    sums.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel side sums up a wait when it ends: one that goes on when observing ends would have no row else.
    #[test]
    fn a_wait_under_way_counts_until_the_end() {
        let place = |place| {
            let key = PlaceKey { thread: 1, kind: 0, object: 64, path: u64::from(place) };
            (key, PlaceValue { place, count: 0, ..PlaceValue::default() })
        };
        let table = TableRows { places: vec![place(6), place(7)], ..TableRows::default() };
        let pending = TableRows { open: vec![(7, 500)], ..TableRows::default() };
        let mut rows = table.with(pending).places;
        rows.sort_by_key(|(_, value)| value.place);
        let sums = |at: usize| rows.get(at).map(|(_, value)| (value.count, value.blocked_ns, value.longest_ns));
        assert_eq!((sums(0), sums(1)), (Some((0, 0, 0)), Some((1, 500, 500))));
    }
}
