/* A program whose output and exit status are the same in each run, unless something disturbed it.
 *
 *   target THREADS ROUNDS STATUS          does so many rounds, and ends with the status
 *   target THREADS until FILE STATUS      continues until the file exists, and for three rounds more
 *
 * In each round every thread computes, sleeps, and sends a byte through a pipe under a mutex. Calls that fail are counted:
 * an observer must not interrupt them. It appends a line to the file KNEE_TRIAL_JOURNAL when it begins, after each round of
 * `until`, and when it ends; each line is one write, so that it is never written in part. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WORK = 100000, MORE = 3, KINDS = 16 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int journal = -1, ends[2];
static atomic_ulong sum;
static atomic_int failed;
static long next, last;

static unsigned long computed(unsigned long seed)
{
	unsigned long x = seed * 2654435761u + 88172645463325252u;
	for (int i = 0; i < WORK; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

/* Takes rounds until none is left. The sum does not depend on which thread does which round. */
static void *work(void *unused)
{
	(void)unused;
	for (;;) {
		struct timespec pause = {0, 500000};
		char byte = 'x';
		pthread_mutex_lock(&lock);
		long mine = next++;
		if (mine < last && (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1))
			failed++;
		pthread_mutex_unlock(&lock);
		if (mine >= last)
			return 0;
		sum += computed((unsigned long)mine);
		if (nanosleep(&pause, 0))
			failed++;
	}
}

static void rounds(int threads, long from, long to)
{
	pthread_t made[64];
	next = from;
	last = to;
	for (int i = 0; i < threads; i++)
		if (pthread_create(&made[i], 0, work, 0)) {
			failed++;
			threads = i;
		}
	for (int i = 0; i < threads; i++)
		pthread_join(made[i], 0);
}

static void note(const char *what, long number)
{
	char line[128];
	int length = snprintf(line, sizeof line, "%s %d %ld %016lx %d\n", what, getpid(), number, (unsigned long)sum, failed);
	if (journal >= 0 && write(journal, line, (size_t)length) != length)
		failed++;
}

int main(int count, char **words)
{
	const char *path = getenv("KNEE_TRIAL_JOURNAL");
	if (count < 4 || pipe(ends))
		return 2;
	int threads = atoi(words[1]) < 64 ? atoi(words[1]) : 64;
	if (path)
		journal = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	note("begin", threads);
	if (strcmp(words[2], "until")) {
		rounds(threads, 0, atol(words[2]));
		printf("threads=%d sum=%016lx failed=%d\n", threads, (unsigned long)sum, failed);
	} else {
		int more = MORE;
		for (long at = 0; more > 0; at++) {
			sum = 0;
			rounds(threads, at % KINDS * 4, at % KINDS * 4 + 4);
			note("round", at % KINDS);
			if (!access(words[3], F_OK))
				more--;
		}
		printf("threads=%d failed=%d\n", threads, failed);
	}
	fflush(stdout);
	note("end", threads);
	return atoi(words[count - 1]);
}
