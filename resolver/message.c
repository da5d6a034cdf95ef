/* SPDX-License-Identifier: MIT */
#include "resolver/message.h"

#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * The header of each message, in the byte order of the machine, because messages are exchanged only
 * between processes of one program.
 */
struct header {
	uint32_t size; /* size of the body */
	uint32_t kind;
};

/*
 * The start of an answer's body. After it come a number for each symbol, and then the symbols'
 * strings.
 */
struct answer_head {
	uint64_t address, count;
};

enum {
	HAS_PARAMETERS = 1,
	HAS_FUNCTION = 2,
	HAS_FILE = 4,
	LINE_SHIFT = 32,
};

void message_put(FILE *to, enum message_kind kind, const void *body, size_t size)
{
	const struct header header = { .size = (uint32_t)size, .kind = kind };

	fwrite(&header, sizeof(header), 1, to);
	fwrite(body, size, 1, to);
}

void message_put_answer(FILE *to, uint64_t address, const struct symbol *symbols, unsigned count)
{
	const char *texts[2 * RESOLVE_FRAMES_MAX];
	size_t sizes[2 * RESOLVE_FRAMES_MAX], all = 0;
	uint64_t numbers[RESOLVE_FRAMES_MAX];
	struct answer_head head = { .address = address, .count = count };
	struct header header = { .kind = MESSAGE_ANSWER };

	if (head.count > RESOLVE_FRAMES_MAX)
		head.count = RESOLVE_FRAMES_MAX;
	for (size_t i = 0; i < head.count; i++) {
		const struct symbol *symbol = &symbols[i];

		numbers[i] = (uint64_t)symbol->line << LINE_SHIFT |
			     (symbol->has_parameters ? HAS_PARAMETERS : 0) |
			     (symbol->function ? HAS_FUNCTION : 0) | (symbol->file ? HAS_FILE : 0);
		texts[2 * i] = symbol->function;
		texts[2 * i + 1] = symbol->file;
	}
	for (size_t i = 0; i < 2 * head.count; i++) {
		sizes[i] = texts[i] ? strnlen(texts[i], MESSAGE_NAME_MAX) : 0;
		all += texts[i] ? sizes[i] + 1 : 0;
	}
	header.size = (uint32_t)(sizeof(head) + head.count * sizeof(*numbers) + all);
	fwrite(&header, sizeof(header), 1, to);
	fwrite(&head, sizeof(head), 1, to);
	fwrite(numbers, sizeof(*numbers), head.count, to);
	for (size_t i = 0; i < 2 * head.count; i++) {
		if (!texts[i])
			continue;
		fwrite(texts[i], 1, sizes[i], to);
		fputc(0, to);
	}
}

int message_next(const char *bytes, size_t count, size_t *used, struct message *message)
{
	size_t left = count - *used;
	struct header header;

	if (left < sizeof(header))
		return 0;
	memcpy(&header, bytes + *used, sizeof(header));
	if (header.size > MESSAGE_SIZE_MAX)
		return -EBADMSG;
	if (left - sizeof(header) < header.size)
		return 0;
	*message = (struct message){
		.kind = header.kind,
		.size = header.size,
		.body = bytes + *used + sizeof(header),
	};
	*used += sizeof(header) + header.size;
	return 1;
}

int message_get_facts(const struct message *message, struct facts *facts)
{
	if (message->kind != MESSAGE_FACTS || message->size != sizeof(*facts))
		return -EBADMSG;
	memcpy(facts, message->body, sizeof(*facts));
	if (facts->reason > RESOLVE_BROKEN || facts->build_id_size > sizeof(facts->build_id) ||
	    facts->layout.count > LAYOUT_SEGMENTS_MAX ||
	    !memchr(facts->text, 0, sizeof(facts->text)))
		return -EBADMSG;
	facts->is_known = true;
	return 0;
}

int message_get_want(const struct message *message, struct file_want *want)
{
	if (message->kind != MESSAGE_WANT || message->size != sizeof(*want))
		return -EBADMSG;
	memcpy(want, message->body, sizeof(*want));
	if (want->build_id_size > sizeof(want->build_id) ||
	    !memchr(want->name, 0, sizeof(want->name)) ||
	    !memchr(want->directory, 0, sizeof(want->directory)))
		return -EBADMSG;
	return 0;
}

/* Returns the string at *at, and advances *at. NULL: the string is not terminated. */
static const char *take_text(const char **at, const char *end)
{
	const char *text = *at, *stop = memchr(text, 0, (size_t)(end - text));

	*at = stop ? stop + 1 : end;
	return stop ? text : NULL;
}

int message_get_answer(const struct message *message, struct answer **result)
{
	const char *at = message->body, *end;
	struct answer_head head;
	struct answer *answer;
	size_t strings;

	if (message->kind != MESSAGE_ANSWER || message->size < sizeof(head))
		return -EBADMSG;
	memcpy(&head, at, sizeof(head));
	if (head.count == 0 || head.count > RESOLVE_FRAMES_MAX ||
	    message->size - sizeof(head) < head.count * sizeof(uint64_t))
		return -EBADMSG;
	/* in the result, the strings are stored after the symbols */
	strings = message->size - sizeof(head) - head.count * sizeof(uint64_t);
	answer = memory_alloc(sizeof(*answer) + head.count * sizeof(struct symbol) + strings);
	if (!answer)
		return -ENOMEM;
	*answer = (struct answer){ .address = head.address, .count = (unsigned)head.count };
	memcpy(&answer->symbols[head.count], message->body + message->size - strings, strings);
	at = (const char *)&answer->symbols[head.count];
	end = at + strings;
	for (size_t i = 0; i < head.count; i++) {
		struct symbol *symbol = &answer->symbols[i];
		uint64_t number;

		memcpy(&number, message->body + sizeof(head) + i * sizeof(number), sizeof(number));
		*symbol = (struct symbol){ .line = (unsigned)(number >> LINE_SHIFT),
					   .has_parameters = number & HAS_PARAMETERS };
		if (number & HAS_FUNCTION)
			symbol->function = take_text(&at, end);
		if (number & HAS_FILE)
			symbol->file = take_text(&at, end);
		if (!symbol->function != !(number & HAS_FUNCTION) ||
		    !symbol->file != !(number & HAS_FILE)) {
			free(answer);
			return -EBADMSG;
		}
	}
	*result = answer;
	return 0;
}
