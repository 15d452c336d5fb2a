//! The records and events of `bpf/shared.h`, seen from user space. Sizes are asserted on both sides.
//!
//! May import: nothing.

pub(crate) const SLOT_PENDING: u32 = 0xffff_ffff;
pub(crate) const SLOT_OBSERVER: u32 = 0xffff_fffe;
pub(crate) const SLOT_ATTACHED: u32 = 0xffff_fffd;
pub(crate) const MAX_SLOTS: usize = 16384;
pub(crate) const MAX_IMAGES: usize = 256;
pub(crate) const MAX_SPANS: usize = 4;
pub(crate) const MAX_LEAVERS: usize = 2;
/// Bytes of the stack that a thread left, with the step to copy.
pub(crate) const LEFT_STACK: usize = 4096 + 1024;
pub(crate) const STRETCH_PLACES: usize = 6;
pub(crate) const KERNEL_FRAMES: usize = 32;
pub(crate) const SYSCALL_CACHE: usize = 16;
pub(crate) const FUTEX_OPERATIONS: usize = 16;
pub(crate) const BARS: usize = 32;
pub(crate) const COUNTERS: usize = 4;
pub(crate) const ALL_REGISTERS: usize = 34;
/// Bytes below the stack pointer that a function may use.
pub(crate) const RED_ZONE: usize = 128;
pub(crate) const KIND_FAULT: u32 = 0xffff;
pub(crate) const KIND_LOCK: u32 = 0x20000;
pub(crate) const KIND_FAULT_SITE: u32 = 0x80000;
/// In `LockKey::flags`: the lock of the process's memory map; the kernel's own flags are below.
pub(crate) const LOCK_IS_MMAP: u32 = 0x10000;
/// In `EdgeKey::waker_call`: the waker's futex call was for the address waited on.
pub(crate) const SAME_OBJECT: u32 = 1 << 31;
/// In `EdgeKey::waker_call`: the waker's own latest wait at a futex was at the one that it wakes.
pub(crate) const WAITED_HERE: u32 = 1 << 30;
/// In `EdgeKey::waker_call`: it asks to wake more than one thread.
pub(crate) const WAKES_MANY: u32 = 1 << 29;

pub(crate) const THREAD_FREE: u32 = 0;
pub(crate) const THREAD_ENDED: u32 = 2;
pub(crate) const PHASE_RUNNING: u32 = 1;
pub(crate) const PHASE_BLOCKED: u32 = 2;
pub(crate) const PHASE_WOKEN: u32 = 3;

/// Names of `enum loss`, in its order. Two lose nothing and have none: a stack without room is told at the next hit of
/// its place, a timeline event without room is kept as a sum.
pub(crate) const LOSSES: [Option<&str>; 14] = [
    Some("threads"),
    Some("wait places"),
    None,
    Some("wake-up edges"),
    Some("system call counts"),
    Some(LOST_SAMPLES),
    None,
    Some("system call sites"),
    Some("system calls on the timeline (no room)"),
    Some("kernel lock waits"),
    Some("marks"),
    Some("other programs"),
    Some("call paths"),
    Some("switches (their times are known)"),
];
pub(crate) const LOST_SAMPLES: &str = "samples";

pub(crate) const EVENT_PERIOD: u32 = 1;
pub(crate) const EVENT_STRETCH: u32 = 2;
pub(crate) const EVENT_PLACE: u32 = 3;
pub(crate) const EVENT_EXEC: u32 = 4;
pub(crate) const EVENT_CALL: u32 = 6;
pub(crate) const EVENT_MARK: u32 = 7;
pub(crate) const EVENT_STACK: u32 = 8;

pub(crate) const MAX_PROBES: u32 = 1024;
pub(crate) const MARK_BEGIN: u32 = 1;
pub(crate) const MARK_END: u32 = 2;
pub(crate) const MARK_TASK_BEGIN: u32 = 3;
pub(crate) const MARK_TASK_END: u32 = 4;
pub(crate) const MARK_WORK: u32 = 5;
pub(crate) const PLACE_NONE: u32 = 0;
pub(crate) const PLACE_CONSTANT: u32 = 1;
pub(crate) const PLACE_REGISTER: u32 = 2;
pub(crate) const PLACE_MEMORY: u32 = 3;

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PlaceSum {
    pub(crate) place: u32,
    pub(crate) count: u32,
    pub(crate) ns: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stretch {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) running_ns: u64,
    pub(crate) runnable_ns: u64,
    pub(crate) preempted_ns: u64,
    pub(crate) blocked_ns: u64,
    pub(crate) running_count: u32,
    pub(crate) runnable_count: u32,
    pub(crate) preempted_count: u32,
    pub(crate) blocked_count: u32,
    pub(crate) places: [PlaceSum; STRETCH_PLACES],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SyscallCount {
    pub(crate) number: u32,
    pub(crate) count: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThreadRecord {
    pub(crate) state: u32,
    pub(crate) thread: u32,
    pub(crate) parent: u32,
    pub(crate) image: u32,
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) phase: u32,
    pub(crate) processor: u32,
    pub(crate) off_ns: u64,
    pub(crate) wake_ns: u64,
    pub(crate) on_ns: u64,
    pub(crate) place: u32,
    pub(crate) was_preempted: u32,
    pub(crate) waker: u32,
    pub(crate) waker_place: u32,
    pub(crate) waker_call: u32,
    pub(crate) fresh: u32,
    pub(crate) running_ns: u64,
    pub(crate) runnable_ns: u64,
    pub(crate) preempted_ns: u64,
    pub(crate) blocked_ns: u64,
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
    pub(crate) migrations: u64,
    pub(crate) epoch: u64,
    pub(crate) epoch_events: u32,
    pub(crate) in_program: u32,
    pub(crate) stretch: Stretch,
    pub(crate) syscalls: [SyscallCount; SYSCALL_CACHE],
    pub(crate) object: u64,
    pub(crate) place_path: u64,
    pub(crate) place_kind: u32,
    pub(crate) padding: u32,
    pub(crate) waker_object: u64,
    pub(crate) comm: [u8; 16],
    pub(crate) holder: u32,
    pub(crate) created_place: u32,
    pub(crate) inner_tid: u32,
    pub(crate) lock_flags: u32,
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
    pub(crate) futexes: [u32; FUTEX_OPERATIONS],
    pub(crate) call_ns: u64,
    pub(crate) call_off_ns: u64,
    pub(crate) call: u32,
    pub(crate) epoch_calls: u32,
    pub(crate) call_epoch: u32,
    pub(crate) padding2: u32,
    pub(crate) calls_skipped: u64,
    pub(crate) lock: u64,
    pub(crate) lock_ns: u64,
    pub(crate) lock_off_ns: u64,
    pub(crate) spin_lock: u64,
    pub(crate) spin_ns: u64,
    pub(crate) spin_flags: u32,
    pub(crate) work_epoch: u32,
    pub(crate) work: u64,
    pub(crate) counters_at: [CounterValue; COUNTERS],
    pub(crate) counters: [u64; COUNTERS],
    pub(crate) counters_since_ns: u64,
    pub(crate) counted_ns: u64,
    pub(crate) executed_ns: u64,
    pub(crate) last_futex: u64,
    pub(crate) path: [u64; 4],
    pub(crate) waited: [u64; 7],
    pub(crate) woke: [u64; 7],
    pub(crate) wait: PendingWait,
    pub(crate) edge: PendingEdge,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct PendingWait {
    pub(crate) object: u64,
    pub(crate) path: u64,
    pub(crate) kind: u32,
    pub(crate) place: u32,
    pub(crate) count: u64,
    pub(crate) blocked_ns: u64,
    pub(crate) runnable_ns: u64,
    pub(crate) longest_ns: u64,
    pub(crate) bars: [u32; BARS],
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct PendingEdge {
    pub(crate) place: u32,
    pub(crate) waker: u32,
    pub(crate) waker_place: u32,
    pub(crate) waker_call: u32,
    pub(crate) holder: u32,
    pub(crate) padding: u32,
    pub(crate) count: u64,
    pub(crate) blocked_ns: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CounterValue {
    pub(crate) count: u64,
    pub(crate) enabled_ns: u64,
    pub(crate) running_ns: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) length: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ImageSpans {
    pub(crate) spans: [Span; MAX_SPANS],
    /// `runtime.mcall` and `runtime.systemstack` of a Go program.
    pub(crate) leavers: [Span; MAX_LEAVERS],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PlaceKey {
    pub(crate) thread: u32,
    pub(crate) kind: u32,
    pub(crate) object: u64,
    pub(crate) path: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlaceValue {
    pub(crate) place: u32,
    pub(crate) told: u32,
    pub(crate) count: u64,
    pub(crate) blocked_ns: u64,
    pub(crate) runnable_ns: u64,
    pub(crate) longest_ns: u64,
    pub(crate) bars: [u32; BARS],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct EdgeKey {
    pub(crate) place: u32,
    pub(crate) waker: u32,
    pub(crate) waker_place: u32,
    pub(crate) waker_call: u32,
    pub(crate) holder: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct EdgeValue {
    pub(crate) count: u64,
    pub(crate) blocked_ns: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ProbeRecord {
    pub(crate) kind: u32,
    pub(crate) place: u32,
    pub(crate) word: u8,
    pub(crate) shift: u8,
    pub(crate) size: u8,
    pub(crate) is_signed: u8,
    pub(crate) has_base: u8,
    pub(crate) index: u8,
    pub(crate) scale: u8,
    pub(crate) padding: u8,
    pub(crate) number: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct MarkEvent {
    pub(crate) header: Header,
    pub(crate) time_ns: u64,
    pub(crate) mark: u32,
    pub(crate) padding: u32,
    pub(crate) amount: u64,
    pub(crate) name: [u8; 64],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CallKey {
    pub(crate) thread: u32,
    pub(crate) number: u16,
    pub(crate) error: u16,
    pub(crate) path: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallValue {
    pub(crate) place: u32,
    pub(crate) told: u32,
    pub(crate) count: u64,
    pub(crate) total_ns: u64,
    pub(crate) off_ns: u64,
    pub(crate) longest_ns: u64,
    pub(crate) window: u32,
    pub(crate) window_count: u32,
    pub(crate) windows: u32,
    pub(crate) padding: u32,
    pub(crate) squares: u64,
    pub(crate) bars: [u32; BARS],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct LockKey {
    pub(crate) thread: u32,
    pub(crate) flags: u32,
    pub(crate) kind: u32,
    pub(crate) place: u32,
    pub(crate) lock: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct LockValue {
    pub(crate) count: u64,
    pub(crate) waited_ns: u64,
    pub(crate) off_ns: u64,
    pub(crate) longest_ns: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct ForeignValue {
    pub(crate) running_ns: u64,
    pub(crate) comm: [u8; 16],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SyscallKey {
    pub(crate) thread: u32,
    pub(crate) number: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProcessorRecord {
    pub(crate) since_ns: u64,
    pub(crate) idle_ns: u64,
    pub(crate) ours_ns: u64,
    pub(crate) foreign_ns: u64,
    pub(crate) observer_ns: u64,
    pub(crate) calls: u64,
    pub(crate) padding: [u64; 2],
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Globals {
    pub(crate) next_slot: u32,
    pub(crate) next_thread: u32,
    pub(crate) next_place: u32,
    pub(crate) next_image: u32,
    pub(crate) next_stack: u32,
    pub(crate) padding: u32,
    pub(crate) timing: u32,
    pub(crate) window: u32,
    pub(crate) counters: u32,
    pub(crate) pid_namespace: u32,
    pub(crate) attached_ns: u64,
    pub(crate) losses: [u64; 16],
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) kind: u32,
    pub(crate) thread: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeriodEvent {
    pub(crate) header: Header,
    pub(crate) off_ns: u64,
    pub(crate) wake_ns: u64,
    pub(crate) on_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) place: u32,
    pub(crate) was_preempted: u32,
    pub(crate) processor: u32,
    pub(crate) padding: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct StretchEvent {
    pub(crate) header: Header,
    pub(crate) stretch: Stretch,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallEvent {
    pub(crate) header: Header,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) number: u32,
    pub(crate) error: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Registers {
    pub(crate) ip: u64,
    pub(crate) sp: u64,
    pub(crate) fp: u64,
    pub(crate) lr: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlaceEvent {
    pub(crate) header: Header,
    pub(crate) place: u32,
    pub(crate) pid: u32,
    pub(crate) image: u32,
    pub(crate) kind: u32,
    pub(crate) object: u64,
    pub(crate) operation: u64,
    pub(crate) expected: u64,
    pub(crate) timed: u32,
    pub(crate) file_mode: u32,
    pub(crate) stack: u32,
    pub(crate) padding: u32,
}

/// Without its stack bytes, which follow.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct StackEvent {
    pub(crate) header: Header,
    pub(crate) stack: u32,
    pub(crate) pid: u32,
    pub(crate) image: u32,
    pub(crate) stack_bytes: u32,
    pub(crate) kernel_frames: u32,
    /// 0 for no other stack.
    pub(crate) left_bytes: u32,
    pub(crate) kernel_stack: [u64; KERNEL_FRAMES],
    pub(crate) registers: Registers,
    /// Where the stack goes on that the thread left for this one: the registers of a frame that made a call.
    pub(crate) left: Registers,
    /// Bytes from its stack pointer on.
    pub(crate) left_stack: [u8; LEFT_STACK],
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExecEvent {
    pub(crate) header: Header,
    pub(crate) time_ns: u64,
    pub(crate) pid: u32,
    pub(crate) image: u32,
    pub(crate) fresh: u32,
    pub(crate) padding: u32,
}

/// Without its stack bytes, which follow.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct SampleEvent {
    pub(crate) header: Header,
    pub(crate) time_ns: u64,
    pub(crate) pid: u32,
    pub(crate) image: u32,
    pub(crate) processor: u32,
    pub(crate) kind: u32,
    pub(crate) in_kernel: u32,
    pub(crate) kernel_frames: u32,
    pub(crate) registers: Registers,
    pub(crate) all_registers: [u64; ALL_REGISTERS],
    pub(crate) kernel_stack: [u64; KERNEL_FRAMES],
    pub(crate) stack_bytes: u32,
    pub(crate) red_zone_bytes: u32,
    pub(crate) red_zone: [u8; RED_ZONE],
}

const _: () = {
    assert!(size_of::<Stretch>() == 160);
    assert!(size_of::<ThreadRecord>() == 1224);
    assert!(size_of::<ImageSpans>() == 96);
    assert!(size_of::<PlaceKey>() == 24);
    assert!(size_of::<PlaceValue>() == 168);
    assert!(size_of::<EdgeKey>() == 20);
    assert!(size_of::<EdgeValue>() == 16);
    assert!(size_of::<CallKey>() == 16);
    assert!(size_of::<CallValue>() == 192);
    assert!(size_of::<LockKey>() == 24);
    assert!(size_of::<LockValue>() == 32);
    assert!(size_of::<ForeignValue>() == 24);
    assert!(size_of::<SyscallKey>() == 8);
    assert!(size_of::<ProcessorRecord>() == 64);
    assert!(size_of::<Globals>() == 176);
    assert!(size_of::<PeriodEvent>() == 56);
    assert!(size_of::<StretchEvent>() == 168);
    assert!(size_of::<CallEvent>() == 32);
    assert!(size_of::<MarkEvent>() == 96);
    assert!(size_of::<ProbeRecord>() == 24);
    assert!(size_of::<PlaceEvent>() == 64);
    assert!(size_of::<StackEvent>() + 16384 + 1024 == 22880);
    assert!(size_of::<ExecEvent>() == 32);
    assert!(size_of::<SampleEvent>() + 8192 + 1024 == 9952);
};

/// Types that any bytes are a value of.
///
/// # Safety
/// Only for `repr(C)` types of integers without padding.
pub(crate) unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($name:ident)*) => {$(
        // SAFETY: repr(C), integers only, no padding (the sizes above are the sums of the fields).
        unsafe impl Plain for $name {}
        // SAFETY: as above.
        unsafe impl aya::Pod for $name {}
    )*};
}

plain!(StackEvent ProbeRecord MarkEvent ThreadRecord ImageSpans PlaceKey PlaceValue EdgeKey EdgeValue CallKey CallValue LockKey LockValue ForeignValue SyscallKey ProcessorRecord Globals Header
    PeriodEvent StretchEvent CallEvent PlaceEvent ExecEvent SampleEvent);

/// The value at the start of the bytes, and what follows it; `None` when there are too few.
pub(crate) fn parse<T: Plain>(bytes: &[u8]) -> Option<(T, &[u8])> {
    let (head, rest) = bytes.split_at_checked(size_of::<T>())?;
    // SAFETY: `head` has the size of T, any bytes are a T, and the read does not need alignment.
    Some((unsafe { head.as_ptr().cast::<T>().read_unaligned() }, rest))
}
