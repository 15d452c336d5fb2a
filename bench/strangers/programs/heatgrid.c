/*
 * heatgrid - smouldering front moving through a strip of peat.
 *
 * The domain is divided into strips of cells.  All cells conduct heat; the
 * cells near the front also burn fuel, which is integrated with a much finer
 * time step.  Each worker owns a contiguous range of strips.
 *
 * usage: heatgrid THREADS
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define STRIPS        48
#define CELLS         256
#define N             (STRIPS * CELLS)
#define STEPS         1000
#define FRONT_STRIPS  3
#define FINE_SUBSTEPS 220
#define COLD_SUBSTEPS 2
#define MAX_THREADS   STRIPS

struct grid {
    double heat[2][N];
    double fuel[N];
};

struct worker {
    pthread_t tid;
    int first_strip;
    int end_strip;
};

static struct grid grid;
static pthread_barrier_t step_done;

static void init_grid(void)
{
    uint32_t s = 12345u;

    for (int i = 0; i < N; i++) {
        s = s * 1103515245u + 12345u;
        grid.heat[0][i] = 0.30 + 0.05 * (double)((s >> 16) & 0xff) / 255.0;
        grid.heat[1][i] = grid.heat[0][i];
        grid.fuel[i] = 0.8 + 0.2 * (double)((s >> 8) & 0xff) / 255.0;
    }
    for (int i = 0; i < CELLS; i++)
        grid.heat[0][i] += 0.5;
}

/* The strip where the front begins in the given step. */
static int front_at(int step)
{
    return step * (STRIPS - FRONT_STRIPS + 1) / STEPS;
}

static double burn(double heat, double *fuel, int substeps)
{
    double f = *fuel;

    for (int k = 0; k < substeps; k++) {
        double rate = 0.0005 * f * heat;
        f -= rate;
        heat += 1.1 * rate - 0.0002 * heat;
    }
    *fuel = f;
    return heat;
}

static double conduct(const double *heat, int i)
{
    double left = i > 0 ? heat[i - 1] : heat[i];
    double right = i < N - 1 ? heat[i + 1] : heat[i];

    return heat[i] + 0.12 * (left - 2.0 * heat[i] + right);
}

static void advance_strip(int strip, int step)
{
    const double *now = grid.heat[step & 1];
    double *next = grid.heat[(step + 1) & 1];
    int front = front_at(step);
    int burning = strip >= front && strip < front + FRONT_STRIPS;
    int substeps = burning ? FINE_SUBSTEPS : COLD_SUBSTEPS;

    for (int c = 0; c < CELLS; c++) {
        int i = strip * CELLS + c;
        next[i] = burn(conduct(now, i), &grid.fuel[i], substeps);
    }
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;

    for (int step = 0; step < STEPS; step++) {
        for (int s = w->first_strip; s < w->end_strip; s++)
            advance_strip(s, step);
        pthread_barrier_wait(&step_done);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker workers[MAX_THREADS];
    int n = argc > 1 ? atoi(argv[1]) : 1;

    if (n < 1 || n > MAX_THREADS) {
        fprintf(stderr, "usage: heatgrid THREADS (1..%d)\n", MAX_THREADS);
        return 2;
    }
    init_grid();
    pthread_barrier_init(&step_done, NULL, (unsigned)n);
    for (int t = 0; t < n; t++) {
        workers[t].first_strip = STRIPS * t / n;
        workers[t].end_strip = STRIPS * (t + 1) / n;
        if (pthread_create(&workers[t].tid, NULL, worker_main, &workers[t]) != 0) {
            perror("pthread_create");
            return 1;
        }
    }
    for (int t = 0; t < n; t++)
        pthread_join(workers[t].tid, NULL);
    pthread_barrier_destroy(&step_done);

    double heat = 0.0, fuel = 0.0, peak = 0.0;
    for (int i = 0; i < N; i++) {
        double h = grid.heat[STEPS & 1][i];
        heat += h;
        fuel += grid.fuel[i];
        if (h > peak)
            peak = h;
    }
    printf("steps %d heat %.6f fuel %.6f peak %.6f\n", STEPS, heat, fuel, peak);
    return 0;
}
