//! What happened since the last look: the rows of a live view. Nothing is kept and nothing written.
//!
//! May import: the BPF side's records and the other rooms of `trace`.

use super::asleep::Sleeper;
use super::consumer::Consumer;
use super::intern::Interner;
use super::parts::Rows;
use super::record::spent;
use super::sleeping::unseen;
use super::slices::thread_id;
use crate::bpf::Programs;
use crate::bpf::abi::*;
use crate::live::{Doing, Now, View};
use crate::procfs::{self, monotonic_ns};
use recording::tables::{Slice, State, Thread};
use recording::{RunId, Tables, ThreadId, WaitId};
use resolve::ModuleCache;
use std::collections::{BTreeMap, HashMap};
use std::mem::{offset_of, take};

/// Places that are remembered before those of ended threads are forgotten: half of what the kernel side's table holds.
const MOST_PLACES: usize = 65_536;

/// Sums of a thread up to a look: its four times, and its switches.
type Sums = [u64; 6];

/// What windows need beside the rest.
#[derive(Debug, Default)]
pub(super) struct LiveState {
    /// Places by number, as the kernel side told them.
    places: HashMap<u32, PlaceKey>,
    /// Of threads that live on.
    before: HashMap<u32, Sums>,
    /// Threads that slept when observing began and have not run since, each with a number of its own.
    asleep: BTreeMap<(u32, u32), u32>,
}

impl LiveState {
    /// A place was told.
    pub(super) fn place(&mut self, event: &PlaceEvent) {
        let key = PlaceKey { thread: event.header.thread, kind: event.kind, object: event.object, path: 0 };
        self.places.insert(event.place, key);
    }
}

/// What a wait came to in a window.
#[derive(Debug, Clone, Copy, Default)]
struct Waited {
    count: u64,
    blocked_ns: u64,
    longest_ns: u64,
}

/// What eBPF tells of a program.
pub(crate) struct BpfView<'a>(Consumer<'a>);

impl<'a> BpfView<'a> {
    /// The programs are attached.
    pub(crate) fn new(programs: Programs, interner: &'a mut Interner, cache: &'a ModuleCache) -> BpfView<'a> {
        let mut consumer = Consumer::new(RunId(0), programs, interner, cache, None);
        consumer.go_live();
        BpfView(consumer)
    }

    /// The target runs already, and is enrolled.
    pub(crate) fn attached(&mut self, pid: u32) {
        self.0.attached(pid, monotonic_ns());
        let threads = procfs::threads(pid);
        let sleepers = threads.into_iter().filter_map(|tid| Some((tid, Sleeper::read(pid, tid)?))).collect();
        self.0.asleep_at_begin(pid, sleepers);
        self.0.asleep_now();
    }
}

impl View for BpfView<'_> {
    fn poll(&mut self) {
        self.0.poll();
    }

    fn window(&mut self, from_ns: u64, to_ns: u64, tables: &mut Tables, now: &mut Vec<Now>) {
        self.0.window(from_ns, to_ns, tables, now);
    }

    fn names(&mut self, tables: &mut Tables) {
        let (stacks, frames, modules) = self.0.interner.new_rows();
        tables.stacks.extend(stacks);
        tables.frames.extend(frames);
        tables.modules.extend(modules);
    }

    fn sample_period_ns(&self) -> u64 {
        1_000_000_000 / self.0.programs.sample_hz.max(1)
    }
}

impl Consumer<'_> {
    /// From now on this is a live view: nothing is decoded, because its breakpoints would cost for as long as somebody
    /// looks.
    fn go_live(&mut self) {
        self.live = Some(LiveState::default());
        self.sharing = None;
    }

    /// Threads that slept when observing began.
    fn asleep_now(&mut self) {
        let asleep = self.sleepers.keys().copied().zip(0..).collect();
        if let Some(live) = &mut self.live {
            live.asleep = asleep;
        }
    }

    /// Adds the rows of the time between two looks, and says what threads do now.
    fn window(&mut self, from_ns: u64, to_ns: u64, tables: &mut Tables, now: &mut Vec<Now>) {
        let ended = take(&mut self.roll.rows.threads);
        let last = self.programs.globals.peek(0, offset_of!(Globals, next_slot)).unwrap_or(0);
        let alive: Vec<ThreadRecord> = (1..=last)
            .filter_map(|slot| self.programs.threads.read(slot as usize))
            .filter(|record| record.state != THREAD_FREE && record.state != THREAD_ENDED && record.fresh == 0)
            .collect();
        let mut waited: HashMap<u32, Waited> = HashMap::new();
        for slice in self.slices.take() {
            add(&mut waited, &slice, from_ns);
        }
        let mut live = self.live.take().unwrap_or_default();
        let mut before = HashMap::with_capacity(alive.len());
        for row in ended {
            let number = row.thread.0 + 1;
            let sums = [
                row.running_ns,
                row.runnable_ns,
                row.preempted_ns,
                row.blocked_ns,
                row.voluntary_switches,
                row.involuntary_switches,
            ];
            let then = live.before.get(&number).copied().unwrap_or_default();
            tables.threads.push(since(row, sums, then, from_ns));
        }
        for record in &alive {
            live.asleep.remove(&(record.pid, record.tid));
            let [running, runnable, preempted, blocked] = spent(record, to_ns);
            let sums = [running, runnable, preempted, blocked, record.voluntary, record.involuntary];
            let then = live.before.get(&record.thread).copied().unwrap_or_default();
            tables.threads.push(since(blank(self.run, record, to_ns), sums, then, from_ns));
            before.insert(record.thread, sums);
            let blocked = record.phase == PHASE_BLOCKED && record.was_preempted == 0;
            if blocked && record.place != 0 {
                let entry = waited.entry(record.place).or_default();
                let so_far = to_ns.saturating_sub(record.off_ns);
                entry.count += 1;
                entry.blocked_ns += so_far.min(to_ns.saturating_sub(from_ns));
                entry.longest_ns = entry.longest_ns.max(so_far);
            }
            let doing = match record.phase {
                PHASE_RUNNING => Doing::Runs,
                PHASE_BLOCKED if blocked => Doing::Waits,
                _ => Doing::Ready,
            };
            let wait = (blocked && record.place != 0).then_some(WaitId(record.place));
            now.push(Now { thread: thread_id(record.thread), doing, wait });
        }
        live.before = before;
        if live.places.len() > MOST_PLACES {
            let lives = |thread: &u32| live.before.contains_key(thread);
            live.places.retain(|_, key| lives(&key.thread));
            self.roll.told.retain(|place| live.places.contains_key(&place));
        }
        let mut rows = Rows::default();
        for (place, sum) in waited {
            let Some(key) = live.places.get(&place).copied() else { continue };
            let value = PlaceValue {
                place,
                told: 0,
                count: sum.count,
                blocked_ns: sum.blocked_ns,
                runnable_ns: 0,
                longest_ns: sum.longest_ns,
                bars: [0; BARS],
            };
            self.wait(&key, &value, &mut rows);
        }
        self.still_asleep(&mut live, (from_ns, to_ns), &mut rows, tables, now);
        rows.waits.sort_by_key(|wait| wait.wait);
        tables.waits.append(&mut rows.waits);
        tables.samples.append(&mut self.samples);
        self.live = Some(live);
        self.calls.clear();
        self.marks.clear();
        self.roll.forget_rows();
    }

    /// Threads that no hook has seen yet, because they have slept since before.
    fn still_asleep(
        &mut self,
        live: &mut LiveState,
        (from_ns, to_ns): (u64, u64),
        rows: &mut Rows,
        tables: &mut Tables,
        now: &mut Vec<Now>,
    ) {
        let sleepers = live.asleep.clone();
        for ((pid, tid), back) in sleepers {
            // They are told from threads that the kernel side counts by numbers from the other end.
            let (thread, wait) = (ThreadId(u32::MAX - back), WaitId(u32::MAX - back));
            let Ok(name) = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")) else {
                live.asleep.remove(&(pid, tid));
                continue;
            };
            let Some((call, user_stack)) = self.sleepers.get(&(pid, tid)).copied() else { continue };
            let blocked_ns = to_ns.saturating_sub(from_ns);
            rows.asleep(self.run, wait, thread, call, user_stack, blocked_ns);
            let mut row = unseen(self.run, thread, pid, tid, from_ns, to_ns);
            row.name = name.trim_end().to_owned();
            tables.threads.push(row);
            now.push(Now { thread, doing: Doing::Waits, wait: Some(wait) });
        }
    }
}

/// Sums up a slice that ended in the window, as far as it lies inside.
fn add(waited: &mut HashMap<u32, Waited>, slice: &Slice, from_ns: u64) {
    let (State::Blocked, Some(WaitId(place))) = (slice.state, slice.wait) else { return };
    let length = slice.end_ns.saturating_sub(slice.start_ns).max(1);
    let inside = slice.end_ns.saturating_sub(slice.start_ns.max(from_ns));
    let part = (u128::from(slice.spent_ns) * u128::from(inside) / u128::from(length)) as u64;
    let entry = waited.entry(place).or_default();
    entry.count += u64::from(slice.count);
    entry.blocked_ns += part;
    if slice.count == 1 {
        entry.longest_ns = entry.longest_ns.max(slice.spent_ns);
    }
}

/// A thread's row of the window: the growth of its sums.
fn since(mut row: Thread, now: Sums, then: Sums, from_ns: u64) -> Thread {
    let grown = |at: usize| now[at].saturating_sub(then[at]);
    row.start_ns = row.start_ns.max(from_ns);
    (row.running_ns, row.runnable_ns, row.preempted_ns, row.blocked_ns) = (grown(0), grown(1), grown(2), grown(3));
    (row.voluntary_switches, row.involuntary_switches) = (grown(4), grown(5));
    row
}

fn blank(run: RunId, record: &ThreadRecord, end_ns: u64) -> Thread {
    let comm = std::fs::read_to_string(format!("/proc/{}/task/{}/comm", record.pid, record.tid));
    Thread {
        pid: record.pid,
        tid: record.tid,
        name: comm.unwrap_or_default().trim_end().to_owned(),
        parent: (record.parent != 0).then(|| thread_id(record.parent)),
        start_ns: record.start_ns,
        end_ns,
        ..Thread::blank(run, thread_id(record.thread))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_wait_that_began_before_only_the_part_inside_counts() {
        let slice = Slice {
            run: RunId(0),
            thread: ThreadId(0),
            start_ns: 100,
            end_ns: 300,
            state: State::Blocked,
            spent_ns: 100,
            count: 2,
            wait: Some(WaitId(7)),
            processor: None,
        };
        let mut waited = HashMap::new();
        add(&mut waited, &slice, 200);
        add(&mut waited, &Slice { start_ns: 250, end_ns: 260, spent_ns: 10, count: 1, ..slice }, 200);
        let sum = waited[&7];
        assert_eq!((sum.count, sum.blocked_ns, sum.longest_ns), (3, 60, 10));
    }
}
