/* SPDX-License-Identifier: MIT */
#ifndef NAMING_H
#define NAMING_H

/*
 * An address to a text for people. Backtraces of an address map become functions, files and lines,
 * and short lines of text: the program's own functions first, without the functions that start
 * every program and thread, and without the internals of the language's runtime. Only addresses
 * that are asked for are looked up, each once.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "naming/address_space.h"
#include "resolver/resolve.h"

#define NAMING_TEXT_MAX 160

struct naming;

/* Where modules and their debug files are; all zero: at the paths of the traces. */
struct naming_files {
	const char *root, *debug_dir; /* as in struct resolve_options */
	const char *const *maps;
	size_t map_count;
};

/*
 * space and the strings of files must outlive the naming; space may grow. files may be NULL.
 * Returns 0 or -ENOMEM.
 */
int naming_create(struct naming **naming, const struct address_space *space,
		  const struct naming_files *files, struct error *err);
void naming_destroy(struct naming *naming);

/* ---- for programs ---- */

/* A function that a frame lies in. Strings live as long as the naming. */
struct naming_symbol {
	uint64_t address; /* in the address map; 0: in no module */
	uint64_t offset;  /* from the module's load base; without a module the address itself */
	const char *function, *file, *module; /* NULL: unknown */
	unsigned line;			      /* 0: unknown, or several */
	uint32_t id;	 /* counted from 1; 0: not looked up, or known only by its backtrace */
	bool is_inlined; /* into the next symbol */
	bool is_runtime; /* belongs to the language's runtime, not to the program */
	bool is_start;	 /* on the path from the start of the program or thread to the program's own
			  * code */
};

/*
 * Announces backtraces that will be asked for. All that is announced before the first question is
 * looked up together, as many modules at a time as there are processors. backtrace may be NULL.
 */
void naming_expect(struct naming *naming, const struct trace_node *backtrace);

/*
 * All functions of a backtrace, innermost first, complete and unabridged. Fills at most max and
 * returns how many. A main function whose name was stripped still gets the name main.
 */
size_t naming_symbols(struct naming *naming, const struct trace_node *backtrace,
		      struct naming_symbol *symbols, size_t max);

/* ---- for people ---- */

/* A frame as text: `leaky demo.c:12`, `jv_string (libjq.so.1)`, `jq+0x1f20`. */
struct naming_line {
	char text[NAMING_TEXT_MAX];
	uint32_t times; /* equal lines in a row: recursion */
	bool is_called; /* a function of another module that the program called; the program's own
			 * code follows */
};

/* Fills at most max lines, innermost first, and returns how many. backtrace may be NULL. */
size_t naming_lines(struct naming *naming, const struct trace_node *backtrace,
		    struct naming_line *lines, size_t max);

/*
 * The same, but starts at the program's own code: of the frames inside a system library only the
 * function that the program called is listed. The first *length lines are the call site, by which
 * rows are folded: the call, and a few functions of the program.
 */
size_t naming_site(struct naming *naming, const struct trace_node *backtrace,
		   struct naming_line *lines, size_t max, size_t *length);

/* The call site as a text that is unique to it. Returns false if it is longer than size bytes. */
#define NAMING_SITE_MAX 768
bool naming_read_site(struct naming *naming, const struct trace_node *backtrace, char *text,
		      size_t size);

/* Cuts a text of naming_text() to this number of columns, at the end of the function's name. */
void naming_cut(char *text, size_t columns);

/*
 * Cuts a line to this number of terminal columns, at the end of the function's name. has_times: the
 * line shows how often it is repeated.
 */
void naming_fit(struct naming_line *line, bool has_times, size_t columns);

/*
 * The file name of a module, or "" for a program of the address map and for NULL. Another build of
 * a program has another path, but is the same program.
 */
const char *naming_program(const struct naming *naming, const char *module);

/* A single function as naming_lines() shows it; text has NAMING_TEXT_MAX bytes. */
void naming_text(struct naming *naming, const struct naming_symbol *symbol, char *text);

/* ---- missing names ---- */

/* A module with frames that were shown without names. */
struct naming_missing {
	const struct space_module *module;
	char build_id[17];	   /* its first digits; "": unknown */
	uint64_t shown, unnamed;   /* frames */
	const char *text, *advice; /* reason and next step; NULL: none */
	bool is_exhausted;	   /* no file could add names: the module has all its symbols */
};

/*
 * The modules with unnamed frames, those first whose symbols would name most frames; exhausted ones
 * last. Fills at most max and returns how many there are.
 */
size_t naming_missing(const struct naming *naming, struct naming_missing *missing, size_t max);

/* Resets the counts of shown and unnamed frames. */
void naming_restart(struct naming *naming);

#endif
