/* SPDX-License-Identifier: MIT */
/*
 * Allocates 10 MB, most of it at one call site, and is ended by SIGKILL. Usage: runs-out [FILE]
 * With a file, a control group's memory.events, it first counts there one process that the kernel
 * has killed, as the kernel does before it sends the signal.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *kept[100];

void *grow(void);

__attribute__((noinline)) void *grow(void)
{
	void *block = malloc(90000);

	__asm__ volatile("" : "+r"(block)); /* no jump to malloc */
	return block;
}

int main(int argc, char **argv)
{
	FILE *file;
	int kills = 0;

	for (int i = 0; i < 100; i++)
		kept[i] = grow();
	kept[0] = malloc(1000000);
	if (argc > 1) {
		file = fopen(argv[1], "r+");
		if (!file || fscanf(file, "oom_kill %d", &kills) != 1)
			return 1;
		rewind(file);
		fprintf(file, "oom_kill %d\n", kills + 1);
		fclose(file);
	}
	raise(SIGKILL);
	return 1;
}
