/* The timeline of one thread: single periods while switches are rare, sums over a stretch while they are not.
 *
 * Whatever the rate, periods and stretches of a thread join without gaps, and their times sum to its life.
 */
#ifndef KNEE_TIMELINE_H
#define KNEE_TIMELINE_H

#include "maps.h"

/* How long a thread has been off its processor in all, up to when it last came back. */
static __always_inline u64 off_ns_of(struct thread_record *record)
{
	return record->blocked_ns + record->runnable_ns + record->preempted_ns;
}

/* When blocked time ended and waiting for a processor began; clamped, as clocks of two processors may differ. */
static __always_inline u64 woken_at(struct thread_record *record)
{
	u64 wake = record->wake_ns;
	if (wake < record->off_ns)
		return record->off_ns;
	return wake > record->on_ns ? record->on_ns : wake;
}

static void flush_stretch(struct thread_record *record)
{
	struct stretch_event *event = bpf_ringbuf_reserve(&EVENTS, sizeof(*event), 0);
	if (!event) {
		/* No time is lost: the stretch grows until there is room. */
		lost(LOSS_TIMELINE);
		return;
	}
	event->header.kind = EVENT_STRETCH;
	event->header.thread = record->thread;
	event->stretch = record->stretch;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	__builtin_memset(&record->stretch, 0, sizeof(record->stretch));
}

static __always_inline void add_to_stretch(struct thread_record *record, u64 end)
{
	struct stretch *s = &record->stretch;
	u64 wake = woken_at(record);
	if (!s->end_ns)
		s->start_ns = record->off_ns;
	s->end_ns = end;
	s->running_ns += end - record->on_ns;
	s->running_count++;
	if (record->was_preempted) {
		s->preempted_ns += record->on_ns - record->off_ns;
		s->preempted_count++;
		return;
	}
	s->runnable_ns += record->on_ns - wake;
	s->runnable_count++;
	u64 blocked = wake - record->off_ns;
#pragma unroll
	for (int i = 0; i < STRETCH_PLACES; i++) {
		if (s->places[i].place == record->place || s->places[i].place == 0) {
			s->places[i].place = record->place;
			s->places[i].count++;
			s->places[i].ns += blocked;
			return;
		}
	}
	s->blocked_ns += blocked;
	s->blocked_count++;
}

/* The thread has run from on_ns to `end`: reports the cycle that began when it left the processor before. */
static __always_inline void close_cycle(struct thread_record *record, u64 end)
{
	u64 epoch = end >> EPOCH_SHIFT;
	if (epoch != record->epoch) {
		record->epoch = epoch;
		record->epoch_events = 0;
		if (record->stretch.end_ns)
			flush_stretch(record);
	}
	if (!record->stretch.end_ns && record->epoch_events < EPOCH_BUDGET) {
		struct period_event *event = bpf_ringbuf_reserve(&EVENTS, sizeof(*event), 0);
		if (event) {
			event->header.kind = EVENT_PERIOD;
			event->header.thread = record->thread;
			event->off_ns = record->off_ns;
			event->wake_ns = woken_at(record);
			event->on_ns = record->on_ns;
			event->end_ns = end;
			event->place = record->place;
			event->was_preempted = record->was_preempted;
			event->processor = record->processor;
			event->padding = 0;
			bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
			record->epoch_events++;
			return;
		}
		lost(LOSS_TIMELINE);
	}
	add_to_stretch(record, end);
}

#endif
