/* SPDX-License-Identifier: MIT */
#ifndef LIVE_GLANCE_H
#define LIVE_GLANCE_H

/* What the processes of a run hold at one moment, by class and by place: numbers, not yet text. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/watched.h"

#define GLANCE_CLASSES	48u
#define GLANCE_ROWS_MAX 200u
#define GLANCE_SITE_MAX 400

enum glance_order { GLANCE_HELD, GLANCE_GROWTH, GLANCE_RATE, GLANCE_OBJECTS, GLANCE_ORDERS };

struct glance_wish {
	const char *class; /* its type; NULL: all */
	enum glance_order order;
	bool since_base; /* held: what came since the baseline */
	size_t rows;	 /* at most GLANCE_ROWS_MAX */
};

/* Of a class or of a call site. */
struct glance_row {
	const char *type;
	bool has_bytes;
	uint64_t acquired;    /* so far */
	int64_t count, bytes; /* live, or since the baseline: then also less than nothing */
	double variance;      /* of these bytes, where they are estimates */
	double acquired_rate, growth_rate; /* each second: calls; bytes, or else objects */
	uint64_t peak; /* of a class: the sum of the processes' peaks, each of its own moment */
	char site_text[GLANCE_SITE_MAX]; /* "leaky demo.c:12 <- main demo.c:30"; ""; of a class */
	struct watched *watched;	 /* one of the processes that have it */
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
	uint64_t sample; /* bytes from one sample of memory to the next, the most; 0: all is
			    recorded */
	uint64_t start_ns, end_ns; /* of what is known of the run by now; 0: not known */
};

/* How much of the run is known. */
static inline uint64_t glance_age_ns(const struct glance *glance)
{
	return glance->start_ns && glance->end_ns > glance->start_ns
		       ? glance->end_ns - glance->start_ns
		       : 0;
}

/* Rates from now on are those since the last tick. seconds: since then; 0: there was none. */
void glance_tick(struct watched *const *processes, size_t count, double seconds);

/* Asks for the names of what it shows. */
void glance_take(struct glance *glance, struct watched *const *processes, size_t count,
		 const struct glance_wish *wish);
void glance_free(struct glance *glance);

/* What is held from now on counts anew. */
void glance_set_base(struct watched *const *processes, size_t count);

/* The whole backtrace of a row, a line of at most NAMING_TEXT_MAX each; returns how many. */
size_t glance_backtrace(const struct glance_row *row, struct naming_line *lines, size_t max);

#endif
