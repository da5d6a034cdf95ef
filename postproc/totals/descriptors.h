/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_DESCRIPTORS_H
#define TOTALS_DESCRIPTORS_H

/*
 * The descriptors of one process, by number: what each refers to, which call opened it and, if it
 * is closed, which call closed it last. Finds calls that use or close a descriptor that is not
 * open. Memory grows with the number of different descriptor numbers, which the kernel reuses.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash_table.h"
#include "base/map.h"
#include "base/pool.h"
#include "naming/address_space.h"
#include "trace/event.h"

struct hook;

/* The call that opened or closed a descriptor. Its pointers are valid while the trace is open. */
struct descriptor_step {
	const struct backtrace *backtrace; /* NULL: unknown */
	const struct function *function;   /* NULL: the call is unknown */
	uint64_t index, time_ns;
	uint32_t thread;
};

struct descriptor {
	uint64_t number;
	bool is_open;
	/* open at the start of the process; the call that opened it is unknown */
	bool is_inherited;
	const char *kind;
	char *what;	    /* a path, a peer or another description; NULL: unknown */
	const char *stream; /* "FILE" or "DIR" if a stream uses the descriptor, else NULL */
	uint64_t stream_object;
	struct descriptor_step opened, closed;
};

struct descriptors {
	struct map by_number; /* key: number of the descriptor; value: index + 1 in `list` */
	ARRAY_OF(struct descriptor) list;
	uint64_t open; /* number of open descriptors */
};

enum descriptor_misuse {
	DESCRIPTOR_GOOD,
	DESCRIPTOR_CLOSED_TWICE, /* close() of a closed descriptor */
	DESCRIPTOR_USED_CLOSED,	 /* another call on a closed descriptor */
	/* a call found the descriptor closed, although no recorded call had closed it */
	DESCRIPTOR_GONE,
};

void descriptors_init(struct descriptors *descriptors);

/* Removes all descriptors. Call it before the next process. */
void descriptors_clear(struct descriptors *descriptors);

/* Processes a note: ~fd describes an inherited descriptor. */
void descriptors_note(struct descriptors *descriptors, const struct event *event);

/*
 * Processes a call. *misuse: how the call misused a descriptor, or DESCRIPTOR_GOOD; *of: the
 * misused descriptor, or NULL.
 */
void descriptors_event(struct descriptors *descriptors, const struct event *event,
		       enum descriptor_misuse *misuse, struct descriptor **of);

/*
 * Returns the descriptor with that number, open or closed; NULL: the process has not used the
 * number.
 */
struct descriptor *descriptors_find(const struct descriptors *descriptors, uint64_t number);

/*
 * Describes the object that a blocking call waits for: "fd 5: socket to 127.0.0.1:80", "child 123".
 * object: the descriptor or PID that the call was made with. The text is empty if the call has no
 * such object. Returns `text`.
 */
#define DESCRIPTORS_TEXT_SIZE 256u
const char *descriptors_say(const struct descriptors *descriptors, const struct hook *hook,
			    uint64_t object, char text[DESCRIPTORS_TEXT_SIZE]);

/* Like descriptors_say(), for the event of a call that has returned. */
const char *descriptors_say_event(const struct descriptors *descriptors, const struct event *event,
				  char text[DESCRIPTORS_TEXT_SIZE]);

/* The calls that explain a misuse: the calls that opened, closed and misused the descriptor. */
enum { MISUSE_OPENED, MISUSE_CLOSED, MISUSE_AGAIN, MISUSE_STEPS };

struct misuse_step {
	const char *what;
	const struct trace_node *backtrace; /* NULL: unknown */
	uint64_t time_ns;
	uint32_t thread;
};

struct misuse {
	enum descriptor_misuse kind;
	uint64_t count;
	/* the following members describe the first misuse of the entry */
	uint64_t number;
	uint32_t pid;
	const char *what; /* description of the descriptor, or NULL */
	struct misuse_step steps[MISUSE_STEPS];
};

/*
 * Misuses of descriptors in all processes of a run. Misuses of the same kind with the same
 * backtraces share an entry with a count, so memory grows with the number of distinct backtraces.
 */
struct misuses {
	struct address_space *space;
	struct pool pool;
	struct hash_table by_place;
	ARRAY_OF(struct misuse *) list;
};

void misuses_init(struct misuses *misuses, struct address_space *space);
void misuses_free(struct misuses *misuses);

/* Adds a misuse: the call of the event misused `descriptor`. */
void misuses_add(struct misuses *misuses, const struct event *event, enum descriptor_misuse kind,
		 const struct descriptor *descriptor);

/* Sorts the list, the most frequent misuse first. */
void misuses_sort(struct misuses *misuses);

#endif
