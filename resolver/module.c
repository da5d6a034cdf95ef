/* SPDX-License-Identifier: MIT */
#include "resolver/module.h"

#include "base/hash_table.h"
#include "base/memory.h"
#include "resolver/demangle.h"
#include "resolver/worker.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Gets the header of the symbol's section. Returns false if there is none. */
static bool find_section(const struct elffile *file, const GElf_Sym *symbol, GElf_Shdr *header)
{
	Elf_Scn *section =
		symbol->st_shndx < SHN_LORESERVE ? elf_getscn(file->elf, symbol->st_shndx) : NULL;

	return section && gelf_getshdr(section, header);
}

/*
 * Whether the symbol is in code. gcc's LTO puts labels into .debug_info (`json.c.0bdbb24f`), whose
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

/* Adds a symbol. A label, which has no size, extends to the end of its section. */
static void add_symbol(struct symtab *symtab, const struct elffile *file, const GElf_Sym *symbol,
		       const char *name)
{
	uint32_t item = (uint32_t)symtab->names.count, binding = GELF_ST_BIND(symbol->st_info);
	uint64_t from = symbol->st_value, to = from + symbol->st_size;
	size_t underscores = strspn(name, "_");
	GElf_Shdr header;
	uint32_t rank;

	/*
	 * ranks the symbols of one address: functions before labels, then global before weak before
	 * local symbols, then the name with the fewest leading underscores, which is the public one
	 */
	rank = (GELF_ST_TYPE(symbol->st_info) != STT_NOTYPE) << 8 |
	       (binding == STB_GLOBAL ? 2u : binding == STB_WEAK) << 4 |
	       (underscores < 7 ? 7 - (uint32_t)underscores : 0);
	if (symtab->names.count == UINT32_MAX)
		return;
	*ARRAY_ADD(&symtab->names) = name;
	if (!symbol->st_size)
		to = find_section(file, symbol, &header) ? header.sh_addr + header.sh_size
							 : from + 1;
	ranges_add(symbol->st_size ? &symtab->sized : &symtab->unsized, from, to, item, rank);
}

/*
 * Adds the functions in the symbol tables of type `type` (SHT_SYMTAB or SHT_DYNSYM) in `file`.
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
 * Returns the name of the function that contains the address, or NULL. Labels in assembly code have
 * no size: if no function fits, returns the preceding label. The name may end with @ and a version.
 * *entry: start of the function.
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
 * Opens the file to which dwz moved common parts; without it, some names are missing. Returns false
 * if the caller must not use the debug information: libdw itself searches for a missing file, and
 * would open any file with that path, even a FIFO.
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
		/* a 64-bit machine may have run a 32-bit program */
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
	if (opened->file && !opened->debug && !has_debug_info(opened->file)) {
		const struct elffile *file = opened->file;
		struct file_want want =
			elffile_want(FILE_DEBUG, file->build_id, file->build_id_size);
		GElf_Word crc;
		const char *name = dwelf_elf_gnu_debuglink(file->elf, &crc);

		if (name)
			snprintf(want.name, sizeof(want.name), "%s", name);
		opened->debug =
			elffile_find(&opened->request->opener, &want, name ? &crc : NULL, NULL);
		if (!opened->debug && !opened->request->is_special)
			opened->debug = find_by_id(opened, FILE_DEBUG_FETCHED, file->build_id,
						   file->build_id_size);
	}
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

/* Reads the debug information and the symbols. This is slow, so it is done at the first lookup. */
static void load(struct module *module)
{
	const struct elffile *code = module_file(module);
	const struct elffile *debug = module->debug ? module->debug : module->file;
	struct elffile *small;
	Elf_Data *data = NULL;

	if (module->is_loaded)
		return;
	module->is_loaded = true;
	if (!module->request->options.symbols_only && has_debug_info(debug) &&
	    debuginfo_create(&module->debuginfo, debug, code, &module->request->opener, NULL) ==
		    0 &&
	    !add_alternate(module, debug)) {
		debuginfo_destroy(module->debuginfo);
		module->debuginfo = NULL;
	}
	if (module->debug)
		symtab_add(&module->symtab, module->debug, SHT_SYMTAB, code);
	if (module->file && module->symtab.names.count == 0)
		symtab_add(&module->symtab, module->file, SHT_SYMTAB, code);
	if (module->file && module->symtab.names.count == 0) {
		symtab_add(&module->symtab, module->file, SHT_DYNSYM, code);
		data = elffile_section(module->file, ".gnu_debugdata");
	}
	/* .gnu_debugdata is a small ELF file compressed with xz, which libdw decompresses */
	if (data && data->d_size != 0 && data->d_size <= PACKED_MAX) {
		small = module->small = memory_zalloc(1, sizeof(*small));
		small->fd = memfd_create("symbols", MFD_CLOEXEC);
		if (small->fd >= 0 &&
		    write(small->fd, data->d_buf, data->d_size) == (ssize_t)data->d_size)
			small->elf = dwelf_elf_begin(small->fd);
		if (small->elf && elf_kind(small->elf) == ELF_K_ELF)
			symtab_add(&module->symtab, small, SHT_SYMTAB, module->file);
	}
	ranges_sort(&module->symtab.sized);
	ranges_sort(&module->symtab.unsized);
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

/* ---- the child ---- */

/* The child sends its answers in groups: after this many nanoseconds or bytes at the latest. */
#define SEND_NS	  200000000
#define SEND_SIZE (32 << 10)

/*
 * A linker name and its readable form. In the hash table, the key is the address of the linker name
 * in the mapped file.
 */
struct name {
	const char *mangled, *text;
	char *owned;
	bool has_parameters;
};

struct lookup {
	int socket;
	const struct module_request *request;
	struct module *module;
	FILE *out;
	struct hash_table names;
	uint64_t sent_ns;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * Sends the buffered answers. If the parent has closed the socket because it needs no more answers,
 * ends the process.
 */
static void send_out(struct lookup *lookup)
{
	lookup->sent_ns = now_ns();
	if (fflush(lookup->out) != 0)
		_exit(0);
}

static int open_file(void *context, const struct file_want *want)
{
	struct lookup *lookup = context;

	message_put(lookup->out, MESSAGE_WANT, want, sizeof(*want));
	send_out(lookup);
	return worker_take(lookup->socket);
}

static bool is_name(const void *item, const void *key)
{
	return ((const struct name *)item)->mangled == key;
}

static const struct name *find_name(struct lookup *lookup, const char *mangled,
				    const char *generics)
{
	uint64_t hash = hash_two(lookup->names.seed, (uintptr_t)mangled, 0);
	struct name *name = hash_table_find(&lookup->names, hash, is_name, mangled);
	enum demangle style = lookup->request->options.demangle;
	const char *version;

	if (name)
		return name;
	version = strchr(mangled, '@');
	name = memory_zalloc(1, sizeof(*name));
	name->mangled = mangled;
	name->owned = demangle(name->mangled, style, &name->has_parameters);
	/* remove the version that names in symbol tables may have: memcpy@@GLIBC_2.14 */
	if (!name->owned && version && version > name->mangled) {
		char *plain = memory_text_part(name->mangled, (size_t)(version - name->mangled));

		name->owned = demangle(plain, style, &name->has_parameters);
		if (name->owned)
			free(plain);
		else
			name->owned = plain;
	}
	if (name->owned && generics && style == DEMANGLE_SHORT) {
		char *plain = name->owned;

		name->owned = memory_format("%s%s", plain, generics);
		free(plain);
	}
	name->text = demangle_plain(name->owned ? name->owned : name->mangled);
	hash_table_add(&lookup->names, hash, name);
	return name;
}

static void answer_address(struct lookup *lookup, uint64_t address)
{
	unsigned max = lookup->request->options.inlines ? RESOLVE_FRAMES_MAX : 1;
	struct debug_frame frames[RESOLVE_FRAMES_MAX];
	struct symbol symbols[RESOLVE_FRAMES_MAX];
	unsigned count;

	worker_restart_clock();
	if (address & WORKER_TYPE) {
		struct symbol symbol = { 0 };
		char type[ALLOCATED_MAX];

		if (module_allocated(lookup->module, address & ~WORKER_TYPE, type))
			symbol.function = type;
		message_put_answer(lookup->out, address, &symbol, 1);
		return;
	}
	count = module_find(lookup->module, address, frames, max);
	if (count > max)
		count = max;
	for (unsigned i = 0; i < count; i++) {
		const struct debug_frame *frame = &frames[i];
		const struct name *name =
			frame->name ? find_name(lookup, frame->name, frame->generics) : NULL;
		const char *slash = frame->file ? strrchr(frame->file, '/') : NULL;

		symbols[i] = (struct symbol){ .file = frame->file, .line = frame->line };
		if (slash && slash[1] && !lookup->request->options.full_path)
			symbols[i].file = slash + 1;
		if (name) {
			symbols[i].function = name->text;
			symbols[i].has_parameters = name->has_parameters;
		}
	}
	message_put_answer(lookup->out, address, symbols, count);
	if (now_ns() - lookup->sent_ns >= SEND_NS)
		send_out(lookup);
}

void lookup_run(int socket, int file, const void *job)
{
	struct module_request request = *(const struct module_request *)job;
	struct lookup lookup = { .socket = socket, .request = &request };
	uint64_t addresses[WORKER_BATCH_MAX];
	size_t count;
	struct facts facts = { 0 };
	struct error err = { 0 };
	enum resolve_reason reason;

	request.file = file;
	request.opener = (struct file_opener){ open_file, &lookup };
	lookup.out = fdopen(socket, "w");
	if (!lookup.out)
		return;
	setvbuf(lookup.out, NULL, _IOFBF, SEND_SIZE);
	hash_table_init(&lookup.names);
	if (module_open(&lookup.module, lookup.request, &reason, &err) != 0) {
		snprintf(facts.text, sizeof(facts.text), "%.255s", err.text);
	} else {
		const struct elffile *elf = module_file(lookup.module);

		/* whether the file has more than its dynamic symbols */
		facts.has_symbols = lookup.module->debug || has_debug_info(elf) ||
				    elffile_has_section(elf, ".symtab");
		facts.layout = elf->layout;
		facts.layout.is_debug = !lookup.module->file;
		if (elf->build_id_size <= sizeof(facts.build_id))
			facts.build_id_size = (uint32_t)elf->build_id_size;
		if (facts.build_id_size)
			memcpy(facts.build_id, elf->build_id, facts.build_id_size);
	}
	facts.reason = reason;
	message_put(lookup.out, MESSAGE_FACTS, &facts, sizeof(facts));
	send_out(&lookup);
	while (lookup.module && (count = worker_question(socket, addresses)) > 0) {
		lookup.sent_ns = now_ns();
		for (size_t i = 0; i < count; i++)
			answer_address(&lookup, addresses[i]);
		send_out(&lookup);
	}
	/* do not free anything, because the process ends when this function returns */
}
