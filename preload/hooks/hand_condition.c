/* SPDX-License-Identifier: MIT */
/*
 * Effects of waits for conditions. The mutex is given back before the sleep (part 1, a half of its
 * own) and held again after it (part 2), timed out or not.
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
 * A failure that is no time-out may mean that the mutex was never ours (EPERM) or is lost
 * (ENOTRECOVERABLE), or be about the time alone: the mutex itself says.
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
