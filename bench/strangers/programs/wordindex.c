/*
 * wordindex - term statistics of a document collection.
 *
 * Workers count the terms of their documents in a private table and from
 * time to time fold it into the common index, which is divided into shards.
 *
 * usage: wordindex THREADS
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_DOCS       45000
#define DOC_BYTES    4096
#define CORPUS_BYTES (512 * 1024)
#define VOCABULARY   4000
#define SHARDS       64
#define SHARD_SLOTS  1024
#define LOCAL_SLOTS  8192
#define FOLD_EVERY   256
#define MAX_THREADS  64

struct term {
    uint64_t hash;
    uint32_t hits;
    uint32_t docs;
    uint32_t last_doc;
};

struct shard {
    pthread_mutex_t lock;
    struct term slots[SHARD_SLOTS];
} __attribute__((aligned(64)));

struct local_index {
    struct term slots[LOCAL_SLOTS];
    uint32_t used[LOCAL_SLOTS];
    uint32_t n_used;
    uint32_t order[LOCAL_SLOTS];
};

struct worker {
    pthread_t tid;
    int from;
    int to;
};

static struct shard shards[SHARDS];
static char corpus[CORPUS_BYTES];

static uint32_t rnd(uint32_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 17;
    *s ^= *s << 5;
    return *s;
}

static void build_corpus(void)
{
    static const char *syllable[] = {
        "ba", "ker", "lo", "min", "ta", "ro", "sel", "vi", "dun", "pa",
        "gri", "mo", "nes", "tu", "fal", "co", "ri", "wen", "sha", "ul",
    };
    static char words[VOCABULARY][20];
    uint32_t seed = 2463534242u;
    size_t at = 0;

    for (int w = 0; w < VOCABULARY; w++) {
        int parts = 2 + (int)(rnd(&seed) % 3);
        words[w][0] = '\0';
        for (int p = 0; p < parts; p++)
            strcat(words[w], syllable[rnd(&seed) % 20]);
    }
    while (at + 24 < CORPUS_BYTES) {
        uint32_t a = rnd(&seed) % VOCABULARY;
        uint32_t b = rnd(&seed) % VOCABULARY;
        const char *w = words[a < b ? a : b];
        size_t len = strlen(w);
        memcpy(corpus + at, w, len);
        at += len;
        corpus[at++] = ' ';
    }
    memset(corpus + at, ' ', CORPUS_BYTES - at);
}

static void count_term(struct local_index *ix, uint64_t hash, uint32_t doc)
{
    uint32_t i = (uint32_t)(hash & (LOCAL_SLOTS - 1));

    while (ix->slots[i].hash != 0 && ix->slots[i].hash != hash)
        i = (i + 1) & (LOCAL_SLOTS - 1);
    struct term *t = &ix->slots[i];
    if (t->hash == 0) {
        t->hash = hash;
        t->last_doc = UINT32_MAX;
        ix->used[ix->n_used++] = i;
    }
    t->hits++;
    if (t->last_doc != doc) {
        t->last_doc = doc;
        t->docs++;
    }
}

static void index_document(struct local_index *ix, uint32_t doc)
{
    const char *p = corpus + (doc * 7919u) % (CORPUS_BYTES - DOC_BYTES);
    const char *end = p + DOC_BYTES;
    uint64_t hash = 14695981039346656037ull;
    int letters = 0;

    while (p < end && *p != ' ')            /* skip a cut word */
        p++;
    for (; p < end; p++) {
        if (*p == ' ') {
            if (letters > 0)
                count_term(ix, hash | 1, doc);
            hash = 14695981039346656037ull;
            letters = 0;
        } else {
            hash = (hash ^ (unsigned char)*p) * 1099511628211ull;
            letters++;
        }
    }
}

static void shard_add(struct shard *sh, const struct term *t)
{
    uint32_t i = (uint32_t)((t->hash >> 8) & (SHARD_SLOTS - 1));

    while (sh->slots[i].hash != 0 && sh->slots[i].hash != t->hash)
        i = (i + 1) & (SHARD_SLOTS - 1);
    sh->slots[i].hash = t->hash;
    sh->slots[i].hits += t->hits;
    sh->slots[i].docs += t->docs;
}

/* Move the private counts into the common index, one shard after another. */
static void fold(struct local_index *ix)
{
    uint32_t start[SHARDS + 1] = { 0 };
    uint32_t place[SHARDS];

    for (uint32_t u = 0; u < ix->n_used; u++)
        start[(ix->slots[ix->used[u]].hash >> 58) + 1]++;
    for (int s = 0; s < SHARDS; s++) {
        start[s + 1] += start[s];
        place[s] = start[s];
    }
    for (uint32_t u = 0; u < ix->n_used; u++)
        ix->order[place[ix->slots[ix->used[u]].hash >> 58]++] = ix->used[u];

    for (int s = 0; s < SHARDS; s++) {
        if (start[s] == start[s + 1])
            continue;
        pthread_mutex_lock(&shards[s].lock);
        for (uint32_t k = start[s]; k < start[s + 1]; k++)
            shard_add(&shards[s], &ix->slots[ix->order[k]]);
        pthread_mutex_unlock(&shards[s].lock);
    }
    for (uint32_t u = 0; u < ix->n_used; u++)
        memset(&ix->slots[ix->used[u]], 0, sizeof(struct term));
    ix->n_used = 0;
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct local_index *ix = calloc(1, sizeof *ix);

    if (ix == NULL)
        abort();
    for (int d = w->from; d < w->to; d++) {
        index_document(ix, (uint32_t)d);
        if ((d - w->from) % FOLD_EVERY == FOLD_EVERY - 1)
            fold(ix);
    }
    fold(ix);
    free(ix);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker workers[MAX_THREADS];
    int n = argc > 1 ? atoi(argv[1]) : 1;

    if (n < 1 || n > MAX_THREADS) {
        fprintf(stderr, "usage: wordindex THREADS\n");
        return 2;
    }
    build_corpus();
    for (int s = 0; s < SHARDS; s++)
        pthread_mutex_init(&shards[s].lock, NULL);
    for (int t = 0; t < n; t++) {
        workers[t].from = (int)((long)N_DOCS * t / n);
        workers[t].to = (int)((long)N_DOCS * (t + 1) / n);
        if (pthread_create(&workers[t].tid, NULL, worker_main, &workers[t]) != 0) {
            perror("pthread_create");
            return 1;
        }
    }
    for (int t = 0; t < n; t++)
        pthread_join(workers[t].tid, NULL);

    uint64_t terms = 0, hits = 0, weight = 0;
    for (int s = 0; s < SHARDS; s++) {
        for (int i = 0; i < SHARD_SLOTS; i++) {
            const struct term *t = &shards[s].slots[i];
            if (t->hash == 0)
                continue;
            terms++;
            hits += t->hits;
            weight += t->hash * t->docs;
        }
    }
    printf("terms %llu hits %llu weight %016llx\n", (unsigned long long)terms,
           (unsigned long long)hits, (unsigned long long)weight);
    return 0;
}
