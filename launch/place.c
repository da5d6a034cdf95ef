/* SPDX-License-Identifier: MIT */
#include "launch/session.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "process/program.h"

#include "machine.h"
#include "places.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static const struct {
	const char *name, *directory; /* `directory` is relative to the directory of this program */
	int mode;		      /* mode for access(2) */
} parts[] = {
	[PART_LIBRARY] = { "libholdtrace.so", PROGRAM_TO_LIBRARY, R_OK },
	[PART_COLLECTOR] = { "holdtrace-collect", PROGRAM_TO_PARTS, X_OK },
	[PART_INJECTOR] = { "holdtrace-inject", PROGRAM_TO_PARTS, X_OK },
	[PART_LIVE] = { "holdtrace-live", PROGRAM_TO_PARTS, X_OK },
	[PART_VIEW] = { "holdtrace-view", PROGRAM_TO_PARTS, X_OK },
	[PART_PUSH] = { "holdtrace-push", PROGRAM_TO_PARTS, X_OK },
	[PART_POSTPROC] = { "holdtrace-postproc", ".", X_OK },
};

int place_find(enum part part, char **path, struct error *err)
{
	const char *const directories[] = { ".", parts[part].directory };
	const char *called = (const char *)getauxval(AT_EXECFN);
	char own[PATH_MAX], found[PATH_MAX];
	struct stat ours, file;

	*path = NULL;
	/* if /proc is not mounted, use the kernel's copy of the name that was passed to exec */
	if (!realpath("/proc/self/exe", own) && !(called && realpath(called, own)))
		return error_system(err, errno,
				    "cannot find the directory of holdtrace by /proc/self/exe");
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		int length = (int)(strrchr(own, '/') - own);
		cleanup_free char *name =
			memory_format("%.*s/%s/%s", length, own, directories[i], parts[part].name);

		/*
		 * Normally the part was built or installed with this program; but other users may
		 * be able to write to its directory (such as /tmp). So the file must belong to the
		 * program's owner, to root or to this user, and other users must not be able to
		 * write to it.
		 */
		if (access(name, parts[part].mode) == 0 && realpath(name, found) &&
		    stat(own, &ours) == 0 && stat(found, &file) == 0 &&
		    (file.st_uid == ours.st_uid || file.st_uid == 0 || file.st_uid == geteuid()) &&
		    !(file.st_mode & S_IWOTH)) {
			*path = memory_text(found);
			return 0;
		}
	}
	*strrchr(own, '/') = 0;
	return error_set(err, ENOENT, "%s is neither in %s nor in %s/%s: install holdtrace again",
			 parts[part].name, own, own, parts[part].directory);
}

/* Returns 0 if `path` is a file that can be executed, else a negative errno. */
static int check_program(const char *path)
{
	struct stat status;

	if (stat(path, &status))
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	return access(path, X_OK) ? -errno : 0;
}

/*
 * Searches PATH as execvp(3) does. Skips files that cannot be executed; if only such files are
 * found, returns -EACCES.
 */
static int search_path(const char *word, char **path)
{
	const char *list = getenv("PATH");
	int result = -ENOENT;

	for (const char *at = list ? list : "/bin:/usr/bin";; at++) {
		size_t length = strcspn(at, ":");
		int status;

		*path = memory_format("%.*s%s%s", (int)length, at, length ? "/" : "./", word);
		status = check_program(*path);
		if (!status)
			return 0;
		free(*path);
		*path = NULL;
		if (status == -EACCES)
			result = status;
		at += length;
		if (!*at)
			return result;
	}
}

int place_program(const char *word, char **path, struct error *err)
{
	int status;

	*path = NULL;
	if (!*word)
		return error_set(err, ENOENT, "the name of the program is empty");
	if (strchr(word, '/')) {
		*path = memory_text(word);
		status = check_program(*path);
	} else {
		status = search_path(word, path);
	}
	if (!status)
		return 0;
	free(*path);
	*path = NULL;
	return error_system(err, -status, "%s: cannot be run", word);
}

/* ---- whether a program can be traced ---- */

#define SCRIPTS_MAX 5 /* number of #! lines that the kernel follows (BINPRM_MAX_RECURSION) */

static int check_loader(const char *path, int fd, const Elf64_Ehdr *header, bool *ignores,
			struct error *err)
{
	Elf64_Phdr headers[PROGRAM_HEADERS_MAX];
	unsigned count = program_headers(fd, header, headers);
	char interpreter[PATH_MAX] = "";
	bool is_dynamic = false, is_musl;

	if (!count)
		return 0;
	for (unsigned i = 0; i < count; i++) {
		size_t size = headers[i].p_filesz;

		is_dynamic |= headers[i].p_type == PT_DYNAMIC;
		if (headers[i].p_type != PT_INTERP)
			continue;
		size = size < sizeof(interpreter) ? size : sizeof(interpreter) - 1;
		if (pread(fd, interpreter, size, (off_t)headers[i].p_offset) < 0)
			size = 0;
		interpreter[size] = 0;
	}
	/*
	 * the dynamic loader itself has a dynamic section but no interpreter; LD_PRELOAD works for
	 * it, too
	 */
	if (!interpreter[0] && is_dynamic && strstr(path, "/ld-"))
		return 0;
	is_musl = strstr(interpreter, "ld-musl") != NULL; /* see preload/hooks/hand_loader.c */
	*ignores = !interpreter[0] || is_musl;
	if (!interpreter[0])
		return error_set(err, ENOTSUP,
				 "%s is statically linked, so no library can be loaded into it: "
				 "link it dynamically to trace it",
				 path);
	if (is_musl)
		return error_set(
			err, ENOTSUP,
			"%s uses the musl C library (%s), but libholdtrace.so is built for glibc",
			path, interpreter);

	const char *name = program_sanitizer(fd, header), *preloaded = getenv("LD_PRELOAD");

	if (name)
		return error_set(err, ENOTSUP,
				 "%s is built with %s, which has its own malloc and must be the "
				 "first library: to trace the program, build it without the "
				 "sanitizer",
				 path, name);
	if (preloaded && program_names_sanitizer(preloaded))
		return error_set(err, ENOTSUP,
				 "LD_PRELOAD names a sanitizer (%s), which has its own malloc and "
				 "must be the first library: to trace the program, run it without "
				 "the sanitizer",
				 preloaded);
	return 0;
}

int inspect_program(const char *path, char **program, bool *ignores, struct error *err)
{
	char buffer[4096], next[4096];

	for (int i = 0; i < SCRIPTS_MAX; i++) {
		cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		char *interpreter;
		struct stat status;
		ssize_t length;

		if (fd < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode))
			return 0;
		length = pread(fd, buffer, sizeof(buffer) - 1, 0);
		if (length <= 0)
			return 0;
		buffer[length] = 0;
		if (length >= (ssize_t)sizeof(Elf32_Ehdr) && memcmp(buffer, ELFMAG, SELFMAG) == 0) {
			Elf64_Ehdr header = { 0 };
			/* the kernel uses the set-id bits of programs, but not those of scripts */
			bool sets_user = status.st_mode & S_ISUID && status.st_uid != geteuid();
			bool sets_group = status.st_mode & S_ISGID && status.st_mode & S_IXGRP &&
					  status.st_gid != getegid();

			*program = memory_text(path);
			memcpy(&header, buffer,
			       (size_t)length < sizeof(header) ? (size_t)length : sizeof(header));
			/* the loader ignores LD_PRELOAD of such programs (ld.so(8), AT_SECURE) */
			*ignores = sets_user || sets_group ||
				   (geteuid() != 0 &&
				    getxattr(path, "security.capability", NULL, 0) > 0);
			if (*ignores)
				return error_set(err, ENOTSUP,
						 "%s runs with more privileges than you have (%s), "
						 "so the loader ignores "
						 "LD_PRELOAD: run holdtrace with the same "
						 "privileges, or trace a copy without them",
						 path,
						 sets_user    ? "set-user-id"
						 : sets_group ? "set-group-id"
							      : "file capabilities");
			if (header.e_ident[EI_CLASS] != ELFCLASS64)
				return error_set(err, ENOTSUP,
						 "%s is a 32-bit program, but libholdtrace.so is "
						 "64-bit and cannot be loaded into it",
						 path);
			if (header.e_machine != MACHINE_OWN)
				return error_set(
					err, ENOTSUP,
					"%s is built for another processor (ELF machine %u)", path,
					header.e_machine);
			return check_loader(path, fd, &header, ignores, err);
		}
		/* find the interpreter in a script's #! line */
		interpreter = buffer + 2;
		if (length < 3 || buffer[0] != '#' || buffer[1] != '!')
			return 0;
		interpreter += strspn(interpreter, " \t");
		interpreter[strcspn(interpreter, " \t\n")] = 0;
		if (*interpreter != '/')
			return 0;
		snprintf(next, sizeof(next), "%s", interpreter);
		path = next;
	}
	return 0;
}
