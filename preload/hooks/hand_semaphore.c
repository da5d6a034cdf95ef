/* SPDX-License-Identifier: MIT */
/* Hooked by hand: operations on System V semaphore sets. Effects of creating and removing a set. */
#include "hand.h"

#include "preload/ground/sys.h"

/*
 * Finds out whether semget will create a set, if it succeeds. With IPC_CREAT alone, we have to test
 * before the call whether the set exists. The result is wrong if another process creates the set
 * between the test and the call.
 */
void set_asked(struct call *call, struct call_event *event, key_t key, int flags,
	       struct spare *spare)
{
	int error = *call->thread->error;

	(void)event;
	spare->number = key == IPC_PRIVATE ||
			(flags & IPC_CREAT &&
			 (flags & IPC_EXCL || (real.semget(key, 0, 0) < 0 && errno == ENOENT)));
	*call->thread->error = error;
}

void set_controlled(struct call *call, struct call_event *event, bool is_removed)
{
	(void)call;
	if (is_removed)
		event->moment = MOMENT_ENTER;
	else
		event->operation = OPERATION_USE;
}

/* Whether the list of operations, which the kernel may not have checked yet, is readable. */
static bool can_read_operations(const struct call *call, const struct sembuf *operations,
				size_t count)
{
	uintptr_t at = WORD(operations), end = at + count * sizeof(*operations);

	if (at >= call->origin->cfa && end <= call->thread->stack.high)
		return true;
	/* The kernel rejects a list of more than 500 operations (SEMOPM). */
	if (count > 500 || end < at)
		return false;
	for (; at < end; at = (at | 0xfff) + 1)
		if (!sys_is_readable((const void *)at))
			return false;
	return count != 0;
}

/*
 * A list of posts never sleeps, so its events happen at entry, before the threads that it wakes
 * return. If the list may sleep, its events happen at return, and the low watermark is cleared.
 */
static void operations_begin(struct call *call, const struct sembuf *operations, size_t count)
{
	bool may_sleep = !can_read_operations(call, operations, count);

	for (size_t i = 0; !may_sleep && i < count; i++)
		may_sleep = operations[i].sem_op <= 0;
	call->at = may_sleep ? WHEN_RETURN : WHEN_ENTRY;
	if (may_sleep)
		call_sleeps(call);
}

/* Records one part for each operation of the list; the last operation is part 0. */
static void tell_operations(struct call *call, int id, const struct sembuf *operations,
			    size_t count, int result, const struct timespec *limit, bool with_limit)
{
	static const struct sembuf none;
	bool readable = !result || can_read_operations(call, operations, count);

	/* the kernel does all operations or none; of a failed call, only the last is recorded */
	for (size_t i = result || !count ? count : 1; i <= count; i++) {
		const struct sembuf *done = readable && count ? &operations[i - 1] : &none;
		int64_t number = done->sem_num, operation = done->sem_op;
		const struct call_argument *arguments =
			with_limit ? VALUES_FOR(semtimedop, DECIMAL(number), DECIMAL(operation),
						TIME(limit), HEX(operations), DECIMAL(count))
				   : VALUES_FOR(semop, DECIMAL(number), DECIMAL(operation),
						HEX(operations), DECIMAL(count));

		CALL_EVENT(call, .resource = (enum resource)CLASS_OF_semop,
			   .operation =
				   operation > 0 ? OPERATION_NOTIFY : (enum operation)DOES_semop,
			   .moment = call->at == WHEN_ENTRY ? MOMENT_ENTER : MOMENT_LEAVE,
			   .part = i == count ? 0 : (uint8_t)(i < 255 ? i : 255),
			   .failed = result != 0, .object = WORD(id), .result = WORD(result),
			   .arguments = arguments);
	}
}

EXPORT int semop(int id, struct sembuf *operations, size_t count)
{
	int result;

	BEGIN(semop, id, 0, real.semop(id, operations, count))
	operations_begin(&call, operations, count);
	result = real.semop(id, operations, count);
	call_returned(&call);
	tell_operations(&call, id, operations, count, result, NULL, false);
	call_end(&call);
	return result;
}

EXPORT int semtimedop(int id, struct sembuf *operations, size_t count, const struct timespec *limit)
{
	int result;

	BEGIN(semtimedop, id, 0, real.semtimedop(id, operations, count, limit))
	operations_begin(&call, operations, count);
	result = real.semtimedop(id, operations, count, limit);
	call_returned(&call);
	tell_operations(&call, id, operations, count, result, limit, true);
	call_end(&call);
	return result;
}
