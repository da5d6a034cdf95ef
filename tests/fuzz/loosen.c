/* SPDX-License-Identifier: MIT */
/* loosen <FILE.htr >FILE: converts a container to the loose form (loose.h) for the harnesses. */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "tests/fuzz/loose.h"

#define INPUT_MAX (4u << 20)

int main(void)
{
	cleanup_free uint8_t *bytes = malloc(INPUT_MAX), *opened = NULL;
	size_t size = bytes ? fread(bytes, 1, INPUT_MAX, stdin) : 0;

	if (bytes)
		opened = loose_open(bytes, size, &size);
	if (!opened)
		return 1;
	return fwrite(opened, 1, size, stdout) == size && fflush(stdout) == 0 ? 0 : 1;
}
