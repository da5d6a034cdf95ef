/* SPDX-License-Identifier: MIT */
/*
 * The output files of each stream. PID.swap contains the messages. PID.apis contains the numbers of
 * the functions, in the form in which SWAP's host receives them: a count, then numbers and names.
 * PID.json contains facts that are not in the messages. SWAP's host receives some of these facts
 * over its control channel; the other facts are not part of SWAP.
 */
#include "dialects/swap/swap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/json.h"

/* ---- addresses of functions ---- */

#define ADDRESS_OFFSET (SWAP_HEADER_SIZE + 8) /* the address follows pid and thread */

uint64_t swap_function_mark(const struct swap_process *process, uint32_t id)
{
	return (uint64_t)process->number << 32 | id;
}

void swap_functions_take(struct swap *swap, struct swap_process *process, const struct event *event)
{
	for (uint32_t i = 0; i < event->argument_count; i++) {
		struct swap_function *place = ARRAY_ADD(&process->functions);

		place->id = swap_api_id(event->arguments[i].name);
		for (size_t hook = 0; hook < HOOK_COUNT; hook++)
			if (!strcmp(swap->apis.hooks[hook].name, event->arguments[i].name))
				place->id = swap->apis.hooks[hook].id;
		place->address = strtoull(event->arguments[i].value, NULL, 0);
	}
}

/*
 * Replaces the mark in a complete message with the address of the function. If the address is
 * unknown, writes the function's number instead, which is lower than any code address.
 */
static void swap_functions_settle(const struct swap *swap, char *message)
{
	struct swap_message at = { .at = message + ADDRESS_OFFSET };
	const struct swap_process *process;
	uint64_t mark, address;
	uint32_t id;

	memcpy(&id, message, 4);
	id = le32toh(id);
	if (id != SWAP_FUNCTION_ENTRY && id != SWAP_FUNCTION_EXIT)
		return;
	memcpy(&mark, at.at, 8);
	mark = le64toh(mark);
	process = swap->processes.items[mark >> 32];
	address = (uint32_t)mark;
	for (size_t i = process->functions.count; i-- > 0;)
		if (process->functions.items[i].id == (uint32_t)mark)
			address = process->functions.items[i].address;
	swap_put_u64(&at, address);
}

/* ---- files ---- */

/* The pids of the streams whose files have been written. A pid can occur several times. */
static ARRAY_OF(uint32_t) written;

bool swap_has_written(void)
{
	return written.count != 0;
}

static int put_messages(struct swap *swap, struct out *out, struct error *err)
{
	struct spill_piece piece;
	int rc = spill_sort_finish(&swap->sort, err);

	/* outdir_finish() will report an error of the output */
	while (rc == 0 && !out_error(out) &&
	       (rc = spill_sort_next(&swap->sort, &piece, err)) == 1) {
		struct swap_message message = { .at = piece.bytes + SWAP_SEQUENCE_OFFSET };

		swap_put_u32(&message, (uint32_t)swap->messages++);
		swap_functions_settle(swap, piece.bytes);
		out_bytes(out, piece.bytes, piece.size);
		rc = 0;
	}
	return rc;
}

static void put_word(struct out *out, uint32_t value)
{
	value = htole32(value);
	out_bytes(out, &value, 4);
}

/* A function and its number. */
struct named {
	uint32_t id;
	const char *name;
};

/* Returns the index-th of all functions; its name is NULL after the last one. */
static struct named api_at(const struct swap *swap, size_t index)
{
	static const struct named own[] = { { SWAP_API_MARK, "da_mark" },
					    { SWAP_API_THREAD_END, "_da_cleanup_handler" },
					    { SWAP_API_THREAD_PROC, "_da_ThreadProc" } };
	static const char *const contexts[] = { SWAP_CONTEXT_ENTER, SWAP_CONTEXT_LEAVE };
	const struct swap_api *api;

	if (index < 3)
		return own[index];
	index -= 3;
	if (index < 2)
		return (struct named){ swap_api_id(contexts[index]), contexts[index] };
	index -= 2;
	if (index < HOOK_COUNT)
		return (struct named){ swap->apis.hooks[index].id, swap->apis.hooks[index].name };
	index -= HOOK_COUNT;
	if (index >= swap->strangers.count)
		return (struct named){ 0 };
	api = swap->strangers.items[index];
	return (struct named){ api->id, api->name };
}

static int put_apis(struct swap *swap, struct out *out, struct error *err)
{
	uint32_t count = 0;

	(void)err;
	while (api_at(swap, count).name)
		count++;
	put_word(out, count);
	for (uint32_t i = 0; i < count; i++) {
		struct named api = api_at(swap, i);

		put_word(out, api.id);
		out_bytes(out, api.name, strlen(api.name) + 1);
	}
	return 0;
}

static int put_facts(struct swap *swap, struct out *out, struct error *err)
{
	struct json json;

	(void)err;
	json_start(&json, out, true);
	json_begin(&json, '{');
	json_add_text(&json, "dialect", swap->dialect == SWAP_DIALECT_DOC ? "doc" : "tizen");
	json_add_unsigned(&json, "messages", swap->messages);
	json_add_unsigned(&json, "devices", 0);
	json_open(&json, "processes", '[');
	for (size_t i = 0; i < swap->processes.count; i++) {
		const struct swap_process *process = swap->processes.items[i];
		struct named api;

		json_begin(&json, '{');
		json_add_unsigned(&json, "pid", process->process->pid);
		json_add_text(&json, "executable", process->executable);
		json_open(&json, "arguments", '[');
		for (size_t k = 0; k < process->arguments.count; k++)
			json_text(&json, process->arguments.items[k]);
		json_end(&json);
		/* a reader of FUNCTION_* messages names functions by their addresses */
		json_open(&json, "functions", '{');
		for (size_t k = 0; (api = api_at(swap, k)).name; k++)
			for (size_t n = 0; n < process->functions.count; n++)
				if (process->functions.items[n].id == api.id) {
					json_add_hex(&json, api.name,
						     process->functions.items[n].address);
					break;
				}
		json_end(&json);
		json_add_unsigned(&json, "processors", process->load.cpus.count);
		json_end(&json);
	}
	json_end(&json);
	json_open(&json, "missing", '[');
	for (size_t i = 0; i < swap->missing.count; i++)
		json_text(&json, swap->missing.items[i]);
	json_end(&json);
	json_end(&json);
	json_finish(&json);
	return 0;
}

typedef int put_file(struct swap *swap, struct out *out, struct error *err);

static int write_file(struct swap *swap, const char *stem, const char *ending, put_file *put,
		      struct error *err)
{
	struct out out;
	char name[64];
	int rc;

	snprintf(name, sizeof(name), "%s.%s", stem, ending);
	rc = outdir_create(&swap->directory, name, &out, err);
	if (rc)
		return rc;
	return outdir_finish(&swap->directory, &out, put(swap, &out, err), err);
}

int swap_write_files(struct swap *swap, struct error *err)
{
	uint32_t pid = swap->processes.items[0]->process->pid;
	char stem[48];
	unsigned times = 1;
	int rc;

	*ARRAY_ADD(&written) = pid;
	/* "PID", or "PID-2" for the second stream with this pid */
	for (size_t i = 0; i + 1 < written.count; i++)
		times += written.items[i] == pid;
	if (times == 1)
		snprintf(stem, sizeof(stem), "%" PRIu32, pid);
	else
		snprintf(stem, sizeof(stem), "%" PRIu32 "-%u", pid, times);
	rc = write_file(swap, stem, "swap", put_messages, err);
	if (rc == 0)
		rc = write_file(swap, stem, "apis", put_apis, err);
	if (rc == 0)
		rc = write_file(swap, stem, "json", put_facts, err);
	if (rc == 0)
		rc = outdir_commit(&swap->directory, err);
	if (rc)
		written.count--;
	return rc;
}
