/* SPDX-License-Identifier: MIT */
/*
 * Functions of allocators that have no stubs: a jump at the entry of each function leads here
 * (patches.h). Their calls are recorded as calls of malloc, calloc, realloc and free.
 */
#include "hand.h"

#include "preload/ground/linkage.h"
#include "preload/ground/loader.h"
#include "preload/ground/self.h"
#include "preload/ground/sys.h"
#include "preload/record/bypass.h"
#include "preload/record/facts.h"
#include "preload/record/reach.h"
#include "preload/record/ring.h"
#include "preload/record/sampling.h"
#include "preload/start/late.h"
#include "preload/walk/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>

#ifdef __x86_64__

#define GET_MDWE	    66	   /* PR_GET_MDWE, since Linux 6.3 */
#define SHADOW_STACK_STATUS 0x5005 /* ARCH_SHSTK_STATUS, since Linux 6.6 */
#define NEAR_STEP	    65536ul
#define NEAR_STEPS	    128ul    /* the last step is 1 GiB away; a jump reaches 2 GiB */
#define NEAR_FIXED	    0x100000 /* MAP_FIXED_NOREPLACE */
#define PAGE		    4096ul

typedef uintptr_t allocator_function(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

/* A function whose first instructions were replaced by a jump. */
struct changed {
	allocator_function *real;
	struct thread_range module;
	uintptr_t at;	       /* address of the jump */
	enum hook_number hook; /* the calls are recorded as calls of this function */
	struct patch_shape shape;
	uint8_t reason; /* enum patch_reason */
};

/* ---- calls ---- */

/*
 * Calls the real function. While it runs, calls that its module makes to malloc or to other
 * functions of the allocator are parts of this call (settle.c).
 */
#define REALLY(own, result)                                                           \
	{                                                                             \
		struct thread *const thread = call.thread;                            \
		const struct thread_inner before = thread->inner;                     \
                                                                                      \
		thread->inner = (struct thread_inner){ call.number, &(own)->module }; \
		result(own)->real(a, b, c, d, e);                                     \
		thread->inner = before;                                               \
	}

static uintptr_t release(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e,
			 const struct changed *own)
{
	const uintptr_t values[PATCH_VALUES] = { a, b, c, d, e };
	const uintptr_t block = values[own->shape.old];
	struct call call;

	if (sampling_passes_free(life_armed[HOOK_free], (const void *)block))
		return own->real(a, b, c, d, e);

	const struct origin origin = CAPTURE_ORIGIN();
	uintptr_t result;

	if (!stub_begin(&call, HOOK_free, WHEN_ENTRY, BLOCKS_NO, &origin, block, 0))
		return own->real(a, b, c, d, e);
	REALLY(own, result =)
	call_returned_early(&call);
	CALL_EVENT(&call, .resource = RESOURCE_MEMORY,
		   .operation = block ? OPERATION_FREE : OPERATION_USE, .moment = MOMENT_ENTER,
		   .object = block);
	call_end(&call);
	return result;
}

static uintptr_t acquire(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e,
			 const struct changed *own)
{
	const uintptr_t values[PATCH_VALUES + 1] = { a, b, c, d, e };
	const struct patch_shape *shape = &own->shape;
	const uintptr_t old = values[shape->old];
	const uintptr_t count = shape->count < PATCH_VALUES ? values[shape->count] : 1;
	struct call_event event = { .resource = RESOURCE_MEMORY,
				    .operation = OPERATION_ALLOC,
				    .moment = MOMENT_LEAVE,
				    .size = values[shape->size] * count };
	const enum sampling_pick pick = sampling_pick(life_armed[own->hook], old, event.size);
	const enum hook_when at = shape->old < PATCH_VALUES ? WHEN_BOTH : WHEN_RETURN;
	struct call call;
	uintptr_t result;

	if (pick == SAMPLING_PASSES) {
		const uint64_t left = sampling_begin_pass();

		result = own->real(a, b, c, d, e);
		sampling_end_pass(left);
		return result;
	}

	const struct origin origin = CAPTURE_ORIGIN();

	if (!stub_begin(&call, own->hook, at, BLOCKS_NO, &origin, old, 0))
		return own->real(a, b, c, d, e);
	REALLY(own, result =)
	call_returned(&call);
	if (shape->where < PATCH_VALUES)
		event.object = (int)result ? 0 : *(const uintptr_t *)values[shape->where];
	else
		event.object = result;
	if (shape->is_text && result)
		event.size = plain_length((const char *)result) + 1;
	event.result = result;
	event.failed = !event.object;
	if (shape->count < PATCH_VALUES && shape->old == PATCH_VALUES)
		event.related = values[shape->size];
	if (shape->old < PATCH_VALUES)
		array_moved(&call, &event, !pick || pick & SAMPLING_LOSES ? (void *)old : NULL,
			    values[shape->size], count);
	if (!pick || sampling_settle(&call, &event, pick, old))
		call_event(&call, &event);
	call_end(&call);
	return result;
}

/* ---- changes of machine code ---- */

/* The code to which a changed function jumps: passes `own` in the sixth parameter's register. */
struct springboard {
	struct __attribute__((packed)) {
		uint8_t load[2];
		uint64_t own;
		uint8_t jump[6];
		uint64_t stub;
		uint8_t moved[PATCH_CODE_MAX];
	} code;
	struct changed own;
};

static bool put_distance(uint8_t *to, uintptr_t end, uintptr_t target)
{
	const intptr_t distance = (intptr_t)(target - end);
	const int32_t word = (int32_t)distance;

	__builtin_memcpy(to, &word, sizeof(word));
	return word == distance;
}

/* Maps memory within reach of the module's jumps, or returns NULL. */
static void *map_near(const struct linkage *linkage, size_t size)
{
	for (unsigned long i = 1; i <= NEAR_STEPS && i * i * NEAR_STEP < linkage->low; i++) {
		void *wanted = (void *)((linkage->low - i * i * NEAR_STEP) & ~4095ul);
		void *got = sys_mmap(wanted, size, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | NEAR_FIXED, -1, 0);

		if (got == wanted)
			return got;
		if (!sys_error(got))
			sys_munmap(got, size);
	}
	return NULL;
}

static enum patch_reason fill_springboard(struct springboard *board, const struct patch *patch,
					  const struct linkage *linkage)
{
	const struct patch_shape *shape = &patch->shape;
	const bool is_free = shape->size == PATCH_VALUES && !shape->is_text;
	const uintptr_t stub = is_free ? (uintptr_t)release : (uintptr_t)acquire;
	const uintptr_t base = linkage->map->l_addr;
	uint8_t *const moved = board->code.moved;

	board->own = (struct changed){
		.real = (allocator_function *)(uintptr_t)moved,
		.module = { linkage->low, linkage->high - linkage->low },
		.at = base + patch->entry + patch->skip,
		.hook = is_free			      ? HOOK_free
			: shape->old < PATCH_VALUES   ? HOOK_realloc
			: shape->count < PATCH_VALUES ? HOOK_calloc
						      : HOOK_malloc,
		.shape = *shape,
	};
	board->code = (__typeof__(board->code)){
		{ 0x49, 0xb9 }, (uintptr_t)&board->own, { 0xff, 0x25 }, stub, { 0 }
	};
	__builtin_memcpy(moved, patch->code, patch->length);
	for (unsigned int i = 0; i < patch->fixes; i++) {
		const struct patch_fix *fix = &patch->fix[i];
		const uintptr_t target = base + fix->target;

		if (!fix->end)
			__builtin_memcpy(moved + fix->at, &target, sizeof(target));
		else if (!put_distance(moved + fix->at, (uintptr_t)moved + fix->end, target))
			return PATCH_FAR;
	}
	if (__builtin_memcmp((const void *)board->own.at, patch->original, patch->moved) != 0)
		return PATCH_CHANGED;
	return PATCH_NONE;
}

/*
 * Writes the jump. A write to /proc/self/mem (`memory`) makes a private copy of the page and leaves
 * its access rights as they are, so the code always stays executable and read-only.
 */
static enum patch_reason put_jump(int memory, const struct springboard *board)
{
	const uintptr_t at = board->own.at;
	uint8_t jump[PATCH_JUMP] = { 0xe9 };

	if (!put_distance(jump + 1, at + PATCH_JUMP, (uintptr_t)board))
		return PATCH_FAR;
	return sys_call4(__NR_pwrite64, memory, (long)jump, sizeof(jump), (long)at) == sizeof(jump)
		       ? PATCH_NONE
		       : PATCH_DENIED;
}

static size_t boards_size(const struct patches *plan)
{
	return (plan->count * sizeof(struct springboard) + PAGE - 1) & ~(PAGE - 1);
}

/*
 * Changes the functions of one module, and reports for each whether its calls are recorded. all: a
 * reason not to change any function, or PATCH_NONE. Returns the springboards, one for each patch of
 * the plan; NULL: no function was changed. *first: the springboard of a changed function.
 */
static struct springboard *change_module(const struct linkage *linkage, const struct patches *plan,
					 uint32_t module, enum patch_reason all,
					 const struct springboard **first)
{
	const size_t size = boards_size(plan);
	int memory = sys_openat(AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
	struct springboard *boards = map_near(linkage, size);
	uint64_t shadow = 0; /* bit 0: call instructions also push to a shadow stack */

	*first = NULL;
	/* a moved call instruction pushes its return address to the usual stack only */
	if (!all &&
	    (sys_prctl(GET_MDWE, 0, 0, 0, 0) > 0 ||
	     (!sys_call2(__NR_arch_prctl, SHADOW_STACK_STATUS, (long)&shadow) && shadow & 1)))
		all = PATCH_SEALED;
	if (!all)
		all = memory < 0 ? PATCH_DENIED : !boards ? PATCH_FAR : PATCH_NONE;
	for (uint32_t i = 0; !all && i < plan->count; i++)
		if (plan->patch[i].module == module && !plan->patch[i].reason)
			boards[i].own.reason =
				(uint8_t)fill_springboard(&boards[i], &plan->patch[i], linkage);
	if (!all && sys_mprotect(boards, size, PROT_READ | PROT_EXEC))
		all = PATCH_DENIED;
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct patch *patch = &plan->patch[i];
		enum patch_reason reason = (enum patch_reason)patch->reason;

		if (patch->module != module)
			continue;
		if (!reason)
			reason = all ? all : (enum patch_reason)boards[i].own.reason;
		if (!reason)
			reason = put_jump(memory, &boards[i]);
		if (!reason)
			*first = &boards[i];
		if (!reason && linkage->map->l_addr + patch->entry == (uintptr_t)real.malloc &&
		    life_armed[HOOK_malloc] & LIFE_SAMPLES)
			life_armed[HOOK_malloc] |= LIFE_NESTS;
		facts_tell_allocator(patch->name, linkage->map, reason);
	}
	if (memory >= 0)
		sys_close(memory);
	if (*first || !boards)
		return boards;
	sys_munmap(boards, size);
	return NULL;
}

/* Returns patches_hash() of the start of the module's file; 0: the start is not in memory. */
static uint64_t head_hash(const struct linkage *linkage)
{
	for (unsigned int i = 0; i < linkage->segment_count; i++) {
		const ElfW(Phdr) *segment = &linkage->segments[i];
		const size_t size = segment->p_filesz < PATCH_HEAD ? segment->p_filesz : PATCH_HEAD;

		if (segment->p_type == PT_LOAD && !segment->p_offset)
			return patches_hash((const void *)(linkage->map->l_addr + segment->p_vaddr),
					    size);
	}
	return 0;
}

/* Runs after the constructor that starts the library, before the constructors of other modules. */
__attribute__((constructor)) static void allocators_construct(void)
{
	const struct patches *plan = life.control ? &life.control->patches : NULL;
	const struct springboard *first, *boards;
	struct linkage linkage;

	if (!plan || !plan->count || late_is_injected() || !life_is_running() ||
	    !life_armed[HOOK_malloc])
		return;
	for (const struct link_map *map = linkage_first(); map; map = map->l_next) {
		uint64_t hash;

		if (!linkage_read_other(&linkage, map))
			continue;
		hash = head_hash(&linkage);
		for (uint32_t i = 0; i < plan->modules; i++) {
			if (hash != plan->module[i])
				continue;
			boards = change_module(&linkage, plan, i,
					       clock_is_alone() ? PATCH_NONE : PATCH_THREADS,
					       &first);
			if (boards)
				own_add(boards, boards_size(plan));
		}
	}
}

/* ---- modules that are loaded later ---- */

/*
 * A module that dlopen() loads is changed before any code of it runs. The loader has then mapped
 * the module and those that it needs, but has not relocated them or run their constructors. At that
 * time the loader allocates the list of these modules by malloc(), which is our stub (glibc's
 * _dl_map_object_deps()). The following conditions are checked in this order:
 *
 *  - malloc's caller is the loader, and _r_debug.r_state is RT_ADD: some thread loads modules;
 *  - dlopen() is on this thread's stack: this thread has the loader's lock, because dlopen()
 *    allocates nothing without the lock. So this thread is the one that loads modules, and the
 *    list of modules does not change;
 *  - _dl_find_object() does not know the module: the loader adds a module to that table after it
 *    has relocated it. So no thread knows an address in the module.
 *
 * If one of these conditions is false, for example because another allocator precedes our malloc(),
 * nothing is changed, and bypass.h reports the allocators that it finds by their names.
 */

#define LATER_MAX  32u /* maximum number of changed modules that are loaded at the same time */
#define ASKED_MAX  64u
#define FRAMES_MAX 32u /* number of innermost frames in which dlopen() is searched for */
#define ANSWER_MS  2000

/* A module with changed functions. Only a thread that has the loader's lock changes the table. */
static struct later {
	const struct link_map *map; /* NULL: the entry is unused */
	const void *section;	    /* map->l_ld */
	struct springboard *boards;
	size_t size;
	const struct springboard *first; /* the springboard of a changed function */
} later[LATER_MAX];

/* head_hash() of modules for which the planner had no patch that could be applied. */
static uint64_t asked[ASKED_MAX];
static uint32_t asked_count;
static bool planner_is_gone;

/* The thread that called dlopen last. */
static const struct thread *opener;

/* Whether the jump still exists. If its module was unloaded, other code may be there now. */
static bool has_jump(const struct springboard *board)
{
	const uint8_t *at = (const uint8_t *)board->own.at;
	uint8_t jump[PATCH_JUMP] = { 0xe9 };

	return put_distance(jump + 1, (uintptr_t)at + PATCH_JUMP, (uintptr_t)board) &&
	       sys_are_readable(at, PATCH_JUMP) && !__builtin_memcmp(at, jump, sizeof(jump));
}

/* Whether dlopen() of libc is on the stack. */
static bool is_in_dlopen(const struct origin *origin, const struct thread *thread)
{
	static uintptr_t from, size;
	uintptr_t frames[FRAMES_MAX];
	unsigned int count;
	enum capture_end end;

	if (!size) {
		struct loaded libc;
		struct linkage linkage;
		const ElfW(Sym) * symbol;

		if (loader_find_libc(&libc) || !linkage_read(&linkage, libc.link_map))
			return false;
		symbol = linkage_find(&linkage, "dlopen");
		from = symbol ? libc.link_map->l_addr + symbol->st_value : 0;
		size = symbol ? symbol->st_size : 0;
	}
	count = capture_walk(origin, &thread->stack, frames, FRAMES_MAX, &end);
	for (unsigned int i = 0; i < count; i++)
		if (frames[i] - from < size)
			return true;
	return false;
}

/* Waits for the planner's answer. Returns false if no plan arrives. */
static bool receive_plan(int socket, struct patches *plan)
{
	struct timespec limit = { .tv_sec = ANSWER_MS / 1000 };
	struct pollfd answer = { .fd = socket, .events = POLLIN };
	struct iovec part = { plan, sizeof(*plan) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	long status, size;

	/* the kernel subtracts the time that has passed from the limit */
	do
		status = sys_call5(__NR_ppoll, (long)&answer, 1, (long)&limit, 0, 0);
	while (status == -EINTR);
	size = status == 1 ? sys_recvmsg(socket, &message, MSG_DONTWAIT) : 0;
	return size >= (long)PATCHES_SIZE(0) && plan->count <= PATCHES_MAX &&
	       size == (long)PATCHES_SIZE(plan->count);
}

/*
 * Returns the plan for the module's file, in newly mapped memory, or NULL. The descriptors are open
 * only briefly, like the loader's own descriptor of this file in a dlopen.
 */
static struct patches *request_plan(const char *path)
{
	struct patches *plan = sys_mmap(NULL, sizeof(*plan), PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int file, socket;
	bool is_received;

	if (sys_error(plan))
		return NULL;
	file = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	socket = file < 0 ? file : reach_planner(ANSWER_MS);
	is_received =
		socket >= 0 &&
		reach_say(socket, life.control->secret, sizeof(life.control->secret), &file) > 0 &&
		receive_plan(socket, plan);
	if (socket >= 0)
		sys_close(socket);
	if (file >= 0)
		sys_close(file);
	if (is_received)
		return plan;
	planner_is_gone |= file >= 0 && socket != -EMFILE && socket != -ENFILE;
	sys_munmap(plan, sizeof(*plan));
	return NULL;
}

/* Like linkage_read() for a module that is not relocated: sets only `map`, segments and bounds. */
static bool read_mapped(struct linkage *linkage, const struct link_map *map)
{
	const ElfW(Ehdr) *head = (const void *)map->l_addr;

	*linkage = (struct linkage){ .map = map, .low = UINTPTR_MAX };
	if (!sys_is_readable(head) || __builtin_memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    head->e_phentsize != sizeof(ElfW(Phdr)) || head->e_phoff > PAGE ||
	    head->e_phoff + head->e_phnum * sizeof(ElfW(Phdr)) > PAGE)
		return false;
	linkage->segments = (const void *)(map->l_addr + head->e_phoff);
	linkage->segment_count = head->e_phnum;
	for (unsigned int i = 0; i < head->e_phnum; i++) {
		const ElfW(Phdr) *segment = &linkage->segments[i];
		const uintptr_t from = map->l_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD)
			continue;
		if (from < linkage->low)
			linkage->low = from;
		if (from + segment->p_memsz > linkage->high)
			linkage->high = from + segment->p_memsz;
	}
	return linkage->low < linkage->high;
}

/* Whether the loader will change the module's code. */
static bool has_text_relocations(const struct link_map *map)
{
	for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_TEXTREL ||
		    (entry->d_tag == DT_FLAGS && entry->d_un.d_val & DF_TEXTREL))
			return true;
	return false;
}

static const struct later *find_later(const struct link_map *map)
{
	for (unsigned int i = 0; i < LATER_MAX; i++)
		if (later[i].map == map && later[i].section == map->l_ld &&
		    has_jump(later[i].first))
			return &later[i];
	return NULL;
}

static bool was_asked(uint64_t hash)
{
	for (unsigned int i = 0; i < ASKED_MAX; i++)
		if (asked[i] == hash)
			return true;
	return false;
}

/* Returns an unused entry of the table, or NULL. Removes the springboards of unloaded modules. */
static struct later *take_entry(void)
{
	struct later *unused = NULL;

	for (unsigned int i = 0; i < LATER_MAX; i++) {
		if (later[i].map && !has_jump(later[i].first)) {
			sys_munmap(later[i].boards, later[i].size);
			later[i].map = NULL;
		}
		if (!later[i].map)
			unused = &later[i];
	}
	return unused;
}

/* Changes a module that the loader has mapped, but not relocated yet. */
static void change_mapped(const struct link_map *map)
{
	struct linkage linkage;
	struct patches *plan;
	uint64_t hash;

	if (find_later(map) || !read_mapped(&linkage, map))
		return;
	hash = head_hash(&linkage);
	plan = was_asked(hash) ? NULL : request_plan(map->l_name);
	if (!plan)
		return;
	if (plan->count && plan->module[0] == hash) {
		struct later *entry = take_entry(),
			     new = { map, map->l_ld, NULL, boards_size(plan), NULL };

		new.boards = change_module(&linkage, plan, 0,
					   !entry		       ? PATCH_MANY
					   : has_text_relocations(map) ? PATCH_CHANGED
								       : PATCH_NONE,
					   &new.first);
		if (new.boards)
			*entry = new;
		else
			plan->count = 0;
	}
	/* the file may have been replaced since the loader opened it; then its plan is of no use */
	if (!plan->count)
		asked[asked_count++ % ASKED_MAX] = hash;
	sys_munmap(plan, sizeof(*plan));
}

/* Called for each malloc() after a dlopen has begun, until the thread has left the loader. */
static void look_at_loads(const struct origin *origin)
{
	const struct thread *thread = thread_self;
	struct loaded found;

	if (!maps_is_loader(origin->ip)) {
		if (thread && thread == opener)
			__atomic_fetch_and(&life_armed[HOOK_malloc], (uint8_t)~LIFE_LOADS,
					   __ATOMIC_RELAXED);
		return;
	}
	if (__atomic_load_n(&_r_debug.r_state, __ATOMIC_RELAXED) != RT_ADD || planner_is_gone ||
	    !thread || thread->vfork_return || thread->busy.frame || !life_is_running() ||
	    ring_is_quiet() || !is_in_dlopen(origin, thread))
		return;
	for (const struct link_map *map = linkage_first(); map; map = map->l_next)
		if (map->l_ld && loader_find(map->l_ld, &found))
			change_mapped(map);
}

/* Whether the functions of the module's allocator were reported when the module was loaded. */
static bool knows_module(const struct link_map *map)
{
	struct linkage linkage;

	return find_later(map) || (read_mapped(&linkage, map) && was_asked(head_hash(&linkage)));
}

void allocators_expect_loads(void)
{
	uint8_t armed = __atomic_load_n(&life_armed[HOOK_malloc], __ATOMIC_RELAXED);

	if (!life.control->has_planner || !loader.find_object || late_is_injected())
		return;
	__atomic_store_n(&life_look_at_loads, look_at_loads, __ATOMIC_RELAXED);
	__atomic_store_n(&bypass_knows, knows_module, __ATOMIC_RELEASE);
	/* if another thread is in a dlopen, too, the hook examines calls until the next dlopen */
	opener = armed & LIFE_LOADS && opener != thread_self ? NULL : thread_self;
	while (armed && !(armed & LIFE_LOADS) &&
	       !__atomic_compare_exchange_n(&life_armed[HOOK_malloc], &armed, armed | LIFE_LOADS,
					    false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

#endif
