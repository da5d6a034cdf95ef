/* SPDX-License-Identifier: MIT */
#ifndef RESOLVE_H
#define RESOLVE_H

/*
 * Converts addresses to names. The caller adds mappings of files; the resolver finds the function,
 * file and line of addresses. It opens each file once and looks up each distinct address once.
 * Because the files may be hostile, a child process reads the files of each module. The network is
 * used only if an option allows it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "resolver/symbol.h"

struct resolve;

/* The results for a module in which at least one address was looked up. */
struct resolve_state {
	const char *module;
	/* build-id from the trace or, if the trace has none, from the file */
	const uint8_t *build_id;
	unsigned build_id_size;
	uint64_t asked;	     /* number of frames in the module */
	uint64_t unresolved; /* number of frames without a function name */
	uint64_t unlined;    /* number of frames with a name but no line */
	/* number of events with at least one unresolved frame, see resolve_backtrace() */
	uint64_t events;
	enum resolve_reason reason;
	const char *text;   /* the reason as a text for the user */
	const char *advice; /* what the user can do; NULL: no advice */
};

/*
 * Creates a resolver. Copies `*options`; everything that it points to must outlive the resolver.
 * Returns 0, or a negative errno if the directory of the cache cannot be used.
 */
int resolve_create(struct resolve **resolve, const struct resolve_options *options,
		   struct error *err);

/*
 * Returns the root directory for all files: the NEW of the last map ("[OLD=]NEW") without OLD.
 * NULL: there is none.
 */
const char *resolve_root(const char *const *maps, size_t count);

/*
 * Returns the directory of separate debug files: the NEW of the last map whose OLD is
 * /usr/lib/debug. NULL: there is none.
 */
const char *resolve_debug_dir(const char *const *maps, size_t count);

/* Ends the child processes and saves answers in the cache. */
void resolve_destroy(struct resolve *resolve);

/*
 * From now on, accepts only files for `machine` (such as EM_X86_64) or its 32-bit variant. EM_NONE:
 * accepts all.
 */
void resolve_expect_machine(struct resolve *resolve, unsigned machine);

/*
 * Adds a mapping, which replaces the parts of earlier mappings that it overlaps. Returns 0, -EINVAL
 * or -ENOMEM.
 */
int resolve_map(struct resolve *resolve, const struct resolve_module *module);

/*
 * Queues an address for the next resolve_wait(), and finds its module by the current mappings. If
 * `is_exact` is false, `address` is a return address, and the call before it is looked up. The
 * result is for resolve_take(), and valid until resolve_destroy(). NULL: no memory.
 */
struct resolve_ask;
const struct resolve_ask *resolve_ask(struct resolve *resolve, uint64_t address, bool is_exact);

/* Looks up all queued addresses. */
void resolve_wait(struct resolve *resolve);

/*
 * Begins a backtrace that `events` events share. The following calls to resolve_take() count as its
 * frames.
 */
void resolve_backtrace(struct resolve *resolve, uint64_t events);

/*
 * Gets the names of an address after resolve_wait(); each call counts one frame. Fills at most
 * `max` symbols, innermost inlined call first. Returns the number of symbols that the address has:
 * at least one, which may be empty. The strings are valid as long as the resolver.
 */
unsigned resolve_take(struct resolve *resolve, const struct resolve_ask *ask,
		      struct symbol *symbols, unsigned max);

/* Calls resolve_ask(), resolve_wait() and resolve_take() for a single address. */
unsigned resolve_address(struct resolve *resolve, uint64_t address, bool is_exact,
			 struct symbol *symbols, unsigned max);

/*
 * Returns the type of the object that the call before the return address `address` allocates, if
 * the debug information shows the type; else NULL. The text is valid until resolve_destroy().
 */
const char *resolve_allocated(struct resolve *resolve, uint64_t address);

/*
 * Sets *state to the results for the index-th module in which an address was looked up. Returns
 * false after the last module.
 */
bool resolve_state(struct resolve *resolve, unsigned index, struct resolve_state *state);

struct resolve_totals {
	uint64_t frames, named;
	uint64_t unmapped; /* number of frames outside of all mappings */
	uint64_t events;
};

/*
 * Returns sums over all frames that resolve_take() returned, except those in [vdso] and similar
 * mappings.
 */
struct resolve_totals resolve_totals(const struct resolve *resolve);

#endif
