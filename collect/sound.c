/* SPDX-License-Identifier: MIT */
#include "collect/sound.h"

#define BUILD_ID_MAX 64u

/* Ends a text of size bytes, which follows a record's struct, with NUL as its last byte. */
static bool end_text(char *text, uint32_t size)
{
	if (!size)
		return false;
	text[size - 1] = 0;
	return true;
}

static bool module_is_sound(struct record_module *module)
{
	return module->record.length >= sizeof(*module) &&
	       sizeof(*module) + module->path_size + module->build_id_size <=
		       module->record.length &&
	       module->build_id_size <= BUILD_ID_MAX &&
	       end_text((char *)(module + 1), module->path_size);
}

static bool note_is_sound(struct record_note *note)
{
	return note->record.length >= sizeof(*note) &&
	       note->text <= note->record.length - sizeof(*note) &&
	       end_text((char *)(note + 1), note->text);
}

static bool name_is_sound(struct record_name *name)
{
	char *text = (char *)(name + 1);

	return name->record.length >= sizeof(*name) &&
	       sizeof(*name) + name->name_size + name->description_size <= name->record.length &&
	       end_text(text, name->name_size) &&
	       end_text(text + name->name_size, name->description_size);
}

static bool functions_are_sound(const struct record_functions *functions)
{
	return functions->record.length >= sizeof(*functions) &&
	       functions->count <= (functions->record.length - sizeof(*functions)) / 8;
}

bool other_is_sound(struct record *record)
{
	switch ((enum record_kind)record->kind) {
	case RECORD_THREAD:
		return record->length >= sizeof(struct record_thread);
	case RECORD_MODULE:
		return module_is_sound((struct record_module *)record);
	case RECORD_NOTE:
		return note_is_sound((struct record_note *)record);
	case RECORD_HEAP:
		return record->length >= sizeof(struct record_heap);
	case RECORD_CONTEXT:
	case RECORD_CLASS:
		return name_is_sound((struct record_name *)record);
	case RECORD_FUNCTIONS:
		return functions_are_sound((const struct record_functions *)record);
	case RECORD_CALL:
	case RECORD_SHORT: /* checked in expand.h */
	case RECORD_PAD:
		break;
	}
	return false;
}
