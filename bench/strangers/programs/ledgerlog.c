/*
 * ledgerlog - posting engine with a fixed-size journal.
 *
 * Accounts are spread over the posting threads.  Every batch of postings is
 * encoded into a journal block; each account has a ring of block slots at a
 * fixed place in the journal file, so no coordination is needed to find the
 * place of a block.
 *
 * usage: ledgerlog THREADS
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_ACCOUNTS         64
#define BATCHES            7800
#define RING_SLOTS         32
#define BLOCK_BYTES        2048
#define POSTINGS_PER_BLOCK 60
#define MAX_THREADS        64

struct posting {
    uint32_t counterparty;
    uint32_t kind;
    int64_t amount;
    uint64_t balance;
    uint64_t stamp;
};

struct block {
    uint32_t magic;
    uint32_t account;
    uint64_t sequence;
    uint64_t checksum;
    uint64_t opening;
    struct posting postings[POSTINGS_PER_BLOCK];
    unsigned char pad[BLOCK_BYTES - 32 - POSTINGS_PER_BLOCK * sizeof(struct posting)];
};

_Static_assert(sizeof(struct block) == BLOCK_BYTES, "journal block size");

struct poster {
    pthread_t tid;
    int journal;
    int first_account;
    int end_account;
    uint64_t balance_sum;
    uint64_t check_sum;
};

static uint64_t step(uint64_t *s)
{
    uint64_t x = *s;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *s = x;
    return x;
}

static off_t slot_offset(uint32_t account, uint64_t sequence)
{
    uint64_t slot = (uint64_t)account * RING_SLOTS + sequence % RING_SLOTS;
    return (off_t)(slot * BLOCK_BYTES);
}

/* Apply one batch to the balance and encode it. */
static void encode_batch(struct block *b, uint32_t account, uint64_t seq,
                         uint64_t *balance, uint64_t *rng)
{
    uint64_t check = seq + account;

    b->magic = 0x4c454447u;
    b->account = account;
    b->sequence = seq;
    b->opening = *balance;
    for (int i = 0; i < POSTINGS_PER_BLOCK; i++) {
        uint64_t r = step(rng);
        struct posting *p = &b->postings[i];
        p->counterparty = (uint32_t)(r >> 40);
        p->kind = (uint32_t)(r & 7);
        p->amount = (int64_t)((r >> 8) & 0xffff) - 0x4000;
        *balance += (uint64_t)p->amount;
        p->balance = *balance;
        p->stamp = seq * POSTINGS_PER_BLOCK + (uint64_t)i;
        check = check * 31 + p->balance;
    }
    b->checksum = check;
}

static void append_block(int journal, const struct block *b)
{
    const char *p = (const char *)b;
    size_t left = BLOCK_BYTES;
    off_t at = slot_offset(b->account, b->sequence);

    while (left > 0) {
        ssize_t k = pwrite(journal, p, left, at);
        if (k < 0) {
            if (errno == EINTR)
                continue;
            perror("pwrite");
            exit(1);
        }
        p += k;
        at += k;
        left -= (size_t)k;
    }
}

static void *poster_main(void *arg)
{
    struct poster *w = arg;
    struct block *b = calloc(1, sizeof *b);
    uint64_t balances = 0, checks = 0;

    if (b == NULL)
        abort();
    for (int a = w->first_account; a < w->end_account; a++) {
        uint64_t balance = 1000000u;
        uint64_t rng = 0x9e3779b97f4a7c15ull * (uint64_t)(a + 1);

        for (uint64_t seq = 0; seq < BATCHES; seq++) {
            encode_batch(b, (uint32_t)a, seq, &balance, &rng);
            append_block(w->journal, b);
            checks += b->checksum;
        }
        balances += balance;
    }
    free(b);
    w->balance_sum = balances;
    w->check_sum = checks;
    return NULL;
}

static int open_journal(void)
{
    char path[] = "/tmp/ledgerlog.XXXXXX";
    int fd = mkstemp(path);

    if (fd < 0) {
        perror("mkstemp");
        exit(1);
    }
    unlink(path);
    if (ftruncate(fd, (off_t)N_ACCOUNTS * RING_SLOTS * BLOCK_BYTES) != 0) {
        perror("ftruncate");
        exit(1);
    }
    return fd;
}

/* Count the slots that hold a sound block after the run. */
static int verify_journal(int fd)
{
    struct block b;
    int good = 0;

    for (int s = 0; s < N_ACCOUNTS * RING_SLOTS; s++) {
        if (pread(fd, &b, sizeof b, (off_t)s * BLOCK_BYTES) != (ssize_t)sizeof b)
            continue;
        if (b.magic == 0x4c454447u && b.account == (uint32_t)(s / RING_SLOTS))
            good++;
    }
    return good;
}

int main(int argc, char **argv)
{
    static struct poster posters[MAX_THREADS];
    uint64_t balances = 0, checks = 0;
    int n = argc > 1 ? atoi(argv[1]) : 1;

    if (n < 1 || n > MAX_THREADS) {
        fprintf(stderr, "usage: ledgerlog THREADS\n");
        return 2;
    }
    int journal = open_journal();
    for (int t = 0; t < n; t++) {
        posters[t].journal = journal;
        posters[t].first_account = N_ACCOUNTS * t / n;
        posters[t].end_account = N_ACCOUNTS * (t + 1) / n;
        if (pthread_create(&posters[t].tid, NULL, poster_main, &posters[t]) != 0) {
            perror("pthread_create");
            return 1;
        }
    }
    for (int t = 0; t < n; t++) {
        pthread_join(posters[t].tid, NULL);
        balances += posters[t].balance_sum;
        checks += posters[t].check_sum;
    }
    printf("blocks %d slots-good %d balances %llu checks %016llx\n",
           N_ACCOUNTS * BATCHES, verify_journal(journal),
           (unsigned long long)balances, (unsigned long long)checks);
    close(journal);
    return 0;
}
