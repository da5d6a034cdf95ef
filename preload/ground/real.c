/* SPDX-License-Identifier: MIT */
#include "real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "behind.h"
#include "linkage.h"
#include "loader.h"
#include "plain.h"

/* The pool, in bytes. dlsym needs a few hundred bytes; an early constructor may need more. */
#define POOL_SIZE (256u << 10)
#define POOL_STEP 16u

struct real real;
bool real_is_found;

static SPARSE char pool[POOL_SIZE] __attribute__((aligned(POOL_STEP)));
static uint32_t pool_used;

/* The 16 bytes before a block hold its size, for realloc. */
struct pool_head {
	size_t size;
	size_t pad;
};

bool pool_owns(const void *address)
{
	return (uintptr_t)address - (uintptr_t)pool < POOL_SIZE;
}

static void *pool_aligned(size_t alignment, size_t size)
{
	uint32_t need, at;
	uintptr_t block;

	if (alignment < POOL_STEP)
		alignment = POOL_STEP;
	if (size > POOL_SIZE || alignment > 4096)
		return NULL;
	need = (uint32_t)(sizeof(struct pool_head) + alignment + size + POOL_STEP - 1) &
	       ~(POOL_STEP - 1);
	at = __atomic_fetch_add(&pool_used, need, __ATOMIC_RELAXED);
	if (at + need > POOL_SIZE)
		return NULL;
	block = ((uintptr_t)pool + at + sizeof(struct pool_head) + alignment - 1) &
		~(alignment - 1);
	((struct pool_head *)block)[-1].size = size;
	return (void *)block;
}

size_t pool_size(const void *block)
{
	return ((const struct pool_head *)block)[-1].size;
}

static void *pool_malloc(size_t size)
{
	return pool_aligned(POOL_STEP, size);
}

/* The pool never reuses a block, so the memory is zero. */
static void *pool_calloc(size_t count, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? NULL : pool_malloc(bytes);
}

static void *pool_realloc(void *old, size_t size)
{
	char *block = pool_malloc(size);
	size_t keep;

	if (!old || !block)
		return block;
	keep = ((struct pool_head *)old)[-1].size;
	for (size_t i = 0; i < keep && i < size; i++)
		block[i] = ((char *)old)[i];
	return block;
}

static int pool_posix_memalign(void **where, size_t alignment, size_t size)
{
	*where = pool_aligned(alignment, size);
	return *where ? 0 : ENOMEM;
}

static void pool_free(void *block)
{
	(void)block;
}

/*
 * The names of the functions, as arrays in a struct: a pointer to each name would cost the loader a
 * relocation in each process. The order is that of struct real, which is used as an array of
 * pointers.
 */
struct names {
#define HOOK(name, ...) char name[sizeof(#name)];
#include "hooks.def"
#define NAME(name) char name[sizeof(#name)];
#include "real.def"
#undef NAME
};

static const struct names names = {
#define HOOK(name, ...) #name,
#include "hooks.def"
#define NAME(name) #name,
#include "real.def"
#undef NAME
};

static const uint16_t places[] = {
#define HOOK(name, ...) offsetof(struct names, name),
#include "hooks.def"
#define NAME(name) offsetof(struct names, name),
#include "real.def"
#undef NAME
};

#define NAMES (sizeof(places) / sizeof(places[0]))

_Static_assert(sizeof(real) == NAMES * sizeof(void *),
	       "`real` and the list of names differ in length");

const char *real_name(unsigned int hook)
{
	return (const char *)&names + places[hook];
}

static void **where_is(unsigned int i)
{
	return (void **)&real + i;
}

const unsigned int real_count = NAMES;

const char *real_missing(unsigned int i)
{
	return *where_is(i) ? NULL : real_name(i);
}

void *real_of(enum hook_number hook)
{
	return *where_is(hook);
}

/*
 * The addresses of real functions, as an open-addressed hash table, because a search of a module's
 * relocations makes thousands of look-ups. The first search fills the table; several threads may
 * fill it at the same time, with the same values in the same order.
 */
#define ADDRESSES_BITS 10

static SPARSE uintptr_t begins[1u << ADDRESSES_BITS];

/* Returns the table's entry of an address, or the empty entry where the address belongs. */
static uintptr_t *address_place(uintptr_t address)
{
	uint32_t at = (uint32_t)(address >> 4) * 0x9e3779b1u >> (32 - ADDRESSES_BITS);

	for (;; at = (at + 1) % (1u << ADDRESSES_BITS)) {
		uintptr_t there = __atomic_load_n(&begins[at], __ATOMIC_RELAXED);

		if (!there || there == address)
			return &begins[at];
	}
}

static void put_address(uintptr_t address)
{
	if (address)
		__atomic_store_n(address_place(address), address, __ATOMIC_RELAXED);
}

/* maximum number of hidden functions (hidden_of()); no allocator defines as many */
#define HIDDEN_MAX 64

_Static_assert(HOOK_COUNT + HIDDEN_MAX < (1u << ADDRESSES_BITS) * 3 / 4,
	       "the hash table would be more than three quarters full");

static bool read_libc(struct linkage *libc)
{
	struct loaded found;

	return loader_find_libc(&found) == 0 && linkage_read(libc, found.link_map);
}

/*
 * Returns the address of libc's function if that is hidden, because the hook's real function is in
 * a module that precedes libc. Else returns 0. Only modules that look up names in libc before all
 * other modules (RTLD_DEEPBIND) call a hidden function.
 */
static uintptr_t hidden_of(const struct linkage *libc, unsigned int i)
{
	uintptr_t there = (uintptr_t)*where_is(i);
	const ElfW(Sym) * symbol;

	if (!there || (there >= libc->low && there < libc->high))
		return 0;
	symbol = linkage_find(libc, real_name(i));
	return symbol ? libc->map->l_addr + symbol->st_value : 0;
}

bool real_has(uintptr_t address)
{
	static bool is_filled;

	if (!__atomic_load_n(&is_filled, __ATOMIC_ACQUIRE)) {
		unsigned int hidden = 0;
		struct linkage libc;
		bool is_read = read_libc(&libc);

		for (unsigned int i = 0; i < HOOK_holdtrace_acquired; i++)
			put_address((uintptr_t)*where_is(i));
		for (unsigned int i = 0;
		     is_read && i < HOOK_holdtrace_acquired && hidden < HIDDEN_MAX; i++) {
			uintptr_t found = hidden_of(&libc, i);

			put_address(found);
			hidden += found != 0;
		}
		__atomic_store_n(&is_filled, true, __ATOMIC_RELEASE);
	}
	return address && *address_place(address) == address;
}

bool real_is_called(uintptr_t address, const char *name)
{
	struct linkage libc;
	bool is_read = false;

	for (unsigned int i = 0; i < HOOK_holdtrace_acquired; i++) {
		if (!plain_equal(real_name(i), name))
			continue;
		if ((uintptr_t)*where_is(i) == address)
			return true;
		is_read = is_read || read_libc(&libc);
		if (is_read && hidden_of(&libc, i) == address)
			return true;
	}
	return false;
}

void real_tell(uint64_t *addresses)
{
	for (unsigned int i = 0; i < HOOK_COUNT; i++)
		addresses[i] = 0;
	for (unsigned int i = 0; i < HOOK_holdtrace_acquired; i++)
		addresses[i] = (uint64_t)(uintptr_t)*where_is(i);
}

/*
 * The symbol versions of the allocator's functions to which programs are bound. libc_malloc_debug,
 * for MALLOC_CHECK_ and mtrace(3), defines the functions only in these versions.
 */
#ifdef __x86_64__
#define MALLOC_VERSION	      "GLIBC_2.2.5"
#define ALIGNED_ALLOC_VERSION "GLIBC_2.16"
#else
#define MALLOC_VERSION	      "GLIBC_2.17"
#define ALIGNED_ALLOC_VERSION MALLOC_VERSION
#endif

static void *find_versioned(const char *name)
{
	static const char allocators[][16] = { "malloc",   "calloc",	     "realloc", "free",
					       "memalign", "posix_memalign", "valloc",	"pvalloc" };

	for (unsigned int i = 0; i < sizeof(allocators) / sizeof(allocators[0]); i++)
		if (plain_equal(name, allocators[i]))
			return loader_version(RTLD_NEXT, name, MALLOC_VERSION);
	return plain_equal(name, "aligned_alloc")
		       ? loader_version(RTLD_NEXT, name, ALIGNED_ALLOC_VERSION)
		       : NULL;
}

/* Whether the module of function `one` precedes that of `other` in the search order. */
static bool is_before(void *one, void *other)
{
	struct loaded first, second;
	const struct link_map *map;

	if (loader_find(one, &first) || loader_find(other, &second))
		return false;
	for (map = first.link_map->l_next; map && map != second.link_map;)
		map = map->l_next;
	return map;
}

/*
 * Finds the function to which the loader binds a program's call. It is in the first module that
 * defines the name without a version, in its default version, or in the version that programs ask
 * for. dlsym finds only the first two kinds, dlvsym only the last.
 *
 * Since glibc 2.34, __pthread_mutex_lock and similar names have no default version, so dlsym does
 * not find them. It does find the names without the underscores, which are the same functions.
 */
static void *find_bound(const char *name)
{
	void *found = loader_symbol(RTLD_NEXT, name), *versioned = find_versioned(name);

	if (versioned && (!found || is_before(versioned, found)))
		return versioned;
	return found || name[0] != '_' || name[1] != '_' ? found
							 : loader_symbol(RTLD_NEXT, name + 2);
}

/* Like find_bound(), without dlsym. Clears *is_sure if only dlsym finds the right function. */
static void *find_behind(unsigned int i, bool *is_sure)
{
	const char *name = real_name(i);
	bool is_sure_of_this;
	void *found = i < HOOK_holdtrace_acquired ? behind_known(i, name) : NULL;

	if (found)
		return found;
	found = behind_find(name, &is_sure_of_this);
	if (!found && name[0] == '_' && name[1] == '_')
		found = behind_find(name + 2, &is_sure_of_this);
	*is_sure &= is_sure_of_this;
	return found;
}

/*
 * Finds the first definition of a function in link order. In a library that was loaded late,
 * dlsym(RTLD_NEXT) finds only libc's function, but the program may have another allocator.
 */
static void *find_linked(const char *name)
{
	struct linkage linkage;

	for (const struct link_map *map = linkage_first(); map; map = map->l_next) {
		const ElfW(Sym) * symbol;

		if (!linkage_read_other(&linkage, map))
			continue;
		symbol = linkage_find(&linkage, name);
		if (symbol)
			return (void *)(map->l_addr + symbol->st_value);
	}
	return name[0] == '_' && name[1] == '_' ? find_linked(name + 2) : NULL;
}

/*
 * Before glibc 2.36, dlsym(RTLD_NEXT) may find the oldest version of a function (bug 14932 of
 * glibc), and condition variables of that version are another struct. bound: what dlsym found.
 * linked: the default version of the first module that has one. Returns `linked` if both are in the
 * same module, else `bound`.
 */
static void *default_version(void *linked, void *bound)
{
	struct loaded first, second;

	if (linked == bound || loader_find(linked, &first) || loader_find(bound, &second))
		return bound;
	return first.link_map == second.link_map ? linked : bound;
}

/*
 * Looks up all functions by dlsym. Pointers to the allocator's functions are set last, so that
 * dlsym's own allocations come from the pool. But if an allocator precedes this library, dlsym
 * allocates from that allocator (before glibc 2.34 once in its first call; and an error message for
 * each missing name), which calls mmap and other hooked functions. So the pointers to the other
 * functions are set first, to the first definitions in link order. dlsym is not asked for functions
 * that no module has. dlerror() is cleared, so that the program does not see our failed look-ups.
 */
static void ask_for_all(void **found)
{
	for (unsigned int i = 0; i < NAMES; i++) {
		found[i] = find_linked(real_name(i));
		if (!*where_is(i))
			*where_is(i) = found[i];
	}
	for (unsigned int i = 0; i < NAMES; i++)
		if (found[i])
			found[i] = default_version(found[i], find_bound(real_name(i)));
	loader_forget_error();
}

/* Fails like a function whose system call does not exist in the kernel. */
static int not_there(void)
{
	errno = ENOSYS;
	return -1;
}

#define STAND_IN(name)  \
	if (!real.name) \
	real.name = (__typeof__(real.name))(void (*)(void))not_there

/* If libc lacks the C23 function, which also reads binary numbers, uses an older function. */
#define IF_LACKING(name, other) \
	if (!real.name)         \
	real.name = real.other

void real_stand_in(void)
{
	STAND_IN(pidfd_open);
	STAND_IN(pidfd_getfd);
	STAND_IN(open_tree);
	STAND_IN(fspick);
	STAND_IN(fsopen);
	STAND_IN(fsmount);
	STAND_IN(epoll_pwait2);
	IF_LACKING(__isoc23_vscanf, __isoc99_vscanf);
	IF_LACKING(__isoc23_vfscanf, __isoc99_vfscanf);
	IF_LACKING(__isoc23_vwscanf, __isoc99_vwscanf);
	IF_LACKING(__isoc23_vfwscanf, __isoc99_vfwscanf);
}

/*
 * If libc's stdin or stdout is not found, `none` replaces it. The pointer to any function that this
 * libc lacks stays NULL, unless real_stand_in() sets it. The program can reach the stub of such a
 * function only by a weak reference or dlsym().
 */
static FILE no_stream = { ._fileno = -1 }, *none = &no_stream;
FILE **real_stdin = &none, **real_stdout = &none;

static void finish_search(void)
{
	/* a program may have its own copies of these variables, which libc then uses */
	FILE **in = loader_symbol(RTLD_DEFAULT, "stdin");
	FILE **out = loader_symbol(RTLD_DEFAULT, "stdout");

	real_stand_in();
	real_stdin = in ? in : real_stdin;
	real_stdout = out ? out : real_stdout;
	if (!in || !out)
		loader_forget_error();
	__atomic_store_n(&real_is_found, true, __ATOMIC_RELEASE);
}

void real_find(const struct libc_places *known)
{
	void *found[NAMES];
	static uint32_t state;
	uint32_t expected = 0;
	bool is_sure;

	if (!__atomic_compare_exchange_n(&state, &expected, 1, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return;
	real.malloc = pool_malloc;
	real.calloc = pool_calloc;
	real.realloc = pool_realloc;
	real.free = pool_free;
	real.memalign = pool_aligned;
	real.aligned_alloc = pool_aligned;
	real.posix_memalign = pool_posix_memalign;
	loader_begin();
	is_sure = behind_begin(known);
	for (unsigned int i = 0; is_sure && i < NAMES; i++)
		found[i] = find_behind(i, &is_sure);
	if (!is_sure && loader.dlsym)
		ask_for_all(found);
	/* before glibc 2.34, only programs that are linked with libdl have dlsym */
	for (unsigned int i = 0; !is_sure && !loader.dlsym && i < NAMES; i++)
		found[i] = find_linked(real_name(i));
	for (unsigned int i = 0; i < NAMES; i++)
		*where_is(i) = found[i];
	finish_search();
}

bool real_find_late(void)
{
	if (real_is_found)
		return true;
	for (unsigned int i = 0; i < NAMES; i++)
		*where_is(i) = find_linked(real_name(i));
	if (!real.malloc || !real.free || !real.pthread_mutex_lock)
		return false;
	finish_search();
	return true;
}
