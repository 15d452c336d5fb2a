/* Makes known numbers of events, each a prime, so that counting can be checked exactly:
 *   4001 futex calls that return at once (the value differs), from one thread,
 *   211 waits of 1 ms that end by a wake-up of the main thread,
 *   13 threads besides the main one, one after the other,
 *   307 calls of getppid. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
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

int main(void)
{
	pthread_t thread;
	for (int i = 0; i < 4001; i++)
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
	return pthread_join(thread, NULL) ? 1 : 0;
}
