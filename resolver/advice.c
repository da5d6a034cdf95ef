/* SPDX-License-Identifier: MIT */
#include "resolver/advice.h"

#include "base/cleanup.h"
#include "resolver/package.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The trace's, else the file's own. */
static void write_build_id(const struct entry *entry, char *text)
{
	const struct facts *facts = &entry->facts;
	const uint8_t *bytes = entry->build_id_size ? entry->build_id : facts->build_id;
	unsigned size = entry->build_id_size ? entry->build_id_size : facts->build_id_size;

	*text = 0;
	for (unsigned i = 0; i < size; i++)
		text += sprintf(text, "%02x", bytes[i]);
}

/* Where debug symbols come from. */
static char *debug_symbols(const struct entry *entry, const char *build_id,
			   const struct resolve_options *options)
{
	cleanup_free char *package = package_of(options->root, entry->file_path);
	const char *servers = options->debuginfod ? "" : ", or ask a server with --debuginfod=URL";
	char *advice = NULL;
	int length;

	/* The one package that has kept the old way of naming. */
	if (package)
		length = asprintf(&advice, "install %s%s%s", package,
				  strcmp(package, "libc6") == 0 ? "-dbg" : "-dbgsym",
				  *build_id ? servers : "");
	else if (*build_id && !package_is_debian(options->root))
		length = asprintf(&advice,
				  "install /usr/lib/debug/.build-id/%.2s/%s.debug (dnf and zypper "
				  "know it by that name)%s",
				  build_id, build_id + 2, servers);
	else
		length = asprintf(&advice, "build it with -g%s",
				  *build_id ? ", or name the directory of its debug file with "
					      "--debug-dir=DIR"
					    : "");
	return length < 0 ? NULL : advice;
}

static char *missing_file(const struct entry *entry, const struct resolve_options *options)
{
	char *advice = NULL;

	if (!options->root)
		return strdup("resolve on the machine that made the trace, or name a copy of "
			      "its files with --root=DIR or --map=OLD=NEW");
	if (asprintf(&advice, "put it under %s, as the traced machine has it%s", options->root,
		     entry->build_id_size && !options->debuginfod
			     ? ", or ask a server with --debuginfod=URL"
			     : "") < 0)
		return NULL;
	return advice;
}

/* build_id: of the trace; empty: it has none. */
static char *wrong_file(const char *build_id)
{
	char *advice = NULL;

	if (!*build_id)
		return strdup("install the version again that was traced, or name a copy of the "
			      "old files with --root=DIR");
	if (asprintf(&advice,
		     "the trace needs build-id %s: install that version again, name a copy of the "
		     "old files with --root=DIR, or its debug files with --debug-dir=DIR",
		     build_id) < 0)
		return NULL;
	return advice;
}

char *advice_for(const struct entry *entry, enum resolve_reason reason,
		 const struct resolve_options *options)
{
	char build_id[2 * FILES_BUILD_ID_MAX + 1];

	write_build_id(entry, build_id);
	switch (reason) {
	case RESOLVE_MISSING:
		return missing_file(entry, options);
	case RESOLVE_WRONG_FILE:
		return wrong_file(entry->build_id_size ? build_id : "");
	case RESOLVE_WRONG_MACHINE:
		return strdup("name a copy of the traced machine's files with --root=DIR");
	case RESOLVE_NO_SYMBOLS:
		/* With its symbols there, nothing more can be had: padding, or no code at all. */
		return entry->facts.has_symbols ? NULL : debug_symbols(entry, build_id, options);
	case RESOLVE_FINE:
	case RESOLVE_SPECIAL:
	case RESOLVE_REFUSED:
	case RESOLVE_BROKEN:
		break;
	}
	return NULL;
}
