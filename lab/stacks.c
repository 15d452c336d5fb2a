/* stacks.c: see stacks.h. */
#define _GNU_SOURCE
#include "stacks.h"
#include "harness.h"

#include <sys/mman.h>
#include <unistd.h>

#if defined __x86_64__ || defined __i386__
#include <x86intrin.h>
const char *const cycles_unit = "cycles";
uint64_t cycles_now(void)
{
    return __rdtsc();
}
#else
const char *const cycles_unit = "ns";
uint64_t cycles_now(void)
{
    return lab_now();
}
#endif

bool stack_map(struct stack *stack, size_t size, bool low)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE;
    if (low) {
#ifdef MAP_32BIT
        flags |= MAP_32BIT;
#else
        return false;
#endif
    }
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    if (mprotect(memory, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE) != 0) {
        munmap(memory, size);
        return false;
    }
    *stack = (struct stack){ .memory = memory, .size = size };
    return true;
}

void stack_unmap(struct stack *stack)
{
    if (stack->memory)
        munmap(stack->memory, stack->size);
    stack->memory = NULL;
}

int stack_create_thread(pthread_t *id, const struct stack *stack, void *(*body)(void *),
                        void *argument)
{
    pthread_attr_t attributes;
    lab_check(pthread_attr_init(&attributes), "attributes");
    lab_check(stack->memory
                  ? pthread_attr_setstack(&attributes, stack->memory, stack->size)
                  : pthread_attr_setstacksize(&attributes, stack->size),
              "stack");
    int status = pthread_create(id, &attributes, body, argument);
    pthread_attr_destroy(&attributes);
    return status;
}
