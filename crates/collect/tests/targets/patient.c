/* Runs for ever in four threads: the main one computes, one holds a lock and sleeps again and again, one waits for the
 * lock, and one sleeps for an hour. */
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held;
static volatile unsigned long sum;

__attribute__((noinline)) static void *napper(void *unused)
{
	pthread_mutex_lock(&lock);
	pthread_barrier_wait(&held);
	for (;;) {
		struct timespec pause = {0, 200000};
		nanosleep(&pause, NULL);
	}
	return unused;
}

__attribute__((noinline)) static void *stuck(void *unused)
{
	pthread_mutex_lock(&lock);
	return unused;
}

__attribute__((noinline)) static void *asleep(void *unused)
{
	sleep(3600);
	return unused;
}

__attribute__((noinline)) static void busy(void)
{
	for (;;)
		sum++;
}

int main(void)
{
	pthread_t thread;
	pthread_barrier_init(&held, NULL, 2);
	pthread_create(&thread, NULL, napper, NULL);
	pthread_barrier_wait(&held);
	pthread_create(&thread, NULL, stuck, NULL);
	pthread_create(&thread, NULL, asleep, NULL);
	busy();
}
