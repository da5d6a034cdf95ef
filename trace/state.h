/* SPDX-License-Identifier: MIT */
#ifndef STATE_H
#define STATE_H

/*
 * The internals of a trace, shared by read.c (which opens a trace and returns its events), merge.c,
 * and the readers of packets, containers and text. No other file includes this.
 */

#include <stdbool.h>

#include "base/array.h"
#include "base/pool.h"
#include "trace/registry.h"
#include "trace/source.h"
#include "trace/trace.h"

#define WAITING_MAX 4096u

/*
 * Calls that were blocked when a snapshot was taken (~waiting notes). A call is dropped from the
 * list when a later event shows that the call or its thread has ended. If the stream has no end,
 * the calls that remain are assumed to be blocked: after the stream's last event, the reader
 * returns each of them as the ~open note that the end would have contained.
 */
struct waiting {
	struct event *items; /* copies of the notes, with arguments from keep_arguments() */
	size_t count, capacity;
	size_t told; /* number of calls that were returned as ~open notes */
};

/* The time window that the options request, and the data to convert it to the time of a stream. */
struct trace_window {
	bool is_wanted;
	uint64_t since_ns, until_ns;
	struct instant since, until;
	const struct trace_process *process; /* the stream to whose time the window was converted */
	/* start of the run, in ns since 1970; 0: the start of the stream counts */
	uint64_t run_start;
	uint64_t session[2]; /* the run to which run_start applies; 0: any run */
};

struct trace {
	int fd;
	bool owns_fd;
	bool is_live;		 /* the file is still being written */
	struct bundles *bundles; /* cache of the pieces of files; NULL if the options have one */
	struct source source;
	struct registry registry;
	struct trace_tally tally;
	struct trace_process *process; /* process of the stream that is being read */
	ARRAY_OF(struct trace_process *) sections;
	void (*progress)(void *user, const struct trace *trace);
	void *user;
	unsigned until_progress; /* events since the last call to progress() */
	struct trace *part;	 /* in a merged trace: trace of the file with the last event */
	struct event event;	 /* the event that trace_next() returned */
	struct pool scratch;	 /* where the strings of `event` are allocated */
	int (*next)(struct trace *trace, const struct event **event, struct error *err);
	void (*close)(struct trace *trace);
	void *reader;	 /* state of next() and close() */
	void *container; /* state of the reader of containers, or NULL */
	struct waiting waiting;
	bool wants_repeats, skips_calls;
	bool has_window;	     /* only the calls from since_ns to until_ns are wanted */
	uint64_t since_ns, until_ns; /* the window, in the time of the current stream */
	struct trace_window window;
	const struct trace_notes *notes; /* notes to insert into the stream; NULL: none */
	size_t inserted;
	const struct event *held; /* the event that follows the inserted notes */
	int held_rc;		  /* the reader's return value for `held` */
	/*
	 * is_inserting: the notes are being returned; is_returned: so was `held`, after the notes
	 */
	bool is_inserting, is_returned;
	struct event note; /* the last inserted note */
	bool has_ended;
	int result; /* result of the last trace_next() */
};

/*
 * Waits until the writer of a regular file has finished. If options->no_wait is set, does not wait,
 * but sets *is_live if the file is still being written. Returns 0 or -EINTR. Also called by code
 * that reads a file before trace_open().
 */
int trace_wait(int fd, const char *path, const struct trace_options *options, bool *is_live,
	       struct error *err);

/* Starts a stream with an empty process and empty tables. Returns 0 or -ENOMEM. */
int trace_begin_stream(struct trace *trace, struct error *err);

/* Frees the memory that is only needed for reading. Objects returned before remain valid. */
void trace_shed(struct trace *trace);

/* Creates a trace without a reader. Returns NULL if no memory is left. */
struct trace *trace_create(const struct trace_options *options);

/* Assigns the next section number to a process. Returns 0 or -ENOMEM. */
int trace_add_section(struct trace *trace, struct trace_process *process);

/* Implements trace_progress() for a merged trace. */
int merge_progress(const struct trace *trace);

/* Returns the merged trace's copy of a mapping of the current part. */
const struct trace_mapping *merge_mapping(const struct trace *trace,
					  const struct trace_mapping *mapping);

/* Clears trace->event, and sets its kind and process. */
struct event *trace_new_event(struct trace *trace, enum event_kind kind);

/*
 * Completes a call that was read from packets or lines, and counts it: derives kind, operation and
 * time_ns from the function, type, time_ms and tail.
 */
void trace_finish_call(struct trace *trace, struct event *event);

/* Counts a note. If the note reports dropped events, counts these events, too. */
void trace_count_note(struct trace *trace, const struct event *event);

/* Sets *base to the start of the stream's run. Returns false if the start is not known yet. */
bool trace_base(const struct trace *trace, const struct event *event, struct instant_base *base);

/* Discards the converted time window; the window is converted anew for the next stream. */
void trace_forget_window(struct trace *trace);

/* Records damage at a byte offset of the input. skipped: number of damaged bytes. */
void trace_add_damage(struct trace *trace, uint64_t offset, uint64_t skipped, const char *format,
		      ...) __attribute__((format(printf, 4, 5)));

int trace_no_memory(struct trace *trace, struct error *err);

void waiting_free(struct waiting *waiting);

/* Adds a ~waiting note. Returns 0 or -ENOMEM. */
int waiting_add(struct waiting *waiting, const struct event *note);

/* Drops the calls that have ended, as `event` shows. */
void waiting_forget(struct waiting *waiting, const struct event *event);

/*
 * After the last event of a stream, sets *event to the ~open note of the next call that is assumed
 * to be blocked. Returns 1, 0 if no such call remains, or -ENOMEM.
 */
int waiting_next(struct waiting *waiting, struct registry *registry, const struct event **event);

/* The readers. The source must hold the input's first bytes. Each returns 0 or a negative errno. */
int read_binary_open(struct trace *trace, struct error *err);
int read_text_open(struct trace *trace, struct error *err);

int read_htr_open(struct trace *trace, struct error *err);
bool read_htr_recognises(const unsigned char *bytes, size_t size);

/*
 * For packets inside an .htr container: read_binary_begin() creates trace->reader;
 * read_binary_piece() reads a handshake, one packet, or a call with its arguments and backtrace.
 * calls: number of calls before these bytes. Returns 1 and sets trace->event, 0 if the bytes yield
 * no event, or a negative errno.
 */
int read_binary_begin(struct trace *trace, struct error *err);
int read_binary_piece(struct trace *trace, const unsigned char *bytes, size_t size, uint64_t calls,
		      struct error *err);

/* True if the first bytes look like sp-rtrace text. */
bool read_text_recognises(const unsigned char *bytes, size_t size);

#endif
