/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_SELECT_PARTS_H
#define ENGINE_SELECT_PARTS_H

/*
 * The parts of select: each answers one question about a call and keeps the state for it. Only
 * select.c includes this.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account/ledger.h"
#include "base/array.h"
#include "base/error.h"
#include "base/globs.h"
#include "base/pool.h"
#include "base/hash_table.h"
#include "trace/event.h"

/* Answers found so far, by id. */
struct answers {
	uint8_t *items;
	size_t count, capacity;
};

enum answer { ANSWER_UNKNOWN, ANSWER_NO, ANSWER_YES };

/* --function: is the called function one of these? */
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

/* Matches the whole path, or the part after its last slash. */
bool select_module_matches(const struct globs *globs, const char *path);

/* Notes a new mapping. */
void select_module_maps(struct select_module *part, const struct event *event);
bool select_module_asks(struct select_module *part, const struct event *event);

/* --thread: did the thread with this id or with such a name make the call? */
struct select_thread {
	bool has_id;
	uint32_t id;
	struct globs globs;
	struct hash_table table; /* of threads that were named */
	struct pool pool;
	const struct trace_process *process; /* the process that is_process is about */
	bool is_process;
};

void select_thread_parse(struct select_thread *part, const char *text);

/* Notes the name if the call names a thread. */
void select_thread_names(struct select_thread *part, const struct event *event);
bool select_thread_asks(struct select_thread *part, const struct event *event);

/* --size: A, A..B, A.., ..B, with k, M, G for powers of 1024. */
struct select_size {
	bool is_set;
	uint64_t from, to;
};

int select_size_parse(struct select_size *part, const char *text, struct error *err);

/*
 * Objects that kept calls acquired and that are not released yet: they tell which releases belong
 * to kept acquisitions. Memory grows with the number of objects held at one time.
 */
struct select_held {
	ARRAY_OF(struct ledger *) ledgers; /* one for each process */
	struct map by_section;		   /* index + 1 */
	struct ledger *current;
	uint32_t section; /* of the process of current */
};

/* An acquisition; is_kept: it is selected. */
void select_held_gains(struct select_held *part, const struct event *event, bool is_kept);

/* A release: returns whether a kept call acquired the object, or a part of it. */
bool select_held_loses(struct select_held *part, const struct event *event);

void select_held_free(struct select_held *part);

#endif
