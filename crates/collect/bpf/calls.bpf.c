/* System calls: counted at entry always, timed to the return while `timing` is on.
 *
 * User space switches timing on and off. While it is off, the program at the return is detached, so that programs which
 * make very many calls pay for counting only.
 */
#include <bpf/bpf_tracing.h>
#include "place.h"
#include "timeline.h"

static __always_inline void count_call(struct thread_record *record, u32 number)
{
	struct syscall_count *cached = &record->syscalls[number & (SYSCALL_CACHE - 1)];
	if (cached->number == number) {
		cached->count++;
		return;
	}
	if (cached->count) {
		struct syscall_key key = { .thread = record->thread, .number = cached->number };
		u64 count = cached->count, *sum = bpf_map_lookup_elem(&SYSCALLS, &key);
		if (sum)
			*sum += count;
		else if (bpf_map_update_elem(&SYSCALLS, &key, &count, BPF_NOEXIST))
			lost(LOSS_SYSCALLS);
	}
	cached->number = number;
	cached->count = 1;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_syscall, struct pt_regs *regs, long number)
{
	struct thread_record *record = record_of(bpf_get_current_task_btf());
	struct globals *g = globals();
	if (!record || !g)
		return 0;
	u32 processor = bpf_get_smp_processor_id();
	struct processor_record *p = bpf_map_lookup_elem(&PROCESSORS, &processor);
	if (p)
		p->calls++;
	count_call(record, (u32)number);
	if (number == SYSCALL_FUTEX)
		/* The low seven bits are the operation (FUTEX_CMD_MASK), the others flags. */
		record->futexes[REGS_ARG2(regs) & 0x7f & (FUTEX_OPERATIONS - 1)]++;
	record->call = 0;
	if (!g->timing)
		return 0;
	record->call = (u32)number + 1;
	record->call_off_ns = off_ns_of(record);
	record->call_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void tell_call(struct thread_record *record, u64 now, u32 number, u32 error)
{
	u64 epoch = now >> EPOCH_SHIFT;
	/* close_cycle resets its own count at a new epoch too, so this count has an epoch of its own. */
	if ((u32)epoch != record->call_epoch) {
		record->call_epoch = (u32)epoch;
		record->epoch_calls = 0;
	}
	if (record->epoch_calls >= EPOCH_CALLS) {
		record->calls_skipped++;
		return;
	}
	struct call_event *event = bpf_ringbuf_reserve(&EVENTS, sizeof(*event), 0);
	if (!event) {
		lost(LOSS_CALLS);
		return;
	}
	event->header.kind = EVENT_CALL;
	event->header.thread = record->thread;
	event->start_ns = record->call_ns;
	event->end_ns = now;
	event->number = number;
	event->error = error;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	record->epoch_calls++;
}

static __always_inline struct call_value *call_of(void *ctx, struct thread_record *record, struct pt_regs *regs,
						  struct call_key *key)
{
	struct call_value *value = bpf_map_lookup_elem(&CALLS, key);
	if (!value) {
		struct globals *g = globals();
		u32 zero = 0;
		struct call_value *fresh = bpf_map_lookup_elem(&FRESH_CALL, &zero);
		if (!g || !fresh)
			return 0;
		fresh->place = __sync_fetch_and_add(&g->next_place, 1) + 1;
		if (bpf_map_update_elem(&CALLS, key, fresh, BPF_NOEXIST)) {
			lost(LOSS_CALL_SITES);
			return 0;
		}
		value = bpf_map_lookup_elem(&CALLS, key);
		if (!value)
			return 0;
	}
	if (!value->told) {
		struct place_key place_key = {
			.thread = record->thread,
			.kind = key->number,
			.object = REGS_ARG1(regs),
			.path = key->path,
		};
		if (tell_place(ctx, record, regs, &place_key, value->place))
			value->told = 1;
	}
	return value;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_return, struct pt_regs *regs, long result)
{
	struct thread_record *record = record_of(bpf_get_current_task_btf());
	struct globals *g = globals();
	if (!record || !g || !record->call || record->fresh)
		return 0;
	u64 now = bpf_ktime_get_ns();
	u32 number = record->call - 1;
	record->call = 0;
	record->lock = 0;
	record->spin_lock = 0;
	u64 spent = now - record->call_ns, off = off_ns_of(record) - record->call_off_ns;
	/* errno.h: errors are at most 4095 below zero. */
	u32 error = result < 0 && result >= -4095 ? (u32)-result : 0;
	record->in_program++;
	tell_call(record, now, number, error);

	struct call_key key = { .thread = record->thread, .number = (u16)number, .error = (u16)error };
	key.path = path_of(record, regs, &record->path);
	struct call_value *value = call_of(ctx, record, regs, &key);
	record->in_program--;
	if (!value)
		return 0;
	if (value->window != g->window) {
		value->squares += (u64)value->window_count * value->window_count;
		value->windows++;
		value->window = g->window;
		value->window_count = 0;
	}
	value->window_count++;
	value->count++;
	value->total_ns += spent;
	value->off_ns += off;
	if (spent > value->longest_ns)
		value->longest_ns = spent;
	value->bars[bar_of(spent)]++;
	return 0;
}
