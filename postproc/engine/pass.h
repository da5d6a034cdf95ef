/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_PASS_H
#define ENGINE_PASS_H

/*
 * Prints streams: passes the events of the engine to the views (leaks, groups of calls) and to the
 * writer of an output format.
 */

#include "base/error.h"
#include "formats/writer.h"
#include "engine.h"
#include "postproc/request/output.h"
#include "compress.h"

struct pass_options {
	struct engine_options reading;
	const struct writer *writer;
	bool is_leaks, is_compressed;
	enum sort_order order;
	bool remove_arguments; /* print calls without arguments */
	bool is_reordered;     /* print calls in the order of sp-rtrace's tools */
	bool force;
	const char *words; /* the words after the format's name and a colon; NULL: none */
	struct output *output;
};

/* Prints all streams of all paths. Returns the same values as engine_read(). */
int pass(const char *const *paths, size_t count, const struct pass_options *options,
	 struct engine_result *result, struct error *err);

#endif
