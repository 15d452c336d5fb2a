/* falseshare: each thread has its own counter, but they are too close in memory.
 *
 * Processors own memory by cache lines (64 bytes usually). A thread that writes
 * to a line takes it away from all others, even if they use other bytes.
 *
 * Where:  count_own() and count_until_stopped().
 * Cause, and the expected cause id, by --layout:
 *   packed       false-sharing  the threads' counters are neighbours: `value` of
 *                               one beside `value` of the next.
 *   flag         false-sharing  every thread looks at `stop`, which is never
 *                               written, but shares a line with `hot`, which
 *                               thread 0 writes all the time.
 *   padded       none           each counter on a line of its own.
 *   flag-padded  none           `stop` on a line of its own.
 * Repaired by: --layout=padded, --layout=flag-padded. */
#include "harness.h"

#include <stdatomic.h>

enum layout { PACKED, PADDED, FLAG, FLAG_PADDED };
static const char *const layout_names[] = { "packed", "padded", "flag", "flag-padded", NULL };

static uint64_t threads = 1, iterations = 4000000000;
static unsigned layout = PACKED;

/* volatile: every step goes to memory, as it would in a larger program where
 * the compiler cannot keep a counter in a register. */
struct packed_counter {
    volatile uint64_t value; /* GUILTY: eight of these in one line */
};

struct padded_counter {
    _Alignas(LAB_CACHE_PAIR) volatile uint64_t value;
};

static _Alignas(LAB_CACHE_PAIR) struct packed_counter packed[LAB_MAX_THREADS];
static struct padded_counter padded[LAB_MAX_THREADS];

static _Alignas(LAB_CACHE_PAIR) struct {
    atomic_bool stop;
    volatile uint64_t hot; /* GUILTY: written beside a flag that all read */
} close;

static struct {
    _Alignas(LAB_CACHE_PAIR) atomic_bool stop;
    _Alignas(LAB_CACHE_PAIR) volatile uint64_t hot;
} apart;

static __attribute__((noinline)) void count_own(volatile uint64_t *value, uint64_t steps)
{
    for (uint64_t i = 0; i < steps; i++)
        ++*value;
}

/* Counts in `own` until `stop` is set, which never happens. */
static __attribute__((noinline)) void count_until_stopped(atomic_bool *stop,
                                                          volatile uint64_t *own,
                                                          uint64_t steps)
{
    for (uint64_t i = 0; i < steps; i++) {
        if (atomic_load_explicit(stop, memory_order_relaxed))
            break;
        ++*own;
    }
}

/* With the flag layouts thread 0 writes the hot counter, the others their own. */
static volatile uint64_t *counter_of(unsigned thread)
{
    switch (layout) {
    case PACKED:
        return &packed[thread].value;
    case FLAG:
        return thread == 0 ? &close.hot : &padded[thread].value;
    case FLAG_PADDED:
        return thread == 0 ? &apart.hot : &padded[thread].value;
    default:
        return &padded[thread].value;
    }
}

static void work(unsigned thread, void *shared)
{
    (void)shared;
    uint64_t first, last;
    lab_share(iterations, (unsigned)threads, thread, &first, &last);
    if (layout == FLAG)
        count_until_stopped(&close.stop, counter_of(thread), last - first);
    else if (layout == FLAG_PADDED)
        count_until_stopped(&apart.stop, counter_of(thread), last - first);
    else
        count_own(counter_of(thread), last - first);
}

int main(int argc, char **argv)
{
    const struct lab_option options[] = {
        { "threads", LAB_COUNT, &threads, 1, LAB_MAX_THREADS, NULL, "threads" },
        { "iterations", LAB_COUNT, &iterations, 1, 1e15, NULL, "steps of all threads" },
        { "layout", LAB_CHOICE, &layout, 0, 0, layout_names, "of counters and flag" },
        { 0 },
    };
    lab_options(argc, argv, "Counts with one counter for each thread.", options);

    struct lab_run run = lab_run((unsigned)threads, work, NULL);

    uint64_t sum = 0;
    for (unsigned t = 0; t < threads; t++)
        sum += *counter_of(t);
    lab_result("falseshare", run.seconds, (double)iterations,
               "layout=%s threads=%u iterations=%llu", layout_names[layout],
               (unsigned)threads, (unsigned long long)iterations);
    if (sum != iterations)
        lab_fail("counted %llu", (unsigned long long)sum);
    return 0;
}
