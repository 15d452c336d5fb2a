/* pagesum: adds up the first byte of every page of a file, in several ways.
 *
 * The threads share the file by chunks but no data: each reads its pages, burns
 * --iterations steps of processor work a page, and the sums are added at the
 * end. What they do share is the address space. The kernel guards its map with
 * one lock (mmap_lock), taken for writing by mmap and munmap, and for reading by
 * those page faults that need it.
 *
 * Where:    map_chunk(), sum_pages() (the faults), unmap_chunk().
 * Cause, and the expected cause id, by --mode:
 *   per-thread  kernel-lock  every thread maps, faults and unmaps its chunks.
 *                            The smaller --chunk and --iterations, the more.
 *   populate    kernel-lock  the same with the faults taken inside mmap, under
 *                            the lock.
 *   single-map  page-fault   mapped once for all, but still faulted by each.
 *   pipeline    none         one thread (on top of --threads) maps and unmaps,
 *                            the others only compute; condition-wait when the
 *                            one cannot keep up.
 *   read        none         pread into a private buffer: no mapping at all.
 *   any --cold  io-wait      the pages come from the disk.
 * Repaired by: --mode=read; as published, --mode=pipeline (on few processors the
 * hand-over may cost more than the lock did).
 *
 * A kernel maps the neighbours of a faulted page along with it when they are in
 * the page cache (16 pages usually), so expect fewer faults than pages. With large
 * chunks today's kernels hardly take the lock; --chunk=16K --iterations=0 makes
 * the mapping operations dominate. */
#define _GNU_SOURCE
#include "harness.h"
#include "knee.h"
#include "queue.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum mode { PER_THREAD, PIPELINE, SINGLE_MAP, READ, POPULATE };
static const char *const mode_names[] = { "per-thread", "pipeline", "single-map", "read",
                                          "populate", NULL };

static uint64_t threads = 1, size = 64 << 20, iterations = 100, chunk = 0, rounds = 500;
static unsigned mode = PER_THREAD;
static bool cold = false;
static const char *path = "";

static int file;
static uint64_t page, pages, chunk_pages; /* bytes a page; pages in all, a chunk */

/* A run of pages, and their address while they are in memory. */
struct chunk {
    uint64_t first, count;
    unsigned char *bytes;
};

struct thread_state {
    _Alignas(LAB_CACHE_PAIR) uint64_t sum, burnt;
};

static struct thread_state *state;
static pthread_barrier_t all_read;
static struct queue to_sum, to_unmap; /* pipeline */
static unsigned char *whole_file;     /* single-map */

/* ---- the pieces of work ------------------------------------------------------ */

/* What the file holds: a byte that depends on the page. */
static unsigned char first_byte(uint64_t number)
{
    uint64_t mix = number;
    return (unsigned char)(lab_splitmix(&mix) >> 56);
}

static __attribute__((noinline)) void map_chunk(struct chunk *c, int flags)
{
    c->bytes = mmap(NULL, c->count * page, PROT_READ, MAP_PRIVATE | flags, file,
                    (off_t)(c->first * page)); /* GUILTY: mmap_lock, for writing */
    if (c->bytes == MAP_FAILED)
        lab_fail("mmap: %s", strerror(errno));
}

static __attribute__((noinline)) void unmap_chunk(struct chunk *c)
{
    if (munmap(c->bytes, c->count * page) != 0) /* GUILTY: mmap_lock, for writing */
        lab_fail("munmap: %s", strerror(errno));
}

static __attribute__((noinline)) void read_chunk(struct chunk *c)
{
    for (uint64_t done = 0; done < c->count * page;) {
        ssize_t n = pread(file, c->bytes + done, c->count * page - done,
                          (off_t)(c->first * page + done));
        if (n <= 0)
            lab_fail("pread: %s", n ? strerror(errno) : "the file is too short");
        done += (uint64_t)n;
    }
}

static __attribute__((noinline)) void sum_pages(struct thread_state *self,
                                                const struct chunk *c)
{
    for (uint64_t i = 0; i < c->count; i++) {
        unsigned char byte = c->bytes[i * page]; /* GUILTY: page fault */
        self->sum += byte;
        self->burnt += lab_burn(byte, iterations);
    }
}

/* ---- the modes ---------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* A thread maps and reads all its chunks one by one, waits for the others, and
 * unmaps them. */
static void map_and_sum(struct thread_state *self, uint64_t first, uint64_t last)
{
    uint64_t count = (last - first + chunk_pages - 1) / chunk_pages;
    struct chunk *chunks = lab_alloc(count * sizeof *chunks, sizeof(void *));
    for (uint64_t round = 0; round < rounds; round++) {
        KNEE_TASK_BEGIN("map and sum");
        for (uint64_t i = 0; i < count; i++) {
            struct chunk *c = &chunks[i];
            c->first = first + i * chunk_pages;
            c->count = least(chunk_pages, last - c->first);
            map_chunk(c, mode == POPULATE ? MAP_POPULATE : 0);
            sum_pages(self, c);
        }
        KNEE_TASK_END("map and sum");
        pthread_barrier_wait(&all_read);
        KNEE_TASK_BEGIN("unmap");
        for (uint64_t i = 0; i < count; i++)
            unmap_chunk(&chunks[i]);
        KNEE_TASK_END("unmap");
    }
    free(chunks);
}

/* Thread 0 maps for all; the others fault. */
static void sum_single_map(unsigned thread, uint64_t first, uint64_t last)
{
    struct chunk all = { .first = 0, .count = pages };
    for (uint64_t round = 0; round < rounds; round++) {
        if (thread == 0) {
            KNEE_TASK_BEGIN("map");
            map_chunk(&all, 0);
            KNEE_TASK_END("map");
            whole_file = all.bytes;
        }
        pthread_barrier_wait(&all_read);
        struct chunk own = { first, last - first, whole_file + first * page };
        KNEE_TASK_BEGIN("sum");
        sum_pages(&state[thread], &own);
        KNEE_TASK_END("sum");
        pthread_barrier_wait(&all_read);
        if (thread == 0) {
            KNEE_TASK_BEGIN("unmap");
            unmap_chunk(&all);
            KNEE_TASK_END("unmap");
        }
    }
}

static void read_and_sum(struct thread_state *self, uint64_t first, uint64_t last)
{
    uint64_t buffer_pages = least(chunk_pages, 256); /* stays in the caches */
    struct chunk c = { .bytes = lab_alloc(buffer_pages * page, page) };
    for (uint64_t round = 0; round < rounds; round++) {
        KNEE_TASK_BEGIN("read and sum");
        for (c.first = first; c.first < last; c.first += c.count) {
            c.count = least(buffer_pages, last - c.first);
            read_chunk(&c);
            sum_pages(self, &c);
        }
        KNEE_TASK_END("read and sum");
    }
    free(c.bytes);
}

/* The one thread that maps hands chunks to the workers and gets them back. */
static void map_for_workers(void)
{
    uint64_t in_hands = 0;
    for (uint64_t round = 0; round < rounds; round++)
        for (uint64_t first = 0; first < pages; first += chunk_pages) {
            struct chunk *c = queue_try_pop(&to_unmap);
            if (!c && in_hands >= 4 * threads)
                c = queue_pop(&to_unmap);
            if (c) {
                unmap_chunk(c);
                in_hands--;
            } else {
                c = lab_alloc(sizeof *c, sizeof(void *));
            }
            c->first = first;
            c->count = least(chunk_pages, pages - first);
            map_chunk(c, MAP_POPULATE);
            queue_push(&to_sum, c);
            in_hands++;
        }
    queue_close(&to_sum);
    for (; in_hands; in_hands--) {
        struct chunk *c = queue_pop(&to_unmap);
        unmap_chunk(c);
        free(c);
    }
}

static void sum_for_mapper(struct thread_state *self)
{
    struct chunk *c;
    while ((c = queue_pop(&to_sum))) {
        sum_pages(self, c);
        queue_push(&to_unmap, c);
    }
}

static void work(unsigned thread, void *shared)
{
    (void)shared;
    if (mode == PIPELINE) {
        const char *stage = thread == threads ? "map" : "sum";
        KNEE_TASK_BEGIN(stage);
        if (thread == threads)
            map_for_workers();
        else
            sum_for_mapper(&state[thread]);
        KNEE_TASK_END(stage);
        return;
    }
    uint64_t first, last;
    lab_share(pages, (unsigned)threads, thread, &first, &last);
    if (mode == SINGLE_MAP)
        sum_single_map(thread, first, last);
    else if (mode == READ)
        read_and_sum(&state[thread], first, last);
    else
        map_and_sum(&state[thread], first, last);
}

/* ---- the file ----------------------------------------------------------------- */

static void write_file(const char *new_path)
{
    FILE *out = fopen(new_path, "wb");
    unsigned char *bytes = lab_alloc(page, page);
    if (!out)
        lab_fail("cannot write %s: %s", new_path, strerror(errno));
    for (uint64_t i = 0; i < pages; i++) {
        memset(bytes, first_byte(i), page);
        if (fwrite(bytes, page, 1, out) != 1)
            lab_fail("cannot write %s: %s", new_path, strerror(errno));
    }
    /* On the disk, so that the pages can be dropped from memory. */
    if (fflush(out) != 0 || fsync(fileno(out)) != 0 || fclose(out) != 0)
        lab_fail("cannot write %s: %s", new_path, strerror(errno));
    free(bytes);
}

static void open_file(void)
{
    static char default_path[PATH_MAX], new_path[PATH_MAX + 32];
    if (!*path) {
        const char *folder = getenv("TMPDIR");
        snprintf(default_path, sizeof default_path, "%s/lab-pagesum-%llu",
                 folder ? folder : "/tmp", (unsigned long long)size);
        path = default_path;
    }
    struct stat status;
    if (stat(path, &status) != 0) {
        /* Renamed when complete: other runs may look for it meanwhile. */
        snprintf(new_path, sizeof new_path, "%s.%d", path, (int)getpid());
        write_file(new_path);
        if (rename(new_path, path) != 0)
            lab_fail("cannot make %s: %s", path, strerror(errno));
    } else if ((uint64_t)status.st_size != size) {
        lab_fail("%s has %lld bytes, not %llu; it is left as it is", path,
                 (long long)status.st_size, (unsigned long long)size);
    }
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        lab_fail("cannot read %s: %s", path, strerror(errno));
}

/* How many of the file's pages are in the page cache. */
static uint64_t cached_pages(void)
{
    struct chunk all = { .first = 0, .count = pages };
    unsigned char *cached = lab_alloc(pages, sizeof(void *));
    uint64_t count = 0;
    map_chunk(&all, 0);
    if (mincore(all.bytes, pages * page, cached) != 0)
        lab_fail("mincore: %s", strerror(errno));
    for (uint64_t i = 0; i < pages; i++)
        count += cached[i] & 1;
    unmap_chunk(&all);
    free(cached);
    return count;
}

/* Reads the file into the page cache, or asks the kernel to forget it. */
static uint64_t set_cache_state(void)
{
    if (!cold) {
        struct chunk c = { .count = 1, .bytes = lab_alloc(page, page) };
        for (; c.first < pages; c.first++)
            read_chunk(&c);
        free(c.bytes);
        return cached_pages();
    }
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    uint64_t kept = cached_pages();
    if (kept)
        fprintf(stderr, "pagesum: the kernel kept %llu of %llu pages in memory%s\n",
                (unsigned long long)kept, (unsigned long long)pages,
                kept == pages ? " (is the file on a RAM disk?)" : "");
    return kept;
}

int main(int argc, char **argv)
{
    const struct lab_option options[] = {
        { "threads", LAB_COUNT, &threads, 1, LAB_MAX_THREADS - 1, NULL,
          "threads; the pipeline's mapper comes on top" },
        { "mode", LAB_CHOICE, &mode, 0, 0, mode_names, "how the pages are read" },
        { "iterations", LAB_COUNT, &iterations, 0, 1e9, NULL, "processor work a page" },
        { "size", LAB_BYTES, &size, 4096, 1e13, NULL, "of the file" },
        { "chunk", LAB_BYTES, &chunk, 0, 1e13, NULL,
          "bytes mapped at a time; 0: a thread's share (pipeline: a quarter of it)" },
        { "rounds", LAB_COUNT, &rounds, 1, 1e9, NULL, "times the file is read" },
        { "cold", LAB_FLAG, &cold, 0, 0, NULL,
          "drop the file from memory first; it is then read in one round" },
        { "file", LAB_TEXT, &path, 0, 0, NULL,
          "made if missing; empty: in the temporary folder" },
        { 0 },
    };
    lab_options(argc, argv, "Adds up a byte of every page of a file.", options);

    page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (size % page || chunk % page)
        lab_usage_error("--size and --chunk must be multiples of %llu",
                        (unsigned long long)page);
    pages = size / page;
    if (pages < threads)
        lab_usage_error("the file has fewer pages than there are threads");
    uint64_t share = (pages + threads - 1) / threads;
    chunk_pages = chunk ? chunk / page : mode == PIPELINE ? (share + 3) / 4 : share;
    if (cold)
        rounds = 1;

    open_file();
    uint64_t cached = set_cache_state();
    state = lab_alloc(threads * sizeof *state, LAB_CACHE_PAIR);
    lab_check(pthread_barrier_init(&all_read, NULL, (unsigned)threads), "barrier");
    queue_init(&to_sum, 4 * threads + 1);
    queue_init(&to_unmap, 4 * threads + 1);

    struct lab_run run = lab_run((unsigned)threads + (mode == PIPELINE), work, NULL);

    uint64_t sum = 0, burnt = 0, expected_sum = 0, expected_burnt = 0;
    for (unsigned t = 0; t < threads; t++) {
        sum += state[t].sum;
        burnt += state[t].burnt;
    }
    for (uint64_t i = 0; i < pages; i++) {
        unsigned char byte = first_byte(i);
        expected_sum += rounds * byte;
        expected_burnt += rounds * lab_burn_check(byte, iterations);
    }
    queue_free(&to_sum);
    queue_free(&to_unmap);
    free(state);
    close(file);

    lab_result("pagesum", run.seconds, (double)(pages * rounds),
               "mode=%s threads=%u iterations=%llu size=%llu chunk=%llu rounds=%llu cold=%s "
               "cached=%.3f sum=%llu",
               mode_names[mode], (unsigned)threads, (unsigned long long)iterations,
               (unsigned long long)size, (unsigned long long)(chunk_pages * page),
               (unsigned long long)rounds, cold ? "yes" : "no",
               (double)cached / (double)pages, (unsigned long long)sum);
    if (sum != expected_sum || burnt != expected_burnt)
        lab_fail("the sum should be %llu; is %s another program's file?",
                 (unsigned long long)expected_sum, path);
    return 0;
}
