/* Waiting for locks inside the kernel, between the two contention tracepoints (Linux 5.19).
 *
 * A task can wait for a sleeping lock and, inside that wait, for a spin lock; one of each is remembered. The programs
 * here take locks of their own in the maps, so contention is ignored while a task is inside one of the programs.
 */
#include <bpf/bpf_tracing.h>
#include "place.h"
#include "timeline.h"

/* Is it the lock of the memory map of the current process? */
static __always_inline bool is_mmap_lock(u64 lock)
{
	struct mm_struct *mm = bpf_get_current_task_btf()->mm;
	return mm && lock == (u64)__builtin_preserve_access_index(&mm->mmap_lock);
}

static __always_inline void book_lock(void *ctx, struct thread_record *record, u64 lock, u32 flags, u64 waited, u64 off)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	struct lock_key key = {
		.thread = record->thread,
		.flags = flags | (is_mmap_lock(lock) ? LOCK_IS_MMAP : 0),
		.kind = kind_of(regs),
	};
	if (waited >= LOCK_STACK_NS) {
		struct place_key place_key = { .kind = key.kind | KIND_LOCK, .object = lock };
		key.place = place_of(ctx, record, regs, &place_key, 0);
	}
	/* After short waits the locks are summed up: there can be as many locks as the kernel has objects. */
	key.lock = key.place || key.flags & LOCK_IS_MMAP ? lock : 0;
	struct lock_value *value = bpf_map_lookup_elem(&LOCKS, &key);
	if (value) {
		value->count++;
		value->waited_ns += waited;
		value->off_ns += off;
		if (waited > value->longest_ns)
			value->longest_ns = waited;
		return;
	}
	struct lock_value fresh = { .count = 1, .waited_ns = waited, .off_ns = off, .longest_ns = waited };
	if (bpf_map_update_elem(&LOCKS, &key, &fresh, BPF_NOEXIST))
		lost(LOSS_LOCKS);
}

SEC("tp_btf/contention_begin")
int BPF_PROG(on_contention, void *lock, unsigned int flags)
{
	struct thread_record *record = record_of(bpf_get_current_task_btf());
	if (!record || record->fresh || record->in_program)
		return 0;
	u64 now = bpf_ktime_get_ns();
	if ((flags & LCB_F_SPIN) && !(flags & LCB_F_MUTEX)) {
		record->spin_lock = (u64)lock;
		record->spin_ns = now;
		record->spin_flags = flags;
		return 0;
	}
	/* A mutex is reported twice when spinning for its owner was in vain. */
	if (record->lock == (u64)lock) {
		record->lock_flags = flags;
		return 0;
	}
	record->lock = (u64)lock;
	record->lock_ns = now;
	record->lock_flags = flags;
	record->lock_off_ns = off_ns_of(record);
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(on_contention_end, void *lock, int result)
{
	struct thread_record *record = record_of(bpf_get_current_task_btf());
	if (!record || record->in_program)
		return 0;
	u64 now = bpf_ktime_get_ns();
	u32 flags;
	u64 waited, off;
	if (record->spin_lock == (u64)lock) {
		record->spin_lock = 0;
		flags = record->spin_flags;
		waited = now - record->spin_ns;
		off = 0;
	} else if (record->lock == (u64)lock) {
		record->lock = 0;
		flags = record->lock_flags;
		waited = now - record->lock_ns;
		off = off_ns_of(record) - record->lock_off_ns;
	} else {
		return 0;
	}
	record->in_program++;
	book_lock(ctx, record, (u64)lock, flags, waited, off);
	record->in_program--;
	return 0;
}
