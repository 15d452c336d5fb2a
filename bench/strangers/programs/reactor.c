/* Heat and reaction in a rod: cells that are hot enough burn and are
 * integrated with a finer step. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define CELLS 4096
#define STEPS 2400
#define DT 0.02

struct rod {
    double heat[2][CELLS];
    double fuel[CELLS];
};

struct part {
    pthread_t thread;
    int first, last;
    double burnt;
    double hottest;
};

static struct rod rod;
static pthread_barrier_t step_done;

static int substeps(double heat)
{
    if (heat < 0.3)
        return 1;
    return heat < 0.6 ? 8 : 40;
}

static double burn(double heat, double *fuel, double dt, int n)
{
    double h = dt / n, f = *fuel;
    for (int i = 0; i < n; i++) {
        double rate = f * 0.05 * heat * heat / (1 + heat * sqrt(heat));
        f -= rate * h;
        heat += 0.4 * rate * h;
    }
    *fuel = f;
    return heat;
}

static double advance(const double *now, double *then, struct part *p)
{
    double burnt = 0;
    for (int c = p->first; c < p->last; c++) {
        double left = c ? now[c - 1] : now[c];
        double right = c < CELLS - 1 ? now[c + 1] : now[c];
        double heat = now[c] + 0.2 * DT * (left - 2 * now[c] + right);
        double before = rod.fuel[c];
        then[c] = burn(heat, &rod.fuel[c], DT, substeps(heat));
        burnt += before - rod.fuel[c];
    }
    return burnt;
}

static void *simulate(void *arg)
{
    struct part *p = arg;
    for (int s = 0; s < STEPS; s++) {
        const double *now = rod.heat[s & 1];
        double *then = rod.heat[(s & 1) ^ 1];
        p->burnt += advance(now, then, p);
        pthread_barrier_wait(&step_done);
    }
    for (int c = p->first; c < p->last; c++)
        p->hottest = fmax(p->hottest, rod.heat[STEPS & 1][c]);
    return NULL;
}

static void ignite(void)
{
    for (int c = 0; c < CELLS; c++) {
        rod.fuel[c] = 1;
        rod.heat[0][c] = 0.1 + exp(-pow((c - 500) / 520.0, 4));
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1;
    struct part *parts = calloc(n, sizeof *parts);
    if (n < 1 || !parts)
        return 2;
    ignite();
    pthread_barrier_init(&step_done, NULL, n);
    for (int i = 0; i < n; i++) {
        parts[i].first = CELLS * i / n;
        parts[i].last = CELLS * (i + 1) / n;
        pthread_create(&parts[i].thread, NULL, simulate, &parts[i]);
    }
    double burnt = 0, hottest = 0;
    for (int i = 0; i < n; i++) {
        pthread_join(parts[i].thread, NULL);
        burnt += parts[i].burnt;
        hottest = fmax(hottest, parts[i].hottest);
    }
    pthread_barrier_destroy(&step_done);
    printf("burnt %.4f hottest %.4f\n", burnt, hottest);
    free(parts);
    return 0;
}
