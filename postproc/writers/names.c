/* SPDX-License-Identifier: MIT */
#include "postproc/writers/names.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "postproc/writers/runtime.h"
#include "postproc/writers/shorten.h"

#define STARTS_MAX 8u  /* frames that may start a program, from the outermost */
#define LOOK_MAX   128 /* frames of a backtrace that are looked at from within */

struct counts {
	uint64_t shown, unnamed;
};

struct names {
	const struct summary *summary;
	struct resolve *resolve;
	struct counts *counts; /* by module of the atlas */
};

/* What a frame is, beyond its name. */
struct frame {
	struct symbol symbol;
	uint64_t address;
	const struct atlas_module *module; /* NULL: in none */
	bool is_named, is_runtime, is_inlined;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* ---- which frames are worth showing ---- */

static bool is_start_function(const char *function)
{
	static const char *const names[] = {
		"__libc_start_main",
		"__libc_start_main_impl",
		"__libc_start_call_main",
		"__libc_start_main@@GLIBC_2.34",
		"start_thread",
		"clone",
		"clone3",
		"__clone",
		"__clone3",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(function, names[i]))
			return true;
	return false;
}

static bool is_module(const struct frame *frame, const char *start)
{
	return frame->module && !strncmp(base_name(frame->module->path), start, strlen(start));
}

static bool is_c_library(const struct frame *frame)
{
	return is_module(frame, "libc.so.") || is_module(frame, "libc-2.") ||
	       is_module(frame, "libpthread") || is_module(frame, "ld-");
}

static bool is_start(const struct frame *frame)
{
	if (is_module(frame, "libholdtrace.so"))
		return true;
	if (!frame->is_named)
		return false;
	return !strcmp(frame->symbol.function, "_start") ||
	       (is_c_library(frame) && is_start_function(frame->symbol.function));
}

/* ---- looking up ---- */

static void classify(struct frame *frame)
{
	frame->is_named = frame->symbol.function != NULL && !frame->symbol.is_missing;
	frame->is_runtime =
		(frame->module && runtime_has(RUNTIME_MODULE, base_name(frame->module->path))) ||
		(frame->is_named && runtime_has(RUNTIME_FUNCTION, frame->symbol.function)) ||
		(frame->is_named && frame->symbol.file &&
		 runtime_has(RUNTIME_FILE, frame->symbol.file));
}

/* A return address, and the calls that were inlined there. Returns how many frames. */
static size_t look_up(struct names *names, uint64_t address, struct frame *frames, size_t max)
{
	struct symbol symbols[RESOLVE_FRAMES_MAX];
	unsigned count =
		resolve_address(names->resolve, address, false, symbols, RESOLVE_FRAMES_MAX);

	if (count > RESOLVE_FRAMES_MAX)
		count = RESOLVE_FRAMES_MAX;
	for (size_t i = 0; i < count && i < max; i++) {
		frames[i] = (struct frame){
			.symbol = symbols[i],
			.address = address,
			/* The call before it is what counts. */
			.module = atlas_module_at(&names->summary->atlas, address - 1),
			.is_inlined = i + 1 < count,
		};
		classify(&frames[i]);
	}
	return count < max ? count : max;
}

/*
 * Where the frames end that lead from the start of the program or thread to its own code. A
 * stripped C library has no names for them, and a stripped program none for its main; so the frames
 * of the library around it tell. main: is set to the frame that must be main, or to count.
 * glibc calls main through two functions of its own, and constructors from the outer of the two.
 */
static size_t fold_start(const struct frame *frames, size_t count, size_t *main)
{
	size_t end = count, around = 0;
	bool is_program = end >= 2 && is_c_library(&frames[end - 2]) &&
			  !is_c_library(&frames[end - 1]) &&
			  (!frames[end - 1].is_named || is_start(&frames[end - 1]));

	*main = count;
	if (is_program)
		end--;
	while (end && (is_start(&frames[end - 1]) || is_c_library(&frames[end - 1])))
		around += !frames[--end].is_inlined;
	if (is_program && end && around == 2 && !frames[end - 1].is_named)
		*main = end - 1;
	return end ? end : count;
}

/* Where the program's own code begins: what is further in is its language's runtime. */
static size_t skip_runtime(const struct frame *frames, size_t end)
{
	size_t first = 0;

	while (first < end && frames[first].is_runtime)
		first++;
	return first;
}

/* ---- names ---- */

/* The program itself needs no mention behind each of its functions. */
static bool is_program(const struct names *names, const struct atlas_module *module)
{
	const struct summary *summary = names->summary;

	for (size_t i = 0; i < summary->processes.count && i < 256; i++)
		if (summary->processes.items[i].executable &&
		    !strcmp(summary->processes.items[i].executable, module->path))
			return true;
	return false;
}

static void write_address(char *text, const struct frame *frame)
{
	if (frame->module)
		snprintf(text, NAMES_TEXT_MAX, "%.100s+0x%" PRIx64, base_name(frame->module->path),
			 frame->address - frame->module->from);
	else
		snprintf(text, NAMES_TEXT_MAX, "0x%" PRIx64, frame->address);
}

static void write_frame(const struct names *names, char *text, const struct frame *frame)
{
	cleanup_free char *name = frame->is_named ? strdup(frame->symbol.function) : NULL;

	if (!name) {
		write_address(text, frame);
		return;
	}
	shorten_name(name);
	if (frame->symbol.file && frame->symbol.line && !frame->is_runtime)
		snprintf(text, NAMES_TEXT_MAX, "%.*s %.60s:%u", SHORTEN_MAX, name,
			 base_name(frame->symbol.file), frame->symbol.line);
	else if (!frame->module || frame->is_runtime || is_program(names, frame->module))
		snprintf(text, NAMES_TEXT_MAX, "%.*s", SHORTEN_MAX, name);
	else
		snprintf(text, NAMES_TEXT_MAX, "%.*s (%.60s)", SHORTEN_MAX, name,
			 base_name(frame->module->path));
}

/* ---- what is shown ---- */

static void count_frame(struct names *names, const struct frame *frame)
{
	if (!frame->module || frame->is_inlined)
		return;
	names->counts[frame->module->id].shown++;
	names->counts[frame->module->id].unnamed += !frame->is_named;
}

struct shown {
	struct names_frame *frames;
	size_t count, max;
};

static void show(struct names *names, struct shown *shown, const struct frame *frame,
		 const char *known)
{
	char text[NAMES_TEXT_MAX];

	if (known)
		snprintf(text, sizeof(text), "%s", known);
	else
		write_frame(names, text, frame);
	if (!known)
		count_frame(names, frame);
	if (shown->count && !strcmp(shown->frames[shown->count - 1].text, text)) {
		shown->frames[shown->count - 1].times++;
		return;
	}
	if (shown->count == shown->max)
		return;
	memcpy(shown->frames[shown->count].text, text, sizeof(text));
	shown->frames[shown->count].is_runtime = frame->is_runtime;
	shown->frames[shown->count++].times = 1;
}

/* What the program called of the runtime says what it was about; not if it is a name within. */
static void show_called(struct names *names, struct shown *shown, const struct frame *frame)
{
	char name[SHORTEN_MAX];

	if (!frame->is_named)
		return;
	snprintf(name, sizeof(name), "%s", frame->symbol.function);
	if (is_c_library(frame))
		shorten_public(name);
	if (name[0] != '_')
		show(names, shown, frame, is_c_library(frame) ? name : NULL);
}

/* Nothing of the program's own: what the runtime takes for itself, mostly at its start. */
static void show_runtime(struct names *names, struct shown *shown, const struct frame *frame)
{
	char text[NAMES_TEXT_MAX];
	const char *module = frame->module ? base_name(frame->module->path) : "runtime";
	cleanup_free char *name = frame->is_named ? strdup(frame->symbol.function) : NULL;

	if (name && name[0] != '_') {
		shorten_name(name);
		snprintf(text, sizeof(text), "%.*s (%.60s itself)", SHORTEN_MAX, name, module);
	} else
		snprintf(text, sizeof(text), "(%.60s itself)", module);
	show(names, shown, frame, text);
}

size_t names_frames(struct names *names, const struct atlas_backtrace *backtrace,
		    struct names_frame *frames, size_t max)
{
	struct frame looked[LOOK_MAX + RESOLVE_FRAMES_MAX];
	struct shown shown = { .frames = frames, .max = max };
	size_t count = 0, first, end, main;

	/* All are looked up together, by as many modules at a time as there are processors. */
	for (uint32_t i = 0; backtrace && i < backtrace->count && i < LOOK_MAX; i++)
		(void)resolve_ask(names->resolve, backtrace->frames[i], false);
	for (uint32_t i = 0; backtrace && i < backtrace->count && count < LOOK_MAX; i++)
		count += look_up(names, backtrace->frames[i], &looked[count],
				 sizeof(looked) / sizeof(*looked) - count);
	end = fold_start(looked, count, &main);
	first = skip_runtime(looked, end);
	if (end && first == end) {
		show_runtime(names, &shown, &looked[end - 1]);
		return shown.count;
	}
	if (first)
		show_called(names, &shown, &looked[first - 1]);
	for (size_t i = first; i < end && shown.count < max; i++)
		if (i == first || !looked[i].is_runtime)
			show(names, &shown, &looked[i], i == main ? "main" : NULL);
	return shown.count;
}

static struct names_raw raw_of(struct names *names, const struct frame *frame)
{
	bool is_named = frame->symbol.function && !frame->symbol.is_missing;

	count_frame(names, frame);
	return (struct names_raw){
		.address = frame->address,
		.offset = frame->address - (frame->module ? frame->module->from : 0),
		.function = is_named ? frame->symbol.function : NULL,
		.file = frame->symbol.file,
		.line = frame->symbol.line,
		.module = frame->module ? frame->module->path : NULL,
		.is_inlined = frame->is_inlined,
		.is_runtime = frame->is_runtime,
	};
}

size_t names_raw(struct names *names, const struct atlas_backtrace *backtrace,
		 struct names_raw *frames, size_t max)
{
	struct frame looked[RESOLVE_FRAMES_MAX];
	size_t count = 0;

	for (uint32_t i = 0; i < backtrace->count && i < max; i++)
		(void)resolve_ask(names->resolve, backtrace->frames[i], false);
	for (uint32_t i = 0; i < backtrace->count && count < max; i++) {
		size_t found = look_up(names, backtrace->frames[i], looked, RESOLVE_FRAMES_MAX);

		for (size_t j = 0; j < found && count < max; j++)
			frames[count++] = raw_of(names, &looked[j]);
	}
	return count;
}

size_t names_starts(struct names *names, const struct atlas_backtrace *backtrace, bool *is_main)
{
	struct frame looked[STARTS_MAX * RESOLVE_FRAMES_MAX];
	uint32_t first = backtrace->count > STARTS_MAX ? backtrace->count - STARTS_MAX : 0;
	size_t count = 0, end, main;

	for (uint32_t i = first; i < backtrace->count; i++)
		count += look_up(names, backtrace->frames[i], &looked[count], RESOLVE_FRAMES_MAX);
	end = fold_start(looked, count, &main);
	*is_main = main < count;
	return count - end;
}

void names_text(struct names *names, const struct names_raw *raw, char *text)
{
	struct frame frame = {
		.symbol = { .function = raw->function, .file = raw->file, .line = raw->line },
		.address = raw->address,
		.module = atlas_module_at(&names->summary->atlas, raw->address - 1),
		.is_inlined = raw->is_inlined,
	};
	char name[SHORTEN_MAX];

	classify(&frame);
	count_frame(names, &frame);
	write_frame(names, text, &frame);
	if (!frame.is_named || !is_c_library(&frame))
		return;
	snprintf(name, sizeof(name), "%s", frame.symbol.function);
	shorten_public(name);
	snprintf(text, NAMES_TEXT_MAX, "%s", name);
}

void names_restart(struct names *names)
{
	memset(names->counts, 0, names->summary->atlas.module_list.count * sizeof(*names->counts));
}

static bool state_of(const struct names *names, const char *path, struct resolve_state *state)
{
	for (unsigned i = 0; resolve_state(names->resolve, i, state); i++)
		if (!strcmp(state->module, path))
			return true;
	return false;
}

bool names_missing(const struct names *names, size_t index, struct names_missing *missing)
{
	for (size_t i = 0; i < names->summary->atlas.module_list.count; i++) {
		const struct atlas_module *module = names->summary->atlas.module_list.items[i];
		struct resolve_state state;

		if (!names->counts[i].unnamed || index-- > 0)
			continue;
		*missing = (struct names_missing){
			.path = module->path,
			.shown = names->counts[i].shown,
			.unnamed = names->counts[i].unnamed,
			.events = touched_events(&names->summary->touched, module),
		};
		snprintf(missing->build_id, sizeof(missing->build_id), "%s", module->build_id);
		if (state_of(names, module->path, &state)) {
			missing->text = *state.text ? state.text : NULL;
			missing->advice = state.advice;
		}
		return true;
	}
	return false;
}

/* ---- begin and end ---- */

static unsigned parse_build_id(const char *text, uint8_t *bytes, unsigned max)
{
	unsigned count = 0;

	for (; count < max && isxdigit((unsigned char)text[0]) && isxdigit((unsigned char)text[1]);
	     text += 2) {
		char pair[3] = { text[0], text[1], 0 };

		bytes[count++] = (uint8_t)strtoul(pair, NULL, 16);
	}
	return count;
}

static int map(struct names *names, const struct atlas_module *module)
{
	uint8_t build_id[64];
	struct resolve_module how = {
		.path = module->path,
		.from = module->from,
		.to = module->to,
		.base = module->has_tail ? RESOLVE_BASE_LOAD : RESOLVE_BASE_UNKNOWN,
		.build_id = build_id,
		.build_id_size = parse_build_id(module->build_id, build_id, sizeof(build_id)),
	};
	int rc;

	if (module->has_tail) {
		how.exec_start = module->code;
		how.exec_end = module->to;
		how.offset = module->offset;
	}
	rc = resolve_map(names->resolve, &how);
	return rc == -EINVAL ? 0 : rc;
}

int names_create(struct names **result, const struct summary *summary,
		 const struct names_files *files, struct error *err)
{
	const struct resolve_options options = {
		.inlines = true,
		.demangle = DEMANGLE_SHORT,
		.full_path = true,
		.root = files ? files->root : NULL,
		.debug_dir = files ? files->debug_dir : NULL,
		.maps = files ? files->maps : NULL,
		.map_count = files ? files->map_count : 0,
	};
	size_t count = summary->atlas.module_list.count;
	struct names *names = calloc(1, sizeof(*names));
	int rc;

	if (!names)
		return error_set(err, ENOMEM, "no memory for names");
	names->summary = summary;
	names->counts = calloc(count + 1, sizeof(*names->counts));
	rc = names->counts ? resolve_create(&names->resolve, &options, err) : -ENOMEM;
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = map(names, summary->atlas.module_list.items[i]);
	if (rc) {
		names_destroy(names);
		return error_set(err, -rc, "no memory for names");
	}
	*result = names;
	return 0;
}

void names_destroy(struct names *names)
{
	if (!names)
		return;
	resolve_destroy(names->resolve);
	free(names->counts);
	free(names);
}
