/* SPDX-License-Identifier: MIT */
#ifndef MESSAGE_H
#define MESSAGE_H

/*
 * Messages about one module from a process that reads ELF files: first facts, then an answer for
 * each address. A hostile file may have taken control of that process, and answers are also stored
 * in files, so each message is checked as strictly as a trace.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "resolver/files.h"
#include "resolver/layout.h"
#include "resolver/symbol.h"

#define MESSAGE_SIZE_MAX (16u << 20)
#define MESSAGE_NAME_MAX (64u << 10) /* bytes; longer names are truncated */
#define MESSAGE_TEXT_MAX 256

enum message_kind {
	MESSAGE_FACTS = 1, /* the body is a struct facts */
	MESSAGE_ANSWER,	   /* written by message_put_answer() */
	MESSAGE_WANT,	   /* requests a file from the parent; the body is a struct file_want */
};

struct message {
	uint32_t kind, size;
	const char *body; /* points into the buffer */
};

/*
 * Facts about a module, which are sent before any address is looked up. The message consists of the
 * bytes of this structure.
 */
struct facts {
	uint32_t is_known;
	uint32_t reason;      /* a value of enum resolve_reason */
	uint32_t has_symbols; /* whether the file has symbols other than dynamic ones */
	uint32_t build_id_size;
	uint8_t build_id[FILES_BUILD_ID_MAX];
	struct layout layout;
	char text[MESSAGE_TEXT_MAX]; /* the reason as a text for the user, or "" */
};

/* The answer for one address of one module. */
struct answer {
	const void *owner; /* the module, for a table with answers of several modules */
	uint64_t address;
	unsigned count; /* number of symbols, at least one */
	struct symbol symbols[];
};

/* Writes one message. After an error, ferror(to) returns true. */
void message_put(FILE *to, enum message_kind kind, const void *body, size_t size);
/* Writes an answer. Leaves out frames beyond RESOLVE_FRAMES_MAX. */
void message_put_answer(FILE *to, uint64_t address, const struct symbol *symbols, unsigned count);

/*
 * Reads the message at *used and advances *used. Returns 1, 0 if the message is not complete yet,
 * or -EBADMSG.
 */
int message_next(const char *bytes, size_t count, size_t *used, struct message *message);

/* Read the contents of a message. They return 0 or -EBADMSG. */
int message_get_facts(const struct message *message, struct facts *facts);
int message_get_want(const struct message *message, struct file_want *want);

/*
 * Reads an answer. The answer and its strings are one allocation, which the caller frees.
 * symbol.module stays NULL. Returns 0, -EBADMSG or -ENOMEM.
 */
int message_get_answer(const struct message *message, struct answer **answer);

#endif
