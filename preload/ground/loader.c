/* SPDX-License-Identifier: MIT */
#include "loader.h"

#include <gnu/libc-version.h>

#include "linkage.h"
#include "plain.h"

struct loader loader;

static const char not_alone;
const char *loader_is_alone = &not_alone;

extern const ElfW(Dyn) own_section[] __asm__("_DYNAMIC") __attribute__((visibility("hidden")));

static const struct link_map *own_map, *libc_map;
static int (*iterate)(int (*look)(struct dl_phdr_info *, size_t, void *), void *user);
static bool is_ready;

/* ---- symbols ---- */

static const void *find_in(const struct link_map *map, const char *name)
{
	struct linkage linkage;
	const ElfW(Sym) * symbol;

	if (!map || !linkage_read_symbols(&linkage, map))
		return NULL;
	symbol = linkage_find_any(&linkage, name);
	return symbol ? (const void *)(map->l_addr + symbol->st_value) : NULL;
}

/* Finds a symbol in libc, in the loader or, if `is_elsewhere`, in a module after this library. */
static const void *find_symbol(const struct link_map *ld, const char *name, bool is_elsewhere)
{
	const void *found = find_in(libc_map, name);

	if (!found)
		found = find_in(ld, name);
	for (const struct link_map *map = own_map; !found && is_elsewhere && map; map = map->l_next)
		found = map == own_map ? NULL : find_in(map, name);
	return found;
}

void loader_begin(void)
{
	/* libc has the highest load address below a function that only libc defines */
	const uintptr_t inside = (uintptr_t)gnu_get_libc_version;
	const struct link_map *ld = NULL, *libc = NULL;
	const void *alone;

	if (__atomic_load_n(&is_ready, __ATOMIC_ACQUIRE))
		return;
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
		if (map->l_ld == own_section)
			own_map = map;
		if (map->l_addr == _r_debug.r_ldbase)
			ld = map;
		if (map->l_addr <= inside && (!libc || map->l_addr > libc->l_addr))
			libc = map;
	}
	libc_map = libc;
	loader.find_object =
		(__typeof__(loader.find_object))find_symbol(ld, "_dl_find_object", false);
	loader.dlsym = (__typeof__(loader.dlsym))find_symbol(ld, "dlsym", true);
	loader.dlvsym = (__typeof__(loader.dlvsym))find_symbol(ld, "dlvsym", true);
	loader.dlerror = (__typeof__(loader.dlerror))find_symbol(ld, "dlerror", true);
	loader.rseq_offset = find_symbol(ld, "__rseq_offset", false);
	alone = find_symbol(ld, "__libc_single_threaded", false);
	if (alone)
		loader_is_alone = alone;
	if (!loader.find_object)
		iterate = (__typeof__(iterate))find_symbol(ld, "dl_iterate_phdr", false);
	__atomic_store_n(&is_ready, true, __ATOMIC_RELEASE);
	loader_update();
}

/* ---- our own table of modules (glibc before 2.35) ---- */

/*
 * There are two tables; the lowest bit of `version` selects the current one. fill_table() fills the
 * other one and then increases `version`. Readers read again if `version` has changed, but never
 * wait, not even in a signal handler that interrupts fill_table(). dl_iterate_phdr() calls
 * fill_table() under the loader's lock, so only one thread fills a table at a time.
 */
#define OBJECTS_MAX 1024u

static SPARSE struct loaded_table {
	unsigned int count;
	struct loaded objects[OBJECTS_MAX];
} tables[2];
static uint32_t version;
static bool is_filling; /* set by the thread that holds the loader's lock */

/* The state of fill_table() from one module of dl_iterate_phdr() to the next. */
struct filling {
	const struct link_map *map; /* the next module in the loader's list */
	struct loaded_table *table; /* NULL: before the first module */
};

static struct loaded read_object(const struct dl_phdr_info *info, const struct link_map *map)
{
	const uintptr_t page = 4095;
	uintptr_t low = UINTPTR_MAX, high = 0;
	struct loaded object = { .link_map = map };

	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + segment->p_vaddr, to = from + segment->p_memsz;

		if (segment->p_type == PT_GNU_EH_FRAME)
			object.eh_frame = (void *)from;
		if (segment->p_type != PT_LOAD)
			continue;
		low = from < low ? from : low;
		high = to > high ? to : high;
	}
	object.map_start = (void *)(low & ~page);
	object.map_end = (void *)high;
	return object;
}

static int fill_table(struct dl_phdr_info *info, size_t size, void *user)
{
	static unsigned long long adds, subs;
	struct filling *filling = user;
	struct loaded object;

	(void)size;
	if (!filling->table) {
		/* a signal handler interrupted fill_table(), or the table is current */
		if (is_filling || (info->dlpi_adds == adds && info->dlpi_subs == subs))
			return 1;
		is_filling = true;
		filling->table = &tables[(version + 1) & 1];
		filling->table->count = 0;
		filling->map = _r_debug.r_map;
	}
	if (filling->map && filling->map->l_addr == info->dlpi_addr) {
		struct loaded_table *table = filling->table;
		unsigned int at = table->count;

		object = read_object(info, filling->map);
		if (object.map_start < object.map_end && at < OBJECTS_MAX) {
			for (; at && table->objects[at - 1].map_start > object.map_start; at--)
				table->objects[at] = table->objects[at - 1];
			table->objects[at] = object;
			table->count++;
		}
		filling->map = filling->map->l_next;
		if (filling->map)
			return 0;
		adds = info->dlpi_adds;
		subs = info->dlpi_subs;
		__atomic_store_n(&version, version + 1, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&is_filling, false, __ATOMIC_RELEASE);
	return 1;
}

void loader_update(void)
{
	struct filling filling = { 0 };

	if (iterate)
		iterate(fill_table, &filling);
}

static const struct loaded *search_table(const struct loaded_table *table, uintptr_t address)
{
	unsigned int low = 0, high = table->count < OBJECTS_MAX ? table->count : OBJECTS_MAX;

	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if ((uintptr_t)table->objects[middle].map_start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < (uintptr_t)table->objects[low - 1].map_end
		       ? &table->objects[low - 1]
		       : NULL;
}

static int find_in_table(uintptr_t address, struct loaded *found)
{
	for (;;) {
		uint32_t before = __atomic_load_n(&version, __ATOMIC_ACQUIRE);
		const struct loaded *object = search_table(&tables[before & 1], address);

		if (object)
			*found = *object;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&version, __ATOMIC_RELAXED) == before)
			return object ? 0 : -1;
	}
}

int loader_find(const void *address, struct loaded *found)
{
	/* a struct dl_find_object with space for members that later versions of glibc may add */
	struct {
		unsigned long long flags;
		void *map_start, *map_end;
		struct link_map *link_map;
		void *eh_frame, *reserved[24];
	} object;

	if (!__atomic_load_n(&is_ready, __ATOMIC_ACQUIRE))
		loader_begin();
	if (!loader.find_object)
		return find_in_table((uintptr_t)address, found);
	if (loader.find_object((void *)(uintptr_t)address, &object))
		return -1;
	*found = (struct loaded){ .link_map = object.link_map,
				  .map_start = object.map_start,
				  .map_end = object.map_end,
				  .eh_frame = object.eh_frame };
	return 0;
}

int loader_find_libc(struct loaded *found)
{
	return loader_find((const void *)(uintptr_t)gnu_get_libc_version, found);
}
