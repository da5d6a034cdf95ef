/* SPDX-License-Identifier: MIT */
#include "behind.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "loader.h"
#include "plain.h"

#define MODULES_MAX 64
#define MODULES_FEW 8 /* most programs have at most this many modules */

#if __SIZEOF_POINTER__ == 8
#define SYMBOL_TYPE(info)   ELF64_ST_TYPE(info)
#define SYMBOL_SCOPE(other) ELF64_ST_VISIBILITY(other)
#else
#define SYMBOL_TYPE(info)   ELF32_ST_TYPE(info)
#define SYMBOL_SCOPE(other) ELF32_ST_VISIBILITY(other)
#endif

#define VERSION_HIDDEN 0x8000u /* flag of an entry in DT_VERSYM: not the default version */
/* number of the first version; 0: a local symbol; 1: a global symbol without a version */
#define VERSION_FIRST 2u

/* DT_GNU_HASH consists of a Bloom filter, buckets, and chains; the last hash of a chain is odd. */
struct module {
	uintptr_t base;
	const ElfW(Sym) * symbols;
	const char *names;
	const uint16_t *versions; /* NULL: symbols have no versions */
	const ElfW(Addr) * filter;
	uint32_t filter_words, filter_shift, first, bucket_count;
	const uint32_t *buckets, *chains;
};

static struct module few[MODULES_FEW];
static SPARSE struct module more[MODULES_MAX - MODULES_FEW];
static unsigned int module_count;
static bool is_first;
static const struct libc_places *places; /* addresses in the libc of this process; NULL: unknown */
static unsigned int libc_at;		 /* libc's index among the modules */

static struct module *module_at(unsigned int i)
{
	return i < MODULES_FEW ? &few[i] : &more[i - MODULES_FEW];
}

/*
 * Returns the address that an entry of the dynamic section contains. The loader has relocated it,
 * unless the section is read-only.
 */
static const void *address_of(const struct link_map *map, const ElfW(Dyn) * entry)
{
	uintptr_t value = entry->d_un.d_ptr;

	return (const void *)(value < map->l_addr ? map->l_addr + value : value);
}

static bool read_module(struct module *module, const struct link_map *map)
{
	const uint32_t *hash = NULL;

	*module = (struct module){ .base = map->l_addr };
	for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_GNU_HASH)
			hash = address_of(map, entry);
		else if (entry->d_tag == DT_SYMTAB)
			module->symbols = address_of(map, entry);
		else if (entry->d_tag == DT_STRTAB)
			module->names = address_of(map, entry);
		else if (entry->d_tag == DT_VERSYM)
			module->versions = address_of(map, entry);
	}
	if (!hash)
		return false;
	module->bucket_count = hash[0];
	module->first = hash[1];
	module->filter_words = hash[2];
	module->filter_shift = hash[3];
	module->filter = (const ElfW(Addr) *)(hash + 4);
	module->buckets = (const uint32_t *)(module->filter + module->filter_words);
	module->chains = module->buckets + module->bucket_count;
	return module->symbols && module->names && module->bucket_count && module->filter_words;
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
		/* the vDSO is in the list, but not in the search order */
		if (!map->l_name || plain_equal(map->l_name, "linux-vdso.so.1"))
			continue;
		if (map == libc.link_map) {
			libc_at = module_count;
			places = is_known(&libc, known) ? known : NULL;
		}
		if (module_count == MODULES_MAX || !read_module(module_at(module_count++), map))
			return false;
	}
	return is_first;
}

bool behind_is_first(void)
{
	return is_first;
}

/* ---- one symbol ---- */

static bool may_have(const struct module *module, uint32_t hash)
{
	const uint32_t bits = 8 * sizeof(ElfW(Addr));
	ElfW(Addr) word = module->filter[hash / bits % module->filter_words];
	ElfW(Addr) mask = (ElfW(Addr))1 << hash % bits |
			  (ElfW(Addr))1 << (hash >> module->filter_shift) % bits;

	return (word & mask) == mask;
}

static bool is_defined(const ElfW(Sym) * symbol)
{
	unsigned int scope = SYMBOL_SCOPE(symbol->st_other);

	return symbol->st_shndx != SHN_UNDEF && symbol->st_value &&
	       SYMBOL_TYPE(symbol->st_info) != STT_TLS && scope != STV_HIDDEN &&
	       scope != STV_INTERNAL;
}

/*
 * Looks up a name without asking for a version, as glibc's check_match() does. *count: the number
 * of versions that match. *is_hidden: whether the module has another version of the symbol, which
 * only a look-up with the name of the version finds.
 */
static const ElfW(Sym) * find_in(const struct module *module, const char *name, uint32_t hash,
				 unsigned int *count, bool *is_hidden)
{
	const ElfW(Sym) *found = NULL;
	uint32_t i = module->buckets[hash % module->bucket_count];

	*count = 0;
	*is_hidden = false;
	if (i < module->first)
		return NULL;
	for (;; i++) {
		uint32_t there = module->chains[i - module->first];
		const ElfW(Sym) *symbol = &module->symbols[i];
		unsigned int version = module->versions ? module->versions[i] : 0;

		if ((there ^ hash) >> 1 == 0 && is_defined(symbol) &&
		    plain_equal(module->names + symbol->st_name, name)) {
			if ((version & ~VERSION_HIDDEN) < VERSION_FIRST) {
				*count = 1;
				return symbol;
			}
			*is_hidden |= version & VERSION_HIDDEN;
			if (!(version & VERSION_HIDDEN) && (*count)++ == 0)
				found = symbol;
		}
		if (there & 1)
			return found;
	}
}

void *behind_find(const char *name, bool *is_sure)
{
	uint32_t hash = plain_symbol_hash(name);
	unsigned int count;

	*is_sure = true;
	for (unsigned int i = 0; i < module_count; i++) {
		const struct module *module = module_at(i);
		bool is_hidden = false;
		const ElfW(Sym) *symbol = may_have(module, hash)
						  ? find_in(module, name, hash, &count, &is_hidden)
						  : NULL;

		if (is_hidden && !symbol && i < libc_at) {
			*is_sure = false;
			return NULL;
		}
		if (!symbol)
			continue;
		*is_sure = count == 1 && SYMBOL_TYPE(symbol->st_info) != STT_GNU_IFUNC;
		return (void *)(module->base + symbol->st_value);
	}
	return NULL;
}

static bool is_before_libc(const char *name)
{
	uint32_t hash = plain_symbol_hash(name);
	unsigned int count;
	bool is_hidden;

	for (unsigned int i = 0; i < libc_at; i++) {
		const struct module *module = module_at(i);

		if (may_have(module, hash) &&
		    (find_in(module, name, hash, &count, &is_hidden) || is_hidden))
			return true;
	}
	return false;
}

void *behind_known(unsigned int hook, const char *name)
{
	if (!places || !places->place[hook])
		return NULL;
	if (libc_at && (is_before_libc(name) ||
			(name[0] == '_' && name[1] == '_' && is_before_libc(name + 2))))
		return NULL;
	return (void *)(module_at(libc_at)->base + places->place[hook]);
}
