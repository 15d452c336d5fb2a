#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

struct session {
    uint32_t peer;
    uint32_t suite;
    uint64_t digest;
};

struct acceptor {
    pthread_t id;
    int index;
    uint64_t digest;
    long refused;
};

static char cert_path[] = "/tmp/cert_check.XXXXXX";
static long total_sessions = 400000;
static int nacceptors = 1;

static __attribute__((noinline)) int check_cert(time_t *mtime, off_t *size)
{
    struct stat st;
    if (stat(cert_path, &st) != 0)
        return -1;
    int fd = open(cert_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int rc = fstat(fd, &st);
    close(fd);
    if (rc != 0)
        return -1;
    *mtime = st.st_mtime;
    *size = st.st_size;
    return 0;
}

static __attribute__((noinline)) void handshake(struct session *s, off_t size)
{
    uint64_t h = 1469598103934665603ull ^ s->peer;
    for (int i = 0; i < 24; i++)
        h = (h ^ (uint64_t)(s->suite + (uint32_t)i + (uint32_t)size)) * 1099511628211ull;
    s->digest = h;
}

static void *acceptor_main(void *arg)
{
    struct acceptor *a = arg;
    long first = total_sessions * a->index / nacceptors;
    long last = total_sessions * (a->index + 1) / nacceptors;
    uint64_t digest = 0;
    for (long i = first; i < last; i++) {
        struct session s = { (uint32_t)i * 2654435761u, (uint32_t)i & 15, 0 };
        time_t mtime = 0;
        off_t size = 0;
        if (check_cert(&mtime, &size) != 0 || mtime == 0) {
            a->refused++;
            continue;
        }
        handshake(&s, size);
        digest ^= s.digest;
    }
    a->digest = digest;
    return NULL;
}

int main(int argc, char **argv)
{
    nacceptors = argc > 1 ? atoi(argv[1]) : 1;
    if (nacceptors < 1)
        nacceptors = 1;
    if (argc > 2)
        total_sessions = atol(argv[2]);
    int fd = mkstemp(cert_path);
    if (fd < 0) {
        perror(cert_path);
        return 1;
    }
    static char body[1500];
    memset(body, 'M', sizeof body);
    if (write(fd, body, sizeof body) != (ssize_t)sizeof body) {
        perror("write");
        return 1;
    }
    close(fd);
    struct acceptor *list = calloc((size_t)nacceptors, sizeof *list);
    for (int i = 0; i < nacceptors; i++) {
        list[i].index = i;
        pthread_create(&list[i].id, NULL, acceptor_main, &list[i]);
    }
    uint64_t digest = 0;
    long refused = 0;
    for (int i = 0; i < nacceptors; i++) {
        pthread_join(list[i].id, NULL);
        digest ^= list[i].digest;
        refused += list[i].refused;
    }
    unlink(cert_path);
    printf("sessions %ld refused %ld digest %llx\n", total_sessions, refused, (unsigned long long)digest);
    free(list);
    return 0;
}
