/* SPDX-License-Identifier: MIT */
#include "resolver/filter.h"

#include "base/array.h"
#include "base/memory.h"
#include "base/out.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/utsname.h>
#include <unistd.h>

#define READ_SIZE (256 << 10)

enum line_kind {
	LINE_PASSES,
	LINE_HEADER,
	LINE_FRAME,
	LINE_CALL,
	LINE_END, /* empty line after a backtrace */
};

/* A line in the input buffer that was not written yet. */
struct line {
	enum line_kind kind;
	size_t begin, size; /* `size` includes the newline; only the last line may have none */
	size_t used;	    /* in a frame: number of bytes up to the end of its address */
	const struct resolve_ask *ask;
};

struct filter {
	struct resolve *resolve;
	const struct filter_options *options;
	struct filter_result *result;
	struct out out;
	struct {
		char *bytes;
		size_t size, capacity;
	} in;
	ARRAY_OF(struct line) lines;
	uint64_t calls;	   /* number of events whose common backtrace is still to be read */
	bool is_backtrace; /* the previous line was a frame */
	bool is_begun;	   /* the first line was read */
	bool is_passing;   /* whether the input is inside a line that is too long */
	bool is_known;	   /* whether a line of sp-rtrace text was read */
	size_t passed;	   /* number of bytes read so far of a line that is too long */
	uint64_t line;	   /* number of complete lines */
	char *path;	   /* path of the current mapping */
};

/*
 * Architectures by their names in uname -m. They are compared as prefixes, so a longer name
 * precedes its own prefix.
 */
static const struct {
	const char *name;
	unsigned machine;
} architectures[] = {
	{ "x86_64", EM_X86_64 },
	{ "i386", EM_386 },
	{ "i486", EM_386 },
	{ "i586", EM_386 },
	{ "i686", EM_386 },
	{ "aarch64", EM_AARCH64 },
	{ "arm", EM_ARM },
	{ "riscv", EM_RISCV },
	{ "ppc64", EM_PPC64 },
	{ "ppc", EM_PPC },
	{ "s390", EM_S390 },
	{ "mips", EM_MIPS },
	{ "loongarch", EM_LOONGARCH },
	{ "sparc64", EM_SPARCV9 },
};

static bool begins_with(const char *line, size_t size, const char *start)
{
	size_t length = strlen(start);

	return size >= length && memcmp(line, start, length) == 0;
}

/*
 * Finds the last `key=` in a header, at its start or after a comma. An earlier `key=` may be part
 * of the name of the process, which may contain commas. Returns the offset of the key, or `size` if
 * there is none.
 */
static size_t find_key(const char *line, size_t size, const char *key)
{
	size_t found = size, length = strlen(key);

	for (size_t i = 0; i + length < size; i++) {
		size_t before = i;

		while (before > 0 && line[before - 1] == ' ')
			before--;
		if ((i == 0 || (before > 0 && line[before - 1] == ',')) && line[i] != ' ' &&
		    memcmp(line + i, key, length) == 0 && line[i + length] == '=')
			found = i;
	}
	return found;
}

static unsigned machine_of(const char *name, size_t size)
{
	for (size_t i = 0; i < sizeof(architectures) / sizeof(*architectures); i++) {
		if (begins_with(name, size, architectures[i].name))
			return architectures[i].machine;
	}
	return EM_NONE;
}

static void take_architecture(struct filter *filter, const char *name, size_t size)
{
	unsigned machine = machine_of(name, size), ours;
	struct utsname system;

	resolve_expect_machine(filter->resolve, machine);
	if (uname(&system) != 0)
		return;
	ours = machine_of(system.machine, strlen(system.machine));
	if (machine != EM_NONE && (machine == ours || (machine == EM_386 && ours == EM_X86_64) ||
				   (machine == EM_ARM && ours == EM_AARCH64)))
		return;
	snprintf(filter->result->foreign_arch, sizeof(filter->result->foreign_arch), "%.*s",
		 (int)size, name);
}

/*
 * Whether put_filters() writes this filter in this pass. Pass 0 writes "leaks", 1 "compress", 2
 * unknown filters; no pass writes "resolve".
 */
static bool is_in_pass(const char *word, size_t length, unsigned pass)
{
	static const char *const known[] = { "leaks", "compress", "resolve" };
	unsigned place = 2;

	for (unsigned i = 0; i < 3; i++) {
		if (length == strlen(known[i]) && memcmp(word, known[i], length) == 0)
			place = i == 2 ? 3 : i;
	}
	return length > 0 && place == pass;
}

/* Writes `filter=` with the filters of the input, and appends "resolve". */
static void put_filters(struct out *out, const char *value, size_t size)
{
	const char *end = value + size;

	out_text(out, "filter=");
	for (unsigned pass = 0; pass < 3; pass++) {
		const char *next;

		for (const char *word = value; word < end; word = next + 1) {
			next = memchr(word, '|', (size_t)(end - word));
			if (!next)
				next = end;
			if (!is_in_pass(word, (size_t)(next - word), pass))
				continue;
			out_bytes(out, word, (size_t)(next - word));
			out_char(out, '|');
		}
	}
	out_text(out, "resolve");
}

/*
 * Inserts filter= at the position where sp-rtrace writes it: after pid, before backtrace depth and
 * origin.
 */
static void insert_filters(struct out *out, const char *line, size_t size)
{
	size_t place = find_key(line, size, "backtrace depth");

	if (place == size)
		place = find_key(line, size, "origin");
	if (place < size) {
		out_bytes(out, line, place);
		put_filters(out, "", 0);
		out_text(out, ", ");
		out_bytes(out, line + place, size - place);
		return;
	}
	while (place > 0 && (line[place - 1] == ' ' || line[place - 1] == ','))
		place--;
	out_bytes(out, line, place);
	out_text(out, ", ");
	put_filters(out, "", 0);
	out_bytes(out, line + place, size - place);
}

static bool is_header(const char *line, size_t size)
{
	static const char *const keys[] = { "version=", "arch=",   "timestamp=",       "process=",
					    "pid=",	"filter=", "backtrace depth=", "origin=" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (begins_with(line, size, keys[i]))
			return true;
	}
	return false;
}

/* Returns the value of a key of the header, or NULL. */
static const char *find_value(const char *line, size_t size, const char *key, size_t *length)
{
	size_t place = find_key(line, size, key);
	const char *value, *comma;

	if (place == size)
		return NULL;
	place += strlen(key) + 1;
	value = line + place;
	comma = memchr(value, ',', size - place);
	*length = comma ? (size_t)(comma - value) : size - place;
	return value;
}

static void put_header(struct out *out, const char *line, size_t size)
{
	size_t length;
	const char *value = find_value(line, size, "filter", &length);

	if (!value) {
		insert_filters(out, line, size);
		return;
	}
	out_bytes(out, line, (size_t)(value - line) - strlen("filter="));
	put_filters(out, value, length);
	value += length;
	out_bytes(out, value, size - (size_t)(value - line));
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/*
 * Reads 0x and hexadecimal digits. Returns the number of bytes read, or 0 if the text is something
 * else.
 */
static size_t read_number(const char *text, size_t size, uint64_t *number)
{
	size_t used = 2;

	if (!begins_with(text, size, "0x"))
		return 0;
	for (*number = 0; used < size; used++) {
		int digit = hex_digit(text[used]);

		if (digit < 0)
			break;
		if (*number >> 60)
			return 0;
		*number = *number << 4 | (unsigned)digit;
	}
	return used > 2 ? used : 0;
}

/*
 * Reads " build-id=HEX", an extension of holdtrace. Returns the size of the build-id in bytes; 0:
 * the text is something else.
 */
static unsigned read_build_id(const char *text, size_t size, uint8_t *build_id, size_t max)
{
	static const char key[] = " build-id=";
	size_t start = strlen(key), count = 0;

	if (!begins_with(text, size, key))
		return 0;
	for (; start + 1 < size && count < max; start += 2) {
		int high = hex_digit(text[start]), low = hex_digit(text[start + 1]);

		if (high < 0 || low < 0)
			break;
		build_id[count++] = (uint8_t)(high << 4 | low);
	}
	return (unsigned)count;
}

/* Parses a mapping, ": PATH => 0xFROM-0xTO". The path may contain blanks and arrows. */
static void take_mapping(struct filter *filter, const char *line, size_t size)
{
	struct resolve_module module = { 0 };
	uint8_t build_id[64];
	const char *arrow = memrchr(line, '>', size), *rest;
	size_t left, used;

	if (!arrow || arrow - line < 5 || memcmp(arrow - 2, " => ", 4) != 0)
		return;
	rest = arrow + 2;
	left = size - (size_t)(rest - line);
	used = read_number(rest, left, &module.from);
	if (used == 0 || used == left || rest[used] != '-')
		return;
	rest += used + 1;
	left -= used + 1;
	used = read_number(rest, left, &module.to);
	if (used == 0 || (used < left && rest[used] != ' ' && rest[used] != '\r') ||
	    memchr(line, 0, size))
		return;
	free(filter->path);
	filter->path = memory_text_part(line + 2, (size_t)(arrow - 2 - (line + 2)));
	module.path = filter->path;
	module.build_id = build_id;
	module.build_id_size = read_build_id(rest + used, left - used, build_id, sizeof(build_id));
	/* an empty range (-EINVAL) maps nothing and is not an error */
	(void)resolve_map(filter->resolve, &module);
}

static void put_name(struct out *out, const char *name)
{
	out_name(out, name, strlen(name), ESCAPE_ALL);
}

static void put_symbol(struct out *out, const struct symbol *symbol)
{
	if (!symbol->module || symbol->is_missing) {
		out_text(out, " in ??");
		return;
	}
	if (symbol->function) {
		out_char(out, ' ');
		put_name(out, symbol->function);
		if (!symbol->has_parameters)
			out_text(out, "()");
	}
	if (!symbol->function || !symbol->file) {
		out_text(out, " from ");
		put_name(out, symbol->module);
		return;
	}
	out_text(out, " at ");
	put_name(out, symbol->file);
	if (symbol->line) {
		out_char(out, ':');
		out_unsigned(out, symbol->line);
	}
}

/*
 * Queues the address of a frame that may get names. A line without newline is not changed, because
 * the file was cut off there, perhaps inside the address.
 */
static void take_frame(struct filter *filter, const char *text, struct line *line)
{
	static const char unknown[] = " in ??\n";
	size_t size = line->size, rest;
	uint64_t address;
	size_t used = read_number(text + 1, size - 1, &address) + 1;

	if (used == 1 || text[size - 1] != '\n' || (text[used] != '\n' && text[used] != ' '))
		return;
	rest = size - used;
	if (filter->options->keep_resolved && text[used] == ' ' &&
	    (rest != strlen(unknown) || memcmp(text + used, unknown, rest) != 0))
		return;
	line->kind = LINE_FRAME;
	line->used = used;
	line->ask = resolve_ask(filter->resolve, address, false);
}

/* Whether the line is a call, which begins with an index such as `12. `. */
static bool is_call(const char *text, size_t size)
{
	size_t digits = 0;

	while (digits < size && text[digits] >= '0' && text[digits] <= '9')
		digits++;
	return digits > 0 && begins_with(text + digits, size - digits, ". ");
}

/* Classifies a line. If the line is a frame, queues its address. */
static void take_line(struct filter *filter, const char *text, struct line *line)
{
	bool is_first = !filter->is_begun;
	size_t size, length = line->size - (text[line->size - 1] == '\n');

	filter->is_begun = true;
	/*
	 * a comment does not prove that this is sp-rtrace text, because other texts have comments,
	 * too
	 */
	if (!filter->is_known)
		filter->is_known =
			begins_with(text, length, "\t0x") || begins_with(text, length, ": ") ||
			is_call(text, length) || is_header(text, length) ||
			begins_with(text, length, "@ ") || begins_with(text, length, "& ") ||
			(begins_with(text, length, "<") && memmem(text, length, "> : ", 4));
	filter->result->is_foreign = !filter->is_known && (length || filter->result->is_foreign);
	if (is_first && is_header(text, length)) {
		const char *name = find_value(text, length, "arch", &size);

		if (name)
			take_architecture(filter, name, size);
		line->kind = LINE_HEADER;
	} else if (begins_with(text, length, "\t0x")) {
		take_frame(filter, text, line);
	} else if (begins_with(text, length, ": ")) {
		take_mapping(filter, text, length);
	} else if (is_call(text, length)) {
		line->kind = LINE_CALL;
	} else if (length == 0) {
		line->kind = LINE_END;
	}
}

/*
 * Parses all complete lines of the input buffer. is_end: also a last line without newline. Returns
 * the number of bytes parsed, or -EBADMSG.
 */
static ssize_t take_lines(struct filter *filter, bool is_end)
{
	size_t begin = 0;

	filter->lines.count = 0;
	while (begin < filter->in.size) {
		const char *text = filter->in.bytes + begin;
		const char *newline = memchr(text, '\n', filter->in.size - begin);
		size_t size = newline ? (size_t)(newline - text) + 1 : filter->in.size - begin;
		bool is_passing = filter->is_passing || size > FILTER_LINE_MAX;
		struct line *line;

		if (!newline && !is_end && !is_passing)
			break;
		line = ARRAY_ADD(&filter->lines);
		*line = (struct line){ .kind = LINE_PASSES, .begin = begin, .size = size };
		filter->is_passing = is_passing && !newline;
		begin += size;
		if (!is_passing) {
			take_line(filter, text, line);
		} else {
			filter->is_begun = true;
			if (filter->passed == 0 && filter->result->long_lines++ == 0)
				filter->result->first_long = filter->line + 1;
			filter->passed += size;
			if (filter->passed > FILTER_PASS_MAX)
				return -EBADMSG; /* the line is too long */
		}
		filter->line += newline != NULL;
		filter->passed = newline ? 0 : filter->passed;
	}
	return (ssize_t)begin;
}

static void put_line(struct filter *filter, const struct line *line)
{
	const char *text = filter->in.bytes + line->begin;
	size_t length = line->size - (text[line->size - 1] == '\n');
	struct symbol symbols[RESOLVE_FRAMES_MAX];
	bool is_frame = line->kind == LINE_FRAME;
	unsigned count;

	/* count the events that share the next backtrace: all calls since the previous backtrace */
	if (line->kind != LINE_PASSES && line->kind != LINE_HEADER &&
	    !(is_frame && filter->is_backtrace)) {
		if (!filter->is_backtrace && line->kind != LINE_CALL &&
		    (filter->calls || is_frame)) {
			resolve_backtrace(filter->resolve, filter->calls);
			filter->calls = 0;
		}
		filter->is_backtrace = is_frame;
		filter->calls += line->kind == LINE_CALL;
	}
	switch (line->kind) {
	case LINE_FRAME:
		count = resolve_take(filter->resolve, line->ask, symbols, RESOLVE_FRAMES_MAX);
		for (unsigned i = 0; i < count && i < RESOLVE_FRAMES_MAX; i++) {
			out_bytes(&filter->out, text, line->used);
			put_symbol(&filter->out, &symbols[i]);
			out_char(&filter->out, '\n');
		}
		break;
	case LINE_HEADER:
		put_header(&filter->out, text, length);
		out_bytes(&filter->out, text + length, line->size - length);
		break;
	case LINE_PASSES:
	case LINE_CALL:
	case LINE_END:
		out_bytes(&filter->out, text, line->size);
		break;
	}
}

static int check_start(const struct filter *filter, struct error *err)
{
	static const unsigned char zstd[] = { 0x28, 0xb5, 0x2f, 0xfd };
	const unsigned char *bytes = (const unsigned char *)filter->in.bytes;
	size_t size = filter->in.size;
	const unsigned char *newline = memchr(bytes, '\n', size);

	/* the input begins with a packet, or is an .htr file or zstd data */
	if (size && (bytes[0] == 0xf0 || bytes[0] == 0x89 ||
		     (size >= sizeof(zstd) && memcmp(bytes, zstd, sizeof(zstd)) == 0)))
		return error_set(err, EBADMSG,
				 "%s: a binary trace: use holdtrace-postproc -r instead",
				 filter->options->input_name);
	/*
	 * sp-rtrace text does not begin with a control character or a byte beyond ASCII, and has no
	 * zero byte in its first line
	 */
	if (size && (bytes[0] >= 0x7f || (bytes[0] < ' ' && !strchr("\t\r\n", bytes[0])) ||
		     memchr(bytes, 0, newline ? (size_t)(newline - bytes) : size)))
		return error_set(err, EBADMSG,
				 "%s: line 1: not sp-rtrace text: use holdtrace-postproc to make "
				 "it from a trace",
				 filter->options->input_name);
	return 0;
}

static int copy_text(struct filter *filter, int input, struct error *err)
{
	for (bool is_first = true;; is_first = false) {
		ssize_t size, taken;
		int failure;

		if (filter->in.capacity - filter->in.size < READ_SIZE) {
			filter->in.capacity = 2 * filter->in.capacity + READ_SIZE;
			filter->in.bytes = memory_resize(filter->in.bytes, filter->in.capacity);
		}
		size = read(input, filter->in.bytes + filter->in.size, READ_SIZE);
		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0)
			return error_system(err, errno, "%s: cannot be read",
					    filter->options->input_name);
		filter->in.size += (size_t)size;
		failure = is_first ? check_start(filter, err) : 0;
		if (failure)
			return failure;
		/* parse the whole buffer first, so that all its addresses are looked up together */
		taken = take_lines(filter, size == 0);
		if (taken < 0)
			return error_set(err, EBADMSG,
					 "%s: line %" PRIu64 ": not an sp-rtrace text: the line is "
					 "longer than %d MiB; the lines before it were written",
					 filter->options->input_name, filter->line + 1,
					 FILTER_PASS_MAX >> 20);
		resolve_wait(filter->resolve);
		for (size_t i = 0; i < filter->lines.count && out_error(&filter->out) == 0; i++)
			put_line(filter, &filter->lines.items[i]);
		filter->in.size -= (size_t)taken;
		memmove(filter->in.bytes, filter->in.bytes + taken, filter->in.size);
		/* after a short read, the next read() may block: write these lines before that */
		if (size < READ_SIZE)
			out_flush(&filter->out);
		if (out_error(&filter->out) != 0)
			return error_system(err, -out_error(&filter->out), "%s: cannot be written",
					    filter->options->output_name);
		if (size == 0)
			return 0;
	}
}

int filter_text(struct resolve *resolve, int input, int output,
		const struct filter_options *options, struct filter_result *result,
		struct error *err)
{
	struct filter filter = {
		.resolve = resolve,
		.options = options,
		.result = result,
	};
	int failure;

	*result = (struct filter_result){ 0 };
	out_open(&filter.out, output);
	failure = copy_text(&filter, input, err);
	out_close(&filter.out);
	free(filter.in.bytes);
	free(filter.lines.items);
	free(filter.path);
	return failure;
}
