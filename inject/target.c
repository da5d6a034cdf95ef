/* SPDX-License-Identifier: MIT */
#include "inject/target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "inject/arch.h"
#include "injected.h"
#include "process/proc.h"

/* ---- /proc ---- */

static void proc_path(char *path, size_t room, pid_t pid, const char *name)
{
	snprintf(path, room, "/proc/%d/%s", (int)pid, name);
}

static bool status_has(pid_t pid, const char *name, const char *word)
{
	cleanup_free char *text = proc_text(pid, 0, "status");
	const char *value = proc_value(text, name);
	const char *found = value ? strstr(value, word) : NULL;

	return found && found < value + strcspn(value, "\n");
}

int target_read_maps(struct target *target, struct error *err)
{
	int status;

	maps_free(&target->subject.maps);
	status = maps_read(&target->subject.maps, target->subject.pid);
	if (status == -ENODATA)
		return error_set(err, ESRCH, "process %d has ended, or is a kernel thread",
				 (int)target->subject.pid);
	return status ? error_system(err, -status, "cannot read the mappings of process %d",
				     (int)target->subject.pid)
		      : 0;
}

int target_write(const struct target *target, uint64_t address, const void *bytes, size_t size)
{
	return pwrite(target->subject.memory, bytes, size, (off_t)address) == (ssize_t)size
		       ? 0
		       : -EFAULT;
}

/*
 * ---- symbols ----
 *
 * The dynamic symbols of a module are read from its file, because an earlier attach may have
 * changed the tables in memory. All values are checked against the file's size.
 */

struct symbols {
	uint64_t bias;	    /* address minus symbol value */
	uint64_t low, high; /* address range of its code; both 0: the module has no code */
	Elf64_Sym *entries;
	uint16_t *versions; /* versions of the symbols; NULL: the module has none */
	char *names;	    /* ends with a NUL */
	size_t count, names_size;
};

#define SEGMENTS_MOST 64u
#define ENTRIES_MOST  512u /* limit of entries of a dynamic section */
#define SYMBOLS_MOST  (1u << 20)
#define NAMES_MOST    (64u << 20)

/*
 * A module that is read from its file or from memory. In both cases, addresses are those in the
 * file.
 */
struct image {
	const struct target *target;
	int file; /* descriptor of the file; -1: the module is read from memory */
	uint64_t bias;
	Elf64_Phdr segments[SEGMENTS_MOST];
	size_t segment_count;
};

static int read_bytes(const struct image *image, uint64_t address, void *bytes, size_t size)
{
	if (image->file < 0)
		return subject_get(&image->target->subject, image->bias + address, bytes, size);
	for (size_t i = 0; i < image->segment_count; i++) {
		const Elf64_Phdr *segment = &image->segments[i];
		uint64_t offset = address - segment->p_vaddr;

		if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
		    offset <= segment->p_filesz && size <= segment->p_filesz - offset)
			return pread(image->file, bytes, size,
				     (off_t)(segment->p_offset + offset)) == (ssize_t)size
				       ? 0
				       : -EIO;
	}
	return -EFAULT;
}

static int read_segments(struct image *image, const struct mapping *map)
{
	Elf64_Ehdr header;
	size_t size;
	bool found = false;
	int status = subject_get(&image->target->subject, map->from, &header, sizeof(header));

	if (status)
		return status;
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phnum > SEGMENTS_MOST ||
	    header.e_phentsize != sizeof(Elf64_Phdr))
		return -ENOEXEC;
	image->segment_count = header.e_phnum;
	size = header.e_phnum * sizeof(Elf64_Phdr);
	status = subject_get(&image->target->subject, map->from + header.e_phoff, image->segments,
			     size);
	for (size_t i = 0; !status && !found && i < image->segment_count; i++) {
		found = image->segments[i].p_type == PT_LOAD;
		image->bias = map->from - (image->segments[i].p_vaddr & ~0xfffull);
	}
	return status ? status : found ? 0 : -ENOEXEC;
}

/* Values of the dynamic section. The addresses are those in the file, without the bias. */
struct dynamic {
	uint64_t symbols, names, names_size, versions, hash, old_hash;
};

static int read_dynamic(const struct image *image, struct dynamic *dynamic)
{
	const struct {
		int64_t tag;
		uint64_t *value;
	} wanted[] = {
		{ DT_SYMTAB, &dynamic->symbols },   { DT_STRTAB, &dynamic->names },
		{ DT_STRSZ, &dynamic->names_size }, { DT_VERSYM, &dynamic->versions },
		{ DT_GNU_HASH, &dynamic->hash },    { DT_HASH, &dynamic->old_hash },
	};
	const Elf64_Phdr *segment = image->segments, *end = segment + image->segment_count;
	Elf64_Dyn entry;

	while (segment < end && segment->p_type != PT_DYNAMIC)
		segment++;
	for (size_t i = 0;
	     segment < end && i < ENTRIES_MOST && i < segment->p_memsz / sizeof(entry); i++) {
		int status = read_bytes(image, segment->p_vaddr + i * sizeof(entry), &entry,
					sizeof(entry));

		if (status)
			return status;
		if (entry.d_tag == DT_NULL)
			break;
		/* in memory, the loader may have added the bias to an address */
		if (image->file < 0 && entry.d_tag != DT_STRSZ && entry.d_un.d_ptr >= image->bias)
			entry.d_un.d_ptr -= image->bias;
		for (size_t k = 0; k < sizeof(wanted) / sizeof(wanted[0]); k++)
			if (wanted[k].tag == entry.d_tag)
				*wanted[k].value = entry.d_un.d_val;
	}
	return dynamic->symbols && dynamic->names && (dynamic->hash || dynamic->old_hash)
		       ? 0
		       : -ENOEXEC;
}

/*
 * Counts the symbols by the GNU hash table: the index of the last symbol in the last chain, plus 1.
 */
static int count_symbols(const struct image *image, uint64_t hash, size_t *count)
{
	cleanup_free uint32_t *firsts = NULL;
	uint32_t head[4], last = 0, link = 0;
	uint64_t buckets, chains;
	int status = read_bytes(image, hash, head, sizeof(head));

	if (status || head[0] > SYMBOLS_MOST || head[2] > SYMBOLS_MOST)
		return status ? status : -ENOEXEC;
	buckets = hash + sizeof(head) + head[2] * 8ull;
	chains = buckets + head[0] * 4ull;
	firsts = memory_alloc(head[0] * sizeof(*firsts));
	if (read_bytes(image, buckets, firsts, head[0] * sizeof(*firsts)))
		return -ENOEXEC;
	for (uint32_t i = 0; i < head[0]; i++)
		last = firsts[i] > last ? firsts[i] : last;
	*count = head[1];
	if (last < head[1])
		return 0;
	for (; !(link & 1) && last < SYMBOLS_MOST; last++)
		if (read_bytes(image, chains + (last - head[1]) * 4ull, &link, sizeof(link)))
			return -ENOEXEC;
	*count = last;
	return 0;
}

static void symbols_free(struct symbols *symbols)
{
	free(symbols->entries);
	free(symbols->versions);
	free(symbols->names);
	memset(symbols, 0, sizeof(*symbols));
}

/* map: the first mapping of the module. Returns 0 or a negative errno. */
static int symbols_read(struct symbols *symbols, const struct target *target,
			const struct mapping *map)
{
	struct image image = { .target = target };
	struct dynamic dynamic = { 0 };
	cleanup_fd int file = mapping_open(map, target->subject.pid);
	uint32_t head[2];
	int status;

	memset(symbols, 0, sizeof(*symbols));
	image.file = file;
	status = read_segments(&image, map);
	if (!status)
		status = read_dynamic(&image, &dynamic);
	if (!status && dynamic.hash)
		status = count_symbols(&image, dynamic.hash, &symbols->count);
	else if (!status)
		/* the older hash table has the number of symbols */
		status = read_bytes(&image, dynamic.old_hash, head, sizeof(head));
	if (!status && !dynamic.hash)
		symbols->count = head[1];
	if (!status && symbols->count > SYMBOLS_MOST)
		status = -ENOEXEC;
	if (!status && dynamic.names_size > NAMES_MOST)
		status = -ENOEXEC;
	if (!status) {
		size_t size = symbols->count * sizeof(*symbols->entries);

		symbols->names_size = dynamic.names_size;
		symbols->entries = memory_alloc(size);
		symbols->names = memory_zalloc(1, dynamic.names_size + 1);
		symbols->versions = dynamic.versions ? memory_zalloc(symbols->count + 1, 2) : NULL;
		if (read_bytes(&image, dynamic.symbols, symbols->entries, size) ||
		    read_bytes(&image, dynamic.names, symbols->names, dynamic.names_size) ||
		    (symbols->versions &&
		     read_bytes(&image, dynamic.versions, symbols->versions, symbols->count * 2)))
			status = -ENOEXEC;
	}
	symbols->bias = image.bias;
	for (size_t i = 0; i < image.segment_count; i++) {
		const Elf64_Phdr *segment = &image.segments[i];
		uint64_t low = image.bias + segment->p_vaddr, high = low + segment->p_memsz;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		symbols->low = symbols->high && symbols->low < low ? symbols->low : low;
		symbols->high = symbols->high > high ? symbols->high : high;
	}
	if (status)
		symbols_free(symbols);
	return status;
}

/* Returns the default version of a function or variable that the module defines, or NULL. */
static const Elf64_Sym *symbols_find(const struct symbols *symbols, const char *name)
{
	for (size_t i = 1; i < symbols->count; i++) {
		const Elf64_Sym *symbol = &symbols->entries[i];

		if (symbol->st_shndx == SHN_UNDEF || symbol->st_name >= symbols->names_size ||
		    (symbols->versions && symbols->versions[i] & 0x8000))
			continue;
		if (strcmp(symbols->names + symbol->st_name, name) == 0)
			return symbol;
	}
	return NULL;
}

/* Returns the address of the symbol, or 0 if the module does not define it. */
static uint64_t symbols_address(const struct symbols *symbols, const char *name)
{
	const Elf64_Sym *symbol = symbols_find(symbols, name);

	return symbol ? symbols->bias + symbol->st_value : 0;
}

/* ---- the target's libc ---- */

#if ARCH_INJECTS
static uint64_t find_code(const struct target *target, const uint8_t *code, size_t size)
{
	uint64_t room = target->code_high - target->code_low;

	for (uint64_t from = 0; from < room; from++) {
		const uint8_t *at = memmem(target->code + from, room - from, code, size);

		if (!at)
			return 0;
		from = (uint64_t)(at - target->code);
		/*
		 * at an address that is not aligned, the bytes are parts of other instructions, or
		 * data
		 */
		if (from % ARCH_CODE_STEP == 0)
			return target->code_low + from;
	}
	return 0;
}

/* Copies libc's code, and finds in the copy the instructions that borrowed threads execute. */
static int read_code(struct target *target, struct error *err)
{
	const struct maps *maps = &target->subject.maps;
	uint8_t code[sizeof(arch_restorer_code)];

	for (size_t i = 0; i < maps->count && !target->code; i++) {
		const struct mapping *map = &maps->items[i];

		if (!(map->flags & MAPPING_EXECUTE) ||
		    strncmp(mapping_name(map), "libc.so.6", 9) != 0)
			continue;
		target->code_low = map->from;
		target->code_high = map->to;
		target->code = memory_alloc(map->to - map->from);
		if (subject_get(&target->subject, map->from, target->code, map->to - map->from))
			return error_set(err, EIO, "the code of the process's libc cannot be read");
	}
	if (!target->code)
		return error_set(err, ENOEXEC, "the process has no executable mapping of its libc");
	target->syscall = find_code(target, arch_syscall_code, sizeof(arch_syscall_code));
	/* the code that returns from signal handlers is in libc, else in the vDSO */
	target->restorer = find_code(target, arch_restorer_code, sizeof(arch_restorer_code));
	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *map = &maps->items[i];

		if (strcmp(map->path, "[vdso]") != 0)
			continue;
		for (uint64_t at = map->from; at < map->to - sizeof(code) && !target->restorer;
		     at += ARCH_CODE_STEP)
			if (!subject_get(&target->subject, at, code, sizeof(code)) &&
			    !memcmp(code, arch_restorer_code, sizeof(code)))
				target->restorer = at;
	}
	return target->syscall
		       ? 0
		       : error_set(err, ENOEXEC,
				   "no system call instruction was found in the process's libc");
}
#endif

/*
 * ---- ranges where no thread may be borrowed ----
 *
 * Allocators, the dynamic loader, and functions that hold a lock of libc.
 */

static void forbid_range(struct target *target, uint64_t low, uint64_t high, const char *what)
{
	if (high <= low)
		return;
	*ARRAY_ADD(&target->ranges) = (struct range){ low, high, what };
	target->lowest = target->lowest && target->lowest < low ? target->lowest : low;
	target->highest = target->highest > high ? target->highest : high;
}

const char *target_forbids(const struct target *target, uint64_t address)
{
	/* this function runs for each word of a stopped thread's stack; few words point to code */
	if (address < target->lowest || address >= target->highest)
		return NULL;
	for (size_t i = 0; i < target->ranges.count; i++)
		if (address >= target->ranges.items[i].low &&
		    address < target->ranges.items[i].high)
			return target->ranges.items[i].what;
	return NULL;
}

/* The allocator's functions, which glibc defines in one object file. */
static const char *const allocators[] = {
	"malloc",
	"free",
	"calloc",
	"realloc",
	"memalign",
	"aligned_alloc",
	"valloc",
	"pvalloc",
	"posix_memalign",
	"malloc_trim",
	"malloc_usable_size",
	"mallinfo2",
	"mallinfo",
	"malloc_stats",
	"mallopt",
	"malloc_info",
};

/* ---- libc ---- */

static void forbid_list(struct target *target, const struct symbols *symbols,
			const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const Elf64_Sym *symbol = symbols_find(symbols, names[i]);

		if (symbol)
			forbid_range(target, symbols->bias + symbol->st_value,
				     symbols->bias + symbol->st_value + symbol->st_size, names[i]);
	}
}

/*
 * Forbids libc's allocator, functions that hold a lock that dlopen may need, and functions that
 * create a process.
 */
static void forbid_libc(struct target *target, const struct symbols *libc)
{
	static const char *const functions[] = {
		"dlopen",
		"dlclose",
		"dlsym",
		"dlvsym",
		"dlmopen",
		"dladdr",
		"dladdr1",
		"dlinfo",
		"dlerror",
		"dl_iterate_phdr",
		"fork",
		"_Fork",
		"vfork",
		"posix_spawn",
		"posix_spawnp",
		"popen",
		"exit",
		"quick_exit",
		"pthread_create",
		"pthread_getattr_np",
		"__cxa_thread_atexit_impl",
		"__libc_dlopen_mode",
		"_dl_find_object",
		"abort",
		"reallocarray",
		"__cxa_finalize",
		"__cxa_atexit",
		"pthread_setname_np",
		"pthread_attr_setaffinity_np",
		"__nptl_create_event",
	};

	/*
	 * libc's allocator is one object file. The range begins at the end of the last
	 * exported function before the allocator's functions and ends after the last of
	 * these. So it contains the allocator's static functions.
	 */
	uint64_t low = UINT64_MAX, high = 0, before = 0;

	for (size_t i = 0; i < sizeof(allocators) / sizeof(allocators[0]); i++) {
		const Elf64_Sym *symbol = symbols_find(libc, allocators[i]);

		if (!symbol)
			continue;
		low = symbol->st_value < low ? symbol->st_value : low;
		high = symbol->st_value + symbol->st_size > high
			       ? symbol->st_value + symbol->st_size
			       : high;
	}
	for (size_t i = 1; i < libc->count; i++) {
		const Elf64_Sym *symbol = &libc->entries[i];
		uint64_t end = symbol->st_value + symbol->st_size;

		if (symbol->st_shndx != SHN_UNDEF && end <= low && end > before)
			before = end;
	}
	forbid_range(target, libc->bias + before, libc->bias + high, "malloc");
	forbid_list(target, libc, functions, sizeof(functions) / sizeof(functions[0]));
}

/* ---- the modules ---- */

static bool is_loader(const struct mapping *map)
{
	const char *name = mapping_name(map);

	return !strncmp(name, "ld-linux", 8) || !strncmp(name, "ld64", 4);
}

static void read_module(struct target *target, const struct mapping *map, bool is_program)
{
	static const char *const others[] = { "reallocarray", "cfree" };
	struct symbols symbols;
	bool has_malloc;

	if (symbols_read(&symbols, target, map))
		return;
	has_malloc = symbols_find(&symbols, "malloc") != NULL;
	target->has_sanitizer |= symbols_find(&symbols, "__asan_init") ||
				 symbols_find(&symbols, "__tsan_init") ||
				 symbols_find(&symbols, "__msan_init");
	if (is_program) {
		target->program_low = symbols.low;
		target->program_high = symbols.high;
		target->has_malloc = has_malloc;
	}
	if (has_malloc && is_program) {
		/*
		 * An allocator in the program may hold a lock for which a call of the loader would
		 * wait. Only the allocator's exported functions show where its code is.
		 */
		forbid_list(target, &symbols, allocators,
			    sizeof(allocators) / sizeof(allocators[0]));
		forbid_list(target, &symbols, others, sizeof(others) / sizeof(others[0]));
		/* operators of a class do not match: their mangled names begin with the class */
		for (size_t i = 1; i < symbols.count; i++) {
			const Elf64_Sym *symbol = &symbols.entries[i];
			const char *name = symbols.names + symbol->st_name;

			if (symbol->st_shndx != SHN_UNDEF && symbol->st_name < symbols.names_size &&
			    (!strncmp(name, "_Znw", 4) || !strncmp(name, "_Zna", 4) ||
			     !strncmp(name, "_Zdl", 4) || !strncmp(name, "_Zda", 4)))
				forbid_range(target, symbols.bias + symbol->st_value,
					     symbols.bias + symbol->st_value + symbol->st_size,
					     "operator new or delete");
		}
	} else if (has_malloc) {
		/*
		 * all of the allocator is in this library, so all of the library's code is
		 * forbidden
		 */
		target->has_allocator = true;
		forbid_range(target, symbols.low, symbols.high, "the allocator");
	}
	symbols_free(&symbols);
}

static void read_modules(struct target *target)
{
	const struct mapping *program = NULL;
	uint64_t pair[2];
	cleanup_fd int fd = proc_open(target->subject.pid, 0, "auxv");

	/* find the program by the auxiliary vector, because its file may have been renamed */
	while (!program && fd >= 0 && read(fd, pair, sizeof(pair)) == (ssize_t)sizeof(pair))
		if (pair[0] == AT_PHDR)
			program = maps_at(&target->subject.maps, pair[1]);
	if (!program || program->offset)
		program = target->subject.maps.items;

	for (size_t i = 0; i < target->subject.maps.count; i++) {
		const struct mapping *map = &target->subject.maps.items[i];
		const char *name = mapping_name(map);

		if (is_loader(map) && map->flags & MAPPING_EXECUTE)
			forbid_range(target, map->from, map->to, "the loader");
		/*
		 * skip our own library: it defines malloc, too, but frames of its stubs are in the
		 * backtrace of every thread
		 */
		if (map == program || (maps_begins_module(&target->subject.maps, map) &&
				       !is_loader(map) && strncmp(name, "libc.so.6", 9) != 0 &&
				       strncmp(name, "libholdtrace.so", 15) != 0 &&
				       !strstr(map->path, "/memfd:holdtrace")))
			read_module(target, map, map == program);
	}
}

/* ---- refusals ---- */

/* Sets the error for a process that the kernel does not let the injector examine. */
static int refuse_rights(pid_t pid, int number, struct error *err)
{
	char path[64], scope = proc_yama();
	struct stat status;

	proc_path(path, sizeof(path), pid, "");
	if (number == ENOENT || number == ESRCH || stat(path, &status))
		return error_set(err, ESRCH, "process %d does not exist", (int)pid);
	if (number != EACCES && number != EPERM)
		return error_system(err, number, "process %d", (int)pid);
	if (scope != '0' && status.st_uid == geteuid())
		return error_set(err, EPERM,
				 "only its parents and root may attach to process %d "
				 "(kernel.yama.ptrace_scope is %c): attach as root, run `sysctl "
				 "kernel.yama.ptrace_scope=0`, or start the program by `holdtrace "
				 "record --start=off`",
				 (int)pid, scope);
	return error_set(err, EPERM,
			 "process %d belongs to another user, or has changed its privileges, so it "
			 "cannot be examined: attach as root or with CAP_SYS_PTRACE, or start the "
			 "program by `holdtrace record --start=off`",
			 (int)pid);
}

static int check_machine(const struct target *target, struct error *err)
{
	unsigned char head[20] = { 0 };
	cleanup_fd int fd = proc_open(target->subject.pid, 0, "exe");

	if (fd < 0 && errno == ENOENT)
		return error_set(err, ESRCH, "process %d has ended, or is a kernel thread",
				 (int)target->subject.pid);
	if (fd < 0)
		return refuse_rights(target->subject.pid, errno, err);
#if ARCH_INJECTS
	if (read(fd, head, sizeof(head)) != sizeof(head) || head[EI_CLASS] != ELFCLASS64 ||
	    head[18] != (ARCH_MACHINE & 0xff) || head[19] != ARCH_MACHINE >> 8)
		return error_set(
			err, ENOTSUP,
			"the process does not run a 64-bit program for this processor, and "
			"holdtrace has no library for other programs");
	return 0;
#else
	(void)head;
	return error_set(err, ENOTSUP,
			 "holdtrace cannot attach on this processor; start the program by "
			 "`holdtrace record --start=off`");
#endif
}

static int refuse_old_libc(struct error *err)
{
	return error_set(err, ENOTSUP,
			 "the process's libc is older than 2.35, which attaching needs: start the "
			 "program by `holdtrace record --start=off`");
}

static int check_modules(const struct target *target, struct error *err)
{
	if (maps_named(&target->subject.maps, "ld-musl"))
		return error_set(err, ENOTSUP,
				 "the process's libc is musl, which holdtrace does not support");
	if (target->has_sanitizer || maps_named(&target->subject.maps, "libasan.so") ||
	    maps_named(&target->subject.maps, "libtsan.so") ||
	    maps_named(&target->subject.maps, "libmsan.so") ||
	    maps_named(&target->subject.maps, "libclang_rt."))
		return error_set(err, ENOTSUP,
				 "the program is built with a sanitizer, which replaces the same "
				 "functions as holdtrace: use a build without it");
	if (maps_named(&target->subject.maps, "memfd:" LATE_STUCK))
		return error_set(err, ENOTRECOVERABLE,
				 "an earlier attach was abandoned inside the process's loader, so "
				 "the process cannot load libraries any more: restart the program");
	if (maps_named(&target->subject.maps,
		       "libc-2.")) /* the name of libc's file before glibc 2.34 */
		return refuse_old_libc(err);
	if (!maps_named(&target->subject.maps, "libc.so.6") ||
	    !(maps_named(&target->subject.maps, "ld-linux") ||
	      maps_named(&target->subject.maps, "ld64")))
		return error_set(err, ENOTSUP,
				 "the program is statically linked, or has not started its libc "
				 "yet, so no library can be loaded into it");
	return 0;
}

static int read_libc(struct target *target, struct error *err)
{
	const struct mapping *map = maps_named(&target->subject.maps, "libc.so.6");
	struct symbols libc, loader;
	bool is_old;
	uint64_t offset;

	if (symbols_read(&libc, target, map))
		return error_set(err, EIO, "the symbols of the process's libc cannot be read");
	target->dlopen = symbols_address(&libc, "dlopen");
	target->dlclose = symbols_address(&libc, "dlclose");
	target->dlerror = symbols_address(&libc, "dlerror");
	forbid_libc(target, &libc);
	is_old = !symbols_address(&libc, "_dl_find_object");
	symbols_free(&libc);
	if (!target->dlopen || !target->dlclose || is_old)
		return refuse_old_libc(err);
	map = maps_named(&target->subject.maps, "ld-linux");
	if (map && !symbols_read(&loader, target, map)) {
		offset = symbols_address(&loader, "__rseq_offset");
		if (offset)
			subject_get(&target->subject, offset, &target->rseq, sizeof(target->rseq));
		symbols_free(&loader);
	}
	return 0;
}

static int examine_target(struct target *target, struct error *err)
{
	pid_t pid = target->subject.pid;
	int64_t tracer;
	char path[64];
	int status = check_machine(target, err);

	if (status)
		return status;
	tracer = proc_status(pid, 0, "TracerPid", 10);
	if (tracer > 0)
		return error_set(err, EBUSY,
				 "the process is being traced by process %d (a debugger, strace?): "
				 "end that process first",
				 (int)tracer);
	if (status_has(pid, "State", "T (stopped)"))
		return error_set(err, EBUSY, "the process is stopped: run `kill -CONT %d` first",
				 (int)pid);
	if (status_has(pid, "State", "Z (zombie)"))
		return error_set(err, ESRCH, "process %d has ended", (int)pid);
	if (status_has(pid, "x86_Thread_features", "shstk"))
		return error_set(err, ENOTSUP,
				 "the process has a shadow stack, which does not permit attaching: "
				 "start the program by `holdtrace record --start=off`");
	status = subject_open_memory(&target->subject, O_RDWR);
	if (status)
		return refuse_rights(pid, -status, err);
	status = target_read_maps(target, err);
	if (!status)
		read_modules(target);
	if (!status)
		status = check_modules(target, err);
	/* the target opens the library by a path below /proc */
	proc_path(path, sizeof(path), pid, "root/proc/meminfo");
	if (!status && access(path, F_OK) != 0)
		status = error_set(err, ENOTSUP,
				   "the process's root directory has no /proc (chroot?), which is "
				   "needed to load the library: mount /proc there, or start the "
				   "program by `holdtrace record --start=off`");
	if (!status)
		status = read_libc(target, err);
#if ARCH_INJECTS
	if (!status)
		status = read_code(target, err);
#endif
	return status;
}

int target_open(struct target *target, pid_t pid, struct error *err)
{
	int status;

	memset(target, 0, sizeof(*target));
	subject_begin(&target->subject, pid);
	if (pid == getpid() || pid <= 0)
		return error_set(err, EINVAL,
				 "cannot attach to process %d: expected the id of another process",
				 (int)pid);
	if (proc_status(pid, 0, "Pid", 10) < 0)
		return error_set(err, ESRCH, "process %d does not exist", (int)pid);
	status = examine_target(target, err);
	if (!status)
		return 0;
	target_close(target);
	/* the process may have ended during the attempt */
	if (proc_status(pid, 0, "Pid", 10) < 0 || status_has(pid, "State", "Z (zombie)"))
		return error_set(err, ESRCH, "process %d has ended", (int)pid);
	return status;
}

void target_close(struct target *target)
{
	subject_end(&target->subject);
	free(target->ranges.items);
	free(target->code);
	target->code = NULL;
	target->ranges.items = NULL;
}
