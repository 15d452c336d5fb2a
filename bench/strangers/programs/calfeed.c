/*
 * calfeed - expand recurring calendar entries into a local-time agenda.
 *
 * Every entry has a first start and a repetition rule; the feed contains the
 * next HORIZON occurrences of each of them, and the agenda summarises at
 * which local hours and weekdays people are busy.
 *
 * usage: calfeed THREADS
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_EVENTS     12500
#define HORIZON      100
#define MAX_THREADS  64

enum repeat { REPEAT_DAILY, REPEAT_WEEKLY, REPEAT_MONTHLY };

struct event {
    uint32_t id;
    time_t first;
    enum repeat repeat;
    int duration_min;
};

struct agenda {
    uint64_t per_hour[24];
    uint64_t per_weekday[7];
    uint64_t evening;
    uint64_t checksum;
};

struct worker {
    pthread_t tid;
    const struct event *events;
    int from;
    int to;
    struct agenda agenda;
};

static uint32_t next_rand(uint32_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 17;
    *s ^= *s << 5;
    return *s;
}

/* Office-hours entries, spread over five years. */
static void build_calendar(struct event *events)
{
    uint32_t seed = 0x5eed1234u;

    for (int i = 0; i < N_EVENTS; i++) {
        struct tm tm;
        memset(&tm, 0, sizeof tm);
        tm.tm_year = 115 + (int)(next_rand(&seed) % 5);
        tm.tm_mon = (int)(next_rand(&seed) % 12);
        tm.tm_mday = 1 + (int)(next_rand(&seed) % 28);
        tm.tm_hour = 6 + (int)(next_rand(&seed) % 14);
        tm.tm_min = (int)(next_rand(&seed) % 4) * 15;
        tm.tm_isdst = -1;
        events[i].id = (uint32_t)i;
        events[i].first = mktime(&tm);
        events[i].repeat = (enum repeat)(next_rand(&seed) % 3);
        events[i].duration_min = 15 + (int)(next_rand(&seed) % 8) * 15;
    }
}

static time_t advance(struct tm *tm, enum repeat repeat)
{
    switch (repeat) {
    case REPEAT_DAILY:
        tm->tm_mday += 1;
        break;
    case REPEAT_WEEKLY:
        tm->tm_mday += 7;
        break;
    case REPEAT_MONTHLY:
        tm->tm_mon += 1;
        break;
    }
    tm->tm_isdst = -1;
    return mktime(tm);
}

static void expand_event(const struct event *ev, struct agenda *out)
{
    struct tm start, end;

    localtime_r(&ev->first, &start);
    for (int i = 0; i < HORIZON; i++) {
        time_t begin = advance(&start, ev->repeat);
        time_t finish = begin + (time_t)ev->duration_min * 60;

        localtime_r(&finish, &end);
        out->per_hour[start.tm_hour]++;
        out->per_weekday[start.tm_wday]++;
        if (end.tm_hour >= 18)
            out->evening++;
        out->checksum += (uint64_t)begin * 31u + ev->id + (uint64_t)end.tm_yday;
    }
}

static void *run_worker(void *arg)
{
    struct worker *w = arg;
    struct agenda local;

    memset(&local, 0, sizeof local);
    for (int i = w->from; i < w->to; i++)
        expand_event(&w->events[i], &local);
    w->agenda = local;
    return NULL;
}

static void merge_agenda(struct agenda *sum, const struct agenda *part)
{
    for (int h = 0; h < 24; h++)
        sum->per_hour[h] += part->per_hour[h];
    for (int d = 0; d < 7; d++)
        sum->per_weekday[d] += part->per_weekday[d];
    sum->evening += part->evening;
    sum->checksum += part->checksum;
}

int main(int argc, char **argv)
{
    static struct event events[N_EVENTS];
    static struct worker workers[MAX_THREADS];
    struct agenda total;
    int n = argc > 1 ? atoi(argv[1]) : 1;

    if (n < 1 || n > MAX_THREADS) {
        fprintf(stderr, "usage: calfeed THREADS (1..%d)\n", MAX_THREADS);
        return 2;
    }
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    build_calendar(events);

    for (int t = 0; t < n; t++) {
        workers[t].events = events;
        workers[t].from = (int)((long)N_EVENTS * t / n);
        workers[t].to = (int)((long)N_EVENTS * (t + 1) / n);
        if (pthread_create(&workers[t].tid, NULL, run_worker, &workers[t]) != 0) {
            perror("pthread_create");
            return 1;
        }
    }
    memset(&total, 0, sizeof total);
    for (int t = 0; t < n; t++) {
        pthread_join(workers[t].tid, NULL);
        merge_agenda(&total, &workers[t].agenda);
    }

    int busiest = 0;
    for (int h = 1; h < 24; h++)
        if (total.per_hour[h] > total.per_hour[busiest])
            busiest = h;
    printf("occurrences %d busiest-hour %02d sundays %llu evening %llu checksum %016llx\n",
           N_EVENTS * HORIZON, busiest,
           (unsigned long long)total.per_weekday[0],
           (unsigned long long)total.evening,
           (unsigned long long)total.checksum);
    return 0;
}
