/* SPDX-License-Identifier: MIT */
#ifndef HOLDTRACE_TRACE_H
#define HOLDTRACE_TRACE_H

/*
 * libholdtrace-trace reads traces for other programs. It opens all files that `holdtrace` writes
 * (.htr, sp-rtrace packets or text, with or without zstd compression) as a trace, and returns the
 * trace event by event or in columns. It also reports which objects are live, which thread waited
 * for which thread, and to which functions addresses belong.
 *
 * Every function that can fail returns a negative errno and writes the reason to *error, which may
 * be NULL. No function exits or prints. There is no global state: different threads may use
 * different traces at the same time, but only one thread at a time may use a trace. Within a
 * SONAME, no struct and no function changes; new ones may be added.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Filled by a function that fails. The text is one sentence without a full stop or newline. */
struct holdtrace_error {
	int number; /* a positive errno value */
	char text[1020];
};

/* Returns the library's version, "0.1.0". The string is static. */
const char *holdtrace_version(void);

/* ---- a trace ---- */

struct holdtrace_trace;

enum holdtrace_open_flag {
	HOLDTRACE_NOTES = 1 << 0, /* return notes (~process, ~mark, ~end ...) as events, too */
	HOLDTRACE_NOW = 1 << 1,	  /* do not wait until the writer of a file has finished */
	/* track live objects and waits; cannot be combined with `since` */
	HOLDTRACE_ACCOUNT = 1 << 2,
};

/* Options for opening a trace. Zeros and NULLs are the defaults. */
struct holdtrace_options {
	uint32_t flags; /* enum holdtrace_open_flag */
	/* skip earlier events: "1.5", "250ms" after the start, "@SECONDS" since 1970, "19:20:31" */
	const char *since;
	/* stop at this time, in one of the forms of `since` */
	const char *until;
	/* maximum memory for the names and backtraces of each file, in bytes; 0: 2 GiB */
	uint64_t memory_max;
	const char *root; /* look for modules below this directory; NULL: at their own paths */
	/* directory of separate debug files; NULL: /usr/lib/debug */
	const char *debug_directory;
};

/*
 * Opens the traces of a run. paths: `count` files or directories; a directory means all traces
 * in it. Several traces are merged in time order. `options` may be NULL. After success, the caller
 * must close *trace. Returns 0, or: -ENOENT and other errors of the file; -ENODATA: a file is
 * empty; -EBADMSG: a file is not a trace; -EPROTO: this library does not know the version of a
 * file; -EINVAL: `since` or `until` is invalid, or `since` was combined with HOLDTRACE_ACCOUNT;
 * -ENOMEM.
 */
int holdtrace_trace_open(struct holdtrace_trace **trace, const char *const *paths, size_t count,
			 const struct holdtrace_options *options, struct holdtrace_error *error);

/* Frees the trace and all data that functions returned for it. `trace` may be NULL. */
void holdtrace_trace_close(struct holdtrace_trace *trace);

/* ---- events ---- */

/* The effect of an event on its object. holdtrace-hooks(7) describes the operations. */
enum holdtrace_effect {
	HOLDTRACE_NEITHER,
	/* from now on, the object is live, with the size `bytes` */
	HOLDTRACE_ACQUIRES,
	HOLDTRACE_RELEASES, /* from now on, the object is no longer live */
};

enum holdtrace_event_flag {
	HOLDTRACE_FAILED =
		1 << 0, /* the function reported an error: nothing was acquired or released */
	HOLDTRACE_UNWOUND = 1 << 1, /* the call never returned: longjmp, exception, cancellation */
	/* the call was still open when the trace ended */
	HOLDTRACE_OPEN = 1 << 2,
	/* the event arrived after later events, and its time was changed to keep the order */
	HOLDTRACE_LATE = 1 << 3,
	HOLDTRACE_CUT = 1 << 4, /* the backtrace is incomplete: outer frames are missing */
};

/*
 * One operation of one call on one object. The struct is valid until the next event is read. Times
 * are in ns of CLOCK_MONOTONIC of the traced machine; 0: unknown. Ids are indexes from 0, and are
 * valid until the trace is closed.
 */
struct holdtrace_event {
	uint64_t index; /* number of the event in the trace, from 1 */
	uint64_t time_ns;
	/* times of the entry and return of the call; equal if only one time was recorded */
	uint64_t enter_ns, leave_ns;
	uint64_t object; /* an address, a descriptor or a handle */
	/* for memory and mappings: the size; for other classes: a count, nearly always 1 */
	uint64_t bytes;
	/* a second object, such as the mutex of a wait; 0: none */
	uint64_t related;
	uint64_t result; /* the value that the function returned */
	/* number of the call in its thread; all events of a call have the same number */
	uint64_t call;
	uint32_t process;   /* id for holdtrace_trace_process() */
	uint32_t thread;    /* the kernel's thread id */
	uint32_t function;  /* id for holdtrace_trace_function() */
	uint32_t resource;  /* id for holdtrace_trace_resource() */
	uint32_t operation; /* number for holdtrace_operation_name() */
	uint32_t effect;    /* enum holdtrace_effect */
	uint32_t flags;	    /* enum holdtrace_event_flag */
	uint32_t error;	    /* errno after the call */
	/* id for holdtrace_trace_backtrace(); HOLDTRACE_NO_ID: no backtrace was recorded */
	uint32_t backtrace;
	uint32_t is_note; /* 1: the event is a note (HOLDTRACE_NOTES) */
};

#define HOLDTRACE_NO_ID 0xffffffffu

/*
 * Reads the next event. Returns 1 and sets *event; returns 0 at the end, or a negative errno.
 * Damage in a file is not an error, but is counted (holdtrace_trace_tally()).
 */
int holdtrace_trace_next(struct holdtrace_trace *trace, const struct holdtrace_event **event,
			 struct holdtrace_error *error);

/*
 * Returns the value of an argument ("path", "flags") of the last event that was read, or NULL if
 * the event has no argument with this name.
 */
const char *holdtrace_trace_argument(const struct holdtrace_trace *trace, const char *name);

/* Arrays for the members of events. Arrays that are NULL are not filled. */
struct holdtrace_columns {
	uint64_t *index, *time_ns, *enter_ns, *leave_ns;
	uint64_t *object, *bytes, *related, *result, *call;
	uint32_t *process, *thread, *function, *resource;
	uint32_t *operation, *effect, *flags, *error, *backtrace, *is_note;
};

/*
 * Reads the next events, at most `max`, into arrays: element i of each array is a member of event
 * i. Returns the number of events (0: the end), or a negative errno.
 */
long holdtrace_trace_read(struct holdtrace_trace *trace, const struct holdtrace_columns *columns,
			  size_t max, struct holdtrace_error *error);

/* ---- live objects and waits (HOLDTRACE_ACCOUNT) ---- */

/*
 * These functions report on the events that have been read so far. To find out which objects were
 * live at a certain time, open the trace with this time as `until`, and read all of it
 * (holdtrace_trace_skip()). For a process that had ended by this time, the functions report the
 * objects that were live at its end. Arrays are valid until the same function is called again or
 * the trace is closed. Errors: -EINVAL (the trace was opened without HOLDTRACE_ACCOUNT), -ENOMEM.
 */

/* Reads all events up to the end. Returns 0, or a negative errno as holdtrace_trace_next() does. */
int holdtrace_trace_skip(struct holdtrace_trace *trace, struct holdtrace_error *error);

/* A live object. If a mapping was partly unmapped, each remaining part is an object. */
struct holdtrace_object {
	uint64_t object;
	uint64_t bytes;	  /* 0 for classes without a size */
	uint64_t time_ns; /* time of the acquisition */
	uint64_t age_ns;  /* time from the acquisition to the end of the process */
	uint64_t index;	  /* index of the event that acquired the object */
	/*
	 * process of the event that acquired the object; for a descriptor that stayed open across
	 * an exec, the process before the exec
	 */
	uint32_t process;
	uint32_t function;
	uint32_t resource;
	uint32_t backtrace; /* HOLDTRACE_NO_ID: no backtrace was recorded */
	uint32_t thread;    /* the kernel's id of the thread that acquired the object */
	/*
	 * for a counted class: number of acquisitions without a release; for sampled memory:
	 * estimated number of blocks that this block represents (`bytes`: their total size)
	 */
	uint32_t count;
	/* 1: the object is part of another live object, such as the descriptor of a stream */
	uint32_t is_part;
};

/*
 * Finds all live objects, in the order of acquisition. Sets *objects, and returns their number or a
 * negative errno.
 */
long holdtrace_trace_live(struct holdtrace_trace *trace, const struct holdtrace_object **objects,
			  struct holdtrace_error *error);

/*
 * Live objects of one class and one call site. Calls from the same code have the same call site in
 * all processes.
 */
struct holdtrace_site {
	uint64_t count, bytes;
	uint64_t oldest_ns; /* age of the oldest object */
	uint32_t processes; /* number of processes that have live objects of this call site */
	uint32_t function;  /* function that acquired the first object */
	uint32_t resource;
	uint32_t backtrace; /* backtrace of the first object; HOLDTRACE_NO_ID: none was recorded */
};

/*
 * Finds live objects by call site, sorted by bytes, then by the number of objects, largest first.
 * Objects that are part of another object (is_part) are omitted. At the end of the trace the result
 * equals `holdtrace report leaks --suppress=none`. Sets *sites, and returns their number or a
 * negative errno.
 */
long holdtrace_trace_sites(struct holdtrace_trace *trace, const struct holdtrace_site **sites,
			   struct holdtrace_error *error);

/*
 * A group of waits in one process: the waits have the same call site of the waiting thread, the
 * same call site of the waker, and the same kind of end.
 */
struct holdtrace_wait {
	/* mutex, read or write (of a reader-writer lock), spin, condition, semaphore */
	const char *kind;
	/*
	 * how the waits ended: "" for locks, else a word of holdtrace-report(5) ("signalled" ...)
	 */
	const char *ended;
	uint64_t count, total_ns; /* number of waits, and their total duration */
	uint64_t longest_ns;
	/* the following members describe the longest wait */
	uint64_t since_ns, object;
	/*
	 * thread: the thread that waited; waker_thread: the thread that held the lock or woke the
	 * waiting thread (0: unknown)
	 */
	uint32_t thread, waker_thread;
	uint32_t process;
	uint32_t backtrace; /* backtrace of the waiting thread */
	/*
	 * backtrace of the call that acquired the lock, or that woke the thread; HOLDTRACE_NO_ID:
	 * no such call, or unknown
	 */
	uint32_t waker_backtrace;
};

/*
 * Finds waits, longest total duration first. They are the rows of the tables lock_waits, cond_waits
 * and sem_waits of `holdtrace report waits`. Reads the trace to its end, because only then are all
 * waits known. Sets *waits, and returns their number or a negative errno.
 */
long holdtrace_trace_waits(struct holdtrace_trace *trace, const struct holdtrace_wait **waits,
			   struct holdtrace_error *error);

/* ---- ids: strings and arrays are valid until the trace is closed ---- */

/* Returns the name of a function, such as "malloc", or NULL if the id is unknown. */
const char *holdtrace_trace_function(const struct holdtrace_trace *trace, uint32_t id);

/* Returns the name of a class of resource ("memory", "fd" ...), or NULL if the id is unknown. */
const char *holdtrace_trace_resource(const struct holdtrace_trace *trace, uint32_t id);

/* Returns the name of an operation ("ALLOC", "FREE" ...), or NULL if the number is unknown. */
const char *holdtrace_operation_name(uint32_t operation);

/*
 * Sets *frames to the return addresses of a backtrace, innermost first. Returns their number; 0:
 * the backtrace is empty, or the id is unknown.
 */
size_t holdtrace_trace_backtrace(const struct holdtrace_trace *trace, uint32_t id,
				 const uint64_t **frames);

/* A function in a backtrace: a frame, or a function that was inlined into one. */
struct holdtrace_frame {
	uint64_t address; /* the return address */
	/* offset from the module's load base; without a module, the address itself */
	uint64_t offset;
	const char *function; /* NULL: unknown */
	const char *file;     /* source file of the function; NULL: unknown */
	const char *module;   /* path of the ELF file; NULL: unknown */
	uint32_t line;	      /* line in the source file; 0: unknown */
	/* 1: the function was inlined into the next frame, which has the same address */
	uint32_t is_inlined;
};

/*
 * Finds the functions of a backtrace, innermost first, in the modules of this machine. Fills at
 * most `max` frames. Returns the number of frames (0: the id is unknown) or a negative errno. The
 * first call that needs a module starts a child process to read the module, because the file may be
 * hostile. So call this function only for backtraces that you show.
 */
long holdtrace_trace_names(struct holdtrace_trace *trace, uint32_t id,
			   struct holdtrace_frame *frames, size_t max,
			   struct holdtrace_error *error);

struct holdtrace_process {
	uint32_t pid, parent_pid;
	uint64_t start_ns;    /* start of the process, by the clock of the events; 0: unknown */
	uint64_t realtime_ns; /* add this to a time to get ns since 1970; 0: unknown */
	const char *name;     /* name of the program; NULL: unknown */
	const char *arch;     /* architecture, such as "x86_64"; NULL: unknown */
};

/* Fills *process. Returns 0, or -ENOENT if the id is unknown. */
int holdtrace_trace_process(const struct holdtrace_trace *trace, uint32_t id,
			    struct holdtrace_process *process);

/* Counts of what was read and what could not be read. Check them after the last event. */
struct holdtrace_tally {
	/* events of calls that were read, including events that the options exclude */
	uint64_t events;
	uint64_t dropped;	/* events that the tracer dropped and counted */
	uint64_t damages;	/* number of damaged parts of files */
	uint64_t damaged_bytes; /* bytes that were skipped because of damage */
	/* 1: nothing was dropped, damaged or cut off at the end */
	uint32_t is_complete;
};

void holdtrace_trace_tally(const struct holdtrace_trace *trace, struct holdtrace_tally *tally);

#ifdef __cplusplus
}
#endif

#endif
