/* SPDX-License-Identifier: MIT */
#ifndef SWAP_APIS_H
#define SWAP_APIS_H

/*
 * The hooked functions in SWAP's terms: number, probe, letters for the types of arguments and
 * result, and the places in an event where the values of the arguments are. The table is generated
 * from hooks.def and swap_apis.def.
 */

#include <stdbool.h>
#include <stdint.h>

#include "hooks.h"

/* The types of messages of each probe. SWAP_NONE: there is no message. */
enum swap_type {
	SWAP_MEMORY_ALLOC = 0,
	SWAP_MEMORY_FREE = 1,
	SWAP_FILE_OPEN = 0,
	SWAP_FILE_CLOSE = 1,
	SWAP_FILE_DIRECTORY = 6,
	SWAP_FILE_OTHER = 8,
	SWAP_THREAD_START = 1,
	SWAP_THREAD_STOP = 2,
	SWAP_THREAD_EXIT = 3,
	SWAP_THREAD_WAIT_START = 4,
	SWAP_THREAD_WAIT_END = 5,
	SWAP_THREAD_INTERNAL_START = 6,
	SWAP_THREAD_INTERNAL_STOP = 7,
	SWAP_THREAD_OTHER = 8,
	SWAP_SYNC_NEW = 0,
	SWAP_SYNC_ACQUIRE_START = 1,
	SWAP_SYNC_ACQUIRE_END = 2,
	SWAP_SYNC_RELEASE = 3,
	SWAP_SYNC_TRY = 4,
	SWAP_SYNC_WAIT_START = 5,
	SWAP_SYNC_WAIT_END = 6,
	SWAP_SYNC_NOTIFY = 7,
	SWAP_SYNC_NOTIFY_ALL = 8,
	SWAP_SYNC_OTHER = 9,
	SWAP_NETWORK_OPEN = 0,
	SWAP_NETWORK_RECEIVE_END = 3,
	SWAP_NETWORK_BIND = 6,
	SWAP_NETWORK_CONNECT = 8,
	SWAP_NETWORK_ACCEPT_START = 9,
	SWAP_NETWORK_ACCEPT_END = 10,
	SWAP_NONE = 255,
};

/* The types of objects in messages of PROBE_SYNC. */
enum swap_object {
	SWAP_OBJECT_0 = 0, /* used in messages of all other probes */
	SWAP_OBJECT_SEMAPHORE = 2,
	SWAP_OBJECT_MUTEX = 3,
	SWAP_OBJECT_CONDITION = 4,
	SWAP_OBJECT_RWLOCK = 5,
	SWAP_OBJECT_SPINLOCK = 6,
	SWAP_OBJECT_BARRIER = 7,
};

enum swap_probe {
	SWAP_FUNCTION, /* the function has no probe: FUNCTION_ENTRY and FUNCTION_EXIT are written */
	SWAP_MEMORY,
	SWAP_FILE,
	SWAP_THREAD,
	SWAP_SYNC,
	SWAP_NETWORK,
};

/* The place of a value in an event: one of its members, or a named argument. */
enum swap_source {
	SWAP_FROM_OBJECT,
	SWAP_FROM_RELATED,
	SWAP_FROM_SIZE,
	SWAP_FROM_COUNT, /* `size` divided by `related` */
	SWAP_FROM_ARGUMENT,
};

struct swap_argument {
	char letter; /* SWAP's letter: d, x, p or s */
	uint8_t source;
	uint8_t index;	  /* for SWAP_FROM_ARGUMENT: index in the row of the hook */
	const char *name; /* for SWAP_FROM_ARGUMENT: name of the argument */
};

struct swap_api {
	const char *name;
	uint32_t id;
	uint8_t probe, object_type, start, end; /* see the enums above */
	bool is_each; /* one message for each descriptor, instead of one for each call */
	/* whether the function does not return, or is exec; its message is then written at entry */
	bool is_last;
	char result; /* letter of the result; v: it has none */
	uint8_t count;
	struct swap_argument arguments[HOOK_ARGUMENTS_MAX];
};

struct swap_apis {
	struct swap_api hooks[HOOK_COUNT];
};

/* The numbers of SWAP's own functions. */
#define SWAP_API_MARK	     2u	  /* da_mark */
#define SWAP_API_THREAD_END  480u /* _da_cleanup_handler */
#define SWAP_API_THREAD_PROC 481u /* _da_ThreadProc */

/* holdtrace's own functions, numbered by swap_api_id(). */
#define SWAP_CONTEXT_ENTER "~context-enter"
#define SWAP_CONTEXT_LEAVE "~context-leave"

void swap_apis_init(struct swap_apis *apis);

/*
 * Returns the number of a function to which SWAP has given none: a hash of its name, at least
 * 0x10000000.
 */
uint32_t swap_api_id(const char *name);

#endif
