/* SPDX-License-Identifier: MIT */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

/*
 * A fold reads the events of all processes of a run and fills some or all tables of a report. It
 * receives events or, through the ledger, acquisitions and releases. It does not print tables, and
 * resolves names only to match them. Each fold is a file (most are in memory/, waits/ and run/) and
 * a row of reports.def. If there is no memory left, the program ends (base/memory.h), so no
 * function in postproc/ returns an error for lack of memory.
 */

#include "account/ledger.h"
#include "base/error.h"
#include "base/json.h"
#include "base/out.h"
#include "naming/naming.h"
#include "rises.h"
#include "table.h"
#include "postproc/totals/summary.h"
#include "trace/trace.h"

struct report_options {
	/*
	 * for the report `allocations` and similar ones: an object is temporary if its thread made
	 * at most this many calls from acquisition to release; 0 means 1
	 */
	uint64_t within;
	/* for the report `leaks`: minimum time for which a listed object was held */
	uint64_t min_age_ns;
	const char *const *suppression_files; /* files of --suppress, for leaks */
	size_t suppression_count;
	bool has_limits;    /* --fail-on is given */
	const char *object; /* for history: the argument of --object */
	/* the argument of --by, for reports whose measure --by selects; NULL: not given */
	const char *by;
	bool has_paths;	    /* --path is given */
	const char *unit;   /* the mark that ends a unit of work (--growth); NULL or "": any mark */
	size_t top;	    /* maximum number of rows to print; 0: all */
	uint64_t max_bytes; /* maximum size of an HTML page in bytes; 0: no limit */
	bool is_bottom_up;  /* for tree: --bottom-up is given */
	/* for leaks: --growing is given, so list only growing call sites, with their curves */
	bool wants_growing;
	/* the run is one of a set: diff lists all call sites, and waits fills the table ranks */
	bool is_of_set;
	unsigned rises; /* a curve grows if it rises in at least this many windows */
};

/* The state that all folds of a run share. */
struct report_run {
	const struct report_options *options;
	const char *const *paths; /* paths of the traces or directories */
	size_t path_count;
	const struct trace_options *reading; /* options for opening the traces */
	/*
	 * Limit of the details of an HTML page: the maximum number of spans in the page's model.
	 * The numbers of its call sites and other parts are limited in proportion. 0: no limit.
	 */
	uint32_t detail;
	bool is_base; /* the older run of a comparison (diff) is being read */
	/*
	 * the processes and the address map of the run; if a fold has wants_summary, also the
	 * classes
	 */
	struct summary *summary;
	struct ledger *ledger;
	struct naming *naming; /* resolves names of the address map; NULL: names are not resolved */
	/*
	 * The time axes of the curves that report_hold() makes: `windows` for the whole run, `life`
	 * for the current process.
	 */
	struct rises_axis windows, life;
};

/* A fold whose entry_size is not 0 begins its state with this struct. */
struct report_tallied {
	struct report_run *run;
	struct tally *tally;
};

struct report {
	/* the class of all objects in the tables of the report; NULL: there are several classes */
	const char *about;
	bool wants_ledger;  /* run->ledger must receive all calls */
	bool wants_summary; /* run->summary must receive all calls */
	bool takes_by;	    /* --by selects the measure of the fold, not the column to sort by */
	bool has_detail;    /* the size of the fold's tables depends on run->detail */
	bool wants_base;    /* the report compares two runs */
	/* the fold needs only facts about processes: see skips_calls of struct trace_options */
	bool skips_calls;
	bool is_screen; /* in the text format, the report is a screen instead of tables */
	/* the fold examines files: run->paths are directories, and the fold receives no events */
	bool wants_directories;
	/* the fold is used only with --object, which disables the other folds of the report */
	bool wants_object;
	/*
	 * Size of the state that the callbacks receive. The first member of the state is a struct
	 * report_run *, which report_begin() sets; the other members are 0 at first. If the size is
	 * 0, the callbacks receive the struct report_run instead.
	 */
	size_t state_size;
	/*
	 * Size of the sums that the fold keeps for each call site, in a process and in the run. If
	 * it is not 0, the state begins with a struct report_tallied, whose tally report_begin()
	 * makes; merge() adds the sums of a process to those of the run (totals/tallies.h).
	 */
	size_t entry_size;
	void (*merge)(void *state, void *run, const void *process);
	/* Called before the first event. Returns 0 or a negative errno; may be NULL. */
	int (*begin)(void *state, struct report_run *run, struct error *err);
	/*
	 * Receives each change (move) of the ledger. NULL: the fold needs none, or calls
	 * report_listen().
	 */
	ledger_listener *move;
	/* Receives a call after the ledger has processed it; may be NULL. */
	void (*event)(void *state, const struct event *event);
	/* Receives a note (EVENT_NOTE); may be NULL. */
	void (*note)(void *state, const struct event *event);
	/*
	 * A process has ended. The ledger still has its live objects, and summary_current()
	 * still returns its facts. The process is added to the run after this call. May be
	 * NULL.
	 */
	void (*process)(void *state);
	/*
	 * All processes have ended: fills the tables. Errors are stored in the tables. If
	 * has_detail is set, end() may be called several times. NULL: the fold fills no table.
	 */
	void (*end)(void *state, struct tables *tables);
	/*
	 * Called instead of end() if the format is that of a viewer: writes the file. Errors of
	 * writing are stored in `out`.
	 */
	int (*print)(void *state, struct out *out, struct error *err);
	/* Frees the members of the state. Also called if begin() has failed. May be NULL. */
	void (*destroy)(void *state);
};

struct report_row {
	const char *name, *question;
	const char *next; /* the report to read next */
	/* the command that replaces `report NAME`; NULL: `report NAME` is a command */
	const char *instead;
};

/*
 * Allocates the state and calls begin(). Returns 0 or a negative errno. The caller calls
 * report_destroy() even after an error.
 */
int report_begin(const struct report *report, void **state, struct report_run *run,
		 struct error *err);
void report_destroy(const struct report *report, void *state);

/* Returns the report with this index in reports.def; NULL: the index is too large. */
const struct report_row *report_at(unsigned index);

/* Returns the report with that name, or NULL. */
const struct report_row *report_find(const char *name, size_t length);

/*
 * If `name` is a former name of a report or the name of a command, returns the text that says what
 * to write instead; else NULL.
 */
const char *report_renamed(const char *name, size_t length);

/* Return the report that a table belongs to, and the fold that fills the table. */
const struct report_row *report_of(enum table_id id);
const struct report *report_fold(enum table_id id);

/* Returns the table with that name; TABLE_ID_COUNT: no table has the name. */
enum table_id report_table(const char *name, size_t length);

/* Converts a time to ns since the start of the run. The start must be known already. */
static inline uint64_t report_time(const struct report_run *run, uint64_t ns)
{
	return ns > run->summary->start_ns ? ns - run->summary->start_ns : 0;
}

/*
 * Returns the number, from 1, of the process whose sums merge() adds to the run. With this number,
 * merge() counts a process only once even if several sites of the process belong to the same call
 * site of the run, for example because a library was mapped twice.
 */
static inline uint32_t report_process(const struct report_run *run)
{
	return (uint32_t)run->summary->processes.count + 1;
}

/*
 * Kinds of events, as numbers and as bits of a set. A limit depends on some kinds, and a recording
 * may lack events of some kinds.
 */
enum report_kind_number {
#define KIND(name, class) REPORT_KIND_##name,
#include "postproc/reasons.def"
#undef KIND
	REPORT_KINDS
};

enum report_kind {
#define KIND(name, class) KIND_##name = 1 << REPORT_KIND_##name,
#include "postproc/reasons.def"
#undef KIND
	KIND_ALL = (1 << REPORT_KINDS) - 1,
	KIND_EVENTS = KIND_ALL & ~(KIND_SCAN | KIND_NOTE | KIND_OWNER | KIND_HOLDER |
				   KIND_RESIDENT | KIND_HEAP | KIND_UNIT),
};

/*
 * Reasons why numbers may be wrong. Each reason has a member, the number of events, processes or
 * other things that it affects. `events` and `traces` are totals.
 */
struct report_gaps {
	uint64_t events; /* number of all events, recorded or dropped */
	uint64_t traces;
#define REASON(name, of, count, part, kinds, noun, what) uint64_t name;
#include "postproc/reasons.def"
#undef REASON
};

/*
 * Counts the reasons of reasons.def that affect these kinds of events. limit_ns: the limit that is
 * checked, if it is a time; else 0.
 */
void report_find_gaps(const struct report_run *run, unsigned kinds, uint64_t limit_ns,
		      struct report_gaps *gaps);

/*
 * If a program of the run uses the runtime of a language whose locks wait with conditions or
 * semaphores, returns the path of the runtime; else NULL.
 */
const char *report_language(const struct summary *summary);

/* Returns the total time of the waits for conditions and semaphores, in ns. */
uint64_t report_indirect_ns(const struct summary *summary);

bool report_is_incomplete(const struct summary_process *process);
bool report_is_untraced(const struct summary_process *process);

/*
 * Returns the kinds of events that are not recorded because the process made system calls directly,
 * by syscall(2).
 */
unsigned report_made_directly(const struct summary_process *process);

bool report_is_unhooked(const struct summary *summary, const struct summary_process *process);
bool report_has_unseen_zombie(const struct summary *summary, const struct summary_process *process);

/* Adds a row for an object or call of the class. The first cell, the row's group, is the class. */
struct table_cell *report_add(const struct report_run *run, struct table *table, uint32_t class);

/*
 * For begin(): makes a tally with entries of `size` bytes, and makes the ledger pass each move to
 * on_move(). merge() and on_move() receive `state` as their first argument.
 */
struct tally *report_listen(struct report_run *run, size_t size,
			    void (*merge)(void *state, void *run, const void *process),
			    ledger_listener *on_move, void *state);

/*
 * For on_move(): adds the move (an acquisition or release) to the curve of a call site, in bytes if
 * the class has bytes, else in objects.
 */
void report_hold(struct report_run *run, struct rises *rises, const struct ledger_move *move);

/*
 * Sets a cell to the type of the objects that were allocated at a backtrace. If the functions of
 * the backtrace do not determine the type (naming/types.h), the cell stays unset.
 */
void report_type(const struct report_run *run, struct table *table, struct table_cell *cell,
		 const struct trace_node *backtrace);

/* Sets a cell to the curve of a call site. If `rises` is NULL, the cell stays unset. */
void report_curve(const struct report_run *run, struct table *table, struct table_cell *cell,
		  const struct rises *rises);

/* For end(): calls put() for each call site of the run that has an entry in the tally. */
typedef void report_put(void *state, struct table *table, const struct tally_place *place,
			const void *entry);
void report_places(const struct report_run *run, const struct tally *tally, struct table *table,
		   report_put *put, void *state);

/* Return the backtrace of a site or event of the current process, in the address map of the run. */
const struct trace_node *report_site(const struct report_run *run, const struct site *site);
const struct trace_node *report_caller(const struct report_run *run, const struct event *event);

/*
 * If memory was sampled, appends a sentence that ends with `words` to the table's note, and sets
 * is_unknown, so that readers do not read a lack of rows as zero.
 */
void report_note_samples(const struct report_run *run, struct table *table, const char *words);

/*
 * Appends to the table's note how long threads were blocked, and in which kinds of calls. If more
 * than a tenth of this time was not observed, sets is_unknown, so that readers do not read a lack
 * of rows as zero.
 */
void report_note_coverage(const struct report_run *run, struct table *table);

#define REPORT_SAMPLED_CALLS   "calls for memory are included only if their block is in the sample"
#define REPORT_SAMPLED_AMOUNTS "the amounts are estimates"
#define REPORT_SAMPLED_TEMP    "the temporary blocks are unknown"

#define FOLD(name) extern const struct report report_##name;
#include "postproc/reports.def"

/* The parts that all JSON about a run has in common. man/report.schema.json describes them. */

#define REPORT_SCHEMA 1 /* version of the JSON; see holdtrace-report(5) */

/* Adds keys to the open JSON object: how much was read, and what is missing. */
void report_add_run(struct json *json, const struct report_run *run);

/* Adds a frame of a backtrace as an object. */
void report_add_frame(struct json *json, const struct naming_symbol *frame);

#endif
