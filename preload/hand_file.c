/* SPDX-License-Identifier: MIT */
/* Hooked by hand: descriptors. */
#include "hand_fd.h"

#include "sys.h"

#include <linux/close_range.h>
#include <stdarg.h>

/* The mode is there only if the file may be made (open(2)). */
#define TAKE_MODE(flags, mode)                                             \
	do {                                                               \
		if ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE) { \
			va_list list;                                      \
                                                                           \
			va_start(list, flags);                             \
			mode = va_arg(list, mode_t);                       \
			va_end(list);                                      \
		}                                                          \
	} while (0)

EXPORT int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	int result;

	TAKE_MODE(flags, mode);
	BEGIN(open, MOMENT_WAITS, 0, 0, real.open(path, flags, mode))
	call_sleeps(&call);
	result = real.open(path, flags, mode);
	call_returned(&call);
	return fd_event(&call, result, ARGUMENTS(TEXT(path), HEX(flags), OCTAL(mode)));
}

EXPORT int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;
	int result;

	TAKE_MODE(flags, mode);
	BEGIN(open64, MOMENT_WAITS, 0, 0, real.open64(path, flags, mode))
	call_sleeps(&call);
	result = real.open64(path, flags, mode);
	call_returned(&call);
	return fd_event(&call, result, ARGUMENTS(TEXT(path), HEX(flags), OCTAL(mode)));
}

EXPORT int openat(int dirfd, const char *path, int flags, ...)
{
	mode_t mode = 0;
	int result;

	TAKE_MODE(flags, mode);
	BEGIN(openat, MOMENT_WAITS, 0, 0, real.openat(dirfd, path, flags, mode))
	call_sleeps(&call);
	result = real.openat(dirfd, path, flags, mode);
	call_returned(&call);
	return fd_event(&call, result,
			ARGUMENTS(DECIMAL(dirfd), TEXT(path), HEX(flags), OCTAL(mode)));
}

EXPORT int openat64(int dirfd, const char *path, int flags, ...)
{
	mode_t mode = 0;
	int result;

	TAKE_MODE(flags, mode);
	BEGIN(openat64, MOMENT_WAITS, 0, 0, real.openat64(dirfd, path, flags, mode))
	call_sleeps(&call);
	result = real.openat64(dirfd, path, flags, mode);
	call_returned(&call);
	return fd_event(&call, result,
			ARGUMENTS(DECIMAL(dirfd), TEXT(path), HEX(flags), OCTAL(mode)));
}

/* dup2 and dup3 close what the number stood for, in the same instant. */
static void replaced_event(struct call *call, int oldfd, int newfd, int result)
{
	if (result >= 0 && oldfd != newfd)
		fd_lost(call, MOMENT_ENTER, 1, newfd, 0);
}

/* Equal descriptors: nothing was gained, and the call is a use. */
static int duplicate_event(struct call *call, int oldfd, int newfd, int result,
			   const struct call_argument *arguments)
{
	replaced_event(call, oldfd, newfd, result);
	if (oldfd != newfd)
		return fd_event(call, result, arguments);
	call_event(call, &(struct call_event){ .resource = RESOURCE_FD,
					       .operation = OPERATION_USE,
					       .moment = MOMENT_LEAVE,
					       .failed = result < 0,
					       .object = WORD(newfd),
					       .result = WORD(result),
					       .arguments = arguments });
	call_end(call);
	return result;
}

EXPORT int dup2(int oldfd, int newfd)
{
	int result;

	BEGIN(dup2, MOMENT_ENTER, newfd, 0, real.dup2(oldfd, newfd))
	result = real.dup2(oldfd, newfd);
	call_returned(&call);
	return duplicate_event(&call, oldfd, newfd, result,
			       ARGUMENTS(DECIMAL(oldfd), DECIMAL(newfd)));
}

EXPORT int dup3(int oldfd, int newfd, int flags)
{
	int result;

	BEGIN(dup3, MOMENT_ENTER, newfd, 0, real.dup3(oldfd, newfd, flags))
	result = real.dup3(oldfd, newfd, flags);
	call_returned(&call);
	return duplicate_event(&call, oldfd, newfd, result,
			       ARGUMENTS(DECIMAL(oldfd), HEX(flags), DECIMAL(newfd)));
}

/*
 * The third argument is a number or a pointer, or not there: what came is passed on whole. Only the
 * commands that make a descriptor are recorded.
 */
#define TAKE_WORD(command, word)             \
	do {                                 \
		va_list list;                \
                                             \
		va_start(list, command);     \
		word = va_arg(list, void *); \
		va_end(list);                \
	} while (0)

static bool duplicates(int command)
{
	return command == F_DUPFD || command == F_DUPFD_CLOEXEC;
}

/* flags: what dup3 would have been told for the same. */
static int fcntl_event(struct call *call, int oldfd, int command, const void *least, int result)
{
	int flags = command == F_DUPFD_CLOEXEC ? O_CLOEXEC : 0;

	return fd_event(call, result,
			ARGUMENTS(DECIMAL(oldfd), DECIMAL((intptr_t)least), HEX(flags),
				  DECIMAL(command)));
}

EXPORT int fcntl(int oldfd, int command, ...)
{
	void *word;
	int result;

	TAKE_WORD(command, word);
	if (!duplicates(command)) {
		real_ready();
		return real.fcntl(oldfd, command, word);
	}
	BEGIN(fcntl, MOMENT_LEAVE, oldfd, 0, real.fcntl(oldfd, command, word))
	result = real.fcntl(oldfd, command, word);
	call_returned(&call);
	return fcntl_event(&call, oldfd, command, word, result);
}

EXPORT int fcntl64(int oldfd, int command, ...)
{
	void *word;
	int result;

	TAKE_WORD(command, word);
	if (!duplicates(command)) {
		real_ready();
		return real.fcntl64(oldfd, command, word);
	}
	BEGIN(fcntl64, MOMENT_LEAVE, oldfd, 0, real.fcntl64(oldfd, command, word))
	result = real.fcntl64(oldfd, command, word);
	call_returned(&call);
	return fcntl_event(&call, oldfd, command, word, result);
}

/* Both ends; each names the other as its peer. */
static int pipe_event(struct call *call, const int *fds, int result, int flags, bool with_flags)
{
	for (int end = 1; end >= 0; end--) {
		int peer = result ? -1 : fds[!end];
		const struct call_argument *arguments =
			with_flags ? ARGUMENTS(DECIMAL(peer), HEX(flags), HEX(WORD(fds)))
				   : ARGUMENTS(DECIMAL(peer), HEX(WORD(fds)));

		if (result && end)
			continue;
		call_event(call, &(struct call_event){ .resource = RESOURCE_FD,
						       .operation = OPERATION_ALLOC,
						       .moment = MOMENT_LEAVE,
						       .part = (uint8_t)end,
						       .failed = result != 0,
						       .object = result ? 0 : WORD(fds[end]),
						       .size = 1,
						       .result = WORD(result),
						       .arguments = arguments });
	}
	call_end(call);
	return result;
}

EXPORT int pipe(int fds[2])
{
	int result;

	BEGIN(pipe, MOMENT_LEAVE, 0, 0, real.pipe(fds))
	result = real.pipe(fds);
	call_returned(&call);
	return pipe_event(&call, fds, result, 0, false);
}

EXPORT int pipe2(int fds[2], int flags)
{
	int result;

	BEGIN(pipe2, MOMENT_LEAVE, 0, 0, real.pipe2(fds, flags))
	result = real.pipe2(fds, flags);
	call_returned(&call);
	return pipe_event(&call, fds, result, flags, true);
}

/* A descriptor to be changed is used; only a new one is gained. */
EXPORT int signalfd(int fd, const sigset_t *mask, int flags)
{
	int result;

	BEGIN(signalfd, MOMENT_LEAVE, fd, 0, real.signalfd(fd, mask, flags))
	result = real.signalfd(fd, mask, flags);
	call_returned(&call);
	EVENT(.resource = RESOURCE_FD, .operation = fd == -1 ? OPERATION_ALLOC : OPERATION_USE,
	      .moment = MOMENT_LEAVE, .failed = result < 0, .object = WORD(result), .size = 1,
	      .result = WORD(result),
	      .arguments = ARGUMENTS(HEX(flags), DECIMAL(fd), HEX(WORD(mask))));
	call_end(&call);
	return result;
}

/*
 * Closing. The descriptor is gone unless it never was one: Linux gives it back even at EINTR and
 * EIO.
 */
EXPORT int close(int fd)
{
	int result;

	BEGIN(close, MOMENT_ENTER, fd, 0, real.close(fd))
	result = real.close(fd);
	call_returned(&call);
	if (result == 0 || call.error != EBADF)
		fd_lost(&call, MOMENT_ENTER, 0, fd, 0);
	else
		EVENT(.resource = RESOURCE_FD, .operation = OPERATION_FREE, .moment = MOMENT_ENTER,
		      .failed = true, .object = WORD(fd), .result = WORD(result));
	call_end(&call);
	return result;
}

/*
 * Ranges. What is open in them is looked for before it is closed, since afterwards nobody knows.
 * Few are asked for one by one; of many the kernel has a list, where /proc is there and there is a
 * descriptor left to read it with.
 */
#define RANGE_ASKED	64u
#define RANGE_ASKED_MAX (64u << 10)

static void range_lost(struct call *call, unsigned int fd, unsigned int *parts)
{
	if (*parts < UINT8_MAX)
		(*parts)++;
	fd_lost(call, MOMENT_ENTER, (uint8_t)*parts, (int)fd, 0);
}

static void ask_range(struct call *call, unsigned int first, unsigned int last)
{
	unsigned int parts = 0;

	for (unsigned int fd = first; fd <= last && fd <= INT32_MAX; fd++)
		if (sys_fcntl((int)fd, F_GETFD, 0) >= 0)
			range_lost(call, fd, &parts);
}

/* As getdents64(2) gives them. */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t length;
	uint8_t type;
	char name[];
};

static void list_range(struct call *call, int directory, unsigned int first, unsigned int last)
{
	char buffer[1024] __attribute__((aligned(8)));
	unsigned int parts = 0;
	long size;

	while ((size = sys_call3(__NR_getdents64, directory, (long)buffer, sizeof(buffer))) > 0) {
		const struct entry *entry;

		for (long at = 0; at < size; at += entry->length) {
			uint64_t fd;

			entry = (const struct entry *)(buffer + at);
			plain_parse(entry->name, 10, &fd);
			if (entry->name[0] != '.' && (int)fd != directory && fd >= first &&
			    fd <= last)
				range_lost(call, (unsigned int)fd, &parts);
		}
	}
}

/* Published before the real call, so for one that is known to succeed. */
static void range_event(struct call *call, unsigned int first, unsigned int last)
{
	int directory;

	call->leave = call->enter;
	call->error = 0;
	if (call->thread->vfork_return)
		return;
	if (last - first < RANGE_ASKED) {
		ask_range(call, first, last);
		return;
	}
	directory =
		sys_openat(AT_FDCWD, "/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (directory < 0) {
		ask_range(call, first,
			  last - first < RANGE_ASKED_MAX ? last : first + RANGE_ASKED_MAX - 1);
		return;
	}
	list_range(call, directory, first, last);
	sys_close(directory);
}

/* An empty range at the far end closes nothing: asked of a kernel or sandbox that refuses it all.
 */
static bool closes_range(unsigned int first, unsigned int last, int flags)
{
	return first <= last && !(flags & ~(int)CLOSE_RANGE_UNSHARE) &&
	       !sys_close_range(~0u, ~0u, 0);
}

EXPORT int close_range(unsigned int first, unsigned int last, int flags)
{
	int result;

	BEGIN(close_range, MOMENT_ENTER, first, 0, real.close_range(first, last, flags))
	if (closes_range(first, last, flags))
		range_event(&call, first, last);
	result = real.close_range(first, last, flags);
	call_returned(&call);
	EVENT(.resource = RESOURCE_FD, .operation = OPERATION_USE, .moment = MOMENT_ENTER,
	      .failed = result != 0, .object = WORD(first), .result = WORD(result),
	      .arguments = ARGUMENTS(DECIMAL(first), DECIMAL(last), HEX(flags)));
	call_end(&call);
	return result;
}

EXPORT void closefrom(int first)
{
	BEGIN(closefrom, MOMENT_ENTER, first, 0, real.closefrom(first))
	range_event(&call, first > 0 ? (unsigned int)first : 0, ~0u);
	real.closefrom(first);
	call_returned(&call);
	EVENT(.resource = RESOURCE_FD, .operation = OPERATION_USE, .moment = MOMENT_ENTER,
	      .object = WORD(first), .arguments = ARGUMENTS(DECIMAL(first)));
	call_end(&call);
}
