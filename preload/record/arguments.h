/* SPDX-License-Identifier: MIT */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

/*
 * The values of a call in its record: first the numbers, then the texts. The functions are inlined,
 * because most calls on descriptors and mappings have values.
 */

#include "call.h"
#include "preload/ground/plain.h"
#include "proof.h"

/* The count of numbers, and the bytes of the texts with their NULs. */
struct arguments_size {
	uint32_t numbers, text;
};

/*
 * Whether the kernel or libc has read the event's texts, so that we can read them: if the call
 * succeeded, or if its error is about a name and it has only one name. Otherwise we cannot know:
 * EINVAL may precede any look at the texts, and if there are two names, the error may be about the
 * first.
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
 * Computes the size of the values. is_proven: the result of arguments_are_read(); if false, each
 * text is checked before it is read.
 */
static inline __attribute__((always_inline)) struct arguments_size
arguments_measure(const struct call *call, bool is_proven, const struct call_argument *argument)
{
	struct arguments_size size = { 0, 0 };

	for (; argument && argument->kind != ARGUMENT_NONE; argument++) {
		if (argument->kind == ARGUMENT_TEXT)
			/* reads at most as many bytes as fit into a record */
			size.text += (uint32_t)plain_length_most(
					     arguments_text(call, is_proven, argument),
					     ARENA_TEXT_MAX - 1) +
				     1;
		else
			size.numbers += argument->kind == ARGUMENT_TIME ? 2 : 1;
	}
	return size;
}

/* Writes as many bytes as were measured, even if the texts have changed since. */
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
			/* if the call did not have to wait, libc has not read its time limit */
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
