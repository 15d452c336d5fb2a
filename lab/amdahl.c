/* amdahl: a serial part, and a rest that is perfectly parallel.
 *
 * The work comes in rounds. In each, thread 0 does the serial part while the
 * others wait at a barrier, then all do their share of the rest. With a serial
 * share s the speed-up on n processors is at most 1 / (s + (1 - s) / n).
 *
 * Where:    serial_part(), and the barrier in work() where the others wait.
 * Cause:    --serial, the share of the work that only one thread may do.
 * Expected: serial-phase; with --serial=0: none.
 * Repaired by: --serial=0. */
#define _GNU_SOURCE
#include "harness.h"

#include <pthread.h>

static uint64_t threads = 1, iterations = 1000000000, rounds = 20;
static double serial = 0.3;

static pthread_barrier_t barrier;
static uint64_t serial_result;
static struct share {
    _Alignas(LAB_CACHE_PAIR) uint64_t result;
} *shares;

static __attribute__((noinline)) void serial_part(uint64_t steps)
{
    serial_result = lab_burn(serial_result, steps); /* GUILTY: one thread only */
}

static __attribute__((noinline)) void parallel_part(struct share *own, uint64_t steps)
{
    own->result = lab_burn(own->result, steps);
}

/* The steps of one round: of the serial part, and of one thread. */
static uint64_t serial_steps(void)
{
    return (uint64_t)((double)(iterations / rounds) * serial);
}

static uint64_t parallel_steps(unsigned thread)
{
    uint64_t first, last;
    lab_share(iterations / rounds - serial_steps(), (unsigned)threads, thread, &first, &last);
    return last - first;
}

static void work(unsigned thread, void *shared)
{
    (void)shared;
    for (uint64_t round = 0; round < rounds; round++) {
        if (thread == 0 && serial_steps())
            serial_part(serial_steps());
        pthread_barrier_wait(&barrier); /* the others wait here */
        parallel_part(&shares[thread], parallel_steps(thread));
        pthread_barrier_wait(&barrier);
    }
}

int main(int argc, char **argv)
{
    const struct lab_option options[] = {
        { "threads", LAB_COUNT, &threads, 1, LAB_MAX_THREADS, NULL, "threads" },
        { "iterations", LAB_COUNT, &iterations, 1, 1e15, NULL, "steps in all" },
        { "rounds", LAB_COUNT, &rounds, 1, 1e9, NULL, "rounds they are done in" },
        { "serial", LAB_REAL, &serial, 0, 1, NULL, "serial share of the work" },
        { 0 },
    };
    lab_options(argc, argv, "Computes, a part of it in one thread only.", options);
    if (iterations % rounds)
        lab_usage_error("--iterations must be a multiple of --rounds");

    shares = lab_alloc(threads * sizeof *shares, LAB_CACHE_PAIR);
    lab_check(pthread_barrier_init(&barrier, NULL, (unsigned)threads), "barrier");
    struct lab_run run = lab_run((unsigned)threads, work, NULL);

    bool right = serial_result == lab_burn_check(0, rounds * serial_steps());
    for (unsigned t = 0; t < threads; t++)
        right = right && shares[t].result == lab_burn_check(0, rounds * parallel_steps(t));
    free(shares);
    lab_result("amdahl", run.seconds, (double)iterations,
               "serial=%g threads=%u iterations=%llu rounds=%llu", serial, (unsigned)threads,
               (unsigned long long)iterations, (unsigned long long)rounds);
    if (!right)
        lab_fail("the result is wrong");
    return 0;
}
