#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct stage {
    pthread_t id;
    int index;
    long handled;
};

static _Atomic long cursor;
static uint64_t digest = 0x9e3779b97f4a7c15ull;
static long total_packets = 350000;
static int nstages = 1;

static __attribute__((noinline)) void await_packet(long seq)
{
    while (atomic_load_explicit(&cursor, memory_order_acquire) != seq)
        sched_yield();
}

static __attribute__((noinline)) uint64_t fold_packet(uint64_t x, long seq)
{
    x ^= (uint64_t)seq;
    for (int i = 0; i < 1000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x | 1;
}

static void *stage_main(void *arg)
{
    struct stage *s = arg;
    for (long seq = s->index; seq < total_packets; seq += nstages) {
        await_packet(seq);
        digest = fold_packet(digest, seq);
        s->handled++;
        atomic_store_explicit(&cursor, seq + 1, memory_order_release);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    nstages = argc > 1 ? atoi(argv[1]) : 1;
    if (nstages < 1)
        nstages = 1;
    if (argc > 2)
        total_packets = atol(argv[2]);
    struct stage *stages = calloc((size_t)nstages, sizeof *stages);
    for (int i = 0; i < nstages; i++) {
        stages[i].index = i;
        pthread_create(&stages[i].id, NULL, stage_main, &stages[i]);
    }
    long handled = 0;
    for (int i = 0; i < nstages; i++) {
        pthread_join(stages[i].id, NULL);
        handled += stages[i].handled;
    }
    printf("packets %ld digest %llx\n", handled, (unsigned long long)digest);
    free(stages);
    return 0;
}
