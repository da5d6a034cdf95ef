/* SPDX-License-Identifier: MIT */
#include "resolver/advice.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "resolver/package.h"

#include <stdio.h>
#include <string.h>

/* Writes the build-id of the trace, else of the file. */
static void write_build_id(const struct entry *entry, char *text)
{
	const struct facts *facts = &entry->facts;
	const uint8_t *bytes = entry->build_id_size ? entry->build_id : facts->build_id;
	unsigned size = entry->build_id_size ? entry->build_id_size : facts->build_id_size;

	*text = 0;
	for (unsigned i = 0; i < size; i++)
		text += sprintf(text, "%02x", bytes[i]);
}

/* How to get debug symbols. */
static char *debug_symbols(const struct entry *entry, const char *build_id,
			   const struct resolve_options *options)
{
	cleanup_free char *package = package_of(options->root, entry->file_path);
	const char *servers = options->debuginfod ? "" : ", or ask a server with --debuginfod=URL";

	/* libc6 is the only package that kept the old suffix. */
	if (package)
		return memory_format("install %s%s%s", package,
				     strcmp(package, "libc6") == 0 ? "-dbg" : "-dbgsym",
				     *build_id ? servers : "");
	if (*build_id && !package_is_debian(options->root))
		return memory_format("install /usr/lib/debug/.build-id/%.2s/%s.debug (dnf and "
				     "zypper know it by that name)%s",
				     build_id, build_id + 2, servers);
	return memory_format("build it with -g%s", *build_id ? ", or name the directory of its "
							       "debug file with --debug-dir=DIR"
							     : "");
}

char *advice_for(const struct entry *entry, enum resolve_reason reason,
		 const struct resolve_options *options)
{
	char build_id[2 * FILES_BUILD_ID_MAX + 1];

	write_build_id(entry, build_id);
	switch (reason) {
	case RESOLVE_MISSING:
		if (!options->root)
			return memory_text("resolve on the machine that made the trace, or name a "
					   "copy of its files with --map=DIR or --map=OLD=NEW");
		return memory_format("put it under %s, as the traced machine has it%s",
				     options->root,
				     entry->build_id_size && !options->debuginfod
					     ? ", or ask a server with --debuginfod=URL"
					     : "");
	case RESOLVE_WRONG_FILE:
		if (!entry->build_id_size)
			return memory_text("install the version again that was traced, or name a "
					   "copy of the old files with --map=DIR");
		return memory_format("the trace needs build-id %s: install that version again, "
				     "name a copy of the old files with --map=DIR, or its debug "
				     "files with --debug-dir=DIR",
				     build_id);
	case RESOLVE_WRONG_MACHINE:
		return memory_text("name a copy of the traced machine's files with --map=DIR");
	case RESOLVE_NO_SYMBOLS:
		/* The file has symbols but none here: padding, or not code; nothing can be done. */
		return entry->facts.has_symbols ? NULL : debug_symbols(entry, build_id, options);
	case RESOLVE_FINE:
	case RESOLVE_SPECIAL:
	case RESOLVE_REFUSED:
	case RESOLVE_BROKEN:
		break;
	}
	return NULL;
}
