#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUTES 256

struct route {
    uint32_t prefix;
    uint32_t next_hop;
};

struct port {
    pthread_t id;
    int index;
    uint64_t sum;
};

static struct route table[ROUTES];
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static long total_packets = 10000000;
static int nports = 1;

static __attribute__((noinline)) uint32_t find_route(uint32_t addr)
{
    pthread_rwlock_rdlock(&table_lock);
    int lo = 0, hi = ROUTES;
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        if (table[mid].prefix <= addr)
            lo = mid;
        else
            hi = mid;
    }
    uint32_t hop = table[lo].next_hop;
    pthread_rwlock_unlock(&table_lock);
    return hop;
}

static __attribute__((noinline)) void update_route(uint32_t slot, uint32_t hop)
{
    pthread_rwlock_wrlock(&table_lock);
    table[slot % ROUTES].next_hop = hop;
    pthread_rwlock_unlock(&table_lock);
}

static void *port_main(void *arg)
{
    struct port *p = arg;
    long first = total_packets * p->index / nports;
    long last = total_packets * (p->index + 1) / nports;
    uint32_t x = 2463534242u + (uint32_t)p->index;
    uint64_t sum = 0;
    for (long i = first; i < last; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        sum += find_route(x);
        if (i % 50000 == 0)
            update_route(x >> 8, (uint32_t)(i & 15));
    }
    p->sum = sum;
    return NULL;
}

int main(int argc, char **argv)
{
    nports = argc > 1 ? atoi(argv[1]) : 1;
    if (nports < 1)
        nports = 1;
    if (argc > 2)
        total_packets = atol(argv[2]);
    for (uint32_t i = 0; i < ROUTES; i++) {
        table[i].prefix = i << 24;
        table[i].next_hop = i % 13;
    }
    struct port *ports = calloc((size_t)nports, sizeof *ports);
    for (int i = 0; i < nports; i++) {
        ports[i].index = i;
        pthread_create(&ports[i].id, NULL, port_main, &ports[i]);
    }
    uint64_t sum = 0;
    for (int i = 0; i < nports; i++) {
        pthread_join(ports[i].id, NULL);
        sum += ports[i].sum;
    }
    printf("packets %ld hops %llu\n", total_packets, (unsigned long long)sum);
    free(ports);
    return 0;
}
