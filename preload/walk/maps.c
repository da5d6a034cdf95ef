/* SPDX-License-Identifier: MIT */
#include "maps.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <sys/mman.h>

#include "cfi.h"
#include "preload/ground/linkage.h"
#include "preload/ground/loader.h"
#include "preload/ground/self.h"
#include "preload/ground/sys.h"
#include "preload/ground/plain.h"

/*
 * How does the library notice, without asking the loader about each frame, that an address range
 * now belongs to another module? When the loader unloads an object, it frees the object's link map
 * by the program's free(), which is our stub. Before that call, the loader has removed the object
 * from _dl_find_object's table, and the loader holds its lock, so the object is surely absent.
 * Therefore capture_walk() runs maps_check() for calls that the loader makes (at the start, in
 * dlopen and dlclose, for a thread's TLS; 25 ns a module). If malloc's hooks are off, the hook of
 * dlclose runs maps_check(). In that case, objects that glibc unloads by itself (iconv, NSS) are
 * noticed when a new address is seen in their range.
 *
 * Alternatives that were tried: the loader's counters of loads can be read only under its lock
 * (dl_iterate_phdr), the list of link maps may be freed while we read it, and _dl_find_object for
 * each frame costs 25 ns.
 */

/* ---- memory that is never freed: modules and their paths ---- */

#define REGION_SIZE  65536u
#define REGION_FIRST 2048u /* enough for a program that needs only libc */

struct region {
	uint32_t used, size; /* bytes after this struct */
} __attribute__((aligned(8)));

static struct {
	struct region region;
	char bytes[REGION_FIRST - sizeof(struct region)];
} first_region = { .region.size = sizeof(first_region.bytes) };

_Static_assert(_Alignof(struct region) >= _Alignof(struct module),
	       "a module at the start of a region must be aligned");

static struct region *region_now = &first_region.region;

static struct region *region_new(struct region *full)
{
	struct region *region = sys_mmap(NULL, REGION_SIZE, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (sys_error(region) != 0)
		return NULL;
	region->size = REGION_SIZE - sizeof(*region);
	/* if another thread has added a region first, use that region */
	if (!__atomic_compare_exchange_n(&region_now, &full, region, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE)) {
		sys_munmap(region, REGION_SIZE);
		return full;
	}
	own_add(region, REGION_SIZE);
	return region;
}

/* Allocates zeroed memory that is never freed. Returns NULL if `size` is too large for a region. */
static void *keep_memory(size_t size)
{
	struct region *region = __atomic_load_n(&region_now, __ATOMIC_ACQUIRE);
	uint32_t rounded = (uint32_t)(size + 7) & ~7u;

	if (size > REGION_SIZE / 4)
		return NULL;
	for (;;) {
		uint64_t at = __atomic_fetch_add(&region->used, rounded, __ATOMIC_RELAXED);

		if (at + rounded <= region->size)
			return (char *)(region + 1) + at;
		region = region_new(region);
		if (region == NULL)
			return NULL;
	}
}

/* ---- the table of modules ---- */

#define MODULES_PER_PAGE 1024u
#define PAGES_MAX	 63u /* maximum, so that no module has the number MAPS_MODULE_NONE */

/* The first modules are in a small table, so most processes touch no page of the large table. */
#define FEW 16u

static struct module *few[FEW];
static SPARSE struct module *first_page[MODULES_PER_PAGE];
static struct module **pages[PAGES_MAX] = { first_page };
unsigned int maps_number;

static struct module *module_at(unsigned int number)
{
	struct module **page;

	if (number < FEW)
		return __atomic_load_n(&few[number], __ATOMIC_ACQUIRE);
	page = __atomic_load_n(&pages[number / MODULES_PER_PAGE], __ATOMIC_ACQUIRE);
	return __atomic_load_n(&page[number % MODULES_PER_PAGE], __ATOMIC_ACQUIRE);
}

const struct module *maps_get(unsigned int number)
{
	return module_at(number);
}

/* Returns the location of a module's pointer; NULL if the table is full. */
static struct module **place_of(unsigned int number)
{
	struct module **page, **expected = NULL;

	if (number < FEW)
		return &few[number];
	if (number >= MODULES_PER_PAGE * PAGES_MAX)
		return NULL;
	page = __atomic_load_n(&pages[number / MODULES_PER_PAGE], __ATOMIC_ACQUIRE);
	if (page == NULL) {
		page = keep_memory(MODULES_PER_PAGE * sizeof(*page));
		if (page == NULL)
			return NULL;
		if (!__atomic_compare_exchange_n(&pages[number / MODULES_PER_PAGE], &expected, page,
						 false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			page = expected;
	}
	return &page[number % MODULES_PER_PAGE];
}

static bool is_same(const struct module *module, const struct loaded *found)
{
	return module->link_map == found->link_map &&
	       module->map_start == (uintptr_t)found->map_start &&
	       module->map_end == (uintptr_t)found->map_end &&
	       module->tables.header == found->eh_frame;
}

uint32_t maps_generation;

static void retire_module(unsigned int number)
{
	__atomic_store_n(&module_at(number)->is_gone, true, __ATOMIC_SEQ_CST);
	cfi_forget(number);
	__atomic_fetch_add(&maps_generation, 1, __ATOMIC_SEQ_CST);
}

/*
 * Finds the module that contains `address` in its code and is not marked as unloaded. If `found`
 * shows that a module in this range was unloaded, marks that module.
 */
static unsigned int look_up(uintptr_t address, const struct loaded *found)
{
	/* several modules may have had the range; the last one is the current one */
	for (unsigned int number = maps_count(); number-- > 0;) {
		const struct module *module = module_at(number);

		if (address - module->start >= module->end - module->start ||
		    __atomic_load_n(&module->is_gone, __ATOMIC_ACQUIRE))
			continue;
		if (is_same(module, found))
			return number;
		retire_module(number);
	}
	return MAPS_MODULE_NONE;
}

/* Publishes a module under the next free number, or finds that another thread has done so. */
static unsigned int append_module(struct module *module)
{
	for (unsigned int number = maps_count();; number++) {
		struct module **place = place_of(number);
		struct module *expected = NULL;
		unsigned int next = number;

		if (place == NULL)
			return MAPS_MODULE_NONE;
		__atomic_compare_exchange_n(place, &expected, module, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE);
		/* every thread that sees this entry counts it, so no thread waits for another */
		__atomic_compare_exchange_n(&maps_number, &next, number + 1, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
		if (expected == NULL ||
		    (expected->start == module->start && expected->link_map == module->link_map &&
		     !__atomic_load_n(&expected->is_gone, __ATOMIC_ACQUIRE)))
			return number;
	}
}

/* ---- paths ---- */

static const char *keep_text(const char *text)
{
	size_t length = plain_length(text);
	char *copy = keep_memory(length + 1);

	if (copy == NULL)
		return "";
	plain_copy(copy, text, length + 1);
	return copy;
}

static const char *path_of(const char *name)
{
	size_t length = plain_length(name);
	char *path;
	long size;

	if (name[0] == 0)
		return self_path();
	if (plain_begins(name, "linux-vdso.so") || plain_begins(name, "linux-gate.so"))
		return "[vdso]";
	if (name[0] == '/')
		return keep_text(name);
	/* relative: the directory of dlopen("./plugin.so") is probably still the current one */
	path = keep_memory(PATH_MAX + 1 + length + 1);
	size = path == NULL ? 0 : sys_getcwd(path, PATH_MAX);
	if (path == NULL || size <= 1 || path[0] != '/')
		return keep_text(name);
	path[size - 1] = '/';
	__builtin_memcpy(path + size, name, length + 1);
	return path;
}

/* ---- the ELF file in memory ---- */

#define READ_MOST (64u << 10) /* bytes of a file's headers or notes; no linker writes more */

/* Whether all pages of a range (at least 8 bytes) are readable. Pages have at least 4 KiB. */
static bool is_readable(uintptr_t from, size_t size)
{
	if (size > READ_MOST || !sys_is_readable((const void *)from))
		return false;
	for (uintptr_t at = (from | 4095) + 1; at < from + size; at += 4096)
		if (!sys_is_readable((const void *)at))
			return false;
	return true;
}

/* Returns the program headers, or NULL. In practice, they are in the first page of every file. */
static const ElfW(Phdr) * headers_of(uintptr_t map_start, unsigned int *number)
{
	const ElfW(Ehdr) *elf = (const void *)map_start;
	uintptr_t from;

	if (!is_readable(map_start, sizeof(*elf)) || elf->e_ident[EI_MAG0] != ELFMAG0 ||
	    elf->e_ident[EI_MAG1] != ELFMAG1 || elf->e_ident[EI_MAG2] != ELFMAG2 ||
	    elf->e_ident[EI_MAG3] != ELFMAG3 || elf->e_phentsize != sizeof(ElfW(Phdr)) ||
	    elf->e_phoff > 4096 || elf->e_phnum == 0 || elf->e_phnum > 256)
		return NULL;
	from = map_start + elf->e_phoff;
	if (from + elf->e_phnum * sizeof(ElfW(Phdr)) - map_start > 4096 &&
	    !is_readable(from, elf->e_phnum * sizeof(ElfW(Phdr))))
		return NULL;
	*number = elf->e_phnum;
	return (const void *)from;
}

static bool segment_holds(const ElfW(Phdr) * header, uintptr_t bias, uintptr_t address)
{
	return header->p_type == PT_LOAD && address - bias - header->p_vaddr < header->p_memsz;
}

static uint64_t round_up(uint64_t size, uint64_t alignment)
{
	return (size + alignment - 1) & ~(alignment - 1);
}

/* Reads the build-id and the mark of Go from ELF notes, whose parts have this alignment. */
static void read_notes(struct module *module, uintptr_t from, size_t size, uint64_t alignment)
{
	while (size >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)from;
		const char *name = (const char *)(note + 1);
		uint64_t data = round_up(sizeof(*note) + (uint64_t)note->n_namesz, alignment);
		uint64_t whole = round_up(data + note->n_descsz, alignment);

		if (whole > size)
			return;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    !module->build_id_size && plain_begins(name, "GNU") &&
		    note->n_descsz <= sizeof(module->build_id)) {
			for (uint32_t i = 0; i < note->n_descsz; i++)
				module->build_id[i] = ((const uint8_t *)note)[data + i];
			module->build_id_size = (uint8_t)note->n_descsz;
		}
		module->is_go |= note->n_namesz == 4 && plain_equal(name, "Go");
		from += whole;
		size -= whole;
	}
}

/* Whether the notes are in the same page as `known`, which is known to be readable. */
static bool is_beside(uintptr_t from, size_t size, const void *known)
{
	uintptr_t page = (uintptr_t)known & ~(uintptr_t)4095;

	return from >= page && from - page < 4096 && size <= 4096 - (from - page);
}

static void read_header(struct module *module, const ElfW(Phdr) * header, uintptr_t address)
{
	uintptr_t from = module->bias + header->p_vaddr;

	if (header->p_type == PT_NOTE && header->p_memsz >= sizeof(ElfW(Nhdr)) &&
	    (is_beside(from, header->p_memsz, header) || is_readable(from, header->p_memsz)))
		read_notes(module, from, header->p_memsz, header->p_align == 8 ? 8 : 4);
	if (segment_holds(header, module->bias, address) && (header->p_flags & PF_X)) {
		module->start = from;
		module->end = from + header->p_memsz;
		module->offset = header->p_offset;
		/* a program at a fixed address has no bias */
		module->base = module->bias ? module->bias : from - header->p_offset;
	}
	/* the tables end at p_filesz: the rest, up to p_memsz, is only zeroed memory */
	if (segment_holds(header, module->bias, (uintptr_t)module->tables.header) &&
	    (header->p_flags & PF_R)) {
		module->tables.low = (const uint8_t *)from;
		module->tables.high = (const uint8_t *)from + header->p_filesz;
	}
}

/*
 * Finds a module's headers. The loader knows where a module's memory begins, unless there are holes
 * between the module's segments (pages of 64 KiB or 2 MiB). In that case the loader reports only
 * one of the pieces, and the headers are at the load address, or the auxiliary vector has the
 * address of the program's headers.
 */
static const ElfW(Phdr) * find_headers(const struct loaded *found, unsigned int *number)
{
	const struct link_map *map = found->link_map;
	const ElfW(Phdr) *headers = headers_of((uintptr_t)found->map_start, number);

	if (!headers && map->l_addr)
		headers = headers_of(map->l_addr, number);
	if (!headers && !map->l_prev) {
		headers = (const void *)self_auxiliary(AT_PHDR);
		*number = (unsigned int)self_auxiliary(AT_PHNUM);
	}
	return headers;
}

struct maps_loader maps_loader;

/* Finds the loader's range. Several threads may do this at the same time, with the same result. */
static void find_loader(void)
{
	struct loaded found;

	/* with a copy relocation, the variable is in the program, whose link map has no name */
	if (loader_find(&__libc_stack_end, &found) != 0 || found.link_map->l_name[0] == 0)
		return;
	__atomic_store_n(&maps_loader.start, (uintptr_t)found.map_start, __ATOMIC_RELAXED);
	__atomic_store_n(&maps_loader.size, (uintptr_t)found.map_end - (uintptr_t)found.map_start,
			 __ATOMIC_RELEASE);
}

const char *maps_own_path;

/* Whether the module was loaded from a descriptor: this library, or the injector's trigger. */
static bool is_from_memory(const struct link_map *map)
{
	return plain_begins(map->l_name, "/proc/self/fd/");
}

static uintptr_t address_of(const struct linkage *linkage, const char *name)
{
	const ElfW(Sym) *symbol = linkage_find_any(linkage, name);

	return symbol ? linkage->map->l_addr + symbol->st_value : 0;
}

/*
 * Describes the Python interpreter in a module. Returns NULL if the module has no interpreter.
 * Debug builds (Py_REF_DEBUG) and builds without a GIL are known by their functions for reference
 * counts, which no other build exports.
 */
static const struct maps_python *find_python(const struct link_map *map)
{
	struct linkage linkage;
	struct maps_python *python;
	const ElfW(Sym) * runtime;
	uintptr_t version;

	if (!linkage_read(&linkage, map) || !linkage.hash ||
	    !linkage_find(&linkage, "PyGILState_GetThisThreadState"))
		return NULL;
	python = keep_memory(sizeof(*python));
	if (python == NULL)
		return NULL;
	python->state = address_of(&linkage, "PyGILState_GetThisThreadState");
	python->current = address_of(&linkage, "_PyThreadState_UncheckedGet");
	python->is_ending = address_of(&linkage, "_Py_IsFinalizing");
	if (!python->is_ending)
		python->is_ending = address_of(&linkage, "Py_IsFinalizing");
	python->code_type = address_of(&linkage, "PyCode_Type");
	python->get_version = address_of(&linkage, "Py_GetVersion");
	version = address_of(&linkage, "Py_Version");
	python->version = version ? *(const uint64_t *)version : 0;
	runtime = linkage_find_any(&linkage, "_PyRuntime");
	if (runtime) {
		python->runtime = map->l_addr + runtime->st_value;
		python->runtime_end = python->runtime + runtime->st_size;
	}
	python->may_unload = map->l_name[0] != '\0';
	python->is_special = address_of(&linkage, "_Py_RefTotal") ||
			     address_of(&linkage, "_Py_NegativeRefcount") ||
			     address_of(&linkage, "_Py_DecRefShared");
	return python;
}

/* Like maps_find(). headers: the module's program headers, or NULL to search for them. */
static unsigned int find_or_add(uintptr_t address, const ElfW(Phdr) * headers, unsigned int count)
{
	struct loaded found;
	struct module *kept, module = { 0 };
	unsigned int number;

	if (maps_loader.size == 0)
		find_loader();
	if (loader_find((void *)address, &found) != 0)
		return MAPS_MODULE_NONE;
	number = look_up(address, &found);
	if (number != MAPS_MODULE_NONE)
		return number;
	if (!headers)
		headers = find_headers(&found, &count);
	module.link_map = found.link_map;
	module.map_start = (uintptr_t)found.map_start;
	module.map_end = (uintptr_t)found.map_end;
	module.bias = found.link_map->l_addr;
	module.tables.header = found.eh_frame;
	for (unsigned int i = 0; headers != NULL && i < count; i++)
		read_header(&module, &headers[i], address);
	if (module.start == module.end)
		return MAPS_MODULE_NONE;
	module.path =
		path_of(maps_own_path && is_from_memory(found.link_map) ? maps_own_path
									: found.link_map->l_name);
	kept = keep_memory(sizeof(*kept));
	if (kept == NULL)
		return MAPS_MODULE_NONE;
	module.python = find_python(found.link_map);
	*kept = module;
	return append_module(kept);
}

unsigned int maps_find(uintptr_t address)
{
	return find_or_add(address, NULL, 0);
}

bool maps_are_one(uintptr_t one, uintptr_t other)
{
	struct loaded a, b;

	return loader_find((void *)one, &a) == 0 && loader_find((void *)other, &b) == 0 &&
	       a.link_map == b.link_map;
}

void maps_find_all(void)
{
	struct loaded own, found;

	if (loader_find((void *)(uintptr_t)maps_find_all, &own) != 0)
		return;
	for (const struct link_map *map = linkage_first(); map; map = map->l_next) {
		const ElfW(Phdr) * headers;
		unsigned int i = 0, count = 0;

		if ((map != own.link_map && is_from_memory(map)) || !map->l_ld ||
		    loader_find(map->l_ld, &found) != 0)
			continue;
		headers = find_headers(&found, &count);
		while (headers && i < count &&
		       (headers[i].p_type != PT_LOAD || !(headers[i].p_flags & PF_X)))
			i++;
		if (headers && i < count)
			find_or_add(map->l_addr + headers[i].p_vaddr, headers, count);
	}
}

void maps_check(void)
{
	loader_update();
	for (unsigned int number = 0; number < maps_count(); number++) {
		const struct module *module = module_at(number);
		struct loaded found;

		if (!__atomic_load_n(&module->is_gone, __ATOMIC_ACQUIRE) &&
		    (loader_find((void *)module->start, &found) != 0 || !is_same(module, &found)))
			retire_module(number);
	}
}

const struct module *maps_take_gone(void)
{
	for (unsigned int number = 0; number < maps_count(); number++) {
		struct module *module = *place_of(number);
		struct loaded found;

		if (__atomic_load_n(&module->is_gone, __ATOMIC_ACQUIRE) &&
		    !__atomic_exchange_n(&module->is_told, true, __ATOMIC_ACQ_REL) &&
		    loader_find((void *)module->start, &found) != 0)
			return module;
	}
	return NULL;
}
