/* SPDX-License-Identifier: MIT */
#include "resolver/resolve.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/hash_table.h"
#include "resolver/workers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* ---- the Debian package of a file, from the lists of dpkg; no program is run ---- */

/* Whether a line of this dpkg list (the paths of a package's files) equals one of the paths. */
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
	/* if /lib is a symbolic link to /usr/lib, a list may have the path with or without /usr */
	const char *paths[] = { path, is_in_usr ? path + 4 : merged, NULL };
	struct dirent *file;

	while (path[0] == '/' && (file = readdir(lists)) != NULL) {
		/* the file name is NAME.list or NAME:ARCHITECTURE.list */
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

/* Returns advice on how to get debug symbols. */
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
	/* only the debug package of libc6 still has the old suffix -dbg */
	if (package)
		return memory_format("install %s%s%s", package,
				     strcmp(package, "libc6") == 0 ? "-dbg" : "-dbgsym",
				     *build_id ? servers : "");
	if (*build_id && !has_lists)
		return memory_format("install /usr/lib/debug/.build-id/%.2s/%s.debug (dnf and "
				     "zypper take this path as a package)%s",
				     build_id, build_id + 2, servers);
	return memory_format("build it with -g%s",
			     *build_id ? ", or name the directory of its "
					 "debug file with --map=/usr/lib/debug=DIR"
				       : "");
}

/* Returns what the user can do next, or NULL. The caller frees it. */
static char *advice_for(const struct entry *entry, enum resolve_reason reason,
			const struct resolve_options *options)
{
	/* the build-id from the trace or, if the trace has none, from the file */
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
		return memory_format("copy the file to the same path below %s%s", options->root,
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
		/*
		 * if the file has symbols, the address is in padding or data, and no advice helps
		 */
		return entry->facts.has_symbols ? NULL : debug_symbols(entry, build_id, options);
	case RESOLVE_FINE:
	case RESOLVE_SPECIAL:
	case RESOLVE_REFUSED:
	case RESOLVE_BROKEN:
		break;
	}
	return NULL;
}

struct resolve {
	struct workers workers;
	ARRAY_OF(struct entry *) entries; /* in the order of the trace */
	struct mappings mappings;
	struct hash_table by_path, asks;
	struct resolve_ask nowhere; /* the result for addresses outside of all mappings */
	struct resolve_totals totals;
	uint64_t backtrace, backtrace_events;
};

int resolve_create(struct resolve **resolve, const struct resolve_options *options,
		   struct error *err)
{
	int failure = options->cache ? cache_open(options->cache, err) : 0;
	struct resolve *created;

	if (failure)
		return failure;
	created = memory_zalloc(1, sizeof(*created));
	if (!created)
		return error_set(err, ENOMEM, "no memory");
	workers_init(&created->workers, options);
	mappings_init(&created->mappings);
	hash_table_init(&created->by_path);
	hash_table_init(&created->asks);
	*resolve = created;
	return 0;
}

static void free_entry(struct entry *entry)
{
	free(entry->path);
	free(entry->file_path);
	free(entry->advice);
	free(entry->broken);
	free(entry->batch);
	free(entry);
}

void resolve_destroy(struct resolve *resolve)
{
	if (!resolve)
		return;
	cache_save(&resolve->workers, resolve->entries.items, resolve->entries.count);
	workers_free(&resolve->workers);
	for (size_t i = 0; resolve->asks.slots && i <= resolve->asks.mask; i++)
		free(resolve->asks.slots[i].item);
	hash_table_free(&resolve->asks);
	hash_table_free(&resolve->by_path);
	for (size_t i = 0; i < resolve->entries.count; i++)
		free_entry(resolve->entries.items[i]);
	free(resolve->entries.items);
	mappings_free(&resolve->mappings);
	free(resolve);
}

void resolve_expect_machine(struct resolve *resolve, unsigned machine)
{
	resolve->workers.machine = machine;
}

static bool is_entry(const void *item, const void *key)
{
	const struct entry *entry = item;
	const struct resolve_module *module = key;

	return strcmp(entry->path, module->path) == 0 &&
	       entry->build_id_size == module->build_id_size &&
	       (module->build_id_size == 0 ||
		memcmp(entry->build_id, module->build_id, module->build_id_size) == 0);
}

const char *resolve_root(const char *const *maps, size_t count)
{
	for (size_t i = count; i > 0; i--)
		if (!strchr(maps[i - 1], '='))
			return maps[i - 1];
	return NULL;
}

const char *resolve_debug_dir(const char *const *maps, size_t count)
{
	static const char old[] = RESOLVE_DEBUG_DIRECTORY "=";

	for (size_t i = count; i > 0; i--)
		if (!strncmp(maps[i - 1], old, strlen(old)))
			return maps[i - 1] + strlen(old);
	return NULL;
}

/* Returns the path at which to open a module's file: the last --map that matches is applied. */
static char *file_path_of(const struct resolve_options *options, const char *path)
{
	for (size_t i = options->map_count; i > 0; i--) {
		const char *map = options->maps[i - 1];
		size_t length = strcspn(map, "=");
		bool is_directory = length && map[length - 1] == '/';

		if (!map[length] || strncmp(path, map, length) != 0 ||
		    (path[length] && path[length] != '/' && path[length] != ' ' && !is_directory))
			continue;
		return memory_format("%s%s", map + length + 1, path + length);
	}
	return memory_text(path);
}

static struct entry *find_entry(struct resolve *resolve, const struct resolve_module *module)
{
	uint64_t hash = hash_bytes(resolve->by_path.seed, module->path, strlen(module->path));
	struct entry *entry = hash_table_find(&resolve->by_path, hash, is_entry, module), **place;

	if (entry)
		return entry;
	entry = memory_zalloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->path = memory_text(module->path);
	entry->file_path = file_path_of(&resolve->workers.options, module->path);
	place = entry->path && entry->file_path ? ARRAY_ADD(&resolve->entries) : NULL;
	if (!place || hash_table_add(&resolve->by_path, hash, entry) != 0) {
		resolve->entries.count -= place != NULL;
		free_entry(entry);
		return NULL;
	}
	*place = entry;
	if (module->build_id_size)
		memcpy(entry->build_id, module->build_id, module->build_id_size);
	entry->build_id_size = module->build_id_size;
	/*
	 * [vdso] and similar mappings have no file; but if the trace has a build-id of the vdso,
	 * this process's own vdso is read if it has the same build-id
	 */
	if (entry->path[0] == '[' && !(entry->build_id_size && !strcmp(entry->path, "[vdso]")))
		entry->facts = (struct facts){ .is_known = true, .reason = RESOLVE_SPECIAL };
	return entry;
}

int resolve_map(struct resolve *resolve, const struct resolve_module *module)
{
	struct resolve_module known = *module;
	struct entry *entry;

	/* ignore a build-id of an impossible size */
	if (known.build_id_size > FILES_BUILD_ID_MAX)
		known.build_id_size = 0;
	entry = find_entry(resolve, &known);
	return entry ? mappings_add(&resolve->mappings, &known, entry) : -ENOMEM;
}

static bool is_ask(const void *item, const void *key)
{
	const struct resolve_ask *ask = item, *wanted = key;

	return ask->address == wanted->address && ask->place == wanted->place &&
	       ask->wants_type == wanted->wants_type;
}

static const struct resolve_ask *add_ask(struct resolve *resolve, uint64_t address, bool wants_type)
{
	struct resolve_ask wanted = { .address = address, .wants_type = wants_type }, *ask;
	uint64_t hash;

	wanted.place = mappings_find(&resolve->mappings, wanted.address);
	if (!wanted.place)
		return &resolve->nowhere;
	hash = hash_two(resolve->asks.seed, (uintptr_t)wanted.place, wanted.address);
	ask = hash_table_find(&resolve->asks, hash, is_ask, &wanted);
	if (ask)
		return ask;
	ask = memory_alloc(sizeof(*ask));
	if (!ask || hash_table_add(&resolve->asks, hash, ask) != 0) {
		free(ask);
		return NULL;
	}
	*ask = wanted;
	workers_ask(&resolve->workers, ask);
	return ask;
}

const struct resolve_ask *resolve_ask(struct resolve *resolve, uint64_t address, bool is_exact)
{
	return add_ask(resolve, is_exact ? address : address - 1, false);
}

void resolve_wait(struct resolve *resolve)
{
	workers_wait(&resolve->workers);
}

void resolve_backtrace(struct resolve *resolve, uint64_t events)
{
	resolve->backtrace++;
	resolve->backtrace_events = events;
	resolve->totals.events += events;
}

static enum resolve_reason reason_of(const struct entry *entry)
{
	if (entry->is_given_up)
		return RESOLVE_BROKEN;
	/* the traced program ran on another kernel, whose vdso differs from that of this process */
	if (entry->path[0] == '[' && entry->facts.reason != RESOLVE_FINE)
		return RESOLVE_SPECIAL;
	return entry->facts.reason;
}

unsigned resolve_take(struct resolve *resolve, const struct resolve_ask *ask,
		      struct symbol *symbols, unsigned max)
{
	const struct answer *answer = ask ? ask->answer : NULL;
	const struct symbol *outer = answer ? &answer->symbols[answer->count - 1] : NULL;
	bool is_named = outer && outer->function;
	enum resolve_reason reason;
	struct entry *entry;

	if (!ask || !ask->place) {
		resolve->totals.frames++;
		resolve->totals.unmapped++;
		if (max > 0)
			symbols[0] = (struct symbol){ 0 };
		return 1;
	}
	entry = ask->place->entry;
	reason = reason_of(entry);
	entry->asked++;
	entry->unresolved += !is_named;
	entry->unlined += is_named && !outer->file;
	resolve->totals.frames += reason != RESOLVE_SPECIAL;
	resolve->totals.named += is_named;
	if (!is_named && entry->backtrace != resolve->backtrace) {
		entry->backtrace = resolve->backtrace;
		entry->events += resolve->backtrace_events;
	}
	if (!answer) {
		if (max > 0)
			symbols[0] = (struct symbol){
				.module = entry->path,
				.is_missing = reason != RESOLVE_FINE && reason != RESOLVE_SPECIAL,
			};
		return 1;
	}
	for (unsigned i = 0; i < answer->count && i < max; i++)
		symbols[i] = answer->symbols[i];
	return answer->count;
}

unsigned resolve_address(struct resolve *resolve, uint64_t address, bool is_exact,
			 struct symbol *symbols, unsigned max)
{
	const struct resolve_ask *ask = resolve_ask(resolve, address, is_exact);

	resolve_wait(resolve);
	return resolve_take(resolve, ask, symbols, max);
}

const char *resolve_allocated(struct resolve *resolve, uint64_t address)
{
	const struct resolve_ask *ask = add_ask(resolve, address - 1, true);

	resolve_wait(resolve);
	return ask && ask->answer ? ask->answer->symbols[0].function : NULL;
}

struct resolve_totals resolve_totals(const struct resolve *resolve)
{
	return resolve->totals;
}

static const char *text_of(const struct entry *entry, enum resolve_reason reason)
{
	switch (reason) {
	case RESOLVE_SPECIAL:
		return "has no file";
	case RESOLVE_NO_SYMBOLS:
		return entry->facts.has_symbols ? "has no symbol at these addresses"
						: "is stripped";
	case RESOLVE_BROKEN:
		return entry->broken ? entry->broken : "could not be read";
	case RESOLVE_WRONG_FILE:
		if (entry->is_misfit)
			return "is not the file that was traced: its code has another size";
		break;
	case RESOLVE_FINE:
	case RESOLVE_MISSING:
	case RESOLVE_REFUSED:
	case RESOLVE_WRONG_MACHINE:
		break;
	}
	return entry->facts.text;
}

bool resolve_state(struct resolve *resolve, unsigned index, struct resolve_state *state)
{
	for (size_t i = 0; i < resolve->entries.count; i++) {
		struct entry *entry = resolve->entries.items[i];
		bool has_id = entry->build_id_size != 0;

		if (entry->asked == 0 || index-- > 0)
			continue;
		*state = (struct resolve_state){
			.module = entry->path,
			.asked = entry->asked,
			.unresolved = entry->unresolved,
			.unlined = entry->unlined,
			.events = entry->events,
			.build_id = has_id ? entry->build_id : entry->facts.build_id,
			.build_id_size = has_id ? entry->build_id_size : entry->facts.build_id_size,
		};
		state->reason = reason_of(entry);
		if (entry->broken)
			state->reason = RESOLVE_BROKEN;
		else if (state->reason == RESOLVE_FINE && entry->is_misfit)
			state->reason = RESOLVE_WRONG_FILE;
		else if (state->reason == RESOLVE_FINE && entry->unresolved)
			state->reason = RESOLVE_NO_SYMBOLS;
		state->text = text_of(entry, state->reason);
		if (!entry->advice)
			entry->advice = advice_for(entry, state->reason, &resolve->workers.options);
		state->advice = entry->advice;
		return true;
	}
	return false;
}
