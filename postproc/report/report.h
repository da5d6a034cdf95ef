/* SPDX-License-Identifier: MIT */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

/*
 * A fold: a reader of the events of all processes of a run that fills tables, the tables of a
 * report or some of them. It receives events or, through the ledger, acquisitions and releases; it
 * never prints, and resolves names only to match them. One fold is one file (memory/, waits/,
 * descriptors/, run/) and a row of reports.def. Running out of memory ends the program
 * (base/memory.h), so nothing in postproc/ returns an error for it.
 */

#include "account/ledger.h"
#include "base/error.h"
#include "base/out.h"
#include "naming/naming.h"
#include "rises.h"
#include "table.h"
#include "postproc/totals/summary.h"
#include "trace/trace.h"

struct report_options {
	uint64_t within;		      /* for temp: number of calls of a thread; 0: 1 */
	uint64_t min_age_ns;		      /* for leaks: minimum time held */
	const char *const *suppression_files; /* for leaks */
	size_t suppression_count;
	bool has_limits;    /* --fail-on */
	const char *object; /* for history: as the user wrote it */
	const char *by;	    /* for reports that take it: what they measure; NULL: not given */
	size_t top;	    /* rows to be printed; 0: all */
	uint64_t max_bytes; /* of a page: maximum size of its file; 0: no limit */
	bool is_bottom_up;  /* for tree */
	bool wants_growing; /* for leaks: curves of places, and only those that grow */
	unsigned rises;	    /* a curve grows if it rises in this many windows */
};

/* The state that all reports of a run share. */
struct report_run {
	const struct report_options *options;
	const char *const *paths; /* traces, or directories */
	size_t path_count;
	const struct trace_options *reading; /* how the traces are opened */
	/*
	 * maximum number of spans in a model, and of call sites and others in proportion; 0: no
	 * limit
	 */
	uint32_t detail;
	bool is_base; /* the traces now read are those that the run is compared with (diff) */
	struct summary
		*summary; /* processes, address map; classes only if a report wants_summary */
	struct ledger *ledger;
	struct naming *naming; /* of the address map; NULL: there are no names */
	/*
	 * Windows of the curves that report_hold() makes: of the whole run, of the life of the
	 * process.
	 */
	struct rises_axis windows, life;
};

struct report {
	const char *about;  /* the only class that its tables are about; NULL: several */
	bool wants_ledger;  /* run->ledger is fed */
	bool wants_summary; /* run->summary is fed with calls, too */
	bool takes_by;	    /* --by selects what it measures, not a column to sort by */
	bool has_detail;    /* the size of its tables depends on run->detail */
	bool wants_base;    /* it compares two runs */
	bool skips_calls;   /* it needs facts about processes only: see struct trace_options */
	bool is_screen;	    /* as text it prints a screen, and fills no table */
	/* it is about files: run->paths are directories, and it gets no events */
	bool wants_directories;
	/* for --object: with it the other folds of the report are left out */
	bool wants_object;
	/*
	 * Size of its state, which begins with a struct report_run * that the caller sets; the rest
	 * is 0. 0: no state; the callbacks then get the run.
	 */
	size_t state_size;
	/* Before the first event. Returns 0 or a negative errno; may be NULL. */
	int (*begin)(void *state, struct report_run *run, struct error *err);
	/* Gets each move. NULL: it calls report_listen(), or gets no moves. */
	ledger_listener *move;
	/* A call, after the ledger has processed it; may be NULL. */
	void (*event)(void *state, const struct event *event);
	/* An event that is no hooked call (EVENT_NOTE); may be NULL. */
	void (*note)(void *state, const struct event *event);
	/*
	 * A process has ended, and summary_current() is about to become one of the run's; the
	 * ledger still has its live objects. May be NULL.
	 */
	void (*process)(void *state);
	/*
	 * All processes are known: fills the tables, which keep any error. A fold with has_detail
	 * may be called several times. NULL: it fills none.
	 */
	void (*end)(void *state, struct tables *tables);
	/*
	 * A fold of a viewer's format, instead of end: writes the file. out keeps its own errors.
	 */
	int (*print)(void *state, struct out *out, struct error *err);
	/* Frees the members of the state, also after a begin() that failed; may be NULL. */
	void (*destroy)(void *state);
};

struct report_row {
	const char *name, *question;
	const char *next; /* the report to read next */
	/* if `report NAME` is not accepted: what to write instead; NULL: it is accepted */
	const char *instead;
};

/*
 * Allocates the state and calls begin(). Returns 0 or a negative errno; call report_destroy() in
 * any case.
 */
int report_begin(const struct report *report, void **state, struct report_run *run,
		 struct error *err);
void report_destroy(const struct report *report, void *state);

/* The index-th row of reports.def, or NULL. */
const struct report_row *report_at(unsigned index);

/* The row with that name, or NULL. */
const struct report_row *report_find(const char *name, size_t length);

/* What to write instead of a former name, or of the name of a command; NULL: it is neither. */
const char *report_renamed(const char *name, size_t length);

/* The report that a table belongs to, and the fold that fills it. */
const struct report_row *report_of(enum table_id id);
const struct report *report_fold(enum table_id id);

/* The table with that name, or TABLE_ID_COUNT. */
enum table_id report_table(const char *name, size_t length);

/* A time as ns since the start of the run; call it after the start is known. */
static inline uint64_t report_time(const struct report_run *run, uint64_t ns)
{
	return ns > run->summary->start_ns ? ns - run->summary->start_ns : 0;
}

/*
 * For merge(): the number of the process that is being merged, from 1. A library that is mapped
 * twice makes two sites of one place in the same process.
 */
static inline uint32_t report_process(const struct report_run *run)
{
	return (uint32_t)run->summary->processes.count + 1;
}

/*
 * Kinds of events, a bit each: which kinds a limit depends on, and which a recording did not see.
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
	KIND_EVENTS = KIND_ALL & ~(KIND_SCAN | KIND_NOTE),
};

/* Reasons why numbers may be wrong: for each, how many events or traces it affects, of how many. */
struct report_gaps {
	uint64_t events; /* events recorded or dropped */
	uint64_t traces;
#define REASON(name, of, count, part, kinds, noun, what) uint64_t name;
#include "postproc/reasons.def"
#undef REASON
};

/* Counts the reasons of reasons.def that affect numbers of these kinds, and that limit. */
void report_find_gaps(const struct report_run *run, unsigned kinds, uint64_t limit_ns,
		      struct report_gaps *gaps);

bool report_is_incomplete(const struct summary_process *process);
bool report_is_untraced(const struct summary_process *process);

/* The kinds of events that the process caused by syscall(2), of which nothing is recorded. */
unsigned report_made_directly(const struct summary_process *process);

bool report_is_unhooked(const struct summary *summary, const struct summary_process *process);
bool report_has_unseen_zombie(const struct summary *summary, const struct summary_process *process);

/* Adds a row to a table whose first column is the group of a class. */
struct table_cell *report_add(const struct report_run *run, struct table *table, uint32_t class);

/*
 * For begin(): makes a tally with entries of that size and passes each move to on_move. merge and
 * on_move get state as their user.
 */
struct tally *report_listen(struct report_run *run, size_t size,
			    void (*merge)(void *state, void *run, const void *process),
			    ledger_listener *on_move, void *state);

/* For on_move: adds the move to the curve of a place, in bytes if its class has them. */
void report_hold(struct report_run *run, struct rises *rises, const struct ledger_move *move);

/* Puts the curve of a place into a cell. rises: NULL: not known. */
void report_curve(const struct report_run *run, struct table *table, struct table_cell *cell,
		  const struct rises *rises);

/* For end(): calls put for each place of the run. */
void report_places(const struct report_run *run, struct table *table,
		   void (*put)(void *state, struct table *table, uint32_t place), void *state);

/*
 * If memory was sampled: appends to the table's note what that means for it, and marks the table,
 * so that a lack of rows is not read as zero.
 */
void report_note_samples(const struct report_run *run, struct table *table, const char *words);

/*
 * Appends to the table's note for how long threads were blocked, and in what. If more than a tenth
 * of that was not observed, marks the table, so that a lack of rows is not read as zero.
 */
void report_note_coverage(const struct report_run *run, struct table *table);

#define REPORT_SAMPLED_CALLS   "of the calls for it those for samples alone are here"
#define REPORT_SAMPLED_AMOUNTS "what it amounts to are estimates"
#define REPORT_SAMPLED_TEMP    "which of its blocks were temporary is unknown"

#define FOLD(name) extern const struct report report_##name;
#include "postproc/reports.def"

#endif
