/* The Python functions that the current thread is in, read from the interpreter's own records.
 *
 * They are read on the thread's own processor while it is inside the kernel, so its frames are consistent. Other
 * threads may come and go meanwhile, so an entry of the thread list is used only if it names this thread.
 *
 * Functions that are not static are verified once by the kernel, not again at each call: with their loops, inlining
 * them would exceed what the verifier accepts.
 */
#ifndef KNEE_PYTHON_H
#define KNEE_PYTHON_H

#include "maps.h"

static __always_inline u64 mix(u64 hash, u64 word)
{
	/* Fibonacci hashing's constant, 2^64 / golden ratio. */
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 29);
}

static __always_inline u64 user_word(u64 address)
{
	u64 word = 0;
	bpf_probe_read_user(&word, sizeof(word), (void *)address);
	return word;
}

/* The PyThreadState of the current thread, 0 for none. */
__noinline u64 python_state(struct thread_record *record, struct python *python)
{
#ifdef PTHREAD_SELF
	struct task_struct *task = bpf_get_current_task_btf();
	if (!record || !python)
		return 0;
	u64 self = PTHREAD_SELF(task), state = record->python;

	if (state && user_word(state + python->identity) == self)
		return state;
	state = user_word(user_word(python->interpreter) + python->first);
	for (u32 i = 0; i < PYTHON_THREADS; i++) {
		if (!state || user_word(state + python->identity) == self)
			break;
		state = user_word(state + python->next);
	}
	if (state && user_word(state + python->identity) != self)
		state = 0;
	record->python = state;
	return state;
#else
	return 0;
#endif
}

/* Where Python keeps its frames in this thread's program; null when the program is not Python. */
static __always_inline struct python *python_of(struct thread_record *record)
{
	u32 image = record->image & (MAX_IMAGES - 1);
	struct python *python = bpf_map_lookup_elem(&PYTHONS, &image);
	return python && python->interpreter ? python : 0;
}

/* The innermost frame of the current thread, 0 for none. */
static __always_inline u64 python_innermost(struct thread_record *record, struct python *python)
{
	u64 state = python_state(record, python);
	if (!state)
		return 0;
	u64 frame = user_word(state + python->frame);
	return python->indirect && frame ? user_word(frame + python->inner) : frame;
}

/* The byte of a frame that shows whether it ends a run of Python frames (see python_border). */
static __always_inline u8 python_mark(struct python *python, u64 frame)
{
	u8 mark = 0;
	if (python->border != PYTHON_EACH)
		bpf_probe_read_user(&mark, sizeof(mark), (void *)(frame + python->border_at));
	return mark;
}

/* Writes frame number `count` and returns 1, or marks the frame before it as outermost of its C frame and returns 0. */
__noinline u32 python_frame(struct python *python, struct python_frames *to, u64 frame, u32 count)
{
	if (!python || !to)
		return 0;
	u8 mark = python_mark(python, frame);
	if (python->border == PYTHON_OWNER && mark >= PYTHON_OWNER_C) {
		if (count)
			to->frames[(count - 1) & (PYTHON_FRAMES - 1)].code |= PYTHON_OUTERMOST;
		return 0;
	}
	struct python_frame *next = &to->frames[count & (PYTHON_FRAMES - 1)];
	bool outermost = python->border == PYTHON_EACH || (python->border == PYTHON_FLAG && mark);
	next->code = user_word(frame + python->code) | (outermost ? PYTHON_OUTERMOST : 0);
	next->at = user_word(frame + python->at);
	return 1;
}

/* Writes the current thread's frames, innermost first, and returns how many. */
__noinline u32 python_frames(struct thread_record *record, struct python_frames *to)
{
	u32 count = 0;

	if (!record || !to)
		return 0;
	struct python *python = python_of(record);
	if (!python)
		return 0;
	u64 frame = python_innermost(record, python);
	for (u32 i = 0; i < 2 * PYTHON_FRAMES; i++) {
		if (!frame || count >= PYTHON_FRAMES)
			break;
		count += python_frame(python, to, frame, count);
		frame = user_word(frame + python->back);
	}
	return count;
}

/* A hash of the innermost frames of the current thread, 0 for none. */
__noinline u64 python_path(struct thread_record *record)
{
	u64 path = 0;

	if (!record)
		return 0;
	struct python *python = python_of(record);
	if (!python)
		return 0;
	u64 frame = python_innermost(record, python);
	for (u32 i = 0; i < PYTHON_HASHED; i++) {
		if (!frame)
			break;
		path = mix(mix(path, user_word(frame + python->code)), user_word(frame + python->at));
		frame = user_word(frame + python->back);
	}
	return path;
}

#endif
