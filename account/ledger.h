/* SPDX-License-Identifier: MIT */
#ifndef ACCOUNT_LEDGER_H
#define ACCOUNT_LEDGER_H

/*
 * The live objects of a process, the call sites that acquired them, and when: the analyst's only
 * account of objects. It turns the calls of one process into moves, each the acquisition or the
 * release of an object at a call site, keeps the live objects, and notifies its listeners of each
 * move. It knows no names of symbols and prints nothing.
 *
 * An object is live from its acquisition to its release; an object of a counted class until it was
 * released as often as it was acquired. A lock that several readers hold is live once for each of
 * them. A second acquisition of a live object of an uncounted class replaces the first. Parts of a
 * mapping may be released. If a hooked function acquires an object through another one
 * (reallocarray calls realloc), the object counts once. Where memory was sampled (--sample), each
 * recorded block represents those that were not recorded, and all sums of memory are estimates.
 * Memory grows with the number of distinct backtraces and of objects that are live at one time,
 * never with the number of events.
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

#define LEDGER_CLASSES	 48u /* the last one takes all classes that do not fit */
#define LEDGER_LISTENERS 32u /* as many reports as may run at once */

struct ledger_class {
	enum resource known; /* RESOURCE_NONE: a class of another tracer */
	const char *type, *description;
	bool is_counted;
	bool has_bytes;	  /* the sizes of its objects are bytes of memory */
	bool is_estimate; /* the process was sampled */
	uint32_t rank;	  /* see ledger_rank() */
};

/* A live object, or a mapping, which may have several ranges. */
struct ledger_item {
	uint64_t object, size; /* of a mapping: those of its call */
	uint64_t index;	       /* of the call that acquired it */
	uint64_t acquired_ns;
	struct wire_value *arguments; /* of that call, see keep_arguments(); NULL: none */
	uint32_t site;	 /* index in the process's sites; of a free item: the next free item */
	uint32_t thread; /* that acquired it: index among the threads of the process */
	uint32_t turn;	 /* calls of that thread up to then */
	uint32_t context, time_ms; /* of the call */
	uint32_t count;		   /* times it was acquired and not yet released; 0: not live */
};

_Static_assert(sizeof(void *) != 8 || sizeof(struct ledger_item) == 64,
	       "as large as a line of the cache: there may be millions");

/* Sums of one class of a process. */
struct ledger_sum {
	uint64_t acquired;     /* calls that acquired, without waits that lock a mutex again */
	uint64_t lost, joined; /* calls that released, likewise; that joined a thread */
	uint64_t retaken;      /* mutexes that waits for conditions locked again */
	uint64_t temporary; /* releases by the next call of the thread that acquired the object */
	uint64_t strays;    /* releases of objects whose acquisition is not in the trace */
	uint64_t earlier;   /* releases of objects that the process acquired before the attach */
	uint64_t replaced;  /* acquisitions of objects that were live already */
	uint64_t count, bytes; /* live now */
	double variance;       /* of bytes; 0: bytes is exact */
	double peak_variance, acquired_variance;
	uint64_t peak, peak_ns; /* most that was live: bytes, or else objects; when */
};

struct ledger_move {
	uint32_t site;	     /* the call site: index in ledger_sites() */
	uint32_t class;	     /* ledger_class() */
	bool is_acquisition; /* an acquisition, else a release */
	bool is_part;	     /* the object belongs to another one: the descriptor of a stream */
	bool is_no_call;     /* Do not count a call: a wait unlocks a mutex or locks it again, or a
				descriptor stayed open over an exec. */
	/*
	 * Change of the number of objects: 1 or -1 (several for a sampled block). For a part of a
	 * mapping 0, or 1 if the mapping was cut in two.
	 */
	int count;
	uint64_t bytes;	 /* acquired or released, as is_acquisition says */
	double variance; /* of these bytes */
	double count_variance;
	const struct ledger_item *item;
	uint32_t turn;	 /* calls of the event's thread so far */
	uint32_t thread; /* of the event: index among the threads of the process */
	const struct event *event;
};

struct ledger;

/*
 * Whether the move releases an object that its own thread acquired at most `within` calls earlier
 * (0: one call). False for parts of other objects, for locks, threads and processes, whose lives
 * are usually short, and for samples, where the number of calls in between is not known.
 */
bool ledger_move_is_temporary(const struct ledger *ledger, const struct ledger_move *move,
			      uint64_t within);

typedef void ledger_listener(void *user, const struct ledger_move *move);

/*
 * keeps_all_arguments: also keep the arguments of calls that allocate blocks of memory. Without
 * listeners, the ledger may process calls with a delay of some calls, when the memory that they
 * need is in the cache; all functions below process the delayed calls first.
 */
int ledger_create(struct ledger **ledger, bool keeps_all_arguments, struct error *err);
void ledger_destroy(struct ledger *ledger);

/* Only before the first event. */
void ledger_listen(struct ledger *ledger, ledger_listener *listener, void *user);

/* Processes an event, in the order of the stream. Returns 0 or -ENOMEM. */
int ledger_event(struct ledger *ledger, const struct event *event, struct error *err);

/* The number of inherited descriptors (~fd notes) that are still open. */
uint64_t ledger_inherited(const struct ledger *ledger);

bool ledger_has_inherited(const struct ledger *ledger, uint64_t fd);

/*
 * An earlier program of the process opened the inherited descriptor that this note (~fd) lists, by
 * the call opened, whose backtrace belongs to an address map. From now on this ledger accounts for
 * the descriptor. All that opened points to must live until the ledger is cleared. Returns as
 * ledger_event().
 */
int ledger_carry(struct ledger *ledger, const struct event *opened, const struct event *note,
		 struct error *err);

/* What the process had mapped at the attach, and how much of that was unmapped since. */
const struct before *ledger_before(const struct ledger *ledger);

/* Processes the calls that were delayed, so that they cannot fail later. Returns 0 or -ENOMEM. */
int ledger_settle(struct ledger *ledger, struct error *err);

/* Forgets the live objects, to free their memory. Sites and sums stay until ledger_clear(). */
void ledger_forget(struct ledger *ledger);

/* The process has ended: forgets all but the classes. */
void ledger_clear(struct ledger *ledger);

/*
 * Turns the ledger of a process at the moment of a fork into that of the child, whose stream is
 * read from another trace. The trace of the parent must stay open. Returns 0 or -ENOMEM.
 */
int ledger_fork(struct ledger *ledger, struct error *err);

/*
 * The live object with this number, but for locks that readers share; NULL: not live. Valid until
 * the next event.
 */
const struct ledger_item *ledger_find(struct ledger *ledger, enum resource known, uint64_t object);

/* Whether the event releases a live object, or a part of a mapping. */
bool ledger_releases(struct ledger *ledger, const struct event *event);

/* A live object, or a range of a mapping. */
struct ledger_held {
	uint32_t site, class;
	bool is_part;
	bool is_of_parent; /* acquired before the fork that made the process: ledger_fork() */
	uint64_t object;
	uint64_t count;	 /* 1; a sampled block represents several */
	uint64_t bytes;	 /* of memory that they take; 0 for classes without bytes */
	double variance; /* of bytes */
	double count_variance;
	uint64_t size; /* as its call had it; for a mapping, the size of this range */
	const struct ledger_item *item;
};

/*
 * Returns the next live object after *at (0 at first) in *held, in the same order at each reading
 * of a trace; false after the last. A process that has executed another program (~end says so) has
 * no live objects.
 */
bool ledger_held(struct ledger *ledger, size_t *at, struct ledger_held *held);

/* The process has executed another program. */
bool ledger_is_replaced(const struct ledger *ledger);

/*
 * As ledger_held(), for the descriptors that a process had open when it executed another program.
 * The kernel has closed those with FD_CLOEXEC; the ~fd notes of the next program list the others.
 */
bool ledger_passed(struct ledger *ledger, size_t *at, struct ledger_held *held);

/*
 * Describes an object by the arguments of its call: "/etc/passwd", or "port=80 address=1.2.3.4".
 * Returns text (size bytes), "" if there are no arguments.
 */
const char *ledger_describe(const struct ledger_item *item, char *text, size_t size);

/* The path or the name among the arguments, or NULL. */
const char *ledger_path(const struct ledger_item *item);

/* The kernel's id of a thread of the process. */
uint32_t ledger_thread(const struct ledger *ledger, uint32_t thread);

/* Mean bytes between two samples of the process's memory; 0: all of it was recorded. */
uint64_t ledger_sample(const struct ledger *ledger);

/* The sites of the process, from 1. */
const struct sites *ledger_sites(const struct ledger *ledger);

/*
 * Rank of a class in reports: one whose live objects are always a fault comes before one whose live
 * objects may be intended.
 */
uint32_t ledger_rank(enum resource known);

uint32_t ledger_class_count(const struct ledger *ledger);
const struct ledger_class *ledger_class(const struct ledger *ledger, uint32_t class);

/* Sums of the process, with the objects that are live now. */
const struct ledger_sum *ledger_sum(struct ledger *ledger, uint32_t class);

/* The class of a resource, for calls that neither acquire nor release an object. */
uint32_t ledger_class_of(struct ledger *ledger, enum resource known);

#endif
