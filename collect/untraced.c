/* SPDX-License-Identifier: MIT */
#include "collect/untraced.h"

#include <elf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/proc.h"

#define HEADERS_MAX 64
#define LIBRARY	    "libholdtrace.so"

const char *const untraced_words[] = {
#define UNTRACED(name, word, sentence) word,
#include "base/untraced.def"
#undef UNTRACED
};

static bool gains_rights(int32_t pid)
{
	cleanup_fd int fd = proc_open(pid, 0, "auxv");
	unsigned long pair[2] = { 0 };

	while (fd >= 0 && read(fd, pair, sizeof(pair)) == (ssize_t)sizeof(pair))
		if (pair[0] == AT_SECURE)
			return pair[1];
	return false;
}

/* Returns why the program's file cannot be traced, or UNTRACED_UNKNOWN. */
static enum untraced look_at_file(int32_t pid)
{
	cleanup_fd int fd = proc_open(pid, 0, "exe");
	Elf64_Phdr headers[HEADERS_MAX];
	Elf64_Ehdr header;
	ssize_t got;

	if (fd < 0 || pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG))
		return UNTRACED_UNKNOWN;
	if (header.e_ident[EI_CLASS] == ELFCLASS32)
		return UNTRACED_NARROW;
	got = pread(fd, headers, sizeof(headers), (off_t)header.e_phoff);
	if (header.e_phnum > HEADERS_MAX || got < (ssize_t)(header.e_phnum * sizeof(*headers)))
		return UNTRACED_UNKNOWN;
	for (unsigned i = 0; i < header.e_phnum; i++) {
		char name[PATH_MAX] = "";

		if (headers[i].p_type != PT_INTERP)
			continue;
		return pread(fd, name, sizeof(name) - 1, (off_t)headers[i].p_offset) > 0 &&
				       strstr(name, "ld-musl")
			       ? UNTRACED_MUSL
			       : UNTRACED_UNKNOWN;
	}
	return UNTRACED_STATIC;
}

/* Finds the library's path in a value of LD_PRELOAD. Spaces and colons separate the paths in it. */
static bool find_library(char *entry, char **path)
{
	char *rest = NULL;

	for (char *part = strtok_r(entry, ": ", &rest); part; part = strtok_r(NULL, ": ", &rest))
		if (strstr(part, LIBRARY)) {
			*path = part;
			return true;
		}
	return false;
}

static enum untraced look_at_environment(int32_t pid)
{
	static const char name[] = "LD_PRELOAD=";
	char path[64], inside[PATH_MAX];
	cleanup_file FILE *file = NULL;
	cleanup_free char *entry = NULL;
	size_t room = 0;
	char *library;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return UNTRACED_UNKNOWN;
	while (getdelim(&entry, &room, '\0', file) > 0) {
		if (strncmp(entry, name, sizeof(name) - 1) != 0 ||
		    !find_library(entry + sizeof(name) - 1, &library))
			continue;
		snprintf(inside, sizeof(inside), "/proc/%d/root%s", (int)pid, library);
		/* the loader searches for other names, so the file cannot be checked */
		return *library == '/' && !strchr(library, '$') && access(inside, R_OK)
			       ? UNTRACED_HIDDEN
			       : UNTRACED_GIVEN;
	}
	return ferror(file) ? UNTRACED_UNKNOWN : UNTRACED_DROPPED;
}

enum untraced untraced_find(int32_t pid)
{
	enum untraced found = look_at_file(pid);

	if (found == UNTRACED_UNKNOWN && gains_rights(pid))
		found = UNTRACED_RIGHTS;
	return found == UNTRACED_UNKNOWN ? look_at_environment(pid) : found;
}
