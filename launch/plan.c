/* SPDX-License-Identifier: MIT */
#include "launch/run.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "hook_table.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(HAVE_ZYDIS) && defined(__x86_64__)
#include <Zydis/Zydis.h>
#define CAN_DECODE 1
#endif

static const struct function {
	const char *name, *shape;
} functions[] = {
#define FUNCTION(name, shape) { name, shape },
#include "allocators.def"
#undef FUNCTION
};

static const char *const prefixes[] = {
#define PREFIX(prefix) prefix,
#include "allocators.def"
#undef PREFIX
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* An ELF file in memory. Its headers have been checked, but its symbols have not. */
struct file {
	const uint8_t *data;
	size_t size;
	bool needs_others; /* whether the file needs libraries that may contain an allocator */
	const Elf64_Phdr *segments;
	unsigned segment_count;
	const Elf64_Sym *symbols;
	size_t symbol_count;
	const char *names;
	size_t names_size;
};

/* ---- the file ---- */

static const void *part_of(const struct file *file, uint64_t offset, uint64_t size)
{
	return offset <= file->size && size <= file->size - offset && offset % 8 == 0
		       ? file->data + offset
		       : NULL;
}

/* Whether the file's dynamic section names a library that may contain an allocator. */
static bool needs_others(const struct file *file, const Elf64_Shdr *dynamic, const char *names,
			 size_t size)
{
	static const char usual[] =
		/* only libc among these libraries has an allocator, and its functions have stubs */
		"@(lib@(c|m|pthread|dl|rt|gcc_s|stdc++)|ld-linux-*).so.*";
	const Elf64_Dyn *entry = part_of(file, dynamic->sh_offset, dynamic->sh_size);

	for (size_t i = 0; entry && i < dynamic->sh_size / sizeof(*entry); i++)
		if (entry[i].d_tag == DT_NEEDED && entry[i].d_un.d_val < size &&
		    fnmatch(usual, names + entry[i].d_un.d_val, FNM_EXTMATCH))
			return true;
	return false;
}

static bool map_file(struct file *file, int fd)
{
	const Elf64_Ehdr *header;
	struct stat status;
	void *data;

	if (fd < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode) ||
	    status.st_size < (off_t)sizeof(*header))
		return false;
	data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return false;
	file->data = data;
	file->size = (size_t)status.st_size;
	header = data;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    header->e_phentsize != sizeof(Elf64_Phdr))
		return true;
	file->segments = part_of(file, header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr));
	file->segment_count = file->segments ? header->e_phnum : 0;

	/* the symbols: .symtab if the file has it, else .dynsym */
	const Elf64_Shdr *sections =
		header->e_shentsize == sizeof(*sections)
			? part_of(file, header->e_shoff, header->e_shnum * sizeof(*sections))
			: NULL;

	for (unsigned i = 0; sections && i < header->e_shnum; i++) {
		const Elf64_Shdr *section = &sections[i], *names;
		bool is_better = section->sh_type == SHT_SYMTAB ||
				 (section->sh_type == SHT_DYNSYM && !file->symbols);

		if ((!is_better && section->sh_type != SHT_DYNAMIC) ||
		    section->sh_link >= header->e_shnum)
			continue;
		names = &sections[section->sh_link];
		if (names->sh_size > file->size || names->sh_offset > file->size - names->sh_size ||
		    !names->sh_size || file->data[names->sh_offset + names->sh_size - 1])
			continue;
		if (!is_better) {
			file->needs_others = needs_others(
				file, section, (const char *)file->data + names->sh_offset,
				names->sh_size);
			continue;
		}
		file->symbols = part_of(file, section->sh_offset, section->sh_size);
		file->symbol_count = file->symbols ? section->sh_size / sizeof(*file->symbols) : 0;
		file->names = (const char *)file->data + names->sh_offset;
		file->names_size = names->sh_size;
	}
	return true;
}

/* Returns the code at an address, up to the end of its segment. NULL: there is no code. */
static const uint8_t *code_at(const struct file *file, uint64_t address, uint64_t *size)
{
	for (unsigned i = 0; i < file->segment_count; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) ||
		    address < segment->p_vaddr || address - segment->p_vaddr >= segment->p_filesz ||
		    segment->p_filesz > file->size ||
		    segment->p_offset > file->size - segment->p_filesz)
			continue;
		*size = segment->p_filesz - (address - segment->p_vaddr);
		return file->data + segment->p_offset + (address - segment->p_vaddr);
	}
	return NULL;
}

/* ---- a function ---- */

#ifdef CAN_DECODE

#define PATCH_CODE_STEP 26u /* maximum number of bytes that move() and the jump back add */

#define IS_NEAR(insn) ((insn)->raw.imm[0].is_relative)

static bool decode(const uint8_t *code, uint64_t size, ZydisDecodedInstruction *insn)
{
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, code, size, insn));
}

static void put_code(struct patch *patch, const void *bytes, uint8_t size)
{
	memcpy(patch->code + patch->length, bytes, size);
	patch->length = (uint8_t)(patch->length + size);
}

/*
 * Adds a fix: a value that is written into the moved code when the patch is applied. The value is
 * the distance from offset `end`, where the instruction ends, to `target`, in the four bytes at
 * offset `at`. end 0: the value is the address `target` itself, in eight bytes.
 */
static void put_fix(struct patch *patch, uint8_t at, uint8_t end, uint64_t target)
{
	patch->fix[patch->fixes++] = (struct patch_fix){ at, end, target };
}

static void put_branch(struct patch *patch, const void *opcode, uint8_t size, uint64_t target)
{
	put_code(patch, opcode, size);
	put_code(patch, (const uint8_t[4]){ 0 }, 4);
	put_fix(patch, (uint8_t)(patch->length - 4), patch->length, target);
}

/*
 * Adds an instruction to the moved code. Adapts the distance to its operand, and makes a short
 * branch long; copies all other bytes unchanged.
 */
static bool move(struct patch *patch, const ZydisDecodedInstruction *insn, const uint8_t *code,
		 uint64_t next)
{
	uint64_t target = next + (uint64_t)insn->raw.imm[0].value.s;
	bool is_operand = insn->attributes & ZYDIS_ATTRIB_IS_RELATIVE && !IS_NEAR(insn);

	if (patch->fixes > PATCH_FIXES_MAX - 3 || patch->length > PATCH_CODE_MAX - PATCH_CODE_STEP)
		return false;
	if (insn->meta.category == ZYDIS_CATEGORY_CALL) {
		/*
		 * Push the address after the original call, and jump. So the called function
		 * returns to the original code, for which unwinders have rules, and not to the
		 * moved code.
		 */
		static const uint8_t push[] = { 0xff, 0x35, 0, 0, 0, 0 };
		uint8_t before = patch->length;

		if (insn->length == 5 && IS_NEAR(insn)) {
			put_code(patch, push, sizeof(push));
			put_branch(patch, "\xe9", 1, next + (uint64_t)insn->raw.imm[0].value.s);
		} else if (insn->length == 6 && insn->attributes & ZYDIS_ATTRIB_IS_RELATIVE) {
			put_code(patch, push, sizeof(push));
			put_branch(patch, "\xff\x25", 2, next + (uint64_t)insn->raw.disp.value);
		} else {
			return false;
		}
		patch->code[before + 2] = (uint8_t)(patch->length - before - sizeof(push));
		put_fix(patch, patch->length, 0, next);
		put_code(patch, (const uint8_t[8]){ 0 }, 8);
		return true;
	}
	if (IS_NEAR(insn)) {
		if (insn->meta.category == ZYDIS_CATEGORY_UNCOND_BR)
			put_branch(patch, "\xe9", 1, target);
		else if (insn->meta.category == ZYDIS_CATEGORY_COND_BR &&
			 (insn->opcode & 0xf0) == (insn->opcode_map ? 0x80 : 0x70))
			put_branch(patch, (uint8_t[]){ 0x0f, 0x80 | (insn->opcode & 15) }, 2,
				   target);
		else
			return false; /* jrcxz, loop and xbegin cannot be moved */
		return true;
	}
	put_code(patch, code, insn->length);
	if (is_operand)
		put_fix(patch, (uint8_t)(patch->length - insn->length + insn->raw.disp.offset),
			patch->length, next + (uint64_t)insn->raw.disp.value);
	return !is_operand || (insn->raw.disp.size == 32 && insn->address_width == 64);
}

/* Whether the address is in the replaced bytes, but not at the first one. */
static bool is_inside(const struct patch *patch, uint64_t address)
{
	return address > patch->entry + patch->skip &&
	       address < patch->entry + patch->skip + patch->moved;
}

/* Plans the jump that replaces the start of a function of `size` bytes. */
static enum patch_reason plan_code(struct patch *patch, const uint8_t *code, uint64_t size)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	ZydisDecodedInstruction insn;
	bool is_indirect = false;
	unsigned moved = 0;
	uint64_t at;

	patch->skip = size >= 4 && !memcmp(code, endbr64, 4) ? 4 : 0;
	for (at = patch->skip; at < patch->skip + PATCH_JUMP; at += insn.length, moved++) {
		if (at >= size)
			return PATCH_SHORT;
		if (!decode(code + at, size - at, &insn))
			return PATCH_UNDECODED;
		if (!move(patch, &insn, code + at, patch->entry + at + insn.length))
			return PATCH_FIXED;
		if ((insn.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
		     insn.meta.category == ZYDIS_CATEGORY_RET) &&
		    at + insn.length < patch->skip + PATCH_JUMP)
			return PATCH_SHORT;
	}
	patch->moved = (uint8_t)(at - patch->skip);
	memcpy(patch->original, code + patch->skip, patch->moved);
	put_branch(patch, "\xe9", 1, patch->entry + at);
	for (at = patch->skip; at < size; at += insn.length) {
		if (!decode(code + at, size - at, &insn))
			return PATCH_UNDECODED;
		if (IS_NEAR(&insn) && is_inside(patch, patch->entry + at + insn.length +
							       (uint64_t)insn.raw.imm[0].value.s))
			return PATCH_BRANCHED;
		/*
		 * an indirect jump may lead anywhere in the function, unless its operand is at a
		 * fixed address, as in a tail call through the procedure linkage table
		 */
		is_indirect |= insn.meta.category == ZYDIS_CATEGORY_UNCOND_BR && !IS_NEAR(&insn) &&
			       !(insn.attributes & ZYDIS_ATTRIB_IS_RELATIVE);
	}
	return is_indirect && moved > 1 ? PATCH_BRANCHED : PATCH_NONE;
}

/*
 * Whether the bytes before `end` are the opcode of a branch (call, jmp, jcc, xbegin), so that the
 * branch's distance begins at `end`.
 */
static bool is_branch(const uint8_t *end)
{
	return end[-1] == 0xe8 || end[-1] == 0xe9 ||
	       (end[-2] == 0x0f && (end[-1] & 0xf0) == 0x80) ||
	       (end[-2] == 0xc7 && end[-1] == 0xf8);
}

static const char *function_name(const struct file *file, const Elf64_Sym *symbol);

/*
 * Whether the bytes before `end`, which look like the opcode of a branch, are inside another
 * instruction. This is known only in a function that can be decoded from its start to its end.
 */
static bool is_in_instruction(const struct file *file, uint64_t end)
{
	for (size_t i = 0; i < file->symbol_count; i++) {
		const Elf64_Sym *symbol = &file->symbols[i];
		uint64_t place = end - 1 - symbol->st_value, rest = 0, at = 0;
		const uint8_t *code;
		bool is_branch = false;
		ZydisDecodedInstruction insn;

		if (!function_name(file, symbol) || place >= symbol->st_size)
			continue;
		code = code_at(file, symbol->st_value, &rest);
		while (code && at < symbol->st_size && symbol->st_size <= rest &&
		       decode(code + at, symbol->st_size - at, &insn)) {
			at += insn.length;
			/* an instruction that ends 4 bytes after `end` is a branch */
			is_branch |= at == place + 5;
		}
		return at == symbol->st_size && !is_branch;
	}
	return false;
}

/*
 * Refuses to patch functions if other code of the file may branch into the replaced bytes. Every
 * sequence of bytes that looks like a branch counts, except inside a known instruction. Short
 * branches do not lead from one function to another.
 */
static void check_branches(const struct file *file, struct patch *patches, uint32_t count)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t from = patches[i].entry + patches[i].skip;

		low = from < low ? from : low;
		high = from + patches[i].moved > high ? from + patches[i].moved : high;
	}
	for (unsigned k = 0; k < file->segment_count; k++) {
		uint64_t base = file->segments[k].p_vaddr, size = 0;
		const uint8_t *code = code_at(file, base, &size);

		for (uint64_t at = 2; code && at + 4 <= size; at++) {
			int32_t distance;
			uint64_t target;

			if (!is_branch(code + at))
				continue;
			memcpy(&distance, code + at, sizeof(distance));
			target = base + at + 4 + (uint64_t)(int64_t)distance;
			if (target <= low || target >= high)
				continue;
			for (uint32_t i = 0; i < count; i++)
				if (!patches[i].reason && is_inside(&patches[i], target) &&
				    !is_in_instruction(file, base + at))
					patches[i].reason = PATCH_BRANCHED;
		}
	}
}

#else

static enum patch_reason plan_code(struct patch *patch, const uint8_t *code, uint64_t size)
{
	(void)patch, (void)code, (void)size;
	return PATCH_BUILD;
}

static void check_branches(const struct file *file, struct patch *patches, uint32_t count)
{
	(void)file, (void)patches, (void)count;
}

#endif

/* ---- the functions of a file ---- */

/* Returns a symbol's name if it is a function that the file defines, else NULL. */
static const char *function_name(const struct file *file, const Elf64_Sym *symbol)
{
	return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
			       symbol->st_name < file->names_size
		       ? file->names + symbol->st_name
		       : NULL;
}

static bool is_public(const Elf64_Sym *symbol)
{
	return ELF64_ST_BIND(symbol->st_info) != STB_LOCAL &&
	       ELF64_ST_VISIBILITY(symbol->st_other) == STV_DEFAULT;
}

/*
 * Returns a bit for each prefix with which the file defines malloc and free. Without a prefix, only
 * public functions count. *has_private: whether the file has an allocator of its own that other
 * files cannot call: functions named malloc, calloc, realloc and free that are not public.
 */
static unsigned find_allocators(const struct file *file, bool *has_private)
{
	static const char *const names[] = { "malloc", "calloc", "realloc", "free" };
	unsigned mallocs = 0, frees = 0, privates = 0;

	for (size_t i = 0; i < file->symbol_count; i++) {
		const char *name = function_name(file, &file->symbols[i]);
		bool is_private = !is_public(&file->symbols[i]);

		for (unsigned k = 0; name && k < COUNT(names) && is_private; k++)
			privates |= (unsigned)!strcmp(name, names[k]) << k;
		for (unsigned k = 0; name && k < COUNT(prefixes); k++) {
			size_t length = strlen(prefixes[k]);

			if (strncmp(name, prefixes[k], length) || (!length && is_private))
				continue;
			mallocs |= (unsigned)!strcmp(name + length, "malloc") << k;
			frees |= (unsigned)!strcmp(name + length, "free") << k;
		}
	}
	*has_private = privates == (1u << COUNT(names)) - 1;
	return mallocs & frees;
}

/*
 * Finds the row of allocators.def for a function. may_match: the function is public, so rows with
 * patterns apply to it, too.
 */
static const struct function *find_function(const char *name, bool may_match)
{
	for (size_t i = 0; i < COUNT(functions); i++)
		if (!strcmp(functions[i].name, name) ||
		    (may_match && !fnmatch(functions[i].name, name, 0)))
			return &functions[i];
	return NULL;
}

/* Adds a function to the plan. shape NULL: the parameters of the function are unknown. */
static void add_function(struct patches *plan, const struct file *file, const Elf64_Sym *symbol,
			 const char *shape, bool is_asked)
{
	const char *name = file->names + symbol->st_name;
	struct patch *patch = &plan->patch[plan->count];
	uint64_t rest = 0;
	const uint8_t *code = code_at(file, symbol->st_value, &rest);

	for (uint32_t i = 0; i < plan->count; i++)
		if (plan->patch[i].module == plan->modules &&
		    plan->patch[i].entry == symbol->st_value)
			return;
	if (plan->count == PATCHES_MAX) {
		patch[-1].reason = PATCH_MANY;
		return;
	}
	plan->count++;
	*patch = (struct patch){
		.entry = symbol->st_value,
		.is_asked = is_asked,
		.shape = { PATCH_VALUES, PATCH_VALUES, PATCH_VALUES, PATCH_VALUES, 0 },
	};
	patch->module = (uint8_t)plan->modules;
	snprintf(patch->name, sizeof(patch->name), "%s", name);
	for (uint8_t i = 0; shape && shape[i]; i++) {
		if (shape[i] == 's')
			patch->shape.size = i;
		if (shape[i] == 'n')
			patch->shape.count = i;
		if (shape[i] == 'p')
			patch->shape.old = i;
		if (shape[i] == 'w')
			patch->shape.where = i;
		patch->shape.is_text |= shape[i] == 't';
	}
	patch->reason =
		!shape	? PATCH_UNKNOWN
		: !code ? PATCH_UNDECODED
			: plan_code(patch, code, symbol->st_size < rest ? symbol->st_size : rest);
}

/* Adds the functions with this prefix; prefix "": only the private or only the public functions. */
static void add_allocator(struct patches *plan, const struct file *file, const char *prefix,
			  bool is_program, bool is_private)
{
	size_t length = strlen(prefix);

	for (size_t i = 0; i < file->symbol_count; i++) {
		const Elf64_Sym *symbol = &file->symbols[i];
		const char *name = function_name(file, symbol);
		const struct function *function;

		if (!name || strncmp(name, prefix, length) ||
		    (!length && is_public(symbol) == is_private) ||
		    /*
		     * our stub precedes the public function of a library, so the function needs no
		     * jump
		     */
		    (!length && !is_private && !is_program && hook_find(name)))
			continue;
		function = find_function(name + length,
					 length ? is_public(symbol) : !strncmp(name, "_Z", 2));
		if (function && (function->shape ? *function->shape != 0 : length != 0))
			add_function(plan, file, symbol, function->shape, false);
	}
}

/* Splits NAME=FUNCTION. Returns the shape (the parameters) of FUNCTION, or NULL. */
static const char *read_hook(const char *hook, char *name, size_t size)
{
	const char *equals = strchr(hook, '='), *function = equals ? equals + 1 : "";
	const struct function *like = NULL;

	for (size_t i = 0; !like && i < COUNT(prefixes); i++)
		if (!strncmp(function, prefixes[i], strlen(prefixes[i])))
			like = find_function(function + strlen(prefixes[i]), *prefixes[i]);
	if (!like || !like->shape || !*like->shape || equals == hook ||
	    (size_t)(equals - hook) >= size)
		return NULL;
	snprintf(name, size, "%.*s", (int)(equals - hook), hook);
	return like->shape;
}

/*
 * Plans the functions of one file. If the program needs libraries that may contain an allocator,
 * returns the path of the program's loader, which the caller frees. Otherwise returns NULL.
 */
static char *plan_file(struct patches *plan, int fd, bool is_program, const char *const *hooks,
		       size_t hook_count)
{
	char *loader = NULL;
	struct file file = { .data = NULL };
	uint32_t before = plan->count;
	unsigned allocators;
	bool has_private, wants_loader;
	size_t head;

	if (plan->modules == PATCH_MODULES_MAX || !map_file(&file, fd))
		return NULL;
	for (size_t i = 0; i < hook_count; i++) {
		char wanted[PATCH_NAME_MAX];
		const char *shape = read_hook(hooks[i], wanted, sizeof(wanted));

		for (size_t k = 0; shape && k < file.symbol_count; k++) {
			const char *name = function_name(&file, &file.symbols[k]);

			if (name && !strcmp(name, wanted))
				add_function(plan, &file, &file.symbols[k], shape, true);
		}
	}
	allocators = find_allocators(&file, &has_private);
	for (size_t i = 0; i < COUNT(prefixes); i++)
		if (allocators >> i & 1)
			add_allocator(plan, &file, prefixes[i], is_program, false);
	if (has_private)
		add_allocator(plan, &file, "", is_program, true);
	if (plan->count > before) {
		check_branches(&file, plan->patch + before, plan->count - before);
		head = file.size;
		for (unsigned i = 0; i < file.segment_count; i++)
			if (file.segments[i].p_type == PT_LOAD && !file.segments[i].p_offset)
				head = file.segments[i].p_filesz;
		head = head < file.size ? head : file.size;
		plan->module[plan->modules++] =
			patches_hash(file.data, head < PATCH_HEAD ? head : PATCH_HEAD);
	}
	wants_loader = is_program && (file.needs_others || hook_count || getenv("LD_PRELOAD"));
	for (unsigned i = 0; wants_loader && !loader && i < file.segment_count; i++) {
		const Elf64_Phdr *segment = &file.segments[i];

		if (segment->p_type == PT_INTERP && segment->p_offset < file.size &&
		    segment->p_filesz < file.size - segment->p_offset)
			loader = memory_format("%.*s", (int)segment->p_filesz,
					       (const char *)file.data + segment->p_offset);
	}
	munmap((void *)(uintptr_t)file.data, file.size);
	return loader;
}

/* ---- the files of a program ---- */

static char *plan_path(struct patches *plan, const char *path, bool is_program,
		       const char *const *hooks, size_t count)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	return plan_file(plan, fd, is_program, hooks, count);
}

/*
 * Runs the program's loader, which lists the libraries that it would load ("NAME => PATH
 * (ADDRESS)" or "PATH (ADDRESS)") without running the program. Plans the functions of each library.
 */
static void plan_libraries(struct patches *plan, const char *loader, const char *path,
			   const char *const *hooks, size_t count)
{
	char list[] = "--list", *line = NULL;
	char *argv[] = { (char *)(uintptr_t)loader, list, (char *)(uintptr_t)path, NULL };
	size_t room = 0;
	int pipes[2];
	FILE *lines;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC))
		return;
	pid = fork();
	if (!pid) {
		dup2(pipes[1], STDOUT_FILENO);
		dup2(open("/dev/null", O_RDWR | O_CLOEXEC), STDERR_FILENO);
		execv(loader, argv);
		_exit(1);
	}
	close(pipes[1]);
	lines = fdopen(pipes[0], "r");
	while (lines && getline(&line, &room, lines) > 0) {
		char *arrow = strstr(line, " => "), *end = strrchr(line, '(');
		char *name = arrow ? arrow + 4 : line + strspn(line, " \t");

		/* a library that is needed by a path, not by a name, is listed without an arrow */
		if (!end || end <= name || !memchr(name, '/', (size_t)(end - name)))
			continue;
		end[-1] = 0;
		plan_path(plan, name, false, hooks, count);
	}
	free(line);
	if (lines)
		fclose(lines);
	else
		close(pipes[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

int patches_plan(struct patches *plan, const char *path, const char *const *hooks, size_t count,
		 struct error *err)
{
	char name[PATCH_NAME_MAX];
	cleanup_free char *loader = NULL;

	for (size_t i = 0; i < count; i++)
		if (!read_hook(hooks[i], name, sizeof(name)))
			return error_set(
				err, EINVAL,
				"--hook=%s: expected NAME=FUNCTION, where FUNCTION is "
				"malloc, calloc, realloc, free, memalign, posix_memalign or "
				"another one of holdtrace-hooks(7)",
				hooks[i]);
	loader = plan_path(plan, path, true, hooks, count);
	if (loader)
		plan_libraries(plan, loader, path, hooks, count);
	for (size_t i = 0; i < count; i++) {
		bool is_found = !read_hook(hooks[i], name, sizeof(name));

		for (uint32_t k = 0; k < plan->count && !is_found; k++)
			is_found = plan->patch[k].is_asked && !strcmp(plan->patch[k].name, name);
		if (!is_found)
			return error_set(err, EINVAL,
					 "--hook=%s: neither %s nor a library that it is linked "
					 "with has a symbol with this name",
					 hooks[i], path);
	}
	return 0;
}

/* ---- modules that are loaded later ---- */

#define REQUEST_SECONDS 1 /* time limit for a request after a process has connected */

/* Receives a request with the descriptor of a module's file. Returns the descriptor, or -1. */
static int take_request(int connection, const uint64_t secret[2])
{
	const struct timeval limit = { .tv_sec = REQUEST_SECONDS };
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	uint64_t said[2];
	struct iovec part = { said, sizeof(said) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	struct ucred peer;
	socklen_t size = sizeof(peer);
	int fd;

	/* refuse other users, who could make the run's own processes wait */
	if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) ||
	    (peer.uid && peer.uid != geteuid()))
		return -1;
	setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (recvmsg(connection, &message, MSG_CMSG_CLOEXEC) < 0 ||
	    message.msg_controllen < CMSG_LEN(sizeof(fd)) || control.header.cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	if (!memcmp(said, secret, sizeof(said)))
		return fd;
	close(fd);
	return -1;
}

void patches_serve(struct control_page *control, const char *const *hooks, size_t count)
{
	static struct patches plan;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	cleanup_fd int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
			      CONTROL_SOCKET_PREFIX "%016" PRIx64 "%016" PRIx64 PLANNER_SUFFIX,
			      control->session[1], control->session[0]);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
	pid_t launcher = getpid(), pid;

	if (listener < 0 || bind(listener, (const struct sockaddr *)&address, size) ||
	    listen(listener, SOMAXCONN))
		return;
	pid = fork();
	if (!pid) {
		signals_hide("module-planner");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != launcher)
			_exit(0);
		dup2(listener, STDIN_FILENO);
		/* close the caller's pipes, so that their readers see the end */
		close_range(STDIN_FILENO + 1, ~0u, 0);
		for (;;) {
			cleanup_fd int connection = accept4(STDIN_FILENO, NULL, NULL, SOCK_CLOEXEC);
			cleanup_fd int fd =
				connection < 0 ? -1 : take_request(connection, control->secret);

			if (connection < 0 && errno != EINTR && errno != ECONNABORTED)
				_exit(1);
			if (fd < 0)
				continue;
			plan.count = plan.modules = 0;
			/*
			 * a file that crashes this process (SIGBUS) ends the planning of later
			 * modules
			 */
			plan_file(&plan, fd, false, hooks, count);
			send(connection, &plan, PATCHES_SIZE(plan.count),
			     MSG_NOSIGNAL | MSG_DONTWAIT);
		}
	}
	control->has_planner = pid > 0;
}
