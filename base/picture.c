/* SPDX-License-Identifier: MIT */
#include "base/picture.h"

#define EIGHTHS 8u

void picture_level(struct out *out, unsigned level, bool has_blocks)
{
	static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char plain[] = " .:-=+*%#";

	if (has_blocks)
		out_text(out, blocks[level]);
	else
		out_char(out, plain[level]);
}

size_t picture_bar(struct out *out, double part, double whole, size_t width, bool has_blocks)
{
	static const char *const blocks[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█" };
	double most = (double)width * EIGHTHS;
	double length = part > 0 && whole > 0 ? part / whole * most : 0;
	size_t eighths = (size_t)(length < most ? length : most), columns = 0;

	if (part > 0 && whole > 0 && !eighths)
		eighths = 1;
	for (; eighths; columns++) {
		size_t filled = eighths < EIGHTHS ? eighths : EIGHTHS;

		if (has_blocks)
			out_text(out, blocks[filled]);
		else
			out_char(out, '#');
		eighths -= filled;
	}
	return columns;
}

void picture_curve(struct out *out, const float *numbers, size_t count, size_t width,
		   bool has_blocks)
{
	size_t first = count > width ? count - width : 0;
	float least = 0, most = 0;

	for (size_t i = first; i < count; i++) {
		least = i == first || numbers[i] < least ? numbers[i] : least;
		most = i == first || numbers[i] > most ? numbers[i] : most;
	}
	for (size_t i = count - first; i < width; i++)
		out_char(out, ' ');
	for (size_t i = first; i < count; i++) {
		float height = most > least ? (numbers[i] - least) / (most - least) : 0;

		picture_level(out, numbers[i] == 0 ? 0 : 1 + (unsigned)(height * (EIGHTHS - 1)),
			      has_blocks);
	}
}
