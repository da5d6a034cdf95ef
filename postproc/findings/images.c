/* SPDX-License-Identifier: MIT */
#include "images.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/order.h"

const struct summary_process *images_last(const struct summary *summary)
{
	const struct summary_process *last = &summary->processes.items[0];

	for (size_t i = 1; i < summary->processes.count; i++)
		if (summary->processes.items[i].pid == last->pid)
			last = &summary->processes.items[i];
	return last;
}

const struct summary_process *images_next(const struct summary *summary,
					  const struct summary_process *process)
{
	const struct summary_process *end = summary->processes.items + summary->processes.count;

	for (const struct summary_process *next = process + 1; next < end; next++)
		if (next->pid == process->pid)
			return next;
	return NULL;
}

/* ---- ranks ---- */

struct rank {
	const struct summary_process *process;
	unsigned trouble;
	uint64_t held;
};

ORDER_FUNCTION(compare_held, struct rank, ORDER(b->held, a->held) ?: ORDER(a->process, b->process))

static int compare_trouble(const void *left, const void *right)
{
	const struct rank *a = left, *b = right;

	return ORDER(b->trouble, a->trouble) ?: compare_held(left, right);
}

/*
 * Marks up to `left` processes that are not yet marked as chosen, in the order of their ranks.
 * Returns `left` minus the number of processes that it marked.
 */
static size_t mark(const struct rank *ranks, size_t count, const struct summary_process *first,
		   size_t left, bool *is_chosen)
{
	for (size_t i = 0; i < count && left; i++) {
		bool *one = &is_chosen[ranks[i].process - first];

		left -= !*one;
		*one = true;
	}
	return left;
}

void images_choose(const struct summary *summary, size_t room, bool *is_chosen)
{
	const struct summary_process *first = summary->processes.items;
	size_t count = summary->processes.count, holders = room / 2, left = room - 1;
	cleanup_free struct rank *ranks = memory_zalloc(count, sizeof(*ranks));

	for (size_t i = 0; i < count; i++)
		ranks[i] = (struct rank){
			.process = &first[i],
			.trouble = first[i].lost || first[i].is_damaged ? 3
				   : first[i].end == SUMMARY_KILLED
					   ? 2
					   : first[i].end == SUMMARY_EXITED && first[i].status,
			.held = first[i].end == SUMMARY_EXEC ? 0 : first[i].held_bytes,
		};
	is_chosen[images_last(summary) - first] = true;
	qsort(ranks, count, sizeof(*ranks), compare_held);
	left = mark(ranks, count < holders ? count : holders, first, left, is_chosen);
	qsort(ranks, count, sizeof(*ranks), compare_trouble);
	mark(ranks, count, first, left, is_chosen);
}

/* ---- untraced programs ---- */

static bool is_untraced(const struct summary *summary, size_t index)
{
	const struct summary_process *process = &summary->processes.items[index];

	return process->end == SUMMARY_EXEC && process->untraced && !images_next(summary, process);
}

static const char *path_of(const struct summary *summary, size_t index)
{
	const char *path = summary->processes.items[index].became;

	return path ? path : "a program";
}

static bool is_same_untraced(const struct summary *summary, size_t a, size_t b)
{
	const struct summary_process *processes = summary->processes.items;

	return is_untraced(summary, a) && !strcmp(path_of(summary, a), path_of(summary, b)) &&
	       processes[a].untraced == processes[b].untraced;
}

uint64_t images_untraced(const struct summary *summary, size_t index)
{
	uint64_t times = is_untraced(summary, index);

	for (size_t i = 0; times && i < index; i++)
		if (is_same_untraced(summary, i, index))
			return 0;
	for (size_t i = index + 1; times && i < summary->processes.count; i++)
		times += is_same_untraced(summary, i, index);
	return times;
}
