/* SPDX-License-Identifier: MIT */
#include "follow.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <stddef.h>
#include <sys/auxv.h>

#include "preload/ground/plain.h"
#include "preload/ground/self.h"
#include "preload/ground/sys.h"

/*
 * Whether a name matches the pattern up to end: * matches any text, ? any character. After a
 * mismatch the last * matches one character more, so the time is at most the product of both
 * lengths.
 */
static bool matches(const char *pattern, const char *end, const char *name)
{
	const char *star = NULL, *resume = NULL;

	while (*name) {
		if (pattern < end && *pattern == '*') {
			star = ++pattern;
			resume = name;
		} else if (pattern < end && (*pattern == '?' || *pattern == *name)) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star;
			name = ++resume;
		} else {
			return false;
		}
	}
	while (pattern < end && *pattern == '*')
		pattern++;
	return pattern == end;
}

static bool is_listed(const char *list, const char *name)
{
	while (*list) {
		const char *end = list;

		while (*end && *end != ',')
			end++;
		if (matches(list, end, name))
			return true;
		list = *end ? end + 1 : end;
	}
	return false;
}

static const char *last_part(const char *path)
{
	const char *name = path;

	for (; *path; path++)
		if (*path == '/' && path[1])
			name = path + 1;
	return name;
}

static bool find_file(const char *path, struct statx *file)
{
	return sys_call5(__NR_statx, AT_FDCWD, (long)path, 0, STATX_INO, (long)file) == 0;
}

/*
 * Whether the name that was passed to exec is the program's, perhaps by a link; a script's is not.
 */
static bool is_program(const char *path)
{
	struct statx asked, runs;

	return !find_file("/proc/self/exe", &runs) ||
	       (find_file(path, &asked) && asked.stx_ino == runs.stx_ino &&
		asked.stx_dev_major == runs.stx_dev_major &&
		asked.stx_dev_minor == runs.stx_dev_minor);
}

bool follow_has_chosen(const char *choice, bool is_first)
{
	const char *asked = (const char *)getauxval(AT_EXECFN);

	if (plain_equal(choice, "all"))
		return true;
	if (plain_equal(choice, "no"))
		return is_first;
	return is_listed(choice, last_part(self_path())) ||
	       (asked && is_listed(choice, last_part(asked)) && is_program(asked));
}

bool follow_wants_children(const char *choice)
{
	return !plain_equal(choice, "no");
}
