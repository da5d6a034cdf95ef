/* SPDX-License-Identifier: MIT */
#include "inject/modules.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

static void forbid(struct target *target, uint64_t low, uint64_t high, const char *what)
{
	if (high <= low)
		return;
	*ARRAY_ADD(&target->ranges) = (struct range){ low, high, what };
	target->lowest = target->lowest && target->lowest < low ? target->lowest : low;
	target->highest = target->highest > high ? target->highest : high;
}

const char *modules_forbid(const struct target *target, uint64_t address)
{
	/* called for each word of a stack while its thread is stopped; few words point to code */
	if (address < target->lowest || address >= target->highest)
		return NULL;
	for (size_t i = 0; i < target->ranges.count; i++)
		if (address >= target->ranges.items[i].low &&
		    address < target->ranges.items[i].high)
			return target->ranges.items[i].what;
	return NULL;
}

/* The functions that glibc has in one object file. */
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

/*
 * libc's allocator is one object file. Its range reaches from the end of the last exported function
 * before these to the end of their last one, and contains its static functions.
 */
static void forbid_malloc(struct target *target, const struct symbols *libc)
{
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
	forbid(target, libc->bias + before, libc->bias + high, "malloc");
}

static void forbid_list(struct target *target, const struct symbols *symbols,
			const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const Elf64_Sym *symbol = symbols_find(symbols, names[i]);

		if (symbol)
			forbid(target, symbols->bias + symbol->st_value,
			       symbols->bias + symbol->st_value + symbol->st_size, names[i]);
	}
}

/* Adds functions that hold a lock which dlopen may need, and those that are creating a process. */
void modules_forbid_libc(struct target *target, const struct symbols *libc)
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

	forbid_malloc(target, libc);
	forbid_list(target, libc, functions, sizeof(functions) / sizeof(functions[0]));
}

/* ---- allocators that are not libc's ---- */

/* All forms of operator new and delete; those of a class have the class before the operator. */
static void forbid_operators(struct target *target, const struct symbols *symbols)
{
	for (size_t i = 1; i < symbols->count; i++) {
		const Elf64_Sym *symbol = &symbols->entries[i];
		const char *name = symbols->names + symbol->st_name;

		if (symbol->st_shndx != SHN_UNDEF && symbol->st_name < symbols->names_size &&
		    (!strncmp(name, "_Znw", 4) || !strncmp(name, "_Zna", 4) ||
		     !strncmp(name, "_Zdl", 4) || !strncmp(name, "_Zda", 4)))
			forbid(target, symbols->bias + symbol->st_value,
			       symbols->bias + symbol->st_value + symbol->st_size,
			       "operator new or delete");
	}
}

/* ---- the modules ---- */

/*
 * The mapping of the program's own headers, by the auxiliary vector, because its name may have
 * changed.
 */
static const struct mapping *find_program(const struct target *target)
{
	char path[64];
	uint64_t pair[2];
	const struct mapping *map = NULL;
	cleanup_fd int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)target->subject.pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (!map && fd >= 0 && read(fd, pair, sizeof(pair)) == (ssize_t)sizeof(pair))
		if (pair[0] == AT_PHDR)
			map = maps_at(&target->subject.maps, pair[1]);
	return map && !map->offset ? map : target->subject.maps.items;
}

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
		 * An allocator in the program may hold a lock for which the loader, called by us,
		 * would wait. Only its exported functions show where it is.
		 */
		forbid_list(target, &symbols, allocators,
			    sizeof(allocators) / sizeof(allocators[0]));
		forbid_list(target, &symbols, others, sizeof(others) / sizeof(others[0]));
		forbid_operators(target, &symbols);
	} else if (has_malloc) {
		/* all of the allocator is in this library, so all its code is forbidden */
		target->has_allocator = true;
		forbid(target, symbols.low, symbols.high, "the allocator");
	}
	symbols_free(&symbols);
}

void modules_read(struct target *target)
{
	const struct mapping *program = find_program(target);

	for (size_t i = 0; i < target->subject.maps.count; i++) {
		const struct mapping *map = &target->subject.maps.items[i];
		const char *name = mapping_name(map);

		if (is_loader(map) && map->flags & MAPPING_EXECUTE)
			forbid(target, map->from, map->to, "the loader");
		/* our own library is always among the callers, in functions that jump to others */
		if (map == program || (maps_begins_module(&target->subject.maps, map) &&
				       !is_loader(map) && strncmp(name, "libc.so.6", 9) != 0 &&
				       strncmp(name, "libholdtrace.so", 15) != 0 &&
				       !strstr(map->path, "/memfd:holdtrace")))
			read_module(target, map, map == program);
	}
}
