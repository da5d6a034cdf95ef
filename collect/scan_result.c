/* SPDX-License-Identifier: MIT */
#include "collect/scan_result.h"

#include <errno.h>
#include <string.h>

#include "notes.h"

/* Returns the next text of the result, or NULL if it has no NUL or is too long. */
static const char *next_text(struct scan_result *result)
{
	size_t left = result->size - result->at;
	const char *text = result->bytes + result->at;
	size_t length = strnlen(text, left < SCAN_NOTE_TEXT ? left : SCAN_NOTE_TEXT);

	if (length == left || length == SCAN_NOTE_TEXT)
		return NULL;
	result->at += length + 1;
	return text;
}

/*
 * Returns the constant of notes.def that equals `name`, or NULL if a scanner must not write notes
 * of this name.
 */
static const char *note_named(const char *name)
{
	static const char *const names[] = { NOTE_SCAN,	   NOTE_ROOT,	  NOTE_BLOCK, NOTE_HANDLE,
					     NOTE_BLOCKED, NOTE_RESIDENT, NOTE_PAGES };

	for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return names[i];
	return NULL;
}

int scan_result_next(struct scan_result *result, struct scan_note *note)
{
	const char *text;

	if (result->at == result->size)
		return 0;
	note->count = 0;
	note->name = note_named(next_text(result));
	if (!note->name)
		return -EBADMSG;
	while ((text = next_text(result)) != NULL && *text) {
		struct wire_value *value = &note->values[note->count];

		if (note->count == SCAN_NOTE_PAIRS)
			return -EBADMSG;
		value->name = text;
		value->value = next_text(result);
		if (!value->value)
			return -EBADMSG;
		note->count++;
	}
	return text ? 1 : -EBADMSG;
}
