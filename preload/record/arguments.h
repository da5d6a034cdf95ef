/* SPDX-License-Identifier: MIT */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

/*
 * The values of a call in its record: numbers first, then texts. Inlined, because most calls of
 * descriptors and mappings have some.
 */

#include "call.h"
#include "preload/ground/plain.h"
#include "proof.h"

/* How many numbers there are, and the bytes of the texts with their NULs. */
struct arguments_size {
	uint32_t numbers, text;
};

/*
 * Whether the kernel or libc has read the event's texts, so that we can: if the call succeeded, or
 * if it failed because of the only name that it has. Otherwise we cannot know: EINVAL precedes any
 * look at them, and of two names the first may have been the reason.
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

/*
 * is_proven: the result of arguments_are_read(); if false, each text is checked before it is read.
 */
static inline __attribute__((always_inline)) struct arguments_size
arguments_measure(const struct call *call, bool is_proven, const struct call_argument *argument)
{
	struct arguments_size size = { 0, 0 };

	for (; argument && argument->kind != ARGUMENT_NONE; argument++) {
		if (argument->kind == ARGUMENT_TEXT)
			/* reads at most what fits a record */
			size.text += (uint32_t)plain_length_most(
					     arguments_text(call, is_proven, argument),
					     ARENA_TEXT_MAX - 1) +
				     1;
		else
			size.numbers += argument->kind == ARGUMENT_TIME ? 2 : 1;
	}
	return size;
}

/* Writes as much as was measured, even if the texts have changed since. */
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
			/* a call that did not have to wait has not read its time limit */
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
