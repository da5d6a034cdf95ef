/* SPDX-License-Identifier: MIT */
#include "base/array.h"
#include "base/memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_SIZE (1u << 20) /* bytes that an emptied array may keep */

int array_grow(void *items, size_t *capacity, size_t size)
{
	size_t wanted = *capacity ? *capacity * 2 : 16;
	void *old, *grown;

	memcpy(&old, items, sizeof(old));
	grown = wanted <= PTRDIFF_MAX / size ? memory_resize(old, wanted * size) : memory_none();
	if (!grown)
		return -ENOMEM;
	memcpy(items, &grown, sizeof(grown));
	*capacity = wanted;
	return 0;
}

int array_reach(void *items, size_t *count, size_t *capacity, size_t size, size_t index)
{
	char *bytes;

	while (*capacity <= index)
		if (array_grow(items, capacity, size))
			return -ENOMEM;
	memcpy(&bytes, items, sizeof(bytes));
	if (*count <= index) {
		memset(bytes + *count * size, 0, (index + 1 - *count) * size);
		*count = index + 1;
	}
	return 0;
}

void array_clear(void *items, size_t *count, size_t *capacity, size_t size)
{
	void *old, *none = NULL;

	*count = 0;
	if (*capacity * size <= KEPT_SIZE)
		return;
	memcpy(&old, items, sizeof(old));
	free(old);
	memcpy(items, &none, sizeof(none));
	*capacity = 0;
}

uint32_t array_number(void *items, size_t *count, size_t *capacity, size_t size)
{
	size_t number = *count ? *count : 1;

	if (number > UINT32_MAX)
		memory_none();
	else if (array_reach(items, count, capacity, size, number) == 0)
		return (uint32_t)number;
	return 0;
}
