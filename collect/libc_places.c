/* SPDX-License-Identifier: MIT */
#include "collect/libc_places.h"

#include <dlfcn.h>
#include <gnu/lib-names.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "hook_table.h"

struct libc {
	uintptr_t base;
	struct libc_places *places;
};

static size_t round_up(size_t size)
{
	return (size + 3) & ~(size_t)3;
}

static void read_notes(struct libc_places *places, const char *at, const char *end)
{
	while (end - at > (ptrdiff_t)sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(const void *)at;
		const char *name = at + sizeof(*note), *id = name + round_up(note->n_namesz);

		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof("GNU") &&
		    !memcmp(name, "GNU", sizeof("GNU")) && note->n_descsz <= LIBC_ID_MAX) {
			memcpy(places->id, id, note->n_descsz);
			places->id_size = note->n_descsz;
			return;
		}
		at = id + round_up(note->n_descsz);
	}
}

static int look_at(struct dl_phdr_info *module, size_t size, void *user)
{
	struct libc *libc = user;

	(void)size;
	if (module->dlpi_addr != libc->base)
		return 0;
	for (int i = 0; i < module->dlpi_phnum && !libc->places->id_size; i++) {
		const ElfW(Phdr) *segment = &module->dlpi_phdr[i];
		const char *at = (const char *)(libc->base + segment->p_vaddr);

		if (segment->p_type == PT_NOTE && segment->p_align <= 4)
			read_notes(libc->places, at, at + segment->p_memsz);
	}
	return 1;
}

/*
 * Returns the offset in libc of the default version of a function, or 0. A function that selects
 * its variant at run time (STT_GNU_IFUNC) has no offset: dlsym() returns the address of the variant
 * and not of the symbol.
 */
static uint32_t place_of(void *handle, const struct libc *libc, const char *name)
{
	void *found = dlsym(handle, name);
	Dl_info symbol;

	if (!found && name[0] == '_' && name[1] == '_')
		found = dlsym(handle, name + 2);
	if (!found || !dladdr(found, &symbol) || (uintptr_t)symbol.dli_fbase != libc->base ||
	    symbol.dli_saddr != found || (uintptr_t)found - libc->base > UINT32_MAX)
		return 0;
	return (uint32_t)((uintptr_t)found - libc->base);
}

void libc_places_find(struct libc_places *places)
{
	void *handle = dlopen(LIBC_SO, RTLD_LAZY | RTLD_NOLOAD);
	struct link_map *map;
	struct libc libc = { .places = places };

	if (!handle)
		return;
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) {
		libc.base = map->l_addr;
		dl_iterate_phdr(look_at, &libc);
	}
	for (unsigned int i = 0; places->id_size && i < HOOK_COUNT; i++)
		places->place[i] = place_of(handle, &libc, hook_table[i].name);
	dlclose(handle);
}
