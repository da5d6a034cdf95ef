/* SPDX-License-Identifier: MIT */
/*
 * Writes the format of the etrace tracer, as its document defines it: lines about the files and
 * descriptors that processes use, and about the creation and end of processes. Each line has a
 * task, a processor and a time. Where the document is unclear, this writer assumes the following. A
 * task is a thread, and has the number that the tracer would give it. Markers end with `|`. Each
 * line of the file has a later time than the line before. The lines of a call are consecutive.
 */
#include "dialects/etrace/etrace.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "formats/writers.h"
#include "notes.h"

/* ---- arguments ---- */

#define PART_LEAST 3000 /* minimum size in bytes of a part, except the last */

const char *etrace_value(struct etrace *etrace, const struct event *event, const char *name)
{
	const char *value = event_argument(event, name), *part;
	char next[64];

	if (!value)
		return NULL;
	path_set(&etrace->value, value, strlen(value));
	for (unsigned i = 1; strlen(value) >= PART_LEAST; i++, value = part) {
		/* a long text is recorded as the arguments NAME, NAME+1, NAME+2 and so on */
		snprintf(next, sizeof(next), "%.40s+%u", name, i);
		part = event_argument(event, next);
		if (!part)
			break;
		path_append(&etrace->value, part, strlen(part));
	}
	return etrace->value.text;
}

int64_t etrace_number(const struct event *event, const char *name, int64_t otherwise)
{
	const char *value = event_argument(event, name);
	char *end;
	int64_t number;

	if (!value || !*value)
		return otherwise;
	number = *value == '-' ? strtoll(value, &end, 0) : (int64_t)strtoull(value, &end, 0);
	return *end ? otherwise : number;
}

/* ---- programs ---- */

/* Writes the lines of a new program, when all its arguments have been read. */
static void put_image(struct etrace *etrace)
{
	const struct path *program = &etrace->image.program;
	const struct path *interpreter = &etrace->image.interpreter;
	const struct path *directory = &etrace->image.directory;
	const struct path *list;
	size_t at = 0;

	if (!etrace->image.process)
		return;
	etrace_block(&etrace->lines, etrace->image.process->leader, etrace->image.time_ns,
		     etrace->image.cpu);
	etrace_line(&etrace->lines,
		    "New_proc|argsize=%zu,prognameisize=%zu,prognamepsize=%zu,cwdsize=%zu",
		    etrace->image.arguments.length, interpreter->length, program->length,
		    directory->length);
	etrace_text(&etrace->lines, "PI", interpreter->text, interpreter->length);
	etrace_text(&etrace->lines, "PP", program->text, program->length);
	etrace_text(&etrace->lines, "CW", directory->text, directory->length);
	list = &etrace->image.arguments;
	for (unsigned i = 0; i < etrace->image.count; i++) {
		size_t length = strlen(list->text + at);

		etrace_argument(&etrace->lines, i, list->text + at, length);
		at += length + 1;
	}
	etrace_line(&etrace->lines, "End_of_args|");
	etrace->image.process = NULL;
}

static void set_path(struct path *path, const char *text)
{
	path_set(path, text ? text : "", text ? strlen(text) : 0);
}

static void begin_image(struct etrace *etrace, const struct etrace_call *call)
{
	const char *directory = etrace_value(etrace, call->event, "directory");
	const char *executable = event_argument(call->event, "executable");
	const char *program = event_argument(call->event, "program");
	const char *interpreter = event_argument(call->event, "interpreter");

	places_clear(&call->process->places);
	places_set_directory(&call->process->places, directory);
	set_path(&etrace->image.directory, directory);
	if (!program || !*program)
		program = executable ? executable : "";
	places_join(&call->process->places, AT_FDCWD, program, &etrace->image.program);
	path_clean(&etrace->image.program);
	set_path(&etrace->image.interpreter,
		 interpreter ? interpreter : etrace->image.program.text);
	if (!etrace->first_directory.length)
		set_path(&etrace->first_directory, directory);
	etrace->image.process = call->process;
	etrace->image.time_ns = call->event->time_ns;
	etrace->image.cpu = call->event->cpu;
	etrace->image.arguments.length = 0;
	etrace->image.count = 0;
}

/*
 * Converts a ~process note. The first note names the program; further notes have more of its
 * arguments.
 */
static void take_process(struct etrace *etrace, const struct etrace_call *call)
{
	const struct event *event = call->event;

	if (event_argument(event, "executable")) {
		put_image(etrace);
		begin_image(etrace, call);
	}
	for (uint32_t i = 0; etrace->image.process == call->process && i < event->argument_count;
	     i++) {
		const struct wire_value *value = &event->arguments[i];
		struct path *list = &etrace->image.arguments;

		if (strncmp(value->name, "argv", 4) != 0)
			continue;
		/* argvN, or its next part (argvN+1, argvN+2 ...) if it was recorded in parts */
		if (strchr(value->name, '+') && list->length)
			list->length--;
		else
			etrace->image.count++;
		path_append(list, value->value, strlen(value->value) + 1);
	}
}

/* ---- events ---- */

static void take_note(struct etrace *etrace, const struct etrace_call *call)
{
	const char *name = call->event->function->name;
	const char *value;

	if (!strcmp(name, NOTE_PROCESS)) {
		take_process(etrace, call);
	} else if (!strcmp(name, NOTE_FILE)) {
		const char *path = etrace_value(etrace, call->event, "path");

		/* the path that the kernel resolved for the file of the task's next open */
		etrace->file.task =
			path ? tasks_of(&etrace->tasks, call->process, call->event) : NULL;
		etrace->file.fd = (uint64_t)etrace_number(call->event, "fd", -1);
		if (path)
			path_set(&etrace->file.path, path, strlen(path));
	} else if (!strncmp(name, NOTE_THREAD, 7)) {
		struct task *task = tasks_of(&etrace->tasks, call->process, call->event);

		task->last_ns = call->event->time_ns;
		if (name[7])
			task->end_ns = call->event->time_ns;
	} else if (!strcmp(name, NOTE_FD)) {
		value = etrace_value(etrace, call->event, "path");
		places_set_fd(&call->process->places,
			      (uint64_t)etrace_number(call->event, "fd", -1), value);
	} else if (!strcmp(name, NOTE_END)) {
		value = event_argument(call->event, "how");
		etrace_end_process(etrace, call, value ? value : "", event_end_ns(call->event));
	}
}

static void take_call(struct etrace *etrace, struct etrace_call *call)
{
	const struct event *event = call->event;
	bool is_close;

	/* look up the row of each new function */
	while (etrace->rows.count <= event->function->id) {
		const struct function *next =
			trace_function(etrace->trace, (uint32_t)etrace->rows.count);

		*ARRAY_ADD(&etrace->rows) = next ? etrace_row_of(next->name) : NULL;
	}
	call->row = etrace->rows.items[event->function->id];
	is_close = event_is_free(event) && event->resource->known == RESOURCE_FD;
	if (!call->row && !is_close && event->thread == 0)
		return;
	call->process = tasks_process(&etrace->tasks, event);
	call->task = tasks_of(&etrace->tasks, call->process, event);
	call->task->last_ns = event->time_ns;
	if (is_close && strncmp(event->function->name, "dup", 3) != 0) {
		etrace_close(etrace, call);
		return;
	}
	if (call->row)
		call->row->take(etrace, call);
}

int write_etrace_event(void *state, const struct event *event, struct error *err)
{
	struct etrace *etrace = state;
	struct etrace_call call = { .event = event };

	(void)err;
	if (event->kind == EVENT_PROCESS)
		tasks_process(&etrace->tasks, event);
	if (!event_is_call(event))
		return 0;
	if (etrace->image.process && (event->process != etrace->image.process->facts ||
				      strcmp(event->function->name, NOTE_PROCESS) != 0))
		put_image(etrace);
	if (event->kind == EVENT_CALL) {
		take_call(etrace, &call);
		return 0;
	}
	call.process = tasks_process(&etrace->tasks, event);
	call.task = call.process->leader;
	take_note(etrace, &call);
	return 0;
}

/* ---- the writer ---- */

int write_etrace_begin(void **state, const struct trace *trace,
		       const struct writer_options *options, struct error *err)
{
	struct etrace *etrace = memory_zalloc(1, sizeof(*etrace));

	(void)err;
	etrace->trace = trace;
	etrace->out = options->out;
	etrace->has_names = !format_has_word(options->words, "no-thread-names");
	etrace->is_framed = format_has_word(options->words, "cas");
	tasks_init(&etrace->tasks);
	etrace_lines_init(&etrace->lines);
	*state = etrace;
	return 0;
}

int write_etrace_end(void *state, struct error *err)
{
	struct etrace *etrace = state;
	const struct path *directory = &etrace->first_directory;

	put_image(etrace);
	tasks_finish(&etrace->tasks);
	/*
	 * CAS's reader skips the first line. In all other lines, it expects a prefix in place of
	 * ftrace's columns.
	 */
	if (etrace->is_framed) {
		out_text(etrace->out, "INITCWD=");
		for (size_t i = 0; i < directory->length; i++)
			out_char(etrace->out,
				 directory->text[i] == '\n' ? '?' : directory->text[i]);
		out_char(etrace->out, '\n');
	}
	return etrace_lines_print(&etrace->lines, &etrace->tasks, etrace->out,
				  etrace->is_framed ? "0: " : "", err);
}

void write_etrace_destroy(void *state)
{
	struct etrace *etrace = state;

	tasks_free(&etrace->tasks);
	etrace_lines_free(&etrace->lines);
	free(etrace->rows.items);
	path_free(&etrace->one);
	path_free(&etrace->two);
	path_free(&etrace->value);
	path_free(&etrace->image.program);
	path_free(&etrace->image.interpreter);
	path_free(&etrace->image.directory);
	path_free(&etrace->image.arguments);
	path_free(&etrace->first_directory);
	path_free(&etrace->file.path);
	free(etrace);
}
