/* SPDX-License-Identifier: MIT */
/* Hooked by hand: memory that processes share. */
#include "hand_fd.h"

#include <sys/shm.h>

/*
 * Which descriptors are shm_open's: close has to say it, and nobody else knows. Higher ones are
 * seen as plain descriptors.
 */
#define NOTED_MAX (64u << 10)

static uint32_t noted[NOTED_MAX / 32];

/* The child of vfork has descriptors of its own, and its parent's memory. */
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

static bool forget_shm(struct call *call, int fd)
{
	uint32_t bit = 1u << (unsigned int)fd % 32;

	return is_noted_here(call, fd) &&
	       __atomic_load_n(&noted[fd / 32], __ATOMIC_RELAXED) & bit &&
	       __atomic_fetch_and(&noted[fd / 32], ~bit, __ATOMIC_RELAXED) & bit;
}

void fd_lost(struct call *call, enum moment moment, uint8_t part, int fd, uint64_t related)
{
	struct call_event event = { .resource = RESOURCE_SHM_FD,
				    .operation = OPERATION_FREE,
				    .moment = moment,
				    .part = part < UINT8_MAX ? part + 1 : part,
				    .object = WORD(fd),
				    .related = related };

	if (fd < 0)
		return;
	if (forget_shm(call, fd))
		call_event(call, &event);
	event.resource = RESOURCE_FD;
	event.part = part;
	call_event(call, &event);
}

/* FNV-1a: an object has nothing but its name. A leading slash says nothing. */
static uint64_t hash_name(const char *name)
{
	uint32_t hash = 2166136261u;

	for (name += *name == '/'; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	return hash;
}

/* Part 0 is the descriptor as pshmfd, 1 the same as fd, 2 the object, if it may be new. */
EXPORT int shm_open(const char *name, int oflag, mode_t mode)
{
	const struct call_argument *arguments;
	bool is_noted;
	int result;

	BEGIN(shm_open, MOMENT_WAITS, 0, 0, real.shm_open(name, oflag, mode))
	arguments = ARGUMENTS(TEXT(name), HEX(oflag), HEX(mode));
	call_sleeps(&call);
	result = real.shm_open(name, oflag, mode);
	call_returned(&call);
	if (result >= 0 && oflag & O_CREAT)
		EVENT(.resource = RESOURCE_SHM_OBJECT, .operation = OPERATION_ALLOC,
		      .moment = MOMENT_LEAVE, .part = 2, .object = hash_name(name), .size = 1,
		      .arguments = arguments);
	if (result >= 0)
		fd_gained(&call, 1, result, 0, arguments);
	is_noted = fd_note_shm(&call, result);
	EVENT(.resource = RESOURCE_SHM_FD, .operation = is_noted ? OPERATION_ALLOC : OPERATION_USE,
	      .moment = MOMENT_LEAVE, .failed = result < 0, .object = WORD(result), .size = 1,
	      .result = WORD(result), .arguments = arguments);
	call_end(&call);
	return result;
}

EXPORT int shm_unlink(const char *name)
{
	int result;

	BEGIN(shm_unlink, MOMENT_ENTER, 0, 0, real.shm_unlink(name))
	result = real.shm_unlink(name);
	call_returned(&call);
	EVENT(.resource = RESOURCE_SHM_OBJECT, .operation = OPERATION_FREE, .moment = MOMENT_ENTER,
	      .failed = result != 0, .object = result ? 0 : hash_name(name), .result = WORD(result),
	      .arguments = ARGUMENTS(TEXT(name)));
	call_end(&call);
	return result;
}

/* Whoever may make the segment holds it; who only looks for it, uses it. */
EXPORT int shmget(key_t key, size_t size, int flags)
{
	bool makes = flags & IPC_CREAT || key == IPC_PRIVATE;
	int result;

	BEGIN(shmget, MOMENT_LEAVE, 0, 0, real.shmget(key, size, flags))
	result = real.shmget(key, size, flags);
	call_returned(&call);
	EVENT(.resource = RESOURCE_SEGMENT, .operation = makes ? OPERATION_ALLOC : OPERATION_USE,
	      .moment = MOMENT_LEAVE, .failed = result < 0, .object = WORD(result), .size = size,
	      .result = WORD(result), .arguments = ARGUMENTS(HEX(key), HEX(flags), DECIMAL(size)));
	call_end(&call);
	return result;
}

/* Its size is asked of the kernel, which may refuse: 0 then. errno stays as shmat left it. */
EXPORT void *shmat(int shmid, const void *address, int flags)
{
	struct shmid_ds status = { .shm_segsz = 0 };
	pid_t cpid;
	void *result;

	BEGIN(shmat, MOMENT_LEAVE, address, 0, real.shmat(shmid, address, flags))
	result = real.shmat(shmid, address, flags);
	call_returned(&call);
	if (result != (void *)-1 && real.shmctl(shmid, IPC_STAT, &status)) {
		*call.thread->error = call.error;
		status.shm_segsz = 0;
	}
	cpid = status.shm_cpid;
	EVENT(.resource = RESOURCE_ATTACHMENT, .operation = OPERATION_ALLOC, .moment = MOMENT_LEAVE,
	      .failed = result == (void *)-1, .object = WORD(result), .size = status.shm_segsz,
	      .related = WORD(shmid), .result = WORD(result),
	      .arguments = ARGUMENTS(HEX(shmid), DECIMAL(cpid), HEX(flags), HEX(address)));
	call_end(&call);
	return result;
}

/* Other commands than the end of a segment neither gain nor lose. */
EXPORT int shmctl(int shmid, int command, struct shmid_ds *status)
{
	int result;

	if (command != IPC_RMID) {
		real_ready();
		return real.shmctl(shmid, command, status);
	}
	BEGIN(shmctl, MOMENT_ENTER, shmid, 0, real.shmctl(shmid, command, status))
	result = real.shmctl(shmid, command, status);
	call_returned(&call);
	if (!result)
		EVENT(.resource = RESOURCE_SEGMENT, .operation = OPERATION_FREE,
		      .moment = MOMENT_ENTER, .part = 1, .object = WORD(shmid));
	EVENT(.resource = RESOURCE_CONTROL, .operation = OPERATION_FREE, .moment = MOMENT_ENTER,
	      .failed = result != 0, .object = WORD(shmid), .result = WORD(result),
	      .arguments = ARGUMENTS(TEXT("IPC_RMID"), DECIMAL(command), HEX(status)));
	call_end(&call);
	return result;
}
