/* SPDX-License-Identifier: MIT */
#include "gate.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stddef.h>

#include "preload/ground/plain.h"
#include "preload/ground/self.h"
#include "preload/ground/sys.h"

#define OURS "holdtrace"

bool gate_is_closed(void)
{
	const char *name;

	/* the environment comes from a user with fewer rights than the program */
	if (self_auxiliary(AT_SECURE))
		return true;
	name = plain_last_part(self_path());
	if (!plain_begins(name, OURS))
		return false;
	/* holdtrace-WORD, or " (deleted)" after the name while a new version is being installed */
	name += sizeof(OURS) - 1;
	return !*name || *name == '-' || *name == ' ';
}

/* ---- --follow ---- */

/*
 * Whether a name matches the pattern, which ends at `end`: * matches any text, ? matches any
 * character. After a mismatch, the last * matches one character more, so the time is at most the
 * product of the two lengths.
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

/*
 * Whether the name that was passed to exec leads to the running program, perhaps by a link. The
 * name of a script does not: it leads to a file that an interpreter runs.
 */
static bool is_program(const char *path)
{
	struct statx asked, runs;

	return sys_statx(AT_FDCWD, "/proc/self/exe", 0, STATX_INO, &runs) ||
	       (!sys_statx(AT_FDCWD, path, 0, STATX_INO, &asked) && asked.stx_ino == runs.stx_ino &&
		asked.stx_dev_major == runs.stx_dev_major &&
		asked.stx_dev_minor == runs.stx_dev_minor);
}

bool gate_follows(const char *choice, bool is_first)
{
	const char *asked = (const char *)self_auxiliary(AT_EXECFN);

	if (plain_equal(choice, "all"))
		return true;
	if (plain_equal(choice, "no"))
		return is_first;
	return is_listed(choice, plain_last_part(self_path())) ||
	       (asked && is_listed(choice, plain_last_part(asked)) && is_program(asked));
}
