/* SPDX-License-Identifier: MIT */
#include "resolver/resolve.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/table.h"
#include "resolver/demangle.h"
#include "resolver/module.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* One file of the trace: the same path with another build-id is another file. */
struct entry {
	char *path;
	uint8_t *build_id;
	unsigned build_id_size;
	bool is_own_build_id; /* the file's: the trace had none */
	bool is_opened;
	struct module *module; /* NULL if it could not be opened */
	enum resolve_reason reason;
	char *text; /* the reason in words */
	char *advice;
	uint64_t asked, unresolved;
};

/* Mappings do not overlap: a later one cuts the earlier. */
struct mapping {
	uint64_t from, to;
	struct entry *entry;
	enum resolve_base base;
	uint64_t start, size;			/* of the range as it was told, before cuts */
	uint64_t exec_start, exec_size, offset; /* 0: not known */
};

/* The answer for one address of one file. */
struct answer {
	const struct entry *entry;
	uint64_t address;
	unsigned count;
	struct symbol symbols[];
};

/* A linker name and what it reads as. Names are known by where they lie in their file. */
struct name {
	const char *mangled;
	const char *text;
	char *owned;
	bool has_parameters;
};

struct resolve {
	struct resolve_options options;
	unsigned machine;
	struct {
		struct entry **items;
		size_t count, capacity;
	} entries;		  /* in the order of the trace */
	struct mapping *mappings; /* ascending */
	size_t mapping_count, mapping_capacity;
	struct table by_path, answers, names;
	uint64_t unmapped;
};

static char *copy_or_null(const char *text, bool *failed)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		*failed = true;
	return copy;
}

int resolve_create(struct resolve **resolve, const struct resolve_options *options,
		   struct error *err)
{
	struct resolve *created = calloc(1, sizeof(*created));
	bool failed = false;

	if (!created)
		return error_set(err, ENOMEM, "no memory");
	created->options = *options;
	created->options.root = copy_or_null(options->root, &failed);
	created->options.debug_dir = copy_or_null(options->debug_dir, &failed);
	table_init(&created->by_path);
	table_init(&created->answers);
	table_init(&created->names);
	if (failed) {
		resolve_destroy(created);
		return error_set(err, ENOMEM, "no memory");
	}
	*resolve = created;
	return 0;
}

static void free_entry(void *item)
{
	struct entry *entry = item;

	module_close(entry->module);
	free(entry->path);
	free(entry->build_id);
	free(entry->text);
	free(entry->advice);
	free(entry);
}

static void free_name(void *item)
{
	struct name *name = item;

	free(name->owned);
	free(name);
}

static void free_items(struct table *table, void (*free_item)(void *item))
{
	for (size_t i = 0; table->slots && i <= table->mask; i++) {
		if (table->slots[i].item)
			free_item(table->slots[i].item);
	}
	table_free(table);
}

void resolve_destroy(struct resolve *resolve)
{
	if (!resolve)
		return;
	free_items(&resolve->answers, free);
	free_items(&resolve->names, free_name);
	free_items(&resolve->by_path, free_entry);
	free(resolve->entries.items);
	free(resolve->mappings);
	free((char *)resolve->options.root);
	free((char *)resolve->options.debug_dir);
	free(resolve);
}

void resolve_expect_machine(struct resolve *resolve, unsigned machine)
{
	resolve->machine = machine;
}

static bool is_entry(const void *item, const void *key)
{
	const struct entry *entry = item;
	const struct resolve_module *module = key;
	unsigned size = entry->is_own_build_id ? 0 : entry->build_id_size;

	return strcmp(entry->path, module->path) == 0 && size == module->build_id_size &&
	       (size == 0 || memcmp(entry->build_id, module->build_id, size) == 0);
}

static struct entry *new_entry(const struct resolve_module *module)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->path = strdup(module->path);
	entry->build_id = malloc(module->build_id_size + 1);
	if (!entry->path || !entry->build_id) {
		free_entry(entry);
		return NULL;
	}
	if (module->build_id_size)
		memcpy(entry->build_id, module->build_id, module->build_id_size);
	entry->build_id_size = module->build_id_size;
	return entry;
}

static struct entry *find_entry(struct resolve *resolve, const struct resolve_module *module)
{
	uint64_t hash = hash_bytes(resolve->by_path.seed, module->path, strlen(module->path));
	struct entry *entry = table_find(&resolve->by_path, hash, is_entry, module);
	struct entry **place;

	if (entry)
		return entry;
	entry = new_entry(module);
	if (!entry)
		return NULL;
	place = ARRAY_ADD(&resolve->entries);
	if (!place || table_add(&resolve->by_path, hash, entry) != 0) {
		resolve->entries.count -= place != NULL;
		free_entry(entry);
		return NULL;
	}
	*place = entry;
	return entry;
}

/* The first mapping that ends behind address, or the count. */
static size_t mapping_after(const struct resolve *resolve, uint64_t address)
{
	size_t low = 0, high = resolve->mapping_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (resolve->mappings[middle].to <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Puts count copies of mapping in the place of the removed ones that begin at index. */
static int splice(struct resolve *resolve, size_t index, size_t removed,
		  const struct mapping *mappings, size_t count)
{
	size_t rest = resolve->mapping_count - index - removed;
	struct mapping *list;

	/* Three pieces come at most; growing starts at more. */
	if (resolve->mapping_count + count > resolve->mapping_capacity &&
	    array_grow(&resolve->mappings, &resolve->mapping_capacity, sizeof(*list)) != 0)
		return -ENOMEM;
	list = resolve->mappings;
	memmove(list + index + count, list + index + removed, rest * sizeof(*list));
	memcpy(list + index, mappings, count * sizeof(*list));
	resolve->mapping_count = index + count + rest;
	return 0;
}

/* Lays mapping over the others: what it covers is gone, what it cuts keeps its ends. */
static int insert(struct resolve *resolve, const struct mapping *mapping)
{
	size_t index = mapping_after(resolve, mapping->from), last = index;
	struct mapping pieces[3];
	size_t count = 0;

	if (index < resolve->mapping_count && resolve->mappings[index].from < mapping->from) {
		pieces[count] = resolve->mappings[index];
		pieces[count++].to = mapping->from;
	}
	pieces[count++] = *mapping;
	while (last < resolve->mapping_count && resolve->mappings[last].from < mapping->to)
		last++;
	if (last > index && resolve->mappings[last - 1].to > mapping->to) {
		pieces[count] = resolve->mappings[last - 1];
		pieces[count++].from = mapping->to;
	}
	return splice(resolve, index, last - index, pieces, count);
}

int resolve_map(struct resolve *resolve, const struct resolve_module *module)
{
	struct mapping mapping = {
		.from = module->from,
		.to = module->to,
		.base = module->base,
		.start = module->from,
		.size = module->to - module->from,
	};

	if (module->exec_start < module->exec_end) {
		mapping.exec_start = mapping.from = module->exec_start;
		mapping.exec_size = module->exec_end - module->exec_start;
		mapping.offset = module->offset;
		mapping.to = module->exec_end;
	}
	if (mapping.from >= mapping.to)
		return -EINVAL;
	mapping.entry = find_entry(resolve, module);
	if (!mapping.entry)
		return -ENOMEM;
	return insert(resolve, &mapping);
}

static char *build_id_text(const struct entry *entry)
{
	char *text = malloc(2 * (size_t)entry->build_id_size + 1);

	if (!text)
		return NULL;
	for (unsigned i = 0; i < entry->build_id_size; i++)
		sprintf(text + 2 * i, "%02x", entry->build_id[i]);
	text[2 * entry->build_id_size] = 0;
	return text;
}

static char *make_advice(const struct resolve *resolve, const struct entry *entry)
{
	cleanup_free char *build_id = build_id_text(entry);
	const char *root = resolve->options.root;
	char *advice = NULL;

	switch (entry->reason) {
	case RESOLVE_MISSING:
		if (root)
			(void)!asprintf(&advice, "put it under %s, as the traced machine has it",
					root);
		else
			advice = strdup(
				"resolve on the machine that made the trace, or name a copy of "
				"its files with --root=DIR");
		break;
	case RESOLVE_WRONG_FILE:
		(void)!asprintf(&advice,
				"the trace needs build-id %s: install that version again, name "
				"a copy of the old files with --root=DIR, or its debug files with "
				"--debug-dir=DIR",
				build_id ? build_id : "?");
		break;
	case RESOLVE_WRONG_MACHINE:
		advice = strdup("name a copy of the traced machine's files with --root=DIR");
		break;
	case RESOLVE_NO_SYMBOLS:
		/* With its symbols there, nothing more can be had: padding, or no code at all. */
		if (entry->module->has_symtab || entry->module->debuginfo)
			break;
		(void)!asprintf(&advice,
				"install its debug symbols (Debian: the package's -dbgsym or "
				"-dbg; build-id %s), or build it with -g",
				build_id && build_id[0] ? build_id : "none");
		break;
	case RESOLVE_FINE:
	case RESOLVE_SPECIAL:
	case RESOLVE_REFUSED:
		break;
	}
	return advice;
}

static void set_reason(const struct resolve *resolve, struct entry *entry,
		       enum resolve_reason reason, const char *text)
{
	free(entry->text);
	free(entry->advice);
	entry->reason = reason;
	entry->text = strdup(text);
	entry->advice = make_advice(resolve, entry);
}

/* A trace without build-ids: the file's own, for whoever goes and looks for its debug file. */
static void take_build_id(struct entry *entry)
{
	const struct elffile *file = module_file(entry->module);
	uint8_t *build_id;

	if (entry->build_id_size || !file->build_id_size)
		return;
	build_id = realloc(entry->build_id, file->build_id_size);
	if (!build_id)
		return;
	memcpy(build_id, file->build_id, file->build_id_size);
	entry->build_id = build_id;
	entry->build_id_size = (unsigned)file->build_id_size;
	entry->is_own_build_id = true;
}

/* Files that were deleted or replaced while they ran carry this in /proc/PID/maps. */
static bool is_deleted(const char *path)
{
	static const char mark[] = " (deleted)";
	size_t length = strlen(path);

	return length >= sizeof(mark) && strcmp(path + length - sizeof(mark) + 1, mark) == 0;
}

/* Opens what stands at the path now, which only a build-id can prove to be the same. */
static int open_deleted(struct entry *entry, struct module_request *request, struct error *err)
{
	size_t length = strlen(entry->path) - strlen(" (deleted)");
	cleanup_free char *path = strndup(entry->path, length);
	enum resolve_reason reason = RESOLVE_FINE;

	if (!path || !entry->build_id_size)
		return error_set(err, ENOENT, "was deleted or replaced while the program ran");
	request->path = path;
	return module_open(&entry->module, request, &reason, err);
}

static void open_entry(struct resolve *resolve, struct entry *entry)
{
	struct module_request request = {
		.path = entry->path,
		.machine = resolve->machine,
		.options = &resolve->options,
		.build_id = entry->build_id,
		.build_id_size = entry->build_id_size,
	};
	enum resolve_reason reason = RESOLVE_FINE;
	struct error err = { 0 };
	int failure;

	entry->is_opened = true;
	if (entry->path[0] == '[') {
		set_reason(resolve, entry, RESOLVE_SPECIAL, "has no file");
		return;
	}
	failure = module_open(&entry->module, &request, &reason, &err);
	if (failure && is_deleted(entry->path)) {
		reason = RESOLVE_MISSING;
		failure = open_deleted(entry, &request, &err);
	}
	if (failure)
		set_reason(resolve, entry, reason, err.text);
	else
		take_build_id(entry);
}

/* The address as the module's file counts it. Returns false if it is no code of that file. */
static bool file_address(const struct mapping *mapping, uint64_t address, uint64_t *found)
{
	const struct module *module = mapping->entry->module;
	enum resolve_base base = mapping->base;

	if (mapping->exec_size) {
		uint64_t distance = address - mapping->exec_start;

		return module_offset_address(module, distance + mapping->offset, found) ||
		       module_mapping_address(module, mapping->exec_start, mapping->exec_size,
					      distance, found);
	}
	if (base == RESOLVE_BASE_UNKNOWN)
		base = module_has_mapping_size(module, mapping->size) ? RESOLVE_BASE_MAPPING
								      : RESOLVE_BASE_LOAD;
	if (base == RESOLVE_BASE_MAPPING)
		return module_mapping_address(module, mapping->start, mapping->size,
					      address - mapping->start, found);
	return module_offset_address(module, address - mapping->start, found);
}

static void read_name(const struct resolve *resolve, struct name *name)
{
	const char *version = strchr(name->mangled, '@');

	name->owned = demangle(name->mangled, resolve->options.demangle, &name->has_parameters);
	/* Symbol tables may say memcpy@@GLIBC_2.14. */
	if (!name->owned && version && version > name->mangled) {
		char *plain = strndup(name->mangled, (size_t)(version - name->mangled));

		name->owned =
			plain ? demangle(plain, resolve->options.demangle, &name->has_parameters)
			      : NULL;
		if (name->owned)
			free(plain);
		else
			name->owned = plain;
	}
	name->text = demangle_plain(name->owned ? name->owned : name->mangled);
}

static bool is_name(const void *item, const void *key)
{
	return ((const struct name *)item)->mangled == key;
}

/* Returns what name reads as, or NULL without memory. */
static const struct name *find_name(struct resolve *resolve, const char *mangled)
{
	uint64_t hash = hash_two(resolve->names.seed, (uintptr_t)mangled, 0);
	struct name *name = table_find(&resolve->names, hash, is_name, mangled);

	if (name)
		return name;
	name = calloc(1, sizeof(*name));
	if (!name)
		return NULL;
	name->mangled = mangled;
	read_name(resolve, name);
	if (table_add(&resolve->names, hash, name) == 0)
		return name;
	free_name(name);
	return NULL;
}

static void make_symbol(struct resolve *resolve, const struct entry *entry,
			const struct debug_frame *frame, struct symbol *symbol)
{
	const struct name *name = frame->name ? find_name(resolve, frame->name) : NULL;
	const char *slash = frame->file ? strrchr(frame->file, '/') : NULL;

	*symbol =
		(struct symbol){ .module = entry->path, .file = frame->file, .line = frame->line };
	if (slash && slash[1] && !resolve->options.full_path)
		symbol->file = slash + 1;
	if (name) {
		symbol->function = name->text;
		symbol->has_parameters = name->has_parameters;
	}
}

/* Looks the address up in the file. Returns NULL without memory. */
static struct answer *look_up(struct resolve *resolve, const struct entry *entry, uint64_t address)
{
	unsigned max = resolve->options.inlines ? RESOLVE_FRAMES_MAX : 1;
	struct debug_frame frames[RESOLVE_FRAMES_MAX];
	unsigned count = module_find(entry->module, address, frames, max);
	struct answer *answer;

	if (count > max)
		count = max;
	answer = calloc(1, sizeof(*answer) + count * sizeof(*answer->symbols));
	if (!answer)
		return NULL;
	answer->entry = entry;
	answer->address = address;
	answer->count = count;
	for (unsigned i = 0; i < count; i++)
		make_symbol(resolve, entry, &frames[i], &answer->symbols[i]);
	return answer;
}

static bool is_answer(const void *item, const void *key)
{
	const struct answer *answer = item, *wanted = key;

	return answer->address == wanted->address && answer->entry == wanted->entry;
}

/* The answer for an address of a file, or NULL without memory. */
static const struct answer *find_answer(struct resolve *resolve, const struct entry *entry,
					uint64_t address)
{
	const struct answer key = { .entry = entry, .address = address };
	uint64_t hash = hash_two(resolve->answers.seed, (uintptr_t)entry, address);
	struct answer *answer = table_find(&resolve->answers, hash, is_answer, &key);

	if (answer)
		return answer;
	answer = look_up(resolve, entry, address);
	if (answer && table_add(&resolve->answers, hash, answer) != 0) {
		free(answer);
		answer = NULL;
	}
	return answer;
}

/* The mapping around address, or NULL. */
static const struct mapping *find_mapping(const struct resolve *resolve, uint64_t address)
{
	size_t index = mapping_after(resolve, address);

	if (index == resolve->mapping_count || resolve->mappings[index].from > address)
		return NULL;
	return &resolve->mappings[index];
}

unsigned resolve_address(struct resolve *resolve, uint64_t address, bool is_exact,
			 struct symbol *symbols, unsigned max)
{
	uint64_t wanted = is_exact ? address : address - 1, found;
	const struct mapping *mapping = find_mapping(resolve, wanted);
	const struct answer *answer = NULL;
	struct symbol none = { 0 };
	struct entry *entry;

	if (max > 0)
		symbols[0] = none;
	if (!mapping) {
		resolve->unmapped++;
		return 1;
	}
	entry = mapping->entry;
	if (!entry->is_opened)
		open_entry(resolve, entry);
	entry->asked++;
	if (entry->module && file_address(mapping, wanted, &found))
		answer = find_answer(resolve, entry, found);
	if (!answer || !answer->symbols[answer->count - 1].function)
		entry->unresolved++;
	if (!answer) {
		none.module = entry->path;
		none.is_missing = !entry->module && entry->reason != RESOLVE_SPECIAL;
		if (max > 0)
			symbols[0] = none;
		return 1;
	}
	for (unsigned i = 0; i < answer->count && i < max; i++)
		symbols[i] = answer->symbols[i];
	return answer->count;
}

uint64_t resolve_unmapped(const struct resolve *resolve)
{
	return resolve->unmapped;
}

static const char *symbols_text(const struct module *module)
{
	if (module->has_symtab || module->debuginfo)
		return "has no symbol there";
	return "is stripped";
}

bool resolve_state(const struct resolve *resolve, unsigned index, struct resolve_state *state)
{
	for (size_t i = 0; i < resolve->entries.count; i++) {
		struct entry *entry = resolve->entries.items[i];

		if (entry->asked == 0 || index-- > 0)
			continue;
		if (entry->module && entry->unresolved && entry->reason == RESOLVE_FINE)
			set_reason(resolve, entry, RESOLVE_NO_SYMBOLS, symbols_text(entry->module));
		*state = (struct resolve_state){
			.module = entry->path,
			.build_id = entry->build_id,
			.build_id_size = entry->build_id_size,
			.asked = entry->asked,
			.unresolved = entry->unresolved,
			.reason = entry->reason,
			.text = entry->text ? entry->text : "",
			.advice = entry->advice,
		};
		return true;
	}
	return false;
}
