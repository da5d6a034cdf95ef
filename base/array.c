/* SPDX-License-Identifier: MIT */
#include "base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int array_grow(void *items, size_t *capacity, size_t size)
{
	size_t wanted = *capacity ? *capacity * 2 : 16;
	void *old, *grown;

	if (wanted > PTRDIFF_MAX / size)
		return -ENOMEM;
	memcpy(&old, items, sizeof(old));
	grown = realloc(old, wanted * size);
	if (!grown)
		return -ENOMEM;
	memcpy(items, &grown, sizeof(grown));
	*capacity = wanted;
	return 0;
}

uint32_t array_number(void *items, size_t *count, size_t *capacity, size_t size)
{
	size_t number = *count ? *count : 1;
	char *item;

	while (*capacity <= number)
		if (array_grow(items, capacity, size))
			return 0;
	if (number > UINT32_MAX)
		return 0;
	memcpy(&item, items, sizeof(item));
	memset(item + number * size, 0, size);
	*count = number + 1;
	return (uint32_t)number;
}
