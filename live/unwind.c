/* SPDX-License-Identifier: MIT */
#include "live/running.h"

#include "base/sandbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNWIND_SECONDS 20 /* limit for all threads */

/* The child's result for a thread, in shared memory. */
struct answer {
	unsigned frame_count;
	bool is_whole;
	uint64_t frames[LIVE_FRAMES_MAX];
};

/* ---- in the child: libdw with the copied stacks ---- */

static int take_frame(Dwfl_Frame *frame, void *context)
{
	struct answer *answer = context;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, NULL) || answer->frame_count == LIVE_FRAMES_MAX)
		return DWARF_CB_ABORT;
	answer->frames[answer->frame_count++] = pc;
	return DWARF_CB_OK;
}

/* Whether the unwinding rules say that the function has no caller: _start, clone(). */
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
 * For libdw, a caller that is found through an unread register looks like no caller. So only a
 * thread that was stopped, or a function without callers, proves that the walk is complete.
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

/* Opens the files outside of the sandbox and reads them inside. */
static void walk_all(const struct live_process *process, struct answer *answers)
{
	struct frames *frames = frames_open(&process->subject);

	alarm(UNWIND_SECONDS);
	sandbox_enter(&(struct sandbox_options){ 0 });
	for (size_t i = 0; frames && i < process->thread_count; i++)
		walk_thread(frames, &process->threads[i].start, &answers[i]);
	_exit(0);
}

/* ---- in the parent, which does not trust the results ---- */

static void take_answer(struct live_thread *thread, const struct answer *answer)
{
	thread->is_whole = answer->is_whole;
	thread->frame_count =
		answer->frame_count < LIVE_FRAMES_MAX ? answer->frame_count : LIVE_FRAMES_MAX;
	memcpy(thread->frames, answer->frames, sizeof(thread->frames));
	/* without a result at least the innermost frame is known */
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
