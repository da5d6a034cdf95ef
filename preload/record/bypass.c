/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "bypass.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/single_threaded.h>

#include "preload/ground/behind.h"
#include "preload/ground/plain.h"
#include "preload/ground/real.h"
#include "preload/ground/sys.h"

/* What is more is not told: a process has a few of them, or says the same of all. */
#define TOLD_MAX 64

/* The last module that was there when the program began; NULL: not known. */
static const struct link_map *first_last;

/* Those that were found, by their dynamic sections. */
static SPARSE uintptr_t told[TOLD_MAX];

void bypass_forked(void)
{
	for (unsigned int i = 0; i < TOLD_MAX; i++)
		told[i] = 0;
}

static bool is_told(uintptr_t section)
{
	for (unsigned int i = 0; i < TOLD_MAX; i++)
		if (__atomic_load_n(&told[i], __ATOMIC_RELAXED) == section)
			return true;
	return false;
}

/* False if another thread was faster, or there is no room. */
static bool take(uintptr_t section)
{
	for (unsigned int i = 0; i < TOLD_MAX; i++) {
		uintptr_t expected = 0;

		if (__atomic_compare_exchange_n(&told[i], &expected, section, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return true;
		if (expected == section)
			return false;
	}
	return false;
}

/* ---- the relocations of a module ---- */

struct relocations {
	const ElfW(Rela) * first;
	size_t bytes;
};

struct linkage {
	struct relocations data, calls;
	const ElfW(Sym) * symbols;
	const char *names;
	uintptr_t low, high; /* the module's memory around its dynamic section */
};

/* The loader has made addresses of them but in sections that cannot be written, such as the vDSO's.
 */
static uintptr_t address_of(const struct link_map *map, const ElfW(Dyn) * entry)
{
	return entry->d_un.d_ptr < map->l_addr ? map->l_addr + entry->d_un.d_ptr
					       : entry->d_un.d_ptr;
}

static void read_entry(struct linkage *linkage, const struct link_map *map, const ElfW(Dyn) * entry,
		       size_t *skipped)
{
	switch (entry->d_tag) {
	case DT_RELA:
		linkage->data.first = (const void *)address_of(map, entry);
		break;
	case DT_RELASZ:
		linkage->data.bytes = entry->d_un.d_val;
		break;
	case DT_RELACOUNT:
		*skipped = entry->d_un.d_val;
		break;
	case DT_JMPREL:
		linkage->calls.first = (const void *)address_of(map, entry);
		break;
	case DT_PLTRELSZ:
		linkage->calls.bytes = entry->d_un.d_val;
		break;
	case DT_SYMTAB:
		linkage->symbols = (const void *)address_of(map, entry);
		break;
	case DT_STRTAB:
		linkage->names = (const void *)address_of(map, entry);
		break;
	default:
		break;
	}
}

static bool is_readable(const void *from, size_t bytes)
{
	return bytes >= 8 && sys_is_readable(from) &&
	       sys_is_readable((const char *)from + bytes - 8);
}

/* found: what the loader says of the module's dynamic section. */
static void read_linkage(struct linkage *linkage, const struct link_map *map,
			 const struct dl_find_object *found)
{
	size_t skipped = 0;

	linkage->low = (uintptr_t)found->dlfo_map_start;
	linkage->high = (uintptr_t)found->dlfo_map_end;
	for (const ElfW(Dyn) *entry = map->l_ld; (uintptr_t)(entry + 1) <= linkage->high; entry++) {
		if (entry->d_tag == DT_NULL)
			break;
		read_entry(linkage, map, entry, &skipped);
	}
	/* Those without a symbol come first, and may be very many. */
	if (linkage->data.first && skipped <= linkage->data.bytes / sizeof(ElfW(Rela))) {
		linkage->data.first += skipped;
		linkage->data.bytes -= skipped * sizeof(ElfW(Rela));
	}
	if (!is_readable(linkage->data.first, linkage->data.bytes))
		linkage->data.bytes = 0;
	if (!is_readable(linkage->calls.first, linkage->calls.bytes))
		linkage->calls.bytes = 0;
}

static uint64_t symbol_of(const ElfW(Rela) * entry)
{
	return sizeof(void *) == 8 ? ELF64_R_SYM(entry->r_info) : ELF32_R_SYM(entry->r_info);
}

/*
 * The name of the hooked function that is called past us; NULL: none is. Whatever kind of
 * relocation: what stands there is asked. A call that was not bound yet leads to the module's own
 * code, and what is bound as it should be to a stub. Other names of a function that is hooked
 * (__libc_malloc) are nobody's hooks.
 */
static const char *passes_by(const struct linkage *linkage, const struct link_map *map,
			     const ElfW(Rela) * entry)
{
	uintptr_t place = map->l_addr + entry->r_offset, target;
	const ElfW(Sym) * symbol;
	struct dl_find_object found;
	const char *name;

	if (!symbol_of(entry) || place < linkage->low || place > linkage->high - sizeof(target))
		return NULL;
	target = __atomic_load_n((const uintptr_t *)place, __ATOMIC_RELAXED);
	if (!real_has(target))
		return NULL;
	/* A libc's, or an allocator's, calls of its own. */
	if (_dl_find_object((void *)target, &found) || found.dlfo_link_map == map)
		return NULL;
	symbol = linkage->symbols + symbol_of(entry);
	if (!is_readable(symbol, sizeof(*symbol)))
		return NULL;
	name = linkage->names + symbol->st_name;
	return sys_is_readable(name) && real_is_called(target, name) ? name : NULL;
}

static void count(struct bypass *bypass, const struct linkage *linkage,
		  const struct relocations *relocations)
{
	size_t all = relocations->bytes / sizeof(ElfW(Rela));

	for (size_t i = 0; i < all; i++) {
		const char *name = passes_by(linkage, bypass->map, relocations->first + i);

		if (!name)
			continue;
		bypass->functions++;
		bypass->example = name;
	}
}

/* ---- the modules ---- */

/*
 * Whether a map is one of the loader's, and not what a library that is gone has left: its table,
 * which needs no lock, knows whose the dynamic section is. This library passes itself by.
 */
static bool is_loaded(const struct link_map *map, struct dl_find_object *found)
{
	struct dl_find_object own;

	return map->l_ld && _dl_find_object(map->l_ld, found) == 0 && found->dlfo_link_map == map &&
	       _dl_find_object((void *)(uintptr_t)is_loaded, &own) == 0 && own.dlfo_link_map != map;
}

static bool examine(struct bypass *bypass)
{
	uintptr_t section = (uintptr_t)bypass->map->l_ld;
	struct linkage linkage = { 0 };
	struct dl_find_object found;

	if (!is_loaded(bypass->map, &found) || is_told(section))
		return false;
	bypass->functions = 0;
	read_linkage(&linkage, bypass->map, &found);
	if (!linkage.symbols || !linkage.names)
		return false;
	count(bypass, &linkage, &linkage.calls);
	count(bypass, &linkage, &linkage.data);
	return bypass->functions && take(section);
}

void bypass_begin(void)
{
	struct dl_find_object own;

	if (!behind_is_first() || _dl_find_object((void *)(uintptr_t)bypass_begin, &own))
		return;
	for (first_last = own.dlfo_link_map; first_last->l_next;)
		first_last = first_last->l_next;
}

struct bypass bypass_among_all(bool is_held)
{
	struct bypass bypass = { 0 };
	struct dl_find_object own;

	if ((!is_held && !__libc_single_threaded) ||
	    _dl_find_object((void *)(uintptr_t)bypass_among_all, &own) != 0)
		return bypass;
	bypass.next = own.dlfo_link_map;
	while (!first_last && bypass.next->l_prev)
		bypass.next = bypass.next->l_prev;
	if (first_last)
		bypass.next = first_last->l_next;
	return bypass;
}

struct bypass bypass_among(const void *handle)
{
	const struct link_map *map = handle;
	struct bypass bypass = { 0 };
	struct dl_find_object found;

	bypass.is_one = !__libc_single_threaded;
	if (is_readable(map, sizeof(*map)) && is_loaded(map, &found))
		bypass.next = map;
	return bypass;
}

bool bypass_next(struct bypass *bypass)
{
	while (bypass->next) {
		bypass->map = bypass->next;
		bypass->next = bypass->is_one ? NULL : bypass->map->l_next;
		if (examine(bypass))
			return true;
	}
	bypass->map = NULL;
	return false;
}
