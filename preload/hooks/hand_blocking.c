/* SPDX-License-Identifier: MIT */
/* Effects of calls that block: what they wait for, and which calls end other threads' waits. */
#include "effects.h"

#define FDS_MAX 1024 /* the other ends of higher descriptors are not tracked */

/*
 * Indexed by descriptor: the descriptor of the other end plus 1; 0: unknown. A descriptor may be
 * closed without a hooked call, so an entry may be out of date.
 */
static uint16_t other_ends[FDS_MAX];

int fd_other_end(int fd)
{
	return fd >= 0 && fd < FDS_MAX ? other_ends[fd] - 1 : -1;
}

/* Does nothing in a child of vfork, which shares this memory, but not its parent's descriptors. */
void fd_join(const struct call *call, int one, int other)
{
	if (one >= 0 && one < FDS_MAX && !call->thread->vfork_return)
		other_ends[one] = other < FDS_MAX ? (uint16_t)(other + 1) : 0;
}

void fd_counts(struct call *call, struct call_event *event, int fd)
{
	if (!event->failed)
		fd_join(call, fd, fd);
}

/*
 * Records at entry that the call will wake threads that wait for the other end of the descriptor.
 * So this event precedes the end of their waits in the stream.
 */
void other_end_notified(struct call *call, struct call_event *event, int fd)
{
	int other = fd_other_end(fd);

	(void)event;
	if (other < 0 || call->thread->vfork_return)
		return;
	call->leave = call->enter;
	call->error = 0;
	CALL_EVENT(call, .resource = RESOURCE_CALL, .operation = OPERATION_NOTIFY,
		   .moment = MOMENT_ENTER, .part = 1, .object = WORD(other), .related = WORD(fd));
}

/* ---- several descriptors ---- */

#define POLLED_READ 16 /* number of entries of poll()'s list that are read before the call */

static uint64_t first_polled(const struct pollfd *fds, nfds_t count, bool is_ready)
{
	for (nfds_t i = 0; i < count; i++)
		if (fds[i].fd >= 0 && (!is_ready || fds[i].revents))
			return WORD(fds[i].fd);
	return WORD(-1);
}

/* Called before the kernel has read the program's list, so the list may be unreadable. */
void poll_begins(struct call *call, struct call_event *event, const struct pollfd *fds,
		 nfds_t count, struct spare *spare)
{
	nfds_t read = count < POLLED_READ ? count : POLLED_READ;

	(void)event;
	spare->word = proof_of(call, fds, read * sizeof(*fds)) ? first_polled(fds, read, false)
							       : WORD(-1);
	call_show_object(call, spare->word, count);
}

/* Returns whether a descriptor is ready. A time-out is recorded as a failure by ETIMEDOUT. */
static bool is_ready(struct call *call, struct call_event *event)
{
	bool is_ready = !event->failed && event->result;

	if (!event->failed && !is_ready) {
		event->failed = true;
		call->error = ETIMEDOUT;
	}
	event->result = 0;
	return is_ready;
}

void poll_ended(struct call *call, struct call_event *event, const struct pollfd *fds, nfds_t count,
		struct spare *spare)
{
	event->object = is_ready(call, event) ? first_polled(fds, count, true) : spare->word;
}

static uint64_t first_selected(int count, const fd_set *set)
{
	for (int fd = 0; set && fd < count && fd < FD_SETSIZE; fd++)
		if (FD_ISSET(fd, set))
			return WORD(fd);
	return WORD(-1);
}

static uint64_t first_of_sets(int count, const fd_set *reads, const fd_set *writes,
			      const fd_set *others)
{
	uint64_t fd = first_selected(count, reads);

	if (fd == WORD(-1))
		fd = first_selected(count, writes);
	return fd == WORD(-1) ? first_selected(count, others) : fd;
}

/* Returns the set if it is readable, else NULL. The kernel reads whole words of a set. */
static const fd_set *proven_set(const struct call *call, int count, const fd_set *set)
{
	return count > 0 && set && proof_of(call, set, (size_t)(count + 63) / 64 * 8) ? set : NULL;
}

void select_begins(struct call *call, struct call_event *event, int count, const fd_set *reads,
		   const fd_set *writes, const fd_set *others, struct spare *spare)
{
	(void)event;
	spare->word =
		first_of_sets(count, proven_set(call, count, reads),
			      proven_set(call, count, writes), proven_set(call, count, others));
	call_show_object(call, spare->word, WORD(count));
}

/* After a failure or time-out, the contents of the sets are undefined. */
void select_ended(struct call *call, struct call_event *event, int count, const fd_set *reads,
		  const fd_set *writes, const fd_set *others, struct spare *spare)
{
	event->object =
		is_ready(call, event) ? first_of_sets(count, reads, writes, others) : spare->word;
}

void epoll_ended(struct call *call, struct call_event *event)
{
	is_ready(call, event);
}

/* ---- locks of files ---- */

/* fcntl calls belong to the class of descriptors, except for the commands that lock files. */
void file_locked(struct call *call, struct call_event *event, int command, int fd)
{
	(void)call;
	if (!LOCKS_FILE(command))
		return;
	event->resource = RESOURCE_CALL;
	event->operation = OPERATION_WAIT;
	event->object = WORD(fd);
	event->size = 0;
}
