/* The maps, and the way from a task to its record. */
#ifndef KNEE_MAPS_H
#define KNEE_MAPS_H

#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "shared.h"

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

/* Sized to the machine by the loader. */
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

/* Slots that user space has read out and gives back. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, MAX_SLOTS);
	__uint(value_size, sizeof(u32));
} FREE_SLOTS SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 131072);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct place_key);
	__type(value, struct place_value);
} PLACES SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 131072);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct edge_key);
	__type(value, struct edge_value);
} EDGES SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct syscall_key);
	__type(value, u64);
} SYSCALLS SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} EVENTS SEC(".maps");

/* Samples have a ring of their own: neither can crowd the other out. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 32 << 20);
} SAMPLES SEC(".maps");

/* The BPF stack of 512 bytes has no room for the stack words. */
struct scratch {
	u64 words[HASHED_WORDS];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} SCRATCH SEC(".maps");

static struct globals *globals(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&GLOBALS, &zero);
}

static void lost(enum loss what)
{
	struct globals *g = globals();
	if (g)
		__sync_fetch_and_add(&g->losses[what & 7], 1);
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
	__builtin_memset(record, 0, sizeof(*record));
	record->thread = __sync_fetch_and_add(&g->next_thread, 1) + 1;
	record->parent = parent;
	record->image = image;
	record->pid = task->tgid;
	record->tid = task->pid;
	record->start_ns = now;
	record->phase = PHASE_WOKEN;
	record->off_ns = now;
	record->wake_ns = now;
	record->processor = 0xffffffff;
	record->state = THREAD_ALIVE;
	*slot_ref = slot;
	return record;
}

/* The record of a task, or null for a task that is not ours. */
static struct thread_record *record_of(struct task_struct *task)
{
	u32 *slot = bpf_task_storage_get(&TASKS, task, 0, 0);
	if (!slot || *slot == SLOT_NONE || *slot == SLOT_OBSERVER)
		return 0;
	if (*slot == SLOT_PENDING) {
		struct thread_record *record = new_record(task, slot, 0, 0, bpf_ktime_get_ns());
		if (record) {
			/* Enrolled while it runs or sleeps: it is seen here because it is on a processor. */
			record->fresh = 1;
			record->phase = PHASE_RUNNING;
			record->on_ns = record->start_ns;
		}
		return record;
	}
	u32 index = *slot;
	return bpf_map_lookup_elem(&THREADS, &index);
}

#endif
