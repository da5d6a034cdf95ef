/* SPDX-License-Identifier: MIT */
/*
 * Gives up its rights, then writes into the shared memory that the run's traces go elsewhere and
 * over existing files, and forks a child, which gets a trace of its own. Arguments: what is there
 * now, what shall be there. Prints how many places it has changed.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "settings.h"

struct range {
	char *start, *end;
};

/* Before the rights are gone: /proc/self/maps is closed then. */
static int find_shared(struct range *ranges, int most)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512], flags[8];
	void *start, *end;
	int count = 0;

	while (maps && count < most && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%p-%p %7s", &start, &end, flags) == 3 && !strcmp(flags, "rw-s"))
			ranges[count++] = (struct range){ start, end };
	if (maps)
		fclose(maps);
	return count;
}

static int change(const struct range *range, const char *from, const char *to)
{
	const size_t length = strlen(from) + 1;
	const size_t force = offsetof(struct settings, force) - offsetof(struct settings, out);
	int changed = 0;

	for (char *at = range->start; at + force + sizeof(int64_t) < range->end; at += 8)
		if (!memcmp(at, from, length)) {
			strcpy(at, to);
			*(int64_t *)(void *)(at + force) = 1;
			changed++;
		}
	return changed;
}

int main(int argc, char **argv)
{
	struct range ranges[64];
	int count = find_shared(ranges, 64), changed = 0;

	if (argc != 3 || setgid(65534) || setuid(65534))
		return 2;
	for (int i = 0; i < count; i++)
		changed += change(&ranges[i], argv[1], argv[2]);
	printf("%d\n", changed);
	fflush(stdout);
	if (fork() == 0)
		_exit(malloc(77) == NULL);
	wait(NULL);
	return 0;
}
