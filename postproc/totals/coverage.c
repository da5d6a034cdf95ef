/* SPDX-License-Identifier: MIT */
#include "coverage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "hook_table.h"
#include "notes.h"
#include "threads.h"

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static struct coverage_thread *add_thread(struct coverage *coverage, uint32_t tid, uint64_t born_ns)
{
	struct coverage_thread *thread = ARRAY_ADD(&coverage->threads);

	*thread = (struct coverage_thread){ .tid = tid, .born_ns = born_ns };
	map_set(&coverage->by_number, 0, tid, (uint32_t)coverage->threads.count);
	return thread;
}

static struct coverage_thread *find_thread(const struct coverage *coverage, uint32_t tid)
{
	uint32_t place = map_get(&coverage->by_number, 0, tid);

	return place ? &coverage->threads.items[place - 1] : NULL;
}

/*
 * Returns the thread of an event. Adds a thread that has no birth event: the main thread (tid =
 * pid) with the start of the recording as its birth; any other thread with an unknown birth,
 * because it was already running when holdtrace attached.
 */
static struct coverage_thread *thread_of(struct coverage *coverage, const struct event *event)
{
	struct coverage_thread *thread = find_thread(coverage, event->thread);
	bool is_main = event->thread == event->process->pid;

	if (!thread)
		thread =
			add_thread(coverage, event->thread, is_main ? event->process->start_ns : 0);
	thread->is_main = is_main;
	return thread;
}

static void add_wait(struct coverage *coverage, const struct hook *hook, const struct event *event)
{
	struct coverage_thread *thread;
	enum thread_wait wait;

	if (!threads_waits(hook, event, &wait))
		return;
	thread = thread_of(coverage, event);
	thread->recorded_ns += event->leave_ns - event->enter_ns;
	/*
	 * the thread may wait after its recorded end, in destructors that run after pthread_exit()
	 */
	if (thread->ended_ns && thread->ended_ns < event->leave_ns)
		thread->ended_ns = event->leave_ns;
}

void coverage_event(struct coverage *coverage, const struct event *event)
{
	if (event->part || event->moment == MOMENT_HALF)
		return;
	/*
	 * this call is the only event that reports the end of the main thread: the kernel keeps
	 * that thread until the process ends
	 */
	if (event->operation == OPERATION_END && event->function->hook &&
	    event->function->hook->resource == RESOURCE_THREAD) {
		thread_of(coverage, event)->ended_ns = event->time_ns;
		return;
	}
	add_wait(coverage, event->function->hook, event);
}

void coverage_note(struct coverage *coverage, const struct event *event)
{
	const char *name = event->function->name;
	struct coverage_thread *thread;

	if (!strcmp(name, NOTE_OPEN)) {
		const char *call = event_argument(event, "call");

		if (call)
			add_wait(coverage, hook_find(call), event);
		return;
	}
	if (!strcmp(name, NOTE_THREAD)) {
		add_thread(coverage, event->thread, event->time_ns);
		return;
	}
	if (strcmp(name, NOTE_PROCESS) != 0 && strcmp(name, NOTE_THREAD_END) != 0 &&
	    strcmp(name, NOTE_SCHEDULED) != 0)
		return;
	thread = thread_of(coverage, event);
	if (!strcmp(name, NOTE_THREAD_END))
		thread->ended_ns = event->time_ns;
	if (strcmp(name, NOTE_SCHEDULED) != 0)
		return;
	thread->is_read = true;
	thread->from = event_number(event, "from");
	thread->from_ran = event_number(event, "from-ran");
	thread->from_queued = event_number(event, "from-queued");
	thread->to = event_number(event, "to");
	thread->ran = event_number(event, "ran");
	thread->queued = event_number(event, "queued");
	thread->futex = event_number(event, "futex");
	thread->other = event_number(event, "other");
	thread->in_recorded = event_number(event, "recorded");
}

/*
 * Computes the times of a thread. The first reading of the kernel's counters may include time
 * before the thread's birth event: for a new thread, time in the queue; for the main thread, or a
 * thread that ran before an attach, also time on a processor. The amount is unknown, so the
 * function subtracts the whole first reading, and counts the same amount of the time between the
 * birth and that reading as unmeasured.
 */
static void measure(const struct coverage_thread *thread, uint64_t end_ns, struct coverage_sum *sum)
{
	uint64_t end = thread->ended_ns ? thread->ended_ns : end_ns;
	uint64_t born = thread->born_ns ? thread->born_ns : thread->from;
	uint64_t to = least(thread->to, end), doubtful, outside, rest, futex;
	uint64_t ran_before = thread->is_main || !thread->born_ns ? thread->from_ran : 0;

	*sum = (struct coverage_sum){ .unmeasured = born ? minus(end, born) : 0 };
	if (thread->is_read) {
		doubtful = least(ran_before + thread->from_queued, minus(thread->from, born));
		sum->ran = minus(thread->ran, ran_before);
		sum->queued = minus(thread->queued, thread->from_queued);
		sum->blocked = minus(minus(to, born), sum->ran + sum->queued + doubtful);
		sum->unmeasured = minus(sum->unmeasured, minus(to, born)) + doubtful;
	}
	/*
	 * a recorded wait includes the time in which the woken thread is queued for a processor; if
	 * the waits exceed the blocked and queued time, the excess was in unmeasured time
	 */
	outside = least(sum->unmeasured, minus(thread->recorded_ns, sum->blocked + sum->queued));
	sum->blocked += outside;
	sum->unmeasured -= outside;
	rest = minus(sum->blocked, thread->recorded_ns);
	futex = least(thread->futex, sum->blocked);
	if (rest < futex)
		rest = futex;
	sum->recorded = sum->blocked - rest;
	sum->unobserved = rest;
	if (thread->futex + thread->other)
		sum->unobserved = (uint64_t)((double)rest * (double)thread->futex /
					     (double)(thread->futex + thread->other));
	/* all samples were in recorded calls, so a small rest is a rounding error */
	else if (rest < thread->in_recorded / 4)
		sum->unobserved = 0;
	if (sum->unobserved < futex)
		sum->unobserved = futex;
	sum->other = rest - sum->unobserved;
	sum->worst = sum->unobserved;
}

static void measure_in_process(const struct coverage *coverage,
			       const struct coverage_thread *thread, uint64_t end_ns,
			       struct coverage_sum *sum)
{
	measure(thread, end_ns, sum);
	/* the only thread of a process does not wait for another thread */
	if (coverage->threads.count > 1 && sum->unmeasured > COVERAGE_SLACK_NS)
		sum->worst += sum->unmeasured;
	if (coverage->is_partial)
		*sum = (struct coverage_sum){ .worst = least(thread->futex, sum->blocked) };
}

void coverage_of_process(const struct coverage *coverage, uint64_t end_ns, struct coverage_sum *sum)
{
	*sum = (struct coverage_sum){ 0 };
	for (size_t i = 0; i < coverage->threads.count; i++) {
		struct coverage_sum one;

		measure_in_process(coverage, &coverage->threads.items[i], end_ns, &one);
		coverage_add(sum, &one);
	}
}

void coverage_of_thread(const struct coverage *coverage, uint32_t tid, uint64_t end_ns,
			struct coverage_sum *sum)
{
	const struct coverage_thread *thread = find_thread(coverage, tid);

	*sum = (struct coverage_sum){ 0 };
	if (thread)
		measure_in_process(coverage, thread, end_ns, sum);
}

void coverage_add(struct coverage_sum *a, const struct coverage_sum *b)
{
	a->ran += b->ran;
	a->queued += b->queued;
	a->blocked += b->blocked;
	a->recorded += b->recorded;
	a->other += b->other;
	a->unobserved += b->unobserved;
	a->unmeasured += b->unmeasured;
	a->worst = a->worst > b->worst ? a->worst : b->worst;
}

bool coverage_is_low(const struct coverage_sum *sum)
{
	return sum->unobserved > COVERAGE_EXACT_NS && sum->unobserved > sum->blocked / 10;
}

const char *coverage_say(const struct coverage_sum *sum, char text[COVERAGE_TEXT_SIZE])
{
	struct human human[5];

	snprintf(text, COVERAGE_TEXT_SIZE,
		 "all threads together were blocked for %s: %s in recorded waits, %s in other "
		 "system calls, %s "
		 "not observed; %s of their time was not measured",
		 human_time(&human[0], sum->blocked), human_time(&human[1], sum->recorded),
		 human_time(&human[2], sum->other), human_time(&human[3], sum->unobserved),
		 human_time(&human[4], sum->unmeasured));
	return text;
}

void coverage_init(struct coverage *coverage)
{
	*coverage = (struct coverage){ 0 };
	map_init(&coverage->by_number);
}

void coverage_clear(struct coverage *coverage)
{
	free(coverage->threads.items);
	map_clear(&coverage->by_number);
	coverage_init(coverage);
}
