/* SPDX-License-Identifier: MIT */
#ifndef BASE_PICTURE_H
#define BASE_PICTURE_H

/*
 * Draws amounts with characters: Unicode blocks of eighths of a character cell (has_blocks), or
 * ASCII characters.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/out.h"

/* Draws a column of this height, 0 to 8: of a curve that takes one line. */
void picture_level(struct out *out, unsigned level, bool has_blocks);

/*
 * Draws part / whole as a bar of at most width columns, and returns how many it takes. A part above
 * 0 is visible.
 */
size_t picture_bar(struct out *out, double part, double whole, size_t width, bool has_blocks);

/*
 * Draws numbers as a curve of width columns, the last one at the right: the smallest number is low
 * and the largest high, but only 0 is blank.
 */
void picture_curve(struct out *out, const float *numbers, size_t count, size_t width,
		   bool has_blocks);

#endif
