/* SPDX-License-Identifier: MIT */
#include "misuses.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/order.h"

static const struct trace_node *backtrace_of(const struct misuse *misuse, int step)
{
	return misuse->steps[step].backtrace;
}

static bool is_same(const void *item, const void *key)
{
	const struct misuse *one = item, *two = key;

	return one->kind == two->kind &&
	       backtrace_of(one, MISUSE_AGAIN) == backtrace_of(two, MISUSE_AGAIN) &&
	       backtrace_of(one, MISUSE_CLOSED) == backtrace_of(two, MISUSE_CLOSED) &&
	       (one->kind != DESCRIPTOR_GONE ||
		backtrace_of(one, MISUSE_OPENED) == backtrace_of(two, MISUSE_OPENED));
}

static struct misuse *add(struct misuses *misuses, const struct misuse *key, uint64_t hash)
{
	struct misuse *misuse = pool_alloc(&misuses->pool, sizeof(*misuse));
	struct misuse **item = ARRAY_ADD(&misuses->list);

	*item = misuse;
	*misuse = *key;
	if (key->what)
		misuse->what = pool_text(&misuses->pool, key->what, strlen(key->what));
	misuse->steps[MISUSE_AGAIN].what = pool_text(&misuses->pool, key->steps[MISUSE_AGAIN].what,
						     strlen(key->steps[MISUSE_AGAIN].what));
	hash_table_add(&misuses->by_place, hash, misuse);
	return misuse;
}

static bool take_step(struct misuses *misuses, struct misuse_step *step, const char *what,
		      const struct descriptor_step *from)
{
	*step = (struct misuse_step){ .what = what,
				      .time_ns = from->time_ns,
				      .thread = from->thread };
	if (!from->function)
		return true;
	step->backtrace = space_backtrace(misuses->space, from->backtrace, from->index);
	return step->backtrace != NULL;
}

void misuses_add(struct misuses *misuses, const struct event *event, enum descriptor_misuse kind,
		 const struct descriptor *descriptor)
{
	const struct descriptor_step again = { event->backtrace, event->function, event->index,
					       event->time_ns, event->thread };
	struct misuse key = { .kind = kind,
			      .number = descriptor->number,
			      .pid = event->process->pid,
			      .what = descriptor->what };
	struct misuse *misuse;
	uint64_t hash;

	if (take_step(misuses, &key.steps[MISUSE_OPENED], "opened by", &descriptor->opened))
		take_step(misuses, &key.steps[MISUSE_AGAIN], event->function->name, &again);
	if (kind != DESCRIPTOR_GONE)
		take_step(misuses, &key.steps[MISUSE_CLOSED], "closed by", &descriptor->closed);
	hash = hash_two(misuses->by_place.seed, (uintptr_t)backtrace_of(&key, MISUSE_CLOSED),
			(uintptr_t)backtrace_of(&key, MISUSE_AGAIN));
	misuse = hash_table_find(&misuses->by_place, hash, is_same, &key);
	if (!misuse)
		misuse = add(misuses, &key, hash);
	misuse->count++;
}

static int compare(const void *a, const void *b)
{
	const struct misuse *one = *(struct misuse *const *)a, *two = *(struct misuse *const *)b;

	return ORDER(two->count, one->count);
}

void misuses_sort(struct misuses *misuses)
{
	if (misuses->list.count)
		qsort(misuses->list.items, misuses->list.count, sizeof(*misuses->list.items),
		      compare);
}

void misuses_init(struct misuses *misuses, struct address_space *space)
{
	*misuses = (struct misuses){ .space = space };
	hash_table_init(&misuses->by_place);
}

void misuses_free(struct misuses *misuses)
{
	hash_table_free(&misuses->by_place);
	free(misuses->list.items);
	pool_free(&misuses->pool);
}
