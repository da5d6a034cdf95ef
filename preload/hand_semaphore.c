/* SPDX-License-Identifier: MIT */
/* Hooked by hand: named semaphores, and the sets of System V. */
#include "hand.h"

#include <stdarg.h>

#include "sys.h"

/* Mode and value are there only if the semaphore may be made (sem_open(3)). */
EXPORT sem_t *sem_open(const char *name, int flags, ...)
{
	unsigned int value = 0;
	mode_t mode = 0;
	sem_t *result;

	if (flags & O_CREAT) {
		va_list list;

		va_start(list, flags);
		mode = va_arg(list, mode_t);
		value = va_arg(list, unsigned int);
		va_end(list);
	}
	BEGIN(sem_open, MOMENT_WAITS, 0, 0, real.sem_open(name, flags, mode, value))
	call_sleeps(&call);
	result = real.sem_open(name, flags, mode, value);
	call_returned(&call);
	EVENT(.resource = RESOURCE_SEMAPHORE, .operation = OPERATION_ALLOC, .moment = MOMENT_LEAVE,
	      .failed = result == SEM_FAILED, .object = result == SEM_FAILED ? 0 : WORD(result),
	      .size = 1, .result = WORD(result),
	      .arguments = ARGUMENTS(TEXT(name), HEX(flags), OCTAL(mode), DECIMAL(value)));
	call_end(&call);
	return result;
}

/*
 * Whether semget is about to make a set, if it succeeds: with IPC_CREAT alone only the set itself
 * can tell, and only before (a rival in between is not seen).
 */
static bool makes_set(key_t key, int flags)
{
	if (key == IPC_PRIVATE)
		return true;
	if (!(flags & IPC_CREAT))
		return false;
	return flags & IPC_EXCL || (real.semget(key, 0, 0) < 0 && errno == ENOENT);
}

EXPORT int semget(key_t key, int count, int flags)
{
	int result, error = errno;
	bool made;

	BEGIN(semget, MOMENT_LEAVE, 0, 0, real.semget(key, count, flags))
	made = makes_set(key, flags);
	errno = error;
	result = real.semget(key, count, flags);
	call_returned(&call);
	EVENT(.resource = RESOURCE_SEMSET, .operation = made ? OPERATION_ALLOC : OPERATION_USE,
	      .moment = MOMENT_LEAVE, .failed = result < 0, .object = result < 0 ? 0 : WORD(result),
	      .size = 1, .result = WORD(result),
	      .arguments = ARGUMENTS(HEX(key), DECIMAL(count), HEX(flags)));
	call_end(&call);
	return result;
}

/* Fourth argument of semctl; who calls it defines it (semctl(2)). */
union semun {
	int value;
	struct semid_ds *status;
	unsigned short *values;
	struct seminfo *limits;
};

EXPORT int semctl(int id, int number, int command, ...)
{
	union semun argument;
	va_list list;
	int result;
	bool removed;

	/* Where there is none, libc does not look at what we pass on. */
	va_start(list, command);
	argument = va_arg(list, union semun);
	va_end(list);
	BEGIN(semctl, MOMENT_ENTER, id, 0, real.semctl(id, number, command, argument))
	result = real.semctl(id, number, command, argument);
	call_returned(&call);
	removed = command == IPC_RMID;
	EVENT(.resource = RESOURCE_SEMSET, .operation = removed ? OPERATION_FREE : OPERATION_USE,
	      .moment = removed ? MOMENT_ENTER : MOMENT_LEAVE, .failed = result < 0,
	      .object = WORD(id), .result = WORD(result),
	      .arguments = ARGUMENTS(DECIMAL(number), DECIMAL(command)));
	call_end(&call);
	return result;
}

/* Whether the program's list can be read before the kernel has said so. */
static bool can_read(const struct call *call, const struct sembuf *operations, size_t count)
{
	uintptr_t at = WORD(operations), end = at + count * sizeof(*operations);

	if (at >= call->origin->cfa && end <= call->thread->stack.high)
		return true;
	/* SEMOPM of the kernel is 500; a longer list is refused. */
	if (count > 500 || end < at)
		return false;
	for (; at < end; at = (at | 0xfff) + 1)
		if (!sys_is_readable((const void *)at))
			return false;
	return count != 0;
}

/* Posts never sleep, and so they happen at entry: before the return of those whom they wake. */
static enum moment moment_of(const struct call *call, const struct sembuf *operations, size_t count)
{
	if (!can_read(call, operations, count))
		return MOMENT_WAITS;
	for (size_t i = 0; i < count; i++)
		if (operations[i].sem_op <= 0)
			return MOMENT_WAITS;
	return MOMENT_ENTER;
}

/* One part for each operation, the last one as part 0. */
static void tell_operations(struct call *call, int id, const struct sembuf *operations,
			    size_t count, int result, const struct timespec *limit,
			    bool with_limit)
{
	static const struct sembuf none;
	bool readable = !result || can_read(call, operations, count);

	/* All or nothing: one that failed is told by its last operation. */
	for (size_t i = result || !count ? count : 1; i <= count; i++) {
		const struct sembuf *done = readable && count ? &operations[i - 1] : &none;
		int64_t number = done->sem_num, operation = done->sem_op;
		const struct call_argument *arguments =
			with_limit ? ARGUMENTS(DECIMAL(number), DECIMAL(operation), TIME(limit),
					       HEX(operations), DECIMAL(count))
				   : ARGUMENTS(DECIMAL(number), DECIMAL(operation), HEX(operations),
					       DECIMAL(count));

		call_event(call,
			   &(struct call_event){
				   .resource = RESOURCE_SEMSET,
				   .operation = operation > 0 ? OPERATION_NOTIFY : OPERATION_WAIT,
				   .moment = call->moment == MOMENT_ENTER ? MOMENT_ENTER
									  : MOMENT_LEAVE,
				   .part = i == count ? 0 : (uint8_t)(i < 255 ? i : 255),
				   .failed = result != 0,
				   .object = WORD(id),
				   .result = WORD(result),
				   .arguments = arguments,
			   });
	}
}

/* The floor stands from the entry on: only a list that may sleep gives it up. */
EXPORT int semop(int id, struct sembuf *operations, size_t count)
{
	int result;

	BEGIN(semop, MOMENT_SPLIT, id, 0, real.semop(id, operations, count))
	call.moment = moment_of(&call, operations, count);
	if (call.moment == MOMENT_WAITS)
		call_sleeps(&call);
	result = real.semop(id, operations, count);
	call_returned(&call);
	tell_operations(&call, id, operations, count, result, NULL, false);
	call_end(&call);
	return result;
}

EXPORT int semtimedop(int id, struct sembuf *operations, size_t count, const struct timespec *limit)
{
	int result;

	BEGIN(semtimedop, MOMENT_SPLIT, id, 0, real.semtimedop(id, operations, count, limit))
	call.moment = moment_of(&call, operations, count);
	if (call.moment == MOMENT_WAITS)
		call_sleeps(&call);
	result = real.semtimedop(id, operations, count, limit);
	call_returned(&call);
	tell_operations(&call, id, operations, count, result, limit, true);
	call_end(&call);
	return result;
}
