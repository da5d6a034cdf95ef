/* SPDX-License-Identifier: MIT */
#include "patch.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>

#include "hooks.h"
#include "injected.h"
#include "preload/ground/linkage.h"
#include "preload/ground/loader.h"
#include "preload/ground/plain.h"
#include "preload/ground/real.h"
#include "preload/ground/sys.h"

#define PAGE 4096ul

/*
 * The addresses of our own public functions, from our own symbol table. Code that refers to these
 * functions by name would get the definitions of other modules, because a library that is loaded
 * late is last in the search order.
 */
static SPARSE uintptr_t stubs[HOOK_COUNT];
static struct linkage self;

/* Fills `stubs`. Sets `self` last, so that a child of a fork in between starts again. */
static bool find_stubs(void)
{
	struct loaded own;
	struct linkage found;

	if (self.map)
		return true;
	if (loader_find((void *)(uintptr_t)patch_all, &own) != 0 ||
	    !linkage_read(&found, own.link_map))
		return false;
	for (unsigned int i = 0; i < HOOK_holdtrace_acquired; i++) {
		const ElfW(Sym) *symbol = linkage_find(&found, real_name(i));

		stubs[i] = symbol ? found.map->l_addr + symbol->st_value : 0;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	self = found;
	return true;
}

/* ---- pages ---- */

/* Returns the access rights of the segment of `address` (program headers); 0: none. */
static uint32_t rights_of(const struct linkage *linkage, uintptr_t address)
{
	for (unsigned int i = 0; i < linkage->segment_count; i++) {
		const ElfW(Phdr) *segment = &linkage->segments[i];
		uintptr_t start = linkage->map->l_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && address >= start &&
		    address + 8 <= start + segment->p_memsz)
			return segment->p_flags;
	}
	return 0;
}

/*
 * Whether `address` is in memory that the loader makes read-only after relocation (RELRO). Sets
 * *from and *to to this range, which is rounded to whole pages as in the loader.
 */
static bool is_relro(const struct linkage *linkage, uintptr_t address, uintptr_t *from,
		     uintptr_t *to)
{
	for (unsigned int i = 0; i < linkage->segment_count; i++) {
		const ElfW(Phdr) *segment = &linkage->segments[i];

		if (segment->p_type != PT_GNU_RELRO)
			continue;
		*from = (linkage->map->l_addr + segment->p_vaddr) & ~(PAGE - 1);
		*to = (linkage->map->l_addr + segment->p_vaddr + segment->p_memsz) & ~(PAGE - 1);
		return address >= *from && address + 8 <= *to;
	}
	return false;
}

/* The pages that open_pages() has made writable. */
struct opened {
	uintptr_t from, to; /* equal: no pages */
};

static bool open_pages(struct opened *opened, uintptr_t from, uintptr_t to)
{
	if (opened->from == from && opened->to == to && from != to)
		return true;
	if (sys_mprotect((void *)from, to - from, PROT_READ | PROT_WRITE))
		return false;
	opened->from = from;
	opened->to = to;
	return true;
}

static void close_pages(struct opened *opened)
{
	if (opened->from != opened->to)
		sys_mprotect((void *)opened->from, opened->to - opened->from, PROT_READ);
	opened->from = opened->to = 0;
}

/* ---- slots ---- */

/*
 * Finds the hook with this name, if `value` is the address to be replaced: the address of the real
 * function if `on`, else the address of the stub.
 */
static bool find_hook(bool on, const char *name, uintptr_t value, unsigned int *hook)
{
	for (unsigned int i = 0; i < HOOK_holdtrace_acquired; i++)
		if (stubs[i] && value == (on ? (uintptr_t)real_of(i) : stubs[i]) &&
		    plain_equal(real_name(i), name)) {
			*hook = i;
			return real_of(i) != NULL;
		}
	return false;
}

static void patch_slot(const struct linkage *linkage, const ElfW(Rela) * entry, bool on,
		       struct opened *opened, struct late_order *order)
{
	uintptr_t *slot = (uintptr_t *)(linkage->map->l_addr + entry->r_offset), value, wanted;
	uintptr_t from, to;
	uint32_t type = (uint32_t)ELF64_R_TYPE(entry->r_info);
	const char *name;
	unsigned int hook;

	if (!ELF64_R_SYM(entry->r_info) ||
	    (type != SLOT_CALL && type != SLOT_DATA && type != SLOT_WORD) ||
	    (uintptr_t)slot < linkage->low || (uintptr_t)slot > linkage->high - 8 ||
	    (uintptr_t)slot % 8)
		return;
	value = __atomic_load_n(slot, __ATOMIC_RELAXED);
	/* most slots contain other addresses; for these, no name is compared */
	if (on ? !real_has(value) : value < self.low || value >= self.high)
		return;
	name = linkage->names + linkage->symbols[ELF64_R_SYM(entry->r_info)].st_name;
	if (!find_hook(on, name, value, &hook))
		return;
	wanted = on ? stubs[hook] : (uintptr_t)real_of(hook);
	if (rights_of(linkage, (uintptr_t)slot) & PF_W &&
	    (!is_relro(linkage, (uintptr_t)slot, &from, &to) || open_pages(opened, from, to)) &&
	    __atomic_compare_exchange_n(slot, &value, wanted, false, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED))
		order->slots++;
	else
		order->unchanged++;
}

/* ---- symbols ---- */

/*
 * Finds the value of the hook's symbol in the module. Returns NULL if the module does not define
 * the symbol, or if its value is not the address to be replaced.
 */
static uint64_t *find_value(const struct linkage *linkage, unsigned int hook, bool on)
{
	uintptr_t there = (uintptr_t)real_of(hook), from = on ? there : stubs[hook];
	const ElfW(Sym) * symbol;

	if (!stubs[hook] || there < linkage->low || there >= linkage->high)
		return NULL;
	symbol = linkage_find(linkage, real_name(hook));
	return symbol && symbol->st_value == from - linkage->map->l_addr
		       ? (uint64_t *)(uintptr_t)&symbol->st_value
		       : NULL;
}

/*
 * Changes the values of the hooks' symbols in a module. Makes all their pages writable by one
 * mprotect, because each mprotect splits a mapping. Does not touch a table in an executable
 * segment: no page may be writable and executable.
 */
static uint32_t patch_table(const struct linkage *linkage, bool on)
{
	struct opened opened = { 0, 0 };
	uintptr_t from = UINTPTR_MAX, to = 0;
	uint32_t count = 0;

	for (unsigned int i = 0; i < HOOK_holdtrace_acquired; i++) {
		uintptr_t value = (uintptr_t)find_value(linkage, i, on);

		if (!value)
			continue;
		from = value < from ? value : from;
		to = value + 8 > to ? value + 8 : to;
	}
	if (from > to || rights_of(linkage, from) != PF_R || rights_of(linkage, to - 8) != PF_R ||
	    !open_pages(&opened, from & ~(PAGE - 1), (to + PAGE - 1) & ~(PAGE - 1)))
		return 0;
	for (unsigned int i = 0; i < HOOK_holdtrace_acquired; i++) {
		uint64_t *value = find_value(linkage, i, on);
		uintptr_t wanted = on ? stubs[i] : (uintptr_t)real_of(i);

		if (!value)
			continue;
		__atomic_store_n(value, wanted - linkage->map->l_addr, __ATOMIC_RELEASE);
		count++;
	}
	close_pages(&opened);
	return count;
}

/* ---- all modules ---- */

void patch_all(bool on, struct late_order *order)
{
	struct opened opened = { 0, 0 };
	struct linkage linkage;

	order->modules = order->slots = order->symbols = order->unchanged = 0;
	if (!find_stubs())
		return;
	for (const struct link_map *map = linkage_first(); map; map = map->l_next) {
		if (!linkage_read_other(&linkage, map))
			continue;
		order->modules++;
		order->symbols += patch_table(&linkage, on);
		for (int kind = 0; kind < 2; kind++)
			for (size_t i = 0; i < linkage.relocation_count[kind]; i++)
				patch_slot(&linkage, &linkage.relocations[kind][i], on, &opened,
					   order);
		close_pages(&opened);
	}
}

/* ---- programs that were started with the library ---- */

#define DEFINERS_MAX 16	     /* modules that define hooked functions: libc, an allocator, … */
#define PATIENCE     100     /* maximum number of waits for another thread to finish patching */
#define STEP_NS	     2000000 /* duration of such a wait */

/*
 * Changes the symbols of the modules that define the hooked functions. Finds these modules in the
 * loader's own table. This needs no lock: they were loaded with the program and stay loaded.
 */
static void patch_definers(void)
{
	const struct link_map *seen[DEFINERS_MAX];
	struct loaded found;
	struct linkage linkage;
	unsigned int count = 0;

	for (unsigned int i = 0; i < HOOK_holdtrace_acquired && count < DEFINERS_MAX; i++) {
		unsigned int known = 0;

		if (!real_of(i) || loader_find(real_of(i), &found) != 0)
			continue;
		while (known < count && seen[known] != found.link_map)
			known++;
		if (known < count)
			continue;
		seen[count++] = found.link_map;
		if (linkage_read_other(&linkage, found.link_map))
			patch_table(&linkage, true);
	}
}

void patch_before_deep(void)
{
	enum { UNTOUCHED, PATCHED = -1 };
	static int32_t patcher; /* UNTOUCHED, PATCHED, or the pid of the process that is patching */
	int32_t own = sys_getpid(), before = __atomic_load_n(&patcher, __ATOMIC_ACQUIRE);

	/* after a fork, `patcher` may be the parent's pid, whose thread does not exist here */
	if (before != PATCHED && before != own &&
	    __atomic_compare_exchange_n(&patcher, &before, own, false, __ATOMIC_ACQUIRE,
					__ATOMIC_ACQUIRE)) {
		if (find_stubs())
			patch_definers();
		__atomic_store_n(&patcher, PATCHED, __ATOMIC_RELEASE);
		sys_futex_wake((const uint32_t *)&patcher, INT_MAX, 0);
		return;
	}
	/* not forever: this may be a signal handler that interrupted the patching thread */
	for (int i = 0; i < PATIENCE; i++) {
		const struct timespec step = { .tv_nsec = STEP_NS };
		int32_t seen = __atomic_load_n(&patcher, __ATOMIC_ACQUIRE);

		if (seen == PATCHED)
			return;
		sys_futex_wait((const uint32_t *)&patcher, (uint32_t)seen, &step, 0);
	}
}

/* ---- functions that libc lacks ---- */

/* Writes a word, even to a read-only or executable page, whose rights stay the same. */
static void write_word(int memory, const void *where, uint64_t word)
{
	sys_call4(__NR_pwrite64, memory, (long)&word, sizeof(word), (long)where);
}

/* Whether `value` is the address of a public function of this library that libc lacks. */
static bool is_missing(const struct linkage *own, uintptr_t value)
{
	for (unsigned int i = 0; i < real_count; i++) {
		const char *name = real_missing(i);
		const ElfW(Sym) *symbol = name ? linkage_find(own, name) : NULL;

		if (symbol && own->map->l_addr + symbol->st_value == value)
			return true;
	}
	return false;
}

static void clear_weak(const struct linkage *own, const struct linkage *linkage, int memory)
{
	for (int kind = 0; kind < 2; kind++)
		for (size_t i = 0; i < linkage->relocation_count[kind]; i++) {
			const ElfW(Rela) *entry = &linkage->relocations[kind][i];
			const ElfW(Sym) *symbol = linkage->symbols + ELF64_R_SYM(entry->r_info);
			uint32_t type = (uint32_t)ELF64_R_TYPE(entry->r_info);
			const uintptr_t *slot =
				(const uintptr_t *)(linkage->map->l_addr + entry->r_offset);

			if ((type == SLOT_CALL || type == SLOT_DATA || type == SLOT_WORD) &&
			    ELF64_R_SYM(entry->r_info) && symbol->st_info >> 4 == STB_WEAK &&
			    *slot >= own->low && *slot < own->high && is_missing(own, *slot))
				write_word(memory, slot, 0);
		}
}

void patch_hide_missing(void)
{
	struct loaded here;
	struct linkage own, linkage;
	int memory;

	if (loader.find_object || loader_find((void *)(uintptr_t)patch_all, &here) ||
	    !linkage_read(&own, here.link_map))
		return;
	memory = sys_openat(AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
	if (memory < 0)
		return;
	for (const struct link_map *map = linkage_first(); map; map = map->l_next)
		if (linkage_read_other(&linkage, map))
			clear_weak(&own, &linkage, memory);
	/* the loader treats a symbol with the value 0 as undefined */
	for (unsigned int i = 0; i < real_count; i++) {
		const char *name = real_missing(i);
		const ElfW(Sym) *symbol = name ? linkage_find(&own, name) : NULL;

		if (symbol)
			write_word(memory, &symbol->st_value, 0);
	}
	sys_close(memory);
}
