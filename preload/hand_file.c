/* SPDX-License-Identifier: MIT */
/* Hooked by hand: descriptors and streams. */
#include "hand.h"

#include <stdarg.h>

static int fd_event(struct call *call, int result, const struct call_argument *arguments)
{
	call_event(call, &(struct call_event){ .resource = RESOURCE_FD,
					       .operation = OPERATION_ALLOC,
					       .moment = MOMENT_LEAVE,
					       .failed = result < 0,
					       .object = WORD(result),
					       .size = 1,
					       .result = WORD(result),
					       .arguments = arguments });
	call_end(call);
	return result;
}

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
		call_event(call, &(struct call_event){ .resource = RESOURCE_FD,
						       .operation = OPERATION_FREE,
						       .moment = MOMENT_ENTER,
						       .part = 1,
						       .object = WORD(newfd) });
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
	return duplicate_event(&call, oldfd, newfd, result, ARGUMENTS(DECIMAL(oldfd)));
}

EXPORT int dup3(int oldfd, int newfd, int flags)
{
	int result;

	BEGIN(dup3, MOMENT_ENTER, newfd, 0, real.dup3(oldfd, newfd, flags))
	result = real.dup3(oldfd, newfd, flags);
	call_returned(&call);
	return duplicate_event(&call, oldfd, newfd, result, ARGUMENTS(DECIMAL(oldfd), HEX(flags)));
}

/* Both ends; each names the other as its peer. */
static int pipe_event(struct call *call, const int *fds, int result, int flags, bool with_flags)
{
	for (int end = 1; end >= 0; end--) {
		int peer = result ? -1 : fds[!end];
		struct call_argument arguments[] = { DECIMAL(peer), HEX(flags), { 0 } };

		if (!with_flags)
			arguments[1].kind = ARGUMENT_NONE;
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

/* Streams: the FILE is part 0, the descriptor that was opened with it part 1. */

static FILE *fopen_event(struct call *call, FILE *result, const struct call_argument *arguments)
{
	if (result)
		call_event(call, &(struct call_event){ .resource = RESOURCE_FD,
						       .operation = OPERATION_ALLOC,
						       .moment = MOMENT_LEAVE,
						       .part = 1,
						       .object = WORD(real.fileno(result)),
						       .related = WORD(result),
						       .size = 1,
						       .arguments = arguments });
	call_event(call, &(struct call_event){ .resource = RESOURCE_FILE,
					       .operation = OPERATION_ALLOC,
					       .moment = MOMENT_LEAVE,
					       .failed = !result,
					       .object = WORD(result),
					       .size = 1,
					       .result = WORD(result),
					       .arguments = arguments });
	call_end(call);
	return result;
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
	FILE *result;

	BEGIN(fopen, MOMENT_WAITS, 0, 0, real.fopen(path, mode))
	call_sleeps(&call);
	result = real.fopen(path, mode);
	call_returned(&call);
	return fopen_event(&call, result, ARGUMENTS(TEXT(path), TEXT(mode)));
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
	FILE *result;

	BEGIN(fopen64, MOMENT_WAITS, 0, 0, real.fopen64(path, mode))
	call_sleeps(&call);
	result = real.fopen64(path, mode);
	call_returned(&call);
	return fopen_event(&call, result, ARGUMENTS(TEXT(path), TEXT(mode)));
}

/* fclose gives both back whatever it returns (POSIX); a stream in memory has no descriptor. */
EXPORT int fclose(FILE *stream)
{
	int fd, result;

	BEGIN(fclose, MOMENT_ENTER, stream, 0, real.fclose(stream))
	fd = stream ? real.fileno(stream) : -1;
	result = real.fclose(stream);
	call_returned(&call);
	if (fd >= 0)
		EVENT(.resource = RESOURCE_FD, .operation = OPERATION_FREE, .moment = MOMENT_ENTER,
		      .part = 1, .object = WORD(fd), .related = WORD(stream));
	EVENT(.resource = RESOURCE_FILE, .operation = OPERATION_FREE, .moment = MOMENT_ENTER,
	      .object = WORD(stream), .related = WORD(fd), .result = WORD(result));
	call_end(&call);
	return result;
}
