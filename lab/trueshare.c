/* trueshare: threads count events in one atomic counter.
 *
 * There is no lock and no thread sleeps, and yet each step must fetch the
 * counter's cache line from the thread that changed it last.
 *
 * Where:    count_shared(), the atomic addition to `total`.
 * Cause:    true-sharing with --counter=shared. No layout helps: the threads
 *           want the very same bytes.
 * Expected: none with --counter=local, where threads count for themselves and
 *           add up once at the end.
 * Repaired by: --counter=local. */
#include "harness.h"

#include <stdatomic.h>

enum counter { SHARED, LOCAL };
static const char *const counter_names[] = { "shared", "local", NULL };

static uint64_t threads = 1, iterations = 500000000;
static unsigned counter = SHARED;

static _Alignas(LAB_CACHE_PAIR) _Atomic uint64_t total;

static __attribute__((noinline)) void count_shared(uint64_t steps)
{
    for (uint64_t i = 0; i < steps; i++)
        atomic_fetch_add_explicit(&total, 1, memory_order_relaxed); /* GUILTY */
}

static __attribute__((noinline)) void count_local(uint64_t steps)
{
    /* Atomic as well, so that the two differ in the sharing only. */
    _Alignas(LAB_CACHE_PAIR) _Atomic uint64_t own = 0;
    for (uint64_t i = 0; i < steps; i++)
        atomic_fetch_add_explicit(&own, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&total, own, memory_order_relaxed);
}

static void work(unsigned thread, void *shared)
{
    (void)shared;
    uint64_t first, last;
    lab_share(iterations, (unsigned)threads, thread, &first, &last);
    if (counter == SHARED)
        count_shared(last - first);
    else
        count_local(last - first);
}

int main(int argc, char **argv)
{
    const struct lab_option options[] = {
        { "threads", LAB_COUNT, &threads, 1, LAB_MAX_THREADS, NULL, "threads" },
        { "iterations", LAB_COUNT, &iterations, 1, 1e15, NULL, "steps of all threads" },
        { "counter", LAB_CHOICE, &counter, 0, 0, counter_names, "where the threads count" },
        { 0 },
    };
    lab_options(argc, argv, "Counts events of all threads.", options);

    struct lab_run run = lab_run((unsigned)threads, work, NULL);

    lab_result("trueshare", run.seconds, (double)iterations,
               "counter=%s threads=%u iterations=%llu", counter_names[counter],
               (unsigned)threads, (unsigned long long)iterations);
    if (total != iterations)
        lab_fail("counted %llu", (unsigned long long)total);
    return 0;
}
