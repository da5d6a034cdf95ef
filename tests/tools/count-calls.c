/* SPDX-License-Identifier: MIT */
/*
 * Counts calls behind holdtrace's back. Preloaded after libholdtrace.so, it is what the library
 * finds as the real functions, so its counts are the truth about one and the same run. They lie in
 * a shared mapping of COUNT_CALLS/PID.IMAGE, one line a function, and survive any death.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

enum counter { MALLOC, CALLOC, REALLOC, FREE, POSIX_MEMALIGN, ALIGNED_ALLOC, MEMALIGN, COUNTERS };

static const char *const names[COUNTERS] = { "malloc",	       "calloc",	"realloc", "free",
					     "posix_memalign", "aligned_alloc", "memalign" };

/* "malloc                   123\n": text, so that the file can be read as it is. */
struct line {
	char name[20];
	char digits[11];
	char newline;
};

static struct line *lines;
static uint64_t counts[COUNTERS];
static long counted_pid;

/* A file of this process's own; the program may have been forked or executed since. */
static void open_counts(long pid)
{
	const char *directory = getenv("COUNT_CALLS");
	struct timespec now;
	char path[4096];
	int fd;

	counted_pid = pid;
	if (!directory)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(path, sizeof(path), "%s/%ld.%lld%09ld", directory, pid, (long long)now.tv_sec,
		 now.tv_nsec);
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || syscall(SYS_ftruncate, fd, sizeof(struct line) * COUNTERS))
		return;
	lines = mmap(NULL, sizeof(struct line) * COUNTERS, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		     0);
	syscall(SYS_close, fd);
	for (int i = 0; i < COUNTERS; i++) {
		memset(&lines[i], ' ', sizeof(lines[i]));
		memcpy(lines[i].name, names[i], strlen(names[i]));
		lines[i].digits[10] = '0';
		lines[i].newline = '\n';
		counts[i] = 0;
	}
}

/* One thread at a time would be enough for the programs of the tests; the counts are atomic. */
static void count(enum counter which)
{
	long pid = syscall(SYS_getpid);
	int saved = errno;
	uint64_t n;

	if (pid != counted_pid)
		open_counts(pid);
	errno = saved;
	if (!lines)
		return;
	n = __atomic_add_fetch(&counts[which], 1, __ATOMIC_RELAXED);
	for (int i = 10; i >= 0 && n; i--, n /= 10)
		lines[which].digits[i] = (char)('0' + n % 10);
}

void *malloc(size_t size)
{
	count(MALLOC);
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	count(CALLOC);
	return __libc_calloc(n, size);
}

void *realloc(void *block, size_t size)
{
	count(REALLOC);
	return __libc_realloc(block, size);
}

void free(void *block)
{
	count(FREE);
	__libc_free(block);
}

void *memalign(size_t alignment, size_t size)
{
	count(MEMALIGN);
	return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	count(ALIGNED_ALLOC);
	return __libc_memalign(alignment, size);
}

int posix_memalign(void **where, size_t alignment, size_t size)
{
	count(POSIX_MEMALIGN);
	*where = __libc_memalign(alignment, size);
	return *where ? 0 : ENOMEM;
}
