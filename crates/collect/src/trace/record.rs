//! A thread's record → its row, its marks, and its life up to a moment. May import: the BPF records, /proc.

use super::rows::text;
use super::slices::thread_id;
use crate::bpf::abi::*;
use crate::bpf::hardware::Event;
use crate::procfs;
use recording::tables::*;
use recording::{RunId, StackId};

/// The row of a thread. `counted`: what its counters count.
pub(super) fn row(
    run: RunId,
    record: &ThreadRecord,
    end_ns: u64,
    counted: &[Event],
    created_stack: Option<StackId>,
) -> Thread {
    let ended = record.state == THREAD_ENDED;
    // The beginning of an observed thread may be uncounted: what was counted stands for the rest.
    let counted = |wanted| {
        let position = counted.iter().position(|event| *event == wanted)?;
        let count = u128::from(*record.counters.get(position)?);
        let scaled = (count * u128::from(record.running_ns)).checked_div(u128::from(record.counted_ns))?;
        u64::try_from(scaled).ok()
    };
    // Until its end a record holds the faults before it was first seen, negated.
    let faults = if ended { Some((0, 0)) } else { procfs::faults(record.pid, record.tid) };
    let (minor, major) = (
        faults.map(|(minor, _)| record.minor_faults.wrapping_add(minor)),
        faults.map(|(_, major)| record.major_faults.wrapping_add(major)),
    );
    let name = if ended {
        text(&record.comm)
    } else {
        let comm = std::fs::read_to_string(format!("/proc/{}/task/{}/comm", record.pid, record.tid));
        comm.unwrap_or_default().trim_end().to_owned()
    };
    let [running_ns, runnable_ns, preempted_ns, blocked_ns] = spent(record, end_ns);
    Thread {
        run,
        thread: thread_id(record.thread),
        pid: record.pid,
        tid: record.tid,
        name,
        parent: (record.parent != 0).then(|| thread_id(record.parent)),
        start_ns: record.start_ns,
        end_ns,
        running_ns,
        runnable_ns,
        preempted_ns,
        blocked_ns,
        voluntary_switches: record.voluntary,
        involuntary_switches: record.involuntary,
        migrations: record.migrations,
        created_stack,
        minor_faults: minor,
        major_faults: major,
        cycles: counted(Event::Cycles),
        instructions: counted(Event::Instructions),
        cache_misses: counted(Event::CacheMisses),
        stalled_cycles: counted(Event::StalledCycles),
    }
}

/// What a thread did with its life up to a time: running, ready after a wait, taken off the processor, blocked.
pub(super) fn spent(record: &ThreadRecord, end_ns: u64) -> [u64; 4] {
    let ended = record.state == THREAD_ENDED;
    // Totals move at switches only: the time since the last one is added by what the thread does.
    let open = |from: u64| if ended { 0 } else { end_ns.saturating_sub(from) };
    let is = |phase: u32| record.phase == phase;
    let waiting = record.was_preempted == 0;
    let woken = record.wake_ns.max(record.off_ns);
    let blocked = match () {
        () if is(PHASE_BLOCKED) => open(record.off_ns),
        () if is(PHASE_WOKEN) && waiting && !ended => woken - record.off_ns,
        () => 0,
    };
    [
        record.running_ns + if is(PHASE_RUNNING) { open(record.on_ns) } else { 0 },
        record.runnable_ns + if is(PHASE_WOKEN) && waiting { open(woken) } else { 0 },
        record.preempted_ns + if !is(PHASE_RUNNING) && !waiting { open(record.off_ns) } else { 0 },
        record.blocked_ns + blocked,
    ]
}

/// Units of work that a thread had not told yet when it ended.
pub(super) fn last_work(run: RunId, record: &ThreadRecord, end_ns: u64) -> Option<Mark> {
    let event = MarkEvent {
        header: Header { kind: EVENT_MARK, thread: record.thread },
        time_ns: end_ns,
        mark: MARK_WORK,
        padding: 0,
        amount: record.work,
        name: [0; 64],
    };
    (record.work > 0).then(|| mark(run, &event))
}

/// A mark's row.
pub(super) fn mark(run: RunId, event: &MarkEvent) -> Mark {
    let kind = match event.mark {
        MARK_BEGIN => MarkKind::Begin,
        MARK_END => MarkKind::End,
        MARK_TASK_BEGIN => MarkKind::TaskBegin,
        MARK_TASK_END => MarkKind::TaskEnd,
        MARK_WORK => MarkKind::Work,
        _ => MarkKind::Unknown,
    };
    let task = matches!(kind, MarkKind::TaskBegin | MarkKind::TaskEnd);
    Mark {
        run,
        thread: thread_id(event.header.thread),
        time_ns: event.time_ns,
        kind,
        name: task.then(|| text(&event.name)).filter(|name| !name.is_empty()),
        amount: (kind == MarkKind::Work).then_some(event.amount),
    }
}

/// The name of a futex operation (linux/futex.h).
pub(super) fn futex_operation(operation: usize) -> String {
    const NAMES: [&str; 14] = [
        "FUTEX_WAIT",
        "FUTEX_WAKE",
        "FUTEX_FD",
        "FUTEX_REQUEUE",
        "FUTEX_CMP_REQUEUE",
        "FUTEX_WAKE_OP",
        "FUTEX_LOCK_PI",
        "FUTEX_UNLOCK_PI",
        "FUTEX_TRYLOCK_PI",
        "FUTEX_WAIT_BITSET",
        "FUTEX_WAKE_BITSET",
        "FUTEX_WAIT_REQUEUE_PI",
        "FUTEX_CMP_REQUEUE_PI",
        "FUTEX_LOCK_PI2",
    ];
    NAMES.get(operation).map_or_else(|| operation.to_string(), |name| (*name).to_owned())
}
