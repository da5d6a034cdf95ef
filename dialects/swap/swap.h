/* SPDX-License-Identifier: MIT */
#ifndef SWAP_H
#define SWAP_H

/* What the files of the SWAP writer share: its state, and the process that a message is of. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/table.h"
#include "base/timesort.h"
#include "dialects/swap/load.h"
#include "dialects/places.h"
#include "dialects/outdir.h"
#include "dialects/swap/swap_apis.h"
#include "dialects/swap/swap_message.h"
#include "trace/trace.h"

/* Ranks of messages that have the same time. */
enum swap_rank { SWAP_RANK_PROCESS, SWAP_RANK_STATUS, SWAP_RANK_EVENT, SWAP_RANK_END };

#define SWAP_FD_UNKNOWN UINT64_MAX

/* What is remembered of a thread. */
struct swap_thread {
	uint32_t id;
	uint32_t context; /* bits, as its last event had them */
	uint64_t fd_call; /* the call whose part said a descriptor */
	uint64_t fd;
	struct {
		uint64_t fd, size;
		struct path path; /* empty: none */
	} file; /* that the call before its event has opened, as the kernel calls it */
};

struct swap_fd {
	uint32_t fd;
	uint64_t size; /* bytes of the file */
	char *path;
};

/* Where a function began in a process. */
struct swap_function {
	uint32_t id; /* of its API */
	uint64_t address;
};

/* What a process is to the first of several that are merged. */
enum swap_kin { SWAP_KIN_UNKNOWN, SWAP_KIN_TARGET, SWAP_KIN_DESCENDANT, SWAP_KIN_NONE };

struct swap_process {
	const struct trace_process *process;
	const struct trace_mapping *main; /* the executable's; NULL: not known */
	char *executable;
	ARRAY_OF(char *) arguments;			 /* argv */
	ARRAY_OF(struct swap_fd) fds;			 /* open at the start */
	ARRAY_OF(const struct trace_mapping *) mappings; /* there now */
	ARRAY_OF(const struct trace_mapping *) gone;	 /* told, and unmapped since */
	ARRAY_OF(struct swap_function) functions;	 /* that were called, as the end says */
	uint32_t number;				 /* place in swap.processes */
	ARRAY_OF(struct swap_thread *) threads;
	struct table by_thread;
	ARRAY_OF(char *) contexts; /* names, by bit */
	struct load load;
	enum swap_kin kin;    /* of merged processes */
	struct places places; /* likewise */
	bool has_started;     /* the first call was there */
	bool has_ended;
	size_t mapped;		    /* mappings that were told */
	uint64_t start_ns, last_ns; /* since 1970, of its messages */
	uint64_t least_ns; /* the image before it, which an exec ended, was there until then */
	uint64_t zero_ns;  /* time of the stream that is the start of the process */
	uint64_t day_ns, previous_ns; /* times in ms begin anew each day */
};

struct swap {
	const struct trace *trace;
	enum swap_dialect dialect;
	bool force, has_failed, is_merged;
	struct outdir directory;
	struct timesort sort;
	struct swap_apis apis;
	ARRAY_OF(struct swap_process *) processes;
	struct swap_process *last;		     /* of the last event */
	ARRAY_OF(char *) missing;		     /* sentences on what is not there */
	ARRAY_OF(const struct swap_api *) functions; /* by id of the function; NULL: not met yet */
	ARRAY_OF(struct swap_api *) strangers;	     /* called, and no hook of ours */
	struct {
		struct pool pool;
		struct table paths; /* that the target has used */
		struct path path;   /* scratch */
	} shared;
	uint64_t messages; /* that were written */
	struct {	   /* what was found for a caller's address last, by its hash */
		const struct swap_process *process;
		uint64_t address;
		uint32_t type;
	} callers[1024];
};

/*
 * Begins a message of at most `most` bytes of payload; unix_ns is set right where it is before the
 * process began. swap_add() takes it. Both return 0 or a negative errno.
 */
int swap_new(struct swap *swap, struct swap_process *process, struct swap_message *message,
	     enum swap_id id, uint64_t *unix_ns, size_t most, struct error *err);
void swap_add(struct swap *swap, struct swap_process *process, struct swap_message *message,
	      uint64_t unix_ns, enum swap_rank rank);

/* ns since 1970 of a time of the stream. */
uint64_t swap_unix(const struct swap_process *process, uint64_t time_ns);

/* The thread of an event. */
struct swap_thread *swap_thread(struct swap_process *process, uint32_t id);

/* swap_calls.c: the messages of a call, of one that was open at the end (~open), of a thread. */
int swap_call(struct swap *swap, struct swap_process *process, const struct event *event,
	      struct error *err);
int swap_open_call(struct swap *swap, struct swap_process *process, const struct event *event,
		   struct error *err);
int swap_thread_start(struct swap *swap, struct swap_process *process, const struct event *event,
		      struct error *err);
int swap_thread_end(struct swap *swap, struct swap_process *process, const struct event *event,
		    struct error *err);

/*
 * swap_shared.c: files of merged processes. swap_shared_see() hears every event before it is told,
 * swap_shared_after() every event of a call afterwards. fd: of the call, or SWAP_FD_UNKNOWN. All do
 * nothing where processes are not merged.
 */
void swap_shared_init(struct swap *swap);
void swap_shared_free(struct swap *swap);
void swap_shared_see(struct swap *swap, struct swap_process *process, const struct event *event);
void swap_shared_after(struct swap *swap, struct swap_process *process, const struct event *event,
		       uint64_t fd);

/*
 * *path: of the file that a call touches, if a descendant touches what the target has used; else
 * NULL. It lives until the next call of these.
 */
void swap_shared_path(struct swap *swap, struct swap_process *process, const struct event *event,
		      uint64_t fd, const char **path);

/* swap_marks.c: PROBE_CUSTOM. */
int swap_mark(struct swap *swap, struct swap_process *process, const struct event *event,
	      const char *text, struct error *err);
int swap_context_change(struct swap *swap, struct swap_process *process, const struct event *event,
			struct error *err);

/* swap_process.c: what is told of a process. */
int swap_process_info(struct swap *swap, struct swap_process *process, struct error *err);
int swap_process_maps(struct swap *swap, struct swap_process *process, uint64_t unix_ns,
		      struct error *err);
/* A ~unmap note; and a call from code that may have been unmapped and mapped again since. */
int swap_process_unmap(struct swap *swap, struct swap_process *process, const struct event *event,
		       struct error *err);
int swap_process_return(struct swap *swap, struct swap_process *process, uint64_t caller,
			uint64_t unix_ns, struct error *err);
int swap_terminate(struct swap *swap, struct swap_process *process, uint64_t unix_ns,
		   struct error *err);

/* swap_system.c: MSG_SYSTEM and MSG_SAMPLE of a ~sample. */
int swap_sample(struct swap *swap, struct swap_process *process, const struct event *event,
		struct error *err);

/* swap_files.c: all files of the format, with their names. */
int swap_write_files(struct swap *swap, struct error *err);

/*
 * swap_functions.c: FUNCTION_* have the function's address, which the trace says at its end. Until
 * then the process and the function's number stand there, as swap_function_mark() has them.
 */
uint64_t swap_function_mark(const struct swap_process *process, uint32_t id);
void swap_functions_take(struct swap *swap, struct swap_process *process,
			 const struct event *event);
/* Puts the address into a whole message, if it is of a function and the address is known. */
void swap_functions_settle(const struct swap *swap, char *message);

/* Whether this run of the program has done so, so that what is in the directory is its own. */
bool swap_has_written(void);

#endif
