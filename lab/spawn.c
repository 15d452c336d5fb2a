/* spawn: what creating and ending a thread costs.
 *
 * --threads threads create --count threads in all, in batches: --alive exist at
 * the same time, then they are let go and joined. Each creation (with mapping the
 * stack) and each join (with unmapping it) is timed by itself.
 *
 * Where:    create_one(); for the failing call: the low stack_map() in it.
 * Cause, and the expected cause id, by --map:
 *   default      thread-creation  the C library maps, and keeps, the stacks.
 *   high         thread-creation  a mapping for each stack, anywhere.
 *   32bit-first  failing-syscall  a stack below 2 GiB is tried first, as glibc
 *                                 2.7 did. There is 1 GiB to be had: when that
 *                                 is full, a failing mmap comes before each
 *                                 successful one. (With fewer --alive than fit:
 *                                 thread-creation only.)
 * Repaired by: --map=high or default, for the failing call. For the creation: a
 * pool of threads. The failing search was slow in 2008; on today's kernels it is
 * cheap, as --table shows.
 *
 * Many threads need room: pids, and mappings (2 for each stack; see
 * /proc/sys/vm/max_map_count). A stack takes memory only where it is touched, about
 * 8 KiB here and as much again in the kernel. */
#define _GNU_SOURCE
#include "harness.h"
#include "stacks.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum map { MAP_DEFAULT, MAP_LOW_FIRST, MAP_HIGH };
static const char *const map_names[] = { "default", "32bit-first", "high", NULL };

static uint64_t threads = 1, count = 20000, alive = 2000, stack_size = 1 << 20;
static unsigned map = MAP_DEFAULT;
static bool table = true;

/* A created thread, and what it took. */
struct spawned {
    pthread_t id;
    struct stack stack;
    _Atomic uint32_t *gate;
    uint64_t create_cycles, join_cycles;
    uint32_t alive_before; /* in the same batch */
    bool low_failed, has_run;
};

static struct spawned *spawned;

/* Lives until the gate opens. */
static void *live(void *argument)
{
    struct spawned *self = argument;
    self->has_run = true;
    while (atomic_load(self->gate) == 0)
        syscall(SYS_futex, self->gate, FUTEX_WAIT_PRIVATE, 0, NULL);
    return NULL;
}

static __attribute__((noinline)) void create_one(struct spawned *s)
{
    uint64_t start = cycles_now();
    s->stack.size = stack_size;
    if (map == MAP_LOW_FIRST) {
        s->low_failed = !stack_map(&s->stack, stack_size, true); /* GUILTY: may fail */
        if (s->low_failed && !stack_map(&s->stack, stack_size, false))
            lab_fail("no room for a stack");
    } else if (map == MAP_HIGH && !stack_map(&s->stack, stack_size, false)) {
        lab_fail("no room for a stack");
    }
    int status = stack_create_thread(&s->id, &s->stack, live, s); /* GUILTY */
    s->create_cycles = cycles_now() - start;
    if (status != 0)
        lab_fail("pthread_create with %u others alive: %s", s->alive_before,
                 strerror(status));
}

static __attribute__((noinline)) void join_one(struct spawned *s)
{
    uint64_t start = cycles_now();
    lab_check(pthread_join(s->id, NULL), "pthread_join");
    stack_unmap(&s->stack);
    s->join_cycles = cycles_now() - start;
}

static void work(unsigned thread, void *shared)
{
    (void)shared;
    uint64_t first, last, batch, unused;
    lab_share(count, (unsigned)threads, thread, &first, &last);
    lab_share(alive, (unsigned)threads, 0, &unused, &batch);
    while (first < last) {
        _Atomic uint32_t gate = 0;
        uint64_t end = first + batch < last ? first + batch : last;
        for (uint64_t i = first; i < end; i++) {
            spawned[i].gate = &gate;
            spawned[i].alive_before = (uint32_t)(i - first);
            create_one(&spawned[i]);
        }
        atomic_store(&gate, 1);
        syscall(SYS_futex, &gate, FUTEX_WAKE_PRIVATE, INT_MAX);
        for (uint64_t i = first; i < end; i++)
            join_one(&spawned[i]);
        first = end;
    }
}

/* ---- the tables --------------------------------------------------------------- */

static int compare_cycles(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void print_row(const char *label, uint64_t *cycles, uint64_t n, uint64_t failed)
{
    qsort(cycles, n, sizeof *cycles, compare_cycles);
    printf("%-22s %8llu %9llu %9llu %9llu %10llu %8llu\n", label, (unsigned long long)n,
           (unsigned long long)cycles[n / 2], (unsigned long long)cycles[n * 9 / 10],
           (unsigned long long)cycles[n * 99 / 100], (unsigned long long)cycles[n - 1],
           (unsigned long long)failed);
}

/* Creation by the number of threads that were there before, then all. */
static void print_table(void)
{
    uint64_t *cycles = lab_alloc(count * sizeof *cycles, sizeof *cycles);
    uint64_t batch = (alive + threads - 1) / threads;
    printf("%-22s %8s %9s %9s %9s %10s %8s   (%s)\n", "alive before", "threads", "median",
           "90%", "99%", "longest", "failed", cycles_unit);
    for (unsigned part = 0; part < 10; part++) {
        uint64_t low = batch * part / 10, high = batch * (part + 1) / 10, n = 0, failed = 0;
        for (uint64_t i = 0; i < count; i++)
            if (spawned[i].alive_before >= low && spawned[i].alive_before < high) {
                cycles[n++] = spawned[i].create_cycles;
                failed += spawned[i].low_failed;
            }
        char label[48];
        snprintf(label, sizeof label, "create %llu..%llu", (unsigned long long)low,
                 (unsigned long long)high - 1);
        if (n)
            print_row(label, cycles, n, failed);
    }
    uint64_t failed = 0;
    for (uint64_t i = 0; i < count; i++) {
        cycles[i] = spawned[i].create_cycles;
        failed += spawned[i].low_failed;
    }
    print_row("create, all", cycles, count, failed);
    for (uint64_t i = 0; i < count; i++)
        cycles[i] = spawned[i].join_cycles;
    print_row("join, all", cycles, count, 0);
    free(cycles);
}

int main(int argc, char **argv)
{
    const struct lab_option options[] = {
        { "threads", LAB_COUNT, &threads, 1, LAB_MAX_THREADS, NULL, "threads that create" },
        { "count", LAB_COUNT, &count, 1, 1e8, NULL, "threads to create in all" },
        { "alive", LAB_COUNT, &alive, 1, 1e6, NULL, "at the same time, of all creators" },
        { "stack", LAB_BYTES, &stack_size, 65536, 1 << 30, NULL, "size of a stack" },
        { "map", LAB_CHOICE, &map, 0, 0, map_names, "where the stacks come from" },
        { "table", LAB_FLAG, &table, 0, 0, NULL, "print the percentiles" },
        { 0 },
    };
    lab_options(argc, argv, "Creates and joins threads, and times each.", options);
    if (stack_size % (uint64_t)sysconf(_SC_PAGESIZE))
        lab_usage_error("--stack must be a whole number of pages");

    spawned = lab_alloc(count * sizeof *spawned, LAB_CACHE_PAIR);
    struct lab_run run = lab_run((unsigned)threads, work, NULL);

    bool all_ran = true;
    uint64_t failed = 0;
    for (uint64_t i = 0; i < count; i++) {
        all_ran = all_ran && spawned[i].has_run;
        failed += spawned[i].low_failed;
    }
    if (table)
        print_table();
    free(spawned);
    lab_result("spawn", run.seconds, (double)count,
               "map=%s threads=%u count=%llu alive=%llu stack=%llu failed=%llu", map_names[map],
               (unsigned)threads, (unsigned long long)count, (unsigned long long)alive,
               (unsigned long long)stack_size, (unsigned long long)failed);
    if (!all_ran)
        lab_fail("a thread that was joined has never run");
    return 0;
}
