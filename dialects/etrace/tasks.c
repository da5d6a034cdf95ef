/* SPDX-License-Identifier: MIT */
#include "dialects/etrace/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/order.h"

/* The threads that had a handle in turn. */
struct task_handle {
	const struct task_process *process;
	uint64_t pthread;
	struct task *last;
	struct task *unborn;	  /* has events, but the call that created it has not come */
	struct task_birth create; /* a creation whose thread has no events yet */
	bool has_create;
};

/* The processes that had a pid in turn. */
struct task_leader {
	uint32_t pid;
	struct task *last;
};

struct task_key {
	const struct task_process *process;
	uint64_t number;
};

void tasks_init(struct tasks *tasks)
{
	memset(tasks, 0, sizeof(*tasks));
	hash_table_init(&tasks->handles);
	hash_table_init(&tasks->leaders);
	hash_table_init(&tasks->by_tid);
	hash_table_init(&tasks->streams);
	hash_table_init(&tasks->numbers);
}

void tasks_free(struct tasks *tasks)
{
	for (struct task_process *process = tasks->processes; process; process = process->next)
		places_free(&process->places);
	hash_table_free(&tasks->handles);
	hash_table_free(&tasks->leaders);
	hash_table_free(&tasks->by_tid);
	hash_table_free(&tasks->streams);
	hash_table_free(&tasks->numbers);
	free(tasks->list.items);
	free(tasks->births.items);
	free(tasks->exits.items);
	pool_free(&tasks->pool);
}

static uint64_t hash_key(const struct hash_table *table, const struct task_key *key)
{
	return hash_two(table->seed, (uintptr_t)key->process, key->number);
}

static bool is_tid(const void *item, const void *key)
{
	const struct task *task = item;
	const struct task_key *wanted = key;

	return task->owner == wanted->process && task->tid == wanted->number;
}

static bool is_handle(const void *item, const void *key)
{
	const struct task_handle *handle = item;
	const struct task_key *wanted = key;

	return handle->process == wanted->process && handle->pthread == wanted->number;
}

static bool is_pid(const void *item, const void *key)
{
	return ((const struct task_leader *)item)->pid == *(const uint32_t *)key;
}

static bool is_stream(const void *item, const void *key)
{
	return ((const struct task_process *)item)->facts == key;
}

static bool is_number(const void *item, const void *key)
{
	const struct trace_process *facts = ((const struct task_process *)item)->facts;
	const struct trace_process *wanted = key;

	return facts->stream == wanted->stream && facts->session[0] == wanted->session[0] &&
	       facts->session[1] == wanted->session[1];
}

static struct task *new_task(struct tasks *tasks, uint32_t tid, uint64_t first_ns)
{
	struct task *task = pool_zalloc(&tasks->pool, sizeof(*task));
	struct task **place = ARRAY_ADD(&tasks->list);

	*place = task;
	task->number = (uint32_t)(tasks->list.count - 1);
	task->tid = tid;
	task->same_as = TASK_NONE;
	task->first_ns = first_ns;
	return task;
}

struct task *tasks_true(const struct tasks *tasks, uint32_t number)
{
	struct task *task = tasks->list.items[number];

	while (task->same_as != TASK_NONE)
		task = tasks->list.items[task->same_as];
	return task;
}

/* ---- births ---- */

static void tell_birth(struct tasks *tasks, const struct task_birth *birth, struct task *child)
{
	struct task_birth *place = ARRAY_ADD(&tasks->births);

	*place = *birth;
	if (!child)
		return;
	place->child = child->number;
	/*
	 * The child's first event may be earlier: clocks of two processors differ, and vfork is
	 * recorded at its return.
	 */
	if (child->first_ns && child->first_ns < place->time_ns)
		place->time_ns = child->first_ns;
	child->is_born = true;
}

static struct task_birth birth_by(const struct task *parent, const struct event *event)
{
	return (struct task_birth){ .time_ns = event->has_tail ? event->enter_ns : event->time_ns,
				    .parent = parent->number,
				    .child = TASK_NONE,
				    .cpu = event->cpu };
}

/* ---- processes ---- */

static struct task_leader *find_leader(struct tasks *tasks, uint32_t pid)
{
	uint64_t hash = hash_two(tasks->leaders.seed, pid, 0);
	struct task_leader *leader = hash_table_find(&tasks->leaders, hash, is_pid, &pid);

	if (leader)
		return leader;
	leader = pool_zalloc(&tasks->pool, sizeof(*leader));
	hash_table_add(&tasks->leaders, hash, leader);
	leader->pid = pid;
	return leader;
}

static struct task_process *process_of(const struct tasks *tasks, const uint64_t *session,
				       uint32_t stream)
{
	const struct trace_process wanted = { .session = { session[0], session[1] },
					      .stream = stream };

	return hash_table_find(&tasks->numbers,
			       hash_two(tasks->numbers.seed, session[0] ^ session[1], stream),
			       is_number, &wanted);
}

/* Finds the parent by its stream number, since a pid may have been reused. */
static struct task_process *find_parent(struct tasks *tasks, const struct trace_process *facts)
{
	struct task_leader *leader;

	if (!facts->has_tails)
		return NULL;
	if (facts->parent_stream != UINT32_MAX)
		return process_of(tasks, facts->session, facts->parent_stream);
	leader = find_leader(tasks, facts->parent_pid);
	return leader->last ? leader->last->owner : NULL;
}

static void add_number(struct tasks *tasks, struct task_process *process)
{
	const struct trace_process *facts = process->facts;

	if (!facts->has_tails || process_of(tasks, facts->session, facts->stream))
		return;
	hash_table_add(
		&tasks->numbers,
		hash_two(tasks->numbers.seed, facts->session[0] ^ facts->session[1], facts->stream),
		process);
}

static void adopt(struct tasks *tasks, struct task *task, struct task_process *process)
{
	struct task_key key = { task->owner, task->tid };

	if (task->owner)
		hash_table_remove(&tasks->by_tid, hash_key(&tasks->by_tid, &key), task);
	task->owner = process;
	task->next = process->tasks;
	process->tasks = task;
	key.process = process;
	hash_table_add(&tasks->by_tid, hash_key(&tasks->by_tid, &key), task);
}

/* The first task: from a recorded fork, continued after an exec, or new. */
static void begin_leader(struct tasks *tasks, struct task_process *process, uint64_t first_ns)
{
	const struct trace_process *facts = process->facts;
	struct task_leader *slot = find_leader(tasks, facts->pid);
	struct task_process *parent = find_parent(tasks, facts);
	struct task *task = slot->last;

	if (!task || task->has_ended) {
		task = new_task(tasks, facts->pid, first_ns);
		task->parent = parent ? parent->leader : NULL;
		slot->last = task;
	}
	if (!task->first_ns)
		task->first_ns = first_ns;
	task->is_leader = true;
	process->leader = task;
	if (parent)
		places_copy(&process->places, &parent->places);
	adopt(tasks, task, process);
}

static struct task_process *begin_process(struct tasks *tasks, const struct event *event,
					  uint64_t hash)
{
	struct task_process *process = pool_zalloc(&tasks->pool, sizeof(*process));
	uint64_t first_ns = event_is_call(event)	? event->time_ns
			    : event->process->has_tails ? event->process->start_ns
							: 0;

	hash_table_add(&tasks->streams, hash, process);
	process->facts = event->process;
	process->next = tasks->processes;
	tasks->processes = process;
	begin_leader(tasks, process, first_ns);
	add_number(tasks, process);
	return process;
}

struct task_process *tasks_process(struct tasks *tasks, const struct event *event)
{
	struct task_process *process = tasks->last_process;
	uint64_t hash;

	if (process && process->facts == event->process)
		return process;
	hash = hash_two(tasks->streams.seed, (uintptr_t)event->process, 0);
	process = hash_table_find(&tasks->streams, hash, is_stream, event->process);
	if (!process)
		process = begin_process(tasks, event, hash);
	tasks->last_process = process;
	tasks->last_task = NULL;
	return process;
}

/* ---- threads ---- */

static struct task_handle *find_handle(struct tasks *tasks, const struct task_process *process,
				       uint64_t pthread)
{
	struct task_key key = { process, pthread };
	uint64_t hash = hash_key(&tasks->handles, &key);
	struct task_handle *handle = hash_table_find(&tasks->handles, hash, is_handle, &key);

	if (handle)
		return handle;
	handle = pool_zalloc(&tasks->pool, sizeof(*handle));
	hash_table_add(&tasks->handles, hash, handle);
	handle->process = process;
	handle->pthread = pthread;
	return handle;
}

/* Gives a thread its handle, at its first event. */
static void take_handle(struct tasks *tasks, struct task *task, uint64_t pthread)
{
	struct task_handle *handle = find_handle(tasks, task->owner, pthread);

	task->pthread = pthread;
	handle->last = task;
	if (task->is_leader)
		return;
	if (!handle->has_create) {
		handle->unborn = task;
		return;
	}
	handle->has_create = false;
	tell_birth(tasks, &handle->create, task);
}

static struct task *begin_thread(struct tasks *tasks, struct task_process *process,
				 const struct event *event, uint32_t tid)
{
	struct task *task = new_task(tasks, tid, event->time_ns);

	adopt(tasks, task, process);
	task->parent = process->leader;
	return task;
}

static struct task *vfork_child(struct tasks *tasks, struct task *parent, const struct event *event)
{
	if (!parent->vfork_child)
		parent->vfork_child = new_task(tasks, 0, event->time_ns);
	return parent->vfork_child;
}

struct task *tasks_of(struct tasks *tasks, struct task_process *process, const struct event *event)
{
	uint32_t tid = event->thread ? event->thread : process->facts->pid;
	struct task_key key = { process, tid };
	struct task *task = tasks->last_task;

	if (!task || task->tid != tid)
		task = hash_table_find(&tasks->by_tid, hash_key(&tasks->by_tid, &key), is_tid,
				       &key);
	if (!task)
		task = begin_thread(tasks, process, event, tid);
	if (event->pthread && event->pthread != task->pthread)
		take_handle(tasks, task, event->pthread);
	tasks->last_task = task;
	return event->flags & CALL_OF_CHILD ? vfork_child(tasks, task, event) : task;
}

static struct task_handle *known_handle(const struct tasks *tasks,
					const struct task_process *process, uint64_t pthread)
{
	struct task_key key = { process, pthread };

	return hash_table_find(&tasks->handles, hash_key(&tasks->handles, &key), is_handle, &key);
}

struct task *tasks_by_handle(const struct tasks *tasks, const struct task_process *process,
			     uint64_t pthread)
{
	struct task_handle *handle = known_handle(tasks, process, pthread);

	return handle ? handle->last : NULL;
}

struct task *tasks_joined(struct tasks *tasks, struct task_process *process, uint64_t pthread)
{
	struct task_handle *handle = known_handle(tasks, process, pthread);
	struct task *task = handle && !handle->has_create ? handle->last : NULL;

	/* The thread made no hooked calls; the next one with this handle is another. */
	if (handle)
		handle->has_create = false;
	if (!task || task->has_ended || task->is_leader)
		return NULL;
	tasks_end(tasks, task);
	return task;
}

void tasks_end(struct tasks *tasks, struct task *task)
{
	struct task_key key = { task->owner, task->tid };

	if (task->has_ended)
		return;
	task->has_ended = true;
	if (task->owner)
		hash_table_remove(&tasks->by_tid, hash_key(&tasks->by_tid, &key), task);
	tasks->last_task = NULL;
}

/* glibc's pthread_create: VM FS FILES SIGHAND THREAD SYSVSEM SETTLS PARENT_SETTID CHILD_CLEARTID */
#define CLONE_FLAGS_PTHREAD 4001536u

void tasks_cloned(struct tasks *tasks, struct task *parent, const struct event *event)
{
	struct task_birth birth = birth_by(parent, event);
	struct task_handle *handle;

	birth.has_flags = true;
	birth.flags = CLONE_FLAGS_PTHREAD;
	birth.has_failed = event->flags & CALL_FAILED;
	if (birth.has_failed) {
		tell_birth(tasks, &birth, NULL);
		return;
	}
	handle = find_handle(tasks, tasks->last_process, event->object);
	if (handle->unborn && handle->unborn->first_ns >= birth.time_ns) {
		tell_birth(tasks, &birth, handle->unborn);
		handle->unborn = NULL;
	} else {
		handle->create = birth;
		handle->has_create = true;
	}
}

/*
 * Merges the calls of vfork's child before its number was known; its stream may have started by
 * now.
 */
static void name_vfork_child(struct task *parent, struct task *child)
{
	struct task *nameless = parent->vfork_child;

	parent->vfork_child = NULL;
	if (!nameless)
		return;
	nameless->same_as = child->number;
	if (!child->first_ns || nameless->first_ns < child->first_ns)
		child->first_ns = nameless->first_ns;
	child->has_ended |= nameless->has_ended;
	if (nameless->has_exit) {
		task_exits(child, nameless->exit_ns, nameless->status, nameless->exit_cpu);
		nameless->has_exit = false;
	}
	if (child->last_ns < nameless->last_ns)
		child->last_ns = nameless->last_ns;
}

void tasks_forked(struct tasks *tasks, struct task *parent, const struct event *event,
		  int64_t flags)
{
	struct task_birth birth = birth_by(parent, event);
	struct task_leader *slot = find_leader(tasks, (uint32_t)event->object);
	struct task *child = slot->last;
	/* vfork is recorded at its return, when its child may already have ended. */
	uint64_t since_ns = strcmp(event->function->name, "vfork") ? birth.time_ns : 0;

	birth.has_flags = flags >= 0;
	birth.flags = (uint32_t)flags;
	birth.has_failed = event->flags & CALL_FAILED;
	if (birth.has_failed) {
		tell_birth(tasks, &birth, NULL);
		return;
	}
	if (!child || child->is_born || (child->has_ended && child->first_ns < since_ns))
		child = slot->last = new_task(tasks, slot->pid, 0);
	name_vfork_child(parent, child);
	tell_birth(tasks, &birth, child);
}

/* ---- the end ---- */

void task_exits(struct task *task, uint64_t time_ns, uint64_t status, uint32_t cpu)
{
	if (task->end_ns && task->end_ns < time_ns)
		time_ns = task->end_ns;
	if (!task->has_exit || time_ns < task->exit_ns)
		task->exit_ns = time_ns;
	task->has_exit = true;
	task->status = status;
	task->exit_cpu = cpu;
}

struct task *tasks_waited(struct tasks *tasks, uint32_t pid, uint64_t time_ns)
{
	struct task_leader *slot = find_leader(tasks, pid);
	struct task *child = slot->last;

	if (!child)
		return NULL;
	if (!child->end_ns || time_ns < child->end_ns)
		child->end_ns = time_ns;
	if (child->has_exit && time_ns < child->exit_ns)
		child->exit_ns = time_ns;
	return child->owner || child->has_exit || child->has_ended ? NULL : child;
}

static int compare_exits(const void *one, const void *two)
{
	const struct task_exit *a = one, *b = two;

	return ORDER(a->time_ns, b->time_ns) ?: ORDER(a->task, b->task);
}

/* Lists exits; no exit is earlier than the task's last event. */
static void list_exits(struct tasks *tasks)
{
	for (size_t i = 0; i < tasks->list.count; i++) {
		const struct task *task = tasks->list.items[i];
		struct task_exit *place;

		if (!task->has_exit || task->same_as != TASK_NONE)
			continue;
		place = ARRAY_ADD(&tasks->exits);
		*place = (struct task_exit){ .time_ns = task->exit_ns > task->last_ns
								? task->exit_ns
								: task->last_ns,
					     .status = task->status,
					     .task = task->number,
					     .cpu = task->exit_cpu };
	}
	if (tasks->exits.count)
		qsort(tasks->exits.items, tasks->exits.count, sizeof(*tasks->exits.items),
		      compare_exits);
}

static int compare_births(const void *one, const void *two)
{
	const struct task_birth *a = one, *b = two;

	return ORDER(a->time_ns, b->time_ns) ?: ORDER(a->child, b->child);
}

void tasks_finish(struct tasks *tasks)
{
	for (size_t i = 0; i < tasks->list.count; i++) {
		struct task *task = tasks->list.items[i];
		struct task_birth birth = { .time_ns = task->first_ns, .cpu = UINT32_MAX };

		if (task->is_born || !task->parent || task->same_as != TASK_NONE)
			continue;
		birth.parent = task->parent->number;
		tell_birth(tasks, &birth, task);
	}
	if (tasks->births.count)
		qsort(tasks->births.items, tasks->births.count, sizeof(*tasks->births.items),
		      compare_births);
	list_exits(tasks);
}
