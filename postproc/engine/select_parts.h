/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_SELECT_PARTS_H
#define ENGINE_SELECT_PARTS_H

/*
 * What select is made of: each part answers one question about a call and remembers what it needs
 * for that. Only select.c includes this.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account/ledger.h"
#include "base/array.h"
#include "base/error.h"
#include "base/globs.h"
#include "base/pool.h"
#include "base/table.h"
#include "trace/event.h"

/* Answers that were found before, by id. */
struct answers {
	uint8_t *items;
	size_t count, capacity;
};

enum answer { ANSWER_UNKNOWN, ANSWER_NO, ANSWER_YES };

/* --function: was one of these functions called? */
struct select_function {
	struct globs globs;
	struct answers known;
};

bool select_function_asks(struct select_function *part, const struct function *function);

/* --module: has the backtrace a frame in one of these modules? */
struct select_module {
	struct globs globs;
	ARRAY_OF(struct module_range) ranges; /* of the mappings, the newest last */
	struct answers known;
};

/* By the whole path, or by what is behind its last slash. */
bool select_module_matches(const struct globs *globs, const char *path);

/* The mapping is there from now on. */
void select_module_maps(struct select_module *part, const struct event *event);
bool select_module_asks(struct select_module *part, const struct event *event);

/* --thread: was it called by the thread with this id, or by one with such a name? */
struct select_thread {
	bool has_id;
	uint32_t id;
	struct globs globs;
	struct table table; /* of threads that were given names */
	struct pool pool;
	const struct trace_process *process; /* whose answer this is: */
	bool is_process;
};

void select_thread_parse(struct select_thread *part, const char *text);

/* Looks whether the call names a thread. */
void select_thread_names(struct select_thread *part, const struct event *event);
bool select_thread_asks(struct select_thread *part, const struct event *event);

/* --size: A, A..B, A.., ..B, with k, M, G for powers of 1024. */
struct select_size {
	bool is_set;
	uint64_t from, to;
};

int select_size_parse(struct select_size *part, const char *text, struct error *err);

/*
 * What was gained by calls that are kept and is not lost yet: only so can it be told which losses
 * belong to them. Memory grows with what is held at one time.
 */
struct select_held {
	ARRAY_OF(struct ledger *) ledgers; /* of processes */
	struct map by_section;		   /* index + 1 */
	struct ledger *current;
	uint32_t section; /* of the process of current */
};

/* A gain; is_kept: it is wanted. */
void select_held_gains(struct select_held *part, const struct event *event, bool is_kept);

/* A loss: whether what it loses, or a part of it, was gained by a call that was kept. */
bool select_held_loses(struct select_held *part, const struct event *event);

void select_held_free(struct select_held *part);

#endif
