/* A program with marks: two threads, 31 tasks each, 37 units of work in each task. */
/* The names are far from all that the program reads, so that no fault of the program ever maps their pages. It stays for
 * a second: on Linux 6.1 and older they are read while it lives.
 */
#include "knee.h"
#include <pthread.h>
#include <time.h>

enum { FAR = 1 << 20 };
static const struct {
	char before[FAR];
	char name[8];
	char after[FAR];
} unread = {.name = "parse"};

static void *work(void *name)
{
	for (int i = 0; i < 31; i++) {
		struct timespec pause = {0, 200000};
		KNEE_TASK_BEGIN(name);
		nanosleep(&pause, NULL);
		for (int j = 0; j < 36; j++)
			KNEE_WORK(1);
		KNEE_WORK(i ? 1 : 1);
		KNEE_TASK_END(name);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	struct timespec second = {1, 0};
	KNEE_BEGIN();
	if (pthread_create(&threads[0], NULL, work, (void *)unread.name) || pthread_create(&threads[1], NULL, work, "<b>write</b>"))
		return 1;
	if (pthread_join(threads[0], NULL) || pthread_join(threads[1], NULL))
		return 1;
	nanosleep(&second, NULL);
	KNEE_END();
	return 0;
}
