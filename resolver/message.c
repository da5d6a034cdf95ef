/* SPDX-License-Identifier: MIT */
#include "resolver/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Messages travel between processes of one program, in its own byte order. */
struct header {
	uint32_t size; /* of the body */
	uint32_t kind;
};

#define FLAG_PARAMETERS 1u

static int reserve(struct message_buffer *buffer, size_t size)
{
	size_t capacity = buffer->capacity ? buffer->capacity : 4096;
	char *items;

	if (buffer->capacity - buffer->count >= size)
		return 0;
	while (capacity - buffer->count < size)
		capacity *= 2;
	items = realloc(buffer->items, capacity);
	if (!items)
		return -ENOMEM;
	buffer->items = items;
	buffer->capacity = capacity;
	return 0;
}

static int put(struct message_buffer *buffer, const void *bytes, size_t size)
{
	if (reserve(buffer, size) != 0)
		return -ENOMEM;
	if (size)
		memcpy(buffer->items + buffer->count, bytes, size);
	buffer->count += size;
	return 0;
}

static int put_number(struct message_buffer *buffer, uint64_t number)
{
	return put(buffer, &number, sizeof(number));
}

/* With its end, so that it can be used where it lies; no string is an empty one without. */
static int put_string(struct message_buffer *buffer, const char *text)
{
	size_t length = text ? strnlen(text, MESSAGE_NAME_MAX) : 0;
	int failure = put_number(buffer, text ? length + 1 : 0);

	if (!failure && text)
		failure = put(buffer, text, length);
	if (!failure && text)
		failure = put(buffer, "", 1);
	return failure;
}

static int begin(struct message_buffer *buffer, enum message_kind kind, size_t *start)
{
	const struct header header = { .kind = kind };

	*start = buffer->count;
	return put(buffer, &header, sizeof(header));
}

/* Fills the size in; a message that failed is taken out. Returns failure. */
static int end(struct message_buffer *buffer, size_t start, int failure)
{
	uint32_t size;

	if (failure) {
		buffer->count = start;
		return failure;
	}
	size = (uint32_t)(buffer->count - start - sizeof(struct header));
	memcpy(buffer->items + start + offsetof(struct header, size), &size, sizeof(size));
	return 0;
}

static int put_segments(struct message_buffer *buffer, const struct layout *layout)
{
	size_t count = layout->count < MESSAGE_SEGMENTS ? layout->count : MESSAGE_SEGMENTS;
	int failure = put_number(buffer, count);

	for (size_t i = 0; i < count && !failure; i++) {
		const struct segment *segment = &layout->segments[i];
		const uint64_t numbers[] = { segment->offset, segment->vaddr, segment->filesz,
					     segment->memsz,  segment->align, segment->is_code };

		failure = put(buffer, numbers, sizeof(numbers));
	}
	return failure;
}

int message_put_facts(struct message_buffer *buffer, const struct facts *facts)
{
	size_t start;
	int failure = begin(buffer, MESSAGE_FACTS, &start);

	if (!failure)
		failure = put_number(buffer, facts->reason);
	if (!failure)
		failure = put_string(buffer, facts->text);
	if (!failure)
		failure = put_number(buffer, facts->build_id_size);
	if (!failure)
		failure = put(buffer, facts->build_id, facts->build_id_size);
	if (!failure)
		failure = put_number(buffer, facts->has_symbols);
	if (!failure)
		failure = put_number(buffer, facts->layout.is_debug);
	if (!failure)
		failure = put_segments(buffer, &facts->layout);
	return end(buffer, start, failure);
}

static int put_symbol(struct message_buffer *buffer, const struct symbol *symbol)
{
	int failure = put_number(buffer, (uint64_t)symbol->line << 32 |
						 (symbol->has_parameters ? FLAG_PARAMETERS : 0));

	if (!failure)
		failure = put_string(buffer, symbol->function);
	if (!failure)
		failure = put_string(buffer, symbol->file);
	return failure;
}

int message_put_answer(struct message_buffer *buffer, uint64_t address,
		       const struct symbol *symbols, unsigned count)
{
	size_t start;
	int failure = begin(buffer, MESSAGE_ANSWER, &start);

	if (count > RESOLVE_FRAMES_MAX)
		count = RESOLVE_FRAMES_MAX;
	if (!failure)
		failure = put_number(buffer, address);
	if (!failure)
		failure = put_number(buffer, count);
	for (unsigned i = 0; i < count && !failure; i++)
		failure = put_symbol(buffer, &symbols[i]);
	return end(buffer, start, failure);
}

int message_put_progress(struct message_buffer *buffer, const char *text)
{
	size_t start;
	int failure = begin(buffer, MESSAGE_PROGRESS, &start);

	if (!failure)
		failure = put_string(buffer, text);
	return end(buffer, start, failure);
}

int message_next(const struct message_buffer *buffer, size_t *used, struct message *message)
{
	size_t left = buffer->count - *used;
	struct header header;

	if (left < sizeof(header))
		return 0;
	memcpy(&header, buffer->items + *used, sizeof(header));
	if (header.size > MESSAGE_SIZE_MAX)
		return -EBADMSG;
	if (left - sizeof(header) < header.size)
		return 0;
	*message = (struct message){
		.kind = (enum message_kind)header.kind,
		.body = buffer->items + *used + sizeof(header),
		.size = header.size,
	};
	*used += sizeof(header) + header.size;
	return 1;
}

/* One cursor over a body; it fails for good at the first thing that does not fit. */
struct taker {
	const char *at, *end;
	bool has_failed;
};

static const char *take(struct taker *taker, uint64_t size)
{
	const char *at = taker->at;

	if (taker->has_failed || (uint64_t)(taker->end - at) < size) {
		taker->has_failed = true;
		return NULL;
	}
	taker->at += size;
	return at;
}

static uint64_t take_number(struct taker *taker)
{
	const char *at = take(taker, sizeof(uint64_t));
	uint64_t number = 0;

	if (at)
		memcpy(&number, at, sizeof(number));
	return number;
}

static const char *take_string(struct taker *taker)
{
	uint64_t size = take_number(taker);
	const char *text = size ? take(taker, size) : NULL;

	if (text && memchr(text, 0, size) != text + size - 1) {
		taker->has_failed = true;
		return NULL;
	}
	return text;
}

static void take_build_id(struct taker *taker, struct facts *facts)
{
	uint64_t size = take_number(taker);
	const char *bytes = take(taker, size);

	if (size > sizeof(facts->build_id))
		taker->has_failed = true;
	if (taker->has_failed)
		return;
	memcpy(facts->build_id, bytes, size);
	facts->build_id_size = (unsigned)size;
}

static int take_segments(struct taker *taker, struct layout *layout)
{
	uint64_t count = take_number(taker);

	if (count > MESSAGE_SEGMENTS)
		return -EBADMSG;
	layout->segments = calloc(count + 1, sizeof(*layout->segments));
	if (!layout->segments)
		return -ENOMEM;
	for (layout->count = 0; layout->count < count && !taker->has_failed; layout->count++) {
		struct segment *segment = &layout->segments[layout->count];

		segment->offset = take_number(taker);
		segment->vaddr = take_number(taker);
		segment->filesz = take_number(taker);
		segment->memsz = take_number(taker);
		segment->align = take_number(taker);
		segment->is_code = take_number(taker) != 0;
	}
	return 0;
}

static bool is_reason(uint64_t number)
{
	return number <= RESOLVE_BROKEN;
}

int message_get_facts(const struct message *message, struct facts *facts)
{
	struct taker taker = { .at = message->body, .end = message->body + message->size };
	uint64_t reason = take_number(&taker);
	const char *text = take_string(&taker);
	int failure;

	*facts = (struct facts){ .is_known = true, .reason = (enum resolve_reason)reason };
	take_build_id(&taker, facts);
	facts->has_symbols = take_number(&taker) != 0;
	facts->layout.is_debug = take_number(&taker) != 0;
	failure = take_segments(&taker, &facts->layout);
	if (!failure && (taker.has_failed || !is_reason(reason)))
		failure = -EBADMSG;
	if (!failure && text) {
		facts->text = strdup(text);
		failure = facts->text ? 0 : -ENOMEM;
	}
	if (failure)
		facts_free(facts);
	return failure;
}

void facts_free(struct facts *facts)
{
	free(facts->text);
	free(facts->layout.segments);
	*facts = (struct facts){ 0 };
}

int message_get_answer(const struct message *message, struct answer **result)
{
	struct taker taker = { .at = message->body, .end = message->body + message->size };
	uint64_t address = take_number(&taker), count = take_number(&taker);
	size_t head = sizeof(struct answer) + count * sizeof(struct symbol);
	struct answer *answer;

	if (taker.has_failed || count == 0 || count > RESOLVE_FRAMES_MAX)
		return -EBADMSG;
	answer = malloc(head + message->size);
	if (!answer)
		return -ENOMEM;
	/* The strings stay in a copy of the body behind the answer. */
	memcpy((char *)answer + head, message->body, message->size);
	taker.at = (char *)answer + head + (taker.at - message->body);
	taker.end = (char *)answer + head + message->size;
	answer->owner = NULL;
	answer->address = address;
	answer->count = (unsigned)count;
	for (size_t i = 0; i < count; i++) {
		uint64_t number = take_number(&taker);

		answer->symbols[i] = (struct symbol){
			.line = (unsigned)(number >> 32),
			.has_parameters = number & FLAG_PARAMETERS,
		};
		answer->symbols[i].function = take_string(&taker);
		answer->symbols[i].file = take_string(&taker);
	}
	if (taker.has_failed) {
		free(answer);
		return -EBADMSG;
	}
	*result = answer;
	return 0;
}
