/* SPDX-License-Identifier: MIT */
#ifndef TRACE_H
#define TRACE_H

/*
 * A trace read as events, one at a time, from whatever it is: binary streams of any sp-rtrace
 * version, byte order and pointer size, sp-rtrace text, each also through zstd. What a file is
 * tells its content, never its name. Memory grows with distinct backtraces, names and mappings,
 * not with events. Input is hostile: damage is counted and stepped over, never believed.
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
	 * Do not wait until the writer of a file has finished: what is there by now is all of it,
	 * and an end that has not come yet is no damage.
	 */
	bool no_wait;
	struct bundles *bundles; /* remembers the streams of files (bundle.h); NULL: nobody does */
	/*
	 * Calls need not be handed out: those of an .htr whose index is whole are not read, which
	 * the tally says (skipped).
	 */
	bool skips_calls;
	bool wants_repeats; /* hand out what the stream says of its surroundings once more, too */
	/*
	 * Calls (no notes) before and after these times, as in event->time_ns, are not handed out,
	 * and of an .htr hardly read. until_ns 0: no end.
	 */
	uint64_t since_ns, until_ns;
	/* The same as a user says it: of each stream, and narrower of the two. */
	struct instant since, until;
	/* Set to how many bytes were taken from the descriptor, each time before more are read. */
	uint64_t *taken;
	/* Called with each file when it is open and nothing of it has been read. */
	void (*opened)(void *user, int fd);
	/* Called once when the writer of the file still has it locked after a second. */
	void (*waiting)(void *user, const char *path);
	/* Called after every TRACE_PROGRESS_EVENTS events that were read; NULL: at the end. */
	void (*progress)(void *user, const struct trace *trace);
	/* Of trace_merge_open(). */
	void (*failed)(void *user, const char *path, const struct error *err);
	void *user;
};

/* What was read and what was not; all counts are of the whole trace so far. */
struct trace_tally {
	uint64_t bytes;	  /* of the (decompressed) input that were consumed */
	uint64_t packets; /* binary; lines of a text trace */
	uint64_t calls;	  /* without notes */
	uint64_t notes;
	uint64_t sections;	  /* streams in the file */
	uint64_t unknown_packets; /* with tags that nobody knows, skipped by their size */
	uint64_t unknown_bytes;
	char unknown_tag[5];	/* of the first one */
	uint64_t misplaced;	/* backtraces and arguments without a call: ignored */
	uint64_t damages;	/* places where the input is damaged */
	uint64_t damaged_bytes; /* skipped there */
	uint64_t damage_offset; /* of the first one, in the (decompressed) input */
	char damage_text[120];	/* what is wrong there */
	bool is_truncated;	/* the input ends inside a packet */
	bool is_growing;	/* the file is still written: its end has not come yet */
	uint64_t lost;		/* events that the tracer counted and did not record (~lost) */
	uint64_t lost_notes;	/* likewise, of what is said besides: names, ends of threads */
	bool has_ended;		/* the last stream says how it ended (~end) */
	uint64_t skipped;	/* events that were not read: what the index says of them */
	uint64_t skipped_last_ns;
	uint32_t skipped_threads; /* that had events */
	bool skipped_makers;	  /* a function that makes threads is among theirs */
};

/*
 * path: "-" is standard input; FILE#N is a stream of a file that has several (bundle.h), where no
 * file has that name. options may be NULL. Waits (flock) while the writer of a regular
 * file is still at work. Returns 0 or a negative errno: -ENOENT and the like, -EISDIR, -ENODATA
 * (empty), -EBADMSG (not a trace), -EPROTO (a version that we do not know), -ENOMEM.
 * The text of an error does not name the path; callers put it before (error_prefix).
 */
int trace_open(struct trace **trace, const char *path, const struct trace_options *options,
	       struct error *err);

/* As trace_open() for a descriptor, which the trace does not close. */
int trace_open_fd(struct trace **trace, int fd, const struct trace_options *options,
		  struct error *err);

/*
 * The next event. Returns 1 and sets *event, 0 at the end, or a negative errno: -EIO and other
 * errors of reading, -EINTR when a signal came, -ENOMEM over memory_max. Damage is no error: see
 * trace_tally(). After an error the trace has ended.
 */
int trace_next(struct trace *trace, const struct event **event, struct error *err);

/* Before the first event: calls are wanted after all. */
void trace_wants_calls(struct trace *trace);

const struct trace_tally *trace_tally(const struct trace *trace);

/* How much of the input was read, in thousandths; -1: its size is not known. */
int trace_progress(const struct trace *trace);

/* Of a ~lost note: what was lost were no events, but notes. */
bool trace_lost_notes(const struct event *event);

/* True if damage was met or the input ends early. */
bool trace_is_damaged(const struct trace *trace);

/* True if nothing is damaged, nothing is missing at the end, and no event was lost. */
bool trace_is_whole(const struct trace *trace);

/* The stream that is being read; not NULL after the first event. */
const struct trace_process *trace_process(const struct trace *trace);

/* The process with that section number, or NULL if it has not begun yet. */
const struct trace_process *trace_section(const struct trace *trace, unsigned section);

/* The mapping whose code has this address at this place of the stream, or NULL. */
const struct trace_mapping *trace_mapping_at(const struct trace *trace, uint64_t address);

/*
 * As trace_mapping_at(), but when the backtrace was taken: other code may lie there by now. Of the
 * stream that is being read; NULL also in a merged trace, whose processes' addresses are their own.
 */
const struct trace_mapping *trace_mapping_of(const struct trace *trace,
					     const struct backtrace *backtrace, uint64_t address);

/* True if that is so of any address of the stream. */
bool trace_has_contests(const struct trace *trace);

/* By id, or NULL if there is none with it. */
const struct function *trace_function(const struct trace *trace, uint32_t id);
const struct backtrace *trace_backtrace(const struct trace *trace, uint32_t id);
const struct trace_mapping *trace_mapping(const struct trace *trace, uint32_t id);

/* Whether calls before a time are not handed out. */
static inline bool trace_begins_late(const struct trace_options *options)
{
	return options->since_ns || options->since.kind != INSTANT_NONE;
}

/* The end of what is handed out, in the stream's time; UINT64_MAX: there is none. */
uint64_t trace_until_ns(const struct trace *trace);

void trace_close(struct trace *trace);

/*
 * Before the first event: times from the start of the run (since, until) count from the start of
 * this process if the trace is of the same run.
 */
void trace_count_from(struct trace *trace, const struct trace_process *first);

#endif
