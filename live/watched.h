/* SPDX-License-Identifier: MIT */
#ifndef LIVE_WATCHED_H
#define LIVE_WATCHED_H

/*
 * One process of a run, with the state after the last event of its stream. A thread reads the
 * stream and updates the ledger; other threads access the members between watched_lock() and
 * watched_unlock().
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "account/ledger.h"
#include "base/array.h"
#include "base/error.h"
#include "naming/naming.h"
#include "trace/trace.h"

#define WATCHED_TICKS 32u /* number of values in `curve` */

/* The sums of a call site in one process. */
struct watched_site {
	uint64_t acquired;	/* number of acquisitions since the start */
	uint64_t count, bytes;	/* live objects, their bytes */
	double variance;	/* variance of bytes, if they are estimates */
	uint64_t seen_acquired; /* seen_...: values at the previous tick (sample.h); ..._rate: rates
				   since that tick */
	uint64_t seen_count, seen_bytes;
	float acquired_rate, growth_rate; /* acquisitions per second; growth per second, in bytes
					     or, if the class has no bytes, in objects */
	uint64_t base_count, base_bytes;  /* values at the baseline */
	/*
	 * live amount at each of the last ticks, in bytes or objects; tick N is at index N %
	 * WATCHED_TICKS
	 */
	float curve[WATCHED_TICKS];
};

struct watched {
	pthread_mutex_t mutex;
	unsigned lookers; /* number of threads that wait for the mutex */
	pthread_t thread;
	int input;
	const void *owner; /* belongs to the caller; watched.c does not use it */
	struct trace *trace;
	struct ledger *ledger;
	struct address_space space;
	struct naming *naming;
	ARRAY_OF(struct watched_site) sites; /* indexed by call site of the ledger */
	uint32_t pid, stream;
	/* the collector has not confirmed that the pid in the stream is the pid of the process */
	bool is_unproven;
	char name[64];
	uint64_t ticks; /* number of ticks (sample.h) */
	uint64_t events, seen_events, lost;
	uint64_t start_ns;	   /* start of the process; 0: unknown */
	uint64_t time_ns, seen_ns; /* time_ns: time of the last event; seen_ns: value of time_ns at
				      the previous tick */
	double event_rate;
	uint64_t damages;
	uint64_t taken;	       /* number of input bytes that were processed completely */
	uint32_t told_unknown; /* bit set of the limits that were reported as unknown */
	bool is_unknown;       /* result of the last check: a limit is unknown */
	bool has_ended;	       /* the process has ended, according to the stream */
	bool is_finished;      /* the stream has ended */
	struct error error;    /* why the reader stopped before the regular end of the stream */
};

/*
 * Starts a thread that reads a stream from a descriptor. Takes ownership of the descriptor. Returns
 * 0 or a negative errno.
 */
int watched_start(struct watched **watched, int input, struct error *err);

/* Waits for the reading thread, then frees the process. The stream must have ended. */
void watched_free(struct watched *watched);

void watched_lock(struct watched *watched);
void watched_unlock(struct watched *watched);

#endif
