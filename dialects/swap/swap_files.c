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

static void put_messages(struct swap *swap, struct out *out, int *rc, struct error *err)
{
	struct spill_piece piece;

	*rc = spill_sort_finish(&swap->sort, err);
	while (*rc == 0 && (*rc = spill_sort_next(&swap->sort, &piece, err)) == 1) {
		struct swap_message message = { .at = piece.bytes + SWAP_SEQUENCE_OFFSET };

		swap_put_u32(&message, (uint32_t)swap->messages++);
		swap_functions_settle(swap, piece.bytes);
		out_bytes(out, piece.bytes, piece.size);
		*rc = out_error(out) ? -EIO : 0; /* outdir_finish() will report the error */
	}
	if (out_error(out))
		*rc = 0;
}

static void put_word(struct out *out, uint32_t value)
{
	value = htole32(value);
	out_bytes(out, &value, 4);
}

typedef void each_api(void *user, uint32_t id, const char *name);

static void for_each_api(const struct swap *swap, each_api *each, void *user)
{
	static const struct {
		uint32_t id;
		const char *name;
	} own[] = { { SWAP_API_MARK, "da_mark" },
		    { SWAP_API_THREAD_END, "_da_cleanup_handler" },
		    { SWAP_API_THREAD_PROC, "_da_ThreadProc" } };

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		each(user, own[i].id, own[i].name);
	each(user, swap_api_id(SWAP_CONTEXT_ENTER), SWAP_CONTEXT_ENTER);
	each(user, swap_api_id(SWAP_CONTEXT_LEAVE), SWAP_CONTEXT_LEAVE);
	for (size_t i = 0; i < HOOK_COUNT; i++)
		each(user, swap->apis.hooks[i].id, swap->apis.hooks[i].name);
	for (size_t i = 0; i < swap->strangers.count; i++)
		each(user, swap->strangers.items[i]->id, swap->strangers.items[i]->name);
}

static void count_api(void *user, uint32_t id, const char *name)
{
	(void)id;
	(void)name;
	++*(uint32_t *)user;
}

static void put_api(void *user, uint32_t id, const char *name)
{
	put_word(user, id);
	out_bytes(user, name, strlen(name) + 1);
}

struct addressed {
	struct json *json;
	const struct swap_process *process;
};

static void put_apis(struct swap *swap, struct out *out, int *rc, struct error *err)
{
	uint32_t count = 0;

	(void)rc;
	(void)err;
	for_each_api(swap, count_api, &count);
	put_word(out, count);
	for_each_api(swap, put_api, out);
}

static void put_function(void *user, uint32_t id, const char *name)
{
	struct addressed *functions = user;

	for (size_t i = 0; i < functions->process->functions.count; i++)
		if (functions->process->functions.items[i].id == id) {
			json_add_hex(functions->json, name,
				     functions->process->functions.items[i].address);
			return;
		}
}

/*
 * Lists the functions with their addresses, so that a reader of FUNCTION_* messages can name the
 * functions without the libraries' files.
 */
static void put_functions(const struct swap *swap, struct json *json,
			  const struct swap_process *process)
{
	struct addressed functions = { json, process };

	json_open(json, "functions", '{');
	for_each_api(swap, put_function, &functions);
	json_end(json);
}

static void put_process(const struct swap *swap, struct json *json,
			const struct swap_process *process)
{
	json_begin(json, '{');
	json_add_unsigned(json, "pid", process->process->pid);
	json_add_text(json, "executable", process->executable);
	json_open(json, "arguments", '[');
	for (size_t i = 0; i < process->arguments.count; i++)
		json_text(json, process->arguments.items[i]);
	json_end(json);
	put_functions(swap, json, process);
	json_add_unsigned(json, "processors", process->load.cpus.count);
	json_end(json);
}

static void put_facts(struct swap *swap, struct out *out, int *rc, struct error *err)
{
	struct json json;

	(void)rc;
	(void)err;
	json_start(&json, out, true);
	json_begin(&json, '{');
	json_add_text(&json, "dialect", swap->dialect == SWAP_DIALECT_DOC ? "doc" : "tizen");
	json_add_unsigned(&json, "messages", swap->messages);
	json_add_unsigned(&json, "devices", 0);
	json_open(&json, "processes", '[');
	for (size_t i = 0; i < swap->processes.count; i++)
		put_process(swap, &json, swap->processes.items[i]);
	json_end(&json);
	json_open(&json, "missing", '[');
	for (size_t i = 0; i < swap->missing.count; i++)
		json_text(&json, swap->missing.items[i]);
	json_end(&json);
	json_end(&json);
	json_finish(&json);
}

typedef void put_file(struct swap *swap, struct out *out, int *rc, struct error *err);

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
	put(swap, &out, &rc, err);
	return outdir_finish(&swap->directory, &out, rc, err);
}

/* Sets the stem of a stream's file names: "PID", or "PID-2" for the second stream with this pid. */
static void name_files(uint32_t pid, char *stem, size_t size)
{
	unsigned times = 1;

	for (size_t i = 0; i + 1 < written.count; i++)
		times += written.items[i] == pid;
	if (times == 1)
		snprintf(stem, size, "%" PRIu32, pid);
	else
		snprintf(stem, size, "%" PRIu32 "-%u", pid, times);
}

int swap_write_files(struct swap *swap, struct error *err)
{
	uint32_t pid = swap->processes.items[0]->process->pid;
	char stem[48];
	int rc;

	*ARRAY_ADD(&written) = pid;
	name_files(pid, stem, sizeof(stem));
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
