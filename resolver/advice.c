/* SPDX-License-Identifier: MIT */
#include "resolver/advice.h"

#include "base/cleanup.h"
#include "base/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* ---- the Debian package of a file, from the lists of dpkg; no program is run ---- */

/* Whether the list has a line that equals one of the paths. */
static bool list_has(int directory, const char *name, const char *const *paths)
{
	cleanup_fd int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	bool found = false;
	const char *end;
	char *text;

	if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0)
		return false;
	text = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED)
		return false;
	end = text + status.st_size;
	for (; *paths && !found; paths++) {
		size_t length = strlen(*paths);

		for (const char *at = text;
		     !found && (at = memmem(at, (size_t)(end - at), *paths, length)) != NULL; at++)
			found = (at == text || at[-1] == '\n') &&
				(at + length == end || at[length] == '\n');
	}
	munmap(text, (size_t)status.st_size);
	return found;
}

/* Returns the name of the package that contains this file, or NULL. The caller frees it. */
static char *find_package(DIR *lists, const char *path)
{
	bool is_in_usr = strncmp(path, "/usr/", 5) == 0;
	cleanup_free char *merged = is_in_usr ? NULL : memory_format("/usr%s", path);
	/* if /lib is a symbolic link to /usr/lib, the lists may have either path */
	const char *paths[] = { path, is_in_usr ? path + 4 : merged, NULL };
	struct dirent *file;

	while (path[0] == '/' && (file = readdir(lists)) != NULL) {
		/* the file is NAME.list or NAME:ARCHITECTURE.list */
		const char *end = strrchr(file->d_name, '.'), *colon = strchr(file->d_name, ':');

		if (!end || strcmp(end, ".list") != 0 ||
		    !list_has(dirfd(lists), file->d_name, paths))
			continue;
		end = colon && colon < end ? colon : end;
		return memory_text_part(file->d_name, (size_t)(end - file->d_name));
	}
	return NULL;
}

/* ---- advice ---- */

/* Advises the user how to get debug symbols. */
static char *debug_symbols(const struct entry *entry, const char *build_id,
			   const struct resolve_options *options)
{
	const char *root = options->root ? options->root : "";
	cleanup_free char *path = memory_format("%s/var/lib/dpkg/info", root);
	cleanup_free char *package = NULL;
	DIR *lists = path ? opendir(path) : NULL;
	bool has_lists = lists != NULL;
	const char *servers = options->debuginfod ? "" : ", or ask a server with --debuginfod=URL";

	if (lists) {
		package = find_package(lists, entry->file_path);
		closedir(lists);
	}
	/* the debug package of libc6 is the only one that kept the old suffix -dbg */
	if (package)
		return memory_format("install %s%s%s", package,
				     strcmp(package, "libc6") == 0 ? "-dbg" : "-dbgsym",
				     *build_id ? servers : "");
	if (*build_id && !has_lists)
		return memory_format("install /usr/lib/debug/.build-id/%.2s/%s.debug (dnf and "
				     "zypper install it by this path)%s",
				     build_id, build_id + 2, servers);
	return memory_format("build it with -g%s",
			     *build_id ? ", or name the directory of its "
					 "debug file with --map=/usr/lib/debug=DIR"
				       : "");
}

char *advice_for(const struct entry *entry, enum resolve_reason reason,
		 const struct resolve_options *options)
{
	/* the build-id in the trace or, if the trace has none, in the file */
	const struct facts *facts = &entry->facts;
	const uint8_t *bytes = entry->build_id_size ? entry->build_id : facts->build_id;
	unsigned size = entry->build_id_size ? entry->build_id_size : facts->build_id_size;
	char build_id[2 * FILES_BUILD_ID_MAX + 1] = "";

	for (unsigned i = 0; i < size; i++)
		sprintf(build_id + 2 * i, "%02x", bytes[i]);
	switch (reason) {
	case RESOLVE_MISSING:
		if (!options->root)
			return memory_text("resolve on the machine that made the trace, or name a "
					   "copy of its files with --map=DIR or --map=OLD=NEW");
		return memory_format(
			"put it under %s, at the path that it has on the traced machine%s",
			options->root,
			entry->build_id_size && !options->debuginfod
				? ", or ask a server with --debuginfod=URL"
				: "");
	case RESOLVE_WRONG_FILE:
		if (!entry->build_id_size)
			return memory_text("reinstall the version that was traced, or name a copy "
					   "of the old files with --map=DIR");
		return memory_format(
			"the trace needs build-id %s: reinstall that version, name a copy of the "
			"old files with --map=DIR, or name its debug files with "
			"--map=/usr/lib/debug=DIR",
			build_id);
	case RESOLVE_WRONG_MACHINE:
		return memory_text("name a copy of the traced machine's files with --map=DIR");
	case RESOLVE_NO_SYMBOLS:
		/* if the file has symbols, the address is in padding or data: no advice */
		return entry->facts.has_symbols ? NULL : debug_symbols(entry, build_id, options);
	case RESOLVE_FINE:
	case RESOLVE_SPECIAL:
	case RESOLVE_REFUSED:
	case RESOLVE_BROKEN:
		break;
	}
	return NULL;
}
