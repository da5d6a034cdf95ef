/* SPDX-License-Identifier: MIT */
/*
 * Writes Scaler's invocation trees, according to its data format document of July 2021. For each
 * thread, there is a file thread_0x<pthread_t>.bin, which contains a root record and the thread's
 * hooked calls in breadth-first order. Two JSON files contain the names of functions and files. All
 * numbers are little-endian. If there are several processes, each has its own directory.
 *
 * Where the document is unclear, this writer does the following. fileID is the number of the
 * calling file or, with --format=scaler:callee, of the called file. funcID is the function's number
 * among the functions of that file, sorted by name. A call that did not return gets the end of the
 * trace as its end. All threads with the same pthread_t share a file. Siblings are ordered by time,
 * oldest first. Empty fields are 0.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/memory.h"
#include "dialects/outdir.h"
#include "dialects/scaler/callees.h"
#include "formats/writer.h"
#include "formats/writers.h"
#include "naming/address_space.h"
#include "naming/naming.h"
#include "notes.h"
#include "postproc/run/calltree.h"

enum scaler_type { TYPE_NORMAL = 1, TYPE_PTHREAD = 2, TYPE_SEMAPHORE = 3 };

/* Properties of a function for its records. */
struct function_facts {
	int64_t file, function;
	enum scaler_type type;
	bool has_second; /* whether its records use the second extra field */
};

/* Suffix for the name of a function that was not hooked, but occurs in backtraces. */
#define SCALER_INFERRED " [inferred]"

/*
 * The state of one of the trace's backtraces. way: number of the backtrace in `ways`, from 1; 0:
 * not assigned yet.
 */
struct scaler_seen {
	uint32_t way;
	size_t mappings; /* number of known mappings when the backtrace was last converted */
};

struct scaler_frames {
	struct address_space space;
	ARRAY_OF(const struct trace_node *) ways; /* the distinct backtraces */
	ARRAY_OF(struct scaler_seen) by_id;	  /* indexed by id of the backtrace in the trace */
	/* the resolved call paths of `ways`, in the same order; set at the end */
	struct calltree_path *paths;
};

struct scaler {
	const struct trace *trace;
	const struct trace_process *process;
	bool force, has_failed;
	bool is_by_callee;		  /* --format=scaler:callee was given */
	bool has_frames;		  /* --format=scaler:frames was given */
	const struct trace_mapping *libc; /* the C library; NULL: not mapped yet */
	struct outdir directory;
	struct calltree tree;
	struct callees callees;
	struct scaler_frames frames;
	struct function_facts *facts; /* indexed by symbol */
};

/*
 * The processes whose files have been written. Before the files of a second process are written,
 * the files of the first process are moved to their own directory.
 */
static struct {
	ARRAY_OF(uint32_t) processes; /* their process ids */
} run;

/* ---- backtraces ---- */

/*
 * With --format=scaler:frames, the functions in backtraces become nodes between the hooked calls.
 * These functions were neither timed nor counted, so their names end with SCALER_INFERRED.
 */

#define INLINED_MAX 8 /* maximum number of functions that naming_symbols() lists for a frame */

static void scaler_frames_see(struct scaler_frames *frames, const struct event *event,
			      uint32_t *way)
{
	size_t mappings = frames->space.mappings.count;
	const struct trace_node *backtrace;
	struct scaler_seen *seen;

	*way = 0;
	if (!event->backtrace || !event->backtrace->count)
		return;
	seen = ARRAY_AT(&frames->by_id, event->backtrace->id);
	if (!seen->way || seen->mappings != mappings) {
		backtrace = space_backtrace(&frames->space, event->backtrace, event->index);
		/*
		 * most new mappings do not affect the backtrace, so the conversion gives the same
		 * result
		 */
		if (!seen->way || frames->ways.items[seen->way - 1] != backtrace) {
			*ARRAY_ADD(&frames->ways) = backtrace;
			seen->way = (uint32_t)frames->ways.count;
		}
		seen->mappings = mappings;
	}
	*way = seen->way;
}

/* Converts one backtrace to the steps of a path, outermost function first. */
static void find_steps(struct naming *naming, struct callees *callees,
		       const struct trace_node *backtrace, struct naming_symbol *found,
		       struct calltree_path *path)
{
	size_t count =
		naming_symbols(naming, backtrace, found, (size_t)backtrace->count * INLINED_MAX);

	path->steps = memory_zalloc(count + 1, sizeof(*path->steps));
	while (count-- > 0) {
		const struct naming_symbol *frame = &found[count];
		const char *slash = frame->module ? strrchr(frame->module, '/') : NULL;
		cleanup_free char *name = NULL;

		/*
		 * skip frames of holdtrace's library, which are between a hooked function and the
		 * functions that it calls
		 */
		if (slash && !strncmp(slash + 1, "libholdtrace.so", 15))
			continue;
		/* a function without a symbol gets its offset in the file as its name */
		name = frame->function ? memory_format("%s" SCALER_INFERRED, frame->function)
				       : memory_format("0x%" PRIx64 SCALER_INFERRED, frame->offset);
		path->steps[path->count++] = (struct calltree_step){
			.address = frame->address,
			.symbol =
				callees_add_path(callees, frame->module ? frame->module : "", name),
		};
	}
}

static int scaler_frames_resolve(struct scaler_frames *frames, struct callees *callees,
				 struct error *err)
{
	struct naming_symbol *found;
	struct naming *naming = NULL;
	size_t most = 0;
	int rc;

	for (size_t i = 0; i < frames->ways.count; i++)
		if (most < frames->ways.items[i]->count)
			most = frames->ways.items[i]->count;
	found = memory_zalloc(most * INLINED_MAX + 1, sizeof(*found));
	frames->paths = memory_zalloc(frames->ways.count + 1, sizeof(*frames->paths));
	rc = naming_create(&naming, &frames->space, NULL, err);
	for (size_t i = 0; rc == 0 && i < frames->ways.count; i++)
		find_steps(naming, callees, frames->ways.items[i], found, &frames->paths[i]);
	naming_destroy(naming);
	free(found);
	return rc;
}

/* ---- names ---- */

/* The two JSON files, which list the functions with their types and numbers. */

/* The functions that Scaler itself lists, in Scaler's order. */
static const char *const pthread_functions[] = {
	"pthread_create",
	"pthread_join",
	"pthread_tryjoin_np",
	"pthread_timedjoin_np",
	"pthread_clockjoin_np",
	"pthread_mutex_lock",
	"pthread_mutex_timedlock",
	"pthread_mutex_clocklock",
	"pthread_mutex_unlock",
	"pthread_rwlock_rdlock",
	"pthread_rwlock_tryrdlock",
	"pthread_rwlock_timedrdlock",
	"pthread_rwlock_clockrdlock",
	"pthread_rwlock_wrlock",
	"pthread_rwlock_trywrlock",
	"pthread_rwlock_timedwrlock",
	"pthread_rwlock_clockwrlock",
	"pthread_rwlock_unlock",
	"pthread_cond_signal",
	"pthread_cond_broadcast",
	"pthread_cond_wait",
	"pthread_cond_timedwait",
	"pthread_cond_clockwait",
	"pthread_spin_lock",
	"pthread_spin_trylock",
	"pthread_spin_unlock",
	"pthread_barrier_wait",
	NULL,
};

static const char *const semaphore_functions[] = {
	"sem_wait", "sem_timedwait", "sem_clockwait", "sem_trywait", "sem_post", NULL,
};

/*
 * The prefixes from Scaler's documentation. They also match functions that Scaler does not hook,
 * such as pthread_mutex_trylock.
 */
static const char *const pthread_prefixes[] = { "pthread_mutex_",   "pthread_rwlock_",
						"pthread_cond_",    "pthread_spin_",
						"pthread_barrier_", NULL };

static bool begins_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

static bool is_one_of(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(name, *list))
			return true;
	return false;
}

static enum scaler_type type_of(const char *name)
{
	size_t length = strlen(name), mark = strlen(SCALER_INFERRED);

	if (length > mark && !strcmp(name + length - mark, SCALER_INFERRED))
		return TYPE_NORMAL;
	if (begins_with(name, "sem_"))
		return TYPE_SEMAPHORE;
	for (const char *const *prefix = pthread_prefixes; *prefix; prefix++)
		if (begins_with(name, *prefix))
			return TYPE_PTHREAD;
	if (!strcmp(name, "pthread_create") ||
	    (begins_with(name, "pthread_") && strstr(name, "join")))
		return TYPE_PTHREAD;
	return TYPE_NORMAL;
}

/* ---- JSON: keys are sorted as strings, empty lists are null ---- */

static int compare_as_text(const void *one, const void *two)
{
	char texts[2][16];

	snprintf(texts[0], sizeof(texts[0]), "%" PRIu32, *(const uint32_t *)one);
	snprintf(texts[1], sizeof(texts[1]), "%" PRIu32, *(const uint32_t *)two);
	return strcmp(texts[0], texts[1]);
}

/* Returns the numbers from 0 to `count` - 1, sorted as text: 0, 1, 10, 2. */
static uint32_t *sorted_numbers(size_t count)
{
	uint32_t *numbers = memory_alloc((count + 1) * sizeof(*numbers));

	for (uint32_t i = 0; i < count; i++)
		numbers[i] = i;
	qsort(numbers, count, sizeof(*numbers), compare_as_text);
	return numbers;
}

static void put_key(struct json *json, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, number);
	json_key(json, text);
}

static void put_symbols(const struct scaler *scaler, struct json *json,
			const struct callee_file *file)
{
	json_begin(json, '{');
	json_add_text(json, "fileName", file->path);
	json_key(json, "funcNames");
	if (file->count) {
		cleanup_free uint32_t *numbers = sorted_numbers(file->count);

		json_begin(json, '{');
		for (uint32_t i = 0; i < file->count; i++) {
			put_key(json, numbers[i]);
			json_text(json, scaler->callees.sorted[file->first + numbers[i]]->name);
		}
		json_end(json);
	} else {
		json_null(json);
	}
	json_end(json);
}

/*
 * Adds an id to an array. Begins the array at the first id. If there are no ids, the caller writes
 * null instead.
 */
static void put_id(struct json *json, bool *is_begun, uint32_t number)
{
	if (!*is_begun)
		json_begin(json, '[');
	*is_begun = true;
	json_unsigned(json, number);
}

/*
 * Writes the ids of a file's functions of one type: first the functions that Scaler itself lists,
 * in its order, then the other functions by name.
 */
static void put_ids(const struct scaler *scaler, struct json *json, const struct callee_file *file,
		    enum scaler_type type, const char *const *list)
{
	bool is_begun = false;

	for (const char *const *name = list; *name; name++) {
		const struct callee *callee = callees_find(&scaler->callees, file, *name);

		if (callee)
			put_id(json, &is_begun, callee->number);
	}
	for (uint32_t i = 0; i < file->count; i++) {
		const struct callee *callee = scaler->callees.sorted[file->first + i];

		if (scaler->facts[callee->symbol].type == type && !is_one_of(callee->name, list))
			put_id(json, &is_begun, callee->number);
	}
	if (is_begun)
		json_end(json);
	else
		json_null(json);
}

static void put_common_ids(const struct scaler *scaler, struct json *json,
			   const struct callee_file *file)
{
	json_begin(json, '{');
	json_key(json, "pthread");
	put_ids(scaler, json, file, TYPE_PTHREAD, pthread_functions);
	json_key(json, "semaphore");
	put_ids(scaler, json, file, TYPE_SEMAPHORE, semaphore_functions);
	json_end(json);
}

typedef void put_file(const struct scaler *scaler, struct json *json,
		      const struct callee_file *file);

static int write_json(const struct scaler *scaler, struct outdir *directory, const char *name,
		      put_file *put, struct error *err)
{
	struct out out;
	int rc = outdir_create(directory, name, &out, err);
	size_t count;
	uint32_t *numbers;
	struct json json;

	if (rc)
		return rc;
	count = scaler->callees.files.count;
	numbers = sorted_numbers(count);
	json_start(&json, &out, false);
	json_begin(&json, '{');
	for (size_t i = 0; i < count; i++) {
		put_key(&json, numbers[i]);
		put(scaler, &json, scaler->callees.files.items[numbers[i]]);
	}
	json_end(&json);
	free(numbers);
	return outdir_finish(directory, &out, 0, err);
}

/* ---- threads ---- */

/* The file of a thread: a root record, then records of its calls in breadth-first order. */

#define RECORD_MAX 65 /* size in bytes of a record of TYPE_PTHREAD */

static unsigned char *put_number(unsigned char *at, uint64_t number)
{
	for (int i = 0; i < 8; i++)
		*at++ = (unsigned char)(number >> 8 * i);
	return at;
}

/* Returns the Unix time in us, clamped on overflow. */
static uint64_t unix_microseconds(const struct scaler *scaler, uint64_t time_ns)
{
	uint64_t sum;

	if (__builtin_add_overflow(time_ns, scaler->process->realtime_ns, &sum))
		sum = UINT64_MAX;
	return sum / 1000;
}

static void put_node(const struct scaler *scaler, struct out *out, const struct calltree_node *node)
{
	const struct function_facts *facts = &scaler->facts[node->symbol];
	unsigned char record[RECORD_MAX], *at = record;

	*at++ = (unsigned char)facts->type;
	at = put_number(at, (uint64_t)facts->file);
	at = put_number(at, (uint64_t)facts->function);
	at = put_number(at, unix_microseconds(scaler, node->enter_ns));
	at = put_number(at, unix_microseconds(scaler, node->leave_ns));
	at = put_number(at, (uint64_t)node->first_child);
	at = put_number(at, node->children);
	if (facts->type != TYPE_NORMAL)
		at = put_number(at, node->extra[0]);
	if (facts->type == TYPE_PTHREAD)
		at = put_number(at, facts->has_second ? node->extra[1] : 0);
	out_bytes(out, record, (size_t)(at - record));
}

static int write_thread(struct scaler *scaler, struct outdir *directory, uint64_t handle,
			uint64_t children, struct error *err)
{
	unsigned char record[RECORD_MAX], *at = record;
	struct calltree_node node;
	struct out out;
	char name[64];
	int rc;

	snprintf(name, sizeof(name), "thread_0x%" PRIx64 ".bin", handle);
	rc = outdir_create(directory, name, &out, err);
	if (rc)
		return rc;
	*at++ = TYPE_NORMAL;
	for (int i = 0; i < 4; i++)
		at = put_number(at, UINT64_MAX);
	at = put_number(at, 1);
	at = put_number(at, children);
	out_bytes(&out, record, (size_t)(at - record));
	/* outdir_finish() will report an error of the output */
	while (!out_error(&out) && (rc = calltree_next(&scaler->tree, &node, err)) > 0)
		put_node(scaler, &out, &node);
	return outdir_finish(directory, &out, rc < 0 ? rc : 0, err);
}

/* ---- events ---- */

int write_scaler_begin(void **state, const struct trace *trace,
		       const struct writer_options *options, struct error *err)
{
	struct scaler *scaler = memory_zalloc(1, sizeof(*scaler));
	int rc;

	scaler->trace = trace;
	scaler->force = options->force;
	scaler->is_by_callee = format_has_word(options->words, "callee");
	scaler->has_frames = format_has_word(options->words, "frames");
	rc = outdir_open(&scaler->directory, options->directory,
			 options->force || run.processes.count, err);
	if (rc) {
		free(scaler);
		return rc;
	}
	callees_init(&scaler->callees);
	space_init(&scaler->frames.space);
	calltree_init(&scaler->tree, scaler->directory.fd);
	*state = scaler;
	return 0;
}

static int refuse_trace(struct error *err)
{
	return error_set(err, ENOTSUP,
			 "has no call trees: its calls lack threads, depths, and times of entry "
			 "and return; record the program with holdtrace, in version 2.0 of the "
			 "protocol");
}

static void take_call(struct scaler *scaler, const struct event *event, const char *name)
{
	const struct backtrace *backtrace = event->backtrace;
	const struct trace_mapping *mapping = NULL;
	uint64_t extra[2] = { event->object, event->related };
	uint32_t symbol, way = 0;

	if (!*name)
		name = "func0"; /* Scaler's name for functions without a name */
	/*
	 * A wait for a condition has a separate event for its mutex; the related object of that
	 * event is the condition.
	 */
	if (event->part && event->resource->known == RESOURCE_LOCK) {
		extra[0] = event->related;
		extra[1] = event->object;
	}
	/*
	 * the mapping of the caller's code: looks up the return address minus 1, because the return
	 * address may be just after the end of the mapping
	 */
	if (backtrace && backtrace->count && !scaler->is_by_callee)
		mapping = trace_mapping_at(scaler->trace, backtrace->node->address - 1)
				  ?: trace_mapping_at(scaler->trace, backtrace->node->address);
	symbol = callees_add(&scaler->callees, scaler->is_by_callee ? scaler->libc : mapping, name);
	if (scaler->has_frames)
		scaler_frames_see(&scaler->frames, event, &way);
	calltree_add(&scaler->tree, event, symbol, way, extra);
}

static void take_note(struct scaler *scaler, const struct event *event)
{
	const char *name = event->function->name;
	const char *value;

	calltree_see_time(&scaler->tree, event->time_ns);
	if (!strcmp(name, NOTE_THREAD)) {
		calltree_begin_thread(&scaler->tree, event);
	} else if (!strcmp(name, NOTE_OPEN)) {
		value = event_argument(event, "call");
		if (value)
			take_call(scaler, event, value);
	} else if (!strcmp(name, NOTE_PROCESS)) {
		value = event_argument(event, "executable");
		if (value && *value)
			callees_set_executable(&scaler->callees, value);
	}
}

static int take_event(struct scaler *scaler, const struct event *event, struct error *err)
{
	if (scaler->process && scaler->process != event->process)
		return error_set(err, EINVAL, "each tree belongs to one process: remove --merge");
	scaler->process = event->process;
	if (event_is_call(event) && !event->process->has_tails)
		return refuse_trace(err);
	if (event->kind == EVENT_MAPPING) {
		const char *slash = strrchr(event->mapping->path, '/');
		const char *name = slash ? slash + 1 : event->mapping->path;

		/* the C library, which contains all hooked functions */
		if (!scaler->libc && (!strncmp(name, "libc.so", 7) || !strncmp(name, "libc-", 5)))
			scaler->libc = event->mapping;
		if (scaler->has_frames)
			space_map(&scaler->frames.space, event->mapping);
		callees_map(&scaler->callees, event->mapping);
	} else if (event->kind == EVENT_NOTE &&
		   event->has_tail) { /* without a tail, the event is damaged */
		take_note(scaler, event);
	} else if (event->kind == EVENT_CALL && event->has_tail) {
		take_call(scaler, event, event->function->name);
	}
	return spill_error(&scaler->tree.sort.spill, err);
}

int write_scaler_event(void *state, const struct event *event, struct error *err)
{
	struct scaler *scaler = state;
	int rc = take_event(scaler, event, err);

	scaler->has_failed |= rc != 0;
	return rc;
}

/* ---- the end ---- */

static int write_files(struct scaler *scaler, struct outdir *directory, struct error *err)
{
	uint64_t handle, children;
	int rc = scaler->has_frames ? scaler_frames_resolve(&scaler->frames, &scaler->callees, err)
				    : 0;

	scaler->tree.paths = scaler->frames.paths;
	if (rc == 0) {
		const struct callees *callees = &scaler->callees;
		const char *name = scaler->process->name;

		callees_finish(&scaler->callees, name ? name : "");
		scaler->facts = memory_zalloc(callees->list.count + 1, sizeof(*scaler->facts));
		for (size_t i = 0; i < callees->list.count; i++) {
			const struct callee *callee = callees->list.items[i];

			scaler->facts[i] = (struct function_facts){
				.file = callee->file->number,
				.function = callee->number,
				.type = type_of(callee->name),
				.has_second = begins_with(callee->name, "pthread_cond_") &&
					      strstr(callee->name, "wait"),
			};
		}
	}
	if (rc == 0)
		rc = calltree_finish(&scaler->tree, err);
	while (rc == 0 && (rc = calltree_next_thread(&scaler->tree, &handle, &children, err)) > 0)
		rc = write_thread(scaler, directory, handle, children, err);
	if (rc == 0)
		rc = write_json(scaler, directory, "commonFuncId.json", put_common_ids, err);
	if (rc == 0)
		rc = write_json(scaler, directory, "symbol.json", put_symbols, err);
	if (rc)
		return rc;
	/* remove the trees of an older run, because the new names do not match them */
	if (scaler->force)
		outdir_remove(directory, "thread_0x", ".bin");
	return outdir_commit(directory, err);
}

/* Makes the path of a process's own directory, which is used if there are several processes. */
static void name_directory(const struct scaler *scaler, size_t number, char *path, size_t size)
{
	uint32_t pid = run.processes.items[number];
	unsigned times = 1;
	int length;

	for (size_t i = 0; i < number; i++)
		times += run.processes.items[i] == pid;
	length = snprintf(path, size, "%s/process_%" PRIu32, scaler->directory.path, pid);
	if (times > 1 && length > 0 && (size_t)length < size)
		snprintf(path + length, size - (size_t)length, "_%u", times);
}

/* Moves the files of the first process to its own directory. */
static int move_first(const struct scaler *scaler, struct error *err)
{
	struct outdir to;
	char path[4096];
	int rc;

	name_directory(scaler, 0, path, sizeof(path));
	rc = outdir_open(&to, path, scaler->force, err);
	if (rc)
		return rc;
	if (scaler->force)
		outdir_remove(&to, "thread_0x", ".bin");
	rc = outdir_move(&scaler->directory, &to, "thread_0x", ".bin", err);
	if (rc == 0)
		rc = outdir_move(&scaler->directory, &to, "commonFuncId.json", "", err);
	if (rc == 0)
		rc = outdir_move(&scaler->directory, &to, "symbol.json", "", err);
	to.was_made = false;
	outdir_close(&to);
	return rc;
}

static int write_beside_others(struct scaler *scaler, struct error *err)
{
	struct outdir directory;
	char path[4096];
	int rc = run.processes.count == 2 ? move_first(scaler, err) : 0;

	if (rc)
		return rc;
	name_directory(scaler, run.processes.count - 1, path, sizeof(path));
	rc = outdir_open(&directory, path, scaler->force, err);
	if (rc)
		return rc;
	rc = write_files(scaler, &directory, err);
	outdir_close(&directory);
	return rc;
}

int write_scaler_end(void *state, struct error *err)
{
	struct scaler *scaler = state;
	int rc;

	if (scaler->has_failed)
		return 0; /* the error was already reported */
	if (!scaler->process || !scaler->process->has_tails)
		return refuse_trace(err);
	*ARRAY_ADD(&run.processes) = scaler->process->pid;
	rc = run.processes.count == 1 ? write_files(scaler, &scaler->directory, err)
				      : write_beside_others(scaler, err);
	if (rc)
		run.processes.count--;
	return rc;
}

void write_scaler_destroy(void *state)
{
	struct scaler *scaler = state;

	calltree_free(&scaler->tree);
	callees_free(&scaler->callees);
	for (size_t i = 0; scaler->frames.paths && i < scaler->frames.ways.count; i++)
		free(scaler->frames.paths[i].steps);
	free(scaler->frames.paths);
	free(scaler->frames.ways.items);
	free(scaler->frames.by_id.items);
	space_free(&scaler->frames.space);
	free(scaler->facts);
	outdir_close(&scaler->directory);
	free(scaler);
}
