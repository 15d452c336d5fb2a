/* pipeline: reader -> transformers -> writer, with bounded queues in between.
 *
 * One thread makes items, --threads threads transform them, one adds them up.
 * The queues have a mutex and two condition variables each (queue.c). Unless
 * --slow says otherwise a transformation costs four times what reading or writing
 * costs, so it is the stage to have more threads for.
 *
 * Where:    the slow stage's function: read_items(), transform_items() or
 *           write_items(). The others wait in queue_push() and queue_pop().
 * Cause:    a pipeline is as fast as its slowest stage. With --slow=reader or
 *           --slow=writer that stage has one thread, and more transformers only
 *           wait.
 * Expected: condition-wait (for that stage's thread); with --slow=none or
 *           --slow=transform, while transformers are few: none.
 * Repaired by: --slow=none. */
#define _GNU_SOURCE
#include "harness.h"
#include "knee.h"
#include "queue.h"

#include <pthread.h>

enum stage { NONE, READER, TRANSFORM, WRITER };
static const char *const stage_names[] = { "none", "reader", "transform", "writer", NULL };

static uint64_t threads = 1, items = 40000, cost = 5000, capacity = 16;
static unsigned slow = NONE;

struct item {
    uint64_t value;
};

static struct queue to_transform, to_write;
static uint64_t sum;

static uint64_t steps_of(enum stage stage)
{
    return cost * (stage == TRANSFORM ? 4 : 1) * (stage == slow ? 10 : 1);
}

static __attribute__((noinline)) void read_items(void)
{
    for (uint64_t i = 0; i < items; i++) {
        struct item *item = lab_alloc(sizeof *item, LAB_CACHE_PAIR);
        item->value = lab_burn(i, steps_of(READER)); /* GUILTY: --slow=reader */
        queue_push(&to_transform, item);
    }
    queue_close(&to_transform);
}

static __attribute__((noinline)) void transform_items(void)
{
    struct item *item;
    while ((item = queue_pop(&to_transform))) {
        item->value = lab_burn(item->value, steps_of(TRANSFORM));
        queue_push(&to_write, item);
    }
}

static __attribute__((noinline)) void write_items(void)
{
    for (uint64_t i = 0; i < items; i++) {
        struct item *item = queue_pop(&to_write);
        sum += lab_burn(item->value, steps_of(WRITER)); /* GUILTY: --slow=writer */
        free(item);
    }
}

static void work(unsigned thread, void *shared)
{
    (void)shared;
    if (thread == 0) {
        pthread_setname_np(pthread_self(), "reader");
        KNEE_TASK_BEGIN("read");
        read_items();
        KNEE_TASK_END("read");
    } else if (thread == 1) {
        pthread_setname_np(pthread_self(), "writer");
        KNEE_TASK_BEGIN("write");
        write_items();
        KNEE_TASK_END("write");
    } else {
        pthread_setname_np(pthread_self(), "transform");
        KNEE_TASK_BEGIN("transform");
        transform_items();
        KNEE_TASK_END("transform");
    }
}

int main(int argc, char **argv)
{
    const struct lab_option options[] = {
        { "threads", LAB_COUNT, &threads, 1, LAB_MAX_THREADS - 2, NULL,
          "transformers; a reader and a writer come on top" },
        { "items", LAB_COUNT, &items, 1, 1e12, NULL, "items in all" },
        { "slow", LAB_CHOICE, &slow, 0, 0, stage_names, "stage that costs ten times as much" },
        { "cost", LAB_COUNT, &cost, 0, 1e9, NULL, "steps to read or write an item" },
        { "capacity", LAB_COUNT, &capacity, 1, 1e6, NULL, "items a queue holds" },
        { 0 },
    };
    lab_options(argc, argv, "Passes items through three stages.", options);

    queue_init(&to_transform, capacity);
    queue_init(&to_write, capacity);
    struct lab_run run = lab_run((unsigned)threads + 2, work, NULL);
    queue_free(&to_transform);
    queue_free(&to_write);

    uint64_t expected = 0;
    uint64_t steps = steps_of(READER) + steps_of(TRANSFORM) + steps_of(WRITER);
    for (uint64_t i = 0; i < items; i++)
        expected += lab_burn_check(i, steps);
    lab_result("pipeline", run.seconds, (double)items,
               "slow=%s threads=%u items=%llu cost=%llu capacity=%llu", stage_names[slow],
               (unsigned)threads, (unsigned long long)items, (unsigned long long)cost,
               (unsigned long long)capacity);
    if (sum != expected)
        lab_fail("the sum is wrong");
    return 0;
}
