/* allocstorm: nothing but malloc and free, of mixed sizes.
 *
 * Where:    new_block() and release_block(), called from storm_local() or
 *           storm_handoff().
 * Cause, by --pattern:
 *   local    a thread frees what it allocated, at random from --live blocks.
 *            glibc gives each thread an arena, so this scales; but it takes
 *            all of the time.
 *   handoff  the next thread in a ring frees what a thread allocated. The block
 *            goes back to the arena it came from, and both threads contend for
 *            that arena's lock. Blocks travel in batches, some of them ahead, so
 *            that the queue between the threads costs little.
 * Expected: allocator in both, with lock waiting inside free() and malloc() for
 *           handoff.
 * Repaired by: another allocator, for example
 *           LD_PRELOAD=libjemalloc.so.2 (or libtcmalloc_minimal.so.4, or
 *           libmimalloc.so.2), and --pattern=local. */
#define _GNU_SOURCE
#include "harness.h"
#include "queue.h"

#define BATCH 256
/* Batches that a thread gives before it takes its first: as long as no thread
 * is that many batches behind, none waits. Must be less than a queue can hold. */
#define AHEAD 8
#define QUEUE 16

enum pattern { LOCAL, HANDOFF };
static const char *const pattern_names[] = { "local", "handoff", NULL };

static uint64_t threads = 1, iterations = 30000000, live = 1000, largest = 4096, seed = 1;
static unsigned pattern = LOCAL;

/* What a block begins with. The last byte is written as well. */
struct block {
    uint64_t size, stamp;
};

struct batch {
    struct block *block[BATCH];
    unsigned count;
};

static struct thread_state {
    _Alignas(LAB_CACHE_PAIR) struct queue incoming;
    uint64_t random, allocated, released, damaged;
} *state;

/* Small sizes are more frequent than large ones: each doubling is as likely as
 * the one before. */
static uint64_t draw_size(uint64_t *random)
{
    uint64_t limit = 2 * sizeof(struct block), r = lab_splitmix(random);
    for (unsigned doublings = (unsigned)(r % 8); doublings && 2 * limit <= largest; doublings--)
        limit *= 2;
    return limit / 2 + (r >> 8) % (limit / 2) + 1;
}

static uint64_t stamp_of(const struct block *block)
{
    return (uint64_t)(uintptr_t)block ^ block->size * 0x9e3779b97f4a7c15u;
}

static __attribute__((noinline)) struct block *new_block(struct thread_state *self)
{
    uint64_t size = draw_size(&self->random);
    struct block *block = malloc(size); /* GUILTY */
    if (!block)
        lab_fail("no memory for %llu bytes", (unsigned long long)size);
    ((unsigned char *)block)[size - 1] = 0;
    block->size = size;
    block->stamp = stamp_of(block);
    self->allocated++;
    return block;
}

static __attribute__((noinline)) void release_block(struct thread_state *self,
                                                    struct block *block)
{
    self->damaged += block->stamp != stamp_of(block);
    self->released++;
    free(block); /* GUILTY: with handoff, into another thread's arena */
}

static __attribute__((noinline)) void storm_local(struct thread_state *self, uint64_t count)
{
    struct block **held = lab_alloc(live * sizeof *held, LAB_CACHE_PAIR);
    for (uint64_t i = 0; i < count; i++) {
        struct block **slot = &held[lab_splitmix(&self->random) % live];
        if (*slot)
            release_block(self, *slot);
        *slot = new_block(self);
    }
    for (uint64_t i = 0; i < live; i++)
        if (held[i])
            release_block(self, held[i]);
    free(held);
}

static __attribute__((noinline)) void take_batch(struct thread_state *self)
{
    struct batch *batch = queue_pop(&self->incoming);
    if (!batch)
        return; /* impossible: every thread gives as many as it takes */
    for (unsigned i = 0; i < batch->count; i++)
        release_block(self, batch->block[i]);
    free(batch);
}

/* Gives batches to the next thread and frees those of the previous one. All queues
 * together hold at most AHEAD batches for each thread, so they are never all full,
 * and some thread can always continue. */
static __attribute__((noinline)) void storm_handoff(struct thread_state *self,
                                                    struct thread_state *next,
                                                    uint64_t count)
{
    uint64_t given = 0, taken = 0;
    for (uint64_t done = 0; done < count;) {
        struct batch *batch = malloc(sizeof *batch);
        if (!batch)
            lab_fail("no memory for a batch");
        for (batch->count = 0; batch->count < BATCH && done < count; done++)
            batch->block[batch->count++] = new_block(self);
        queue_push(&next->incoming, batch);
        given++;
        for (; taken + AHEAD < given; taken++)
            take_batch(self);
    }
    for (; taken < given; taken++)
        take_batch(self);
}

static void work(unsigned thread, void *shared)
{
    (void)shared;
    /* The same for all, or some threads of the ring would wait forever. */
    uint64_t count = iterations / threads;
    if (pattern == LOCAL)
        storm_local(&state[thread], count);
    else
        storm_handoff(&state[thread], &state[(thread + 1) % threads], count);
}

int main(int argc, char **argv)
{
    const struct lab_option options[] = {
        { "threads", LAB_COUNT, &threads, 1, LAB_MAX_THREADS, NULL, "threads" },
        { "iterations", LAB_COUNT, &iterations, 1, 1e15, NULL,
          "blocks of all threads, rounded down to the same for each" },
        { "pattern", LAB_CHOICE, &pattern, 0, 0, pattern_names, "who frees a block" },
        { "live", LAB_COUNT, &live, 1, 1e8, NULL, "blocks that a thread holds (local)" },
        { "largest", LAB_BYTES, &largest, 32, 1 << 30, NULL,
          "block size that may occur, up to 4K" },
        { "seed", LAB_COUNT, &seed, 0, 1e15, NULL, "for sizes and order" },
        { 0 },
    };
    lab_options(argc, argv, "Allocates and frees blocks of mixed sizes.", options);

    state = lab_alloc(threads * sizeof *state, LAB_CACHE_PAIR);
    uint64_t mix = seed;
    for (unsigned t = 0; t < threads; t++) {
        state[t].random = lab_splitmix(&mix);
        queue_init(&state[t].incoming, QUEUE);
    }
    struct lab_run run = lab_run((unsigned)threads, work, NULL);

    uint64_t expected = iterations / threads * threads;
    uint64_t allocated = 0, released = 0, damaged = 0;
    for (unsigned t = 0; t < threads; t++) {
        allocated += state[t].allocated;
        released += state[t].released;
        damaged += state[t].damaged;
        queue_free(&state[t].incoming);
    }
    free(state);
    lab_result("allocstorm", run.seconds, (double)allocated,
               "pattern=%s threads=%u iterations=%llu live=%llu", pattern_names[pattern],
               (unsigned)threads, (unsigned long long)allocated, (unsigned long long)live);
    if (allocated != expected || released != expected || damaged)
        lab_fail("%llu blocks allocated, %llu released, %llu damaged",
                 (unsigned long long)allocated, (unsigned long long)released,
                 (unsigned long long)damaged);
    return 0;
}
