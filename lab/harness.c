/* harness.c: threads, times, results; see harness.h. */
#define _GNU_SOURCE
#include "harness.h"
#include "knee.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- failures, memory, time ------------------------------------------- */

void lab_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(1);
}

void lab_check(int status, const char *what)
{
    if (status != 0)
        lab_fail("%s: %s", what, strerror(status));
}

void *lab_alloc(size_t bytes, size_t alignment)
{
    void *memory;
    if (alignment < sizeof(void *))
        alignment = sizeof(void *);
    lab_check(posix_memalign(&memory, alignment, bytes ? bytes : 1), "memory");
    memset(memory, 0, bytes);
    return memory;
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t lab_now(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

void lab_share(uint64_t total, unsigned threads, unsigned thread,
               uint64_t *first, uint64_t *last)
{
    uint64_t each = total / threads, left_over = total % threads;
    *first = each * thread + (thread < left_over ? thread : left_over);
    *last = *first + each + (thread < left_over ? 1 : 0);
}

/* Two affine maps after one another are one affine map; so the map for 2n steps
 * comes from the map for n steps, and any count from its binary digits. */
uint64_t lab_burn_check(uint64_t x, uint64_t steps)
{
    uint64_t multiply = 6364136223846793005u, add = 1442695040888963407u;
    for (; steps; steps >>= 1) {
        if (steps & 1)
            x = x * multiply + add;
        add += multiply * add;
        multiply *= multiply;
    }
    return x;
}

/* ---- the parallel part ------------------------------------------------ */

struct worker {
    _Alignas(LAB_CACHE_PAIR) pthread_t id;
    unsigned index;
    lab_body *prepare, *body;
    void *shared;
    pthread_barrier_t *go;
    uint64_t start, stop, cpu;
};

static void *run_worker(void *argument)
{
    struct worker *self = argument;
    if (self->prepare)
        self->prepare(self->index, self->shared);
    pthread_barrier_wait(self->go);
    KNEE_BEGIN(); /* outside the timed part: an observer does not prolong it */
    uint64_t cpu_before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    self->start = lab_now();
    self->body(self->index, self->shared);
    self->stop = lab_now();
    self->cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
    KNEE_END();
    return NULL;
}

struct lab_run lab_run(unsigned threads, lab_body *body, void *shared)
{
    return lab_run_prepared(threads, NULL, body, shared);
}

struct lab_run lab_run_prepared(unsigned threads, lab_body *prepare, lab_body *body,
                                void *shared)
{
    struct worker *worker = lab_alloc(threads * sizeof *worker, LAB_CACHE_PAIR);
    pthread_barrier_t go;
    lab_check(pthread_barrier_init(&go, NULL, threads), "barrier");
    for (unsigned i = 0; i < threads; i++) {
        worker[i].index = i;
        worker[i].prepare = prepare;
        worker[i].body = body;
        worker[i].shared = shared;
        worker[i].go = &go;
        lab_check(pthread_create(&worker[i].id, NULL, run_worker, &worker[i]),
                  "pthread_create");
    }
    for (unsigned i = 0; i < threads; i++)
        lab_check(pthread_join(worker[i].id, NULL), "pthread_join");
    pthread_barrier_destroy(&go);

    uint64_t start = UINT64_MAX, first_stop = UINT64_MAX, last_stop = 0, cpu = 0;
    for (unsigned i = 0; i < threads; i++) {
        if (worker[i].start < start)
            start = worker[i].start;
        if (worker[i].stop < first_stop)
            first_stop = worker[i].stop;
        if (worker[i].stop > last_stop)
            last_stop = worker[i].stop;
        cpu += worker[i].cpu;
    }
    free(worker);
    return (struct lab_run){ .seconds = (double)(last_stop - start) / 1e9,
                             .first_done = (double)(first_stop - start) / 1e9,
                             .cpu_seconds = (double)cpu / 1e9 };
}

void lab_result(const char *test, double seconds, double operations,
                const char *format, ...)
{
    KNEE_WORK(operations);
    va_list args;
    va_start(args, format);
    printf("test=%s ", test);
    vprintf(format, args);
    printf(" seconds=%.6f tput(Mops)=%.4f\n", seconds,
           operations / 1e6 / (seconds > 0 ? seconds : 1e-9));
    va_end(args);
    fflush(stdout);
}
