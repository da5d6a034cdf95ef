/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void fuzz_check(bool is_so, const char *sentence)
{
	if (is_so)
		return;
	fprintf(stderr, "fuzz: must not be: %s\n", sentence);
	abort();
}

int fuzz_open(const void *bytes, size_t size)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("input", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, bytes, size, 0) != (ssize_t)size ||
	    lseek(fd, 0, SEEK_SET) != 0)
		exit(99);
	return fd;
}

static char directory[64];

static void empty_directory(void)
{
	DIR *files = opendir(directory);
	const struct dirent *file;
	char path[400];

	if (!files)
		return;
	while ((file = readdir(files)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s", directory, file->d_name);
		if (file->d_name[0] != '.')
			unlink(path);
	}
	closedir(files);
}

static void remove_directory(void)
{
	empty_directory();
	rmdir(directory);
}

const char *fuzz_directory(void)
{
	if (directory[0]) {
		empty_directory();
		return directory;
	}
	strcpy(directory, access("/dev/shm", W_OK) ? "/tmp/holdtrace-fuzz.XXXXXX"
						   : "/dev/shm/holdtrace-fuzz.XXXXXX");
	if (!mkdtemp(directory))
		exit(99);
	atexit(remove_directory);
	return directory;
}

/* a sum of everything that was read, so that no compiler removes the reads */
static volatile uint64_t seen;

static void look_at_text(const char *text)
{
	if (text)
		seen += strlen(text);
}

static void look_at_call(const struct trace *trace, const struct event *event)
{
	const struct backtrace *backtrace = event->backtrace;

	fuzz_check(event->function && event->resource, "a call without function or class");
	fuzz_check(trace_function(trace, event->function->id) == event->function,
		   "a function that has not its id");
	fuzz_check(strlen(event->function->name) == event->function->length,
		   "a name that has not its length");
	look_at_text(event->resource->type);
	look_at_text(event->resource->description);
	for (uint32_t i = 0; i < event->argument_count; i++) {
		look_at_text(event->arguments[i].name);
		look_at_text(event->arguments[i].value);
	}
	if (!backtrace)
		return;
	fuzz_check(trace_backtrace(trace, backtrace->id) == backtrace,
		   "a backtrace that has not its id");
	fuzz_check(backtrace->count == backtrace->node->count, "a backtrace with other frames");
	for (const struct trace_node *at = backtrace->node; at->count; at = at->caller) {
		seen += at->address;
		fuzz_check(at->caller->count == at->count - 1, "a frame that is not one more");
		if (backtrace->texts)
			look_at_text(backtrace->texts[backtrace->count - at->count]);
	}
	if (backtrace->count)
		seen += trace_mapping_at(trace, backtrace->node->address) != NULL;
}

static void look_at_mapping(const struct trace *trace, const struct trace_mapping *mapping)
{
	fuzz_check(trace_mapping(trace, mapping->id) == mapping, "a mapping that has not its id");
	look_at_text(mapping->path);
	if (mapping->has_tail)
		look_at_text(mapping->build_id);
}

static void look_at_process(const struct trace_process *process)
{
	look_at_text(process->name);
	look_at_text(process->arch);
	for (size_t i = 0; i < process->header_count; i++) {
		look_at_text(process->headers[i].name);
		look_at_text(process->headers[i].value);
	}
}

static void look_at(const struct trace *trace, const struct event *event)
{
	fuzz_check(event->process != NULL, "an event without a process");
	switch (event->kind) {
	case EVENT_STREAM:
	case EVENT_PROCESS:
		look_at_process(event->process);
		break;
	case EVENT_TRACER:
		look_at_text(event->tracer->name);
		break;
	case EVENT_MAPPING:
		look_at_mapping(trace, event->mapping);
		break;
	case EVENT_CONTEXT:
		look_at_text(event->call_context->name);
		break;
	case EVENT_RESOURCE:
		look_at_text(event->resource->type);
		break;
	case EVENT_ATTACHMENT:
		look_at_text(event->attachment->name);
		look_at_text(event->attachment->path);
		break;
	case EVENT_HEAP:
		seen += event->heap->state.bottom;
		break;
	case EVENT_COMMENT:
		look_at_text(event->comment);
		break;
	case EVENT_NOTE:
	case EVENT_CALL:
		look_at_call(trace, event);
		break;
	}
}

uint64_t fuzz_read(struct trace *trace, uint64_t size)
{
	const struct event *event;
	struct error err = { 0 };
	uint64_t calls = 0, notes = 0;
	bool is_first = true;
	int rc;

	while ((rc = trace_next(trace, &event, &err)) > 0) {
		fuzz_check(!is_first || event->kind == EVENT_STREAM,
			   "a first event that is no stream");
		is_first = false;
		look_at(trace, event);
		calls += event->kind == EVENT_CALL;
		notes += event->kind == EVENT_NOTE;
	}
	fuzz_check(trace_next(trace, &event, NULL) == rc, "an end that does not last");
	fuzz_check(rc == 0 || err.text[0], "an error without words");
	fuzz_check(rc || trace_tally(trace)->bytes >= size, "an end before the end");
	fuzz_check(calls == trace_tally(trace)->calls && notes == trace_tally(trace)->notes,
		   "calls or notes that are counted wrong");
	fuzz_check(!trace_tally(trace)->damages || trace_tally(trace)->damage_text[0],
		   "damage without words");
	return calls;
}
