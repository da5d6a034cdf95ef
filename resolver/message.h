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
#include <stdio.h>

#include "resolver/files.h"
#include "resolver/layout.h"
#include "resolver/symbol.h"

#define MESSAGE_SIZE_MAX (16u << 20)
#define MESSAGE_NAME_MAX (64u << 10) /* longer names are cut */
#define MESSAGE_TEXT_MAX 256

enum message_kind {
	MESSAGE_FACTS = 1, /* struct facts */
	MESSAGE_ANSWER,	   /* see message_put_answer() */
	MESSAGE_WANT,	   /* struct file_want: asks for a descriptor */
};

struct message {
	uint32_t kind, size;
	const char *body; /* inside the buffer */
};

/* What is known of a module without looking an address up. Travels as it is. */
struct facts {
	uint32_t is_known;
	uint32_t reason;      /* enum resolve_reason */
	uint32_t has_symbols; /* more than the dynamic ones */
	uint32_t build_id_size;
	uint8_t build_id[FILES_BUILD_ID_MAX];
	struct layout layout;
	char text[MESSAGE_TEXT_MAX]; /* the reason in words, or empty */
};

/* The answer for one address of one module. */
struct answer {
	const void *owner; /* the module, for whoever keeps answers of several */
	uint64_t address;
	unsigned count; /* at least one */
	struct symbol symbols[];
};

/* Write one message. Whether it was written the file's error indicator says. */
void message_put(FILE *to, enum message_kind kind, const void *body, size_t size);
/* Frames beyond RESOLVE_FRAMES_MAX are left out. */
void message_put_answer(FILE *to, uint64_t address, const struct symbol *symbols, unsigned count);

/*
 * Takes the message at *used, if it is there whole, and steps over it. Returns 1, 0 if more bytes
 * are needed, or -EBADMSG.
 */
int message_next(const char *bytes, size_t count, size_t *used, struct message *message);

/* Returns 0 or -EBADMSG. */
int message_get_facts(const struct message *message, struct facts *facts);
int message_get_want(const struct message *message, struct file_want *want);

/* The answer, to be freed, its strings with it; their module is left NULL. As above, or -ENOMEM. */
int message_get_answer(const struct message *message, struct answer **answer);

#endif
