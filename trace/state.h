/* SPDX-License-Identifier: MIT */
#ifndef STATE_H
#define STATE_H

/*
 * What a trace is inside: shared by read.c, which opens it and hands out events, and the
 * readers behind it, for packets, containers and text. Nobody else includes this.
 */

#include <stdbool.h>

#include "base/array.h"
#include "base/pool.h"
#include "trace/registry.h"
#include "trace/source.h"
#include "trace/trace.h"
#include "trace/waiting.h"

/* What the options say of time, until it is known where that is in the stream. */
struct trace_window {
	bool is_wanted;
	uint64_t since_ns, until_ns;
	struct instant since, until;
	const struct trace_process *process; /* the stream that the trace's times are of */
	uint64_t run_start;		     /* ns since 1970; 0: the stream's own start */
	uint64_t session[2]; /* the run that starts then; 0: whatever run the stream is of */
};

struct trace {
	int fd;
	bool owns_fd;
	bool is_live;		 /* its file is still written */
	struct bundles *bundles; /* our own, if the options have none */
	struct source source;
	struct registry registry;
	struct trace_tally tally;
	struct trace_process *process; /* of the stream that is being read */
	ARRAY_OF(struct trace_process *) sections;
	void (*progress)(void *user, const struct trace *trace);
	void *user;
	unsigned until_progress; /* events */
	struct trace *part;	 /* merged: whose the last event is */
	struct event event;	 /* what trace_next() hands out */
	struct pool scratch;	 /* strings of that event */
	int (*next)(struct trace *trace, const struct event **event, struct error *err);
	void (*close)(struct trace *trace);
	void *reader;	 /* of the two functions */
	void *container; /* what the packets lie in, if they do */
	struct waiting waiting;
	bool wants_repeats, skips_calls;
	bool has_window;	     /* not the whole trace is asked for: */
	uint64_t since_ns, until_ns; /* calls outside are not handed out */
	struct trace_window window;
	bool has_ended;
	int result; /* of the last trace_next() */
};

/*
 * Waits until the writer of a regular file has finished, unless the options say not to. *is_live:
 * it has not. Returns 0 or -EINTR. Of trace.h's users, whoever looks at files before.
 */
int trace_wait(int fd, const char *path, const struct trace_options *options, bool *is_live,
	       struct error *err);

/* Begins a new stream: a process without facts, empty tables. Returns 0 or -ENOMEM. */
int trace_begin_stream(struct trace *trace, struct error *err);

/* Gives back all that reading takes. What was handed out stays. */
void trace_shed(struct trace *trace);

/* A trace that reads nothing by itself. NULL: no memory. */
struct trace *trace_create(const struct trace_options *options);

/* Gives a process its section number. Returns 0 or -ENOMEM. */
int trace_add_section(struct trace *trace, struct trace_process *process);

/* trace_progress() of a merged trace. */
int merge_progress(const struct trace *trace);

/* Of a merged trace: its own name for the part's mapping. */
const struct trace_mapping *merge_mapping(const struct trace *trace,
					  const struct trace_mapping *mapping);

/* Clears the trace's event and sets its kind and process. */
struct event *trace_new_event(struct trace *trace, enum event_kind kind);

/*
 * Fills what follows from function, type, time_ms and the tail of a call that was a packet or a
 * line, and counts it: kind, operation, time_ns, tallies.
 */
void trace_finish_call(struct trace *trace, struct event *event);

/* Counts a note, and what it says was lost. */
void trace_count_note(struct trace *trace, const struct event *event);

/* Where the run of the current stream lies, if that is known at this event. */
bool trace_base(const struct trace *trace, const struct event *event, struct instant_base *base);

/* Another stream begins: where the options' time is in it is not known yet. */
void trace_forget_window(struct trace *trace);

/* Notes damage at a byte offset. */
void trace_add_damage(struct trace *trace, uint64_t offset, uint64_t skipped, const char *format,
		      ...) __attribute__((format(printf, 4, 5)));

int trace_no_memory(struct trace *trace, struct error *err);

/* The two readers. The source has its first bytes. Return 0 or a negative errno. */
int read_binary_open(struct trace *trace, struct error *err);
int read_text_open(struct trace *trace, struct error *err);

int read_htr_open(struct trace *trace, struct error *err);
bool read_htr_recognises(const unsigned char *bytes, size_t size);

/*
 * For packets that lie in a container of ours: makes trace->reader; then takes a handshake, one
 * packet, or a call with its arguments and backtrace. calls: how many stand before it. Returns 1
 * with the trace's event, 0 if there is nothing to see, or a negative errno.
 */
int read_binary_begin(struct trace *trace, struct error *err);
int read_binary_piece(struct trace *trace, const unsigned char *bytes, size_t size, uint64_t calls,
		      struct error *err);

/* True if the first bytes look like sp-rtrace text. */
bool read_text_recognises(const unsigned char *bytes, size_t size);

#endif
