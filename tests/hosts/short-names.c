/* SPDX-License-Identifier: MIT */
/*
 * Opens names of every length that end where their block ends, from every distance to a word: who
 * reads beyond one is told of by memcheck.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
	for (size_t ahead = 0; ahead < 8; ahead++)
		for (size_t length = 1; length < 20; length++) {
			char *block = malloc(ahead + length + 1), *name = block + ahead;

			memset(block, 'a', ahead + length);
			name[length] = '\0';
			close(open(name, O_RDONLY));
			free(block);
		}
	return 0;
}
