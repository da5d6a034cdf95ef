/* SPDX-License-Identifier: MIT */
#ifndef SWAP_H
#define SWAP_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "account/ledger.h"
#include "base/array.h"
#include "base/error.h"
#include "base/hash_table.h"
#include "base/pool.h"
#include "base/spill_sort.h"
#include "dialects/outdir.h"
#include "dialects/places.h"
#include "hooks.h"
#include "trace/event.h"
#include "trace/trace.h"

/* ---- messages ---- */

/*
 * Encodes SWAP messages. They are packed and little-endian; texts end with NUL and have no length
 * field. The sequence number is set later, when the messages have been sorted.
 */

#define SWAP_HEADER_SIZE     20u
#define SWAP_SEQUENCE_OFFSET 4u

enum swap_dialect {
	SWAP_DIALECT_DOC,   /* according to the document */
	SWAP_DIALECT_TIZEN, /* as written by SWAP's producers of 2016 */
};

enum swap_id {
	SWAP_PROCESS_INFO = 0x0001,
	SWAP_TERMINATE = 0x0002,
	SWAP_ERROR = 0x0003,
	SWAP_SAMPLE = 0x0004,
	SWAP_SYSTEM = 0x0005,
	SWAP_FUNCTION_ENTRY = 0x0008,
	SWAP_FUNCTION_EXIT = 0x0009,
	SWAP_FILE_FUNCTION_ENTRY = 0x000c,
	SWAP_FILE_FUNCTION_EXIT = 0x000d,
	SWAP_PROCESS_STATUS_INFO = 0x000e,
	SWAP_PROCESS_MAP = 0x0012,
	SWAP_PROCESS_UNMAP = 0x0013,
	SWAP_PROBE_MEMORY = 0x0101,
	SWAP_PROBE_FILE = 0x0104,
	SWAP_PROBE_THREAD = 0x0108,
	SWAP_PROBE_CUSTOM = 0x0109,
	SWAP_PROBE_SYNC = 0x0110,
	SWAP_PROBE_NETWORK = 0x0111,
};

/* The arguments that come after the path in FILE_FUNCTION_ENTRY. */
enum swap_file_argument { SWAP_FILE_ARGUMENT_NONE, SWAP_FILE_ARGUMENT_OPEN };

/* A message that is being encoded. The buffer must be large enough for the message. */
struct swap_message {
	char *start, *at;
	enum swap_dialect dialect;
};

static inline void swap_put_u32(struct swap_message *message, uint32_t value)
{
	value = htole32(value);
	memcpy(message->at, &value, 4);
	message->at += 4;
}

static inline void swap_put_u64(struct swap_message *message, uint64_t value)
{
	value = htole64(value);
	memcpy(message->at, &value, 8);
	message->at += 8;
}

static inline void swap_put_f32(struct swap_message *message, float value)
{
	uint32_t word;

	memcpy(&word, &value, 4);
	swap_put_u32(message, word);
}

static inline void swap_put_char(struct swap_message *message, char character)
{
	*message->at++ = character;
}

static inline void swap_put_text(struct swap_message *message, const char *text)
{
	size_t size = strlen(text) + 1;

	memcpy(message->at, text, size);
	message->at += size;
}

/*
 * Adds a time: 4 bytes of seconds and 4 bytes of ns. According to the document, the seconds are the
 * upper half of the 8 bytes; SWAP's producers write the seconds to the lower half.
 */
static inline void swap_put_time(struct swap_message *message, uint64_t unix_ns)
{
	uint64_t seconds = unix_ns / 1000000000, rest = unix_ns % 1000000000;

	swap_put_u64(message, message->dialect == SWAP_DIALECT_DOC
				      ? seconds << 32 | rest
				      : rest << 32 | (uint32_t)seconds);
}

static inline void swap_begin(struct swap_message *message, char *room, enum swap_dialect dialect,
			      enum swap_id id, uint64_t unix_ns)
{
	message->start = message->at = room;
	message->dialect = dialect;
	swap_put_u32(message, id);
	swap_put_u32(message, 0);
	swap_put_time(message, unix_ns);
	swap_put_u32(message, 0);
}

/* Sets the payload size. Returns the size of the whole message. */
static inline size_t swap_end(struct swap_message *message)
{
	size_t size = (size_t)(message->at - message->start);

	message->at = message->start + SWAP_HEADER_SIZE - 4;
	swap_put_u32(message, (uint32_t)(size - SWAP_HEADER_SIZE));
	return size;
}

/* ---- functions ---- */

/*
 * The hooked functions in SWAP's terms: number, probe, letters for the types of arguments and
 * result, and the places in an event where the values of the arguments are. The table is generated
 * from hooks.def and swap_apis.def.
 */

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

/* ---- load ---- */

/*
 * The state of the machine and of the process, from the ~sample notes that --sample-system records.
 * The struct also has, for counters, the increase since the previous sample and, for processor
 * times, percentages. At the first sample, these are 0.
 */

#define LOAD_CPUS_MAX 1024u

struct load_cpu {
	float khz, percent; /* percent: load of the processor */
	uint64_t busy, total;
};

struct load_thread {
	uint32_t id, cpu;
	char state;    /* R, S, D ... as in proc(5) */
	float percent; /* load, in percent of one processor */
	uint64_t ticks;
};

enum load_counter {
	LOAD_READS,
	LOAD_SECTORS_READ,
	LOAD_WRITES,
	LOAD_SECTORS_WRITTEN,
	LOAD_SENT,
	LOAD_RECEIVED,
	LOAD_COUNTERS
};

struct load {
	uint64_t samples; /* number of samples so far; 0: the other members are not valid */
	uint64_t time_ns; /* time of the last sample */
	ARRAY_OF(struct load_cpu) cpus;
	struct {
		/* sorted by id; before: the threads of the previous sample */
		struct load_thread *items, *before;
		size_t count, before_count, capacity, before_capacity;
	} threads;
	uint64_t memory_bytes, drive_mib;
	uint64_t counters[LOAD_COUNTERS];    /* values at the last sample */
	uint64_t differences[LOAD_COUNTERS]; /* increase since the previous sample */
	uint64_t ticks;
	float percent; /* load of the process in percent; above 100 if it uses several processors */
	uint64_t virtual_bytes, resident_bytes, shared_bytes, pss_bytes;
	uint64_t held_bytes;   /* live memory that was allocated after the first sample */
	struct ledger *ledger; /* live memory; created at the first sample */
};

void load_init(struct load *load);
void load_free(struct load *load);

/* Processes a ~sample note. */
void load_sample(struct load *load, const struct event *event);

/* Processes a call that allocates or frees memory. */
void load_event(struct load *load, const struct event *event);

/* ---- the writer ---- */

/*
 * Declarations that the files of the SWAP writer share: the writer's state, and the state of each
 * process.
 */

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
	} file; /* the file that the thread's next call opens; path: as the kernel resolved it */
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
	/* earliest possible start of this image if exec replaced an earlier one; otherwise 0 */
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
