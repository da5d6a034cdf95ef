/* SPDX-License-Identifier: MIT */
/* Effects of calls on streams and directories. Part 0: the FILE or DIR; part 1: its descriptor. */
#include "effects.h"

bool stream_lacks(const FILE *stream, int end, intptr_t most)
{
	const char *at = stream->_IO_read_ptr, *to = stream->_IO_read_end;

	if (stream->_fileno < 0 || to - at >= most || (at < to && to[-1] == (char)end))
		return false;
	while (at < to && *at != (char)end)
		at++;
	return at == to;
}

/* glibc declares these parameters nonnull, but programs pass NULL. */
#define FORGET_NONNULL(pointer) __asm__("" : "+r"(pointer))

/* Returns the stream's descriptor; -1 for NULL or a stream in memory. Restores errno. */
static int fileno_of(const struct call *call, FILE *stream)
{
	int saved = *call->thread->error, fd;

	FORGET_NONNULL(stream);
	fd = stream ? real.fileno(stream) : -1;

	*call->thread->error = saved;
	return fd;
}

void stream_opened(struct call *call, struct call_event *event, FILE *stream)
{
	int fd = stream ? fileno_of(call, stream) : -1;

	if (fd >= 0)
		fd_acquired(call, 1, fd, WORD(stream), event->arguments);
}

/* After the close, the descriptor cannot be read. */
void stream_asked(struct call *call, struct call_event *event, FILE *stream, struct spare *spare)
{
	(void)event;
	spare->number = fileno_of(call, stream);
}

/* fclose closes both even if it fails (POSIX). A stream in memory has no descriptor. */
void stream_closed(struct call *call, struct call_event *event, int fd)
{
	event->related = WORD(fd);
	fd_lost(call, MOMENT_ENTER, 1, fd, event->object);
}

/*
 * freopen and pclose close the stream before they sleep, whatever they return (POSIX), so the close
 * is recorded as a first half. The descriptor's part number is that of the stream plus 1.
 */
void stream_goes(struct call *call, struct call_event *event, FILE *stream, uint8_t part)
{
	int fd = fileno_of(call, stream);

	(void)event;
	fd_lost(call, MOMENT_HALF, part + 1, fd, WORD(stream));
	call_event(call, &(struct call_event){ .resource = RESOURCE_FILE,
					       .operation = OPERATION_FREE,
					       .moment = MOMENT_HALF,
					       .part = part,
					       .object = WORD(stream),
					       .related = WORD(fd) });
}

void directory_opened(struct call *call, struct call_event *event, DIR *directory)
{
	if (directory)
		fd_acquired(call, 1, real.dirfd(directory), WORD(directory), event->arguments);
}

void directory_asked(struct call *call, struct call_event *event, DIR *directory,
		     struct spare *spare)
{
	(void)call;
	(void)event;
	FORGET_NONNULL(directory);
	spare->number = directory ? real.dirfd(directory) : -1;
}

/* closedir closes both even if it fails, unless the program passed NULL. */
void directory_closed(struct call *call, struct call_event *event, int fd)
{
	event->related = WORD(fd);
	event->failed = fd < 0;
	fd_lost(call, MOMENT_ENTER, 1, fd, event->object);
}
