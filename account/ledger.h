/* SPDX-License-Identifier: MIT */
#ifndef ACCOUNT_LEDGER_H
#define ACCOUNT_LEDGER_H

/*
 * What a process holds, by whom and since when: the one account of the analyst. It turns the calls
 * of one process into moves, each a gain or a loss at a place of the program, keeps what is held,
 * and tells its listeners of each move. It knows no names and prints nothing.
 *
 * An object is held from its gain to its loss; one of a counted class until it was lost as often.
 * A lock that several readers have is held by each of them.
 * Another gain of one of an uncounted class replaces the first. A mapping may be lost in parts.
 * What a hooked function gains through another hooked one (reallocarray through realloc) counts
 * once. Where memory was sampled (--sample), each block that was recorded stands for those that
 * were not, and what is said of memory are estimates. Memory grows with distinct backtraces and
 * with what is held at one time, never with events.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account/before.h"
#include "account/estimate.h"
#include "account/mapped.h"
#include "account/sites.h"
#include "base/error.h"
#include "base/map.h"
#include "base/pool.h"
#include "trace/event.h"

#define LEDGER_CLASSES	 48u /* the last one takes all that have no room */
#define LEDGER_LISTENERS 32u /* as many as reports at once */

struct ledger_class {
	enum resource known; /* RESOURCE_NONE: a class of another tracer */
	const char *type, *description;
	bool is_counted;
	bool has_bytes;	  /* sizes of its objects are bytes that they take */
	bool is_estimate; /* a process was sampled */
	uint32_t rank;	  /* in which classes are shown: what is always a fault comes first */
};

/* An object that is held, or a mapping, of which there may be several pieces. */
struct ledger_item {
	uint64_t object, size; /* of a piece: where it is, and how long */
	uint64_t index;	       /* of the call that gained it */
	uint64_t gained_ns;
	struct wire_value *arguments; /* of that call, see keep_arguments(); NULL: none */
	uint32_t site;		      /* of the process; of a free item: the next one */
	uint32_t thread;	      /* index among the threads of the process */
	uint32_t turn;		      /* calls of that thread so far */
	uint32_t context, time_ms;    /* of the call */
	uint32_t count;		      /* times it was gained and not yet lost; 0: not held */
};

_Static_assert(sizeof(void *) != 8 || sizeof(struct ledger_item) == 64,
	       "as large as a line of the cache: there may be millions");

/* Of one class of a process. */
struct ledger_sum {
	uint64_t gained;       /* calls that gained, but for waits that take a lock again */
	uint64_t lost, joined; /* calls that lost, likewise; joined: threads that were waited for */
	uint64_t retaken;      /* locks that waits for conditions took again */
	uint64_t temporary;    /* losses by the next call of the thread that gained it */
	uint64_t strays;       /* losses of what was not gained in the trace */
	uint64_t earlier;      /* losses of what was gained before the process was attached to */
	uint64_t replaced;     /* gains of what was held already */
	uint64_t count, bytes; /* held now */
	double variance;       /* of bytes; 0: they are exact */
	double peak_variance, gained_variance;
	uint64_t peak, peak_ns; /* the most that was held: bytes or else objects, and when */
};

struct ledger_move {
	uint32_t site;	 /* of the process: place of a tally */
	uint32_t class;	 /* ledger_class() */
	bool is_gain;	 /* else a loss */
	bool is_part;	 /* of another object: the descriptor of a stream */
	bool is_no_call; /* no call is to be counted: a wait gives the lock back or takes it again,
			  * or the descriptor was carried over an exec */
	/* objects more, or less: 1 and -1 (a sampled block: several); part of a mapping: 0, or 1
	 * where one was cut in two */
	int count;
	uint64_t bytes;	 /* more or less, as is_gain says */
	double variance; /* of these bytes */
	double count_variance;
	const struct ledger_item *item;
	uint32_t turn;	 /* of the thread of the event, now */
	uint32_t thread; /* of the event */
	const struct event *event;
};

struct ledger;

/*
 * Whether the move gives back what its own thread gained within so many of its calls (0: one). Not
 * what is part of another object, nor locks, threads and processes, whose short lives are normal,
 * nor samples, of which nobody knows how many calls came between.
 */
bool ledger_move_is_temporary(const struct ledger *ledger, const struct ledger_move *move,
			      uint64_t within);

typedef void ledger_listener(void *user, const struct ledger_move *move);

/*
 * keeps_all_arguments: those of blocks of memory, too. Without listeners, calls of objects may be
 * taken some calls later, when the memory that they need is in the cache; whoever asks hears all.
 */
int ledger_create(struct ledger **ledger, bool keeps_all_arguments, struct error *err);
void ledger_destroy(struct ledger *ledger);

/* Before the first event. */
void ledger_listen(struct ledger *ledger, ledger_listener *listener, void *user);

/* A call (EVENT_CALL), in the order of the stream. Returns 0 or -ENOMEM. */
int ledger_event(struct ledger *ledger, const struct event *event, struct error *err);

/* The descriptor was open when the process began: losing it is no stray. Returns 0 or -ENOMEM. */
int ledger_inherit(struct ledger *ledger, uint64_t fd, struct error *err);
uint64_t ledger_inherited(const struct ledger *ledger); /* that are still open */

bool ledger_has_inherited(const struct ledger *ledger, uint64_t fd);

/*
 * An earlier program of the process opened the inherited descriptor that this note (~fd) lists, by
 * the call opened, whose backtrace is of an atlas. From now on this ledger accounts for it. All
 * that opened points to must live until the ledger is cleared. Returns as ledger_event().
 */
int ledger_carry(struct ledger *ledger, const struct event *opened, const struct event *note,
		 struct error *err);

/* What it had mapped when it was attached to, and what of that was given back since. */
const struct before *ledger_before(const struct ledger *ledger);

/* What was put off is done, so that it cannot fail later. Returns 0 or -ENOMEM. */
int ledger_settle(struct ledger *ledger, struct error *err);

/* What it holds is forgotten, for who needs the memory: sites and sums stay until it is cleared. */
void ledger_forget(struct ledger *ledger);

/* The process has ended, and what it held is forgotten; classes stay. */
void ledger_clear(struct ledger *ledger);

/*
 * Turns the ledger of a process at the moment of a fork into that of the child, whose stream is
 * read from another trace. The trace of the parent must stay open. Returns 0 or -ENOMEM.
 */
int ledger_fork(struct ledger *ledger, struct error *err);

/* What is held now, of locks what one thread has alone; NULL: it is not. Until the next event. */
const struct ledger_item *ledger_find(struct ledger *ledger, enum resource known, uint64_t object);

/* A loss of something that is held, or of a part of a mapping. */
bool ledger_loses(struct ledger *ledger, const struct event *event);

/* All that is held now. */
struct ledger_held {
	uint32_t site, class;
	bool is_part;
	bool is_of_parent; /* acquired before the fork that made the process: ledger_fork() */
	uint64_t object;
	uint64_t count;	 /* 1; a sampled block stands for several */
	uint64_t bytes;	 /* that they take; 0: they take none */
	double variance; /* of these */
	double count_variance;
	uint64_t size; /* as its call said; of a piece of a mapping, what is left */
	const struct ledger_item *item;
};

/*
 * The next one behind *at (0 at first), at each reading of a trace in the same order; false after
 * the last. A process that has run another program (~end says so) holds nothing.
 */
bool ledger_held(struct ledger *ledger, size_t *at, struct ledger_held *held);

/* The process has executed another program. */
bool ledger_is_replaced(const struct ledger *ledger);

/*
 * The next descriptor behind *at that the process had open when it executed another program: the
 * kernel has closed those with FD_CLOEXEC, the ~fd notes of the next program list the others.
 */
bool ledger_passed(struct ledger *ledger, size_t *at, struct ledger_held *held);

/*
 * "/etc/passwd", or "port=80 address=1.2.3.4": what tells an object from another, by the arguments
 * of its call. Returns text (size bytes), "" if there is nothing to tell.
 */
const char *ledger_describe(const struct ledger_item *item, char *text, size_t size);

/* The path or name among them, or NULL. */
const char *ledger_path(const struct ledger_item *item);

/* The kernel's id of a thread of the process. */
uint32_t ledger_thread(const struct ledger *ledger, uint32_t thread);

/* Bytes from one sample of the process's memory to the next; 0: all of it was recorded. */
uint64_t ledger_sample(const struct ledger *ledger);

/* The sites of the process, from 1. */
const struct sites *ledger_sites(const struct ledger *ledger);

/* Where a class stands among others: what is always a fault comes before what may be meant. */
uint32_t ledger_rank(enum resource known);

uint32_t ledger_class_count(const struct ledger *ledger);
const struct ledger_class *ledger_class(const struct ledger *ledger, uint32_t class);

/* Of the process; of what is held now. */
const struct ledger_sum *ledger_sum(struct ledger *ledger, uint32_t class);

/* The class of a call that neither gains nor loses, by what its hook is about. */
uint32_t ledger_class_of(struct ledger *ledger, enum resource known);

#endif
