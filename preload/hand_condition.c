/* SPDX-License-Identifier: MIT */
/*
 * Hooked by hand: waits for conditions. The mutex is given back before the sleep (part 1, a half
 * of its own) and held again after it (part 2), timed out or not.
 */
#include "hand.h"

static void condition_sleeps(struct call *call, void *cond, void *mutex)
{
	call_event(call, &(struct call_event){ .resource = RESOURCE_LOCK,
					       .operation = OPERATION_RELEASE,
					       .moment = MOMENT_HALF,
					       .part = 1,
					       .object = WORD(mutex),
					       .related = WORD(cond) });
	call_sleeps(call);
}

/*
 * failed: a failure that is no time-out may mean that the mutex was never ours (EPERM) or is lost
 * (ENOTRECOVERABLE), or be about the time alone: the mutex itself says.
 */
static void condition_returned(struct call *call, void *cond, void *mutex, int result, bool failed,
			       const struct call_argument *arguments)
{
	if (!failed || call->error == ETIMEDOUT || call_owns_mutex(call->thread, WORD(mutex)))
		call_event(call, &(struct call_event){ .resource = RESOURCE_LOCK,
						       .operation = OPERATION_ACQUIRE,
						       .moment = MOMENT_LEAVE,
						       .part = 2,
						       .object = WORD(mutex),
						       .related = WORD(cond),
						       .size = 1 });
	call_event(call, &(struct call_event){ .resource = RESOURCE_CONDITION,
					       .operation = OPERATION_WAIT,
					       .moment = MOMENT_LEAVE,
					       .failed = failed,
					       .object = WORD(cond),
					       .related = WORD(mutex),
					       .result = WORD(result),
					       .arguments = arguments });
	call_end(call);
}

static int posix_returned(struct call *call, pthread_cond_t *cond, pthread_mutex_t *mutex,
			  int result, const struct call_argument *arguments)
{
	call->error = result;
	condition_returned(call, cond, mutex, result, result && result != EOWNERDEAD, arguments);
	return result;
}

static int c11_returned(struct call *call, cnd_t *cond, mtx_t *mutex, int result,
			const struct call_argument *arguments)
{
	call->error = c11_error(result);
	condition_returned(call, cond, mutex, result, result != thrd_success, arguments);
	return result;
}

EXPORT int pthread_cond_wait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex)
{
	int result;

	BEGIN(pthread_cond_wait, MOMENT_SPLIT, cond, mutex, real.pthread_cond_wait(cond, mutex))
	condition_sleeps(&call, cond, mutex);
	result = real.pthread_cond_wait(cond, mutex);
	call_returned(&call);
	return posix_returned(&call, cond, mutex, result, NO_ARGUMENTS);
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
				  const struct timespec *restrict until)
{
	int result;

	BEGIN(pthread_cond_timedwait, MOMENT_SPLIT, cond, mutex,
	      real.pthread_cond_timedwait(cond, mutex, until))
	condition_sleeps(&call, cond, mutex);
	result = real.pthread_cond_timedwait(cond, mutex, until);
	call_returned(&call);
	return posix_returned(&call, cond, mutex, result, ARGUMENTS(TIME(until)));
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
				  clockid_t clock, const struct timespec *restrict until)
{
	int result;

	BEGIN(pthread_cond_clockwait, MOMENT_SPLIT, cond, mutex,
	      real.pthread_cond_clockwait(cond, mutex, clock, until))
	condition_sleeps(&call, cond, mutex);
	result = real.pthread_cond_clockwait(cond, mutex, clock, until);
	call_returned(&call);
	return posix_returned(&call, cond, mutex, result, ARGUMENTS(DECIMAL(clock), TIME(until)));
}

EXPORT int cnd_wait(cnd_t *cond, mtx_t *mutex)
{
	int result;

	BEGIN(cnd_wait, MOMENT_SPLIT, cond, mutex, real.cnd_wait(cond, mutex))
	condition_sleeps(&call, cond, mutex);
	result = real.cnd_wait(cond, mutex);
	call_returned(&call);
	return c11_returned(&call, cond, mutex, result, NO_ARGUMENTS);
}

EXPORT int cnd_timedwait(cnd_t *restrict cond, mtx_t *restrict mutex,
			 const struct timespec *restrict until)
{
	int result;

	BEGIN(cnd_timedwait, MOMENT_SPLIT, cond, mutex, real.cnd_timedwait(cond, mutex, until))
	condition_sleeps(&call, cond, mutex);
	result = real.cnd_timedwait(cond, mutex, until);
	call_returned(&call);
	return c11_returned(&call, cond, mutex, result, ARGUMENTS(TIME(until)));
}
