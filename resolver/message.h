/* SPDX-License-Identifier: MIT */
#ifndef MESSAGE_H
#define MESSAGE_H

/*
 * What a reader of ELF files tells about one module: its facts, then one answer for each address.
 * The readers are processes of their own that a hostile file may have taken over, and answers are
 * kept in files; so what comes in here is believed no more than a trace is.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resolver/debuginfo.h"
#include "resolver/layout.h"
#include "resolver/symbol.h"

#define MESSAGE_SIZE_MAX (16u << 20)
#define MESSAGE_NAME_MAX (64u << 10) /* longer names are cut */
#define MESSAGE_BUILD_ID 64
#define MESSAGE_SEGMENTS 4096

enum message_kind {
	MESSAGE_FACTS = 1,
	MESSAGE_ANSWER,
	MESSAGE_PROGRESS, /* a text: something slow goes on */
};

/* Bytes that are being put together, or taken apart. All 0 at first; free(items) ends it. */
struct message_buffer {
	char *items;
	size_t count, capacity;
};

struct message {
	enum message_kind kind;
	const char *body; /* inside the buffer */
	size_t size;
};

/* What is known of a module without looking an address up. */
struct facts {
	bool is_known;
	enum resolve_reason reason;
	char *text; /* the reason in words, or NULL */
	uint8_t build_id[MESSAGE_BUILD_ID];
	unsigned build_id_size;
	bool has_symbols; /* more than the dynamic ones */
	struct layout layout;
};

/* The answer for one address of one module. */
struct answer {
	const void *owner; /* the module, for whoever keeps answers of several */
	uint64_t address;
	unsigned count; /* at least one */
	struct symbol symbols[];
};

/*
 * Put one message behind what is in the buffer. Return 0 or -ENOMEM. Frames beyond
 * RESOLVE_FRAMES_MAX are left out.
 */
int message_put_facts(struct message_buffer *buffer, const struct facts *facts);
int message_put_answer(struct message_buffer *buffer, uint64_t address,
		       const struct symbol *symbols, unsigned count);
int message_put_progress(struct message_buffer *buffer, const char *text);

/*
 * Takes the message at *used, if it is there whole, and steps over it. Returns 1, 0 if more bytes
 * are needed, or -EBADMSG.
 */
int message_next(const struct message_buffer *buffer, size_t *used, struct message *message);

/* Fills facts, which facts_free() empties. Returns 0, -EBADMSG or -ENOMEM. */
int message_get_facts(const struct message *message, struct facts *facts);

/* The answer, to be freed, its strings with it; their module is left NULL. */
int message_get_answer(const struct message *message, struct answer **answer);

void facts_free(struct facts *facts);

#endif
