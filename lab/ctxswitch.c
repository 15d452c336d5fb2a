/* ctxswitch: what it costs to switch from one thread to another.
 *
 * --threads threads on one processor pass a token round a ring; each hand-over
 * needs a switch. --via says how they wait: on a futex, in a pipe, or by offering
 * the processor to others until it is their turn. --stacks puts the stacks below
 * 2 GiB or above: there was a time when that mattered. One thread alone passes
 * the token to itself, which shows what the calls cost without a switch.
 *
 * Where:    wait_for_token(), pass_token().
 * Cause:    only the holder of the token can go on, and all are on one processor.
 * Expected: condition-wait with futex and pipe; oversubscription with yield.
 * Repaired by: nothing to repair; this program measures. */
#define _GNU_SOURCE
#include "harness.h"
#include "knee.h"
#include "stacks.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum via { VIA_FUTEX, VIA_PIPE, VIA_YIELD };
static const char *const via_names[] = { "futex", "pipe", "yield", NULL };
enum place { PLACE_DEFAULT, PLACE_LOW, PLACE_HIGH };
static const char *const place_names[] = { "default", "low", "high", NULL };

static uint64_t threads = 2, switches = 500000, stack_size = 256 << 10;
static unsigned via = VIA_FUTEX, place = PLACE_DEFAULT;
static bool table = false;
static bool marked = false; /* this is the measurement of the result line */

/* One thread's place in the ring. */
struct member {
    _Alignas(LAB_CACHE_PAIR) _Atomic uint32_t token; /* futex: 1 when it is here */
    int pipe[2];
    pthread_t id;
    struct stack stack;
    unsigned index;
};

/* What is measured in one go. */
static struct ring {
    struct member *member;
    unsigned members, via;
    uint64_t laps, cycles, nanoseconds, kernel_switches;
    uint64_t handed_over; /* no atomic: only the holder of the token counts */
    _Atomic uint32_t turn; /* yield */
    pthread_barrier_t start;
} ring;

static __attribute__((noinline)) void wait_for_token(struct member *self)
{
    char byte;
    switch (ring.via) {
    case VIA_FUTEX:
        while (atomic_exchange(&self->token, 0) == 0)
            syscall(SYS_futex, &self->token, FUTEX_WAIT_PRIVATE, 0, NULL);
        break;
    case VIA_PIPE:
        if (read(self->pipe[0], &byte, 1) != 1)
            lab_fail("read: %s", strerror(errno));
        break;
    case VIA_YIELD:
        while (atomic_load(&ring.turn) != self->index)
            sched_yield();
        break;
    }
}

static __attribute__((noinline)) void pass_token(struct member *self)
{
    struct member *next = &ring.member[(self->index + 1) % ring.members];
    switch (ring.via) {
    case VIA_FUTEX:
        atomic_store(&next->token, 1);
        syscall(SYS_futex, &next->token, FUTEX_WAKE_PRIVATE, 1);
        break;
    case VIA_PIPE:
        if (write(next->pipe[1], "t", 1) != 1)
            lab_fail("write: %s", strerror(errno));
        break;
    case VIA_YIELD:
        atomic_store(&ring.turn, next->index);
        break;
    }
}

static uint64_t kernel_switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
}

static void *go_round(void *argument)
{
    struct member *self = argument;
    pthread_barrier_wait(&ring.start);
    if (self->index == 0) {
        if (marked)
            KNEE_BEGIN();
        ring.kernel_switches = kernel_switches();
        ring.nanoseconds = lab_now();
        ring.cycles = cycles_now();
    }
    for (uint64_t lap = 0; lap < ring.laps; lap++) {
        if (self->index != 0) /* the first holds the token from the beginning */
            wait_for_token(self);
        ring.handed_over++;
        pass_token(self);
        if (self->index == 0)
            wait_for_token(self);
    }
    if (self->index == 0) {
        ring.cycles = cycles_now() - ring.cycles;
        ring.nanoseconds = lab_now() - ring.nanoseconds;
        ring.kernel_switches = kernel_switches() - ring.kernel_switches;
        if (marked)
            KNEE_END();
    }
    return NULL;
}

/* Returns the cycles for one hand-over; more is left in `ring`. */
static double measure(unsigned members, unsigned how, unsigned where, uint64_t hand_overs)
{
    ring = (struct ring){ .members = members, .via = how,
                          .laps = (hand_overs + members - 1) / members };
    ring.member = lab_alloc(members * sizeof *ring.member, LAB_CACHE_PAIR);
    lab_check(pthread_barrier_init(&ring.start, NULL, members), "barrier");
    for (unsigned i = 0; i < members; i++) {
        struct member *m = &ring.member[i];
        m->index = i;
        m->stack.size = stack_size;
        if (how == VIA_PIPE && pipe(m->pipe) != 0)
            lab_fail("pipe: %s", strerror(errno));
        if (where != PLACE_DEFAULT && !stack_map(&m->stack, stack_size, where == PLACE_LOW))
            lab_fail("no room for a stack at %s addresses", place_names[where]);
    }
    for (unsigned i = 0; i < members; i++)
        lab_check(stack_create_thread(&ring.member[i].id, &ring.member[i].stack, go_round,
                                      &ring.member[i]),
                  "pthread_create");
    for (unsigned i = 0; i < members; i++)
        lab_check(pthread_join(ring.member[i].id, NULL), "pthread_join");
    for (unsigned i = 0; i < members; i++) {
        stack_unmap(&ring.member[i].stack);
        if (how == VIA_PIPE) {
            close(ring.member[i].pipe[0]);
            close(ring.member[i].pipe[1]);
        }
    }
    pthread_barrier_destroy(&ring.start);
    free(ring.member);
    uint64_t expected = ring.laps * members;
    if (ring.handed_over != expected)
        lab_fail("the token was handed over %llu times, not %llu",
                 (unsigned long long)ring.handed_over, (unsigned long long)expected);
    return (double)ring.cycles / (double)expected;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Low against high stacks, in turns, for several numbers of threads. */
static void print_table(void)
{
    enum { RUNS = 5 };
    static const unsigned members[] = { 2, 4, 16, 64 };
    printf("%s a hand-over, median of %d\n%-6s %8s %10s %10s\n", cycles_unit, (int)RUNS,
           "via", "threads", "low", "high");
    for (unsigned how = 0; via_names[how]; how++)
        for (unsigned m = 0; m < sizeof members / sizeof members[0]; m++) {
            double low[RUNS], high[RUNS];
            for (int run = 0; run < RUNS; run++) {
                low[run] = measure(members[m], how, PLACE_LOW, switches / 10 + 1);
                high[run] = measure(members[m], how, PLACE_HIGH, switches / 10 + 1);
            }
            qsort(low, RUNS, sizeof low[0], compare_doubles);
            qsort(high, RUNS, sizeof high[0], compare_doubles);
            printf("%-6s %8u %10.0f %10.0f\n", via_names[how], members[m], low[RUNS / 2],
                   high[RUNS / 2]);
        }
}

/* Keeps this process on the first processor it may use. */
static void stay_on_one_processor(void)
{
    cpu_set_t allowed, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        lab_fail("sched_getaffinity: %s", strerror(errno));
    int first = 0;
    while (!CPU_ISSET(first, &allowed))
        first++;
    CPU_SET(first, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        lab_fail("sched_setaffinity: %s", strerror(errno));
}

int main(int argc, char **argv)
{
    const struct lab_option options[] = {
        { "threads", LAB_COUNT, &threads, 1, LAB_MAX_THREADS, NULL, "in the ring" },
        { "switches", LAB_COUNT, &switches, 1, 1e12, NULL,
          "hand-overs, rounded up to whole laps" },
        { "via", LAB_CHOICE, &via, 0, 0, via_names, "how a thread waits for the token" },
        { "stacks", LAB_CHOICE, &place, 0, 0, place_names, "where the stacks are" },
        { "stack", LAB_BYTES, &stack_size, 65536, 1 << 30, NULL, "size of a stack" },
        { "table", LAB_FLAG, &table, 0, 0, NULL, "first compare low and high stacks" },
        { 0 },
    };
    lab_options(argc, argv, "Passes a token between threads on one processor.", options);
    if (stack_size % (uint64_t)sysconf(_SC_PAGESIZE))
        lab_usage_error("--stack must be a whole number of pages");
#ifndef __x86_64__
    if (place == PLACE_LOW || table)
        lab_usage_error("low stacks can only be asked for on x86-64");
#endif

    stay_on_one_processor();
    if (table)
        print_table();
    marked = true;
    double cycles = measure((unsigned)threads, via, place, switches);
    lab_result("ctxswitch", (double)ring.nanoseconds / 1e9, (double)ring.handed_over,
               "via=%s stacks=%s threads=%u switches=%llu counted=%llu %s/switch=%.0f",
               via_names[via], place_names[place], (unsigned)threads,
               (unsigned long long)ring.handed_over,
               (unsigned long long)ring.kernel_switches, cycles_unit, cycles);
    return 0;
}
