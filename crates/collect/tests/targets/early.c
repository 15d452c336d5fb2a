/* A thread that waits twice in the first milliseconds of the program, at the same stack depth and the same address:
 * first in `brief`, then in `lasting` until the end of the program. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_int stage;

/* The code after the calls keeps them from becoming jumps, and the two functions from being merged. */
static __attribute__((noinline)) void brief(void)
{
	syscall(SYS_futex, &stage, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	__asm__ volatile("");
}

static __attribute__((noinline)) void lasting(void)
{
	syscall(SYS_futex, &stage, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
	__asm__ volatile("nop");
}

static void *sleeper(void *unused)
{
	while (stage == 0)
		brief();
	while (stage == 1)
		lasting();
	return unused;
}

static void next(long pause_ns)
{
	struct timespec pause = {0, pause_ns};
	nanosleep(&pause, NULL);
	stage++;
	syscall(SYS_futex, &stage, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

int main(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, sleeper, NULL))
		return 1;
	next(200000);
	next(200000000);
	return pthread_join(thread, NULL);
}
