/* SPDX-License-Identifier: MIT */
#include "linkage.h"

#include "loader.h"
#include "plain.h"

const struct link_map *linkage_first(void)
{
	struct loaded own;
	const struct link_map *map;

	if (loader_find((void *)(uintptr_t)linkage_first, &own) != 0)
		return NULL;
	for (map = own.link_map; map->l_prev; map = map->l_prev)
		;
	return map;
}

static void read_section(struct linkage *linkage, size_t bytes[2], size_t *skipped)
{
	for (const ElfW(Dyn) *entry = linkage->map->l_ld;
	     (uintptr_t)(entry + 1) <= linkage->high && entry->d_tag != DT_NULL; entry++) {
		/* the address is relocated, unless the section is read-only (as in the vDSO) */
		uintptr_t address = entry->d_un.d_ptr < linkage->map->l_addr
					    ? linkage->map->l_addr + entry->d_un.d_ptr
					    : entry->d_un.d_ptr;

		switch (entry->d_tag) {
		case DT_RELA:
			linkage->relocations[0] = (const void *)address;
			break;
		case DT_RELASZ:
			bytes[0] = entry->d_un.d_val;
			break;
		case DT_RELACOUNT:
			*skipped = entry->d_un.d_val;
			break;
		case DT_JMPREL:
			linkage->relocations[1] = (const void *)address;
			break;
		case DT_PLTRELSZ:
			bytes[1] = entry->d_un.d_val;
			break;
		case DT_SYMTAB:
			linkage->symbols = (const void *)address;
			break;
		case DT_STRTAB:
			linkage->names = (const void *)address;
			break;
		case DT_GNU_HASH:
			linkage->hash = (const void *)address;
			break;
		case DT_VERSYM:
			linkage->versions = (const void *)address;
			break;
		default:
			break;
		}
	}
}

bool linkage_read_symbols(struct linkage *linkage, const struct link_map *map)
{
	size_t bytes[2], skipped;

	*linkage = (struct linkage){ .map = map, .high = UINTPTR_MAX };
	if (!map->l_ld)
		return false;
	read_section(linkage, bytes, &skipped);
	return linkage->symbols && linkage->names;
}

bool linkage_read(struct linkage *linkage, const struct link_map *map)
{
	struct loaded found;
	size_t bytes[2] = { 0, 0 }, skipped = 0;
	const ElfW(Ehdr) * header;

	*linkage = (struct linkage){ .map = map };
	if (!map->l_ld || loader_find(map->l_ld, &found) != 0 || found.link_map != map)
		return false;
	linkage->low = (uintptr_t)found.map_start;
	linkage->high = (uintptr_t)found.map_end;
	header = found.map_start;
	if (header->e_ident[EI_MAG0] == ELFMAG0 && header->e_phentsize == sizeof(ElfW(Phdr)) &&
	    header->e_phoff <= linkage->high - linkage->low) {
		linkage->segments = (const void *)(linkage->low + header->e_phoff);
		linkage->segment_count = header->e_phnum;
	}
	read_section(linkage, bytes, &skipped);
	for (int i = 0; i < 2; i++)
		linkage->relocation_count[i] =
			linkage->relocations[i] ? bytes[i] / sizeof(ElfW(Rela)) : 0;
	/* skip relocations without a symbol: they come first, and there may be very many */
	if (skipped <= linkage->relocation_count[0] && linkage->relocations[0]) {
		linkage->relocations[0] += skipped;
		linkage->relocation_count[0] -= skipped;
	}
	return linkage->symbols && linkage->names && linkage->segments;
}

bool linkage_is_own(const struct linkage *linkage)
{
	uintptr_t own = (uintptr_t)linkage_first;

	return own >= linkage->low && own < linkage->high;
}

bool linkage_read_other(struct linkage *linkage, const struct link_map *map)
{
	const char *name;

	if (!linkage_read(linkage, map) || linkage_is_own(linkage))
		return false;
	name = plain_last_part(map->l_name);
	return !plain_begins(name, "ld-") && !plain_begins(name, "ld6");
}

/* Whether the module may have the symbol, according to the Bloom filter before the buckets. */
static bool may_have(const uint32_t *head, uint32_t hash)
{
	const uint32_t bits = 8 * sizeof(ElfW(Addr));
	const ElfW(Addr) *bloom = (const void *)(head + 4);
	ElfW(Addr) word = bloom[hash / bits % head[2]];

	return word >> hash % bits & word >> (hash >> head[3]) % bits & 1;
}

bool linkage_may_define(const struct linkage *linkage, const char *name)
{
	const uint32_t *head = linkage->hash;

	return !head || !head[0] || !head[2] || may_have(head, plain_symbol_hash(name));
}

uint32_t linkage_next(const struct linkage *linkage, const char *name, uint32_t hash, uint32_t last)
{
	const uint32_t *head = linkage->hash, *buckets, *chain;
	uint32_t number;

	if (!head || !head[0] || !head[2] || !may_have(head, hash))
		return 0;
	buckets = (const uint32_t *)((const ElfW(Addr) *)(const void *)(head + 4) + head[2]);
	chain = buckets + head[0];
	number = last ? last + 1 : buckets[hash % head[0]];
	if (number < head[1] || (last && chain[last - head[1]] & 1))
		return 0;
	for (;; number++) {
		uint32_t there = chain[number - head[1]];

		if ((there | 1) == (hash | 1) &&
		    plain_equal(linkage->names + linkage->symbols[number].st_name, name))
			return number;
		if (there & 1)
			return 0;
	}
}

/* Returns the default version of a function or, if `is_variable_too`, of a variable. */
static const ElfW(Sym) *
	find_of(const struct linkage *linkage, const char *name, bool is_variable_too)
{
	uint32_t hash = plain_symbol_hash(name), number = 0;

	while ((number = linkage_next(linkage, name, hash, number)) != 0) {
		const ElfW(Sym) *symbol = &linkage->symbols[number];
		unsigned int type = symbol->st_info & 15;

		if (symbol->st_shndx != SHN_UNDEF && symbol->st_value &&
		    (type == STT_FUNC || (is_variable_too && type == STT_OBJECT)) &&
		    !(linkage->versions && linkage->versions[number] & VERSION_HIDDEN))
			return symbol;
	}
	return NULL;
}

const ElfW(Sym) * linkage_find(const struct linkage *linkage, const char *name)
{
	return find_of(linkage, name, false);
}

const ElfW(Sym) * linkage_find_any(const struct linkage *linkage, const char *name)
{
	return find_of(linkage, name, true);
}
