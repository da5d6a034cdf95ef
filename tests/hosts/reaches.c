/* SPDX-License-Identifier: MIT */
/*
 * reaches COUNT: a child gives up its rights and writes over all memory that it shares with
 * anybody, again and again, while its parent allocates COUNT blocks. Tells on the last line whether
 * it found memory of the run's control page that it could write to, or open to be written.
 */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "made.h"

#define SHARED_MAX 64

struct range {
	char *from, *to;
	char control;
	char writable;
};

static int find_shared(struct range *ranges)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int count = 0;

	while (maps && fgets(line, sizeof(line), maps) && count < SHARED_MAX) {
		unsigned long from, to;
		char rights[8];

		if (sscanf(line, "%lx-%lx %7s", &from, &to, rights) != 3 || rights[3] != 's' ||
		    !strstr(line, "memfd:holdtrace"))
			continue;
		ranges[count++] = (struct range){ (char *)(uintptr_t)from, (char *)(uintptr_t)to,
						  strstr(line, "arena") == NULL, rights[1] == 'w' };
	}
	if (maps)
		fclose(maps);
	return count;
}

/* What is not there is not read into the memory: the pages of a megabyte are enough. */
static void write_over(const struct range *range, int value)
{
	size_t size = (size_t)(range->to - range->from);

	memset(range->from, value, size < 1 << 20 ? size : 1 << 20);
}

static void reach(void)
{
	struct range ranges[SHARED_MAX];
	int count, control = 0;

	make_silently(1, 1221);
	if (getuid() == 0 && (setgid(65534) || setuid(65534)))
		_exit(3);
	make_silently(1, 1221);
	count = find_shared(ranges);
	for (int i = 0; i < count; i++)
		control |= ranges[i].control &&
			   (ranges[i].writable || !mprotect(ranges[i].from, 4096, PROT_WRITE));
	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < count; i++)
			if (ranges[i].writable)
				write_over(&ranges[i], round * 37);
		usleep(500);
	}
	_exit(control);
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
	pid_t child;
	int status;

	make_silently(10, 1223);
	child = fork();
	if (!child)
		reach();
	for (unsigned long i = 0; i < count; i++) {
		make_silently(1, 1223);
		if (i % 64 == 0)
			usleep(1);
	}
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return 4;
	say_made(10 + count, 1223);
	return WEXITSTATUS(status);
}
