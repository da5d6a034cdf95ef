/* SPDX-License-Identifier: MIT */
#ifndef HOLDTRACE_TRACE_H
#define HOLDTRACE_TRACE_H

/*
 * libholdtrace-trace reads traces for other programs. It opens everything that `holdtrace` writes
 * (.htr, sp-rtrace packets or text, also compressed by zstd) as a trace, and hands it out event by
 * event or in columns. It also answers which objects are live, which thread waited for which, and
 * to which functions addresses belong.
 *
 * Every function that can fail returns a negative errno and writes the reason to *error, which may
 * be NULL. No function exits or prints, and there is no global state: a trace may be used by one
 * thread at a time, different traces by different threads. Within a SONAME no struct and no
 * function changes; new ones may be added.
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
	HOLDTRACE_NOTES = 1 << 0,   /* return notes (~process, ~mark, ~end ...) as events, too */
	HOLDTRACE_NOW = 1 << 1,	    /* do not wait until the writer of a file has finished */
	HOLDTRACE_ACCOUNT = 1 << 2, /* keep account of live objects and waits; not with since */
};

/* How a trace is opened. Zeros and NULLs are the defaults. */
struct holdtrace_options {
	uint32_t flags;	     /* enum holdtrace_open_flag */
	const char *since;   /* "1.5", "250ms" after the start, "@SECONDS" since 1970, "19:20:31" */
	const char *until;   /* the same; events outside are not returned */
	uint64_t memory_max; /* bytes for names and backtraces of a file; 0: 2 GiB */
	const char *root;    /* look for modules below this directory; NULL: at their paths */
	const char *debug_directory; /* of separate debug files; NULL: /usr/lib/debug */
};

/*
 * Opens the traces of a run. paths: count files or directories (all traces in them); several are
 * returned as one trace in the order of time. options may be NULL. After success the caller closes
 * *trace. Errors: -ENOENT and the like, -ENODATA (empty), -EBADMSG (not a trace), -EPROTO (of a
 * version that this library does not know), -EINVAL (invalid since or until, or since with
 * HOLDTRACE_ACCOUNT), -ENOMEM.
 */
int holdtrace_trace_open(struct holdtrace_trace **trace, const char *const *paths, size_t count,
			 const struct holdtrace_options *options, struct holdtrace_error *error);

/* Frees the trace and everything that it returned. trace may be NULL. */
void holdtrace_trace_close(struct holdtrace_trace *trace);

/* ---- events ---- */

/* The effect of an event on its object; the operations of holdtrace-hooks(7). */
enum holdtrace_effect {
	HOLDTRACE_NEITHER,
	HOLDTRACE_ACQUIRES, /* object and bytes are live from now on */
	HOLDTRACE_RELEASES, /* object is no longer live */
};

enum holdtrace_event_flag {
	HOLDTRACE_FAILED =
		1 << 0, /* the function reported an error: nothing was acquired or released */
	HOLDTRACE_UNWOUND = 1 << 1, /* never returned: longjmp, exception, cancellation */
	HOLDTRACE_OPEN = 1 << 2,    /* still open when the trace ended */
	HOLDTRACE_LATE = 1 << 3,    /* it arrived after later events; its time was clamped */
	HOLDTRACE_CUT = 1 << 4,	    /* the backtrace ends early */
};

/*
 * One operation of one call on one object. Valid until the next event is read. Times are ns of
 * CLOCK_MONOTONIC of the traced machine; 0: unknown. Ids are indices from 0; they keep their
 * meaning as long as the trace.
 */
struct holdtrace_event {
	uint64_t index; /* from 1, in the order of the trace */
	uint64_t time_ns;
	uint64_t enter_ns, leave_ns; /* of the call; equal if the call has one time */
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
	uint32_t
		backtrace; /* id: holdtrace_trace_backtrace(); HOLDTRACE_NO_ID: none was recorded */
	uint32_t is_note;  /* 1: a note (HOLDTRACE_NOTES) */
};

#define HOLDTRACE_NO_ID 0xffffffffu

/*
 * Reads the next event. Returns 1 and sets *event, 0 at the end, or a negative errno. Damage in a
 * file is not an error, but counted: holdtrace_trace_tally().
 */
int holdtrace_trace_next(struct holdtrace_trace *trace, const struct holdtrace_event **event,
			 struct holdtrace_error *error);

/* The value of an argument of the last returned event ("path", "flags"), or NULL. */
const char *holdtrace_trace_argument(const struct holdtrace_trace *trace, const char *name);

/* Arrays for the members of events; those that are NULL are not filled. */
struct holdtrace_columns {
	uint64_t *index, *time_ns, *enter_ns, *leave_ns;
	uint64_t *object, *bytes, *related, *result, *call;
	uint32_t *process, *thread, *function, *resource;
	uint32_t *operation, *effect, *flags, *error, *backtrace, *is_note;
};

/*
 * Reads at most max further events into columns: element i of each array belongs to the i-th of
 * them. Returns the number of events (0: the end) or a negative errno.
 */
long holdtrace_trace_read(struct holdtrace_trace *trace, const struct holdtrace_columns *columns,
			  size_t max, struct holdtrace_error *error);

/* ---- live objects and waits (HOLDTRACE_ACCOUNT) ---- */

/*
 * These functions answer for the events that were read so far. To learn what was live at some time,
 * open the trace with that time as until and read all of it (holdtrace_trace_skip()). A process
 * that had ended by then counts with the objects that were live at its end. Arrays are valid until
 * the same function is called again or the trace is closed. Errors: -EINVAL (opened without
 * HOLDTRACE_ACCOUNT), -ENOMEM.
 */

/* Reads to the end. Returns 0, or an error of holdtrace_trace_next(). */
int holdtrace_trace_skip(struct holdtrace_trace *trace, struct holdtrace_error *error);

/* A live object; of a partly unmapped mapping, each remaining part. */
struct holdtrace_object {
	uint64_t object;
	uint64_t bytes;	  /* 0 for classes without a size */
	uint64_t time_ns; /* when it was acquired */
	uint64_t age_ns;  /* from then to the end of its process */
	uint64_t index;	  /* of the event that acquired it */
	uint32_t process; /* ids of the event that acquired it; for a descriptor that stayed open
			   * over an exec, of the program before */
	uint32_t function;
	uint32_t resource;
	uint32_t backtrace; /* HOLDTRACE_NO_ID: none was recorded */
	uint32_t thread;    /* kernel's thread id of the thread that acquired it */
	uint32_t count;	    /* of a counted class: acquisitions without a release; of sampled
			     * memory: estimated blocks that this one represents, with bytes for all
			     * of them */
	uint32_t is_part;   /* 1: part of another live object, such as the descriptor of a stream */
};

/*
 * All live objects, in the order of acquisition. Sets *objects and returns their number, or -errno.
 */
long holdtrace_trace_live(struct holdtrace_trace *trace, const struct holdtrace_object **objects,
			  struct holdtrace_error *error);

/* Live objects of one class and one call site: the same code in any process. */
struct holdtrace_site {
	uint64_t count, bytes;
	uint64_t oldest_ns; /* age of the oldest object */
	uint32_t processes; /* processes that have live objects of the site */
	uint32_t function;  /* of the first object */
	uint32_t resource;
	uint32_t backtrace; /* of the first object; HOLDTRACE_NO_ID: none was recorded */
};

/*
 * Live objects by call site, most bytes first, then most objects. Objects that are part of another
 * one are left out. At the end of the trace this equals `holdtrace report leaks --suppress=none`.
 */
long holdtrace_trace_sites(struct holdtrace_trace *trace, const struct holdtrace_site **sites,
			   struct holdtrace_error *error);

/* Waits of one process with the same call site, the same waker's call site and the same end. */
struct holdtrace_wait {
	const char *
		kind; /* mutex, read, write (of a reader-writer lock), spin, condition, semaphore */
	const char *ended; /* how it ended: "" for locks; otherwise as in holdtrace-report(5):
			      "signalled" */
	uint64_t count, total_ns; /* number of waits, and their sum */
	uint64_t longest_ns;
	/* of the longest wait */
	uint64_t since_ns, object;
	uint32_t thread,
		waker_thread; /* that waited; that held the lock or woke the thread, 0: unknown */
	uint32_t process;
	uint32_t backtrace;	  /* of the waiting thread */
	uint32_t waker_backtrace; /* of the call that had acquired the lock or woke the thread;
				   * HOLDTRACE_NO_ID: none, or unknown */
};

/*
 * Waits, longest sum first: the tables lock_waits, cond_waits and sem_waits of `holdtrace report
 * waits`. Reads the trace to its end, because waits are complete only then.
 */
long holdtrace_trace_waits(struct holdtrace_trace *trace, const struct holdtrace_wait **waits,
			   struct holdtrace_error *error);

/* ---- ids; strings and arrays live as long as the trace ---- */

/* A function's name, "malloc"; NULL: unknown id. */
const char *holdtrace_trace_function(const struct holdtrace_trace *trace, uint32_t id);

/* A class of resource, "memory", "fd"; NULL: unknown id. */
const char *holdtrace_trace_resource(const struct holdtrace_trace *trace, uint32_t id);

/* "ALLOC", "FREE", "ACQUIRE" ...; NULL: unknown operation. */
const char *holdtrace_operation_name(uint32_t operation);

/*
 * The return addresses of a backtrace, innermost first. Sets *frames and returns their number; 0:
 * none, or unknown id.
 */
size_t holdtrace_trace_backtrace(const struct holdtrace_trace *trace, uint32_t id,
				 const uint64_t **frames);

/* A function in a backtrace. */
struct holdtrace_frame {
	uint64_t address;     /* the return address */
	uint64_t offset;      /* from the module's load base; without a module the address itself */
	const char *function; /* NULL: unknown */
	const char *file;     /* source file; NULL: unknown */
	const char *module;   /* path of the ELF file; NULL: none */
	uint32_t line;	      /* 0: unknown */
	uint32_t is_inlined;  /* 1: inlined into the next one, which has the same address */
};

/*
 * The functions of a backtrace, innermost first, according to the modules on this machine. Fills at
 * most max frames and returns their number (0: unknown id), or a negative errno. The first call for
 * a module reads it in a child process, because a module may be hostile; ask only for backtraces
 * that you show.
 */
long holdtrace_trace_names(struct holdtrace_trace *trace, uint32_t id,
			   struct holdtrace_frame *frames, size_t max,
			   struct holdtrace_error *error);

struct holdtrace_process {
	uint32_t pid, parent_pid;
	uint64_t start_ns;    /* as the times of events; 0: not known */
	uint64_t realtime_ns; /* added to a time gives ns since 1970; 0: unknown */
	const char *name;     /* of the program; NULL: not known */
	const char *arch;     /* "x86_64"; NULL: not known */
};

/* Fills *process. Returns 0, or -ENOENT: unknown id. */
int holdtrace_trace_process(const struct holdtrace_trace *trace, uint32_t id,
			    struct holdtrace_process *process);

/* How much was read so far, and how much could not be read. Check it at the end. */
struct holdtrace_tally {
	uint64_t events;	/* calls, whether returned or filtered */
	uint64_t dropped;	/* events that the tracer dropped and counted */
	uint64_t damages;	/* damaged places in files */
	uint64_t damaged_bytes; /* skipped because of damage */
	uint32_t is_complete;	/* 1: nothing was dropped, damaged, or missing at the end */
};

void holdtrace_trace_tally(const struct holdtrace_trace *trace, struct holdtrace_tally *tally);

#ifdef __cplusplus
}
#endif

#endif
