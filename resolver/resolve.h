/* SPDX-License-Identifier: MIT */
#ifndef RESOLVE_H
#define RESOLVE_H

/*
 * Addresses to names. A resolver is told which file was mapped where, and answers addresses with
 * function, file and line. Each file is opened once, each distinct address is looked up once, in a
 * child process for each module: the files are hostile. The network is asked if an option says so.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "resolver/symbol.h"

struct resolve;

/* What became of one module that was asked for. */
struct resolve_state {
	const char *module;
	const uint8_t *build_id; /* of the trace, else of the file */
	unsigned build_id_size;
	uint64_t asked;	     /* frames */
	uint64_t unresolved; /* frames of those that have no function name */
	uint64_t unlined;    /* frames of those that have a name and no line */
	uint64_t events;     /* with at least one such unresolved frame, see resolve_backtrace() */
	enum resolve_reason reason;
	const char *text;   /* the reason in words */
	const char *advice; /* the next step in words, NULL if there is none */
};

/*
 * options is copied; what it points to must outlive the resolver. Returns 0, -ENOMEM, or what is
 * wrong with the cache's directory.
 */
int resolve_create(struct resolve **resolve, const struct resolve_options *options,
		   struct error *err);

/* The last of the maps ("[OLD=]NEW") that has no OLD: the root of all files; NULL: none has none.
 */
const char *resolve_root(const char *const *maps, size_t count);

/* Ends the children, and writes what is to be kept in the cache. */
void resolve_destroy(struct resolve *resolve);

/*
 * From now on only files for this machine (EM_X86_64 …) are used; EM_NONE takes any. A machine's
 * 32-bit partner is taken, too.
 */
void resolve_expect_machine(struct resolve *resolve, unsigned machine);

/* Later mappings win over earlier ones where they overlap. Returns 0, -EINVAL or -ENOMEM. */
int resolve_map(struct resolve *resolve, const struct resolve_module *module);

/*
 * Puts an address in line, to be looked up with many others; the mappings count as they are now.
 * address: a return address, so that the call before it is looked up; is_exact: itself instead.
 * What it returns is for resolve_take(), lives as long as the resolver, and is NULL without memory.
 */
struct resolve_ask;
const struct resolve_ask *resolve_ask(struct resolve *resolve, uint64_t address, bool is_exact);

/* Looks up all that is in line. */
void resolve_wait(struct resolve *resolve);

/* From now on the frames taken belong to the backtrace of so many events. */
void resolve_backtrace(struct resolve *resolve, uint64_t events);

/*
 * Takes the answer, after resolve_wait(); each time counts as a frame. Fills at most max symbols,
 * innermost inlined call first, and returns how many there are: always at least one, which may be
 * empty. The strings live as long as the resolver.
 */
unsigned resolve_take(struct resolve *resolve, const struct resolve_ask *ask,
		      struct symbol *symbols, unsigned max);

/* The three in one, for a single address. */
unsigned resolve_address(struct resolve *resolve, uint64_t address, bool is_exact,
			 struct symbol *symbols, unsigned max);

/* The index-th module that was asked for at least once. Returns false after the last one. */
bool resolve_state(struct resolve *resolve, unsigned index, struct resolve_state *state);

struct resolve_totals {
	uint64_t frames, named;
	uint64_t unmapped; /* frames that lie in no mapping */
	uint64_t events;
};

/* Over all frames that were taken. Those of [vdso] and its like are left out. */
struct resolve_totals resolve_totals(const struct resolve *resolve);

#endif
