/* What the kernel tells knee: who ran, who waited, for what, woken by whom; system calls; CPU samples.
 *
 * Only scheduler hooks see waiting: at a switch the registers of kernel entry still tell the system call and its
 * arguments, so nothing is paid for system calls that do not block, except for counting them. Threads are found by
 * task storage, never by numbers, so that pid namespaces do not matter.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "shared.h"
#include "maps.h"
#include "place.h"
#include "locks.h"
#include "calls.h"
#include "timeline.h"
#include "marks.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Hardware events of this processor at this moment; what a thread saw of one is the difference between its coming and
 * its going. An event that shared the hardware with others is scaled by the time that it really counted. */
static __always_inline void count(struct counter_value *at, u64 *sum, const struct counter_value *now, bool leaving)
{
	u64 enabled = now->enabled_ns - at->enabled_ns, running = now->running_ns - at->running_ns;
	u64 counted = now->count - at->count;

	if (leaving && running)
		*sum += running < enabled ? counted * enabled / running : counted;
	*at = *now;
}

/* The helper wants a map that is known when the program is loaded: no loop can name them. */
#define READ_COUNTER(number, map)                                                                       \
	if (g->counters > (number) &&                                                                   \
	    !bpf_perf_event_read_value(&map, BPF_F_CURRENT_CPU, (void *)&value, sizeof(value)))         \
		count(&record->counters_at[number], &record->counters[number], &value, leaving && began);

static __noinline void read_counters(struct thread_record *record, bool leaving, u64 now)
{
	struct globals *g = globals();
	struct counter_value value = {};
	if (!g || !record)
		return;
	/* The part of a thread's life whose beginning was not seen (before its exec, when it was attached to, or after
	 * a switch that was missed) is not counted; user space scales by what was. */
	bool began = record->counters_since_ns != 0;
	READ_COUNTER(0, COUNTER0)
	READ_COUNTER(1, COUNTER1)
	READ_COUNTER(2, COUNTER2)
	READ_COUNTER(3, COUNTER3)
	if (leaving && began)
		record->counted_ns += now - record->counters_since_ns;
	record->counters_since_ns = leaving ? 0 : now;
}

static __always_inline bool counting(void)
{
	struct globals *g = globals();
	return g && g->counters;
}

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
	/* A waker on another processor can be faster than this hook: then the task is already being woken, and the
	 * wake-up that was noted is of this wait. Otherwise a noted one is of a wait that never came about. */
	bool woken = task->__state == TASK_WAKING || task->__state == TASK_RUNNING;
	if (!woken) {
		record->wake_ns = 0;
		record->waker = 0;
		record->waker_call = 0;
		record->waker_place = 0;
	}
	record->phase = woken ? PHASE_WOKEN : PHASE_BLOCKED;

	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	record->in_program = 1;
	key.kind = kind_of(regs);
	/* A fault has no arguments. */
	key.object = key.kind == KIND_FAULT ? 0 : REGS_ARG1(regs);
	record->holder = 0;
	if (record->lock) {
		key.kind |= KIND_LOCK;
		key.object = record->lock;
	} else if (key.kind == SYSCALL_FUTEX) {
		/* pthread_mutex_t: the futex word, a counter, the owner (glibc, struct_mutex.h; all architectures). What
		 * else lies there is no thread's number, or that of a thread which user space will not find. */
		bpf_probe_read_user(&record->holder, sizeof(record->holder), (void *)(key.object + 8));
		record->last_futex = key.object;
	}
	record->place = usual_place_of(ctx, record, regs, &key, &record->waited);
	record->in_program = 0;
	record->place_kind = key.kind;
	record->object = key.object;
	record->place_path = key.path;
}

/* Adds what is pending to the table of places. */
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

/* Adds what is pending to the table of wake-ups. */
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

/* The hook at which the thread left its processor did not find it (see catch_up). How long it had run until then is what
 * the scheduler says; without this its last wait would count twice. */
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

/* `seen`: the moment of the hook, which is later than `now` when the switch itself was missed. */
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
		call |= 1u << 31;
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

/* On Linux 6.18 the look-up of a task that is being switched in now and then finds nothing, a few times in a row. The
 * task then reaches its next hook without having been switched in; the last switch of its processor tells when it was. */
static __always_inline void catch_up(struct task_struct *task, struct thread_record *record)
{
	u32 processor = bpf_get_smp_processor_id();
	struct processor_record *p = bpf_map_lookup_elem(&PROCESSORS, &processor);
	if (record->phase == PHASE_RUNNING || !p)
		return;
	switch_in(task, record, p->since_ns > record->off_ns ? p->since_ns : record->off_ns, bpf_ktime_get_ns());
}

/* Books the processor's time since the last switch to whom it went. */
static __always_inline void book_processor(struct task_struct *prev, bool ours, u64 now)
{
	u32 processor = bpf_get_smp_processor_id();
	struct processor_record *p = bpf_map_lookup_elem(&PROCESSORS, &processor);
	if (!p)
		return;
	u64 spent = p->since_ns ? now - p->since_ns : 0;
	p->since_ns = now;
	if (!ours && prev->flags & PF_EXITING) {
		u32 *ended = bpf_task_storage_get(&TASKS, prev, 0, 0);
		ours = ended && *ended == SLOT_ENDED;
	}
	if (ours) {
		p->ours_ns += spent;
	} else if (prev->pid == 0) {
		p->idle_ns += spent;
	} else {
		u32 *slot = 0;
		/* All of knee's threads: a single thread can be enrolled since Linux 6.9 only. The leader of a thread
		 * that ends may be gone. */
		if (!(prev->flags & PF_EXITING))
			slot = bpf_task_storage_get(&TASKS, prev->group_leader, 0, 0);
		if (slot && *slot == SLOT_OBSERVER) {
			p->observer_ns += spent;
			return;
		}
		p->foreign_ns += spent;
		u32 id = prev->tgid;
		struct foreign_value *value = bpf_map_lookup_elem(&FOREIGN, &id);
		if (value) {
			value->running_ns += spent;
			return;
		}
		struct foreign_value fresh = { .running_ns = spent };
		bpf_probe_read_kernel(fresh.comm, sizeof(fresh.comm), prev->comm);
		if (bpf_map_update_elem(&FOREIGN, &id, &fresh, BPF_NOEXIST))
			lost(LOSS_FOREIGN);
	}
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	u64 now = bpf_ktime_get_ns();
	struct thread_record *record = prev->flags & PF_KTHREAD ? 0 : record_of(prev);
	if (record && !record->fresh)
		catch_up(prev, record);
	book_processor(prev, record != 0, now);
	/* Before its exec a fresh task is knee's own child, and its time is nobody's. */
	if (record && !record->fresh)
		switch_out(ctx, prev, record, preempt, prev_state, now);
	if (!(next->flags & PF_KTHREAD)) {
		record = record_as(next, PHASE_WOKEN);
		if (record && !record->fresh)
			switch_in(next, record, now, now);
	}
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	if (task->flags & PF_KTHREAD)
		return 0;
	struct thread_record *record = record_as(task, PHASE_BLOCKED);
	if (!record || record->fresh)
		return 0;
	record->wake_ns = bpf_ktime_get_ns();
	if (record->phase == PHASE_BLOCKED)
		record->phase = PHASE_WOKEN;
	record->waker = 0;
	record->waker_call = 0;
	record->waker_place = 0;

	struct task_struct *current = bpf_get_current_task_btf();
	if (current->flags & PF_KTHREAD)
		return 0;
	struct thread_record *waker = record_of(current);
	/* in_program: this wake-up comes from an interrupt in the middle of a place look-up of the same thread. */
	if (!waker || waker == record || waker->in_program)
		return 0;
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(current);
	u32 number = kind_of(regs);
	/* The arguments of the waker's own call would only split its places. */
	struct place_key key = { .kind = number | KIND_WAKER };
	waker->in_program = 1;
	record->waker_place = usual_place_of(ctx, waker, regs, &key, &waker->woke);
	waker->in_program = 0;
	record->waker = waker->thread;
	record->waker_call = number == KIND_FAULT ? 0 : number + 1;
	/* Compared when the thread is back: the wake-up may be seen before the wait that it ends. */
	record->waker_object = REGS_ARG1(regs);
	if (number != SYSCALL_FUTEX)
		return 0;
	if (waker->last_futex == record->waker_object)
		record->waker_call |= WAITED_HERE;
	/* Of FUTEX_WAKE and its kin: the most threads to be woken (futex(2)). */
	if ((u32)REGS_ARG3(regs) > 1)
		record->waker_call |= WAKES_MANY;
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct thread_record *record = record_of(parent);
	if (!record)
		return 0;
	u32 *slot = bpf_task_storage_get(&TASKS, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!slot) {
		lost(LOSS_THREADS);
		return 0;
	}
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(parent);
	struct place_key key = { .kind = kind_of(regs) | KIND_CREATE };
	record->in_program = 1;
	u32 place = place_of(ctx, record, regs, &key, 0);
	record->in_program = 0;
	struct thread_record *fresh = new_record(child, slot, record->thread, record->image, bpf_ktime_get_ns());
	if (fresh)
		fresh->created_place = place;
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	struct thread_record *record = record_of(task);
	struct globals *g = globals();
	if (!record || !g)
		return 0;
	u64 now = bpf_ktime_get_ns();
	record->image = __sync_fetch_and_add(&g->next_image, 1) + 1;
	u32 fresh = record->fresh;
	if (fresh) {
		/* What came before was knee's own child before it became the target. */
		record->fresh = 0;
		record->start_ns = now;
		record->off_ns = now;
		record->wake_ns = now;
		record->on_ns = now;
		record->executed_ns = task->se.sum_exec_runtime;
		record->running_ns = 0;
		record->runnable_ns = 0;
		record->preempted_ns = 0;
		record->blocked_ns = 0;
		record->voluntary = 0;
		record->involuntary = 0;
		record->migrations = 0;
		record->phase = PHASE_RUNNING;
		record->processor = bpf_get_smp_processor_id();
		record->was_preempted = 0;
		record->place = 0;
		__builtin_memset(&record->stretch, 0, sizeof(record->stretch));
		__builtin_memset(&record->syscalls, 0, sizeof(record->syscalls));
		__builtin_memset(&record->futexes, 0, sizeof(record->futexes));
		__builtin_memset(&record->counters, 0, sizeof(record->counters));
		record->counted_ns = 0;
		if (counting())
			read_counters(record, false, now);
		record->minor_faults = -(u64)task->min_flt;
		record->major_faults = -(u64)task->maj_flt;
	}
	struct exec_event *event = bpf_ringbuf_reserve(&EVENTS, sizeof(*event), 0);
	if (!event)
		return 0;
	event->header.kind = EVENT_EXEC;
	event->header.thread = record->thread;
	event->time_ns = now;
	event->pid = record->pid;
	event->image = record->image;
	event->fresh = fresh;
	event->padding = 0;
	bpf_ringbuf_submit(event, 0);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct thread_record *record = record_of(task);
	if (!record)
		return 0;
	u64 now = bpf_ktime_get_ns();
	catch_up(task, record);
	record->running_ns += now - record->on_ns;
	close_cycle(record, now);
	if (record->stretch.end_ns)
		flush_stretch(record);
	if (counting())
		read_counters(record, true, now);
	record->minor_faults += task->min_flt;
	record->major_faults += task->maj_flt;
	record->end_ns = now;
	bpf_probe_read_kernel(record->comm, sizeof(record->comm), task->comm);
	/* What is left of the thread is the kernel's clean-up. It has no record any more, but its time is the target's. */
	u32 *slot = bpf_task_storage_get(&TASKS, task, 0, 0);
	if (slot)
		*slot = SLOT_ENDED;
	record->state = THREAD_ENDED;
	return 0;
}

/* Marks every thread of processes whose leader is being attached to. */
SEC("iter/task")
int enrol_threads(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	if (!task || task == task->group_leader)
		return 0;
	u32 *leader = bpf_task_storage_get(&TASKS, task->group_leader, 0, 0);
	if (!leader || *leader == SLOT_NONE || *leader == SLOT_OBSERVER || *leader == SLOT_ENDED)
		return 0;
	u32 *slot = bpf_task_storage_get(&TASKS, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!slot)
		lost(LOSS_THREADS);
	else if (*slot == SLOT_NONE)
		*slot = SLOT_ATTACHED;
	return 0;
}

SEC("perf_event")
int on_fault(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_record *record = record_of(task);
	if (!record || record->fresh || record->in_program)
		return 0;
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct place_key key = { .kind = kind_of(regs) | KIND_FAULT_SITE };
	record->in_program = 1;
	place_of(ctx, record, regs, &key, 1);
	record->in_program = 0;
	return 0;
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	if (task->flags & PF_KTHREAD)
		return 0;
	struct thread_record *record = record_of(task);
	if (!record || record->fresh)
		return 0;
	struct sample_event *event = bpf_ringbuf_reserve(&SAMPLES, sizeof(*event), 0);
	if (!event) {
		lost(LOSS_SAMPLES);
		return 0;
	}
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	event->header.kind = EVENT_SAMPLE;
	event->header.thread = record->thread;
	event->time_ns = bpf_ktime_get_ns();
	event->pid = record->pid;
	event->image = record->image;
	event->processor = bpf_get_smp_processor_id();
	event->in_kernel = !REGS_FROM_USER(&ctx->regs);
	s64 number = event->in_kernel ? REGS_SYSCALL(regs) : -1;
	event->kind = number >= 0 && number < KIND_FAULT ? (u32)number : KIND_FAULT;
	u32 size = bpf_core_type_size(struct pt_regs);
	if (size > sizeof(event->all_registers))
		size = sizeof(event->all_registers);
	bpf_probe_read_kernel(event->all_registers, size, regs);
	event->kernel_frames = 0;
	if (event->in_kernel) {
		s64 bytes = bpf_get_stack(ctx, event->kernel_stack, sizeof(event->kernel_stack), 0);
		event->kernel_frames = bytes > 0 ? (u32)bytes / 8 : 0;
	}
	read_registers(&event->registers, regs);
	u64 sp = event->registers.sp;
	event->stack_bytes = COPY_STACK(event->stack, SAMPLE_STACK, SAMPLE_STEP, sp);
	s64 failed = bpf_probe_read_user(event->red_zone, sizeof(event->red_zone), (void *)(sp - RED_ZONE));
	event->red_zone_bytes = failed ? 0 : sizeof(event->red_zone);
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}
