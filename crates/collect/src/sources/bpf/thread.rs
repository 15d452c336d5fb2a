//! A thread's record → its life up to a moment, and its marks.

use super::thread_time::thread_id;
use crate::bpf::abi::*;
use crate::bpf::hardware;
use crate::events::{Event, ThreadLife, Times};
use crate::procfs;
use recording::StackId;
use recording::tables::MarkKind;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The life of a thread. `counted`: what the thread's counters count.
pub(super) fn life(
    record: &ThreadRecord,
    end_ns: u64,
    counted: &[hardware::HardwareEvent],
    created_stack: Option<StackId>,
) -> ThreadLife {
    let ended = record.state == THREAD_ENDED;
    // The beginning of an observed thread may not have been counted; the counts are scaled up to the whole.
    let counted = |wanted| {
        let position = counted.iter().position(|event| *event == wanted)?;
        let count = u128::from(*record.counters.get(position)?);
        let scaled = (count * u128::from(record.running_ns)).checked_div(u128::from(record.counted_ns))?;
        u64::try_from(scaled).ok()
    };
    // Until the thread ends, its record holds the faults before it was first seen, negated.
    let faults = if ended { Some((0, 0)) } else { procfs::faults(record.pid, record.tid) };
    let (minor, major) = (
        faults.map(|(minor, _)| record.minor_faults.wrapping_add(minor)),
        faults.map(|(_, major)| record.major_faults.wrapping_add(major)),
    );
    let name =
        if ended { text(&record.comm) } else { procfs::command_name(record.pid, record.tid).unwrap_or_default() };
    ThreadLife {
        thread: thread_id(record.thread),
        pid: record.pid,
        tid: record.tid,
        name,
        parent: (record.parent != 0).then(|| thread_id(record.parent)),
        start_ns: record.start_ns,
        end_ns,
        times: times(record, end_ns),
        voluntary_switches: record.voluntary,
        involuntary_switches: record.involuntary,
        migrations: record.migrations,
        created_stack,
        minor_faults: minor,
        major_faults: major,
        cycles: counted(hardware::HardwareEvent::Cycles),
        instructions: counted(hardware::HardwareEvent::Instructions),
        cache_misses: counted(hardware::HardwareEvent::CacheMisses),
        stalled_cycles: counted(hardware::HardwareEvent::StalledCycles),
    }
}

/// How a thread spent its life up to a time.
fn times(record: &ThreadRecord, end_ns: u64) -> Times {
    let ended = record.state == THREAD_ENDED;
    // Sums change at switches only; the time since the last switch is added to what the thread does now.
    let open = |from: u64| if ended { 0 } else { end_ns.saturating_sub(from) };
    let is = |phase: u32| record.phase == phase;
    let waiting = record.was_preempted == 0;
    let woken = record.wake_ns.max(record.off_ns);
    let blocked = match () {
        () if is(PHASE_BLOCKED) => open(record.off_ns),
        () if is(PHASE_WOKEN) && waiting && !ended => woken - record.off_ns,
        () => 0,
    };
    Times {
        running_ns: record.running_ns + if is(PHASE_RUNNING) { open(record.on_ns) } else { 0 },
        runnable_ns: record.runnable_ns + if is(PHASE_WOKEN) && waiting { open(woken) } else { 0 },
        preempted_ns: record.preempted_ns + if !is(PHASE_RUNNING) && !waiting { open(record.off_ns) } else { 0 },
        blocked_ns: record.blocked_ns + blocked,
    }
}

/// Units of work that a thread had counted but not yet reported when it ended.
pub(super) fn last_work(record: &ThreadRecord, end_ns: u64) -> Option<Event> {
    let thread = thread_id(record.thread);
    let (name, amount) = (None, Some(record.work));
    (record.work > 0).then_some(Event::Mark { thread, time_ns: end_ns, kind: MarkKind::Work, name, amount })
}

/// Names of tasks that the kernel side could not read, by process and address. A name that was not there is kept too: a
/// program passes its marks often.
#[derive(Default)]
pub(super) struct UnreadNames(HashMap<(u32, u64), Option<String>>);

/// Names that are remembered. Beyond that the list starts over.
const UNREAD_NAMES: usize = 1 << 12;

impl UnreadNames {
    /// The name, read from the memory of its process while that lives. Unlike a probe that must not sleep, this waits for
    /// the page, and maps it (proc_pid_mem(5)), so that the kernel side finds the next names there.
    fn read(&mut self, event: &MarkEvent) -> Option<String> {
        if self.0.len() >= UNREAD_NAMES {
            self.forget();
        }
        let read = || {
            // As long as what the kernel side would have copied.
            let mut name = event.name;
            let bytes = name.len() - 1;
            File::open(format!("/proc/{}/mem", event.pid)).ok()?.read_at(&mut name[..bytes], event.amount).ok()?;
            Some(text(&name)).filter(|name| !name.is_empty())
        };
        self.0.entry((event.pid, event.amount)).or_insert_with(read).clone()
    }

    /// Forgets all names: a process has another program now.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

/// A mark.
pub(super) fn mark(event: &MarkEvent, unread: &mut UnreadNames) -> Event {
    let kind = match event.mark {
        MARK_BEGIN => MarkKind::Begin,
        MARK_END => MarkKind::End,
        MARK_TASK_BEGIN => MarkKind::TaskBegin,
        MARK_TASK_END => MarkKind::TaskEnd,
        MARK_WORK => MarkKind::Work,
        _ => MarkKind::Unknown,
    };
    let name = match kind {
        MarkKind::TaskBegin | MarkKind::TaskEnd => {
            let copied = Some(text(&event.name)).filter(|name| !name.is_empty());
            copied.or_else(|| unread.read(event))
        }
        _ => None,
    };
    Event::Mark {
        thread: thread_id(event.header.thread),
        time_ns: event.time_ns,
        kind,
        name,
        amount: (kind == MarkKind::Work).then_some(event.amount),
    }
}

/// Bytes that the kernel side copied, up to their first zero.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_the_kernel_side_could_not_read_is_read_later() {
        let name = c"<b>write</b>";
        let mut unread = UnreadNames::default();
        let mut told = |kind, amount| {
            let header = Header { kind: EVENT_MARK, thread: 1 };
            let pid = std::process::id();
            let event = MarkEvent { header, time_ns: 7, mark: kind, pid, amount, name: [0; 64] };
            let Event::Mark { name, .. } = mark(&event, &mut unread) else { panic!("a mark") };
            name
        };
        assert_eq!(told(MARK_TASK_BEGIN, name.as_ptr() as u64).as_deref(), Some("<b>write</b>"));
        assert_eq!(told(MARK_TASK_BEGIN, 0), None);
        assert_eq!(told(MARK_WORK, name.as_ptr() as u64), None);
    }
}
