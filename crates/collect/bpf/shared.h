/* What the programs and their loader both know. The Rust side, src/bpf/abi/records.rs, is generated from this file by
 * tests/abi, which understands only the C that is used here: one item a line, fields of u8, u16, u32, u64, char or a
 * struct of this file, no padding. */
#ifndef KNEE_SHARED_H
#define KNEE_SHARED_H

/* Marks bytes of varying number that follow a record; in Rust they are no field of it. */
#define FOLLOWS

/* Slots of thread records. A slot is reused when its thread has ended and user space has read it. */
#define MAX_SLOTS 16384
/* Values of the task storage that are not slots. */
#define SLOT_NONE 0u
#define SLOT_PENDING 0xffffffffu  /* enrolled by user space; gets a slot when it is first seen */
#define SLOT_OBSERVER 0xfffffffeu /* knee itself */
#define SLOT_ATTACHED 0xfffffffdu /* was alive when observing began; gets a slot when it is first seen */
#define SLOT_ENDED 0xfffffffcu    /* had a slot; only the kernel's clean-up of it is left */

/* Process images (one for each exec). The code spans of an image distinguish return addresses from data. */
#define MAX_IMAGES 256
#define MAX_SPANS 4
#define MAX_CODE 32
/* Functions of Go's runtime that leave a goroutine's stack: mcall gives the stack up, systemstack comes back to it. */
#define MAX_LEAVERS 2
#define LEAVER_MCALL 0
#define LEAVER_SYSTEMSTACK 1

/* Single timeline events of one thread are limited in each epoch of 2^23 ns (8.4 ms); the rest is summed up. */
#define EPOCH_SHIFT 23
#define EPOCH_BUDGET 96
/* Wait places that a summed-up stretch keeps apart; blocked time at other places is one sum. */
#define STRETCH_PLACES 6

/* Stack bytes copied at a new wait or wake place, and at a CPU sample. They are copied in steps that end at multiples
 * of the step, so that every byte up to the page where the stack ends is copied; hence one step of slack. */
#define PLACE_STACK 16384
#define PLACE_STEP 1024
#define SAMPLE_STACK 8192
#define SAMPLE_STEP 1024
/* Bytes copied of the stack that the thread left for its present one (see place.h). */
#define LEFT_STACK 8192
#define LEFT_STEP 1024
/* Bytes below the stack pointer that a leaf function may use (System V ABI for x86-64). */
#define RED_ZONE 128
#define KERNEL_FRAMES 32
/* Stack words that are hashed to distinguish call paths, at most: in programs with code made at run time, whose virtual
 * machines have deep stacks of their own. */
#define HASHED_WORDS 96
/* The same in other programs. A wait at a condition of glibc 2.36 takes some 30 words before its caller's return
 * address. */
#define USUAL_WORDS 48
/* Python functions that are copied with a stack; PYTHON_HASHED of them go into the hash of a call path. */
#define PYTHON_FRAMES 32
#define PYTHON_HASHED 8
/* How many threads of a Python program are searched for the current one. */
#define PYTHON_THREADS 256

#define SYSCALL_CACHE 16
/* Kinds of futex operations that are counted; futex(2) has 14 (0 to 13). */
#define FUTEX_OPERATIONS 16

/* System calls of one thread that are reported singly in an epoch; further ones are missing from the timeline. */
#define EPOCH_CALLS 48

/* Bars of a histogram of durations: bar 0 holds those below 2^8 ns, bar b those below 2^(b+8). */
#define BARS 32

/* The stacks of a wait for a kernel lock are taken if it lasts this long; shorter waits are only counted, because
 * taking the stacks would cost more than the wait. */
#define LOCK_STACK_NS 10000

/* Hardware events that are read at switches. */
#define COUNTERS 4

enum thread_state { THREAD_FREE, THREAD_ALIVE, THREAD_ENDED };

enum phase { PHASE_RUNNING = 1, PHASE_BLOCKED, PHASE_WOKEN, PHASE_PREEMPTED };

struct place_sum {
	u32 place;
	u32 count;
	u64 ns;
};

/* A stretch of a thread's time in which switches came too fast to be reported one by one. */
struct stretch {
	u64 start_ns;
	u64 end_ns;
	u64 running_ns;
	u64 runnable_ns;
	u64 preempted_ns;
	u64 blocked_ns; /* at places beyond those listed */
	u32 running_count;
	u32 runnable_count;
	u32 preempted_count;
	u32 blocked_count;
	struct place_sum places[STRETCH_PLACES];
};

/* As bpf_perf_event_read_value fills it in. */
struct counter_value {
	u64 count;
	u64 enabled_ns;
	u64 running_ns;
};

struct syscall_count {
	u32 number;
	u32 count;
};

/* The call path that a thread was last at, with cheap values to compare first: see place.h. */
struct last_path {
	u64 ip;
	u64 sp;
	u64 words; /* sum over the hashed stack words */
	u64 path;
};

/* A place that a thread was last at. */
struct last_place {
	u64 path;
	u64 object;
	u32 kind;
	u32 place;
	struct last_path at;
};

/* Sums of a thread's latest waits at one place, and how they ended, before they are added to the tables: most threads
 * wait at the same place again and again. */
struct pending_wait {
	u64 object;
	u64 path;
	u32 kind;
	u32 place;
	u64 count;
	u64 blocked_ns;
	u64 runnable_ns;
	u64 longest_ns;
	u32 bars[BARS];
};

struct pending_edge {
	u32 place;
	u32 waker;
	u32 waker_place;
	u32 waker_call;
	u32 holder;
	u32 padding;
	u64 count;
	u64 blocked_ns;
};

/* Everything known about one thread. Written by the processor that runs the thread (or wakes it), read by user space
 * at any time. Totals change only at switches, so a reader adds `now - since`, depending on `phase`. */
struct thread_record {
	u32 state;
	u32 thread;
	u32 parent;
	u32 image;
	u32 pid;
	u32 tid;
	u64 start_ns;
	u64 end_ns;

	u32 phase;
	u32 processor;
	u64 off_ns;  /* when it left the processor */
	u64 wake_ns; /* when it was woken */
	u64 on_ns;   /* when it came back */
	u32 place;   /* where it blocked; 0 when it did not */
	u32 was_preempted;

	u32 waker;       /* the waker's thread; 0 when not one of ours */
	u32 waker_place; /* the waker's call site */
	u32 waker_call;  /* its system call number + 1, 0 for none; with WAITED_HERE and WAKES_MANY */
	u32 fresh;       /* enrolled, but has not yet executed the target */

	u64 running_ns;
	u64 runnable_ns;
	u64 preempted_ns;
	u64 blocked_ns;
	u64 voluntary;
	u64 involuntary;
	u64 migrations;

	u64 epoch;
	u32 epoch_events;
	u32 in_program; /* BPF programs that the thread is inside of: they use the maps and rings, do not nest */
	struct stretch stretch;

	struct syscall_count syscalls[SYSCALL_CACHE];

	u64 object; /* first argument of the call it blocked in */
	u64 place_path;
	u32 place_kind;
	u32 padding;
	u64 waker_object; /* the futex that the waker woke */
	char comm[16];

	u32 holder;        /* the word beside the futex, where glibc's mutexes write the owner's thread number */
	u32 created_place; /* where the parent created it */
	u32 inner_tid;     /* the thread number that the program itself sees */
	u32 lock_flags;
	u64 minor_faults;  /* up to its end, less those before it was first seen */
	u64 major_faults;
	u32 futexes[FUTEX_OPERATIONS];

	u64 call_ns;     /* when it entered the system call that is being timed */
	u64 call_off_ns; /* time off the processor until call_ns */
	u32 call;        /* its number + 1; 0 for none */
	u32 epoch_calls;
	u32 call_epoch;
	u32 padding2;
	u64 calls_skipped;

	u64 lock;          /* kernel lock that it waits for; 0 for none */
	u64 lock_ns;       /* since when */
	u64 lock_off_ns;   /* time off the processor until lock_ns */
	u64 spin_lock;     /* its own field, because waits for spin locks nest inside others */
	u64 spin_ns;
	u32 spin_flags;
	u32 work_epoch;
	u64 work; /* units of work that are not reported yet */

	struct counter_value counters_at[COUNTERS]; /* when it came to the processor */
	u64 counters[COUNTERS];
	u64 counters_since_ns; /* when counters_at was read; 0 while it runs uncounted or not at all */
	u64 counted_ns;        /* the part of running_ns that the counters cover */

	u64 executed_ns; /* the scheduler's sum of its run time when it came to the processor */
	u64 last_futex;  /* the futex that it last waited for; 0 when it never did */
	u64 python;      /* its PyThreadState; 0 for none, or not looked for */
	u64 polled_ns;   /* blocked where threads wait for sockets, since it last sent or received */
	u32 polled_place; /* the last such place */
	u32 padding3;

	struct last_path path;
	struct last_place waited;
	struct last_place woke;
	struct pending_wait wait;
	struct pending_edge edge;
};

struct span {
	u64 start;
	u64 length;
};

struct image_spans {
	struct span spans[MAX_SPANS]; /* few and wide: most words that are no code are in none of them */
	struct span code[MAX_CODE];   /* many and narrow, ascending; those left over begin at the highest address */
	struct span leavers[MAX_LEAVERS]; /* length 0 where there are none */
	u32 words;                        /* stack words to hash; 0 for the usual number */
	u32 padding;
};

/* How the Python frames that one frame of the C stack runs are delimited. */
enum python_border {
	PYTHON_EACH = 1, /* each Python frame has a C frame of its own */
	PYTHON_FLAG,     /* a byte is not zero in the outermost of them */
	PYTHON_OWNER,    /* a frame without a function follows, whose byte is PYTHON_OWNER_C or more */
};
#define PYTHON_OWNER_C 3

/* Where CPython keeps the frames of its threads, offsets in bytes; the values are in resolve's python/layout.rs. */
struct python {
	u64 interpreter; /* address of the pointer to the main interpreter; 0 where no Python runs */
	u32 first;       /* of the interpreter: its first thread */
	u32 next;        /* of a thread: the next one */
	u32 identity;    /* of a thread: what pthread_self() gives in it */
	u32 frame;       /* of a thread: its innermost frame */
	u32 indirect;    /* 1 when `frame` points to a struct that has the innermost frame at `inner` */
	u32 inner;
	u32 back; /* of a frame: its caller */
	u32 code; /* of a frame: its function */
	u32 at;   /* of a frame: where in the function it is */
	u32 border;
	u32 border_at; /* of a frame: the byte that `border` is about */
	u32 padding;
};

/* Flag in the code of a frame: the frame is the outermost that one frame of the C stack runs. */
#define PYTHON_OUTERMOST 1
struct python_frame {
	u64 code; /* address of the code object, with the flag PYTHON_OUTERMOST */
	u64 at;   /* before 3.11 the distance into the code, 32 bits; since then the instruction's address */
};

struct python_frames {
	struct python_frame frames[PYTHON_FRAMES]; /* innermost first */
};

/* Places: where a thread waited, woke another thread, and so on. `kind` is the system call number or KIND_FAULT, plus
 * one of the flags. */
#define KIND_FAULT 0xffff       /* a page fault */
#define KIND_WAKER 0x10000      /* woke another thread */
#define KIND_LOCK 0x20000       /* waited for a kernel lock; `object` is the lock */
#define KIND_CREATE 0x40000     /* created a thread or process */
#define KIND_FAULT_SITE 0x80000 /* met a page fault */

struct place_key {
	u32 thread;
	u32 kind;
	u64 object;
	u64 path;
};

struct place_value {
	u32 place;
	u32 told; /* user space has been sent its stack */
	u64 count;
	u64 blocked_ns;
	u64 runnable_ns;
	u64 longest_ns;
	u32 bars[BARS];
};

/* A call path in user space, for all threads. */
struct stack_value {
	u32 stack;
	u32 told;
};

/* Flag in waker_call: the call was for the futex that the wakee waited for. */
#define SAME_OBJECT (1u << 31)
/* Flag in waker_call: the futex that the waker itself waited for last is the one that it wakes. */
#define WAITED_HERE (1u << 30)
/* Flag in waker_call: the call asks to wake more than one thread. */
#define WAKES_MANY (1u << 29)

struct edge_key {
	u32 place;
	u32 waker;
	u32 waker_place;
	u32 waker_call; /* as in the record, with the three flags above */
	u32 holder;
};

struct edge_value {
	u64 count;
	u64 blocked_ns;
};

/* The marks that uprobes are attached to, and where their arguments are (crates/resolve/src/probes). */
#define MAX_PROBES 1024u

enum mark { MARK_BEGIN = 1, MARK_END, MARK_TASK_BEGIN, MARK_TASK_END, MARK_WORK };
enum mark_place { PLACE_NONE, PLACE_CONSTANT, PLACE_REGISTER, PLACE_MEMORY };

struct probe_record {
	u32 kind;
	u32 place;
	u8 word;  /* index in pt_regs of the register, or of the base of an address */
	u8 shift;
	u8 size;
	u8 is_signed;
	u8 has_base;
	u8 index;
	u8 scale; /* 0 for no index */
	u8 padding;
	u64 number; /* the constant, or the displacement */
};

/* A call site: a thread, the call path, and how the call ended. */
struct call_key {
	u32 thread;
	u16 number;
	u16 error; /* errno, 0 for success */
	u64 path;
};

struct call_value {
	u32 place;
	u32 told;
	u64 count;
	u64 total_ns;
	u64 off_ns;
	u64 longest_ns;
	/* Where calls are timed in windows: how the calls are spread over the windows. */
	u32 window;
	u32 window_count;
	u32 windows;
	u32 padding;
	u64 squares; /* sum of the squared counts of all windows but the last */
	u32 bars[BARS];
};

/* Flag in a lock's flags, beside the kernel's own: it is the mmap lock of the process. */
#define LOCK_IS_MMAP 0x10000

struct lock_key {
	u32 thread;
	u32 flags;
	u32 kind; /* system call or KIND_FAULT */
	u32 place; /* 0 for waits shorter than LOCK_STACK_NS */
	u64 lock;
};

struct lock_value {
	u64 count;
	u64 waited_ns;
	u64 off_ns;
	u64 longest_ns;
};

/* Who is at the other end of connections. */
enum peer_side {
	PEER_CLIENTS = 1, /* they were accepted at the program's own `port` or `path` */
	PEER_SERVICE,     /* they were made to `address` and `port`, or to `path` */
	PEER_NOBODY,      /* neither is known: a socketpair(2) */
};

/* The longest path of a socket, bytes (sun_path in unix(7)). */
#define SOCKET_PATH 108

/* Where a socket in the file system listens. An abstract name begins with a zero byte; others may end with one. */
struct socket_path {
	u32 length;
	char bytes[SOCKET_PATH];
};

struct peer_key {
	u32 thread;
	u32 place; /* of the waits; 0 in the sums of exchanges */
	u32 path;  /* its number in PATHS; 0 for TCP */
	u16 side;
	u16 port;
	u8 address[16]; /* of a service; an IPv4 address as IPv6 writes it */
};

struct peer_value {
	u64 exchanges; /* requests answered, or replies received */
	u64 exchange_ns;
	u64 longest_ns;
	u64 waits; /* of the thread, ended by data from there */
	u64 waited_ns;
};

struct foreign_value {
	u64 running_ns;
	char comm[16];
};

struct syscall_key {
	u32 thread;
	u32 number;
};

struct processor_record {
	u64 since_ns;
	u64 idle_ns;
	u64 ours_ns;
	u64 foreign_ns;
	u64 observer_ns;
	u64 calls; /* system calls of the target that were entered on this processor */
	u64 padding[2];
};

/* Why something is missing from the recording. */
enum loss {
	LOSS_THREADS,    /* no slot or no task storage */
	LOSS_PLACES,     /* the table of places is full: waits are counted without a place */
	LOSS_PLACE_RING, /* no room for a place's stack; it is tried again at the next hit */
	LOSS_EDGES,
	LOSS_SYSCALLS,
	LOSS_SAMPLES,
	LOSS_TIMELINE, /* no room for a timeline event; its time is in the next stretch */
	LOSS_CALL_SITES,
	LOSS_CALLS, /* no room for a call's timeline event */
	LOSS_LOCKS,
	LOSS_MARKS,
	LOSS_FOREIGN,
	LOSS_STACKS,
	LOSS_SWITCHES, /* a switch away from the processor was missed; its time follows from the run time */
	LOSS_PEERS,
	LOSS_STREAMS, /* more requests at once on a connection of HTTP/2 than there is room for */
	LOSS_FRAMES,  /* connections of HTTP/2 that were lost track of: from then on, requests at once count as one */
	LOSS_HIDDEN,  /* connections whose first data could not be read, so that it is not known whether they are HTTP/2 */
	LOSS_KINDS,
};
/* Room for them; a power of two. */
#define LOSS_SLOTS 32

struct globals {
	u32 next_slot;
	u32 next_thread;
	u32 next_place;
	u32 next_image;
	u32 next_stack;
	u32 next_path;
	u32 timing;   /* system calls are being timed; set by user space */
	u32 window;   /* number of the current timing window */
	u32 counters; /* how many hardware events are open */
	u32 pid_namespace; /* knee's own; 0 for the initial one */
	u64 attached_ns;   /* when observing of running threads began */
	u32 enrolled;      /* 1 when all of them are observed */
	u32 padding;
	u64 losses[LOSS_SLOTS];
};

enum event_kind {
	EVENT_PERIOD = 1,
	EVENT_STRETCH,
	EVENT_PLACE,
	EVENT_EXEC,
	EVENT_SAMPLE,
	EVENT_CALL,
	EVENT_MARK,
	EVENT_STACK,
	EVENT_LEFT,
};

struct header {
	u32 kind;
	u32 thread;
};

/* One cycle of a thread: left the processor at off_ns, was woken at wake_ns, ran from on_ns to end_ns. */
struct period_event {
	struct header header;
	u64 off_ns;
	u64 wake_ns;
	u64 on_ns;
	u64 end_ns;
	u32 place;
	u32 was_preempted;
	u32 processor;
	u32 padding;
};

struct stretch_event {
	struct header header;
	struct stretch stretch;
};

struct registers {
	u64 ip;
	u64 sp;
	u64 fp;
	u64 lr;
};

struct call_event {
	struct header header;
	u64 start_ns;
	u64 end_ns;
	u32 number;
	u32 error;
};

struct mark_event {
	struct header header;
	u64 time_ns;
	u32 mark;
	/* The process whose memory holds the name. */
	u32 pid;
	/* Units of work; the address of a task's name. */
	u64 amount;
	char name[64];
};

/* All user registers, in the order of the architecture's pt_regs; arm64 has the most, 34 words. */
#define ALL_REGISTERS 34

struct place_event {
	struct header header;
	u32 place;
	u32 pid;
	u32 image;
	u32 kind;
	u64 object;
	u64 operation;
	u64 expected;
	u32 timed;
	u32 file_mode; /* inode mode behind the descriptor `object`; 0 when it is no descriptor */
	u32 stack;
	u32 padding;
};

struct stack_event {
	struct header header;
	u32 stack;
	u32 pid;
	u32 image;
	u32 stack_bytes;
	u32 kernel_frames;
	u32 python_frames;
	u64 kernel_stack[KERNEL_FRAMES];
	struct registers registers;
	struct python_frames python;
	FOLLOWS u8 bytes[PLACE_STACK + PLACE_STEP];
};

struct exec_event {
	struct header header;
	u64 time_ns;
	u32 pid;
	u32 image;
	u32 fresh;
	u32 padding;
};

struct sample_event {
	struct header header;
	u64 time_ns;
	u32 pid;
	u32 image;
	u32 processor;
	u32 kind; /* KIND_FAULT or the system call; only for kernel samples */
	u32 in_kernel;
	u32 kernel_frames;
	struct registers registers;
	u64 all_registers[ALL_REGISTERS];
	u64 kernel_stack[KERNEL_FRAMES];
	u32 python_frames;
	u32 padding;
	struct python_frames python;
	u32 stack_bytes;
	u32 red_zone_bytes; /* 0 when it could not be read */
	u8 red_zone[RED_ZONE];
	FOLLOWS u8 stack[SAMPLE_STACK + SAMPLE_STEP];
};

/* Comes before a sample or a call path of the same thread that is on another stack than that of its goroutine. By itself,
 * because most programs have none, and the ring holds more without it. */
struct left_event {
	struct header header;
	u64 of; /* the sample's time, or the call path's number */
	struct registers left; /* of the goroutine's stack, at a frame that made a call */
	u32 left_bytes;
	u32 padding;
	FOLLOWS u8 left_stack[LEFT_STACK + LEFT_STEP]; /* bytes from left.sp on */
};

/* Changing a size changes what both sides exchange; tests/abi checks the Rust side against it. */
#define SIZE(type, bytes) _Static_assert(sizeof(struct type) == (bytes), #type " changed its size")
SIZE(stretch, 160);
SIZE(thread_record, 1248);
SIZE(probe_record, 24);
SIZE(image_spans, 616);
SIZE(python, 56);
SIZE(python_frame, 16);
SIZE(python_frames, 512);
SIZE(place_key, 24);
SIZE(place_value, 168);
SIZE(edge_key, 20);
SIZE(edge_value, 16);
SIZE(call_key, 16);
SIZE(call_value, 192);
SIZE(lock_key, 24);
SIZE(lock_value, 32);
SIZE(socket_path, 112);
SIZE(peer_key, 32);
SIZE(peer_value, 40);
SIZE(foreign_value, 24);
SIZE(syscall_key, 8);
SIZE(processor_record, 64);
SIZE(globals, 312);
SIZE(period_event, 56);
SIZE(stretch_event, 168);
SIZE(call_event, 32);
SIZE(mark_event, 96);
SIZE(place_event, 64);
SIZE(stack_event, 18240);
SIZE(stack_value, 8);
SIZE(exec_event, 32);
SIZE(sample_event, 10472);
SIZE(left_event, 9272);

#endif
