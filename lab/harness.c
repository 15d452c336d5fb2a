/* harness.c: see harness.h. */
#define _GNU_SOURCE
#include "harness.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *summary_text = "";
static const struct lab_option *option_table;

/* ---- options ---------------------------------------------------------- */

static void print_default(FILE *out, const struct lab_option *o)
{
    switch (o->kind) {
    case LAB_COUNT:
    case LAB_BYTES:
        fprintf(out, "%llu", *(unsigned long long *)o->value);
        break;
    case LAB_REAL:
        fprintf(out, "%g", *(double *)o->value);
        break;
    case LAB_CHOICE:
        fprintf(out, "%s", o->choices[*(unsigned *)o->value]);
        break;
    case LAB_TEXT:
        fprintf(out, "%s", *(const char **)o->value);
        break;
    case LAB_FLAG:
        fprintf(out, "%s", *(bool *)o->value ? "yes" : "no");
        break;
    }
}

static void print_usage(FILE *out)
{
    fprintf(out, "usage: %s [--name=value ...]\n%s\n",
            program_invocation_short_name, summary_text);
    for (const struct lab_option *o = option_table; o && o->name; o++) {
        fprintf(out, "  --%-12s %s", o->name, o->help);
        if (o->kind == LAB_CHOICE) {
            fprintf(out, ": ");
            for (unsigned i = 0; o->choices[i]; i++)
                fprintf(out, "%s%s", i ? "|" : "", o->choices[i]);
        }
        fprintf(out, " [");
        print_default(out, o);
        fprintf(out, "]\n");
    }
    fprintf(out, "Counts take K, M, G (thousands); sizes in bytes take K, M, G "
                 "(powers of 1024).\n");
}

void lab_usage_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    print_usage(stderr);
    exit(2);
}

/* A number with an optional suffix; `step` is what one K stands for. */
static bool parse_number(const char *text, double step, double *number)
{
    char *end;
    *number = strtod(text, &end);
    if (end == text || !isfinite(*number))
        return false;
    double factor = 1;
    if (step > 1 && *end) {
        const char *suffix = strchr("KMGkmg", *end);
        if (!suffix)
            return false;
        for (int i = (int)(suffix - strchr("KMGkmg", 'K')) % 3; i >= 0; i--)
            factor *= step;
        end++;
    }
    *number *= factor;
    return *end == '\0';
}

static void set_number(const struct lab_option *o, const char *text)
{
    double step = o->kind == LAB_COUNT ? 1000 : o->kind == LAB_BYTES ? 1024 : 1;
    double number;
    if (!parse_number(text, step, &number))
        lab_usage_error("--%s: '%s' is not a number", o->name, text);
    if (number < o->min || number > o->max)
        lab_usage_error("--%s: %s is not between %.15g and %.15g", o->name, text,
                        o->min, o->max);
    if (o->kind == LAB_REAL)
        *(double *)o->value = number;
    else if (number == floor(number))
        *(uint64_t *)o->value = (uint64_t)number;
    else
        lab_usage_error("--%s: '%s' is not a whole number", o->name, text);
}

static void set_option(const struct lab_option *o, const char *text)
{
    if (o->kind == LAB_FLAG) {
        if (text && strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
            lab_usage_error("--%s: '%s' is neither yes nor no", o->name, text);
        *(bool *)o->value = !text || strcmp(text, "yes") == 0;
        return;
    }
    if (!text)
        lab_usage_error("--%s needs a value: --%s=...", o->name, o->name);
    if (o->kind == LAB_TEXT) {
        *(const char **)o->value = text;
    } else if (o->kind == LAB_CHOICE) {
        unsigned i = 0;
        while (o->choices[i] && strcmp(o->choices[i], text) != 0)
            i++;
        if (!o->choices[i])
            lab_usage_error("--%s: there is no '%s'", o->name, text);
        *(unsigned *)o->value = i;
    } else {
        set_number(o, text);
    }
}

void lab_options(int argc, char **argv, const char *summary,
                 const struct lab_option *options)
{
    summary_text = summary;
    option_table = options;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            print_usage(stdout);
            exit(0);
        }
        if (strncmp(argv[i], "--", 2) != 0)
            lab_usage_error("'%s' is not an option", argv[i]);
        const char *name = argv[i] + 2;
        size_t length = strcspn(name, "=");
        const struct lab_option *o = options;
        while (o->name &&
               (strlen(o->name) != length || strncmp(o->name, name, length) != 0))
            o++;
        if (!o->name)
            lab_usage_error("there is no option '%s'", argv[i]);
        set_option(o, name[length] == '=' ? name + length + 1 : NULL);
    }
}

/* ---- failures, memory, time ------------------------------------------- */

void lab_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(1);
}

void lab_check(int status, const char *what)
{
    if (status != 0)
        lab_fail("%s: %s", what, strerror(status));
}

void *lab_alloc(size_t bytes, size_t alignment)
{
    void *memory;
    lab_check(posix_memalign(&memory, alignment, bytes ? bytes : 1), "memory");
    memset(memory, 0, bytes);
    return memory;
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t lab_now(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

void lab_share(uint64_t total, unsigned threads, unsigned thread,
               uint64_t *first, uint64_t *last)
{
    uint64_t each = total / threads, left_over = total % threads;
    *first = each * thread + (thread < left_over ? thread : left_over);
    *last = *first + each + (thread < left_over ? 1 : 0);
}

/* ---- the parallel part ------------------------------------------------ */

struct worker {
    _Alignas(LAB_CACHE_PAIR) pthread_t id;
    unsigned index;
    lab_body *body;
    void *shared;
    pthread_barrier_t *go;
    uint64_t start, stop, cpu;
};

static void *run_worker(void *argument)
{
    struct worker *self = argument;
    pthread_barrier_wait(self->go);
    uint64_t cpu_before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    self->start = lab_now();
    self->body(self->index, self->shared);
    self->stop = lab_now();
    self->cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
    return NULL;
}

struct lab_run lab_run(unsigned threads, lab_body *body, void *shared)
{
    struct worker *worker = lab_alloc(threads * sizeof *worker, LAB_CACHE_PAIR);
    pthread_barrier_t go;
    lab_check(pthread_barrier_init(&go, NULL, threads), "barrier");
    for (unsigned i = 0; i < threads; i++) {
        worker[i].index = i;
        worker[i].body = body;
        worker[i].shared = shared;
        worker[i].go = &go;
        lab_check(pthread_create(&worker[i].id, NULL, run_worker, &worker[i]),
                  "pthread_create");
    }
    for (unsigned i = 0; i < threads; i++)
        lab_check(pthread_join(worker[i].id, NULL), "pthread_join");
    pthread_barrier_destroy(&go);

    uint64_t start = UINT64_MAX, first_stop = UINT64_MAX, last_stop = 0, cpu = 0;
    for (unsigned i = 0; i < threads; i++) {
        if (worker[i].start < start)
            start = worker[i].start;
        if (worker[i].stop < first_stop)
            first_stop = worker[i].stop;
        if (worker[i].stop > last_stop)
            last_stop = worker[i].stop;
        cpu += worker[i].cpu;
    }
    free(worker);
    return (struct lab_run){ .seconds = (double)(last_stop - start) / 1e9,
                             .first_done = (double)(first_stop - start) / 1e9,
                             .cpu_seconds = (double)cpu / 1e9 };
}

void lab_result(const char *test, double seconds, double operations,
                const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("test=%s ", test);
    vprintf(format, args);
    printf(" seconds=%.6f tput(Mops)=%.4f\n", seconds,
           operations / 1e6 / (seconds > 0 ? seconds : 1e-9));
    va_end(args);
    fflush(stdout);
}
