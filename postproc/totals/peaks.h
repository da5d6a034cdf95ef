/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_PEAKS_H
#define TOTALS_PEAKS_H

/*
 * The amounts at the peak, by class and by call site. A new maximum must be cheap to record: it
 * begins an epoch, and the amounts of the call sites are not copied. When an entry (a call site)
 * changes for the first time in an epoch, its amount before the change is saved. At the end, the
 * amount of an entry at the peak is the saved amount or, if the entry has not changed in the last
 * epoch, the present amount.
 */

#include <stdbool.h>
#include <stdint.h>

#include "account/ledger.h"
#include "tallies.h"

struct peaks_amount {
	uint64_t count, bytes;
	double variance; /* variance of the bytes */
};

/* An entry of the tally, for a call site in a process or in the run. */
struct peaks_entry {
	struct peaks_amount now, saved;
	/*
	 * in an entry of a process: the epoch in which the amount was saved; in an entry of the
	 * run: peaks_run.generation at that peak
	 */
	uint64_t epoch;
	uint32_t class;
};

/* The peak of a class in the run so far: the largest peak of one process. */
struct peaks_run {
	struct peaks_amount most;
	uint64_t at_ns;
	/*
	 * number of processes so far whose peak exceeded the peaks of all processes before them; 0:
	 * there was no peak
	 */
	uint64_t generation;
	uint32_t pid;
	const char *program;
};

/* The amounts of a class in the current process. */
struct peaks_class {
	struct peaks_amount now, most;
	uint64_t epoch, at_ns;
	/* whether the peak of this process exceeds the peaks of all processes before it */
	bool is_best;
	struct peaks_run run;
};

struct peaks {
	const struct ledger *ledger;
	struct tally *tally; /* entries are struct peaks_entry, merged by peaks_merge() */
	struct peaks_class classes[LEDGER_CLASSES];
	bool is_over; /* whether the process that `classes` describes has ended */
};

/* Initialises `peaks`. The caller sets the tally before the first event. */
void peaks_init(struct peaks *peaks, const struct ledger *ledger);

/* Callbacks of the tally and of the ledger; user: struct peaks. */
void peaks_merge(void *user, void *of_run, const void *of_process);
void peaks_move(void *user, const struct ledger_move *move);

/*
 * Call it when the process has ended, before its tallies are closed. program: must be valid as long
 * as `peaks`.
 */
void peaks_process(struct peaks *peaks, uint32_t pid, const char *program);

/* Returns the amount in bytes if the class has bytes, else in objects. */
uint64_t peaks_weight(const struct peaks *peaks, uint32_t class, struct peaks_amount amount);

/*
 * Sets *amount to the amount of a call site of the run (place) that was live at the peak of the
 * class. Returns false if the amount is 0.
 */
bool peaks_at(const struct peaks *peaks, uint32_t class, uint32_t place,
	      struct peaks_amount *amount);

#endif
