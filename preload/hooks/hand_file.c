/* SPDX-License-Identifier: MIT */
/* Effects (effects.h) of calls that open or close descriptors, streams and directories. */
#include "effects.h"

#include "preload/ground/sys.h"

#include <linux/close_range.h>

/* dup2 and dup3 close newfd atomically. If oldfd equals newfd, the call is recorded as a use. */
void fd_replaced(struct call *call, struct call_event *event, int oldfd, int newfd)
{
	if (oldfd == newfd) {
		event->operation = OPERATION_USE;
		event->size = 0;
		return;
	}
	if (!event->failed)
		fd_lost(call, MOMENT_ENTER, 1, newfd, 0);
	if (!event->failed)
		fd_join(call, newfd, fd_other_end(oldfd));
	event->object = event->result;
}

/* Records the second end of a pair. The first value of each event is the other end's descriptor. */
void fd_pair(struct call *call, struct call_event *event, const int *one, const int *other)
{
	struct call_argument arguments[HOOK_ARGUMENTS_MAX + 1] = { event->arguments[0] };
	struct call_event second = *event;

	if (event->failed)
		return;
	for (int i = 1; i <= HOOK_ARGUMENTS_MAX && event->arguments[i - 1].kind; i++)
		arguments[i] = event->arguments[i];
	fd_join(call, *one, *other);
	fd_join(call, *other, *one);
	arguments[0].number = *one;
	second.part = 1;
	second.object = WORD(*other);
	second.arguments = arguments;
	call_event(call, &second);
}

/* login_tty closes and reopens descriptors 0, 1 and 2, and closes fd unless fd is one of them. */
void fd_made_standard(struct call *call, struct call_event *event, int fd)
{
	for (int standard = 0; standard <= 2 && !event->failed; standard++) {
		if (standard == fd)
			continue;
		fd_lost(call, MOMENT_ENTER, (uint8_t)(3 * standard + 1), standard, 0);
		fd_acquired(call, (uint8_t)(3 * standard + 3), standard, WORD(fd), NULL);
	}
	if (fd <= 2)
		event->operation = OPERATION_USE;
	else
		event->moment = MOMENT_ENTER;
}

/* Linux closes the descriptor even if close returns EINTR or EIO. */
void fd_closed(struct call *call, struct call_event *event, int fd)
{
	event->failed = event->failed && call->error == EBADF;
	fd_join(call, fd, -1);
	if (!event->failed)
		fd_lost_shm(call, MOMENT_ENTER, 1, fd, 0);
}

/*
 * The effects of close_range. The open descriptors of the range are found before the real call,
 * because afterwards nothing shows which were open. In a short range, each descriptor is checked;
 * for a long range, /proc is read, if it is mounted and a descriptor is free to open it.
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

/* struct linux_dirent64 of getdents64(2) */
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

/* Records the closed descriptors before the real call, which is known to succeed. */
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

void range_closes(struct call *call, struct call_event *event, unsigned int first,
		  unsigned int last, int flags)
{
	(void)event;
	/* closes nothing, but shows whether the kernel or a sandbox refuses the call */
	if (first <= last && !(flags & ~(int)CLOSE_RANGE_UNSHARE) &&
	    !sys_call3(__NR_close_range, ~0u, ~0u, 0))
		range_event(call, first, last);
}

/* ---- streams and directories: part 0 is the FILE or DIR, part 1 its descriptor ---- */

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

/* Reads the descriptor before the close, because it cannot be read afterwards. */
void stream_asked(struct call *call, struct call_event *event, FILE *stream, struct spare *spare)
{
	(void)event;
	spare->number = fileno_of(call, stream);
}

/* fclose closes the stream and its descriptor, if it has one, even if it fails (POSIX). */
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
	CALL_EVENT(call, .resource = RESOURCE_FILE, .operation = OPERATION_FREE,
		   .moment = MOMENT_HALF, .part = part, .object = WORD(stream),
		   .related = WORD(fd));
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

/* closedir closes DIR and descriptor even if it fails, unless the program passed NULL. */
void directory_closed(struct call *call, struct call_event *event, int fd)
{
	event->related = WORD(fd);
	event->failed = fd < 0;
	fd_lost(call, MOMENT_ENTER, 1, fd, event->object);
}
