/* Forwarding table of a packet router: longest prefix match with counters. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define PACKETS 13500000
#define SLOTS 4096

struct route {
    uint32_t prefix;
    int length;
    int port;
    uint64_t packets;
    uint64_t bytes;
    struct route *next;
};

struct table {
    pthread_rwlock_t lock;
    struct route *slot[33][SLOTS];
    int lengths[33];
    int count;
    uint64_t dropped;
};

struct worker {
    pthread_t thread;
    struct table *table;
    uint32_t seed;
    int packets;
    long ports[8];
};

static struct table table = {.lock = PTHREAD_RWLOCK_INITIALIZER};

static uint32_t mask(int length)
{
    return length ? ~0u << (32 - length) : 0;
}

static unsigned hash(uint32_t prefix)
{
    return (prefix * 2654435761u) >> 20;
}

static void add_route(struct table *t, uint32_t prefix, int length, int port)
{
    struct route *r = calloc(1, sizeof *r);
    if (!r)
        exit(1);
    r->prefix = prefix & mask(length);
    r->length = length;
    r->port = port;
    pthread_rwlock_wrlock(&t->lock);
    struct route **head = &t->slot[length][hash(r->prefix)];
    r->next = *head;
    *head = r;
    t->lengths[length]++;
    t->count++;
    pthread_rwlock_unlock(&t->lock);
}

static struct route *match(struct table *t, uint32_t address)
{
    for (int length = 32; length >= 0; length--) {
        if (!t->lengths[length])
            continue;
        uint32_t prefix = address & mask(length);
        for (struct route *r = t->slot[length][hash(prefix)]; r; r = r->next)
            if (r->prefix == prefix)
                return r;
    }
    return NULL;
}

static int forward(struct table *t, uint32_t address, int size)
{
    int port = -1;
    pthread_rwlock_wrlock(&t->lock);
    struct route *r = match(t, address);
    if (r) {
        r->packets++;
        r->bytes += size;
        port = r->port;
    } else {
        t->dropped++;
    }
    pthread_rwlock_unlock(&t->lock);
    return port;
}

static int route_count(struct table *t)
{
    pthread_rwlock_rdlock(&t->lock);
    int n = t->count;
    pthread_rwlock_unlock(&t->lock);
    return n;
}

static void *run(void *arg)
{
    struct worker *w = arg;
    uint32_t s = w->seed;
    for (int i = 0; i < w->packets; i++) {
        s ^= s << 13;
        s ^= s >> 17;
        s ^= s << 5;
        int port = forward(w->table, s, 64 + (s >> 7) % 1400);
        if (port >= 0)
            w->ports[port]++;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1;
    uint32_t s = 4711;
    for (int i = 0; i < 16000; i++) {
        s = s * 1664525 + 1013904223;
        add_route(&table, s, 8 + (s >> 13) % 9 * 2, i % 8);
    }
    struct worker *w = calloc(n, sizeof *w);
    for (int i = 0; i < n; i++) {
        w[i].table = &table;
        w[i].seed = 977 * i + 88172645;
        w[i].packets = PACKETS / n;
        pthread_create(&w[i].thread, NULL, run, &w[i]);
    }
    long busiest = 0, port[8] = {0};
    for (int i = 0; i < n; i++) {
        pthread_join(w[i].thread, NULL);
        for (int p = 0; p < 8; p++)
            port[p] += w[i].ports[p];
    }
    for (int p = 0; p < 8; p++)
        if (port[p] > busiest)
            busiest = port[p];
    printf("routes %d busiest port %ld dropped %lu\n", route_count(&table), busiest, (unsigned long)table.dropped);
    return 0;
}
