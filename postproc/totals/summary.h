/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_SUMMARY_H
#define TOTALS_SUMMARY_H

/*
 * What a whole run used, still holds and waited for: the numbers of the screen that a run ends
 * with. Several traces (streams of one session) are added one after the other to one summary, which
 * outlives them. Memory grows with the number of distinct backtraces and of objects held at one
 * time. The ledger knows the held objects; objects that a process held when it executed another
 * program do not count as held at the end.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account/ledger.h"
#include "base/array.h"
#include "base/error.h"
#include "naming/address_space.h"
#include "causes.h"
#include "coverage.h"
#include "tallies.h"
#include "touched.h"
#include "waits/locks.h"
#include "waits/waits.h"
#include "waits/wakes.h"
#include "trace/trace.h"

#define SUMMARY_BLOCKED_MAX 256u /* open calls kept of a process */
#define SUMMARY_COMMAND_MAX 256u

/* The most that one process held at a time. */
struct summary_peak {
	double variance;  /* of bytes */
	uint64_t amount;  /* bytes, see summary_has_bytes(); else objects */
	uint64_t time_ns; /* since the start of the run */
	uint32_t process; /* number of the process */
};

/*
 * The longest waits: of a lock by the call sites of the waiter and of the holder; of other classes
 * by object.
 */
struct summary_hot {
	uint64_t object;
	uint32_t pid;
	uint64_t ns;				 /* sum of the waits */
	const struct trace_node *waiter, *other; /* of the longest wait; NULL: not known */
	/* the first in the chain of wakes that ends with other; may equal other */
	const struct trace_node *first;
};

/* Numbered as in the ledger. */
struct summary_class {
	const char *type;
	const char *description;
	enum resource known; /* RESOURCE_NONE: a class of another tracer */
	bool is_counted;
	uint64_t acquired, lost, failed; /* numbers of calls */
	uint64_t strays;    /* releases of objects that the trace did not see acquired */
	uint64_t earlier;   /* releases of objects acquired before the process was attached to */
	uint64_t retaken;   /* locks acquired again at the end of a wait for a condition */
	uint64_t replaced;  /* acquisitions of objects that were held already */
	uint64_t temporary; /* objects released by the next call of the thread that acquired them */
	uint64_t bad_closes, bad_uses; /* calls on closed descriptors (EBADF): close(), others */
	uint64_t vain;		       /* part of notified: no thread waited (conditions) */
	uint64_t held, held_bytes;     /* objects, at the end of their processes */
	bool is_estimate;	       /* computed from samples */
	double held_variance;	       /* of held_bytes */
	uint64_t killed, killed_bytes; /* of those, in processes that were killed */
	uint64_t unkept, unkept_bytes; /* blocks that the last scan found unreachable */
	/* of those, parts of another object: the descriptor of a FILE */
	uint64_t held_parts;
	/* classes of these other objects: a bit for each enum resource */
	uint32_t parts_of;
	uint64_t sites;	   /* that acquired them; parts not counted */
	uint64_t notified; /* posts, signals */
	uint64_t waited;   /* successful waits; threads: joined */
	struct summary_peak peak;
	struct waits_class waits;
	struct summary_hot hot;
};

/* Objects held at the end, with one backtrace, in any number of processes. */
struct summary_site {
	uint32_t class;
	bool is_part;
	const struct trace_node *backtrace;
	const char *function; /* that acquired them */
	uint64_t count, bytes;
	uint32_t processes;
	uint32_t process;    /* number of the process that holds most of them */
	uint32_t order;	     /* order of first appearance, for ties */
	const char *example; /* path of one of them, or NULL */
	bool has_more_examples;
};

/*
 * A call that had not returned when its process ended; equal calls of several threads are one
 * entry.
 */
struct summary_blocked {
	const char *function;
	enum resource resource;
	uint64_t object, related;
	uint32_t pid, thread; /* the first thread */
	uint32_t threads;
	uint64_t longest_ns;
	const struct trace_node *backtrace; /* of the first thread */
	bool has_holder;
	uint32_t holder; /* thread that holds the lock */
	const struct trace_node *holder_backtrace;
	bool has_ended_holder; /* the thread that held it has ended: it will not be released */
	uint32_t joined;       /* the thread to be joined; 0: none, or not known */
	/* Condition: the last signal before the wait, if no thread waited for it; else NULL. */
	const struct trace_node *vain_backtrace;
	uint32_t vain_thread;
	uint64_t vain_ns;    /* time from that signal to the wait */
	bool is_lost_wakeup; /* probably: this wait kept the program from ending */
	/* Semaphore, condition: the last post or signal; NULL: there was none. */
	const struct trace_node *notify_backtrace;
	uint32_t notify_thread;
	uint64_t notify_ns; /* time from it to the end of the process */
	/* the holder, or the joined thread, waits directly or indirectly for this thread */
	bool is_deadlock;
	/* nothing can wake it, or nothing had before the process was ended: see hang */
	bool is_hung;
};

enum summary_end {
	SUMMARY_UNKNOWN, /* not known */
	SUMMARY_EXITED,	 /* status */
	SUMMARY_KILLED,	 /* status: signal */
	SUMMARY_EXEC,
	SUMMARY_LEFT,	  /* it ran on when the collector was ended */
	SUMMARY_DETACHED, /* it ran on when holdtrace detached from it */
};

struct summary_process {
	const char *name, *executable, *command;
	const char *path; /* of the trace */
	uint32_t number;  /* in the order of the traces, from 0 */
	uint32_t pid, parent_pid, stream, parent_stream;
	uint64_t session[2];
	bool has_tails;
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t ended_ns;	   /* when the process reported its end; 0: it did not */
	uint64_t events, lost, late;
	uint32_t threads;
	enum summary_end end;
	bool has_status;
	int status;
	/*
	 * SUMMARY_EXEC: why the executed program was not traced; NULL: it was, or that is not known
	 */
	const char *untraced;
	const char *became; /* SUMMARY_EXEC: path of the executed program; NULL: not known */
	bool has_end;	    /* the stream says how the process ended: it is complete */
	/* the file has all processes of the run, except those that a flight recorder left out */
	bool is_in_run;
	bool is_damaged;
	uint64_t damages;
	const char *damage; /* description of the first damage */
	/* a flight recorder has all events since then; cut_calls: calls before that it left out */
	uint64_t kept_ns;
	uint64_t cut_calls; /* 0: none */
	uint64_t gone;	    /* processes that the recorder had left out by the end of this one */
	/* recording began by an attach; had_*: threads, mapped bytes, age in ns at that moment */
	bool is_attached;
	uint64_t had_threads, had_bytes, had_ns;
	struct before_sum had[BEFORE_KINDS]; /* memory mapped at the attach, by kind */
	uint64_t unmapped;		     /* calls that have unmapped some of that memory */
	uint64_t inherited;   /* descriptors open at the start and not closed since */
	uint64_t descriptors; /* open at its end, as the kernel reported; 0: not known */
	/* at its end the kernel had no ended child of it that was not waited for */
	bool has_no_zombie;
	bool has_zombie; /* it had such a child */
	/* classes of objects that it acquired or released by syscall(2); NULL: none */
	const char *past;
	bool has_namespace; /* libraries in another link namespace used a libc of their own */
	uint64_t held[RESOURCE_COUNT]; /* objects at the end */
	uint64_t held_bytes;	       /* of memory */
	uint64_t peak_bytes;
	/* file whose malloc the program uses instead of libc's; NULL: none */
	const char *allocator;
	const char *recorded; /* the argument of --events; NULL: everything was recorded */
	uint64_t uncontended; /* locks acquired without a wait, which are only counted */
	double stalled_s;     /* time for which its trace could not be written */
	/* why it may be another process with the same pid; NULL: no doubt */
	const char *doubt;
	/* the stream has only some threads of another stream's process */
	bool is_part;
	bool is_contended;	       /* locks were recorded only where a thread waited */
	uint64_t unkept, unkept_bytes; /* blocks that the last scan found unreachable */
	/* number of the last scan whose cut is in the trace; 0: none */
	uint64_t scan_cut;
	/*
	 * memory was scanned; unreachable blocks may be reachable in a way that the scan did not
	 * see
	 */
	bool is_scanned, is_doubtful;
	/* why the last scan was not made or failed; NULL: it was made */
	const char *unscanned;
	uint64_t pauses, pause_ns;    /* how often, and for how long, recording was paused */
	uint64_t pause_since_ns;      /* start of the current pause; 0: it records */
	struct coverage_sum coverage; /* of the blocked time of its threads */
};

struct summary_loss {
	const char *reason;
	uint64_t count;
};

/* A module whose calls of hooked functions bypassed the library. */
struct summary_bypass {
	const char *path, *example; /* example: one of the functions; NULL: not known */
	uint64_t functions;	    /* the maximum over the processes */
	uint32_t process;	    /* number of the first process with it */
	uint32_t processes;	    /* number of processes with it */
};

/*
 * Whether the process has ended, and with it its memory and descriptors; false if the stream does
 * not say.
 */
static inline bool summary_has_ended(const struct summary_process *process)
{
	return process->end == SUMMARY_EXITED || process->end == SUMMARY_KILLED ||
	       process->end == SUMMARY_EXEC;
}

/* How often a program was left out by --follow, or something was refused by the collector. */
struct summary_left_out {
	const char *program;
	uint64_t count;
};

struct summary_list {
	struct summary_left_out *items;
	size_t count, capacity;
	uint64_t sum;
};

struct summary_fold;
struct select_tally;

/* A child that its parent did not wait for. */
struct summary_child {
	uint32_t pid;
	uint32_t parent; /* number of the process */
	uint32_t next;	 /* next entry of the same list; 0: none */
};

struct summary_children {
	struct summary_child *items; /* the first is unused */
	size_t count, capacity;
};

/* A descriptor that a process had open when it executed another program. */
struct summary_passed {
	uint32_t pid;
	struct event opened; /* the opening call; it points to the following members */
	struct backtrace backtrace;
	struct function function;
	struct wire_value *arguments;
};

/* A child of vfork or posix_spawn; it is recorded only after it executes a program. */
struct summary_spawned {
	uint32_t pid, process; /* process: number of its parent */
	const char *path;
};

#define UNTRACED_CHILD "it is static or set-user-id, or LD_PRELOAD was dropped from its environment"

struct summary {
	struct address_space space;
	struct pool pool; /* of texts */
	struct summary_class classes[LEDGER_CLASSES];
	uint32_t class_count;
	ARRAY_OF(struct summary_process) processes; /* process images: exec starts another one */
	struct {
		struct summary_site *items; /* after summary_end(): the largest first */
		size_t count, capacity;
		uint64_t whole; /* sites that are not parts */
	} sites;		/* empty without summary_watch(), as is classes[].sites */
	struct {
		/* after summary_end(): deadlocks, then the longest waits */
		struct summary_blocked *items;
		size_t count, capacity;
	} blocked;
	ARRAY_OF(struct summary_loss) losses;
	ARRAY_OF(struct summary_bypass) bypasses; /* distinct; limited to some hundred */
	struct summary_list left_out, refused;
	uint64_t sample;    /* bytes from one sample of memory to the next; 0: no sampling */
	const char *follow; /* the argument of --follow; NULL: all programs were recorded */
	uint64_t events, lost, late, threads;
	uint64_t start_ns, end_ns; /* of the run */
	uint32_t pids;		   /* number of distinct pids */
	uint64_t inherited;
	uint64_t deadlocked;	 /* number of threads */
	uint64_t lost_wakeups;	 /* members of blocked */
	uint64_t allocators;	 /* processes with a malloc of their own */
	uint64_t namespaces;	 /* processes with libraries in another link namespace */
	uint64_t damaged;	 /* traces */
	uint64_t earlier_blocks; /* blocks allocated before the attach and freed after it */
	uint64_t earlier_others; /* the same for all other classes except mappings */
	uint64_t pauses;	 /* maximum over the processes */
	uint64_t pause_ns;	 /* the longest time for which one process was not recorded */
	bool has_times;		 /* the trace has times in ns: waits and peaks have times */
	bool wants_calls;	 /* calls were skipped (skips_calls) that the result needs */
	bool begins_late;	 /* earlier acquisitions were not read (--since) */
	/* what filters left of the calls; NULL: there are no filters */
	const struct select_tally *selection;
	struct ledger *ledger;	/* of the current process */
	struct tallies tallies; /* sums by place; reports use them, too */
	struct tally *held;   /* objects held at the end, by place; NULL without summary_watch() */
	struct locks locks;   /* of the current process */
	struct wakes signals; /* of conditions in the current process */
	struct {
		ARRAY_OF(const struct trace_node *) places; /* call sites that map memory */
		const char *name, *module;
		/*
		 * The most bytes that a process had mapped by other code than malloc at its end,
		 * and the file that mapped them; bytes 0: not significant.
		 */
		uint64_t bytes;
		const char *mapper;
	} inner; /* an allocator without hooks (allocators.h); name NULL: none was found */
	struct coverage coverage;	  /* of the threads of the current process */
	struct coverage_sum blocked_time; /* of the run */
	struct causes *causes;		  /* NULL: not requested */
	struct touched touched;
	struct summary_children children;
	uint32_t unwaited; /* first of the list of all children */
	/* After summary_end(): those whose programs ran untraced. */
	ARRAY_OF(struct summary_spawned) spawned;
	/* after summary_end(), by pid: index + 1 of the last image of the process */
	struct map last_by_pid;
	/* by exec, to programs whose streams have not ended yet */
	ARRAY_OF(struct summary_passed *) passed;
	struct summary_fold *fold;
};

/* Adds a child to the list that begins with *first (0: empty). */
void summary_add_child(struct summary_children *children, uint32_t *first, uint32_t parent,
		       uint32_t pid);

/* Puts the second list in front of the first one. */
void summary_join_children(struct summary_children *children, uint32_t *first, uint32_t second);

/*
 * After summary_end(): how many children of a list outlived their parent, and so never were its
 * zombies. Children that were not recorded do not count: their end is not known.
 */
uint64_t summary_orphans(const struct summary *summary, const struct summary_children *children,
			 uint32_t first);

/* Whether the size of an object of the class is a number of bytes. */
static inline bool summary_has_bytes(const struct summary_class *class)
{
	return class->known == RESOURCE_MEMORY || class->known == RESOURCE_MAPPING ||
	       class->known == RESOURCE_SEGMENT;
}

void summary_begin(struct summary **summary, struct error *err);

/* For the screen: lists sites, and looks for causes. Call it before the first event. */
void summary_watch(struct summary *summary);

/* Events of this trace follow. path: for the report, copied; may be NULL. */
void summary_open(struct summary *summary, const char *path);

void summary_event(struct summary *summary, const struct event *event, struct error *err);

/*
 * Instead of summary_event(), for callers that need only facts about processes: counts the call,
 * its thread and its time, and ignores its object.
 */
void summary_count(struct summary *summary, const struct event *event);

/* The current process, with the facts known so far. */
const struct summary_process *summary_current(const struct summary *summary);

/*
 * The trace has ended, and may be closed after this. tally may be NULL. until_ns: later events were
 * left out (trace_until_ns()).
 */
void summary_close(struct summary *summary, const struct trace_tally *tally, uint64_t until_ns,
		   struct error *err);

/* All traces were added: computes sums and ranks. */
void summary_end(struct summary *summary, struct error *err);

void summary_free(struct summary *summary);

/*
 * If memory was sampled, a sentence that says so and how exact its numbers are, for formats without
 * a field for it; otherwise "". Returns text (SUMMARY_SAMPLES_MAX bytes).
 */
#define SUMMARY_SAMPLES_MAX 320
const char *summary_say_samples(const struct summary *summary, char *text);

const struct summary_process *summary_process_at(const struct summary *summary, uint32_t number);

/* The class of that resource, or NULL if it was not used. */
const struct summary_class *summary_class_of(const struct summary *summary, enum resource known);

/*
 * Chooses at most room sites to show: memory by bytes, but with space for some sites of each other
 * class. Writes their indices to chosen; returns their number.
 */
size_t summary_top(const struct summary *summary, size_t room, uint32_t *chosen);

/* The same choice for other rows: classes has the class of each row, in the order of the sites. */
size_t summary_share(const struct summary *summary, const uint32_t *classes, size_t count,
		     size_t room, uint32_t *chosen);

#endif
