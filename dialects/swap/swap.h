/* SPDX-License-Identifier: MIT */
#ifndef SWAP_H
#define SWAP_H

/*
 * Declarations that the files of the SWAP writer share: the writer's state, and the state of each
 * process.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/hash_table.h"
#include "base/spill_sort.h"
#include "dialects/swap/load.h"
#include "dialects/places.h"
#include "dialects/outdir.h"
#include "dialects/swap/swap_apis.h"
#include "dialects/swap/swap_message.h"
#include "trace/trace.h"

/* The order of messages that have the same time. */
enum swap_rank { SWAP_RANK_PROCESS, SWAP_RANK_STATUS, SWAP_RANK_EVENT, SWAP_RANK_END };

#define SWAP_FD_UNKNOWN UINT64_MAX

struct swap_thread {
	uint32_t id;
	uint32_t context; /* context bits at its last event */
	uint64_t fd_call; /* the last call that had a separate event for its descriptor `fd` */
	uint64_t fd;
	struct {
		uint64_t fd, size;
		struct path path; /* path of the file; empty: there is no file */
	} file; /* the file that the thread's next call opens, with the kernel's path */
};

struct swap_fd {
	uint32_t fd;
	uint64_t size; /* size of the file in bytes */
	char *path;
};

/* The address of a function in a process. */
struct swap_function {
	uint32_t id; /* swap_api.id of the function */
	uint64_t address;
};

/* The relation of a process to the target, which is the first of the merged processes. */
enum swap_kin { SWAP_KIN_UNKNOWN, SWAP_KIN_TARGET, SWAP_KIN_DESCENDANT, SWAP_KIN_NONE };

struct swap_process {
	const struct trace_process *process;
	const struct trace_mapping *main; /* mapping of the executable; NULL: unknown */
	char *executable;
	ARRAY_OF(char *) arguments; /* the words of argv */
	/* descriptors that were open when the process started */
	ARRAY_OF(struct swap_fd) fds;
	ARRAY_OF(const struct trace_mapping *) mappings; /* mappings that exist now */
	/* mappings that were reported, but do not exist any more */
	ARRAY_OF(const struct trace_mapping *) gone;
	/* addresses from the ~functions notes, which come at the end */
	ARRAY_OF(struct swap_function) functions;
	uint32_t number; /* index in swap.processes */
	ARRAY_OF(struct swap_thread *) threads;
	struct hash_table by_thread;
	ARRAY_OF(char *) contexts; /* names of contexts, indexed by bit */
	struct load load;
	enum swap_kin kin;    /* set only in merged traces */
	struct places places; /* set only in merged traces */
	bool has_started;     /* whether the messages about its start were written */
	bool has_ended;
	size_t mapped;		    /* number of mappings that were reported */
	uint64_t start_ns, last_ns; /* times of its first and last message, in ns since 1970 */
	/* exec replaced an earlier image: earliest start of the present one; otherwise 0 */
	uint64_t least_ns;
	uint64_t zero_ns;	      /* start of the process, in the stream's time */
	uint64_t day_ns, previous_ns; /* used for times in ms, which restart at midnight */
};

struct swap {
	const struct trace *trace;
	enum swap_dialect dialect;
	bool is_merged;
	struct outdir directory;
	struct spill_sort sort;
	struct swap_apis apis;
	ARRAY_OF(struct swap_process *) processes;
	struct swap_process *last; /* process of the last event */
	ARRAY_OF(char *) missing;  /* sentences about facts that the trace lacks */
	/* indexed by id of the function; NULL: not looked up yet */
	ARRAY_OF(const struct swap_api *) functions;
	ARRAY_OF(struct swap_api *) strangers; /* functions without a hook */
	struct {
		struct pool pool;
		struct hash_table paths; /* the files that the target used */
		struct path path;	 /* a buffer for one path */
	} shared;
	uint64_t messages; /* number of messages that were written */
	struct {	   /* cache of call types, indexed by hash of the caller's address */
		const struct swap_process *process;
		uint64_t address;
		uint32_t type;
	} callers[1024];
};

/*
 * Begins a message, whose payload may have at most `most` bytes. Clamps *unix_ns to the lifetime of
 * the process. The caller fills in the message and passes it to swap_add().
 */
void swap_new(struct swap *swap, struct swap_process *process, struct swap_message *message,
	      enum swap_id id, uint64_t *unix_ns, size_t most);
void swap_add(struct swap *swap, struct swap_message *message, uint64_t unix_ns,
	      enum swap_rank rank);

/* Converts the stream's time to ns since 1970. */
uint64_t swap_unix(const struct swap_process *process, uint64_t time_ns);

/* Returns the entry of a thread, and adds it if necessary. */
struct swap_thread *swap_thread(struct swap_process *process, uint32_t id);

/*
 * In swap_calls.c: add the messages of a call, of an unfinished call (~open), and of a thread's
 * start and end.
 */
void swap_call(struct swap *swap, struct swap_process *process, const struct event *event);
void swap_open_call(struct swap *swap, struct swap_process *process, const struct event *event);
void swap_thread_start(struct swap *swap, struct swap_process *process, const struct event *event);
void swap_thread_end(struct swap *swap, struct swap_process *process, const struct event *event);

/*
 * In swap_shared.c: files that several merged processes use. swap_shared_see() must be called for
 * each event before the event is converted, and swap_shared_after() for each event of a call after
 * it is converted. fd: the descriptor of the call, or SWAP_FD_UNKNOWN. These functions do nothing
 * unless processes are merged.
 */
void swap_shared_init(struct swap *swap);
void swap_shared_free(struct swap *swap);
void swap_shared_see(struct swap *swap, struct swap_process *process, const struct event *event);
void swap_shared_after(struct swap *swap, struct swap_process *process, const struct event *event,
		       uint64_t fd);

/*
 * If a descendant of the target made the call, and the target has used the call's file, too, sets
 * *path to the file; otherwise to NULL. The path is valid until the next call of these functions.
 */
void swap_shared_path(struct swap *swap, struct swap_process *process, const struct event *event,
		      uint64_t fd, const char **path);

/* In swap_process.c: add the messages about a process. */
void swap_process_info(struct swap *swap, struct swap_process *process);
void swap_process_maps(struct swap *swap, struct swap_process *process, uint64_t unix_ns);
/*
 * swap_process_unmap() processes a ~unmap note. swap_process_return() is called for each call; if
 * the caller's mapping was unmapped, the function reports the mapping again.
 */
void swap_process_unmap(struct swap *swap, struct swap_process *process, const struct event *event);
void swap_process_return(struct swap *swap, struct swap_process *process, uint64_t caller,
			 uint64_t unix_ns);
void swap_terminate(struct swap *swap, struct swap_process *process, uint64_t unix_ns);

/* In swap_files.c: writes all files of the format. */
int swap_write_files(struct swap *swap, struct error *err);

/*
 * In swap_files.c: FUNCTION_* messages contain the address of the function, which the trace states
 * only at its end. Until then, the messages contain a mark instead, which identifies the process
 * and the function.
 */
uint64_t swap_function_mark(const struct swap_process *process, uint32_t id);
void swap_functions_take(struct swap *swap, struct swap_process *process,
			 const struct event *event);

/*
 * Whether this program has already written files of another process, so that the output directory
 * is not empty.
 */
bool swap_has_written(void);

#endif
