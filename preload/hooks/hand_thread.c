/* SPDX-License-Identifier: MIT */
/* Hooked by hand: creation, join and end of threads. Also: effects of waits for conditions. */
#include "hand.h"

static size_t stack_size_of(const pthread_attr_t *attributes)
{
	size_t size = 0;

	if (attributes)
		real.pthread_attr_getstacksize(attributes, &size);
	return size;
}

/* The default stack size of threads; read only once, because reading it allocates memory. */
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
 * Prepares the data for the new thread. Returns NULL if no space for the data is left. call: NULL
 * if the creation is not recorded; the new thread needs the data even then, because its calls may
 * be recorded. start: the start routine, of the POSIX or the C11 type.
 */
static struct birth *expect_birth(const struct call *call, const pthread_attr_t *attributes,
				  void (*start)(void), void *argument)
{
	struct birth *birth = life_is_running() ? birth_take() : NULL;

	if (!birth)
		return NULL;
	birth->creator = call ? call->thread->owner->thread : 0;
	birth->call = call ? call->number : 0;
	birth->breath = 0;
	birth->stack_size = attributes ? stack_size_of(attributes) : default_stack_size();
	birth->start = (void *(*)(void *))start;
	birth->argument = argument;
	return birth;
}

/* Releases the creator's reference; if no thread was created, also the new thread's reference. */
static int leave_birth(struct birth *birth, int result)
{
	if (birth)
		birth_leave(birth);
	if (birth && result)
		birth_leave(birth);
	return result;
}

/* Records a call that creates a thread and, if the new thread is detached, its release. */
static int created(struct call *call, struct birth *birth, const pthread_t *thread, int result,
		   int error, bool detached, const struct call_argument *arguments)
{
	/*
	 * The thread exists from its own start or the creator's return, whichever is earlier: the
	 * new thread may detach itself before the creator's call returns. Until that return, the
	 * creator's low watermark is the time at which its call was entered.
	 */
	uint64_t breath = birth ? __atomic_load_n(&birth->breath, __ATOMIC_ACQUIRE) : 0;
	uint64_t time = breath && breath < call->leave ? breath : call->leave;

	leave_birth(birth, result);
	call->error = error;
	CALL_EVENT(call, .resource = (enum resource)CLASS_OF_pthread_create,
		   .operation = (enum operation)DOES_pthread_create, .moment = MOMENT_LEAVE,
		   .failed = result != 0, .object = result ? 0 : WORD(*thread), .size = 1,
		   .result = WORD(result), .time = time, .arguments = arguments);
	if (!result && detached)
		CALL_EVENT(call, .resource = RESOURCE_THREAD, .operation = OPERATION_FREE,
			   .moment = MOMENT_LEAVE, .part = 1, .object = WORD(*thread),
			   .time = time);
	call_end(call);
	return result;
}

static int create_unseen(pthread_t *thread, const pthread_attr_t *attributes,
			 void *(*start)(void *), void *argument)
{
	struct birth *birth = expect_birth(NULL, attributes, (void (*)(void))start, argument);

	return leave_birth(birth,
			   real.pthread_create(thread, attributes, birth ? thread_start : start,
					       birth ? birth : argument));
}

static int create_unseen_c11(thrd_t *thread, thrd_start_t start, void *argument)
{
	struct birth *birth = expect_birth(NULL, NULL, (void (*)(void))start, argument);

	return leave_birth(birth, real.thrd_create(thread, birth ? thread_start_c11 : start,
						   birth ? birth : argument));
}

EXPORT int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
			  void *(*start)(void *), void *restrict argument)
{
	struct birth *birth;
	int result, state = PTHREAD_CREATE_JOINABLE;

	BEGIN(pthread_create, 0, 0, create_unseen(thread, attributes, start, argument))
	birth = expect_birth(&call, attributes, (void (*)(void))start, argument);
	result = real.pthread_create(thread, attributes, birth ? thread_start : start,
				     birth ? birth : argument);
	call_returned(&call);
	if (attributes)
		real.pthread_attr_getdetachstate(attributes, &state);
	return created(&call, birth, thread, result, result, state == PTHREAD_CREATE_DETACHED,
		       VALUES_FOR(pthread_create, HEX(thread), HEX(WORD(attributes)),
				  HEX(WORD(start)), HEX(argument)));
}

/* glibc's thrd_create calls its own pthread_create, which is not hooked. */
EXPORT int thrd_create(thrd_t *thread, thrd_start_t start, void *argument)
{
	struct birth *birth;
	int result;

	BEGIN(thrd_create, 0, 0, create_unseen_c11(thread, start, argument))
	birth = expect_birth(&call, NULL, (void (*)(void))start, argument);
	result = real.thrd_create(thread, birth ? thread_start_c11 : start,
				  birth ? birth : argument);
	call_returned(&call);
	return created(&call, birth, thread, result, c11_error(result), false,
		       VALUES_FOR(thrd_create, HEX(thread), HEX(WORD(start)), HEX(argument)));
}

/*
 * A join releases the thread's handle at entry, since a new thread may get the same handle before
 * the join returns. The event is published before the join sleeps. If the join fails, the thread
 * still exists.
 */
void thread_goes(struct call *call, struct call_event *event, uint64_t thread)
{
	(void)event;
	CALL_EVENT(call, .resource = RESOURCE_THREAD, .operation = OPERATION_FREE,
		   .moment = MOMENT_HALF, .part = 1, .object = thread);
}

void thread_joined(struct call *call, struct call_event *event, uint64_t thread)
{
	if (event->failed && call->error != ESRCH)
		CALL_EVENT(call, .resource = RESOURCE_THREAD, .operation = OPERATION_ALLOC,
			   .moment = MOMENT_LEAVE, .part = 2, .object = thread, .size = 1);
}

/*
 * The end of a thread is recorded before it happens, because pthread_exit does not return. The open
 * calls of the thread will not return either. The library closes these calls when unwinding has
 * passed their frames: in the first hooked call of a cleanup handler, or in thread_start(). The
 * collector does not wait for these calls.
 */
static void end_call(struct call *call, const struct call_argument *arguments)
{
	struct thread *thread = call->thread;

	call_returned(call);
	call_event(call, &EVENT_OF(pthread_exit, .moment = MOMENT_ENTER, .object = thread->pthread,
				   .arguments = arguments));
	call_end(call);
	if (thread != thread_self)
		return;
	thread_set_watermark(thread, 0);
	memory_leave(thread);
}

EXPORT __attribute__((noreturn)) void pthread_exit(void *value)
{
	const struct origin origin = CAPTURE_ORIGIN();
	struct call call;

	if (BEGIN_CALL(&call, pthread_exit, &origin, 0, 0))
		end_call(&call, VALUES_FOR(pthread_exit, HEX(value)));
	real_ready();
	real.pthread_exit(value);
	__builtin_unreachable();
}

EXPORT __attribute__((noreturn)) void thrd_exit(int value)
{
	const struct origin origin = CAPTURE_ORIGIN();
	struct call call;

	if (BEGIN_CALL(&call, thrd_exit, &origin, 0, 0))
		end_call(&call, VALUES_FOR(thrd_exit, DECIMAL(value)));
	real_ready();
	real.thrd_exit(value);
	__builtin_unreachable();
}

/* ---- conditions ---- */

/* A wait for a condition always releases the mutex (part 1, a half) and locks it again (part 2). */
void condition_sleeps(struct call *call, struct call_event *event, void *cond, void *mutex)
{
	(void)event;
	contended_forget(HOOK_pthread_cond_wait, WORD(mutex));
	CALL_EVENT(call, .resource = RESOURCE_LOCK, .operation = OPERATION_RELEASE,
		   .moment = MOMENT_HALF, .part = 1, .object = WORD(mutex), .related = WORD(cond));
}

/*
 * An error other than a time-out may mean that the thread never held the mutex (EPERM), that the
 * mutex is not recoverable (ENOTRECOVERABLE), or that the time was invalid. The mutex itself shows
 * whether the thread holds it now.
 */
void condition_returned(struct call *call, struct call_event *event, void *cond, void *mutex)
{
	if (event->failed && call->error != ETIMEDOUT &&
	    !call_owns_mutex(call->thread, WORD(mutex)))
		return;
	if (life_armed[HOOK_pthread_mutex_unlock] & LIFE_CONTENDED)
		contended_note(call->thread, WORD(mutex));
	CALL_EVENT(call, .resource = RESOURCE_LOCK, .operation = OPERATION_ACQUIRE,
		   .moment = MOMENT_LEAVE, .part = 2, .object = WORD(mutex), .related = WORD(cond),
		   .size = 1);
}
