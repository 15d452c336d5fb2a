/* CPU samples, taken by a clock on each processor, and samples of page faults. */
#include "place.h"

SEC("perf_event")
int on_fault(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_record *record = record_of(task);
	if (!record || record->fresh || record->in_program)
		return 0;
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct place_key key = { .kind = kind_of(regs) | KIND_FAULT_SITE };
	record->in_program++;
	place_of(ctx, record, regs, &key, 1);
	record->in_program--;
	return 0;
}

/* Reports the stack of the goroutine for which the thread runs a part of Go's runtime on its own stack. What runs after
 * `mcall` is the scheduler, which runs for no goroutine.
 */
static __noinline void tell_left_of_sample(struct thread_record *record, struct pt_regs *regs, u64 now)
{
	struct registers left = {};
	u32 image = record->image & (MAX_IMAGES - 1);
	struct image_spans *spans = bpf_map_lookup_elem(&IMAGES, &image);
	if (spans && spans->leavers[LEAVER_SYSTEMSTACK].length && left_stack(regs, spans, &left) && left.fp)
		tell_left(&SAMPLES, record, &left, now);
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
	record->in_program++;
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	u64 now = bpf_ktime_get_ns();
	tell_left_of_sample(record, regs, now);
	struct sample_event *event = bpf_ringbuf_reserve(&SAMPLES, sizeof(*event), 0);
	if (!event) {
		lost(LOSS_SAMPLES);
		goto out;
	}
	event->header.kind = EVENT_SAMPLE;
	event->header.thread = record->thread;
	event->time_ns = now;
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
	event->python_frames = python_frames(record, &event->python);
	u64 sp = event->registers.sp;
	event->stack_bytes = COPY_STACK(event->stack, SAMPLE_STACK, SAMPLE_STEP, sp);
	s64 failed = bpf_probe_read_user(event->red_zone, sizeof(event->red_zone), (void *)(sp - RED_ZONE));
	event->red_zone_bytes = failed ? 0 : sizeof(event->red_zone);
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
out:
	record->in_program--;
	return 0;
}
