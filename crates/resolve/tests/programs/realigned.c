/* A stack through a function that moves its stack pointer to a multiple of 64, and has a frame whose size is only known at
   run time, as functions with exceptions have it too: main -> outer -> realigned -> keeps -> raise. */
#include <alloca.h>
#include <signal.h>
#include <stdalign.h>

/* Has its caller's frame pointer on the stack. */
__attribute__((noipa)) static int keeps(int depth) {
#ifdef __x86_64__
    __asm__ volatile("" ::: "rbp");
#endif
    raise(SIGSTOP);
    return depth + 1;
}

__attribute__((noipa)) static int realigned(int depth) {
    alignas(64) volatile char room[192];
    volatile char *more = alloca((unsigned long)depth * 16);
    room[depth] = more[0] = 1;
    int kept = keeps(depth);
    return kept + room[depth] + more[0];
}

__attribute__((noipa)) static int outer(int depth) {
    volatile char room[200];
    room[depth] = 1;
    return realigned(depth) + room[depth];
}

int main(int count, char **arguments) {
    (void)arguments;
    return outer(count) + 1;
}
