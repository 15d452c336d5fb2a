#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct quote {
    time_t when;
    uint32_t price;
    char text[48];
};

struct feed {
    pthread_t id;
    int index;
    uint64_t sum;
};

static long total_quotes = 2000000;
static int nfeeds = 1;

static __attribute__((noinline)) void read_quote(uint64_t *state, long seq, struct quote *q)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *state = x;
    q->when = (time_t)(1700000000 + seq / 16);
    q->price = 10000 + (uint32_t)(x % 5000);
}

static __attribute__((noinline)) size_t stamp_quote(struct quote *q)
{
    struct tm tm;
    localtime_r(&q->when, &tm);
    return strftime(q->text, sizeof q->text, "%H:%M:%S %Z", &tm);
}

static void *feed_main(void *arg)
{
    struct feed *f = arg;
    long first = total_quotes * f->index / nfeeds;
    long last = total_quotes * (f->index + 1) / nfeeds;
    uint64_t state = 0x9e3779b97f4a7c15ull ^ (uint64_t)(f->index + 1);
    uint64_t sum = 0;
    struct quote q;
    memset(&q, 0, sizeof q);
    for (long i = first; i < last; i++) {
        read_quote(&state, i, &q);
        size_t n = stamp_quote(&q);
        sum += n + q.price + (unsigned char)q.text[7];
    }
    f->sum = sum;
    return NULL;
}

int main(int argc, char **argv)
{
    nfeeds = argc > 1 ? atoi(argv[1]) : 1;
    if (nfeeds < 1)
        nfeeds = 1;
    if (argc > 2)
        total_quotes = atol(argv[2]);
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    struct feed *feeds = calloc((size_t)nfeeds, sizeof *feeds);
    for (int i = 0; i < nfeeds; i++) {
        feeds[i].index = i;
        pthread_create(&feeds[i].id, NULL, feed_main, &feeds[i]);
    }
    uint64_t sum = 0;
    for (int i = 0; i < nfeeds; i++) {
        pthread_join(feeds[i].id, NULL);
        sum += feeds[i].sum;
    }
    printf("quotes %ld sum %llu\n", total_quotes, (unsigned long long)sum);
    free(feeds);
    return 0;
}
