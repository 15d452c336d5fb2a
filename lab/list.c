/* list: threads insert 64-bit keys into doubly linked lists.
 *
 * One source, five programs: each takes one step more than the one before. The
 * switches are set in the Makefile.
 *
 *   program    switches                               loses its time to
 *   list       -                                      user-lock
 *   list-p     PER_THREAD                             allocator, page-fault,
 *                                                     or false-sharing
 *   list-pm    PER_THREAD PREALLOCATED                false-sharing, and
 *                                                     imbalance (see --skew)
 *   list-pml   PER_THREAD PREALLOCATED PARTS          false-sharing
 *   list-pmla  PER_THREAD PREALLOCATED PARTS PADDED   none
 *
 * The list heads are packed in all but the last, as in the published course, so
 * list-pm has two faults: list-pml repairs the imbalance, list-pmla the other.
 *
 * Where: the lock in insert_locked(), malloc() in new_node(), the fixed ranges
 * in work(), the list heads written in insert().
 *
 * The init phase makes the keys, and the nodes where they are pre-allocated;
 * only the insertion is timed. The work grows with the threads: --iterations
 * keys each. With pre-allocated nodes that takes only milliseconds, so these
 * programs do it --rounds times, into emptied lists, with a barrier between the
 * rounds, where the threads that are done wait for the stragglers.
 *
 * --skew makes the ranges uneven (1 + skew times as many keys for the last thread
 * as for the first), as stragglers on a busy machine would. The parts are cut
 * from the same uneven ranges, but whoever is free takes them. As an insertion
 * alone takes no longer than a cache miss, packed heads outweigh everything
 * else; --cost puts processor work before each, as a real program would have,
 * and lets the imbalance be seen (--skew=2 --cost=100 --rounds=3). */
#define _GNU_SOURCE
#include "harness.h"
#include "knee.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#ifndef TEST_NAME
#define TEST_NAME "list-none"
#endif

static uint64_t threads = 1, iterations = 4000000, seed = 1, trace_events = 256;
#ifdef PREALLOCATED
static uint64_t rounds = 100;
static pthread_barrier_t round_end;
#else
static const uint64_t rounds = 1;
#endif
#ifdef PARTS
static uint64_t parts = 0;
#endif
static uint64_t cost = 0;
static double skew = 0;
static bool trace = false;

struct node {
    struct node *next, *previous;
    uint64_t key;
};

/* Packed, two or three heads share a cache line, and each insertion by one
 * thread takes the line away from the others. */
struct list {
#ifdef PADDED
    _Alignas(LAB_CACHE_PAIR)
#endif
    struct node *first, *last; /* GUILTY (list-pml): neighbours in one line */
    uint64_t length;
};

static uint64_t *key;     /* the table of keys, threads * iterations long */
#ifdef PREALLOCATED
static struct node *pool; /* node i is for key i */
#endif
static struct list *lists;
static size_t list_count;

/* What the --cost steps before each insertion gave; never packed. */
struct computed {
    _Alignas(LAB_CACHE_PAIR) uint64_t sum;
};
static struct computed *computed;

/* ---- the light tracer: time stamps now, printing later ------------------ */

struct event {
    uint64_t time;
    const char *label;
    int thread; /* -1: main */
};

static struct event *event_buffer;
static _Atomic uint64_t event_count;

static void note(const char *label, int thread)
{
    if (!trace)
        return;
    uint64_t slot = atomic_fetch_add(&event_count, 1);
    if (slot < trace_events)
        event_buffer[slot] = (struct event){ lab_now(), label, thread };
}

static void print_trace(void)
{
    uint64_t noted = event_count;
    uint64_t kept = noted < trace_events ? noted : trace_events;
    for (uint64_t i = 0; i < kept; i++) {
        const struct event *e = &event_buffer[i];
        /* Slots are given out before the clock is read, so a stamp can be a
         * little older than the one before it. */
        int64_t delta = i ? (int64_t)(e->time - e[-1].time) / 1000 : 0;
        char who[16] = "main";
        if (e->thread >= 0)
            snprintf(who, sizeof who, "%d", e->thread);
        printf("trace thread=%-4s %-14s at=%.0fus delta=%+lldus\n", who, e->label,
               (double)(e->time - event_buffer[0].time) / 1e3, (long long)delta);
    }
    printf("trace events=%llu overflow=%s\n", (unsigned long long)noted,
           noted > kept ? "yes" : "no");
}

/* ---- inserting ----------------------------------------------------------- */

#ifdef PREALLOCATED
static struct node *new_node(uint64_t i)
{
    return &pool[i];
}
#else
static struct node *new_node(uint64_t i)
{
    struct node *node = malloc(sizeof *node); /* GUILTY (list-p) */
    if (!node)
        lab_fail("no memory for a node");
    node->key = key[i];
    return node;
}
#endif

static __attribute__((noinline)) void insert(struct list *list, struct node *node)
{
    node->previous = NULL;
    node->next = list->first;
    if (list->first)
        list->first->previous = node;
    else
        list->last = node;
    list->first = node;
    list->length++;
}

#ifndef PER_THREAD
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) void insert_locked(struct list *list, struct node *node)
{
    pthread_mutex_lock(&lock); /* GUILTY (list) */
    insert(list, node);
    pthread_mutex_unlock(&lock);
}
#endif

/* Inserts keys of the table; returns the sum of what was computed. */
static uint64_t add_keys(struct list *list, uint64_t first, uint64_t last)
{
    uint64_t sum = 0;
    for (uint64_t i = first; i < last; i++) {
        if (cost)
            sum += lab_burn(key[i], cost);
#ifdef PER_THREAD
        insert(list, new_node(i));
#else
        insert_locked(list, new_node(i)); /* the node is made outside the lock */
#endif
    }
    return sum;
}

/* ---- sharing the work ---------------------------------------------------- */

/* Where the range of a thread begins: its weight is 1 for the first thread and
 * rises evenly to 1 + skew for the last. */
static uint64_t range_start(unsigned thread)
{
    double n = (double)threads, t = thread;
    double slope = n > 1 ? skew / (n - 1) : 0;
    double before = t + slope * t * (t - 1) / 2;
    double all = n + slope * n * (n - 1) / 2;
    return (uint64_t)(before / all * (double)(threads * iterations));
}

#ifdef PARTS
/* The number of rounds in which each part has been taken. */
static _Atomic uint64_t *part_taken;

/* Ranges cut into parts: a thread begins with its own, then takes others'. */
static void insert_share(unsigned thread, uint64_t round)
{
    uint64_t per_range = parts / threads;
    for (uint64_t i = 0; i < parts; i++) {
        uint64_t part = (thread * per_range + i) % parts;
        uint64_t free_now = round;
        if (!atomic_compare_exchange_strong(&part_taken[part], &free_now, round + 1))
            continue;
        note("part taken", (int)thread);
        unsigned range = (unsigned)(part / per_range);
        uint64_t start = range_start(range), first, last;
        lab_share(range_start(range + 1) - start, (unsigned)per_range,
                  (unsigned)(part % per_range), &first, &last);
        KNEE_TASK_BEGIN("part");
        computed[thread].sum += add_keys(&lists[thread], start + first, start + last);
        KNEE_TASK_END("part");
    }
}
#else
static void insert_share(unsigned thread, uint64_t round)
{
    (void)round;
    KNEE_TASK_BEGIN("share");
    computed[thread].sum +=
        add_keys(&lists[thread % list_count], range_start(thread),
                 range_start(thread + 1)); /* GUILTY (list-pm): fixed, whoever is late */
    KNEE_TASK_END("share");
}
#endif

static void work(unsigned thread, void *shared)
{
    (void)shared;
    note("thread start", (int)thread);
    insert_share(thread, 0);
#ifdef PREALLOCATED
    for (uint64_t round = 1; round < rounds; round++) {
        note("round done", (int)thread);
        pthread_barrier_wait(&round_end);
        lists[thread].first = lists[thread].last = NULL;
        lists[thread].length = 0;
        insert_share(thread, round);
    }
#endif
    note("thread done", (int)thread);
}

/* ---- before and after ---------------------------------------------------- */

static void init(void)
{
    note("init", -1);
    uint64_t total = threads * iterations;
    /* Not zeroed: each thread writes its own share first, in fill(). */
    key = malloc(total * sizeof *key);
    if (!key)
        lab_fail("no memory for the keys");
#ifdef PREALLOCATED
    pool = malloc(total * sizeof *pool);
    if (!pool)
        lab_fail("no memory for the nodes");
    lab_check(pthread_barrier_init(&round_end, NULL, (unsigned)threads), "barrier");
#endif
#ifdef PARTS
    if (parts < 4 * threads)
        parts = 4 * threads;
    parts = parts / threads * threads; /* the same number for each range */
    part_taken = lab_alloc(parts * sizeof *part_taken, LAB_CACHE_PAIR);
#endif
#ifdef PER_THREAD
    list_count = threads;
#else
    list_count = 1;
#endif
    lists = lab_alloc(list_count * sizeof *lists, LAB_CACHE_PAIR);
    computed = lab_alloc(threads * sizeof *computed, LAB_CACHE_PAIR);
    note("init done", -1);
}

/* Fills a thread's share of the tables. The nodes are written here, so that the
 * timed part takes no first-touch page faults. */
static void fill(unsigned thread, void *shared)
{
    (void)shared;
    uint64_t mix = seed + thread * UINT64_C(0x632be59bd9b4e019);
    for (uint64_t i = thread * iterations; i < (thread + 1) * iterations; i++) {
        key[i] = lab_splitmix(&mix);
#ifdef PREALLOCATED
        pool[i] = (struct node){ .key = key[i] };
#endif
    }
    note("filled", (int)thread);
}

/* Appends the lists to one another, each in constant time. */
static struct list join_lists(void)
{
    struct list all = { 0 };
    for (size_t i = 0; i < list_count; i++) {
        struct list *l = &lists[i];
        if (!l->first)
            continue;
        if (all.last)
            all.last->next = l->first;
        else
            all.first = l->first;
        l->first->previous = all.last;
        all.last = l->last;
        all.length += l->length;
    }
    return all;
}

/* Every key once: the lengths, the sums, and the links in both directions. */
static bool is_right(const struct list *all)
{
    uint64_t nodes = 0, sum = 0, expected = 0;
    const struct node *before = NULL;
    for (const struct node *n = all->first; n; before = n, n = n->next) {
        if (n->previous != before)
            return false;
        sum += n->key;
        nodes++;
    }
    uint64_t steps = 0, expected_steps = 0;
    for (uint64_t i = 0; i < threads * iterations; i++) {
        expected += key[i];
        if (cost)
            expected_steps += rounds * lab_burn_check(key[i], cost);
    }
    for (unsigned t = 0; t < threads; t++)
        steps += computed[t].sum;
    return before == all->last && nodes == threads * iterations &&
           nodes == all->length && sum == expected && steps == expected_steps;
}

int main(int argc, char **argv)
{
    const struct lab_option options[] = {
        { "threads", LAB_COUNT, &threads, 1, LAB_MAX_THREADS, NULL, "threads" },
        { "iterations", LAB_COUNT, &iterations, 1, 1e9, NULL, "keys for each thread" },
#ifdef PARTS
        { "parts", LAB_COUNT, &parts, 0, 1e6, NULL, "parts, at least 4 a thread" },
#endif
#ifdef PREALLOCATED
        { "rounds", LAB_COUNT, &rounds, 1, 1e6, NULL, "repetitions" },
#endif
        { "cost", LAB_COUNT, &cost, 0, 1e9, NULL, "processor work before each insertion" },
        { "skew", LAB_REAL, &skew, 0, 100, NULL, "how uneven the ranges are, 0: even" },
        { "seed", LAB_COUNT, &seed, 0, 1e15, NULL, "for the keys" },
        { "trace", LAB_FLAG, &trace, 0, 0, NULL, "print time stamps" },
        { "trace-size", LAB_COUNT, &trace_events, 1, 1e6, NULL, "stamps kept" },
        { 0 },
    };
    lab_options(argc, argv, "Inserts keys into doubly linked lists (" TEST_NAME ").",
                options);

    event_buffer = lab_alloc(trace_events * sizeof *event_buffer, LAB_CACHE_PAIR);
    init();
    note("launching", -1);
    struct lab_run run = lab_run_prepared((unsigned)threads, fill, work, NULL);
    note("joined", -1);

    static struct list all;
    all = join_lists();
    uint64_t operations = threads * iterations * rounds;
    KNEE_WORK(operations);
    if (trace)
        print_trace();
    printf("test=%s threadNum=%u iterations=%llu numList=%zu numOperation=%llu "
           "runTime(ms)=%.0f tput(Mops)=%.2f\n",
           TEST_NAME, (unsigned)threads, (unsigned long long)iterations, list_count,
           (unsigned long long)operations, run.seconds * 1e3,
           (double)operations / 1e6 / run.seconds);
    if (!is_right(&all))
        lab_fail("the joined list does not hold every key once");
    return 0; /* the nodes are left to the end of the process */
}
