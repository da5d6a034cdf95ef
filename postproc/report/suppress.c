/* SPDX-License-Identifier: MIT */
#include "suppress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "naming/shorten.h"
#include "report.h"

#define FRAMES_LOOKED_AT 64
#define FUNCTION_MAX	 256

static const struct {
	enum suppress_kind kind;
	const char *text, *about;
} builtin[] = {
#define SUPPRESSION(kind, pattern, about) { SUPPRESS_##kind, pattern, about },
#include "postproc/suppressions.def"
#undef SUPPRESSION
};

/* ---- matching ---- */

bool suppress_matches(const char *pattern, const char *text)
{
	bool is_anchored = *pattern == '^';

	pattern += is_anchored;
	while (*pattern) {
		size_t length = strcspn(pattern, "*");
		bool is_end = pattern[length] == '\0' && length && pattern[length - 1] == '$';
		size_t literal = length - is_end;

		/* the last piece of a pattern that ends with $ must be at the end of the text */
		if (is_end && !is_anchored) {
			size_t left = strlen(text);

			return left >= literal && !strncmp(pattern, text + left - literal, literal);
		}
		while (strncmp(pattern, text, literal) != 0) {
			if (is_anchored || !*text)
				return false;
			text++;
		}
		text += literal;
		if (is_end)
			return !*text;
		pattern += length + strspn(pattern + length, "*");
		is_anchored = false;
	}
	return true;
}

/* Whether the name of the module, without its directory, begins with one of the words. */
static bool is_one_of(const char *words, const char *module)
{
	const char *slash = module ? strrchr(module, '/') : NULL;
	const char *name = slash ? slash + 1 : module ? module : "";

	for (size_t length; *words; words += length + strspn(words + length, " ")) {
		length = strcspn(words, " ");
		if (length && !strncmp(words, name, length))
			return true;
	}
	return false;
}

/*
 * Whether the pattern matches the name of the function. For an internal name of libc
 * (__GI_setlocale), the public name (setlocale) is matched, too.
 */
static bool matches_function(const char *pattern, const char *function)
{
	char name[FUNCTION_MAX];

	if (suppress_matches(pattern, function))
		return true;
	if (*function != '_' || strlen(function) >= sizeof(name))
		return false;
	strcpy(name, function);
	shorten_public(name);
	return suppress_matches(pattern, name);
}

static bool matches_symbol(const struct suppress_pattern *pattern,
			   const struct naming_symbol *symbol)
{
	const char *text = pattern->text;

	if (pattern->kind != SUPPRESS_ANY)
		return is_one_of(text, symbol->module);
	return (symbol->function && matches_function(text, symbol->function)) ||
	       (symbol->file && suppress_matches(text, symbol->file)) ||
	       (symbol->module && suppress_matches(text, symbol->module));
}

/* Returns the bits of a symbol in suppress->matches. Enlarges the array if necessary. */
static uint64_t *place_of(struct suppress *suppress, uint32_t id)
{
	size_t words = suppress->patterns.count / 64 + 1, symbols = suppress->symbols;
	uint64_t *grown = suppress->matches;

	if (id < symbols)
		return grown + id * words;
	while (symbols <= id)
		symbols = symbols ? 2 * symbols : 1024;
	grown = memory_resize(grown, symbols * words * sizeof(*grown));
	memset(grown + suppress->symbols * words, 0,
	       (symbols - suppress->symbols) * words * sizeof(*grown));
	suppress->matches = grown;
	suppress->symbols = symbols;
	suppress->words = words;
	return grown + id * words;
}

/* Returns a bit for each pattern: whether it matches the symbol. Compares each symbol only once. */
static const uint64_t *match_symbol(struct suppress *suppress, const struct naming_symbol *symbol)
{
	size_t count = suppress->patterns.count;
	uint64_t *bits = place_of(suppress, symbol->id);
	const struct naming_symbol *last = &suppress->last;
	/*
	 * Symbols without an id, such as main in a stripped program, share one entry. The entry has
	 * the bits of the latest such symbol, and is valid only for that symbol.
	 */
	bool is_same = symbol->id || (last->function == symbol->function &&
				      last->file == symbol->file && last->module == symbol->module);

	if (is_same && bits[count / 64] >> count % 64 & 1)
		return bits;
	if (!symbol->id)
		suppress->last = *symbol;
	memset(bits, 0, suppress->words * sizeof(*bits));
	for (size_t i = 0; i < count; i++)
		if (matches_symbol(&suppress->patterns.items[i], symbol))
			bits[i / 64] |= UINT64_C(1) << i % 64;
	bits[count / 64] |= UINT64_C(1) << count % 64;
	return bits;
}

/*
 * For 64 patterns, one bit each: whether the pattern matches the innermost frame, any frame, or all
 * frames of a backtrace.
 */
struct suppress_sum {
	uint64_t first, any, all;
	/* bits of the patterns that match all frames that were called by the loader */
	uint64_t called;
};

struct suppress_pattern *suppress_find(struct suppress *suppress, struct naming *naming,
				       const struct trace_node *backtrace)
{
	struct naming_symbol symbols[FRAMES_LOOKED_AT];
	cleanup_free struct suppress_sum *sums = NULL;
	size_t count, words = suppress->patterns.count / 64 + 1;

	if (!suppress->patterns.count || !naming)
		return NULL;
	sums = memory_zalloc(words, sizeof(*sums));
	count = naming_symbols(naming, backtrace, symbols, FRAMES_LOOKED_AT);
	for (size_t i = 0; i < count; i++) {
		const uint64_t *bits = match_symbol(suppress, &symbols[i]);

		for (size_t word = 0; word < words; word++) {
			struct suppress_sum *sum = &sums[word];

			if (i && is_one_of("ld-linux ld-2. ld64.so", symbols[i].module))
				sum->called |= sum->all;
			sum->first = i ? sum->first : bits[word];
			sum->any |= bits[word];
			sum->all = i ? sum->all & bits[word] : bits[word];
		}
	}
	for (size_t i = 0; i < suppress->patterns.count; i++) {
		struct suppress_pattern *pattern = &suppress->patterns.items[i];
		const struct suppress_sum *sum = &sums[i / 64];
		const uint64_t kinds[] = { [SUPPRESS_ANY] = sum->any,
					   [SUPPRESS_INNERMOST] = sum->first,
					   [SUPPRESS_ONLY] = sum->all,
					   [SUPPRESS_INITIALIZER] = sum->called };
		uint64_t bits = kinds[pattern->kind];

		if (bits >> i % 64 & 1)
			return pattern;
	}
	return NULL;
}

/* ---- patterns ---- */

static void add_pattern(struct suppress *suppress, enum suppress_kind kind, const char *text,
			const char *about)
{
	*ARRAY_ADD(&suppress->patterns) = (struct suppress_pattern){
		.kind = kind,
		.text = pool_text(&suppress->pool, text, strlen(text)),
		.about = pool_text(&suppress->pool, about, strlen(about)),
	};
}

/* Reads a line "leak:PATTERN". Ignores the kinds of other sanitizers (race:, deadlock:). */
static int read_line(struct suppress *suppress, const char *path, unsigned number, char *line,
		     struct error *err)
{
	line += strspn(line, " \t");
	line[strcspn(line, "\r\n")] = '\0';
	for (size_t end = strlen(line); end && strchr(" \t", line[end - 1]);)
		line[--end] = '\0';
	if (!*line || *line == '#')
		return 0;
	if (!strchr(line, ':'))
		return error_set(err, EBADMSG, "%s: line %u: expected leak:PATTERN", path, number);
	if (strncmp(line, "leak:", 5) != 0)
		return 0;
	add_pattern(suppress, SUPPRESS_ANY, line + 5, path);
	return 0;
}

static int read_file(struct suppress *suppress, const char *path, struct error *err)
{
	cleanup_file FILE *file = fopen(path, "re");
	cleanup_free char *line = NULL;
	size_t room = 0;
	int rc = 0;

	if (!file)
		return error_system(err, errno, "--suppress=%s: cannot open the file", path);
	for (unsigned number = 1; rc == 0 && getline(&line, &room, file) >= 0; number++)
		rc = read_line(suppress, path, number, line, err);
	if (rc == 0 && ferror(file))
		rc = error_system(err, EIO, "--suppress=%s: cannot read the file", path);
	return rc;
}

int suppress_fill(struct suppress *suppress, const struct report_options *options,
		  struct error *err)
{
	bool has_builtin = true;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < options->suppression_count; i++) {
		bool is_none = !strcmp(options->suppression_files[i], "none");

		has_builtin &= !is_none;
		if (!is_none)
			rc = read_file(suppress, options->suppression_files[i], err);
	}
	for (size_t i = 0; rc == 0 && has_builtin && i < sizeof(builtin) / sizeof(*builtin); i++)
		add_pattern(suppress, builtin[i].kind, builtin[i].text, builtin[i].about);
	return rc;
}

void suppress_sum(struct suppress *suppress, struct naming *naming, const struct summary *summary,
		  struct suppress_sums *sums)
{
	*sums = (struct suppress_sums){ 0 };
	for (size_t i = 0; i < summary->sites.count; i++) {
		const struct summary_site *site = &summary->sites.items[i];

		if (site->is_part || !suppress_find(suppress, naming, site->backtrace))
			continue;
		sums->sites++;
		if (summary_has_bytes(&summary->classes[site->class]))
			sums->bytes += site->bytes;
	}
	sums->is_all = sums->sites == summary->sites.whole;
}

const struct suppress_pattern *suppress_at(const struct suppress *suppress, size_t index)
{
	return index < suppress->patterns.count ? &suppress->patterns.items[index] : NULL;
}

void suppress_free(struct suppress *suppress)
{
	pool_free(&suppress->pool);
	free(suppress->patterns.items);
	free(suppress->matches);
	*suppress = (struct suppress){ 0 };
}
