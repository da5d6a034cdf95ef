/* SPDX-License-Identifier: MIT */
#ifndef RESOLVE_H
#define RESOLVE_H

/*
 * Addresses to names. The caller says which file was mapped where; the resolver answers addresses
 * with function, file and line. It opens each file once and looks up each distinct address once, in
 * a child process for each module, because the files are hostile. It asks the network only if an
 * option says so.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "resolver/symbol.h"

struct resolve;

/* The result for one module of which at least one address was asked. */
struct resolve_state {
	const char *module;
	const uint8_t *build_id; /* from the trace, else from the file */
	unsigned build_id_size;
	uint64_t asked;	     /* frames */
	uint64_t unresolved; /* frames without a function name */
	uint64_t unlined;    /* frames with a name but no line */
	uint64_t events;     /* events with at least one unresolved frame, see
			      * resolve_backtrace() */
	enum resolve_reason reason;
	const char *text;   /* the reason, for the user */
	const char *advice; /* what the user can do, NULL: nothing */
};

/*
 * Copies options; what they point to must outlive the resolver. Returns 0, or a negative errno if
 * the cache's directory cannot be used.
 */
int resolve_create(struct resolve **resolve, const struct resolve_options *options,
		   struct error *err);

/* The last map ("[OLD=]NEW") without an OLD, which is the root of all files; NULL: none. */
const char *resolve_root(const char *const *maps, size_t count);

/* Ends the child processes and saves answers in the cache. */
void resolve_destroy(struct resolve *resolve);

/* Accepts only files for this machine (EM_X86_64 …) or its 32-bit variant; EM_NONE: any. */
void resolve_expect_machine(struct resolve *resolve, unsigned machine);

/* Replaces parts of earlier mappings that overlap. Returns 0, -EINVAL or -ENOMEM. */
int resolve_map(struct resolve *resolve, const struct resolve_module *module);

/*
 * Queues an address, to be looked up together with many others, under the mappings of this moment.
 * address: a return address, whose preceding call is looked up; is_exact: address itself is looked
 * up. The result is for resolve_take() and lives as long as the resolver; NULL: no memory.
 */
struct resolve_ask;
const struct resolve_ask *resolve_ask(struct resolve *resolve, uint64_t address, bool is_exact);

/* Looks up all queued addresses. */
void resolve_wait(struct resolve *resolve);

/* The frames taken from now on belong to the backtrace of this number of events. */
void resolve_backtrace(struct resolve *resolve, uint64_t events);

/*
 * Takes the answer, after resolve_wait(); each call counts as one frame. Fills at most max symbols,
 * innermost inlined call first, and returns how many the answer has: at least one, which may be
 * empty. The strings live as long as the resolver.
 */
unsigned resolve_take(struct resolve *resolve, const struct resolve_ask *ask,
		      struct symbol *symbols, unsigned max);

/* resolve_ask(), resolve_wait() and resolve_take() for a single address. */
unsigned resolve_address(struct resolve *resolve, uint64_t address, bool is_exact,
			 struct symbol *symbols, unsigned max);

/* The index-th module of which an address was asked. Returns false after the last one. */
bool resolve_state(struct resolve *resolve, unsigned index, struct resolve_state *state);

struct resolve_totals {
	uint64_t frames, named;
	uint64_t unmapped; /* frames outside of all mappings */
	uint64_t events;
};

/* Sums over all frames that were taken, without those of [vdso] and similar mappings. */
struct resolve_totals resolve_totals(const struct resolve *resolve);

#endif
