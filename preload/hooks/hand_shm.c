/* SPDX-License-Identifier: MIT */
/* Effects (effects.h) of calls that open, attach or remove shared memory. */
#include "effects.h"

#include <sys/shm.h>

/*
 * The descriptors that shm_open opened: for these, close() is also recorded in shm_open's class.
 * Descriptors from NOTED_MAX on are recorded only in the class fd.
 */
#define NOTED_MAX (64u << 10)

static SPARSE uint32_t noted[NOTED_MAX / 32];

/*
 * Whether the table applies to the descriptor. The table does not apply to a child of vfork, which
 * has its own descriptors but shares its parent's memory.
 */
static bool is_noted_here(const struct call *call, int fd)
{
	return (unsigned int)fd < NOTED_MAX && !call->thread->vfork_return;
}

bool fd_note_shm(struct call *call, int fd)
{
	if (!is_noted_here(call, fd))
		return false;
	__atomic_fetch_or(&noted[fd / 32], 1u << fd % 32, __ATOMIC_RELAXED);
	return true;
}

void fd_lost_shm(struct call *call, enum moment moment, uint8_t part, int fd, uint64_t related)
{
	uint32_t bit = 1u << (unsigned int)fd % 32;

	if (is_noted_here(call, fd) && __atomic_load_n(&noted[fd / 32], __ATOMIC_RELAXED) & bit &&
	    __atomic_fetch_and(&noted[fd / 32], ~bit, __ATOMIC_RELAXED) & bit)
		CALL_EVENT(call, .resource = RESOURCE_SHM_FD, .operation = OPERATION_FREE,
			   .moment = moment, .part = part, .object = WORD(fd), .related = related);
}

void fd_lost(struct call *call, enum moment moment, uint8_t part, int fd, uint64_t related)
{
	if (fd < 0)
		return;
	fd_join(call, fd, -1);
	fd_lost_shm(call, moment, part < UINT8_MAX ? part + 1 : part, fd, related);
	CALL_EVENT(call, .resource = RESOURCE_FD, .operation = OPERATION_FREE, .moment = moment,
		   .part = part, .object = WORD(fd), .related = related);
}

/* FNV-1a hash of a shared memory object's name (its only identity) without a leading slash. */
uint64_t shm_hash(const char *name)
{
	uint32_t hash = 2166136261u;

	for (name += *name == '/'; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	return hash;
}

/*
 * Part 0 is the descriptor in the class pshmfd, part 1 is the same descriptor in the class fd, and
 * part 2 is the object, if the call may have created it.
 */
void shm_opened(struct call *call, struct call_event *event, const char *name, int flags)
{
	int fd = (int)event->object;

	if (!event->failed && flags & O_CREAT)
		CALL_EVENT(call, .resource = RESOURCE_SHM_OBJECT, .operation = OPERATION_ALLOC,
			   .moment = MOMENT_LEAVE, .part = 2, .object = shm_hash(name), .size = 1,
			   .arguments = event->arguments);
	if (!event->failed)
		fd_acquired(call, 1, fd, 0, event->arguments);
	if (!fd_note_shm(call, fd))
		event->operation = OPERATION_USE;
}

/* The segment's size and creator are 0 if the kernel refuses. Restores shmat's errno. */
void segment_attached(struct call *call, struct call_event *event, int id, struct spare *spare)
{
	struct shmid_ds status = { .shm_segsz = 0 };

	event->size = 0;
	spare->number = 0;
	if (event->failed)
		return;
	if (real.shmctl(id, IPC_STAT, &status)) {
		*call->thread->error = call->error;
		return;
	}
	event->size = status.shm_segsz;
	spare->number = status.shm_cpid;
}

/* shmctl commands other than IPC_RMID acquire and release nothing. */
void segment_removed(struct call *call, struct call_event *event, int id)
{
	if (!event->failed)
		CALL_EVENT(call, .resource = RESOURCE_SEGMENT, .operation = OPERATION_FREE,
			   .moment = MOMENT_ENTER, .part = 1, .object = WORD(id));
}
