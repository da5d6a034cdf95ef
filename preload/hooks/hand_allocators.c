/* SPDX-License-Identifier: MIT */
/*
 * Functions of allocators that have no stubs: a jump at the entry of each function leads here
 * (patches.h). Their calls are recorded as calls of malloc, calloc, realloc and free.
 */
#include "hand.h"

#include "preload/ground/linkage.h"
#include "preload/ground/own.h"
#include "preload/ground/sys.h"
#include "preload/record/facts.h"
#include "preload/record/sampling.h"
#include "preload/start/late.h"

#include <fcntl.h>
#include <sys/mman.h>

#ifdef __x86_64__

#define GET_MDWE	    66	   /* PR_GET_MDWE, since Linux 6.3 */
#define SHADOW_STACK_STATUS 0x5005 /* ARCH_SHSTK_STATUS, since Linux 6.6 */
#define NEAR_STEP	    65536ul
#define NEAR_STEPS	    128ul    /* the last step is 1 GiB away; a jump reaches 2 GiB */
#define NEAR_FIXED	    0x100000 /* MAP_FIXED_NOREPLACE */

typedef uintptr_t allocator_function(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

/* A function whose first instructions were replaced by a jump. */
struct changed {
	const struct patch *patch;
	uintptr_t entry;
	allocator_function *real;
	enum hook_number hook; /* the calls are recorded as calls of this function */
};

static SPARSE struct changed changed[PATCHES_MAX];

/* ---- calls ---- */

/*
 * Calls the real function. While it runs, calls that its module makes to malloc or to other
 * functions of the allocator are parts of this call (settle.c).
 */
#define REALLY(own, result)                                                         \
	{                                                                           \
		struct thread *const thread = call.thread;                          \
		const struct thread_inner before = thread->inner;                   \
                                                                                    \
		thread->inner = (struct thread_inner){ call.number, (own)->entry }; \
		result(own)->real(a, b, c, d, e);                                   \
		thread->inner = before;                                             \
	}

static uintptr_t release(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e,
			 const struct changed *own)
{
	const uintptr_t values[PATCH_VALUES] = { a, b, c, d, e };
	const uintptr_t block = values[own->patch->shape.old];
	struct call call;

	if (sampling_passes_free(life_armed[HOOK_free], (const void *)block))
		return own->real(a, b, c, d, e);

	const struct origin origin = CAPTURE_ORIGIN();
	uintptr_t result;

	if (!stub_begin(&call, HOOK_free, WHEN_ENTRY, BLOCKS_NO, &origin, block, 0))
		return own->real(a, b, c, d, e);
	REALLY(own, result =)
	call_returned_early(&call);
	call_event(&call, &(struct call_event){ .resource = RESOURCE_MEMORY,
						.operation = block ? OPERATION_FREE : OPERATION_USE,
						.moment = MOMENT_ENTER,
						.object = block });
	call_end(&call);
	return result;
}

static uintptr_t acquire(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e,
			 const struct changed *own)
{
	const uintptr_t values[PATCH_VALUES + 1] = { a, b, c, d, e };
	const struct patch_shape *shape = &own->patch->shape;
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

/*
 * The target of the jump that replaces a function's entry. It loads the function's number into the
 * register of the sixth argument.
 */
struct __attribute__((packed)) springboard {
	uint8_t load[2];
	uint64_t own;
	uint8_t jump[6];
	uint64_t stub;
	uint8_t code[PATCH_CODE_MAX];
};

static bool put_distance(uint8_t *to, uintptr_t end, uintptr_t target)
{
	const intptr_t distance = (intptr_t)(target - end);
	const int32_t word = (int32_t)distance;

	__builtin_memcpy(to, &word, sizeof(word));
	return word == distance;
}

static void put_address(uint8_t *to, uintptr_t address)
{
	__builtin_memcpy(to, &address, sizeof(address));
}

/*
 * Whether the processor also pushes return addresses to a shadow stack. A call instruction that was
 * moved pushes the address to the usual stack only.
 */
static bool has_shadow_stack(void)
{
	uint64_t features = 0;

	return !sys_call2(__NR_arch_prctl, SHADOW_STACK_STATUS, (long)&features) && features & 1;
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

static enum patch_reason fill_springboard(struct springboard *slot, const struct patch *patch,
					  uintptr_t base, struct changed *own)
{
	const struct patch_shape *shape = &patch->shape;
	const bool is_free = shape->size == PATCH_VALUES && !shape->is_text;
	const uintptr_t stub = is_free ? (uintptr_t)release : (uintptr_t)acquire;

	*own = (struct changed){ patch, base + patch->entry,
				 (allocator_function *)(uintptr_t)slot->code,
				 is_free		       ? HOOK_free
				 : shape->old < PATCH_VALUES   ? HOOK_realloc
				 : shape->count < PATCH_VALUES ? HOOK_calloc
							       : HOOK_malloc };
	*slot = (struct springboard){ { 0x49, 0xb9 }, (uintptr_t)own, { 0xff, 0x25 }, stub, { 0 } };
	__builtin_memcpy(slot->code, patch->code, patch->length);
	for (unsigned int i = 0; i < patch->fixes; i++)
		if (!patch->fix[i].end)
			put_address(slot->code + patch->fix[i].at, base + patch->fix[i].target);
		else if (!put_distance(slot->code + patch->fix[i].at,
				       (uintptr_t)slot->code + patch->fix[i].end,
				       base + patch->fix[i].target))
			return PATCH_FAR;
	if (__builtin_memcmp((const void *)(own->entry + patch->skip), patch->original,
			     patch->moved) != 0)
		return PATCH_CHANGED;
	return PATCH_NONE;
}

/*
 * Writes the jump. A write to /proc/self/mem (`memory`) makes a private copy of the page and leaves
 * its access rights as they are, so the code always stays executable and read-only.
 */
static enum patch_reason put_jump(int memory, const struct springboard *slot,
				  const struct changed *own)
{
	const uintptr_t at = own->entry + own->patch->skip;
	uint8_t jump[PATCH_JUMP] = { 0xe9 };

	if (!put_distance(jump + 1, at + PATCH_JUMP, (uintptr_t)slot))
		return PATCH_FAR;
	return sys_call4(__NR_pwrite64, memory, (long)jump, sizeof(jump), (long)at) == sizeof(jump)
		       ? PATCH_NONE
		       : PATCH_DENIED;
}

/* Changes the functions of one module, and reports for each whether its calls are recorded. */
static void change_module(const struct linkage *linkage, const struct patches *plan,
			  uint32_t module)
{
	const size_t size = (plan->count * sizeof(struct springboard) + 4095) & ~4095ul;
	int memory = sys_openat(AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
	struct springboard *slots = map_near(linkage, size);
	const enum patch_reason all = sys_prctl(GET_MDWE, 0, 0, 0, 0) > 0 || has_shadow_stack()
					      ? PATCH_SEALED
				      : !clock_is_alone() ? PATCH_THREADS
				      : memory < 0	  ? PATCH_DENIED
				      : !slots		  ? PATCH_FAR
							  : PATCH_NONE;
	enum patch_reason reasons[PATCHES_MAX];
	bool is_code = true;

	for (uint32_t i = 0; i < plan->count; i++) {
		const struct patch *patch = &plan->patch[i];

		reasons[i] = patch->reason ? (enum patch_reason)patch->reason : all;
		if (patch->module == module && !reasons[i])
			reasons[i] = fill_springboard(&slots[i], patch, linkage->map->l_addr,
						      &changed[i]);
	}
	if (!all)
		is_code = !sys_mprotect(slots, size, PROT_READ | PROT_EXEC);
	for (uint32_t i = 0; i < plan->count; i++) {
		if (plan->patch[i].module != module)
			continue;
		if (!reasons[i])
			reasons[i] =
				is_code ? put_jump(memory, &slots[i], &changed[i]) : PATCH_DENIED;
		if (!reasons[i] && changed[i].entry == (uintptr_t)real.malloc &&
		    life_armed[HOOK_malloc] & LIFE_SAMPLES)
			life_armed[HOOK_malloc] |= LIFE_NESTS;
		facts_tell_allocator(plan->patch[i].name, linkage->map, reasons[i]);
	}
	if (memory >= 0)
		sys_close(memory);
	if (slots)
		own_add(slots, size);
}

static bool is_planned(const struct linkage *linkage, uint64_t hash)
{
	for (unsigned int i = 0; i < linkage->segment_count; i++) {
		const ElfW(Phdr) *segment = &linkage->segments[i];
		const size_t size = segment->p_filesz < PATCH_HEAD ? segment->p_filesz : PATCH_HEAD;

		if (segment->p_type == PT_LOAD && !segment->p_offset)
			return patches_hash((const void *)(linkage->map->l_addr + segment->p_vaddr),
					    size) == hash;
	}
	return false;
}

/* Runs after the constructor that starts the library, before the constructors of other modules. */
__attribute__((constructor)) static void allocators_construct(void)
{
	const struct patches *plan = life.control ? &life.control->patches : NULL;
	struct linkage linkage;

	if (!plan || !plan->count || late_is_injected() || !life_is_running() ||
	    !life_armed[HOOK_malloc])
		return;
	for (const struct link_map *map = linkage_first(); map; map = map->l_next) {
		if (!linkage_read(&linkage, map) || linkage_is_own(&linkage) ||
		    linkage_is_loader(&linkage))
			continue;
		for (uint32_t i = 0; i < plan->modules; i++)
			if (is_planned(&linkage, plan->module[i]))
				change_module(&linkage, plan, i);
	}
}

#endif
