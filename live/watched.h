/* SPDX-License-Identifier: MIT */
#ifndef LIVE_WATCHED_H
#define LIVE_WATCHED_H

/*
 * One process of a run as its stream tells of it by now: a thread of ours reads the stream and
 * keeps the ledger, everybody else looks at it between watched_lock() and watched_unlock().
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "account/ledger.h"
#include "base/array.h"
#include "base/error.h"
#include "naming/naming.h"
#include "trace/trace.h"

/* What a site of the process amounts to. */
struct watched_site {
	uint64_t gained, gained_bytes; /* calls, so far */
	uint64_t count, bytes;	       /* held now */
	double variance;	       /* of these bytes, where they are estimates */
	uint64_t seen_gained;	       /* at the last tick (glance.h), and what came of it */
	uint64_t seen_count, seen_bytes;
	float gained_rate, growth_rate;	 /* each second: calls; bytes, or else objects */
	uint64_t base_count, base_bytes; /* at the baseline */
};

struct watched {
	pthread_mutex_t mutex;
	unsigned lookers; /* that wait for the mutex */
	pthread_t thread;
	int input;
	const void *owner; /* whose it is; nothing here reads it */
	struct trace *trace;
	struct ledger *ledger;
	struct atlas atlas;
	struct naming *naming;
	ARRAY_OF(struct watched_site) sites; /* by site of the ledger */
	uint32_t pid, stream;
	bool is_unproven; /* it may be another process than it says */
	char name[64];
	uint64_t events, seen_events, lost;
	uint64_t start_ns;	   /* of the process; 0: not known yet */
	uint64_t time_ns, seen_ns; /* of the last event */
	double event_rate;
	uint64_t damages;
	uint64_t taken;	       /* bytes of the input of which all is in here */
	uint32_t told_unknown; /* limits that were told to be unknown, a bit each */
	bool is_unknown;       /* whether one was broken, when that was asked last */
	bool has_ended;	       /* its stream says so */
	bool is_finished;      /* nothing comes any more */
	struct error error;    /* why, if it was no end */
};

/* Reads a stream from a descriptor, which it owns from then on. Returns 0 or a negative errno. */
int watched_start(struct watched **watched, int input, struct error *err);

/* The stream must have ended. */
void watched_free(struct watched *watched);

void watched_lock(struct watched *watched);
void watched_unlock(struct watched *watched);

#endif
