/* Prints what the libraries of the trials change: random numbers of two threads, how far allocations are apart, the kind of
 * a locked mutex. */

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static long first[2];

static void *draw(void *number) {
    first[(intptr_t)number] = random();
    return NULL;
}

static unsigned long apart(void) {
    char *a = malloc(24), *b = malloc(24);
    char *c = realloc(a, 40), *d = calloc(1, 40);
    unsigned long least = b > c ? (unsigned long)(b - c) : (unsigned long)(c - b);
    unsigned long other = d > c ? (unsigned long)(d - c) : (unsigned long)(c - d);
    int zero = 1;
    for (int i = 0; i < 40; i++)
        zero &= d[i] == 0;
    free(b);
    free(c);
    free(d);
    return zero ? (least < other ? least : other) : 0;
}

int main(void) {
    printf("main %ld %d %.6f\n", random(), rand(), drand48());
    for (intptr_t number = 0; number < 2; number++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, draw, (void *)number))
            return 1;
        pthread_join(thread, NULL);
    }
    printf("threads %s\n", first[0] == first[1] ? "same" : "differ");
    srand(42);
    printf("seeded %d %ld\n", rand(), random());
    printf("apart %s\n", apart() >= 64 ? "a line" : "less");
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    if (pthread_mutex_lock(&mutex))
        return 1;
    printf("kind %d\n", ((int *)&mutex)[4]);
    return pthread_mutex_unlock(&mutex);
}
