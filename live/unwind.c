/* SPDX-License-Identifier: MIT */
#include "live/running.h"

#include "base/sandbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNWIND_SECONDS 20 /* for all threads */

/* What the child found out of a thread, in memory that it shares with its parent. */
struct answer {
	unsigned frame_count;
	bool is_whole;
	uint64_t frames[LIVE_FRAMES_MAX];
};

/* ---- in the child: libdw over what was copied ---- */

static int take_frame(Dwfl_Frame *frame, void *context)
{
	struct answer *answer = context;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, NULL) || answer->frame_count == LIVE_FRAMES_MAX)
		return DWARF_CB_ABORT;
	answer->frames[answer->frame_count++] = pc;
	return DWARF_CB_OK;
}

/* Rules say so of functions that have no caller: _start, clone(). */
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
 * To libdw a caller that is found by way of a register that was not read looks like none: so does
 * that of a function with a frame pointer, unless the thread was stopped.
 */
static void walk_thread(struct frames *frames, const struct frames_thread *start,
			struct answer *answer)
{
	answer->is_whole = start->stack.bytes && frames_walk(frames, start, take_frame, answer) &&
			   (start->has_registers ||
			    (answer->frame_count > 1 &&
			     has_no_caller(frames_modules(frames),
					   answer->frames[answer->frame_count - 1] - 1)));
}

/* The files are opened outside of the sandbox, and read inside. */
static void walk_all(const struct live_process *process, struct answer *answers)
{
	struct frames *frames = frames_open(&process->subject);

	alarm(UNWIND_SECONDS);
	sandbox_enter(&(struct sandbox_wish){ 0 });
	for (size_t i = 0; frames && i < process->thread_count; i++)
		walk_thread(frames, &process->threads[i].start, &answers[i]);
	_exit(0);
}

/* ---- in the parent: its answers, which are not believed either ---- */

static void take_answer(struct live_thread *thread, const struct answer *answer)
{
	thread->is_whole = answer->is_whole;
	thread->frame_count =
		answer->frame_count < LIVE_FRAMES_MAX ? answer->frame_count : LIVE_FRAMES_MAX;
	memcpy(thread->frames, answer->frames, sizeof(thread->frames));
	/* without an answer the innermost frame is known */
	if (!thread->frame_count && thread->call.number >= 0) {
		thread->frames[0] = thread->start.pc;
		thread->frame_count = 1;
	}
}

int live_unwind(struct live_process *process, struct error *err)
{
	size_t size = (process->thread_count + 1) * sizeof(struct answer);
	struct answer *answers =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	if (answers == MAP_FAILED)
		return error_system(err, errno, "process %d", process->subject.pid);
	child = fork();
	if (child == 0)
		walk_all(process, answers);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	for (size_t i = 0; child > 0 && i < process->thread_count; i++)
		take_answer(&process->threads[i], &answers[i]);
	munmap(answers, size);
	return child < 0 ? error_system(err, errno, "cannot start a child") : 0;
}
