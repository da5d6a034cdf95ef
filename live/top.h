/* SPDX-License-Identifier: MIT */
#ifndef LIVE_TOP_H
#define LIVE_TOP_H

/* `holdtrace top`: takes samples of a run, and writes them as text, JSON or OpenMetrics. */

#include "base/out.h"
#include "live/look.h"
#include "live/run_files.h"
#include "live/screen.h"

/* ---- samples ---- */

/*
 * A sample has the numbers of live objects of all processes of a run at one moment, by class and by
 * call site.
 */

#define SAMPLE_CLASSES	48u
#define SAMPLE_ROWS_MAX 200u
#define SAMPLE_SITE_MAX 400

enum sample_order { SAMPLE_HELD, SAMPLE_GROWTH, SAMPLE_RATE, SAMPLE_OBJECTS, SAMPLE_ORDERS };

struct sample_options {
	const char *class; /* name of the class; NULL: all classes */
	enum sample_order order;
	bool since_base; /* show changes since the baseline, not live numbers */
	size_t rows;	 /* maximum number of rows; at most SAMPLE_ROWS_MAX */
};

/* Numbers of a class or of a call site. */
struct sample_row {
	const char *type;
	bool has_bytes;
	uint64_t acquired;    /* number of acquisitions since the start */
	int64_t count, bytes; /* live now, or the change since the baseline, which may be
			       * negative */
	double variance;      /* variance of `bytes`, if `bytes` is an estimate */
	double acquired_rate, growth_rate; /* acquisitions per second; growth per second, in bytes
					      or, if the class has no bytes, in objects */
	float curve[WATCHED_TICKS]; /* live amount at the last ticks, the latest one at the end */
	/*
	 * for a class: the sum of the peaks of all processes, which may have had their peaks at
	 * different times
	 */
	uint64_t peak;
	char site_text[SAMPLE_SITE_MAX]; /* "leaky demo.c:12 <- main demo.c:30"; "" for a class */
	struct watched *watched;	 /* a process that has the call site */
	uint32_t site;
};

struct sample {
	struct sample_row classes[SAMPLE_CLASSES];
	size_t class_count;
	struct sample_row *rows;
	size_t row_count;
	uint64_t events, dropped, damages;
	double event_rate;
	size_t running, ended;
	/* resident memory of the running processes; 0: unknown for at least one of them */
	uint64_t resident_bytes;
	uint64_t sample; /* largest sampling interval of memory, in bytes; 0: all memory is
			  * recorded */
	size_t ticks;	 /* number of values in each curve, at most WATCHED_TICKS */
	uint64_t start_ns, end_ns; /* start of the run, time of the last event read; 0: unknown */
};

/* Returns the duration of the part of the run that was read. */
static inline uint64_t sample_age_ns(const struct sample *sample)
{
	return sample->start_ns && sample->end_ns > sample->start_ns
		       ? sample->end_ns - sample->start_ns
		       : 0;
}

/*
 * Computes the rates since the previous tick (call of this function), and appends a value to each
 * curve. seconds: time since the previous tick; 0: this is the first tick.
 */
void sample_tick(struct watched *const *processes, size_t count, double seconds);

/* Fills a sample from the processes, and looks up the names of its rows. */
void sample_take(struct sample *sample, struct watched *const *processes, size_t count,
		 const struct sample_options *options);
void sample_free(struct sample *sample);

/* Sets the baseline to this moment. */
void sample_set_base(struct watched *const *processes, size_t count);

/* Writes the full backtrace of a row, at most `max` lines. Returns the number of lines. */
size_t sample_backtrace(const struct sample_row *row, struct naming_line *lines, size_t max);

/* ---- pictures ---- */

#define TOP_WAITS_MAX 64u

/* A thread that waits for a lock that another thread holds. */
struct top_wait {
	int pid;
	bool is_in_ring, is_inferred, is_orphaned;
	char text[300]; /* made by look_put_thread() */
};

struct top_picture {
	struct sample sample;
	const struct sample_options *options;
	uint64_t left_out; /* number of files and streams that are not followed */
	bool is_frozen, has_waits;
	struct top_wait waits[TOP_WAITS_MAX];
	size_t wait_count, held_up, rings, inferred;
	size_t selected; /* index of the selected row */
	size_t first;	 /* index of the first row on the screen */
	bool shows_backtrace;
};

/*
 * Writes a picture as lines of text. If `screen` is NULL, writes plain text, with the same columns
 * for every picture. Otherwise uses the screen's styles, bars and curves, fits the lines to its
 * width, and sets *marked to the number of the selected row's line, or to SIZE_MAX.
 */
void top_put_text(struct out *out, const struct top_picture *picture, const struct screen *screen,
		  size_t *marked);

/* Writes the help on the screen's keys, without a newline after the last line. */
void top_put_keys(struct out *out, const struct screen *screen);
void top_put_json(struct out *out, const struct top_picture *picture);

/*
 * Writes a picture as OpenMetrics, for a file in the textfile directory of the Prometheus
 * node_exporter.
 */
void top_put_metrics(struct out *out, const struct top_picture *picture);

#endif
