/* SPDX-License-Identifier: MIT */
/*
 * Hooked by hand: streams and directories. The FILE or DIR is part 0, the descriptor that came or
 * goes with it part 1.
 */
#include "hand_fd.h"

/* glibc declares these parameters nonnull, and programs pass NULL all the same. */
#define FORGET_NONNULL(pointer) __asm__("" : "+r"(pointer))

/* -1 for one in memory, which is no error that the program may see. */
static int fileno_of(const struct call *call, FILE *stream)
{
	int saved = *call->thread->error, fd;

	FORGET_NONNULL(stream);
	fd = stream ? real.fileno(stream) : -1;

	*call->thread->error = saved;
	return fd;
}

static FILE *stream_event(struct call *call, FILE *result, const struct call_argument *arguments)
{
	int fd = result ? fileno_of(call, result) : -1;

	if (fd >= 0)
		fd_gained(call, 1, fd, WORD(result), arguments);
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
	return stream_event(&call, result, ARGUMENTS(TEXT(path), TEXT(mode)));
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
	FILE *result;

	BEGIN(fopen64, MOMENT_WAITS, 0, 0, real.fopen64(path, mode))
	call_sleeps(&call);
	result = real.fopen64(path, mode);
	call_returned(&call);
	return stream_event(&call, result, ARGUMENTS(TEXT(path), TEXT(mode)));
}

EXPORT FILE *tmpfile(void)
{
	FILE *result;

	BEGIN(tmpfile, MOMENT_WAITS, 0, 0, real.tmpfile())
	call_sleeps(&call);
	result = real.tmpfile();
	call_returned(&call);
	return stream_event(&call, result, NO_ARGUMENTS);
}

EXPORT FILE *tmpfile64(void)
{
	FILE *result;

	BEGIN(tmpfile64, MOMENT_WAITS, 0, 0, real.tmpfile64())
	call_sleeps(&call);
	result = real.tmpfile64();
	call_returned(&call);
	return stream_event(&call, result, NO_ARGUMENTS);
}

EXPORT FILE *popen(const char *command, const char *mode)
{
	FILE *result;

	BEGIN(popen, MOMENT_WAITS, 0, 0, real.popen(command, mode))
	call_sleeps(&call);
	result = real.popen(command, mode);
	call_returned(&call);
	return stream_event(&call, result, ARGUMENTS(TEXT(command), TEXT(mode)));
}

/*
 * freopen and pclose give the stream back before they sleep, whatever becomes of them (POSIX):
 * said in a first half. The descriptor has the part after the stream's.
 */
static void stream_lost(struct call *call, uint8_t part, FILE *stream, int fd)
{
	fd_lost(call, MOMENT_HALF, part + 1, fd, WORD(stream));
	call_event(call, &(struct call_event){ .resource = RESOURCE_FILE,
					       .operation = OPERATION_FREE,
					       .moment = MOMENT_HALF,
					       .part = part,
					       .object = WORD(stream),
					       .related = WORD(fd) });
	call_sleeps(call);
}

EXPORT FILE *freopen(const char *restrict path, const char *restrict mode, FILE *restrict stream)
{
	FILE *result;

	BEGIN(freopen, MOMENT_SPLIT, stream, 0, real.freopen(path, mode, stream))
	stream_lost(&call, 2, stream, fileno_of(&call, stream));
	result = real.freopen(path, mode, stream);
	call_returned(&call);
	return stream_event(&call, result, ARGUMENTS(TEXT(path), TEXT(mode), HEX(stream)));
}

EXPORT FILE *freopen64(const char *restrict path, const char *restrict mode, FILE *restrict stream)
{
	FILE *result;

	BEGIN(freopen64, MOMENT_SPLIT, stream, 0, real.freopen64(path, mode, stream))
	stream_lost(&call, 2, stream, fileno_of(&call, stream));
	result = real.freopen64(path, mode, stream);
	call_returned(&call);
	return stream_event(&call, result, ARGUMENTS(TEXT(path), TEXT(mode), HEX(stream)));
}

EXPORT int pclose(FILE *stream)
{
	int result;

	BEGIN(pclose, MOMENT_SPLIT, stream, 0, real.pclose(stream))
	stream_lost(&call, 1, stream, fileno_of(&call, stream));
	result = real.pclose(stream);
	call_returned(&call);
	EVENT(.resource = RESOURCE_FILE, .operation = OPERATION_WAIT, .moment = MOMENT_LEAVE,
	      .failed = result == -1, .object = WORD(stream), .result = WORD(result));
	call_end(&call);
	return result;
}

/* fclose gives both back whatever it returns (POSIX); a stream in memory has no descriptor. */
EXPORT int fclose(FILE *stream)
{
	int fd, result;

	BEGIN(fclose, MOMENT_ENTER, stream, 0, real.fclose(stream))
	fd = fileno_of(&call, stream);
	result = real.fclose(stream);
	call_returned(&call);
	fd_lost(&call, MOMENT_ENTER, 1, fd, WORD(stream));
	EVENT(.resource = RESOURCE_FILE, .operation = OPERATION_FREE, .moment = MOMENT_ENTER,
	      .object = WORD(stream), .related = WORD(fd), .result = WORD(result));
	call_end(&call);
	return result;
}

EXPORT DIR *opendir(const char *path)
{
	DIR *result;

	BEGIN(opendir, MOMENT_WAITS, 0, 0, real.opendir(path))
	call_sleeps(&call);
	result = real.opendir(path);
	call_returned(&call);
	if (result)
		fd_gained(&call, 1, real.dirfd(result), WORD(result), ARGUMENTS(TEXT(path)));
	EVENT(.resource = RESOURCE_DIRECTORY, .operation = OPERATION_ALLOC, .moment = MOMENT_LEAVE,
	      .failed = !result, .object = WORD(result), .size = 1, .result = WORD(result),
	      .arguments = ARGUMENTS(TEXT(path)));
	call_end(&call);
	return result;
}

static int dirfd_of(DIR *directory)
{
	FORGET_NONNULL(directory);
	return directory ? real.dirfd(directory) : -1;
}

/* Whatever it returns, unless there was nothing to close. */
EXPORT int closedir(DIR *directory)
{
	int fd, result;

	BEGIN(closedir, MOMENT_ENTER, directory, 0, real.closedir(directory))
	fd = dirfd_of(directory);
	result = real.closedir(directory);
	call_returned(&call);
	fd_lost(&call, MOMENT_ENTER, 1, fd, WORD(directory));
	EVENT(.resource = RESOURCE_DIRECTORY, .operation = OPERATION_FREE, .moment = MOMENT_ENTER,
	      .failed = fd < 0, .object = WORD(directory), .related = WORD(fd),
	      .result = WORD(result));
	call_end(&call);
	return result;
}
