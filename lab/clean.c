/* clean: nothing is wrong here. The negative control.
 *
 * Every thread computes its share, in registers, and stores one number at the
 * end, on a cache line of its own.
 *
 * Cause:    none. Where: compute(). Expected: none, up to the number of
 *           processors; beyond it, oversubscription (harmless here).
 * Repaired by: there is nothing to repair. */
#include "harness.h"

static uint64_t threads = 1, iterations = 1000000000;

static struct share {
    _Alignas(LAB_CACHE_PAIR) uint64_t result;
} *shares;

static uint64_t steps_of(unsigned thread)
{
    uint64_t first, last;
    lab_share(iterations, (unsigned)threads, thread, &first, &last);
    return last - first;
}

static __attribute__((noinline)) uint64_t compute(unsigned thread)
{
    return lab_burn(thread, steps_of(thread));
}

static void work(unsigned thread, void *shared)
{
    (void)shared;
    shares[thread].result = compute(thread);
}

int main(int argc, char **argv)
{
    const struct lab_option options[] = {
        { "threads", LAB_COUNT, &threads, 1, LAB_MAX_THREADS, NULL, "threads" },
        { "iterations", LAB_COUNT, &iterations, 1, 1e15, NULL, "steps of all threads" },
        { 0 },
    };
    lab_options(argc, argv, "Computes; the threads have nothing in common.", options);

    shares = lab_alloc(threads * sizeof *shares, LAB_CACHE_PAIR);
    struct lab_run run = lab_run((unsigned)threads, work, NULL);

    bool right = true;
    for (unsigned t = 0; t < threads; t++)
        right = right && shares[t].result == lab_burn_check(t, steps_of(t));
    free(shares);
    lab_result("clean", run.seconds, (double)iterations, "threads=%u iterations=%llu",
               (unsigned)threads, (unsigned long long)iterations);
    if (!right)
        lab_fail("the result is wrong");
    return 0;
}
