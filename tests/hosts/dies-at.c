/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into the program that attaches: kills it behind the call number $DIES_AT of those by
 * which it changes another process, so that each of its states is once the last one. Writes the
 * file $DIED then.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void count(void)
{
	static int left = -1;
	const char *at = getenv("DIES_AT"), *died = getenv("DIED");
	int kept = errno;

	if (left < 0)
		left = at && died && strstr(program_invocation_short_name, "inject") ? atoi(at) : 0;
	if (left > 0 && !--left) {
		close(open(died, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
		kill(getpid(), SIGKILL);
	}
	errno = kept;
}

long ptrace(int request, ...);
long ptrace(int request, ...)
{
	static long (*real)(int, long, long, long);
	long one, two, three, result;
	va_list list;

	va_start(list, request);
	one = va_arg(list, long);
	two = va_arg(list, long);
	three = va_arg(list, long);
	va_end(list);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "ptrace");
	result = real(request, one, two, three);
	count();
	return result;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
	static ssize_t (*real)(int, const void *, size_t, off_t);
	ssize_t result;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "pwrite");
	result = real(fd, bytes, size, at);
	count();
	return result;
}
