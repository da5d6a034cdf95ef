/* SPDX-License-Identifier: MIT */
#include "live/look.h"

#include "arena.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/human.h"
#include "base/memory.h"
#include "base/order.h"
#include "naming/waiters.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * find_awaits() infers which threads may hold a lock that does not store its owner: a lock that
 * uses a futex and does not belong to pthread. A thread that holds a lock usually has the lock's
 * address on its stack, because it needs the address to release the lock. But a thread that only
 * uses the lock may have the address there, too. And the holder of a lock at a constant address may
 * not have it. The stacks of running threads are not searched.
 */

/* The address of a lock, which search_stack() looks for on the stacks of other threads. */
struct sought {
	uint64_t address;
	size_t waiter; /* index of the thread that waits */
};

ORDER_FUNCTION(compare_sought, struct sought, ORDER(a->address, b->address))

/* Whether thread `other` holds, or may hold, the lock that `await` waits for. */
static bool is_for(const struct await *await, const struct live_thread *other)
{
	for (size_t i = 0; i < await->may_hold_count && i < AWAIT_MAY_HOLD_MAX; i++)
		if (await->may_hold[i] == other->own_tid)
			return true;
	return await->owner && await->owner == other->own_tid;
}

/* Adds the thread to the possible holders of each lock whose address is on its stack. */
static void search_stack(const struct live_thread *thread, struct await *awaits,
			 const struct await *own, const struct sought *sought, size_t count)
{
	const struct subject_stack *stack = &thread->start.stack;
	uint64_t first = sought[0].address, range = sought[count - 1].address - first;
	size_t last = SIZE_MAX; /* the waiter found last; a stack may repeat the same word */

	for (size_t at = (8 - stack->from % 8) % 8; at + 8 <= stack->size; at += 8) {
		uint64_t word;

		memcpy(&word, stack->bytes + at, sizeof(word));
		if (word - first > range)
			continue;
		for (size_t i = ARRAY_SEARCH(count, k, sought[k].address < word);
		     i < count && sought[i].address == word; i++) {
			struct await *await = &awaits[sought[i].waiter];

			if (sought[i].waiter == last || await == own ||
			    (own->kind == AWAIT_FUTEX && own->address == await->address))
				continue;
			last = sought[i].waiter;
			if (is_for(await, thread))
				continue;
			if (await->may_hold_count < AWAIT_MAY_HOLD_MAX)
				await->may_hold[await->may_hold_count] = thread->own_tid;
			await->may_hold_count++;
		}
	}
}

/* ---- cycles ---- */

/*
 * Finds threads that wait for each other in cycles, without a time limit, if the known and inferred
 * owners are right. Sets in_cycle[i] for each such thread i. The threads are not certainly
 * deadlocked, because a thread outside the cycle may hold one of the cycle's locks instead. Returns
 * whether there are any.
 */
static bool holders_find_cycles(const struct live_process *process, const struct await *awaits,
				bool *in_cycle)
{
	size_t count = 0;
	bool has_changed = true;

	for (size_t i = 0; i < process->thread_count; i++) {
		in_cycle[i] = !awaits[i].has_limit && awaits[i].kind >= AWAIT_MUTEX &&
			      awaits[i].kind <= AWAIT_FUTEX &&
			      awaits[i].may_hold_count <= AWAIT_MAY_HOLD_MAX &&
			      (awaits[i].owner || awaits[i].may_hold_count);
		count += in_cycle[i];
	}
	while (has_changed && count) {
		has_changed = false;
		for (size_t i = 0; i < process->thread_count; i++) {
			bool waits = false, is_waited_for = false;

			/* keep thread i if it waits for a kept thread and is waited for by one */
			for (size_t k = 0; in_cycle[i] && k < process->thread_count; k++) {
				waits |= in_cycle[k] && is_for(&awaits[i], &process->threads[k]);
				is_waited_for |=
					in_cycle[k] && is_for(&awaits[k], &process->threads[i]);
			}
			if (!in_cycle[i] || (waits && is_waited_for))
				continue;
			in_cycle[i] = false;
			has_changed = true;
			count--;
		}
	}
	return count;
}

#define SYMBOLS_MAX 12	      /* frames that are searched for the public function that waits */
#define SETTLE_NS   100000000 /* a cycle is a deadlock if none of its threads runs in this time */

/* Whether the path is that of a C library, in any version. */
static bool is_libc(const char *path)
{
	static const char *const starts[] = { "libc.so.6", "libc-2.", "libpthread",
					      "libholdtrace.so" };
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : path;

	for (size_t i = 0; name && i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/*
 * Describes the waits of all threads. Uses only the names of libc's functions, because the program
 * may have functions of its own with the same names.
 */
static void find_awaits(struct look *look)
{
	const struct live_process *process = &look->process;
	struct naming_symbol symbols[SYMBOLS_MAX];
	const char *names[SYMBOLS_MAX];
	cleanup_free struct sought *sought =
		memory_zalloc(2 * process->thread_count + 1, sizeof(*sought));
	size_t sought_count = 0;

	for (size_t i = 0; i < look->process.subject.maps.count; i++)
		look->process.is_glibc |= is_libc(look->process.subject.maps.items[i].path);
	for (size_t i = 0; i < look->process.thread_count; i++) {
		size_t count =
			naming_symbols(look->naming, look->backtraces[i], symbols, SYMBOLS_MAX);
		size_t used = 0;

		while (used < count && used < SYMBOLS_MAX && is_libc(symbols[used].module)) {
			names[used] = symbols[used].function;
			used++;
		}
		await_find(&look->awaits[i], &look->process, &look->process.threads[i], names,
			   used);
		if (look->awaits[i].kind == AWAIT_FUTEX)
			look->awaits[i].futex = waiters_kind(look->naming, look->backtraces[i]);
	}
	live_python_read(&look->process, &look->space, look->awaits, look->python, look->holds_gil);
	/* infer from the copied stacks which threads may hold the locks that store no owner */
	for (size_t i = 0; i < process->thread_count; i++) {
		const struct await *await = &look->awaits[i];

		if (await->kind != AWAIT_FUTEX || !await->address || !waiters_is_lock(await->futex))
			continue;
		sought[sought_count++] = (struct sought){ await->address, i };
		/* Rust's RwLock: writers wait for the second 4-byte word of the lock */
		if (!strcmp(await->futex, "rwlock"))
			sought[sought_count++] = (struct sought){ await->address - 4, i };
	}
	qsort(sought, sought_count, sizeof(*sought), compare_sought);
	for (size_t i = 0; sought_count && i < process->thread_count; i++)
		if (process->threads[i].start.stack.bytes)
			search_stack(&process->threads[i], look->awaits, &look->awaits[i], sought,
				     sought_count);
}

static void find_rings(struct look *look, bool stopped)
{
	int pid = look->process.subject.pid;
	size_t count = look->process.thread_count;
	struct file_ring first, now;
	cleanup_free size_t *ring = memory_zalloc(count, sizeof(*ring));
	bool may_be = holders_find_cycles(&look->process, look->awaits, look->is_inferred);

	/* wait until the threads that were stopped are asleep again */
	if (stopped)
		nanosleep(&(struct timespec){ .tv_nsec = SETTLE_NS / 10 }, NULL);
	file_locks_find_owners(&look->process, look->awaits, stopped);
	/*
	 * Search twice for a cycle of processes that wait for file locks. The cycle is a deadlock
	 * if none of its processes has run between the two searches.
	 */
	if (stopped && count == 1 && look->awaits[0].kind == AWAIT_FILE_LOCK &&
	    file_ring_find(&first, pid)) {
		nanosleep(&(struct timespec){ .tv_nsec = SETTLE_NS }, NULL);
		if (file_ring_find(&now, pid) && !memcmp(&first, &now, sizeof(first))) {
			look->file_ring = now;
			look->is_in_ring[0] = true;
			look->rings = 1;
		}
	}
	for (size_t i = 0; i < count; i++)
		may_be |= await_ring(&look->process, look->awaits, i, ring, count) > 0;
	/* read the context switches again, because stopping a thread may have woken it */
	for (size_t i = 0; may_be && i < count; i++)
		live_read_status(look->process.subject.pid, &look->process.threads[i]);
	if (may_be)
		nanosleep(&(struct timespec){ .tv_nsec = SETTLE_NS }, NULL);
	for (size_t i = 0; may_be && i < count; i++) {
		size_t length = await_ring(&look->process, look->awaits, i, ring, count);
		bool stands = length > 0;

		/*
		 * Count each cycle once, at its thread with the lowest index, and only if none of
		 * its threads has run. Threads that wait for the GIL are not checked, because they
		 * wake every 5 ms. They cannot get the GIL while its holder, a thread of the same
		 * cycle, is blocked.
		 */
		for (size_t k = 0; stands && k < length; k++)
			stands = ring[k] >= ring[0] &&
				 (look->awaits[ring[k]].kind == AWAIT_GIL ||
				  live_is_unmoved(look->process.subject.pid,
						  &look->process.threads[ring[k]]));
		look->rings += stands;
		for (size_t k = 0; stands && k < length; k++)
			look->is_in_ring[ring[k]] = true;
	}

	/*
	 * discard the inferred cycles if one of their threads has run since the cycles were found,
	 * or if none of their owners is inferred
	 */
	bool is_inferred = false;

	for (size_t i = 0; i < look->process.thread_count; i++) {
		look->is_inferred[i] &= !look->is_in_ring[i];
		look->inferred += look->is_inferred[i];
		is_inferred |= look->is_inferred[i] && look->awaits[i].may_hold_count;
	}
	for (size_t i = 0; is_inferred && i < look->process.thread_count; i++)
		is_inferred = !look->is_inferred[i] ||
			      live_is_unmoved(look->process.subject.pid, &look->process.threads[i]);
	if (is_inferred)
		return;
	look->inferred = 0;
	memset(look->is_inferred, 0, look->process.thread_count * sizeof(*look->is_inferred));
}

static int name_all(struct look *look, bool stops, struct error *err)
{
	size_t count = look->process.thread_count;
	int status;

	look->awaits = memory_zalloc(count, sizeof(*look->awaits));
	look->backtraces = memory_zalloc(count, sizeof(*look->backtraces));
	look->python = memory_zalloc(count, sizeof(*look->python));
	look->holds_gil = memory_zalloc(count, sizeof(*look->holds_gil));
	look->is_in_ring = memory_zalloc(count, sizeof(*look->is_in_ring));
	look->is_inferred = memory_zalloc(count, sizeof(*look->is_inferred));
	look->files.root = look->process.root;

	const struct live_process *process = &look->process;

	space_begin_process(&look->space);
	if (process->program)
		space_add_program(&look->space, process->program);
	for (size_t i = 0; i < process->subject.maps.count; i++) {
		const struct mapping *mapping = &process->subject.maps.items[i];
		const struct trace_mapping module = {
			.from = maps_base(&process->subject.maps, mapping),
			.to = mapping->to,
			.path = mapping->path,
			.has_tail = true,
			.code = mapping->from,
			.offset = mapping->offset,
			.build_id = "",
		};

		if (*mapping->path == '/' && mapping->flags & MAPPING_EXECUTE)
			space_map(&look->space, &module);
	}
	status = naming_create(&look->naming, &look->space, &look->files, err);
	if (status)
		return status;
	for (size_t i = 0; i < count; i++) {
		const struct live_thread *thread = &look->process.threads[i];

		look->backtraces[i] =
			space_frames(&look->space, thread->frames, thread->frame_count, UINT64_MAX);
		naming_expect(look->naming, look->backtraces[i]);
	}
	find_awaits(look);
	find_rings(look, stops);
	return 0;
}

int look_take(struct look *look, int pid, bool stops, struct error *err)
{
	int status;

	*look = (struct look){ 0 };
	space_init(&look->space);
	status = live_look(&look->process, pid, err);
	if (status)
		return status;
	live_read_stacks(&look->process, false);
	status = live_unwind(&look->process, err);
	/* without registers, the stack of a function that uses a frame pointer cannot be walked */
	if (!status && stops && live_read_stacks(&look->process, true))
		status = live_unwind(&look->process, err);
	return status ? status : name_all(look, stops, err);
}

void look_free(struct look *look)
{
	if (look->naming)
		naming_destroy(look->naming);
	space_free(&look->space);
	free(look->awaits);
	free(look->backtraces);
	free(look->python);
	free(look->holds_gil);
	free(look->is_in_ring);
	free(look->is_inferred);
	live_free(&look->process);
}

bool look_is_held_up(const struct await *await)
{
	if (await->kind == AWAIT_FUTEX)
		return await->may_hold_count || !strcmp(await->futex, "mutex") ||
		       !strcmp(await->futex, "rwlock");
	return (await->owner || await->readers || await->kind == AWAIT_FILE_LOCK) &&
	       await->kind != AWAIT_JOIN;
}

bool look_is_orphaned(const struct await *await)
{
	return await->owner && await->has_ended && await->kind != AWAIT_JOIN;
}

size_t look_count(const struct look *look, bool (*is_one)(const struct await *await))
{
	size_t count = 0;

	for (size_t i = 0; i < look->process.thread_count; i++)
		count += is_one(&look->awaits[i]);
	return count;
}

const struct live_thread *look_owner(const struct look *look, const struct await *await)
{
	for (size_t i = 0; i < look->process.thread_count; i++)
		if (look->process.threads[i].own_tid == await->owner)
			return &look->process.threads[i];
	return NULL;
}

bool look_is_traced(const struct look *look)
{
	for (size_t i = 0; i < look->process.subject.maps.count; i++)
		if (strstr(look->process.subject.maps.items[i].path, "/memfd:" CONTROL_NAME))
			return true;
	return false;
}

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
	size_t count = await->kind == AWAIT_FUTEX ? await->may_hold_count : 0, shown = 0;
	const struct trace_node *python;
	struct naming_line line;
	size_t length;

	if (await->kind == AWAIT_FUTEX && !count && look_is_held_up(await))
		out_text(out, ", holder unknown");
	for (; shown < count && shown < AWAIT_MAY_HOLD_MAX; shown++) {
		const struct await one = { .owner = await->may_hold[shown] };
		const struct live_thread *thread = look_owner(look, &one);

		out_format(out, "%s thread %d ", shown ? " or" : ", which", one.owner);
		put_name(out, thread ? thread->name : "");
	}
	if (count > shown)
		out_format(out, " or %zu other%s", count - shown, count - shown == 1 ? "" : "s");
	if (count)
		out_text(out, " may hold");
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
		python = look->python[owner - look->process.threads];
		if (python && naming_site(look->naming, python, &line, 1, &length)) {
			out_text(out, " at ");
			out_name(out, line.text, strlen(line.text), ESCAPE_ALL);
		}
	} else if (await->is_elsewhere) {
		out_text(out, " of another process");
	} else if (await->owner_pid) {
		out_format(out, " of process %d", await->owner_pid);
	} else {
		out_text(out, ", which has ended: the lock will never be released");
	}
}

static void put_lines(struct out *out, const struct look *look, const struct trace_node *backtrace)
{
	struct naming_line lines[LINES_MAX];
	size_t count = naming_lines(look->naming, backtrace, lines, LINES_MAX);

	for (size_t k = 0; k < count; k++) {
		out_text(out, "    ");
		out_name(out, lines[k].text, strlen(lines[k].text), ESCAPE_ALL);
		if (lines[k].times > 1)
			out_format(out, " (%u times)", lines[k].times);
		out_char(out, '\n');
	}
}

void look_put_backtrace(struct out *out, const struct look *look, size_t i)
{
	if (look->python[i]) {
		put_lines(out, look, look->python[i]);
		out_text(out, "  in C:\n");
	}
	put_lines(out, look, look->backtraces[i]);
	if (look->process.threads[i].objection)
		out_format(out,
			   "    (may be incomplete: the thread was not stopped, because it is in "
			   "%s)\n",
			   look->process.threads[i].objection);
}

void look_put_thread(struct out *out, const struct look *look, size_t i)
{
	struct human human;
	const struct live_thread *thread = &look->process.threads[i];
	const struct await *await = &look->awaits[i];

	out_format(out, "thread %d ", thread->own_tid);
	put_name(out, thread->name);
	out_char(out, ' ');
	if (await->kind == AWAIT_NOTHING && thread->state != 'R')
		out_format(out, "is in state %c", thread->state);
	else
		out_text(out, await_text(await->kind));
	if (await->address)
		out_format(out, " 0x%llx", (unsigned long long)await->address);
	if (await->kind == AWAIT_FUTEX && strcmp(await->futex, "futex") != 0)
		out_format(out, " of a %s", await->futex);
	if (await->kind == AWAIT_CALL)
		out_format(out, " %lld", (long long)thread->call.number);
	if (await->fd >= 0) {
		out_format(out, " %d (", await->fd);
		out_name(out, await->path, strlen(await->path), ESCAPE_ALL);
		out_char(out, ')');
	}
	if (await->kind == AWAIT_OPEN) {
		out_char(out, ' ');
		out_name(out, await->path, strlen(await->path), ESCAPE_ALL);
	}
	put_owner(out, look, await);
	if (look->holds_gil[i])
		out_text(out, ", holds the GIL of Python");
	if (thread->asleep_ns)
		out_format(out, ", asleep for %s", human_time(&human, thread->asleep_ns));
	out_char(out, '\n');
}
