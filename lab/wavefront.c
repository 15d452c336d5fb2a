/* wavefront: a picture decoder whose row workers wait for the row above.
 *
 * One thread reads and parses the stream into rows, --threads workers decode
 * rows, one thread writes them in order. A pixel is predicted from its left and
 * upper neighbours, so no worker may pass the one on the row above: the workers
 * move through the picture as a slanted front. The codec is in codec.c.
 *
 * Cause:    a worker that catches up with the row above spins on its counter.
 *           That looks like work: the processors are busy, but nothing gets faster.
 * Expected: spin-wait       with --wait=spin and --wait=spin-pause
 *           condition-wait  with --wait=futex and --wait=cond, or with a parser
 *                           made the limit by a large --parse-cost
 * Where:    wait_spin(), wait_spin_pause(), called from decode_rows().
 * Repaired by: --wait=futex or --wait=cond. The wait itself stays, since the
 *           rows do depend on one another; but it leaves the processor to others.
 *
 * The coded film is made once and kept in --stream. The output is compared with
 * the source by a hash over all rows in their order. */
#define _GNU_SOURCE
#include "codec.h"
#include "harness.h"
#include "knee.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum wait_kind { SPIN, SPIN_PAUSE, FUTEX, COND };
static const char *const wait_names[] = { "spin", "spin-pause", "futex", "cond", NULL };

/* Rows as long as a row of macroblocks in a video (1920 * 16 pixels) would be,
 * because a worker takes one row at a time. */
static uint64_t threads = 1, width = 16384, height = 256, frames = 20, seed = 1;
static uint64_t block = 128, parse_cost = 1;
static unsigned wait_kind = SPIN;
static const char *stream_path = "", *input_path = "", *output_path = "";

/* A row on its way from the parser to the writer. */
struct row {
    /* How many pixels are decoded. Only the row's worker writes it. */
    _Alignas(LAB_CACHE_PAIR) _Atomic uint32_t progress;
    _Atomic uint32_t awaited; /* futex: the worker below sleeps */
    pthread_mutex_t lock;     /* cond */
    pthread_cond_t advanced;
    struct row_header header;
    uint8_t *coded, *pixels;
    bool decoded;
};

/* A ring of rows. Their numbers only grow: written <= taken <= parsed. */
static struct row *ring;
static uint64_t ring_size;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t row_parsed, row_decoded, row_written;
    uint64_t parsed, taken, written;
    bool at_end;
} line = { .lock = PTHREAD_MUTEX_INITIALIZER, .row_parsed = PTHREAD_COND_INITIALIZER,
           .row_decoded = PTHREAD_COND_INITIALIZER,
           .row_written = PTHREAD_COND_INITIALIZER };

static FILE *stream;
static struct stream_header header;
static uint64_t output_hash;
static volatile uint32_t sink;

/* ---- waiting for the row above ---------------------------------------------- */

static __attribute__((noinline)) void wait_spin(struct row *above, uint32_t wanted)
{
    while (atomic_load_explicit(&above->progress, memory_order_acquire) < wanted)
        ; /* GUILTY: burns the processor until the row above is further */
}

static __attribute__((noinline)) void wait_spin_pause(struct row *above, uint32_t wanted)
{
    while (atomic_load_explicit(&above->progress, memory_order_acquire) < wanted) {
#if defined __x86_64__ || defined __i386__
        __builtin_ia32_pause(); /* GUILTY: politer, but still burning */
#elif defined __aarch64__
        __asm__ volatile("yield");
#endif
    }
}

/* Announces that it may sleep, then looks once more; advance_futex() does the
 * two in the opposite order, so one always notices the other. Only the
 * sleeper resets the flag: the waker might reset the flag of a sleep that is
 * just about to begin. */
static __attribute__((noinline)) void wait_futex(struct row *above, uint32_t wanted)
{
    uint32_t seen = atomic_load(&above->progress);
    if (seen >= wanted)
        return;
    atomic_store(&above->awaited, 1);
    while ((seen = atomic_load(&above->progress)) < wanted)
        syscall(SYS_futex, &above->progress, FUTEX_WAIT_PRIVATE, seen, NULL);
    atomic_store(&above->awaited, 0);
}

static void advance_futex(struct row *row, uint32_t progress)
{
    atomic_store(&row->progress, progress);
    if (atomic_load(&row->awaited))
        syscall(SYS_futex, &row->progress, FUTEX_WAKE_PRIVATE, INT_MAX);
}

static __attribute__((noinline)) void wait_cond(struct row *above, uint32_t wanted)
{
    pthread_mutex_lock(&above->lock);
    while (atomic_load_explicit(&above->progress, memory_order_relaxed) < wanted)
        pthread_cond_wait(&above->advanced, &above->lock);
    pthread_mutex_unlock(&above->lock);
}

static void advance_cond(struct row *row, uint32_t progress)
{
    pthread_mutex_lock(&row->lock);
    atomic_store_explicit(&row->progress, progress, memory_order_relaxed);
    pthread_cond_signal(&row->advanced);
    pthread_mutex_unlock(&row->lock);
}

static void wait_for(struct row *above, uint32_t wanted)
{
    switch (wait_kind) {
    case SPIN:
        wait_spin(above, wanted);
        break;
    case SPIN_PAUSE:
        wait_spin_pause(above, wanted);
        break;
    case FUTEX:
        wait_futex(above, wanted);
        break;
    case COND:
        wait_cond(above, wanted);
        break;
    }
}

static void advance(struct row *row, uint32_t progress)
{
    if (wait_kind == FUTEX)
        advance_futex(row, progress);
    else if (wait_kind == COND)
        advance_cond(row, progress);
    else
        atomic_store_explicit(&row->progress, progress, memory_order_release);
}

/* ---- the three kinds of threads ----------------------------------------------- */

static struct row *row_at(uint64_t number)
{
    return &ring[number % ring_size];
}

/* Checks a row's bits. --parse-cost does so again and again, which stands for a
 * format that is laborious to parse. */
static __attribute__((noinline)) void parse_row(const struct row *row)
{
    uint32_t sum = codec_checksum(0, row->coded, row->header.bytes);
    if (sum != row->header.checksum)
        lab_fail("the stream is damaged; delete it: %s", stream_path);
    for (uint64_t i = 1; i < parse_cost; i++)
        sum = codec_checksum(sum, row->coded, row->header.bytes);
    sink = sum;
}

static void read_rows(void)
{
    for (uint64_t number = 0; number < header.rows; number++) {
        /* The slot is free when its last row, and the one below, are written. */
        pthread_mutex_lock(&line.lock);
        while (number - line.written > ring_size - 2)
            pthread_cond_wait(&line.row_written, &line.lock);
        pthread_mutex_unlock(&line.lock);

        struct row *row = row_at(number);
        if (fread(&row->header, sizeof row->header, 1, stream) != 1 ||
            row->header.width > header.widest_row ||
            row->header.bytes > header.longest_row ||
            fread(row->coded, 1, row->header.bytes, stream) != row->header.bytes)
            lab_fail("the stream is damaged; delete it: %s", stream_path);
        KNEE_TASK_BEGIN("parse");
        parse_row(row);
        KNEE_TASK_END("parse");
        atomic_store(&row->progress, 0);
        atomic_store(&row->awaited, 0);
        row->decoded = false;

        pthread_mutex_lock(&line.lock);
        line.parsed++;
        pthread_cond_signal(&line.row_parsed);
        pthread_mutex_unlock(&line.lock);
    }
    pthread_mutex_lock(&line.lock);
    line.at_end = true;
    pthread_cond_broadcast(&line.row_parsed);
    pthread_mutex_unlock(&line.lock);
}

/* Rows are taken in order, so a worker has always taken the row above. */
static bool take_row(uint64_t *number)
{
    pthread_mutex_lock(&line.lock);
    while (line.taken == line.parsed && !line.at_end)
        pthread_cond_wait(&line.row_parsed, &line.lock);
    bool got_one = line.taken < line.parsed;
    if (got_one)
        *number = line.taken++;
    pthread_mutex_unlock(&line.lock);
    return got_one;
}

static void decode_rows(void)
{
    uint64_t number;
    while (take_row(&number)) {
        struct row *row = row_at(number);
        struct row *above = row->header.is_first ? NULL : row_at(number - 1);
        struct row_decoder decoder;
        KNEE_TASK_BEGIN("decode"); /* includes waiting for the row above */
        codec_start_row(&decoder, row->coded, row->header.bytes,
                        above ? above->pixels : NULL, row->pixels);
        for (uint32_t x = 0; x < row->header.width;) {
            uint32_t end = x + (uint32_t)block;
            if (end > row->header.width)
                end = row->header.width;
            if (above)
                wait_for(above, end);
            codec_decode(&decoder, x, end);
            advance(row, end);
            x = end;
        }
        KNEE_TASK_END("decode");
        pthread_mutex_lock(&line.lock);
        row->decoded = true;
        if (number == line.written)
            pthread_cond_signal(&line.row_decoded);
        pthread_mutex_unlock(&line.lock);
    }
}

static void write_rows(void)
{
    FILE *output = NULL;
    if (*output_path && !(output = fopen(output_path, "wb")))
        lab_fail("cannot write %s", output_path);
    for (uint64_t number = 0; number < header.rows; number++) {
        struct row *row = row_at(number);
        pthread_mutex_lock(&line.lock);
        while (number >= line.parsed || !row->decoded)
            pthread_cond_wait(&line.row_decoded, &line.lock);
        pthread_mutex_unlock(&line.lock);

        KNEE_TASK_BEGIN("write");
        output_hash = codec_hash(output_hash, row->pixels, row->header.width);
        if (output && fwrite(row->pixels, 1, row->header.width, output) != row->header.width)
            lab_fail("cannot write %s", output_path);
        KNEE_TASK_END("write");

        pthread_mutex_lock(&line.lock);
        line.written++;
        pthread_cond_signal(&line.row_written);
        pthread_mutex_unlock(&line.lock);
    }
    if (output && fclose(output) != 0)
        lab_fail("cannot write %s", output_path);
}

static void run_thread(unsigned thread, void *shared)
{
    (void)shared;
    if (thread == 0) {
        pthread_setname_np(pthread_self(), "parser");
        read_rows();
    } else if (thread == 1) {
        pthread_setname_np(pthread_self(), "writer");
        write_rows();
    } else {
        pthread_setname_np(pthread_self(), "worker");
        decode_rows();
    }
}

/* ---- before and after ----------------------------------------------------------- */

static bool open_stream(void)
{
    stream = fopen(stream_path, "rb");
    return stream && fread(&header, sizeof header, 1, stream) == 1 &&
           memcmp(header.magic, CODEC_MAGIC, sizeof header.magic) == 0;
}

/* The coded film: kept from an earlier run, or made now. It gets its name only
 * when it is complete, so that runs at the same time do not disturb each other. */
static void prepare_stream(void)
{
    static char default_path[PATH_MAX], new_path[PATH_MAX + 32];
    if (!*stream_path) {
        const char *folder = getenv("TMPDIR");
        snprintf(default_path, sizeof default_path, "%s/lab-wavefront-%llux%llux%llu-%llu%s",
                 folder ? folder : "/tmp", (unsigned long long)width,
                 (unsigned long long)height, (unsigned long long)frames,
                 (unsigned long long)seed, *input_path ? "-input" : "");
        stream_path = default_path;
    }
    if (!*input_path && open_stream() && header.width == width && header.height == height &&
        header.frames == frames && header.seed == seed)
        return;
    if (stream)
        fclose(stream);
    snprintf(new_path, sizeof new_path, "%s.%d", stream_path, (int)getpid());
    FILE *new_stream = fopen(new_path, "wb");
    if (!new_stream)
        lab_fail("cannot write %s", new_path);
    if (*input_path)
        codec_encode_file(new_stream, input_path);
    else
        codec_encode_synthetic(new_stream, (uint32_t)width, (uint32_t)height,
                               (uint32_t)frames, (uint32_t)seed);
    if (fclose(new_stream) != 0 || rename(new_path, stream_path) != 0 || !open_stream())
        lab_fail("cannot keep the coded picture in %s", stream_path);
}

static void prepare_ring(void)
{
    ring_size = 2 * threads + 64;
    ring = lab_alloc(ring_size * sizeof *ring, LAB_CACHE_PAIR);
    for (uint64_t i = 0; i < ring_size; i++) {
        lab_check(pthread_mutex_init(&ring[i].lock, NULL), "mutex");
        lab_check(pthread_cond_init(&ring[i].advanced, NULL), "condition variable");
        ring[i].coded = lab_alloc(header.longest_row, LAB_CACHE_PAIR);
        ring[i].pixels = lab_alloc(header.widest_row, LAB_CACHE_PAIR);
    }
}

static void free_ring(void)
{
    for (uint64_t i = 0; i < ring_size; i++) {
        free(ring[i].coded);
        free(ring[i].pixels);
    }
    free(ring);
    fclose(stream);
}

int main(int argc, char **argv)
{
    const struct lab_option options[] = {
        { "threads", LAB_COUNT, &threads, 1, LAB_MAX_THREADS - 2, NULL,
          "workers; a parser and a writer come on top" },
        { "wait", LAB_CHOICE, &wait_kind, 0, 0, wait_names, "for the row above" },
        { "width", LAB_COUNT, &width, 1, 65535, NULL, "of the invented film" },
        { "height", LAB_COUNT, &height, 1, 65535, NULL, "of the invented film" },
        { "frames", LAB_COUNT, &frames, 1, 100000, NULL, "of the invented film" },
        { "seed", LAB_COUNT, &seed, 0, UINT32_MAX, NULL, "of the invented film" },
        { "input", LAB_TEXT, &input_path, 0, 0, NULL, "film to code instead: PGM, PPM, Y4M" },
        { "stream", LAB_TEXT, &stream_path, 0, 0, NULL,
          "where the coded film is kept; empty: in the temporary folder" },
        { "output", LAB_TEXT, &output_path, 0, 0, NULL, "where to write the planes, if at all" },
        { "block", LAB_COUNT, &block, 1, 65535, NULL, "pixels between looks at the row above" },
        { "parse-cost", LAB_COUNT, &parse_cost, 1, 1e6, NULL, "times each row is parsed" },
        { 0 },
    };
    lab_options(argc, argv, "Decodes a film; each row waits for the row above.", options);

    prepare_stream();
    prepare_ring();
    struct lab_run run = lab_run((unsigned)threads + 2, run_thread, NULL);
    free_ring();

    lab_result("wavefront", run.seconds, (double)header.pixels,
               "wait=%s threads=%u rows=%llu pixels=%llu parse-cost=%llu hash=%016llx cpu=%.3f",
               wait_names[wait_kind], (unsigned)threads, (unsigned long long)header.rows,
               (unsigned long long)header.pixels, (unsigned long long)parse_cost,
               (unsigned long long)output_hash, run.cpu_seconds);
    if (output_hash != header.hash)
        lab_fail("the output differs from the source (%016llx)",
                 (unsigned long long)header.hash);
    return 0;
}
