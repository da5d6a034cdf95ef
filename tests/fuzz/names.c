/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes what a child of the resolver does with a hostile ELF file and its DWARF. An input begins
 * with eight bytes: options; the first address to resolve, in pages; the distance between addresses
 * (two bytes); the size and the start of a mapping, in pages. The file follows. libdw and libelf
 * are those of the system, so they are not instrumented by a sanitizer.
 */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "resolver/demangle.h"
#include "resolver/module.h"

#define HEAD	   8u
#define ADDRESSES  64
#define FRAMES_MAX 64

/* a sum of all answers, so that no compiler removes the reads */
static volatile size_t seen;

static void write_file(const char *path, const uint8_t *bytes, size_t size)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	fuzz_check(fd >= 0 && write(fd, bytes, size) == (ssize_t)size,
		   "a file that is not written");
}

static void look_at_frame(const struct debug_frame *frame, enum demangle style)
{
	bool has_parameters = false;
	char *name = frame->name ? demangle(frame->name, style, &has_parameters) : NULL;

	seen += frame->name ? strlen(frame->name) : 0;
	seen += frame->file ? strlen(frame->file) + frame->line : 0;
	seen += name ? strlen(name) : 0;
	free(name);
}

static void ask(struct module *module, uint64_t address, enum demangle style)
{
	struct debug_frame frames[FRAMES_MAX];
	unsigned count = module_find(module, address, frames, FRAMES_MAX);
	char type[ALLOCATED_MAX];

	fuzz_check(count <= FRAMES_MAX, "more frames than there is room");
	for (unsigned i = 0; i < count; i++)
		look_at_frame(&frames[i], style);
	seen += module_allocated(module, address, type) ? strlen(type) : 0;
}

static void ask_all(struct module *module, const uint8_t *head)
{
	const struct layout *layout = &module_file(module)->layout;
	enum demangle style = (enum demangle)(head[0] / 32 % 3);
	uint64_t start = (uint64_t)head[1] * 4096;
	unsigned step = 1 + head[2] + head[3] * 256u;

	for (unsigned i = 0; i < ADDRESSES; i++) {
		uint64_t address = start + (uint64_t)i * step, found = address;

		if (i % 4 == 1)
			layout_offset_address(layout, address, &found);
		if (i % 4 == 2)
			layout_bias(layout, address, address + (uint64_t)head[4] * 4096, &found);
		seen += layout_is_code(layout, found);
		ask(module, found, style);
	}
}

/* Opens a file. In production, another process opens the files and passes the descriptors. */
static int open_file(void *context, const struct file_want *want)
{
	const struct resolve_options *options = context;

	return files_open(options, "/nonexistent/module", want);
}

/* Called when memory runs out. In production, the child of the resolver then ends, too. */
static void end_without_memory(void)
{
	exit(0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct module_request request = { .options.debug_dir = "/nonexistent",
					  .opener.open = open_file };
	enum resolve_reason reason;
	struct error err = { 0 };
	struct module *module;
	char path[100];

	if (size <= HEAD)
		return 0;
	snprintf(path, sizeof(path), "%s/module", fuzz_directory());
	write_file(path, bytes + HEAD, size - HEAD);
	request.options.symbols_only = bytes[0] % 8 == 7;
	request.options.inlines = bytes[0] & 8;
	request.options.full_path = bytes[0] & 16;
	request.opener.context = &request.options;
	request.file = open(path, O_RDONLY | O_CLOEXEC);
	memory_set_end(end_without_memory);
	if (module_open(&module, &request, &reason, &err)) {
		fuzz_check(err.text[0], "a refusal without words");
		return 0;
	}
	ask_all(module, bytes);
	module_close(module);
	return 0;
}
