/*
 * dispatchd - core of a courier dispatcher.
 *
 * The intake hands route requests to the planners through a bounded queue;
 * a planner computes the cheapest route over the city grid for the request.
 *
 * usage: dispatchd THREADS
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SIDE        40
#define CELLS       (SIDE * SIDE)
#define N_REQUESTS  3200
#define QUEUE_SLOTS 64
#define MAX_THREADS 64

struct request {
    uint32_t id;
    uint32_t from;
    uint32_t to;
    uint32_t surcharge;
};

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t not_empty;
    pthread_cond_t not_full;
    struct request slot[QUEUE_SLOTS];
    int head;
    int count;
    int closed;
};

struct heap_item {
    uint32_t cost;
    uint32_t cell;
};

struct search {
    uint32_t cost[CELLS];
    struct heap_item heap[CELLS * 4 + 8];
    int size;
};

struct planner {
    pthread_t tid;
    struct queue *queue;
    uint64_t planned;
    uint64_t total_cost;
    uint64_t digest;
};

static uint32_t terrain[CELLS];

static uint32_t hash32(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    x ^= x >> 16;
    return x;
}

static void queue_init(struct queue *q)
{
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->not_empty, NULL);
    pthread_cond_init(&q->not_full, NULL);
    q->head = q->count = q->closed = 0;
}

static void queue_put(struct queue *q, const struct request *r)
{
    pthread_mutex_lock(&q->lock);
    while (q->count == QUEUE_SLOTS)
        pthread_cond_wait(&q->not_full, &q->lock);
    q->slot[(q->head + q->count) % QUEUE_SLOTS] = *r;
    q->count++;
    pthread_cond_signal(&q->not_empty);
    pthread_mutex_unlock(&q->lock);
}

static int queue_get(struct queue *q, struct request *r)
{
    pthread_mutex_lock(&q->lock);
    while (q->count == 0 && !q->closed)
        pthread_cond_wait(&q->not_empty, &q->lock);
    if (q->count == 0) {
        pthread_mutex_unlock(&q->lock);
        return 0;
    }
    *r = q->slot[q->head];
    q->head = (q->head + 1) % QUEUE_SLOTS;
    q->count--;
    pthread_cond_signal(&q->not_full);
    pthread_mutex_unlock(&q->lock);
    return 1;
}

static void queue_close(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->closed = 1;
    pthread_cond_broadcast(&q->not_empty);
    pthread_mutex_unlock(&q->lock);
}

static void heap_push(struct search *s, uint32_t cost, uint32_t cell)
{
    int i = s->size++;

    while (i > 0) {
        int parent = (i - 1) / 2;
        if (s->heap[parent].cost <= cost)
            break;
        s->heap[i] = s->heap[parent];
        i = parent;
    }
    s->heap[i].cost = cost;
    s->heap[i].cell = cell;
}

static struct heap_item heap_pop(struct search *s)
{
    struct heap_item top = s->heap[0];
    struct heap_item last = s->heap[--s->size];
    int i = 0;

    for (;;) {
        int child = 2 * i + 1;
        if (child >= s->size)
            break;
        if (child + 1 < s->size && s->heap[child + 1].cost < s->heap[child].cost)
            child++;
        if (s->heap[child].cost >= last.cost)
            break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
    return top;
}

static void relax(struct search *s, const struct request *r, uint32_t cell, uint32_t base)
{
    uint32_t cost = base + terrain[cell] + ((r->surcharge * (cell & 7)) >> 2);

    if (cost < s->cost[cell]) {
        s->cost[cell] = cost;
        heap_push(s, cost, cell);
    }
}

static uint32_t plan_route(struct search *s, const struct request *r)
{
    for (int i = 0; i < CELLS; i++)
        s->cost[i] = UINT32_MAX;
    s->size = 0;
    s->cost[r->from] = 0;
    heap_push(s, 0, r->from);
    while (s->size > 0) {
        struct heap_item it = heap_pop(s);
        uint32_t x = it.cell % SIDE, y = it.cell / SIDE;

        if (it.cost > s->cost[it.cell])
            continue;
        if (x > 0)
            relax(s, r, it.cell - 1, it.cost);
        if (x < SIDE - 1)
            relax(s, r, it.cell + 1, it.cost);
        if (y > 0)
            relax(s, r, it.cell - SIDE, it.cost);
        if (y < SIDE - 1)
            relax(s, r, it.cell + SIDE, it.cost);
    }
    return s->cost[r->to];
}

static void *planner_main(void *arg)
{
    struct planner *p = arg;
    struct search *s = malloc(sizeof *s);
    struct request r;
    uint64_t planned = 0, total = 0, digest = 0;

    if (s == NULL)
        abort();
    while (queue_get(p->queue, &r)) {
        uint32_t cost = plan_route(s, &r);
        planned++;
        total += cost;
        digest += (uint64_t)hash32(cost ^ r.id);
    }
    free(s);
    p->planned = planned;
    p->total_cost = total;
    p->digest = digest;
    return NULL;
}

int main(int argc, char **argv)
{
    static struct planner planners[MAX_THREADS];
    static struct queue queue;
    uint64_t planned = 0, total = 0, digest = 0;
    int n = argc > 1 ? atoi(argv[1]) : 1;

    if (n < 1 || n > MAX_THREADS) {
        fprintf(stderr, "usage: dispatchd THREADS\n");
        return 2;
    }
    for (uint32_t i = 0; i < CELLS; i++)
        terrain[i] = 10 + hash32(i) % 90;
    queue_init(&queue);
    for (int t = 0; t < n; t++) {
        planners[t].queue = &queue;
        if (pthread_create(&planners[t].tid, NULL, planner_main, &planners[t]) != 0) {
            perror("pthread_create");
            return 1;
        }
    }
    for (uint32_t id = 0; id < N_REQUESTS; id++) {
        struct request r = { id, hash32(id * 3 + 1) % CELLS,
                             hash32(id * 3 + 2) % CELLS, hash32(id * 3) % 40 };
        queue_put(&queue, &r);
    }
    queue_close(&queue);
    for (int t = 0; t < n; t++) {
        pthread_join(planners[t].tid, NULL);
        planned += planners[t].planned;
        total += planners[t].total_cost;
        digest += planners[t].digest;
    }
    printf("planned %llu cost %llu digest %llu\n", (unsigned long long)planned,
           (unsigned long long)total, (unsigned long long)digest);
    return 0;
}
