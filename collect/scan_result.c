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

int scan_result_next(struct scan_result *result, struct scan_note *note)
{
	/* the notes that a scanner may write */
	static const char *const names[] = { NOTE_SCAN,	   NOTE_ROOT,	  NOTE_BLOCK, NOTE_HANDLE,
					     NOTE_BLOCKED, NOTE_RESIDENT, NOTE_PAGES };
	const char *text;

	if (result->at == result->size)
		return 0;
	note->count = 0;
	note->name = NULL;
	text = next_text(result);
	for (size_t i = 0; text && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(text, names[i]))
			note->name = names[i];
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
