/* SPDX-License-Identifier: MIT */
/*
 * A preloadable library that compares our walk with libunwind's, frame by frame, inside any
 * program: every JUDGE_EVERY-th (1) call of malloc, calloc, realloc and free is walked by both, or
 * as many in runs of JUDGE_RUN (1) calls that follow each other. At the end a line is added to the
 * file JUDGE_RESULT: captures, frames, differences, shorter, longer, ended without a rule, and by
 * which end. The first differences are written out below it. JUDGE_STACK=unknown keeps the thread's
 * stack from the walk. What the thread remembers is used as in the library, and each result also
 * compared with a walk that remembers nothing; JUDGE_PLAIN=1 has only that. JUDGE_WALKER=libunwind
 * compares remote_walk() instead: libunwind with the library's accessors, against the libunwind
 * that reads the process by itself. JUDGE_DEPTH: most frames.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/walk/capture.h"
#include "preload/walk/maps.h"
#include "preload/walk/accessors.h"
#include "preload/ground/sys.h"

#define EXPORT __attribute__((visibility("default"), noinline))
#define ENDS   5

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t number, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

static struct {
	unsigned long calls, captures, frames, differences, shorter, longer, unjudged, no_rule;
	unsigned long walked, false_same, unlike;
	unsigned long ends[ENDS];
} count;

static const char *result_path;
static unsigned long every = 1, run = 1;
static unsigned int depth = CAPTURE_DEPTH_MAX;
static bool is_stack_unknown, is_walk_plain, is_walk_remote;
static bool is_ready;
static char details[16384];
static size_t details_size;
static int details_lock;

static __thread bool is_inside;
static __thread bool has_bounds;
static __thread struct stack_bounds bounds;
static __thread struct capture_memory *memory;

#define ADD(name, n) __atomic_fetch_add(&count.name, n, __ATOMIC_RELAXED)

/*
 * libunwind's interface is the same since 1.0 (libunwind.so.8); its headers are not needed for it.
 * A context and a cursor are opaque, of 968 and 1016 bytes on x86-64.
 */
struct opaque {
	char bytes[2048] __attribute__((aligned(16)));
};

#define NUMBER_SP 7
#define NUMBER_IP 16

static struct {
	int (*context)(struct opaque *context);
	int (*start)(struct opaque *cursor, struct opaque *context);
	int (*step)(struct opaque *cursor);
	int (*get)(struct opaque *cursor, int number, uintptr_t *value);
	void (*flush)(void *space, uintptr_t low, uintptr_t high);
	void **space;
} libunwind;

static bool open_libunwind(void)
{
	void *handle = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);

	if (handle == NULL)
		return false;
	/* POSIX has it so: a function's address comes as an object's. */
	*(void **)&libunwind.context = dlsym(handle, "_Ux86_64_getcontext");
	*(void **)&libunwind.start = dlsym(handle, "_ULx86_64_init_local");
	*(void **)&libunwind.step = dlsym(handle, "_ULx86_64_step");
	*(void **)&libunwind.get = dlsym(handle, "_ULx86_64_get_reg");
	*(void **)&libunwind.flush = dlsym(handle, "_Ux86_64_flush_cache");
	libunwind.space = dlsym(handle, "_ULx86_64_local_addr_space");
	return libunwind.context != NULL && libunwind.start != NULL && libunwind.step != NULL &&
	       libunwind.get != NULL && libunwind.flush != NULL && libunwind.space != NULL;
}

/* The frames from origin outwards; 0: libunwind's walk never came by the origin. */
static unsigned int walk_of_libunwind(const struct origin *origin, uintptr_t *frames)
{
	struct opaque context, cursor;
	unsigned int number = 0;
	uintptr_t ip, sp;

	if (libunwind.context(&context) != 0 || libunwind.start(&cursor, &context) != 0)
		return 0;
	/* It keeps the rules of unloaded modules until it is told (unw_flush_cache(3)). */
	if (maps_is_loader(origin->ip))
		libunwind.flush(*libunwind.space, 0, 0);
	while (number < depth && libunwind.step(&cursor) > 0) {
		if (libunwind.get(&cursor, NUMBER_IP, &ip) != 0 ||
		    libunwind.get(&cursor, NUMBER_SP, &sp) != 0)
			break;
		if (number > 0 || (ip == origin->ip && sp == origin->cfa))
			frames[number++] = ip;
	}
	return number;
}

static void find_bounds(void)
{
	pthread_attr_t attributes;
	void *low;
	size_t size;

	has_bounds = true;
	if (is_stack_unknown || pthread_getattr_np(pthread_self(), &attributes) != 0)
		return;
	if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
		bounds.low = (uintptr_t)low;
		bounds.high = (uintptr_t)low + size;
	}
	pthread_attr_destroy(&attributes);
}

static struct capture_memory *memory_of_thread(void)
{
	if (memory == NULL && !is_walk_plain)
		memory = mmap(NULL, sizeof(*memory), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memory;
}

static void describe(const char *word, const struct origin *origin, const uintptr_t *ours,
		     unsigned int our_count, enum capture_end end, const uintptr_t *theirs,
		     unsigned int their_count)
{
	unsigned int most = our_count > their_count ? our_count : their_count;
	unsigned int first = 0;
	size_t room, size;

	while (first < our_count && first < their_count && ours[first] == theirs[first])
		first++;
	if (__atomic_exchange_n(&details_lock, 1, __ATOMIC_ACQUIRE))
		return;
	room = sizeof(details) - details_size;
	if (room > 4096) {
		size = (size_t)snprintf(
			details + details_size, room,
			"%s: ours %u, theirs %u, our end %d, sp %lx, stack %lx-%lx\n", word,
			our_count, their_count, (int)end, origin->cfa, bounds.low, bounds.high);
		for (unsigned int i = first > 3 ? first - 3 : 0; i < most && i < first + 4; i++) {
			unsigned int module = 0;
			uintptr_t ip = i < our_count ? ours[i] : theirs[i];

			module = maps_find(ip - 1);
			size += (size_t)snprintf(
				details + details_size + size, room - size,
				"  %u: %lx %lx  %s+%lx\n", i, i < our_count ? ours[i] : 0,
				i < their_count ? theirs[i] : 0,
				module == MAPS_MODULE_NONE ? "?" : maps_get(module)->path,
				module == MAPS_MODULE_NONE ? ip : ip - maps_get(module)->bias);
		}
		details_size += size;
	}
	__atomic_store_n(&details_lock, 0, __ATOMIC_RELEASE);
}

/* Nothing but the time may tell walking again from walking. */
static void check_walk(const struct origin *origin, enum capture_end our_end)
{
	uintptr_t frames[CAPTURE_DEPTH_MAX];
	enum capture_end end;
	unsigned int number = capture_walk(origin, &bounds, frames, depth, &end);
	bool is_equal = end == our_end && number == (memory->count < depth ? memory->count : depth);

	for (unsigned int i = 0; is_equal && i < number; i++)
		is_equal = frames[i] == memory->frames[memory->count - 1 - i].ip;
	if (!is_equal)
		ADD(unlike, 1);
}

/* As the library does it, with what the thread remembers; a copy of that tells what stays. */
static unsigned int capture(const struct origin *origin, uintptr_t *ours, enum capture_end *end)
{
	uintptr_t before[CAPTURE_MEMORY_MAX];
	unsigned int number, same, kept;

	if (is_walk_remote)
		return remote_walk(origin, &bounds, ours, depth, end);
	if (memory_of_thread() == NULL)
		return capture_walk(origin, &bounds, ours, depth, end);
	/* As after a jump out of a walk. */
	if (count.calls % 61 == 0)
		memory->count = 0;
	for (number = 0; number < memory->count; number++)
		before[number] = memory->frames[number].ip;
	same = capture_again(memory, origin, &bounds, depth, end);
	for (kept = 0; kept < number && kept < memory->count; kept++)
		if (before[kept] != memory->frames[kept].ip)
			break;
	if (same > memory->count || same > kept)
		ADD(false_same, 1);
	ADD(walked, memory->walked);
	check_walk(origin, *end);
	number = memory->count < depth ? memory->count : depth;
	for (unsigned int i = 0; i < number; i++)
		ours[i] = memory->frames[memory->count - 1 - i].ip;
	return number;
}

static void compare(const struct origin *origin)
{
	uintptr_t ours[CAPTURE_DEPTH_MAX], theirs[CAPTURE_DEPTH_MAX];
	enum capture_end end = CAPTURE_COMPLETE;
	unsigned int our_count, their_count, common;

	if (!has_bounds)
		find_bounds();
	our_count = capture(origin, ours, &end);
	their_count = walk_of_libunwind(origin, theirs);
	if (their_count == 0) {
		ADD(unjudged, 1);
		describe("unjudged", origin, ours, our_count, end, theirs, their_count);
		return;
	}
	ADD(captures, 1);
	ADD(frames, our_count);
	ADD(ends[end], 1);
	common = our_count < their_count ? our_count : their_count;
	if (memcmp(ours, theirs, common * sizeof(*ours)) != 0) {
		ADD(differences, 1);
		describe("different", origin, ours, our_count, end, theirs, their_count);
	} else if (our_count > their_count) {
		ADD(longer, 1);
		describe("longer", origin, ours, our_count, end, theirs, their_count);
	} else if (our_count < their_count && end == CAPTURE_NO_RULE) {
		ADD(no_rule, 1);
		describe("no rule", origin, ours, our_count, end, theirs, their_count);
	} else if (our_count < their_count) {
		ADD(shorter, 1);
		describe("shorter", origin, ours, our_count, end, theirs, their_count);
	}
}

static void judge(const struct origin *origin)
{
	if (!is_ready || is_inside)
		return;
	if (__atomic_fetch_add(&count.calls, 1, __ATOMIC_RELAXED) / run % every != 0)
		return;
	is_inside = true;
	compare(origin);
	is_inside = false;
}

EXPORT void *malloc(size_t size)
{
	const struct origin origin = CAPTURE_ORIGIN();

	judge(&origin);
	return __libc_malloc(size);
}

EXPORT void *calloc(size_t number, size_t size)
{
	const struct origin origin = CAPTURE_ORIGIN();

	judge(&origin);
	return __libc_calloc(number, size);
}

EXPORT void *realloc(void *memory, size_t size)
{
	const struct origin origin = CAPTURE_ORIGIN();

	judge(&origin);
	return __libc_realloc(memory, size);
}

EXPORT void free(void *memory)
{
	const struct origin origin = CAPTURE_ORIGIN();

	judge(&origin);
	__libc_free(memory);
}

static __attribute__((constructor)) void begin(void)
{
	const char *text = getenv("JUDGE_EVERY");
	const char *stack = getenv("JUDGE_STACK");

	result_path = getenv("JUDGE_RESULT");
	if (text != NULL)
		every = strtoul(text, NULL, 10);
	text = getenv("JUDGE_RUN");
	if (text != NULL)
		run = strtoul(text, NULL, 10);
	text = getenv("JUDGE_DEPTH");
	if (text != NULL)
		depth = (unsigned int)strtoul(text, NULL, 10);
	is_walk_plain = getenv("JUDGE_PLAIN") != NULL;
	is_stack_unknown = stack != NULL && strcmp(stack, "unknown") == 0;
	is_walk_remote = getenv("JUDGE_WALKER") != NULL;
	is_ready = result_path != NULL && every > 0 && run > 0 && open_libunwind() &&
		   (!is_walk_remote || remote_open() == 0);
}

static __attribute__((destructor)) void report(void)
{
	char line[1024];
	int fd;
	int size;

	if (!is_ready)
		return;
	is_ready = false;
	size = snprintf(line, sizeof(line),
			"captures %lu frames %lu different %lu shorter %lu longer %lu norule %lu "
			"unjudged %lu complete %lu depth %lu norule-ends %lu left %lu falling %lu "
			"modules %u walked %lu falsesame %lu unlike %lu\n",
			count.captures, count.frames, count.differences, count.shorter,
			count.longer, count.no_rule, count.unjudged, count.ends[0], count.ends[1],
			count.ends[2], count.ends[3], count.ends[4], maps_count(), count.walked,
			count.false_same, count.unlike);
	fd = open(result_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	sys_call3(SYS_write, fd, (long)line, (long)size);
	sys_call3(SYS_write, fd, (long)details, (long)details_size);
	close(fd);
}
