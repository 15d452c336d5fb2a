/* Marks of the program (knee.h): a uprobe at each. One program serves all; its cookie says which mark was hit.
 *
 * A probe costs about a microsecond. Units of work are summed up in the thread's record and reported once an epoch.
 */
#include <bpf/bpf_tracing.h>
#include "place.h"

/* A register of the thread. It is read by itself, onto the stack: an interrupt that samples the thread here would
 * overwrite what SCRATCH holds.
 */
static __always_inline u64 register_of(struct pt_regs *regs, u32 word)
{
	u64 value = 0;
	bpf_probe_read_kernel(&value, sizeof(value), (u64 *)regs + (word & 31));
	return value;
}

/* Extends a value of `size` bytes to 64 bits. */
static __always_inline u64 extended(u64 value, u32 size, bool is_signed)
{
	u32 unused = 64 - 8 * (size & 15);
	if (!unused || unused > 56)
		return value;
	return is_signed ? (u64)((s64)(value << unused) >> unused) : value << unused >> unused;
}

/* The value of a mark's argument when a thread passes it. */
static __always_inline u64 argument_of(const struct probe_record *probe, struct pt_regs *regs)
{
	if (probe->place == PLACE_CONSTANT)
		return probe->number;
	if (probe->place == PLACE_NONE)
		return 0;
	if (probe->place == PLACE_REGISTER)
		return extended(register_of(regs, probe->word) >> (probe->shift & 63), probe->size, probe->is_signed);
	u64 address = probe->number, value = 0;
	if (probe->has_base)
		address += register_of(regs, probe->word);
	if (probe->scale)
		address += register_of(regs, probe->index) * probe->scale;
	bpf_probe_read_user(&value, sizeof(value), (void *)address);
	return extended(value, probe->size, probe->is_signed);
}

/* Brings the pages of a name into memory. Nobody but the mark may ever read a name, so its page may not be mapped yet, and
 * bpf_probe_read_user_str does not wait for a page. What can't be read is left to it, too, and then to the user side.
 */
static __always_inline void bring_in(u64 name)
{
	char unused;
	bpf_copy_from_user(&unused, 1, (void *)name);
	bpf_copy_from_user(&unused, 1, (void *)(name + sizeof(((struct mark_event *)0)->name) - 1));
}

static __always_inline int pass_mark(struct pt_regs *ctx, bool may_sleep)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_record *record = record_of(task);
	u32 index = (u32)bpf_get_attach_cookie(ctx);
	struct probe_record *probe = bpf_map_lookup_elem(&PROBES, &index);
	if (!record || record->fresh || !probe)
		return 0;
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	u64 now = bpf_ktime_get_ns(), amount = argument_of(probe, regs);
	bool task_mark = probe->kind == MARK_TASK_BEGIN || probe->kind == MARK_TASK_END;
	if (task_mark && may_sleep)
		bring_in(amount);
	if (probe->kind == MARK_WORK) {
		record->work += amount;
		if ((u32)(now >> EPOCH_SHIFT) == record->work_epoch)
			return 0;
		record->work_epoch = (u32)(now >> EPOCH_SHIFT);
		amount = record->work;
	}
	record->in_program++;
	struct mark_event *event = bpf_ringbuf_reserve(&EVENTS, sizeof(*event), 0);
	if (!event) {
		/* Work stays in the record and is reported later; any other mark is lost. */
		if (probe->kind != MARK_WORK)
			lost(LOSS_MARKS);
		goto out;
	}
	event->header.kind = EVENT_MARK;
	event->header.thread = record->thread;
	event->time_ns = now;
	event->mark = probe->kind;
	event->pid = record->pid;
	event->amount = amount;
	__builtin_memset(event->name, 0, sizeof(event->name));
	if (task_mark)
		bpf_probe_read_user_str(event->name, sizeof(event->name), (void *)amount);
	else if (probe->kind == MARK_WORK)
		record->work = 0;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
out:
	record->in_program--;
	return 0;
}

SEC("uprobe")
int on_mark(struct pt_regs *ctx)
{
	return pass_mark(ctx, false);
}

/* Linux 6.1 refuses to load it ("Sleepable programs can only use array, hash, and ringbuf maps"), 6.18 takes it. */
SEC("uprobe.s")
int on_mark_sleepable(struct pt_regs *ctx)
{
	return pass_mark(ctx, true);
}
