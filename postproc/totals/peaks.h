/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_PEAKS_H
#define TOTALS_PEAKS_H

/*
 * What was held when most was held, class by class and place by place. The state at every new
 * maximum is kept without copying it: each maximum begins an epoch, and a place that changes for
 * the first time in an epoch saves what it had. What was not saved since the last maximum has not
 * changed since.
 */

#include <stdbool.h>
#include <stdint.h>

#include "account/ledger.h"
#include "tallies.h"

struct peaks_amount {
	uint64_t count, bytes;
	double variance; /* of bytes */
};

/* Of a place: entry of the tally. */
struct peaks_entry {
	struct peaks_amount now, saved;
	uint64_t epoch; /* of the process: in which it was saved; of the run: whose peak it is of */
	uint32_t class;
};

/* The greatest of the run so far. */
struct peaks_run {
	struct peaks_amount most;
	uint64_t at_ns;
	uint64_t generation; /* counts the processes that had the greatest; 0: none had any */
	uint32_t pid;
	const char *program;
};

/* Of a class, in the process that is being read. */
struct peaks_class {
	struct peaks_amount now, most;
	uint64_t epoch, at_ns;
	bool is_best; /* this process's is greater than those before */
	struct peaks_run run;
};

struct peaks {
	const struct ledger *ledger;
	struct tally *tally; /* of struct peaks_entry, merged by peaks_merge() */
	struct peaks_class classes[LEDGER_CLASSES];
	bool is_over; /* what is in classes is of a process that has ended */
};

/* The tally is to be set before the first event. */
void peaks_init(struct peaks *peaks, const struct ledger *ledger);

/* For the tally, and for the ledger; user: the peaks. */
void peaks_merge(void *user, void *of_run, const void *of_process);
void peaks_move(void *user, const struct ledger_move *move);

/* The process has no more events; before its tallies are closed. program: lives as long as this. */
void peaks_process(struct peaks *peaks, uint32_t pid, const char *program);

/* An amount in what the class is measured in: bytes, or else objects. */
uint64_t peaks_weight(const struct peaks *peaks, uint32_t class, struct peaks_amount amount);

/* What a place of the run had at the peak of its class; false: nothing. */
bool peaks_at(const struct peaks *peaks, uint32_t class, uint32_t place,
	      struct peaks_amount *amount);

#endif
