/* Writes an audit trail of generated events into one file. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVENTS 1300000

struct trail {
    int fd;
    pthread_mutex_t mutex;
    uint64_t size;
    uint32_t check;
};

struct event {
    unsigned number;
    int user;
    int action;
    int result;
};

struct source {
    pthread_t thread;
    struct trail *trail;
    int first, last;
    int failed;
};

static const char *const actions[] = {"login", "logout", "read", "write", "rename", "remove", "grant", "revoke"};

static int open_trail(struct trail *t)
{
    char name[] = "/tmp/auditXXXXXX";
    t->fd = mkstemp(name);
    if (t->fd < 0)
        return -1;
    unlink(name);
    t->size = 0;
    t->check = 1;
    return pthread_mutex_init(&t->mutex, NULL);
}

static uint32_t checksum(uint32_t check, const char *text, size_t length)
{
    uint32_t a = check & 0xffff, b = check >> 16;
    for (size_t i = 0; i < length; i++) {
        a = (a + (unsigned char)text[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

static int append(struct trail *t, const char *line, size_t length)
{
    int rc = 0;
    pthread_mutex_lock(&t->mutex);
    if (write(t->fd, line, length) != (ssize_t)length)
        rc = -1;
    t->size += length;
    t->check = checksum(t->check, line, length);
    pthread_mutex_unlock(&t->mutex);
    return rc;
}

static struct event make_event(unsigned number)
{
    uint32_t h = number * 2654435761u;
    h ^= h >> 15;
    return (struct event){number, h % 700, h >> 10 & 7, h >> 20 & 15 ? 0 : 13};
}

static size_t format_event(const struct event *e, char *line, size_t room)
{
    char *p = line;
    char digits[12];
    unsigned v = e->number;
    int d = 0;
    do
        digits[d++] = '0' + v % 10;
    while (v /= 10);
    while (d)
        *p++ = digits[--d];
    *p++ = ' ';
    p = stpcpy(p, actions[e->action]);
    p = stpcpy(p, " user");
    *p++ = '0' + e->user / 100;
    *p++ = '0' + e->user / 10 % 10;
    *p++ = '0' + e->user % 10;
    p = stpcpy(p, e->result ? " denied\n" : " ok\n");
    return (size_t)(p - line) < room ? (size_t)(p - line) : room;
}

static void *produce(void *arg)
{
    struct source *s = arg;
    char line[128];
    for (int i = s->first; i < s->last; i++) {
        struct event e = make_event(i);
        size_t length = format_event(&e, line, sizeof line);
        if (append(s->trail, line, length) < 0)
            s->failed++;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1;
    struct trail trail;
    if (n < 1 || open_trail(&trail) < 0)
        return 2;
    struct source *sources = calloc(n, sizeof *sources);
    for (int i = 0; i < n; i++) {
        sources[i].trail = &trail;
        sources[i].first = (long)EVENTS * i / n;
        sources[i].last = (long)EVENTS * (i + 1) / n;
        pthread_create(&sources[i].thread, NULL, produce, &sources[i]);
    }
    int failed = 0;
    for (int i = 0; i < n; i++) {
        pthread_join(sources[i].thread, NULL);
        failed += sources[i].failed;
    }
    printf("%lu bytes, %d failed\n", (unsigned long)trail.size, failed);
    close(trail.fd);
    free(sources);
    return failed != 0;
}
