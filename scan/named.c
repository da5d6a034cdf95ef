/* SPDX-License-Identifier: MIT */
#include "scan/moment.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/pool.h"
#include "process/frames.h"
#include "resolver/demangle.h"

#define FRAMES_MAX  512u
#define SYMBOLS_MAX 4000000 /* maximum number of symbols of one module */
#define START_MOST  64u	    /* largest distance in bytes from the first frame to the arguments */

struct variable {
	uint64_t from, to;
	const char *name;
};

struct module {
	Dwfl_Module *dwfl;
	const char *path;
	GElf_Addr bias;
	ARRAY_OF(struct variable) variables; /* sorted by address */
};

struct names {
	struct pool pool; /* memory of demangled names */
	struct frames *frames;
	const struct process *process;
	struct process_thread *thread; /* the thread whose stack is being walked */
	ARRAY_OF(struct module) modules;
};

/* ---- modules ---- */

struct names *names_open(const struct process *process)
{
	struct names *names = memory_zalloc(1, sizeof(*names));

	names->process = process;
	names->frames = frames_open(&process->subject);
	return names;
}

/* Returns the demangled name, or `name` itself if it is not mangled. */
static const char *readable(struct names *names, const char *name)
{
	bool has_parameters;
	char *text = name ? demangle(name, DEMANGLE_SHORT, &has_parameters) : NULL;
	const char *copy = text ? pool_text(&names->pool, text, strlen(text)) : NULL;

	free(text);
	return copy ? copy : name;
}

/* ---- variables ---- */

ORDER_FUNCTION(by_start, struct variable, ORDER(a->from, b->from) ?: ORDER(a->to, b->to))

static struct module *module_of(struct names *names, uint64_t address)
{
	Dwfl *all = frames_modules(names->frames);
	Dwfl_Module *dwfl = all ? dwfl_addrmodule(all, address) : NULL;
	struct module *module;
	int count;

	for (size_t i = 0; dwfl && i < names->modules.count; i++)
		if (names->modules.items[i].dwfl == dwfl)
			return &names->modules.items[i];
	if (!dwfl)
		return NULL;
	module = ARRAY_ADD(&names->modules);
	*module = (struct module){ .dwfl = dwfl };
	module->path = dwfl_module_info(dwfl, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
	dwfl_module_getelf(dwfl, &module->bias);
	count = dwfl_module_getsymtab(dwfl);
	for (int i = 1; i < count && i < SYMBOLS_MAX; i++) {
		GElf_Addr from;
		GElf_Sym symbol;
		const char *name =
			dwfl_module_getsym_info(dwfl, i, &symbol, &from, NULL, NULL, NULL);

		if (name && *name && GELF_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_size &&
		    symbol.st_size <= UINT64_MAX - from)
			*ARRAY_ADD(&module->variables) =
				(struct variable){ from, from + symbol.st_size, name };
	}
	ARRAY_SORT(&module->variables, by_start);
	return module;
}

bool names_find(struct names *names, uint64_t address, struct name *name)
{
	struct module *module = module_of(names, address);
	const struct variable *variable, *items;
	size_t low;

	if (!module)
		return false;
	/* find the last variable that begins at or before the address, and contains it */
	items = module->variables.items;
	low = ARRAY_SEARCH(module->variables.count, at, items[at].from <= address);
	variable = low && items[low - 1].to > address ? &items[low - 1] : NULL;
	*name = (struct name){ .name = variable ? readable(names, variable->name) : NULL,
			       .module = module->path,
			       .from = variable ? variable->from : address,
			       .to = variable ? variable->to : address };
	name->offset = name->from - module->bias;
	return true;
}

/* ---- frames ---- */

/*
 * Called at the frame of the function that called exit(). From this frame on, only the callee-saved
 * registers may contain pointers of the program.
 */
static void come_to_caller(struct process_thread *thread, Dwfl_Frame *frame, uint64_t sp)
{
	static const unsigned kept[] = REGISTERS_KEPT;
	unsigned count = 0;

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		Dwarf_Word value;

		if (dwfl_frame_reg(frame, kept[i], &value) == 0)
			thread->registers[count++] = value;
	}
	thread->register_count = count;
	thread->vector_count = 0;
	thread->live_sp = sp & ~7ull;
}

static int on_frame(Dwfl_Frame *frame, void *user)
{
	struct names *names = user;
	struct process_thread *thread = names->thread;
	struct process_frame *place;
	Dwfl_Module *module;
	Dwarf_Word sp = 0;
	Dwarf_Addr pc;
	bool is_exact;

	if (!dwfl_frame_pc(frame, &pc, &is_exact) || dwfl_frame_reg(frame, REGISTERS_STACK, &sp) ||
	    thread->frame_count == FRAMES_MAX)
		return DWARF_CB_ABORT;
	pc -= !is_exact;
	if (thread->is_exiting) {
		const struct mapping *mapping = maps_at(&names->process->subject.maps, pc);

		thread->is_exiting = mapping && (mapping_is_libc(mapping, true) ||
						 mapping_is_of(mapping, "libholdtrace.so"));
		if (!thread->is_exiting)
			come_to_caller(thread, frame, sp);
	}
	place = &thread->frames[thread->frame_count++];
	*place = (struct process_frame){ .sp = sp, .pc = pc };
	module = dwfl_addrmodule(frames_modules(names->frames), pc);
	place->function = module ? readable(names, dwfl_module_addrname(module, pc)) : NULL;
	return DWARF_CB_OK;
}

/*
 * Whether the stack has a return address into libc above the outermost known frame. If so, the
 * thread has older frames there, and now runs on another stack that is inside one of them.
 */
static bool has_frames_above(const struct process *process, const struct process_thread *thread,
			     uint64_t sp)
{
	for (uint64_t at = (sp + 8 + 7) & ~7ull; at + 8 <= thread->tracee.tls; at += 8) {
		const struct mapping *mapping;
		uint64_t word;

		if (at - thread->stack.from + 8 > thread->stack.size)
			return true;
		memcpy(&word, thread->stack.bytes + (at - thread->stack.from), sizeof(word));
		mapping = maps_at(&process->subject.maps, word);
		if (mapping && mapping->flags & MAPPING_EXECUTE && mapping_is_libc(mapping, false))
			return true;
	}
	return false;
}

/*
 * Whether the frames cover all of the stack that is in use. An array in a frame may itself be a
 * stack (of a coroutine, or for signal handlers). If a thread runs on such an array, the frames of
 * the stack that contains the array are not known.
 */
static bool is_whole(const struct process *process, const struct process_thread *thread)
{
	const struct mapping *mapping = maps_at(&process->subject.maps, thread->tracee.sp);
	uint64_t first;

	for (unsigned i = 1; i < thread->frame_count; i++)
		if (thread->frames[i].sp < thread->frames[i - 1].sp)
			return false;
	if (!thread->frame_count || !mapping)
		return false;
	first = thread->frames[thread->frame_count - 1].sp;
	if (!strcmp(mapping->path, "[stack]"))
		return process->stack_start - first + START_MOST < 2 * START_MOST;
	return first < thread->tracee.tls && thread->tracee.tls <= mapping->to &&
	       !has_frames_above(process, thread, first);
}

void frames_find(struct names *names, struct process *process)
{
	for (size_t i = 0; i < process->threads.count && i < PROCESS_WALKS_MAX; i++) {
		struct process_thread *thread = &process->threads.items[i];
		struct frames_thread start = { .tid = thread->tracee.tid,
					       .pc = thread->tracee.pc,
					       .has_registers = true,
					       .stack = thread->stack };

		if (!thread->tracee.tid || !thread->stack.bytes)
			continue;
		registers_copy(&thread->tracee.registers, start.registers);
		thread->frames = memory_zalloc(FRAMES_MAX, sizeof(*thread->frames));
		names->thread = thread;
		thread->is_whole = frames_walk(names->frames, &start, on_frame, names) &&
				   is_whole(process, thread);
		if (process->beat)
			process->beat(process->user);
	}
}
