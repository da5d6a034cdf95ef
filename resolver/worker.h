/* SPDX-License-Identifier: MIT */
#ifndef WORKER_H
#define WORKER_H

/*
 * A child process that reads the files of one module. The contents of a file control what libelf
 * and libdw do; if they crash, loop or allocate without limit, only this child is affected. The
 * child has a memory limit, a time limit for each address, only the descriptors that the parent
 * passes to it, and a sandbox (base/sandbox.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "resolver/files.h"
#include "resolver/mappings.h"
#include "resolver/symbol.h"

/* ---- messages ---- */

/*
 * Messages about one module from a process that reads ELF files: first facts, then an answer for
 * each address. A hostile file may have taken control of that process, and answers are also stored
 * in files, so each message is checked as strictly as a trace.
 */

#define MESSAGE_SIZE_MAX (16u << 20)
#define MESSAGE_NAME_MAX (64u << 10) /* bytes; longer names are truncated */
#define MESSAGE_TEXT_MAX 256

enum message_kind {
	MESSAGE_FACTS = 1, /* the body is a struct facts */
	MESSAGE_ANSWER,	   /* written by message_put_answer() */
	MESSAGE_WANT,	   /* requests a file from the parent; the body is a struct file_want */
};

struct message {
	uint32_t kind, size;
	const char *body; /* points into the buffer */
};

/*
 * Facts about a module, which are sent before any address is looked up. The message consists of the
 * bytes of this structure.
 */
struct facts {
	uint32_t is_known;
	uint32_t reason;      /* a value of enum resolve_reason */
	uint32_t has_symbols; /* whether the file has symbols other than dynamic ones */
	uint32_t build_id_size;
	uint8_t build_id[FILES_BUILD_ID_MAX];
	struct layout layout;
	char text[MESSAGE_TEXT_MAX]; /* the reason as a text for the user, or "" */
};

/* The answer for one address of one module. */
struct answer {
	const void *owner; /* the module, for a table with answers of several modules */
	uint64_t address;
	unsigned count; /* number of symbols, at least one */
	struct symbol symbols[];
};

/* Writes one message. After an error, ferror(to) returns true. */
void message_put(FILE *to, enum message_kind kind, const void *body, size_t size);
/* Writes an answer. Leaves out frames beyond RESOLVE_FRAMES_MAX. */
void message_put_answer(FILE *to, uint64_t address, const struct symbol *symbols, unsigned count);

/*
 * Reads the message at *used and advances *used. Returns 1, 0 if the message is not complete yet,
 * or -EBADMSG.
 */
int message_next(const char *bytes, size_t count, size_t *used, struct message *message);

/* These functions read the contents of a message. They return 0 or -EBADMSG. */
int message_get_facts(const struct message *message, struct facts *facts);
int message_get_want(const struct message *message, struct file_want *want);

/*
 * Reads an answer. The answer and its strings are one allocation, which the caller frees.
 * symbol.module stays NULL. Returns 0, -EBADMSG or -ENOMEM.
 */
int message_get_answer(const struct message *message, struct answer **answer);

/* ---- processes ---- */

/* Limit of a child's memory in bytes, without the files that it maps. */
#define WORKER_MEMORY_MAX (UINT64_C(2) << 30)
/* Limit of processor time, in seconds, for one address or for opening the files. */
#define WORKER_SECONDS_MAX 30
/*
 * A child that has sent nothing for this many seconds is killed. It must be blocked, because
 * WORKER_SECONDS_MAX limits its processor time.
 */
#define WORKER_SILENCE_MAX 120
/*
 * Limit of addresses in one request. Such a request fits into the socket's buffer even if the child
 * has read nothing.
 */
#define WORKER_BATCH_MAX 2048

/*
 * Flag of an address in a request: asks not for names but for the type of the object that the call
 * at the address allocates. The answer has one symbol; its `function` is the type.
 */
#define WORKER_TYPE (UINT64_C(1) << 63)

struct worker {
	pid_t pid; /* 0: no child */
	int socket;
	char *in; /* buffer with the bytes that the child has sent */
	size_t count, capacity;
	size_t used; /* number of processed bytes in the buffer */
};

/*
 * The function that the child runs: reads requests from the socket, answers them there, and returns
 * at the end of input. file: the descriptor given to worker_start(), or -1; job: the pointer given
 * to worker_start(), whose data are as they were at the fork.
 */
typedef void worker_run(int socket, int file, const void *job);

/* Starts a child. file: a descriptor, or -1. Returns 0 or a negative errno value. */
int worker_start(struct worker *worker, worker_run *run, int file, const void *job);

/*
 * Sends a request for `count` addresses, at most WORKER_BATCH_MAX. The child answers in the order
 * of the addresses.
 */
int worker_ask(struct worker *worker, const uint64_t *addresses, size_t count);

/*
 * Sends the child the descriptor of the file that it requested, or the negative errno value if the
 * file could not be opened.
 */
int worker_give(struct worker *worker, int file);

/*
 * Waits for the next message, which is valid until the next call. Returns 0; -EPIPE: the child has
 * ended, or was silent for WORKER_SILENCE_MAX; or -EBADMSG.
 */
int worker_next(struct worker *worker, struct message *message);

/*
 * Kills the child if it runs, and frees the worker's memory. why: buffer for a text that says why
 * the child ended, or NULL.
 */
void worker_end(struct worker *worker, char *why, size_t size);

/*
 * Called in the child: reads the addresses of the next request. Returns their number; 0: there are
 * no more requests.
 */
size_t worker_question(int socket, uint64_t addresses[WORKER_BATCH_MAX]);

/* Called in the child: waits for the requested file. Returns its descriptor or a negative errno. */
int worker_take(int socket);

/* Called in the child: restarts the time limit for one address. */
void worker_restart_clock(void);

#endif
