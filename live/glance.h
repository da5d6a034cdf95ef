/* SPDX-License-Identifier: MIT */
#ifndef LIVE_GLANCE_H
#define LIVE_GLANCE_H

/* The live objects of a run's processes at one moment, by class and by call site, as numbers. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/watched.h"

#define GLANCE_CLASSES	48u
#define GLANCE_ROWS_MAX 200u
#define GLANCE_SITE_MAX 400

enum glance_order { GLANCE_HELD, GLANCE_GROWTH, GLANCE_RATE, GLANCE_OBJECTS, GLANCE_ORDERS };

struct glance_wish {
	const char *class; /* name of the class; NULL: all classes */
	enum glance_order order;
	bool since_base; /* live counts only what was acquired since the baseline */
	size_t rows;	 /* limit of rows, at most GLANCE_ROWS_MAX */
};

/* Numbers of a class or of a call site. */
struct glance_row {
	const char *type;
	bool has_bytes;
	uint64_t acquired;    /* since the start */
	int64_t count, bytes; /* live now, or the change since the baseline, which may be
			       * negative */
	double variance;      /* of bytes, where they are estimates */
	double acquired_rate, growth_rate; /* for each second: calls; bytes, or objects for a class
					    * without bytes */
	uint64_t peak; /* of a class: sum of the peaks of all processes, which may have been at
			* different times */
	char site_text[GLANCE_SITE_MAX]; /* "leaky demo.c:12 <- main demo.c:30"; "" for a class */
	struct watched *watched;	 /* one of the processes that have the call site */
	uint32_t site;
};

struct glance {
	struct glance_row classes[GLANCE_CLASSES];
	size_t class_count;
	struct glance_row *rows;
	size_t row_count;
	uint64_t events, dropped, damages;
	double event_rate;
	size_t running, ended;
	uint64_t sample; /* largest sampling interval of memory, in bytes; 0: all memory is
			  * recorded */
	uint64_t start_ns, end_ns; /* of the part of the run that was read; 0: unknown */
};

/* Duration of the part of the run that was read. */
static inline uint64_t glance_age_ns(const struct glance *glance)
{
	return glance->start_ns && glance->end_ns > glance->start_ns
		       ? glance->end_ns - glance->start_ns
		       : 0;
}

/* Computes rates since the last tick, which was seconds ago; 0: the first tick. */
void glance_tick(struct watched *const *processes, size_t count, double seconds);

/* Also looks up the names of the rows. */
void glance_take(struct glance *glance, struct watched *const *processes, size_t count,
		 const struct glance_wish *wish);
void glance_free(struct glance *glance);

/* Sets the baseline to this moment. */
void glance_set_base(struct watched *const *processes, size_t count);

/* The full backtrace of a row, in lines of at most NAMING_TEXT_MAX bytes; returns how many. */
size_t glance_backtrace(const struct glance_row *row, struct naming_line *lines, size_t max);

#endif
