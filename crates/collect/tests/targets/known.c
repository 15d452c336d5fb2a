/* Makes known numbers of events, each a prime, so that counting can be checked exactly:
 *   4001 futex calls that return at once (the value differs), from one thread, except with the argument `calm`,
 *   211 waits of 1 ms that end by a wake-up of the main thread,
 *   13 threads besides the main one, one after the other,
 *   307 calls of getppid,
 *   509 calls of close that fail with EBADF,
 *   1009 page faults of the thread `toucher`, one for each page, besides the few at a thread's start,
 *   101 reads from a pipe, each of which waits for a write.
 * Without the 4001 calls it makes calls so slowly that an observer can time each of them. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_int turn, quick;

static void futex(atomic_int *address, int operation, int value)
{
	syscall(SYS_futex, address, operation, value, NULL, NULL, 0);
}

/* In threads of their own, so that they do not change the main thread's counts. */
static void *toucher(void *unused)
{
	size_t size = 1009 * 4096;
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || madvise(pages, size, MADV_NOHUGEPAGE))
		exit(1);
	for (size_t at = 0; at < size; at += 4096)
		pages[at] = 1;
	for (int i = 0; i < 509; i++) {
		struct timespec pause = {0, 100000};
		close(-1);
		nanosleep(&pause, NULL);
	}
	return unused;
}

static int ends[2];

static void *reader(void *unused)
{
	char byte;
	for (int i = 0; i < 101; i++)
		if (read(ends[0], &byte, 1) != 1)
			exit(1);
	return unused;
}

static void *nothing(void *unused)
{
	return unused;
}

static void *waiter(void *unused)
{
	for (int i = 0; i < 211; i++)
		while (atomic_load(&turn) == i)
			futex(&turn, FUTEX_WAIT_PRIVATE, i);
	return unused;
}

int main(int argc, char **argv)
{
	(void)argv;
	pthread_t thread;
	for (int i = 0; i < 4001 && argc == 1; i++)
		futex(&quick, FUTEX_WAIT_PRIVATE, 1);
	for (int i = 0; i < 307; i++)
		syscall(SYS_getppid);
	for (int i = 0; i < 12; i++) {
		if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL))
			return 1;
	}
	if (pthread_create(&thread, NULL, waiter, NULL))
		return 1;
	for (int i = 0; i < 211; i++) {
		struct timespec pause = {0, 1000000};
		nanosleep(&pause, NULL);
		atomic_fetch_add(&turn, 1);
		futex(&turn, FUTEX_WAKE_PRIVATE, 1);
	}
	if (pthread_join(thread, NULL) || pthread_create(&thread, NULL, toucher, NULL) || pthread_join(thread, NULL))
		return 1;
	if (pipe(ends) || pthread_create(&thread, NULL, reader, NULL))
		return 1;
	for (int i = 0; i < 101; i++) {
		struct timespec pause = {0, 1000000};
		nanosleep(&pause, NULL);
		if (write(ends[1], "x", 1) != 1)
			return 1;
	}
	return pthread_join(thread, NULL) ? 1 : 0;
}
