/* SPDX-License-Identifier: MIT */
#include "formats/writer.h"

#include <string.h>

#include "formats/writers.h"

#define FORMAT(kind, name, word, suffix, flags, missing, sentence) \
	FORMAT_ROW_##kind(kind, name, word, suffix, flags, missing, sentence)
#define FORMAT_FACTS(kind, word, suffix, flags, missing, sentence) \
	word, sentence, suffix, missing, FORMAT_##kind, flags
#define FORMAT_WRITER(kind, name, word, suffix, flags, missing, sentence)                   \
	{ FORMAT_FACTS(kind, word, suffix, flags, missing, sentence), write_##name##_begin, \
	  write_##name##_event, write_##name##_end, write_##name##_destroy },
#define FORMAT_ROW_STREAM  FORMAT_WRITER
#define FORMAT_ROW_DIALECT FORMAT_WRITER
#define FORMAT_ROW_SCREEN(kind, name, word, suffix, flags, missing, sentence) \
	{ FORMAT_FACTS(kind, word, suffix, flags, missing, sentence), NULL, NULL, NULL, NULL },
#define FORMAT_ROW_SHEETS FORMAT_ROW_SCREEN

static const struct writer formats[] = {
#include "formats/formats.def"
};

const struct writer *format_at(unsigned index)
{
	return index < sizeof(formats) / sizeof(*formats) ? &formats[index] : NULL;
}

const struct writer *writer_at(unsigned index)
{
	for (unsigned i = 0; format_at(i); i++)
		if (formats[i].kind != FORMAT_SHEETS && !index--)
			return &formats[i];
	return NULL;
}

const struct writer *writer_find(const char *name)
{
	const struct writer *writer;

	for (unsigned i = 0; (writer = writer_at(i)) != NULL; i++)
		if (!strcmp(writer->name, name))
			return writer;
	return NULL;
}

const char *writer_option(const struct writer_options *options, const char *word)
{
	for (size_t i = 0; i < options->own_count; i++)
		if (!strcmp(options->own[i].word, word))
			return options->own[i].value ? options->own[i].value : "";
	return "";
}
