/* Places: the call paths at which threads wait and wake, distinguished cheaply and described to user space once.
 *
 * A call path is a hash of the return addresses on top of the user stack: those of the first words (HASHED_WORDS) that
 * lie in executable mappings. While the mappings are not known yet, all of them count. Paths that agree so far mostly differ
 * in depth, so the offset of the stack pointer in its page counts too; its other bits differ between threads. When a
 * path is met first, by whichever thread, its registers and stack bytes are copied to user space, which unwinds them.
 *
 * A place is a thread, a system call with its object, and a call path.
 */
#ifndef KNEE_PLACE_H
#define KNEE_PLACE_H

#include "maps.h"
#include "python.h"

/* Finds where the stack continues that the current thread left for its present one. Go's scheduler and other parts of
 * its runtime run on the thread's own stack, that of a special goroutine: g0. Two functions switch to it. `mcall` gives
 * the goroutine up: g0's stack begins with the goroutine and the return address into mcall, and the goroutine's record
 * holds the saved registers. `systemstack` comes back: g0's stack begins with the return address into it, below which
 * the called function has saved the frame pointer. (Go's runtime/asm_amd64.s; the record is `g` of runtime/runtime2.go:
 * sp, pc and the address of the record itself follow six fields of 56 bytes, in this order in Go 1.26.) None of this is
 * guaranteed, so it is checked: the return address must be in the function, and the record must point to itself. */
static __noinline bool left_stack(struct pt_regs *regs, struct image_spans *spans, struct registers *left)
{
#ifdef REGS_GOROUTINE
	u64 first, start[2], record[3], frame[2];
	if (bpf_probe_read_user(&first, sizeof(first), (void *)(REGS_GOROUTINE(regs) + 56)) ||
	    bpf_probe_read_user(start, sizeof(start), (void *)(first - sizeof(start))))
		return false;
	if (start[0] - spans->leavers[LEAVER_MCALL].start < spans->leavers[LEAVER_MCALL].length) {
		u64 goroutine = start[1];
		if (bpf_probe_read_user(record, sizeof(record), (void *)(goroutine + 56)))
			return false;
		/* A goroutine that has moved on meanwhile has no stack pointer saved there. */
		if (record[2] != goroutine || !record[0])
			return false;
		left->sp = record[0];
		left->ip = record[1];
		left->fp = 0;
		return true;
	}
	if (start[1] - spans->leavers[LEAVER_SYSTEMSTACK].start < spans->leavers[LEAVER_SYSTEMSTACK].length) {
		u64 pointer = start[0];
		if (bpf_probe_read_user(frame, sizeof(frame), (void *)pointer))
			return false;
		left->sp = pointer + sizeof(frame);
		left->ip = frame[1];
		left->fp = frame[0];
		return true;
	}
#endif
	return false;
}

/* How many stack words are hashed in an image. */
static __always_inline u32 words_of(const struct image_spans *spans)
{
	return spans->words > USUAL_WORDS ? HASHED_WORDS : USUAL_WORDS;
}

/* Reads the words on top of a stack; words beyond the stack's end are zero. */
static __always_inline bool read_words(u64 *words, u64 sp, u32 count)
{
	if (count > HASHED_WORDS)
		count = HASHED_WORDS;
	if (!bpf_probe_read_user(words, count * sizeof(*words), (void *)sp))
		return true;
	/* The first half reaches to the end of most stacks. */
	for (int i = 0; i < HASHED_WORDS; i++)
		words[i] = 0;
	return !bpf_probe_read_user(words, USUAL_WORDS / 2 * sizeof(*words), (void *)sp);
}

/* The sum of the words that were read: four sums, because a single one would be a chain of dependent multiplications.
 * Like the two functions below, it is not static, so that the kernel verifies its loop once a program. */
__noinline u64 sum_of_words(u32 count)
{
	u32 zero = 0;
	u64 words = 0, words1 = 0, words2 = 0, words3 = 0;
	struct scratch *scratch = bpf_map_lookup_elem(&SCRATCH, &zero);
	if (!scratch)
		return 0;
	for (u32 i = 0; i < HASHED_WORDS; i += 4) {
		if (i >= count)
			break;
		words = words * 31 + scratch->words[i];
		words1 = words1 * 31 + scratch->words[i + 1];
		words2 = words2 * 31 + scratch->words[i + 2];
		words3 = words3 * 31 + scratch->words[i + 3];
	}
	return ((words * 31 + words1) * 31 + words2) * 31 + words3;
}

/* Whether a word is an address in one of the narrow spans of code: a binary search, because the words that come here are
 * few, and the spans may be many. */
__noinline bool in_code(u32 image, u64 word)
{
	u32 at = 0, key = image & (MAX_IMAGES - 1);
	struct image_spans *spans = bpf_map_lookup_elem(&IMAGES, &key);
	if (!spans)
		return false;
#pragma unroll
	for (u32 step = MAX_CODE / 2; step; step /= 2) {
		if (spans->code[(at + step) & (MAX_CODE - 1)].start <= word)
			at += step;
	}
	return word - spans->code[at & (MAX_CODE - 1)].start < spans->code[at & (MAX_CODE - 1)].length;
}

/* Mixes those words that lie in code into a path: of the stack, or of the one that the thread left for it. */
__noinline u64 mix_code(u64 path, u32 image, bool left)
{
	u32 zero = 0, key = image & (MAX_IMAGES - 1);
	struct scratch *scratch = bpf_map_lookup_elem(&SCRATCH, &zero);
	struct image_spans *spans = bpf_map_lookup_elem(&IMAGES, &key);
	if (!scratch || !spans)
		return path;
	const u64 *words = left ? scratch->left : scratch->words;
	u64 start0 = spans->spans[0].start, length0 = spans->spans[0].length;
	u64 start1 = spans->spans[1].start, length1 = spans->spans[1].length;
	u64 start2 = spans->spans[2].start, length2 = spans->spans[2].length;
	u64 start3 = spans->spans[3].start, length3 = spans->spans[3].length;
	u32 count = words_of(spans);
	for (u32 i = 0; i < HASHED_WORDS; i++) {
		if (i >= count)
			break;
		u64 word = words[i];
		if ((word - start0 < length0 || word - start1 < length1 || word - start2 < length2 ||
		     word - start3 < length3) &&
		    in_code(image, word))
			path = mix(path, word);
	}
	return path;
}

/* The part of a call path that lies on the stack that the thread left; 0 for none. */
static __noinline u64 left_path(struct pt_regs *regs, struct image_spans *spans, struct scratch *scratch,
			   u32 image)
{
	struct registers left = {};

	if (!left_stack(regs, spans, &left))
		return 0;
	/* The stack pointer is not hashed: goroutine stacks begin anywhere, so its page offset shows no depth. */
	if (!read_words(scratch->left, left.sp, words_of(spans)))
		return left.ip;
	return mix_code(left.ip, image, true);
}

/* The call path that the current task is at. `last` caches the latest result for this kind of place: a thread that
 * waits and wakes in turn alternates between two paths, so each kind has a cache of its own. */
static __noinline u64 path_of(struct thread_record *record, struct pt_regs *regs, struct last_path *last)
{
	u32 zero = 0, image = record->image & (MAX_IMAGES - 1);
	struct scratch *scratch = bpf_map_lookup_elem(&SCRATCH, &zero);
	struct image_spans *spans = bpf_map_lookup_elem(&IMAGES, &image);
	u64 ip = REGS_IP(regs), sp = REGS_SP(regs);
	u64 path = mix(mix(record->image, ip), sp & 4095);

	if (!scratch || !spans || !last)
		return path;
	if (!read_words(scratch->words, sp, words_of(spans)))
		return path;
	/* Threads often return to a place with the same words on the stack; the cached path is then still right. */
	u64 words = sum_of_words(words_of(spans));
	if (spans->leavers[LEAVER_MCALL].length) {
		u64 left = left_path(regs, spans, scratch, image);
		words = mix(words, left);
		path = mix(path, left);
	}
	u64 python = python_path(record);
	if (python) {
		words = mix(words, python);
		path = mix(path, python);
	}
	/* Until user space has reported where code lies, all words count. Too many paths for a few ms do no harm;
	 * merging two paths would, because threads that begin to sleep this early often sleep to the end. */
	if (!spans->spans[0].length)
		path = mix(path, words);
	if (last->ip == ip && last->sp == sp && last->words == words && last->path)
		return last->path;
	path = mix_code(path, image, false);
	last->ip = ip;
	last->sp = sp;
	last->words = words;
	last->path = path;
	return path;
}

/* Copies stack bytes upwards from sp in steps that end at multiples of `step`, until one fails or all are copied. The
 * asm keeps the compiler from dropping the (always true) check of `at`, which the verifier of Linux 6.1 needs. */
#define COPY_STACK(destination, size, step, sp)                                                     \
	({                                                                                          \
		u32 first = (step) - ((u32)(sp) & ((step) - 1)), copied = 0;                        \
		if (!bpf_probe_read_user((destination), first & (2 * (step) - 1), (void *)(sp))) {  \
			copied = first;                                                             \
			for (int i = 0; i < (size) / (step) - 1; i++) {                             \
				u64 at = (first & (2 * (step) - 1)) + i * (step);                   \
				asm volatile("" : "+r"(at));                                        \
				if (at > (size) - (step))                                           \
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

/* Reports the stack that the thread left for its present one. False when there is no room. */
static __always_inline bool tell_left(void *ring, struct thread_record *record, struct registers *left, u64 of)
{
	struct left_event *event = bpf_ringbuf_reserve(ring, sizeof(*event), 0);
	if (!event)
		return false;
	event->header.kind = EVENT_LEFT;
	event->header.thread = record->thread;
	event->of = of;
	event->left = *left;
	event->padding = 0;
	event->left_bytes = COPY_STACK(event->left_stack, LEFT_STACK, LEFT_STEP, event->left.sp);
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return true;
}

/* The same for a call path. True also when it left none. */
static __noinline bool tell_left_of_path(struct thread_record *record, struct pt_regs *regs, u32 stack)
{
	struct registers left = {};
	u32 image = record->image & (MAX_IMAGES - 1);
	struct image_spans *spans = bpf_map_lookup_elem(&IMAGES, &image);
	if (!spans || !spans->leavers[LEAVER_MCALL].length || !left_stack(regs, spans, &left))
		return true;
	return tell_left(&EVENTS, record, &left, stack);
}

/* Instead of a call path's number: its stacks could not be reported. */
#define STACK_UNTOLD (~0u)

/* The number of a call path, 0 when the table is full. Its user and kernel stacks are reported unless they have been
 * already; STACK_UNTOLD when there is no room for them. */
static __noinline u32 stack_of(void *ctx, struct thread_record *record, struct pt_regs *regs, u64 path)
{
	struct stack_value *value = bpf_map_lookup_elem(&STACKS, &path);
	if (!value) {
		struct globals *g = globals();
		if (!g)
			return 0;
		struct stack_value fresh = { .stack = __sync_fetch_and_add(&g->next_stack, 1) + 1 };
		/* Another thread may have inserted it first; then its number is used. */
		bpf_map_update_elem(&STACKS, &path, &fresh, BPF_NOEXIST);
		value = bpf_map_lookup_elem(&STACKS, &path);
		if (!value) {
			lost(LOSS_STACKS);
			return 0;
		}
	}
	if (value->told)
		return value->stack;
	struct stack_event *event = 0;
	if (tell_left_of_path(record, regs, value->stack))
		event = bpf_ringbuf_reserve(&EVENTS, sizeof(*event), 0);
	if (!event) {
		lost(LOSS_PLACE_RING);
		return STACK_UNTOLD;
	}
	event->header.kind = EVENT_STACK;
	event->header.thread = record->thread;
	event->stack = value->stack;
	event->pid = record->pid;
	event->image = record->image;
	s64 bytes = bpf_get_stack(ctx, event->kernel_stack, sizeof(event->kernel_stack), 0);
	event->kernel_frames = bytes > 0 ? (u32)bytes / 8 : 0;
	read_registers(&event->registers, regs);
	u64 sp = event->registers.sp;
	event->stack_bytes = COPY_STACK(event->bytes, PLACE_STACK, PLACE_STEP, sp);
	event->python_frames = python_frames(record, &event->python);
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	value->told = 1;
	return value->stack;
}

/* Reports a place to user space. */
static __noinline bool tell_place(void *ctx, struct thread_record *record, struct pt_regs *regs, struct place_key *key,
				  u32 place)
{
	/* The stack is sent before the place, so that user space already has the stack when it reads the place. */
	u64 path = mix(key->path, key->kind);
	/* Waits for different kernel locks can have the same user path but differ inside the kernel. */
	if (key->kind & KIND_LOCK)
		path = mix(path, key->object);
	u32 stack = stack_of(ctx, record, regs, path);
	/* The ring may have room for the place but not for its stack. A place reported now would never get one: the next
	 * hit tries both again. */
	if (stack == STACK_UNTOLD)
		return false;
	struct place_event *event = bpf_ringbuf_reserve(&EVENTS, sizeof(*event), 0);
	if (!event) {
		lost(LOSS_PLACE_RING);
		return false;
	}
	event->header.kind = EVENT_PLACE;
	event->header.thread = record->thread;
	event->place = place;
	event->pid = record->pid;
	event->image = record->image;
	event->kind = key->kind;
	event->object = key->object;
	event->operation = REGS_ARG2(regs);
	event->expected = REGS_ARG3(regs);
	event->timed = REGS_ARG4(regs) != 0;
	event->file_mode = key->kind < KIND_FAULT ? file_mode(key->object) : 0;
	event->stack = stack;
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

/* The call path that goes into a place's key. */
static __always_inline u64 place_path(struct thread_record *record, struct pt_regs *regs, u32 kind,
				      struct last_path *last)
{
	u64 path = path_of(record, regs, last);
	return kind == SYSCALL_FUTEX ? mix(path, REGS_ARG2(regs)) : path;
}

/* The number of the place with this key. `count` is added to its count. 0 when the table is full. */
static __noinline u32 place_at(void *ctx, struct thread_record *record, struct pt_regs *regs, struct place_key *key,
			       u32 count)
{
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
	value->count += count;
	if (!value->told && tell_place(ctx, record, regs, key, value->place))
		value->told = 1;
	return value->place;
}

/* The number of the current task's place for a key whose kind and object are set. */
static __always_inline u32 place_of(void *ctx, struct thread_record *record, struct pt_regs *regs,
				    struct place_key *key, u32 count)
{
	key->thread = record->thread;
	key->path = place_path(record, regs, key->kind, &record->path);
	return place_at(ctx, record, regs, key, count);
}

/* Like place_of, for the places that a thread visits most: the latest one is cached in `last`. */
static __always_inline u32 usual_place_of(void *ctx, struct thread_record *record, struct pt_regs *regs,
					  struct place_key *key, struct last_place *last)
{
	key->thread = record->thread;
	key->path = place_path(record, regs, key->kind, &last->at);
	if (last->place && last->path == key->path && last->object == key->object && last->kind == key->kind)
		return last->place;
	u32 place = place_at(ctx, record, regs, key, 0);
	/* A place that could not be reported yet is not cached, so that it is tried again. */
	struct place_value *value = place ? bpf_map_lookup_elem(&PLACES, key) : 0;
	last->place = value && value->told ? place : 0;
	last->path = key->path;
	last->object = key->object;
	last->kind = key->kind;
	return place;
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
