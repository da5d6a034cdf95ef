/* SPDX-License-Identifier: MIT */
/* What a child of the resolver says, or a file of its cache, to who reads it. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "resolver/message.h"

static volatile size_t seen;

static void look_at_facts(const struct message *message)
{
	struct facts facts = { 0 };

	if (message_get_facts(message, &facts))
		return;
	seen += facts.text ? strlen(facts.text) : 0;
	fuzz_check(facts.build_id_size <= MESSAGE_BUILD_ID, "a build-id without room");
	for (uint64_t place = 0; place < 1 << 20; place += 4001) {
		uint64_t address = place;

		layout_offset_address(&facts.layout, place, &address);
		layout_bias(&facts.layout, place, place + 8192, &address);
		seen += layout_is_code(&facts.layout, address);
	}
	facts_free(&facts);
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
	struct message_buffer buffer = { NULL, size, size };
	struct message message;
	size_t used = 0;

	/* Of its very size, and it may not be const. */
	buffer.items = malloc(size ? size : 1);
	if (!buffer.items)
		return 0;
	if (size)
		memcpy(buffer.items, bytes, size);
	while (message_next(&buffer, &used, &message) == 1) {
		fuzz_check(used <= size, "a message beyond the end");
		if (message.kind == MESSAGE_FACTS)
			look_at_facts(&message);
		if (message.kind == MESSAGE_ANSWER)
			look_at_answer(&message);
	}
	free(buffer.items);
	return 0;
}
