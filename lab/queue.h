/* queue.h: a bounded queue of pointers between threads, made the usual way: a
 * mutex and two condition variables. */
#ifndef LAB_QUEUE_H
#define LAB_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t not_empty, not_full;
    void **item;
    size_t capacity, first, count;
    bool closed;
};

void queue_init(struct queue *q, size_t capacity);
void queue_free(struct queue *q);

/* Waits while the queue is full. */
void queue_push(struct queue *q, void *item);

/* Waits while the queue is empty; NULL when it is empty and closed. */
void *queue_pop(struct queue *q);

/* NULL at once when the queue is empty. */
void *queue_try_pop(struct queue *q);

/* No more items will come. */
void queue_close(struct queue *q);

#endif
