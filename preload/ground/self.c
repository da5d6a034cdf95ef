/* SPDX-License-Identifier: MIT */
#include "self.h"

#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/stat.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "clock.h"
#include "loader.h"
#include "plain.h"
#include "sys.h"

#define SHORT	   256 /* bytes of the usual buffer for a path; other variables share its page */
#define LINKS_MOST 8

uintptr_t self_auxiliary(unsigned long type)
{
	const uintptr_t *word = __libc_stack_end;

	word += 1 + *word + 1;
	while (*word++)
		;
	for (const ElfW(auxv_t) *entry = (const void *)word; entry->a_type != AT_NULL; entry++)
		if (entry->a_type == type)
			return entry->a_un.a_val;
	return 0;
}

/* ---- the path by the name that was passed to exec ---- */

static bool is_as_told;

/*
 * Whether the library was loaded at the program's start: only the program itself precedes the
 * library in the loader's list.
 */
static bool is_at_exec(void)
{
	struct loaded own;
	const struct link_map *map;

	if (loader_find((void *)(uintptr_t)self_path, &own))
		return false;
	for (map = own.link_map->l_prev; map; map = map->l_prev)
		if (*map->l_name && !plain_equal(map->l_name, "linux-vdso.so.1"))
			return false;
	return true;
}

/*
 * Whether `name` is the name of the running file. If the running file is an interpreter, `name` is
 * the name of the script, which is also an argument. The names also differ if the running file is a
 * loader that was started as a command; such a file has no loader itself.
 */
static bool is_own_name(const char *name)
{
	char **argument = (char **)__libc_stack_end + 1;

	if (!name || !self_auxiliary(AT_BASE))
		return false;
	if (!*argument)
		return false;
	while (*++argument)
		if (plain_equal(*argument, name))
			return false;
	return true;
}

/* A path that is being resolved. */
struct way {
	char *path; /* a buffer of SHORT bytes: the part that is resolved, without links */
	size_t length;
	const char *left;
	char room[SHORT];
	int links;
};

/*
 * Resolves one component. Returns false if the path is too long, has . or .., or leads into /proc
 * or /dev, whose links only the kernel can resolve.
 */
static bool follow_component(struct way *way)
{
	const char *from = way->left, *end = from;
	char target[SHORT];
	char *at = way->path + way->length;
	size_t size;
	long got;

	while (*end && *end != '/')
		end++;
	if (way->length + 1 + (size_t)(end - from) >= SHORT || plain_begins(from, "./") ||
	    plain_begins(from, "../") || plain_equal(from, ".") || plain_equal(from, ".."))
		return false;
	*at = '/';
	plain_copy(at + 1, from, (size_t)(end - from) + 1);
	if (plain_equal(way->path, "/proc") || plain_equal(way->path, "/dev"))
		return false;
	got = sys_readlinkat(AT_FDCWD, way->path, target, sizeof(target) - 1);
	if (got == -EINVAL) {
		way->length += 1 + (size_t)(end - from);
		way->left = end;
		return true;
	}
	if (got <= 0 || got == sizeof(target) - 1)
		return false;
	/* continue with the link's target, followed by the rest of the path */
	size = (size_t)got;
	if (size + 1 + plain_length(end) >= SHORT || ++way->links > LINKS_MOST)
		return false;
	plain_copy(target + size, end, SHORT - size);
	plain_copy(way->room, target, SHORT);
	way->left = way->room;
	if (*target == '/')
		way->length = 0;
	return true;
}

/* Resolves the links of a path. Returns its length, or 0 if only the kernel can resolve it. */
static long follow_path(char *path, const char *name)
{
	struct way way = { .path = path, .left = name };

	if (*name != '/')
		return 0;
	for (;;) {
		while (*way.left == '/')
			way.left++;
		if (!*way.left)
			return (long)way.length;
		if (!follow_component(&way))
			return 0;
	}
}

/* ---- the path, by the name that was passed to exec or by /proc ---- */

enum { UNKNOWN, BEING_ASKED, KNOWN };

const char *self_path(void)
{
	static char short_path[SHORT];
	static SPARSE char long_path[PATH_MAX];
	static char *path = short_path;
	static uint32_t state;
	uint32_t expected = UNKNOWN;
	const char *name;
	long length;

	/* no load before the exchange: reading a page before writing it costs two page faults */
	if (!__atomic_compare_exchange_n(&state, &expected, BEING_ASKED, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_ACQUIRE))
		return expected == KNOWN ? path : "";
	/*
	 * The first access to /proc/self makes the kernel create inodes for the process, and remove
	 * them at its end. This costs four times as much as resolving the name.
	 */
	name = (const char *)self_auxiliary(AT_EXECFN);
	length = is_at_exec() && is_own_name(name) ? follow_path(short_path, name) : 0;
	is_as_told = length != 0;
	if (!length)
		length = sys_readlinkat(AT_FDCWD, "/proc/self/exe", short_path,
					sizeof(short_path) - 1);
	if (length == sizeof(short_path) - 1) {
		path = long_path;
		length = sys_readlinkat(AT_FDCWD, "/proc/self/exe", path, sizeof(long_path) - 1);
	}
	path[length > 0 ? length : 0] = 0;
	__atomic_store_n(&state, KNOWN, __ATOMIC_RELEASE);
	return path;
}

bool self_is_as_told(void)
{
	return is_as_told;
}

bool self_is_program(const char *path)
{
	struct statx asked, runs;

	return sys_statx(AT_FDCWD, "/proc/self/exe", 0, STATX_INO, &runs) ||
	       (!sys_statx(AT_FDCWD, path, 0, STATX_INO, &asked) && asked.stx_ino == runs.stx_ino &&
		asked.stx_dev_major == runs.stx_dev_major &&
		asked.stx_dev_minor == runs.stx_dev_minor);
}

/* ---- limits ---- */

uint64_t limit_lift(int which, struct rlimit *before)
{
	struct rlimit most;

	if (sys_call4(__NR_prlimit64, 0, which, 0, (long)before)) {
		*before = (struct rlimit){ RLIM_INFINITY, RLIM_INFINITY };
		return RLIM_INFINITY;
	}
	most = (struct rlimit){ before->rlim_max, before->rlim_max };
	if (before->rlim_cur == most.rlim_cur)
		return before->rlim_max;
	if (!clock_is_alone()) {
		uint64_t limit = before->rlim_cur;

		before->rlim_cur = before->rlim_max; /* limit_restore() then restores nothing */
		return limit;
	}
	sys_call4(__NR_prlimit64, 0, which, (long)&most, 0);
	return before->rlim_max;
}

void limit_restore(int which, const struct rlimit *before)
{
	if (before->rlim_cur != before->rlim_max)
		sys_call4(__NR_prlimit64, 0, which, (long)before, 0);
}

int limit_truncate(int fd, uint64_t size)
{
	struct rlimit before;
	int status = -EFBIG;

	if (limit_lift(RLIMIT_FSIZE, &before) >= size)
		status = sys_ftruncate(fd, (int64_t)size);
	limit_restore(RLIMIT_FSIZE, &before);
	return status;
}

/* ---- memory ---- */

static struct arena_own own[ARENA_OWN];
static uint32_t own_count;

void own_add(const void *at, size_t size)
{
	uint32_t place = __atomic_fetch_add(&own_count, 1, __ATOMIC_RELAXED);

	if (place >= ARENA_OWN) {
		__atomic_store_n(&own_count, ARENA_OWN, __ATOMIC_RELAXED);
		return;
	}
	own[place].from = (uint64_t)(uintptr_t)at;
	__atomic_store_n(&own[place].to, own[place].from + size, __ATOMIC_RELEASE);
}

void own_tell(struct arena_own ranges[ARENA_OWN])
{
	for (uint32_t i = 0; i < ARENA_OWN; i++) {
		ranges[i].to = __atomic_load_n(&own[i].to, __ATOMIC_ACQUIRE);
		ranges[i].from = own[i].from;
	}
}
