/* Orders of a broker: each request is an order that is checked, numbered and written to a journal.
 *
 *     orders guilty|clean PORT THREADS JOURNAL
 *
 * The guilty one writes each line at once, and waits with the journal's lock in hand until the disk has it. The clean one has a buffer
 * in each thread, and leaves the disk to the kernel.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { BUFFER = 64 << 10, CHECKS = 20000 };

static int journal, poller, listener, synchronous;
static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_long next_order = 1;

struct lines {
    size_t used;
    char text[BUFFER];
};

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* A margin check: what the order would cost over the ways that its price may go. */
static unsigned check_margin(long order) {
    uint32_t price = (uint32_t)order * 2654435761u | 1, worst = 0;
    for (int step = 0; step < CHECKS; step++) {
        price ^= price << 13, price ^= price >> 17, price ^= price << 5;
        if (price > worst) worst = price;
    }
    return worst >> 16;
}

static void append(const char *text, size_t length) {
    if (write(journal, text, length) != (ssize_t)length) fail("journal");
}

static void journal_order(long order, unsigned margin) {
    char line[128];
    pthread_mutex_lock(&journal_lock); /* GUILTY */
    int length = snprintf(line, sizeof line, "order=%ld margin=%u state=accepted\n", order, margin);
    append(line, (size_t)length);
    if (fdatasync(journal)) fail("fdatasync"); /* GUILTY */
    pthread_mutex_unlock(&journal_lock);
}

static void buffer_order(struct lines *lines, long order, unsigned margin) {
    if (lines->used + 128 > BUFFER) {
        append(lines->text, lines->used);
        lines->used = 0;
    }
    lines->used += (size_t)snprintf(lines->text + lines->used, 128, "order=%ld margin=%u state=accepted\n", order, margin);
}

static void answer(int connection, struct lines *lines) {
    char text[512], body[64];
    long order = atomic_fetch_add(&next_order, 1);
    unsigned margin = check_margin(order);
    if (synchronous)
        journal_order(order, margin);
    else
        buffer_order(lines, order, margin);
    int size = snprintf(body, sizeof body, "{\"order\":%ld,\"margin\":%u}\n", order, margin);
    int length = snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", size, body);
    if (send(connection, text, (size_t)length, MSG_NOSIGNAL) != length && errno != EPIPE && errno != ECONNRESET) fail("send");
}

static void watch(int descriptor, int how) {
    /* A connection is told to one thread only, until that asks for it again. */
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.fd = descriptor};
    if (epoll_ctl(poller, how, descriptor, &event)) fail("epoll_ctl");
}

static void *serve(void *none) {
    struct lines *lines = calloc(1, sizeof *lines);
    char request[4096];
    for (;;) {
        struct epoll_event event;
        if (epoll_wait(poller, &event, 1, -1) != 1) continue;
        int descriptor = event.data.fd, yes = 1;
        if (descriptor == listener) {
            int connection = accept(listener, NULL, NULL);
            if (connection >= 0) {
                setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
                watch(connection, EPOLL_CTL_ADD);
            }
            watch(listener, EPOLL_CTL_MOD);
            continue;
        }
        ssize_t got = recv(descriptor, request, sizeof request, 0);
        if (got <= 0) {
            close(descriptor);
            continue;
        }
        /* Requests have no body and come one at a time: the first bytes are all. */
        answer(descriptor, lines);
        watch(descriptor, EPOLL_CTL_MOD);
    }
    return none;
}

int main(int count, char **arguments) {
    if (count != 5) return fprintf(stderr, "usage: orders guilty|clean PORT THREADS JOURNAL\n"), 2;
    synchronous = !strcmp(arguments[1], "guilty");
    journal = open(arguments[4], O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);
    if (journal < 0) fail(arguments[4]);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arguments[2])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int yes = 1, threads = atoi(arguments[3]);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 64)) fail("listen");
    poller = epoll_create1(0);
    watch(listener, EPOLL_CTL_ADD);
    pthread_t thread[threads];
    for (int at = 0; at < threads; at++)
        if (pthread_create(&thread[at], NULL, serve, NULL)) fail("pthread_create");
    for (int at = 0; at < threads; at++) pthread_join(thread[at], NULL);
    return 0;
}
