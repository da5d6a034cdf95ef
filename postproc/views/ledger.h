/* SPDX-License-Identifier: MIT */
#ifndef VIEWS_LEDGER_H
#define VIEWS_LEDGER_H

/*
 * Who holds what: one account for all reports. It turns the calls of a process into moves, which
 * say what a place of the program gained or lost, and tells its listeners of each. What a place
 * amounts to is kept by the reports in tallies: one entry for each place of the process that is
 * being read, merged into those of the run when the process has ended.
 *
 * An object is held from its gain to its loss, in its process; one of a counted class until it was
 * lost as often. Another gain of one of an uncounted class replaces the first. A mapping may be
 * lost in parts. Memory grows with distinct backtraces and with what is held at one time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/pool.h"
#include "base/table.h"
#include "naming/atlas.h"
#include "postproc/views/held.h"
#include "postproc/views/mapped.h"
#include "postproc/views/sites.h"
#include "trace/event.h"

#define LEDGER_CLASSES	 48u /* the last one takes all that have no room */
#define LEDGER_LISTENERS 32u /* as many as reports at once */

struct ledger_class {
	enum resource known; /* RESOURCE_NONE: a class of another tracer */
	const char *type;
	bool is_counted;
	bool has_bytes; /* sizes of its objects are bytes that they take */
	uint32_t rank;	/* in which classes are shown: what is always a fault comes first */
};

/* What is known of an object that is held, mappings excepted. */
struct ledger_item {
	uint64_t gained_ns;
	uint64_t turn;	 /* of its thread, when it was gained */
	char *arguments; /* of its call, or NULL: memory has none */
	uint32_t thread; /* index among the threads of the process */
	uint32_t site;	 /* of the process; of a free item: the next one */
};

struct ledger_move {
	uint32_t site;	/* of the process: place of a tally */
	uint32_t class; /* ledger_class() */
	bool is_gain;	/* else a loss */
	bool is_part;	/* of another object: the descriptor of a stream */
	int count; /* objects more, or less: 1 and -1; part of a mapping: 0, or 1 where one was cut
		    */
	uint64_t bytes;			/* more or less, as is_gain says */
	const struct ledger_item *item; /* NULL: a mapping */
	uint64_t turn;			/* of the thread of the event, now */
	uint32_t thread;		/* of the event */
	const struct event *event;
};

/* A place of the run: what it gained is of one class, with one backtrace, in any process. */
struct ledger_place {
	uint32_t class;
	bool is_part;
	const struct atlas_backtrace *backtrace; /* never NULL; count may be 0 */
	const char *function;			 /* of the first call */
};

struct ledger;

/*
 * What a report adds up for each place. merge adds what a process has to what the run has; both
 * begin as zeros.
 */
struct ledger_tally {
	size_t size; /* of an entry */
	void (*merge)(void *user, void *run, const void *process);
	void *user;
	/* the ledger's */
	char *entries[2]; /* of the process, of the run */
	size_t counts[2], capacities[2];
};

/* Returns 0 or a negative errno. */
typedef int ledger_listener(void *user, const struct ledger_move *move, struct error *err);

int ledger_create(struct ledger **ledger, struct atlas *atlas, struct error *err);
void ledger_destroy(struct ledger *ledger);

/* Before the first event. What is given outlives the ledger. */
void ledger_listen(struct ledger *ledger, ledger_listener *listener, void *user);
void ledger_tally(struct ledger *ledger, struct ledger_tally *tally);

/* A call (EVENT_CALL), in the order of the stream. Returns 0, -ENOMEM, or what a listener said. */
int ledger_event(struct ledger *ledger, const struct event *event, struct error *err);

/* An object that the process holds now, or a range that it has mapped. */
struct ledger_held {
	uint32_t site, class;
	bool is_part;
	uint64_t object, bytes;
	const struct ledger_item *item; /* NULL: a mapping */
};

/* The next one behind *at (0 at first), in no order; false after the last. */
bool ledger_held(const struct ledger *ledger, size_t *at, struct ledger_held *held);

/* The entry of a site of the process. NULL: no memory. Pointers from before are void. */
void *ledger_entry(struct ledger_tally *tally, uint32_t site);

/*
 * The process has ended: its sites become places of the run, tallies are merged, and all that it
 * held is forgotten. To be called before the atlas hears of another process. Returns 0 or -ENOMEM.
 */
int ledger_close(struct ledger *ledger, struct error *err);

/* Places of the run, from 0, and the tally's entry of one; NULL: none was made. */
uint32_t ledger_places(const struct ledger *ledger);
const struct ledger_place *ledger_place(const struct ledger *ledger, uint32_t place);
void *ledger_entry_of_place(const struct ledger_tally *tally, uint32_t place);

/* Where a class stands among others: what is always a fault comes before what may be meant. */
uint32_t ledger_rank(enum resource known);

uint32_t ledger_class_count(const struct ledger *ledger);
const struct ledger_class *ledger_class(const struct ledger *ledger, uint32_t class);

#endif
