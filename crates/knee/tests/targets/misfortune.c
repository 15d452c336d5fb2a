/* Simulates faults: system calls that are interrupted or do less than was asked, and a wall clock that steps.
 *
 * Preloaded into knee and active only there, not in what knee starts. KNEE_TEST_MISFORTUNE chooses the kind. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static atomic_uint calls, times;
static int interrupts, steps;

__attribute__((constructor)) static void begin(void)
{
	const char *what = getenv("KNEE_TEST_MISFORTUNE");
	if (!what || strcmp(program_invocation_short_name, "knee"))
		return;
	interrupts = strstr(what, "calls") != 0;
	steps = strstr(what, "clock") != 0;
}

/* Every third call is interrupted. */
static int interrupted(void)
{
	if (!interrupts || atomic_fetch_add(&calls, 1) % 3 != 2)
		return 0;
	errno = EINTR;
	return 1;
}

/* The other calls do half of what was asked; but data as short as a number passes through a pipe whole (PIPE_BUF, pipe(7)). */
static size_t part(size_t length)
{
	return interrupts && length > 16 ? length / 2 : length;
}

ssize_t read(int file, void *bytes, size_t length)
{
	return interrupted() ? -1 : syscall(SYS_read, file, bytes, part(length));
}

ssize_t write(int file, const void *bytes, size_t length)
{
	return interrupted() ? -1 : syscall(SYS_write, file, bytes, part(length));
}

ssize_t pread64(int file, void *bytes, size_t length, off64_t at)
{
	return interrupted() ? -1 : syscall(SYS_pread64, file, bytes, part(length), at);
}

ssize_t writev(int file, const struct iovec *parts, int count)
{
	return interrupted() ? -1 : syscall(SYS_writev, file, parts, count ? 1 : 0);
}

int open64(const char *path, int flags, ...)
{
	va_list more;
	va_start(more, flags);
	mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
	va_end(more);
	return interrupted() ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int poll(struct pollfd *files, nfds_t count, int timeout)
{
	struct timespec length = { timeout / 1000, timeout % 1000 * 1000000L };
	return interrupted() ? -1 : (int)syscall(SYS_ppoll, files, count, timeout < 0 ? 0 : &length, 0, 0);
}

pid_t wait4(pid_t pid, int *status, int options, struct rusage *used)
{
	return interrupted() ? -1 : (pid_t)syscall(SYS_wait4, pid, status, options, used);
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	return wait4(pid, status, options, 0);
}

/* At every seventh reading the wall clock jumps by an hour, forward and back. */
int clock_gettime(clockid_t clock, struct timespec *time)
{
	int result = syscall(SYS_clock_gettime, clock, time);
	if (steps && clock == CLOCK_REALTIME && !result)
		time->tv_sec += atomic_fetch_add(&times, 1) / 7 % 2 ? 3600 : -3600;
	return result;
}
