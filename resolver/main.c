/* SPDX-License-Identifier: MIT */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/out.h"
#include "base/sandbox.h"
#include "base/usage.h"
#include "resolver/filter.h"
#include "resolver/missing.h"
#include "resolver/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAM "holdtrace-resolve"

#define STATUS_FAILURE 1
#define STATUS_USAGE   2

/* Options without a letter. */
enum {
	OPTION_VERSION = 256,
	OPTION_INLINES,
	OPTION_DEMANGLE,
	OPTION_DEBUG,
	OPTION_MAP,
	OPTION_SERVERS,
	OPTION_CACHE,
	OPTION_MISSING,
	OPTION_REQUIRE,
};

#define ARG	 required_argument
#define OPTIONAL optional_argument

/* Seconds without an answer, and for one file, where the environment says nothing. */
#define SERVER_TIMEOUT "10"
#define SERVER_MAXTIME "600"

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
	ARRAY_OF(struct resolve_map_path) maps;
	double require; /* percent */
	char *servers;	/* DEBUGINFOD_URLS, or NULL */
	bool is_quiet, wants_missing;
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
	print_message_list(stderr, PROGRAM ": ", format, args);
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
	printf("\nExit status: 0 all read and written, 1 a file could not be read or written, is "
	       "no\n"
	       "sp-rtrace text, or --require was not met, 2 wrong usage. Modules that gave no "
	       "names are told on\n"
	       "standard error.\n");
}

/* The letters of the table, for getopt_long(): built once, at most two characters each. */
static void make_letters(char *letters)
{
	for (const struct option *option = long_options; option->name; option++) {
		if (option->val >= 256)
			continue;
		*letters++ = (char)option->val;
		if (option->has_arg == required_argument)
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

/* OLD=NEW; the path that is looked for is the longer story, so the first = counts. */
static enum outcome take_map(struct settings *settings)
{
	char *equals = strchr(optarg, '=');
	struct resolve_map_path *map;

	if (!equals || equals == optarg)
		return (enum outcome)complain("--map=%s: OLD=NEW is needed", optarg);
	map = ARRAY_ADD(&settings->maps);
	if (!map)
		return (enum outcome)complain("no memory");
	*equals = 0;
	*map = (struct resolve_map_path){ .old = optarg, .new = equals + 1 };
	settings->resolve.maps = settings->maps.items;
	settings->resolve.map_count = settings->maps.count;
	return OUTCOME_RUN;
}

/* Servers are for libdebuginfod to find in the environment, from which main() has taken them. */
static enum outcome take_servers(struct settings *settings)
{
	const char *servers = optarg ? optarg : settings->servers;

	if (!servers || !*servers)
		return (enum outcome)complain("--debuginfod: DEBUGINFOD_URLS is not set: name a "
					      "server: --debuginfod=https://debuginfod.debian.net");
	setenv("DEBUGINFOD_URLS", servers, 1);
	setenv("DEBUGINFOD_TIMEOUT", SERVER_TIMEOUT, 0);
	setenv("DEBUGINFOD_MAXTIME", SERVER_MAXTIME, 0);
	settings->resolve.debuginfod = true;
	return OUTCOME_RUN;
}

static enum outcome take_number(const char *option, double most, double *number)
{
	char *end;

	errno = 0;
	*number = strtod(optarg, &end);
	if (end != optarg && *end == '%')
		end++;
	if (end == optarg || *end || errno || !(*number >= 0 && *number <= most))
		return (enum outcome)complain("--%s=%s: no number from 0 to %.0f", option, optarg,
					      most);
	return OUTCOME_RUN;
}

static enum outcome take_jobs(struct settings *settings)
{
	double jobs;
	enum outcome outcome = take_number("jobs", 64, &jobs);

	if (outcome == OUTCOME_RUN)
		settings->resolve.jobs = (unsigned)jobs;
	return outcome;
}

static void say_wall(void *context, const char *line)
{
	(void)context;
	print_message(stderr, PROGRAM ": children that read files: %s", line);
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
	case OPTION_MAP:
		return take_map(settings);
	case OPTION_SERVERS:
		return take_servers(settings);
	case OPTION_CACHE:
		settings->resolve.cache = optarg;
		break;
	case 'j':
		return take_jobs(settings);
	case OPTION_REQUIRE:
		return take_number("require", 100, &settings->require);
	case OPTION_MISSING:
		settings->wants_missing = true;
		break;
	case 'p':
		settings->resolve.full_path = true;
		break;
	case 'k':
		settings->filter.keep_resolved = true;
		break;
	case 'm':
		break;
	case 'v':
		sandbox_describe(sandbox_probe(), &(struct sandbox_wish){ 0 }, say_wall, NULL);
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

/* Downloads take their time; on a terminal one line says which. */
static void show_progress(void *context, const char *text)
{
	struct out out;

	(void)context;
	if (!isatty(STDERR_FILENO) || out_open(&out, STDERR_FILENO, NULL) != 0)
		return;
	out_text(&out, "\r\033[K" PROGRAM ": ");
	out_name(&out, text, strlen(text), ESCAPE_ALL);
	out_char(&out, '\r');
	out_close(&out);
}

/* Returns the exit status: are there as many names as were asked for? */
static int check_names(const struct settings *settings, const struct resolve *resolve)
{
	struct resolve_totals totals = resolve_totals(resolve);
	double percent = totals.frames ? (double)totals.named * 100 / (double)totals.frames : 100;

	if (percent >= settings->require)
		return 0;
	complain("%.1f %% of the frames have a name, %.1f %% are required", percent,
		 settings->require);
	return STATUS_FAILURE;
}

/* Returns the exit status: was it a text that could be resolved at all? */
static int check_text(const struct settings *settings, const struct filter_result *result)
{
	if (result->long_lines && !settings->is_quiet)
		complain("%s: line %" PRIu64 ": longer than %d MiB, as %" PRIu64
			 " are: passed without being looked at",
			 settings->filter.input_name, result->first_long, FILTER_LINE_MAX >> 20,
			 result->long_lines);
	if (!result->is_foreign)
		return 0;
	complain("%s: not one line of an sp-rtrace text: holdtrace-postproc makes it of a trace",
		 settings->filter.input_name);
	return STATUS_FAILURE;
}

static void tell(const struct settings *settings, struct resolve *resolve,
		 const struct filter_result *result)
{
	struct out out;

	if (settings->is_quiet && !settings->wants_missing)
		return;
	if (result->foreign_arch[0] && !settings->resolve.root &&
	    out_open(&out, STDERR_FILENO, NULL) == 0) {
		out_text(&out, PROGRAM ": the trace comes from another kind of machine (");
		out_name(&out, result->foreign_arch, strlen(result->foreign_arch), ESCAPE_ALL);
		out_text(&out, "): name a copy of its files with --root=DIR\n");
		out_close(&out);
	}
	missing_print(resolve, STDERR_FILENO, PROGRAM, settings->wants_missing);
}

static int run(const struct settings *settings, int input, int output)
{
	struct filter_result result;
	struct resolve *resolve;
	struct error err = { 0 };
	int failure = resolve_create(&resolve, &settings->resolve, &err), status = 0;

	if (failure) {
		complain("%s", err.text);
		return STATUS_FAILURE;
	}
	failure = filter_text(resolve, input, output, &settings->filter, &result, &err);
	if (failure && failure != -EPIPE)
		complain("%s", err.text);
	if (failure) {
		status = failure == -EPIPE ? 0 : STATUS_FAILURE;
	} else {
		tell(settings, resolve, &result);
		status = check_text(settings, &result) | check_names(settings, resolve);
	}
	resolve_destroy(resolve);
	return status;
}

/* Nobody is asked over the network unless an option says so; libraries look here by themselves. */
static char *take_servers_away(void)
{
	const char *servers = getenv("DEBUGINFOD_URLS");
	char *copy = servers ? strdup(servers) : NULL;

	unsetenv("DEBUGINFOD_URLS");
	return copy;
}

int main(int argc, char **argv)
{
	struct settings settings = {
		.filter = { .input_name = "standard input", .output_name = "standard output" },
		.resolve = { .progress = show_progress },
		.servers = take_servers_away(),
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
	free(settings.maps.items);
	free(settings.servers);
	if (close(output) != 0 && status == 0) {
		complain("%s: cannot be written: %s", settings.filter.output_name, strerror(errno));
		status = STATUS_FAILURE;
	}
	return status;
}
