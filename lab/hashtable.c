/* hashtable: threads insert distinct keys into one chained hash table.
 *
 * Where:  the insert functions, one for each --mode.
 * Cause, and the expected cause id, by --mode:
 *   global       user-lock       one mutex for the whole table.
 *   striped      none            a mutex for each of --stripes groups of buckets
 *                                (0: one for each bucket). With one or two
 *                                stripes: user-lock again.
 *   partitioned  none            every bucket has an owner: threads first sort
 *                                their keys by owner, then owners insert.
 *   scan         extra-work      the naive partition: each thread reads all the
 *                                keys and inserts its own. The more threads, the
 *                                more keys are read in total.
 *   lockfree     none            compare-and-swap at the head of the chain.
 * Beyond a few threads, memory-bound: in a table larger than the caches, every
 * insertion misses. Repaired by: --mode=striped, partitioned or lockfree.
 *
 * The work grows with the threads: --iterations keys each. The keys and nodes are
 * made before the clock starts. */
#define _GNU_SOURCE
#include "harness.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum mode { GLOBAL, STRIPED, PARTITIONED, SCAN, LOCKFREE };
static const char *const mode_names[] = { "global", "striped", "partitioned",
                                          "scan", "lockfree", NULL };

static uint64_t threads = 1, iterations = 4000000, buckets = 0, stripes = 4096, seed = 1;
static unsigned mode = GLOBAL;

struct node {
    struct node *next;
    uint64_t key;
};

static _Atomic(struct node *) *bucket;
static struct node *pool; /* node i holds key i */

static pthread_mutex_t global_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *stripe_lock;

/* partitioned: each thread's keys, those of one owner next to one another. */
static struct node **by_owner;
static uint64_t *owner_start; /* [thread][owner] first index in by_owner */
static uint64_t owner_row;    /* words from one thread's row to the next: no two share a cache line */
static pthread_barrier_t sorted;

/* Distinct keys are already well mixed, so the low bits will do. */
static uint64_t bucket_of(uint64_t key)
{
    return key % buckets;
}

/* Puts a node in front of its chain unless the key is there. The caller must
 * ensure that no other thread does so at the same time. */
static inline bool insert_alone(struct node *node)
{
    _Atomic(struct node *) *head = &bucket[bucket_of(node->key)];
    struct node *first = atomic_load_explicit(head, memory_order_relaxed);
    for (struct node *n = first; n; n = n->next)
        if (n->key == node->key)
            return false;
    node->next = first;
    atomic_store_explicit(head, node, memory_order_relaxed);
    return true;
}

static __attribute__((noinline)) bool insert_global(struct node *node)
{
    pthread_mutex_lock(&global_lock); /* GUILTY: one lock for everything */
    bool inserted = insert_alone(node);
    pthread_mutex_unlock(&global_lock);
    return inserted;
}

static __attribute__((noinline)) bool insert_striped(struct node *node)
{
    pthread_mutex_t *lock = &stripe_lock[bucket_of(node->key) % stripes];
    pthread_mutex_lock(lock);
    bool inserted = insert_alone(node);
    pthread_mutex_unlock(lock);
    return inserted;
}

/* Nothing is ever removed, so a head that has not changed means that the chain
 * has not changed either. */
static __attribute__((noinline)) bool insert_lockfree(struct node *node)
{
    _Atomic(struct node *) *head = &bucket[bucket_of(node->key)];
    struct node *first = atomic_load_explicit(head, memory_order_acquire);
    const struct node *searched = NULL; /* known not to hold the key from here on */
    do {
        for (const struct node *n = first; n != searched; n = n->next)
            if (n->key == node->key)
                return false;
        searched = first;
        node->next = first;
    } while (!atomic_compare_exchange_weak_explicit(head, &first, node,
                                                    memory_order_release,
                                                    memory_order_acquire));
    return true;
}

static unsigned owner_of(const struct node *node)
{
    return (unsigned)(bucket_of(node->key) * threads / buckets);
}

/* A counting sort of the thread's own nodes by owner. */
static __attribute__((noinline)) void sort_by_owner(unsigned thread)
{
    uint64_t first = thread * iterations;
    uint64_t *start = &owner_start[thread * owner_row];
    for (uint64_t i = first; i < first + iterations; i++)
        start[owner_of(&pool[i]) + 2]++;
    for (unsigned o = 2; o <= threads; o++)
        start[o] += start[o - 1];
    for (uint64_t i = first; i < first + iterations; i++)
        by_owner[first + start[owner_of(&pool[i]) + 1]++] = &pool[i];
}

static __attribute__((noinline)) void insert_owned(unsigned owner)
{
    for (unsigned t = 0; t < threads; t++) {
        const uint64_t *start = &owner_start[t * owner_row];
        for (uint64_t i = start[owner]; i < start[owner + 1]; i++)
            insert_alone(by_owner[t * iterations + i]);
    }
}

static __attribute__((noinline)) void insert_scanning(unsigned owner)
{
    for (uint64_t i = 0; i < threads * iterations; i++)
        if (owner_of(&pool[i]) == owner) /* GUILTY: asked by every thread */
            insert_alone(&pool[i]);
}

static void work(unsigned thread, void *shared)
{
    (void)shared;
    uint64_t first = thread * iterations, last = first + iterations;
    switch (mode) {
    case GLOBAL:
        for (uint64_t i = first; i < last; i++)
            insert_global(&pool[i]);
        break;
    case STRIPED:
        for (uint64_t i = first; i < last; i++)
            insert_striped(&pool[i]);
        break;
    case PARTITIONED:
        sort_by_owner(thread);
        pthread_barrier_wait(&sorted);
        insert_owned(thread);
        break;
    case SCAN:
        insert_scanning(thread);
        break;
    case LOCKFREE:
        for (uint64_t i = first; i < last; i++)
            insert_lockfree(&pool[i]);
        break;
    }
}

/* The mixing function maps different numbers to different keys, so thread t's
 * keys, made from the numbers that belong to it, are distinct from all others. */
static uint64_t key_at(uint64_t i)
{
    uint64_t mix = (seed + i) * 0x9e3779b97f4a7c15u;
    return lab_splitmix(&mix);
}

/* Each thread touches its own share of all that will be written. */
static void prepare(unsigned thread, void *shared)
{
    (void)shared;
    for (uint64_t i = thread * iterations; i < (thread + 1) * iterations; i++) {
        pool[i] = (struct node){ .key = key_at(i) };
        by_owner[i] = NULL;
    }
    uint64_t first, last;
    lab_share(buckets, (unsigned)threads, thread, &first, &last);
    for (uint64_t i = first; i < last; i++)
        atomic_init(&bucket[i], NULL);
}

/* Every key is there once: found from its bucket, and no more nodes than keys. */
static bool is_right(void)
{
    uint64_t nodes = 0;
    for (uint64_t b = 0; b < buckets; b++)
        for (const struct node *n = bucket[b]; n; n = n->next) {
            if (bucket_of(n->key) != b || n->key != key_at((uint64_t)(n - pool)))
                return false;
            nodes++;
        }
    return nodes == threads * iterations;
}

static void *reserve(uint64_t count, size_t bytes)
{
    void *memory = malloc(count * bytes);
    if (!memory)
        lab_fail("no memory for %llu entries", (unsigned long long)count);
    return memory;
}

int main(int argc, char **argv)
{
    const struct lab_option options[] = {
        { "threads", LAB_COUNT, &threads, 1, LAB_MAX_THREADS, NULL, "threads" },
        { "iterations", LAB_COUNT, &iterations, 1, 1e9, NULL, "keys for each thread" },
        { "mode", LAB_CHOICE, &mode, 0, 0, mode_names, "how inserting is made safe" },
        { "buckets", LAB_BYTES, &buckets, 0, 1e9, NULL,
          "of the table; 0: one for each key" },
        { "stripes", LAB_BYTES, &stripes, 0, 1e9, NULL, "locks; 0: one for each bucket" },
        { "seed", LAB_COUNT, &seed, 0, 1e15, NULL, "for the keys" },
        { 0 },
    };
    lab_options(argc, argv, "Inserts keys into a hash table.", options);
    if (buckets == 0)
        buckets = threads * iterations;
    if (stripes == 0 || stripes > buckets)
        stripes = buckets;

    bucket = reserve(buckets, sizeof *bucket);
    pool = reserve(threads * iterations, sizeof *pool);
    by_owner = reserve(threads * iterations, sizeof *by_owner);
    uint64_t pair = LAB_CACHE_PAIR / sizeof *owner_start;
    owner_row = (threads + 2 + pair - 1) / pair * pair;
    owner_start = lab_alloc(threads * owner_row * sizeof *owner_start, LAB_CACHE_PAIR);
    lab_check(pthread_barrier_init(&sorted, NULL, (unsigned)threads), "barrier");
    if (mode == STRIPED) {
        stripe_lock = reserve(stripes, sizeof *stripe_lock);
        for (uint64_t i = 0; i < stripes; i++)
            lab_check(pthread_mutex_init(&stripe_lock[i], NULL), "mutex");
    }

    struct lab_run run = lab_run_prepared((unsigned)threads, prepare, work, NULL);

    uint64_t operations = threads * iterations;
    bool right = is_right();
    free(bucket);
    free(pool);
    free(by_owner);
    free(owner_start);
    free(stripe_lock);
    printf("test=hashtable-%s threadNum=%u iterations=%llu numBucket=%llu numStripe=%llu "
           "numOperation=%llu runTime(ms)=%.0f tput(Mops)=%.2f\n",
           mode_names[mode], (unsigned)threads, (unsigned long long)iterations,
           (unsigned long long)buckets, (unsigned long long)(mode == STRIPED ? stripes : 0),
           (unsigned long long)operations, run.seconds * 1e3,
           (double)operations / 1e6 / run.seconds);
    if (!right)
        lab_fail("the table does not hold every key once");
    return 0;
}
