/* SPDX-License-Identifier: MIT */
/*
 * Files that merged processes share. The first process is SWAP's target. If a descendant of the
 * target uses a file that the target has used, the call is written as FILE_FUNCTION_ENTRY and
 * FILE_FUNCTION_EXIT. Paths are made from the directories and descriptors in the trace; links are
 * not resolved.
 */
#include "dialects/swap/swap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "notes.h"

static bool is_path(const void *item, const void *key)
{
	return !strcmp(item, key);
}

static bool has_used(const struct swap *swap, const char *path)
{
	return hash_table_find(&swap->shared.paths,
			       hash_bytes(swap->shared.paths.seed, path, strlen(path)), is_path,
			       path);
}

void swap_shared_init(struct swap *swap)
{
	hash_table_init(&swap->shared.paths);
}

void swap_shared_free(struct swap *swap)
{
	hash_table_free(&swap->shared.paths);
	pool_free(&swap->shared.pool);
	path_free(&swap->shared.path);
}

/* ---- relations of processes ---- */

static const struct swap_process *newest_of(const struct swap *swap, uint32_t pid)
{
	for (size_t i = swap->processes.count; i-- > 0;)
		if (swap->processes.items[i]->process->pid == pid)
			return swap->processes.items[i];
	return NULL;
}

/*
 * Returns the relation of a process to the target. A program that the target's process executed is
 * the target, too.
 */
static enum swap_kin kin_of(const struct swap *swap, const struct swap_process *process)
{
	uint32_t target = swap->processes.items[0]->process->pid;

	if (process->process->pid == target)
		return SWAP_KIN_TARGET;
	/* the limit prevents an endless loop, because pids may be reused */
	for (size_t i = 0; process && i <= swap->processes.count; i++) {
		if (process->process->parent_pid == target)
			return SWAP_KIN_DESCENDANT;
		process = newest_of(swap, process->process->parent_pid);
	}
	return SWAP_KIN_NONE;
}

static const struct swap_process *forked_from(const struct swap *swap,
					      const struct trace_process *facts)
{
	for (size_t i = 0; facts->has_tails && i < swap->processes.count; i++) {
		const struct trace_process *other = swap->processes.items[i]->process;

		if (other->has_tails && other != facts && other->stream == facts->parent_stream &&
		    !memcmp(other->session, facts->session, sizeof(facts->session)))
			return swap->processes.items[i];
	}
	return NULL;
}

/*
 * Initialises a process. The child of a fork inherits the program, directory and descriptors of its
 * parent.
 */
static void begin_process(struct swap *swap, struct swap_process *process)
{
	const struct swap_process *parent = forked_from(swap, process->process);

	process->kin = kin_of(swap, process);
	if (!parent)
		return;
	places_copy(&process->places, &parent->places);
	if (process->executable || process->arguments.count)
		return;
	process->executable = parent->executable ? memory_text(parent->executable) : NULL;
	for (size_t i = 0; i < parent->arguments.count; i++)
		*ARRAY_ADD(&process->arguments) = memory_text(parent->arguments.items[i]);
}

/* ---- paths ---- */

static int64_t number_of(const struct event *event, const char *name, int64_t otherwise)
{
	const char *text = event_argument(event, name);

	return text ? (int64_t)strtoll(text, NULL, 0) : otherwise;
}

/*
 * Sets shared.path to the absolute path of a call's argument, or to an empty path if the call has
 * none.
 */
static void take_path(struct swap *swap, const struct swap_process *process,
		      const struct event *event)
{
	const char *text = event_argument(event, "path");

	if (!text || !*text || !strcmp(text, "*")) {
		path_set(&swap->shared.path, "", 0);
		return;
	}
	places_join(&process->places, number_of(event, "dirfd", AT_FDCWD), text,
		    &swap->shared.path);
	path_clean(&swap->shared.path);
}

void swap_shared_see(struct swap *swap, struct swap_process *process, const struct event *event)
{
	const char *name, *text;

	if (!swap->is_merged || !event->process->has_process)
		return;
	if (process->kin == SWAP_KIN_UNKNOWN)
		begin_process(swap, process);
	if (event->kind != EVENT_NOTE)
		return;
	name = event->function->name;
	text = !strcmp(name, NOTE_PROCESS) ? event_argument(event, "directory") : NULL;
	if (text)
		places_set_directory(&process->places, text);
	if (!strcmp(name, NOTE_FD))
		places_set_fd(&process->places, (uint64_t)number_of(event, "fd", -1),
			      event_argument(event, "path"));
}

/* ---- calls ---- */

void swap_shared_after(struct swap *swap, struct swap_process *process, const struct event *event,
		       uint64_t fd)
{
	bool is_fd = event->resource->known == RESOURCE_FD;
	int64_t old = number_of(event, "oldfd", -1);
	const char *path;

	if (!swap->is_merged || event->flags & (CALL_FAILED | CALL_OF_CHILD))
		return;
	if (!strcmp(event->function->name, "chdir") || !strcmp(event->function->name, "fchdir")) {
		take_path(swap, process, event);
		path = event->function->name[0] == 'f' ? places_fd(&process->places, event->object)
		       : swap->shared.path.length      ? swap->shared.path.text
						       : NULL;
		if (path)
			places_set_directory(&process->places, path);
		return;
	}
	/*
	 * keep the path for now: the event of a part precedes the call's own event, which still
	 * needs the path
	 */
	if (event->operation == OPERATION_FREE && fd == SWAP_FD_UNKNOWN && event->part)
		return;
	if (event->operation == OPERATION_FREE && (is_fd || fd != SWAP_FD_UNKNOWN)) {
		places_set_fd(&process->places, is_fd ? event->object : fd, NULL);
		return;
	}
	if (event->operation != OPERATION_ALLOC || (!is_fd && fd == SWAP_FD_UNKNOWN))
		return;
	take_path(swap, process, event);
	/* for a dup, the path of the old descriptor */
	path = old >= 0			  ? places_fd(&process->places, (uint64_t)old)
	       : swap->shared.path.length ? swap->shared.path.text
					  : NULL;
	places_set_fd(&process->places, is_fd ? event->object : fd, path);
}

void swap_shared_path(struct swap *swap, struct swap_process *process, const struct event *event,
		      uint64_t fd, const char **path)
{
	int64_t old = number_of(event, "oldfd", -1);

	*path = NULL;
	if (!swap->is_merged || event->flags & CALL_OF_CHILD)
		return;
	take_path(swap, process, event);
	if (swap->shared.path.length)
		*path = swap->shared.path.text;
	else if (event->operation == OPERATION_ALLOC && old >= 0)
		*path = places_fd(&process->places, (uint64_t)old);
	else
		*path = places_fd(&process->places, fd);
	if (!*path || **path != '/')
		*path = NULL;
	if (*path && process->kin == SWAP_KIN_TARGET && !(event->flags & CALL_FAILED) &&
	    !has_used(swap, *path))
		hash_table_add(&swap->shared.paths,
			       hash_bytes(swap->shared.paths.seed, *path, strlen(*path)),
			       pool_text(&swap->shared.pool, *path, strlen(*path)));
	if (process->kin != SWAP_KIN_DESCENDANT || !*path || !has_used(swap, *path))
		*path = NULL;
}
