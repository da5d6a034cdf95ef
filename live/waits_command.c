/* SPDX-License-Identifier: MIT */
#include "live/live.h"

#include "base/json.h"
#include "base/options.h"
#include "control/control.h"
#include "live/look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINES_MAX 32

struct asked {
	struct option_values values;
#define OPTION(kind, name, ...) option_##kind name;
#include "live/waits.def"
#undef OPTION
};

static const struct option_row rows[] = {
#define OPTION(...) { OPTION_FIELDS(struct asked, __VA_ARGS__) },
#include "live/waits.def"
#undef OPTION
};

const struct option_table live_waits_options = {
	.rows = rows,
	.count = sizeof(rows) / sizeof(rows[0]),
	.help = "holdtrace help waits",
};

/* ---- text ---- */

static void put_text(struct out *out, const struct look *look)
{
	const struct live_process *process = &look->process;

	out_name(out, process->name, strlen(process->name), ESCAPE_ALL);
	out_format(out, " (pid %d): %zu thread%s, %zu wait%s for a lock that is held\n",
		   process->subject.pid, process->thread_count,
		   process->thread_count == 1 ? "" : "s", look_count(look, look_is_held_up),
		   look_count(look, look_is_held_up) == 1 ? "s" : "");
	if (process->left_out)
		out_format(out, "%zu more threads are not shown\n", process->left_out);
	for (size_t i = 0; i < look->file_ring.count; i++)
		out_format(out, "%s %d", i ? "," : "DEADLOCK  cycle of processes",
			   look->file_ring.pids[i]);
	if (look->file_ring.count)
		out_text(out, ": each waits for a file lock that the next one holds\n");
	else if (look->rings)
		out_format(out, "DEADLOCK  %zu cycle%s of threads that wait for each other\n",
			   look->rings, look->rings == 1 ? "" : "s");
	if (look->inferred)
		out_format(out,
			   "DEADLOCK (inferred)  %zu threads seem to wait for each other: the "
			   "addresses of the locks are on their stacks\n",
			   look->inferred);
	if (look_count(look, look_is_orphaned))
		out_format(out,
			   "ORPHANED  %zu waiting thread%s: the lock belongs to a thread that has "
			   "ended\n",
			   look_count(look, look_is_orphaned),
			   look_count(look, look_is_orphaned) == 1 ? "" : "s");
	/* order: threads in a cycle, threads that wait for a held lock, all others */
	for (unsigned wanted = 0; wanted < 3; wanted++)
		for (size_t i = 0; i < look->process.thread_count; i++) {
			bool is_held_up = look_is_held_up(&look->awaits[i]);

			if (wanted != (look->is_in_ring[i] || look->is_inferred[i] ? 0
				       : is_held_up				   ? 1
										   : 2))
				continue;
			out_char(out, '\n');
			look_put_thread(out, look, i);
			look_put_backtrace(out, look, i);
		}
}

/* ---- JSON ---- */

static void add_await(struct json *json, const struct look *look, const struct await *await)
{
	const struct live_thread *owner = look_owner(look, await);

	json_open(json, "waits_for", '{');
	json_add_text(json, "kind", await_word(await->kind));
	if (await->address) {
		json_add_hex(json, "address", await->address);
	}
	if (await->fd >= 0) {
		json_add_unsigned(json, "fd", (uint64_t)await->fd);
		json_add_text(json, "path", await->path);
	}
	if (await->kind == AWAIT_OPEN)
		json_add_text(json, "path", await->path);
	if (await->owner) {
		json_add_unsigned(json, "holder", (uint64_t)await->owner);
		json_add_text(json, "holder_name", owner ? owner->name : NULL);
		json_add_bool(json, "holder_has_ended", await->has_ended);
	}
	if (await->owner_pid)
		json_add_unsigned(json, "holder_pid", (uint64_t)await->owner_pid);
	if (await->kind == AWAIT_FILE_LOCK) {
		if (!await->owner_pid) {
			json_key(json, "holder_pid");
			json_null(json);
		}
		json_add_text(json, "holder_name", await->owner_pid ? await->owner_name : NULL);
	}
	if (await->readers)
		json_add_unsigned(json, "readers", await->readers);
	if (await->kind == AWAIT_FUTEX) {
		json_add_text(json, "futex", await->futex);
		json_open(json, "may_be_held_by", '[');
		for (size_t i = 0; i < await->may_hold_count && i < AWAIT_MAY_HOLD_MAX; i++)
			json_unsigned(json, (uint64_t)await->may_hold[i]);
		json_end(json);
	}
	json_end(json);
}

static void add_lines(struct json *json, const struct look *look, const char *key,
		      const struct trace_node *backtrace)
{
	struct naming_line lines[LINES_MAX];
	size_t count = naming_lines(look->naming, backtrace, lines, LINES_MAX);

	json_open(json, key, '[');
	for (size_t k = 0; k < count; k++)
		json_text(json, lines[k].text);
	json_end(json);
}

static void put_json(struct out *out, const struct look *look)
{
	struct json json;

	json_start(&json, out, true);
	json_begin(&json, '{');
	json_add_unsigned(&json, "pid", (uint64_t)look->process.subject.pid);
	json_add_text(&json, "program", look->process.program);
	json_add_unsigned(&json, "deadlocks", look->rings);
	json_add_unsigned(&json, "inferred_deadlock_threads", look->inferred);
	json_open(&json, "deadlock_pids", '[');
	for (size_t i = 0; i < look->file_ring.count; i++)
		json_unsigned(&json, (uint64_t)look->file_ring.pids[i]);
	json_end(&json);
	json_add_unsigned(&json, "threads_not_shown", look->process.left_out);
	json_open(&json, "threads", '[');
	for (size_t i = 0; i < look->process.thread_count; i++) {
		const struct live_thread *thread = &look->process.threads[i];
		const char state[2] = { thread->state, 0 };

		json_begin(&json, '{');
		json_add_unsigned(&json, "tid", (uint64_t)thread->own_tid);
		json_add_text(&json, "name", thread->name);
		json_add_text(&json, "state", state);
		json_key(&json, "wait_s");
		if (thread->asleep_ns)
			json_real(&json, (double)thread->asleep_ns / 1e9);
		else
			json_null(&json);
		json_add_bool(&json, "in_deadlock", look->is_in_ring[i]);
		json_add_bool(&json, "in_inferred_deadlock", look->is_inferred[i]);
		add_await(&json, look, &look->awaits[i]);
		if (look->python[i]) {
			json_add_bool(&json, "holds_gil", look->holds_gil[i]);
			add_lines(&json, look, "python", look->python[i]);
		}
		add_lines(&json, look, "backtrace", look->backtraces[i]);
		json_add_text(&json, "not_stopped", thread->objection);
		json_end(&json);
	}
	json_end(&json);
	json_end(&json);
	json_finish(&json);
}

/* ---- the command ---- */

int live_waits(int argc, char **argv, struct error *err)
{
	struct asked asked = { 0 };
	int first = options_read(&live_waits_options, &asked, argc, argv, err), status;
	struct look look;
	struct out out;

	if (first > 0 && !(argv[first] && ctl_is_process(argv[first]) && !argv[first + 1]))
		first = error_set(err, EINVAL, "expected a process id: holdtrace waits PID");
	if (first < 0)
		return LIVE_USAGE;
	if (look_take(&look, atoi(argv[first]), true, err)) {
		look_free(&look);
		return LIVE_FAILURE;
	}
	out_open(&out, STDOUT_FILENO);
	if (asked.format.value)
		put_json(&out, &look);
	else
		put_text(&out, &look);
	status = look.rings || look_count(&look, look_is_orphaned) ? LIVE_FOUND
		 : look.inferred				   ? LIVE_UNKNOWN
								   : 0;
	look_free(&look);
	return out_close(&out) ? LIVE_FAILURE : status;
}
