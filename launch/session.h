/* SPDX-License-Identifier: MIT */
#ifndef SESSION_H
#define SESSION_H

/*
 * One run: the board, its collector, the program, and what the collector says of the streams that
 * came of it.
 */

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "arena.h"
#include "base/error.h"

/* A stream that was begun; of several in one file the first. */
struct session_stream {
	unsigned number;
	int pid;
	char *path; /* "" where it went to no file */
};

struct session {
	struct board *board;
	int fd; /* the board's memfd */
	pid_t collector;
	int reports; /* a file in memory: the collector says where streams go */
	char *library;
	struct session_stream *streams;
	size_t stream_count;
	bool has_ended; /* the collector, before it should have */
};

/* Makes the board; its settings may be changed until session_collect(). */
int session_create(struct session *session, struct error *err);

/*
 * Starts the collector and waits until the output exists. Returns 0, or the collector's own
 * sentence of what is wrong.
 */
int session_collect(struct session *session, struct error *err);

/*
 * Starts the program with the library in front of what LD_PRELOAD says. path: the file, argv as it
 * will see it. Returns its process id or a negative errno (the program was not executed).
 */
pid_t session_start(struct session *session, const char *path, char **argv, struct error *err);

/*
 * What a program needs to find the run: the value of BOARD_ENVIRONMENT.
 */
#define SESSION_TEXT_MAX 160
void session_name(const struct session *session, char text[SESSION_TEXT_MAX]);

/* The same without the run: nothing of it is in the program's environment. */
pid_t session_start_alone(const char *path, char **argv, struct error *err);

/*
 * Reads what the collector reports until the streams of all processes that have ended are
 * complete; those that still run (a daemon that was left behind) are not waited for.
 */
int session_wait(struct session *session, struct error *err);

/*
 * How the program ended; pid -1: nobody can say how. After this the counts below have all that it
 * began and made.
 */
void session_tell(struct session *session, pid_t pid, int status);

/* How many processes of the run have attached. */
/* Processes that --follow did not choose; and of these, those that no trace tells of. */
unsigned session_left_out(const struct session *session);
unsigned session_left_unsaid(const struct session *session);

unsigned session_attached(const struct session *session);

/* How many processes of the run are still running. */
unsigned session_running(const struct session *session);

void session_destroy(struct session *session);

#endif
