/* SPDX-License-Identifier: MIT */
#ifndef EVENT_H
#define EVENT_H

/*
 * The events of a trace of any format, in the order of the stream. An event is a call, or a fact
 * that later calls refer to (a mapping, a class of resources ...).
 *
 * Lifetime: an event, its arguments and its comment live until the next trace_next(). Everything
 * else that an event points to (function, resource, backtrace, mapping ...) lives as long as the
 * trace, unchanged and at the same address, so pointers may be kept and compared.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "terms.h"
#include "trace/nodes.h"
#include "wire.h"

struct hook; /* declared in hook_table.h */

enum event_kind {
	EVENT_STREAM,	  /* a stream starts (the first one, or an appended one), with its own
			     indices, classes, contexts and mappings */
	EVENT_PROCESS,	  /* event->process is now known, from a PINF packet or a text header */
	EVENT_TRACER,	  /* a tracer is named: event->tracer */
	EVENT_MAPPING,	  /* a file was mapped: event->mapping */
	EVENT_CONTEXT,	  /* a context was defined: event->call_context */
	EVENT_RESOURCE,	  /* a class was registered: event->resource */
	EVENT_ATTACHMENT, /* a file was attached: event->attachment */
	EVENT_HEAP,	  /* the heap's state: event->heap */
	EVENT_COMMENT,	  /* event->comment: a line of a text trace that has no other meaning */
	EVENT_NOTE,	  /* a note, whose name begins with '~'; it has all members of a call */
	EVENT_CALL,
};

_Static_assert(EVENT_CALL == EVENT_NOTE + 1,
	       "event_is_call() needs EVENT_NOTE directly before EVENT_CALL");

/* The process of a stream. Strings that the stream does not contain are NULL. */
struct trace_process {
	unsigned section;      /* number of the stream in its file, from 1 */
	bool is_text;	       /* the stream is text, and `headers` holds its first line */
	bool has_tails;	       /* written by holdtrace: the members from `session` on are set */
	const char *arch;      /* the machine, such as "x86_64" */
	unsigned major, minor; /* version of the stream's protocol */
	unsigned pointer_size; /* bytes of a pointer: 4 or 8; 0: not known (text) */
	bool is_big_endian;
	bool has_process; /* the stream has a PINF packet or a text header */
	uint32_t pid;
	uint32_t seconds, microseconds; /* start of the trace, as time since 1970; 0: not known */
	int64_t depth;			/* maximum number of frames in a backtrace, -1: not known */
	const char *name;
	/* The pairs of a text header, in their order and unchanged. */
	const struct wire_value *headers;
	size_t header_count;
	/* from the tail of the PINF packet */
	uint64_t session[2]; /* lower and upper half of the run's id */
	uint32_t stream, parent_stream, parent_pid;
	uint64_t start_ns;    /* start of the process: CLOCK_MONOTONIC in ns */
	uint64_t realtime_ns; /* a time of the stream plus this value is ns since 1970 */
};

struct trace_tracer {
	uint32_t id, version; /* version: major << 16 | minor */
	const char *name;
};

struct trace_mapping {
	uint64_t from, to; /* holdtrace-text(5) defines the meaning of `from` */
	const char *path;
	uint64_t since;	       /* valid after the call with this index; 0: from the start */
	uint32_t id;	       /* number from 0, in order of appearance in the whole trace */
	bool has_tail;	       /* the following members are set */
	uint64_t code, offset; /* start of the executable mapping and its offset in the file */
	const char *build_id;  /* hexadecimal digits, "": unknown */
};

struct trace_context {
	uint32_t bit;
	const char *name;
};

/* A class of resources as the stream registers it. */
struct resource_class {
	uint32_t id;	    /* number from 0, in order of appearance in the whole trace */
	uint32_t ordinal;   /* number in the stream, 1 to 32 if valid; 0: the only class of a text
			       trace without types */
	uint32_t flags;	    /* bit 0: counted, an object may be acquired several times */
	bool is_registered; /* false: no RESR packet defined the ordinal; type is "" */
	const char *type;
	const char *description;
	enum resource known; /* the row of resources.def with this type, or RESOURCE_NONE */
};

struct trace_attachment {
	const char *name;
	const char *path; /* for output only: the reader never opens it */
};

struct trace_heap {
	struct wire_heap state;
};

struct function {
	uint32_t id; /* number from 0, in order of appearance, so that it can index an array */
	uint32_t length;
	const char *name;
	const struct hook *hook; /* the row of hooks.def with this name, or NULL */
};

/* id of a backtrace whose node is in the address map of a run (naming/address_space.h) */
#define BACKTRACE_OF_SPACE UINT32_MAX

struct backtrace {
	uint32_t id; /* number from 0, in order of appearance */
	uint32_t count;
	/*
	 * epoch of the registry (trace/registry.h) when the backtrace was taken: in another epoch,
	 * the same addresses may belong to other code
	 */
	uint32_t epoch;
	bool has_row; /* internal to the registry: an array of the frames follows this struct */
	const struct trace_node *node; /* node of the innermost frame */
	/* texts after the frames' addresses (NULL: none); the list is NULL if there are no texts */
	const char *const *texts;
};

struct event {
	enum event_kind kind;
	union { /* `kind` selects the member */
		const struct trace_tracer *tracer;
		const struct trace_mapping *mapping;
		const struct trace_context *call_context;
		const struct trace_attachment *attachment;
		const struct trace_heap *heap;
		const char *comment; /* the whole line without its newline */
	};
	const struct trace_process *process; /* never NULL: the stream of the event */

	/* the following members are set for calls and notes */
	/*
	 * number of the call, from 1; in a text trace, the number in the line; for a comment, the
	 * number of the previous call
	 */
	uint64_t index;
	const struct function *function;
	const struct resource_class
		*resource;   /* never NULL for a call or note; see is_registered */
	uint32_t context;    /* bits of the contexts that were entered */
	uint32_t time_ms;    /* time of the call in ms modulo 24 h; 0: not known */
	enum call_type type; /* alloc: the call acquired the object; free: the call released it */
	/* from the tail; without a tail, from the function's hook; without a hook, from `type` */
	enum operation operation;
	uint64_t object;
	uint64_t size;
	uint32_t argument_count;
	/* true: a whole, successful call without arguments that acquired or released the object */
	bool is_simple;
	const struct wire_value *arguments;
	const struct backtrace
		*backtrace; /* NULL: not recorded; a recorded backtrace may have 0 frames */

	/* the following members are 0 without a tail, except time_ns (computed from time_ms) */
	bool has_tail;
	uint8_t moment;	 /* enum moment: ENTER, LEAVE or HALF */
	uint8_t part;	 /* 0: the call itself; 1, 2 ...: a further object of the call */
	uint8_t flags;	 /* bits of enum call_flag */
	uint32_t thread; /* kernel's thread id */
	uint32_t cpu;	 /* 0xffffffff: not known */
	uint32_t depth;	 /* number of hooked calls that enclose this call */
	uint32_t error;	 /* errno after the call */
	uint64_t pthread;
	uint64_t call;	  /* number of the call in its thread; shared by its halves and parts */
	uint64_t time_ns; /* time of the operation: enter_ns or leave_ns, depending on moment */
	uint64_t enter_ns, leave_ns;
	uint64_t related;
	uint64_t result;
	uint64_t frame;
};

static inline bool event_is_call(const struct event *event)
{
	return event->kind >= EVENT_NOTE; /* EVENT_NOTE and EVENT_CALL are the last two kinds */
}

static inline bool event_is_alloc(const struct event *event)
{
	return event->kind == EVENT_CALL && event->type == CALL_TYPE_ALLOC;
}

static inline bool event_is_free(const struct event *event)
{
	return event->kind == EVENT_CALL && event->type == CALL_TYPE_FREE;
}

/* Returns the value of the argument with this name, or NULL. */
const char *event_argument(const struct event *event, const char *name);

/* Returns the path, name or address that the call is about, or "" if the event has none. */
const char *event_target(const struct event *event);

/*
 * Returns a word for the effect of a call on its object: acquired, released, used or failed. A call
 * that should have acquired or released the object, but did not, has failed.
 */
const char *event_effect(const struct event *event);

/*
 * The time of the end that an ~end note reports: when the process or thread announced its end or,
 * without an announcement, when the collector noticed the end.
 */
uint64_t event_end_ns(const struct event *event);

/*
 * Returns the value of the argument with this name, a decimal number or (with 0x) a hexadecimal
 * number. Returns 0 if the event has no such argument.
 */
uint64_t event_number(const struct event *event, const char *name);

/*
 * A compact copy of a call, for code that needs the call later. The function, class and backtrace
 * that the copy points to live as long as the trace.
 */
struct kept_call {
	uint64_t index, object, size, time_ns;
	const struct function *function;
	const struct resource_class *resource;
	const struct backtrace *backtrace; /* NULL: the call has none */
	struct wire_value *arguments;	   /* one block, including the texts; NULL: none */
	uint32_t context, time_ms;
	uint32_t thread;
	uint32_t section; /* section of the call's process, see trace_section() */
	uint32_t count;	  /* a number for use by the view; initially 1 */
	uint16_t argument_count;
	uint8_t type; /* enum call_type */
};

/*
 * Copies the arguments of a call into one block, which the caller frees with free(). The list ends
 * with an argument whose name is NULL. Returns NULL if no memory is left.
 */
struct wire_value *keep_arguments(const struct event *event);

/*
 * Makes an event from the copy of a call. Of the members that come from the packet's tail, only the
 * thread is set.
 */
void keep_event(const struct kept_call *kept, const struct trace_process *process,
		struct event *event);

#endif
