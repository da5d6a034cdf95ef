/* SPDX-License-Identifier: MIT */
#ifndef NOTES_H
#define NOTES_H

/*
 * notes.def as constants: NOTE_PROCESS is "~process". Writers and readers of notes use these names.
 */

#define NOTE(name, text, values, description) \
	static const char NOTE_##name[] __attribute__((unused)) = text;
#include "notes.def"
#undef NOTE

#endif
