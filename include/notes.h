/* SPDX-License-Identifier: MIT */
#ifndef NOTES_H
#define NOTES_H

/*
 * notes.def as constants: NOTE_PROCESS is "~process". Who writes a note and who reads it have its
 * name from here.
 */

#define NOTE(name, text, values, description) \
	static const char NOTE_##name[] __attribute__((unused)) = text;
#include "notes.def"
#undef NOTE

#endif
