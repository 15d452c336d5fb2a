/* Places: the call paths at which threads wait and wake, told apart cheaply and described once.
 *
 * A place is a thread, a system call with its object, and a hash of the code addresses on top of the user stack: the
 * words among the first 32 that lie in executable mappings. Without the hash two callers of equal stack depth would be
 * one place. The first hit copies registers and stack bytes to user space, which unwinds them.
 */
#ifndef KNEE_PLACE_H
#define KNEE_PLACE_H

#include "maps.h"

static __always_inline u64 mix(u64 hash, u64 word)
{
	/* Fibonacci hashing's constant, 2^64 / golden ratio. */
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 29);
}

static __always_inline u64 hash_code_words(struct thread_record *record, u64 ip, u64 sp)
{
	u32 zero = 0, image = record->image & (MAX_IMAGES - 1);
	struct scratch *scratch = bpf_map_lookup_elem(&SCRATCH, &zero);
	struct image_spans *spans = bpf_map_lookup_elem(&IMAGES, &image);
	u64 hash = mix(mix(0, ip), sp);

	if (!scratch || !spans)
		return hash;
	if (bpf_probe_read_user(scratch->words, sizeof(scratch->words), (void *)sp))
		return hash;
	u64 start0 = spans->spans[0].start, length0 = spans->spans[0].length;
	u64 start1 = spans->spans[1].start, length1 = spans->spans[1].length;
	u64 start2 = spans->spans[2].start, length2 = spans->spans[2].length;
	u64 start3 = spans->spans[3].start, length3 = spans->spans[3].length;
#pragma unroll
	for (int i = 0; i < HASHED_WORDS; i++) {
		u64 word = scratch->words[i];
		if (word - start0 < length0 || word - start1 < length1 || word - start2 < length2 ||
		    word - start3 < length3)
			hash = mix(hash, word);
	}
	return hash;
}

/* Copies stack bytes upwards from sp in steps that end at multiples of `step`, until one fails or all are there. */
#define COPY_STACK(destination, size, step, sp)                                                     \
	({                                                                                          \
		u32 first = (step) - ((u32)(sp) & ((step) - 1)), copied = 0;                        \
		if (!bpf_probe_read_user((destination), first & (2 * (step) - 1), (void *)(sp))) {  \
			copied = first;                                                             \
			for (int i = 0; i < (size) / (step) - 1; i++) {                             \
				u32 at = (first & (2 * (step) - 1)) + i * (step);                   \
				if (at > (size))                                                    \
					break;                                                      \
				if (bpf_probe_read_user((destination) + at, (step), (void *)((sp) + at))) \
					break;                                                      \
				copied = at + (step);                                               \
			}                                                                           \
		}                                                                                   \
		copied;                                                                             \
	})

static __always_inline void read_registers(struct registers *out, struct pt_regs *regs)
{
	out->ip = REGS_IP(regs);
	out->sp = REGS_SP(regs);
	out->fp = REGS_FP(regs);
	out->lr = REGS_LR(regs);
}

/* The kind of file behind a descriptor of the current task: the mode of its inode, 0 when there is none. */
static u32 file_mode(u64 descriptor)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct files_struct *files = 0;
	struct fdtable *table = 0;
	struct file **array = 0, *file = 0;
	struct inode *inode = 0;
	u32 limit = 0;
	u16 mode = 0;
	bpf_core_read(&files, sizeof(files), &task->files);
	bpf_core_read(&table, sizeof(table), &files->fdt);
	bpf_core_read(&limit, sizeof(limit), &table->max_fds);
	if (descriptor >= limit)
		return 0;
	bpf_core_read(&array, sizeof(array), &table->fd);
	bpf_probe_read_kernel(&file, sizeof(file), array + descriptor);
	bpf_core_read(&inode, sizeof(inode), &file->f_inode);
	bpf_core_read(&mode, sizeof(mode), &inode->i_mode);
	return mode;
}

/* Describes a place: its registers and stacks go to user space. */
static __noinline bool tell_place(void *ctx, struct thread_record *record, struct pt_regs *regs, struct place_key *key,
				  u32 place)
{
	struct place_event *event = bpf_ringbuf_reserve(&EVENTS, sizeof(*event), 0);
	if (!event) {
		lost(LOSS_PLACE_RING);
		return false;
	}
	event->header.kind = EVENT_PLACE;
	event->header.thread = key->thread;
	event->place = place;
	event->pid = record->pid;
	event->image = record->image;
	event->kind = key->kind;
	event->object = key->object;
	event->operation = REGS_ARG2(regs);
	event->expected = REGS_ARG3(regs);
	event->timed = REGS_ARG4(regs) != 0;
	event->file_mode = key->kind < KIND_FAULT ? file_mode(key->object) : 0;
	event->padding0 = 0;
	read_registers(&event->registers, regs);
	s64 bytes = bpf_get_stack(ctx, event->kernel_stack, sizeof(event->kernel_stack), 0);
	event->kernel_frames = bytes > 0 ? (u32)bytes / 8 : 0;
	u64 sp = event->registers.sp;
	event->stack_bytes = COPY_STACK(event->stack, PLACE_STACK, PLACE_STEP, sp);
	event->padding = 0;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return true;
}

/* What the current task is doing: the system call that it is in, or KIND_FAULT. */
static __always_inline u32 kind_of(struct pt_regs *regs)
{
	s64 number = REGS_SYSCALL(regs);
	return number >= 0 && number < KIND_FAULT ? (u32)number : KIND_FAULT;
}

/* The place of the current task for a key whose kind and object are set. Null when the table is full. */
static __noinline struct place_value *place_of(void *ctx, struct thread_record *record, struct pt_regs *regs,
					       struct place_key *key)
{
	key->thread = record->thread;
	u64 operation = key->kind == SYSCALL_FUTEX ? REGS_ARG2(regs) : 0;
	key->hash = mix(hash_code_words(record, REGS_IP(regs), REGS_SP(regs)), operation);

	struct place_value *value = bpf_map_lookup_elem(&PLACES, key);
	if (!value) {
		struct globals *g = globals();
		u32 zero = 0;
		struct place_value *fresh = bpf_map_lookup_elem(&FRESH_PLACE, &zero);
		if (!g || !fresh)
			return 0;
		fresh->place = __sync_fetch_and_add(&g->next_place, 1) + 1;
		if (bpf_map_update_elem(&PLACES, key, fresh, BPF_NOEXIST)) {
			lost(LOSS_PLACES);
			return 0;
		}
		value = bpf_map_lookup_elem(&PLACES, key);
		if (!value)
			return 0;
	}
	if (!value->told && tell_place(ctx, record, regs, key, value->place))
		value->told = 1;
	return value;
}

/* The bar of a histogram that holds a duration. */
static __always_inline u32 bar_of(u64 ns)
{
	u64 rest = ns >> 8;
	u32 bar = 0;
	if (rest >> 31)
		return BARS - 1;
	if (rest >> 16) { bar += 16; rest >>= 16; }
	if (rest >> 8) { bar += 8; rest >>= 8; }
	if (rest >> 4) { bar += 4; rest >>= 4; }
	if (rest >> 2) { bar += 2; rest >>= 2; }
	if (rest >> 1) { bar += 1; rest >>= 1; }
	bar += rest;
	return bar & (BARS - 1);
}

#endif
