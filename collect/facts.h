/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_FACTS_H
#define COLLECT_FACTS_H

/* The values of a note, with space for formatted values. */

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "collect/stream.h"

#define FACTS_MAX 16

struct facts {
	struct wire_value values[FACTS_MAX];
	uint32_t count;
	char text[FACTS_MAX][48];
};

static inline void facts_add(struct facts *facts, const char *name, const char *value)
{
	facts->values[facts->count++] = (struct wire_value){ name, value };
}

static inline __attribute__((format(printf, 3, 4))) void
facts_format(struct facts *facts, const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(facts->text[facts->count], sizeof(facts->text[0]), format, args);
	va_end(args);
	facts_add(facts, name, facts->text[facts->count]);
}

static inline void facts_number(struct facts *facts, const char *name, uint64_t value)
{
	facts_format(facts, name, "%" PRIu64, value);
}

static inline void facts_time(struct facts *facts, const char *name, uint64_t ns)
{
	facts_format(facts, name, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

/* Writes the note with these values. */
static inline void facts_write(const struct facts *facts, struct stream *stream,
			       struct encode_note note)
{
	note.values = facts->values;
	note.count = facts->count;
	stream_note(stream, &note);
}

#endif
