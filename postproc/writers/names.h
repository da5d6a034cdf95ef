/* SPDX-License-Identifier: MIT */
#ifndef WRITERS_NAMES_H
#define WRITERS_NAMES_H

/*
 * The backtraces of a summary as people read them: the program's own functions first, without what
 * starts every program and thread and without the insides of the language's runtime; names short.
 * Only what is asked for is looked up.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "postproc/views/summary.h"
#include "resolver/resolve.h"

#define NAMES_FRAMES_MAX 16
#define NAMES_TEXT_MAX	 160

struct names;

/* A frame as it is shown: `leaky demo.c:12`, `jv_string (libjq.so.1)`, `jq+0x1f20`. */
struct names_frame {
	char text[NAMES_TEXT_MAX];
	uint32_t times;	 /* one after the other: recursion */
	bool is_runtime; /* what the program called of it; the program's own follows */
};

/* A module some of whose frames were shown without names. */
struct names_missing {
	const char *path;
	char build_id[17];	   /* its first digits; "": none */
	uint64_t shown, unnamed;   /* frames */
	uint64_t events;	   /* with a frame in it, shown or not */
	const char *text, *advice; /* why, and the next step; NULL: none */
};

/* Where modules and their debug files are; zeroed: where the traces have them. */
struct names_files {
	const char *root, *debug_dir; /* as of struct resolve_options */
	struct resolve_map_path *maps;
	size_t map_count;
};

/* summary and what files has outlive it; files may be NULL. Returns 0 or -ENOMEM. */
int names_create(struct names **names, const struct summary *summary,
		 const struct names_files *files, struct error *err);
void names_destroy(struct names *names);

/* Fills at most max frames, innermost first; returns how many. backtrace may be NULL. */
size_t names_frames(struct names *names, const struct atlas_backtrace *backtrace,
		    struct names_frame *frames, size_t max);

/* A frame as programs want it. Strings live as long as the names. */
struct names_raw {
	uint64_t address; /* in the atlas */
	uint64_t offset;  /* in the module, from its load base; else the address itself */
	const char *function, *file, *module; /* NULL: not known */
	unsigned line;			      /* 0: not known */
	bool is_inlined;		      /* into the next frame */
	bool is_runtime;		      /* of the language's, not the program's */
};

/*
 * All frames of a backtrace, innermost first, nothing left out and nothing shortened. Fills at most
 * max and returns how many.
 */
size_t names_raw(struct names *names, const struct atlas_backtrace *backtrace,
		 struct names_raw *frames, size_t max);

/*
 * How many frames of names_raw(), the outermost ones, only start the program or thread. *is_main:
 * the next one has no name and must be main.
 */
size_t names_starts(struct names *names, const struct atlas_backtrace *backtrace, bool *is_main);

/* A single frame as names_frames() has it; text has room for NAMES_TEXT_MAX. */
void names_text(struct names *names, const struct names_raw *raw, char *text);

/* Counts anew: what was shown so far is not shown after all. */
void names_restart(struct names *names);

/* The index-th module with frames that have no name. False after the last one. */
bool names_missing(const struct names *names, size_t index, struct names_missing *missing);

#endif
