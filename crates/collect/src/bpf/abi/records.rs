//! Made from `bpf/shared.h` by `tests/abi`, which says how. Change the header, not this file.

#![allow(dead_code)] // Not all that the header has is asked for on this side.

use std::mem::offset_of;

/// Slots of thread records. A slot is reused when its thread has ended and user space has read it.
pub(crate) const MAX_SLOTS: usize = 16384;
/// Values of the task storage that are not slots.
pub(crate) const SLOT_NONE: u32 = 0;
/// enrolled by user space; gets a slot when it is first seen
pub(crate) const SLOT_PENDING: u32 = 0xffff_ffff;
/// knee itself
pub(crate) const SLOT_OBSERVER: u32 = 0xffff_fffe;
/// was alive when observing began; gets a slot when it is first seen
pub(crate) const SLOT_ATTACHED: u32 = 0xffff_fffd;
/// had a slot; only the kernel's clean-up of it is left
pub(crate) const SLOT_ENDED: u32 = 0xffff_fffc;
/// Process images (one for each exec). The code spans of an image distinguish return addresses from data.
pub(crate) const MAX_IMAGES: usize = 256;
pub(crate) const MAX_SPANS: usize = 4;
pub(crate) const MAX_CODE: usize = 32;
/// Functions of Go's runtime that leave a goroutine's stack: mcall gives the stack up, systemstack comes back to
/// it.
pub(crate) const MAX_LEAVERS: usize = 2;
pub(crate) const LEAVER_MCALL: usize = 0;
pub(crate) const LEAVER_SYSTEMSTACK: usize = 1;
/// Single timeline events of one thread are limited in each epoch of 2^23 ns (8.4 ms); the rest is summed up.
pub(crate) const EPOCH_SHIFT: usize = 23;
pub(crate) const EPOCH_BUDGET: usize = 96;
/// Wait places that a summed-up stretch keeps apart; blocked time at other places is one sum.
pub(crate) const STRETCH_PLACES: usize = 6;
/// Stack bytes copied at a new wait or wake place, and at a CPU sample. They are copied in steps that end at
/// multiples of the step, so that every byte up to the page where the stack ends is copied; hence one step of
/// slack.
pub(crate) const PLACE_STACK: usize = 16384;
pub(crate) const PLACE_STEP: usize = 1024;
pub(crate) const SAMPLE_STACK: usize = 8192;
pub(crate) const SAMPLE_STEP: usize = 1024;
/// Bytes copied of the stack that the thread left for its present one (see place.h).
pub(crate) const LEFT_STACK: usize = 8192;
pub(crate) const LEFT_STEP: usize = 1024;
/// Bytes below the stack pointer that a leaf function may use (System V ABI for x86-64).
pub(crate) const RED_ZONE: usize = 128;
pub(crate) const KERNEL_FRAMES: usize = 32;
/// Stack words that are hashed to distinguish call paths, at most: in programs with code made at run time, whose
/// virtual machines have deep stacks of their own.
pub(crate) const HASHED_WORDS: usize = 96;
/// The same in other programs. A wait at a condition of glibc 2.36 takes some 30 words before its caller's return
/// address.
pub(crate) const USUAL_WORDS: usize = 48;
/// Python functions that are copied with a stack; PYTHON_HASHED of them go into the hash of a call path.
pub(crate) const PYTHON_FRAMES: usize = 32;
pub(crate) const PYTHON_HASHED: usize = 8;
/// How many threads of a Python program are searched for the current one.
pub(crate) const PYTHON_THREADS: usize = 256;
pub(crate) const SYSCALL_CACHE: usize = 16;
/// Kinds of futex operations that are counted; futex(2) has 14 (0 to 13).
pub(crate) const FUTEX_OPERATIONS: usize = 16;
/// System calls of one thread that are reported singly in an epoch; further ones are missing from the timeline.
pub(crate) const EPOCH_CALLS: usize = 48;
/// Bars of a histogram of durations: bar 0 holds those below 2^8 ns, bar b those below 2^(b+8).
pub(crate) const BARS: usize = 32;
/// The stacks of a wait for a kernel lock are taken if it lasts this long; shorter waits are only counted,
/// because taking the stacks would cost more than the wait.
pub(crate) const LOCK_STACK_NS: usize = 10000;
/// Hardware events that are read at switches.
pub(crate) const COUNTERS: usize = 4;
pub(crate) const THREAD_FREE: u32 = 0;
pub(crate) const THREAD_ALIVE: u32 = 1;
pub(crate) const THREAD_ENDED: u32 = 2;
pub(crate) const PHASE_RUNNING: u32 = 1;
pub(crate) const PHASE_BLOCKED: u32 = 2;
pub(crate) const PHASE_WOKEN: u32 = 3;
pub(crate) const PHASE_PREEMPTED: u32 = 4;
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct PlaceSum {
    pub(crate) place: u32,
    pub(crate) count: u32,
    pub(crate) ns: u64,
}

/// A stretch of a thread's time in which switches came too fast to be reported one by one.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Stretch {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) running_ns: u64,
    pub(crate) runnable_ns: u64,
    pub(crate) preempted_ns: u64,
    /// at places beyond those listed
    pub(crate) blocked_ns: u64,
    pub(crate) running_count: u32,
    pub(crate) runnable_count: u32,
    pub(crate) preempted_count: u32,
    pub(crate) blocked_count: u32,
    pub(crate) places: [PlaceSum; STRETCH_PLACES],
}

/// As bpf_perf_event_read_value fills it in.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct CounterValue {
    pub(crate) count: u64,
    pub(crate) enabled_ns: u64,
    pub(crate) running_ns: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct SyscallCount {
    pub(crate) number: u32,
    pub(crate) count: u32,
}

/// The call path that a thread was last at, with cheap values to compare first: see place.h.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct LastPath {
    pub(crate) ip: u64,
    pub(crate) sp: u64,
    /// sum over the hashed stack words
    pub(crate) words: u64,
    pub(crate) path: u64,
}

/// A place that a thread was last at.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct LastPlace {
    pub(crate) path: u64,
    pub(crate) object: u64,
    pub(crate) kind: u32,
    pub(crate) place: u32,
    pub(crate) at: LastPath,
}

/// Sums of a thread's latest waits at one place, and how they ended, before they are added to the tables: most
/// threads wait at the same place again and again.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
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

/// Everything known about one thread. Written by the processor that runs the thread (or wakes it), read by user
/// space at any time. Totals change only at switches, so a reader adds `now - since`, depending on `phase`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
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
    /// when it left the processor
    pub(crate) off_ns: u64,
    /// when it was woken
    pub(crate) wake_ns: u64,
    /// when it came back
    pub(crate) on_ns: u64,
    /// where it blocked; 0 when it did not
    pub(crate) place: u32,
    pub(crate) was_preempted: u32,
    /// the waker's thread; 0 when not one of ours
    pub(crate) waker: u32,
    /// the waker's call site
    pub(crate) waker_place: u32,
    /// its system call number + 1, 0 for none; with WAITED_HERE and WAKES_MANY
    pub(crate) waker_call: u32,
    /// enrolled, but has not yet executed the target
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
    /// BPF programs that the thread is inside of: they use the maps and rings, do not nest
    pub(crate) in_program: u32,
    pub(crate) stretch: Stretch,
    pub(crate) syscalls: [SyscallCount; SYSCALL_CACHE],
    /// first argument of the call it blocked in
    pub(crate) object: u64,
    pub(crate) place_path: u64,
    pub(crate) place_kind: u32,
    pub(crate) padding: u32,
    /// the futex that the waker woke
    pub(crate) waker_object: u64,
    pub(crate) comm: [u8; 16],
    /// the word beside the futex, where glibc's mutexes write the owner's thread number
    pub(crate) holder: u32,
    /// where the parent created it
    pub(crate) created_place: u32,
    /// the thread number that the program itself sees
    pub(crate) inner_tid: u32,
    pub(crate) lock_flags: u32,
    /// up to its end, less those before it was first seen
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
    pub(crate) futexes: [u32; FUTEX_OPERATIONS],
    /// when it entered the system call that is being timed
    pub(crate) call_ns: u64,
    /// time off the processor until call_ns
    pub(crate) call_off_ns: u64,
    /// its number + 1; 0 for none
    pub(crate) call: u32,
    pub(crate) epoch_calls: u32,
    pub(crate) call_epoch: u32,
    pub(crate) padding2: u32,
    pub(crate) calls_skipped: u64,
    /// kernel lock that it waits for; 0 for none
    pub(crate) lock: u64,
    /// since when
    pub(crate) lock_ns: u64,
    /// time off the processor until lock_ns
    pub(crate) lock_off_ns: u64,
    /// its own field, because waits for spin locks nest inside others
    pub(crate) spin_lock: u64,
    pub(crate) spin_ns: u64,
    pub(crate) spin_flags: u32,
    pub(crate) work_epoch: u32,
    /// units of work that are not reported yet
    pub(crate) work: u64,
    /// when it came to the processor
    pub(crate) counters_at: [CounterValue; COUNTERS],
    pub(crate) counters: [u64; COUNTERS],
    /// when counters_at was read; 0 while it runs uncounted or not at all
    pub(crate) counters_since_ns: u64,
    /// the part of running_ns that the counters cover
    pub(crate) counted_ns: u64,
    /// the scheduler's sum of its run time when it came to the processor
    pub(crate) executed_ns: u64,
    /// the futex that it last waited for; 0 when it never did
    pub(crate) last_futex: u64,
    /// its PyThreadState; 0 for none, or not looked for
    pub(crate) python: u64,
    /// blocked where threads wait for sockets, since it last sent or received
    pub(crate) polled_ns: u64,
    /// the last such place
    pub(crate) polled_place: u32,
    pub(crate) padding3: u32,
    pub(crate) path: LastPath,
    pub(crate) waited: LastPlace,
    pub(crate) woke: LastPlace,
    pub(crate) wait: PendingWait,
    pub(crate) edge: PendingEdge,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) length: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct ImageSpans {
    /// few and wide: most words that are no code are in none of them
    pub(crate) spans: [Span; MAX_SPANS],
    /// many and narrow, ascending; those left over begin at the highest address
    pub(crate) code: [Span; MAX_CODE],
    /// length 0 where there are none
    pub(crate) leavers: [Span; MAX_LEAVERS],
    /// stack words to hash; 0 for the usual number
    pub(crate) words: u32,
    pub(crate) padding: u32,
}

/// How the Python frames that one frame of the C stack runs are delimited.
/// each Python frame has a C frame of its own
pub(crate) const PYTHON_EACH: u32 = 1;
/// a byte is not zero in the outermost of them
pub(crate) const PYTHON_FLAG: u32 = 2;
/// a frame without a function follows, whose byte is PYTHON_OWNER_C or more
pub(crate) const PYTHON_OWNER: u32 = 3;
pub(crate) const PYTHON_OWNER_C: usize = 3;
/// Where CPython keeps the frames of its threads, offsets in bytes; the values are in resolve's python/layout.rs.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Python {
    /// address of the pointer to the main interpreter; 0 where no Python runs
    pub(crate) interpreter: u64,
    /// of the interpreter: its first thread
    pub(crate) first: u32,
    /// of a thread: the next one
    pub(crate) next: u32,
    /// of a thread: what pthread_self() gives in it
    pub(crate) identity: u32,
    /// of a thread: its innermost frame
    pub(crate) frame: u32,
    /// 1 when `frame` points to a struct that has the innermost frame at `inner`
    pub(crate) indirect: u32,
    pub(crate) inner: u32,
    /// of a frame: its caller
    pub(crate) back: u32,
    /// of a frame: its function
    pub(crate) code: u32,
    /// of a frame: where in the function it is
    pub(crate) at: u32,
    pub(crate) border: u32,
    /// of a frame: the byte that `border` is about
    pub(crate) border_at: u32,
    pub(crate) padding: u32,
}

/// Flag in the code of a frame: the frame is the outermost that one frame of the C stack runs.
pub(crate) const PYTHON_OUTERMOST: usize = 1;
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct PythonFrame {
    /// address of the code object, with the flag PYTHON_OUTERMOST
    pub(crate) code: u64,
    /// before 3.11 the distance into the code, 32 bits; since then the instruction's address
    pub(crate) at: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct PythonFrames {
    /// innermost first
    pub(crate) frames: [PythonFrame; PYTHON_FRAMES],
}

/// a page fault
pub(crate) const KIND_FAULT: u32 = 0xffff;
/// woke another thread
pub(crate) const KIND_WAKER: u32 = 0x10000;
/// waited for a kernel lock; `object` is the lock
pub(crate) const KIND_LOCK: u32 = 0x20000;
/// created a thread or process
pub(crate) const KIND_CREATE: u32 = 0x40000;
/// met a page fault
pub(crate) const KIND_FAULT_SITE: u32 = 0x80000;
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct PlaceKey {
    pub(crate) thread: u32,
    pub(crate) kind: u32,
    pub(crate) object: u64,
    pub(crate) path: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct PlaceValue {
    pub(crate) place: u32,
    /// user space has been sent its stack
    pub(crate) told: u32,
    pub(crate) count: u64,
    pub(crate) blocked_ns: u64,
    pub(crate) runnable_ns: u64,
    pub(crate) longest_ns: u64,
    pub(crate) bars: [u32; BARS],
}

/// A call path in user space, for all threads.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct StackValue {
    pub(crate) stack: u32,
    pub(crate) told: u32,
}

/// Flag in waker_call: the call was for the futex that the wakee waited for.
pub(crate) const SAME_OBJECT: u32 = 1 << 31;
/// Flag in waker_call: the futex that the waker itself waited for last is the one that it wakes.
pub(crate) const WAITED_HERE: u32 = 1 << 30;
/// Flag in waker_call: the call asks to wake more than one thread.
pub(crate) const WAKES_MANY: u32 = 1 << 29;
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct EdgeKey {
    pub(crate) place: u32,
    pub(crate) waker: u32,
    pub(crate) waker_place: u32,
    /// as in the record, with the three flags above
    pub(crate) waker_call: u32,
    pub(crate) holder: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct EdgeValue {
    pub(crate) count: u64,
    pub(crate) blocked_ns: u64,
}

/// The marks that uprobes are attached to, and where their arguments are (crates/resolve/src/probes).
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct ProbeRecord {
    pub(crate) kind: u32,
    pub(crate) place: u32,
    /// index in pt_regs of the register, or of the base of an address
    pub(crate) word: u8,
    pub(crate) shift: u8,
    pub(crate) size: u8,
    pub(crate) is_signed: u8,
    pub(crate) has_base: u8,
    pub(crate) index: u8,
    /// 0 for no index
    pub(crate) scale: u8,
    pub(crate) padding: u8,
    /// the constant, or the displacement
    pub(crate) number: u64,
}

/// A call site: a thread, the call path, and how the call ended.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct CallKey {
    pub(crate) thread: u32,
    pub(crate) number: u16,
    /// errno, 0 for success
    pub(crate) error: u16,
    pub(crate) path: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct CallValue {
    pub(crate) place: u32,
    pub(crate) told: u32,
    pub(crate) count: u64,
    pub(crate) total_ns: u64,
    pub(crate) off_ns: u64,
    pub(crate) longest_ns: u64,
    /// Where calls are timed in windows: how the calls are spread over the windows.
    pub(crate) window: u32,
    pub(crate) window_count: u32,
    pub(crate) windows: u32,
    pub(crate) padding: u32,
    /// sum of the squared counts of all windows but the last
    pub(crate) squares: u64,
    pub(crate) bars: [u32; BARS],
}

/// Flag in a lock's flags, beside the kernel's own: it is the mmap lock of the process.
pub(crate) const LOCK_IS_MMAP: u32 = 0x10000;
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct LockKey {
    pub(crate) thread: u32,
    pub(crate) flags: u32,
    /// system call or KIND_FAULT
    pub(crate) kind: u32,
    /// 0 for waits shorter than LOCK_STACK_NS
    pub(crate) place: u32,
    pub(crate) lock: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct LockValue {
    pub(crate) count: u64,
    pub(crate) waited_ns: u64,
    pub(crate) off_ns: u64,
    pub(crate) longest_ns: u64,
}

/// Who is at the other end of connections.
/// they were accepted at the program's own `port` or `path`
pub(crate) const PEER_CLIENTS: u32 = 1;
/// they were made to `address` and `port`, or to `path`
pub(crate) const PEER_SERVICE: u32 = 2;
/// neither is known: a socketpair(2)
pub(crate) const PEER_NOBODY: u32 = 3;
/// The longest path of a socket, bytes (sun_path in unix(7)).
pub(crate) const SOCKET_PATH: usize = 108;
/// Where a socket in the file system listens. An abstract name begins with a zero byte; others may end with one.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SocketPath {
    pub(crate) length: u32,
    pub(crate) bytes: [u8; SOCKET_PATH],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct PeerKey {
    pub(crate) thread: u32,
    /// of the waits; 0 in the sums of exchanges
    pub(crate) place: u32,
    /// its number in PATHS; 0 for TCP
    pub(crate) path: u32,
    pub(crate) side: u16,
    pub(crate) port: u16,
    /// of a service; an IPv4 address as IPv6 writes it
    pub(crate) address: [u8; 16],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct PeerValue {
    /// requests answered, or replies received
    pub(crate) exchanges: u64,
    pub(crate) exchange_ns: u64,
    pub(crate) longest_ns: u64,
    /// of the thread, ended by data from there
    pub(crate) waits: u64,
    pub(crate) waited_ns: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct ForeignValue {
    pub(crate) running_ns: u64,
    pub(crate) comm: [u8; 16],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct SyscallKey {
    pub(crate) thread: u32,
    pub(crate) number: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct ProcessorRecord {
    pub(crate) since_ns: u64,
    pub(crate) idle_ns: u64,
    pub(crate) ours_ns: u64,
    pub(crate) foreign_ns: u64,
    pub(crate) observer_ns: u64,
    /// system calls of the target that were entered on this processor
    pub(crate) calls: u64,
    pub(crate) padding: [u64; 2],
}

/// Why something is missing from the recording.
/// no slot or no task storage
pub(crate) const LOSS_THREADS: u32 = 0;
/// the table of places is full: waits are counted without a place
pub(crate) const LOSS_PLACES: u32 = 1;
/// no room for a place's stack; it is tried again at the next hit
pub(crate) const LOSS_PLACE_RING: u32 = 2;
pub(crate) const LOSS_EDGES: u32 = 3;
pub(crate) const LOSS_SYSCALLS: u32 = 4;
pub(crate) const LOSS_SAMPLES: u32 = 5;
/// no room for a timeline event; its time is in the next stretch
pub(crate) const LOSS_TIMELINE: u32 = 6;
pub(crate) const LOSS_CALL_SITES: u32 = 7;
/// no room for a call's timeline event
pub(crate) const LOSS_CALLS: u32 = 8;
pub(crate) const LOSS_LOCKS: u32 = 9;
pub(crate) const LOSS_MARKS: u32 = 10;
pub(crate) const LOSS_FOREIGN: u32 = 11;
pub(crate) const LOSS_STACKS: u32 = 12;
/// a switch away from the processor was missed; its time follows from the run time
pub(crate) const LOSS_SWITCHES: u32 = 13;
pub(crate) const LOSS_PEERS: u32 = 14;
/// more requests at once on a connection of HTTP/2 than there is room for
pub(crate) const LOSS_STREAMS: u32 = 15;
/// connections of HTTP/2 that were lost track of: from then on, requests at once count as one
pub(crate) const LOSS_FRAMES: u32 = 16;
/// connections whose first data could not be read, so that it is not known whether they are HTTP/2
pub(crate) const LOSS_HIDDEN: u32 = 17;
pub(crate) const LOSS_KINDS: u32 = 18;
/// Room for them; a power of two.
pub(crate) const LOSS_SLOTS: usize = 32;
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Globals {
    pub(crate) next_slot: u32,
    pub(crate) next_thread: u32,
    pub(crate) next_place: u32,
    pub(crate) next_image: u32,
    pub(crate) next_stack: u32,
    pub(crate) next_path: u32,
    /// system calls are being timed; set by user space
    pub(crate) timing: u32,
    /// number of the current timing window
    pub(crate) window: u32,
    /// how many hardware events are open
    pub(crate) counters: u32,
    /// knee's own; 0 for the initial one
    pub(crate) pid_namespace: u32,
    /// when observing of running threads began
    pub(crate) attached_ns: u64,
    /// 1 when all of them are observed
    pub(crate) enrolled: u32,
    pub(crate) padding: u32,
    pub(crate) losses: [u64; LOSS_SLOTS],
}

pub(crate) const EVENT_PERIOD: u32 = 1;
pub(crate) const EVENT_STRETCH: u32 = 2;
pub(crate) const EVENT_PLACE: u32 = 3;
pub(crate) const EVENT_EXEC: u32 = 4;
pub(crate) const EVENT_SAMPLE: u32 = 5;
pub(crate) const EVENT_CALL: u32 = 6;
pub(crate) const EVENT_MARK: u32 = 7;
pub(crate) const EVENT_STACK: u32 = 8;
pub(crate) const EVENT_LEFT: u32 = 9;
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Header {
    pub(crate) kind: u32,
    pub(crate) thread: u32,
}

/// One cycle of a thread: left the processor at off_ns, was woken at wake_ns, ran from on_ns to end_ns.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct StretchEvent {
    pub(crate) header: Header,
    pub(crate) stretch: Stretch,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Registers {
    pub(crate) ip: u64,
    pub(crate) sp: u64,
    pub(crate) fp: u64,
    pub(crate) lr: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct CallEvent {
    pub(crate) header: Header,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) number: u32,
    pub(crate) error: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct MarkEvent {
    pub(crate) header: Header,
    pub(crate) time_ns: u64,
    pub(crate) mark: u32,
    /// The process whose memory holds the name.
    pub(crate) pid: u32,
    /// Units of work; the address of a task's name.
    pub(crate) amount: u64,
    pub(crate) name: [u8; 64],
}

/// All user registers, in the order of the architecture's pt_regs; arm64 has the most, 34 words.
pub(crate) const ALL_REGISTERS: usize = 34;
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
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
    /// inode mode behind the descriptor `object`; 0 when it is no descriptor
    pub(crate) file_mode: u32,
    pub(crate) stack: u32,
    pub(crate) padding: u32,
}

/// Bytes follow it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct StackEvent {
    pub(crate) header: Header,
    pub(crate) stack: u32,
    pub(crate) pid: u32,
    pub(crate) image: u32,
    pub(crate) stack_bytes: u32,
    pub(crate) kernel_frames: u32,
    pub(crate) python_frames: u32,
    pub(crate) kernel_stack: [u64; KERNEL_FRAMES],
    pub(crate) registers: Registers,
    pub(crate) python: PythonFrames,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct ExecEvent {
    pub(crate) header: Header,
    pub(crate) time_ns: u64,
    pub(crate) pid: u32,
    pub(crate) image: u32,
    pub(crate) fresh: u32,
    pub(crate) padding: u32,
}

/// Bytes follow it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SampleEvent {
    pub(crate) header: Header,
    pub(crate) time_ns: u64,
    pub(crate) pid: u32,
    pub(crate) image: u32,
    pub(crate) processor: u32,
    /// KIND_FAULT or the system call; only for kernel samples
    pub(crate) kind: u32,
    pub(crate) in_kernel: u32,
    pub(crate) kernel_frames: u32,
    pub(crate) registers: Registers,
    pub(crate) all_registers: [u64; ALL_REGISTERS],
    pub(crate) kernel_stack: [u64; KERNEL_FRAMES],
    pub(crate) python_frames: u32,
    pub(crate) padding: u32,
    pub(crate) python: PythonFrames,
    pub(crate) stack_bytes: u32,
    /// 0 when it could not be read
    pub(crate) red_zone_bytes: u32,
    pub(crate) red_zone: [u8; RED_ZONE],
}

/// Comes before a sample or a call path of the same thread that is on another stack than that of its goroutine.
/// By itself, because most programs have none, and the ring holds more without it.
/// Bytes follow it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct LeftEvent {
    pub(crate) header: Header,
    /// the sample's time, or the call path's number
    pub(crate) of: u64,
    /// of the goroutine's stack, at a frame that made a call
    pub(crate) left: Registers,
    pub(crate) left_bytes: u32,
    pub(crate) padding: u32,
}

const _: () = {
    assert!(size_of::<PlaceSum>() == 16);
    assert!(offset_of!(PlaceSum, place) == 0);
    assert!(offset_of!(PlaceSum, count) == 4);
    assert!(offset_of!(PlaceSum, ns) == 8);
    assert!(size_of::<Stretch>() == 160);
    assert!(offset_of!(Stretch, start_ns) == 0);
    assert!(offset_of!(Stretch, end_ns) == 8);
    assert!(offset_of!(Stretch, running_ns) == 16);
    assert!(offset_of!(Stretch, runnable_ns) == 24);
    assert!(offset_of!(Stretch, preempted_ns) == 32);
    assert!(offset_of!(Stretch, blocked_ns) == 40);
    assert!(offset_of!(Stretch, running_count) == 48);
    assert!(offset_of!(Stretch, runnable_count) == 52);
    assert!(offset_of!(Stretch, preempted_count) == 56);
    assert!(offset_of!(Stretch, blocked_count) == 60);
    assert!(offset_of!(Stretch, places) == 64);
    assert!(size_of::<CounterValue>() == 24);
    assert!(offset_of!(CounterValue, count) == 0);
    assert!(offset_of!(CounterValue, enabled_ns) == 8);
    assert!(offset_of!(CounterValue, running_ns) == 16);
    assert!(size_of::<SyscallCount>() == 8);
    assert!(offset_of!(SyscallCount, number) == 0);
    assert!(offset_of!(SyscallCount, count) == 4);
    assert!(size_of::<LastPath>() == 32);
    assert!(offset_of!(LastPath, ip) == 0);
    assert!(offset_of!(LastPath, sp) == 8);
    assert!(offset_of!(LastPath, words) == 16);
    assert!(offset_of!(LastPath, path) == 24);
    assert!(size_of::<LastPlace>() == 56);
    assert!(offset_of!(LastPlace, path) == 0);
    assert!(offset_of!(LastPlace, object) == 8);
    assert!(offset_of!(LastPlace, kind) == 16);
    assert!(offset_of!(LastPlace, place) == 20);
    assert!(offset_of!(LastPlace, at) == 24);
    assert!(size_of::<PendingWait>() == 184);
    assert!(offset_of!(PendingWait, object) == 0);
    assert!(offset_of!(PendingWait, path) == 8);
    assert!(offset_of!(PendingWait, kind) == 16);
    assert!(offset_of!(PendingWait, place) == 20);
    assert!(offset_of!(PendingWait, count) == 24);
    assert!(offset_of!(PendingWait, blocked_ns) == 32);
    assert!(offset_of!(PendingWait, runnable_ns) == 40);
    assert!(offset_of!(PendingWait, longest_ns) == 48);
    assert!(offset_of!(PendingWait, bars) == 56);
    assert!(size_of::<PendingEdge>() == 40);
    assert!(offset_of!(PendingEdge, place) == 0);
    assert!(offset_of!(PendingEdge, waker) == 4);
    assert!(offset_of!(PendingEdge, waker_place) == 8);
    assert!(offset_of!(PendingEdge, waker_call) == 12);
    assert!(offset_of!(PendingEdge, holder) == 16);
    assert!(offset_of!(PendingEdge, padding) == 20);
    assert!(offset_of!(PendingEdge, count) == 24);
    assert!(offset_of!(PendingEdge, blocked_ns) == 32);
    assert!(size_of::<ThreadRecord>() == 1248);
    assert!(offset_of!(ThreadRecord, state) == 0);
    assert!(offset_of!(ThreadRecord, thread) == 4);
    assert!(offset_of!(ThreadRecord, parent) == 8);
    assert!(offset_of!(ThreadRecord, image) == 12);
    assert!(offset_of!(ThreadRecord, pid) == 16);
    assert!(offset_of!(ThreadRecord, tid) == 20);
    assert!(offset_of!(ThreadRecord, start_ns) == 24);
    assert!(offset_of!(ThreadRecord, end_ns) == 32);
    assert!(offset_of!(ThreadRecord, phase) == 40);
    assert!(offset_of!(ThreadRecord, processor) == 44);
    assert!(offset_of!(ThreadRecord, off_ns) == 48);
    assert!(offset_of!(ThreadRecord, wake_ns) == 56);
    assert!(offset_of!(ThreadRecord, on_ns) == 64);
    assert!(offset_of!(ThreadRecord, place) == 72);
    assert!(offset_of!(ThreadRecord, was_preempted) == 76);
    assert!(offset_of!(ThreadRecord, waker) == 80);
    assert!(offset_of!(ThreadRecord, waker_place) == 84);
    assert!(offset_of!(ThreadRecord, waker_call) == 88);
    assert!(offset_of!(ThreadRecord, fresh) == 92);
    assert!(offset_of!(ThreadRecord, running_ns) == 96);
    assert!(offset_of!(ThreadRecord, runnable_ns) == 104);
    assert!(offset_of!(ThreadRecord, preempted_ns) == 112);
    assert!(offset_of!(ThreadRecord, blocked_ns) == 120);
    assert!(offset_of!(ThreadRecord, voluntary) == 128);
    assert!(offset_of!(ThreadRecord, involuntary) == 136);
    assert!(offset_of!(ThreadRecord, migrations) == 144);
    assert!(offset_of!(ThreadRecord, epoch) == 152);
    assert!(offset_of!(ThreadRecord, epoch_events) == 160);
    assert!(offset_of!(ThreadRecord, in_program) == 164);
    assert!(offset_of!(ThreadRecord, stretch) == 168);
    assert!(offset_of!(ThreadRecord, syscalls) == 328);
    assert!(offset_of!(ThreadRecord, object) == 456);
    assert!(offset_of!(ThreadRecord, place_path) == 464);
    assert!(offset_of!(ThreadRecord, place_kind) == 472);
    assert!(offset_of!(ThreadRecord, padding) == 476);
    assert!(offset_of!(ThreadRecord, waker_object) == 480);
    assert!(offset_of!(ThreadRecord, comm) == 488);
    assert!(offset_of!(ThreadRecord, holder) == 504);
    assert!(offset_of!(ThreadRecord, created_place) == 508);
    assert!(offset_of!(ThreadRecord, inner_tid) == 512);
    assert!(offset_of!(ThreadRecord, lock_flags) == 516);
    assert!(offset_of!(ThreadRecord, minor_faults) == 520);
    assert!(offset_of!(ThreadRecord, major_faults) == 528);
    assert!(offset_of!(ThreadRecord, futexes) == 536);
    assert!(offset_of!(ThreadRecord, call_ns) == 600);
    assert!(offset_of!(ThreadRecord, call_off_ns) == 608);
    assert!(offset_of!(ThreadRecord, call) == 616);
    assert!(offset_of!(ThreadRecord, epoch_calls) == 620);
    assert!(offset_of!(ThreadRecord, call_epoch) == 624);
    assert!(offset_of!(ThreadRecord, padding2) == 628);
    assert!(offset_of!(ThreadRecord, calls_skipped) == 632);
    assert!(offset_of!(ThreadRecord, lock) == 640);
    assert!(offset_of!(ThreadRecord, lock_ns) == 648);
    assert!(offset_of!(ThreadRecord, lock_off_ns) == 656);
    assert!(offset_of!(ThreadRecord, spin_lock) == 664);
    assert!(offset_of!(ThreadRecord, spin_ns) == 672);
    assert!(offset_of!(ThreadRecord, spin_flags) == 680);
    assert!(offset_of!(ThreadRecord, work_epoch) == 684);
    assert!(offset_of!(ThreadRecord, work) == 688);
    assert!(offset_of!(ThreadRecord, counters_at) == 696);
    assert!(offset_of!(ThreadRecord, counters) == 792);
    assert!(offset_of!(ThreadRecord, counters_since_ns) == 824);
    assert!(offset_of!(ThreadRecord, counted_ns) == 832);
    assert!(offset_of!(ThreadRecord, executed_ns) == 840);
    assert!(offset_of!(ThreadRecord, last_futex) == 848);
    assert!(offset_of!(ThreadRecord, python) == 856);
    assert!(offset_of!(ThreadRecord, polled_ns) == 864);
    assert!(offset_of!(ThreadRecord, polled_place) == 872);
    assert!(offset_of!(ThreadRecord, padding3) == 876);
    assert!(offset_of!(ThreadRecord, path) == 880);
    assert!(offset_of!(ThreadRecord, waited) == 912);
    assert!(offset_of!(ThreadRecord, woke) == 968);
    assert!(offset_of!(ThreadRecord, wait) == 1024);
    assert!(offset_of!(ThreadRecord, edge) == 1208);
    assert!(size_of::<Span>() == 16);
    assert!(offset_of!(Span, start) == 0);
    assert!(offset_of!(Span, length) == 8);
    assert!(size_of::<ImageSpans>() == 616);
    assert!(offset_of!(ImageSpans, spans) == 0);
    assert!(offset_of!(ImageSpans, code) == 64);
    assert!(offset_of!(ImageSpans, leavers) == 576);
    assert!(offset_of!(ImageSpans, words) == 608);
    assert!(offset_of!(ImageSpans, padding) == 612);
    assert!(size_of::<Python>() == 56);
    assert!(offset_of!(Python, interpreter) == 0);
    assert!(offset_of!(Python, first) == 8);
    assert!(offset_of!(Python, next) == 12);
    assert!(offset_of!(Python, identity) == 16);
    assert!(offset_of!(Python, frame) == 20);
    assert!(offset_of!(Python, indirect) == 24);
    assert!(offset_of!(Python, inner) == 28);
    assert!(offset_of!(Python, back) == 32);
    assert!(offset_of!(Python, code) == 36);
    assert!(offset_of!(Python, at) == 40);
    assert!(offset_of!(Python, border) == 44);
    assert!(offset_of!(Python, border_at) == 48);
    assert!(offset_of!(Python, padding) == 52);
    assert!(size_of::<PythonFrame>() == 16);
    assert!(offset_of!(PythonFrame, code) == 0);
    assert!(offset_of!(PythonFrame, at) == 8);
    assert!(size_of::<PythonFrames>() == 512);
    assert!(offset_of!(PythonFrames, frames) == 0);
    assert!(size_of::<PlaceKey>() == 24);
    assert!(offset_of!(PlaceKey, thread) == 0);
    assert!(offset_of!(PlaceKey, kind) == 4);
    assert!(offset_of!(PlaceKey, object) == 8);
    assert!(offset_of!(PlaceKey, path) == 16);
    assert!(size_of::<PlaceValue>() == 168);
    assert!(offset_of!(PlaceValue, place) == 0);
    assert!(offset_of!(PlaceValue, told) == 4);
    assert!(offset_of!(PlaceValue, count) == 8);
    assert!(offset_of!(PlaceValue, blocked_ns) == 16);
    assert!(offset_of!(PlaceValue, runnable_ns) == 24);
    assert!(offset_of!(PlaceValue, longest_ns) == 32);
    assert!(offset_of!(PlaceValue, bars) == 40);
    assert!(size_of::<StackValue>() == 8);
    assert!(offset_of!(StackValue, stack) == 0);
    assert!(offset_of!(StackValue, told) == 4);
    assert!(size_of::<EdgeKey>() == 20);
    assert!(offset_of!(EdgeKey, place) == 0);
    assert!(offset_of!(EdgeKey, waker) == 4);
    assert!(offset_of!(EdgeKey, waker_place) == 8);
    assert!(offset_of!(EdgeKey, waker_call) == 12);
    assert!(offset_of!(EdgeKey, holder) == 16);
    assert!(size_of::<EdgeValue>() == 16);
    assert!(offset_of!(EdgeValue, count) == 0);
    assert!(offset_of!(EdgeValue, blocked_ns) == 8);
    assert!(size_of::<ProbeRecord>() == 24);
    assert!(offset_of!(ProbeRecord, kind) == 0);
    assert!(offset_of!(ProbeRecord, place) == 4);
    assert!(offset_of!(ProbeRecord, word) == 8);
    assert!(offset_of!(ProbeRecord, shift) == 9);
    assert!(offset_of!(ProbeRecord, size) == 10);
    assert!(offset_of!(ProbeRecord, is_signed) == 11);
    assert!(offset_of!(ProbeRecord, has_base) == 12);
    assert!(offset_of!(ProbeRecord, index) == 13);
    assert!(offset_of!(ProbeRecord, scale) == 14);
    assert!(offset_of!(ProbeRecord, padding) == 15);
    assert!(offset_of!(ProbeRecord, number) == 16);
    assert!(size_of::<CallKey>() == 16);
    assert!(offset_of!(CallKey, thread) == 0);
    assert!(offset_of!(CallKey, number) == 4);
    assert!(offset_of!(CallKey, error) == 6);
    assert!(offset_of!(CallKey, path) == 8);
    assert!(size_of::<CallValue>() == 192);
    assert!(offset_of!(CallValue, place) == 0);
    assert!(offset_of!(CallValue, told) == 4);
    assert!(offset_of!(CallValue, count) == 8);
    assert!(offset_of!(CallValue, total_ns) == 16);
    assert!(offset_of!(CallValue, off_ns) == 24);
    assert!(offset_of!(CallValue, longest_ns) == 32);
    assert!(offset_of!(CallValue, window) == 40);
    assert!(offset_of!(CallValue, window_count) == 44);
    assert!(offset_of!(CallValue, windows) == 48);
    assert!(offset_of!(CallValue, padding) == 52);
    assert!(offset_of!(CallValue, squares) == 56);
    assert!(offset_of!(CallValue, bars) == 64);
    assert!(size_of::<LockKey>() == 24);
    assert!(offset_of!(LockKey, thread) == 0);
    assert!(offset_of!(LockKey, flags) == 4);
    assert!(offset_of!(LockKey, kind) == 8);
    assert!(offset_of!(LockKey, place) == 12);
    assert!(offset_of!(LockKey, lock) == 16);
    assert!(size_of::<LockValue>() == 32);
    assert!(offset_of!(LockValue, count) == 0);
    assert!(offset_of!(LockValue, waited_ns) == 8);
    assert!(offset_of!(LockValue, off_ns) == 16);
    assert!(offset_of!(LockValue, longest_ns) == 24);
    assert!(size_of::<SocketPath>() == 112);
    assert!(offset_of!(SocketPath, length) == 0);
    assert!(offset_of!(SocketPath, bytes) == 4);
    assert!(size_of::<PeerKey>() == 32);
    assert!(offset_of!(PeerKey, thread) == 0);
    assert!(offset_of!(PeerKey, place) == 4);
    assert!(offset_of!(PeerKey, path) == 8);
    assert!(offset_of!(PeerKey, side) == 12);
    assert!(offset_of!(PeerKey, port) == 14);
    assert!(offset_of!(PeerKey, address) == 16);
    assert!(size_of::<PeerValue>() == 40);
    assert!(offset_of!(PeerValue, exchanges) == 0);
    assert!(offset_of!(PeerValue, exchange_ns) == 8);
    assert!(offset_of!(PeerValue, longest_ns) == 16);
    assert!(offset_of!(PeerValue, waits) == 24);
    assert!(offset_of!(PeerValue, waited_ns) == 32);
    assert!(size_of::<ForeignValue>() == 24);
    assert!(offset_of!(ForeignValue, running_ns) == 0);
    assert!(offset_of!(ForeignValue, comm) == 8);
    assert!(size_of::<SyscallKey>() == 8);
    assert!(offset_of!(SyscallKey, thread) == 0);
    assert!(offset_of!(SyscallKey, number) == 4);
    assert!(size_of::<ProcessorRecord>() == 64);
    assert!(offset_of!(ProcessorRecord, since_ns) == 0);
    assert!(offset_of!(ProcessorRecord, idle_ns) == 8);
    assert!(offset_of!(ProcessorRecord, ours_ns) == 16);
    assert!(offset_of!(ProcessorRecord, foreign_ns) == 24);
    assert!(offset_of!(ProcessorRecord, observer_ns) == 32);
    assert!(offset_of!(ProcessorRecord, calls) == 40);
    assert!(offset_of!(ProcessorRecord, padding) == 48);
    assert!(size_of::<Globals>() == 312);
    assert!(offset_of!(Globals, next_slot) == 0);
    assert!(offset_of!(Globals, next_thread) == 4);
    assert!(offset_of!(Globals, next_place) == 8);
    assert!(offset_of!(Globals, next_image) == 12);
    assert!(offset_of!(Globals, next_stack) == 16);
    assert!(offset_of!(Globals, next_path) == 20);
    assert!(offset_of!(Globals, timing) == 24);
    assert!(offset_of!(Globals, window) == 28);
    assert!(offset_of!(Globals, counters) == 32);
    assert!(offset_of!(Globals, pid_namespace) == 36);
    assert!(offset_of!(Globals, attached_ns) == 40);
    assert!(offset_of!(Globals, enrolled) == 48);
    assert!(offset_of!(Globals, padding) == 52);
    assert!(offset_of!(Globals, losses) == 56);
    assert!(size_of::<Header>() == 8);
    assert!(offset_of!(Header, kind) == 0);
    assert!(offset_of!(Header, thread) == 4);
    assert!(size_of::<PeriodEvent>() == 56);
    assert!(offset_of!(PeriodEvent, header) == 0);
    assert!(offset_of!(PeriodEvent, off_ns) == 8);
    assert!(offset_of!(PeriodEvent, wake_ns) == 16);
    assert!(offset_of!(PeriodEvent, on_ns) == 24);
    assert!(offset_of!(PeriodEvent, end_ns) == 32);
    assert!(offset_of!(PeriodEvent, place) == 40);
    assert!(offset_of!(PeriodEvent, was_preempted) == 44);
    assert!(offset_of!(PeriodEvent, processor) == 48);
    assert!(offset_of!(PeriodEvent, padding) == 52);
    assert!(size_of::<StretchEvent>() == 168);
    assert!(offset_of!(StretchEvent, header) == 0);
    assert!(offset_of!(StretchEvent, stretch) == 8);
    assert!(size_of::<Registers>() == 32);
    assert!(offset_of!(Registers, ip) == 0);
    assert!(offset_of!(Registers, sp) == 8);
    assert!(offset_of!(Registers, fp) == 16);
    assert!(offset_of!(Registers, lr) == 24);
    assert!(size_of::<CallEvent>() == 32);
    assert!(offset_of!(CallEvent, header) == 0);
    assert!(offset_of!(CallEvent, start_ns) == 8);
    assert!(offset_of!(CallEvent, end_ns) == 16);
    assert!(offset_of!(CallEvent, number) == 24);
    assert!(offset_of!(CallEvent, error) == 28);
    assert!(size_of::<MarkEvent>() == 96);
    assert!(offset_of!(MarkEvent, header) == 0);
    assert!(offset_of!(MarkEvent, time_ns) == 8);
    assert!(offset_of!(MarkEvent, mark) == 16);
    assert!(offset_of!(MarkEvent, pid) == 20);
    assert!(offset_of!(MarkEvent, amount) == 24);
    assert!(offset_of!(MarkEvent, name) == 32);
    assert!(size_of::<PlaceEvent>() == 64);
    assert!(offset_of!(PlaceEvent, header) == 0);
    assert!(offset_of!(PlaceEvent, place) == 8);
    assert!(offset_of!(PlaceEvent, pid) == 12);
    assert!(offset_of!(PlaceEvent, image) == 16);
    assert!(offset_of!(PlaceEvent, kind) == 20);
    assert!(offset_of!(PlaceEvent, object) == 24);
    assert!(offset_of!(PlaceEvent, operation) == 32);
    assert!(offset_of!(PlaceEvent, expected) == 40);
    assert!(offset_of!(PlaceEvent, timed) == 48);
    assert!(offset_of!(PlaceEvent, file_mode) == 52);
    assert!(offset_of!(PlaceEvent, stack) == 56);
    assert!(offset_of!(PlaceEvent, padding) == 60);
    assert!(size_of::<StackEvent>() == 832);
    assert!(offset_of!(StackEvent, header) == 0);
    assert!(offset_of!(StackEvent, stack) == 8);
    assert!(offset_of!(StackEvent, pid) == 12);
    assert!(offset_of!(StackEvent, image) == 16);
    assert!(offset_of!(StackEvent, stack_bytes) == 20);
    assert!(offset_of!(StackEvent, kernel_frames) == 24);
    assert!(offset_of!(StackEvent, python_frames) == 28);
    assert!(offset_of!(StackEvent, kernel_stack) == 32);
    assert!(offset_of!(StackEvent, registers) == 288);
    assert!(offset_of!(StackEvent, python) == 320);
    assert!(size_of::<ExecEvent>() == 32);
    assert!(offset_of!(ExecEvent, header) == 0);
    assert!(offset_of!(ExecEvent, time_ns) == 8);
    assert!(offset_of!(ExecEvent, pid) == 16);
    assert!(offset_of!(ExecEvent, image) == 20);
    assert!(offset_of!(ExecEvent, fresh) == 24);
    assert!(offset_of!(ExecEvent, padding) == 28);
    assert!(size_of::<SampleEvent>() == 1256);
    assert!(offset_of!(SampleEvent, header) == 0);
    assert!(offset_of!(SampleEvent, time_ns) == 8);
    assert!(offset_of!(SampleEvent, pid) == 16);
    assert!(offset_of!(SampleEvent, image) == 20);
    assert!(offset_of!(SampleEvent, processor) == 24);
    assert!(offset_of!(SampleEvent, kind) == 28);
    assert!(offset_of!(SampleEvent, in_kernel) == 32);
    assert!(offset_of!(SampleEvent, kernel_frames) == 36);
    assert!(offset_of!(SampleEvent, registers) == 40);
    assert!(offset_of!(SampleEvent, all_registers) == 72);
    assert!(offset_of!(SampleEvent, kernel_stack) == 344);
    assert!(offset_of!(SampleEvent, python_frames) == 600);
    assert!(offset_of!(SampleEvent, padding) == 604);
    assert!(offset_of!(SampleEvent, python) == 608);
    assert!(offset_of!(SampleEvent, stack_bytes) == 1120);
    assert!(offset_of!(SampleEvent, red_zone_bytes) == 1124);
    assert!(offset_of!(SampleEvent, red_zone) == 1128);
    assert!(size_of::<LeftEvent>() == 56);
    assert!(offset_of!(LeftEvent, header) == 0);
    assert!(offset_of!(LeftEvent, of) == 8);
    assert!(offset_of!(LeftEvent, left) == 16);
    assert!(offset_of!(LeftEvent, left_bytes) == 48);
    assert!(offset_of!(LeftEvent, padding) == 52);
};
