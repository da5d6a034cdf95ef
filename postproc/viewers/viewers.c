/* SPDX-License-Identifier: MIT */
#include "viewers.h"

#include <string.h>

#define FORMAT(kind, name, word, suffix, flags, missing, sentence, readers) \
	FORMAT_ROW_OF_##kind(name, word)
#define FORMAT_ROW_OF_STREAM(name, word)
#define FORMAT_ROW_OF_DIALECT(name, word)
#define FORMAT_ROW_OF_SCREEN(name, word)
#define FORMAT_ROW_OF_TABLES(name, word)
#define FORMAT_ROW_OF_VIEWER(name, word) { word, &viewer_##name },

static const struct {
	const char *format;
	const struct report *viewer;
} rows[] = {
#include "formats/formats.def"
};

const char *viewer_command(const struct summary_process *process)
{
	return (process ? process->command ?: process->name : NULL) ?: "";
}

const struct report *viewer_find(const char *format)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(rows[i].format, format))
			return rows[i].viewer;
	return NULL;
}
