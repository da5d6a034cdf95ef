/* SPDX-License-Identifier: MIT */
#ifndef NAMING_H
#define NAMING_H

/*
 * Converts addresses to text for people. A backtrace of the address map (address_space.h) becomes a
 * list of functions, with files and lines, or a few short lines of text. These lines begin with the
 * program's own functions, and leave out the functions that start every program and thread and the
 * internals of the language's runtime. Each address is looked up once, and only on request.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "naming/address_space.h"
#include "resolver/resolve.h"

#define NAMING_TEXT_MAX 160

struct naming;

/*
 * Where to find modules and their debug files. If all members are zero, modules are read from the
 * paths in the traces.
 */
struct naming_files {
	const char *root, *debug_dir; /* see struct resolve_options */
	const char *const *maps;
	size_t map_count;
	/*
	 * for callers that read several runs one after the other: naming_create() stores the
	 * resolver here, and the next naming_create() uses this resolver again, with the files that
	 * it has open. NULL: naming_destroy() destroys the resolver
	 */
	struct resolve **kept;
};

/*
 * Creates *naming. `space` and the strings in `files` must outlive it; modules may be added to
 * `space` later. `files` may be NULL. Returns 0 or -ENOMEM.
 */
int naming_create(struct naming **naming, const struct address_space *space,
		  const struct naming_files *files, struct error *err);
void naming_destroy(struct naming *naming);

/* Frees a kept resolver. Call it after naming_destroy(). */
void naming_end_kept(const struct naming_files *files);

/* ---- for programs ---- */

/* A function of a frame. Its strings are valid until naming_destroy(). */
struct naming_symbol {
	uint64_t address; /* address in the address map; 0: the frame is in no module */
	/* offset from the module's load base; the address itself if the frame is in no module */
	uint64_t offset;
	const char *function, *file, *module; /* NULL: unknown */
	unsigned line;			      /* 0: unknown, or several lines */
	/*
	 * number of the function, from 1; 0: the function was not looked up, or its name was
	 * inferred from its position in the backtrace
	 */
	uint32_t id;
	bool is_inlined; /* whether the function is inlined into the function of the next symbol */
	bool is_runtime; /* whether the function belongs to the language's runtime, not to the
			    program */
	bool is_library; /* whether the function belongs to a system library, not to the program */
	/*
	 * whether the function only starts the program or thread: it runs before main() or the
	 * thread's own function
	 */
	bool is_start;
};

/*
 * Queues a backtrace whose names the caller will request; ignores NULL. All backtraces that are
 * queued before the first request are looked up together, several modules in parallel.
 */
void naming_expect(struct naming *naming, const struct trace_node *backtrace);

/*
 * Lists all functions of a backtrace, innermost first, with complete names. Fills at most `max`
 * symbols and returns their number. A main function whose name was stripped is named main.
 */
size_t naming_symbols(struct naming *naming, const struct trace_node *backtrace,
		      struct naming_symbol *symbols, size_t max);

/*
 * Returns the type of the object that the call before the return address `address` allocates, if
 * the debug information shows the type; else NULL. The text is valid until naming_destroy().
 */
const char *naming_allocated(struct naming *naming, uint64_t address);

/* ---- for people ---- */

/* A frame as text: `leaky demo.c:12`, `jv_string (libjq.so.1)`, `jq+0x1f20`. */
struct naming_line {
	char text[NAMING_TEXT_MAX];
	uint32_t times; /* number of equal consecutive lines that this line replaces (recursion) */
	/*
	 * whether the line is a function outside of the program (in a library or the runtime) that
	 * the program called; the lines after it are the program's own code
	 */
	bool is_called;
};

/*
 * Writes the lines of a backtrace, innermost first. Fills at most `max` lines and returns their
 * number. `backtrace` may be NULL.
 */
size_t naming_lines(struct naming *naming, const struct trace_node *backtrace,
		    struct naming_line *lines, size_t max);

/*
 * Like naming_lines(), but starts at the program's own code. If that code called a system library,
 * the line before it is the function that it called; inner frames are left out. The first *length
 * lines are the call site: that function and the program's innermost functions. Tables merge rows
 * that have equal call sites.
 */
size_t naming_site(struct naming *naming, const struct trace_node *backtrace,
		   struct naming_line *lines, size_t max, size_t *length);

/*
 * Writes the call site to `text`, as a string for comparing call sites. Returns false if the string
 * is longer than `size` bytes.
 */
#define NAMING_SITE_MAX 768
bool naming_read_site(struct naming *naming, const struct trace_node *backtrace, char *text,
		      size_t size);

/*
 * Cuts a text of naming_text() to `columns` terminal columns by removing the middle of the
 * function's name.
 */
void naming_cut(char *text, size_t columns);

/*
 * Cuts a line to `columns` terminal columns, as naming_cut() does. has_times: also appends
 * the number of repetitions, " (3x)", if the line is repeated.
 */
void naming_fit(struct naming_line *line, bool has_times, size_t columns);

/*
 * Returns the file name of a module; "" if `module` is NULL or the path of a traced program. So two
 * builds of a program, which have different paths, get the same name.
 */
const char *naming_program(const struct naming *naming, const char *module);

/* Writes one function as naming_lines() does. `text` has room for NAMING_TEXT_MAX bytes. */
void naming_text(struct naming *naming, const struct naming_symbol *symbol, char *text);

/* ---- missing names ---- */

/* A module with frames that were shown without names. */
struct naming_missing {
	const struct space_module *module;
	char build_id[17];	   /* first 16 digits of the build-id; "": unknown */
	uint64_t shown, unnamed;   /* numbers of frames shown, and shown without a name */
	const char *text, *advice; /* the reason, and what the user can do; NULL: unknown */
	/* whether the module has all its symbols, so that no other file would add names */
	bool is_exhausted;
};

/*
 * Lists the modules with unnamed frames, the module with the most unnamed frames first, modules
 * with is_exhausted last. Fills at most `max` entries and returns the number of modules with
 * unnamed frames.
 */
size_t naming_missing(const struct naming *naming, struct naming_missing *missing, size_t max);

/* Resets the counts of shown and unnamed frames. */
void naming_restart(struct naming *naming);

#endif
