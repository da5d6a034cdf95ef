/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_SUMMARY_H
#define TOTALS_SUMMARY_H

/*
 * What a whole run used, still holds and waited for: the numbers of the screen that a run ends
 * with. Several traces (streams of one session) are folded one after the other into one summary,
 * which outlives them. Memory grows with distinct backtraces and with what is held at one time.
 * What is held is the ledger's to say; what a process held when it ran another program (exec) is
 * not held at the end.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account/ledger.h"
#include "base/array.h"
#include "base/error.h"
#include "naming/atlas.h"
#include "causes.h"
#include "coverage.h"
#include "tallies.h"
#include "touched.h"
#include "waits/locks.h"
#include "waits/waits.h"
#include "waits/wakes.h"
#include "trace/trace.h"

#define SUMMARY_BLOCKED_MAX 256u /* open calls that are kept, of a process */
#define SUMMARY_COMMAND_MAX 256u

/* Most that one process held at a time. */
struct summary_peak {
	double variance;  /* of bytes */
	uint64_t amount;  /* bytes, see summary_has_bytes(); else objects */
	uint64_t time_ns; /* since the start of the run */
	uint32_t process; /* number of it */
};

/* Who waited the longest: for a lock, by place and by the place of who had it; else by object. */
struct summary_hot {
	uint64_t object;
	uint32_t pid;
	uint64_t ns;				 /* all that it waited */
	const struct trace_node *waiter, *other; /* of the longest wait; NULL: not known */
	/* who began the row of wakes that other ends; may be other */
	const struct trace_node *first;
};

/* Numbered as in the ledger. */
struct summary_class {
	const char *type;
	const char *description;
	enum resource known; /* RESOURCE_NONE: a class of another tracer */
	bool is_counted;
	uint64_t gained, lost, failed; /* calls */
	uint64_t strays;	       /* losses of what was not gained in the trace */
	uint64_t earlier;   /* losses of what was gained before the process was attached to */
	uint64_t retaken;   /* locks that waits for conditions took again */
	uint64_t replaced;  /* gains of what was held already */
	uint64_t temporary; /* lost by the next call of the thread that gained it */
	uint64_t bad_closes, bad_uses; /* of what was not open (EBADF): closed, used otherwise */
	uint64_t vain;		       /* of notified: no thread waited (conditions) */
	uint64_t held, held_bytes;     /* objects, at the end of their processes */
	bool is_estimate;	       /* of samples */
	double held_variance;	       /* of held_bytes */
	uint64_t killed, killed_bytes; /* of those, by processes that were killed */
	uint64_t unkept, unkept_bytes; /* blocks that nobody kept when memory was scanned last */
	uint64_t held_parts;	       /* of those, what belongs to another object: a FILE's fd */
	uint32_t parts_of;	       /* to which, a bit for each enum resource */
	uint64_t sites;		       /* that gained them; parts not counted */
	uint64_t notified;	       /* posts, signals */
	uint64_t waited;	       /* waits that were no failures; threads: joined */
	struct summary_peak peak;
	struct waits_class waits;
	struct summary_hot hot;
};

/* Something held at the end, by one backtrace, in any number of processes. */
struct summary_site {
	uint32_t class;
	bool is_part;
	const struct trace_node *backtrace;
	const char *function; /* that gained it */
	uint64_t count, bytes;
	uint32_t processes;
	uint32_t process;    /* number of the one that holds most of it */
	uint32_t order;	     /* in which it was met, for ties */
	const char *example; /* path of one of them, or NULL */
	bool has_more_examples;
};

/* A call that had not returned when its process ended; equal ones of several threads together. */
struct summary_blocked {
	const char *function;
	enum resource resource;
	uint64_t object, related;
	uint32_t pid, thread; /* the first thread */
	uint32_t threads;
	uint64_t longest_ns;
	const struct trace_node *backtrace; /* of the first thread */
	bool has_holder;
	uint32_t holder; /* thread */
	const struct trace_node *holder_backtrace;
	bool has_ended_holder; /* nobody will give it back */
	uint32_t joined;       /* the thread that is to be joined; 0: none, or not known */
	/* Condition: the last signal before the wait found no thread waiting; NULL: not so. */
	const struct trace_node *vain_backtrace;
	uint32_t vain_thread;
	uint64_t vain_ns;    /* by which it came before the wait */
	bool is_lost_wakeup; /* so it seems: this wait kept the program from its end */
	/* Semaphore, condition: the last post or signal; NULL: there was none. */
	const struct trace_node *notify_backtrace;
	uint32_t notify_thread;
	uint64_t notify_ns; /* before the process ended */
	bool is_deadlock;   /* the holder, or that thread, waits in the end for this thread */
	bool is_hung; /* nothing wakes it, or nothing did before the process was ended: see hang */
};

enum summary_end {
	SUMMARY_UNKNOWN, /* nobody says */
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
	uint64_t ended_ns;	   /* when it said that it ends; 0: it did not */
	uint64_t events, lost, late;
	uint32_t threads;
	enum summary_end end;
	bool has_status;
	int status;
	/*
	 * SUMMARY_EXEC: why the program that it ran was not traced; NULL: it was, or that is not
	 * known
	 */
	const char *untraced;
	const char *became; /* SUMMARY_EXEC: path of that program; NULL: not known */
	bool has_end;	    /* the stream says how it ended: it is complete */
	/* its file has all processes of the run, if a flight recorder left none out */
	bool is_in_run;
	bool is_damaged;
	uint64_t damages;
	const char *damage; /* what the first damage is */
	uint64_t kept_ns;   /* a flight recorder has all from then on, less so many calls before */
	uint64_t cut_calls; /* 0: it has left out none */
	uint64_t gone;	    /* processes that it had left out by the end of this one */
	/* it had run before, with so many threads, bytes in memory, for so long */
	bool is_attached;
	uint64_t had_threads, had_bytes, had_ns;
	struct before_sum had[BEFORE_KINDS]; /* that it had mapped then */
	uint64_t unmapped;		     /* calls that have given some of that back */
	uint64_t inherited;   /* descriptors open at the start and not closed since */
	uint64_t descriptors; /* that the kernel had open when it ended; 0: not known */
	bool has_no_zombie;   /* the kernel had no ended child of it then */
	bool has_zombie;      /* it had one */
	/* classes of objects that it acquired or released by syscall(2); NULL: none */
	const char *past;
	bool has_namespace; /* libraries in another link namespace called a libc of their own */
	uint64_t held[RESOURCE_COUNT]; /* objects at the end */
	uint64_t held_bytes;	       /* memory */
	uint64_t peak_bytes;
	const char *allocator;	       /* file whose malloc the program uses instead; NULL: none */
	const char *recorded;	       /* what --events had recorded; NULL: everything */
	uint64_t uncontended;	       /* locks that were taken without a wait, and only counted */
	double stalled_s;	       /* for so long its trace could not be written */
	const char *doubt;	       /* why it may be another process; NULL: it is this one */
	bool is_part;		       /* the events of some threads of another stream's process */
	bool is_contended;	       /* locks were recorded only where a thread waited */
	uint64_t unkept, unkept_bytes; /* blocks that the last scan found lost */
	uint64_t scan_cut;	       /* number of the last scan of which that is known; 0: none */
	bool is_scanned, is_doubtful;  /* its memory was; blocks may be held that are not known */
	const char *unscanned;	       /* why the last scan was not made or failed; NULL: it was */
	uint64_t pauses, pause_ns;     /* times that recording was stopped, and how long */
	uint64_t pause_since_ns;       /* 0: it records */
	struct coverage_sum coverage;  /* of the time for which its threads were blocked */
};

struct summary_loss {
	const char *reason;
	uint64_t count;
};

/* A module whose calls of hooked functions went past the library. */
struct summary_bypass {
	const char *path, *example; /* example: one of the functions; NULL: not said */
	uint64_t functions;	    /* most that a process had */
	uint32_t process;	    /* number of the first that had it */
	uint32_t processes;	    /* that had it */
};

/* What it had allocated and opened is gone with it; unknown where the stream does not say. */
static inline bool summary_has_ended(const struct summary_process *process)
{
	return process->end == SUMMARY_EXITED || process->end == SUMMARY_KILLED ||
	       process->end == SUMMARY_EXEC;
}

/* How often it was said of something in words: a program that --follow did not choose, or what the
 * collector refused. */
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
	uint32_t next;	 /* of the same place; 0: none */
};

struct summary_children {
	struct summary_child *items; /* from 1 */
	size_t count, capacity;
};

/* A descriptor that a process had open when it executed another program. */
struct summary_passed {
	uint32_t pid;
	struct event opened; /* the call; what it points to is here */
	struct backtrace backtrace;
	struct function function;
	struct wire_value *arguments;
};

/* A child of vfork or posix_spawn, which is not recorded before it executes a program. */
struct summary_spawned {
	uint32_t pid, process; /* process: number of its parent */
	const char *path;
};

#define UNTRACED_CHILD "it is static or set-user-id, or LD_PRELOAD was dropped from its environment"

struct summary {
	struct atlas atlas;
	struct pool pool; /* texts */
	struct summary_class classes[LEDGER_CLASSES];
	uint32_t class_count;
	ARRAY_OF(struct summary_process) processes; /* images of them: an exec begins another one */
	struct {
		struct summary_site *items; /* after summary_end(): the weightiest first */
		size_t count, capacity;
		uint64_t whole; /* those that are no parts */
	} sites;		/* none without summary_watch(), nor numbers of them in classes */
	struct {
		/* after summary_end(): deadlocks, then the longest */
		struct summary_blocked *items;
		size_t count, capacity;
	} blocked;
	ARRAY_OF(struct summary_loss) losses;
	ARRAY_OF(struct summary_bypass) bypasses; /* distinct; of those beyond some hundred none */
	struct summary_list left_out, refused;
	uint64_t sample;    /* bytes from one sample of memory to the next; 0: all was recorded */
	const char *follow; /* as --follow had it; NULL: all were recorded */
	uint64_t events, lost, late, threads;
	uint64_t start_ns, end_ns; /* of the run */
	uint32_t pids;		   /* distinct processes */
	uint64_t inherited;
	uint64_t deadlocked;	 /* threads */
	uint64_t lost_wakeups;	 /* of blocked */
	uint64_t allocators;	 /* processes with a malloc of their own */
	uint64_t namespaces;	 /* processes with libraries in another link namespace */
	uint64_t damaged;	 /* traces */
	uint64_t earlier_blocks; /* of memory: freed, allocated before the attach */
	uint64_t earlier_others; /* the same of all other classes but mappings */
	uint64_t pauses;	 /* most that one process had */
	uint64_t pause_ns;	 /* longest time for which one was not recorded */
	bool has_times;		 /* in ns: waits and peaks have their times */
	bool wants_calls;	 /* some were not read (skips_calls), and what they say is needed */
	bool begins_late;	 /* what was acquired before is not known (--since) */
	const struct select_tally *selection; /* of the calls that are in it; NULL: all are */
	struct ledger *ledger;		      /* of the process that is being read */
	struct tallies tallies;		      /* what its places amount to, for reports, too */
	struct tally *held;   /* of them: what is held at the end; NULL without summary_watch() */
	struct locks locks;   /* of the process that is being read */
	struct wakes signals; /* likewise, of conditions */
	struct {
		ARRAY_OF(const struct trace_node *) places; /* that map memory */
		const char *name, *module;
		/* the most that a process has mapped by itself at its end, and the file that did;
		 * bytes 0: nothing to speak of */
		uint64_t bytes;
		const char *mapper;
	} inner; /* an allocator without hooks (allocators.h); name NULL: none was found */
	struct coverage coverage;	  /* likewise, of its threads */
	struct coverage_sum blocked_time; /* of the run */
	struct causes *causes;		  /* NULL: nobody asked for them */
	struct touched touched;
	struct summary_children children;
	uint32_t unwaited; /* list of all of them */
	/* after summary_end(): those whose programs ran untraced */
	ARRAY_OF(struct summary_spawned) spawned;
	struct map last_by_pid; /* after summary_end(): index + 1 of the last image of a process */
	ARRAY_OF(struct summary_passed *) passed; /* to programs of which no stream has ended yet */
	struct summary_fold *fold;
};

/* Adds a child to the list that begins with *first (0: empty). */
void summary_add_child(struct summary_children *children, uint32_t *first, uint32_t parent,
		       uint32_t pid);

/* Puts the second list in front of the first one. */
void summary_join_children(struct summary_children *children, uint32_t *first, uint32_t second);

/*
 * After summary_end(): how many of a list outlived their parent, so that they never were zombies of
 * a living one. Of a child that was not recorded that is unknown, and it does not count.
 */
uint64_t summary_orphans(const struct summary *summary, const struct summary_children *children,
			 uint32_t first);

/* The size of its objects is bytes that they take. */
static inline bool summary_has_bytes(const struct summary_class *class)
{
	return class->known == RESOURCE_MEMORY || class->known == RESOURCE_MAPPING ||
	       class->known == RESOURCE_SEGMENT;
}

void summary_begin(struct summary **summary, struct error *err);

/* For the screen: sites are listed, and causes are looked for, too. Before the first event. */
void summary_watch(struct summary *summary);

/* Events of this trace follow. path: for the report, copied; may be NULL. */
void summary_open(struct summary *summary, const char *path);

void summary_event(struct summary *summary, const struct event *event, struct error *err);

/*
 * Instead of summary_event() for a call: it counts, and its thread and time, but not what it gained
 * or lost. For who wants to know of the processes alone.
 */
void summary_count(struct summary *summary, const struct event *event);

/* The process that is being read: what is known of it so far. */
const struct summary_process *summary_current(const struct summary *summary);

/*
 * The trace has no more events, and may be closed after this. tally may be NULL. until_ns: what
 * happened later was left out (trace_until_ns()).
 */
void summary_close(struct summary *summary, const struct trace_tally *tally, uint64_t until_ns,
		   struct error *err);

/* All traces are folded: sums up and ranks. */
void summary_end(struct summary *summary, struct error *err);

void summary_free(struct summary *summary);

/* The process with that number, or NULL. */
/*
 * "" or, where memory was recorded by samples, a sentence that says so and how good its numbers
 * are, for formats whose numbers have no room for it. Returns text (SUMMARY_SAMPLES_MAX bytes).
 */
#define SUMMARY_SAMPLES_MAX 320
const char *summary_say_samples(const struct summary *summary, char *text);

const struct summary_process *summary_process_at(const struct summary *summary, uint32_t number);

/* The class of that resource, or NULL if it was not used. */
const struct summary_class *summary_class_of(const struct summary *summary, enum resource known);

/*
 * The sites to be shown when there is room for so many: memory by bytes, but never so many of
 * them that a few of every other class found no room. Fills at most room indices into sites.
 */
size_t summary_top(const struct summary *summary, size_t room, uint32_t *chosen);

/* The same choice from other lines: the class of each, in the order of the sites. */
size_t summary_share(const struct summary *summary, const uint32_t *classes, size_t count,
		     size_t room, uint32_t *chosen);

#endif
