/* SPDX-License-Identifier: MIT */
#include "resolver/symtab.h"

#include <stdlib.h>
#include <string.h>

/* Returns false if the symbol has no section. */
static bool find_section(const struct elffile *file, const GElf_Sym *symbol, GElf_Shdr *header)
{
	Elf_Scn *section =
		symbol->st_shndx < SHN_LORESERVE ? elf_getscn(file->elf, symbol->st_shndx) : NULL;

	return section && gelf_getshdr(section, header);
}

/*
 * Whether the symbol is in code. gcc's LTO leaves labels in .debug_info (`json.c.0bdbb24f`), whose
 * values look like addresses of code.
 */
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
 * Ranks the names of one address: functions above labels, global above weak above local, then the
 * name with the fewest leading underscores, which is the public one.
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

/* Adds a symbol. A label without a size extends to the end of its section. */
static void add_symbol(struct symtab *symtab, const struct elffile *file, const GElf_Sym *symbol,
		       const char *name)
{
	uint32_t item = (uint32_t)symtab->names.count, rank = rank_of(symbol, name);
	uint64_t from = symbol->st_value, to = from + symbol->st_size;
	GElf_Shdr header;

	if (symtab->names.count == UINT32_MAX)
		return;
	*ARRAY_ADD(&symtab->names) = name;
	if (!symbol->st_size)
		to = find_section(file, symbol, &header) ? header.sh_addr + header.sh_size
							 : from + 1;
	ranges_add(symbol->st_size ? &symtab->sized : &symtab->unsized, from, to, item, rank);
}

void symtab_add(struct symtab *symtab, const struct elffile *file, unsigned type,
		const struct elffile *code)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(file->elf, section)) != NULL) {
		Elf_Data *data;
		GElf_Shdr header;
		size_t count;

		if (!gelf_getshdr(section, &header) || header.sh_type != type ||
		    header.sh_entsize == 0)
			continue;
		data = elf_getdata(section, NULL);
		count = data ? data->d_size / gelf_fsize(file->elf, ELF_T_SYM, 1, EV_CURRENT) : 0;
		for (size_t i = 0; i < count && i < INT32_MAX; i++) {
			GElf_Sym symbol;
			const char *name;

			if (!gelf_getsym(data, (int)i, &symbol) || !is_function(file, &symbol) ||
			    !layout_is_code(&code->layout, symbol.st_value))
				continue;
			name = elf_strptr(file->elf, header.sh_link, symbol.st_name);
			/*
			 * skips $a, $d, $x: labels with which ARM and RISC-V assemblers mark code
			 * and data
			 */
			if (name && name[0] && name[0] != '$')
				add_symbol(symtab, file, &symbol, name);
		}
	}
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
		/* a label also ends at the start of the next function with a size */
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
