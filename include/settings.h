/* SPDX-License-Identifier: MIT */
#ifndef SETTINGS_H
#define SETTINGS_H

/*
 * The settings as a struct, made from settings.def. The process that creates the control page fills
 * the struct from its environment; other processes read the struct on the control page. The
 * functions here do not use libc, because the library calls them before libc is ready.
 */

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define SETTINGS_TEXT_MAX  4096
#define SETTINGS_SIZES_MAX 16
#define SETTINGS_BYTES_MAX (1ull << 40)

/* Environment variables with a process's rank, of MPICH and Intel MPI, Open MPI, PMIx and Slurm. */
#define RANK_VARIABLES "PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"

typedef int64_t setting_number;
typedef int64_t setting_bytes;
typedef int64_t setting_word;
typedef char setting_text[SETTINGS_TEXT_MAX];
typedef int64_t setting_signal; /* a signal's number; 0: no signal */
/* bit i is set if the list contains word number i of setting_row.words */
typedef int64_t setting_set;

/*
 * Which calls get a backtrace. depth: maximum number of frames; which: enum setting_backtrace;
 * sizes: if this list is not empty, only acquisitions of these sizes get a backtrace.
 */
typedef struct {
	int64_t depth, which;
	int64_t sizes[SETTINGS_SIZES_MAX + 1]; /* number of sizes, then the sizes */
} setting_frames;

typedef struct {
	int64_t ms, is_forever;
} setting_patience;

enum setting_backtrace { BACKTRACE_ALL, BACKTRACE_ALLOC, BACKTRACE_NONE };
enum setting_protocol { PROTOCOL_2_0, PROTOCOL_1_4 };
enum setting_format { FORMAT_RTRACE, FORMAT_HTR, FORMAT_RTRACE_1_4 };
enum setting_start { START_ON, START_OFF };
enum setting_unwind { UNWIND_OWN, UNWIND_LIBUNWIND };
enum setting_detail { DETAIL_DURATIONS = 1 << 0, DETAIL_PATHS = 1 << 1 };
enum setting_locks { LOCKS_ALL, LOCKS_CONTENDED };
enum setting_python { PYTHON_OFF, PYTHON_LINES, PYTHON_MALLOC };
enum setting_scan { SCAN_NEVER, SCAN_EXIT };

struct settings {
#define SETTING(kind, name, ...) setting_##kind name;
#include "settings.def"
#undef SETTING
};

/* The columns of settings.def. */
struct setting_row {
	const char *value, *words, *environment, *option, *argument, *text;
	int letter;
};
#define SETTING_ROW(...) ((const struct setting_row){ __VA_ARGS__ })

enum settings_taken { SETTINGS_NOT_OURS, SETTINGS_TAKEN, SETTINGS_BAD_VALUE };

static inline int settings_take_number(int64_t *number, const char *value, const char *words)
{
	int64_t sum = 0;

	(void)words;
	if (!*value)
		return SETTINGS_BAD_VALUE;
	for (; *value; value++) {
		if (*value < '0' || *value > '9' || sum > INT64_MAX / 10 - 9)
			return SETTINGS_BAD_VALUE;
		sum = sum * 10 + (*value - '0');
	}
	*number = sum;
	return SETTINGS_TAKEN;
}

/* Parses a size such as 512KiB, 2M or 4096. The units are powers of 1024. */
static inline int settings_take_bytes(int64_t *bytes, const char *value, const char *words)
{
	static const char units[] = "KMG";
	char digits[20];
	int n = 0, shift = 0;
	int64_t number;

	while (*value >= '0' && *value <= '9' && n < (int)sizeof(digits) - 1)
		digits[n++] = *value++;
	digits[n] = 0;
	if (settings_take_number(&number, digits, words) != SETTINGS_TAKEN)
		return SETTINGS_BAD_VALUE;
	for (int i = 0; *value && units[i] && !shift; i++)
		if (*value == units[i] || *value == (units[i] | 0x20))
			shift = 10 * (i + 1);
	if (shift && value[1] == 'i' && value[2] == 'B')
		value += 2;
	value += shift != 0;
	if (*value || number > (int64_t)(SETTINGS_BYTES_MAX >> shift))
		return SETTINGS_BAD_VALUE;
	*bytes = number << shift;
	return SETTINGS_TAKEN;
}

static inline int settings_take_word(int64_t *number, const char *value, const char *words)
{
	for (int64_t index = 0; *words; index++) {
		const char *at = value;

		while (*words && *words == *at) {
			words++;
			at++;
		}
		if (!*words && !*at) {
			*number = index;
			return SETTINGS_TAKEN;
		}
		while (*words++)
			;
	}
	return SETTINGS_BAD_VALUE;
}

static inline int settings_take_text(setting_text *text, const char *value, const char *words)
{
	(void)words;
	for (int i = 0; i < SETTINGS_TEXT_MAX; i++) {
		(*text)[i] = value[i];
		if (!value[i])
			return SETTINGS_TAKEN;
	}
	(*text)[SETTINGS_TEXT_MAX - 1] = 0;
	return SETTINGS_BAD_VALUE;
}

/* Copies the next item of a comma-separated list. Returns the rest; NULL: the list is invalid. */
static inline const char *settings_next(const char *value, char *item, int room)
{
	int n = 0;

	while (*value && *value != ',' && n < room - 1)
		item[n++] = *value++;
	item[n] = 0;
	if (!n || (*value && *value++ != ',') || (value[-1] == ',' && !*value))
		return (const char *)0;
	return value;
}

/* Parses a comma-separated list of words. The list may be empty. */
static inline int settings_take_set(int64_t *bits, const char *value, const char *words)
{
	int64_t found = 0, index;
	char item[20];

	while (*value) {
		value = settings_next(value, item, sizeof(item));
		if (!value || settings_take_word(&index, item, words) != SETTINGS_TAKEN)
			return SETTINGS_BAD_VALUE;
		found |= (int64_t)1 << index;
	}
	*bits = found;
	return SETTINGS_TAKEN;
}

/* Parses "20", "alloc", "20,alloc" or "sizes:64,128". Without a number, the depth is unchanged. */
static inline int settings_take_frames(setting_frames *frames, const char *value, const char *words)
{
	static const char prefix[] = "sizes:";
	int64_t depth = frames->depth, which = BACKTRACE_ALL, sizes[SETTINGS_SIZES_MAX + 1] = { 0 };
	int64_t *number = &depth; /* where the next number is stored */
	char item[20];

	if (!*value)
		return SETTINGS_BAD_VALUE;
	while (value && *value) {
		int n = 0;

		while (prefix[n] && prefix[n] == value[n])
			n++;
		if (!prefix[n])
			value += n;
		if (!prefix[n] || number != &depth) {
			if (sizes[0] == SETTINGS_SIZES_MAX)
				return SETTINGS_BAD_VALUE;
			number = &sizes[++sizes[0]];
		}
		value = settings_next(value, item, sizeof(item));
		if (!value || (settings_take_number(number, item, "") != SETTINGS_TAKEN &&
			       (number != &depth ||
				settings_take_word(&which, item, words) != SETTINGS_TAKEN)))
			return SETTINGS_BAD_VALUE;
	}
	frames->depth = depth;
	frames->which = which;
	for (int i = 0; i <= SETTINGS_SIZES_MAX; i++)
		frames->sizes[i] = sizes[i];
	return SETTINGS_TAKEN;
}

static inline int settings_take_patience(setting_patience *patience, const char *value,
					 const char *words)
{
	int64_t index;
	bool is_forever = settings_take_word(&index, value, "forever\0") == SETTINGS_TAKEN;
	int taken = is_forever ? SETTINGS_TAKEN : settings_take_number(&patience->ms, value, "");

	(void)words;
	if (taken == SETTINGS_TAKEN)
		patience->is_forever = is_forever;
	return taken;
}

/*
 * Parses a signal that can be sent to a program without harm: a number, or a name with or without
 * SIG. KILL and STOP are excluded because they cannot have a handler, 32 and 33 because glibc uses
 * them.
 */
static inline int settings_take_signal(int64_t *number, const char *value, const char *words)
{
	static const struct {
		const char name[8];
		int number;
	} names[] = {
		{ "HUP", SIGHUP },     { "INT", SIGINT },   { "QUIT", SIGQUIT },
		{ "USR1", SIGUSR1 },   { "USR2", SIGUSR2 }, { "ALRM", SIGALRM },
		{ "TERM", SIGTERM },   { "URG", SIGURG },   { "VTALRM", SIGVTALRM },
		{ "WINCH", SIGWINCH }, { "IO", SIGIO },	    { "PWR", SIGPWR },
	};
	int64_t found = 0;

	(void)words;
	if (value[0] == 'S' && value[1] == 'I' && value[2] == 'G')
		value += 3;
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *name = names[i].name, *at = value;

		while (*name && *name == *at) {
			name++;
			at++;
		}
		if (!*name && !*at)
			found = names[i].number;
	}
	if (*value && !found &&
	    (settings_take_number(&found, value, "") != SETTINGS_TAKEN || found < 1 || found > 64 ||
	     found == SIGKILL || found == SIGSTOP || found == 32 || found == 33))
		return SETTINGS_BAD_VALUE;
	*number = found;
	return SETTINGS_TAKEN;
}

/* Returns the value in a string "NAME=value", or NULL if the string has another name. */
static inline const char *settings_value(const char *name_value, const char *name)
{
	while (*name && *name == *name_value) {
		name++;
		name_value++;
	}
	return !*name && *name_value == '=' ? name_value + 1 : (const char *)0;
}

static inline void settings_default(struct settings *settings)
{
#define SETTING(kind, name, ...)                                              \
	settings_take_##kind(&settings->name, SETTING_ROW(__VA_ARGS__).value, \
			     SETTING_ROW(__VA_ARGS__).words);
#include "settings.def"
#undef SETTING
}

#define SETTINGS_SAMPLE_PRODUCTION (512 << 10)
/* the largest sampling interval in bytes; estimates from fewer samples would be useless */
#define SETTINGS_SAMPLE_MAX (1u << 30)

/* Applies settings that imply other settings. Must be called after all settings were taken. */
static inline void settings_finish(struct settings *settings)
{
	if (settings->sample > SETTINGS_SAMPLE_MAX)
		settings->sample = SETTINGS_SAMPLE_MAX;
	if (!settings->production)
		return;
	settings->locks = LOCKS_CONTENDED;
	if (!settings->sample)
		settings->sample = SETTINGS_SAMPLE_PRODUCTION;
}

/*
 * Takes one "NAME=value" string of an environment. Returns whether NAME is one of holdtrace's
 * variables, and whether its value is valid (enum settings_taken). If the value is invalid, the
 * setting keeps its old value; but a text that is too long is truncated.
 */
static inline int settings_take(struct settings *settings, const char *name_value)
{
	const char *found;

#define SETTING(kind, name, ...)                                                  \
	found = settings_value(name_value, SETTING_ROW(__VA_ARGS__).environment); \
	if (found)                                                                \
		return settings_take_##kind(&settings->name, found, SETTING_ROW(__VA_ARGS__).words);
#include "settings.def"
#undef SETTING
	return SETTINGS_NOT_OURS;
}

#endif
