#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef TCP_FASTOPEN_CONNECT
#define TCP_FASTOPEN_CONNECT 30
#endif

struct sender {
    pthread_t id;
    int index;
    uint64_t sum;
    long plain;
};

static int endpoint = -1;
static long total_packets = 800000;
static int nsenders = 1;

static __attribute__((noinline)) int tune_endpoint(int fd)
{
    for (int attempt = 0; attempt < 3; attempt++) {
        int on = 1;
        if (setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof on) == 0)
            return 0;
    }
    return -1;
}

static __attribute__((noinline)) uint16_t checksum(const uint16_t *words, int n)
{
    uint32_t sum = 0;
    for (int i = 0; i < n; i++) {
        sum += words[i];
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t)~sum;
}

static void *sender_main(void *arg)
{
    struct sender *s = arg;
    long first = total_packets * s->index / nsenders;
    long last = total_packets * (s->index + 1) / nsenders;
    uint16_t payload[256];
    for (int i = 0; i < 256; i++)
        payload[i] = (uint16_t)(i * 257);
    uint64_t sum = 0;
    for (long i = first; i < last; i++) {
        payload[i & 255] = (uint16_t)i;
        if (tune_endpoint(endpoint) != 0)
            s->plain++;
        sum += checksum(payload, 256);
    }
    s->sum = sum;
    return NULL;
}

int main(int argc, char **argv)
{
    nsenders = argc > 1 ? atoi(argv[1]) : 1;
    if (nsenders < 1)
        nsenders = 1;
    if (argc > 2)
        total_packets = atol(argv[2]);
    endpoint = socket(AF_INET, SOCK_STREAM, 0);
    if (endpoint < 0) {
        perror("socket");
        return 1;
    }
    struct sockaddr_in addr;
    memset(&addr, 0, sizeof addr);
    addr.sin_family = AF_INET;
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(endpoint, (struct sockaddr *)&addr, sizeof addr) != 0 || listen(endpoint, 4) != 0) {
        perror("listen");
        return 1;
    }
    struct sender *senders = calloc((size_t)nsenders, sizeof *senders);
    for (int i = 0; i < nsenders; i++) {
        senders[i].index = i;
        pthread_create(&senders[i].id, NULL, sender_main, &senders[i]);
    }
    uint64_t sum = 0;
    long plain = 0;
    for (int i = 0; i < nsenders; i++) {
        pthread_join(senders[i].id, NULL);
        sum += senders[i].sum;
        plain += senders[i].plain;
    }
    printf("packets %ld plain %ld sum %llu\n", total_packets, plain, (unsigned long long)sum);
    free(senders);
    close(endpoint);
    return 0;
}
