/* SPDX-License-Identifier: MIT */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

/*
 * The values of a call in its record: numbers first, then texts. Inlined, since most descriptors'
 * and mappings' calls have some.
 */

#include "call.h"
#include "preload/ground/plain.h"
#include "proof.h"

/* Room that the arguments take in a record, and how many of each kind there are. */
struct arguments_size {
	uint32_t numbers, text;
};

/*
 * Whether the texts of an event have been read already, by the kernel or libc: those of a call that
 * succeeded; and of one that looked for the one name it was given. Otherwise nobody knows: EINVAL
 * comes before any of them, and where there are two the first may have been enough.
 */
static inline bool arguments_are_read(const struct call *call, const struct call_event *event)
{
	unsigned int texts = 0;

	if (event->moment == MOMENT_HALF)
		return false;
	if (!event->failed)
		return true;
	for (const struct call_argument *at = event->arguments; at && at->kind; at++)
		texts += at->kind == ARGUMENT_TEXT;
	return texts == 1 && (call->error == ENOENT || call->error == EEXIST ||
			      call->error == ENOTDIR || call->error == EACCES);
}

static inline const char *arguments_text(const struct call *call, bool is_proven,
					 const struct call_argument *argument)
{
	if (!is_proven)
		return proof_text(call, argument->text);
	return argument->text ? argument->text : "";
}

/* is_proven: what arguments_are_read() said; if not, each text and time is looked at with care. */
static inline __attribute__((always_inline)) struct arguments_size
arguments_measure(const struct call *call, bool is_proven, const struct call_argument *argument)
{
	struct arguments_size size = { 0, 0 };

	for (; argument && argument->kind != ARGUMENT_NONE; argument++) {
		if (argument->kind == ARGUMENT_TEXT)
			/* No more than fits a record is looked at. */
			size.text += (uint32_t)plain_length_most(
					     arguments_text(call, is_proven, argument),
					     ARENA_TEXT_MAX - 1) +
				     1;
		else
			size.numbers += argument->kind == ARGUMENT_TIME ? 2 : 1;
	}
	return size;
}

/* Writes as much as was measured. Texts may have changed since. */
static inline __attribute__((always_inline)) void
arguments_write(const struct call *call, bool is_proven, const struct call_argument *argument,
		uint64_t *number, struct arguments_size size)
{
	char *text = (char *)(number + size.numbers), *end = text + size.text;

	for (; argument && argument->kind != ARGUMENT_NONE; argument++) {
		if (argument->kind == ARGUMENT_TEXT) {
			size_t room = (size_t)(end - text);

			if (room)
				text += plain_copy_words(
					text, arguments_text(call, is_proven, argument),
					room < ARENA_TEXT_MAX ? room : ARENA_TEXT_MAX);
		} else if (argument->kind == ARGUMENT_TIME) {
			/* Who need not wait does not look at it. */
			bool known = argument->time &&
				     proof_of(call, argument->time, sizeof(*argument->time));

			*number++ = known ? (uint64_t)argument->time->tv_sec : 0;
			*number++ = known ? (uint64_t)argument->time->tv_nsec : 0;
		} else {
			*number++ = (uint64_t)argument->number;
		}
	}
	while (text < end)
		*text++ = 0;
}

#endif
