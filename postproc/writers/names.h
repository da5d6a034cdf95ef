/* SPDX-License-Identifier: MIT */
#ifndef WRITERS_NAMES_H
#define WRITERS_NAMES_H

/*
 * The backtraces of a summary as people read them: the program's own functions first, without what
 * starts every program and thread and without the insides of the language's runtime; names short.
 * Only what is asked for is looked up.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "postproc/views/summary.h"

#define NAMES_FRAMES_MAX 16
#define NAMES_TEXT_MAX	 160

struct names;

/* A frame as it is shown: `leaky demo.c:12`, `jv_string (libjq.so.1)`, `jq+0x1f20`. */
struct names_frame {
	char text[NAMES_TEXT_MAX];
	uint32_t times; /* one after the other: recursion */
};

/* A module some of whose frames were shown without names. */
struct names_missing {
	const char *path;
	char build_id[17];	   /* its first digits; "": none */
	uint64_t shown, unnamed;   /* frames */
	const char *text, *advice; /* why, and the next step; NULL: none */
};

/* summary outlives it. Returns 0 or -ENOMEM. */
int names_create(struct names **names, const struct summary *summary, struct error *err);
void names_destroy(struct names *names);

/* Fills at most max frames, innermost first; returns how many. backtrace may be NULL. */
size_t names_frames(struct names *names, const struct atlas_backtrace *backtrace,
		    struct names_frame *frames, size_t max);

/* Counts anew: what was shown so far is not shown after all. */
void names_restart(struct names *names);

/* The index-th module with frames that have no name. False after the last one. */
bool names_missing(const struct names *names, size_t index, struct names_missing *missing);

/*
 * Makes a C++ or Rust name short, in place: no parameters of templates, no std::__cxx11, no
 * hashes.
 */
void names_shorten(char *name);

/*
 * Makes of a C library's name within the one that programs call, in place: setlocale of
 * __GI_setlocale, strdup of __strdup, fopen of _IO_new_fopen, asprintf of __asprintf_chk.
 */
void names_publish(char *name);

#endif
