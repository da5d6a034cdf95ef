/* SPDX-License-Identifier: MIT */
/*
 * Does one step for each line of its input and then says so: "a SIZE" allocates, "f" frees what was
 * allocated last. Its first line of output is its process id. Ends with its input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* One line, byte by byte: nothing is allocated but what was asked for. */
static int read_line(char *line, size_t size)
{
	size_t n = 0;

	for (;;) {
		char c;

		if (read(0, &c, 1) != 1)
			return 0;
		if (c == '\n')
			break;
		if (n + 1 < size)
			line[n++] = c;
	}
	line[n] = '\0';
	return 1;
}

int main(void)
{
	char line[64];
	void *block = NULL;

	dprintf(1, "%d\n", (int)getpid());
	while (read_line(line, sizeof(line))) {
		if (line[0] == 'a')
			block = malloc((size_t)atoi(line + 1));
		else
			free(block);
		dprintf(1, "%s\n", line);
	}
	return 0;
}
