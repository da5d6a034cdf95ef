/* SPDX-License-Identifier: MIT */
#include "resolver/workers.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/order.h"
#include "resolver/module.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOBS_MAX     64
#define RESTARTS_MAX 3
/*
 * Limit of the files that the child of a module may request. A program with split debug information
 * may have thousands of files.
 */
#define WANTS_MAX 65536

void workers_init(struct workers *workers, const struct resolve_options *options)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	*workers = (struct workers){ .options = *options };
	if (workers->options.jobs == 0)
		workers->options.jobs = processors < 1	 ? 1
					: processors > 8 ? 8
							 : (unsigned)processors;
	if (workers->options.jobs > JOBS_MAX)
		workers->options.jobs = JOBS_MAX;
	hash_table_init(&workers->answers);
}

/*
 * Ends the child of a module, if it has one. why: buffer for a text that says why the child ended,
 * or NULL.
 */
static void end_child(struct workers *workers, struct entry *entry, char *why, size_t size)
{
	size_t left = 0;

	if (!entry->worker.pid)
		return;
	worker_end(&entry->worker, why, size);
	for (size_t i = 0; i < workers->staff.count; i++)
		if (workers->staff.items[i] != entry)
			workers->staff.items[left++] = workers->staff.items[i];
	workers->staff.count = left;
}

void workers_free(struct workers *workers)
{
	while (workers->staff.count)
		end_child(workers, workers->staff.items[0], NULL, 0);
	for (size_t i = 0; workers->answers.slots && i <= workers->answers.mask; i++)
		free(workers->answers.slots[i].item);
	hash_table_free(&workers->answers);
	free(workers->line.items);
	free(workers->staff.items);
}

void workers_ask(struct workers *workers, struct resolve_ask *ask)
{
	struct entry *entry = ask->place->entry, **place;

	ask->next = entry->asks;
	entry->asks = ask;
	place = ask->next ? NULL : ARRAY_ADD(&workers->line);
	if (place)
		*place = entry;
}

struct answer_key {
	const struct entry *entry;
	uint64_t address;
};

static bool is_answer(const void *item, const void *key)
{
	const struct answer *answer = item;
	const struct answer_key *wanted = key;

	return answer->address == wanted->address && answer->owner == wanted->entry;
}

static struct answer *find_answer(const struct workers *workers, const struct entry *entry,
				  uint64_t address)
{
	const struct answer_key key = { .entry = entry, .address = address };

	return hash_table_find(&workers->answers,
			       hash_two(workers->answers.seed, (uintptr_t)entry, address),
			       is_answer, &key);
}

/* Stores an answer and takes ownership of it. A second answer for the same address is freed. */
static void add_answer(struct workers *workers, const struct entry *entry, struct answer *answer)
{
	uint64_t hash = hash_two(workers->answers.seed, (uintptr_t)entry, answer->address);

	answer->owner = entry;
	for (unsigned i = 0; i < answer->count; i++)
		answer->symbols[i].module = entry->path;
	if (find_answer(workers, entry, answer->address) ||
	    hash_table_add(&workers->answers, hash, answer) != 0)
		free(answer);
}

/* ---- the cache ---- */

#define CACHE_SIZE_MAX (256u << 20)

/* The start of each cache file. A file of another version or byte order is ignored and replaced. */
static const uint64_t cache_mark = UINT64_C(0x0002736d616e7468);

int cache_open(const char *directory, struct error *err)
{
	struct stat status;

	if (mkdir(directory, 0777) != 0 && errno != EEXIST)
		return error_system(err, errno, "%s: cannot create this directory for names",
				    directory);
	if (stat(directory, &status) == 0 && !S_ISDIR(status.st_mode))
		return error_set(err, ENOTDIR, "%s: cannot store names there: not a directory",
				 directory);
	if (access(directory, R_OK | X_OK) != 0)
		return error_system(err, errno, "%s: cannot be read", directory);
	return 0;
}

/*
 * Returns the path of the cache file for this module and the style of names that the options
 * select, or NULL if the module's answers are not cached. The caller frees it.
 */
static char *path_of(const struct workers *workers, const struct entry *entry)
{
	const struct resolve_options *options = &workers->options;
	char digits[2 * FILES_BUILD_ID_MAX + 1] = "";
	const uint8_t *build_id = entry->build_id_size ? entry->build_id : entry->facts.build_id;
	unsigned size = entry->build_id_size ? entry->build_id_size : entry->facts.build_id_size;

	if (!options->cache || options->symbols_only || entry->broken || size < 8)
		return NULL;
	for (unsigned i = 0; i < size; i++)
		sprintf(digits + 2 * i, "%02x", build_id[i]);
	return memory_format("%s/%s-%c%u%c.names", options->cache, digits,
			     options->inlines ? 'i' : 'o', options->demangle,
			     options->full_path ? 'p' : 'b');
}

/* Returns the contents of the file, or NULL. The caller frees them. */
static char *read_whole(const char *path, size_t *size)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
	cleanup_file FILE *file = NULL;
	struct stat status;
	char *bytes;

	if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
	    status.st_size > CACHE_SIZE_MAX)
		return NULL;
	bytes = memory_alloc((size_t)status.st_size);
	file = fdopen(fd, "r");
	if (!file) {
		free(bytes);
		return NULL;
	}
	fd = -1;
	*size = bytes ? fread(bytes, 1, (size_t)status.st_size, file) : 0;
	return bytes;
}

/* Loads the module's answers from the cache, if the module's build-id is known. */
static void cache_load(struct workers *workers, struct entry *entry)
{
	cleanup_free char *path = path_of(workers, entry);
	cleanup_free char *bytes = NULL;
	size_t size = 0, used = sizeof(cache_mark);
	struct message message;
	struct answer *answer;
	struct facts facts;

	/*
	 * if neither the trace nor the file has given the build-id yet, a later call will try again
	 */
	entry->is_cached = path || entry->facts.is_known || entry->is_given_up;
	if (path)
		bytes = read_whole(path, &size);
	if (!bytes || size < sizeof(cache_mark) ||
	    memcmp(bytes, &cache_mark, sizeof(cache_mark)) != 0)
		return;
	while (message_next(bytes, size, &used, &message) == 1)
		if (message_get_answer(&message, &answer) == 0)
			add_answer(workers, entry, answer);
		else if (!entry->facts.is_known && message_get_facts(&message, &facts) == 0 &&
			 facts.reason == RESOLVE_FINE)
			entry->facts = facts;
}

/* Replaces the cache file atomically, because other processes may use it at the same time. */
static void save_module(const struct workers *workers, const struct entry *entry, const char *path)
{
	cleanup_free char *fresh = memory_format("%s.XXXXXX", path);
	int fd = fresh ? mkostemp(fresh, O_CLOEXEC) : -1;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	bool has_failed;

	if (!file && fd >= 0) {
		close(fd);
		unlink(fresh);
	}
	if (!file)
		return;
	fwrite(&cache_mark, sizeof(cache_mark), 1, file);
	message_put(file, MESSAGE_FACTS, &entry->facts, sizeof(entry->facts));
	for (size_t i = 0; workers->answers.slots && i <= workers->answers.mask; i++) {
		const struct answer *answer = workers->answers.slots[i].item;
		bool is_whole = answer && answer->owner == entry;

		for (unsigned k = 0; is_whole && k < answer->count; k++)
			is_whole = answer->symbols[k].function && answer->symbols[k].file &&
				   answer->symbols[k].line;
		if (is_whole)
			message_put_answer(file, answer->address, answer->symbols, answer->count);
	}
	has_failed = ferror(file);
	if (fclose(file) != 0 || has_failed || rename(fresh, path) != 0)
		unlink(fresh);
}

void cache_save(const struct workers *workers, struct entry *const *entries, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct entry *entry = entries[i];
		cleanup_free char *path = path_of(workers, entry);

		/* without a child process, there are no new answers */
		if (path && entry->is_employed && entry->facts.reason == RESOLVE_FINE &&
		    !entry->facts.layout.is_debug)
			save_module(workers, entry, path);
	}
}

/* ---- children ---- */

/* Ends the oldest of the idle children. Returns false if all children are working. */
static bool dismiss_oldest(struct workers *workers)
{
	for (size_t i = 0; i < workers->staff.count; i++) {
		if (workers->staff.items[i]->is_working)
			continue;
		end_child(workers, workers->staff.items[i], NULL, 0);
		return true;
	}
	return false;
}

static const char deleted[] = " (deleted)";

/*
 * Opens the module's file. A path that ends with " (deleted)" means that the module was deleted or
 * replaced while the program ran. Then this opens the file at its former path, but only if a
 * build-id can prove that it is the mapped file.
 */
static int open_module(const struct workers *workers, struct entry *entry, struct error *err)
{
	int file = files_open_module(&workers->options, entry->file_path, err);
	size_t length = strlen(entry->file_path), mark = strlen(deleted);

	if (file >= 0 || length <= mark || strcmp(entry->file_path + length - mark, deleted) != 0)
		return file;
	if (!entry->build_id_size)
		return error_set(err, ENOENT, "was deleted or replaced while the program ran");
	entry->file_path[length - mark] = 0;
	return files_open_module(&workers->options, entry->file_path, err);
}

/*
 * Starts the child of a module. The child first sends the facts. Returns 0 or a negative errno
 * value.
 */
static int start_child(struct workers *workers, struct entry *entry)
{
	struct error err = { 0 };
	cleanup_fd int file = open_module(workers, entry, &err);
	struct module_request request = {
		.machine = workers->machine,
		.options = workers->options,
		.build_id = entry->build_id,
		.build_id_size = entry->build_id_size,
		.is_special = entry->file_path[0] == '[',
		.reason = file == -ENOEXEC ? RESOLVE_REFUSED : RESOLVE_MISSING,
		.why = err.text,
	};
	struct entry **place;

	request.options.symbols_only |= entry->is_symbols_only;
	/*
	 * without a file, there is nothing to read, unless a debug file can be found by the
	 * build-id
	 */
	if (file < 0 && (request.is_special || entry->build_id_size == 0)) {
		entry->facts.is_known = true;
		entry->facts.reason = request.reason;
		snprintf(entry->facts.text, sizeof(entry->facts.text), "%.255s", err.text);
		return 0;
	}
	if (workers->staff.count >= WORKERS_KEPT_MAX &&
	    workers->staff.count >= workers->options.jobs)
		dismiss_oldest(workers);
	place = ARRAY_ADD(&workers->staff);
	if (!place)
		return -ENOMEM;
	*place = entry;
	entry->is_employed = entry->is_working = true;
	entry->is_open = false;
	if (worker_start(&entry->worker, lookup_run, file, &request) == 0)
		return 0;
	workers->staff.count--;
	return -EAGAIN;
}

/* Marks the module as one that cannot be read. why: the reason, for the user. */
static void give_up(struct entry *entry, const char *why)
{
	entry->is_given_up = true;
	free(entry->broken);
	entry->broken = memory_text(why);
}

ORDER_FUNCTION(by_address, uint64_t, ORDER(*a, *b))

/* Removes requests that are answered or cannot be answered. */
static void remove_settled(const struct workers *workers, struct entry *entry)
{
	struct resolve_ask **place = &entry->asks;

	while (*place) {
		struct resolve_ask *ask = *place;
		bool is_usable = !entry->is_given_up && entry->facts.reason == RESOLVE_FINE;
		bool is_code = is_usable && place_address(ask->place, &entry->facts.layout,
							  ask->address, &ask->found);

		if (ask->wants_type)
			ask->found |= WORKER_TYPE;
		entry->is_misfit |=
			is_usable && !is_code && !place_fits(ask->place, &entry->facts.layout);
		if (is_code)
			ask->answer = find_answer(workers, entry, ask->found);
		if (is_code && !ask->answer)
			place = &ask->next;
		else
			*place = ask->next;
	}
}

/*
 * Called if the child has died or has sent an invalid message. Gives the module up if the child had
 * not sent the facts yet, or already read only the symbol table. Otherwise the module's next child
 * reads only the symbol table.
 */
static void fall_back(struct workers *workers, struct entry *entry)
{
	bool is_last = entry->is_symbols_only || !entry->facts.is_known;
	char why[256];

	end_child(workers, entry, why, sizeof(why));
	if (is_last) {
		give_up(entry, why);
		return;
	}
	entry->is_symbols_only = true;
	free(entry->broken);
	entry->broken = memory_format("its debug information is not used: %s", why);
}

/* Waits for the child's next message. Until then, answers the child's requests for files. */
static int receive_message(const struct workers *workers, struct entry *entry,
			   struct message *message)
{
	for (;;) {
		struct file_want want;
		cleanup_fd int file = -1;
		int failure = worker_next(&entry->worker, message);

		if (failure || message_get_want(message, &want) != 0)
			return failure;
		if (entry->wants++ == WANTS_MAX)
			return -EBADMSG;
		file = files_open(&workers->options, entry->file_path, &want);
		failure = worker_give(&entry->worker, file);
		if (failure)
			return failure;
	}
}

/*
 * The first of three steps of a round: starts the child of a module if necessary. Each step is done
 * for all modules before the next step, so that the children read at the same time.
 */
static void prepare_child(struct workers *workers, struct entry *entry, size_t others)
{
	int failure;

	if (!entry->is_cached)
		cache_load(workers, entry);
	if (entry->facts.is_known || entry->is_given_up)
		remove_settled(workers, entry);
	if (!entry->asks)
		return;
	entry->is_working = entry->worker.pid;
	if (entry->is_working)
		return;
	/* if no process can be started, end idle children one by one and try again */
	do
		failure = start_child(workers, entry);
	while (failure && dismiss_oldest(workers));
	/* from now on, start no more children than are working now */
	if (failure && others)
		workers->options.jobs = (unsigned)others;
	else if (failure)
		give_up(entry, "no process could be started to read it (see ulimit -u)");
}

/* The second step of a round: receives the child's facts, and sends it the addresses. */
static void request_answers(struct workers *workers, struct entry *entry)
{
	struct message message;
	struct facts facts;
	size_t count = 0;

	entry->batch_count = 0;
	if (!entry->worker.pid)
		return;
	if (!entry->is_open) {
		if (receive_message(workers, entry, &message) != 0 ||
		    message_get_facts(&message, &facts) != 0) {
			fall_back(workers, entry);
			return;
		}
		entry->is_open = true;
		/* the second child of a module sends the same facts as the first one */
		if (!entry->facts.is_known)
			entry->facts = facts;
		if (!entry->is_cached)
			cache_load(workers, entry);
		remove_settled(workers, entry);
	}
	if (!entry->batch)
		entry->batch = memory_zalloc(WORKER_BATCH_MAX, sizeof(*entry->batch));
	if (!entry->batch)
		give_up(entry, "no memory");
	if (!entry->asks || !entry->batch)
		return;
	/* the file addresses of the unanswered requests, in ascending order, each once */
	for (struct resolve_ask *ask = entry->asks; ask && count < WORKER_BATCH_MAX;
	     ask = ask->next)
		entry->batch[count++] = ask->found;
	qsort(entry->batch, count, sizeof(*entry->batch), by_address);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || entry->batch[i] != entry->batch[i - 1])
			entry->batch[entry->batch_count++] = entry->batch[i];
	}
	if (worker_ask(&entry->worker, entry->batch, entry->batch_count) == 0)
		return;
	/*
	 * the child died while it was idle, so the file is not the cause; another child will be
	 * started
	 */
	entry->batch_count = 0;
	end_child(workers, entry, NULL, 0);
	if (entry->restarts++ == RESTARTS_MAX)
		give_up(entry, "reading it failed");
}

/* The third step of a round: receives the child's answers. */
static void receive_answers(struct workers *workers, struct entry *entry)
{
	struct message message;
	struct answer *answer;

	entry->is_working = false;
	for (size_t i = 0; i < entry->batch_count; i++) {
		if (receive_message(workers, entry, &message) != 0 ||
		    message_get_answer(&message, &answer) != 0) {
			fall_back(workers, entry);
			break;
		}
		if (answer->address != entry->batch[i]) {
			free(answer);
			fall_back(workers, entry);
			break;
		}
		add_answer(workers, entry, answer);
	}
	if (entry->facts.is_known || entry->is_given_up)
		remove_settled(workers, entry);
}

void workers_wait(struct workers *workers)
{
	while (workers->line.count) {
		struct entry **line = workers->line.items;
		size_t count = workers->line.count, left = 0;

		for (size_t i = 0; i < count && i < workers->options.jobs; i++)
			prepare_child(workers, line[i], i);
		if (count > workers->options.jobs)
			count = workers->options.jobs;
		for (size_t i = 0; i < count; i++)
			request_answers(workers, line[i]);
		for (size_t i = 0; i < count; i++)
			receive_answers(workers, line[i]);
		for (size_t i = 0; i < workers->line.count; i++)
			if (line[i]->asks)
				line[left++] = line[i];
		workers->line.count = left;
	}
}
