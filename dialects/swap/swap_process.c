/* SPDX-License-Identifier: MIT */
/*
 * The messages about a process: PROCESS_INFO and PROCESS_STATUS_INFO at its start, PROCESS_MAP for
 * each new mapping, PROCESS_UNMAP for each mapping that was unmapped or replaced, and TERMINATE at
 * its end.
 */
#include "dialects/swap/swap.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define COMMAND_TASK 15 /* maximum bytes of a task's name: TASK_COMM_LEN without the NUL */
#define FIXED_MOST   256

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

/*
 * Writes the command. According to the document, this is the command line; SWAP's producers wrote
 * the kernel's name of the task.
 */
static void put_command(struct swap_message *message, const struct swap_process *process)
{
	const char *path =
		process->executable ? process->executable : text_or_empty(process->process->name);
	size_t length;

	if (message->dialect == SWAP_DIALECT_TIZEN) {
		const char *slash = strrchr(path, '/');

		path = slash ? slash + 1 : path;
		length = strnlen(path, COMMAND_TASK);
		memcpy(message->at, path, length);
		message->at[length] = '\0';
		message->at += length + 1;
		return;
	}
	for (size_t i = 0; i < process->arguments.count; i++) {
		if (i)
			message->at[-1] = ' ';
		swap_put_text(message, process->arguments.items[i]);
	}
	if (!process->arguments.count)
		swap_put_text(message, text_or_empty(process->process->name));
}

static void put_range(struct swap_message *message, const struct trace_mapping *mapping)
{
	swap_put_u64(message, mapping ? mapping->from : 0);
	swap_put_u64(message, mapping ? mapping->to : 0);
}

/* Whether a mapping is listed as a library. SWAP's producers listed the executable, too. */
static bool is_listed(const struct swap *swap, const struct swap_process *process,
		      const struct trace_mapping *mapping)
{
	return mapping != process->main || swap->dialect == SWAP_DIALECT_TIZEN;
}

static void add_info(struct swap *swap, struct swap_process *process)
{
	uint64_t unix_ns = process->start_ns;
	size_t most = FIXED_MOST + COMMAND_TASK + 2;
	struct swap_message message;
	uint32_t count = 0;

	/* the command, the paths of the mappings and the path of the program */
	most += strlen(text_or_empty(process->process->name));
	for (size_t i = 0; i < process->arguments.count; i++)
		most += strlen(process->arguments.items[i]) + 1;
	for (size_t i = 0; i < process->mappings.count; i++)
		most += 20 + strlen(process->mappings.items[i]->path);
	most += strlen(text_or_empty(process->executable));
	swap_new(swap, process, &message, SWAP_PROCESS_INFO, &unix_ns, most);
	swap_put_u32(&message, process->process->pid);
	put_command(&message, process);
	swap_put_u32(&message, process->process->parent_pid);
	swap_put_time(&message, unix_ns);
	put_range(&message, process->main);
	swap_put_text(&message, text_or_empty(process->executable));
	for (size_t i = 0; i < process->mappings.count; i++)
		count += is_listed(swap, process, process->mappings.items[i]);
	swap_put_u32(&message, count);
	for (size_t i = 0; i < process->mappings.count; i++) {
		const struct trace_mapping *mapping = process->mappings.items[i];

		if (!is_listed(swap, process, mapping))
			continue;
		put_range(&message, mapping);
		swap_put_text(&message, mapping->path);
	}
	swap_add(swap, &message, unix_ns, SWAP_RANK_PROCESS);
}

void swap_process_info(struct swap *swap, struct swap_process *process)
{
	bool is_doc = swap->dialect == SWAP_DIALECT_DOC;
	uint64_t unix_ns = process->start_ns;
	size_t most = FIXED_MOST;
	struct swap_message message;

	process->has_started = true;
	process->mapped = process->mappings.count;
	/* the mapping of the executable, if it is known */
	process->main = NULL;
	for (size_t i = 0; process->executable && i < process->mappings.count && !process->main;
	     i++)
		if (!strcmp(process->mappings.items[i]->path, process->executable))
			process->main = process->mappings.items[i];
	add_info(swap, process);
	/* names the first thread as the opener of inherited descriptors: the real one is unknown */
	for (size_t i = 0; i < process->fds.count; i++)
		most += 24 + strlen(process->fds.items[i].path);
	swap_new(swap, process, &message, SWAP_PROCESS_STATUS_INFO, &unix_ns, most);
	swap_put_u32(&message, process->process->pid);
	swap_put_u32(&message, (uint32_t)process->fds.count);
	for (size_t i = 0; i < process->fds.count; i++) {
		swap_put_u32(&message, process->fds.items[i].fd);
		if (is_doc)
			swap_put_u32(&message, process->process->pid);
		swap_put_u64(&message, process->fds.items[i].size);
		swap_put_text(&message, process->fds.items[i].path);
	}
	if (!is_doc)
		swap_put_u32(&message, 0); /* number of sockets */
	swap_add(swap, &message, unix_ns, SWAP_RANK_STATUS);
}

static void add_unmap(struct swap *swap, struct swap_process *process,
		      const struct trace_mapping *mapping, uint64_t unix_ns)
{
	struct swap_message message;

	swap_new(swap, process, &message, SWAP_PROCESS_UNMAP, &unix_ns, FIXED_MOST);
	swap_put_u32(&message, process->process->pid);
	put_range(&message, mapping);
	swap_add(swap, &message, unix_ns, SWAP_RANK_EVENT);
}

static void add_map(struct swap *swap, struct swap_process *process,
		    const struct trace_mapping *mapping, uint64_t unix_ns)
{
	struct swap_message message;

	swap_new(swap, process, &message, SWAP_PROCESS_MAP, &unix_ns,
		 FIXED_MOST + strlen(mapping->path));
	swap_put_u32(&message, process->process->pid);
	put_range(&message, mapping);
	swap_put_text(&message, mapping->path);
	swap_add(swap, &message, unix_ns, SWAP_RANK_EVENT);
}

static void forget_mapping(struct swap_process *process, size_t number)
{
	memmove(&process->mappings.items[number], &process->mappings.items[number + 1],
		(process->mappings.count - number - 1) * sizeof(*process->mappings.items));
	process->mappings.count--;
	process->mapped--;
}

/*
 * Moves the mapping from process->mappings to process->gone. If the file is mapped again at the
 * same address, the trace does not repeat the mapping, so swap_process_return() looks for it in
 * process->gone.
 */
void swap_process_unmap(struct swap *swap, struct swap_process *process, const struct event *event)
{
	const char *from = event_argument(event, "from"), *to = event_argument(event, "to");

	for (size_t i = process->mapped; from && to && i-- > 0;) {
		const struct trace_mapping *mapping = process->mappings.items[i];

		if (mapping->from != strtoull(from, NULL, 0) ||
		    mapping->to != strtoull(to, NULL, 0) || mapping == process->main)
			continue;
		*ARRAY_ADD(&process->gone) = mapping;
		forget_mapping(process, i);
		add_unmap(swap, process, mapping, swap_unix(process, event->time_ns));
		return;
	}
}

void swap_process_return(struct swap *swap, struct swap_process *process, uint64_t caller,
			 uint64_t unix_ns)
{
	const struct trace_mapping *mapping =
		process->gone.count && caller ? trace_mapping_at(swap->trace, caller - 1) : NULL;

	for (size_t i = 0; mapping && i < process->gone.count; i++)
		if (process->gone.items[i] == mapping) {
			process->gone.items[i] = process->gone.items[--process->gone.count];
			(void)ARRAY_ADD(&process->mappings);
			memmove(&process->mappings.items[process->mapped + 1],
				&process->mappings.items[process->mapped],
				(process->mappings.count - 1 - process->mapped) * sizeof(mapping));
			process->mappings.items[process->mapped++] = mapping;
			add_map(swap, process, mapping, unix_ns);
			return;
		}
}

void swap_process_maps(struct swap *swap, struct swap_process *process, uint64_t unix_ns)
{
	while (process->mapped < process->mappings.count) {
		const struct trace_mapping *mapping = process->mappings.items[process->mapped];

		/* overlapped mappings must have been unmapped, even without an ~unmap note */
		for (size_t i = process->mapped; i-- > 0;) {
			const struct trace_mapping *old = process->mappings.items[i];

			if (old->to <= mapping->from || mapping->to <= old->from)
				continue;
			add_unmap(swap, process, old, unix_ns);
			forget_mapping(process, i);
		}
		for (size_t i = process->gone.count; i-- > 0;)
			if (process->gone.items[i]->to > mapping->from &&
			    mapping->to > process->gone.items[i]->from)
				process->gone.items[i] = process->gone.items[--process->gone.count];
		add_map(swap, process, mapping, unix_ns);
		process->mapped++;
	}
}

void swap_terminate(struct swap *swap, struct swap_process *process, uint64_t unix_ns)
{
	struct swap_message message;

	if (unix_ns < process->last_ns)
		unix_ns = process->last_ns;
	swap_new(swap, process, &message, SWAP_TERMINATE, &unix_ns, FIXED_MOST);
	swap_put_u32(&message, process->process->pid);
	process->has_ended = true;
	swap_add(swap, &message, unix_ns, SWAP_RANK_END);
}
