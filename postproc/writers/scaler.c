/* SPDX-License-Identifier: MIT */
/*
 * Scaler's invocation trees (its data format document of July 2021): for each thread a file
 * thread_0x<pthread_t>.bin, which lists its hooked calls breadth first behind a root, and two JSON
 * files with the names. What the document leaves open is decided thus: fileID is the file that
 * called; funcID counts a file's functions by name; what never returned ends when the trace does;
 * all lives of one pthread_t are in one file; siblings stand oldest first; empty fields are 0.
 * All numbers are little-endian. With several processes each gets a directory of its own.
 */
#include "postproc/writers/writers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "postproc/views/callees.h"
#include "postproc/views/calltree.h"
#include "postproc/writers/outdir.h"

enum scaler_type { TYPE_NORMAL = 1, TYPE_PTHREAD = 2, TYPE_SEMAPHORE = 3 };

#define RECORD_MAX 65 /* bytes of a record of TYPE_PTHREAD */

/* What a record says of its function. */
struct function_facts {
	int64_t file, function;
	enum scaler_type type;
	bool has_second; /* the second extra field is not empty */
};

struct scaler {
	const struct trace *trace;
	const struct trace_process *process;
	bool force, has_failed;
	struct outdir directory;
	struct calltree tree;
	struct callees callees;
	struct function_facts *facts; /* by symbol */
};

/* What this run of the program has written so far: a second process changes where the first is. */
static struct {
	struct {
		uint32_t *items; /* process ids */
		size_t count, capacity;
	} processes;
} run;

/* Scaler's own lists, in the order in which it lists the ids. */
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

/* The document's own patterns, which take in more than Scaler hooked: trylock, init, destroy. */
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

/* events */

static int no_memory(struct error *err)
{
	return error_system(err, ENOMEM, "names of functions");
}

int write_scaler_begin(void **state, const struct trace *trace,
		       const struct writer_options *options, struct error *err)
{
	struct scaler *scaler = calloc(1, sizeof(*scaler));
	int rc;

	if (!scaler)
		return no_memory(err);
	scaler->trace = trace;
	scaler->force = options->force;
	rc = outdir_open(&scaler->directory, options->directory,
			 options->force || run.processes.count, err);
	if (rc) {
		free(scaler);
		return rc;
	}
	callees_init(&scaler->callees);
	rc = calltree_init(&scaler->tree, scaler->directory.fd, err);
	if (rc) {
		outdir_close(&scaler->directory);
		free(scaler);
		return rc;
	}
	*state = scaler;
	return 0;
}

static int refuse(struct error *err)
{
	return error_set(
		err, ENOTSUP,
		"has no call trees: its calls say neither their thread nor their depth, "
		"entry and return, which only holdtrace writes (as protocol 2.0, not 1.4); "
		"record the program with holdtrace");
}

/* Where the call came from: a return address lies behind its call, maybe in another mapping. */
static const struct trace_mapping *caller_of(const struct scaler *scaler, const struct event *event)
{
	const struct trace_mapping *mapping;
	uint64_t address;

	if (!event->backtrace || !event->backtrace->count)
		return NULL;
	address = event->backtrace->frames[0];
	mapping = trace_mapping_at(scaler->trace, address - 1);
	return mapping ? mapping : trace_mapping_at(scaler->trace, address);
}

static int take_call(struct scaler *scaler, const struct event *event, const char *name,
		     struct error *err)
{
	uint64_t extra[2] = { event->object, event->related };
	uint32_t symbol;

	if (!*name)
		name = "func0"; /* Scaler's word for a function without a name */
	/* The lock of a wait comes as a part of its own, with the condition beside it. */
	if (event->part && event->resource->known == RESOURCE_LOCK) {
		extra[0] = event->related;
		extra[1] = event->object;
	}
	if (callees_add(&scaler->callees, caller_of(scaler, event), name, &symbol))
		return no_memory(err);
	return calltree_add(&scaler->tree, event, symbol, extra, err);
}

static int take_note(struct scaler *scaler, const struct event *event, struct error *err)
{
	const char *name = event->function->name;
	const char *value;

	calltree_see_time(&scaler->tree, event->time_ns);
	if (!strcmp(name, "~thread"))
		return calltree_begin_thread(&scaler->tree, event, err);
	if (!strcmp(name, "~open")) {
		value = event_argument(event, "call");
		return value ? take_call(scaler, event, value, err) : 0;
	}
	value = strcmp(name, "~process") ? NULL : event_argument(event, "executable");
	if (value && *value && callees_set_executable(&scaler->callees, value))
		return no_memory(err);
	return 0;
}

static int take_event(struct scaler *scaler, const struct event *event, struct error *err)
{
	scaler->process = event->process;
	if (event->kind == EVENT_MAPPING)
		return callees_map(&scaler->callees, event->mapping) ? no_memory(err) : 0;
	if (!event_is_call(event))
		return 0;
	if (!event->process->has_tails)
		return refuse(err);
	if (!event->has_tail) /* damaged */
		return 0;
	if (event->kind == EVENT_NOTE)
		return take_note(scaler, event, err);
	return take_call(scaler, event, event->function->name, err);
}

int write_scaler_event(void *state, const struct event *event, struct error *err)
{
	struct scaler *scaler = state;
	int rc = take_event(scaler, event, err);

	scaler->has_failed |= rc != 0;
	return rc;
}

/* thread_0x….bin */

static unsigned char *put_number(unsigned char *at, uint64_t number)
{
	for (int i = 0; i < 8; i++)
		*at++ = (unsigned char)(number >> 8 * i);
	return at;
}

/* Unix time in µs, never negative and never backwards, whatever the trace says. */
static uint64_t unix_microseconds(const struct scaler *scaler, uint64_t time_ns)
{
	uint64_t sum;

	if (__builtin_add_overflow(time_ns, scaler->process->realtime_ns, &sum))
		sum = UINT64_MAX;
	return sum / 1000;
}

static void put_root(struct out *out, uint64_t children)
{
	unsigned char record[RECORD_MAX], *at = record;

	*at++ = TYPE_NORMAL;
	for (int i = 0; i < 4; i++)
		at = put_number(at, UINT64_MAX);
	at = put_number(at, 1);
	at = put_number(at, children);
	out_bytes(out, record, (size_t)(at - record));
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

static int put_nodes(struct scaler *scaler, struct out *out, struct error *err)
{
	struct calltree_node node;
	int rc;

	for (;;) {
		rc = calltree_next(&scaler->tree, &node, err);
		if (rc <= 0)
			return rc;
		put_node(scaler, out, &node);
		if (out_error(out))
			return 0; /* outdir_finish() tells */
	}
}

static int write_thread(struct scaler *scaler, struct outdir *directory, uint64_t handle,
			uint64_t children, struct error *err)
{
	struct error later = { 0 };
	struct out out;
	char name[64];
	int rc, end;

	snprintf(name, sizeof(name), "thread_0x%" PRIx64 ".bin", handle);
	rc = outdir_create(directory, name, &out, err);
	if (rc)
		return rc;
	put_root(&out, children);
	rc = put_nodes(scaler, &out, err);
	end = outdir_finish(directory, &out, &later);
	if (rc == 0 && end)
		*err = later;
	return rc ? rc : end;
}

static int write_threads(struct scaler *scaler, struct outdir *directory, struct error *err)
{
	uint64_t handle, children;
	int rc = calltree_finish(&scaler->tree, err);

	while (rc == 0) {
		rc = calltree_next_thread(&scaler->tree, &handle, &children, err);
		if (rc <= 0)
			return rc;
		rc = write_thread(scaler, directory, handle, children, err);
	}
	return rc;
}

/* JSON: keys sorted as strings, null for what is empty */

static int compare_as_text(const void *one, const void *two)
{
	char texts[2][16];

	snprintf(texts[0], sizeof(texts[0]), "%" PRIu32, *(const uint32_t *)one);
	snprintf(texts[1], sizeof(texts[1]), "%" PRIu32, *(const uint32_t *)two);
	return strcmp(texts[0], texts[1]);
}

/* The numbers below count in the order of their digits: 0, 1, 10, 2. NULL: no memory. */
static uint32_t *sorted_numbers(size_t count)
{
	uint32_t *numbers = malloc((count + 1) * sizeof(*numbers));

	for (uint32_t i = 0; numbers && i < count; i++)
		numbers[i] = i;
	if (numbers)
		qsort(numbers, count, sizeof(*numbers), compare_as_text);
	return numbers;
}

static void put_key(struct json *json, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, number);
	json_key(json, text);
}

static int put_names(const struct scaler *scaler, struct json *json, const struct callee_file *file,
		     struct error *err)
{
	uint32_t *numbers;

	if (!file->count) {
		json_null(json);
		return 0;
	}
	numbers = sorted_numbers(file->count);
	if (!numbers)
		return no_memory(err);
	json_begin(json, '{');
	for (uint32_t i = 0; i < file->count; i++) {
		put_key(json, numbers[i]);
		json_text(json, scaler->callees.sorted[file->first + numbers[i]]->name);
	}
	json_end(json);
	free(numbers);
	return 0;
}

static int put_symbols(const struct scaler *scaler, struct json *json,
		       const struct callee_file *file, struct error *err)
{
	int rc;

	json_begin(json, '{');
	json_key(json, "fileName");
	json_text(json, file->path);
	json_key(json, "funcNames");
	rc = put_names(scaler, json, file, err);
	json_end(json);
	return rc;
}

/* One id of an array that is null without any. */
static void put_id(struct json *json, bool *is_begun, uint32_t number)
{
	if (!*is_begun)
		json_begin(json, '[');
	*is_begun = true;
	json_unsigned(json, number);
}

/* Scaler's own functions first, in its order, then the others by name. */
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

static int put_common_ids(const struct scaler *scaler, struct json *json,
			  const struct callee_file *file, struct error *err)
{
	(void)err;
	json_begin(json, '{');
	json_key(json, "pthread");
	put_ids(scaler, json, file, TYPE_PTHREAD, pthread_functions);
	json_key(json, "semaphore");
	put_ids(scaler, json, file, TYPE_SEMAPHORE, semaphore_functions);
	json_end(json);
	return 0;
}

typedef int put_file(const struct scaler *scaler, struct json *json, const struct callee_file *file,
		     struct error *err);

static int put_files(const struct scaler *scaler, struct out *out, put_file *put, struct error *err)
{
	size_t count = scaler->callees.files.count;
	uint32_t *numbers = sorted_numbers(count);
	struct json json;
	int rc = 0;

	if (!numbers)
		return no_memory(err);
	json_start(&json, out, false);
	json_begin(&json, '{');
	for (size_t i = 0; i < count && rc == 0; i++) {
		put_key(&json, numbers[i]);
		rc = put(scaler, &json, scaler->callees.files.items[numbers[i]], err);
	}
	json_end(&json);
	free(numbers);
	return rc;
}

static int write_json(const struct scaler *scaler, struct outdir *directory, const char *name,
		      put_file *put, struct error *err)
{
	struct error later = { 0 };
	struct out out;
	int end, rc = outdir_create(directory, name, &out, err);

	if (rc)
		return rc;
	rc = put_files(scaler, &out, put, err);
	end = outdir_finish(directory, &out, &later);
	if (rc == 0 && end)
		*err = later;
	return rc ? rc : end;
}

/* the end */

static int number_functions(struct scaler *scaler, struct error *err)
{
	const struct callees *callees = &scaler->callees;
	const char *name = scaler->process->name;

	if (callees_finish(&scaler->callees, name ? name : ""))
		return no_memory(err);
	scaler->facts = calloc(callees->list.count + 1, sizeof(*scaler->facts));
	if (!scaler->facts)
		return no_memory(err);
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
	return 0;
}

static int write_files(struct scaler *scaler, struct outdir *directory, struct error *err)
{
	int rc = number_functions(scaler, err);

	if (rc == 0)
		rc = write_threads(scaler, directory, err);
	if (rc == 0)
		rc = write_json(scaler, directory, "commonFuncId.json", put_common_ids, err);
	if (rc == 0)
		rc = write_json(scaler, directory, "symbol.json", put_symbols, err);
	if (rc)
		return rc;
	/* Trees of an older run would not fit the new names. */
	if (scaler->force)
		outdir_remove(directory, "thread_0x", ".bin");
	return outdir_commit(directory, err);
}

/* Where the number-th process of the run goes once there are several. */
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

/* The first process did not know that it would not stay alone. */
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
	uint32_t *place;
	int rc;

	if (scaler->has_failed)
		return 0; /* it was told */
	if (!scaler->process || !scaler->process->has_tails)
		return refuse(err);
	place = ARRAY_ADD(&run.processes);
	if (!place)
		return no_memory(err);
	*place = scaler->process->pid;
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
	free(scaler->facts);
	outdir_close(&scaler->directory);
	free(scaler);
}
