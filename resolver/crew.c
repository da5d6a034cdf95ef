/* SPDX-License-Identifier: MIT */
#include "resolver/crew.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/order.h"
#include "resolver/cache.h"
#include "resolver/lookup.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JOBS_MAX     64
#define RESTARTS_MAX 3
/* Files that one module may ask for: programs with split debug information have thousands. */
#define WANTS_MAX 65536

static unsigned default_jobs(void)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);

	return count < 1 ? 1 : count > 8 ? 8 : (unsigned)count;
}

void crew_init(struct crew *crew, const struct resolve_options *options)
{
	*crew = (struct crew){ .options = *options };
	if (crew->options.jobs == 0)
		crew->options.jobs = default_jobs();
	if (crew->options.jobs > JOBS_MAX)
		crew->options.jobs = JOBS_MAX;
	table_init(&crew->answers);
}

static void remove_from(struct entry **items, size_t *count, const struct entry *entry)
{
	for (size_t i = 0; i < *count; i++) {
		if (items[i] == entry) {
			items[i] = items[--*count];
			return;
		}
	}
}

/* Ends the entry's child, if it has one. */
static void dismiss(struct crew *crew, struct entry *entry)
{
	if (entry->worker.pid)
		worker_end(&entry->worker, NULL, 0);
	remove_from(crew->staff.items, &crew->staff.count, entry);
}

void crew_free(struct crew *crew)
{
	while (crew->staff.count)
		dismiss(crew, crew->staff.items[0]);
	for (size_t i = 0; crew->answers.slots && i <= crew->answers.mask; i++)
		free(crew->answers.slots[i].item);
	table_free(&crew->answers);
	free(crew->active.items);
	free(crew->staff.items);
}

static void get_in_line(struct crew *crew, struct entry *entry)
{
	entry->state = ENTRY_IN_LINE;
	entry->next = NULL;
	if (crew->last)
		crew->last->next = entry;
	else
		crew->first = entry;
	crew->last = entry;
}

void crew_ask(struct crew *crew, struct resolve_ask *ask)
{
	struct entry *entry = ask->place->entry;

	ask->next = entry->asks;
	entry->asks = ask;
	if (entry->state == ENTRY_RESTING)
		get_in_line(crew, entry);
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

static struct answer *find_answer(const struct crew *crew, const struct entry *entry,
				  uint64_t address)
{
	const struct answer_key key = { .entry = entry, .address = address };

	return table_find(&crew->answers, hash_two(crew->answers.seed, (uintptr_t)entry, address),
			  is_answer, &key);
}

void crew_add_answer(struct crew *crew, const struct entry *entry, struct answer *answer)
{
	uint64_t hash = hash_two(crew->answers.seed, (uintptr_t)entry, answer->address);

	answer->owner = entry;
	for (unsigned i = 0; i < answer->count; i++)
		answer->symbols[i].module = entry->path;
	if (find_answer(crew, entry, answer->address) ||
	    table_add(&crew->answers, hash, answer) != 0)
		free(answer);
}

/* Makes room for one more child: the one that has not been asked for longest goes. */
static bool dismiss_oldest(struct crew *crew)
{
	struct entry *oldest = NULL;

	for (size_t i = 0; i < crew->staff.count; i++) {
		struct entry *entry = crew->staff.items[i];

		if (entry->state != ENTRY_OPENING && entry->state != ENTRY_ASKING &&
		    (!oldest || entry->used < oldest->used))
			oldest = entry;
	}
	if (oldest)
		dismiss(crew, oldest);
	return oldest;
}

static const char deleted[] = " (deleted)";

/*
 * Opens the module's file. What stands at the path of one that was deleted or replaced while it ran
 * only a build-id can prove to be the same.
 */
static int open_module(const struct crew *crew, struct entry *entry, struct error *err)
{
	int file = files_open_module(&crew->options, entry->file_path, err);
	size_t length = strlen(entry->file_path), mark = strlen(deleted);

	if (file >= 0 || length <= mark || strcmp(entry->file_path + length - mark, deleted) != 0)
		return file;
	if (!entry->build_id_size)
		return error_set(err, ENOENT, "was deleted or replaced while the program ran");
	entry->file_path[length - mark] = 0;
	return files_open_module(&crew->options, entry->file_path, err);
}

/* Starts the module's child, which first tells the facts. Returns 0 or a negative errno value. */
static int employ(struct crew *crew, struct entry *entry)
{
	struct error err = { 0 };
	cleanup_fd int file = open_module(crew, entry, &err);
	struct module_request request = {
		.machine = crew->machine,
		.options = crew->options,
		.build_id = entry->build_id,
		.build_id_size = entry->build_id_size,
		.is_special = entry->file_path[0] == '[',
		.reason = file == -ENOEXEC ? RESOLVE_REFUSED : RESOLVE_MISSING,
		.why = err.text,
	};
	struct entry **place;

	request.options.symbols_only |= entry->is_symbols_only;
	/* There is nothing to read, unless a build-id leads to a debug file. */
	if (file < 0 && (request.is_special || entry->build_id_size == 0)) {
		entry->facts.is_known = true;
		entry->facts.reason = request.reason;
		snprintf(entry->facts.text, sizeof(entry->facts.text), "%s", err.text);
		return 0;
	}
	if (crew->staff.count >= CREW_KEPT_MAX && crew->staff.count >= crew->options.jobs)
		dismiss_oldest(crew);
	place = ARRAY_ADD(&crew->staff);
	if (!place)
		return -ENOMEM;
	*place = entry;
	entry->is_employed = true;
	entry->state = ENTRY_OPENING;
	if (worker_start(&entry->worker, lookup_run, file, &request) == 0)
		return 0;
	entry->state = ENTRY_RESTING;
	crew->staff.count--;
	return -EAGAIN;
}

/* Where no further process may be started those that have nothing to do make room, one by one. */
static int employ_somehow(struct crew *crew, struct entry *entry)
{
	int failure = employ(crew, entry);

	while (failure && dismiss_oldest(crew))
		failure = employ(crew, entry);
	return failure;
}

/* Nothing more will be learnt of this module. */
static void give_up(struct entry *entry, const char *why)
{
	entry->is_given_up = true;
	free(entry->broken);
	entry->broken = memory_text(why);
}

/* Of what is not answered: fills the batch with the file's addresses, ascending, each once. */
static int compare(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return ORDER(*a, *b);
}

static void make_batch(struct entry *entry)
{
	size_t count = 0;

	entry->batch_count = entry->batch_done = 0;
	for (struct resolve_ask *ask = entry->asks; ask && count < WORKER_BATCH_MAX;
	     ask = ask->next)
		entry->batch[count++] = ask->found;
	qsort(entry->batch, count, sizeof(*entry->batch), compare);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || entry->batch[i] != entry->batch[i - 1])
			entry->batch[entry->batch_count++] = entry->batch[i];
	}
}

/* Takes out of the line what is answered or never will be. */
static void settle(const struct crew *crew, struct entry *entry)
{
	struct resolve_ask **place = &entry->asks;

	while (*place) {
		struct resolve_ask *ask = *place;
		bool is_usable = !entry->is_given_up && entry->facts.reason == RESOLVE_FINE;
		bool is_code = is_usable && place_address(ask->place, &entry->facts.layout,
							  ask->address, &ask->found);

		entry->is_misfit |=
			is_usable && !is_code && !place_fits(ask->place, &entry->facts.layout);
		if (is_code)
			ask->answer = find_answer(crew, entry, ask->found);
		if (is_code && !ask->answer)
			place = &ask->next;
		else
			*place = ask->next;
	}
}

static int ask_batch(struct entry *entry)
{
	if (!entry->batch)
		entry->batch = memory_zalloc(WORKER_BATCH_MAX, sizeof(*entry->batch));
	if (!entry->batch)
		return -ENOMEM;
	make_batch(entry);
	return worker_ask(&entry->worker, entry->batch, entry->batch_count);
}

/* Brings the entry as far as it comes without waiting. Returns false if there is nothing to do. */
static bool proceed(struct crew *crew, struct entry *entry)
{
	entry->idle = 0;
	entry->used = ++crew->step;
	entry->state = ENTRY_RESTING;
	if (!entry->is_cached)
		cache_load(crew, entry);
	if (entry->facts.is_known || entry->is_given_up)
		settle(crew, entry);
	if (!entry->asks)
		return false;
	if (entry->worker.pid && ask_batch(entry) == 0) {
		entry->state = ENTRY_ASKING;
		return true;
	}
	/* One that ended while it had nothing to do is no fault of the file's. */
	if (entry->worker.pid && entry->restarts++ == RESTARTS_MAX)
		give_up(entry, "reading it failed");
	dismiss(crew, entry);
	if (!entry->is_given_up && employ_somehow(crew, entry) != 0) {
		if (crew->active.count > 1) {
			/* Those that work will be done one day; from now on there are no more. */
			crew->options.jobs = (unsigned)crew->active.count - 1;
			get_in_line(crew, entry);
			return false;
		}
		give_up(entry, "no process could be started to read it (see ulimit -u)");
	}
	if (entry->worker.pid)
		return true;
	settle(crew, entry);
	return false;
}

/* The child is gone, or talks nonsense. */
static void replace(struct crew *crew, struct entry *entry)
{
	char why[256];

	worker_end(&entry->worker, why, sizeof(why));
	dismiss(crew, entry);
	entry->state = ENTRY_IN_LINE;
	if (entry->is_symbols_only || !entry->facts.is_known) {
		give_up(entry, why);
		return;
	}
	entry->is_symbols_only = true;
	free(entry->broken);
	entry->broken = memory_format("its debug information is not used: %s", why);
}

static int take_facts(struct entry *entry, const struct message *message)
{
	struct facts facts;
	int failure = entry->state == ENTRY_OPENING ? message_get_facts(message, &facts) : -EBADMSG;

	/* Facts are accepted once: a worker that repeats them would keep us busy for ever. */
	if (failure)
		return failure;
	/* A module's second child has nothing new to tell. */
	if (!entry->facts.is_known)
		entry->facts = facts;
	entry->state = ENTRY_IN_LINE;
	return 0;
}

static int take_answer(struct crew *crew, struct entry *entry, const struct message *message)
{
	struct answer *answer;
	int failure = message_get_answer(message, &answer);

	if (failure)
		return failure;
	if (entry->state != ENTRY_ASKING || answer->address != entry->batch[entry->batch_done]) {
		free(answer);
		return -EBADMSG;
	}
	crew_add_answer(crew, entry, answer);
	if (++entry->batch_done == entry->batch_count)
		entry->state = ENTRY_IN_LINE;
	return 0;
}

static int give_file(const struct crew *crew, struct entry *entry, const struct message *message)
{
	struct file_want want;
	cleanup_fd int file = -1;
	int failure = message_get_want(message, &want);

	if (failure || entry->wants++ == WANTS_MAX)
		return -EBADMSG;
	file = files_open(&crew->options, entry->file_path, &want);
	return worker_give(&entry->worker, file);
}

static int take_message(struct crew *crew, struct entry *entry, const struct message *message)
{
	switch (message->kind) {
	case MESSAGE_FACTS:
		return take_facts(entry, message);
	case MESSAGE_ANSWER:
		return take_answer(crew, entry, message);
	case MESSAGE_WANT:
		return give_file(crew, entry, message);
	}
	return -EBADMSG;
}

/* Hears what the child has to say. */
static void hear(struct crew *crew, struct entry *entry)
{
	struct message message;
	int found = worker_read(&entry->worker);

	entry->idle = 0;
	while (found == 0) {
		found = worker_next(&entry->worker, &message);
		if (found <= 0)
			break;
		found = take_message(crew, entry, &message);
	}
	if (found < 0)
		replace(crew, entry);
}

/* Fills the places that are free with modules in line. */
static void fill(struct crew *crew)
{
	while (crew->first && crew->active.count < crew->options.jobs) {
		struct entry *entry = crew->first;
		struct entry **place = ARRAY_ADD(&crew->active);

		if (!place)
			return;
		crew->first = entry->next;
		if (!crew->first)
			crew->last = NULL;
		*place = entry;
		if (!proceed(crew, entry))
			crew->active.count--;
	}
}

void crew_wait(struct crew *crew)
{
	struct pollfd polled[JOBS_MAX];

	for (fill(crew); crew->active.count; fill(crew)) {
		int ready;

		for (size_t i = 0; i < crew->active.count; i++)
			polled[i] = (struct pollfd){ .fd = crew->active.items[i]->worker.socket,
						     .events = POLLIN };
		/* Seconds are counted one by one: while we are stopped, so are the children. */
		ready = poll(polled, crew->active.count, 1000);
		for (size_t i = crew->active.count; i > 0 && ready >= 0; i--) {
			struct entry *entry = crew->active.items[i - 1];

			if (polled[i - 1].revents)
				hear(crew, entry);
			else if (ready == 0 && ++entry->idle == CREW_SECONDS_MAX)
				replace(crew, entry);
			/* One that has what it waited for goes on, or makes room. */
			if (entry->state == ENTRY_IN_LINE && !proceed(crew, entry))
				crew->active.items[i - 1] =
					crew->active.items[--crew->active.count];
		}
	}
}
