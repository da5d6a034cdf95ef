/* SPDX-License-Identifier: MIT */
#ifndef NAMING_H
#define NAMING_H

/*
 * An address to what a person reads. Backtraces of an atlas become functions, files and lines, and
 * short lines of text: the program's own functions first, without what starts every program and
 * thread and without the insides of the language's runtime. Only what is asked for is looked up,
 * and each address once.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "naming/atlas.h"
#include "resolver/resolve.h"

#define NAMING_TEXT_MAX 160

struct naming;

/* Where modules and their debug files are; zeroed: where the traces have them. */
struct naming_files {
	const char *root, *debug_dir; /* as of struct resolve_options */
	const char *const *maps;
	size_t map_count;
};

/*
 * atlas and what files has outlive it; the atlas may go on growing. files may be NULL. Returns 0 or
 * -ENOMEM.
 */
int naming_create(struct naming **naming, const struct atlas *atlas,
		  const struct naming_files *files, struct error *err);
void naming_destroy(struct naming *naming);

/* ---- for programs ---- */

/* A function that a frame lies in. Strings live as long as the naming. */
struct naming_symbol {
	uint64_t address; /* in the atlas; 0: in no module */
	uint64_t offset;  /* in the module, from its load base; else the address itself */
	const char *function, *file, *module; /* NULL: not known */
	unsigned line;			      /* 0: not known, or several */
	uint32_t id;	 /* dense, from 1; 0: not looked up, or told by its backtrace */
	bool is_inlined; /* into the next one */
	bool is_runtime; /* of the language's, not the program's */
	bool is_start;	 /* leads from the start to the program's own code */
};

/*
 * Says that these backtraces are going to be asked for: what is said before the first question is
 * looked up together, by as many modules at a time as there are processors. backtrace may be NULL.
 */
void naming_expect(struct naming *naming, const struct trace_node *backtrace);

/*
 * All functions of a backtrace, innermost first, nothing left out and nothing shortened. Fills at
 * most max and returns how many. A main whose name was stripped is called so all the same.
 */
size_t naming_symbols(struct naming *naming, const struct trace_node *backtrace,
		      struct naming_symbol *symbols, size_t max);

/* ---- for people ---- */

/* A frame as it is shown: `leaky demo.c:12`, `jv_string (libjq.so.1)`, `jq+0x1f20`. */
struct naming_line {
	char text[NAMING_TEXT_MAX];
	uint32_t times; /* one after the other: recursion */
	bool is_called; /* what the program called of another module; its own code follows */
};

/* Fills at most max lines, innermost first; returns how many. backtrace may be NULL. */
size_t naming_lines(struct naming *naming, const struct trace_node *backtrace,
		    struct naming_line *lines, size_t max);

/*
 * The same from the program's own code on: of what a library of the system did within, only the
 * function that the program called is there. The first *length of the lines are the call site, by
 * which rows are folded: the call, and a few functions of the program.
 */
size_t naming_site(struct naming *naming, const struct trace_node *backtrace,
		   struct naming_line *lines, size_t max, size_t *length);

/* The call site as a text that no other has; false: it is longer than size bytes. */
#define NAMING_SITE_MAX 768
bool naming_read_site(struct naming *naming, const struct trace_node *backtrace, char *text,
		      size_t size);

/* Makes a text of naming_text() fit into so many columns: the end of a name is left out. */
void naming_cut(char *text, size_t columns);

/*
 * Makes the text of a line fit into so many columns of a terminal: the end of a name is left out.
 * has_times: the text says how often it is there.
 */
void naming_fit(struct naming_line *line, bool has_times, size_t columns);

/* A single function as naming_lines() has it; text has room for NAMING_TEXT_MAX. */
void naming_text(struct naming *naming, const struct naming_symbol *symbol, char *text);

/* ---- what has no name ---- */

/* A module some of whose frames were shown without names. */
struct naming_missing {
	const struct atlas_module *module;
	char build_id[17];	   /* its first digits; "": none */
	uint64_t shown, unnamed;   /* frames */
	const char *text, *advice; /* why, and the next step; NULL: none */
	bool is_exhausted;	   /* no file could tell more: all its symbols are there */
};

/*
 * The modules with frames that have no name, those whose symbols would tell most first; what is
 * exhausted comes last. Fills at most max and returns how many there are.
 */
size_t naming_missing(const struct naming *naming, struct naming_missing *missing, size_t max);

/* Counts anew: what was shown so far is not shown after all. */
void naming_restart(struct naming *naming);

#endif
