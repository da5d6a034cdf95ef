/* SPDX-License-Identifier: MIT */
#include "resolver/workers.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/order.h"
#include "resolver/cache.h"
#include "resolver/lookup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

void workers_add_answer(struct workers *workers, const struct entry *entry, struct answer *answer)
{
	uint64_t hash = hash_two(workers->answers.seed, (uintptr_t)entry, answer->address);

	answer->owner = entry;
	for (unsigned i = 0; i < answer->count; i++)
		answer->symbols[i].module = entry->path;
	if (find_answer(workers, entry, answer->address) ||
	    hash_table_add(&workers->answers, hash, answer) != 0)
		free(answer);
}

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
 * Opens the module's file. If the path ends with " (deleted)", the module was deleted or replaced
 * while the program ran; then opens the file at its former path, but only if a build-id can prove
 * that it is the mapped file.
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

/*
 * Fills the batch with the file addresses of the unanswered requests, in ascending order, each
 * once.
 */
static void make_batch(struct entry *entry)
{
	size_t count = 0;

	entry->batch_count = 0;
	for (struct resolve_ask *ask = entry->asks; ask && count < WORKER_BATCH_MAX;
	     ask = ask->next)
		entry->batch[count++] = ask->found;
	qsort(entry->batch, count, sizeof(*entry->batch), by_address);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || entry->batch[i] != entry->batch[i - 1])
			entry->batch[entry->batch_count++] = entry->batch[i];
	}
}

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
 * Called if the child has died or has sent an invalid message. Marks the module as unreadable if
 * the child had not sent the facts yet, or already read only the symbol table. Otherwise the next
 * child reads only the symbol table.
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

/* Waits for the next message, and answers requests for files that come before it. */
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
	/* limit the number of children to those that are working now */
	if (failure && others)
		workers->options.jobs = (unsigned)others;
	else if (failure)
		give_up(entry, "no process could be started to read it (see ulimit -u)");
}

/* The second step: receives the facts, and sends addresses. */
static void request_answers(struct workers *workers, struct entry *entry)
{
	struct message message;
	struct facts facts;

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
	make_batch(entry);
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

/* The third step: receives the answers. */
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
		workers_add_answer(workers, entry, answer);
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
