/* SPDX-License-Identifier: MIT */
#include "collect/records.h"

#define BUILD_ID_MAX 64u

/* Writes a NUL to the last byte of a text in a record. Returns false if `size` is 0. */
static bool end_text(char *text, uint32_t size)
{
	if (!size)
		return false;
	text[size - 1] = 0;
	return true;
}

bool other_is_sound(struct record *record)
{
	uint32_t length = record->length;

	switch ((enum record_kind)record->kind) {
	case RECORD_THREAD:
		return length >= sizeof(struct record_thread);
	case RECORD_MODULE: {
		struct record_module *module = (struct record_module *)record;

		return length >= sizeof(*module) &&
		       sizeof(*module) + module->path_size + module->build_id_size <= length &&
		       module->build_id_size <= BUILD_ID_MAX &&
		       end_text((char *)(module + 1), module->path_size);
	}
	case RECORD_NOTE: {
		struct record_note *note = (struct record_note *)record;

		return length >= sizeof(*note) && note->text <= length - sizeof(*note) &&
		       end_text((char *)(note + 1), note->text);
	}
	case RECORD_HEAP:
		return length >= sizeof(struct record_heap);
	case RECORD_CONTEXT:
	case RECORD_CLASS: {
		struct record_name *name = (struct record_name *)record;
		char *text = (char *)(name + 1);

		return length >= sizeof(*name) &&
		       sizeof(*name) + name->name_size + name->description_size <= length &&
		       end_text(text, name->name_size) &&
		       end_text(text + name->name_size, name->description_size);
	}
	case RECORD_FUNCTIONS: {
		const struct record_functions *functions = (const struct record_functions *)record;

		return length >= sizeof(*functions) &&
		       functions->count <= (length - sizeof(*functions)) / 8;
	}
	case RECORD_CALL:
	case RECORD_SHORT: /* checked by expand_is_sound() */
	case RECORD_PAD:
		break;
	}
	return false;
}
