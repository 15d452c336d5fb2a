/* A server and its load in one program: they speak over a socket in the file system, one byte per request.
 *
 *   served serve PATH THREADS WORK [locked] [deaf] [mute] [mortal]
 *   served ask PATH CLIENTS MILLISECONDS
 *
 * locked: the work is done under one mutex. deaf: it ignores SIGTERM. mute: it never listens. mortal: its tenth request kills it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_un at = {.sun_family = AF_UNIX};
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static int events, listener, work, locked, mortal;
static atomic_long requests, failed;
static atomic_int over;

static void calculate(void)
{
	volatile unsigned sum = 0;
	for (int i = 0; i < work; i++)
		sum += i;
}

static void look_up(void)
{
	if (locked)
		pthread_mutex_lock(&table);
	calculate();
	if (locked)
		pthread_mutex_unlock(&table);
}

static void arm(int how, int fd)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.fd = fd};
	epoll_ctl(events, how, fd, &event);
}

static void *worker(void *unused)
{
	(void)unused;
	for (;;) {
		struct epoll_event event;
		if (epoll_wait(events, &event, 1, -1) < 1)
			continue;
		int fd = event.data.fd;
		char byte;
		if (fd == listener) {
			int client = accept(listener, 0, 0);
			if (client >= 0)
				arm(EPOLL_CTL_ADD, client);
			arm(EPOLL_CTL_MOD, listener);
		} else if (read(fd, &byte, 1) == 1) {
			if (mortal && atomic_fetch_add(&requests, 1) == 9)
				abort();
			look_up();
			if (write(fd, &byte, 1) == 1)
				arm(EPOLL_CTL_MOD, fd);
		} else {
			close(fd);
		}
	}
	return 0;
}

static int serve(int count, char **words)
{
	int threads = atoi(words[0]);
	work = atoi(words[1]);
	for (int i = 2; i < count; i++) {
		locked |= !strcmp(words[i], "locked");
		mortal |= !strcmp(words[i], "mortal");
		if (!strcmp(words[i], "deaf"))
			signal(SIGTERM, SIG_IGN);
		if (!strcmp(words[i], "mute"))
			pause();
	}
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	unlink(at.sun_path);
	events = epoll_create1(0);
	if (bind(listener, (void *)&at, sizeof at) || listen(listener, 64)) {
		perror(at.sun_path);
		return 1;
	}
	arm(EPOLL_CTL_ADD, listener);
	puts("serving");
	fflush(stdout);
	pthread_t thread;
	for (int i = 0; i < threads; i++)
		pthread_create(&thread, 0, worker, 0);
	pthread_join(thread, 0);
	return 0;
}

static void *client(void *unused)
{
	(void)unused;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char byte = 'x';
	if (connect(fd, (void *)&at, sizeof at)) {
		atomic_fetch_add(&failed, 1);
		return 0;
	}
	while (!atomic_load(&over)) {
		if (write(fd, &byte, 1) != 1 || read(fd, &byte, 1) != 1) {
			atomic_fetch_add(&failed, 1);
			break;
		}
		atomic_fetch_add(&requests, 1);
	}
	return 0;
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

/* Prints what wrk would print. */
static int ask(int clients, int milliseconds)
{
	pthread_t threads[64];
	double begin = now();
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < clients && i < 64; i++)
		pthread_create(&threads[i], 0, client, 0);
	usleep(milliseconds * 1000);
	atomic_store(&over, 1);
	for (int i = 0; i < clients && i < 64; i++)
		pthread_join(threads[i], 0);
	double seconds = now() - begin;
	printf("Running test @ %s\n  1 threads and %d connections\n", at.sun_path, clients);
	double mean = requests ? seconds * clients / requests : 0;
	printf("  Latency Distribution\n     50%%  %.2fus\n     99%%    5.80ms\n", mean * 1e6);
	printf("  %ld requests in %.2fs, 1.00MB read\n", requests, seconds);
	if (failed)
		printf("  Socket errors: connect 0, read %ld, write 0, timeout 0\n", failed);
	printf("Requests/sec: %.2f\nTransfer/sec: 1.00MB\n", requests / seconds);
	return 0;
}

int main(int count, char **words)
{
	if (count < 5)
		return 2;
	strncpy(at.sun_path, words[2], sizeof at.sun_path - 1);
	return !strcmp(words[1], "serve") ? serve(count - 3, words + 3) : ask(atoi(words[3]), atoi(words[4]));
}
