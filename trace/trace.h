/* SPDX-License-Identifier: MIT */
#ifndef TRACE_H
#define TRACE_H

/*
 * Reads a trace as events, one at a time: binary streams of any sp-rtrace version, byte order and
 * pointer size, .htr files and sp-rtrace text, each also compressed by zstd. The format is
 * recognised by the content, never by the name. Memory grows with distinct backtraces, names and
 * mappings, not with events. The input is hostile: damage is counted and skipped.
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

struct trace_options {
	uint64_t memory_max; /* bytes for names and backtraces; 0: TRACE_MEMORY_MAX */
	/*
	 * Read a file that is still being written as it is, without waiting for its writer; its
	 * early end is not damage.
	 */
	bool no_wait;
	struct bundles *bundles; /* shared by traces of one file (bundle.h); NULL: not shared */
	/*
	 * Calls are not wanted: those of an .htr with a whole index are skipped and counted as such
	 * in the tally.
	 */
	bool skips_calls;
	bool wants_repeats; /* also return repeated facts about the surroundings */
	/*
	 * Calls (not notes) before and after these times, compared with event->time_ns, are not
	 * returned, and hardly read from an .htr. until_ns 0: no end.
	 */
	uint64_t since_ns, until_ns;
	/* The same as the user wrote it, for each stream; the narrower window counts. */
	struct instant since, until;
	/* Set to the number of bytes read from the descriptor, before each further read. */
	uint64_t *taken;
	/* Called with each file after it is opened and before it is read. */
	void (*opened)(void *user, int fd);
	/* Called once if the writer still has the file locked after a second. */
	void (*waiting)(void *user, const char *path);
	/* Called after every TRACE_PROGRESS_EVENTS events, and with NULL at the end. */
	void (*progress)(void *user, const struct trace *trace);
	/* For trace_merge_open(). */
	void (*failed)(void *user, const char *path, const struct error *err);
	void *user;
};

/* Counts of the whole trace so far. */
struct trace_tally {
	uint64_t bytes;	  /* bytes of the (decompressed) input that were read */
	uint64_t packets; /* packets, or lines of a text trace */
	uint64_t calls;	  /* without notes */
	uint64_t notes;
	uint64_t sections;	  /* number of streams */
	uint64_t unknown_packets; /* with unknown tags, skipped by their size */
	uint64_t unknown_bytes;
	char unknown_tag[5];	/* of the first one */
	uint64_t misplaced;	/* backtraces and arguments without a call: ignored */
	uint64_t damages;	/* damaged places in the input */
	uint64_t damaged_bytes; /* bytes skipped there */
	uint64_t damage_offset; /* of the first one, in the (decompressed) input */
	char damage_text[120];	/* what was wrong there */
	bool is_truncated;	/* the input ends inside a packet */
	bool is_growing;	/* the file is still being written */
	uint64_t lost;		/* events that the tracer dropped (~lost) */
	uint64_t lost_notes;	/* dropped notes: names, ends of threads and the like */
	bool has_ended;		/* the last stream has its end (~end) */
	uint64_t skipped;	/* events that were not read, according to the index */
	uint64_t skipped_last_ns;
	uint32_t skipped_threads; /* number of threads with such events */
	bool skipped_makers;	  /* one of their functions creates threads */
};

/*
 * path: "-" is standard input; FILE#N is stream N of a file with several (bundle.h), unless a file
 * has that name. options may be NULL. Waits (flock) while the writer of a regular file is still at
 * work. Returns 0 or a negative errno: those of open(), -EISDIR, -ENODATA (empty), -EBADMSG (not a
 * trace), -EPROTO (an unknown version), -ENOMEM. The text of an error does not name the path;
 * callers prepend it (error_prefix).
 */
int trace_open(struct trace **trace, const char *path, const struct trace_options *options,
	       struct error *err);

/* As trace_open() for a descriptor, which the caller closes. */
int trace_open_fd(struct trace **trace, int fd, const struct trace_options *options,
		  struct error *err);

/*
 * Reads the next event. Returns 1 and sets *event, 0 at the end, or a negative errno: -EIO and
 * other errors of reading, -EINTR after a signal, -ENOMEM over memory_max. Damage is not an error:
 * see trace_tally(). After an error the trace has ended.
 */
int trace_next(struct trace *trace, const struct event **event, struct error *err);

/* Before the first event: reads calls despite skips_calls. */
void trace_wants_calls(struct trace *trace);

const struct trace_tally *trace_tally(const struct trace *trace);

/* The part of the input that was read, in thousandths; -1: its size is unknown. */
int trace_progress(const struct trace *trace);

/* True if a ~lost note reports dropped notes, not events. */
bool trace_lost_notes(const struct event *event);

/* True if the input is damaged or ends early. */
bool trace_is_damaged(const struct trace *trace);

/* True if nothing is damaged, cut or dropped. */
bool trace_is_whole(const struct trace *trace);

/* The current stream; not NULL after the first event. */
const struct trace_process *trace_process(const struct trace *trace);

/* The process with that section number, or NULL if its stream has not started yet. */
const struct trace_process *trace_section(const struct trace *trace, unsigned section);

/* The mapping with code at this address, at the current position of the stream, or NULL. */
const struct trace_mapping *trace_mapping_at(const struct trace *trace, uint64_t address);

/*
 * As trace_mapping_at(), but at the time of the backtrace, since other code may be there by now.
 * Only for the current stream; NULL in a merged trace, whose processes have their own addresses.
 */
const struct trace_mapping *trace_mapping_of(const struct trace *trace,
					     const struct backtrace *backtrace, uint64_t address);

/* True if any address of the stream has had different code at different times. */
bool trace_has_contests(const struct trace *trace);

/* By id, or NULL if the id is unknown. */
const struct function *trace_function(const struct trace *trace, uint32_t id);
const struct backtrace *trace_backtrace(const struct trace *trace, uint32_t id);
const struct trace_mapping *trace_mapping(const struct trace *trace, uint32_t id);

/* True if the options skip calls at the start. */
static inline bool trace_begins_late(const struct trace_options *options)
{
	return options->since_ns || options->since.kind != INSTANT_NONE;
}

/* The end of the time window, in the stream's time; UINT64_MAX: none. */
uint64_t trace_until_ns(const struct trace *trace);

void trace_close(struct trace *trace);

/*
 * Before the first event: since and until count from the start of this process if the trace is of
 * the same run.
 */
void trace_count_from(struct trace *trace, const struct trace_process *first);

#endif
