/* SPDX-License-Identifier: MIT */
/* How large what was gained is, and which losses belong to what was kept. */
#include "postproc/select_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *take_size(const char *text, uint64_t *size)
{
	static const char units[] = "kMGT";
	const char *unit;
	char *end;

	errno = 0;
	*size = strtoull(text, &end, 10);
	if (end == text || *text == '-' || errno)
		return NULL;
	unit = *end ? strchr(units, *end == 'K' ? 'k' : *end) : NULL;
	if (!unit)
		return end;
	for (const char *step = units; step <= unit; step++)
		if (__builtin_mul_overflow(*size, 1024ull, size))
			return NULL;
	return end + 1;
}

int select_size_parse(struct select_size *part, const char *text, struct error *err)
{
	const char *at = text;

	if (!text)
		return 0;
	part->is_set = true;
	part->to = UINT64_MAX;
	if (strncmp(at, "..", 2) != 0)
		at = take_size(at, &part->from);
	if (at && !*at && at != text)
		part->to = part->from;
	else if (at && !strncmp(at, "..", 2) && strcmp(text, "..") != 0)
		at = at[2] ? take_size(at + 2, &part->to) : at + 2;
	if (at && !*at && at != text && part->from <= part->to)
		return 0;
	return error_set(err, EINVAL,
			 "--size=%s: expected bytes: 100, 100..4k, 1M.. or ..64 (k, M, G: 1024)",
			 text);
}

/* held */

struct held_object {
	const struct trace_process *process;
	uint64_t object;
	uint32_t ordinal, count;
	struct held_object *next;
};

static bool object_equal(const void *item, const void *key)
{
	const struct held_object *one = item;
	const struct event *event = key;

	return one->object == event->object && one->ordinal == event->resource->ordinal &&
	       one->process == event->process;
}

static struct held_object *find(const struct select_held *part, const struct event *event,
				uint64_t *hash)
{
	*hash = hash_two(part->table.seed, event->object,
			 (uintptr_t)event->process ^ event->resource->ordinal);
	return table_find(&part->table, *hash, object_equal, event);
}

static void forget(struct select_held *part, uint64_t hash, struct held_object *held)
{
	table_remove(&part->table, hash, held);
	held->next = part->spare;
	part->spare = held;
}

int select_held_gains(struct select_held *part, const struct event *event, bool is_kept)
{
	uint64_t hash;
	struct held_object *held = find(part, event, &hash);

	if (held) {
		if (is_kept && (event->resource->flags & 1))
			held->count++;
		else if (!is_kept && !(event->resource->flags & 1))
			forget(part, hash, held);
		return 0;
	}
	if (!is_kept)
		return 0;
	held = part->spare;
	if (held)
		part->spare = held->next;
	else
		held = pool_alloc(&part->pool, sizeof(*held));
	if (!held || table_add(&part->table, hash, held))
		return -ENOMEM;
	*held = (struct held_object){ .process = event->process,
				      .object = event->object,
				      .ordinal = event->resource->ordinal,
				      .count = 1 };
	return 0;
}

int select_held_loses(struct select_held *part, const struct event *event)
{
	uint64_t hash;
	struct held_object *held = find(part, event, &hash);

	if (!held)
		return 0;
	if (--held->count == 0)
		forget(part, hash, held);
	return 1;
}
