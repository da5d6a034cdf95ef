/* SPDX-License-Identifier: MIT */
#include "dialects/swap/swap.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define ADDRESS_OFFSET (SWAP_HEADER_SIZE + 8) /* after pid and thread */

uint64_t swap_function_mark(const struct swap_process *process, uint32_t id)
{
	return (uint64_t)process->number << 32 | id;
}

static uint32_t id_of(const struct swap *swap, const char *name)
{
	for (size_t i = 0; i < HOOK_COUNT; i++)
		if (!strcmp(swap->apis.hooks[i].name, name))
			return swap->apis.hooks[i].id;
	return swap_api_id(name);
}

void swap_functions_take(struct swap *swap, struct swap_process *process, const struct event *event)
{
	for (uint32_t i = 0; i < event->argument_count; i++) {
		struct swap_function *place = ARRAY_ADD(&process->functions);

		place->id = id_of(swap, event->arguments[i].name);
		place->address = strtoull(event->arguments[i].value, NULL, 0);
	}
}

static uint64_t read_u64(const char *at)
{
	uint64_t value;

	memcpy(&value, at, 8);
	return le64toh(value);
}

/* The address of a mark; if unknown the function's number, which is below all addresses of code. */
static uint64_t address_of(const struct swap *swap, uint64_t mark)
{
	const struct swap_process *process = swap->processes.items[mark >> 32];

	for (size_t i = 0; i < process->functions.count; i++)
		if (process->functions.items[i].id == (uint32_t)mark)
			return process->functions.items[i].address;
	return (uint32_t)mark;
}

void swap_functions_settle(const struct swap *swap, char *message)
{
	struct swap_message at = { .at = message + ADDRESS_OFFSET };
	uint32_t id;

	memcpy(&id, message, 4);
	id = le32toh(id);
	if (id == SWAP_FUNCTION_ENTRY || id == SWAP_FUNCTION_EXIT)
		swap_put_u64(&at, address_of(swap, read_u64(at.at)));
}
