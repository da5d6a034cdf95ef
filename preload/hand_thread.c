/* SPDX-License-Identifier: MIT */
/* Hooked by hand: threads, conditions and semaphores. */
#include "hand.h"

#include <stdarg.h>

static size_t stack_size_of(const pthread_attr_t *attributes)
{
	size_t size = 0;

	if (attributes)
		real.pthread_attr_getstacksize(attributes, &size);
	return size;
}

/* The size of threads made without attributes; asked for once, since asking allocates. */
static size_t default_stack_size(void)
{
	static size_t known;
	pthread_attr_t attributes;

	if (known)
		return known;
	if (real.pthread_getattr_default_np(&attributes))
		return 0;
	known = stack_size_of(&attributes);
	return known;
}

/*
 * A thread exists from the earlier of the creator's return and its own first breath, which may
 * already detach it. The floor of the creator stands at its entry meanwhile.
 */
static uint64_t birth_time(const struct birth *birth, const struct call *call)
{
	uint64_t breath = __atomic_load_n(&birth->breath, __ATOMIC_ACQUIRE);

	return breath && breath < call->leave ? breath : call->leave;
}

EXPORT int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
			  void *(*start)(void *), void *restrict argument)
{
	struct birth *birth;
	pthread_t made = 0;
	uint64_t time;
	int result;

	BEGIN(pthread_create, MOMENT_LEAVE, 0, 0,
	      real.pthread_create(thread, attributes, start, argument))
	birth = birth_take();
	if (!birth) {
		result = real.pthread_create(thread, attributes, start, argument);
		call_returned(&call);
		time = call.leave;
	} else {
		birth->creator = call.thread->owner->thread;
		birth->call = call.number;
		birth->breath = 0;
		birth->stack_size = attributes ? stack_size_of(attributes) : default_stack_size();
		birth->start = start;
		birth->argument = argument;
		result = real.pthread_create(thread, attributes, thread_start, birth);
		call_returned(&call);
		time = birth_time(birth, &call);
		birth_leave(birth);
		if (result)
			birth_leave(birth);
	}
	call.error = result;
	if (!result)
		made = *thread;
	EVENT(.resource = RESOURCE_THREAD, .operation = OPERATION_ALLOC, .moment = MOMENT_LEAVE,
	      .failed = result != 0, .object = WORD(made), .size = 1, .result = WORD(result),
	      .time = time);
	call_end(&call);
	return result;
}

/*
 * Given back at entry, since another thread may be made with the same handle before we are back;
 * published before the sleep. Where the join was refused the thread is still there.
 */
EXPORT int pthread_join(pthread_t thread, void **value)
{
	int result;

	BEGIN(pthread_join, MOMENT_SPLIT, thread, 0, real.pthread_join(thread, value))
	EVENT(.resource = RESOURCE_THREAD, .operation = OPERATION_FREE, .moment = MOMENT_HALF,
	      .part = 1, .object = WORD(thread));
	call_sleeps(&call);
	result = real.pthread_join(thread, value);
	call_returned(&call);
	call.error = result;
	if (result && result != ESRCH)
		EVENT(.resource = RESOURCE_THREAD, .operation = OPERATION_ALLOC,
		      .moment = MOMENT_LEAVE, .part = 2, .object = WORD(thread), .size = 1);
	EVENT(.resource = RESOURCE_THREAD, .operation = OPERATION_WAIT, .moment = MOMENT_LEAVE,
	      .failed = result != 0, .object = WORD(thread), .result = WORD(result));
	call_end(&call);
	return result;
}

/* Conditions: the mutex is given back before the sleep and held again after it. */

static void condition_sleeps(struct call *call, pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	call_event(call, &(struct call_event){ .resource = RESOURCE_LOCK,
					       .operation = OPERATION_RELEASE,
					       .moment = MOMENT_HALF,
					       .part = 1,
					       .object = WORD(mutex),
					       .related = WORD(cond) });
	call_sleeps(call);
}

static int condition_event(struct call *call, pthread_cond_t *cond, pthread_mutex_t *mutex,
			   int result, const struct call_argument *arguments)
{
	call->error = result;
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
					       .failed = result != 0,
					       .object = WORD(cond),
					       .related = WORD(mutex),
					       .result = WORD(result),
					       .arguments = arguments });
	call_end(call);
	return result;
}

EXPORT int pthread_cond_wait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex)
{
	int result;

	BEGIN(pthread_cond_wait, MOMENT_SPLIT, cond, mutex, real.pthread_cond_wait(cond, mutex))
	condition_sleeps(&call, cond, mutex);
	result = real.pthread_cond_wait(cond, mutex);
	call_returned(&call);
	return condition_event(&call, cond, mutex, result, NO_ARGUMENTS);
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
	return condition_event(&call, cond, mutex, result, ARGUMENTS(TIME(until)));
}

/* Semaphores. Mode and value are there only if the semaphore may be made (sem_open(3)). */
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
