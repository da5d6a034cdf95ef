/* SPDX-License-Identifier: MIT */
/*
 * The messages of calls. A call that can wait has a message at its entry and another at its return.
 * Other calls have one message, for their acquisition or release. A call to a function without a
 * SWAP probe has a FUNCTION_ENTRY and a FUNCTION_EXIT. Messages contain those arguments whose
 * values are in the trace, in the order of the function's parameters.
 */
#include "dialects/swap/swap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "hook_table.h"

#define FIXED_MOST 512 /* maximum size in bytes of a message without its texts */

/* A message about a call, while it is being written. */
struct part {
	const struct event *event;
	const struct swap_api *api;
	uint64_t fd;
	/* whether the message is about the entry, when result and effect are not yet known */
	bool is_start;
	/* for FILE: the thread whose `file` has the facts about the opened file */
	const struct swap_thread *thread;
	/* for FILE_FUNCTION: path of the file; NULL: the message has another type */
	const char *path;
};

/* ---- fields of all probes ---- */

/*
 * Returns the maximum size of a message about a call. A message contains each text at most once,
 * and a path at most twice.
 */
static size_t most_of(const struct event *event)
{
	size_t most = FIXED_MOST;

	for (uint32_t i = 0; i < event->argument_count; i++)
		most += 2 * strlen(event->arguments[i].value) + 16;
	return most;
}

/* Parses a number in one of the forms that arguments in a trace have: "0x1f", "0644", "-1". */
static uint64_t number_of(const char *text)
{
	return *text == '-' ? (uint64_t)strtoll(text, NULL, 10) : strtoull(text, NULL, 0);
}

static void put_value(struct swap_message *message, char letter, uint64_t value)
{
	swap_put_char(message, letter);
	if (letter == 'd')
		swap_put_u32(message, (uint32_t)value);
	else
		swap_put_u64(message, value);
}

static bool put_argument(struct swap_message *message, const struct event *event,
			 const struct swap_argument *argument)
{
	const char *text = NULL;

	switch ((enum swap_source)argument->source) {
	case SWAP_FROM_OBJECT:
		put_value(message, argument->letter, event->object);
		return true;
	case SWAP_FROM_RELATED:
		put_value(message, argument->letter, event->related);
		return true;
	case SWAP_FROM_SIZE:
		put_value(message, argument->letter, event->size);
		return true;
	case SWAP_FROM_COUNT:
		put_value(message, argument->letter,
			  event->related ? event->size / event->related : 0);
		return true;
	case SWAP_FROM_ARGUMENT:
		/*
		 * tries its index in the hook's row first; the index is different if an earlier
		 * argument is a long text that is split into parts
		 */
		if (argument->index < event->argument_count &&
		    !strcmp(event->arguments[argument->index].name, argument->name))
			text = event->arguments[argument->index].value;
		else
			text = event_argument(event, argument->name);
		break;
	}
	if (!text)
		return false;
	if (argument->letter == 's') {
		swap_put_char(message, 's');
		swap_put_text(message, text);
	} else {
		put_value(message, argument->letter, number_of(text));
	}
	return true;
}

static void put_arguments(struct swap_message *message, const struct part *part)
{
	char *at = message->at, *end;
	uint32_t count = 0;

	swap_put_u32(message, 0);
	for (uint8_t i = 0; i < part->api->count; i++)
		count += put_argument(message, part->event, &part->api->arguments[i]);
	end = message->at;
	message->at = at;
	swap_put_u32(message, count);
	message->at = end;
}

/*
 * Writes the result of a call. For a void function, writes the int 0, because the document has no
 * letter for void, and readers cannot skip an unknown letter.
 */
static void put_result(struct swap_message *message, const struct part *part)
{
	char letter = part->api->result;

	if (letter == 'v' && message->dialect == SWAP_DIALECT_TIZEN)
		swap_put_char(message, 'v');
	else
		put_value(message, letter == 'v' ? 'd' : letter,
			  part->is_start || letter == 'v' ? 0 : part->event->result);
}

static uint64_t caller_of(const struct event *event)
{
	return event->backtrace && event->backtrace->count ? event->backtrace->node->address : 0;
}

/*
 * Returns the type of a call, which says what code made the call. 0: unknown; 1: a library; 2: the
 * program itself.
 */
static uint32_t call_type(struct swap *swap, const struct swap_process *process, uint64_t caller)
{
	size_t place = (caller ^ caller >> 10) % (sizeof(swap->callers) / sizeof(*swap->callers));
	const struct trace_mapping *mapping;

	if (!caller)
		return 0;
	if (swap->callers[place].address != caller || swap->callers[place].process != process) {
		mapping = trace_mapping_at(swap->trace, caller - 1);
		swap->callers[place].process = process;
		swap->callers[place].address = caller;
		swap->callers[place].type = !mapping ? 0 : mapping == process->main ? 2 : 1;
	}
	return swap->callers[place].type;
}

/* ---- fields of one probe ---- */

static void put_memory(struct swap_message *message, const struct part *part)
{
	bool is_free = part->api->end == SWAP_MEMORY_FREE;

	swap_put_u64(message, is_free ? 0 : part->event->size);
	swap_put_u32(message, part->api->end);
	swap_put_u64(message, part->event->object);
}

/* Returns the path with which a call opened a descriptor; "" for other calls. */
static const char *path_of(const struct part *part)
{
	const char *path;

	if (part->api->end != SWAP_FILE_OPEN && part->api->end != SWAP_FILE_DIRECTORY)
		return "";
	if (part->thread)
		return part->thread->file.path.text;
	path = event_argument(part->event, "path");
	if (!path)
		path = event_argument(part->event, "name");
	if (!path && !strncmp(part->api->name, "tmpfile", 7))
		path = "<temp file>";
	return path ? path : "";
}

static void put_file(struct swap_message *message, const struct part *part)
{
	swap_put_u64(message, 0);
	swap_put_u64(message, part->fd);
	swap_put_u32(message, part->is_start ? part->api->start : part->api->end);
	swap_put_u64(message, part->thread ? part->thread->file.size : 0);
	swap_put_text(message, path_of(part));
}

static void put_thread(struct swap_message *message, const struct part *part)
{
	bool is_exit = part->api->end == SWAP_THREAD_EXIT;

	swap_put_u64(message, is_exit ? part->event->pthread : part->event->object);
	swap_put_u64(message, 0);
	swap_put_u32(message, 0);
	swap_put_u32(message, part->is_start ? part->api->start : part->api->end);
	swap_put_text(message, "");
}

static void put_sync(struct swap_message *message, const struct part *part)
{
	swap_put_u64(message, part->event->object);
	swap_put_u32(message, part->api->object_type);
	swap_put_u32(message, part->is_start ? part->api->start : part->api->end);
}

static void put_network(struct swap_message *message, const struct part *part)
{
	const char *listening = part->is_start ? event_argument(part->event, "sockfd") : NULL;
	const char *text;
	uint32_t byte[5] = { 0 };
	char rest = 0;
	bool is_v4;

	swap_put_u64(message, 0);
	/* at the entry of accept(), the only descriptor is the listening socket */
	swap_put_u64(message, listening ? number_of(listening) : part->fd);
	swap_put_u32(message, part->is_start ? part->api->start : part->api->end);
	text = part->is_start ? NULL : event_argument(part->event, "address");
	is_v4 = text && sscanf(text, "%3u.%3u.%3u.%3u:%5u%c", &byte[0], &byte[1], &byte[2],
			       &byte[3], &byte[4], &rest) == 5;
	/* an address such as "127.0.0.1:80": IPv4 in network byte order and port, or zeros */
	for (int i = 0; i < 4; i++)
		swap_put_char(message, is_v4 ? (char)byte[i] : 0);
	swap_put_u32(message, is_v4 ? byte[4] : 0);
	swap_put_u64(message, 0);
}

static const struct {
	enum swap_id id;
	void (*put)(struct swap_message *message, const struct part *part);
} probes[] = {
	[SWAP_MEMORY] = { SWAP_PROBE_MEMORY, put_memory },
	[SWAP_FILE] = { SWAP_PROBE_FILE, put_file },
	[SWAP_THREAD] = { SWAP_PROBE_THREAD, put_thread },
	[SWAP_SYNC] = { SWAP_PROBE_SYNC, put_sync },
	[SWAP_NETWORK] = { SWAP_PROBE_NETWORK, put_network },
};

static void add_probe(struct swap *swap, struct swap_process *process, const struct part *part,
		      uint64_t time_ns)
{
	uint64_t unix_ns = swap_unix(process, time_ns);
	size_t path = part->thread ? part->thread->file.path.length : 0;
	struct swap_message message;
	uint64_t caller = caller_of(part->event);
	uint32_t type;

	swap_new(swap, process, &message, probes[part->api->probe].id, &unix_ns,
		 most_of(part->event) + path);
	type = call_type(swap, process, caller);
	swap_put_u32(&message, part->api->id);
	swap_put_u32(&message, process->process->pid);
	swap_put_u32(&message, part->event->thread);
	put_arguments(&message, part);
	put_result(&message, part);
	swap_put_u64(&message, part->is_start ? 0 : part->event->error);
	swap_put_u32(&message, swap->dialect == SWAP_DIALECT_DOC ? type - 1 : type);
	swap_put_u64(&message, caller);
	swap_put_u64(&message, 0); /* reserved */
	probes[part->api->probe].put(&message, part);
	swap_add(swap, &message, unix_ns, SWAP_RANK_EVENT);
}

/* ---- functions without a probe ---- */

static void add_function(struct swap *swap, struct swap_process *process, const struct part *part,
			 uint64_t time_ns)
{
	uint64_t unix_ns = swap_unix(process, time_ns);
	struct swap_message message;

	swap_new(swap, process, &message, part->is_start ? SWAP_FUNCTION_ENTRY : SWAP_FUNCTION_EXIT,
		 &unix_ns, most_of(part->event));
	swap_put_u32(&message, process->process->pid);
	swap_put_u32(&message, part->event->thread);
	swap_put_u64(&message, swap_function_mark(process, part->api->id));
	swap_put_u64(&message, caller_of(part->event));
	swap_put_u32(&message, part->event->has_tail ? part->event->cpu : UINT32_MAX);
	if (part->is_start)
		put_arguments(&message, part);
	else
		put_result(&message, part);
	swap_add(swap, &message, unix_ns, SWAP_RANK_EVENT);
}

/* ---- files that the target also uses ---- */

static void add_file_function(struct swap *swap, struct swap_process *process,
			      const struct part *part, uint64_t time_ns)
{
	uint64_t unix_ns = swap_unix(process, time_ns);
	const char *given = event_argument(part->event, "path");
	struct swap_message message;

	swap_new(swap, process, &message,
		 part->is_start ? SWAP_FILE_FUNCTION_ENTRY : SWAP_FILE_FUNCTION_EXIT, &unix_ns,
		 most_of(part->event) + strlen(part->path));
	swap_put_u32(&message, process->process->pid);
	swap_put_u32(&message, part->event->thread);
	if (part->is_start) {
		swap_put_u32(&message, (uint32_t)part->fd);
		swap_put_u32(&message, part->api->end);
		swap_put_text(&message, part->path);
		swap_put_u32(&message, given ? SWAP_FILE_ARGUMENT_OPEN : SWAP_FILE_ARGUMENT_NONE);
		if (given)
			swap_put_text(&message, given);
	} else {
		put_result(&message, part);
	}
	swap_add(swap, &message, unix_ns, SWAP_RANK_EVENT);
}

/* ---- which messages a call has ---- */

/*
 * Returns the API of a function. Finds it by its name, because the hooks' numbers in the trace may
 * differ from those in this build.
 */
static const struct swap_api *api_of(struct swap *swap, const struct function *function)
{
	const struct swap_api **place = ARRAY_AT(&swap->functions, function->id);

	for (size_t i = 0; !*place && i < HOOK_COUNT; i++)
		if (!strcmp(swap->apis.hooks[i].name, function->name))
			*place = &swap->apis.hooks[i];
	if (!*place) {
		struct swap_api **kept = ARRAY_ADD(&swap->strangers);

		*place = *kept = memory_alloc(sizeof(**kept));
		**kept = (struct swap_api){ .name = function->name,
					    .id = swap_api_id(function->name),
					    .probe = SWAP_FUNCTION,
					    .start = SWAP_NONE,
					    .end = SWAP_NONE,
					    .result = 'x' };
	}
	return *place;
}

/*
 * Returns the descriptor of a call: its object or, for calls on a stream, the descriptor of the
 * stream.
 */
static uint64_t fd_of(struct swap_process *process, const struct event *event,
		      const struct swap_api *api)
{
	bool is_file = api->probe == SWAP_FILE;
	bool is_new = !is_file || api->end == SWAP_FILE_OPEN;
	const struct swap_thread *thread;
	const char *text;

	if (!is_file && api->probe != SWAP_NETWORK)
		return 0;
	if (is_file && (api->result == 'p' || api->end == SWAP_FILE_DIRECTORY ||
			!strcmp(api->name, "fclose") || !strcmp(api->name, "pclose"))) {
		text = event_argument(event, "fd"); /* the descriptor that fdopen() was given */
		thread = swap_thread(process, event->thread);
		if (!text)
			return thread->fd_call == event->call ? thread->fd : SWAP_FD_UNKNOWN;
		return number_of(text);
	}
	return is_new && event->operation == OPERATION_ALLOC && event->flags & CALL_FAILED
		       ? SWAP_FD_UNKNOWN
		       : event->object;
}

static bool has_entry(const struct part *part)
{
	return part->path || part->api->probe == SWAP_FUNCTION || part->api->start != SWAP_NONE;
}

static void add_message(struct swap *swap, struct swap_process *process, struct part *part,
			bool is_start, uint64_t time_ns)
{
	part->is_start = is_start;
	if (part->path)
		add_file_function(swap, process, part, time_ns);
	else if (part->api->probe == SWAP_FUNCTION)
		add_function(swap, process, part, time_ns);
	else
		add_probe(swap, process, part, time_ns);
}

static void add_entry(struct swap *swap, struct swap_process *process, struct part *part)
{
	if (has_entry(part))
		add_message(swap, process, part, true, part->event->enter_ns);
}

void swap_call(struct swap *swap, struct swap_process *process, const struct event *event)
{
	const struct swap_api *api = api_of(swap, event->function);
	bool is_one_of_several = api->is_each && event->operation != OPERATION_USE;
	struct swap_api function = *api;
	struct part part = { .event = event, .api = api };
	struct swap_thread *thread;

	if (event->moment == MOMENT_HALF || (event->part && !is_one_of_several)) {
		if (event->moment == MOMENT_HALF && event->operation == OPERATION_END) {
			add_entry(swap, process, &part);
		} else if (event->resource->known == RESOURCE_FD) {
			/* the call's own event, which comes later, needs the descriptor */
			thread = swap_thread(process, event->thread);
			thread->fd_call = event->call;
			thread->fd = event->object;
		}
		swap_shared_after(swap, process, event, SWAP_FD_UNKNOWN);
		return;
	}
	/*
	 * If each descriptor of a call has its own message, the call itself is written as a call to
	 * a function without a probe. Such a call (close_range) may affect no descriptor at all.
	 */
	function.probe = SWAP_FUNCTION;
	if (api->is_each && !is_one_of_several)
		part.api = &function;
	swap_process_return(swap, process, caller_of(event),
			    swap_unix(process, event->has_tail ? event->enter_ns : event->time_ns));
	part.fd = fd_of(process, event, part.api);
	/* if the thread has facts about the file that the call opened, use them */
	thread = swap_thread(process, event->thread);
	if (thread->file.path.length && thread->file.fd == part.fd &&
	    part.api->probe == SWAP_FILE &&
	    (part.api->end == SWAP_FILE_OPEN || part.api->end == SWAP_FILE_DIRECTORY) &&
	    !(event->flags & CALL_FAILED))
		part.thread = thread;
	if (part.api->probe == SWAP_FILE && event->has_tail)
		swap_shared_path(swap, process, event, part.fd, &part.path);
	/* a failed exec is recorded at entry and at return; its entry was already written */
	if (event->has_tail && !(event->operation == OPERATION_END && event->function->hook &&
				 hook_blocks(event->function->hook) == BLOCKS_GIVES_BACK_FIRST))
		add_entry(swap, process, &part);
	if (!has_entry(&part))
		add_message(swap, process, &part, false, event->time_ns);
	/* exit() and similar calls are recorded at entry, and never return */
	else if (!(event->flags & (CALL_UNWOUND | CALL_OPEN)) &&
		 (event->operation != OPERATION_END || event->moment != MOMENT_ENTER))
		add_message(swap, process, &part, false,
			    event->has_tail ? event->leave_ns : event->time_ns);
	swap_shared_after(swap, process, event,
			  part.api->probe == SWAP_FILE ? part.fd : SWAP_FD_UNKNOWN);
}

/*
 * Writes the entry of a call that has not returned. The function's name is an argument of the ~open
 * note. Skips calls that are recorded at entry, because their event is in the trace.
 */
void swap_open_call(struct swap *swap, struct swap_process *process, const struct event *event)
{
	const char *name = event_argument(event, "call");
	struct swap_api function;
	struct event open = *event;
	struct part part = { .event = &open, .fd = SWAP_FD_UNKNOWN };

	for (size_t i = 0; name && i < HOOK_COUNT && !part.api; i++)
		if (!strcmp(swap->apis.hooks[i].name, name))
			part.api = &swap->apis.hooks[i];
	if (!part.api || part.api->is_last)
		return;
	/* only arguments that are members of the event are known */
	function = *part.api;
	function.count = 0;
	for (uint8_t i = 0; i < part.api->count; i++)
		if (part.api->arguments[i].source == SWAP_FROM_OBJECT ||
		    part.api->arguments[i].source == SWAP_FROM_RELATED)
			function.arguments[function.count++] = part.api->arguments[i];
	part.api = &function;
	open.argument_count = 0;
	add_entry(swap, process, &part);
}

static void add_thread(struct swap *swap, struct swap_process *process, const struct event *event,
		       const struct swap_api *api)
{
	struct event own = *event;
	struct part part = { .event = &own, .api = api };

	own.object = event->pthread;
	own.argument_count = 0;
	add_probe(swap, process, &part, event->time_ns);
}

void swap_thread_start(struct swap *swap, struct swap_process *process, const struct event *event)
{
	static const struct swap_api api = { .name = "_da_ThreadProc",
					     .id = SWAP_API_THREAD_PROC,
					     .probe = SWAP_THREAD,
					     .start = SWAP_NONE,
					     .end = SWAP_THREAD_INTERNAL_START,
					     .result = 'p' };

	add_thread(swap, process, event, &api);
}

void swap_thread_end(struct swap *swap, struct swap_process *process, const struct event *event)
{
	static const struct swap_api api = { .name = "_da_cleanup_handler",
					     .id = SWAP_API_THREAD_END,
					     .probe = SWAP_THREAD,
					     .start = SWAP_NONE,
					     .end = SWAP_THREAD_INTERNAL_STOP,
					     .result = 'v' };

	add_thread(swap, process, event, &api);
}
