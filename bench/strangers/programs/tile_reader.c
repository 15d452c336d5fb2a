#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#define TILE_BYTES 65536
#define TILES 128

struct reader {
    pthread_t id;
    int index;
    uint64_t sum;
};

static int store_fd = -1;
static long total_reads = 140000;
static int nreaders = 1;

static int create_store(void)
{
    char name[] = "/tmp/tile_reader.XXXXXX";
    int fd = mkstemp(name);
    if (fd < 0)
        return -1;
    unlink(name);
    unsigned char *tile = malloc(TILE_BYTES);
    uint32_t s = 77;
    for (int t = 0; t < TILES; t++) {
        for (int i = 0; i < TILE_BYTES; i++) {
            s = s * 1664525u + 1013904223u;
            tile[i] = (unsigned char)(s >> 24);
        }
        if (write(fd, tile, TILE_BYTES) != TILE_BYTES) {
            free(tile);
            close(fd);
            return -1;
        }
    }
    free(tile);
    return fd;
}

static __attribute__((noinline)) uint64_t read_tile(int tile)
{
    unsigned char *p = mmap(NULL, TILE_BYTES, PROT_READ, MAP_PRIVATE, store_fd, (off_t)tile * TILE_BYTES);
    if (p == MAP_FAILED)
        return 0;
    uint64_t sum = 0;
    for (int i = 0; i < TILE_BYTES; i += 512)
        sum += p[i];
    munmap(p, TILE_BYTES);
    return sum;
}

static void *reader_main(void *arg)
{
    struct reader *r = arg;
    long first = total_reads * r->index / nreaders;
    long last = total_reads * (r->index + 1) / nreaders;
    uint64_t sum = 0;
    for (long i = first; i < last; i++)
        sum += read_tile((int)((unsigned long)i * 29 % TILES));
    r->sum = sum;
    return NULL;
}

int main(int argc, char **argv)
{
    nreaders = argc > 1 ? atoi(argv[1]) : 1;
    if (nreaders < 1)
        nreaders = 1;
    if (argc > 2)
        total_reads = atol(argv[2]);
    store_fd = create_store();
    if (store_fd < 0) {
        perror("store");
        return 1;
    }
    struct reader *readers = calloc((size_t)nreaders, sizeof *readers);
    for (int i = 0; i < nreaders; i++) {
        readers[i].index = i;
        pthread_create(&readers[i].id, NULL, reader_main, &readers[i]);
    }
    uint64_t sum = 0;
    for (int i = 0; i < nreaders; i++) {
        pthread_join(readers[i].id, NULL);
        sum += readers[i].sum;
    }
    printf("tiles %ld sum %llu\n", total_reads, (unsigned long long)sum);
    free(readers);
    close(store_fd);
    return 0;
}
