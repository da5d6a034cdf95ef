/* SPDX-License-Identifier: MIT */
#ifndef TRACE_H
#define TRACE_H

/*
 * Reads a trace as events, one at a time. A trace is a binary stream (of any sp-rtrace version,
 * byte order and pointer size), an .htr file or sp-rtrace text, plain or compressed by zstd. The
 * format is recognised by the content, never by the name. Memory grows with the number of distinct
 * backtraces, names and mappings, not with the number of events. The input is not trusted: damage
 * is counted and skipped.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/event.h"
#include "trace/instant.h"

struct trace;
struct bundles;

#define TRACE_MEMORY_MAX      (2ull << 30)
#define TRACE_PROGRESS_EVENTS 65536u

/*
 * Notes that the reader inserts into a stream: the result of scanning a core file after the
 * recording. They replace those notes of the stream that follow and have the same names.
 */
struct trace_notes {
	uint64_t session[2];
	uint32_t stream;
	/* the notes are inserted before the first event that has this or a higher index */
	uint64_t index;
	const struct trace_note *items;
	size_t count;
};

struct trace_note {
	const char *name;
	const struct wire_value *values;
	uint32_t count;
};

struct trace_options {
	uint64_t memory_max; /* maximum bytes for names and backtraces; 0: TRACE_MEMORY_MAX */
	/*
	 * If the file is still being written, read its present contents instead of waiting for its
	 * writer. The early end of the file is then not damage.
	 */
	bool no_wait;
	struct bundles *bundles; /* cache that traces of one file share (bundle.h); NULL: none */
	/*
	 * The caller wants no calls. If an .htr file has a complete index, its calls are only
	 * counted (tally.skipped) and not read.
	 */
	bool skips_calls;
	bool wants_repeats; /* also return facts (mappings, classes ...) that repeat known ones */
	/*
	 * Calls (not notes) whose event->time_ns is outside these times are not returned, and most
	 * blocks of an .htr that contain only such calls are not read. until_ns 0: no end.
	 */
	uint64_t since_ns, until_ns;
	/*
	 * The time window as the user wrote it; it is converted to the time of each stream. If
	 * since_ns or until_ns is set, too, the narrower window applies.
	 */
	struct instant since, until;
	/* notes to insert, which must live as long as the trace; NULL: none */
	const struct trace_notes *notes;
	/* Before each read(), *taken is set to the number of bytes read so far. */
	uint64_t *taken;
	/* Called with each file after it is opened and before it is read. */
	void (*opened)(void *user, int fd);
	/* Called once if the file is still locked by its writer after a second. */
	void (*waiting)(void *user, const char *path);
	/* Called after every TRACE_PROGRESS_EVENTS events, and with NULL at the end. */
	void (*progress)(void *user, const struct trace *trace);
	/* Called by trace_merge_open() for a file that cannot be read. */
	void (*failed)(void *user, const char *path, const struct error *err);
	void *user;
};

/* Facts about the part of the trace that was read so far. */
struct trace_tally {
	uint64_t bytes;	  /* bytes read from the (decompressed) input */
	uint64_t packets; /* packets of a binary trace, or lines of a text trace */
	uint64_t calls;	  /* number of calls, without notes */
	uint64_t notes;
	uint64_t sections;	  /* number of streams */
	uint64_t unknown_packets; /* packets with unknown tags, which were skipped */
	uint64_t unknown_bytes;
	char unknown_tag[5]; /* the first unknown tag */
	uint64_t misplaced;  /* backtraces and arguments that belong to no call and were ignored */
	uint64_t damages;    /* number of damaged parts of the input */
	uint64_t damaged_bytes; /* bytes skipped because of damage */
	uint64_t damage_offset; /* offset of the first damage in the (decompressed) input */
	char damage_text[120];	/* what was wrong at damage_offset */
	bool is_truncated;	/* the input ends inside a packet */
	bool is_growing;	/* the file is still being written */
	uint64_t lost;		/* dropped events, according to ~dropped notes */
	uint64_t lost_notes;	/* dropped notes: names, ends of threads and the like */
	bool has_ended;		/* the last stream is complete: it has a ~end note */
	uint64_t skipped;	/* number of events that were not read, according to the index */
	uint64_t skipped_last_ns;
	uint32_t skipped_threads; /* number of threads that had skipped events */
	bool skipped_makers;	  /* a skipped event may have created a thread */
};

/*
 * path: "-" is standard input; FILE#N is stream N of a file with several streams (bundle.h), unless
 * a file with that very name exists. options may be NULL. While the writer of a regular file holds
 * its lock (flock), the function waits. Returns 0 or a negative errno: one of open(), -EISDIR,
 * -ENODATA (empty), -EBADMSG (not a trace), -EPROTO (an unknown version), -ENOMEM. The text of an
 * error does not name the path; callers prepend it with error_prefix().
 */
int trace_open(struct trace **trace, const char *path, const struct trace_options *options,
	       struct error *err);

/* Like trace_open(), but for an open descriptor, which the caller closes. */
int trace_open_fd(struct trace **trace, int fd, const struct trace_options *options,
		  struct error *err);

/*
 * Reads the next event. Returns 1 and sets *event, 0 at the end, or a negative errno: -EIO and
 * other errors of read(), -EINTR after a signal, -ENOMEM if memory_max is exceeded. Damage is not
 * an error: see trace_tally(). After an error, no further event can be read.
 */
int trace_next(struct trace *trace, const struct event **event, struct error *err);

/* Makes trace_next() return calls despite skips_calls. Must be called before the first event. */
void trace_wants_calls(struct trace *trace);

const struct trace_tally *trace_tally(const struct trace *trace);

/* The part of the input that was read so far, in thousandths; -1: the input's size is unknown. */
int trace_progress(const struct trace *trace);

/* Writes the labels of a `~labels` note in the form NAME=VALUE,NAME=VALUE. */
#define TRACE_LABELS_MAX 1024
void trace_labels(const struct event *event, char text[TRACE_LABELS_MAX]);

/*
 * Finds a label in a text from trace_labels(), which may be NULL. Returns the label's value, which
 * has *length bytes, or NULL if there is no such label.
 */
const char *trace_label(const char *labels, const char *name, size_t *length);

/* True if a ~dropped note counts dropped notes, false if it counts dropped events. */
bool trace_lost_notes(const struct event *event);

/* True if the input is damaged or ends early. */
bool trace_is_damaged(const struct trace *trace);

/* True if nothing was damaged, cut off or dropped. */
bool trace_is_whole(const struct trace *trace);

/* The current stream; not NULL after the first event. */
const struct trace_process *trace_process(const struct trace *trace);

/* The process with this section number, or NULL if its stream has not started yet. */
const struct trace_process *trace_section(const struct trace *trace, unsigned section);

/* The mapping that contains this address at the current position of the stream, or NULL. */
const struct trace_mapping *trace_mapping_at(const struct trace *trace, uint64_t address);

/*
 * The mapping that contained this address when the backtrace was taken; other code may be there by
 * now. The backtrace must be of the current stream. Returns NULL in a merged trace, since an
 * address has another meaning in each process.
 */
const struct trace_mapping *trace_mapping_of(const struct trace *trace,
					     const struct backtrace *backtrace, uint64_t address);

/* True if different code was mapped at the same address at different times of the stream. */
bool trace_has_contests(const struct trace *trace);

/* Each function returns the object with this id, or NULL if the id is unknown. */
const struct function *trace_function(const struct trace *trace, uint32_t id);
const struct backtrace *trace_backtrace(const struct trace *trace, uint32_t id);
const struct trace_mapping *trace_mapping(const struct trace *trace, uint32_t id);

/* True if the options exclude calls at the start of the trace. */
static inline bool trace_begins_late(const struct trace_options *options)
{
	return options->since_ns || options->since.kind != INSTANT_NONE;
}

/* The end of the time window, in the stream's time; UINT64_MAX: none. */
uint64_t trace_until_ns(const struct trace *trace);

void trace_close(struct trace *trace);

/*
 * Makes `since` and `until` of the options relative to the start of process `first`, if the trace
 * is of the same run. Must be called before the first event.
 */
void trace_count_from(struct trace *trace, const struct trace_process *first);

#endif
