/* birthday: how many people of a group share a birthday?
 *
 * A Monte-Carlo estimate. One attempt draws a birthday for each person, sorts
 * them and counts neighbours that are equal, which is people minus distinct
 * days. The threads split the attempts evenly and share nothing on purpose;
 * their sums are added up after the join.
 *
 * Where:  simulate(), the line that calls the generator.
 * Cause, and the expected cause id, by --rng:
 *   random             user-lock     random() locks the whole process for each
 *                                    number: POSIX wants one sequence for all.
 *   rand               user-lock     glibc's rand() is random() by another name,
 *                                    so it waits for the same lock.
 *   drand48            true-sharing  no lock, but one state in libc that every
 *                                    call rewrites: the cache line travels. This
 *                                    is a data race (POSIX does not promise
 *                                    that drand48 is thread-safe). Threads may
 *                                    draw the same numbers; see tolerance().
 *   lcg-shared-atomic  true-sharing  one atomic word that all threads advance.
 *   random_r           none          a state of its own for each thread.
 *   xoshiro            none          the same, with a faster generator.
 * Repaired by: --rng=random_r or --rng=xoshiro. */
#define _GNU_SOURCE
#include "harness.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define DAYS 365
#define MAX_PEOPLE 1000

enum rng { RANDOM, RANDOM_R, XOSHIRO, RAND, DRAND48, LCG_SHARED_ATOMIC };
static const char *const rng_names[] = { "random", "random_r", "xoshiro", "rand",
                                         "drand48", "lcg-shared-atomic", NULL };

static uint64_t threads = 1, attempts = 2000000, people = 23, seed = 1;
static unsigned rng = RANDOM;

/* One thread's generator and result, apart from those of the others. */
struct thread_state {
    _Alignas(LAB_CACHE_PAIR) struct random_data random_data;
    char random_state[128];
    uint64_t xoshiro[4];
    uint64_t shared_birthdays;
};

static _Alignas(LAB_CACHE_PAIR) _Atomic uint64_t shared_lcg;

/* xoshiro256++ by Blackman and Vigna (public domain algorithm). */
static uint64_t rotate_left(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static uint64_t next_xoshiro(uint64_t s[4])
{
    uint64_t result = rotate_left(s[0] + s[3], 23) + s[0];
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

/* One linear congruential generator shared by all threads. */
static uint64_t next_shared_lcg(void)
{
    uint64_t old = atomic_load_explicit(&shared_lcg, memory_order_relaxed);
    uint64_t next;
    do
        next = old * 6364136223846793005u + 1442695040888963407u;
    while (!atomic_compare_exchange_weak_explicit( /* GUILTY: lcg-shared-atomic */
        &shared_lcg, &old, next, memory_order_relaxed, memory_order_relaxed));
    return next >> 33; /* the high bits are the good ones */
}

static int compare_days(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* One attempt. Returns the number of shared birthdays. */
static __attribute__((noinline)) unsigned simulate(struct thread_state *self)
{
    int birthday[MAX_PEOPLE];

    for (unsigned i = 0; i < people; i++) {
        uint64_t number = 0;
        int32_t r;
        switch (rng) {
        case RANDOM:
            number = (uint64_t)random(); /* GUILTY: libc's lock */
            break;
        case RAND:
            number = (uint64_t)rand(); /* GUILTY: the same lock */
            break;
        case DRAND48:
            number = (uint64_t)(drand48() * 0x1p31); /* GUILTY: libc's state */
            break;
        case LCG_SHARED_ATOMIC:
            number = next_shared_lcg();
            break;
        case RANDOM_R:
            random_r(&self->random_data, &r);
            number = (uint64_t)r;
            break;
        case XOSHIRO:
            number = next_xoshiro(self->xoshiro) >> 33;
            break;
        }
        birthday[i] = (int)(number % DAYS);
    }

    qsort(birthday, people, sizeof birthday[0], compare_days);

    unsigned shared = 0;
    for (unsigned i = 1; i < people; i++)
        shared += birthday[i] == birthday[i - 1];
    return shared;
}

static void work(unsigned thread, void *shared)
{
    struct thread_state *self = (struct thread_state *)shared + thread;
    uint64_t first, last, sum = 0;
    lab_share(attempts, (unsigned)threads, thread, &first, &last);
    for (uint64_t i = first; i < last; i++)
        sum += simulate(self);
    self->shared_birthdays = sum;
}

/* Every thread and every kind of generator gets its seed from --seed. */
static void seed_generators(struct thread_state *state)
{
    uint64_t mix = seed;
    srandom((unsigned)lab_splitmix(&mix)); /* srand() would do the same */
    srand48((long)(lab_splitmix(&mix) >> 32));
    shared_lcg = lab_splitmix(&mix);
    for (unsigned t = 0; t < threads; t++) {
        for (int i = 0; i < 4; i++)
            state[t].xoshiro[i] = lab_splitmix(&mix);
        initstate_r((unsigned)lab_splitmix(&mix), state[t].random_state,
                    sizeof state[t].random_state, &state[t].random_data);
    }
}

/* The expected number of shared birthdays, N - 365 (1 - (364/365)^N). */
static double expected_mean(void)
{
    double n = (double)people;
    return n - DAYS * (1 - pow((DAYS - 1.0) / DAYS, n));
}

/* How far the mean may be from what is expected: five standard errors, which
 * a right program exceeds once in two million runs. The variance of the number
 * of distinct days among N people is known exactly. Racing drand48() calls can
 * hand the same numbers to every thread; then there are only attempts/threads
 * independent attempts, and the error grows accordingly. A thread that is delayed
 * inside a call even sets the state back, and others then draw the same numbers
 * again, for the same people: so there is no bound above. */
static double tolerance(void)
{
    double n = (double)people, d = DAYS;
    double variance = d * (d - 1) * pow((d - 2) / d, n) + d * pow((d - 1) / d, n) -
                      d * d * pow((d - 1) / d, 2 * n);
    double independent = (double)attempts;
    if (rng == DRAND48)
        independent /= (double)threads;
    return 5 * sqrt(variance / independent);
}

int main(int argc, char **argv)
{
    const struct lab_option options[] = {
        { "threads", LAB_COUNT, &threads, 1, LAB_MAX_THREADS, NULL, "threads" },
        { "attempts", LAB_COUNT, &attempts, 1, 1e15, NULL, "attempts of all threads" },
        { "people", LAB_COUNT, &people, 2, MAX_PEOPLE, NULL, "people in a group" },
        { "rng", LAB_CHOICE, &rng, 0, 0, rng_names, "generator" },
        { "seed", LAB_COUNT, &seed, 0, 1e15, NULL, "where the generators start" },
        { 0 },
    };
    lab_options(argc, argv, "Estimates how many of a group of people share a birthday.",
                options);

    struct thread_state *state = lab_alloc(threads * sizeof *state, LAB_CACHE_PAIR);
    seed_generators(state);
    struct lab_run run = lab_run((unsigned)threads, work, state);

    uint64_t sum = 0;
    for (unsigned t = 0; t < threads; t++)
        sum += state[t].shared_birthdays;
    free(state);

    double mean = (double)sum / (double)attempts;
    lab_result("birthday", run.seconds, (double)attempts,
               "rng=%s threads=%u attempts=%llu mean=%.6f", rng_names[rng],
               (unsigned)threads, (unsigned long long)attempts, mean);
    double above = mean - expected_mean();
    bool races = rng == DRAND48 && threads > 1;
    if (above < -tolerance() || (above > tolerance() && !races))
        lab_fail("the mean is %.6f; expected %.6f, give or take %.6f", mean,
                 expected_mean(), tolerance());
    return 0;
}
