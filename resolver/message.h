/* SPDX-License-Identifier: MIT */
#ifndef MESSAGE_H
#define MESSAGE_H

/*
 * Messages of a process that reads ELF files, about one module: its facts, then one answer for each
 * address. A hostile file may have taken over that process, and answers are also kept in files; so
 * each message is checked like a trace.
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
	MESSAGE_WANT,	   /* struct file_want: asks the parent for a descriptor */
};

struct message {
	uint32_t kind, size;
	const char *body; /* inside the buffer */
};

/* Facts about a module, known before any address is looked up. Sent as these bytes. */
struct facts {
	uint32_t is_known;
	uint32_t reason;      /* enum resolve_reason */
	uint32_t has_symbols; /* more than dynamic symbols */
	uint32_t build_id_size;
	uint8_t build_id[FILES_BUILD_ID_MAX];
	struct layout layout;
	char text[MESSAGE_TEXT_MAX]; /* the reason for the user, or empty */
};

/* The answer for one address of one module. */
struct answer {
	const void *owner; /* the module, where answers of several modules are kept together */
	uint64_t address;
	unsigned count; /* at least one */
	struct symbol symbols[];
};

/* Write one message. An error is left in the file's error indicator (ferror()). */
void message_put(FILE *to, enum message_kind kind, const void *body, size_t size);
/* Frames beyond RESOLVE_FRAMES_MAX are left out. */
void message_put_answer(FILE *to, uint64_t address, const struct symbol *symbols, unsigned count);

/*
 * Returns the message at *used and advances *used, if it is complete. Returns 1, 0 if more bytes
 * are needed, or -EBADMSG.
 */
int message_next(const char *bytes, size_t count, size_t *used, struct message *message);

/* Returns 0 or -EBADMSG. */
int message_get_facts(const struct message *message, struct facts *facts);
int message_get_want(const struct message *message, struct file_want *want);

/*
 * Allocates the answer with its strings, which the caller frees in one piece; symbol.module is left
 * NULL. Returns 0, -EBADMSG or -ENOMEM.
 */
int message_get_answer(const struct message *message, struct answer **answer);

#endif
