/* SPDX-License-Identifier: MIT */
/* Scaler's names: the type and the number of each function, and the two files that list them. */
#include "dialects/scaler/scaler.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"

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

/* The document's patterns, which include more than Scaler hooked: trylock, init, destroy. */
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
	if (scaler_is_inferred(name))
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

void scaler_number_functions(struct scaler *scaler)
{
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

/* ---- JSON: keys are sorted as strings, empty lists are null ---- */

static int compare_as_text(const void *one, const void *two)
{
	char texts[2][16];

	snprintf(texts[0], sizeof(texts[0]), "%" PRIu32, *(const uint32_t *)one);
	snprintf(texts[1], sizeof(texts[1]), "%" PRIu32, *(const uint32_t *)two);
	return strcmp(texts[0], texts[1]);
}

/* The numbers below count, sorted as text: 0, 1, 10, 2. */
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

static void put_names(const struct scaler *scaler, struct json *json,
		      const struct callee_file *file)
{
	uint32_t *numbers;

	if (!file->count) {
		json_null(json);
		return;
	}
	numbers = sorted_numbers(file->count);
	json_begin(json, '{');
	for (uint32_t i = 0; i < file->count; i++) {
		put_key(json, numbers[i]);
		json_text(json, scaler->callees.sorted[file->first + numbers[i]]->name);
	}
	json_end(json);
	free(numbers);
}

static void put_symbols(const struct scaler *scaler, struct json *json,
			const struct callee_file *file)
{
	json_begin(json, '{');
	json_add_text(json, "fileName", file->path);
	json_key(json, "funcNames");
	put_names(scaler, json, file);
	json_end(json);
}

/* Adds an id to an array; without ids it will be null. */
static void put_id(struct json *json, bool *is_begun, uint32_t number)
{
	if (!*is_begun)
		json_begin(json, '[');
	*is_begun = true;
	json_unsigned(json, number);
}

/* Lists Scaler's own functions first, in its order, then the others by name. */
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

static void put_files(const struct scaler *scaler, struct out *out, put_file *put)
{
	size_t count = scaler->callees.files.count;
	uint32_t *numbers = sorted_numbers(count);
	struct json json;

	json_start(&json, out, false);
	json_begin(&json, '{');
	for (size_t i = 0; i < count; i++) {
		put_key(&json, numbers[i]);
		put(scaler, &json, scaler->callees.files.items[numbers[i]]);
	}
	json_end(&json);
	free(numbers);
}

static int write_json(const struct scaler *scaler, struct outdir *directory, const char *name,
		      put_file *put, struct error *err)
{
	struct error later = { 0 };
	struct out out;
	int end, rc = outdir_create(directory, name, &out, err);

	if (rc)
		return rc;
	put_files(scaler, &out, put);
	end = outdir_finish(directory, &out, &later);
	if (rc == 0 && end)
		*err = later;
	return rc ? rc : end;
}

int scaler_write_names(const struct scaler *scaler, struct outdir *directory, struct error *err)
{
	int rc = write_json(scaler, directory, "commonFuncId.json", put_common_ids, err);

	return rc ? rc : write_json(scaler, directory, "symbol.json", put_symbols, err);
}
