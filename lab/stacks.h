/* stacks.h: thread stacks at chosen addresses, and a clock that counts cycles. */
#ifndef LAB_STACKS_H
#define LAB_STACKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stack {
    void *memory; /* NULL: the C library's own */
    size_t size;
};

/* Below 2 GiB if `low`, otherwise where the kernel chooses; the lowest page is a
 * guard. False if there is no room (or, for low, no way to ask for it). */
bool stack_map(struct stack *stack, size_t size, bool low);
void stack_unmap(struct stack *stack);

/* Creates a thread on that stack, or on one of the C library's of that size.
 * Returns what pthread_create() returns. */
int stack_create_thread(pthread_t *id, const struct stack *stack, void *(*body)(void *),
                        void *argument);

/* The time stamp counter where there is one, otherwise nanoseconds. The counter
 * runs at a fixed rate, which may differ from the processor's at that moment. */
uint64_t cycles_now(void);
extern const char *const cycles_unit;

#endif
