/* Behaves in ways that are difficult for observers; the argument chooses one. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *crash(void *unused)
{
	*(volatile int *)8 = 1;
	return unused;
}

static void *leave(void *unused)
{
	/* The whole process ends here, while the main thread waits. */
	exit(9);
	return unused;
}

static void *late(void *unused)
{
	usleep(20000);
	_exit(5);
	return unused;
}

static pthread_barrier_t all;

static void *wait_for_all(void *unused)
{
	pthread_barrier_wait(&all);
	return unused;
}

static int run(void *(*work)(void *))
{
	pthread_t thread;
	return pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL);
}

int main(int count, char **arguments)
{
	const char *what = count > 1 ? arguments[1] : "";
	if (!strcmp(what, "segfault"))
		return run(crash);
	if (!strcmp(what, "exit-in-thread"))
		return run(leave);
	if (!strcmp(what, "main-leaves-first")) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, late, NULL))
			return 1;
		pthread_exit(NULL);
	}
	if (!strcmp(what, "killed"))
		return kill(getpid(), SIGKILL);
	if (!strcmp(what, "forks")) {
		for (int i = 0; i < 1000; i++) {
			pid_t child = fork();
			if (child < 0)
				return 1;
			if (child == 0)
				_exit(3);
			int status;
			if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 3)
				return 1;
		}
		return 0;
	}
	if (!strcmp(what, "threads")) {
		static pthread_t threads[5000];
		pthread_attr_t attributes;
		pthread_barrier_init(&all, NULL, 5001);
		if (pthread_attr_init(&attributes) || pthread_attr_setstacksize(&attributes, 65536))
			return 1;
		for (int i = 0; i < 5000; i++)
			if (pthread_create(&threads[i], &attributes, wait_for_all, NULL))
				return 1;
		pthread_barrier_wait(&all);
		for (int i = 0; i < 5000; i++)
			if (pthread_join(threads[i], NULL))
				return 1;
		return 0;
	}
	if (!strcmp(what, "many-threads")) {
		/* More than there are thread records, one after the other. */
		for (int i = 0; i < 20000; i++) {
			pthread_t thread;
			if (pthread_create(&thread, NULL, (void *(*)(void *))strdup, "") || pthread_join(thread, NULL))
				return 1;
		}
		return 0;
	}
	if (!strcmp(what, "calls")) {
		for (long i = 0; i < 2000000; i++)
			syscall(SYS_getppid);
		return 0;
	}
	return 2;
}
