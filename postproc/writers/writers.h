/* SPDX-License-Identifier: MIT */
#ifndef WRITERS_H
#define WRITERS_H

/* The functions of every writer in writers.def; each writer's file includes this. */

#include "postproc/writer.h"

#define WRITER(function, word, is_directory, description)                                        \
	int write_##function##_begin(void **state, const struct trace *trace,                    \
				     const struct writer_options *options, struct error *err);   \
	int write_##function##_event(void *state, const struct event *event, struct error *err); \
	int write_##function##_end(void *state, struct error *err);                              \
	void write_##function##_destroy(void *state);
#include "postproc/writers.def"
#undef WRITER

#endif
