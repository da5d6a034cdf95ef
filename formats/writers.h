/* SPDX-License-Identifier: MIT */
#ifndef WRITERS_H
#define WRITERS_H

/* Declares the functions of all rows of formats.def; each writer includes this header. */

#include "formats/writer.h"

#define FORMAT(kind, name, ...) FORMAT_PROTOTYPES_##kind(name)
#define FORMAT_PROTOTYPES(name)                                                              \
	int write_##name##_begin(void **state, const struct trace *trace,                    \
				 const struct writer_options *options, struct error *err);   \
	int write_##name##_event(void *state, const struct event *event, struct error *err); \
	int write_##name##_end(void *state, struct error *err);                              \
	void write_##name##_destroy(void *state);
#define FORMAT_PROTOTYPES_STREAM  FORMAT_PROTOTYPES
#define FORMAT_PROTOTYPES_DIALECT FORMAT_PROTOTYPES
#define FORMAT_PROTOTYPES_SCREEN(name)
#define FORMAT_PROTOTYPES_VIEWER(name)
#define FORMAT_PROTOTYPES_TABLES(name) void tables_print_##name(const struct tables_job *job);
#include "formats/formats.def"
#undef FORMAT_PROTOTYPES
#undef FORMAT_PROTOTYPES_STREAM
#undef FORMAT_PROTOTYPES_DIALECT
#undef FORMAT_PROTOTYPES_SCREEN
#undef FORMAT_PROTOTYPES_VIEWER
#undef FORMAT_PROTOTYPES_TABLES

#endif
