/* SPDX-License-Identifier: MIT */
/*
 * check-etrace [--cas] [FILE]: is the text etrace's output, as the document of its format has it?
 * Written from the document alone: it shares nothing with the writer. Prints what it says, one
 * event a line, task by task, in the order of their first lines, or the first thing that is wrong
 * and exits with 1. --cas: each line in the framing of CAS's reader. Beyond the document it insists
 * on markers with `|`, times that grow strictly, at most one Exit, which is the last event of its
 * task, no child that is made twice, and data in as few parts as can be.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PART 900

struct task {
	uint64_t upid;
	char **lines; /* the data of its lines */
	size_t *numbers;
	size_t count, at;
	bool is_child;
};

static struct task *tasks;
static size_t task_count;
static size_t where; /* line */

static void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
static void fail(const char *format, ...)
{
	va_list args;

	printf("line %zu: ", where);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	exit(1);
}

static void *more(void *old, size_t count, size_t size)
{
	/* twice as many at each power of two */
	void *new = count &(count - 1) ? old : realloc(old, (count ? count * 2 : 1) * size);

	if (!new)
		fail("no memory");
	return new;
}

static struct task *task_of(uint64_t upid)
{
	for (size_t i = task_count; i-- > 0;)
		if (tasks[i].upid == upid)
			return &tasks[i];
	tasks = more(tasks, task_count, sizeof(*tasks));
	tasks[task_count] = (struct task){ .upid = upid };
	return &tasks[task_count++];
}

/* heads of lines */

/* A decimal number without padding. */
static uint64_t number(const char **at, char behind)
{
	uint64_t value = 0;
	const char *start = *at;

	while (isdigit((unsigned char)**at)) {
		if (value > (UINT64_MAX - 9) / 10)
			fail("a number is too large");
		value = value * 10 + (uint64_t)(*(*at)++ - '0');
	}
	if (*at == start || (*start == '0' && *at > start + 1))
		fail("not a number: %.40s", start);
	if (**at != behind)
		fail("expected '%c' behind a number: %.40s", behind, start);
	if (behind)
		++*at;
	return value;
}

static void take_line(const char *line)
{
	static uint64_t last_second, last_nano;
	uint64_t upid = number(&line, ','), cpu = number(&line, ','), second = number(&line, ',');
	uint64_t nano = number(&line, '!');
	struct task *task = task_of(upid);

	if (upid > INT64_MAX)
		fail("upid is no 64-bit signed integer");
	if (cpu > 65535)
		fail("no such processor: %" PRIu64, cpu);
	if (nano > 999999999)
		fail("more nanoseconds than a second has");
	if (second < last_second || (second == last_second && nano <= last_nano))
		fail("time does not grow");
	last_second = second;
	last_nano = nano;
	task->lines = more(task->lines, task->count, sizeof(*task->lines));
	task->numbers = more(task->numbers, task->count, sizeof(*task->numbers));
	task->lines[task->count] = strdup(line);
	task->numbers[task->count++] = where;
}

static void read_lines(FILE *file, bool is_framed)
{
	char *line = NULL;
	size_t capacity = 0;
	ssize_t length;

	while ((length = getline(&line, &capacity, file)) > 0) {
		where++;
		if (line[length - 1] != '\n')
			fail("ends without a newline");
		line[length - 1] = 0;
		if ((size_t)length - 1 != strlen(line))
			fail("a NUL");
		if (length > 2046)
			fail("longer than its reader takes: %zd", length);
		if (is_framed && where == 1) {
			if (strncmp(line, "INITCWD=/", 9) != 0)
				fail("not an INITCWD of an absolute path");
			continue;
		}
		if (is_framed && strncmp(line, "0: ", 3) != 0)
			fail("not in the frame");
		take_line(line + 3 * is_framed);
	}
	free(line);
}

/* events of a task */

static const char *peek(const struct task *task)
{
	return task->at < task->count ? task->lines[task->at] : "";
}

static const char *next(struct task *task)
{
	if (task->at == task->count)
		fail("the task ends in the middle of an event");
	where = task->numbers[task->at];
	return task->lines[task->at++];
}

static bool starts(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

struct string {
	char *text;
	size_t length;
};

static void append(struct string *string, const char *text, size_t length)
{
	string->text = realloc(string->text, string->length + length + 1);
	memcpy(string->text + string->length, text, length);
	string->length += length;
	string->text[string->length] = 0;
}

/* Cont events behind a line, and their end. True: there were some. */
static bool take_continuation(struct task *task, struct string *string)
{
	bool any = false;

	while (starts(peek(task), "Cont|")) {
		const char *text = next(task) + 5;

		if (strlen(text) > PART)
			fail("more than %d characters in a part", PART);
		append(string, "\n", 1);
		append(string, text, strlen(text));
		any = true;
	}
	if (any && strcmp(next(task), "Cont_end|") != 0)
		fail("Cont is not ended");
	return any;
}

/* TAG[index]part; false if the line is none of these. */
static bool take_part(struct task *task, const char *tag, unsigned index, struct string *string)
{
	char head[32];
	const char *text;
	int length = snprintf(head, sizeof(head), "%s[%u]", tag, index);

	if (!starts(peek(task), head))
		return false;
	text = next(task) + length;
	if (strlen(text) > PART)
		fail("more than %d characters in a part", PART);
	append(string, text, strlen(text));
	take_continuation(task, string);
	return true;
}

static struct string take_string(struct task *task, const char *tag)
{
	struct string string = { 0 };
	char head[32];
	unsigned index = 0;

	append(&string, "", 0);
	snprintf(head, sizeof(head), "%s|", tag);
	if (starts(peek(task), head)) {
		const char *text = next(task) + strlen(head);

		append(&string, text, strlen(text));
		take_continuation(task, &string);
		if (string.length >= PART)
			fail("%s of %zu characters is not in parts", tag, string.length);
		return string;
	}
	while (take_part(task, tag, index, &string))
		index++;
	snprintf(head, sizeof(head), "%s_end|", tag);
	if (!index || strcmp(next(task), head) != 0)
		fail("expected %s", tag);
	if (string.length < PART)
		fail("%s of %zu characters is in parts", tag, string.length);
	return string;
}

static void print_text(const char *text)
{
	for (; *text; text++)
		if (*text == '\n')
			printf("\\n");
		else
			putchar(*text);
}

/* The string must be as long as its event said; it is printed behind the event. */
static void want_string(struct task *task, const char *tag, uint64_t size)
{
	struct string string = take_string(task, tag);

	if (string.length != size)
		fail("%s has %zu characters and not %" PRIu64, tag, string.length, size);
	printf(" %s=", tag);
	print_text(string.text);
	free(string.text);
}

#define KEYS_MAX 6

/* TAG|key=value,key=value: the keys in this order; a key in brackets may be missing (value -1). */
static bool take_keys(const char *line, const char *tag, const char *keys, int64_t *values)
{
	size_t length = strlen(tag);
	char copy[160], *key, *rest = copy;
	bool is_first = true;

	if (strncmp(line, tag, length) != 0 || line[length] != '|')
		return false;
	line += length + 1;
	snprintf(copy, sizeof(copy), "%s", keys);
	while ((key = strsep(&rest, " ")) != NULL && *key) {
		bool is_optional = *key == '[';
		size_t size;

		key += is_optional;
		size = strcspn(key, "]");
		*values = -1;
		if (!strncmp(line + !is_first * (*line == ','), key, size) &&
		    line[!is_first * (*line == ',') + size] == '=') {
			bool is_negative;

			if (!is_first && *line++ != ',')
				fail("expected a comma before %s", key);
			line += size + 1;
			is_negative = *line == '-';
			line += is_negative;
			*values = (int64_t)number(
				&line, line[strspn(line, "0123456789")] == ',' ? ',' : '\0');
			if (is_negative)
				*values = -*values;
			if (line[-1] == ',')
				line--;
			is_first = false;
		} else if (!is_optional) {
			fail("expected %s: %.60s", key, line);
		}
		values++;
	}
	if (*line)
		fail("more behind the keys of %s: %.60s", tag, line);
	return true;
}

static void take_program(struct task *task, const int64_t *v)
{
	uint64_t size = 0;

	printf("New_proc argsize=%" PRId64, v[0]);
	want_string(task, "PI", (uint64_t)v[1]);
	want_string(task, "PP", (uint64_t)v[2]);
	want_string(task, "CW", (uint64_t)v[3]);
	for (unsigned i = 0; !starts(peek(task), "End_of_args|"); i++) {
		struct string string = { 0 };

		if (!take_part(task, "A", i, &string))
			fail("expected argument %u: %.60s", i, peek(task));
		while (take_part(task, "A", i, &string))
			;
		size += string.length + 1;
		printf(" A%u=", i);
		print_text(string.text);
		free(string.text);
	}
	if (strcmp(next(task), "End_of_args|") != 0)
		fail("more behind End_of_args");
	if (size != (uint64_t)v[0])
		fail("arguments have %" PRIu64 " characters and not %" PRId64, size, v[0]);
}

static void take_child(const char *line, int64_t upid)
{
	(void)line;
	if (upid < 0)
		fail("a child without a number");
	for (size_t i = 0; i < task_count; i++)
		if (tasks[i].upid == (uint64_t)upid) {
			if (tasks[i].is_child)
				fail("a child is made twice");
			if (tasks[i].count && tasks[i].numbers[0] < where)
				fail("a child is made after its first line");
			tasks[i].is_child = true;
			printf("SchedFork task%zu", i + 1);
			return;
		}
	printf("SchedFork silent");
}

/* FROM, then TO or the failure. */
static void take_names(struct task *task, const char *what, const char *tags, uint64_t size)
{
	char tag[3] = { tags[0], 'F', 0 }, line[40];
	int64_t v[KEYS_MAX];

	want_string(task, tag, size);
	snprintf(line, sizeof(line), "%sFailed|", what);
	if (!strcmp(peek(task), line)) {
		next(task);
		printf(" %sFailed", what);
		return;
	}
	snprintf(line, sizeof(line), "%sTo", what);
	if (!take_keys(next(task), line, "fnamesize", v))
		fail("expected %s", line);
	tag[1] = 'T';
	want_string(task, tag, (uint64_t)v[0]);
}

static bool take_name_event(struct task *task, const char *line)
{
	int64_t v[KEYS_MAX];

	if (take_keys(line, "RenameFrom", "fnamesize", v)) {
		printf("Rename");
		take_names(task, "Rename", "R", (uint64_t)v[0]);
	} else if (take_keys(line, "Rename2From", "fnamesize flags", v)) {
		printf("Rename2 flags=%" PRId64, v[1]);
		take_names(task, "Rename", "R", (uint64_t)v[0]);
	} else if (take_keys(line, "LinkFrom", "fnamesize", v)) {
		printf("Link");
		take_names(task, "Link", "L", (uint64_t)v[0]);
	} else if (take_keys(line, "LinkatFrom", "fnamesize flags", v)) {
		printf("Linkat flags=%" PRId64, v[1]);
		take_names(task, "Link", "L", (uint64_t)v[0]);
	} else if (take_keys(line, "Symlink", "targetnamesize [resolvednamesize] linknamesize",
			     v)) {
		printf("Symlink");
		want_string(task, "ST", (uint64_t)v[0]);
		if (v[1] >= 0)
			want_string(task, "SR", (uint64_t)v[1]);
		want_string(task, "SL", (uint64_t)v[2]);
	} else if (!strcmp(line, "RenameFailed|") || !strcmp(line, "LinkFailed|") ||
		   !strcmp(line, "UmountFailed|")) {
		printf("%.*s", (int)strlen(line) - 1, line);
	} else {
		return false;
	}
	return true;
}

static void take_failure(struct task *task, const char *line)
{
	if (strcmp(peek(task), line) != 0)
		return;
	next(task);
	printf(" %.*s", (int)strlen(line) - 1, line);
}

static bool take_mount_event(struct task *task, const char *line)
{
	int64_t v[KEYS_MAX];

	if (take_keys(line, "Mount", "[sourcenamesize] targetnamesize [typenamesize] flags", v)) {
		printf("Mount flags=%" PRId64, v[3]);
		if (v[0] >= 0)
			want_string(task, "MS", (uint64_t)v[0]);
		want_string(task, "MT", (uint64_t)v[1]);
		if (v[2] >= 0)
			want_string(task, "MX", (uint64_t)v[2]);
		take_failure(task, "MountFailed|");
	} else if (take_keys(line, "Umount", "targetnamesize flags", v)) {
		printf("Umount flags=%" PRId64, v[1]);
		want_string(task, "MT", (uint64_t)v[0]);
		take_failure(task, "UmountFailed|");
	} else {
		return false;
	}
	return true;
}

static bool take_task_event(struct task *task, const char *line)
{
	int64_t v[KEYS_MAX];

	if (take_keys(line, "New_proc", "argsize prognameisize prognamepsize cwdsize", v)) {
		take_program(task, v);
	} else if (take_keys(line, "SysClone", "flags", v)) {
		printf("SysClone flags=%" PRId64 " ", v[0]);
		line = next(task);
		if (!strcmp(line, "SysCloneFailed|"))
			printf("failed");
		else if (take_keys(line, "SchedFork", "pid", v))
			take_child(line, v[0]);
		else
			fail("SysClone without what came of it");
	} else if (take_keys(line, "SchedFork", "pid", v)) {
		take_child(line, v[0]);
	} else if (take_keys(line, "Exit", "status", v)) {
		printf("Exit status=%" PRId64, v[0]);
		if (v[0] < 0 || v[0] > 255)
			fail("no such status");
		if (task->at < task->count)
			fail("more of the task behind its Exit");
	} else if (take_keys(line, "Comm", "size", v)) {
		printf("Comm");
		want_string(task, "CN", (uint64_t)v[0]);
	} else {
		return false;
	}
	return true;
}

static bool take_file_event(struct task *task, const char *line)
{
	int64_t v[KEYS_MAX];

	if (take_keys(line, "Open", "fnamesize forigsize flags mode fd", v)) {
		printf("Open flags=%" PRId64 " mode=%" PRId64 " fd=%" PRId64, v[2], v[3], v[4]);
		want_string(task, "FN", (uint64_t)v[0]);
		want_string(task, "FO", (uint64_t)v[1]);
	} else if (take_keys(line, "Pipe", "fd1 fd2 flags", v)) {
		printf("Pipe fd1=%" PRId64 " fd2=%" PRId64 " flags=%" PRId64, v[0], v[1], v[2]);
	} else if (take_keys(line, "Close", "fd", v)) {
		printf("Close fd=%" PRId64, v[0]);
	} else if (take_keys(line, "Dup", "oldfd newfd flags", v)) {
		printf("Dup oldfd=%" PRId64 " newfd=%" PRId64 " flags=%" PRId64, v[0], v[1], v[2]);
	} else {
		return false;
	}
	return true;
}

static void take_task(struct task *task, size_t index)
{
	while (task->at < task->count) {
		const char *line = next(task);

		printf("task%zu ", index + 1);
		if (!take_task_event(task, line) && !take_file_event(task, line) &&
		    !take_name_event(task, line) && !take_mount_event(task, line))
			fail("no event of etrace: %.60s", line);
		putchar('\n');
	}
}

int main(int argc, char **argv)
{
	bool is_framed = argc > 1 && !strcmp(argv[1], "--cas");
	const char *path = argc > 1 + is_framed ? argv[1 + is_framed] : NULL;
	FILE *file = path ? fopen(path, "r") : stdin;

	if (!file)
		fail("%s: cannot be opened", path);
	read_lines(file, is_framed);
	for (size_t i = 0; i < task_count; i++)
		take_task(&tasks[i], i);
	return 0;
}
