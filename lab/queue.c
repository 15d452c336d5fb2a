/* queue.c: see queue.h. */
#include "queue.h"
#include "harness.h"

void queue_init(struct queue *q, size_t capacity)
{
    *q = (struct queue){ .capacity = capacity };
    q->item = lab_alloc(capacity * sizeof *q->item, sizeof *q->item);
    lab_check(pthread_mutex_init(&q->lock, NULL), "mutex");
    lab_check(pthread_cond_init(&q->not_empty, NULL), "condition variable");
    lab_check(pthread_cond_init(&q->not_full, NULL), "condition variable");
}

void queue_free(struct queue *q)
{
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->not_empty);
    pthread_cond_destroy(&q->not_full);
    free(q->item);
}

void queue_push(struct queue *q, void *item)
{
    pthread_mutex_lock(&q->lock);
    while (q->count == q->capacity)
        pthread_cond_wait(&q->not_full, &q->lock);
    q->item[(q->first + q->count) % q->capacity] = item;
    q->count++;
    pthread_cond_signal(&q->not_empty);
    pthread_mutex_unlock(&q->lock);
}

/* With the lock held and at least one item. */
static void *take_first(struct queue *q)
{
    void *item = q->item[q->first];
    q->first = (q->first + 1) % q->capacity;
    q->count--;
    pthread_cond_signal(&q->not_full);
    return item;
}

void *queue_pop(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    while (q->count == 0 && !q->closed)
        pthread_cond_wait(&q->not_empty, &q->lock);
    void *item = q->count ? take_first(q) : NULL;
    pthread_mutex_unlock(&q->lock);
    return item;
}

void *queue_try_pop(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    void *item = q->count ? take_first(q) : NULL;
    pthread_mutex_unlock(&q->lock);
    return item;
}

void queue_close(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->closed = true;
    pthread_cond_broadcast(&q->not_empty);
    pthread_mutex_unlock(&q->lock);
}
