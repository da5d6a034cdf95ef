/* SPDX-License-Identifier: MIT */
#ifndef NOTES_H
#define NOTES_H

/* The names of notes.def as constants: NOTE_PROCESS is "~process". */

#define NOTE(name, text, values, description) \
	static const char NOTE_##name[] __attribute__((unused)) = text;
#include "notes.def"
#undef NOTE

#endif
