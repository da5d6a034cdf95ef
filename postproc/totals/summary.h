/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_SUMMARY_H
#define TOTALS_SUMMARY_H

/*
 * The summary of a run, for the screen that `holdtrace run` prints at its end: the objects that the
 * run used, those that are still live, and its waits. The caller adds the traces of a run (streams
 * of one session) one after the other; the summary outlives the traces. The ledger records the live
 * objects. The summary's memory grows with the number of distinct backtraces and of objects that
 * are live at one time. Objects that were live when their process executed another program do not
 * count as live at the end.
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
#include "waits/gil.h"
#include "waits/locks.h"
#include "waits/waits.h"
#include "waits/wakes.h"
#include "trace/trace.h"

#define SUMMARY_BLOCKED_MAX 256u /* maximum number of open calls stored for a process */
#define SUMMARY_COMMAND_MAX 256u

/* The largest amount that was live in one process at one time. */
struct summary_peak {
	double variance;  /* variance of the amount, if it is in bytes */
	uint64_t amount;  /* bytes if summary_has_bytes(), else objects */
	uint64_t time_ns; /* relative to the start of the run */
	uint32_t process; /* number of the process */
};

/*
 * The group of waits of a class with the largest total time. For locks, a group has the waits with
 * the same call sites of waiter and holder; for other classes, the waits for the same object.
 */
struct summary_hot {
	uint64_t object;
	uint32_t pid;
	uint64_t ns; /* sum of these waits */
	/*
	 * call sites in the longest of these waits: of the waiting thread (waiter), and of the
	 * thread that held the lock or ended the wait (other); NULL: unknown
	 */
	const struct trace_node *waiter, *other;
	/*
	 * the call site that began the chain of wakes that led to `other`; may be the same as
	 * `other`
	 */
	const struct trace_node *first;
};

/* The sums of a class of objects. Classes have the same numbers as in the ledger. */
struct summary_class {
	const char *type;
	const char *description;
	enum resource known; /* RESOURCE_NONE: another tracer defined the class */
	bool is_counted;
	uint64_t acquired, lost, failed; /* calls that acquired, released (lost), failed */
	uint64_t strays; /* releases of objects whose acquisition was not recorded */
	/* releases of objects that were acquired before the attach or before --since */
	uint64_t earlier;
	/* locks that were acquired again at the end of a wait for a condition */
	uint64_t retaken;
	uint64_t replaced;  /* acquisitions of objects that were already live */
	uint64_t temporary; /* objects that the acquiring thread released in its next call */
	/* calls on closed descriptors (EBADF): close() and other calls */
	uint64_t bad_closes, bad_uses;
	/* for conditions: how many of the signals in `notified` had no waiter */
	uint64_t vain;
	/* objects that were live at the end of their processes, and their bytes */
	uint64_t held, held_bytes;
	/* the class's numbers are estimates, computed from samples */
	bool is_estimate;
	double held_variance;	       /* variance of held_bytes */
	uint64_t killed, killed_bytes; /* live objects of killed processes, and their bytes */
	uint64_t unkept,
		unkept_bytes; /* blocks that the last scan found unreachable; their bytes */
	/* how many of `held` are parts of other objects, such as the descriptor of a FILE */
	uint64_t held_parts;
	/* classes of the objects that `held_parts` belong to: bits 1u << enum resource */
	uint32_t parts_of;
	uint64_t sites; /* number of call sites of live objects, without parts of other objects */
	uint64_t notified; /* number of posts or signals */
	uint64_t waited;   /* number of successful waits; for threads: joins */
	struct summary_peak peak;
	struct waits_class waits;
	struct summary_hot hot;
};

/*
 * Objects that were acquired with the same backtrace, in any process, and were live when their
 * process ended.
 */
struct summary_site {
	uint32_t class;
	bool is_part;
	const struct trace_node *backtrace;
	const char *function; /* the function that acquired the objects */
	uint64_t count, bytes;
	uint32_t processes;
	uint32_t process; /* number of the process with the largest amount */
	/* number in the order of first appearance, by which equal sites are sorted */
	uint32_t order;
	const char *example; /* path of one of the objects, or NULL */
	bool has_more_examples;
};

/*
 * A call that had not returned when its process ended. Threads with equal calls share an entry.
 */
struct summary_blocked {
	const char *function;
	enum resource resource;
	uint64_t object, related;
	/* description of the object that the blocked call waits for; "": none */
	const char *what;
	uint32_t pid, thread; /* thread: tid of the first thread */
	uint32_t threads;
	uint64_t longest_ns;
	uint64_t waited_ns;		    /* sum over all threads of the entry */
	const struct trace_node *backtrace; /* backtrace of the first thread */
	bool has_holder;
	uint32_t holder; /* tid of the thread that holds the lock */
	const struct trace_node *holder_backtrace;
	bool has_ended_holder; /* the holder has ended, so the lock will never be released */
	/* the holder acquired the lock in the parent process, before fork() */
	bool is_inherited;
	uint32_t joined; /* tid of the thread to be joined; 0: none, or unknown */
	/*
	 * for a condition: the last signal before the wait, if the signal had no waiter; else NULL
	 */
	const struct trace_node *vain_backtrace;
	uint32_t vain_thread;
	uint64_t vain_ns; /* time from that signal to the wait */
	/* the wait probably missed that signal and so kept the program from ending */
	bool is_lost_wakeup;
	/* for a semaphore, condition or futex: the last post, signal or wake; NULL: none */
	const struct trace_node *notify_backtrace;
	uint32_t notify_thread;
	uint64_t notify_ns; /* time from that call to the end of the process */
	/* the holder, or the joined thread, waits directly or indirectly for this thread */
	bool is_deadlock;
	/*
	 * the lock's holder has ended, so the wait can never end; or the wait had not ended when
	 * the process was killed or the recording ended: see is_hung() in summary_close.c
	 */
	bool is_hung;
	bool is_idle; /* whether the call site is that of an event loop */
};

/* Waits in calls that block. The idle waits of event loops have a separate sum. */
struct summary_calls {
	uint64_t waits, ns, idle, idle_ns;
	/* the longest wait: its duration (0: there was no wait), function and object ("": none) */
	uint64_t longest_ns;
	const char *function, *what;
	const struct trace_node *waiter, *waker;
};

/* A call site of poll, select or epoll in all processes. */
struct summary_poll {
	const struct trace_node *backtrace;
	const struct hook *hook;
	struct wakes_site sums;
	/* the waits that ended without a wakeup by a thread of the process */
	struct summary_calls calls;
};

enum summary_end {
	SUMMARY_UNKNOWN, /* how the process ended is unknown */
	SUMMARY_EXITED,	 /* the process exited; status: the exit status */
	SUMMARY_KILLED,	 /* the process was killed; status: the signal */
	SUMMARY_EXEC,
	SUMMARY_LEFT,	  /* the process was still running when the collector ended */
	SUMMARY_DETACHED, /* the process was still running when holdtrace detached from it */
};

struct summary_process {
	const char *name, *executable, *command;
	const char *path;   /* path of the trace */
	const char *labels; /* labels of the run: NAME=VALUE,NAME=VALUE; NULL: none */
	uint32_t number;    /* number in the order of the traces, from 0 */
	uint32_t pid, parent_pid, stream, parent_stream;
	uint64_t session[2];
	bool has_tails;
	uint64_t start_ns, end_ns; /* on CLOCK_MONOTONIC */
	/* CLOCK_REALTIME minus CLOCK_MONOTONIC, in ns; 0: unknown */
	uint64_t realtime_ns;
	uint64_t ended_ns; /* time at which the process reported its end; 0: it reported none */
	uint64_t events, lost, late;
	uint32_t threads;
	enum summary_end end;
	bool has_status;
	int status;
	/*
	 * for SUMMARY_KILLED by SIGKILL: whether the kernel killed the process because memory ran
	 * out; memory_limit: limit of its control group in bytes; 0: none
	 */
	enum { SUMMARY_OOM_UNSAID, SUMMARY_OOM_UNKNOWN, SUMMARY_OOM_NO, SUMMARY_OOM_YES } oom;
	uint64_t memory_limit;
	/*
	 * for SUMMARY_EXEC: why the executed program was not traced; NULL: it was traced, or the
	 * reason is unknown
	 */
	const char *untraced;
	const char *became; /* for SUMMARY_EXEC: path of the executed program; NULL: unknown */
	bool has_end;	    /* the stream is complete: it contains the end of the process */
	/* the trace file has all processes of the run, except those a flight recorder removed */
	bool is_in_run;
	bool is_damaged;
	uint64_t damages;
	const char *damage; /* description of the first damage */
	/* a flight recorder (--keep) kept all events since kept_ns, and removed earlier calls */
	uint64_t kept_ns;
	uint64_t cut_calls; /* number of removed calls */
	uint64_t gone; /* number of processes that the recorder removed before this one ended */
	/*
	 * recording began with an attach; had_*: number of threads, resident bytes, and age of the
	 * process in ns at the attach
	 */
	bool is_attached;
	uint64_t had_threads, had_bytes, had_ns;
	struct before_sum had[BEFORE_KINDS]; /* memory that was mapped at the attach, by kind */
	/* number of calls that unmapped memory from before the attach */
	uint64_t unmapped;
	uint64_t inherited; /* number of inherited descriptors that were never closed */
	/*
	 * number of descriptors that were open at exit: descriptors is the kernel's number, counted
	 * follows from the recorded calls; 0: unknown. Destructors of libraries may close some
	 * descriptors after that
	 */
	uint64_t descriptors, counted;
	/* what the kernel reported at its end: no zombie child, or some; both false: no report */
	bool has_no_zombie, has_zombie;
	/* classes of objects that it acquired or released without a hooked function; NULL: none */
	const char *past;
	bool has_namespace; /* libraries in another link namespace call that namespace's libc */
	bool has_go; /* a module has the runtime of Go, which makes system calls without libc */
	uint64_t held[RESOURCE_COUNT]; /* number of live objects at the end */
	uint64_t held_bytes;	       /* bytes of live memory at the end */
	uint64_t peak_bytes;
	/* path of the file that defines the program's malloc, if this is not libc; else NULL */
	const char *allocator;
	const char *recorded; /* the argument of --events; NULL: everything was recorded */
	/* with --locks=contended: number of times that a lock was acquired without a wait */
	uint64_t uncontended;
	double stalled_s; /* number of seconds in which its trace could not be written */
	/* why the events may be from another process; NULL: no doubt */
	const char *doubt;
	/* the stream has only some of the process's threads; the process has another stream, too */
	bool is_part;
	/* only locks for which a thread waited were recorded (--locks=contended) */
	bool is_contended;
	uint64_t unkept,
		unkept_bytes; /* blocks that the last scan found unreachable; their bytes */
	/* number of the last scan that began within the trace; 0: none */
	uint64_t scan_cut;
	/*
	 * is_scanned: its memory was scanned; is_doubtful: blocks that seem unreachable may be
	 * reachable in a way that the scan did not see
	 */
	bool is_scanned, is_doubtful;
	bool is_measured; /* a scan has determined which memory is resident */
	/* why the last scan failed; NULL: it succeeded, or no scan was requested */
	const char *unscanned;
	uint64_t pauses, pause_ns;    /* how often, and for how long, recording was paused */
	uint64_t pause_since_ns;      /* start of the current pause; 0: recording is not paused */
	struct coverage_sum coverage; /* the parts of the blocked time of its threads */
};

struct summary_loss {
	const char *reason;
	uint64_t count;
};

/* A module whose calls to hooked functions bypass the library. */
struct summary_bypass {
	/* path of the module; example: one of these functions, or NULL if unknown */
	const char *path, *example;
	uint64_t functions; /* number of such functions, the maximum of all processes */
	uint32_t process;   /* number of the first process with the module */
	uint32_t processes; /* number of processes with the module */
};

/*
 * Whether the process has ended or has executed another program, so that the memory and descriptors
 * of its program were released. False if the stream does not say how the process ended.
 */
static inline bool summary_has_ended(const struct summary_process *process)
{
	return process->end == SUMMARY_EXITED || process->end == SUMMARY_KILLED ||
	       process->end == SUMMARY_EXEC;
}

/* A program that --follow excluded, or a part of the run that the collector refused. */
struct summary_left_out {
	const char *program;
	uint64_t count; /* how often */
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
	uint32_t parent; /* number of the parent process */
	uint32_t next;	 /* index of the next entry of the same list; 0: none */
};

struct summary_children {
	struct summary_child *items; /* index 0 is unused */
	size_t count, capacity;
};

/* A descriptor that was open when a process executed another program. */
struct summary_passed {
	uint32_t pid;
	/* the call that opened the descriptor; its pointers refer to the following members */
	struct event opened;
	struct backtrace backtrace;
	struct function function;
	struct wire_value *arguments;
};

/*
 * A lock that a thread held when its process forked. fork() copies the lock, but only one of the
 * threads.
 */
struct summary_forked {
	uint32_t child;
	uint64_t object;
	uint32_t thread; /* the thread that held the lock */
	/* whether that thread called fork(), so that its copy is the only thread of the child */
	bool is_copied;
	const struct trace_node *backtrace;
};

/* A child of vfork or posix_spawn, and the program that it executed. */
struct summary_spawned {
	uint32_t pid, process; /* pid: of the child; process: number of the parent */
	const char *path;
};

#define UNTRACED_CHILD                                                                        \
	"it is static or set-user-id, or its environment had no LD_PRELOAD, or it could not " \
	"connect to the collector in time"

/* A function of an allocator in the program, whose calls are recorded. */
struct summary_recorded {
	const char *function, *path;
};

/* Waits for a Python GIL, summed over all processes by the call sites of waiter and holder. */
struct summary_gil {
	const struct trace_node *waiter, *holder; /* holder NULL: not known */
	struct gil_pair sum;
};

struct summary {
	struct address_space space;
	struct pool pool; /* memory of texts */
	struct summary_class classes[LEDGER_CLASSES];
	uint32_t class_count;
	/* an element for each process image: each exec starts a new image */
	ARRAY_OF(struct summary_process) processes;
	struct {
		struct summary_site *items; /* sorted by summary_end(), the largest first */
		size_t count, capacity;
		uint64_t whole; /* number of sites whose objects are not parts of other objects */
	} sites; /* without summary_watch(), this list is empty and classes[].sites is 0 */
	struct {
		/*
		 * sorted by summary_end(): deadlocks, lost wakeups and waits for locks first, idle
		 * waits last; among waits of the same kind, the longest first
		 */
		struct summary_blocked *items;
		size_t count, capacity;
	} blocked;
	ARRAY_OF(struct summary_loss) losses;
	ARRAY_OF(struct summary_bypass) bypasses; /* one for each module; some hundreds at most */
	struct summary_list left_out, refused;
	uint64_t sample;    /* sampling interval of memory in bytes; 0: no sampling */
	const char *follow; /* the argument of --follow; NULL: all programs were recorded */
	uint64_t events, lost, late, threads;
	uint64_t start_ns, end_ns; /* start and end of the run */
	uint32_t pids;		   /* number of different pids */
	uint64_t inherited;
	uint64_t deadlocked;   /* number of deadlocked threads */
	uint64_t lost_wakeups; /* number of entries of `blocked` with is_lost_wakeup */
	uint64_t allocators;   /* number of processes with a malloc of their own */
	uint64_t namespaces;   /* number of processes with libraries in another link namespace */
	uint64_t damaged;      /* number of damaged traces */
	uint64_t unread;       /* number of traces that could not be read; set after reading */
	/*
	 * number of blocks, and of other objects except mappings, that were acquired before an
	 * attach and released after it
	 */
	uint64_t earlier_blocks, earlier_others;
	/* number of call sites for which it is unknown whether they grow with the units of work */
	uint64_t untold;
	/* there are too few units of work to tell whether call sites grow */
	bool is_unitless;
	uint64_t pauses;   /* the largest number of pauses of one process */
	uint64_t pause_ns; /* the longest time for which one process was not recorded */
	/* whether the trace has times in ns; only then do waits and peaks have times */
	bool has_times;
	/* the reader skipped calls (see skips_calls), but the result needs them */
	bool wants_calls;
	bool begins_late; /* calls before --since were not read */
	/* how many calls the filters selected; NULL: there are no filters */
	const struct select_tally *selection;
	struct ledger *ledger;	/* ledger of the current process */
	struct tallies tallies; /* sums by call site, which reports also use */
	/* sums of the live objects at the end; NULL unless summary_watch() was called */
	struct tally *held;
	struct locks locks;			/* locks of the current process */
	struct gil gil;				/* GIL of the current process */
	ARRAY_OF(struct summary_gil) gil_waits; /* index 0 is unused */
	/* maps a backtrace to its number, and a pair of such numbers to an index in gil_waits */
	struct map gil_index;
	struct wakes signals;		     /* signals of conditions in the current process */
	struct wakes calls;		     /* calls that blocked in the current process */
	struct descriptors descriptors;	     /* descriptors of the current process */
	struct summary_calls called;	     /* sums of `calls` of all processes */
	ARRAY_OF(struct summary_poll) polls; /* used until summary_end() adds them to `called` */
	struct {
		ARRAY_OF(const struct trace_node *) places; /* call sites that map memory */
		const char *name, *module;
		/*
		 * Memory that code other than malloc had mapped at the end, in the process with the
		 * largest amount of such memory: the amount in bytes (0: not significant), and the
		 * file that mapped the largest piece.
		 */
		uint64_t bytes;
		const char *mapper;
		/* the recorded allocator functions of all modules */
		ARRAY_OF(struct summary_recorded) recorded;
		/* first function that could not be recorded; refusals: number of such functions */
		const char *refused, *reason, *path;
		uint64_t refusals;
	} inner; /* an allocator that is not hooked, see allocators.h; name NULL: none was found */
	struct {
		uint64_t hidden; /* number of processes whose small objects are not recorded */
		/* number of processes for which frames of Python were not requested */
		uint64_t off;
		/* number of processes whose Python has an unknown layout: no frames are recorded */
		uint64_t unknown;
		const char
			*version; /* version of Python in the first such process; NULL: unknown */
		bool is_full;	  /* a process had more Python functions than can be recorded */
	} python;
	struct {
		/* number of processes with unnamed JIT code; runtime: the compiler of one */
		uint64_t unnamed;
		const char *runtime;
		/* file with names of JIT code that was not read completely, and why; NULL: none */
		const char *file, *problem;
	} code;
	struct coverage coverage;	  /* times of the threads of the current process */
	struct coverage_sum blocked_time; /* times of the threads of all processes of the run */
	struct causes *causes;		  /* NULL: not requested */
	struct touched touched;
	struct lasting lasting;
	struct summary_children children;
	/* index of the first entry of the list of all children that were not waited for */
	uint32_t unwaited;
	/* children of vfork and posix_spawn; summary_end() keeps those that were not traced */
	ARRAY_OF(struct summary_spawned) spawned;
	/* locks that a process held when it forked a child whose trace is read later */
	ARRAY_OF(struct summary_forked) forked;
	/* set by summary_end(); key: pid; value: index + 1 of the last image of the process */
	struct map last_by_pid;
	/* descriptors that exec passed to programs whose streams have not ended yet */
	ARRAY_OF(struct summary_passed *) passed;
	struct summary_fold *fold;
};

/* Adds a child to the list that begins at index *first (0: the list is empty). */
void summary_add_child(struct summary_children *children, uint32_t *first, uint32_t parent,
		       uint32_t pid);

/* Inserts the list that begins at index `second` before the list that begins at index *first. */
void summary_join_children(struct summary_children *children, uint32_t *first, uint32_t second);

/*
 * Returns how many children of a list did not become zombies of their parent: all children if the
 * kernel reported that the parent had no zombie at its end, otherwise those that outlived the
 * parent. In the second case, a child without a trace is not counted, because its end is unknown.
 * Call it after summary_end().
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
 * Call it before the first event to make the summary collect what the screen needs: the list of
 * sites, and the causes.
 */
void summary_watch(struct summary *summary);

/* Begins a trace. path: shown in reports; may be NULL; summary_open() copies it. */
void summary_open(struct summary *summary, const char *path);

void summary_event(struct summary *summary, const struct event *event);

/*
 * Call it instead of summary_event() if only facts about processes are needed. It counts the call
 * and the call's thread, updates the times of the process, and stores programs that the call
 * started. It ignores objects.
 */
void summary_count(struct summary *summary, const struct event *event);

/* Returns the current process, with the facts that are known so far. */
const struct summary_process *summary_current(const struct summary *summary);

/*
 * Ends a trace, which the caller may then close. tally: may be NULL. until_ns: see
 * trace_until_ns(); later events were not read.
 */
void summary_close(struct summary *summary, const struct trace_tally *tally, uint64_t until_ns);

/* Call it after the last trace: computes sums and ranks. */
void summary_end(struct summary *summary);

void summary_free(struct summary *summary);

/*
 * If memory was sampled, writes a sentence that says so and gives the errors of the numbers;
 * otherwise writes "". Output formats without a field for errors show the sentence. Returns `text`,
 * a buffer of SUMMARY_SAMPLES_MAX bytes.
 */
#define SUMMARY_SAMPLES_MAX 320
const char *summary_say_samples(const struct summary *summary, char *text);

const struct summary_process *summary_process_at(const struct summary *summary, uint32_t number);

/* Returns the class of that resource, or NULL if it was not used. */
const struct summary_class *summary_class_of(const struct summary *summary, enum resource known);

/*
 * Chooses at most `room` of `count` rows to show. The rows are sorted by class. Chooses mostly rows
 * of the first class, usually memory, but also some rows of every other class. classes: the class
 * of each row. Writes the indices of the rows to `chosen`, and returns their number.
 */
size_t summary_share(const struct summary *summary, const uint32_t *classes, size_t count,
		     size_t room, uint32_t *chosen);

#endif
