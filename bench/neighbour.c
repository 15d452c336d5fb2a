/* A program that shares the machine with a measured one.
 *
 *   neighbour hog        keeps a processor busy
 *   neighbour build      computes on all processors for half a second, and rests for half a second
 *   neighbour waker      sleeps, and wakes 20,000 times a second
 *
 * Runs until it is killed, and ends with the process that started it. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void compute(double until) {
    volatile unsigned long sum = 0;
    while (now() < until)
        for (int i = 0; i < 10000; i++) sum += (unsigned long)i;
}

static void rest(double seconds) {
    struct timespec t = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&t, NULL);
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "";
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!strcmp(what, "hog")) {
        for (;;) compute(now() + 1.0);
    }
    if (!strcmp(what, "build")) {
        for (long other = 1; other < sysconf(_SC_NPROCESSORS_ONLN); other++) {
            if (fork() == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                break;
            }
        }
        for (;;) {
            compute(now() + 0.5);
            rest(0.5);
        }
    }
    if (!strcmp(what, "waker")) {
        /* By default the kernel may delay timers by 50 microseconds. */
        prctl(PR_SET_TIMERSLACK, 1);
        for (;;) rest(50e-6);
    }
    fprintf(stderr, "neighbour: hog, build or waker\n");
    return 2;
}
