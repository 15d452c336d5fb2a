/* What the programs and their loader both know. The Rust side is src/bpf/abi.rs; both sides assert the sizes. */
#ifndef KNEE_SHARED_H
#define KNEE_SHARED_H

/* Slots of thread records. A slot is reused when its thread has ended and user space has read it. */
#define MAX_SLOTS 16384
/* Values of the task storage that are no slot. */
#define SLOT_NONE 0u
#define SLOT_PENDING 0xffffffffu  /* enrolled by user space, gets a slot when it is first seen */
#define SLOT_OBSERVER 0xfffffffeu /* knee itself */

/* Process images (one an exec) whose code spans tell return addresses from data. */
#define MAX_IMAGES 256
#define MAX_SPANS 4

/* Raw timeline events of one thread in one epoch of 2^23 ns (8.4 ms); what comes beyond is summed up. */
#define EPOCH_SHIFT 23
#define EPOCH_BUDGET 96
/* Wait places that a summed-up stretch tells apart; the rest of its blocked time is in one sum. */
#define STRETCH_PLACES 6

/* Stack bytes copied at a new wait or wake place, and at a CPU sample. The copy goes in steps that end at multiples of
 * the step, so that it gets every byte up to the page where the stack ends; hence one step of slack. */
#define PLACE_STACK 16384
#define PLACE_STEP 1024
#define SAMPLE_STACK 8192
#define SAMPLE_STEP 1024
#define KERNEL_FRAMES 32
/* Stack words that are looked at to tell call paths apart. */
#define HASHED_WORDS 32

#define SYSCALL_CACHE 16

enum thread_state { THREAD_FREE, THREAD_ALIVE, THREAD_ENDED };

enum phase { PHASE_RUNNING = 1, PHASE_BLOCKED, PHASE_WOKEN, PHASE_PREEMPTED };

struct place_sum {
	u32 place;
	u32 count;
	u64 ns;
};

/* A stretch of a thread's time in which switches came too fast to be told one by one. */
struct stretch {
	u64 start_ns;
	u64 end_ns;
	u64 running_ns;
	u64 runnable_ns;
	u64 preempted_ns;
	u64 blocked_ns; /* of places beyond those listed */
	u32 running_count;
	u32 runnable_count;
	u32 preempted_count;
	u32 blocked_count;
	struct place_sum places[STRETCH_PLACES];
};

struct syscall_count {
	u32 number;
	u32 count;
};

/* Everything known about one thread. Written by the processor that runs the thread (or wakes it), read by user space
 * at any time: totals move only at switches, so a reader adds `now - since` by `phase`. */
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
	u64 off_ns;  /* left the processor */
	u64 wake_ns; /* was woken */
	u64 on_ns;   /* came back */
	u32 place;   /* where it blocked; 0 when it did not */
	u32 was_preempted;

	u32 waker;       /* thread; 0 when not one of ours */
	u32 waker_place; /* the waker's call site */
	u32 waker_call;  /* system call number + 1; 0 when it was in none */
	u32 fresh;       /* enrolled, has not yet executed the target */

	u64 running_ns;
	u64 runnable_ns;
	u64 preempted_ns;
	u64 blocked_ns;
	u64 voluntary;
	u64 involuntary;
	u64 migrations;

	u64 epoch;
	u32 epoch_events;
	u32 in_program; /* this thread is inside a program that touches maps: do not nest */
	struct stretch stretch;

	struct syscall_count syscalls[SYSCALL_CACHE];

	u64 object; /* first argument of the call it blocked in */
	u64 place_key_hash;
	u32 place_kind;
	u32 padding;
	u64 waker_object; /* the futex that the waker woke */
	char comm[16];
};

struct span {
	u64 start;
	u64 length;
};

struct image_spans {
	struct span spans[MAX_SPANS];
};

/* Places: where a thread waited or woke somebody. `kind` is the system call number, or KIND_FAULT, with KIND_WAKER
 * added on the waker's side. */
#define KIND_FAULT 0xffff
#define KIND_WAKER 0x10000

struct place_key {
	u32 thread;
	u32 kind;
	u64 object;
	u64 hash;
};

struct place_value {
	u32 place;
	u32 told; /* its stack has reached user space */
	u64 count;
	u64 blocked_ns;
	u64 runnable_ns;
	u64 longest_ns;
};

struct edge_key {
	u32 place;
	u32 waker;
	u32 waker_place;
	u32 waker_call; /* as in the record; bit 31: for the futex that was waited on */
};

struct edge_value {
	u64 count;
	u64 blocked_ns;
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
	u64 padding[3];
};

/* Why something is missing from the recording. */
enum loss {
	LOSS_THREADS,    /* no slot or no task storage */
	LOSS_PLACES,     /* table of places full: waits booked without a place */
	LOSS_PLACE_RING, /* no room for a place's stack; it is tried again at the next hit */
	LOSS_EDGES,
	LOSS_SYSCALLS,
	LOSS_SAMPLES,
	LOSS_TIMELINE, /* no room for a timeline event; its time is in the next stretch */
	LOSS_KINDS,
};

struct globals {
	u32 next_slot;
	u32 next_thread;
	u32 next_place;
	u32 next_image;
	u64 losses[8];
};

enum event_kind { EVENT_PERIOD = 1, EVENT_STRETCH, EVENT_PLACE, EVENT_EXEC, EVENT_SAMPLE };

struct event_header {
	u32 kind;
	u32 thread;
};

/* One cycle of a thread: left the processor at off, was woken at wake, ran from on to end. */
struct period_event {
	struct event_header header;
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
	struct event_header header;
	struct stretch stretch;
};

struct registers {
	u64 ip;
	u64 sp;
	u64 fp;
	u64 lr;
};

struct place_event {
	struct event_header header;
	u32 place;
	u32 pid;
	u32 image;
	u32 kind;
	u64 object;
	u64 operation;
	u64 expected;
	u32 timed;
	u32 kernel_frames;
	struct registers registers;
	u64 kernel_stack[KERNEL_FRAMES];
	u32 stack_bytes;
	u32 padding;
	u8 stack[PLACE_STACK + PLACE_STEP];
};

struct exec_event {
	struct event_header header;
	u64 time_ns;
	u32 pid;
	u32 image;
	u32 fresh;
	u32 padding;
};

struct sample_event {
	struct event_header header;
	u64 time_ns;
	u32 pid;
	u32 image;
	u32 processor;
	u32 kind; /* KIND_FAULT or the system call; only for kernel samples */
	u32 in_kernel;
	u32 kernel_frames;
	struct registers registers;
	u64 kernel_stack[KERNEL_FRAMES];
	u32 stack_bytes;
	u32 padding;
	u8 stack[SAMPLE_STACK + SAMPLE_STEP];
};

#define SIZE(type, bytes) _Static_assert(sizeof(struct type) == (bytes), #type " changed: change abi.rs too")
SIZE(stretch, 160);
SIZE(thread_record, 504);
SIZE(image_spans, 64);
SIZE(place_key, 24);
SIZE(place_value, 40);
SIZE(edge_key, 16);
SIZE(edge_value, 16);
SIZE(syscall_key, 8);
SIZE(processor_record, 64);
SIZE(globals, 80);
SIZE(period_event, 56);
SIZE(stretch_event, 168);
SIZE(place_event, 17760);
SIZE(exec_event, 32);
SIZE(sample_event, 9552);

#endif
