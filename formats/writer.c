/* SPDX-License-Identifier: MIT */
#include "formats/writer.h"

#include <string.h>

#include "formats/writers.h"

#define FORMAT(kind, name, word, suffix, flags, missing, sentence, readers) \
	{ word,	   sentence,	  readers, suffix,                          \
	  missing, FORMAT_##kind, flags,   FORMAT_FUNCTIONS_##kind(name) },
#define FORMAT_FUNCTIONS_STREAM(name) \
	NULL, write_##name##_begin, write_##name##_event, write_##name##_end, write_##name##_destroy
#define FORMAT_FUNCTIONS_DIALECT      FORMAT_FUNCTIONS_STREAM
#define FORMAT_FUNCTIONS_SCREEN(name) NULL, NULL, NULL, NULL, NULL
#define FORMAT_FUNCTIONS_VIEWER(name) NULL, NULL, NULL, NULL, NULL
#define FORMAT_FUNCTIONS_SHEETS(name) sheets_print_##name, NULL, NULL, NULL, NULL

static const struct writer formats[] = {
#include "formats/formats.def"
};

const struct writer *format_at(unsigned index)
{
	return index < sizeof(formats) / sizeof(*formats) ? &formats[index] : NULL;
}

/* The index-th of those that are made of reports, or are not. */
static const struct writer *nth(bool is_of_report, unsigned index)
{
	for (unsigned i = 0; format_at(i); i++)
		if (format_is_of_report(&formats[i]) == is_of_report && !index--)
			return &formats[i];
	return NULL;
}

const struct writer *writer_at(unsigned index)
{
	return nth(false, index);
}

const struct writer *sheets_at(unsigned index)
{
	return nth(true, index);
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
