/* SPDX-License-Identifier: MIT */
#ifndef HOLDTRACE_TRACE_H
#define HOLDTRACE_TRACE_H

/*
 * libholdtrace-trace: traces as programs read them. Whatever `holdtrace` wrote (.htr, sp-rtrace
 * packets or text, each also through zstd) is opened as a trace and read event by event, or in
 * columns. What is held, who waited for whom and what addresses are called are questions of their
 * own.
 *
 * Every function that can fail returns a negative errno and says why in *error, which may be NULL.
 * Nothing here exits, prints, or has global state: one trace is used by one thread at a time, two
 * traces by two threads. Within a SONAME no struct and no function changes; new ones may come.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Filled by a function that fails: one sentence without a full stop or newline. */
struct holdtrace_error {
	int number; /* a positive errno value */
	char text[1020];
};

/* The library's version, "0.1.0". The string is static. */
const char *holdtrace_version(void);

/* ---- a trace ---- */

struct holdtrace_trace;

enum holdtrace_open_flag {
	HOLDTRACE_NOTES = 1 << 0,   /* hand out notes (~process, ~mark, ~end ...) as events, too */
	HOLDTRACE_NOW = 1 << 1,	    /* do not wait until the writer of a file has finished */
	HOLDTRACE_ACCOUNT = 1 << 2, /* keep account of what is held and who waits; not with since */
};

/* How a trace is opened. Zeros and NULLs are the defaults. */
struct holdtrace_options {
	uint32_t flags;	     /* enum holdtrace_open_flag */
	const char *since;   /* "1.5", "250ms" after the start, "@SECONDS" since 1970, "19:20:31" */
	const char *until;   /* the same; calls outside are not handed out */
	uint64_t memory_max; /* bytes for names and backtraces of a file, 0: 2 GiB */
	const char *root;    /* take modules from under here; NULL: where the trace has them */
	const char *debug_directory; /* their debug files; NULL: /usr/lib/debug */
};

/*
 * Opens the traces of a run. paths: count files or directories (all traces in them); several are
 * handed out as one trace in the order of time. options may be NULL. On success *trace is to be
 * closed. Errors: -ENOENT and the like, -ENODATA (empty), -EBADMSG (not a trace), -EPROTO (of a
 * version that this library does not know), -EINVAL (since or until, or since with
 * HOLDTRACE_ACCOUNT), -ENOMEM.
 */
int holdtrace_trace_open(struct holdtrace_trace **trace, const char *const *paths, size_t count,
			 const struct holdtrace_options *options, struct holdtrace_error *error);

/* Frees the trace and everything that it handed out. trace may be NULL. */
void holdtrace_trace_close(struct holdtrace_trace *trace);

/* ---- events ---- */

/* What an event did to its object; the operations of holdtrace-hooks(7). */
enum holdtrace_effect {
	HOLDTRACE_NEITHER,
	HOLDTRACE_ACQUIRES, /* object and bytes are live from now on */
	HOLDTRACE_RELEASES, /* object is live no more */
};

enum holdtrace_event_flag {
	HOLDTRACE_FAILED = 1 << 0,  /* the function reported an error: nothing was gained or lost */
	HOLDTRACE_UNWOUND = 1 << 1, /* never returned: longjmp, exception, cancellation */
	HOLDTRACE_OPEN = 1 << 2,    /* still under way when the trace ended */
	HOLDTRACE_LATE = 1 << 3,    /* its time was clamped: it came after later events */
	HOLDTRACE_CUT = 1 << 4,	    /* the backtrace ends early */
};

/*
 * One operation of one call on one object. It is good until the next event is asked for. Times are
 * ns of CLOCK_MONOTONIC of the traced machine; 0: not known. Ids are indices from 0 and keep their
 * meaning as long as the trace.
 */
struct holdtrace_event {
	uint64_t index; /* from 1, in the order of the trace */
	uint64_t time_ns;
	uint64_t enter_ns, leave_ns; /* of the call; equal where a call has one time */
	uint64_t object;	     /* address, descriptor or handle */
	uint64_t bytes;		     /* of memory and mappings; else a count, nearly always 1 */
	uint64_t related;	     /* a second object: the mutex of a wait; 0: none */
	uint64_t result;	     /* what the function returned */
	uint64_t call;	    /* number of the call in its thread; parts of a call share it */
	uint32_t process;   /* id: holdtrace_trace_process() */
	uint32_t thread;    /* the kernel's thread id */
	uint32_t function;  /* id: holdtrace_trace_function() */
	uint32_t resource;  /* id: holdtrace_trace_resource() */
	uint32_t operation; /* holdtrace_operation_name() */
	uint32_t effect;    /* enum holdtrace_effect */
	uint32_t flags;	    /* enum holdtrace_event_flag */
	uint32_t error;	    /* errno after the call */
	uint32_t backtrace; /* id: holdtrace_trace_backtrace(); HOLDTRACE_NO_ID: none came */
	uint32_t is_note;   /* 1: a note (HOLDTRACE_NOTES) */
};

#define HOLDTRACE_NO_ID 0xffffffffu

/*
 * The next event. Returns 1 and sets *event, 0 at the end, or a negative errno; damage in a file is
 * no error but counted, see holdtrace_trace_tally().
 */
int holdtrace_trace_next(struct holdtrace_trace *trace, const struct holdtrace_event **event,
			 struct holdtrace_error *error);

/* The value of an argument of the event handed out last ("path", "flags"), or NULL. */
const char *holdtrace_trace_argument(const struct holdtrace_trace *trace, const char *name);

/* Arrays for the members of so many events; those that are NULL are not filled. */
struct holdtrace_columns {
	uint64_t *index, *time_ns, *enter_ns, *leave_ns;
	uint64_t *object, *bytes, *related, *result, *call;
	uint32_t *process, *thread, *function, *resource;
	uint32_t *operation, *effect, *flags, *error, *backtrace, *is_note;
};

/*
 * The next events, at most max, as columns: row i of each array is of the i-th of them. Returns how
 * many there are (0: the end) or a negative errno.
 */
long holdtrace_trace_read(struct holdtrace_trace *trace, const struct holdtrace_columns *columns,
			  size_t max, struct holdtrace_error *error);

/* ---- what is held, and who waited (HOLDTRACE_ACCOUNT) ---- */

/*
 * These ask about the events that were read so far. To learn what is held at a time, open a trace
 * with that time as until and read all of it (holdtrace_trace_skip()). A process that had ended by
 * then holds what it held in the end. Arrays live until the same question is asked again, or the
 * trace is closed. Errors: -EINVAL (opened without HOLDTRACE_ACCOUNT), -ENOMEM.
 */

/* Reads on to the end. Returns 0, or what holdtrace_trace_next() returns. */
int holdtrace_trace_skip(struct holdtrace_trace *trace, struct holdtrace_error *error);

/* A live object; of a mapping that was unmapped in parts, each part that is left. */
struct holdtrace_object {
	uint64_t object;
	uint64_t bytes;	  /* that it takes; 0: its class takes none */
	uint64_t time_ns; /* when it was gained */
	uint64_t age_ns;  /* since then, to the end of its process */
	uint64_t index;	  /* of the event that gained it */
	uint32_t process; /* ids, as those of the event that gained it: of a descriptor that is open
			   * in the next program of its process, those of the program before */
	uint32_t function;
	uint32_t resource;
	uint32_t backtrace; /* HOLDTRACE_NO_ID: none came */
	uint32_t thread;    /* that gained it: the kernel's thread id */
	uint32_t count;	    /* times it was gained and not yet lost, of a counted class; of memory
			     * that was recorded by samples the blocks that this one stands for,
			     * and bytes are then those of all */
	uint32_t is_part;   /* 1: of another object that is held: the descriptor of a stream */
};

/* All live objects, in the order of acquisition. Sets *objects and returns how many, or -errno. */
long holdtrace_trace_live(struct holdtrace_trace *trace, const struct holdtrace_object **objects,
			  struct holdtrace_error *error);

/* Live objects of one class and one call site: the same code in any process. */
struct holdtrace_site {
	uint64_t count, bytes;
	uint64_t oldest_ns; /* age of the oldest of them */
	uint32_t processes; /* that hold some */
	uint32_t function;  /* of the first */
	uint32_t resource;
	uint32_t backtrace; /* of the first; HOLDTRACE_NO_ID: none came */
};

/*
 * Live objects by call site, most bytes first, then most objects. What is part of another object is
 * left out. At the end of the trace that is what `holdtrace report leaks --suppress=none` says.
 */
long holdtrace_trace_sites(struct holdtrace_trace *trace, const struct holdtrace_site **sites,
			   struct holdtrace_error *error);

/* Waits of one process at one place for what another place had, or for its wake, that ended so. */
struct holdtrace_wait {
	const char *
		kind; /* mutex, read, write (of a reader-writer lock), spin, condition, semaphore */
	const char
		*ended; /* how: "" of a lock; of others as holdtrace-report(5) says: "signalled" */
	uint64_t count, total_ns; /* how many, and how long together */
	uint64_t longest_ns;
	/* the longest */
	uint64_t since_ns, object;
	uint32_t thread, waker_thread; /* that waited; that held or woke: 0: not known */
	uint32_t process;
	uint32_t backtrace;	  /* that waited */
	uint32_t waker_backtrace; /* that had taken it or woke; HOLDTRACE_NO_ID: nobody, or not
				     known */
};

/*
 * Waits, longest time first: the tables lock_waits, cond_waits and sem_waits of `holdtrace report
 * waits`. Reads the trace to its end, since waits are known whole only then.
 */
long holdtrace_trace_waits(struct holdtrace_trace *trace, const struct holdtrace_wait **waits,
			   struct holdtrace_error *error);

/* ---- what ids stand for; strings and arrays live as long as the trace ---- */

/* A function's name, "malloc"; NULL: there is none with this id yet. */
const char *holdtrace_trace_function(const struct holdtrace_trace *trace, uint32_t id);

/* A class of resource, "memory", "fd"; NULL: there is none with this id yet. */
const char *holdtrace_trace_resource(const struct holdtrace_trace *trace, uint32_t id);

/* "ALLOC", "FREE", "ACQUIRE" ...; NULL: there is no such operation. */
const char *holdtrace_operation_name(uint32_t operation);

/*
 * The return addresses of a backtrace, innermost first. Sets *frames and returns how many there
 * are; 0: none, or no such id.
 */
size_t holdtrace_trace_backtrace(const struct holdtrace_trace *trace, uint32_t id,
				 const uint64_t **frames);

/* A function of a backtrace. */
struct holdtrace_frame {
	uint64_t address;     /* the return address that it was found at */
	uint64_t offset;      /* in the module, from its load base; else the address itself */
	const char *function; /* NULL: not known */
	const char *file;     /* source file; NULL: not known */
	const char *module;   /* path of the ELF file; NULL: in none */
	uint32_t line;	      /* 0: not known */
	uint32_t is_inlined;  /* 1: into the next one, which has the same address */
};

/*
 * The functions of a backtrace, innermost first, as the modules on this machine name them. Fills at
 * most max and returns how many (0: no such id), or a negative errno. The first question for a
 * module reads it in a child process, because a module may be hostile; ask for what you show, not
 * for everything.
 */
long holdtrace_trace_names(struct holdtrace_trace *trace, uint32_t id,
			   struct holdtrace_frame *frames, size_t max,
			   struct holdtrace_error *error);

struct holdtrace_process {
	uint32_t pid, parent_pid;
	uint64_t start_ns;    /* as the times of events; 0: not known */
	uint64_t realtime_ns; /* add it to a time for ns since 1970; 0: not known */
	const char *name;     /* of the program; NULL: not known */
	const char *arch;     /* "x86_64"; NULL: not known */
};

/* Fills *process. Returns 0, or -ENOENT: there is none with this id yet. */
int holdtrace_trace_process(const struct holdtrace_trace *trace, uint32_t id,
			    struct holdtrace_process *process);

/* What was read so far, and what could not be: a reader who cares looks at it at the end. */
struct holdtrace_tally {
	uint64_t events;	/* calls, whether handed out or not */
	uint64_t dropped;	/* events that the tracer counted and could not record */
	uint64_t damages;	/* places where a file is damaged */
	uint64_t damaged_bytes; /* skipped there */
	uint32_t is_complete;	/* 1: nothing dropped, damaged, or missing at the end */
};

void holdtrace_trace_tally(const struct holdtrace_trace *trace, struct holdtrace_tally *tally);

#ifdef __cplusplus
}
#endif

#endif
