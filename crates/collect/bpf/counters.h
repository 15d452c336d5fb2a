/* Hardware events of the threads, read at switches. */
#ifndef KNEE_COUNTERS_H
#define KNEE_COUNTERS_H

#include "maps.h"

/* Hardware events of this processor at this moment. A thread's share of an event is the difference between when it came
 * to the processor and when it left. An event that shared the hardware with others is scaled by the time it counted. */
static __always_inline void count(struct counter_value *at, u64 *sum, const struct counter_value *now, bool leaving)
{
	u64 enabled = now->enabled_ns - at->enabled_ns, running = now->running_ns - at->running_ns;
	u64 counted = now->count - at->count;

	if (leaving && running)
		*sum += running < enabled ? counted * enabled / running : counted;
	*at = *now;
}

/* The helper needs a map that is known at load time, so a loop over the maps is impossible. */
#define READ_COUNTER(number, map)                                                                       \
	if (g->counters > (number) &&                                                                   \
	    !bpf_perf_event_read_value(&map, BPF_F_CURRENT_CPU, (void *)&value, sizeof(value)))         \
		count(&record->counters_at[number], &record->counters[number], &value, leaving && began);

static __noinline void read_counters(struct thread_record *record, bool leaving, u64 now)
{
	struct globals *g = globals();
	struct counter_value value = {};
	if (!g || !record)
		return;
	/* Where the beginning of a stretch on the processor was not seen (before the exec, before knee attached, after
	 * a missed switch), that stretch is not counted; user space scales by the part that was counted. */
	bool began = record->counters_since_ns != 0;
	READ_COUNTER(0, COUNTER0)
	READ_COUNTER(1, COUNTER1)
	READ_COUNTER(2, COUNTER2)
	READ_COUNTER(3, COUNTER3)
	if (leaving && began)
		record->counted_ns += now - record->counters_since_ns;
	record->counters_since_ns = leaving ? 0 : now;
}

static __always_inline bool counting(void)
{
	struct globals *g = globals();
	return g && g->counters;
}

#endif
