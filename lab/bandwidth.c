/* bandwidth: a[i] = b[i] + scale * c[i] over arrays larger than the caches.
 *
 * There is almost nothing to compute, so one or a few threads already use up
 * what the memory delivers; further ones wait for it. To the operating system
 * that looks like computing.
 *
 * Where:    stream(), the line in the loop.
 * Cause:    the memory's bandwidth is shared by all processors.
 * Expected: memory-bound; with arrays that fit into the caches: none.
 * Repaired by: --array=8K, the same number of steps over small arrays. (In a real
 *           program: work on a block as long as it is in the cache.) */
#include "harness.h"

static uint64_t threads = 1, iterations = 1000000000, array = 256 << 20;

/* Each thread streams over a piece of its own, --array / threads bytes long. */
struct piece {
    _Alignas(LAB_CACHE_PAIR) double *a, *b, *c;
    uint64_t length, passes;
};

static struct piece *pieces;
static bool right = true;

/* Different in each pass, so that the compiler can omit none. */
static double scale_of(uint64_t pass)
{
    return (double)(pass % 7 + 1);
}

static __attribute__((noinline)) void stream(const struct piece *p, double scale)
{
    for (uint64_t i = 0; i < p->length; i++)
        p->a[i] = p->b[i] + scale * p->c[i]; /* GUILTY: 24 bytes for two operations */
}

static void prepare(unsigned thread, void *shared)
{
    (void)shared;
    struct piece *p = &pieces[thread];
    uint64_t first, last;
    lab_share(array / sizeof(double), (unsigned)threads, thread, &first, &last);
    p->length = last - first;
    lab_share(iterations, (unsigned)threads, thread, &first, &last);
    p->passes = (last - first + p->length - 1) / p->length;
    p->a = lab_alloc(p->length * sizeof(double), LAB_CACHE_PAIR);
    p->b = lab_alloc(p->length * sizeof(double), LAB_CACHE_PAIR);
    p->c = lab_alloc(p->length * sizeof(double), LAB_CACHE_PAIR);
    for (uint64_t i = 0; i < p->length; i++) {
        p->b[i] = (double)(i % 1000);
        p->c[i] = (double)(i % 10);
    }
}

static void work(unsigned thread, void *shared)
{
    (void)shared;
    struct piece *p = &pieces[thread];
    for (uint64_t pass = 0; pass < p->passes; pass++)
        stream(p, scale_of(pass));
}

/* Small whole numbers: doubles hold them exactly. */
static void check_and_free(struct piece *p)
{
    double scale = scale_of(p->passes - 1);
    for (uint64_t i = 0; i < p->length; i++)
        right = right && p->a[i] == (double)(i % 1000) + scale * (double)(i % 10);
    free(p->a);
    free(p->b);
    free(p->c);
}

int main(int argc, char **argv)
{
    const struct lab_option options[] = {
        { "threads", LAB_COUNT, &threads, 1, LAB_MAX_THREADS, NULL, "threads" },
        { "iterations", LAB_COUNT, &iterations, 1, 1e15, NULL,
          "elements to compute, rounded up to whole passes" },
        { "array", LAB_BYTES, &array, 8192, 1e12, NULL,
          "bytes of each of the three arrays, shared out among the threads" },
        { 0 },
    };
    lab_options(argc, argv, "Streams over three arrays.", options);

    pieces = lab_alloc(threads * sizeof *pieces, LAB_CACHE_PAIR);
    struct lab_run run = lab_run_prepared((unsigned)threads, prepare, work, NULL);

    double done = 0;
    for (unsigned t = 0; t < threads; t++) {
        done += (double)pieces[t].passes * (double)pieces[t].length;
        check_and_free(&pieces[t]);
    }
    free(pieces);
    lab_result("bandwidth", run.seconds, done, "array=%llu threads=%u GB/s=%.2f",
               (unsigned long long)array, (unsigned)threads, done * 24 / 1e9 / run.seconds);
    if (!right)
        lab_fail("an element is wrong");
    return 0;
}
