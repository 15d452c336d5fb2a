#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CELLS 60000
#define RIM 180000

struct domain {
    pthread_t id;
    int index;
};

static uint32_t cells[CELLS];
static uint64_t rim = 1;
static pthread_barrier_t step_done;
static int steps = 1800;
static int ndomains = 1;

static __attribute__((noinline)) void update_cells(int first, int last)
{
    for (int i = first; i < last; i++) {
        uint32_t v = cells[i];
        for (int k = 0; k < 4; k++)
            v = v * 1664525u + 1013904223u;
        cells[i] = v ^ (v >> 15);
    }
}

static __attribute__((noinline)) void update_rim(int step)
{
    uint64_t r = rim + (uint64_t)step;
    for (int i = 0; i < RIM; i++)
        r = r * 6364136223846793005ull + 1442695040888963407ull;
    rim = r;
}

static void *domain_main(void *arg)
{
    struct domain *d = arg;
    int first = (int)((long)CELLS * d->index / ndomains);
    int last = (int)((long)CELLS * (d->index + 1) / ndomains);
    for (int step = 0; step < steps; step++) {
        update_cells(first, last);
        if (d->index == 0)
            update_rim(step);
        pthread_barrier_wait(&step_done);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    ndomains = argc > 1 ? atoi(argv[1]) : 1;
    if (ndomains < 1)
        ndomains = 1;
    if (argc > 2)
        steps = atoi(argv[2]);
    for (uint32_t i = 0; i < CELLS; i++)
        cells[i] = i * 2654435761u;
    pthread_barrier_init(&step_done, NULL, (unsigned)ndomains);
    struct domain *domains = calloc((size_t)ndomains, sizeof *domains);
    for (int i = 0; i < ndomains; i++) {
        domains[i].index = i;
        pthread_create(&domains[i].id, NULL, domain_main, &domains[i]);
    }
    for (int i = 0; i < ndomains; i++)
        pthread_join(domains[i].id, NULL);
    uint64_t sum = rim;
    for (int i = 0; i < CELLS; i++)
        sum += cells[i];
    printf("steps %d sum %llu\n", steps, (unsigned long long)sum);
    pthread_barrier_destroy(&step_done);
    free(domains);
    return 0;
}
