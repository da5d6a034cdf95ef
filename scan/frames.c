/* SPDX-License-Identifier: MIT */
#include "scan/frames.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/order.h"
#include "base/pool.h"
#include "resolver/demangle.h"
#include "scan/registers.h"

#define FRAMES_MAX  512u
#define THREADS_MAX 2000u   /* whose stacks are walked */
#define SYMBOLS_MAX 4000000 /* of a module */
#define START_MOST  64u	    /* bytes from the arguments to the first frame */

struct variable {
	uint64_t from, to;
	const char *name;
};

struct module {
	Dwfl_Module *dwfl;
	const char *path;
	uint64_t bias;
	bool is_read;
	ARRAY_OF(struct variable) variables; /* by address */
};

struct names {
	struct pool pool; /* names as people write them */
	Dwfl *dwfl;
	const struct process *process;
	struct process_thread *thread; /* that is being walked */
	ARRAY_OF(struct module) modules;
};

/* ---- modules ---- */

static int find_no_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
			     const char *file, const char *link, GElf_Word crc, char **path)
{
	(void)module, (void)user, (void)name, (void)base, (void)file, (void)link, (void)crc;
	(void)path;
	return -1;
}

static int find_no_elf(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
		       char **path, Elf **elf)
{
	(void)module, (void)user, (void)name, (void)base, (void)path, (void)elf;
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_no_elf,
	.find_debuginfo = find_no_debuginfo,
};

/* The file that is mapped, and no other in its place. */
static int open_mapped(const struct mapping *mapping)
{
	int fd = open(mapping->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;

	if (fd < 0)
		return -1;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_ino != mapping->inode) {
		close(fd);
		return -1;
	}
	return fd;
}

static void report_module(struct names *names, const struct mapping *mapping)
{
	int fd = open_mapped(mapping);
	Dwfl_Module *dwfl = NULL;
	struct module *module;

	if (fd < 0)
		return;
	dwfl = dwfl_report_elf(names->dwfl, mapping->path, mapping->path, fd, mapping->from, false);
	if (!dwfl) {
		close(fd);
		return;
	}
	module = ARRAY_ADD(&names->modules);
	if (module)
		*module = (struct module){ .dwfl = dwfl, .path = mapping->path };
}

/* Whether it is the first mapping of a file that has code: others of it follow. */
static bool begins_module(const struct process *process, size_t i)
{
	const struct mapping *mapping = &process->maps.items[i];

	if (*mapping->path != '/' || mapping->offset || !strncmp(mapping->path, "/dev/", 5))
		return false;
	for (size_t k = i; k < process->maps.count && k < i + 16; k++) {
		const struct mapping *next = &process->maps.items[k];

		if (next->inode == mapping->inode && next->flags & MAPPING_EXECUTE)
			return true;
	}
	return false;
}

struct names *names_open(const struct process *process)
{
	struct names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->process = process;
	names->dwfl = dwfl_begin(&callbacks);
	if (!names->dwfl) {
		free(names);
		return NULL;
	}
	dwfl_report_begin(names->dwfl);
	for (size_t i = 0; i < process->maps.count; i++)
		if (begins_module(process, i))
			report_module(names, &process->maps.items[i]);
	dwfl_report_end(names->dwfl, NULL, NULL);
	return names;
}

/* The name as it is in a program's source; as it stands if it is not mangled. */
static const char *readable(struct names *names, const char *name)
{
	bool has_parameters;
	char *text = name ? demangle(name, DEMANGLE_SHORT, &has_parameters) : NULL;
	const char *copy = text ? pool_text(&names->pool, text, strlen(text)) : NULL;

	free(text);
	return copy ? copy : name;
}

/* ---- variables ---- */

static int by_start(const void *one, const void *two)
{
	const struct variable *a = one, *b = two;

	return ORDER(a->from, b->from) ?: ORDER(a->to, b->to);
}

static void add_variable(struct module *module, int index)
{
	struct variable *variable;
	GElf_Addr address;
	GElf_Sym symbol;
	const char *name =
		dwfl_module_getsym_info(module->dwfl, index, &symbol, &address, NULL, NULL, NULL);

	if (!name || !*name || GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || !symbol.st_size ||
	    symbol.st_size > UINT64_MAX - address)
		return;
	variable = ARRAY_ADD(&module->variables);
	if (variable)
		*variable = (struct variable){ address, address + symbol.st_size, name };
}

static void read_variables(struct module *module)
{
	int count = dwfl_module_getsymtab(module->dwfl);
	GElf_Addr bias = 0;

	module->is_read = true;
	dwfl_module_getelf(module->dwfl, &bias);
	module->bias = bias;
	for (int i = 1; i < count && i < SYMBOLS_MAX; i++)
		add_variable(module, i);
	if (module->variables.count)
		qsort(module->variables.items, module->variables.count,
		      sizeof(*module->variables.items), by_start);
}

/* The last one that begins at or before the address, if it reaches so far. */
static const struct variable *find_variable(const struct module *module, uint64_t address)
{
	const struct variable *items = module->variables.items;
	size_t low = ARRAY_SEARCH(module->variables.count, at, items[at].from <= address);

	return low && items[low - 1].to > address ? &items[low - 1] : NULL;
}

static struct module *module_of(struct names *names, uint64_t address)
{
	Dwfl_Module *dwfl = dwfl_addrmodule(names->dwfl, address);

	for (size_t i = 0; dwfl && i < names->modules.count; i++)
		if (names->modules.items[i].dwfl == dwfl)
			return &names->modules.items[i];
	return NULL;
}

bool names_find(struct names *names, uint64_t address, struct name *name)
{
	struct module *module = module_of(names, address);
	const struct variable *variable;

	if (!module)
		return false;
	if (!module->is_read)
		read_variables(module);
	variable = find_variable(module, address);
	*name = (struct name){ .name = variable ? readable(names, variable->name) : NULL,
			       .module = module->path,
			       .from = variable ? variable->from : address,
			       .to = variable ? variable->to : address };
	name->offset = name->from - module->bias;
	return true;
}

/* ---- frames ---- */

static pid_t next_thread(Dwfl *dwfl, void *user, void **argument)
{
	struct names *names = user;

	(void)dwfl;
	if (*argument)
		return 0;
	*argument = names;
	return names->thread->tid;
}

static bool read_word(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *user)
{
	const struct names *names = user;
	const struct process_thread *thread = names->thread;

	(void)dwfl;
	if (address < thread->stack_from || thread->stack_size < 8 ||
	    address - thread->stack_from > thread->stack_size - 8)
		return false;
	memcpy(result, thread->stack + (address - thread->stack_from), 8);
	return true;
}

static bool set_registers(Dwfl_Thread *dwfl, void *user)
{
	const struct names *names = user;
	Dwarf_Word values[PROCESS_REGISTERS_MAX];
	unsigned count =
		registers_by_number(names->thread, (uint64_t *)values, PROCESS_REGISTERS_MAX);

	dwfl_thread_state_register_pc(dwfl, names->thread->pc);
	return count && dwfl_thread_state_registers(dwfl, 0, count, values);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.memory_read = read_word,
	.set_initial_registers = set_registers,
};

static bool is_ours_or_libc(const struct names *names, uint64_t pc)
{
	const struct mapping *mapping = maps_at(&names->process->maps, pc);

	return mapping &&
	       (mapping_is_libc(mapping, true) || mapping_is_of(mapping, "libholdtrace.so"));
}

/* The caller of exit(): what it had in registers that calls keep is all that counts of them. */
static void come_to_caller(struct process_thread *thread, Dwfl_Frame *frame, uint64_t sp)
{
	unsigned count = 0;

	for (unsigned i = 0; i < registers_kept_count; i++) {
		Dwarf_Word value;

		if (dwfl_frame_reg(frame, (unsigned)registers_kept[i], &value) == 0)
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

	if (!dwfl_frame_pc(frame, &pc, &is_exact) ||
	    dwfl_frame_reg(frame, (unsigned)registers_stack_pointer, &sp) ||
	    thread->frame_count == FRAMES_MAX)
		return DWARF_CB_ABORT;
	pc -= !is_exact;
	if (thread->is_exiting && !is_ours_or_libc(names, pc)) {
		come_to_caller(thread, frame, sp);
		thread->is_exiting = false;
	}
	place = &thread->frames[thread->frame_count++];
	*place = (struct process_frame){ .sp = sp, .pc = pc };
	module = dwfl_addrmodule(names->dwfl, pc);
	place->function = module ? readable(names, dwfl_module_addrname(module, pc)) : NULL;
	return DWARF_CB_OK;
}

/*
 * A return address into libc above the outermost frame: its thread was begun there, and runs on
 * another stack, which lies in a frame of its first one.
 */
static bool has_frames_above(const struct process *process, const struct process_thread *thread,
			     uint64_t sp)
{
	for (uint64_t at = (sp + 8 + 7) & ~7ull; at + 8 <= thread->tls; at += 8) {
		const struct mapping *mapping;
		uint64_t word;

		if (at - thread->stack_from + 8 > thread->stack_size)
			return true;
		memcpy(&word, thread->stack + (at - thread->stack_from), sizeof(word));
		mapping = maps_at(&process->maps, word);
		if (mapping && mapping->flags & MAPPING_EXECUTE && mapping_is_libc(mapping, false))
			return true;
	}
	return false;
}

/*
 * Whether the frames are all that is in use of the stack. An array in a frame may be a stack, too:
 * a coroutine's, or that of signal handlers. Then there are frames below, of which these say
 * nothing.
 */
static bool is_whole(const struct process *process, const struct process_thread *thread)
{
	const struct mapping *mapping = maps_at(&process->maps, thread->sp);
	uint64_t first;

	for (unsigned i = 1; i < thread->frame_count; i++)
		if (thread->frames[i].sp < thread->frames[i - 1].sp)
			return false;
	if (!thread->frame_count || !mapping)
		return false;
	first = thread->frames[thread->frame_count - 1].sp;
	if (!strcmp(mapping->path, "[stack]"))
		return process->stack_start - first + START_MOST < 2 * START_MOST;
	return first < thread->tls && thread->tls <= mapping->to &&
	       !has_frames_above(process, thread, first);
}

static int on_thread(Dwfl_Thread *dwfl, void *user)
{
	struct names *names = user;
	struct process_thread *thread = names->thread;

	thread->is_whole = dwfl_thread_getframes(dwfl, on_frame, user) == 0 &&
			   is_whole(names->process, thread);
	return DWARF_CB_ABORT;
}

void frames_find(struct names *names, struct process *process)
{
	if (!dwfl_attach_state(names->dwfl, NULL, process->pid, &thread_callbacks, names))
		return;
	for (size_t i = 0; i < process->threads.count && i < THREADS_MAX; i++) {
		struct process_thread *thread = &process->threads.items[i];

		if (!thread->tid || !thread->stack)
			continue;
		thread->frames = calloc(FRAMES_MAX, sizeof(*thread->frames));
		names->thread = thread;
		if (thread->frames)
			dwfl_getthreads(names->dwfl, on_thread, names);
		if (process->beat)
			process->beat(process->user);
	}
}
