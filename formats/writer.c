/* SPDX-License-Identifier: MIT */
#include "formats/writer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "formats/writers.h"

#define FORMAT(kind, name, word, suffix, flags, missing, sentence, readers) \
	{ word,	   sentence,	  readers, suffix,                          \
	  missing, FORMAT_##kind, flags,   FORMAT_FUNCTIONS_##kind(name) },
#define FORMAT_FUNCTIONS_STREAM(name) \
	NULL, write_##name##_begin, write_##name##_event, write_##name##_end, write_##name##_destroy
#define FORMAT_FUNCTIONS_DIALECT      FORMAT_FUNCTIONS_STREAM
#define FORMAT_FUNCTIONS_SCREEN(name) NULL, NULL, NULL, NULL, NULL
#define FORMAT_FUNCTIONS_VIEWER(name) NULL, NULL, NULL, NULL, NULL
#define FORMAT_FUNCTIONS_TABLES(name) tables_print_##name, NULL, NULL, NULL, NULL

static const struct writer formats[] = {
#include "formats/formats.def"
};

const struct writer *format_at(unsigned index)
{
	return index < sizeof(formats) / sizeof(*formats) ? &formats[index] : NULL;
}

/* Returns the index-th format for reports (is_of_report) or for events, or NULL. */
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

const struct writer *tables_at(unsigned index)
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

static const struct format_word words_of_formats[] = {
#define WORD(kind, format, word, text) { FORMAT_##kind, format, word, text },
#include "formats/formats.def"
};

const struct format_word *format_word_at(const struct writer *format, unsigned index)
{
	for (size_t i = 0; i < sizeof(words_of_formats) / sizeof(*words_of_formats); i++)
		if (words_of_formats[i].kind == format->kind &&
		    !strcmp(words_of_formats[i].format, format->name) && !index--)
			return &words_of_formats[i];
	return NULL;
}

bool format_has_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	while (words && *words) {
		size_t item = strcspn(words, ",");

		if (item == length && !memcmp(words, word, length))
			return true;
		words += item + (words[item] == ',');
	}
	return false;
}

static bool is_word_of(const struct writer *format, const char *word, size_t length, uint64_t *size)
{
	const struct format_word *row;
	char text[32];

	snprintf(text, sizeof(text), "%.*s", (int)length, word);
	for (unsigned i = 0; (row = format_word_at(format, i)) != NULL; i++) {
		if (!strcmp(row->word, text))
			return strcmp(text, "SIZE") != 0;
		if (!strcmp(row->word, "SIZE") && (*size = human_size(text)) != 0)
			return true;
	}
	return false;
}

int format_check_words(const struct writer *format, const char *words, uint64_t *size,
		       struct error *err)
{
	for (const char *at = words; at && *at;) {
		size_t item = strcspn(at, ",");

		if (!is_word_of(format, at, item, size)) {
			const struct format_word *row;
			char list[160] = "";

			for (unsigned i = 0; (row = format_word_at(format, i)) != NULL; i++)
				snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
					 i ? ", " : "",
					 !strcmp(row->word, "SIZE") ? "a size (500KB)" : row->word);
			return *list ? error_set(err, EINVAL, "--format=%s:%s: %s takes %s",
						 format->name, words, format->name, list)
				     : error_set(err, EINVAL,
						 "--format=%s:%s: %s takes no further word",
						 format->name, words, format->name);
		}
		at += item + (at[item] == ',');
	}
	return 0;
}
