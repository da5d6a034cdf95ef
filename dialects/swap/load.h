/* SPDX-License-Identifier: MIT */
#ifndef VIEWS_LOAD_H
#define VIEWS_LOAD_H

/*
 * The state of the machine and of the process, from the ~sample notes that --sample-system records.
 * The struct also has, for counters, the increase since the previous sample and, for processor
 * times, percentages. At the first sample, these are 0.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "account/ledger.h"
#include "trace/event.h"

#define LOAD_CPUS_MAX 1024u

struct load_cpu {
	float khz, percent; /* percent: load of the processor */
	uint64_t busy, total;
};

struct load_thread {
	uint32_t id, cpu;
	char state;    /* R, S, D ... as in proc(5) */
	float percent; /* load, in percent of one processor */
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
	uint64_t samples; /* number of samples so far; 0: the other members are not valid */
	uint64_t time_ns; /* time of the last sample */
	ARRAY_OF(struct load_cpu) cpus;
	struct {
		/* sorted by id; before: the threads of the previous sample */
		struct load_thread *items, *before;
		size_t count, before_count, capacity, before_capacity;
	} threads;
	uint64_t memory_bytes, drive_mib;
	uint64_t counters[LOAD_COUNTERS];    /* values at the last sample */
	uint64_t differences[LOAD_COUNTERS]; /* increase since the previous sample */
	uint64_t ticks;
	float percent; /* load of the process in percent; above 100 if it uses several processors */
	uint64_t virtual_bytes, resident_bytes, shared_bytes, pss_bytes;
	uint64_t held_bytes;   /* live memory that was allocated after the first sample */
	struct ledger *ledger; /* live memory; created at the first sample */
};

void load_init(struct load *load);
void load_free(struct load *load);

/* Processes a ~sample note. */
void load_sample(struct load *load, const struct event *event);

/* Processes a call that allocates or frees memory. */
void load_event(struct load *load, const struct event *event);

#endif
