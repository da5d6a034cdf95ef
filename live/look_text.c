/* SPDX-License-Identifier: MIT */
#include "live/look.h"

#include "base/human.h"

#include <string.h>

#define LINES_MAX 32

static void put_name(struct out *out, const char *name)
{
	out_char(out, '"');
	out_name(out, name, strlen(name), ESCAPE_ALL);
	out_char(out, '"');
}

static void put_owner(struct out *out, const struct look *look, const struct await *await)
{
	const struct live_thread *owner = look_owner(look, await);
	const char *verb = await->kind == AWAIT_JOIN ? " thread" : ", held by thread";

	if (await->readers)
		out_format(out, ", held by %u reader%s", await->readers,
			   await->readers == 1 ? "" : "s");
	if (await->kind == AWAIT_FILE_LOCK && !await->owner_pid)
		out_text(out, ", holder unknown");
	if (await->kind == AWAIT_FILE_LOCK && await->owner_pid) {
		out_format(out, ", held by process %d ", await->owner_pid);
		put_name(out, await->owner_name);
	}
	if (!await->owner)
		return;
	out_format(out, "%s %d", verb, await->owner);
	if (owner) {
		out_char(out, ' ');
		put_name(out, owner->name);
	} else if (await->is_elsewhere) {
		out_text(out, " of another process");
	} else if (await->owner_pid) {
		out_format(out, " of process %d", await->owner_pid);
	} else {
		out_text(out, ", which has ended: nobody will give it back");
	}
}

static void put_age(struct out *out, uint64_t ns)
{
	struct human human;

	if (ns)
		out_format(out, ", asleep for %s", human_time(&human, ns));
}

/* Writes the part between "thread 7 "name"" and the owner. */
static void put_await(struct out *out, const struct await *await, const struct live_thread *thread)
{
	static const char *const verbs[] = {
		[AWAIT_NOTHING] = "runs",
		[AWAIT_MUTEX] = "waits for mutex",
		[AWAIT_RWLOCK] = "waits for rwlock",
		[AWAIT_CONDITION] = "waits for a condition at",
		[AWAIT_SEMAPHORE] = "waits for semaphore",
		[AWAIT_BARRIER] = "waits at a barrier at",
		[AWAIT_JOIN] = "joins",
		[AWAIT_ONCE] = "waits for another's pthread_once at",
		[AWAIT_FUTEX] = "waits for futex",
		[AWAIT_FILE_LOCK] = "waits for the lock of fd",
		[AWAIT_FILE] = "waits for fd",
		[AWAIT_FILES] = "polls descriptors",
		[AWAIT_CHILD] = "waits for a child",
		[AWAIT_TIME] = "sleeps",
		[AWAIT_SIGNAL] = "waits for a signal",
		[AWAIT_CALL] = "is in system call",
	};

	if (await->kind == AWAIT_NOTHING && thread->state != 'R')
		out_format(out, "is in state %c", thread->state);
	else
		out_text(out, verbs[await->kind]);
	if (await->address)
		out_format(out, " 0x%llx", (unsigned long long)await->address);
	if (await->kind == AWAIT_CALL)
		out_format(out, " %lld", (long long)thread->call.number);
	if (await->fd < 0)
		return;
	out_format(out, " %d (", await->fd);
	out_name(out, await->path, strlen(await->path), ESCAPE_ALL);
	out_char(out, ')');
}

void look_put_backtrace(struct out *out, const struct look *look, size_t i)
{
	struct naming_line lines[LINES_MAX];
	size_t count = naming_lines(look->naming, look->backtraces[i], lines, LINES_MAX);

	for (size_t k = 0; k < count; k++) {
		out_text(out, "    ");
		out_name(out, lines[k].text, strlen(lines[k].text), ESCAPE_ALL);
		if (lines[k].times > 1)
			out_format(out, " (%u times)", lines[k].times);
		out_char(out, '\n');
	}
	if (look->process.threads[i].objection)
		out_format(out, "    (read without a stop, may be short: it is in %s)\n",
			   look->process.threads[i].objection);
}

void look_put_thread(struct out *out, const struct look *look, size_t i)
{
	const struct live_thread *thread = &look->process.threads[i];
	const struct await *await = &look->awaits[i];

	out_format(out, "thread %d ", thread->own_tid);
	put_name(out, thread->name);
	out_char(out, ' ');
	put_await(out, await, thread);
	put_owner(out, look, await);
	put_age(out, thread->asleep_ns);
	out_char(out, '\n');
}
