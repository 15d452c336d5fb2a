/*
 * keyvault - signing core of a small key service.
 *
 * Each key lives alone in a page of the vault.  A page is only accessible
 * while a signature is being computed with its key, so that a stray read
 * elsewhere in the process can not leak key material.
 *
 * usage: keyvault THREADS
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_KEYS        512
#define SIGNS_PER_KEY 320
#define KEY_WORDS     8
#define MAX_THREADS   64

struct key_page {
    uint64_t words[KEY_WORDS];
    uint64_t uses;
    uint64_t last_tag;
};

struct vault {
    unsigned char *base;
    size_t page;
};

struct signer {
    pthread_t tid;
    struct vault *vault;
    int first_key;
    int end_key;
    uint64_t tags;
    uint64_t issued;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t mix64(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    x ^= x >> 31;
    return x;
}

static struct key_page *key_at(const struct vault *v, int key)
{
    return (struct key_page *)(v->base + (size_t)key * v->page);
}

static void vault_open(struct vault *v)
{
    v->page = (size_t)sysconf(_SC_PAGESIZE);
    v->base = mmap(NULL, N_KEYS * v->page, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (v->base == MAP_FAILED)
        die("mmap");
    for (int k = 0; k < N_KEYS; k++) {
        struct key_page *kp = key_at(v, k);
        for (int w = 0; w < KEY_WORDS; w++)
            kp->words[w] = mix64((uint64_t)k * KEY_WORDS + (uint64_t)w + 1);
        kp->uses = 0;
        kp->last_tag = 0;
    }
    if (mprotect(v->base, N_KEYS * v->page, PROT_NONE) != 0)
        die("mprotect");
}

static struct key_page *key_unseal(const struct vault *v, int key)
{
    struct key_page *kp = key_at(v, key);
    if (mprotect(kp, v->page, PROT_READ | PROT_WRITE) != 0)
        die("mprotect");
    return kp;
}

static void key_seal(const struct vault *v, struct key_page *kp)
{
    if (mprotect(kp, v->page, PROT_NONE) != 0)
        die("mprotect");
}

/* A keyed tag over a 64 byte request body. */
static uint64_t compute_tag(const uint64_t *key, const uint64_t *body)
{
    uint64_t acc = 0x243f6a8885a308d3ull;

    for (int round = 0; round < 6; round++)
        for (int w = 0; w < KEY_WORDS; w++)
            acc = mix64(acc + (body[w] ^ key[(w + round) % KEY_WORDS]));
    return acc;
}

static void make_request(int key, int seq, uint64_t *body)
{
    uint64_t seed = ((uint64_t)key << 32) | (uint64_t)seq;
    for (int w = 0; w < KEY_WORDS; w++)
        body[w] = seed * 0x9e3779b97f4a7c15ull + (uint64_t)w;
}

static uint64_t sign_request(const struct vault *v, int key, int seq)
{
    uint64_t body[KEY_WORDS];
    uint64_t tag;
    struct key_page *kp;

    make_request(key, seq, body);
    kp = key_unseal(v, key);
    tag = compute_tag(kp->words, body);
    kp->uses++;
    kp->last_tag = tag;
    key_seal(v, kp);
    return tag;
}

static void *signer_main(void *arg)
{
    struct signer *s = arg;
    uint64_t tags = 0, issued = 0;

    for (int seq = 0; seq < SIGNS_PER_KEY; seq++) {
        for (int key = s->first_key; key < s->end_key; key++) {
            tags ^= sign_request(s->vault, key, seq);
            issued++;
        }
    }
    s->tags = tags;
    s->issued = issued;
    return NULL;
}

static uint64_t vault_audit(const struct vault *v)
{
    uint64_t uses = 0;

    if (mprotect(v->base, N_KEYS * v->page, PROT_READ) != 0)
        die("mprotect");
    for (int k = 0; k < N_KEYS; k++)
        uses += key_at(v, k)->uses;
    return uses;
}

int main(int argc, char **argv)
{
    static struct signer signers[MAX_THREADS];
    struct vault vault;
    uint64_t tags = 0, issued = 0;
    int n = argc > 1 ? atoi(argv[1]) : 1;

    if (n < 1 || n > MAX_THREADS) {
        fprintf(stderr, "usage: keyvault THREADS\n");
        return 2;
    }
    vault_open(&vault);
    for (int t = 0; t < n; t++) {
        signers[t].vault = &vault;
        signers[t].first_key = N_KEYS * t / n;
        signers[t].end_key = N_KEYS * (t + 1) / n;
        if (pthread_create(&signers[t].tid, NULL, signer_main, &signers[t]) != 0)
            die("pthread_create");
    }
    for (int t = 0; t < n; t++) {
        pthread_join(signers[t].tid, NULL);
        tags ^= signers[t].tags;
        issued += signers[t].issued;
    }
    printf("issued %llu audited %llu tags %016llx\n",
           (unsigned long long)issued,
           (unsigned long long)vault_audit(&vault),
           (unsigned long long)tags);
    return 0;
}
