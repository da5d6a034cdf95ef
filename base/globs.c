/* SPDX-License-Identifier: MIT */
#include "base/globs.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

int globs_parse(struct globs *globs, const char *text)
{
	while (text && *text) {
		size_t length = strcspn(text, ",");
		char **place = length ? ARRAY_ADD(globs) : NULL;

		if (length && !place)
			return -ENOMEM;
		if (place) {
			*place = memory_text_part(text, length);
			if (!*place)
				return -ENOMEM;
		}
		text += length + (text[length] == ',');
	}
	return 0;
}

bool globs_match(const struct globs *globs, const char *text)
{
	for (size_t i = 0; i < globs->count; i++)
		if (fnmatch(globs->items[i], text, 0) == 0)
			return true;
	return false;
}

void globs_free(struct globs *globs)
{
	for (size_t i = 0; i < globs->count; i++)
		free(globs->items[i]);
	free(globs->items);
	*globs = (struct globs){ 0 };
}
