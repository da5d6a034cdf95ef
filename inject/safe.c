/* SPDX-License-Identifier: MIT */
#include "inject/borrowed.h"

#if ARCH_INJECTS

#include "base/memory.h"
#include "process/frames.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#define STACK_WORDS 32768u
#define HANDLER	    "a signal handler"
#define CRITICAL    (3ull << 31) /* signals 32 and 33, which only libc blocks */

#ifndef PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG
#define PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG 0x4211 /* since Linux 6.4 */
#endif

struct safe {
	const struct target *target;
	struct frames *frames;
	bool wants_frames;
	const char
		*found; /* describes forbidden code in the frames walked so far; NULL: none found */
	uint64_t words[STACK_WORDS];
};

/* ---- frames ---- */

/* Reads a module's unwind rules in advance, before a frame in the module needs them. */
static int read_module(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr start,
		       void *ignored)
{
	Dwarf_Addr bias;

	(void)data, (void)name, (void)start, (void)ignored;
	dwfl_module_eh_cfi(module, &bias);
	return DWARF_CB_OK;
}

static int look_at_frame(Dwfl_Frame *frame, void *argument)
{
	struct safe *safe = argument;
	Dwarf_Addr pc;
	bool is_exact;

	if (!dwfl_frame_pc(frame, &pc, &is_exact))
		safe->found = "an unknown function";
	else if (safe->target->restorer && pc == safe->target->restorer)
		safe->found = HANDLER;
	else
		safe->found = target_forbids(safe->target, is_exact ? pc : pc - 1);
	return safe->found ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* ---- words ---- */

static const char *judge_word(const struct target *target, uint64_t word)
{
	uint64_t address = arch_plain(word);
	const char *found;

	if (target->restorer && address == target->restorer)
		return HANDLER;
	found = target_forbids(target, address);
	/* in libc, an address that no call instruction precedes cannot be a return address */
	if (found && address >= target->code_low + ARCH_CALL_LENGTH &&
	    address < target->code_high &&
	    !arch_is_behind_call(target->code + (address - target->code_low)))
		return NULL;
	return found;
}

/* ---- the thread ---- */

/*
 * Returns a text if the thread may be in an allocator that its stack does not show, else NULL. A
 * function that ends with a jump to another function leaves no return address on the stack: at the
 * end of free(), the thread may be in libc's unlock code, or in another function of the program's
 * allocator.
 */
static const char *judge_jumps(const struct remote *remote)
{
	static const int64_t about_memory[] = { SYS_madvise, SYS_mmap,	   SYS_munmap,
						SYS_mremap,  SYS_mprotect, SYS_brk };
	const struct target *target = remote->target;
	uint64_t pc = arch_pc(&remote->state);
	const struct mapping *map = maps_at(&target->subject.maps, pc);

	/*
	 * The only allocator is libc's, which releases its locks in its own code, and safe_judge()
	 * has already checked that the pc is not in this code.
	 */
	if (!target->has_malloc && !target->has_allocator)
		return NULL;
	if (map && strstr(map->path, "holdtrace"))
		return "holdtrace's library, perhaps called by an allocator";
	for (size_t i = 0; i < sizeof(about_memory) / sizeof(about_memory[0]); i++)
		if (about_memory[i] == arch_number(&remote->state))
			return "a system call that an allocator may have made";
	/*
	 * The thread is in a system call. This is safe even in unlock code, which makes its system
	 * call (futex) only after it has released the lock. An interrupt just after a system call
	 * is not enough: the number of the call is then unknown, so an allocator that holds its
	 * lock may have made one of the calls above.
	 */
	if (arch_number(&remote->state) >= 0)
		return NULL;
	if (pc >= target->code_low && pc < target->code_high)
		return "libc, perhaps called by an allocator";
	if (map && !strcmp(map->path, "[vdso]"))
		return "the vDSO, perhaps called by an allocator";
	return target->has_malloc && pc >= target->program_low && pc < target->program_high
		       ? "the code of a program that contains its own allocator"
		       : NULL;
}

const char *safe_judge(struct safe *safe, const struct remote *remote)
{
	struct frames_thread start = { .tid = remote->thread,
				       .pc = arch_pc(&remote->state),
				       .has_registers = true };
	uint64_t config[4] = { 0 }, sp = arch_sp(&remote->state) & ~7ull, size;
	uint64_t at = arch_thread_pointer(&remote->state), pointer;
	struct {
		uint32_t version, flags;
		uint64_t start, length, abort;
	} section;
	const struct mapping *map;
	const char *found;

	if (remote->state.mask & CRITICAL)
		return "a critical section of libc";
	/* the kernel would abort a restartable sequence if the injector changed the registers */
	if (remote->target->rseq && at &&
	    !subject_get(&remote->target->subject, at + (uint64_t)remote->target->rseq + 8,
			 &pointer, sizeof(pointer)) &&
	    pointer && !subject_get(&remote->target->subject, pointer, &section, sizeof(section)) &&
	    arch_pc(&remote->state) - section.start < section.length)
		return "a restartable sequence";
	/*
	 * the kernel would turn the library's system calls into signals for the program (as in
	 * Wine)
	 */
	if (!ptrace(PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG, remote->thread, sizeof(config),
		    config) &&
	    config[0])
		return "a program that handles its system calls itself (syscall user dispatch)";
	if (arch_has_more(remote->thread))
		return "a computation with vector registers that a signal frame cannot hold";
	found = target_forbids(safe->target, arch_pc(&remote->state));
	if (!found)
		found = judge_jumps(remote);
	if (found)
		return found;
	found = judge_word(safe->target, arch_link(&remote->state));
	map = maps_at(&safe->target->subject.maps, sp);
	if (!found && !map)
		found = "an unknown stack";
	if (!found) {
		size = map->to - sp < sizeof(safe->words) ? map->to - sp : sizeof(safe->words);
		size = subject_read(&safe->target->subject, sp, safe->words, size);
		for (size_t i = 0; i < size / 8 && !found; i++)
			found = judge_word(safe->target, safe->words[i]);
	}
	if (!found)
		return NULL;
	/*
	 * a doubtful word is harmless if all frames can be walked and none is in a forbidden range
	 */
	safe->wants_frames = true;
	if (!safe->frames)
		return found;
	registers_copy(&remote->state.regs, start.registers);
	safe->found = NULL;
	return frames_walk(safe->frames, &start, look_at_frame, safe) && !safe->found ? NULL
										      : found;
}

void safe_prepare(struct safe *safe)
{
	Dwfl *modules;

	if (!safe->wants_frames || safe->frames)
		return;
	safe->frames = frames_open(&safe->target->subject);
	modules = frames_modules(safe->frames);
	if (modules)
		dwfl_getmodules(modules, read_module, NULL, 0);
}

struct safe *safe_create(const struct target *target)
{
	struct safe *safe = memory_zalloc(1, sizeof(*safe));

	safe->target = target;
	return safe;
}

void safe_destroy(struct safe *safe)
{
	if (safe && safe->frames)
		frames_close(safe->frames);
	free(safe);
}

#endif
