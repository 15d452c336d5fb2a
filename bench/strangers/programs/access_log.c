#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct request {
    const char *method;
    const char *path;
    unsigned status;
    unsigned bytes;
};

struct worker {
    pthread_t id;
    int index;
    uint64_t served;
    uint64_t bytes;
};

static const char *methods[4] = { "GET", "GET", "POST", "HEAD" };
static const char *paths[8] = {
    "/index.html", "/static/app.js", "/static/site.css", "/api/v1/items",
    "/api/v1/cart", "/images/logo.png", "/search", "/login"
};
static const unsigned statuses[4] = { 200, 200, 304, 404 };

static FILE *out;
static long total_requests = 3000000;
static int nworkers = 1;

static uint64_t advance(uint64_t *s)
{
    uint64_t x = *s;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *s = x;
    return x;
}

static __attribute__((noinline)) void serve(uint64_t *state, struct request *rq)
{
    uint64_t r = advance(state);
    rq->method = methods[r & 3];
    rq->path = paths[(r >> 2) & 7];
    rq->status = statuses[(r >> 5) & 3];
    rq->bytes = 120 + (unsigned)((r >> 16) % 48000);
}

static __attribute__((noinline)) void log_request(const struct request *rq)
{
    fprintf(out, "%s %s %u %u\n", rq->method, rq->path, rq->status, rq->bytes);
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    long first = total_requests * w->index / nworkers;
    long last = total_requests * (w->index + 1) / nworkers;
    uint64_t state = 88172645463325252ull + (uint64_t)w->index * 7919;
    uint64_t served = 0, bytes = 0;
    for (long i = first; i < last; i++) {
        struct request rq;
        serve(&state, &rq);
        log_request(&rq);
        served++;
        bytes += rq.bytes;
    }
    w->served = served;
    w->bytes = bytes;
    return NULL;
}

int main(int argc, char **argv)
{
    nworkers = argc > 1 ? atoi(argv[1]) : 1;
    if (nworkers < 1)
        nworkers = 1;
    if (argc > 2)
        total_requests = atol(argv[2]);
    out = fopen("/dev/null", "w");
    if (!out) {
        perror("/dev/null");
        return 1;
    }
    setvbuf(out, NULL, _IOFBF, 1 << 16);
    struct worker *workers = calloc((size_t)nworkers, sizeof *workers);
    for (int i = 0; i < nworkers; i++) {
        workers[i].index = i;
        pthread_create(&workers[i].id, NULL, worker_main, &workers[i]);
    }
    uint64_t served = 0, bytes = 0;
    for (int i = 0; i < nworkers; i++) {
        pthread_join(workers[i].id, NULL);
        served += workers[i].served;
        bytes += workers[i].bytes;
    }
    fclose(out);
    printf("served %llu requests, %llu bytes\n", (unsigned long long)served, (unsigned long long)bytes);
    free(workers);
    return 0;
}
