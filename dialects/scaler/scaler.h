/* SPDX-License-Identifier: MIT */
#ifndef SCALER_H
#define SCALER_H

/*
 * Shared by the parts of the scaler writer: scaler.c folds the events and chooses directories,
 * scaler_trees.c writes the threads, scaler_names.c the two files of names, scaler_frames.c makes
 * nodes of backtraces.
 */

#include "base/array.h"
#include "naming/address_space.h"
#include "dialects/scaler/callees.h"
#include "postproc/run/calltree.h"
#include "formats/writer.h"
#include "dialects/outdir.h"

enum scaler_type { TYPE_NORMAL = 1, TYPE_PTHREAD = 2, TYPE_SEMAPHORE = 3 };

/* The properties of a function in its records. */
struct function_facts {
	int64_t file, function;
	enum scaler_type type;
	bool has_second; /* the second extra field is used */
};

/* Suffix of the name of a function that was not hooked, but is in backtraces. */
#define SCALER_INFERRED " [inferred]"

/* A backtrace of the trace: its number in `ways`, from 1; 0: not seen yet. */
struct scaler_seen {
	uint32_t way;
	size_t mappings; /* number of mappings known when it was entered */
};

struct scaler_frames {
	struct address_space space;
	ARRAY_OF(const struct trace_node *) ways; /* distinct backtraces */
	ARRAY_OF(struct scaler_seen) by_id;	  /* by id of the trace's backtrace */
	struct calltree_path *paths;		  /* of `ways`; set at the end */
};

struct scaler {
	const struct trace *trace;
	const struct trace_process *process;
	bool force, has_failed;
	bool is_by_callee;		  /* --format=scaler:callee */
	bool has_frames;		  /* --format=scaler:frames */
	const struct trace_mapping *libc; /* NULL: not mapped yet */
	struct outdir directory;
	struct calltree tree;
	struct callees callees;
	struct scaler_frames frames;
	struct function_facts *facts; /* by symbol */
};

/* Assigns numbers to files and functions, and sets the properties of each function. */
void scaler_number_functions(struct scaler *scaler);

/* Writes commonFuncId.json and symbol.json. Returns 0 or a negative errno. */
int scaler_write_names(const struct scaler *scaler, struct outdir *directory, struct error *err);

/* Writes thread_0x….bin for each thread that made calls. Returns 0 or a negative errno. */
int scaler_write_threads(struct scaler *scaler, struct outdir *directory, struct error *err);

bool scaler_is_inferred(const char *name);

void scaler_frames_init(struct scaler_frames *frames);
void scaler_frames_free(struct scaler_frames *frames);

/* *way: number of the backtrace of a call, from 1; 0: the call has none. */
void scaler_frames_see(struct scaler_frames *frames, const struct event *event, uint32_t *way);

/* After the last call: resolves the names, whose functions become callees. */
int scaler_frames_resolve(struct scaler_frames *frames, struct callees *callees, struct error *err);

int scaler_no_memory(struct error *err);

#endif
