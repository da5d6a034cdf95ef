/* SPDX-License-Identifier: MIT */
/*
 * Effects of waits for conditions: the mutex is released before the sleep (part 1, a half of its
 * own) and locked again after it (part 2), even when the wait timed out.
 */
#include "effects.h"
#include "preload/record/contended.h"

void condition_sleeps(struct call *call, struct call_event *event, void *cond, void *mutex)
{
	(void)event;
	contended_forget(HOOK_pthread_cond_wait, WORD(mutex));
	call_event(call, &(struct call_event){ .resource = RESOURCE_LOCK,
					       .operation = OPERATION_RELEASE,
					       .moment = MOMENT_HALF,
					       .part = 1,
					       .object = WORD(mutex),
					       .related = WORD(cond) });
}

/*
 * An error other than a time-out may mean that we never held the mutex (EPERM), that it is not
 * recoverable (ENOTRECOVERABLE), or that the time was invalid: the mutex says whether we hold it
 * now.
 */
void condition_returned(struct call *call, struct call_event *event, void *cond, void *mutex)
{
	if (event->failed && call->error != ETIMEDOUT &&
	    !call_owns_mutex(call->thread, WORD(mutex)))
		return;
	if (life_armed[HOOK_pthread_mutex_unlock] & LIFE_CONTENDED)
		contended_note(call->thread, WORD(mutex));
	call_event(call, &(struct call_event){ .resource = RESOURCE_LOCK,
					       .operation = OPERATION_ACQUIRE,
					       .moment = MOMENT_LEAVE,
					       .part = 2,
					       .object = WORD(mutex),
					       .related = WORD(cond),
					       .size = 1 });
}
