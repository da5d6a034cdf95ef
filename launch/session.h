/* SPDX-License-Identifier: MIT */
#ifndef SESSION_H
#define SESSION_H

/*
 * A run: the control page, the collector, the program, and the list of the streams that the
 * collector wrote.
 */

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "arena.h"
#include "base/error.h"
#include "settings.h"

/*
 * A stream that the collector began. If a file has several streams, only the first one is in the
 * list.
 */
struct session_stream {
	unsigned number;
	int pid;
	char *path; /* path of its file; "": it was not written to a file */
};

struct session {
	struct control_page *control;
	int fd; /* memfd of the control page */
	pid_t collector;
	int reports; /* memfd in which the collector lists the streams and their files */
	char *library;
	struct session_stream *streams;
	size_t stream_count;
	char *joined;	/* name of the run that this session joined; NULL: our own run */
	bool has_ended; /* whether the collector ended before the run */
};

/* Creates the control page, whose settings may be changed until session_collect(). */
int session_create(struct session *session, struct error *err);

/*
 * Starts the collector and waits until it has opened the output. Returns 0, or a negative errno
 * with the collector's message.
 */
int session_collect(struct session *session, struct error *err);

/*
 * Starts the program with the library first in LD_PRELOAD. session NULL: runs it untraced, without
 * any variable of the run in its environment. path: the file to execute; argv: the arguments that
 * the program sees. Returns the process id, or a negative errno if the program could not be
 * executed.
 */
pid_t session_start(const struct session *session, const char *path, char **argv,
		    struct error *err);

/* Writes the value of CONTROL_ENVIRONMENT, by which a program finds the run. */
#define SESSION_TEXT_MAX 160
void session_name(const struct session *session, char text[SESSION_TEXT_MAX]);

/*
 * Waits until the streams of all ended processes are complete, then reads the collector's list of
 * streams. Does not wait for processes that are still running, such as daemons.
 */
int session_wait(struct session *session, struct error *err);

/*
 * Reports the program's pid and exit status to the collector; pid -1: unknown. After this call,
 * SESSION_COUNT() includes every process that the program created.
 */
void session_tell(struct session *session, pid_t pid, int status);

/*
 * Returns a number that the collector stores in the control page: attached, streams begun so far;
 * alive, processes of the run that have not ended; left_out, processes that --follow excluded;
 * left_unsaid, excluded processes that no trace mentions.
 */
#define SESSION_COUNT(session, number) \
	__atomic_load_n(&(session)->control->number, __ATOMIC_ACQUIRE)

void session_destroy(struct session *session);

/*
 * One collector and one file for all ranks of a node (--node). The first rank writes the name of
 * its run to a file that only the user can read; the other ranks join this run.
 */
struct node {
	char *path;
	int fd; /* the file, which is locked until the run is announced; -1: not open */
};

/*
 * If another rank is creating the run, waits for that rank. Then joins the run; if there is none,
 * the caller creates it, while other ranks wait. Returns 0 or a negative errno.
 */
int node_enter(struct node *node, struct session *session, struct error *err);

/* Lets other ranks join the run of this session, unless the session itself joined a run. */
void node_announce(struct node *node, const struct session *session);

/* Waits until no process of the run is running, and removes the file. */
void node_leave(struct node *node, struct session *session);

/* ---- labels ---- */

/*
 * Facts by which a run can be distinguished from many others: its host, job and rank, and the
 * user's labels.
 */

/* Returns the run's rank in a parallel job, as digits; NULL: it has no rank. */
const char *labels_rank(void);

/* Returns the id of the parallel job, as set by the job's launcher; "": unknown. */
const char *labels_job(void);

/*
 * Adds labels, NAME=VALUE,NAME=VALUE, to settings->labels. A label replaces an earlier one of the
 * same name. Returns 0 or -EINVAL. err NULL: skips labels that are invalid or exceed the limits.
 */
int labels_add(struct settings *settings, const char *list, struct error *err);

/*
 * Adds the host, job and rank, if the run has a label or a rank. Does not replace labels of the
 * user. is_node: the run has several ranks, so adds the label node=all instead of the rank.
 */
void labels_finish(struct settings *settings, bool is_node);

/*
 * Replaces %h, %j and %r in the path of the output by host, job and rank, each by "none" if it is
 * unknown. The collector replaces %e and %p, the program and its pid. Returns 0 or -ENAMETOOLONG.
 */
int labels_expand(struct settings *settings, struct error *err);

/* Returns 1 if the list ("0,7,100-107") contains the rank, 0 if it does not, or -EINVAL. */
int labels_has_rank(const char *list, const char *rank, struct error *err);

/* ---- places ---- */

/*
 * Finds the other parts of holdtrace: in the directory of this program (build tree), or at their
 * installed paths relative to that directory, so that an installed tree can be moved. Inspects a
 * program before it runs: if no library can be preloaded into it, the user gets the reason instead
 * of an empty trace.
 */

enum part {
	PART_LIBRARY,	/* libholdtrace.so */
	PART_COLLECTOR, /* holdtrace-collect */
	PART_INJECTOR,	/* holdtrace-inject */
	PART_LIVE,	/* holdtrace-live */
	PART_VIEW,	/* holdtrace-view; missing in builds without libmicrohttpd */
	PART_PUSH,	/* holdtrace-push; missing in builds without libcurl */
	PART_POSTPROC,	/* holdtrace-postproc */
};

/*
 * Finds the absolute path of a part, which the caller frees. Returns 0, or -ENOENT with a text that
 * names the directories that were searched.
 */
int place_find(enum part part, char **path, struct error *err);

/*
 * Finds the file that a shell would execute for this word. The caller frees the path. Returns 0,
 * -ENOENT or -EACCES.
 */
int place_program(const char *word, char **path, struct error *err);

/*
 * Inspects the program at `path`; if it is a script, inspects its interpreter. Returns 0 if the
 * program can be traced or the file cannot be read, else -ENOTSUP with the reason and advice in
 * `err`. Sets *program to the path of the program or interpreter, if it was found; the caller frees
 * it. Sets *ignores if the program ignores LD_PRELOAD, but can run with it and passes it on to its
 * children.
 */
int inspect_program(const char *path, char **program, bool *ignores, struct error *err);

/* ---- signals ---- */

/*
 * Handles signals while the program runs. Signals that the terminal or kill(1) sends to the process
 * group reach the program directly. Signals that are sent only to the launcher are forwarded.
 */

/*
 * Called in a child that serves the launcher: blocks all signals, and replaces the process's name
 * and arguments. Otherwise pkill(1) would find the child by the name of the launcher, and would
 * send the signal to both processes.
 */
void signals_hide(const char *name);

/* Blocks signals until signals_wait(). Call it before the program is started. */
void signals_hold(void);

/*
 * Called in the child before it executes the program: restores the signal actions and the mask with
 * which the launcher was started.
 */
void signals_give_back(void);

/*
 * Forwards signals until the program has ended, but does not reap it. mark: "USR1" or "USR2", the
 * signal that puts a mark into the trace and is not forwarded; NULL: none. Returns the program's
 * status in the format of waitpid(), or 0 if the kernel has discarded the status. Afterwards,
 * signals are no longer forwarded.
 */
int signals_wait(pid_t program, const char *mark);

#endif
