#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define RECORD_BYTES 4096

struct writer {
    pthread_t id;
    int index;
    uint64_t check;
    long failed;
};

static int journal = -1;
static long total_records = 500;
static int nwriters = 1;

static uint64_t fill_record(unsigned char *rec, long seq)
{
    uint64_t x = 0x2545f4914f6cdd1dull ^ (uint64_t)(seq + 1);
    uint64_t check = 1469598103934665603ull;
    for (int i = 0; i < RECORD_BYTES; i += 8) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        memcpy(rec + i, &x, 8);
        check = (check ^ x) * 1099511628211ull;
    }
    return check;
}

static __attribute__((noinline)) int append_record(const unsigned char *rec, long seq)
{
    if (pwrite(journal, rec, RECORD_BYTES, (off_t)seq * RECORD_BYTES) != RECORD_BYTES)
        return -1;
    return fsync(journal);
}

static void *writer_main(void *arg)
{
    struct writer *w = arg;
    unsigned char rec[RECORD_BYTES];
    for (long seq = w->index; seq < total_records; seq += nwriters) {
        w->check ^= fill_record(rec, seq);
        if (append_record(rec, seq) != 0)
            w->failed++;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    nwriters = argc > 1 ? atoi(argv[1]) : 1;
    if (nwriters < 1)
        nwriters = 1;
    if (argc > 2)
        total_records = atol(argv[2]);
    char name[] = "/tmp/journal_store.XXXXXX";
    journal = mkstemp(name);
    if (journal < 0) {
        perror(name);
        return 1;
    }
    struct writer *writers = calloc((size_t)nwriters, sizeof *writers);
    for (int i = 0; i < nwriters; i++) {
        writers[i].index = i;
        pthread_create(&writers[i].id, NULL, writer_main, &writers[i]);
    }
    uint64_t check = 0;
    long failed = 0;
    for (int i = 0; i < nwriters; i++) {
        pthread_join(writers[i].id, NULL);
        check ^= writers[i].check;
        failed += writers[i].failed;
    }
    close(journal);
    unlink(name);
    printf("records %ld failed %ld check %llx\n", total_records, failed, (unsigned long long)check);
    free(writers);
    return failed != 0;
}
