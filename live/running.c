/* SPDX-License-Identifier: MIT */
#include "live/look.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/sandbox.h"
#include "process/tracee.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWN_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)

static int refuse_process(int number, int pid, struct error *err)
{
	if (number == ENOENT || number == ESRCH)
		return error_set(err, ESRCH, "process %d does not exist", pid);
	if (number == EACCES || number == EPERM)
		return error_set(
			err, EACCES,
			"process %d cannot be examined: it belongs to another user, or "
			"/proc/sys/kernel/yama/ptrace_scope is not 0: run holdtrace as root",
			pid);
	return error_system(err, number, "cannot examine process %d", pid);
}

/* Returns the target of a link in /proc/PID, or NULL if it is unknown. The caller frees it. */
static char *read_link(int pid, const char *name)
{
	char target[PATH_MAX];

	return proc_link(pid, 0, name, target, sizeof(target)) ? memory_text(target) : NULL;
}

static bool is_same(int pid, const char *link)
{
	cleanup_free char *theirs = read_link(pid, link);
	cleanup_free char *ours = read_link(getpid(), link);

	return theirs && ours && !strcmp(theirs, ours);
}

/* ---- threads ---- */

void live_read_status(int pid, struct live_thread *thread)
{
	cleanup_free char *text = proc_text(pid, thread->tid, "status");
	const char *state = proc_value(text, "State");
	const char *waited = proc_value(text, "voluntary_ctxt_switches");
	const char *yielded = proc_value(text, "nonvoluntary_ctxt_switches");

	thread->state = state ? *state : '?';
	thread->switches = (waited ? strtoull(waited, NULL, 10) : 0) +
			   (yielded ? strtoull(yielded, NULL, 10) : 0);
}

static int read_thread(struct live_process *process, int tid, uint64_t now)
{
	struct live_thread *thread = &process->threads[process->thread_count];
	uint64_t ran;
	int status;

	memset(thread, 0, sizeof(*thread));
	thread->tid = tid;
	live_read_status(process->subject.pid, thread);
	thread->own_tid = proc_own_number(process->subject.pid, tid);
	if (!thread->own_tid)
		thread->own_tid = tid;
	status = proc_call(process->subject.pid, tid, &thread->call);
	if (status == -ESRCH || status == -ENOENT)
		return 0;
	thread->start = (struct frames_thread){ .tid = tid,
						.pc = thread->call.pc,
						.stack.from = thread->call.sp };
	proc_name(process->subject.pid, tid, thread->name, sizeof(thread->name));
	ran = proc_ran_ns(process->subject.pid, tid);
	thread->asleep_ns = thread->call.number >= 0 && ran && now > ran ? now - ran : 0;
	process->thread_count++;
	return status;
}

int live_look(struct live_process *process, int pid, struct error *err)
{
	cleanup_free char *root = read_link(pid, "root");
	cleanup_free int32_t *threads = NULL;
	cleanup_fd int exe = proc_open(pid, 0, "exe");
	unsigned char head[EI_NIDENT] = { 0 };
	char name[32];
	uint64_t now;
	size_t count;
	int status = 0;

	*process = (struct live_process){ 0 };
	subject_begin(&process->subject, pid);
	proc_name(pid, pid, process->name, sizeof(process->name));
	process->has_our_numbers = is_same(pid, "ns/pid");
	if (!root || strcmp(root, "/") != 0 || !is_same(pid, "ns/mnt"))
		process->root = memory_format("/proc/%d/root", pid);
	/* this program knows only the system calls and lock layouts of its own word size */
	if (exe >= 0 && read(exe, head, sizeof(head)) == sizeof(head) &&
	    head[EI_CLASS] != OWN_CLASS)
		return error_set(
			err, ENOTSUP,
			"process %d does not run a 64-bit program, and holdtrace shows the "
			"waits of 64-bit programs only",
			pid);
	now = proc_ran_ns(getpid(), getpid());
	threads = proc_threads(pid, &count);
	if (!count)
		return refuse_process(ESRCH, pid, err);
	process->left_out = count > LIVE_THREADS_MAX ? count - LIVE_THREADS_MAX : 0;
	process->threads = memory_zalloc(count - process->left_out, sizeof(*process->threads));
	for (size_t i = 0; !status && i < count - process->left_out; i++)
		status = read_thread(process, threads[i], now);
	if (status)
		return refuse_process(-status, pid, err);
	status = maps_read(&process->subject.maps, pid);
	if (status == -ENODATA)
		return error_set(err, ESRCH,
				 "process %d has no memory: it has ended, or is a kernel thread",
				 pid);
	if (status)
		return refuse_process(-status, pid, err);
	process->program = read_link(pid, "exe");
	for (size_t i = 0; i < process->thread_count && !process->program; i++) {
		snprintf(name, sizeof(name), "task/%d/exe", process->threads[i].tid);
		process->program = read_link(pid, name);
	}
	return 0;
}

void live_free(struct live_process *process)
{
	for (size_t i = 0; i < process->thread_count; i++)
		free(process->threads[i].start.stack.bytes);
	free(process->threads);
	subject_end(&process->subject);
	free(process->program);
	free(process->root);
	*process = (struct live_process){ 0 };
}

/* ---- memory and registers ---- */

/* Stops a thread and reads its registers. Returns false if it cannot be stopped. */
static bool stop_and_read(const struct live_process *process, struct live_thread *thread)
{
	struct stopping stopping;
	struct tracee tracee;

	stopping_look(&stopping, process->subject.pid, thread->tid);
	thread->objection =
		stopping.state == 'D' ? "an uninterruptible sleep" : stopping_objection(&stopping);
	if (!REGISTERS_COUNT || thread->objection)
		return false;
	if (tracee_ask(&tracee, &stopping) || tracee_await(&tracee) || !tracee.tid)
		return false;
	registers_copy(&tracee.registers, thread->start.registers);
	thread->start.pc = tracee.pc;
	thread->start.stack.from = tracee.sp;
	thread->start.has_registers = true;
	tracee_release(&tracee);
	return true;
}

/* The parameters and the result of read_stacks(). */
struct stacks {
	struct live_process *process;
	bool stops;
	size_t count;
};

static void *read_stacks(void *argument)
{
	struct stacks *stacks = argument;
	struct live_process *process = stacks->process;

	for (size_t i = 0; i < process->thread_count; i++) {
		struct live_thread *thread = &process->threads[i];

		if (thread->call.number < 0 || thread->is_whole)
			continue;
		if (stacks->stops && !stop_and_read(process, thread))
			continue;
		subject_copy_stack(&process->subject, thread->start.stack.from,
				   &thread->start.stack);
		stacks->count++;
	}
	return NULL;
}

size_t live_read_stacks(struct live_process *process, bool stops)
{
	struct stacks stacks = { .process = process, .stops = stops };

	if (stops)
		tracee_apart(read_stacks, &stacks);
	else
		read_stacks(&stacks);
	return stacks.count;
}

#define UNWIND_SECONDS 20 /* time limit for unwinding all threads */

/* The backtrace of a thread, which the child writes to shared memory. */
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

/* Whether the unwinding rules mark the function as one without a caller (_start, clone()). */
static bool has_no_caller(Dwfl *dwfl, uint64_t pc)
{
	Dwfl_Module *module = dwfl_addrmodule(dwfl, pc);
	Dwarf_Addr bias;
	Dwarf_CFI *rules = module ? dwfl_module_eh_cfi(module, &bias) : NULL;
	Dwarf_Frame *frame = NULL;
	Dwarf_Op memory[3], *operations = NULL;
	size_t count = 0;
	bool has_none;

	if (!rules || dwarf_cfi_addrframe(rules, pc - bias, &frame) < 0)
		return false;
	has_none = dwarf_frame_register(frame, dwarf_frame_info(frame, NULL, NULL, NULL), memory,
					&operations, &count) == 0 &&
		   !operations && !count;
	free(frame);
	return has_none;
}

/*
 * Finds the variable _PyRuntime of CPython. Stores its address in answer->frames[0] and the minor
 * version of Python in answer->frames[1].
 */
static int find_python(Dwfl_Module *module, void **data, const char *path, Dwarf_Addr start,
		       void *context)
{
	struct answer *answer = context;
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
	char *end = NULL;
	unsigned long minor = 0;
	int count;

	(void)data;
	(void)start;
	/* file names of a release build of CPython: python3.11, libpython3.11.so.1.0 */
	file += strncmp(file, "lib", 3) ? 0 : 3;
	if (!strncmp(file, "python3.", 8) && file[8] >= '0' && file[8] <= '9')
		minor = strtoul(file + 8, &end, 10);
	if (!minor || minor >= 1000 || (*end && strncmp(end, ".so", 3) != 0))
		return DWARF_CB_OK;
	count = dwfl_module_getsymtab(module);
	for (int i = 0; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		const char *name =
			dwfl_module_getsym_info(module, i, &symbol, &address, NULL, NULL, NULL);

		if (!name || symbol.st_shndx == SHN_UNDEF || strcmp(name, "_PyRuntime") != 0)
			continue;
		answer->frames[0] = address;
		answer->frames[1] = minor;
		return DWARF_CB_ABORT;
	}
	return DWARF_CB_OK;
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
	if (child == 0) {
		/* open the files before entering the sandbox, and read them inside the sandbox */
		struct frames *frames = frames_open(&process->subject);

		alarm(UNWIND_SECONDS);
		sandbox_enter(&(struct sandbox_options){ 0 });
		for (size_t i = 0; frames && i < process->thread_count; i++) {
			const struct frames_thread *start = &process->threads[i].start;
			struct answer *answer = &answers[i];

			/*
			 * If a caller can only be found through a register that was not read, libdw
			 * reports that there is no caller. So the walk is proven complete only if
			 * the thread's registers were read, or if the outermost function has no
			 * caller.
			 */
			answer->is_whole =
				start->stack.bytes &&
				frames_walk(frames, start, take_frame, answer) &&
				(start->has_registers ||
				 (answer->frame_count > 1 &&
				  has_no_caller(frames_modules(frames),
						answer->frames[answer->frame_count - 1] - 1)));
		}
		if (frames)
			dwfl_getmodules(frames_modules(frames), find_python,
					&answers[process->thread_count], 0);
		_exit(0);
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	for (size_t i = 0; child > 0 && i < process->thread_count; i++) {
		struct live_thread *thread = &process->threads[i];
		unsigned frames = answers[i].frame_count; /* not trusted, so limited below */

		thread->is_whole = answers[i].is_whole;
		thread->frame_count = frames < LIVE_FRAMES_MAX ? frames : LIVE_FRAMES_MAX;
		memcpy(thread->frames, answers[i].frames, sizeof(thread->frames));
		/* if the child returned no frame, the innermost frame is still known */
		if (!thread->frame_count && thread->call.number >= 0) {
			thread->frames[0] = thread->start.pc;
			thread->frame_count = 1;
		}
	}
	process->python_runtime = answers[process->thread_count].frames[0];
	process->python_minor = (int)answers[process->thread_count].frames[1];
	munmap(answers, size);
	return child < 0 ? error_system(err, errno, "cannot start a child") : 0;
}

bool live_is_unmoved(int pid, const struct live_thread *thread)
{
	struct live_thread now = { .tid = thread->tid };

	live_read_status(pid, &now);
	if (proc_call(pid, thread->tid, &now.call) || now.call.number < 0)
		return false;
	return now.switches == thread->switches && now.call.number == thread->call.number &&
	       !memcmp(now.call.argument, thread->call.argument, sizeof(now.call.argument));
}
