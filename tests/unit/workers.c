/* SPDX-License-Identifier: MIT */
/* Children that a hostile file has taken over: what they may send, and for how long. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "resolver/module.h"
#include "resolver/resolve.h"
#include "resolver/worker.h"
#include "tests/lib/tap.h"

static enum {
	IS_HONEST,
	TELLS_FACTS,
	WANTS_FILES,
	ANSWERS_OTHERS,
	ANSWERS_UNASKED,
} way;

static const struct facts facts = {
	.is_known = true,
	.layout = { .count = 1, .segments = { { .memsz = 4096, .filesz = 4096 } } },
};

static bool answer(FILE *out, uint64_t address)
{
	const struct symbol symbol = { .function = "found" };

	message_put_answer(out, address, &symbol, 1);
	return fflush(out) == 0;
}

/* Replaces the real work of the child. */
void lookup_run(int socket, int file, const void *job)
{
	const struct file_want want = { .kind = FILE_DEBUG, .number = 1000 };
	FILE *out = fdopen(socket, "w");
	uint64_t addresses[WORKER_BATCH_MAX];
	bool is_heard = out;

	(void)file;
	(void)job;
	while (way == WANTS_FILES && is_heard) {
		message_put(out, MESSAGE_WANT, &want, sizeof(want));
		is_heard = fflush(out) == 0 && worker_take(socket) < 0;
	}
	do {
		message_put(out, MESSAGE_FACTS, &facts, sizeof(facts));
		is_heard = is_heard && fflush(out) == 0;
	} while (way == TELLS_FACTS && is_heard);
	while (way == ANSWERS_UNASKED && is_heard)
		is_heard = answer(out, 17);
	for (size_t count = 1; count && is_heard;) {
		count = worker_question(socket, addresses);
		for (size_t i = 0; i < count && is_heard; i++)
			is_heard = answer(out, addresses[i] + (way == ANSWERS_OTHERS));
	}
}

/* Returns whether the address was answered; *reason: what became of the module. */
static bool is_answered(enum resolve_reason *reason)
{
	const struct resolve_options options = { 0 };
	const struct resolve_module module = { .path = "/proc/self/exe", .from = 4096, .to = 8192 };
	struct resolve_state state = { 0 };
	struct resolve *resolve;
	struct symbol symbol;
	bool is_found;

	if (resolve_create(&resolve, &options, NULL) != 0 || resolve_map(resolve, &module) != 0)
		exit(99);
	resolve_address(resolve, 4096 + 16, true, &symbol, 1);
	is_found = symbol.function && strcmp(symbol.function, "found") == 0;
	*reason = resolve_state(resolve, 0, &state) ? state.reason : RESOLVE_SPECIAL;
	resolve_destroy(resolve);
	return is_found;
}

static bool is_given_up(void)
{
	enum resolve_reason reason;

	return !is_answered(&reason) && reason == RESOLVE_BROKEN;
}

int main(void)
{
	enum resolve_reason reason;

	/* ends this program if it never stops reading from a child */
	alarm(60);
	ok(is_answered(&reason) && reason == RESOLVE_FINE,
	   "the answers of a correct child are used");
	way = TELLS_FACTS;
	ok(is_given_up(), "a child that repeats its facts is ended");
	way = WANTS_FILES;
	ok(is_given_up(), "a child that asks for files without end is ended");
	way = ANSWERS_OTHERS;
	ok(is_given_up(), "a child that answers an unknown address is ended");
	way = ANSWERS_UNASKED;
	ok(is_given_up(), "a child that answers before a request is ended");
	return tap_end();
}
