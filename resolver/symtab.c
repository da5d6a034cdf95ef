/* SPDX-License-Identifier: MIT */
#include "resolver/symtab.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* False where the file does not say. */
static bool find_section(const struct elffile *file, const GElf_Sym *symbol, GElf_Shdr *header)
{
	Elf_Scn *section =
		symbol->st_shndx < SHN_LORESERVE ? elf_getscn(file->elf, symbol->st_shndx) : NULL;

	return section && gelf_getshdr(section, header);
}

/* gcc's LTO leaves labels in .debug_info (`json.c.0bdbb24f`), whose values look like addresses. */
static bool is_function(const struct elffile *file, const GElf_Sym *symbol)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);
	GElf_Shdr header;

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS)
		return false;
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	return !find_section(file, symbol, &header) || (header.sh_flags & SHF_EXECINSTR);
}

/*
 * Of several names for one address: functions before labels, global before weak before local, then
 * the one with the fewest leading underscores, because that is what people call.
 */
static uint32_t rank_of(const GElf_Sym *symbol, const char *name)
{
	uint32_t underscores = (uint32_t)strspn(name, "_");
	uint32_t binding = 0;

	if (GELF_ST_BIND(symbol->st_info) == STB_GLOBAL)
		binding = 2;
	else if (GELF_ST_BIND(symbol->st_info) == STB_WEAK)
		binding = 1;
	if (underscores > 7)
		underscores = 7;
	return (GELF_ST_TYPE(symbol->st_info) != STT_NOTYPE) << 8 | binding << 4 |
	       (7 - underscores);
}

/* Where an unsized label's section ends. */
static uint64_t section_end(const struct elffile *file, const GElf_Sym *symbol)
{
	GElf_Shdr header;

	if (!find_section(file, symbol, &header))
		return symbol->st_value + 1;
	return header.sh_addr + header.sh_size;
}

static int add_symbol(struct symtab *symtab, const struct elffile *file, const GElf_Sym *symbol,
		      const char *name)
{
	uint32_t item = (uint32_t)symtab->names.count, rank = rank_of(symbol, name);
	uint64_t from = symbol->st_value;
	const char **place;

	if (symtab->names.count == UINT32_MAX)
		return 0;
	place = ARRAY_ADD(&symtab->names);
	if (!place)
		return -ENOMEM;
	*place = name;
	if (symbol->st_size)
		return ranges_add(&symtab->sized, from, from + symbol->st_size, item, rank);
	return ranges_add(&symtab->unsized, from, section_end(file, symbol), item, rank);
}

static int add_section(struct symtab *symtab, const struct elffile *file, Elf_Scn *section,
		       const GElf_Shdr *header, const struct elffile *code)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count;

	if (!data || header->sh_entsize == 0)
		return 0;
	count = data->d_size / gelf_fsize(file->elf, ELF_T_SYM, 1, EV_CURRENT);
	for (size_t i = 0; i < count && i < INT32_MAX; i++) {
		GElf_Sym symbol;
		const char *name;
		int failure;

		if (!gelf_getsym(data, (int)i, &symbol) || !is_function(file, &symbol) ||
		    !layout_is_code(&code->layout, symbol.st_value))
			continue;
		name = elf_strptr(file->elf, header->sh_link, symbol.st_name);
		/* $a, $d, $x: what ARM and RISC-V assemblers mark code and data with. */
		if (!name || !name[0] || name[0] == '$')
			continue;
		failure = add_symbol(symtab, file, &symbol, name);
		if (failure)
			return failure;
	}
	return 0;
}

int symtab_add(struct symtab *symtab, const struct elffile *file, unsigned type,
	       const struct elffile *code)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(file->elf, section)) != NULL) {
		GElf_Shdr header;
		int failure;

		if (!gelf_getshdr(section, &header) || header.sh_type != type)
			continue;
		failure = add_section(symtab, file, section, &header, code);
		if (failure)
			return failure;
	}
	return 0;
}

void symtab_sort(struct symtab *symtab)
{
	ranges_sort(&symtab->sized);
	ranges_sort(&symtab->unsized);
}

const char *symtab_find(const struct symtab *symtab, uint64_t address, uint64_t *entry)
{
	const struct range *range = ranges_find(&symtab->sized, address);
	const struct range *before;

	if (!range) {
		range = ranges_before(&symtab->unsized, address);
		if (!range || range->to <= address)
			return NULL;
		/* A function that ended in between ends the label's stretch, too. */
		before = ranges_before(&symtab->sized, address);
		if (before && before->from >= range->from)
			return NULL;
	}
	*entry = range->from;
	return symtab->names.items[range->item];
}

void symtab_free(struct symtab *symtab)
{
	ranges_free(&symtab->sized);
	ranges_free(&symtab->unsized);
	free(symtab->names.items);
}
