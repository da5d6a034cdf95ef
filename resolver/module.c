/* SPDX-License-Identifier: MIT */
#include "resolver/module.h"

#include "base/memory.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Gets the header of the symbol's section. Returns false if there is none. */
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
 * Ranks the names of one address: functions before labels, global before weak before local names,
 * then the name with the fewest leading underscores, which is the public one.
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

/* Adds a symbol. A label, which has no size, extends to the end of its section. */
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

/*
 * Adds the functions in the symbol tables of `file` that have this type (SHT_SYMTAB or SHT_DYNSYM).
 * code: the file whose segments contain the code (the segments of a debug file may be wrong).
 */
static void symtab_add(struct symtab *symtab, const struct elffile *file, unsigned type,
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
			 * skip $a, $d, $x: labels with which assemblers for ARM and RISC-V mark
			 * code and data
			 */
			if (name && name[0] && name[0] != '$')
				add_symbol(symtab, file, &symbol, name);
		}
	}
}

/*
 * Returns the name of the function that contains the address, or of the preceding label without a
 * size (in assembly code), or NULL. The name may end with @ and a version. *entry: start of the
 * function.
 */
static const char *symtab_find(const struct symtab *symtab, uint64_t address, uint64_t *entry)
{
	const struct range *range = ranges_find(&symtab->sized, address);
	const struct range *before;

	if (!range) {
		range = ranges_before(&symtab->unsized, address);
		if (!range || range->to <= address)
			return NULL;
		/* a label ends at the start of the next function with a size */
		before = ranges_before(&symtab->sized, address);
		if (before && before->from >= range->from)
			return NULL;
	}
	*entry = range->from;
	return symtab->names.items[range->item];
}

/* Limit of the size of .gnu_debugdata in bytes; a larger section is ignored. */
#define PACKED_MAX (64 << 20)

/* Finds a file only by its build-id. */
static struct elffile *find_by_id(const struct module *module, enum file_kind kind,
				  const uint8_t *build_id, size_t size)
{
	struct file_want want = elffile_want(kind, build_id, size);

	return want.build_id_size ? elffile_find(&module->request->opener, &want, NULL, NULL)
				  : NULL;
}

static bool has_debug_info(const struct elffile *file)
{
	return elffile_has_section(file, ".debug_info") ||
	       elffile_has_section(file, ".zdebug_info");
}

/*
 * Adds the file to which dwz moved common parts; without it, some names are missing. Returns false
 * if the debug information must not be used: if the file is missing, libdw itself searches for it,
 * and would open any file with that path, even a FIFO.
 */
static bool add_alternate(struct module *module, const struct elffile *debug)
{
	struct file_want want;
	const uint8_t *build_id;
	bool is_harmful = false;
	const char *name;
	size_t size;
	char *slash;

	if (!debuginfo_needs_alternate(module->debuginfo, &name, &build_id, &size))
		return true;
	want = elffile_want(FILE_ALTERNATE, build_id, size);
	snprintf(want.name, sizeof(want.name), "%s", name);
	elffile_path(debug, want.directory);
	slash = strrchr(want.directory, '/');
	if (slash)
		*slash = 0;
	module->alternate = elffile_find(&module->request->opener, &want, NULL, &is_harmful);
	if (!module->alternate)
		return !is_harmful;
	return debuginfo_set_alternate(module->debuginfo, module->alternate) == 0;
}

static void add_debuginfo(struct module *module)
{
	const struct elffile *file = module->debug ? module->debug : module->file;

	if (module->request->options.symbols_only || !has_debug_info(file) ||
	    debuginfo_create(&module->debuginfo, file, module_file(module),
			     &module->request->opener, NULL) != 0)
		return;
	if (!add_alternate(module, file)) {
		debuginfo_destroy(module->debuginfo);
		module->debuginfo = NULL;
	}
}

/*
 * Adds the symbols of .gnu_debugdata, a small ELF file compressed with xz; libdw decompresses it.
 */
static void add_packed(struct module *module)
{
	Elf_Data *data = elffile_section(module->file, ".gnu_debugdata");
	struct elffile *small;

	if (!data || data->d_size == 0 || data->d_size > PACKED_MAX)
		return;
	small = module->small = memory_zalloc(1, sizeof(*small));
	small->fd = memfd_create("symbols", MFD_CLOEXEC);
	if (small->fd >= 0 && write(small->fd, data->d_buf, data->d_size) == (ssize_t)data->d_size)
		small->elf = dwelf_elf_begin(small->fd);
	if (small->elf && elf_kind(small->elf) == ELF_K_ELF)
		symtab_add(&module->symtab, small, SHT_SYMTAB, module->file);
}

/*
 * Adds the full symbol table of the debug file or of the module's own file. If neither has one,
 * adds the dynamic symbol table and .gnu_debugdata.
 */
static void add_symbols(struct module *module)
{
	const struct elffile *code = module_file(module);

	if (module->debug)
		symtab_add(&module->symtab, module->debug, SHT_SYMTAB, code);
	if (module->file && module->symtab.names.count == 0)
		symtab_add(&module->symtab, module->file, SHT_SYMTAB, code);
	if (module->file && module->symtab.names.count == 0) {
		symtab_add(&module->symtab, module->file, SHT_DYNSYM, code);
		add_packed(module);
	}
	/* all functions have been added */
	ranges_sort(&module->symtab.sized);
	ranges_sort(&module->symtab.unsized);
}

/* Opens the module's own file, if it is the file that the traced program used. */
static int take_file(struct module *module, enum resolve_reason *reason, struct error *err)
{
	const struct module_request *request = module->request;
	unsigned wanted = request->machine, found;
	struct elffile *file = NULL;
	int failure;

	*reason = RESOLVE_REFUSED;
	failure = elffile_open(&file, request->file, err);
	if (failure)
		return failure;
	found = file->header.e_machine;
	if (file->header.e_type != ET_DYN && file->header.e_type != ET_EXEC) {
		failure = error_set(err, ENOEXEC, "is neither a program nor a shared library");
	} else if (request->build_id_size &&
		   !elffile_has_build_id(file, request->build_id, request->build_id_size)) {
		*reason = RESOLVE_WRONG_FILE;
		failure = error_set(err, ESTALE,
				    "is not the file that was traced: its build-id differs");
	} else if (wanted != EM_NONE && found != wanted &&
		   !(wanted == EM_X86_64 && found == EM_386) &&
		   !(wanted == EM_AARCH64 && found == EM_ARM)) {
		/* 32-bit programs run on 64-bit machines, too */
		*reason = RESOLVE_WRONG_MACHINE;
		failure =
			error_set(err, EMEDIUMTYPE,
				  "is built for another kind of processor than the traced program");
	}
	if (failure)
		elffile_close(file);
	else
		module->file = file;
	return failure;
}

/*
 * Called if the module's own file is missing or cannot be used: searches for other files with its
 * build-id. Only the build-id proves that a file belongs to the module.
 */
static bool open_elsewhere(struct module *module)
{
	const uint8_t *build_id = module->request->build_id;
	size_t size = module->request->build_id_size;

	if (module->request->is_special)
		return false;
	module->debug = find_by_id(module, FILE_DEBUG, build_id, size);
	if (module->debug)
		return true;
	module->file = find_by_id(module, FILE_EXECUTABLE_FETCHED, build_id, size);
	if (!module->file || !has_debug_info(module->file))
		module->debug = find_by_id(module, FILE_DEBUG_FETCHED, build_id, size);
	return module->file || module->debug;
}

/* Opens the debug file of a module whose own file was found. */
static void open_debug(struct module *module)
{
	const struct elffile *file = module->file;
	struct file_want want = elffile_want(FILE_DEBUG, file->build_id, file->build_id_size);
	GElf_Word crc;
	const char *name = dwelf_elf_gnu_debuglink(file->elf, &crc);

	if (name)
		snprintf(want.name, sizeof(want.name), "%s", name);
	module->debug = elffile_find(&module->request->opener, &want, name ? &crc : NULL, NULL);
	if (!module->debug && !module->request->is_special)
		module->debug =
			find_by_id(module, FILE_DEBUG_FETCHED, file->build_id, file->build_id_size);
}

int module_open(struct module **module, const struct module_request *request,
		enum resolve_reason *reason, struct error *err)
{
	struct module *opened = memory_zalloc(1, sizeof(*opened));
	int failure;

	opened->request = request;
	*reason = request->reason;
	failure = request->file < 0 ? error_set(err, ENOENT, "%s", request->why)
				    : take_file(opened, reason, err);
	if (failure && !open_elsewhere(opened)) {
		module_close(opened);
		return failure;
	}
	*reason = RESOLVE_FINE;
	if (opened->file && !opened->debug && !has_debug_info(opened->file))
		open_debug(opened);
	*module = opened;
	return 0;
}

void module_close(struct module *module)
{
	if (!module)
		return;
	debuginfo_destroy(module->debuginfo);
	ranges_free(&module->symtab.sized);
	ranges_free(&module->symtab.unsized);
	free(module->symtab.names.items);
	elffile_close(module->small);
	elffile_close(module->alternate);
	elffile_close(module->debug);
	elffile_close(module->file);
	free(module);
}

const struct elffile *module_file(const struct module *module)
{
	return module->file ? module->file : module->debug;
}

bool module_has_symbols(const struct module *module)
{
	const struct elffile *file = module_file(module);

	return module->debug || has_debug_info(file) || elffile_has_section(file, ".symtab");
}

/* Reading the tables is slow, so this is done only when the first address is looked up. */
static void load(struct module *module)
{
	if (module->is_loaded)
		return;
	module->is_loaded = true;
	add_debuginfo(module);
	add_symbols(module);
}

bool module_allocated(struct module *module, uint64_t address, char type[ALLOCATED_MAX])
{
	load(module);
	return module->debuginfo && allocated_type(module->debuginfo, address, type);
}

unsigned module_find(struct module *module, uint64_t address, struct debug_frame *frames,
		     unsigned max)
{
	uint64_t function_entry = 0, symbol_entry = 0;
	struct debug_frame *outer;
	const char *symbol;
	unsigned count = 0;

	load(module);
	if (module->debuginfo)
		count = debuginfo_find(module->debuginfo, address, frames, max, &function_entry);
	if (count == 0) {
		frames[0] = (struct debug_frame){ 0 };
		count = 1;
	}
	if (count > max)
		return count;
	outer = &frames[count - 1];
	/*
	 * without a linker name, the name of a C++ function is incomplete: f instead of ns::f(int)
	 */
	if (outer->name && (outer->is_linkage || !outer->is_mangling))
		return count;
	symbol = symtab_find(&module->symtab, address, &symbol_entry);
	if (symbol && (!outer->name || symbol_entry == function_entry)) {
		outer->name = symbol;
		outer->is_linkage = true;
	}
	return count;
}
