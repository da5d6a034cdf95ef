/* SPDX-License-Identifier: MIT */
#include "dialects/etrace/etrace.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/order.h"

/*
 * The kinds of keys in the index. OF_TID and OF_HANDLE are different kinds for each process: see
 * kind_of().
 */
enum { OF_STREAM, OF_NUMBER, OF_PID, OF_TID, OF_HANDLE, KIND_COUNT };

void tasks_init(struct tasks *tasks)
{
	memset(tasks, 0, sizeof(*tasks));
	map_init(&tasks->index);
}

void tasks_free(struct tasks *tasks)
{
	for (size_t i = 0; i < tasks->processes.count; i++)
		places_free(&tasks->processes.items[i]->places);
	map_clear(&tasks->index);
	free(tasks->processes.items);
	free(tasks->handles.items);
	free(tasks->list.items);
	free(tasks->births.items);
	free(tasks->exits.items);
	pool_free(&tasks->pool);
}

static struct task *task_at(const struct tasks *tasks, uint32_t kind, uint64_t key)
{
	uint32_t number = map_get(&tasks->index, kind, key);

	return number ? tasks->list.items[number - 1] : NULL;
}

/* Returns the kind of key for the tids (OF_TID) or the handles (OF_HANDLE) of one process. */
static uint32_t kind_of(const struct task_process *process, uint32_t kind)
{
	return process->number * KIND_COUNT + kind;
}

static struct task *new_task(struct tasks *tasks, uint32_t tid, uint64_t first_ns)
{
	struct task *task = pool_zalloc(&tasks->pool, sizeof(*task));

	*ARRAY_ADD(&tasks->list) = task;
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
	 * The child's first event may seem earlier than the call: vfork is recorded at its return,
	 * and the clocks of two processors differ.
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

static uint64_t number_key(const uint64_t *session, uint32_t stream)
{
	return hash_two(0, session[0] ^ session[1], stream);
}

/* Finds the parent process by its stream number, because its pid may have been reused. */
static struct task_process *find_parent(struct tasks *tasks, const struct trace_process *facts)
{
	struct task_process *parent;
	uint32_t number;

	if (!facts->has_tails)
		return NULL;
	if (facts->parent_stream == UINT32_MAX) {
		const struct task *leader = task_at(tasks, OF_PID, facts->parent_pid);

		return leader ? leader->owner : NULL;
	}
	number =
		map_get(&tasks->index, OF_NUMBER, number_key(facts->session, facts->parent_stream));
	parent = number ? tasks->processes.items[number - 1] : NULL;
	return parent && !memcmp(parent->facts->session, facts->session, sizeof(facts->session)) &&
			       parent->facts->stream == facts->parent_stream
		       ? parent
		       : NULL;
}

static void adopt_task(struct tasks *tasks, struct task *task, struct task_process *process)
{
	if (task->owner)
		map_set(&tasks->index, kind_of(task->owner, OF_TID), task->tid, 0);
	task->owner = process;
	task->next = process->tasks;
	process->tasks = task;
	map_set(&tasks->index, kind_of(process, OF_TID), task->tid, task->number + 1);
}

static struct task_process *begin_process(struct tasks *tasks, const struct event *event)
{
	const struct trace_process *facts = event->process;
	struct task_process *process = pool_zalloc(&tasks->pool, sizeof(*process));
	struct task_process *parent;
	struct map_entry *entry;
	uint64_t first_ns;
	struct task *task;

	*ARRAY_ADD(&tasks->processes) = process;
	process->number = (uint32_t)tasks->processes.count;
	process->facts = facts;
	map_set(&tasks->index, OF_STREAM, (uintptr_t)facts, process->number);
	first_ns = event_is_call(event) ? event->time_ns : facts->has_tails ? facts->start_ns : 0;
	parent = find_parent(tasks, facts);
	/* find the child of a recorded fork or the task that called exec, or add a task */
	task = task_at(tasks, OF_PID, facts->pid);
	if (!task || task->has_ended) {
		task = new_task(tasks, facts->pid, first_ns);
		task->parent = parent ? parent->leader : NULL;
		map_set(&tasks->index, OF_PID, facts->pid, task->number + 1);
	}
	if (!task->first_ns)
		task->first_ns = first_ns;
	task->is_leader = true;
	process->leader = task;
	if (parent)
		places_copy(&process->places, &parent->places);
	adopt_task(tasks, task, process);
	if (!facts->has_tails)
		return process;
	entry = map_put(&tasks->index, OF_NUMBER, number_key(facts->session, facts->stream));
	if (!entry->value)
		entry->value = process->number;
	return process;
}

struct task_process *tasks_process(struct tasks *tasks, const struct event *event)
{
	uint32_t number;

	if (tasks->last_process && tasks->last_process->facts == event->process)
		return tasks->last_process;
	number = map_get(&tasks->index, OF_STREAM, (uintptr_t)event->process);
	tasks->last_process =
		number ? tasks->processes.items[number - 1] : begin_process(tasks, event);
	tasks->last_task = NULL;
	return tasks->last_process;
}

/* ---- threads ---- */

/*
 * Returns the entry of a handle, and adds the entry if necessary. The pointer is valid until the
 * next call.
 */
static struct task_handle *find_handle(struct tasks *tasks, const struct task_process *process,
				       uint64_t pthread)
{
	struct map_entry *entry = map_put(&tasks->index, kind_of(process, OF_HANDLE), pthread);

	if (!entry->value)
		entry->value = ARRAY_NUMBER(&tasks->handles);
	return &tasks->handles.items[entry->value];
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
	struct task *task = tasks->last_task;

	if (!task || task->tid != tid)
		task = task_at(tasks, kind_of(process, OF_TID), tid);
	if (!task) {
		task = new_task(tasks, tid, event->time_ns);
		adopt_task(tasks, task, process);
		task->parent = process->leader;
	}
	if (event->pthread && event->pthread != task->pthread) {
		/* the first event of the thread */
		struct task_handle *handle = find_handle(tasks, task->owner, event->pthread);

		task->pthread = event->pthread;
		handle->last = task;
		if (!task->is_leader && !handle->has_create) {
			handle->unborn = task;
		} else if (!task->is_leader) {
			handle->has_create = false;
			tell_birth(tasks, &handle->create, task);
		}
	}
	tasks->last_task = task;
	return event->flags & CALL_OF_CHILD ? vfork_child(tasks, task, event) : task;
}

static struct task_handle *known_handle(const struct tasks *tasks,
					const struct task_process *process, uint64_t pthread)
{
	uint32_t number = map_get(&tasks->index, kind_of(process, OF_HANDLE), pthread);

	return number ? &tasks->handles.items[number] : NULL;
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

	/* forget the unused creation: a later thread with this handle is another thread */
	if (handle)
		handle->has_create = false;
	if (!task || task->has_ended || task->is_leader)
		return NULL;
	tasks_end(tasks, task);
	return task;
}

void tasks_end(struct tasks *tasks, struct task *task)
{
	if (task->has_ended)
		return;
	task->has_ended = true;
	if (task->owner)
		map_set(&tasks->index, kind_of(task->owner, OF_TID), task->tid, 0);
	tasks->last_task = NULL;
}

/*
 * the flags of glibc's pthread_create: VM FS FILES SIGHAND THREAD SYSVSEM SETTLS PARENT_SETTID
 * CHILD_CLEARTID
 */
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
 * Merges two tasks that are the same child of vfork: parent->vfork_child, which got the child's
 * calls while the child's pid was unknown, and `child`, whose stream may have started by now.
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
	uint32_t pid = (uint32_t)event->object;
	struct task *child = task_at(tasks, OF_PID, pid);
	/* vfork is recorded when it returns; by then, the child may have ended */
	uint64_t since_ns = strcmp(event->function->name, "vfork") ? birth.time_ns : 0;

	birth.has_flags = flags >= 0;
	birth.flags = (uint32_t)flags;
	birth.has_failed = event->flags & CALL_FAILED;
	if (birth.has_failed) {
		tell_birth(tasks, &birth, NULL);
		return;
	}
	if (!child || child->is_born || (child->has_ended && child->first_ns < since_ns)) {
		child = new_task(tasks, pid, 0);
		map_set(&tasks->index, OF_PID, pid, child->number + 1);
	}
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
	struct task *child = task_at(tasks, OF_PID, pid);

	if (!child)
		return NULL;
	if (!child->end_ns || time_ns < child->end_ns)
		child->end_ns = time_ns;
	if (child->has_exit && time_ns < child->exit_ns)
		child->exit_ns = time_ns;
	return child->owner || child->has_exit || child->has_ended ? NULL : child;
}

ORDER_FUNCTION(compare_exits, struct task_exit,
	       ORDER(a->time_ns, b->time_ns) ?: ORDER(a->task, b->task))

ORDER_FUNCTION(compare_births, struct task_birth,
	       ORDER(a->time_ns, b->time_ns) ?: ORDER(a->child, b->child))

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
	ARRAY_SORT(&tasks->births, compare_births);
	for (size_t i = 0; i < tasks->list.count; i++) {
		const struct task *task = tasks->list.items[i];

		if (!task->has_exit || task->same_as != TASK_NONE)
			continue;
		*ARRAY_ADD(&tasks->exits) = (struct task_exit){
			.time_ns = task->exit_ns > task->last_ns ? task->exit_ns : task->last_ns,
			.status = task->status,
			.task = task->number,
			.cpu = task->exit_cpu
		};
	}
	ARRAY_SORT(&tasks->exits, compare_exits);
}
