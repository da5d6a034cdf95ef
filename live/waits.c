/* SPDX-License-Identifier: MIT */
#include "live/live.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/out.h"
#include "base/terminal.h"
#include "live/await.h"
#include "live/process.h"
#include "live/unwind.h"
#include "naming/naming.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SYMBOLS_MAX 12 /* how far out the public function of a wait is looked for */
#define LINES_MAX   32
#define SETTLE_NS   100000000 /* a ring in which nobody has moved for so long is a deadlock */

/* A look at a process, with what each thread waits for, in the order of its threads. */
struct look {
	struct live_process process;
	struct await *awaits;
	const struct atlas_backtrace **backtraces;
	struct atlas atlas;
	struct naming *naming;
	struct naming_files files;
	bool *is_in_ring;
	size_t rings;
};

struct options {
	int pid;
	bool is_json, is_all;
};

/* ---- looking ---- */

static int map_modules(struct look *look)
{
	const struct live_process *process = &look->process;

	atlas_begin_process(&look->atlas);
	if (process->program && atlas_add_program(&look->atlas, process->program))
		return -ENOMEM;
	for (size_t i = 0; i < process->mappings.count; i++) {
		const struct live_mapping *mapping = &process->mappings.items[i];
		const struct trace_mapping module = {
			.from = live_base(process, mapping),
			.to = mapping->end,
			.path = mapping->path,
			.has_tail = true,
			.code = mapping->start,
			.offset = mapping->offset,
			.build_id = "",
		};

		if (mapping->is_code && atlas_map(&look->atlas, &module))
			return -ENOMEM;
	}
	return 0;
}

static int keep_backtraces(struct look *look)
{
	const struct live_process *process = &look->process;

	for (size_t i = 0; i < process->thread_count; i++) {
		const struct live_thread *thread = &process->threads[i];
		const struct backtrace backtrace = { .count = thread->frame_count,
						     .frames = thread->frames };

		look->backtraces[i] = atlas_backtrace(&look->atlas, &backtrace, UINT64_MAX);
		if (!look->backtraces[i])
			return -ENOMEM;
		naming_expect(look->naming, look->backtraces[i]);
	}
	return 0;
}

static void find_awaits(struct look *look)
{
	struct naming_symbol symbols[SYMBOLS_MAX];
	const char *names[SYMBOLS_MAX];

	for (size_t i = 0; i < look->process.thread_count; i++) {
		size_t count =
			naming_symbols(look->naming, look->backtraces[i], symbols, SYMBOLS_MAX);

		for (size_t k = 0; k < count && k < SYMBOLS_MAX; k++)
			names[k] = symbols[k].function;
		await_find(&look->awaits[i], &look->process, &look->process.threads[i], names,
			   count < SYMBOLS_MAX ? count : SYMBOLS_MAX);
	}
}

/* A ring counts once: for the first of its threads, and only if none of them moves. */
static bool is_standing(const struct look *look, const size_t *ring, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (ring[i] < ring[0] ||
		    !live_is_unmoved(look->process.pid, &look->process.threads[ring[i]]))
			return false;
	return count > 0;
}

static size_t standing_ring(const struct look *look, size_t start, size_t *ring)
{
	size_t count =
		await_ring(&look->process, look->awaits, start, ring, look->process.thread_count);

	return is_standing(look, ring, count) ? count : 0;
}

static int find_rings(struct look *look)
{
	size_t count = look->process.thread_count;
	cleanup_free size_t *ring = calloc(count + 1, sizeof(*ring));
	bool may_be = false;

	if (!ring)
		return -ENOMEM;
	/* those that we stopped have gone back to sleep by then */
	nanosleep(&(struct timespec){ .tv_nsec = SETTLE_NS / 10 }, NULL);
	for (size_t i = 0; i < count; i++)
		may_be |= await_ring(&look->process, look->awaits, i, ring, count) > 0;
	for (size_t i = 0; may_be && i < count; i++)
		live_look_again(look->process.pid, &look->process.threads[i]);
	if (may_be)
		nanosleep(&(struct timespec){ .tv_nsec = SETTLE_NS }, NULL);
	for (size_t i = 0; may_be && i < count; i++) {
		size_t length = standing_ring(look, i, ring);

		look->rings += length > 0;
		for (size_t k = 0; k < length; k++)
			look->is_in_ring[ring[k]] = true;
	}
	return 0;
}

static int name_all(struct look *look, struct error *err)
{
	size_t count = look->process.thread_count;
	int status;

	look->awaits = calloc(count + 1, sizeof(*look->awaits));
	look->backtraces = calloc(count + 1, sizeof(*look->backtraces));
	look->is_in_ring = calloc(count + 1, sizeof(*look->is_in_ring));
	look->files.root = look->process.root;
	status = look->awaits && look->backtraces && look->is_in_ring ? map_modules(look) : -ENOMEM;
	if (!status)
		status = naming_create(&look->naming, &look->atlas, &look->files, err);
	if (!status)
		status = keep_backtraces(look);
	if (!status)
		find_awaits(look);
	if (!status)
		status = find_rings(look);
	return status == -ENOMEM ? error_system(err, ENOMEM, "process %d", look->process.pid)
				 : status;
}

static int take_look(struct look *look, int pid, struct error *err)
{
	int status;

	atlas_init(&look->atlas);
	status = live_look(&look->process, pid, err);
	if (status)
		return status;
	live_read_stacks(&look->process, false);
	status = live_unwind(&look->process, err);
	/* what keeps a frame pointer needs more than the stack pointer */
	if (!status && live_read_stacks(&look->process, true))
		status = live_unwind(&look->process, err);
	return status ? status : name_all(look, err);
}

static void free_look(struct look *look)
{
	if (look->naming)
		naming_destroy(look->naming);
	atlas_free(&look->atlas);
	free(look->awaits);
	free(look->backtraces);
	free(look->is_in_ring);
	live_free(&look->process);
}

/* ---- text ---- */

static void put_name(struct out *out, const char *name)
{
	out_char(out, '"');
	out_name(out, name, strlen(name), ESCAPE_ALL);
	out_char(out, '"');
}

static const struct live_thread *find_owner(const struct look *look, const struct await *await)
{
	for (size_t i = 0; i < look->process.thread_count; i++)
		if (look->process.threads[i].own_tid == await->owner)
			return &look->process.threads[i];
	return NULL;
}

static void put_owner(struct out *out, const struct look *look, const struct await *await)
{
	const struct live_thread *owner = find_owner(look, await);
	const char *verb = await->kind == AWAIT_JOIN ? " thread" : ", held by thread";

	if (await->readers)
		out_format(out, ", held by %u reader%s", await->readers,
			   await->readers == 1 ? "" : "s");
	if (!await->owner && await->owner_pid)
		out_format(out, ", held by process %d", await->owner_pid);
	if (!await->owner)
		return;
	out_format(out, "%s %d", verb, await->owner);
	if (owner) {
		out_char(out, ' ');
		put_name(out, owner->name);
	} else if (await->owner_pid) {
		out_format(out, " of process %d", await->owner_pid);
	} else {
		out_text(out, ", which has ended: nobody will give it back");
	}
}

static void put_age(struct out *out, uint64_t ns)
{
	uint64_t ms = ns / 1000000;

	if (!ns)
		return;
	out_text(out, ", asleep for ");
	if (ms < 1000)
		out_format(out, "%u ms", (unsigned)ms);
	else if (ms < 120000)
		out_format(out, "%u.%u s", (unsigned)(ms / 1000), (unsigned)(ms % 1000 / 100));
	else
		out_format(out, "%u min", (unsigned)(ms / 60000));
}

/* What stands between "thread 7 "name"" and its owner. */
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
		out_format(out, " %ld", thread->call);
	if (await->fd < 0)
		return;
	out_format(out, " %d (", await->fd);
	out_name(out, await->path, strlen(await->path), ESCAPE_ALL);
	out_char(out, ')');
}

static void put_lines(struct out *out, const struct look *look, size_t i)
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
}

static void put_thread(struct out *out, const struct look *look, size_t i)
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
	put_lines(out, look, i);
}

/* A lock that somebody has: what a person looks for first. */
static bool is_held_up(const struct await *await)
{
	return (await->owner || await->readers || await->owner_pid) && await->kind != AWAIT_JOIN;
}

static size_t count_held_up(const struct look *look)
{
	size_t count = 0;

	for (size_t i = 0; i < look->process.thread_count; i++)
		count += is_held_up(&look->awaits[i]);
	return count;
}

static bool is_orphaned(const struct await *await)
{
	return await->owner && await->has_ended && await->kind != AWAIT_JOIN;
}

static size_t count_orphaned(const struct look *look)
{
	size_t count = 0;

	for (size_t i = 0; i < look->process.thread_count; i++)
		count += is_orphaned(&look->awaits[i]);
	return count;
}

static void put_head(struct out *out, const struct look *look)
{
	const struct live_process *process = &look->process;

	out_name(out, process->name, strlen(process->name), ESCAPE_ALL);
	out_format(out, " (pid %d): %zu thread%s, %zu wait%s for a lock that is held\n",
		   process->pid, process->thread_count, process->thread_count == 1 ? "" : "s",
		   count_held_up(look), count_held_up(look) == 1 ? "s" : "");
	if (process->left_out)
		out_format(out, "%zu more threads were left out\n", process->left_out);
	if (look->rings)
		out_format(out, "DEADLOCK  %zu ring%s of threads that wait for each other\n",
			   look->rings, look->rings == 1 ? "" : "s");
	if (count_orphaned(look))
		out_format(out, "ORPHANED  %zu thread%s wait for what an ended thread holds\n",
			   count_orphaned(look), count_orphaned(look) == 1 ? "" : "s");
}

/* In a ring first, then behind a holder, then the rest. */
static unsigned rank(const struct look *look, size_t i)
{
	return look->is_in_ring[i] ? 0 : is_held_up(&look->awaits[i]) ? 1 : 2;
}

static void put_text(struct out *out, const struct look *look)
{
	put_head(out, look);
	for (unsigned wanted = 0; wanted < 3; wanted++)
		for (size_t i = 0; i < look->process.thread_count; i++)
			if (rank(look, i) == wanted) {
				out_char(out, '\n');
				put_thread(out, look, i);
			}
}

/* ---- JSON ---- */

static void add_number(struct json *json, const char *key, uint64_t number)
{
	json_key(json, key);
	json_unsigned(json, number);
}

static void add_text(struct json *json, const char *key, const char *text)
{
	json_key(json, key);
	json_text(json, text);
}

static void add_await(struct json *json, const struct look *look, const struct await *await)
{
	const struct live_thread *owner = find_owner(look, await);

	json_key(json, "waits_for");
	json_begin(json, '{');
	add_text(json, "kind", await_word(await->kind));
	if (await->address) {
		json_key(json, "address");
		json_hex(json, await->address);
	}
	if (await->fd >= 0) {
		add_number(json, "fd", (uint64_t)await->fd);
		add_text(json, "path", await->path);
	}
	if (await->owner) {
		add_number(json, "owner", (uint64_t)await->owner);
		add_text(json, "owner_name", owner ? owner->name : NULL);
		json_key(json, "owner_has_ended");
		json_bool(json, await->has_ended);
	}
	if (await->owner_pid)
		add_number(json, "owner_pid", (uint64_t)await->owner_pid);
	if (await->readers)
		add_number(json, "readers", await->readers);
	json_end(json);
}

static void add_thread(struct json *json, const struct look *look, size_t i)
{
	const struct live_thread *thread = &look->process.threads[i];
	struct naming_line lines[LINES_MAX];
	size_t count = naming_lines(look->naming, look->backtraces[i], lines, LINES_MAX);
	const char state[2] = { thread->state, 0 };

	json_begin(json, '{');
	add_number(json, "tid", (uint64_t)thread->own_tid);
	add_text(json, "name", thread->name);
	add_text(json, "state", state);
	json_key(json, "asleep_s");
	if (thread->asleep_ns)
		json_real(json, (double)thread->asleep_ns / 1e9);
	else
		json_null(json);
	json_key(json, "in_deadlock");
	json_bool(json, look->is_in_ring[i]);
	add_await(json, look, &look->awaits[i]);
	json_key(json, "backtrace");
	json_begin(json, '[');
	for (size_t k = 0; k < count; k++)
		json_text(json, lines[k].text);
	json_end(json);
	json_end(json);
}

static void put_json(struct out *out, const struct look *look)
{
	struct json json;

	json_start(&json, out, true);
	json_begin(&json, '{');
	add_number(&json, "pid", (uint64_t)look->process.pid);
	add_text(&json, "program", look->process.program);
	add_number(&json, "deadlocks", look->rings);
	add_number(&json, "threads_left_out", look->process.left_out);
	json_key(&json, "threads");
	json_begin(&json, '[');
	for (size_t i = 0; i < look->process.thread_count; i++)
		add_thread(&json, look, i);
	json_end(&json);
	json_end(&json);
	json_finish(&json);
}

/* ---- the command ---- */

static int take_options(struct options *options, int argc, char **argv, struct error *err)
{
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];

		if (!strcmp(word, "--format=json"))
			options->is_json = true;
		else if (!strcmp(word, "--format=text"))
			options->is_json = false;
		else if (*word && word[strspn(word, "0123456789")] == 0 && strlen(word) < 10 &&
			 !options->pid)
			options->pid = atoi(word);
		else
			return error_set(err, EINVAL,
					 "%s: one process id is needed, and --format=text or json",
					 word);
	}
	if (!options->pid)
		return error_set(err, EINVAL, "which process? holdtrace waits PID");
	return 0;
}

int live_waits(int argc, char **argv, struct error *err)
{
	struct options options = { 0 };
	struct look look = { 0 };
	struct out out;
	int status;

	if (take_options(&options, argc, argv, err))
		return LIVE_USAGE;
	if (take_look(&look, options.pid, err) || out_open(&out, STDOUT_FILENO, err)) {
		free_look(&look);
		return LIVE_FAILURE;
	}
	if (options.is_json)
		put_json(&out, &look);
	else
		put_text(&out, &look);
	status = look.rings || count_orphaned(&look) ? LIVE_FOUND : 0;
	free_look(&look);
	return out_close(&out) ? LIVE_FAILURE : status;
}
