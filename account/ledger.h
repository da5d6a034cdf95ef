/* SPDX-License-Identifier: MIT */
#ifndef ACCOUNT_LEDGER_H
#define ACCOUNT_LEDGER_H

/*
 * The live objects of a process, and where and when they were acquired. All reports use this
 * ledger. It turns the calls of a process into moves, each of which is the acquisition or the
 * release of an object at a call site. It stores the live objects and passes each move to its
 * listeners. It neither resolves symbols nor prints.
 *
 * An object is live from its acquisition to its release. An object of a counted class is live until
 * it has been released as often as it was acquired. A lock that several readers hold is live once
 * for each of them. If a live object of an uncounted class is acquired again, the second
 * acquisition replaces the first. Parts of a mapping can be released. If a hooked function acquires
 * an object through another hooked function (reallocarray calls realloc), the object is counted
 * once. If memory was sampled (--sample), a recorded block also represents blocks that were not
 * recorded, and all sums of memory are estimates. Memory use grows with the number of distinct
 * backtraces and of objects that are live at the same time, not with the number of events.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account/estimate.h"
#include "account/mapped.h"
#include "account/sites.h"
#include "base/error.h"
#include "base/map.h"
#include "base/pool.h"
#include "trace/event.h"

#define LEDGER_CLASSES	 48u /* maximum number of classes; all further classes share the last one */
#define LEDGER_LISTENERS 32u /* maximum number of reports that run at the same time */

struct ledger_class {
	enum resource known; /* RESOURCE_NONE: a class that another tracer defined */
	const char *type, *description;
	bool is_counted;
	bool has_bytes;	  /* the sizes of its objects are bytes of memory */
	bool is_estimate; /* the process was sampled, so its sums are estimates */
	uint32_t rank;	  /* see ledger_rank() */
};

/* A live object, or a mapping, which may have several ranges. */
struct ledger_item {
	uint64_t object, size; /* of a mapping: the whole range that its call mapped */
	uint64_t index;	       /* index of the call that acquired it */
	uint64_t acquired_ns;
	struct wire_value *arguments; /* arguments of that call, see keep_arguments(); NULL: none */
	uint32_t site;		   /* index in ledger_sites(); in a free item: the next free item */
	uint32_t thread;	   /* thread that acquired it, see ledger_thread() */
	uint32_t turn;		   /* number of calls of that thread up to the acquisition */
	uint32_t context, time_ms; /* context and time_ms of the call */
	uint32_t count; /* number of acquisitions that were not yet released; 0: not live */
};

_Static_assert(sizeof(void *) != 8 || sizeof(struct ledger_item) == 64,
	       "an item must fill exactly one cache line");

/* Sums of one class of a process. */
struct ledger_sum {
	/* number of calls that acquired an object, except waits that lock a mutex again */
	uint64_t acquired;
	/*
	 * lost: number of calls that released an object, except waits and joins; joined: number of
	 * joins
	 */
	uint64_t lost, joined;
	uint64_t retaken;   /* how often a wait for a condition locked its mutex again */
	uint64_t temporary; /* objects released by the next call of the thread that acquired them */
	uint64_t strays;    /* releases of objects whose acquisition is not in the trace */
	uint64_t earlier;   /* releases of objects that the process acquired before the attach */
	uint64_t replaced;  /* acquisitions of objects that were already live */
	uint64_t count, bytes; /* objects that are live now, and their bytes */
	double variance;       /* variance of `bytes`; 0: `bytes` is exact */
	double peak_variance, acquired_variance;
	uint64_t peak, peak_ns; /* maximum of live bytes (or objects), and its time */
};

struct ledger_move {
	uint32_t site;	     /* the call site: index in ledger_sites() */
	uint32_t class;	     /* index of the class, for ledger_class() */
	bool is_acquisition; /* true: an acquisition; false: a release */
	bool is_part; /* the object is part of another object, such as the descriptor of a FILE */
	bool is_no_call; /* The move does not count as a call: a wait unlocks a mutex or locks it
			    again, or a descriptor stayed open over an exec. */
	/*
	 * Change of the number of objects: 1 or -1, or a larger number for a sampled block. For a
	 * released part of a mapping: 0, or 1 if the mapping was cut in two.
	 */
	int count;
	uint64_t bytes;	 /* bytes acquired or released */
	double variance; /* variance of these bytes */
	double count_variance;
	const struct ledger_item *item;
	uint32_t turn;	 /* number of calls that the event's thread has made so far */
	uint32_t thread; /* thread of the event, see ledger_thread() */
	const struct event *event;
};

struct ledger;

/*
 * True if the move releases an object that the same thread acquired at most `within` calls earlier
 * (0: one call). False for parts of other objects; for locks, threads and processes, whose lives
 * are usually short; and for sampled blocks, since the number of calls in between is unknown.
 */
bool ledger_move_is_temporary(const struct ledger *ledger, const struct ledger_move *move,
			      uint64_t within);

typedef void ledger_listener(void *user, const struct ledger_move *move);

/*
 * keeps_all_arguments: also keep the arguments of calls that allocate blocks of memory. Without
 * listeners, the ledger processes each call a few calls later, when the memory that the call needs
 * is in the processor's cache. The functions that return results process the delayed calls first.
 */
struct ledger *ledger_create(bool keeps_all_arguments);
void ledger_destroy(struct ledger *ledger);

/* Adds a listener. Must precede the first event. */
void ledger_listen(struct ledger *ledger, ledger_listener *listener, void *user);

/* Processes an event. Events must come in the order of the stream. */
void ledger_event(struct ledger *ledger, const struct event *event);

/* The number of inherited descriptors (~fd notes) that are still open. */
uint64_t ledger_inherited(const struct ledger *ledger);

/*
 * Adds an inherited descriptor, which the note `note` (~fd) lists, to the live objects. `opened` is
 * the call by which an earlier program of the process opened it; its backtrace belongs to the
 * address map of the run (naming/address_space.h). Everything that `opened` points to must live
 * until the ledger is cleared.
 */
void ledger_carry(struct ledger *ledger, const struct event *opened, const struct event *note);

/* The ranges that the process had mapped at the attach, and how much of them was unmapped since. */
const struct before *ledger_before(const struct ledger *ledger);

/* Drops the live objects to free their memory. Sites and sums stay until ledger_clear(). */
void ledger_forget(struct ledger *ledger);

/* Drops all data of a process that has ended, except the classes. */
void ledger_clear(struct ledger *ledger);

/*
 * Turns the ledger of a process, at the moment of a fork, into the ledger of the child. The child's
 * events then come from another trace, and the parent's trace must stay open.
 */
void ledger_fork(struct ledger *ledger);

/*
 * The live object with this number (address, descriptor ...), valid until the next event; NULL: not
 * live. Does not find locks that readers hold.
 */
const struct ledger_item *ledger_find(struct ledger *ledger, enum resource known, uint64_t object);

/* True if the event releases a live object, or a part of a mapping. */
bool ledger_releases(struct ledger *ledger, const struct event *event);

/* A live object, or a range of a mapping. */
struct ledger_held {
	uint32_t site, class;
	bool is_part;
	bool is_of_parent; /* acquired by the parent before the fork: ledger_fork() */
	uint64_t object;
	uint64_t count;	 /* number of objects: 1, or more for a sampled block */
	uint64_t bytes;	 /* bytes of memory that the objects take; 0 for classes without bytes */
	double variance; /* variance of `bytes` */
	double count_variance;
	uint64_t size; /* the size that the call states; for a mapping, the size of this range */
	const struct ledger_item *item;
};

/*
 * Sets *held to the next live object and advances *at, which is 0 at the first call. Returns false
 * after the last object. The order is the same each time that a trace is read. If the process
 * executed another program (ledger_is_replaced()), it has no live objects.
 */
bool ledger_held(struct ledger *ledger, size_t *at, struct ledger_held *held);

/* True if the process has executed another program, according to its ~end note. */
bool ledger_is_replaced(const struct ledger *ledger);

/*
 * Like ledger_held(), but for the descriptors that the process had open when it executed another
 * program. The kernel then closed the descriptors with FD_CLOEXEC; the ~fd notes of the next
 * program list the others.
 */
bool ledger_passed(struct ledger *ledger, size_t *at, struct ledger_held *held);

/*
 * Like ledger_held(), but only for the ranges of mappings, including those that the process had
 * when it executed another program.
 */
bool ledger_mapped(struct ledger *ledger, size_t *at, struct ledger_held *held);

/*
 * Describes an object by the arguments of its call: "/etc/passwd", or "port=80 address=1.2.3.4".
 * Fills and returns `text`, a buffer of `size` bytes; "" if there are no arguments.
 */
const char *ledger_describe(const struct ledger_item *item, char *text, size_t size);

/* The argument "path" of the object's call, else its argument "name", else NULL. */
const char *ledger_path(const struct ledger_item *item);

/* The kernel's id of a thread of the process. */
uint32_t ledger_thread(const struct ledger *ledger, uint32_t thread);

/* Mean bytes between two samples of the process's memory; 0: all blocks were recorded. */
uint64_t ledger_sample(const struct ledger *ledger);

/* The sites of the process; the first index is 1. */
const struct sites *ledger_sites(const struct ledger *ledger);

/*
 * Rank of a class in reports. Classes whose live objects at exit are certainly a fault come first;
 * classes whose objects may stay live on purpose follow.
 */
uint32_t ledger_rank(enum resource known);

uint32_t ledger_class_count(const struct ledger *ledger);
const struct ledger_class *ledger_class(const struct ledger *ledger, uint32_t class);

/* The sums of a class of the process, including the objects that are live now. */
const struct ledger_sum *ledger_sum(struct ledger *ledger, uint32_t class);

/*
 * The class of a resource, added if necessary, for calls that neither acquire nor release an
 * object.
 */
uint32_t ledger_class_of(struct ledger *ledger, enum resource known);

/* A stream of a process. Each program that a process executes has its own stream and ledger. */
struct passed_stream {
	const struct trace_process *process;
	struct ledger *ledger;
};

/*
 * Follows a descriptor that was open when the program of stream `i` executed the next program
 * (ledger_passed()). Returns the index of the stream at whose end the descriptor is still open, or
 * `count` if it was closed. Also returns `count` for descriptors 0 to 2: a process leaves them open
 * for its next program on purpose.
 */
size_t passed_to(const struct passed_stream *streams, size_t count, size_t i, uint64_t fd);

#endif
