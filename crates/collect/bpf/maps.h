/* The maps, and the way from a task to its record. */
#ifndef KNEE_MAPS_H
#define KNEE_MAPS_H

#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "shared.h"

/* Entries of hash maps take memory when they are made. Before Linux 6.1 that is not safe inside the scheduler, and programs
 * on perf events are refused such maps (check_map_prog_compatibility in kernel/bpf/verifier.c): there all entries are made
 * beforehand. */
#ifdef PREALLOCATED
#define ON_DEMAND 0
#else
#define ON_DEMAND BPF_F_NO_PREALLOC
#endif

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MAX_SLOTS);
	__type(key, u32);
	__type(value, struct thread_record);
} THREADS SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct globals);
} GLOBALS SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MAX_IMAGES);
	__type(key, u32);
	__type(value, struct image_spans);
} IMAGES SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MAX_IMAGES);
	__type(key, u32);
	__type(value, struct python);
} PYTHONS SEC(".maps");

/* The loader sizes it to the machine. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct processor_record);
} PROCESSORS SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u32);
} TASKS SEC(".maps");

/* Slots that user space has read and given back. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, MAX_SLOTS);
	__uint(value_size, sizeof(u32));
} FREE_SLOTS SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 131072);
	__uint(map_flags, ON_DEMAND);
	__type(key, struct place_key);
	__type(value, struct place_value);
} PLACES SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, ON_DEMAND);
	__type(key, u64);
	__type(value, struct stack_value);
} STACKS SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 131072);
	__uint(map_flags, ON_DEMAND);
	__type(key, struct edge_key);
	__type(value, struct edge_value);
} EDGES SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, ON_DEMAND);
	__type(key, struct syscall_key);
	__type(value, u64);
} SYSCALLS SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, ON_DEMAND);
	__type(key, struct call_key);
	__type(value, struct call_value);
} CALLS SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, ON_DEMAND);
	__type(key, struct lock_key);
	__type(value, struct lock_value);
} LOCKS SEC(".maps");

/* What threads exchanged over TCP, and over sockets in the file system. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, ON_DEMAND);
	__type(key, struct peer_key);
	__type(value, struct peer_value);
} PEERS SEC(".maps");

/* What is known of a connection. It is kept with the socket and ends with it, so that a new socket in the same memory
 * does not answer what an older one left open. */
struct connection {
	u64 since_ns; /* when the request began that is not answered yet, or 0 */
	u32 path;     /* of a socket in the file system: its number in PATHS; 0 where it has none */
	u16 side;     /* of such a one: enum peer_side, 0 until it was looked at */
	u8 protocol;
	u8 looks;     /* how often its data was looked at to find out its protocol */
};
enum protocol { PROTOCOL_UNKNOWN, PROTOCOL_OTHER, PROTOCOL_HTTP2 };
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct connection);
} CONNECTIONS SEC(".maps");

/* Data on its way through a socket: where it is in the program's memory, piece by piece. */
struct passing {
	u64 rest;    /* bytes that are not looked at yet */
	u64 at;      /* address of the present piece; 0 where it is not known */
	u64 piece;   /* its bytes */
	u64 vectors; /* address of the next `struct iovec` */
	u64 more;    /* how many of these follow */
};

/* One direction of a connection of HTTP/2. */
struct direction {
	struct passing data;
	u32 left;    /* bytes of the present frame that are still to come */
	u32 have;    /* bytes of the next header that have come */
	u32 preface; /* 1 while the preface is still to come */
	u32 chain;   /* frames in a row */
	u32 last;    /* of the client: the newest stream */
	u32 broken;  /* 1 when the frames were lost track of */
	u8 header[64];
};

/* What was answered by data that passed. */
struct answers {
	u64 count;
	u64 ns;
	u64 longest_ns;
};

/* Streams of a connection that wait for their answers, at most. With them the struct fits into the 8 KiB that
 * Linux can give out at any moment. */
#define OPEN_STREAMS 512

/* A connection of HTTP/2: see http2.h. */
struct http2 {
	struct direction client;
	struct direction server;
	struct answers answers;
	u32 sure; /* 1 when it is HTTP/2; 0 while it may be */
	u32 streams[OPEN_STREAMS]; /* 0 for none */
	u64 since_ns[OPEN_STREAMS];
};
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct http2);
} HTTP2 SEC(".maps");

/* Numbers of the paths of sockets, from 1. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__uint(map_flags, ON_DEMAND);
	__type(key, struct socket_path);
	__type(value, u32);
} PATHS SEC(".maps");

/* TCP ports at which the program listens. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__uint(map_flags, ON_DEMAND);
	__type(key, u32);
	__type(value, u32);
} LISTENERS SEC(".maps");

/* Other programs by process id. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__uint(map_flags, ON_DEMAND);
	__type(key, u32);
	__type(value, struct foreign_value);
} FOREIGN SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_PROBES);
	__type(key, u32);
	__type(value, struct probe_record);
} PROBES SEC(".maps");

/* Hardware events, one for each processor. Filled by user space where the machine has them. */
#define COUNTER_MAP(name)                                    \
	struct {                                             \
		__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY); \
		__uint(max_entries, 1);                      \
		__type(key, u32);                            \
		__type(value, u32);                          \
	} name SEC(".maps")
COUNTER_MAP(COUNTER0);
COUNTER_MAP(COUNTER1);
COUNTER_MAP(COUNTER2);
COUNTER_MAP(COUNTER3);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} EVENTS SEC(".maps");

/* Samples have a ring of their own, so that samples and other events cannot crowd each other out. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} SAMPLES SEC(".maps");

/* The BPF stack of 512 bytes has no room for the stack words. */
struct scratch {
	u64 words[HASHED_WORDS];
	u64 left[HASHED_WORDS];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} SCRATCH SEC(".maps");

/* New values are built here for the same reason; all but their `place` field is zero. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct place_value);
} FRESH_PLACE SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct call_value);
} FRESH_CALL SEC(".maps");

static struct globals *globals(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&GLOBALS, &zero);
}

static void lost(enum loss what)
{
	struct globals *g = globals();
	if (g)
		__sync_fetch_and_add(&g->losses[what & (LOSS_SLOTS - 1)], 1);
}

/* A thread's number in knee's PID namespace, 0 when that namespace does not contain the thread. `inner` receives the
 * number that the program itself sees. */
static u32 number_in(struct pid *pid, u32 namespace, u32 *inner)
{
	u32 level = 0, found = 0;
	bpf_core_read(&level, sizeof(level), &pid->level);
	/* PID namespaces nest at most 32 deep (pid_namespaces(7)); deeper than 8 is not looked for. */
	for (u32 i = 0; i < 8; i++) {
		if (i > level)
			break;
		struct upid *entry = (void *)__builtin_preserve_access_index(&pid->numbers) +
				     i * bpf_core_type_size(struct upid);
		struct pid_namespace *ns = 0;
		u32 inum = 0, number = 0;
		bpf_core_read(&number, sizeof(number), &entry->nr);
		bpf_core_read(&ns, sizeof(ns), &entry->ns);
		bpf_core_read(&inum, sizeof(inum), &ns->ns.inum);
		if (inum == namespace)
			found = number;
		if (i == level && inner)
			*inner = number;
	}
	return found;
}

static __always_inline void read_faults(struct task_struct *task, struct thread_record *record)
{
	record->minor_faults += task->min_flt;
	record->major_faults += task->maj_flt;
}

/* A fresh record for a thread that is about to run for the first time. */
static struct thread_record *new_record(struct task_struct *task, u32 *slot_ref, u32 parent, u32 image, u64 now)
{
	struct globals *g = globals();
	u32 slot;
	if (!g)
		return 0;
	if (bpf_map_pop_elem(&FREE_SLOTS, &slot)) {
		slot = __sync_fetch_and_add(&g->next_slot, 1) + 1;
		if (slot >= MAX_SLOTS) {
			__sync_fetch_and_add(&g->next_slot, -1);
			lost(LOSS_THREADS);
			*slot_ref = SLOT_NONE;
			return 0;
		}
	}
	struct thread_record *record = bpf_map_lookup_elem(&THREADS, &slot);
	if (!record)
		return 0;
	/* In two parts, because one memset is limited to 1024 bytes; the barrier keeps them apart. */
	__builtin_memset(record, 0, __builtin_offsetof(struct thread_record, path));
	asm volatile("" ::: "memory");
	__builtin_memset(&record->path, 0, sizeof(*record) - __builtin_offsetof(struct thread_record, path));
	record->thread = __sync_fetch_and_add(&g->next_thread, 1) + 1;
	record->parent = parent;
	record->image = image;
	record->pid = task->tgid;
	record->tid = task->pid;
	record->inner_tid = task->pid;
	if (g->pid_namespace) {
		record->tid = number_in(task->thread_pid, g->pid_namespace, &record->inner_tid);
		record->pid = number_in(task->group_leader->thread_pid, g->pid_namespace, 0);
	}
	record->start_ns = now;
	record->phase = PHASE_WOKEN;
	record->off_ns = now;
	record->wake_ns = now;
	record->processor = 0xffffffff;
	record->state = THREAD_ALIVE;
	*slot_ref = slot;
	return record;
}

/* Makes the record of a task that is seen for the first time, in the state that the hook shows. */
static __noinline struct thread_record *first_seen(struct task_struct *task, u32 *slot, u32 phase)
{
	struct globals *g = globals();
	u64 now = bpf_ktime_get_ns();
	if (!g)
		return 0;
	bool attached = *slot == SLOT_ATTACHED;
	struct thread_record *record = new_record(task, slot, 0, 0, attached ? g->attached_ns : now);
	if (!record)
		return 0;
	record->on_ns = record->start_ns;
	if (!attached) {
		/* A task that was enrolled while it ran: any hook that sees it sees it on a processor. */
		record->fresh = 1;
		record->phase = PHASE_RUNNING;
		return record;
	}
	record->phase = phase;
	record->executed_ns = task->se.sum_exec_runtime;
	/* Only faults from now on count. */
	record->minor_faults = -(u64)task->min_flt;
	record->major_faults = -(u64)task->maj_flt;
	return record;
}

/* The record of a task, or null for a task that is not ours. `phase` is what the calling hook knows of a task that is
 * seen for the first time. */
static __always_inline struct thread_record *record_as(struct task_struct *task, u32 phase)
{
	u32 *slot = bpf_task_storage_get(&TASKS, task, 0, 0);
	if (!slot || *slot == SLOT_NONE || *slot == SLOT_OBSERVER || *slot == SLOT_ENDED)
		return 0;
	if (*slot == SLOT_PENDING || *slot == SLOT_ATTACHED)
		return first_seen(task, slot, phase);
	u32 index = *slot;
	return bpf_map_lookup_elem(&THREADS, &index);
}

static __always_inline struct thread_record *record_of(struct task_struct *task)
{
	return record_as(task, PHASE_RUNNING);
}

#endif
