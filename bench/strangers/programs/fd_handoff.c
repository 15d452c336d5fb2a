#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct child {
    pthread_t id;
    int index;
    uint64_t sum;
    long failed;
};

static int base_fd = -1;
static long total_jobs = 2000000;
static int nchildren = 1;

static __attribute__((noinline)) int hand_over(int fd)
{
    int copy = dup(fd);
    if (copy < 0)
        return -1;
    return close(copy);
}

static __attribute__((noinline)) uint64_t job_key(long i)
{
    uint64_t x = (uint64_t)i * 0x9e3779b97f4a7c15ull;
    x ^= x >> 31;
    x *= 0xbf58476d1ce4e5b9ull;
    return x ^ (x >> 27);
}

static void *child_main(void *arg)
{
    struct child *c = arg;
    long first = total_jobs * c->index / nchildren;
    long last = total_jobs * (c->index + 1) / nchildren;
    uint64_t sum = 0;
    for (long i = first; i < last; i++) {
        sum ^= job_key(i);
        if (hand_over(base_fd) != 0)
            c->failed++;
    }
    c->sum = sum;
    return NULL;
}

int main(int argc, char **argv)
{
    nchildren = argc > 1 ? atoi(argv[1]) : 1;
    if (nchildren < 1)
        nchildren = 1;
    if (argc > 2)
        total_jobs = atol(argv[2]);
    base_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (base_fd < 0) {
        perror("/dev/null");
        return 1;
    }
    struct child *list = calloc((size_t)nchildren, sizeof *list);
    for (int i = 0; i < nchildren; i++) {
        list[i].index = i;
        pthread_create(&list[i].id, NULL, child_main, &list[i]);
    }
    uint64_t sum = 0;
    long failed = 0;
    for (int i = 0; i < nchildren; i++) {
        pthread_join(list[i].id, NULL);
        sum ^= list[i].sum;
        failed += list[i].failed;
    }
    printf("jobs %ld failed %ld key %llx\n", total_jobs, failed, (unsigned long long)sum);
    free(list);
    close(base_fd);
    return 0;
}
