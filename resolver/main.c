/* SPDX-License-Identifier: MIT */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/usage.h"
#include "resolver/filter.h"
#include "resolver/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PROGRAM "holdtrace-resolve"

#define STATUS_FAILURE 1
#define STATUS_USAGE   2

/* Options without a letter. */
enum {
	OPTION_VERSION = 256,
	OPTION_INLINES,
	OPTION_DEMANGLE,
	OPTION_DEBUG,
};

#define ARG required_argument

static const struct option long_options[] = {
#define OPTION(letter, word, argument, metavar, text) { word, argument, NULL, letter },
#include "resolver/options.def"
#undef OPTION
	{ NULL, 0, NULL, 0 },
};

static const struct {
	int letter;
	const char *word, *metavar, *text;
} help[] = {
#define OPTION(letter, word, argument, metavar, text) { letter, word, metavar, text },
#include "resolver/options.def"
#undef OPTION
};

struct settings {
	const char *input, *output; /* NULL: the standard stream */
	struct resolve_options resolve;
	struct filter_options filter;
	bool is_quiet;
};

/* What reading the command line ended in. */
enum outcome {
	OUTCOME_RUN,
	OUTCOME_DONE,
	OUTCOME_USAGE,
};

static int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

static int complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs(PROGRAM ": ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	return OUTCOME_USAGE;
}

static void print_help(void)
{
	printf("Usage: %s [OPTION]... < TEXT\n"
	       "Gives the addresses in an sp-rtrace text names, as it comes.\n\n",
	       PROGRAM);
	for (size_t i = 0; i < sizeof(help) / sizeof(*help); i++)
		usage_option(stdout, help[i].letter < 256 ? help[i].letter : 0, help[i].word,
			     help[i].metavar, help[i].text);
	printf("\nExit status: 0 all read and written, 1 a file could not be read or written,\n"
	       "2 wrong usage. Modules that gave no names are told on standard error.\n");
}

/* The letters of the table, for getopt_long(): built once, at most two characters each. */
static void make_letters(char *letters)
{
	for (const struct option *option = long_options; option->name; option++) {
		if (option->val >= 256)
			continue;
		*letters++ = (char)option->val;
		if (option->has_arg)
			*letters++ = ':';
	}
	*letters = 0;
}

/* The index of word among the choices, or -1 after a complaint. */
static int choose(const char *option, const char *word, const char *const *choices)
{
	for (int i = 0; choices[i]; i++) {
		if (strcmp(word, choices[i]) == 0)
			return i;
	}
	complain("--%s=%s: no such choice: see %s --help", option, word, PROGRAM);
	return -1;
}

/* Options with a choice of words. Returns false after a complaint. */
static bool take_choice(struct settings *settings, int letter)
{
	static const char *const methods[] = { "bfd", "elf", NULL };
	static const char *const answers[] = { "no", "yes", NULL };
	static const char *const styles[] = { "full", "short", "no", NULL };
	int choice;

	if (letter == 't') {
		choice = choose("method", optarg, methods);
		settings->resolve.symbols_only = choice == 1;
	} else if (letter == OPTION_INLINES) {
		choice = choose("inlines", optarg, answers);
		settings->resolve.inlines = choice == 1;
	} else {
		choice = choose("demangle", optarg, styles);
		settings->resolve.demangle = choice > 0 ? (enum demangle)choice : DEMANGLE_FULL;
	}
	return choice >= 0;
}

static enum outcome take_option(struct settings *settings, int letter)
{
	switch (letter) {
	case 'i':
		settings->filter.input_name = optarg;
		settings->input = optarg;
		break;
	case 'o':
		settings->filter.output_name = optarg;
		settings->output = optarg;
		break;
	case 'r':
		settings->resolve.root = optarg;
		break;
	case OPTION_DEBUG:
		settings->resolve.debug_dir = optarg;
		break;
	case 't':
	case OPTION_INLINES:
	case OPTION_DEMANGLE:
		return take_choice(settings, letter) ? OUTCOME_RUN : OUTCOME_USAGE;
	case 'p':
		settings->resolve.full_path = true;
		break;
	case 'k':
		settings->filter.keep_resolved = true;
		break;
	case 'm':
		break;
	case 'q':
		settings->is_quiet = true;
		break;
	case 'h':
		print_help();
		return OUTCOME_DONE;
	case OPTION_VERSION:
		printf("%s (holdtrace) %s\n", PROGRAM, PACKAGE_VERSION);
		return OUTCOME_DONE;
	default:
		fprintf(stderr, "Try '%s --help'.\n", PROGRAM);
		return OUTCOME_USAGE;
	}
	return OUTCOME_RUN;
}

static enum outcome read_options(struct settings *settings, int argc, char **argv)
{
	char letters[2 * sizeof(long_options) / sizeof(*long_options) + 1];
	static char name[] = PROGRAM;
	enum outcome outcome = OUTCOME_RUN;

	make_letters(letters);
	argv[0] = name;
	while (outcome == OUTCOME_RUN) {
		int letter = getopt_long(argc, argv, letters, long_options, NULL);

		if (letter < 0)
			break;
		outcome = take_option(settings, letter);
	}
	if (outcome == OUTCOME_RUN && optind < argc)
		outcome = (enum outcome)complain("%s: unexpected: name the input with -i %s",
						 argv[optind], argv[optind]);
	return outcome;
}

/* Opens FILE, or takes the standard stream where there is none. Returns -1 after a complaint. */
static int open_or(const char *path, int flags, int standard)
{
	int fd;

	if (!path || strcmp(path, "-") == 0)
		return standard;
	fd = open(path, flags | O_CLOEXEC | O_NOCTTY, 0666);
	if (fd < 0)
		complain("%s: cannot be opened: %s", path, strerror(errno));
	return fd;
}

/* Writing to the file that is being read would destroy it. */
static bool is_same_file(int input, int output)
{
	struct stat from, to;

	return fstat(input, &from) == 0 && fstat(output, &to) == 0 && S_ISREG(to.st_mode) &&
	       from.st_dev == to.st_dev && from.st_ino == to.st_ino;
}

static void tell_missing(const struct resolve *resolve)
{
	struct resolve_state state;

	for (unsigned i = 0; resolve_state(resolve, i, &state); i++) {
		if (state.unresolved == 0 || state.reason == RESOLVE_SPECIAL)
			continue;
		complain("%s: %s: %" PRIu64 " of %" PRIu64 " frames without a name%s%s",
			 state.module, state.text, state.unresolved, state.asked,
			 state.advice ? ": " : "", state.advice ? state.advice : "");
	}
	if (resolve_unmapped(resolve))
		complain("%" PRIu64 " frames lie in no mapping of the trace: they may be generated "
			 "code, or the backtrace went astray",
			 resolve_unmapped(resolve));
}

static int run(const struct settings *settings, int input, int output)
{
	struct filter_result result;
	struct resolve *resolve;
	struct error err = { 0 };
	int failure = resolve_create(&resolve, &settings->resolve, &err);

	if (failure) {
		complain("%s", err.text);
		return STATUS_FAILURE;
	}
	failure = filter_text(resolve, input, output, &settings->filter, &result, &err);
	if (failure && failure != -EPIPE)
		complain("%s", err.text);
	if (!failure && !settings->is_quiet) {
		if (result.foreign_arch[0] && !settings->resolve.root)
			complain(
				"the trace comes from another kind of machine (%s): name a copy of "
				"its files with --root=DIR",
				result.foreign_arch);
		tell_missing(resolve);
	}
	resolve_destroy(resolve);
	return failure && failure != -EPIPE ? STATUS_FAILURE : 0;
}

int main(int argc, char **argv)
{
	struct settings settings = {
		.filter = { .input_name = "standard input", .output_name = "standard output" },
	};
	enum outcome outcome = read_options(&settings, argc, argv);
	cleanup_fd int input = -1;
	int output, status;

	if (outcome == OUTCOME_DONE)
		return fflush(stdout) == 0 ? 0 : STATUS_FAILURE;
	if (outcome == OUTCOME_USAGE)
		return STATUS_USAGE;
	signal(SIGPIPE, SIG_IGN);
	input = open_or(settings.input, O_RDONLY, STDIN_FILENO);
	if (input < 0)
		return STATUS_FAILURE;
	output = open_or(settings.output, O_WRONLY | O_CREAT, STDOUT_FILENO);
	if (output < 0)
		return STATUS_FAILURE;
	if (output != STDOUT_FILENO && is_same_file(input, output)) {
		complain("%s: is the input, too: name another file", settings.output);
		return STATUS_USAGE;
	}
	if (output != STDOUT_FILENO)
		(void)!ftruncate(output, 0);
	status = run(&settings, input, output);
	if (close(output) != 0 && status == 0) {
		complain("%s: cannot be written: %s", settings.filter.output_name, strerror(errno));
		status = STATUS_FAILURE;
	}
	return status;
}
