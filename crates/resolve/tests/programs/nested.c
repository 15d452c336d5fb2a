/* A known call stack that stops itself: worker -> outer -> middle -> (inlined) stop_here -> raise. The main thread
   waits in pthread_join. With an argument, a second worker waits for a mutex that the first one holds. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static volatile int sink;

static inline __attribute__((always_inline)) int stop_here(int depth) {
    raise(SIGSTOP); /* stops */
    return depth + 1;
}

__attribute__((noipa)) static int middle(int depth) {
    volatile char room[3000]; /* a large frame */
    room[depth] = 1;
    int result = stop_here(depth); /* inlines */
    return result + room[depth];
}

__attribute__((noipa)) int outer(int depth) {
    return middle(depth) + 1; /* calls middle */
}

__attribute__((noipa)) static void wait_for_mutex(void) {
    pthread_mutex_lock(&mutex); /* waits */
    sink++;
    pthread_mutex_unlock(&mutex);
}

static void *worker(void *has_waiter) {
    pthread_mutex_lock(&mutex);
    pthread_barrier_wait(&barrier);
    if (has_waiter) {
        /* The first word of a glibc mutex is 2 while a thread waits for it; other C libraries get the full time. */
        for (int tries = 0; tries < 500 && *(volatile int *)&mutex != 2; tries++) {
            usleep(1000);
        }
        usleep(20000);
    }
    sink += outer(7);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void *waiter(void *unused) {
    pthread_barrier_wait(&barrier);
    wait_for_mutex();
    return unused;
}

int main(int count, char **arguments) {
    (void)arguments;
    pthread_t threads[2];
    pthread_barrier_init(&barrier, NULL, count > 1 ? 2 : 1);
    if (count > 1) {
        pthread_create(&threads[1], NULL, waiter, NULL);
    }
    pthread_create(&threads[0], NULL, worker, count > 1 ? &mutex : NULL);
    pthread_join(threads[0], NULL); /* joins */
    if (count > 1) {
        pthread_join(threads[1], NULL);
    }
    return 0;
}
