/* SPDX-License-Identifier: MIT */
#include "accessors.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "maps.h"
#include "preload/ground/arch.h"
#include "preload/ground/loader.h"
#include "preload/ground/sys.h"

#if ARCH_WALKS

/*
 * The interface of libunwind for remote unwinding since version 1.4 (libunwind-*.so.8), declared
 * here so that no headers are needed. A cursor is opaque and has at most 4 KiB on every processor.
 */
#define CURSOR_SIZE	    4096u
#define FORMAT_REMOTE_TABLE 2
#define CACHE_NONE	    0
/* libunwind.h: UNW_EBADREG, UNW_ENOINFO, UNW_EINVAL */
#define NO_REGISTER (-3)
#define NO_INFO	    (-10)
#define NOT_ALLOWED (-8)

#define UNKNOWN_STACK_MAX ((uintptr_t)1 << 20)
#define OWN_FRAMES_MAX	  32u

struct cursor {
	char bytes[CURSOR_SIZE] __attribute__((aligned(16)));
};

struct accessors {
	int (*find_procedure)(void *space, uintptr_t ip, void *procedure, int wants_info,
			      void *walk);
	void (*put_procedure)(void *space, void *procedure, void *walk);
	int (*find_list)(void *space, uintptr_t *address, void *walk);
	int (*memory)(void *space, uintptr_t address, uintptr_t *value, int is_write, void *walk);
	int (*reg)(void *space, int number, uintptr_t *value, int is_write, void *walk);
	/* for float registers, resuming and names; refuse() ignores their parameters */
	int (*refused[3])(void);
	void *later_ones[16]; /* functions that newer versions call; NULL: not provided */
};

/* libunwind's unw_dyn_info_t for a table in the memory of a remote process */
struct hash_table {
	void *next, *before;
	uintptr_t start, end, global;
	int32_t format, unused;
	uintptr_t load_offset;
	uintptr_t name, base, words, data;
};

static struct {
	void *space;
	int (*start)(struct cursor *cursor, void *space, void *walk);
	int (*step)(struct cursor *cursor);
	int (*get)(struct cursor *cursor, int number, uintptr_t *value);
	int (*search)(void *space, uintptr_t ip, struct hash_table *table, void *procedure,
		      int wants_info, void *walk);
} library;

/* The state of one walk, from which the accessors answer libunwind's requests. */
struct walk {
	uintptr_t reg[DWARF_REGISTERS];
	uintptr_t pc;
	uint64_t known;
	const struct stack_bounds *stack;
	uintptr_t low, high;	       /* range of an unknown stack that may be read */
	uintptr_t left_low, left_high; /* range of the stack that a signal frame left */
	const struct module *module;   /* the module whose table was last found */
	bool was_refused;
};

static bool is_within(uintptr_t address, uintptr_t low, uintptr_t high)
{
	return address >= low && address < high && high - address >= sizeof(uintptr_t);
}

/*
 * Reads one aligned word. libunwind reads a module's data only to find a personality routine, which
 * no walk needs, so libunwind gets 0 for such data.
 */
static int access_memory(void *space, uintptr_t address, uintptr_t *value, int is_write,
			 void *context)
{
	struct walk *walk = context;
	const struct module *module = walk->module;
	bool is_allowed;

	(void)space;
	if (is_write || (address & (sizeof(*value) - 1)) != 0)
		return NOT_ALLOWED;
	is_allowed = is_within(address, walk->stack->low, walk->stack->high) ||
		     ((is_within(address, walk->low, walk->high) ||
		       is_within(address, walk->left_low, walk->left_high)) &&
		      sys_is_readable((const void *)(address & ~(uintptr_t)7)));
	/* the module's code or unwind tables, which are mapped in whole pages */
	if (!is_allowed && module != NULL) {
		uintptr_t low = (uintptr_t)module->tables.low;

		is_allowed = address - module->start < module->end - module->start ||
			     address - low < (uintptr_t)module->tables.high - low;
	}
	if (is_allowed) {
		*value = *(const uintptr_t *)address;
		return 0;
	}
	if (module != NULL && is_within(address, module->map_start, module->map_end)) {
		*value = 0;
		return 0;
	}
	walk->was_refused = true;
	return NOT_ALLOWED;
}

static int access_register(void *space, int number, uintptr_t *value, int is_write, void *context)
{
	const struct walk *walk = context;

	(void)space;
	if (is_write)
		return NOT_ALLOWED;
	if (number == DWARF_PC) {
		*value = walk->pc;
		return 0;
	}
	if (number < 0 || number >= DWARF_REGISTERS || (walk->known >> number & 1) == 0)
		return NO_REGISTER;
	*value = walk->reg[number];
	return 0;
}

/* Finds the search table of .eh_frame_hdr. Accepts only the format that linkers write. */
static bool find_table(const struct module *module, struct hash_table *table)
{
	const uint8_t *header = module->tables.header;
	uint32_t count;

	if (header == NULL || header < module->tables.low || header >= module->tables.high ||
	    (size_t)(module->tables.high - header) < 12)
		return false;
	__builtin_memcpy(&count, header + 8, sizeof(count));
	if (header[0] != 1 || header[1] != 0x1b || header[2] != 0x03 || header[3] != 0x3b ||
	    count == 0 || count > (size_t)(module->tables.high - header - 12) / 8)
		return false;
	*table = (struct hash_table){ .start = module->start,
				      .end = module->end,
				      .format = FORMAT_REMOTE_TABLE,
				      .base = (uintptr_t)header,
				      .words = (uintptr_t)count * 8 / sizeof(uintptr_t),
				      .data = (uintptr_t)header + 12 };
	return true;
}

static int find_procedure(void *space, uintptr_t ip, void *procedure, int wants_info, void *context)
{
	struct walk *walk = context;
	unsigned int number = maps_find(ip);
	struct hash_table table;

	walk->module = number == MAPS_MODULE_NONE ? NULL : maps_get(number);
	if (walk->module == NULL || !find_table(walk->module, &table))
		return NO_INFO;
	return library.search(space, ip, &table, procedure, wants_info, context);
}

/* Does nothing: libunwind itself frees what it allocated for a table. */
static void put_procedure(void *space, void *procedure, void *context)
{
	(void)space, (void)procedure, (void)context;
}

/*
 * Reports that there is no list of registered code. Code that was generated at run time may be
 * registered with another copy of libunwind, but not with this copy.
 */
static int find_list(void *space, uintptr_t *address, void *context)
{
	(void)space, (void)address, (void)context;
	return NO_INFO;
}

/* The callback for functions that walks do not use. */
static int refuse(void)
{
	return NOT_ALLOWED;
}

#define SYMBOL(name) "_U" ARCH_LIBUNWIND "_" name

int remote_open(void)
{
	static struct accessors accessors = { .find_procedure = find_procedure,
					      .put_procedure = put_procedure,
					      .find_list = find_list,
					      .memory = access_memory,
					      .reg = access_register,
					      .refused = { refuse, refuse, refuse } };
	void *handle = dlopen("libunwind-" ARCH_LIBUNWIND ".so.8", RTLD_NOW | RTLD_LOCAL);
	void *(*create)(struct accessors * accessors, int byte_order);
	int (*set_caching)(void *space, int policy);

	if (handle == NULL)
		return -ENOENT;
	/* POSIX requires this conversion from an object pointer to a function pointer. */
	*(void **)&create = loader_symbol(handle, SYMBOL("create_addr_space"));
	*(void **)&set_caching = loader_symbol(handle, SYMBOL("set_caching_policy"));
	*(void **)&library.start = loader_symbol(handle, SYMBOL("init_remote"));
	*(void **)&library.step = loader_symbol(handle, SYMBOL("step"));
	*(void **)&library.get = loader_symbol(handle, SYMBOL("get_reg"));
	*(void **)&library.search = loader_symbol(handle, SYMBOL("dwarf_search_unwind_table"));
	if (create == NULL || set_caching == NULL || library.start == NULL ||
	    library.step == NULL || library.get == NULL || library.search == NULL)
		return -ENOENT;
	library.space = create(&accessors, 0);
	if (library.space == NULL)
		return -ENOENT;
	/* libunwind's cache takes a lock for each frame, and keeps rules of unloaded modules */
	set_caching(library.space, CACHE_NONE);
	return 0;
}

/*
 * Like unw_step(). Also moves the readable range of an unknown stack: a signal frame may lead to
 * another stack. The old stack, with the interrupted function's registers, remains readable.
 */
static int step_by_libunwind(struct walk *walk, struct cursor *cursor, uintptr_t *ip, uintptr_t *sp)
{
	int result = library.step(cursor);

	if (result <= 0)
		return result;
	if (library.get(cursor, DWARF_PC, ip) != 0 || library.get(cursor, DWARF_SP, sp) != 0)
		return NO_INFO;
	*ip = arch_plain_address(*ip);
	if (!is_within(*sp, walk->low, walk->high)) {
		walk->left_low = walk->low;
		walk->left_high = walk->high;
		walk->low = *sp - ARCH_RED_ZONE;
	}
	walk->high = *sp + UNKNOWN_STACK_MAX;
	return *ip != 0;
}

/* Walks from our own frames to the origin. Returns false if the walk does not reach the origin. */
static bool reach_origin(struct walk *walk, struct cursor *cursor, const struct origin *origin)
{
	uintptr_t ip, sp;

	for (unsigned int i = 0; i < OWN_FRAMES_MAX; i++) {
		if (step_by_libunwind(walk, cursor, &ip, &sp) <= 0)
			return false;
		if (ip == origin->ip && sp == origin->cfa)
			return true;
		if (sp > origin->cfa)
			return false;
	}
	return false;
}

__attribute__((noinline)) unsigned int remote_walk(const struct origin *origin,
						   const struct stack_bounds *stack,
						   uintptr_t *frames, unsigned int depth,
						   enum capture_end *end)
{
	struct walk walk = { .stack = stack };
	struct cursor cursor;
	unsigned int count = 1;
	uintptr_t ip, sp;
	int result;

	if (__builtin_expect(maps_is_loader(origin->ip), 0))
		maps_check();
	walk.known = arch_registers(walk.reg, &walk.pc);
	walk.low = walk.reg[DWARF_SP];
	walk.high = walk.low + UNKNOWN_STACK_MAX;
	frames[0] = origin->ip;
	*end = CAPTURE_NO_RULE;
	if (library.start(&cursor, library.space, &walk) != 0 ||
	    !reach_origin(&walk, &cursor, origin))
		return 1;
	walk.was_refused = false;
	while ((result = step_by_libunwind(&walk, &cursor, &ip, &sp)) > 0) {
		if (count == depth) {
			*end = CAPTURE_DEPTH;
			return count;
		}
		frames[count++] = ip;
	}
	*end = result == 0	  ? CAPTURE_COMPLETE
	       : walk.was_refused ? CAPTURE_LEFT_STACK
				  : CAPTURE_NO_RULE;
	return count;
}

#else

int remote_open(void)
{
	return -ENOSYS;
}

unsigned int remote_walk(const struct origin *origin, const struct stack_bounds *stack,
			 uintptr_t *frames, unsigned int depth, enum capture_end *end)
{
	(void)stack, (void)depth;
	frames[0] = origin->ip;
	*end = CAPTURE_NO_RULE;
	return 1;
}

#endif
