/* Hardware events of the threads, read at switches. */
#ifndef KNEE_COUNTERS_H
#define KNEE_COUNTERS_H

#include "maps.h"

/* Hardware events of this processor at this moment; what a thread saw of one is the difference between its coming and
 * its going. An event that shared the hardware with others is scaled by the time that it really counted. */
static __always_inline void count(struct counter_value *at, u64 *sum, const struct counter_value *now, bool leaving)
{
	u64 enabled = now->enabled_ns - at->enabled_ns, running = now->running_ns - at->running_ns;
	u64 counted = now->count - at->count;

	if (leaving && running)
		*sum += running < enabled ? counted * enabled / running : counted;
	*at = *now;
}

/* The helper wants a map that is known when the program is loaded: no loop can name them. */
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
	/* The part of a thread's life whose beginning was not seen (before its exec, when it was attached to, or after
	 * a switch that was missed) is not counted; user space scales by what was. */
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
