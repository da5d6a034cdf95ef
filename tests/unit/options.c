/* SPDX-License-Identifier: MIT */
/* Tests the parser of command lines with a table that has each kind of row. */
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "tests/lib/tap.h"

struct asked {
	struct option_values values;
	option_flag verbose;
	option_text format;
	option_word order;
	option_number top;
	option_count width;
	option_mask mask;
	option_maybe growing;
	option_size size;
	option_time time;
	option_list maps;
	option_flag own;
};

static const struct option_row rows[] = {
	{ OPTION_FIELDS(struct asked, flag, verbose, "verbose", 'v', NULL, NULL, "say more") },
	{ OPTION_FIELDS(struct asked, text, format, "format", 0, "NAME", NULL, "form") },
	{ OPTION_FIELDS(struct asked, word, order, "order", 's', "up|down", "format=text|top",
			"") },
	{ OPTION_FIELDS(struct asked, number, top, "top", 'n', "N", NULL, "most rows; or all") },
	{ OPTION_FIELDS(struct asked, count, width, "width", 0, "N", "!verbose", "columns") },
	{ OPTION_FIELDS(struct asked, mask, mask, "mask", 0, "MASK", NULL, "bits") },
	{ OPTION_FIELDS(struct asked, maybe, growing, "growing", 0, "[=K]", NULL, "grows") },
	{ OPTION_FIELDS(struct asked, size, size, "max-size", 0, "SIZE", NULL, "most bytes") },
	{ OPTION_FIELDS(struct asked, time, time, "max-time", 0, "TIME", NULL, "most time") },
	{ OPTION_FIELDS(struct asked, list, maps, "map", 0, "OLD=NEW", NULL, "moves") },
	{ OPTION_FIELDS(struct asked, flag, own, "own", 0, NULL, NULL, "ours"), .is_own = true },
	{ OPTION_RENAMED_FIELDS("formula", "--format=NAME") },
};

static struct option_table table = { .rows = rows, .count = sizeof(rows) / sizeof(*rows) };
static struct asked asked;
static struct error err;
static char *argv[16];
static int first; /* index of the first name */

/* Parses a command line whose words are separated by blanks. Returns whether it is accepted. */
static bool reads(const char *line)
{
	static char words[200];
	int argc = 0;

	free(asked.maps.items);
	memset(&asked, 0, sizeof(asked));
	memset(&err, 0, sizeof(err));
	snprintf(words, sizeof(words), "program %s", line);
	for (char *save = NULL, *word = strtok_r(words, " ", &save); word;
	     word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	argv[argc] = NULL;
	first = options_read(&table, &asked, argc, argv, &err);
	return first > 0 && options_check(&table, &asked, &err) == 0;
}

static void refuses(const char *line, const char *sentence, const char *title)
{
	ok_text(reads(line) ? "(taken)" : err.text, sentence, title);
}

static void test_values(void)
{
	ok(reads("-v --top 7 --max-size=2KiB --max-time=1.5s --mask=ff") && asked.verbose &&
		   asked.top.value == 7 && asked.size.value == 2048 &&
		   asked.time.value == 1500000000 && asked.mask.value == 255,
	   "values are read by their kinds");
	ok(reads("") && !asked.verbose && !asked.top.is_set && !asked.order.word,
	   "an option that is not given is not set");
	ok(reads("--top=1 --order=down") && asked.order.value == 1 &&
		   !strcmp(asked.order.word, "down"),
	   "a word is its place among the words of its argument");
	ok(reads("--growing x") && asked.growing.is_set && !asked.growing.has_value &&
		   !strcmp(argv[first], "x"),
	   "an argument that may be left out is not taken from the next word");
	ok(reads("--growing=5") && asked.growing.value == 5, "behind an equals sign it is taken");
	ok(reads("--map=a=b --map c=d") && asked.maps.count == 2 &&
		   !strcmp(asked.maps.items[0], "a=b") && !strcmp(asked.maps.items[1], "c=d"),
	   "an option of the kind list may be given several times");
	ok(reads("-vn3") && asked.verbose && asked.top.value == 3,
	   "letters are joined with their argument");
	ok(reads("-vn 3 x") && asked.top.value == 3 && !strcmp(argv[first], "x"),
	   "the last of joined letters takes the next word");
}

static void test_words(void)
{
	ok(reads("--verb --max-t=1s") && asked.verbose && asked.time.value == 1000000000,
	   "a word may be abbreviated while one option alone begins so");
	refuses("--formula=json", "option '--formula' was renamed: write --format=NAME",
		"an option that was renamed is refused with what to write instead");
	ok(reads("--fo=json") && asked.format, "an old word makes no abbreviation ambiguous");
	refuses("--max=1", "option '--max' is ambiguous: --max-size or --max-time",
		"an abbreviation of two options is refused");
	refuses("--ordr=up", "unknown option '--ordr'; did you mean '--order'?",
		"a misspelt option is refused with the closest one");
	refuses("--nothing-like-it", "unknown option '--nothing-like-it'",
		"an option that is like no other is refused");
	refuses("-x", "unknown option '-x'", "an unknown letter is refused");
	refuses("--top", "option '--top' needs an argument: --top=N",
		"a missing argument is refused");
	refuses("-n", "option '--top' needs an argument: --top=N",
		"a letter's missing argument is refused");
	refuses("--verbose=3", "option '--verbose' takes no argument",
		"an argument of a flag is refused");
}

static void test_refused_values(void)
{
	refuses("--top=-1", "--top=-1: expected a decimal number", "a negative number is refused");
	refuses("--width=0", "--width=0: expected 1 or more", "a count of 0 is refused");
	refuses("--top=1 --order=left", "--order=left: expected up or down",
		"a word that is none of the expected ones is refused");
	refuses("--max-size=much", "--max-size=much: expected a size such as 500KB, 2MiB or 500000",
		"a size that is none is refused");
	refuses("--max-time=soon", "--max-time=soon: expected a time such as 30s, 5m or 500ms",
		"a time that is none is refused");
	refuses("--order=up", "--order requires --format=text or --top",
		"an option without the option that it requires is refused");
	ok(reads("--order=up --format=json,text"),
	   "one item of a list satisfies an option that requires it");
	refuses("--width=3 -v", "--width cannot be used with --verbose",
		"an option is refused together with one that excludes it");
}

static void test_names(void)
{
	ok(reads("one -v two --top 3") && first == 4 && !strcmp(argv[1], "-v") &&
		   !strcmp(argv[2], "--top") && !strcmp(argv[4], "one") && !strcmp(argv[5], "two"),
	   "options are put in front of the names, which keep their order");
	ok(reads("-v -- --top -") && first == 2 && !strcmp(argv[2], "--top") &&
		   !strcmp(argv[3], "-") && !asked.top.is_set,
	   "two dashes end the options, and one dash is a name");
	ok(reads("--own -v name") && asked.own && first == 2 && !strcmp(argv[1], "-v"),
	   "an option of the caller's own is taken out of the words");
	table.ends_at_name = true;
	ok(reads("-v program --top=x") && first == 2 && !strcmp(argv[3], "--top=x"),
	   "where a program is named, the words behind it are its own");
	ok(reads("-v -- program -- x") && !strcmp(argv[first], "program") &&
		   !strcmp(argv[first + 1], "--"),
	   "two dashes before it are not its own");
	table.ends_at_name = false;
	table.help = "program help";
	refuses("--zzzzzz", "unknown option '--zzzzzz'; `program help` lists the options",
		"the command that lists the options is named");
}

static void test_help(void)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	options_print_row(to, &rows[2], OPTION_FULL);
	options_print_row(to, &rows[3], OPTION_SHORT);
	fclose(to);
	ok_text(text,
		"  -s, --order=up|down       with --format=text or --top:\n"
		"  -n, --top=N               most rows\n",
		"help is made from the rows");
	free(text);
}

int main(void)
{
	test_values();
	test_words();
	test_refused_values();
	test_names();
	test_help();
	free(asked.maps.items);
	return tap_end();
}
