#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stream {
    pthread_t id;
    int index;
    uint64_t sum;
};

static sem_t slots;
static int slot_count = 1;
static long total_frames = 65000;
static int nstreams = 1;

static uint64_t transform(unsigned char *buf, size_t n, long seq)
{
    uint64_t h = 1469598103934665603ull ^ (uint64_t)seq;
    for (int pass = 0; pass < 4; pass++) {
        for (size_t i = 0; i < n; i++) {
            h = (h ^ buf[i]) * 1099511628211ull;
            buf[i] = (unsigned char)(h >> 24);
        }
    }
    return h;
}

static __attribute__((noinline)) uint64_t encode_frame(unsigned char *buf, size_t n, long seq)
{
    sem_wait(&slots);
    uint64_t h = transform(buf, n, seq);
    sem_post(&slots);
    return h;
}

static void *stream_main(void *arg)
{
    struct stream *s = arg;
    long first = total_frames * s->index / nstreams;
    long last = total_frames * (s->index + 1) / nstreams;
    unsigned char buf[2048];
    uint64_t sum = 0;
    for (long i = first; i < last; i++) {
        memset(buf, (int)(i & 127), sizeof buf);
        sum ^= encode_frame(buf, sizeof buf, i);
    }
    s->sum = sum;
    return NULL;
}

int main(int argc, char **argv)
{
    nstreams = argc > 1 ? atoi(argv[1]) : 1;
    if (nstreams < 1)
        nstreams = 1;
    if (argc > 2)
        total_frames = atol(argv[2]);
    sem_init(&slots, 0, (unsigned)slot_count);
    struct stream *streams = calloc((size_t)nstreams, sizeof *streams);
    for (int i = 0; i < nstreams; i++) {
        streams[i].index = i;
        pthread_create(&streams[i].id, NULL, stream_main, &streams[i]);
    }
    uint64_t sum = 0;
    for (int i = 0; i < nstreams; i++) {
        pthread_join(streams[i].id, NULL);
        sum ^= streams[i].sum;
    }
    printf("frames %ld sum %llx\n", total_frames, (unsigned long long)sum);
    free(streams);
    return 0;
}
