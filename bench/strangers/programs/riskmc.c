/*
 * riskmc - Monte Carlo loss distribution of a loan book.
 *
 * Trials are grouped into blocks; a block has its own random stream, so the
 * distribution does not depend on how the blocks are dealt to the workers.
 *
 * usage: riskmc THREADS
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_LOANS       64
#define N_BLOCKS      400
#define BLOCK_TRIALS  2800
#define LOSS_BUCKETS  256
#define BUCKET_WIDTH  60000
#define MAX_THREADS   64

struct loan {
    double default_prob;
    double recovery;
    int64_t exposure;           /* cents */
};

struct distribution {
    uint64_t bucket[LOSS_BUCKETS];
    uint64_t defaults;
    int64_t total_loss;
    int64_t worst;
};

struct worker {
    pthread_t tid;
    int id;
    int first_block;
    int end_block;
    struct distribution *result;
};

static struct loan book[N_LOANS];

/* The random stream of each worker, in the form erand48() wants it. */
static unsigned short stream[MAX_THREADS][3];

static void build_book(void)
{
    unsigned short seed[3] = { 0x1234, 0x5678, 0x9abc };

    for (int i = 0; i < N_LOANS; i++) {
        book[i].default_prob = 0.004 + 0.05 * erand48(seed);
        book[i].recovery = 0.2 + 0.5 * erand48(seed);
        book[i].exposure = 50000 + (int64_t)(erand48(seed) * 950000.0);
    }
}

static void seed_stream(int worker, int block)
{
    uint64_t x = ((uint64_t)block + 1) * 0x9e3779b97f4a7c15ull;

    x ^= x >> 29;
    stream[worker][0] = (unsigned short)(x);
    stream[worker][1] = (unsigned short)(x >> 16);
    stream[worker][2] = (unsigned short)(x >> 32);
}

/* One year of the whole book; returns the loss in cents. */
static int64_t simulate_year(unsigned short *rng, uint64_t *defaults)
{
    int64_t loss = 0;
    double climate = 0.6 + 0.8 * erand48(rng);

    for (int i = 0; i < N_LOANS; i++) {
        const struct loan *l = &book[i];
        if (erand48(rng) < l->default_prob * climate) {
            loss += (int64_t)((double)l->exposure * (1.0 - l->recovery));
            (*defaults)++;
        }
    }
    return loss;
}

static void record_loss(struct distribution *d, int64_t loss)
{
    int64_t b = loss / BUCKET_WIDTH;

    if (b >= LOSS_BUCKETS)
        b = LOSS_BUCKETS - 1;
    d->bucket[b]++;
    d->total_loss += loss;
    if (loss > d->worst)
        d->worst = loss;
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct distribution *d = calloc(1, sizeof *d);

    if (d == NULL)
        abort();
    for (int b = w->first_block; b < w->end_block; b++) {
        seed_stream(w->id, b);
        for (int t = 0; t < BLOCK_TRIALS; t++) {
            int64_t loss = simulate_year(stream[w->id], &d->defaults);
            record_loss(d, loss);
        }
    }
    w->result = d;
    return NULL;
}

static void merge(struct distribution *sum, const struct distribution *d)
{
    for (int i = 0; i < LOSS_BUCKETS; i++)
        sum->bucket[i] += d->bucket[i];
    sum->defaults += d->defaults;
    sum->total_loss += d->total_loss;
    if (d->worst > sum->worst)
        sum->worst = d->worst;
}

static int64_t quantile(const struct distribution *d, double q)
{
    uint64_t want = (uint64_t)(q * (double)N_BLOCKS * BLOCK_TRIALS);
    uint64_t seen = 0;

    for (int i = 0; i < LOSS_BUCKETS; i++) {
        seen += d->bucket[i];
        if (seen >= want)
            return (int64_t)i * BUCKET_WIDTH;
    }
    return (int64_t)LOSS_BUCKETS * BUCKET_WIDTH;
}

int main(int argc, char **argv)
{
    static struct worker workers[MAX_THREADS];
    static struct distribution total;
    int n = argc > 1 ? atoi(argv[1]) : 1;

    if (n < 1 || n > MAX_THREADS) {
        fprintf(stderr, "usage: riskmc THREADS\n");
        return 2;
    }
    build_book();
    for (int t = 0; t < n; t++) {
        workers[t].id = t;
        workers[t].first_block = N_BLOCKS * t / n;
        workers[t].end_block = N_BLOCKS * (t + 1) / n;
        if (pthread_create(&workers[t].tid, NULL, worker_main, &workers[t]) != 0) {
            perror("pthread_create");
            return 1;
        }
    }
    for (int t = 0; t < n; t++) {
        pthread_join(workers[t].tid, NULL);
        merge(&total, workers[t].result);
        free(workers[t].result);
    }
    printf("defaults %llu mean %lld var99 %lld worst %lld\n",
           (unsigned long long)total.defaults,
           (long long)(total.total_loss / ((int64_t)N_BLOCKS * BLOCK_TRIALS)),
           (long long)quantile(&total, 0.99),
           (long long)total.worst);
    return 0;
}
