/* SPDX-License-Identifier: MIT */
/* Fuzzes the code that reads messages of the resolver's children and files of its cache. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "resolver/worker.h"

static volatile size_t seen;

static void look_at_facts(const struct message *message)
{
	struct facts facts;

	if (message_get_facts(message, &facts))
		return;
	seen += strlen(facts.text);
	fuzz_check(facts.build_id_size <= FILES_BUILD_ID_MAX, "a build-id without room");
	for (uint64_t place = 0; place < 1 << 20; place += 4001) {
		uint64_t address = place;

		layout_offset_address(&facts.layout, place, &address);
		layout_bias(&facts.layout, place, place + 8192, &address);
		seen += layout_is_code(&facts.layout, address);
	}
}

static void look_at_answer(const struct message *message)
{
	struct answer *answer;

	if (message_get_answer(message, &answer))
		return;
	fuzz_check(answer->count >= 1 && answer->count <= RESOLVE_FRAMES_MAX,
		   "no frame, or too many");
	for (unsigned i = 0; i < answer->count; i++) {
		const struct symbol *symbol = &answer->symbols[i];

		seen += symbol->function ? strlen(symbol->function) : 0;
		seen += symbol->file ? strlen(symbol->file) : 0;
	}
	free(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	/* exactly `size` bytes, so that a sanitizer detects an access past the end */
	char *copy = malloc(size ? size : 1);
	struct message message;
	struct file_want want;
	size_t used = 0;

	if (!copy)
		return 0;
	if (size)
		memcpy(copy, bytes, size);
	while (message_next(copy, size, &used, &message) == 1) {
		fuzz_check(used <= size, "a message beyond the end");
		look_at_facts(&message);
		look_at_answer(&message);
		if (message_get_want(&message, &want) == 0)
			seen += strlen(want.name) + strlen(want.directory);
	}
	free(copy);
	return 0;
}
