/* SPDX-License-Identifier: MIT */
#include "late.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "injected.h"
#include "contract.h"
#include "patch.h"
#include "preload/ground/plain.h"
#include "preload/ground/real.h"
#include "preload/ground/sys.h"
#include "preload/record/life.h"
#include "preload/record/memory.h"
#include "preload/record/ring.h"
#include "preload/walk/maps.h"
#include "start.h"

#define FEW_DESCRIPTORS 64
/* number of descriptors that the library needs at the same time to join a run */
#define FREE_ENOUGH 2

#define CONTROL_SIZE ((sizeof(struct control_page) + 0xfff) & ~0xffful)

static void obey_order(struct late_order *order);

/* The injector finds this variable in the library's file by `mark`, and sets `order`. */
static volatile struct late_entry entry_point __attribute__((used, aligned(16))) = {
	.mark = LATE_MARK,
	.contract = CONTRACT_HASH,
	.obey = obey_order,
};

/* Environment entries for executed programs: the library's path, and the run. */
static SPARSE char library[LATE_PATH_MAX];
static SPARSE char run_entry[LATE_TEXT_MAX + 32];

bool late_is_injected(void)
{
	return entry_point.order;
}

/* ---- the control page ---- */

/* Maps the new control page over the old one atomically: a thread may be reading the old one. */
static void put_control(const struct control_page *control, const struct control_page *place)
{
	if (!place ||
	    sys_error((void *)sys_call5(__NR_mremap, (long)control, CONTROL_SIZE, CONTROL_SIZE,
					MREMAP_MAYMOVE | MREMAP_FIXED, (long)place)))
		life.control = control;
	else
		life.control = place;
}

/* Replaces the control page by a private, paused copy, which unfinished calls can still read. */
static void keep_control(void)
{
	struct control_page *copy = sys_mmap(NULL, CONTROL_SIZE, PROT_READ | PROT_WRITE,
					     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (sys_error(copy))
		return;
	*copy = *life.control;
	copy->paused |= 1;
	put_control(copy, life.control);
}

/* ---- programs that are executed ---- */

#define PRELOAD "LD_PRELOAD"

/* Maximum size in bytes of a changed environment, which is on the stack. */
#define ROOM_MAX 16384

/* Returns LD_PRELOAD's value in the environment, or "". *count: the number of entries. */
static const char *look_through(char *const *environment, size_t *count)
{
	const char *value = "";

	for (*count = 0; environment && environment[*count]; ++*count) {
		const char *found = settings_value(environment[*count], PRELOAD);

		value = found ? found : value;
	}
	return value;
}

#define NO_PAGE (~(uintptr_t)0)

/*
 * Whether the aligned word at `address` is readable. *page: the page that was last found to be
 * readable, which is not checked again; initially NO_PAGE.
 */
static bool can_read(const void *address, uintptr_t *page)
{
	uintptr_t word = (uintptr_t)address & ~(uintptr_t)7;

	if (word >> 12 == *page)
		return true;
	if (!sys_is_readable((const void *)word))
		return false;
	*page = word >> 12;
	return true;
}

/*
 * Whether all parts of an environment are readable. With a bad pointer, the program would only get
 * EFAULT from exec, so the library must not crash it by reading there. Also false if the library
 * must not make system calls; the environment is then passed unchanged.
 */
static bool can_read_all(char *const *environment)
{
	uintptr_t list = NO_PAGE, page = NO_PAGE;

	for (; environment; environment++) {
		if (!can_read(environment, &list) ||
		    !can_read((const char *)environment + sizeof(char *) - 1, &list))
			return false;
		if (!*environment)
			break;
		for (const char *at = *environment;; at++) {
			if (!can_read(at, &page))
				return false;
			if (!*at)
				break;
		}
	}
	return true;
}

size_t late_room(char *const *environment)
{
	const char *others;
	size_t count, size;

	if (!*library || life.is_off || !life_is_running() || !life.records_children ||
	    ring_is_quiet() || sys_call4(__NR_faccessat, AT_FDCWD, (long)library, 4, 0) ||
	    !can_read_all(environment))
		return 0;
	others = look_through(environment, &count);
	size = (count + 3) * sizeof(char *) + sizeof(PRELOAD) + plain_length(library) +
	       plain_length(others) + 2;
	return size > ROOM_MAX ? 0 : size;
}

char *const *late_environment(void *room, char *const *environment)
{
	size_t count, kept = 0, size;
	const char *others = look_through(environment, &count);
	char **entries = room, *text = (char *)(entries + count + 3), *at = text;

	size = sizeof(PRELOAD) + plain_length(library) + plain_length(others) + 2;
	at += plain_copy(at, PRELOAD "=", size) - 1;
	at += plain_copy(at, library, size) - 1;
	if (*others) {
		*at++ = ':';
		plain_copy(at, others, size);
	}
	for (size_t i = 0; i < count; i++)
		if (!settings_value(environment[i], PRELOAD) &&
		    !settings_value(environment[i], CONTROL_ENVIRONMENT))
			entries[kept++] = environment[i];
	entries[kept++] = text;
	entries[kept++] = run_entry;
	entries[kept] = NULL;
	return entries;
}

/* Returns the part of LD_PRELOAD that names this library, or NULL. */
static const char *find_own(const char *value, size_t *length)
{
	while (*value) {
		bool is_own = false;

		for (*length = 0; value[*length] && value[*length] != ':' && value[*length] != ' ';
		     ++*length)
			is_own |= plain_begins(value + *length, "libholdtrace.so");
		if (is_own)
			return value;
		value += *length + (value[*length] != 0);
	}
	return NULL;
}

/*
 * Whether the file that `own` (a part of LD_PRELOAD) names does not exist. Names without a slash,
 * which the loader searches for in several directories, and names with $, which the loader expands,
 * are never reported as missing. Copies the name to a buffer of exactly its size, because the stack
 * may be a small signal stack.
 */
static bool is_missing(const char *own, size_t length)
{
	bool has_slash = false;
	char *path;

	if (length >= PATH_MAX)
		return false;
	path = __builtin_alloca(length + 1);
	plain_copy(path, own, length + 1);
	for (size_t i = 0; i < length; i++) {
		has_slash |= path[i] == '/';
		if (path[i] == '$')
			return false;
	}
	return has_slash && sys_call4(__NR_faccessat, AT_FDCWD, (long)path, 4, 0);
}

/*
 * Sets *soft and *hard to the number of descriptors that the program to be executed can still open
 * under its soft and hard limits. If the soft limit is above FEW_DESCRIPTORS, sets both to
 * FREE_ENOUGH without counting, because a check costs one system call per descriptor.
 */
static void count_free(uint64_t *soft, uint64_t *hard)
{
	struct rlimit limit;
	uint64_t open = 0;

	*soft = *hard = FREE_ENOUGH;
	if (ring_is_quiet() || sys_call4(__NR_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit) ||
	    limit.rlim_cur > FEW_DESCRIPTORS)
		return;
	for (uint64_t fd = 0; fd < limit.rlim_cur; fd++)
		/* a descriptor with FD_CLOEXEC does not count: exec closes it */
		open += sys_fcntl((int)fd, F_GETFD, 0) == 0;
	*soft = limit.rlim_cur - open;
	*hard = limit.rlim_max - open;
}

size_t late_size_without(char *const *environment)
{
	size_t count, length;
	const char *value = look_through(environment, &count);

	return find_own(value, &length)
		       ? (count + 1) * sizeof(char *) + sizeof(PRELOAD) + plain_length(value) + 1
		       : 0;
}

size_t late_look(char *const *environment)
{
	struct arena *head = memory_head();
	uint32_t flag = PROCESS_DROPPED;
	const char *own;
	size_t count, length, size = 0;
	bool is_useless = false;

	if (!head)
		return 0;
	__atomic_fetch_and(
		&head->flags,
		~(uint32_t)(PROCESS_DROPPED | PROCESS_GIVEN | PROCESS_HIDDEN | PROCESS_CROWDED),
		__ATOMIC_RELAXED);
	if (!can_read_all(environment))
		return 0;
	own = find_own(look_through(environment, &count), &length);
	if (own) {
		uint64_t soft, hard;

		count_free(&soft, &hard);
		flag = !soft || hard < FREE_ENOUGH ? PROCESS_CROWDED : PROCESS_GIVEN;
		if (is_missing(own, length))
			flag = PROCESS_HIDDEN;
		is_useless = !soft || flag == PROCESS_HIDDEN;
	}
	if (is_useless)
		size = late_size_without(environment);
	__atomic_fetch_or(&head->flags, flag, __ATOMIC_RELEASE);
	return size > ROOM_MAX ? 0 : size;
}

char *const *late_without(void *room, char *const *environment)
{
	size_t count, kept = 0, length;
	const char *value = look_through(environment, &count), *own = find_own(value, &length);
	const char *rest = own + length + (own[length] != 0);
	char **entries = room, *text = (char *)(entries + count + 1), *at = text;

	at += plain_copy(at, PRELOAD "=", sizeof(PRELOAD) + 1) - 1;
	at += plain_copy(at, value, (size_t)(own - value) + 1) - 1;
	plain_copy(at, rest, plain_length(rest) + 1);
	for (size_t i = 0; i < count; i++)
		if (!settings_value(environment[i], PRELOAD))
			entries[kept++] = environment[i];
	if (own != value || *rest)
		entries[kept++] = text;
	entries[kept] = NULL;
	return entries;
}

/* ---- orders of the injector ---- */

static enum late_result begin_attached(struct late_order *order)
{
	char text[sizeof(order->run) + sizeof(CONTROL_ENVIRONMENT) + 1];
	char *environment[] = { text, NULL };
	const struct control_page *place = life.control, *control;
	size_t used = plain_copy(text, CONTROL_ENVIRONMENT "=", sizeof(text)) - 1;

	if (!real_find_late())
		return LATE_NO_MALLOC;
	plain_copy(text + used, order->run, sizeof(text) - used);
	plain_copy(library, order->library, sizeof(library));
	maps_own_path = *library ? library : NULL;
	control = attach_control(environment, order->name);
	/* copy it only now, because attach_control() removes the mark CONTROL_FIRST */
	plain_copy(run_entry, text, sizeof(run_entry));
	if (!control)
		return LATE_NO_RUN;
	put_control(control, place);
	if (start_attached(order))
		return LATE_DONE;
	keep_control();
	return LATE_NO_RUN;
}

/*
 * Attaches. Recording starts only after all calls have been redirected to the stubs; otherwise a
 * block could be allocated by a recorded call and freed by an unrecorded call.
 */
static enum late_result attach_by_order(struct late_order *order)
{
	enum late_result result;

	if (!life_begin_again()) {
		const char *entry = run_entry + sizeof(CONTROL_ENVIRONMENT);

		/* an injector that missed the result tries again with the same secret */
		for (int i = 0; i < 64; i++)
			if (!order->run[i] || order->run[i] != entry[i])
				return LATE_IS_ON;
		return LATE_DONE;
	}
	result = begin_attached(order);
	if (result != LATE_DONE) {
		life_silence();
		return result;
	}
	patch_all(true, order);
	start_recording();
	return LATE_DONE;
}

/*
 * Executes an order in a thread that the injector has borrowed. The thread's errno stays unchanged,
 * because the library's own system calls do not set errno.
 */
static void obey_order(struct late_order *order)
{
	enum late_result result = LATE_UNSAID;

	if (order->command == LATE_ATTACH)
		result = attach_by_order(order);
	else if (order->command == LATE_DETACH)
		result = life_detach();
	if (order->command == LATE_DETACH && result == LATE_DONE) {
		keep_control();
		patch_all(false, order);
	}
	/* close it here, or the injector would have to stop the thread two more times */
	sys_close(order->file);
	order->file = -1;
	__atomic_store_n(&order->result, result, __ATOMIC_RELEASE);
}

void late_obey_first(void)
{
	obey_order((struct late_order *)(uintptr_t)entry_point.order);
}
