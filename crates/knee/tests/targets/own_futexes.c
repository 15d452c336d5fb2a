/* Synchronisation that programs build from futexes themselves; each is the main thing that its threads wait for:
 *   lock     a word that says "taken"; all work is done while holding it
 *   barrier  a generation counter that starts at one; the threads take turns at being the slow one
 *   rows     a ring of counters: a row's thread waits until the row above is done
 * Usage: own_futexes lock|barrier|rows THREADS */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TURNS = 2400, RING = 61, WORK = 200000 };

static int threads;
static atomic_int taken, arrived, generation = 1, done[RING];

static void futex(atomic_int *word, int operation, int value)
{
	syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

static __attribute__((noinline)) void work(void)
{
	for (volatile int i = 0; i < WORK; i++)
		;
}

static __attribute__((noinline)) void enter(void)
{
	while (atomic_exchange(&taken, 1))
		futex(&taken, FUTEX_WAIT_PRIVATE, 1);
}

static __attribute__((noinline)) void leave(void)
{
	atomic_store(&taken, 0);
	futex(&taken, FUTEX_WAKE_PRIVATE, 1);
}

static __attribute__((noinline)) void meet(void)
{
	int now = atomic_load(&generation);
	if (atomic_fetch_add(&arrived, 1) == threads - 1) {
		atomic_store(&arrived, 0);
		atomic_store(&generation, now + 1);
		futex(&generation, FUTEX_WAKE_PRIVATE, INT_MAX);
	}
	while (atomic_load(&generation) == now)
		futex(&generation, FUTEX_WAIT_PRIVATE, now);
}

static __attribute__((noinline)) void await(int row)
{
	/* The value of its counter when the row is done: it rises with each round of the ring. */
	atomic_int *word = &done[row % RING];
	for (int seen; (seen = atomic_load(word)) < row + 1;)
		futex(word, FUTEX_WAIT_PRIVATE, seen);
}

static __attribute__((noinline)) void finish(int row)
{
	atomic_store(&done[row % RING], row + 1);
	futex(&done[row % RING], FUTEX_WAKE_PRIVATE, INT_MAX);
}

static void *lock(void *number)
{
	for (int i = 0; i < TURNS / threads; i++) {
		enter();
		work();
		leave();
	}
	return number;
}

static void *barrier(void *number)
{
	for (int i = 0; i < TURNS / threads; i++) {
		for (int part = 0; (long)number == i % threads && part < threads; part++)
			work();
		meet();
	}
	return number;
}

static void *rows(void *number)
{
	for (int row = (int)(long)number; row < TURNS; row += threads) {
		if (row > 0)
			await(row - 1);
		work();
		finish(row);
	}
	return number;
}

int main(int count, char **arguments)
{
	pthread_t made[64];
	if (count != 3 || (threads = atoi(arguments[2])) < 1 || threads > 64)
		return 2;
	void *(*run)(void *) = rows;
	if (strcmp(arguments[1], "lock") == 0)
		run = lock;
	else if (strcmp(arguments[1], "barrier") == 0)
		run = barrier;
	for (long i = 0; i < threads; i++)
		if (pthread_create(&made[i], NULL, run, (void *)i))
			return 1;
	for (int i = 0; i < threads; i++)
		pthread_join(made[i], NULL);
	return 0;
}
