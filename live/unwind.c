/* SPDX-License-Identifier: MIT */
#include "live/unwind.h"

#include "base/sandbox.h"
#include "process/registers.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNWIND_SECONDS 20 /* for all threads */

/* ---- in the child: libdw over what was copied ---- */

struct walk {
	struct live_process *process;
	const struct live_thread *thread; /* libdw does not say whose memory it asks for */
	int *files;			  /* one for each mapping; -1: none */
};

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread)
{
	(void)dwfl;
	(void)context;
	(void)thread;
	return 0;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *context, void **found)
{
	struct live_process *process = ((struct walk *)context)->process;

	(void)dwfl;
	for (size_t i = 0; i < process->thread_count; i++) {
		if (process->threads[i].tid != tid)
			continue;
		*found = &process->threads[i];
		return true;
	}
	return false;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *context)
{
	const struct live_thread *thread = ((struct walk *)context)->thread;
	uint64_t offset = address - thread->stack_at;

	(void)dwfl;
	if (address < thread->stack_at || thread->stack_size < sizeof(*word) ||
	    offset > thread->stack_size - sizeof(*word))
		return false;
	memcpy(word, thread->stack + offset, sizeof(*word));
	return true;
}

static bool set_registers(Dwfl_Thread *state, void *context)
{
	const struct live_thread *thread = context;
	const Dwarf_Word *all = (const Dwarf_Word *)thread->registers;
	const Dwarf_Word sp = thread->stack_at, pc = thread->pc;

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
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

/* Files were opened before; nothing is searched for. */
static const Dwfl_Callbacks file_callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static int take_frame(Dwfl_Frame *frame, void *context)
{
	struct live_thread *thread = context;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, NULL) || thread->frame_count == LIVE_FRAMES_MAX)
		return DWARF_CB_ABORT;
	thread->frames[thread->frame_count++] = pc;
	return DWARF_CB_OK;
}

/* Rules say so of functions that nobody called: _start, clone(). */
static bool has_no_caller(Dwfl *dwfl, uint64_t pc)
{
	Dwfl_Module *module = dwfl_addrmodule(dwfl, pc);
	Dwarf_Addr bias;
	Dwarf_CFI *rules = module ? dwfl_module_eh_cfi(module, &bias) : NULL;
	Dwarf_Frame *frame = NULL;
	Dwarf_Op memory[3], *operations = NULL;
	size_t count = 0;
	bool is_told;

	if (!rules || dwarf_cfi_addrframe(rules, pc - bias, &frame) < 0)
		return false;
	is_told = dwarf_frame_register(frame, dwarf_frame_info(frame, NULL, NULL, NULL), memory,
				       &operations, &count) == 0 &&
		  !operations && !count;
	free(frame);
	return is_told;
}

/*
 * To libdw a caller that is found by way of a register that nobody has read looks like none: so
 * does that of a function with a frame pointer, unless the thread was stopped.
 */
static void walk_thread(Dwfl *dwfl, struct walk *walk, struct live_thread *thread)
{
	thread->frame_count = 0;
	walk->thread = thread;
	if (thread->stack)
		thread->is_whole =
			dwfl_getthread_frames(dwfl, thread->tid, take_frame, thread) == 0 &&
			(thread->has_registers ||
			 (thread->frame_count > 1 &&
			  has_no_caller(dwfl, thread->frames[thread->frame_count - 1] - 1)));
}

static int *open_files(const struct live_process *process)
{
	int *files = calloc(process->maps.count + 1, sizeof(*files));

	for (size_t i = 0; files && i < process->maps.count; i++) {
		const struct mapping *mapping = &process->maps.items[i];

		files[i] =
			mapping->flags & MAPPING_EXECUTE ? mapping_open(mapping, process->pid) : -1;
	}
	return files;
}

static void report_modules(Dwfl *dwfl, const struct walk *walk)
{
	const struct live_process *process = walk->process;

	dwfl_report_begin(dwfl);
	for (size_t i = 0; i < process->maps.count; i++) {
		const struct mapping *mapping = &process->maps.items[i];

		if (walk->files[i] >= 0)
			dwfl_report_elf(dwfl, mapping->path, mapping->path, walk->files[i],
					maps_base(&process->maps, mapping), true);
	}
	dwfl_report_end(dwfl, NULL, NULL);
}

static bool write_all(int fd, const void *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t wrote = write(fd, (const char *)bytes + done, size - done);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return false;
		done += (size_t)wrote;
	}
	return true;
}

static void answer(int fd, const struct live_thread *thread)
{
	uint64_t count = thread->frame_count;
	uint8_t is_whole = thread->is_whole;

	write_all(fd, &count, sizeof(count));
	write_all(fd, &is_whole, sizeof(is_whole));
	write_all(fd, thread->frames, count * sizeof(*thread->frames));
}

/* The files are opened outside of the sandbox, and read inside. */
static void serve(struct live_process *process, int fd)
{
	struct walk walk = { .process = process, .files = open_files(process) };
	Dwfl *dwfl;

	alarm(UNWIND_SECONDS);
	sandbox_enter(&(struct sandbox_wish){ 0 });
	dwfl = walk.files ? dwfl_begin(&file_callbacks) : NULL;
	if (!dwfl)
		return;
	report_modules(dwfl, &walk);
	if (!dwfl_attach_state(dwfl, NULL, process->pid, &thread_callbacks, &walk))
		return;
	for (size_t i = 0; i < process->thread_count; i++) {
		walk_thread(dwfl, &walk, &process->threads[i]);
		answer(fd, &process->threads[i]);
	}
}

/* ---- in the parent: its answers, which are not believed either ---- */

static bool read_all(int fd, void *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t got = read(fd, (char *)bytes + done, size - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

static bool take_answer(int fd, struct live_thread *thread)
{
	uint64_t count;
	uint8_t is_whole;

	if (!read_all(fd, &count, sizeof(count)) || count > LIVE_FRAMES_MAX ||
	    !read_all(fd, &is_whole, sizeof(is_whole)))
		return false;
	thread->is_whole = is_whole == 1;
	thread->frame_count = (unsigned)count;
	return read_all(fd, thread->frames, count * sizeof(*thread->frames));
}

static void keep_innermost(struct live_thread *thread)
{
	if (thread->frame_count || thread->call.number < 0)
		return;
	thread->frames[0] = thread->pc;
	thread->frame_count = 1;
}

int live_unwind(struct live_process *process, struct error *err)
{
	int ends[2], status;
	bool answers = true;
	pid_t child;

	if (pipe(ends))
		return error_system(err, errno, "cannot make a pipe");
	child = fork();
	if (child == 0) {
		close(ends[0]);
		serve(process, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	for (size_t i = 0; child > 0 && i < process->thread_count; i++) {
		answers = answers && take_answer(ends[0], &process->threads[i]);
		if (!answers)
			process->threads[i].frame_count = 0;
		keep_innermost(&process->threads[i]);
	}
	close(ends[0]);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child < 0 ? error_system(err, errno, "cannot start a child") : 0;
}
