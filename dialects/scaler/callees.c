/* SPDX-License-Identifier: MIT */
#include "dialects/scaler/callees.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"

void callees_init(struct callees *callees)
{
	memset(callees, 0, sizeof(*callees));
	hash_table_init(&callees->paths);
	hash_table_init(&callees->symbols);
}

void callees_free(struct callees *callees)
{
	hash_table_free(&callees->paths);
	hash_table_free(&callees->symbols);
	free(callees->files.items);
	free(callees->list.items);
	free(callees->mappings.items);
	free(callees->sorted);
	pool_free(&callees->pool);
}

static bool file_equal(const void *item, const void *key)
{
	const struct callee_file *file = item;

	return !strcmp(file->path, key);
}

static bool callee_equal(const void *item, const void *key)
{
	const struct callee *one = item, *two = key;

	return one->file == two->file && !strcmp(one->name, two->name);
}

/* Returns the file with this path, and adds it if necessary. */
static struct callee_file *file_of(struct callees *callees, const char *path)
{
	uint64_t hash = hash_bytes(callees->paths.seed, path, strlen(path));
	struct callee_file *file = hash_table_find(&callees->paths, hash, file_equal, path);

	if (file)
		return file;
	file = pool_zalloc(&callees->pool, sizeof(*file));
	*ARRAY_ADD(&callees->files) = file;
	file->number = (uint32_t)callees->files.count - 1;
	file->path = pool_text(&callees->pool, path, strlen(path));
	hash_table_add(&callees->paths, hash, file);
	return file;
}

static struct callee_file *file_of_mapping(struct callees *callees,
					   const struct trace_mapping *mapping)
{
	struct callee_file **place;

	while (mapping->id >= callees->mappings.count) {
		place = ARRAY_ADD(&callees->mappings);
		*place = NULL;
	}
	place = &callees->mappings.items[mapping->id];
	if (!*place)
		*place = file_of(callees, mapping->path);
	if (!callees->first_mapped)
		callees->first_mapped = *place;
	return *place;
}

void callees_map(struct callees *callees, const struct trace_mapping *mapping)
{
	file_of_mapping(callees, mapping);
}

void callees_set_executable(struct callees *callees, const char *path)
{
	callees->executable = pool_text(&callees->pool, path, strlen(path));
}

static uint32_t add_callee(struct callees *callees, struct callee_file *file, const char *name)
{
	struct callee key = { .file = file, .name = name };
	uint64_t hash = hash_bytes(callees->symbols.seed + file->number, name, strlen(name));
	struct callee *callee = hash_table_find(&callees->symbols, hash, callee_equal, &key);

	if (!callee) {
		callee = pool_zalloc(&callees->pool, sizeof(*callee));
		*ARRAY_ADD(&callees->list) = callee;
		callee->file = file;
		callee->symbol = (uint32_t)callees->list.count - 1;
		callee->name = pool_text(&callees->pool, name, strlen(name));
		hash_table_add(&callees->symbols, hash, callee);
	}
	return callee->symbol;
}

uint32_t callees_add(struct callees *callees, const struct trace_mapping *mapping, const char *name)
{
	return add_callee(callees,
			  mapping ? file_of_mapping(callees, mapping) : file_of(callees, ""), name);
}

uint32_t callees_add_path(struct callees *callees, const char *path, const char *name)
{
	return add_callee(callees, file_of(callees, path), name);
}

/* ---- the end ---- */

static int compare_callees(const void *a, const void *b)
{
	const struct callee *one = *(struct callee *const *)a, *two = *(struct callee *const *)b;

	return ORDER(one->file->number, two->file->number) ?: strcmp(one->name, two->name);
}

void callees_finish(struct callees *callees, const char *fallback)
{
	size_t count = callees->list.count;
	struct callee_file *executable = callees->executable ? file_of(callees, callees->executable)
					 : callees->first_mapped ? callees->first_mapped
								 : file_of(callees, fallback);
	struct callee_file **files = callees->files.items;

	memmove(files + 1, files, executable->number * sizeof(*files));
	files[0] = executable;
	for (uint32_t i = 0; i < callees->files.count; i++)
		files[i]->number = i;
	callees->sorted = memory_alloc((count + 1) * sizeof(struct callee *));
	if (count) {
		memcpy(callees->sorted, callees->list.items, count * sizeof(struct callee *));
		qsort(callees->sorted, count, sizeof(struct callee *), compare_callees);
	}
	for (uint32_t i = 0; i < count; i++) {
		struct callee *callee = callees->sorted[i];

		if (!callee->file->count)
			callee->file->first = i;
		callee->number = callee->file->count++;
	}
}

const struct callee *callees_find(const struct callees *callees, const struct callee_file *file,
				  const char *name)
{
	uint32_t i =
		file->first +
		(uint32_t)ARRAY_SEARCH(file->count, at,
				       strcmp(callees->sorted[file->first + at]->name, name) < 0);

	return i < file->first + file->count && !strcmp(callees->sorted[i]->name, name)
		       ? callees->sorted[i]
		       : NULL;
}
