/* SPDX-License-Identifier: MIT */
#include "bypass.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/ground/behind.h"
#include "preload/ground/clock.h"
#include "preload/ground/linkage.h"
#include "preload/ground/loader.h"
#include "preload/ground/plain.h"
#include "preload/ground/real.h"
#include "preload/ground/sys.h"

/* Maximum number of reported modules. Further reports would only repeat the same fact. */
#define TOLD_MAX 64

/* The last module in the loader's list when the program began; NULL: unknown. */
static const struct link_map *first_last;

bool (*bypass_knows)(const struct link_map *map);

/* The reported modules, by the addresses of their dynamic sections. */
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

/* Returns false if another thread has added the module already, or the table is full. */
static bool take_section(uintptr_t section)
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

static uint64_t symbol_of(const ElfW(Rela) * entry)
{
	return sizeof(void *) == 8 ? ELF64_R_SYM(entry->r_info) : ELF32_R_SYM(entry->r_info);
}

/*
 * Returns the name of the hooked function that this relocation reaches without its stub, or NULL.
 * The current value of the relocated word decides, whatever the type of the relocation. Before a
 * call is bound, the word points to the module's own code; after that, it should point to a stub.
 * Other names of a hooked function (__libc_malloc) are not hooks.
 */
static const char *passes_by(const struct linkage *linkage, const ElfW(Rela) * entry)
{
	uintptr_t place = linkage->map->l_addr + entry->r_offset, target;
	const ElfW(Sym) * symbol;
	struct loaded found;
	const char *name;

	if (!symbol_of(entry) || place < linkage->low || place > linkage->high - sizeof(target))
		return NULL;
	target = __atomic_load_n((const uintptr_t *)place, __ATOMIC_RELAXED);
	if (!real_has(target))
		return NULL;
	/* ignore calls within libc or within an allocator */
	if (loader_find((void *)target, &found) || found.link_map == linkage->map)
		return NULL;
	symbol = linkage->symbols + symbol_of(entry);
	if (!sys_are_readable(symbol, sizeof(*symbol)))
		return NULL;
	name = linkage->names + symbol->st_name;
	return sys_is_readable(name) && real_is_called(target, name) ? name : NULL;
}

/*
 * Whether the map describes a loaded module other than this library. The loader's table, which
 * needs no lock, maps the dynamic section to its module.
 */
static bool is_loaded(const struct link_map *map)
{
	struct loaded found, own;

	return map->l_ld && loader_find(map->l_ld, &found) == 0 && found.link_map == map &&
	       loader_find((void *)(uintptr_t)is_loaded, &own) == 0 && own.link_map != map;
}

/* Returns the name of a malloc with a prefix (je_malloc) that the module defines, or NULL. */
static const char *allocator_of(const struct linkage *linkage)
{
	static const char names[][2][16] = {
#define PREFIX(prefix) { prefix "malloc", prefix "free" },
#include "allocators.def"
#undef PREFIX
	};

	/* skip the first row, the empty prefix: malloc itself has a stub */
	for (unsigned int i = 1; i < sizeof(names) / sizeof(names[0]); i++)
		if (linkage_find(linkage, names[i][0]) && linkage_find(linkage, names[i][1]))
			return names[i][0];
	return NULL;
}

static bool examine_module(struct bypass *bypass)
{
	uintptr_t section = (uintptr_t)bypass->map->l_ld;
	struct linkage linkage;

	if (!is_loaded(bypass->map) || is_told(section) || !linkage_read(&linkage, bypass->map))
		return false;
	bypass->allocator =
		bypass_knows && bypass_knows(bypass->map) ? NULL : allocator_of(&linkage);
	for (int kind = 1; kind >= 0; kind--) {
		const ElfW(Rela) *entry = linkage.relocations[kind];
		const ElfW(Rela) *end = entry + linkage.relocation_count[kind];

		if (entry == end ||
		    !sys_are_readable(entry, (size_t)(end - entry) * sizeof(*entry)))
			continue;
		for (; entry < end; entry++) {
			const char *name = passes_by(&linkage, entry);

			if (!name)
				continue;
			bypass->functions++;
			bypass->example = name;
		}
	}
	return (bypass->functions || bypass->allocator) && take_section(section);
}

void bypass_begin(void)
{
	struct loaded own;

	if (!behind_is_first() || loader_find((void *)(uintptr_t)bypass_begin, &own))
		return;
	for (first_last = own.link_map; first_last->l_next;)
		first_last = first_last->l_next;
}

static void search_from(const struct link_map *map, bool is_one,
			void (*tell)(const struct bypass *bypass))
{
	for (; map; map = is_one ? NULL : map->l_next) {
		struct bypass bypass = { .map = map };

		if (examine_module(&bypass))
			tell(&bypass);
	}
}

void bypass_search_all(bool is_held, void (*tell)(const struct bypass *bypass))
{
	if (is_held || clock_is_alone())
		search_from(first_last ? first_last->l_next : linkage_first(), false, tell);
}

void bypass_search(const void *handle, void (*tell)(const struct bypass *bypass))
{
	const struct link_map *map = handle;

	if (sys_are_readable(map, sizeof(*map)) && is_loaded(map))
		search_from(map, !clock_is_alone(), tell);
}
