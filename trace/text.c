/* SPDX-License-Identifier: MIT */
#include "trace/text.h"

#include <string.h>
#include <time.h>

/* maximum length of a build-id; no linker writes longer build-ids */
#define BUILD_ID_DIGITS 128

/* Parsers of parts of a line. Each moves the start of `line` past the part that it parsed. */

struct slice slice_of(const char *text)
{
	return slice(text, strlen(text));
}

bool slice_is(struct slice slice, const char *text)
{
	return slice.length == strlen(text) && !memcmp(slice.at, text, slice.length);
}

static bool take_text(struct slice *line, const char *text)
{
	size_t length = strlen(text);

	if (line->length < length || memcmp(line->at, text, length) != 0)
		return false;
	line->at += length;
	line->length -= length;
	return true;
}

static bool take_decimal(struct slice *line, uint64_t *number)
{
	size_t i = 0;

	*number = 0;
	for (; i < line->length && line->at[i] >= '0' && line->at[i] <= '9'; i++)
		if (__builtin_mul_overflow(*number, 10u, number) ||
		    __builtin_add_overflow(*number, (unsigned)(line->at[i] - '0'), number))
			return false;
	line->at += i;
	line->length -= i;
	return i > 0;
}

/*
 * The value of each hexadecimal digit plus 1; 0: not a digit. A table avoids branches, which would
 * be mispredicted because digits are random.
 */
static const unsigned char hex_digits[256] = {
	['0'] = 1,  ['1'] = 2,	['2'] = 3,  ['3'] = 4,	['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
	['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* The value of a hexadecimal digit; -1: not a digit. */
static int hex_digit(char character)
{
	return hex_digits[(unsigned char)character] - 1;
}

static bool take_hex(struct slice *line, uint64_t *number)
{
	const char *at = line->at, *end = at + line->length;
	size_t before = line->length;
	uint64_t sum = 0;

	/* Uses local variables, which stay in registers: most of a text trace is addresses. */
	for (; at < end && hex_digit(*at) >= 0; at++) {
		if (sum >> 60)
			return false;
		sum = sum << 4 | (unsigned)hex_digit(*at);
	}
	*number = sum;
	*line = slice(at, (size_t)(end - at));
	return line->length < before;
}

/*
 * Splits *line at the first (is_last: at the last) occurrence of `text`. Sets *before to the part
 * before `text` and *line to the part after it. Returns false if `text` does not occur.
 */
static bool split(struct slice *line, const char *text, bool is_last, struct slice *before)
{
	size_t length = strlen(text);
	const char *found = NULL, *at = line->at;
	size_t left = line->length;

	while (left >= length) {
		const char *next = memmem(at, left, text, length);

		if (!next)
			break;
		found = next;
		if (!is_last)
			break;
		left -= (size_t)(next + 1 - at);
		at = next + 1;
	}
	if (!found)
		return false;
	*before = slice(line->at, (size_t)(found - line->at));
	*line = slice(found + length, line->length - before->length - length);
	return true;
}

static void print_slice(struct out *out, struct slice text)
{
	out_name(out, text.at, text.length, ESCAPE_LINES);
}

static void print_hex(struct out *out, uint64_t number)
{
	out_bytes(out, "0x", 2);
	out_hex(out, number);
}

/* ---- the header ---- */

/*
 * Returns the length of the key at `text`, or 0 if there is none. A key consists of lower-case
 * letters, '_' and blanks, and precedes a '='.
 */
static size_t key_length(const char *text, size_t length)
{
	size_t i = 0;

	while (i < length &&
	       ((text[i] >= 'a' && text[i] <= 'z') || text[i] == '_' || (text[i] == ' ' && i > 0)))
		i++;
	return i < length && text[i] == '=' ? i : 0;
}

/* Length of a value, which may contain commas. The value ends before ", key=" or with the line. */
static size_t value_length(struct slice line)
{
	for (size_t i = 0; i < line.length; i++) {
		size_t next = i + 1;

		if (line.at[i] != ',')
			continue;
		while (next < line.length && line.at[next] == ' ')
			next++;
		if (next == line.length || key_length(line.at + next, line.length - next))
			return i;
	}
	return line.length;
}

bool text_parse_header(struct slice line, struct text_header *header)
{
	header->count = 0;
	while (line.length && header->count < TEXT_HEADERS_MAX) {
		struct text_pair *pair = &header->pairs[header->count];
		size_t length = key_length(line.at, line.length);

		if (!length)
			return false;
		pair->key = slice(line.at, length);
		line = slice(line.at + length + 1, line.length - length - 1);
		pair->value = slice(line.at, value_length(line));
		line = slice(line.at + pair->value.length, line.length - pair->value.length);
		take_text(&line, ",");
		while (take_text(&line, " "))
			;
		header->count++;
	}
	return text_header_value(header, "version") != NULL;
}

void text_print_header(struct out *out, const struct text_header *header)
{
	for (size_t i = 0; i < header->count; i++) {
		print_slice(out, header->pairs[i].key);
		out_char(out, '=');
		print_slice(out, header->pairs[i].value);
		out_bytes(out, ", ", 2);
	}
	out_char(out, '\n');
}

const struct slice *text_header_value(const struct text_header *header, const char *key)
{
	for (size_t i = 0; i < header->count; i++)
		if (slice_is(header->pairs[i].key, key))
			return &header->pairs[i].value;
	return NULL;
}

uint32_t text_parse_date(struct slice value)
{
	static const char *const behind[6] = { ".", ".", " ", ":", ":", "" };
	uint64_t numbers[6];
	struct tm tm = { .tm_isdst = -1 };
	bool is_day_first;
	time_t seconds;

	/* the six numbers of a date and time, in the order of the text */
	for (int i = 0; i < 6; i++)
		if (!take_decimal(&value, &numbers[i]) || numbers[i] > 9999 ||
		    !take_text(&value, behind[i]))
			return 0;
	if (value.length || numbers[1] < 1 || numbers[1] > 12 || numbers[3] > 23 ||
	    numbers[4] > 59 || numbers[5] > 60)
		return 0;
	is_day_first = numbers[0] < numbers[2];
	tm.tm_year = (int)numbers[is_day_first ? 2 : 0] - 1900;
	tm.tm_mon = (int)numbers[1] - 1;
	tm.tm_mday = (int)numbers[is_day_first ? 0 : 2];
	tm.tm_hour = (int)numbers[3];
	tm.tm_min = (int)numbers[4];
	tm.tm_sec = (int)numbers[5];
	seconds = tm.tm_mday >= 1 && tm.tm_mday <= 31 ? mktime(&tm) : 0;
	return seconds > 0 && seconds <= UINT32_MAX ? (uint32_t)seconds : 0;
}

/* ---- mappings ---- */

static bool is_build_id(struct slice text)
{
	size_t digits = 0;

	while (digits < text.length && hex_digit(text.at[digits]) >= 0)
		digits++;
	return digits && digits == text.length && digits <= BUILD_ID_DIGITS;
}

bool text_parse_mapping(struct slice line, struct text_mapping *mapping)
{
	if (!take_text(&line, ": ") || !split(&line, " => 0x", true, &mapping->path) ||
	    !take_hex(&line, &mapping->from) || !take_text(&line, "-0x") ||
	    !take_hex(&line, &mapping->to))
		return false;
	mapping->build_id = slice(line.at, 0);
	if (line.length == 0)
		return true;
	/* accepts only lines that text_print_mapping() would print in the same form */
	if (!take_text(&line, " build-id="))
		return false;
	mapping->build_id = line;
	return is_build_id(line);
}

void text_print_mapping(struct out *out, const struct text_mapping *mapping)
{
	out_text(out, ": ");
	print_slice(out, mapping->path);
	out_text(out, " => ");
	print_hex(out, mapping->from);
	out_char(out, '-');
	print_hex(out, mapping->to);
	/* A binary stream may contain any string as the build-id. */
	if (is_build_id(mapping->build_id)) {
		out_text(out, " build-id=");
		print_slice(out, mapping->build_id);
	}
	out_char(out, '\n');
}

/* ---- contexts ---- */

bool text_parse_context(struct slice line, struct text_context *context)
{
	uint64_t bit;

	if (!take_text(&line, "@ ") || !take_hex(&line, &bit) || bit > UINT32_MAX ||
	    !take_text(&line, " : "))
		return false;
	context->bit = (uint32_t)bit;
	context->name = line;
	return true;
}

void text_print_context(struct out *out, const struct text_context *context)
{
	out_text(out, "@ ");
	out_hex(out, context->bit);
	out_text(out, " : ");
	print_slice(out, context->name);
	out_char(out, '\n');
}

/* ---- classes of resources ---- */

bool text_parse_resource(struct slice line, struct text_resource *resource)
{
	uint64_t mask;

	if (!take_text(&line, "<") || !take_hex(&line, &mask) || !take_text(&line, "> : "))
		return false;
	resource->ordinal = mask ? (uint32_t)__builtin_ctzll(mask) + 1 : 0;
	if (mask != (mask & -mask) || !split(&line, " (", false, &resource->type))
		return false;
	resource->is_counted = false;
	if (line.length && line.at[line.length - 1] == ')') {
		resource->description = slice(line.at, line.length - 1);
		return true;
	}
	if (!line.length || line.at[line.length - 1] != ']' ||
	    !split(&line, ") [", true, &resource->description))
		return false;
	resource->is_counted = memmem(line.at, line.length, "refcount", 8) != NULL;
	return true;
}

void text_print_resource(struct out *out, const struct text_resource *resource)
{
	uint32_t bit = resource->ordinal - 1;

	out_char(out, '<');
	out_hex(out, bit < 64 ? 1ull << bit : 0);
	out_text(out, "> : ");
	print_slice(out, resource->type);
	out_text(out, " (");
	print_slice(out, resource->description);
	out_text(out, resource->is_counted ? ") [refcount]\n" : ")\n");
}

/* ---- attachments ---- */

bool text_parse_attachment(struct slice line, struct text_attachment *attachment)
{
	if (!take_text(&line, "& ") || !split(&line, " : ", false, &attachment->name))
		return false;
	attachment->path = line;
	return true;
}

void text_print_attachment(struct out *out, const struct text_attachment *attachment)
{
	out_text(out, "& ");
	print_slice(out, attachment->name);
	out_text(out, " : ");
	print_slice(out, attachment->path);
	out_char(out, '\n');
}

/* ---- calls ---- */

/*
 * Parses a time, `[01:02:03.004] `; the hours may be any number. The fraction of a second has 3
 * digits, or 6 as in sp-rtrace's documentation.
 */
static bool take_time(struct slice *line, uint32_t *time_ms)
{
	uint64_t hours, minutes, seconds, ms;
	size_t digits;

	if (!take_decimal(line, &hours) || !take_text(line, ":") || !take_decimal(line, &minutes) ||
	    !take_text(line, ":") || !take_decimal(line, &seconds) || !take_text(line, "."))
		return false;
	digits = line->length;
	if (!take_decimal(line, &ms))
		return false;
	digits -= line->length;
	if (digits == 6)
		ms /= 1000;
	if ((digits != 3 && digits != 6) || !take_text(line, "] ") || hours > 1193 ||
	    minutes > 59 || seconds > 59)
		return false;
	ms += ((hours * 60 + minutes) * 60 + seconds) * 1000;
	*time_ms = (uint32_t)ms;
	return ms <= UINT32_MAX;
}

bool text_parse_call(struct slice line, struct text_call *call)
{
	struct slice type;
	uint64_t context = 0;
	bool is_negative;

	call->context = call->time_ms = 0;
	if (!take_decimal(&line, &call->index) || !take_text(&line, ". "))
		return false;
	if (take_text(&line, "@")) {
		if (!take_hex(&line, &context) || context > UINT32_MAX || !take_text(&line, " "))
			return false;
		call->context = (uint32_t)context;
	}
	if (take_text(&line, "[") && !take_time(&line, &call->time_ms))
		return false;
	if (!split(&line, "(", true, &call->name) || call->name.length == 0)
		return false;
	/* the name may be a C++ signature with parentheses and <>; the type is the last <...> */
	call->type = slice(call->name.at, 0);
	type = slice(call->name.at, call->name.length - 1);
	if (type.at[type.length] == '>' && split(&type, "<", true, &call->name))
		call->type = type;
	/* the arguments and the result: `64) = 0x5555` or `0x5555)` */
	call->is_alloc = !take_text(&line, "0x");
	call->size = 0;
	if (!call->is_alloc)
		return take_hex(&line, &call->object) && take_text(&line, ")") && line.length == 0;
	/* sp-rtrace prints sizes as signed 32-bit numbers, so sizes above 2 GiB are negative. */
	is_negative = take_text(&line, "-");
	if (!take_decimal(&line, &call->size) || !take_text(&line, ") = 0x") ||
	    !take_hex(&line, &call->object) || line.length != 0)
		return false;
	if (is_negative)
		call->size = (uint32_t) - (uint32_t)call->size;
	return true;
}

void text_print_call(struct out *out, const struct text_call *call)
{
	out_unsigned(out, call->index);
	out_bytes(out, ". ", 2);
	if (call->context) {
		out_char(out, '@');
		out_hex(out, call->context);
		out_char(out, ' ');
	}
	if (call->time_ms) {
		out_char(out, '[');
		out_padded(out, call->time_ms / 3600000, 2);
		out_char(out, ':');
		out_padded(out, call->time_ms / 60000 % 60, 2);
		out_char(out, ':');
		out_padded(out, call->time_ms / 1000 % 60, 2);
		out_char(out, '.');
		out_padded(out, call->time_ms % 1000, 3);
		out_text(out, "] ");
	}
	print_slice(out, call->name);
	if (call->type.length) {
		out_char(out, '<');
		print_slice(out, call->type);
		out_char(out, '>');
	}
	out_char(out, '(');
	if (call->is_alloc) {
		out_unsigned(out, call->size);
		out_bytes(out, ") = ", 4);
		print_hex(out, call->object);
		out_char(out, '\n');
		return;
	}
	print_hex(out, call->object);
	out_bytes(out, ")\n", 2);
}

/* ---- arguments: sp-rtrace prints a tab before each, its document shows none ---- */

bool text_parse_argument(struct slice line, struct text_argument *argument)
{
	take_text(&line, "\t");
	if (!take_text(&line, "$"))
		return false;
	if (split(&line, " = ", false, &argument->name)) {
		argument->value = line;
		return true;
	}
	/* The value is empty if the line ends in " =", without the blank that sp-rtrace prints. */
	if (line.length < 2 || memcmp(line.at + line.length - 2, " =", 2) != 0)
		return false;
	argument->name = slice(line.at, line.length - 2);
	argument->value = slice(line.at, 0);
	return true;
}

void text_print_argument(struct out *out, const struct text_argument *argument)
{
	out_bytes(out, "\t$", 2);
	print_slice(out, argument->name);
	out_bytes(out, " = ", 3);
	print_slice(out, argument->value);
	out_char(out, '\n');
}

/* ---- frames ---- */

bool text_parse_frame(struct slice line, struct text_frame *frame)
{
	if (!take_text(&line, "\t0x") || !take_hex(&line, &frame->address))
		return false;
	frame->has_text = take_text(&line, " ");
	frame->text = line;
	return frame->has_text || line.length == 0;
}

void text_print_frame(struct out *out, const struct text_frame *frame)
{
	out_bytes(out, "\t0x", 3);
	out_hex(out, frame->address);
	if (frame->has_text) {
		out_char(out, ' ');
		print_slice(out, frame->text);
	}
	out_char(out, '\n');
}

/* ---- comments ---- */

bool text_is_passing_comment(struct slice line)
{
	return take_text(&line, "# ");
}

void text_print_comment(struct out *out, struct slice line)
{
	print_slice(out, line);
	out_char(out, '\n');
}

void text_print_tracer(struct out *out, uint32_t id, uint32_t version, const char *name)
{
	out_text(out, "## tracing module: [");
	out_hex(out, id);
	out_text(out, "] ");
	print_slice(out, slice_of(name));
	out_format(out, " (%u.%u)\n", version >> 16, version & 0xffff);
}

void text_print_heap(struct out *out, const struct wire_heap *heap, uint64_t lowest,
		     uint64_t highest)
{
	const struct {
		const char *words;
		uint32_t number;
	} numbers[] = {
		{ "non-mapped space allocated from system", heap->arena },
		{ "count of free chunks", heap->ordblks },
		{ "count of freed fastbin blocks", heap->smblks },
		{ "count of mapped regions", heap->hblks },
		{ "space in mapped regions", heap->hblkhd },
		{ "maximum total allocated space", heap->usmblks },
		{ "space available in freed fastbin blocks", heap->fsmblks },
		{ "total allocated space, both normal and mmapped", heap->uordblks },
		{ "total free space", heap->fordblks },
		{ "space ideally releasable via malloc_trim", heap->keepcost },
	};

	uint32_t known = 0;

	/* holdtrace records only the first number; all others are 0 in its traces */
	for (size_t i = 1; i < sizeof(numbers) / sizeof(*numbers); i++)
		known |= numbers[i].number;
	out_text(out, "## heap status information:\n");
	out_format(out, "##   heap bottom 0x%llx\n", (unsigned long long)heap->bottom);
	out_format(out, "##   heap top 0x%llx\n", (unsigned long long)heap->top);
	out_format(out, "##   lowest block 0x%llx\n", (unsigned long long)lowest);
	out_format(out, "##   highest block 0x%llx\n", (unsigned long long)highest);
	for (size_t i = 0; i < (known ? sizeof(numbers) / sizeof(*numbers) : 1); i++)
		out_format(out, "##   %s %u\n", numbers[i].words, numbers[i].number);
}

void text_print_group(struct out *out, uint64_t count, uint64_t bytes)
{
	out_format(out, "# allocation summary: %llu block(s) with total size %llu\n",
		   (unsigned long long)count, (unsigned long long)bytes);
}

void text_print_leaks(struct out *out, const char *type, const char *description, uint64_t count,
		      uint64_t bytes)
{
	out_text(out, "# Resource - ");
	print_slice(out, slice_of(type));
	out_text(out, " (");
	print_slice(out, slice_of(description));
	out_format(out, "):\n# %llu block(s) leaked with total size of %llu bytes\n",
		   (unsigned long long)count, (unsigned long long)bytes);
}
