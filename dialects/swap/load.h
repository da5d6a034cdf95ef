/* SPDX-License-Identifier: MIT */
#ifndef VIEWS_LOAD_H
#define VIEWS_LOAD_H

/*
 * What the samples of a trace (~sample, by --sample-system) say of machine and process: counters
 * become differences to the sample before, times of processors become percent. The first sample
 * has nothing to be compared with: its loads and differences are 0.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "account/ledger.h"
#include "trace/event.h"

#define LOAD_CPUS_MAX 1024u

struct load_cpu {
	float khz, percent; /* of one processor */
	uint64_t busy, total;
};

struct load_thread {
	uint32_t id, cpu;
	char state;    /* R, S, D ... as in proc(5) */
	float percent; /* of one processor */
	uint64_t ticks;
};

enum load_counter {
	LOAD_READS,
	LOAD_SECTORS_READ,
	LOAD_WRITES,
	LOAD_SECTORS_WRITTEN,
	LOAD_SENT,
	LOAD_RECEIVED,
	LOAD_COUNTERS
};

struct load {
	uint64_t samples; /* so far; 0: nobody asked for them, and nothing below is kept */
	uint64_t time_ns; /* of the last one: when it was taken */
	ARRAY_OF(struct load_cpu) cpus;
	struct {
		struct load_thread *items, *before; /* by id; of this sample, of the last one */
		size_t count, before_count, capacity, before_capacity;
	} threads;
	uint64_t memory_bytes, drive_mib;
	uint64_t counters[LOAD_COUNTERS];    /* as the machine counts them */
	uint64_t differences[LOAD_COUNTERS]; /* since the last sample */
	uint64_t ticks;
	float percent; /* of the process; several processors may make more than 100 */
	uint64_t virtual_bytes, resident_bytes, shared_bytes, pss_bytes;
	uint64_t held_bytes;   /* memory gained and not given back, since the first sample */
	struct ledger *ledger; /* from then on */
};

void load_init(struct load *load);
void load_free(struct load *load);

/* Takes a ~sample. */
void load_sample(struct load *load, const struct event *event);

/* Takes a call that gains or loses memory. */
void load_event(struct load *load, const struct event *event);

#endif
