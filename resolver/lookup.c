/* SPDX-License-Identifier: MIT */
#include "resolver/lookup.h"

#include "base/memory.h"
#include "base/hash_table.h"
#include "resolver/demangle.h"
#include "resolver/message.h"
#include "resolver/worker.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Answers are sent in groups: at the latest after this many nanoseconds or bytes. */
#define SEND_NS	  200000000
#define SEND_SIZE (32 << 10)

/*
 * A linker name and its readable form. In the hash table, the key is the address of the linker name
 * in the mapped file.
 */
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
	FILE *out;
	struct hash_table names;
	uint64_t sent_ns;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * Sends the answers. If the parent has closed the socket, it needs no more answers, and this
 * function ends the process.
 */
static void send_out(struct lookup *lookup)
{
	lookup->sent_ns = now_ns();
	if (fflush(lookup->out) != 0)
		_exit(0);
}

static int open_file(void *context, const struct file_want *want)
{
	struct lookup *lookup = context;

	message_put(lookup->out, MESSAGE_WANT, want, sizeof(*want));
	send_out(lookup);
	return worker_take(lookup->socket);
}

static void tell_facts(struct lookup *lookup)
{
	struct facts facts = { 0 };
	struct error err = { 0 };
	enum resolve_reason reason;

	if (module_open(&lookup->module, lookup->request, &reason, &err) != 0) {
		snprintf(facts.text, sizeof(facts.text), "%.255s", err.text);
	} else {
		const struct elffile *file = module_file(lookup->module);

		facts.has_symbols = module_has_symbols(lookup->module);
		facts.layout = file->layout;
		facts.layout.is_debug = !lookup->module->file;
		if (file->build_id_size <= sizeof(facts.build_id))
			facts.build_id_size = (uint32_t)file->build_id_size;
		if (facts.build_id_size)
			memcpy(facts.build_id, file->build_id, facts.build_id_size);
	}
	facts.reason = reason;
	message_put(lookup->out, MESSAGE_FACTS, &facts, sizeof(facts));
	send_out(lookup);
}

static void read_name(const struct lookup *lookup, struct name *name, const char *generics)
{
	enum demangle style = lookup->request->options.demangle;
	const char *version = strchr(name->mangled, '@');

	name->owned = demangle(name->mangled, style, &name->has_parameters);
	/* remove the version that names in symbol tables may have: memcpy@@GLIBC_2.14 */
	if (!name->owned && version && version > name->mangled) {
		char *plain = memory_text_part(name->mangled, (size_t)(version - name->mangled));

		name->owned = demangle(plain, style, &name->has_parameters);
		if (name->owned)
			free(plain);
		else
			name->owned = plain;
	}
	if (name->owned && generics && style == DEMANGLE_SHORT) {
		char *plain = name->owned;

		name->owned = memory_format("%s%s", plain, generics);
		free(plain);
	}
	name->text = demangle_plain(name->owned ? name->owned : name->mangled);
}

static bool is_name(const void *item, const void *key)
{
	return ((const struct name *)item)->mangled == key;
}

static const struct name *find_name(struct lookup *lookup, const char *mangled,
				    const char *generics)
{
	uint64_t hash = hash_two(lookup->names.seed, (uintptr_t)mangled, 0);
	struct name *name = hash_table_find(&lookup->names, hash, is_name, mangled);

	if (name)
		return name;
	name = memory_zalloc(1, sizeof(*name));
	name->mangled = mangled;
	read_name(lookup, name, generics);
	hash_table_add(&lookup->names, hash, name);
	return name;
}

static void answer_type(struct lookup *lookup, uint64_t address)
{
	struct symbol symbol = { 0 };
	char type[ALLOCATED_MAX];

	if (module_allocated(lookup->module, address & ~WORKER_TYPE, type))
		symbol.function = type;
	message_put_answer(lookup->out, address, &symbol, 1);
}

static void answer_address(struct lookup *lookup, uint64_t address)
{
	unsigned max = lookup->request->options.inlines ? RESOLVE_FRAMES_MAX : 1;
	struct debug_frame frames[RESOLVE_FRAMES_MAX];
	struct symbol symbols[RESOLVE_FRAMES_MAX];
	unsigned count;

	worker_restart_clock();
	if (address & WORKER_TYPE) {
		answer_type(lookup, address);
		return;
	}
	count = module_find(lookup->module, address, frames, max);
	if (count > max)
		count = max;
	for (unsigned i = 0; i < count; i++) {
		const struct debug_frame *frame = &frames[i];
		const struct name *name =
			frame->name ? find_name(lookup, frame->name, frame->generics) : NULL;
		const char *slash = frame->file ? strrchr(frame->file, '/') : NULL;

		symbols[i] = (struct symbol){ .file = frame->file, .line = frame->line };
		if (slash && slash[1] && !lookup->request->options.full_path)
			symbols[i].file = slash + 1;
		if (name) {
			symbols[i].function = name->text;
			symbols[i].has_parameters = name->has_parameters;
		}
	}
	message_put_answer(lookup->out, address, symbols, count);
	if (now_ns() - lookup->sent_ns >= SEND_NS)
		send_out(lookup);
}

void lookup_run(int socket, int file, const void *job)
{
	struct module_request request = *(const struct module_request *)job;
	struct lookup lookup = { .socket = socket, .request = &request };
	uint64_t addresses[WORKER_BATCH_MAX];
	size_t count;

	request.file = file;
	request.opener = (struct file_opener){ open_file, &lookup };
	lookup.out = fdopen(socket, "w");
	if (!lookup.out)
		return;
	setvbuf(lookup.out, NULL, _IOFBF, SEND_SIZE);
	hash_table_init(&lookup.names);
	tell_facts(&lookup);
	while (lookup.module && (count = worker_question(socket, addresses)) > 0) {
		lookup.sent_ns = now_ns();
		for (size_t i = 0; i < count; i++)
			answer_address(&lookup, addresses[i]);
		send_out(&lookup);
	}
	/* do not free anything, because the process ends when this function returns */
}
