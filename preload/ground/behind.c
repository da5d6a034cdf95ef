/* SPDX-License-Identifier: MIT */
#include "behind.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "linkage.h"
#include "loader.h"
#include "plain.h"

#define MODULES_MAX 64
#define MODULES_FEW 8 /* most programs have at most this many modules */

/* number of the first version; 0: a local symbol; 1: a global symbol without a version */
#define VERSION_FIRST 2u

static struct linkage few[MODULES_FEW];
static SPARSE struct linkage more[MODULES_MAX - MODULES_FEW];
static unsigned int module_count;
static bool is_first;
/* function addresses in this process's libc; NULL: unknown */
static const struct libc_places *places;
static unsigned int libc_at; /* libc's index among the modules */

static struct linkage *module_at(unsigned int i)
{
	return i < MODULES_FEW ? &few[i] : &more[i - MODULES_FEW];
}

static bool is_id(const ElfW(Nhdr) * note, const struct libc_places *known)
{
	const char *name = (const char *)(note + 1);
	const uint8_t *id = (const uint8_t *)name + 4;

	if (note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4 || !plain_equal(name, "GNU") ||
	    note->n_descsz != known->id_size)
		return false;
	for (uint32_t i = 0; i < known->id_size; i++)
		if (id[i] != known->id[i])
			return false;
	return true;
}

/* Whether libc has the known build-id. libc's ELF notes are in its first page. */
static bool is_known(const struct loaded *libc, const struct libc_places *known)
{
	const ElfW(Ehdr) *file = libc->map_start;
	const ElfW(Phdr) *segment = (const void *)((const char *)file + file->e_phoff);

	for (unsigned int i = 0; known && known->id_size && i < file->e_phnum; i++, segment++) {
		const char *at = (const char *)libc->link_map->l_addr + segment->p_vaddr;
		const char *end = at + segment->p_memsz;

		while (segment->p_type == PT_NOTE && segment->p_align <= 4 &&
		       end - at > (ptrdiff_t)sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *note = (const void *)at;

			if (is_id(note, known))
				return true;
			at += sizeof(*note) + ((note->n_namesz + 3) & ~3u) +
			      ((note->n_descsz + 3) & ~3u);
		}
	}
	return false;
}

bool behind_begin(const struct libc_places *known)
{
	struct loaded own, libc;

	module_count = 0;
	places = NULL;
	if (loader_find((void *)(uintptr_t)behind_begin, &own) || loader_find_libc(&libc))
		return false;
	for (const struct link_map *map = own.link_map; map; map = map->l_next)
		is_first |= map == libc.link_map;
	for (const struct link_map *map = own.link_map->l_next; map; map = map->l_next) {
		struct linkage *module;

		/* the vDSO is in the list, but not in the search order */
		if (!map->l_name || plain_equal(map->l_name, "linux-vdso.so.1"))
			continue;
		if (map == libc.link_map) {
			libc_at = module_count;
			places = is_known(&libc, known) ? known : NULL;
		}
		if (module_count == MODULES_MAX)
			return false;
		module = module_at(module_count++);
		if (!linkage_read_symbols(module, map) || !module->hash || !module->hash[0] ||
		    !module->hash[2])
			return false;
	}
	return is_first;
}

bool behind_is_first(void)
{
	return is_first;
}

/* ---- one symbol ---- */

/*
 * Looks up a name without asking for a version, as glibc's check_match() does. *count: the number
 * of versions that match. *is_hidden: whether the module has another version of the symbol, which
 * only a look-up with the name of the version finds.
 */
static const ElfW(Sym) * find_in(const struct linkage *module, const char *name, uint32_t hash,
				 unsigned int *count, bool *is_hidden)
{
	const ElfW(Sym) *found = NULL;
	uint32_t i = 0;

	*count = 0;
	*is_hidden = false;
	while ((i = linkage_next(module, name, hash, i)) != 0) {
		const ElfW(Sym) *symbol = &module->symbols[i];
		unsigned int scope = ELF64_ST_VISIBILITY(symbol->st_other);
		unsigned int version = module->versions ? module->versions[i] : 0;

		if (symbol->st_shndx == SHN_UNDEF || !symbol->st_value ||
		    ELF64_ST_TYPE(symbol->st_info) == STT_TLS || scope == STV_HIDDEN ||
		    scope == STV_INTERNAL)
			continue;
		if ((version & ~VERSION_HIDDEN) < VERSION_FIRST) {
			*count = 1;
			return symbol;
		}
		*is_hidden |= version & VERSION_HIDDEN;
		if (!(version & VERSION_HIDDEN) && (*count)++ == 0)
			found = symbol;
	}
	return found;
}

void *behind_find(const char *name, bool *is_sure)
{
	uint32_t hash = plain_symbol_hash(name);
	unsigned int count;
	bool is_hidden;

	*is_sure = true;
	for (unsigned int i = 0; i < module_count; i++) {
		const struct linkage *module = module_at(i);
		const ElfW(Sym) *symbol = find_in(module, name, hash, &count, &is_hidden);

		if (is_hidden && !symbol && i < libc_at) {
			*is_sure = false;
			return NULL;
		}
		if (!symbol)
			continue;
		*is_sure = count == 1 && ELF64_ST_TYPE(symbol->st_info) != STT_GNU_IFUNC;
		return (void *)(module->map->l_addr + symbol->st_value);
	}
	return NULL;
}

static bool is_before_libc(const char *name)
{
	uint32_t hash = plain_symbol_hash(name);
	unsigned int count;
	bool is_hidden;

	for (unsigned int i = 0; i < libc_at; i++)
		if (find_in(module_at(i), name, hash, &count, &is_hidden) || is_hidden)
			return true;
	return false;
}

void *behind_known(unsigned int hook, const char *name)
{
	if (!places || !places->place[hook])
		return NULL;
	if (libc_at && (is_before_libc(name) ||
			(name[0] == '_' && name[1] == '_' && is_before_libc(name + 2))))
		return NULL;
	return (void *)(module_at(libc_at)->map->l_addr + places->place[hook]);
}
