/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_SUMMARY_H
#define TOTALS_SUMMARY_H

/*
 * The summary of a run: the objects that it used and those that it still holds, and its waits, as
 * the screen at the end of a run shows them. The traces of a run (streams of one session) are added
 * one after the other; the summary outlives them. Memory grows with the number of distinct
 * backtraces and the number of objects held at one time. The ledger has the held objects. Objects
 * that a process held when it executed another program do not count as held at the end.
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
#include "lasting.h"
#include "touched.h"
#include "waits/locks.h"
#include "waits/waits.h"
#include "waits/wakes.h"
#include "trace/trace.h"

#define SUMMARY_BLOCKED_MAX 256u /* maximum number of open calls of a process that are kept */
#define SUMMARY_COMMAND_MAX 256u

/* The most that one process held at one time. */
struct summary_peak {
	double variance;  /* variance of the amount, if it is in bytes */
	uint64_t amount;  /* bytes if summary_has_bytes(), else objects */
	uint64_t time_ns; /* since the start of the run */
	uint32_t process; /* number of the process */
};

/*
 * The longest waits of a class: for locks, the sum of the waits with the same call sites of waiter
 * and holder; for other classes, the sum of the waits for one object.
 */
struct summary_hot {
	uint64_t object;
	uint32_t pid;
	uint64_t ns; /* sum of these waits */
	/* call sites of the longest wait; NULL: not known */
	const struct trace_node *waiter, *other;
	/* the call site that began the chain of wakes that ended with `other`; may equal `other` */
	const struct trace_node *first;
};

/* The sums of a class. Classes are numbered as in the ledger. */
struct summary_class {
	const char *type;
	const char *description;
	enum resource known; /* RESOURCE_NONE: a class of another tracer */
	bool is_counted;
	uint64_t acquired, lost, failed; /* numbers of calls */
	uint64_t strays;    /* releases of objects whose acquisition was not recorded */
	uint64_t earlier;   /* releases of objects acquired before the process was attached to */
	uint64_t retaken;   /* locks acquired again at the end of a wait for a condition */
	uint64_t replaced;  /* acquisitions of objects that were held already */
	uint64_t temporary; /* objects released by the next call of the thread that acquired them */
	/* calls on closed descriptors (EBADF): close() and other calls */
	uint64_t bad_closes, bad_uses;
	/* the part of `notified` for which no thread waited (conditions) */
	uint64_t vain;
	uint64_t held, held_bytes; /* objects and bytes held at the end of their processes */
	/* numbers of the class are estimates, computed from samples */
	bool is_estimate;
	double held_variance;	       /* variance of held_bytes */
	uint64_t killed, killed_bytes; /* the part of `held` in processes that were killed */
	uint64_t unkept, unkept_bytes; /* blocks that the last scan found unreachable */
	/*
	 * the part of `held` in objects that are parts of other objects: for example the descriptor
	 * of a FILE
	 */
	uint64_t held_parts;
	/* the classes of these other objects, a bit for each enum resource */
	uint32_t parts_of;
	uint64_t sites;	   /* number of call sites that acquired held objects, without parts */
	uint64_t notified; /* number of posts or signals */
	uint64_t waited;   /* number of successful waits; of threads: joins */
	struct summary_peak peak;
	struct waits_class waits;
	struct summary_hot hot;
};

/* Objects of all processes that were held at the end and were acquired with the same backtrace. */
struct summary_site {
	uint32_t class;
	bool is_part;
	const struct trace_node *backtrace;
	const char *function; /* the function that acquired them */
	uint64_t count, bytes;
	uint32_t processes;
	uint32_t process;    /* number of the process that holds the most */
	uint32_t order;	     /* number in the order of first appearance, to sort equal sites */
	const char *example; /* path of one of the objects, or NULL */
	bool has_more_examples;
};

/*
 * A call that had not returned when its process ended. Equal calls of several threads share an
 * entry.
 */
struct summary_blocked {
	const char *function;
	enum resource resource;
	uint64_t object, related;
	const char *what;     /* the object of a call that blocks; "": none, or another kind */
	uint32_t pid, thread; /* tid of the first thread */
	uint32_t threads;
	uint64_t longest_ns;
	uint64_t waited_ns;		    /* sum of the waits of these threads */
	const struct trace_node *backtrace; /* backtrace of the first thread */
	bool has_holder;
	uint32_t holder; /* thread that holds the lock */
	const struct trace_node *holder_backtrace;
	bool has_ended_holder; /* the holder has ended, so the lock will never be released */
	bool is_inherited;     /* the holder took the lock in the parent, before fork() */
	uint32_t joined;       /* the thread to be joined; 0: none, or not known */
	/*
	 * For a condition: the last signal before the wait, if no thread waited when it was sent;
	 * else NULL.
	 */
	const struct trace_node *vain_backtrace;
	uint32_t vain_thread;
	uint64_t vain_ns; /* time from that signal to the wait */
	/* probably: the wait missed that signal and kept the program from ending */
	bool is_lost_wakeup;
	/* For a semaphore or a condition: the last post or signal; NULL: there was none. */
	const struct trace_node *notify_backtrace;
	uint32_t notify_thread;
	uint64_t notify_ns; /* time from that post or signal to the end of the process */
	/* the holder, or the joined thread, waits directly or indirectly for this thread */
	bool is_deadlock;
	/*
	 * nothing can wake the thread, or nothing did before the process was killed or left: see
	 * is_hung() in summary_close.c
	 */
	bool is_hung;
	bool is_idle; /* at the call site of an event loop */
};

/* Waits in calls that block, and separately the idle waits of event loops. */
struct summary_calls {
	uint64_t waits, ns, idle, idle_ns;
	/* of the longest wait, if any */
	uint64_t longest_ns;
	const char *function, *what; /* what: the object; "": none */
	const struct trace_node *waiter, *waker;
};

/* A call site of poll, select or epoll in all processes. */
struct summary_poll {
	const struct trace_node *backtrace;
	const struct hook *hook;
	struct wakes_site sums;
	struct summary_calls calls; /* the waits that no thread of the process ended */
};

enum summary_end {
	SUMMARY_UNKNOWN, /* how the process ended is not known */
	SUMMARY_EXITED,	 /* it has exited; status: the exit status */
	SUMMARY_KILLED,	 /* it was killed; status: the signal */
	SUMMARY_EXEC,
	SUMMARY_LEFT,	  /* it was still running when the collector ended */
	SUMMARY_DETACHED, /* it was still running when holdtrace detached from it */
};

struct summary_process {
	const char *name, *executable, *command;
	const char *path;   /* path of the trace */
	const char *labels; /* of the run: NAME=VALUE,NAME=VALUE; NULL: none */
	uint32_t number;    /* number in the order of the traces, from 0 */
	uint32_t pid, parent_pid, stream, parent_stream;
	uint64_t session[2];
	bool has_tails;
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t realtime_ns;	   /* add it to such a time to get ns since 1970; 0: not known */
	uint64_t ended_ns;	   /* when the process reported its end; 0: it did not */
	uint64_t events, lost, late;
	uint32_t threads;
	enum summary_end end;
	bool has_status;
	int status;
	/*
	 * for SUMMARY_KILLED by SIGKILL: whether the kernel did that because memory ran out;
	 * memory_limit: of the control group, 0: none
	 */
	enum { SUMMARY_OOM_UNSAID, SUMMARY_OOM_UNKNOWN, SUMMARY_OOM_NO, SUMMARY_OOM_YES } oom;
	uint64_t memory_limit;
	/*
	 * for SUMMARY_EXEC: why the executed program was not traced; NULL: it was traced, or the
	 * reason is not known
	 */
	const char *untraced;
	const char *became; /* for SUMMARY_EXEC: path of the executed program; NULL: not known */
	bool has_end;	    /* the stream says how the process ended, so it is complete */
	/*
	 * the file has all processes of the run, except for those that a flight recorder left out
	 */
	bool is_in_run;
	bool is_damaged;
	uint64_t damages;
	const char *damage; /* text about the first damage */
	/*
	 * Of a flight recorder: it kept all events since kept_ns, and left out cut_calls earlier
	 * calls.
	 */
	uint64_t kept_ns;
	uint64_t cut_calls; /* 0: none */
	uint64_t gone;	    /* processes that the recorder had left out by the end of this one */
	/*
	 * recording began with an attach; had_*: threads, resident bytes, and age in ns at that
	 * moment
	 */
	bool is_attached;
	uint64_t had_threads, had_bytes, had_ns;
	struct before_sum had[BEFORE_KINDS]; /* memory mapped at the attach, by kind */
	/* number of calls that unmapped some of this memory */
	uint64_t unmapped;
	uint64_t inherited; /* descriptors open at the start and not closed since */
	/* number of descriptors open at the end, according to the kernel; 0: not known */
	uint64_t descriptors;
	/* at its end it had no zombie, according to the kernel */
	bool has_no_zombie;
	bool has_zombie; /* it had a zombie */
	/*
	 * words for the classes of objects that it acquired or released by syscall(2); NULL: none
	 */
	const char *past;
	bool has_namespace; /* libraries in another link namespace call a libc of their own */
	bool has_go; /* a module has the runtime of Go, which makes system calls without libc */
	uint64_t held[RESOURCE_COUNT]; /* number of live objects at the end */
	uint64_t held_bytes;	       /* bytes of live memory at the end */
	uint64_t peak_bytes;
	/* path of the file whose malloc the program uses instead of that of libc; NULL: none */
	const char *allocator;
	const char *recorded; /* the argument of --events; NULL: everything was recorded */
	/* number of locks acquired without a wait, if these are only counted */
	uint64_t uncontended;
	double stalled_s; /* seconds for which its trace could not be written */
	/* why the process may be another one with the same pid; NULL: no doubt */
	const char *doubt;
	/* the stream has only some threads of another stream's process */
	bool is_part;
	/* only locks for which a thread waited were recorded (--locks=contended) */
	bool is_contended;
	uint64_t unkept, unkept_bytes; /* blocks that the last scan found unreachable */
	/* number of the last scan whose start (cut) is in the trace; 0: none */
	uint64_t scan_cut;
	/*
	 * is_scanned: memory was scanned; is_doubtful: unreachable blocks may be reachable in a way
	 * that the scan did not see
	 */
	bool is_scanned, is_doubtful;
	bool is_measured; /* a scan has read which memory is resident */
	/* why the last scan was not made or failed; NULL: it succeeded, or there was none */
	const char *unscanned;
	uint64_t pauses, pause_ns;    /* how often, and for how long, recording was paused */
	uint64_t pause_since_ns;      /* start of the current pause; 0: it is being recorded */
	struct coverage_sum coverage; /* how the blocked time of its threads divides */
};

struct summary_loss {
	const char *reason;
	uint64_t count;
};

/* A module that calls hooked functions past the library. */
struct summary_bypass {
	const char *path, *example; /* example: one of the functions; NULL: not known */
	uint64_t functions;	    /* number of functions: the maximum over the processes */
	uint32_t process;	    /* number of the first process that has the module */
	uint32_t processes;	    /* number of processes that have the module */
};

/*
 * Whether the process or its program image has ended; false if the stream does not say. Its memory
 * and descriptors have then been released.
 */
static inline bool summary_has_ended(const struct summary_process *process)
{
	return process->end == SUMMARY_EXITED || process->end == SUMMARY_KILLED ||
	       process->end == SUMMARY_EXEC;
}

/* How often --follow left out a program, or the collector refused a part of the run. */
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
	uint32_t next;	 /* index of the next entry of the same list; 0: none */
};

struct summary_children {
	struct summary_child *items; /* index 0 is unused */
	size_t count, capacity;
};

/* A descriptor that was open when a process executed another program. */
struct summary_passed {
	uint32_t pid;
	struct event opened; /* the call that opened it; points to the following members */
	struct backtrace backtrace;
	struct function function;
	struct wire_value *arguments;
};

/* A child of vfork or posix_spawn; it is recorded only after it executes a program. */
/* A lock that a thread held when its process forked: fork() copies the lock, but only one thread.
 */
struct summary_forked {
	uint32_t child;
	uint64_t object;
	uint32_t thread; /* the thread that held the lock */
	bool is_copied;	 /* that thread called fork() and is the child's only thread */
	const struct trace_node *backtrace;
};

struct summary_spawned {
	uint32_t pid, process; /* process: number of its parent */
	const char *path;
};

#define UNTRACED_CHILD "it is static or set-user-id, or its environment had no LD_PRELOAD"

/* A function of an allocator inside the program, whose calls are recorded. */
struct summary_recorded {
	const char *function, *path;
};

struct summary {
	struct address_space space;
	struct pool pool; /* memory of texts */
	struct summary_class classes[LEDGER_CLASSES];
	uint32_t class_count;
	/* one for each process image: exec starts another image */
	ARRAY_OF(struct summary_process) processes;
	struct {
		struct summary_site *items; /* after summary_end(): the largest first */
		size_t count, capacity;
		uint64_t whole; /* number of sites that are not parts */
	} sites;		/* empty unless summary_watch() was called, as is classes[].sites */
	struct {
		/* after summary_end(): deadlocks, then the longest waits */
		struct summary_blocked *items;
		size_t count, capacity;
	} blocked;
	ARRAY_OF(struct summary_loss) losses;
	ARRAY_OF(struct summary_bypass) bypasses; /* distinct modules, some hundreds at most */
	struct summary_list left_out, refused;
	uint64_t sample;    /* sampling interval of memory in bytes; 0: no sampling */
	const char *follow; /* the argument of --follow; NULL: all programs were recorded */
	uint64_t events, lost, late, threads;
	uint64_t start_ns, end_ns; /* start and end of the run */
	uint32_t pids;		   /* number of different pids */
	uint64_t inherited;
	uint64_t deadlocked;	 /* number of deadlocked threads */
	uint64_t lost_wakeups;	 /* number of entries of `blocked` with is_lost_wakeup */
	uint64_t allocators;	 /* processes with a malloc of their own */
	uint64_t namespaces;	 /* processes with libraries in another link namespace */
	uint64_t damaged;	 /* number of damaged traces */
	uint64_t unread;	 /* number of traces that could not be read; set after reading */
	uint64_t earlier_blocks; /* blocks allocated before the attach and freed after it */
	uint64_t earlier_others; /* the same for objects of all other classes, except mappings */
	uint64_t pauses;	 /* maximum over the processes */
	uint64_t pause_ns;	 /* the longest time for which one process was not recorded */
	bool has_times;		 /* the trace has times in ns, so waits and peaks have times */
	bool wants_calls;	 /* calls were skipped (skips_calls), but the result needs them */
	bool begins_late;	 /* acquisitions before --since were not read */
	/* how many calls the filters kept; NULL: there are no filters */
	const struct select_tally *selection;
	struct ledger *ledger;	/* ledger of the current process */
	struct tallies tallies; /* sums by place; reports use them, too */
	/* objects held at the end, by place; NULL unless summary_watch() was called */
	struct tally *held;
	struct locks locks;		     /* locks of the current process */
	struct wakes signals;		     /* signals of conditions in the current process */
	struct wakes calls;		     /* calls that blocked in the current process */
	struct descriptors descriptors;	     /* descriptors of the current process */
	struct summary_calls called;	     /* sums of `calls` of all processes */
	ARRAY_OF(struct summary_poll) polls; /* until summary_end(), which adds them to `called` */
	struct {
		ARRAY_OF(const struct trace_node *) places; /* call sites that map memory */
		const char *name, *module;
		/*
		 * From the process in which code other than malloc had mapped the most bytes at the
		 * end: the number of these bytes, and the file that mapped most of them. bytes 0:
		 * not significant.
		 */
		uint64_t bytes;
		const char *mapper;
		/* functions whose calls are recorded, of any module */
		ARRAY_OF(struct summary_recorded) recorded;
		/* the first function whose calls could not be recorded, and how many there are */
		const char *refused, *reason, *path;
		uint64_t refusals;
	} inner; /* an allocator without hooks, see allocators.h; name NULL: none was found */
	struct {
		uint64_t hidden;     /* processes whose small objects are not recorded */
		uint64_t off;	     /* processes whose frames were not asked for */
		uint64_t unknown;    /* processes whose frames are not recorded: unknown layout */
		const char *version; /* of the first of these; NULL: unknown */
	} python;
	struct coverage coverage;	  /* times of the threads of the current process */
	struct coverage_sum blocked_time; /* times of the threads of all processes of the run */
	struct causes *causes;		  /* NULL: not requested */
	struct touched touched;
	struct lasting lasting;
	struct summary_children children;
	uint32_t unwaited; /* index of the first entry of the list of all children */
	/* after summary_end(): only those whose programs were not traced */
	ARRAY_OF(struct summary_spawned) spawned;
	ARRAY_OF(struct summary_forked) forked; /* of children that have not been read yet */
	/* after summary_end(), by pid: index + 1 of the last image of the process */
	struct map last_by_pid;
	/* descriptors passed by exec to programs whose streams have not ended yet */
	ARRAY_OF(struct summary_passed *) passed;
	struct summary_fold *fold;
};

/* Adds a child to the list that begins at index *first (0: the list is empty). */
void summary_add_child(struct summary_children *children, uint32_t *first, uint32_t parent,
		       uint32_t pid);

/* Inserts the list that begins at index `second` before the list that begins at index *first. */
void summary_join_children(struct summary_children *children, uint32_t *first, uint32_t second);

/*
 * How many children of a list outlived their parent, so that the parent did not leave them as
 * zombies. Children that were not recorded are not counted, because their end is not known. Call it
 * after summary_end().
 */
uint64_t summary_orphans(const struct summary *summary, const struct summary_children *children,
			 uint32_t first);

/* Whether objects of the class have a size in bytes. */
static inline bool summary_has_bytes(const struct summary_class *class)
{
	return class->known == RESOURCE_MEMORY || class->known == RESOURCE_MAPPING ||
	       class->known == RESOURCE_SEGMENT;
}

struct summary *summary_begin(void);

/*
 * Call it before the first event to get what the screen needs: the list of sites, and the causes.
 */
void summary_watch(struct summary *summary);

/* Begins a trace. path: for the reports; may be NULL; is copied. */
void summary_open(struct summary *summary, const char *path);

void summary_event(struct summary *summary, const struct event *event);

/*
 * Call this in place of summary_event() if only facts about processes are needed. It counts the
 * call and its thread, and uses its time, but ignores its object.
 */
void summary_count(struct summary *summary, const struct event *event);

/* The current process, with the facts that are known so far. */
const struct summary_process *summary_current(const struct summary *summary);

/*
 * Ends a trace, which the caller may close afterwards. tally: may be NULL. until_ns: see
 * trace_until_ns(); later events were not read.
 */
void summary_close(struct summary *summary, const struct trace_tally *tally, uint64_t until_ns);

/* Call it after the last trace: computes sums and ranks. */
void summary_end(struct summary *summary);

void summary_free(struct summary *summary);

/*
 * If memory was sampled, makes a sentence that says so and how exact the numbers are, for formats
 * without a field for errors; otherwise "". Returns `text`, which has SUMMARY_SAMPLES_MAX bytes.
 */
#define SUMMARY_SAMPLES_MAX 320
const char *summary_say_samples(const struct summary *summary, char *text);

const struct summary_process *summary_process_at(const struct summary *summary, uint32_t number);

/* The class of that resource, or NULL if it was not used. */
const struct summary_class *summary_class_of(const struct summary *summary, enum resource known);

/*
 * Chooses at most `room` sites to show: mostly those of memory with the most bytes, but also some
 * of each other class. Writes their indices to `chosen`, and returns their number.
 */
size_t summary_top(const struct summary *summary, size_t room, uint32_t *chosen);

/*
 * Chooses in the same way among any rows that are sorted by class. classes: the class of each row.
 */
size_t summary_share(const struct summary *summary, const uint32_t *classes, size_t count,
		     size_t room, uint32_t *chosen);

#endif
