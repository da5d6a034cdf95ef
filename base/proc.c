/* SPDX-License-Identifier: MIT */
#include "base/proc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"

/* NULL: it cannot be opened. */
static FILE *open_file(int32_t pid, int32_t thread, const char *name)
{
	char path[96];

	if (thread)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)thread, name);
	else
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return fopen(path, "re");
}

const char *proc_stat(int32_t pid, int32_t thread, char text[PROC_STAT_SIZE])
{
	cleanup_file FILE *file = open_file(pid, thread, "stat");
	const char *at;

	if (!file)
		return NULL;
	text[fread(text, 1, PROC_STAT_SIZE - 1, file)] = '\0';
	/* the second field is a name in brackets, with whatever in it */
	at = strrchr(text, ')');
	return at && at[1] == ' ' && at[2] ? at + 2 : NULL;
}

/* The last number of the NSpid line. */
int32_t proc_own_number(int32_t pid, int32_t thread)
{
	cleanup_file FILE *file = open_file(pid, thread, "status");
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		const char *last = strrchr(line, '\t');

		if (!strncmp(line, "NSpid:", 6) && last)
			return (int32_t)strtol(last + 1, NULL, 10);
	}
	return 0;
}

bool proc_has_no_rights(int32_t pid, uid_t uid)
{
	cleanup_file FILE *file = open_file(pid, 0, "status");
	unsigned long long rights = 1;
	unsigned users[4] = { 0 };
	bool is_one = false;
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Uid: %u %u %u %u", &users[0], &users[1], &users[2], &users[3]) ==
		    4)
			is_one = users[0] == uid && users[1] == uid && users[2] == uid &&
				 users[3] == uid;
		sscanf(line, "CapPrm: %llx", &rights);
	}
	return is_one && !rights;
}

void proc_call(int32_t pid, int32_t thread, struct proc_call *call)
{
	cleanup_file FILE *file = open_file(pid, thread, "syscall");
	uint64_t *argument = call->argument;

	*call = (struct proc_call){ .number = -1 };
	if (!file || fscanf(file,
			    "%" SCNi64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
			    " %" SCNx64 " %" SCNx64 " %" SCNx64,
			    &call->number, argument, argument + 1, argument + 2, argument + 3,
			    argument + 4, argument + 5, &call->sp, &call->pc) != 9)
		call->number = -1;
}

int proc_has_mapped(int32_t pid, dev_t device, ino_t inode)
{
	cleanup_file FILE *file = open_file(pid, 0, "maps");
	char line[512];

	if (!file)
		return errno == ENOENT || errno == ESRCH ? 0 : -EACCES;
	while (fgets(line, sizeof(line), file)) {
		unsigned high, low;
		unsigned long number;

		/* a long path's rest does not look like this */
		if (sscanf(line, "%*x-%*x %*4s %*x %x:%x %lu", &high, &low, &number) == 3 &&
		    number == inode && high == major(device) && low == minor(device))
			return 1;
	}
	return ferror(file) ? -EACCES : 0;
}

bool proc_is_elsewhere(int32_t pid, const char *space)
{
	char path[64], theirs[64] = "", ours[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, space);
	if (readlink(path, theirs, sizeof(theirs) - 1) < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/self/ns/%s", space);
	return readlink(path, ours, sizeof(ours) - 1) > 0 && strcmp(theirs, ours) != 0;
}

char proc_yama(void)
{
	cleanup_file FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = file ? fgetc(file) : EOF;

	return scope == EOF ? '0' : (char)scope;
}
