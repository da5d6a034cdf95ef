/* SPDX-License-Identifier: MIT */
/* Children that a hostile file has taken over: what they may say, and for how long. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "resolver/lookup.h"
#include "resolver/resolve.h"
#include "resolver/worker.h"
#include "tests/unit/tap.h"

static enum {
	IS_HONEST,
	TELLS_FACTS,
	TELLS_PROGRESS,
	ANSWERS_OTHERS,
	ANSWERS_UNASKED,
} way;

static struct segment segment = { .memsz = 4096, .filesz = 4096, .align = 4096, .is_code = true };
static const struct facts facts = { .is_known = true, .layout = { &segment, 1, false } };

static int answer(int socket, struct message_buffer *buffer, uint64_t address)
{
	const struct symbol symbol = { .function = "found" };

	message_put_answer(buffer, address, &symbol, 1);
	return worker_send(socket, buffer);
}

/* In the place of the child's real work. */
void lookup_run(int socket, const void *job)
{
	struct message_buffer buffer = { 0 };
	uint64_t addresses[WORKER_BATCH_MAX];
	int failure = 0;

	(void)job;
	while (way == TELLS_PROGRESS && !failure) {
		message_put_progress(&buffer, "1 of 2 KiB");
		failure = worker_send(socket, &buffer);
	}
	do {
		message_put_facts(&buffer, &facts);
		failure = worker_send(socket, &buffer);
	} while (way == TELLS_FACTS && !failure);
	while (way == ANSWERS_UNASKED && !failure)
		failure = answer(socket, &buffer, 17);
	for (size_t count = 1; count && !failure;) {
		count = worker_question(socket, addresses);
		for (size_t i = 0; i < count && !failure; i++)
			failure = answer(socket, &buffer, addresses[i] + (way == ANSWERS_OTHERS));
	}
}

/* Returns whether the address was answered; *reason: what became of the module. */
static bool is_answered(enum resolve_reason *reason)
{
	const struct resolve_options options = { 0 };
	const struct resolve_module module = { .path = "/hostile", .from = 4096, .to = 8192 };
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

	/* Whoever is listened to for ever ends this program. */
	alarm(60);
	ok(is_answered(&reason) && reason == RESOLVE_FINE, "an honest child is believed");
	way = TELLS_FACTS;
	ok(is_given_up(), "one that tells its facts again and again is not listened to");
	way = TELLS_PROGRESS;
	ok(is_given_up(), "nor one that tells of a download for ever");
	way = ANSWERS_OTHERS;
	ok(is_given_up(), "nor one that answers what nobody asked");
	way = ANSWERS_UNASKED;
	ok(is_given_up(), "nor one that answers before it is asked");
	return tap_end();
}
