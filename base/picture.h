/* SPDX-License-Identifier: MIT */
#ifndef BASE_PICTURE_H
#define BASE_PICTURE_H

/*
 * Draws bars and curves with characters. has_blocks: uses Unicode block characters, which fill
 * eighths of a character cell; otherwise ASCII characters.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/out.h"

/*
 * Draws one column of a curve that is one line high. level: the height of the column, 0 (blank) to
 * 8 (full).
 */
void picture_level(struct out *out, unsigned level, bool has_blocks);

/*
 * Draws part / whole as a bar of at most `width` columns, and returns the number of columns that it
 * has drawn. If `part` is above 0, the bar has at least one column.
 */
size_t picture_bar(struct out *out, double part, double whole, size_t width, bool has_blocks);

/*
 * Draws the last `width` of the numbers as a curve, the newest number in the rightmost column. The
 * curve is scaled from the smallest to the largest number; only a 0 is blank.
 */
void picture_curve(struct out *out, const float *numbers, size_t count, size_t width,
		   bool has_blocks);

#endif
