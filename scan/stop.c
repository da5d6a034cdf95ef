/* SPDX-License-Identifier: MIT */
#include "scan/stop.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "process/proc.h"

#define OBJECT_NS   1000000000ull /* how long to wait for threads that may not be stopped now */
#define LOOK_NS	    2000000
#define ROUNDS_MAX  1000 /* limit for a process that starts threads as fast as we stop them */
#define THREADS_MAX 100000

/* Asks one thread to stop. Returns 1, 0 if the thread has already ended, or a negative errno. */
static int ask_to_stop(struct process *process, int tid, struct error *err)
{
	struct stopping stopping;
	struct tracee tracee;
	int rc;

	stopping_look(&stopping, process->pid, tid);
	rc = tracee_ask(&tracee, &stopping);
	if (rc)
		return rc == -ESRCH || proc_has_ended(process->pid, tid)
			       ? 0
			       : error_system(err, -rc, "thread %d cannot be stopped", tid);
	if (process->threads.count == THREADS_MAX)
		return error_set(err, EBUSY, "the process has more than %d threads", THREADS_MAX);
	*ARRAY_ADD(&process->threads) = (struct process_thread){ .tracee = tracee };
	return 1;
}

/* Asks all new threads to stop. Returns their number, or a negative errno. */
static int ask_new(struct process *process, struct error *err)
{
	size_t count;
	cleanup_free int32_t *threads = proc_threads(process->pid, &count);
	int asked = 0;

	if (!count)
		return error_system(err, ESRCH, "process %d", process->pid);
	for (size_t i = 0; i < count; i++) {
		size_t known = process->threads.count;
		int rc = 0;

		while (known && process->threads.items[known - 1].tracee.tid != threads[i])
			known--;
		if (!known)
			rc = ask_to_stop(process, threads[i], err);
		if (rc < 0)
			return rc;
		asked += rc;
	}
	return asked;
}

/*
 * Waits until the thread stops, and reads its registers and name. If the thread has ended instead,
 * its tid is 0 from then on.
 */
static int take_thread(struct process_thread *thread, struct error *err)
{
	struct tracee *tracee = &thread->tracee;
	int rc = tracee_await(tracee);

	if (rc == -EBUSY)
		return error_set(err, EBUSY, "thread %d does not stop", tracee->tid);
	if (rc)
		return error_system(err, -rc, "cannot read the registers of thread %d",
				    tracee->tid);
	if (!tracee->tid)
		return 0;
	thread->register_count = sizeof(tracee->registers) / sizeof(*thread->registers);
	memcpy(thread->registers, &tracee->registers, sizeof(tracee->registers));
	thread->vector_count = tracee_vectors(tracee, thread->vectors, PROCESS_VECTORS_MAX);
	cleanup_free char *name = proc_text(tracee->stopping.pid, tracee->tid, "comm");

	snprintf(thread->name, sizeof(thread->name), "%.*s", name ? (int)strcspn(name, "\n") : 0,
		 name ? name : "");
	return 0;
}

/*
 * Examines all threads. Returns the reason why one of them may not be stopped; NULL: all may be
 * stopped.
 */
static const char *find_objection(const struct process *process, struct stopping *stopping)
{
	size_t count;
	cleanup_free int32_t *threads = proc_threads(process->pid, &count);
	const char *found = NULL;

	for (size_t i = 0; i < count && !found; i++) {
		stopping_look(stopping, process->pid, threads[i]);
		found = stopping_objection(stopping);
	}
	return found;
}

int stop_await_consent(const struct process *process, struct error *err)
{
	const struct timespec step = { .tv_nsec = LOOK_NS };
	uint64_t until_ns = clock_ns() + OBJECT_NS;
	struct stopping stopping;
	const char *found;

	while ((found = find_objection(process, &stopping)) != NULL) {
		if (clock_ns() > until_ns)
			return error_set(err, EBUSY,
					 "the process was not stopped, because thread %d is in %s "
					 "(system call %d)",
					 stopping.tid, found, (int)stopping.call.number);
		if (process->beat)
			process->beat(process->user);
		nanosleep(&step, NULL);
	}
	return 0;
}

int stop_begin(struct process *process, struct error *err)
{
	size_t taken = 0;

	for (int round = 0; round < ROUNDS_MAX; round++) {
		int asked = ask_new(process, err);
		bool has_new = process->threads.count > taken;

		if (asked < 0)
			return asked;
		for (; taken < process->threads.count; taken++) {
			int rc = take_thread(&process->threads.items[taken], err);

			if (rc)
				return rc;
		}
		if (process->beat)
			process->beat(process->user);
		/*
		 * look twice: a thread that was being created during the previous round is visible
		 * now
		 */
		if (!has_new && process->threads.count)
			return 0;
		if (!has_new)
			return error_system(err, ESRCH, "process %d", process->pid);
	}
	return error_set(err, EBUSY, "the process creates threads faster than they can be stopped");
}

void stop_end(struct process *process)
{
	for (size_t i = 0; i < process->threads.count; i++)
		tracee_release(&process->threads.items[i].tracee);
}
