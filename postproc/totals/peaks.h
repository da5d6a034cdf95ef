/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_PEAKS_H
#define TOTALS_PEAKS_H

/*
 * The amounts at the peak, by class and by call site. Nothing is copied at a new maximum: each
 * maximum starts an epoch, and an entry that changes for the first time in an epoch saves its
 * amount before the change. An entry that saved nothing since the last maximum has not changed
 * since.
 */

#include <stdbool.h>
#include <stdint.h>

#include "account/ledger.h"
#include "tallies.h"

struct peaks_amount {
	uint64_t count, bytes;
	double variance; /* of bytes */
};

/* Entry of the tally, for a site of the process or a place of the run. */
struct peaks_entry {
	struct peaks_amount now, saved;
	/* of the process: in which it was saved; of the run: the generation of its peak */
	uint64_t epoch;
	uint32_t class;
};

/* The greatest peak of the run so far. */
struct peaks_run {
	struct peaks_amount most;
	uint64_t at_ns;
	/* counts the processes that reached a new greatest peak; 0: none had any */
	uint64_t generation;
	uint32_t pid;
	const char *program;
};

/* Of a class, in the current process. */
struct peaks_class {
	struct peaks_amount now, most;
	uint64_t epoch, at_ns;
	bool is_best; /* the peak of this process exceeds those of all processes before */
	struct peaks_run run;
};

struct peaks {
	const struct ledger *ledger;
	struct tally *tally; /* of struct peaks_entry, merged by peaks_merge() */
	struct peaks_class classes[LEDGER_CLASSES];
	bool is_over; /* the process that classes describes has ended */
};

/* Set the tally before the first event. */
void peaks_init(struct peaks *peaks, const struct ledger *ledger);

/* Callbacks of the tally and of the ledger; user: struct peaks. */
void peaks_merge(void *user, void *of_run, const void *of_process);
void peaks_move(void *user, const struct ledger_move *move);

/*
 * The process has ended; call it before the process's tallies are closed. program: lives as long as
 * peaks.
 */
void peaks_process(struct peaks *peaks, uint32_t pid, const char *program);

/* An amount in the unit of the class: bytes, or else objects. */
uint64_t peaks_weight(const struct peaks *peaks, uint32_t class, struct peaks_amount amount);

/* What a place of the run held at the peak of its class; false: nothing. */
bool peaks_at(const struct peaks *peaks, uint32_t class, uint32_t place,
	      struct peaks_amount *amount);

#endif
