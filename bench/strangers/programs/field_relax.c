#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct slab {
    pthread_t id;
    size_t first;
    size_t last;
    double sum;
};

static size_t cells = 6000000;
static int steps = 60;
static double *field, *drift, *next_field;

static __attribute__((noinline)) void fill(double *restrict f, double *restrict d, double *restrict n, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        f[i] = 1.0 + (double)(i & 255) * 0.001;
        d[i] = 0.5 - (double)(i & 127) * 0.002;
        n[i] = 0.0;
    }
}

static __attribute__((noinline)) void relax(double *restrict dst, const double *restrict src, const double *restrict d,
                                            size_t first, size_t last, double k)
{
    for (size_t i = first; i < last; i++)
        dst[i] = src[i] + k * d[i];
}

static void *slab_main(void *arg)
{
    struct slab *s = arg;
    fill(field, drift, next_field, s->first, s->last);
    double *src = field, *dst = next_field;
    for (int step = 0; step < steps; step++) {
        relax(dst, src, drift, s->first, s->last, 0.01);
        double *tmp = src;
        src = dst;
        dst = tmp;
    }
    double sum = 0;
    for (size_t i = s->first; i < s->last; i += 4096)
        sum += src[i];
    s->sum = sum;
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    if (threads < 1)
        threads = 1;
    if (argc > 2)
        steps = atoi(argv[2]);
    field = malloc(cells * sizeof *field);
    drift = malloc(cells * sizeof *drift);
    next_field = malloc(cells * sizeof *next_field);
    struct slab *slabs = calloc((size_t)threads, sizeof *slabs);
    if (!field || !drift || !next_field || !slabs)
        return 1;
    for (int t = 0; t < threads; t++) {
        slabs[t].first = cells * (size_t)t / (size_t)threads;
        slabs[t].last = cells * (size_t)(t + 1) / (size_t)threads;
        pthread_create(&slabs[t].id, NULL, slab_main, &slabs[t]);
    }
    double sum = 0;
    for (int t = 0; t < threads; t++) {
        pthread_join(slabs[t].id, NULL);
        sum += slabs[t].sum;
    }
    printf("steps %d sum %.3f\n", steps, sum);
    free(slabs);
    free(next_field);
    free(drift);
    free(field);
    return 0;
}
