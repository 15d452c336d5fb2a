/* Switches and wake-ups.
 *
 * Only scheduler hooks are needed to see waiting: at a switch, the registers saved at kernel entry still hold the
 * system call and its arguments. So system calls that do not block cost nothing but their counting.
 */
#include "switch.h"

/* Adds the processor's time since its last switch to whoever had it. */
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
		/* Knee is recognised by its leader: single threads can be enrolled only since Linux 6.9. The leader of
		 * a thread that is ending may be gone. */
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

static __always_inline int switched(void *ctx, bool preempt, struct task_struct *prev, struct task_struct *next, u32 prev_state)
{
	u64 now = bpf_ktime_get_ns();
	struct thread_record *record = prev->flags & PF_KTHREAD ? 0 : record_of(prev);
	struct thread_record *left = record;
	/* Also around the rings: contention for a ring's lock ends with the lock held, and telling it would take it again. */
	if (left)
		left->in_program++;
	if (record && !record->fresh)
		catch_up(prev, record);
	book_processor(prev, record != 0, now);
	/* Before its exec a fresh task is still knee's own child; its time is not recorded. */
	if (record && !record->fresh)
		switch_out(ctx, prev, record, preempt, prev_state, now);
	if (!(next->flags & PF_KTHREAD)) {
		record = record_as(next, PHASE_WOKEN);
		if (record && !record->fresh)
			switch_in(next, record, now, now);
	}
	if (left)
		left->in_program--;
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	return switched(ctx, preempt, prev, next, prev_state);
}

/* Before Linux 5.18 the hook is not told the state. A wake-up on another processor may have changed it by now, so that a
 * thread that was about to sleep counts as one that gave way; it runs on at once. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch_without_state, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return switched(ctx, preempt, prev, next, preempt ? TASK_RUNNING : prev->__state);
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
	/* in_program: this wake-up comes from an interrupt in the middle of a place look-up by the same thread. */
	if (!waker || waker == record || waker->in_program)
		return 0;
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(current);
	u32 number = kind_of(regs);
	/* `object` stays 0: the arguments of the waker's own call would only split its places. */
	struct place_key key = { .kind = number | KIND_WAKER };
	waker->in_program++;
	record->waker_place = usual_place_of(ctx, waker, regs, &key, &waker->woke);
	waker->in_program--;
	record->waker = waker->thread;
	record->waker_call = number == KIND_FAULT ? 0 : number + 1;
	/* Compared when the wakee runs again, because this hook may run before the wakee's switch-out hook. */
	record->waker_object = REGS_ARG1(regs);
	if (number != SYSCALL_FUTEX)
		return 0;
	if (waker->last_futex == record->waker_object)
		record->waker_call |= WAITED_HERE;
	/* The third argument of FUTEX_WAKE and similar operations: how many threads to wake at most (futex(2)). */
	if ((u32)REGS_ARG3(regs) > 1)
		record->waker_call |= WAKES_MANY;
	return 0;
}
