/* SPDX-License-Identifier: MIT */
#include "inherited.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <sys/vfs.h>
#include <time.h>

#include "injected.h"
#include "life.h"
#include "preload/ground/plain.h"
#include "preload/ground/sys.h"
#include "reach.h"

#define KNOWN_MAX \
	4 /* number of remembered paths: descriptors 0, 1 and 2 often have the same file */
#define KNOWN_PATH 128 /* size of a remembered path; longer paths are read again */
/* after this many closed descriptors in a row, the others are listed from /proc */
#define GAP_MAX	   16
#define FEW	   64  /* descriptor tables of at most this size are not listed from /proc */
#define PATH_SHORT 256 /* size of the usual buffer; longer paths get a larger buffer */

/*
 * Shells assign descriptors downwards from these numbers, so the search tries GAP_MAX numbers below
 * each. Listing all descriptors in /proc costs as much as a hundred tries, because the kernel
 * creates an inode for each.
 */
static const uint32_t tops[] = { 63, 255 };
#define TOPS (sizeof(tops) / sizeof(tops[0]))

#ifndef SOCKFS_MAGIC
#define SOCKFS_MAGIC 0x534f434b
#endif

struct known {
	struct statx file;
	char path[KNOWN_PATH];
};

struct search {
	void (*tell)(void *context, const struct inherited *inherited);
	void *context;
	unsigned int known_count;
	struct known known[KNOWN_MAX];
	char path[PATH_SHORT];
};

static bool look_at_file(int directory, const char *path, int flags, struct statx *file)
{
	return !sys_statx(directory, path, AT_STATX_DONT_SYNC | flags,
			  STATX_TYPE | STATX_NLINK | STATX_INO | STATX_SIZE | STATX_MNT_ID, file);
}

/* Whether both files have the same path: an inode with one link has one path on one mount. */
static bool is_same(const struct statx *one, const struct statx *two)
{
	return one->stx_ino == two->stx_ino && one->stx_dev_major == two->stx_dev_major &&
	       one->stx_dev_minor == two->stx_dev_minor && one->stx_mnt_id == two->stx_mnt_id &&
	       one->stx_nlink == 1 && two->stx_nlink == 1 && one->stx_mode == two->stx_mode &&
	       one->stx_mask == two->stx_mask;
}

/* Makes a pipe's or socket's name from its inode number. Returns false for other files. */
static bool name_nameless(char *path, uint32_t fd, const struct statx *file)
{
	uint16_t type = file->stx_mode & S_IFMT;
	struct statfs system;
	char *at;

	if ((type != S_IFIFO && type != S_IFSOCK) || sys_call2(__NR_fstatfs, fd, (long)&system) ||
	    (system.f_type != PIPEFS_MAGIC && system.f_type != SOCKFS_MAGIC))
		return false;
	at = path + plain_copy(path, system.f_type == PIPEFS_MAGIC ? "pipe:[" : "socket:[", 16) - 1;
	at = plain_number(at, file->stx_ino, 10);
	at[0] = ']';
	at[1] = 0;
	return true;
}

/* Reads the path from /proc. Returns false if it was truncated. */
static bool ask_path(char *path, size_t room, uint32_t fd)
{
	char link[40];
	long length;

	plain_number(link + plain_copy(link, "/proc/self/fd/", 16) - 1, fd, 10);
	length = sys_readlinkat(AT_FDCWD, link, path, room - 1);
	path[length > 0 ? length : 0] = 0;
	return length < (long)room - 1;
}

/* not inlined, so that only this function uses stack for the large buffer */
static __attribute__((noinline)) void tell_long(const struct search *search,
						struct inherited *inherited)
{
	char path[4096];

	ask_path(path, sizeof(path), inherited->fd);
	inherited->path = path;
	search->tell(search->context, inherited);
}

/*
 * Whether the standard descriptor refers to the same file as in the process that started the run.
 * The control page has that file's name, and comparing the two files costs a quarter of reading the
 * descriptor's name.
 */
static bool is_standard(char *path, uint32_t fd, const struct statx *file)
{
	struct statx named;

	return fd < CONTROL_STANDARDS && life.control->standard[fd][0] == '/' &&
	       look_at_file(AT_FDCWD, life.control->standard[fd], 0, &named) &&
	       is_same(&named, file) &&
	       plain_copy(path, life.control->standard[fd], CONTROL_STANDARD_MAX);
}

/*
 * Whether the process that started the run has the same file open with this number. If so, reads
 * the file's name from that process's /proc directory, which already exists; the kernel would have
 * to create our own. statx through a link in /proc does not ask the file system.
 */
static bool is_makers(char *path, uint32_t fd, const struct statx *file)
{
	struct statx named;
	char link[40];
	long length;

	if (fd >= CONTROL_STANDARDS || life.control->maker <= 0)
		return false;
	reach_path(link, (uint64_t)life.control->maker, fd);
	if (!look_at_file(AT_FDCWD, link, 0, &named) || !is_same(&named, file))
		return false;
	length = sys_readlinkat(AT_FDCWD, link, path, PATH_SHORT - 1);
	if (length <= 0 || length == PATH_SHORT - 1)
		return false;
	path[length] = 0;
	return true;
}

/* Reports the descriptor. Returns false if it is not open. */
static bool tell_one(struct search *search, uint32_t fd)
{
	struct inherited inherited = { .fd = fd, .path = search->path };
	const char *known = NULL;
	struct statx file;

	if (!look_at_file((int)fd, "", AT_EMPTY_PATH, &file))
		return false;
	inherited.has_size = (file.stx_mode & S_IFMT) == S_IFREG;
	inherited.size = file.stx_size;
	for (unsigned int i = 0; i < search->known_count && !known; i++)
		if (is_same(&search->known[i].file, &file))
			known = search->known[i].path;
	if (known) {
		inherited.path = known;
	} else if (!name_nameless(search->path, fd, &file)) {
		if (!is_standard(search->path, fd, &file) && !is_makers(search->path, fd, &file) &&
		    !ask_path(search->path, sizeof(search->path), fd)) {
			tell_long(search, &inherited);
			return true;
		}
		/* an injector opened this descriptor and will close it */
		if (plain_equal(search->path, "/memfd:" LATE_TRIGGER " (deleted)") ||
		    plain_equal(search->path, "/memfd:" LATE_LIBRARY " (deleted)"))
			return true;
		if (file.stx_nlink == 1 && search->known_count < KNOWN_MAX &&
		    plain_copy(search->known[search->known_count].path, search->path, KNOWN_PATH) <
			    KNOWN_PATH)
			search->known[search->known_count++].file = file;
	}
	search->tell(search->context, &inherited);
	return true;
}

/* Like tell_one(), for numbers that are mostly closed: F_GETFD costs a third of statx. */
static bool tell_if_open(struct search *search, uint32_t fd)
{
	return sys_fcntl((int)fd, F_GETFD, 0) != -EBADF && tell_one(search, fd);
}

struct kernel_entry {
	uint64_t inode, offset;
	uint16_t length;
	uint8_t type;
	char name[];
};

/*
 * Reports the open descriptors among the GAP_MAX numbers below each of `tops`, from number `from`
 * on, and at most `most` of them. Returns how many it has reported.
 */
static uint64_t tell_tops(struct search *search, uint32_t from, uint64_t most)
{
	uint64_t told = 0;

	for (unsigned int i = 0; i < TOPS && told < most; i++)
		for (uint32_t fd = tops[i]; fd > tops[i] - GAP_MAX && fd >= from && told < most;
		     fd--)
			told += tell_if_open(search, fd);
	return told;
}

static bool is_below_top(uint64_t fd)
{
	for (unsigned int i = 0; i < TOPS; i++)
		if (fd <= tops[i] && fd > tops[i] - GAP_MAX)
			return true;
	return false;
}

/* Reports descriptors from `from` on that /proc lists; if tops_are_told, skips those of `tops`. */
static __attribute__((noinline)) void tell_listed(struct search *search, uint32_t from,
						  bool tops_are_told)
{
	uint64_t buffer[512];
	int directory =
		sys_openat(AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	long got;

	if (directory < 0)
		return;
	while ((got = sys_call3(__NR_getdents64, directory, (long)buffer, sizeof(buffer))) > 0) {
		for (long at = 0; at < got;) {
			struct kernel_entry *entry = (struct kernel_entry *)((char *)buffer + at);
			uint64_t fd;

			plain_parse(entry->name, 10, &fd);
			if (entry->name[0] != '.' && fd >= from &&
			    !(tops_are_told && is_below_top(fd)) && (int)fd != directory)
				tell_one(search, (uint32_t)fd);
			at += entry->length;
		}
	}
	sys_close(directory);
}

/*
 * Whether no descriptor from number FEW on is open. select() ignores numbers beyond the end of the
 * descriptor table (select(2), BUGS). If a number is within the table but not open, select() fails
 * before it calls any file's driver.
 */
static bool has_few(void)
{
	static const struct timespec at_once;
	unsigned long set[FEW / (8 * sizeof(long)) + 1] = { 0 };

	set[FEW / (8 * sizeof(long))] = 1;
	return sys_fcntl(FEW, F_GETFD, 0) == -EBADF &&
	       !sys_call6(__NR_pselect6, FEW + 1, (long)set, 0, 0, (long)&at_once, 0);
}

/* Since Linux 6.2 the size of /proc/self/fd is the number of descriptors. */
void inherited_tell(void (*tell)(void *context, const struct inherited *inherited), void *context)
{
	struct search search;
	struct statx directory;
	uint64_t left;
	uint32_t fd = 0;
	int gap = 0;

	search.tell = tell;
	search.context = context;
	search.known_count = 0;
	if (has_few()) {
		while (fd < FEW)
			tell_if_open(&search, fd++);
		return;
	}
	if (!look_at_file(AT_FDCWD, "/proc/self/fd", 0, &directory))
		return;
	for (left = directory.stx_size; left && gap < GAP_MAX; fd++) {
		bool is_open = gap ? tell_if_open(&search, fd) : tell_one(&search, fd);

		left -= is_open;
		gap = is_open ? 0 : gap + 1;
	}
	left -= tell_tops(&search, fd, left);
	if (left || !directory.stx_size)
		tell_listed(&search, fd, directory.stx_size != 0);
}
