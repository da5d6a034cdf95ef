/* SPDX-License-Identifier: MIT */
#include "postproc/viewers/viewers.h"

#include <string.h>

#define FORMAT(kind, name, word, suffix, flags, missing, sentence, readers) \
	FORMAT_ROW_OF_##kind(name, word, sentence)
#define FORMAT_ROW_OF_STREAM(name, word, sentence)
#define FORMAT_ROW_OF_DIALECT(name, word, sentence)
#define FORMAT_ROW_OF_SCREEN(name, word, sentence)
#define FORMAT_ROW_OF_SHEETS(name, word, sentence)
#define FORMAT_ROW_OF_VIEWER(name, word, sentence) { word, sentence, "", &viewer_##name },

static const struct report_row rows[] = {
#include "formats/formats.def"
};

const struct report_row *viewer_find(const char *format)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(rows[i].name, format))
			return &rows[i];
	return NULL;
}
