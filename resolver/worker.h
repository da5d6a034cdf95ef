/* SPDX-License-Identifier: MIT */
#ifndef WORKER_H
#define WORKER_H

/*
 * A child process that reads the files of one module. What comes out of a file decides what libelf
 * and libdw do; if they crash, run wild or never end, that costs this child and nothing else. It
 * has a limit on memory and on the time for one address, none of our descriptors but those that it
 * is given, and stands in a sandbox (base/sandbox.h).
 */

#include <sys/types.h>

#include "resolver/message.h"

/* Memory of one child, without the files it maps. */
#define WORKER_MEMORY_MAX (UINT64_C(2) << 30)
/* Processor time for one address or for opening the files, in seconds. */
#define WORKER_SECONDS_MAX 30
/* A child that says nothing for so many seconds, and uses no processor time either, is ended. */
#define WORKER_SILENCE_MAX 120
/* Addresses in one question: as many as fit into the socket's buffer without a reader. */
#define WORKER_BATCH_MAX 2048

struct worker {
	pid_t pid; /* 0: none */
	int socket;
	char *in; /* what the child has said */
	size_t count, capacity;
	size_t used; /* of in: bytes that were taken */
};

/*
 * What the child does: reads questions from the socket, answers them there, returns at the end of
 * input. file: the descriptor that it was given, or -1; job: as the parent had it then.
 */
typedef void worker_run(int socket, int file, const void *job);

/* Starts a child. file: a descriptor, or -1. Returns 0 or a negative errno value. */
int worker_start(struct worker *worker, worker_run *run, int file, const void *job);

/* Asks for count addresses, at most WORKER_BATCH_MAX. The answers come in their order. */
int worker_ask(struct worker *worker, const uint64_t *addresses, size_t count);

/* Hands over the descriptor that the child waits for, or the negative errno value in its place. */
int worker_give(struct worker *worker, int file);

/*
 * Waits for the next message, which is valid until the next call. Returns 0; -EPIPE: the child is
 * gone, or says nothing for WORKER_SILENCE_MAX; or -EBADMSG.
 */
int worker_next(struct worker *worker, struct message *message);

/*
 * Ends the child if it has not ended, and frees what the worker holds. why: NULL, or filled with
 * what it died of, in words.
 */
void worker_end(struct worker *worker, char *why, size_t size);

/* In the child: reads the next question into addresses. Returns their count, 0 at the end. */
size_t worker_question(int socket, uint64_t addresses[WORKER_BATCH_MAX]);

/* In the child: waits for a descriptor that it has asked for; or a negative errno value. */
int worker_take(int socket);

/* In the child: the time for one address begins anew. */
void worker_restart_clock(void);

#endif
