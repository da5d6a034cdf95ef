/* SPDX-License-Identifier: MIT */
#include "process/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"

#define TEXT_MAX (128u << 20) /* maximum size of a file in /proc: enough for a million mappings */

#define PATH_SIZE 320 /* a name has at most 255 bytes */

static void make_path(char path[PATH_SIZE], int32_t pid, int32_t thread, const char *name)
{
	if (thread)
		snprintf(path, PATH_SIZE, "/proc/%d/task/%d/%s", (int)pid, (int)thread, name);
	else
		snprintf(path, PATH_SIZE, "/proc/%d/%s", (int)pid, name);
}

int proc_open(int32_t pid, int32_t thread, const char *name)
{
	char path[PATH_SIZE];

	make_path(path, pid, thread, name);
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

size_t proc_link(int32_t pid, int32_t thread, const char *name, char *target, size_t size)
{
	char path[PATH_SIZE];
	ssize_t length;

	make_path(path, pid, thread, name);
	length = readlink(path, target, size - 1);
	target[length > 0 ? length : 0] = '\0';
	return length > 0 ? (size_t)length : 0;
}

void proc_name(int32_t pid, int32_t thread, char *name, size_t size)
{
	cleanup_free char *text = proc_text(pid, thread, "comm");

	snprintf(name, size, "%.*s", text ? (int)strcspn(text, "\n") : 0, text ? text : "");
}

char *proc_text(int32_t pid, int32_t thread, const char *name)
{
	cleanup_fd int fd = proc_open(pid, thread, name);
	size_t size = 0, room = 4096;
	char *text = fd < 0 ? NULL : malloc(room);

	while (text) {
		ssize_t got = read(fd, text + size, room - size - 1);
		char *larger;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			text[size] = '\0';
			if (!got)
				return text;
			break;
		}
		size += (size_t)got;
		if (size + 1 < room)
			continue;
		room *= 2;
		errno = EFBIG;
		larger = room > TEXT_MAX ? NULL : realloc(text, room);
		if (!larger)
			break;
		text = larger;
	}
	free(text);
	return NULL;
}

const char *proc_value(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, length) && strchr(": \t", line[length]))
			return line + length + strspn(line + length, ": \t");
	}
	return NULL;
}

int64_t proc_status(int32_t pid, int32_t thread, const char *name, int base)
{
	cleanup_free char *text = proc_text(pid, thread, "status");
	const char *value = proc_value(text, name);

	return value ? (int64_t)strtoull(value, NULL, base) : -1;
}

int32_t *proc_numbers(const char *path, size_t *count)
{
	ARRAY_OF(int32_t) numbers = { 0 };
	const struct dirent *entry;
	DIR *directory = opendir(path);

	while (directory && (entry = readdir(directory)) != NULL) {
		bool is_number = *entry->d_name >= '0' && *entry->d_name <= '9';
		int32_t *number = is_number ? ARRAY_ADD(&numbers) : NULL;

		if (number)
			*number = atoi(entry->d_name);
	}
	if (directory)
		closedir(directory);
	*count = numbers.count;
	return numbers.items;
}

int32_t *proc_threads(int32_t pid, size_t *count)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	return proc_numbers(path, count);
}

const char *proc_stat(int32_t pid, int32_t thread, char text[PROC_STAT_SIZE])
{
	cleanup_fd int fd = proc_open(pid, thread, "stat");
	ssize_t got = fd < 0 ? -1 : read(fd, text, PROC_STAT_SIZE - 1);
	const char *at;

	if (got < 0)
		return NULL;
	text[got] = '\0';
	/* the second field is a name in parentheses, which may contain any character */
	at = strrchr(text, ')');
	return at && at[1] == ' ' && at[2] ? at + 2 : NULL;
}

bool proc_has_ended(int32_t pid, int32_t thread)
{
	char text[PROC_STAT_SIZE];
	const char *state = proc_stat(pid, thread, text);

	return !state || *state == 'Z' || *state == 'X';
}

const char *proc_field(const char *stat, int number)
{
	for (int i = 3; stat && i < number; i++) {
		stat = strchr(stat, ' ');
		stat += stat != NULL;
	}
	return stat;
}

/* Returns the last number of the NSpid line, which is the id in the innermost namespace. */
int32_t proc_own_number(int32_t pid, int32_t thread)
{
	cleanup_free char *text = proc_text(pid, thread, "status");
	const char *at = proc_value(text, "NSpid");

	while (at && at[strcspn(at, "\t\n")] == '\t')
		at += strcspn(at, "\t\n") + 1;
	return at ? (int32_t)strtol(at, NULL, 10) : 0;
}

bool proc_has_no_rights(int32_t pid, uid_t uid)
{
	cleanup_free char *text = proc_text(pid, 0, "status");
	const char *users = proc_value(text, "Uid"), *rights = proc_value(text, "CapPrm");
	unsigned user[4];

	return users && rights &&
	       sscanf(users, "%u %u %u %u", &user[0], &user[1], &user[2], &user[3]) == 4 &&
	       user[0] == uid && user[1] == uid && user[2] == uid && user[3] == uid &&
	       !strtoull(rights, NULL, 16);
}

uint64_t proc_ran_ns(int32_t pid, int32_t thread)
{
	cleanup_free char *text = proc_text(pid, thread, "sched");
	const char *value = proc_value(text, "se.exec_start");

	return value ? (uint64_t)(strtod(value, NULL) * 1e6) : 0;
}

int proc_call(int32_t pid, int32_t thread, struct proc_call *call)
{
	uint64_t *argument = call->argument;
	cleanup_free char *text = proc_text(pid, thread, "syscall");

	if (!text || sscanf(text,
			    "%" SCNi64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
			    " %" SCNx64 " %" SCNx64 " %" SCNx64,
			    &call->number, argument, argument + 1, argument + 2, argument + 3,
			    argument + 4, argument + 5, &call->sp, &call->pc) != 9)
		*call = (struct proc_call){ .number = -1 };
	return text ? 0 : -errno;
}

bool proc_is_elsewhere(int32_t pid, const char *space)
{
	char name[16], theirs[64], ours[64];

	snprintf(name, sizeof(name), "ns/%s", space);
	return proc_link(pid, 0, name, theirs, sizeof(theirs)) &&
	       proc_link(getpid(), 0, name, ours, sizeof(ours)) && strcmp(theirs, ours) != 0;
}

char proc_yama(void)
{
	cleanup_file FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = file ? fgetc(file) : EOF;

	return scope == EOF ? '0' : (char)scope;
}
