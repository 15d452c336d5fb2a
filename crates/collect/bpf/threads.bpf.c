/* The life of threads: created, executing a program, ended; and threads that already ran when knee attached. */
#include "switch.h"

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
	record->in_program++;
	u32 place = place_of(ctx, record, regs, &key, 0);
	struct thread_record *fresh = new_record(child, slot, record->thread, record->image, bpf_ktime_get_ns());
	record->in_program--;
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
		/* Everything before this moment was knee's own child, before it became the target. */
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
	record->in_program++;
	struct exec_event *event = bpf_ringbuf_reserve(&EVENTS, sizeof(*event), 0);
	if (!event)
		goto out;
	event->header.kind = EVENT_EXEC;
	event->header.thread = record->thread;
	event->time_ns = now;
	event->pid = record->pid;
	event->image = record->image;
	event->fresh = fresh;
	event->padding = 0;
	bpf_ringbuf_submit(event, 0);
out:
	record->in_program--;
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct thread_record *record = record_of(task);
	if (!record)
		return 0;
	u64 now = bpf_ktime_get_ns();
	record->in_program++;
	catch_up(task, record);
	record->running_ns += now - record->on_ns;
	close_cycle(record, now);
	if (record->stretch.end_ns)
		flush_stretch(record);
	record->in_program--;
	if (counting())
		read_counters(record, true, now);
	record->minor_faults += task->min_flt;
	record->major_faults += task->maj_flt;
	record->end_ns = now;
	bpf_probe_read_kernel(record->comm, sizeof(record->comm), task->comm);
	/* Only the kernel's clean-up of the thread is left. It has no record, but its time is still the target's. */
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
