/* A thread leaves its processor or comes back: where it waited, for how long, and who woke it. */
#ifndef KNEE_SWITCH_H
#define KNEE_SWITCH_H

#include <bpf/bpf_tracing.h>
#include "counters.h"
#include "place.h"
#include "timeline.h"

static __always_inline void switch_out(void *ctx, struct task_struct *task, struct thread_record *record, bool preempt,
				       u32 task_state, u64 now)
{
	struct place_key key = {};

	record->running_ns += now - record->on_ns;
	if (counting())
		read_counters(record, true, now);
	close_cycle(record, now);
	record->off_ns = now;
	record->place = 0;
	if (preempt || task_state == TASK_RUNNING) {
		record->was_preempted = 1;
		record->involuntary++;
		record->wake_ns = now;
		record->phase = PHASE_PREEMPTED;
		return;
	}
	record->was_preempted = 0;
	record->voluntary++;
	/* A waker on another processor can be faster than this hook. Then the task is already being woken, and the
	 * wake-up that was noted is of this wait. Otherwise it is of a wait that never happened, and is dropped. */
	bool woken = task->__state == TASK_WAKING || task->__state == TASK_RUNNING;
	if (!woken) {
		record->wake_ns = 0;
		record->waker = 0;
		record->waker_call = 0;
		record->waker_place = 0;
	}
	record->phase = woken ? PHASE_WOKEN : PHASE_BLOCKED;

	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	record->in_program++;
	key.kind = kind_of(regs);
	/* A fault has no arguments. */
	key.object = key.kind == KIND_FAULT ? 0 : REGS_ARG1(regs);
	record->holder = 0;
	if (record->lock) {
		key.kind |= KIND_LOCK;
		key.object = record->lock;
	} else if (key.kind == SYSCALL_FUTEX) {
		/* pthread_mutex_t: futex word, counter, owner (glibc, struct_mutex.h; all architectures). If this is no
		 * mutex, user space will find no thread of the process with the number that is read here. */
		bpf_probe_read_user(&record->holder, sizeof(record->holder), (void *)(key.object + 8));
		record->last_futex = key.object;
	}
	record->place = usual_place_of(ctx, record, regs, &key, &record->waited);
	record->in_program--;
	record->place_kind = key.kind;
	record->object = key.object;
	record->place_path = key.path;
}

/* Adds the pending wait to the table of places. */
static __noinline void flush_wait(struct thread_record *record)
{
	struct pending_wait *pending = &record->wait;
	struct place_key key = {
		.thread = record->thread,
		.kind = pending->kind,
		.object = pending->object,
		.path = pending->path,
	};
	struct place_value *place = pending->place ? bpf_map_lookup_elem(&PLACES, &key) : 0;
	if (place) {
		place->count += pending->count;
		place->blocked_ns += pending->blocked_ns;
		place->runnable_ns += pending->runnable_ns;
		if (pending->longest_ns > place->longest_ns)
			place->longest_ns = pending->longest_ns;
#pragma unroll
		for (int i = 0; i < BARS; i++)
			place->bars[i] += pending->bars[i];
	}
	__builtin_memset(pending, 0, sizeof(*pending));
}

/* Adds the pending wake-up to the table of wake-ups. */
static __noinline void flush_edge(struct thread_record *record)
{
	struct pending_edge *pending = &record->edge;
	struct edge_key key = {
		.place = pending->place,
		.waker = pending->waker,
		.waker_place = pending->waker_place,
		.waker_call = pending->waker_call,
		.holder = pending->holder,
	};
	struct edge_value *value = bpf_map_lookup_elem(&EDGES, &key);
	if (value) {
		value->count += pending->count;
		value->blocked_ns += pending->blocked_ns;
	} else if (pending->place) {
		struct edge_value fresh = { .count = pending->count, .blocked_ns = pending->blocked_ns };
		if (bpf_map_update_elem(&EDGES, &key, &fresh, BPF_NOEXIST))
			lost(LOSS_EDGES);
	}
	pending->count = 0;
	pending->blocked_ns = 0;
}

/* The thread left its processor at a hook that did not find its record (see catch_up). The scheduler knows how long it
 * ran until then. Without this its last wait would count twice. */
static __noinline void left_unseen(struct task_struct *task, struct thread_record *record, u64 now)
{
	bool woken = record->wake_ns > record->on_ns;
	u64 latest = woken ? record->wake_ns : now;
	u64 off = record->on_ns + (task->se.sum_exec_runtime - record->executed_ns);
	if (off > latest)
		off = latest;
	record->running_ns += off - record->on_ns;
	close_cycle(record, off);
	record->off_ns = off;
	record->place = 0;
	record->was_preempted = !woken;
	if (woken)
		record->voluntary++;
	else
		record->involuntary++;
	lost(LOSS_SWITCHES);
}

/* `seen`: the time of the hook, which is later than `now` when the switch itself was missed. */
static void switch_in(struct task_struct *task, struct thread_record *record, u64 now, u64 seen)
{
	u32 processor = bpf_get_smp_processor_id();
	if (record->phase == PHASE_RUNNING)
		left_unseen(task, record, now);
	record->on_ns = now;
	record->executed_ns = task->se.sum_exec_runtime;
	record->phase = PHASE_RUNNING;
	if (counting())
		read_counters(record, false, seen);
	if (record->processor != processor) {
		if (record->processor != 0xffffffff)
			record->migrations++;
		record->processor = processor;
	}
	if (record->was_preempted) {
		record->preempted_ns += now - record->off_ns;
		return;
	}
	if (!record->wake_ns)
		record->wake_ns = now;
	u64 wake = woken_at(record), blocked = wake - record->off_ns, runnable = now - wake;
	record->blocked_ns += blocked;
	record->runnable_ns += runnable;
	if (WAITS_AT_SOCKETS(record->place_kind)) {
		record->polled_ns += blocked;
		record->polled_place = record->place;
	}
	if (!record->place)
		return;

	struct pending_wait *pending = &record->wait;
	if (pending->place != record->place) {
		flush_wait(record);
		pending->place = record->place;
		pending->kind = record->place_kind;
		pending->object = record->object;
		pending->path = record->place_path;
	}
	pending->count++;
	pending->blocked_ns += blocked;
	pending->runnable_ns += runnable;
	if (blocked > pending->longest_ns)
		pending->longest_ns = blocked;
	pending->bars[bar_of(blocked)]++;

	u32 call = record->waker_call;
	if (record->place_kind == SYSCALL_FUTEX && (call & ~(WAITED_HERE | WAKES_MANY)) == SYSCALL_FUTEX + 1 &&
	    record->waker_object == record->object)
		call |= SAME_OBJECT;
	struct pending_edge *edge = &record->edge;
	if (edge->place != record->place || edge->waker != record->waker || edge->waker_place != record->waker_place ||
	    edge->waker_call != call || edge->holder != record->holder) {
		flush_edge(record);
		edge->place = record->place;
		edge->waker = record->waker;
		edge->waker_place = record->waker_place;
		edge->waker_call = call;
		edge->holder = record->holder;
	}
	edge->count++;
	edge->blocked_ns += blocked;
}

/* On Linux 6.18, looking up a task that is being switched in sometimes fails, a few times in a row. The task then
 * reaches its next hook without having been switched in; its processor's last switch tells when that was. */
static __always_inline void catch_up(struct task_struct *task, struct thread_record *record)
{
	u32 processor = bpf_get_smp_processor_id();
	struct processor_record *p = bpf_map_lookup_elem(&PROCESSORS, &processor);
	if (record->phase == PHASE_RUNNING || !p)
		return;
	switch_in(task, record, p->since_ns > record->off_ns ? p->since_ns : record->off_ns, bpf_ktime_get_ns());
}

#endif
