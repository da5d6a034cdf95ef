/* SPDX-License-Identifier: MIT */
#ifndef VIEWS_LOAD_H
#define VIEWS_LOAD_H

/*
 * The state of the machine and the process in the samples of a trace (~sample, by --sample-system):
 * counters as differences to the previous sample, processor times in percent. In the first sample
 * loads and differences are 0.
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
	uint64_t samples; /* so far; 0: samples were not recorded, and nothing below is kept */
	uint64_t time_ns; /* when the last sample was taken */
	ARRAY_OF(struct load_cpu) cpus;
	struct {
		struct load_thread *items, *before; /* by id; the latest two samples */
		size_t count, before_count, capacity, before_capacity;
	} threads;
	uint64_t memory_bytes, drive_mib;
	uint64_t counters[LOAD_COUNTERS];    /* as the machine counts them */
	uint64_t differences[LOAD_COUNTERS]; /* since the previous sample */
	uint64_t ticks;
	float percent; /* of the process; above 100 with several processors */
	uint64_t virtual_bytes, resident_bytes, shared_bytes, pss_bytes;
	uint64_t held_bytes;   /* memory live, of that allocated since the first sample */
	struct ledger *ledger; /* created at the first sample */
};

void load_init(struct load *load);
void load_free(struct load *load);

/* Adds a ~sample. */
void load_sample(struct load *load, const struct event *event);

/* Adds a call that allocates or frees memory. */
void load_event(struct load *load, const struct event *event);

#endif
