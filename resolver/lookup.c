/* SPDX-License-Identifier: MIT */
#include "resolver/lookup.h"

#include "base/cleanup.h"
#include "base/table.h"
#include "resolver/demangle.h"
#include "resolver/message.h"
#include "resolver/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Answers wait for company at most this long, and in at most so many bytes. */
#define SEND_NS	  200000000
#define SEND_SIZE (32u << 10)

static const char deleted[] = " (deleted)";

/* A linker name and what it reads as. Names are known by where they lie in their file. */
struct name {
	const char *mangled;
	const char *text;
	char *owned;
	bool has_parameters;
};

struct lookup {
	int socket;
	const struct module_request *request;
	struct module *module;
	struct message_buffer out;
	struct table names;
	uint64_t sent_ns;
};

/* Does path say that the file was deleted or replaced while it ran? */
static bool is_deleted(const char *path)
{
	size_t length = strlen(path), mark = strlen(deleted);

	return length > mark && strcmp(path + length - mark, deleted) == 0;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int send_out(struct lookup *lookup)
{
	lookup->sent_ns = now_ns();
	return worker_send(lookup->socket, &lookup->out);
}

static void tell_progress(void *context, const char *text)
{
	struct lookup *lookup = context;

	if (message_put_progress(&lookup->out, text) == 0)
		send_out(lookup);
}

/* Opens what stands at the path now, which only a build-id can prove to be the same. */
static int open_deleted(struct lookup *lookup, struct module_request *request,
			enum resolve_reason *reason, struct error *err)
{
	size_t length = strlen(request->path) - strlen(deleted);
	cleanup_free char *path = strndup(request->path, length);
	enum resolve_reason ignored;

	*reason = RESOLVE_MISSING;
	if (!path || !request->build_id_size)
		return error_set(err, ENOENT, "was deleted or replaced while the program ran");
	request->path = path;
	return module_open(&lookup->module, request, &ignored, err);
}

static void open_files(struct lookup *lookup, struct facts *facts, struct error *err)
{
	struct module_request request = *lookup->request;
	int failure;

	request.progress = tell_progress;
	request.progress_context = lookup;
	failure = module_open(&lookup->module, &request, &facts->reason, err);
	if (failure && is_deleted(request.path))
		failure = open_deleted(lookup, &request, &facts->reason, err);
	if (failure)
		facts->text = err->text;
	else
		facts->reason = RESOLVE_FINE;
}

static void take_facts(struct lookup *lookup, struct facts *facts)
{
	const struct elffile *file = module_file(lookup->module);

	facts->has_symbols = module_has_symbols(lookup->module);
	facts->layout = file->layout;
	facts->layout.is_debug = !lookup->module->file;
	if (file->build_id_size > sizeof(facts->build_id))
		return;
	facts->build_id_size = (unsigned)file->build_id_size;
	if (facts->build_id_size)
		memcpy(facts->build_id, file->build_id, file->build_id_size);
}

static int tell_facts(struct lookup *lookup)
{
	struct facts facts = { 0 };
	struct error err = { 0 };
	int failure;

	open_files(lookup, &facts, &err);
	if (lookup->module)
		take_facts(lookup, &facts);
	failure = message_put_facts(&lookup->out, &facts);
	return failure ? failure : send_out(lookup);
}

static void read_name(const struct lookup *lookup, struct name *name)
{
	enum demangle style = lookup->request->options->demangle;
	const char *version = strchr(name->mangled, '@');

	name->owned = demangle(name->mangled, style, &name->has_parameters);
	/* Symbol tables may say memcpy@@GLIBC_2.14. */
	if (!name->owned && version && version > name->mangled) {
		char *plain = strndup(name->mangled, (size_t)(version - name->mangled));

		name->owned = plain ? demangle(plain, style, &name->has_parameters) : NULL;
		if (name->owned)
			free(plain);
		else
			name->owned = plain;
	}
	name->text = demangle_plain(name->owned ? name->owned : name->mangled);
}

static bool is_name(const void *item, const void *key)
{
	return ((const struct name *)item)->mangled == key;
}

/* Returns what name reads as, or NULL without memory. */
static const struct name *find_name(struct lookup *lookup, const char *mangled)
{
	uint64_t hash = hash_two(lookup->names.seed, (uintptr_t)mangled, 0);
	struct name *name = table_find(&lookup->names, hash, is_name, mangled);

	if (name)
		return name;
	name = calloc(1, sizeof(*name));
	if (!name)
		return NULL;
	name->mangled = mangled;
	read_name(lookup, name);
	if (table_add(&lookup->names, hash, name) == 0)
		return name;
	free(name->owned);
	free(name);
	return NULL;
}

static void make_symbol(struct lookup *lookup, const struct debug_frame *frame,
			struct symbol *symbol)
{
	const struct name *name = frame->name ? find_name(lookup, frame->name) : NULL;
	const char *slash = frame->file ? strrchr(frame->file, '/') : NULL;

	*symbol = (struct symbol){ .file = frame->file, .line = frame->line };
	if (slash && slash[1] && !lookup->request->options->full_path)
		symbol->file = slash + 1;
	if (name) {
		symbol->function = name->text;
		symbol->has_parameters = name->has_parameters;
	}
}

static int answer(struct lookup *lookup, uint64_t address)
{
	unsigned max = lookup->request->options->inlines ? RESOLVE_FRAMES_MAX : 1;
	struct debug_frame frames[RESOLVE_FRAMES_MAX];
	struct symbol symbols[RESOLVE_FRAMES_MAX];
	unsigned count;

	worker_restart_clock();
	count = module_find(lookup->module, address, frames, max);
	if (count > max)
		count = max;
	for (unsigned i = 0; i < count; i++)
		make_symbol(lookup, &frames[i], &symbols[i]);
	return message_put_answer(&lookup->out, address, symbols, count);
}

static int answer_all(struct lookup *lookup, const uint64_t *addresses, size_t count)
{
	int failure = 0;

	lookup->sent_ns = now_ns();
	for (size_t i = 0; i < count && !failure; i++) {
		failure = answer(lookup, addresses[i]);
		if (!failure &&
		    (lookup->out.count >= SEND_SIZE || now_ns() - lookup->sent_ns >= SEND_NS))
			failure = send_out(lookup);
	}
	return failure ? failure : send_out(lookup);
}

void lookup_run(int socket, const void *job)
{
	struct lookup lookup = { .socket = socket, .request = job };
	uint64_t addresses[WORKER_BATCH_MAX];
	size_t count;

	table_init(&lookup.names);
	if (tell_facts(&lookup) != 0 || !lookup.module)
		return;
	while ((count = worker_question(socket, addresses)) > 0) {
		if (answer_all(&lookup, addresses, count) != 0)
			return;
	}
	/* The process ends here, and everything with it. */
}
