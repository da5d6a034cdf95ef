/* SPDX-License-Identifier: MIT */
#include "process/frames.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "process/core.h"

#define VDSO_MAX 65536u

struct frames {
	const struct subject *subject;
	Dwfl *dwfl;
	int *files; /* indexed by mapping: descriptor of its file; -1: none */
	size_t file_count;
	bool is_attached;
	/* the thread whose stack is being walked */
	const struct frames_thread *thread;
};

/* ---- files ---- */

/* Copies the vdso to a memfd, because the kernel maps the vdso without a file. */
static int copy_vdso(const struct subject *subject, const struct mapping *mapping)
{
	uint8_t bytes[VDSO_MAX];
	size_t size = mapping->to - mapping->from;
	int fd = size > sizeof(bytes) ? -1 : memfd_create("vdso", MFD_CLOEXEC);

	if (fd < 0 || (!subject_get(subject, mapping->from, bytes, size) &&
		       write(fd, bytes, size) == (ssize_t)size))
		return fd;
	close(fd);
	return -1;
}

/* Opens the module's file at the path in the core file, if the build-ids are equal. */
static int open_of_core(const struct subject *subject, const struct mapping *mapping)
{
	uint8_t id[CORE_BUILD_ID_MAX], found[CORE_BUILD_ID_MAX];
	uint32_t size = core_build_id(subject, -1, mapping->from, id);
	struct stat status;
	int fd = size && stat(mapping->path, &status) == 0 && S_ISREG(status.st_mode)
			 ? open(mapping->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
			 : -1;

	if (fd < 0 || (core_build_id(subject, fd, 0, found) == size && !memcmp(id, found, size)))
		return fd;
	close(fd);
	return -1;
}

struct frames *frames_open(const struct subject *subject)
{
	const struct maps *maps = &subject->maps;
	struct frames *frames = memory_zalloc(1, sizeof(*frames));

	frames->subject = subject;
	frames->files = memory_zalloc(maps->count, sizeof(*frames->files));
	frames->file_count = maps->count;
	for (size_t i = 0; i < frames->file_count; i++) {
		const struct mapping *mapping = &maps->items[i];

		if (!maps_begins_module(maps, mapping))
			frames->files[i] =
				strcmp(mapping->path, "[vdso]") ? -1 : copy_vdso(subject, mapping);
		else if (subject->core)
			frames->files[i] = open_of_core(subject, mapping);
		else
			frames->files[i] = mapping_open(mapping, subject->pid);
	}
	return frames;
}

/* ---- callbacks of libdw ---- */

static int find_no_elf(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
		       char **path, Elf **elf)
{
	(void)module, (void)user, (void)name, (void)base, (void)path, (void)elf;
	return -1;
}

/* Finds no debug files, because the mapped files themselves contain the unwinding rules. */
static int find_no_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
			     const char *file, const char *link, GElf_Word crc, char **path)
{
	(void)module, (void)user, (void)name, (void)base, (void)file, (void)link, (void)crc;
	(void)path;
	return -1;
}

static const Dwfl_Callbacks file_callbacks = {
	.find_elf = find_no_elf,
	.find_debuginfo = find_no_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static pid_t next_thread(Dwfl *dwfl, void *user, void **found)
{
	const struct frames *frames = user;

	(void)dwfl;
	if (*found)
		return 0;
	*found = user;
	return frames->thread->tid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *user, void **found)
{
	(void)dwfl, (void)tid;
	*found = user;
	return true;
}

static bool read_word(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *user)
{
	const struct frames *frames = user;
	const struct subject_stack *stack = &frames->thread->stack;

	(void)dwfl;
	if (!stack->bytes)
		return subject_get(frames->subject, address, word, sizeof(*word)) == 0;
	if (address < stack->from || stack->size < sizeof(*word) ||
	    address - stack->from > stack->size - sizeof(*word))
		return false;
	memcpy(word, stack->bytes + (address - stack->from), sizeof(*word));
	return true;
}

static bool set_registers(Dwfl_Thread *state, void *user)
{
	const struct frames *frames = user;
	const struct frames_thread *thread = frames->thread;
	const Dwarf_Word *all = (const Dwarf_Word *)thread->registers;
	const Dwarf_Word sp = thread->stack.from, pc = thread->pc;

	dwfl_thread_state_register_pc(state, pc);
	if (thread->has_registers)
		return dwfl_thread_state_registers(state, 0, REGISTERS_COUNT, all);
	return dwfl_thread_state_registers(state, REGISTERS_STACK, 1, &sp) &&
	       (REGISTERS_PC >= REGISTERS_COUNT ||
		dwfl_thread_state_registers(state, REGISTERS_PC, 1, &pc));
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_word,
	.set_initial_registers = set_registers,
};

/* ---- the walk ---- */

Dwfl *frames_modules(struct frames *frames)
{
	const struct maps *maps = &frames->subject->maps;

	if (frames->dwfl)
		return frames->dwfl;
	frames->dwfl = dwfl_begin(&file_callbacks);
	if (!frames->dwfl)
		return NULL;
	dwfl_report_begin(frames->dwfl);
	for (size_t i = 0; i < frames->file_count; i++) {
		const struct mapping *mapping = &maps->items[i];

		/* on success, libdw takes ownership of the descriptor */
		if (frames->files[i] >= 0 &&
		    dwfl_report_elf(frames->dwfl, mapping->path, mapping->path, frames->files[i],
				    mapping->from, false))
			frames->files[i] = -1;
	}
	dwfl_report_end(frames->dwfl, NULL, NULL);
	return frames->dwfl;
}

bool frames_walk(struct frames *frames, const struct frames_thread *thread,
		 int (*take)(Dwfl_Frame *frame, void *user), void *user)
{
	Dwfl *dwfl = frames_modules(frames);

	frames->thread = thread;
	if (dwfl && !frames->is_attached)
		frames->is_attached = dwfl_attach_state(dwfl, NULL, frames->subject->pid,
							&thread_callbacks, frames);
	return frames->is_attached && dwfl_getthread_frames(dwfl, thread->tid, take, user) == 0;
}

void frames_close(struct frames *frames)
{
	for (size_t i = 0; i < frames->file_count; i++)
		if (frames->files[i] >= 0)
			close(frames->files[i]);
	if (frames->dwfl)
		dwfl_end(frames->dwfl);
	free(frames->files);
	free(frames);
}
