/* SPDX-License-Identifier: MIT */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

/*
 * A fold over the events of all processes of a run that ends in sheets: the tables of a report, or
 * some of them. It hears events, or, through the ledger, what they acquired and released; it never
 * prints and looks up no name but to match one. One fold is one file (memory/, waits/,
 * descriptors/, run/) and a row of reports.def. A lack of memory ends the program (base/memory.h):
 * nothing in postproc/ returns for it.
 */

#include "account/ledger.h"
#include "base/error.h"
#include "base/out.h"
#include "naming/naming.h"
#include "rises.h"
#include "sheet.h"
#include "postproc/totals/summary.h"
#include "trace/trace.h"

struct report_options {
	uint64_t within;		      /* calls of a thread, for temp; 0: 1 */
	uint64_t min_age_ns;		      /* for leaks: held at least so long */
	const char *const *suppression_files; /* for leaks */
	size_t suppression_count;
	bool has_limits;    /* --fail-on */
	const char *object; /* for history: as the user says it */
	const char *by;	    /* for reports that take it: what they measure; NULL: not said */
	size_t top;	    /* rows to be printed; 0: all */
	uint64_t max_bytes; /* of a page: its file is not to be larger; 0: not said */
	bool is_bottom_up;  /* for tree */
	bool wants_growing; /* for leaks: the curves of places, and of these only */
	unsigned rises;	    /* what rises in so many windows */
};

/* What all reports of a run share. */
struct report_run {
	const struct report_options *options;
	const char *const *paths; /* traces, or directories */
	size_t path_count;
	const struct trace_options *reading; /* how they are opened */
	uint32_t detail; /* spans that a model may have, and places and others in proportion; 0: as
			    it does */
	bool is_base;	 /* what is read now is what the run is compared with (diff) */
	struct summary *summary; /* processes, atlas; classes only if a report wants_summary */
	struct ledger *ledger;
	struct naming *naming; /* of the atlas; NULL: nothing has a name */
	/* of curves, that reports have which call report_hold(): of all, of the process's life */
	struct rises_axis windows, life;
};

struct report {
	const char *about;	/* the one class that all it tells comes from; NULL: several */
	bool wants_ledger;	/* run->ledger is fed */
	bool wants_summary;	/* run->summary is fed with calls, too */
	bool takes_by;		/* --by is its own: no column to be sorted by */
	bool has_detail;	/* its sheets are as large as run->detail lets them be */
	bool wants_base;	/* it compares two runs */
	bool skips_calls;	/* it asks for nothing but processes: see struct trace_options */
	bool is_screen;		/* as text it is a screen, and fills no sheet */
	bool wants_directories; /* it is about files: run->paths are directories, no event comes */
	bool wants_object;	/* --object: with it other folds of the report are left out */
	/*
	 * Of its state, which begins with a struct report_run * that is set; all else is 0. 0: it
	 * has none, and gets the run for it.
	 */
	size_t state_size;
	/* Before the first event. Returns 0 or a negative errno. NULL: there is nothing to do. */
	int (*begin)(void *state, struct report_run *run, struct error *err);
	ledger_listener
		*move; /* hears of each; NULL: it asks for them by report_listen(), or not */
	/* A call, after the ledger has taken it; NULL: none is wanted. */
	void (*event)(void *state, const struct event *event);
	/* What is no hooked call (EVENT_NOTE); NULL: none is wanted. */
	void (*note)(void *state, const struct event *event);
	/*
	 * A process has no more events, summary_current() is about to be one of the run's; what it
	 * holds is still in the ledger. NULL: of no interest.
	 */
	void (*process)(void *state);
	/*
	 * All processes are known. Fills its sheets, and what it fails in is their failure; one
	 * that heeds detail can do so several times. NULL: it has none.
	 */
	void (*end)(void *state, struct sheets *sheets);
	/* Of a viewer's format, instead: writes the file. Errors of out are kept by that. */
	int (*print)(void *state, struct out *out, struct error *err);
	/* What the state has is given back, also after a begin() that failed. NULL: it has nothing.
	 */
	void (*destroy)(void *state);
};

struct report_row {
	const char *name, *question;
	const char *next;    /* report */
	const char *instead; /* of `report NAME`, which is no such word; NULL: it is one */
};

/* Makes its state and begins it. Returns 0 or a negative errno; report_destroy() in any case. */
int report_begin(const struct report *report, void **state, struct report_run *run,
		 struct error *err);
void report_destroy(const struct report *report, void *state);

/* The index-th row of reports.def, or NULL. */
const struct report_row *report_at(unsigned index);

/* The row with that name, or NULL. */
const struct report_row *report_find(const char *name, size_t length);

/* What to write instead of a former name, or of the name of a command; NULL: none has that name. */
const char *report_renamed(const char *name, size_t length);

/* The report that has a table, and the fold that fills it. */
const struct report_row *report_of(enum sheet_id id);
const struct report *report_fold(enum sheet_id id);

/* The table with that name, or SHEET_ID_COUNT. */
enum sheet_id report_table(const char *name, size_t length);

/* A point of time as ns since the start of the run, once that is known. */
static inline uint64_t report_time(const struct report_run *run, uint64_t ns)
{
	return ns > run->summary->start_ns ? ns - run->summary->start_ns : 0;
}

/*
 * For merge(): the number of the process that is being merged, from 1. A library that was mapped
 * twice makes two sites of one place, in one process.
 */
static inline uint32_t report_process(const struct report_run *run)
{
	return (uint32_t)run->summary->processes.count + 1;
}

/* Kinds of events, a bit each: what limits depend on, and what a recording did not see. */
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

/* Why numbers may be wrong: how many of each, and of how many. */
struct report_gaps {
	uint64_t events; /* that there were: recorded, or lost */
	uint64_t traces;
#define REASON(name, of, count, part, kinds, noun, what) uint64_t name;
#include "postproc/reasons.def"
#undef REASON
};

/* Counts the reasons of reasons.def that matter to numbers of these kinds, and to that limit. */
void report_find_gaps(const struct report_run *run, unsigned kinds, uint64_t limit_ns,
		      struct report_gaps *gaps);

bool report_is_incomplete(const struct summary_process *process);
bool report_is_untraced(const struct summary_process *process);

/* The kinds of events that it made by syscall(2), of which nothing is recorded. */
unsigned report_made_directly(const struct summary_process *process);

bool report_is_unhooked(const struct summary *summary, const struct summary_process *process);
bool report_has_unseen_zombie(const struct summary *summary, const struct summary_process *process);

/* A row of a sheet whose first column is the group of a class. */
struct sheet_cell *report_add(const struct report_run *run, struct sheet *sheet, uint32_t class);

/*
 * For begin(): a tally with entries of that size, and on_move hears of each move. merge and on_move
 * get state as their user.
 */
struct tally *report_listen(struct report_run *run, size_t size,
			    void (*merge)(void *state, void *run, const void *process),
			    ledger_listener *on_move, void *state);

/* For on_move: a place holds more, or less, in bytes where its class has some. */
void report_hold(struct report_run *run, struct rises *rises, const struct ledger_move *move);

/* The curve of a place as a cell. rises: NULL: not known. */
void report_curve(const struct report_run *run, struct sheet *sheet, struct sheet_cell *cell,
		  const struct rises *rises);

/* For end(): calls put for every place of the run. */
void report_places(const struct report_run *run, struct sheet *sheet,
		   void (*put)(void *state, struct sheet *sheet, uint32_t place), void *state);

/*
 * Where memory was recorded by samples the sheet says behind its note what that means for it, and
 * that it has no row means nothing.
 */
void report_note_samples(const struct report_run *run, struct sheet *sheet, const char *words);

/*
 * Behind its note the sheet says for how long threads were blocked, and in what. Where more than a
 * tenth of that was not observed, that it has no row means nothing.
 */
void report_note_coverage(const struct report_run *run, struct sheet *sheet);

#define REPORT_SAMPLED_CALLS   "of the calls for it those for samples alone are here"
#define REPORT_SAMPLED_AMOUNTS "what it amounts to are estimates"
#define REPORT_SAMPLED_TEMP    "which of its blocks were given back at once is unknown"

#define FOLD(name) extern const struct report report_##name;
#include "postproc/reports.def"

#endif
