/* harness.h: shared by all programs of the lab.
 *
 * Options (--name=value), threads that start together at a barrier and are
 * timed one by one, and the single result line that a tool can read:
 *
 *     test=NAME key=value ... seconds=1.234 tput(Mops)=5.67
 *
 * Marks (knee.h) report the same: the measured part is what is timed, and the
 * units of work are the operations of the result line.
 *
 * Exit status of every program: 0 right result, 1 wrong result or a failed
 * call, 2 wrong usage. */
#ifndef LAB_HARNESS_H
#define LAB_HARNESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Two lines of 64 bytes: processors fetch cache lines in adjacent pairs, so
 * data that must not disturb each other is kept this far apart. */
#define LAB_CACHE_PAIR 128

/* What an option's value looks like, and the C type it is stored in. */
enum lab_kind {
    LAB_COUNT,  /* uint64_t: 500, 20K, 10M, 1G (thousands) */
    LAB_BYTES,  /* uint64_t: 500, 64K, 10M, 1G (powers of 1024) */
    LAB_REAL,   /* double */
    LAB_CHOICE, /* unsigned: index into a list of names that NULL ends */
    LAB_TEXT,   /* const char * */
    LAB_FLAG    /* bool: --name alone, or --name=yes, --name=no */
};

struct lab_option {
    const char *name;
    enum lab_kind kind;
    void *value;     /* holds the default before, the user's choice after */
    double min, max; /* for the kinds that are numbers */
    const char *const *choices; /* for LAB_CHOICE */
    const char *help;
};

/* Most threads a program accepts. */
#define LAB_MAX_THREADS 1024

/* Fills the options' values from the command line. The table ends with an
 * entry whose name is NULL. Prints the usage and exits 0 on --help; on
 * anything it does not understand, prints what and the usage and exits 2. */
void lab_options(int argc, char **argv, const char *summary,
                 const struct lab_option *options);

/* For option values that are each right but do not fit together: exits 2. */
_Noreturn void lab_usage_error(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Prints "program: message" and exits 1. */
_Noreturn void lab_fail(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* The part of a program that runs in parallel: called once in each thread. */
typedef void lab_body(unsigned thread, void *shared);

struct lab_run {
    double seconds;     /* first thread started .. last thread done */
    double first_done;  /* first thread started .. first thread done */
    double cpu_seconds; /* processor time of all threads in the body */
};

/* Starts the threads, lets all of them go at once, waits for all of them.
 * Creating and joining threads is not part of the times. Even one thread is
 * a created thread, so that the C library is in its multithreaded state at
 * every thread count and the counts can be compared. */
struct lab_run lab_run(unsigned threads, lab_body *body, void *shared);

/* The same, and each thread calls prepare before all of them start together:
 * for data that the threads should make and touch themselves, untimed. */
struct lab_run lab_run_prepared(unsigned threads, lab_body *prepare, lab_body *body,
                                void *shared);

/* Prints the result line, and marks the operations as done; format gives the
 * keys between test= and seconds=. */
void lab_result(const char *test, double seconds, double operations,
                const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Monotonic time in nanoseconds. */
uint64_t lab_now(void);

/* Zeroed memory, aligned; ends the program when there is none. */
void *lab_alloc(size_t bytes, size_t alignment);

/* Ends the program with the error's text unless the (pthread) status is 0. */
void lab_check(int status, const char *what);

/* The part of `total` items that belongs to `thread`: [*first, *last). */
void lab_share(uint64_t total, unsigned threads, unsigned thread,
               uint64_t *first, uint64_t *last);

/* A small generator for test data: any state is a good state. */
static inline uint64_t lab_splitmix(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The processor work that stands for "computing": a chain of
 * multiplications in which each needs the one before. */
static inline uint64_t lab_burn(uint64_t x, uint64_t steps)
{
    for (uint64_t i = 0; i < steps; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

/* The same result in a few steps, to check that the work was done. */
uint64_t lab_burn_check(uint64_t x, uint64_t steps);

#endif
