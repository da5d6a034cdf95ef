/* SPDX-License-Identifier: MIT */
#include "newest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/order.h"
#include "notes.h"

/* to find the labels of a trace, read at most this many events: the labels are among the first */
#define NOTES_READ 64

bool newest_head(struct newest_trace *found, const struct trace_options *reading)
{
	struct trace_options options = { .no_wait = true,
					 .bundles = reading->bundles,
					 .opened = reading->opened,
					 .user = reading->user };
	char labels[TRACE_LABELS_MAX];
	const struct event *event;
	struct trace *trace;
	bool is_trace;

	if (trace_open(&trace, found->path, &options, NULL))
		return false;
	is_trace = trace_next(trace, &event, NULL) > 0;
	for (int rc = is_trace; rc > 0 && event->kind != EVENT_PROCESS;)
		rc = event->kind == EVENT_CALL ? 0 : trace_next(trace, &event, NULL);
	if (is_trace) {
		const struct trace_process *process = trace_process(trace);

		found->session[0] = process->session[0];
		found->session[1] = process->session[1];
		found->start_ns = process->start_ns;
		found->pid = process->pid;
		snprintf(found->name, sizeof(found->name), "%s",
			 process->name ? process->name : "");
		/* the labels are in one of the first notes */
		for (unsigned i = 0; i < NOTES_READ && trace_next(trace, &event, NULL) > 0 &&
				     event->kind != EVENT_CALL;
		     i++) {
			if (event->kind != EVENT_NOTE ||
			    strcmp(event->function->name, NOTE_LABELS) != 0)
				continue;
			trace_labels(event, labels);
			found->labels = memory_text(labels);
			break;
		}
	}
	trace_close(trace);
	return is_trace;
}

static int compare(const void *a, const void *b)
{
	const struct newest_trace *one = a, *two = b;

	return ORDER(two->modified.tv_sec, one->modified.tv_sec)
		?: ORDER(two->modified.tv_nsec, one->modified.tv_nsec)
		?: strcmp(one->path, two->path);
}

int newest_scan(struct newest *newest, const char *path, const struct trace_options *reading,
		struct error *err)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;

	*newest = (struct newest){ 0 };
	if (!directory)
		return error_system(err, errno, "%s: cannot look for traces", path);
	while ((entry = readdir(directory)) != NULL) {
		const char *name = entry->d_name;
		struct newest_trace found = { .path = NULL };
		cleanup_fd int fd = -1;
		struct stat facts;

		/* with `-o x.htr` the collector makes x.htr, x.htr.1 and x.htr.PROGRAM.PID */
		if (strncmp(name, "holdtrace.", 10) != 0 && !strstr(name, ".htr") &&
		    !strstr(name, ".rtrace"))
			continue;
		found.path = memory_format("%s%s%s", strcmp(path, ".") ? path : "",
					   strcmp(path, ".") ? "/" : "", name);
		if (stat(found.path, &facts) || !S_ISREG(facts.st_mode) ||
		    !newest_head(&found, reading)) {
			free(found.path);
			continue;
		}
		found.bytes = (uint64_t)facts.st_size;
		found.modified = facts.st_mtim;
		/* the collector holds a lock on the file until the file is complete */
		fd = open(found.path, O_RDONLY | O_CLOEXEC);
		found.is_written =
			fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
		*ARRAY_ADD(newest) = found;
	}
	closedir(directory);
	ARRAY_SORT(newest, compare);
	return 0;
}

static bool is_of_run(const struct newest_trace *trace, const struct newest_trace *newest)
{
	if (!newest->session[0] && !newest->session[1])
		return trace == newest;
	return trace->session[0] == newest->session[0] && trace->session[1] == newest->session[1];
}

static int compare_starts(const void *a, const void *b)
{
	const struct newest_trace *const *one = a, *const *two = b;

	return ORDER((*one)->start_ns, (*two)->start_ns) ?: strcmp((*one)->path, (*two)->path);
}

int newest_run(const struct newest *newest, bool takes_written, const char ***paths, size_t *count,
	       struct error *err)
{
	cleanup_free const struct newest_trace **traces = NULL;
	const struct newest_trace *first = newest->items, *end = first + newest->count;

	while (first < end && first->is_written && !takes_written)
		first++;
	if (first == end && newest->count)
		return error_set(err, ENOENT,
				 "%s is still being written by %s (pid %" PRIu32
				 "): name the file to wait for its end, or add --now",
				 newest->items->path, newest->items->name, newest->items->pid);
	if (first == end)
		return error_set(err, ENOENT,
				 "no trace in this directory: record one with `holdtrace PROGRAM`, "
				 "or name a FILE");
	*paths = memory_zalloc(newest->count, sizeof(**paths));
	*count = 0;
	traces = memory_zalloc(newest->count, sizeof(*traces));
	for (size_t i = 0; i < newest->count; i++)
		if (is_of_run(&newest->items[i], first))
			traces[(*count)++] = &newest->items[i];
	qsort(traces, *count, sizeof(*traces), compare_starts);
	for (size_t i = 0; i < *count; i++)
		(*paths)[i] = traces[i]->path;
	return 0;
}

const struct newest_trace *newest_guess(const struct newest *newest, const char *path)
{
	const struct newest_trace *guess = newest->items, *end = guess + newest->count;

	while (strcmp(guess->path, path) != 0)
		guess++;
	for (const struct newest_trace *other = newest->items; other < end; other++)
		if (!is_of_run(other, guess))
			return guess;
	return NULL;
}

void newest_free(struct newest *newest)
{
	for (size_t i = 0; i < newest->count; i++) {
		free(newest->items[i].path);
		free(newest->items[i].labels);
	}
	free(newest->items);
	*newest = (struct newest){ 0 };
}
