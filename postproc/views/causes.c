/* SPDX-License-Identifier: MIT */
#include "postproc/views/causes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"

/* ---- moves of memory ---- */

static void merge_temporary(void *user, void *of_run, const void *of_process)
{
	(void)user;
	*(uint64_t *)of_run += *(const uint64_t *)of_process;
}

static int on_move(void *user, const struct ledger_move *move, struct error *err)
{
	struct causes *causes = user;
	uint64_t *temporary;

	if (ledger_class(causes->ledger, move->class)->known != RESOURCE_MEMORY)
		return 0;
	if (ledger_move_is_temporary(causes->ledger, move, 1)) {
		temporary = tally_entry(causes->temporary, move->site);
		if (!temporary)
			return error_set(err, ENOMEM, "no memory for the screen");
		++*temporary;
	}
	return peaks_move(&causes->peaks, move, err);
}

/* ---- events ---- */

int causes_event(struct causes *causes, const struct event *event)
{
	enum descriptor_misuse misuse;
	struct descriptor *of;

	/* Of memory, that is most calls, there is nothing to learn. */
	if (event->resource->known == RESOURCE_MEMORY)
		return 0;
	if (descriptors_event(&causes->descriptors, event, &misuse, &of))
		return -ENOMEM;
	return misuse ? misuses_add(&causes->misuses, event, misuse, of) : 0;
}

int causes_note(struct causes *causes, const struct event *event)
{
	return descriptors_note(&causes->descriptors, event);
}

void causes_process(struct causes *causes, uint32_t pid, const char *program)
{
	peaks_process(&causes->peaks, pid, program);
	descriptors_clear(&causes->descriptors);
}

/* ---- the end of the run ---- */

static bool is_heavier(const struct causes_place *a, const struct causes_place *b)
{
	return a->bytes != b->bytes ? a->bytes > b->bytes : a->count > b->count;
}

static void add_place(struct causes_top *top, const struct causes_place *place)
{
	size_t at = top->count;

	top->all++;
	while (at && is_heavier(place, &top->places[at - 1]))
		at--;
	if (at == CAUSES_PLACES)
		return;
	top->count += top->count < CAUSES_PLACES;
	for (size_t i = top->count - 1; i > at; i--)
		top->places[i] = top->places[i - 1];
	top->places[at] = *place;
}

static void add_peak(struct causes *causes, uint32_t index, const struct tally_place *place)
{
	struct peaks_amount amount;

	if (peaks_at(&causes->peaks, place->class, index, &amount))
		add_place(&causes->peak, &(struct causes_place){ .backtrace = place->backtrace,
								 .count = amount.count,
								 .bytes = amount.bytes });
}

static void add_temporary(struct causes *causes, uint32_t index, const struct tally_place *place)
{
	const uint64_t *count = tally_of_place(causes->temporary, index);

	if (count && *count)
		add_place(&causes->temp,
			  &(struct causes_place){ .backtrace = place->backtrace, .count = *count });
}

void causes_run(struct causes *causes)
{
	for (uint32_t i = 0; i < tallies_count(causes->tallies); i++) {
		const struct tally_place *place = tallies_place(causes->tallies, i);

		if (ledger_class(causes->ledger, place->class)->known != RESOURCE_MEMORY)
			continue;
		add_peak(causes, i, place);
		add_temporary(causes, i, place);
	}
	misuses_sort(&causes->misuses);
}

/* ---- begin and end ---- */

int causes_create(struct causes **result, struct ledger *ledger, struct tallies *tallies)
{
	struct causes *causes = memory_zalloc(1, sizeof(*causes));

	if (!causes)
		return -ENOMEM;
	causes->ledger = ledger;
	causes->tallies = tallies;
	peaks_init(&causes->peaks, ledger);
	causes->peaks.tally =
		tallies_add(tallies, sizeof(struct peaks_entry), peaks_merge, &causes->peaks);
	causes->temporary = tallies_add(tallies, sizeof(uint64_t), merge_temporary, causes);
	descriptors_init(&causes->descriptors);
	misuses_init(&causes->misuses, tallies->atlas);
	ledger_listen(ledger, on_move, causes);
	*result = causes;
	return 0;
}

void causes_destroy(struct causes *causes)
{
	if (!causes)
		return;
	descriptors_clear(&causes->descriptors);
	misuses_free(&causes->misuses);
	free(causes);
}
