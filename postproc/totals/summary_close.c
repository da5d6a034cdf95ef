/* SPDX-License-Identifier: MIT */
/* The second part of the summary: its sums at the end of a process and at the end of the run. */
#include <stdlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"
#include "hook_table.h"
#include "account/ledger.h"
#include "allocators.h"
#include "selection.h"
#include "summary_fold.h"

/* maximum number of call sites of poll, select and epoll that are examined for event loops */
#define POLLS_MAX 256u

/* ---- live objects of a process ---- */

/* Objects of a call site, in a process or in the run, that are live at the end. */
struct held {
	uint64_t count, bytes;
	uint32_t processes;
	uint32_t last; /* number of the last process that was merged, from 1 */
	/* live amount of that process: bytes if the class has bytes, else objects */
	uint64_t amount;
	uint32_t process; /* number of the process with the largest amount */
	uint64_t most;	  /* the amount in that process */
	const char *example;
	bool has_more_examples;
	uint32_t children; /* first child, in summary.children, that was not waited for */
};

/*
 * Whether the path is a better example than the current one: shorter or, if equally long,
 * alphabetically first. Thus the choice does not depend on the order of the calls.
 */
static bool is_example(struct held *held, const char *path)
{
	const char *old = held->example;

	held->has_more_examples |= old && strcmp(old, path) != 0;
	return !old || (ORDER(strlen(path), strlen(old)) ?: strcmp(path, old)) < 0;
}

static void merge_held(void *user, void *of_run, const void *of_process)
{
	struct summary *summary = user;
	const struct held *process = of_process;
	struct held *run = of_run;
	uint32_t number = (uint32_t)summary->processes.count + 1;

	if (!process->count)
		return;
	summary_join_children(&summary->children, &run->children, process->children);
	run->count += process->count;
	run->bytes += process->bytes;
	run->processes += run->last != number;
	run->amount = run->last == number ? run->amount : 0;
	run->amount += process->bytes ? process->bytes : process->count;
	run->last = number;
	if (run->amount > run->most) {
		run->most = run->amount;
		run->process = number - 1;
	}
	run->has_more_examples |= process->has_more_examples;
	if (process->example && is_example(run, process->example))
		run->example = process->example;
}

void summary_list_sites(struct summary *summary)
{
	summary->held = tallies_add(&summary->tallies, sizeof(struct held), merge_held, summary);
}

static void add_held(struct summary *summary, const struct ledger_held *object)
{
	struct held *held = tally_entry(summary->held, object->site);
	struct summary_class *class = &summary->classes[object->class];
	const struct hook *hook =
		sites_at(ledger_sites(summary->ledger), object->site)->function->hook;
	const char *path;

	held->count += object->count;
	held->bytes += object->bytes;
	if (class->known == RESOURCE_PROCESS)
		summary_add_child(&summary->children, &held->children,
				  (uint32_t)summary->processes.count, (uint32_t)object->object);
	if (object->is_part) {
		class->held_parts++;
		class->parts_of |= hook ? 1u << hook->resource : 0;
	}
	/*
	 * blocks and locks need no example: reports show the sizes of blocks and the threads that
	 * hold locks
	 */
	if (summary_has_bytes(class) || class->known == RESOURCE_NONE ||
	    class->known == RESOURCE_LOCK)
		return;
	path = ledger_path(object->item);
	if (path && is_example(held, path))
		held->example = pool_text(&summary->pool, path, strlen(path));
}

static void close_held(struct summary *summary)
{
	const struct summary_class *children = summary_class_of(summary, RESOURCE_PROCESS);
	struct ledger_held object;
	size_t at = 0;

	if (!summary->held &&
	    !(children &&
	      ledger_sum(summary->ledger, (uint32_t)(children - summary->classes))->count))
		return;
	while (ledger_held(summary->ledger, &at, &object)) {
		if (summary->classes[object.class].known == RESOURCE_PROCESS)
			summary_add_child(&summary->children, &summary->unwaited,
					  (uint32_t)summary->processes.count,
					  (uint32_t)object.object);
		if (summary->held)
			add_held(summary, &object);
	}
}

/* ---- descriptors passed to an executed program ---- */

static const struct resource_class class_of_descriptors = { .type = "fd", .known = RESOURCE_FD };

static void pass_descriptor(struct summary *summary, const struct ledger_held *held)
{
	const struct site *site = sites_at(ledger_sites(summary->ledger), held->site);
	struct event call = { .arguments = held->item->arguments };
	struct summary_passed **place = ARRAY_ADD(&summary->passed), *passed;

	*place = passed = memory_zalloc(1, sizeof(**place));
	while (call.arguments && call.arguments[call.argument_count].name)
		call.argument_count++;
	passed->pid = summary->fold->process.pid;
	passed->arguments = keep_arguments(&call);
	passed->function = *site->function;
	/* the hook belongs to the stream, and this copy is used after the end of the stream */
	passed->function.hook = NULL;
	passed->function.name =
		pool_text(&summary->pool, site->function->name, site->function->length);
	passed->backtrace = (struct backtrace){
		.id = BACKTRACE_OF_SPACE,
		.node = space_backtrace(&summary->space, site->backtrace, site->index),
	};
	passed->opened = (struct event){
		.kind = EVENT_CALL,
		.index = held->item->index,
		.function = &passed->function,
		.resource = &class_of_descriptors,
		.type = CALL_TYPE_ALLOC,
		.object = held->object,
		.argument_count = call.argument_count,
		.arguments = passed->arguments,
		.backtrace = &passed->backtrace,
		.thread = ledger_thread(summary->ledger, held->item->thread),
		.time_ns = held->item->acquired_ns,
	};
}

/*
 * Removes the entries of this process that are among the first `count` entries of summary->passed.
 * They were for the program that has now ended; the later entries are for the next program.
 */
static void forget_passed(struct summary *summary, uint32_t pid, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < summary->passed.count; i++) {
		struct summary_passed *passed = summary->passed.items[i];

		if (i >= count || passed->pid != pid) {
			summary->passed.items[kept++] = passed;
			continue;
		}
		free(passed->arguments);
		free(passed);
	}
	summary->passed.count = kept;
}

/* ---- totals of the process ---- */

static void learn_classes(struct summary *summary)
{
	for (; summary->class_count < ledger_class_count(summary->ledger); summary->class_count++) {
		const struct ledger_class *facts =
			ledger_class(summary->ledger, summary->class_count);
		struct summary_class *class = &summary->classes[summary->class_count];

		class->type = facts->type;
		class->description = facts->description;
		class->known = facts->known;
		class->is_counted = facts->is_counted;
	}
}

static void close_class(struct summary *summary, uint32_t index)
{
	const struct ledger_sum *sum = ledger_sum(summary->ledger, index);
	struct summary_process *process = &summary->fold->process;
	struct summary_class *class = &summary->classes[index];

	class->is_estimate = ledger_class(summary->ledger, index)->is_estimate;
	class->acquired += sum->acquired;
	class->lost += sum->lost;
	class->waited += sum->joined;
	class->retaken += sum->retaken;
	class->strays += summary->begins_late ? 0 : sum->strays;
	class->earlier += sum->earlier + (summary->begins_late ? sum->strays : 0);
	class->replaced += sum->replaced;
	class->temporary += sum->temporary;
	if (sum->peak > class->peak.amount)
		class->peak =
			(struct summary_peak){ .variance = sum->peak_variance,
					       .amount = sum->peak,
					       .time_ns = sum->peak_ns,
					       .process = (uint32_t)summary->processes.count };
	if (process->end != SUMMARY_EXEC) {
		class->held += sum->count;
		class->held_bytes += sum->bytes;
		class->held_variance += sum->variance;
	}
	if (process->end == SUMMARY_KILLED) {
		class->killed += sum->count;
		class->killed_bytes += sum->bytes;
	}
	process->held[class->known] += sum->count;
	if (class->known != RESOURCE_MEMORY)
		return;
	process->held_bytes = sum->bytes;
	process->peak_bytes = sum->peak;
	class->unkept += process->unkept;
	class->unkept_bytes += process->unkept_bytes;
}

/* Returns the backtrace of a site in the address map, or NULL if index is 0. */
static const struct trace_node *place_of(struct summary *summary, const struct sites *sites,
					 uint32_t index)
{
	const struct site *site = index ? sites_at(sites, index) : NULL;

	return site ? space_backtrace(&summary->space, site->backtrace, site->index) : NULL;
}

static void keep_hot(struct summary *summary, uint32_t class, const struct summary_hot *found,
		     const struct sites *sites, uint32_t waiter, uint32_t other)
{
	struct summary_hot *hot = &summary->classes[class].hot;

	if (found->ns <= hot->ns)
		return;
	*hot = *found;
	hot->pid = summary->fold->process.pid;
	hot->waiter = place_of(summary, sites, waiter);
	hot->other = place_of(summary, sites, other);
}

static void add_longest(struct summary_calls *sum, const struct summary_calls *other)
{
	struct summary_calls sums = *sum;

	if (other->longest_ns > sum->longest_ns) {
		*sum = *other;
		sum->waits = sums.waits;
		sum->ns = sums.ns;
		sum->idle = sums.idle;
		sum->idle_ns = sums.idle_ns;
	}
	sum->waits += other->waits;
	sum->ns += other->ns;
}

/*
 * Returns the entry of a site of poll, select or epoll; NULL: the site is of another function, or
 * there are too many entries.
 */
static struct summary_poll *poll_of(struct summary *summary, uint32_t site)
{
	const struct hook *hook = sites_at(&summary->calls.sites, site)->function->hook;
	const struct trace_node *backtrace = place_of(summary, &summary->calls.sites, site);
	struct summary_poll *poll;

	if (!hook || hook->how != HOW_POLLS)
		return NULL;
	for (size_t i = 0; i < summary->polls.count; i++)
		if (summary->polls.items[i].backtrace == backtrace &&
		    summary->polls.items[i].hook == hook)
			return &summary->polls.items[i];
	if (summary->polls.count == POLLS_MAX)
		return NULL;
	poll = ARRAY_ADD(&summary->polls);
	*poll = (struct summary_poll){ .backtrace = backtrace, .hook = hook };
	return poll;
}

static void close_calls(struct summary *summary)
{
	const struct wakes *calls = &summary->calls;

	for (size_t i = 1; i < calls->stats.count; i++) {
		const struct wakes_site *site = wakes_site(calls, (uint32_t)i);
		struct summary_poll *poll = site->waits ? poll_of(summary, (uint32_t)i) : NULL;

		if (poll) {
			poll->sums.waits += site->waits;
			poll->sums.quiet += site->quiet;
		}
	}
	for (size_t i = 1; i < calls->pairs.count; i++) {
		const struct wakes_pair *pair = &calls->pairs.items[i];
		const struct wakes_wait *wait = &pair->longest;
		struct summary_poll *poll =
			wait->end != WAKES_WOKEN ? poll_of(summary, wait->waiter) : NULL;
		const struct summary_calls own = {
			.waits = pair->count,
			.ns = pair->ns,
			.longest_ns = wait->ns,
			.function = sites_at(&calls->sites, wait->waiter)->function->hook->name,
			.what = pair->what,
			.waiter = place_of(summary, &calls->sites, wait->waiter),
			.waker = place_of(summary, &calls->sites, wait->waker),
		};

		add_longest(poll ? &poll->calls : &summary->called, &own);
	}
}

static void close_locks(struct summary *summary)
{
	struct locks *locks = &summary->locks;
	uint64_t uncontended = summary->fold->process.uncontended;
	const struct summary_class *class;
	const struct locks_pair *pair;
	struct locks_times sum = { 0 };
	struct summary_hot hot;
	uint32_t index;

	/*
	 * with --locks=contended, locks that were acquired without a wait are only counted; when
	 * they were released is unknown
	 */
	if (uncontended) {
		index = ledger_class_of(summary->ledger, RESOURCE_LOCK);
		learn_classes(summary);
		summary->classes[index].acquired += uncontended;
		waits_add_sure(&summary->classes[index].waits, uncontended, 0, 0, 0);
	}
	class = summary_class_of(summary, RESOURCE_LOCK);
	if (!class)
		return;
	locks_finish(locks, summary->fold->process.end_ns);
	locks_sum(locks, &sum);
	index = (uint32_t)(class - summary->classes);
	waits_add_sure(&summary->classes[index].waits, sum.asked, sum.contended, sum.waited_ns,
		       sum.longest_wait_ns);
	pair = locks_hottest(locks);
	if (!pair)
		return;
	hot = (struct summary_hot){ .object = pair->object, .ns = pair->ns };
	keep_hot(summary, index, &hot, &locks->sites, pair->waiter, pair->holder);
}

/* The kinds of keys in gil_index. */
enum { OF_GIL_SITE, OF_GIL_WAITS };

/* Returns a number that identifies the backtrace, from 1; 0 for NULL. */
static uint32_t gil_site(struct summary *summary, const struct trace_node *backtrace)
{
	struct map_entry *entry;

	if (!backtrace)
		return 0;
	entry = map_put(&summary->gil_index, OF_GIL_SITE, (uintptr_t)backtrace);
	if (!entry->value)
		entry->value = (uint32_t)summary->gil_index.count;
	return entry->value;
}

static struct summary_gil *gil_waits_of(struct summary *summary, const struct trace_node *waiter,
					const struct trace_node *holder)
{
	uint64_t key = (uint64_t)gil_site(summary, waiter) << 32 | gil_site(summary, holder);
	uint32_t number = map_get(&summary->gil_index, OF_GIL_WAITS, key);

	if (number)
		return &summary->gil_waits.items[number];
	number = ARRAY_NUMBER(&summary->gil_waits);
	map_set(&summary->gil_index, OF_GIL_WAITS, key, number);
	summary->gil_waits.items[number] =
		(struct summary_gil){ .waiter = waiter, .holder = holder };
	return &summary->gil_waits.items[number];
}

static void close_gil(struct summary *summary)
{
	struct gil *gil = &summary->gil;

	gil_finish(gil, summary->fold->process.end_ns);
	for (size_t i = 1; i < gil->pairs.count; i++) {
		struct gil_pair *pair = &gil->pairs.items[i];
		struct summary_gil *waits =
			gil_waits_of(summary, place_of(summary, &gil->sites, pair->waiter),
				     place_of(summary, &gil->sites, pair->holder));

		pair->count += waits->sum.count;
		pair->ns += waits->sum.ns;
		if (waits->sum.longest_ns < pair->longest_ns) {
			waits->sum = *pair;
		} else {
			waits->sum.count = pair->count;
			waits->sum.ns = pair->ns;
		}
	}
}

/* ---- waits at the end ---- */

/*
 * Returns the call in which a thread was still waiting for a lock or for another thread when the
 * process ended, or NULL.
 */
static struct fold_open *open_of(const struct summary_fold *fold, uint64_t thread)
{
	for (size_t i = 0; i < fold->open.count; i++)
		if (fold->open.items[i].thread == thread &&
		    (fold->open.items[i].resource == RESOURCE_LOCK ||
		     fold->open.items[i].resource == RESOURCE_THREAD))
			return &fold->open.items[i];
	return NULL;
}

static bool has_way(const struct fold_open *open, enum hook_how how)
{
	const struct hook *hook = hook_find(open->function);

	return hook && hook->how == how;
}

/*
 * Iterates over the threads that an open call waits for. Returns the next thread, or 0 after the
 * last one. Set *at to 0 to begin. A writer of a lock waits for all holders. A reader waits for a
 * holder that writes or, if only readers hold the lock, for the writers that wait for it.
 */
static uint32_t next_blocker(const struct summary *summary, const struct fold_open *open,
			     uint32_t *at)
{
	const struct summary_fold *fold = summary->fold;
	bool reads = has_way(open, HOW_READS);
	struct locks_holder holder;

	if (open->resource == RESOURCE_THREAD)
		return (*at)++ ? 0 : map_get(&fold->threads, OF_HANDLE, open->object);
	if (open->resource != RESOURCE_LOCK)
		return 0;
	if (!reads)
		return locks_holder(&summary->locks, open->object, at, &holder) ? holder.thread : 0;
	for (uint32_t hold = 0;
	     !*at && locks_holder(&summary->locks, open->object, &hold, &holder);)
		if (!holder.is_shared) {
			*at = (uint32_t)fold->open.count;
			return holder.thread;
		}
	while (*at < fold->open.count) {
		const struct fold_open *writer = &fold->open.items[(*at)++];

		if (writer->object == open->object && has_way(writer, HOW_WRITES))
			return writer->thread;
	}
	return 0;
}

#define FORKED_MAX 64u /* maximum number of locks stored for a child */

void summary_note_fork(struct summary *summary, const struct event *event)
{
	struct locks_at at = { 0 };
	struct locks_holder holder;
	uint64_t object;

	for (unsigned i = 0;
	     i < FORKED_MAX && locks_next_held(&summary->locks, &at, &object, &holder); i++)
		*ARRAY_ADD(&summary->forked) = (struct summary_forked){
			.child = (uint32_t)event->object,
			.object = object,
			.thread = holder.thread,
			.is_copied = holder.thread == event->thread,
			.backtrace = place_of(summary, &summary->locks.sites, holder.site),
		};
}

/*
 * If the call waits for a lock that the parent process held when it forked this process, returns
 * the entry of the lock. Returns NULL if a thread of this process holds the lock, or if no holder
 * is known.
 */
static const struct summary_forked *forked_holder(const struct summary *summary,
						  const struct fold_open *open)
{
	struct locks_holder holder;
	uint32_t at = 0;

	if (open->resource != RESOURCE_LOCK ||
	    locks_holder(&summary->locks, open->object, &at, &holder))
		return NULL;
	for (size_t i = summary->forked.count; i-- > 0;)
		if (summary->forked.items[i].child == summary->fold->process.pid &&
		    summary->forked.items[i].object == open->object)
			return &summary->forked.items[i];
	return NULL;
}

/*
 * Removes the entries of a process that executes another program, because that program has other
 * locks.
 */
static void forget_forked(struct summary *summary, uint32_t child)
{
	size_t count = 0;

	for (size_t i = 0; i < summary->forked.count; i++)
		if (summary->forked.items[i].child != child)
			summary->forked.items[count++] = summary->forked.items[i];
	summary->forked.count = count;
}

/* Whether an open call waits, directly or indirectly, for its own thread. Visits each call once. */
static bool is_deadlock(const struct summary *summary, const struct fold_open *first)
{
	const struct fold_open *next[SUMMARY_BLOCKED_MAX] = { first };
	bool is_seen[SUMMARY_BLOCKED_MAX] = { false };
	const struct summary_forked *forked = forked_holder(summary, first);
	size_t count = 1;

	if (forked)
		return forked->is_copied && first->thread == summary->fold->process.pid;
	for (size_t i = 0; i < count; i++) {
		uint32_t at = 0, thread;

		while ((thread = next_blocker(summary, next[i], &at)) != 0) {
			const struct fold_open *open = open_of(summary->fold, thread);
			size_t number = open ? (size_t)(open - summary->fold->open.items) : 0;

			if (thread == first->thread)
				return true;
			if (!open || is_seen[number] || count == SUMMARY_BLOCKED_MAX)
				continue;
			is_seen[number] = true;
			next[count++] = open;
		}
	}
	return false;
}

/* Finds a thread that holds the lock, preferably one in the same deadlock. */
static bool find_holder(const struct summary *summary, const struct fold_open *open,
			struct locks_holder *found)
{
	struct locks_holder holder;
	bool has_found = false;

	if (open->resource != RESOURCE_LOCK)
		return false;
	for (uint32_t at = 0; locks_holder(&summary->locks, open->object, &at, &holder);) {
		const struct fold_open *other = open_of(summary->fold, holder.thread);

		if (!has_found || (open->is_deadlock && other && other->is_deadlock))
			*found = holder;
		has_found = true;
	}
	return has_found;
}

static void find_notify(struct summary *summary, const struct fold_open *open,
			struct summary_blocked *blocked)
{
	struct summary_fold *fold = summary->fold;
	const struct waits_object *object;

	if (open->resource != RESOURCE_SEMAPHORE && open->resource != RESOURCE_CONDITION &&
	    open->resource != RESOURCE_FUTEX)
		return;
	object = waits_object(&fold->waits, ledger_class_of(summary->ledger, open->resource),
			      open->object);
	if (!object || !object->last)
		return;
	blocked->notify_thread = object->last_thread;
	blocked->notify_ns =
		fold->process.end_ns > object->last_ns ? fold->process.end_ns - object->last_ns : 0;
	blocked->notify_backtrace = place_of(summary, &fold->sites, object->last);
}

/*
 * Whether the wait is a hang. A lock whose holder has ended is never released. Other waits may be
 * hangs if the program was killed or was still running; if it ended by itself, they may be waits of
 * idle threads. A wait with a timeout ends by itself, so it is not a hang.
 */
static bool is_hung(const struct summary *summary, const struct fold_open *open,
		    const struct summary_blocked *blocked)
{
	enum summary_end end = summary->fold->process.end;

	if (blocked->is_deadlock)
		return false;
	if (open->resource == RESOURCE_LOCK)
		return blocked->has_ended_holder;
	return open->resource != RESOURCE_NONE && !strstr(open->function, "timed") &&
	       !strstr(open->function, "clock") &&
	       (open->resource == RESOURCE_THREAD || open->resource == RESOURCE_CONDITION ||
		open->resource == RESOURCE_SEMAPHORE || open->resource == RESOURCE_BARRIER ||
		(open->resource == RESOURCE_FUTEX && !open->related)) &&
	       (end == SUMMARY_KILLED || end == SUMMARY_LEFT || end == SUMMARY_DETACHED);
}

static void add_blocked(struct summary *summary, const struct fold_open *open)
{
	const struct hook *hook = hook_find(open->function);
	struct summary_blocked *blocked = ARRAY_ADD(&summary->blocked);
	char what[DESCRIPTORS_TEXT_SIZE] = "";
	struct locks_holder holder = { 0 };
	bool has_holder = find_holder(summary, open, &holder);
	const struct summary_forked *forked = forked_holder(summary, open);
	uint32_t at = 0;

	*blocked = (struct summary_blocked){
		.function = open->function,
		.resource = open->resource,
		.object = open->object,
		.related = open->related,
		.pid = summary->fold->process.pid,
		.thread = open->thread,
		.threads = 1,
		.longest_ns = open->waited_ns,
		.waited_ns = open->waited_ns,
		.backtrace = space_backtrace(&summary->space, open->backtrace, open->index),
		.has_holder = has_holder,
		.holder = holder.thread,
		.is_deadlock = open->is_deadlock,
	};
	if (hook)
		descriptors_say(&summary->descriptors, hook, open->object, what);
	blocked->what = pool_text(&summary->pool, what, strlen(what));
	if (open->resource == RESOURCE_THREAD)
		blocked->joined = next_blocker(summary, open, &at);
	blocked->has_ended_holder = has_holder && map_get(&summary->fold->threads, OF_THREAD,
							  blocked->holder) == FOLD_ENDED;
	if (forked) {
		blocked->has_holder = blocked->is_inherited = true;
		blocked->holder = forked->is_copied ? summary->fold->process.pid : forked->thread;
		blocked->has_ended_holder = !forked->is_copied;
		blocked->holder_backtrace = forked->backtrace;
	}
	blocked->is_hung = is_hung(summary, open, blocked);
	summary->deadlocked += blocked->is_deadlock;

	/*
	 * A signal that no thread waited for may have kept the program from ending: the program was
	 * killed or was still running, or its main thread waits. If the program ended by itself,
	 * other threads may be idle threads of a pool.
	 */
	const struct wakes_token *vain = open->resource == RESOURCE_CONDITION
						 ? wakes_vain(&summary->signals, open->object)
						 : NULL;
	const struct summary_process *process = &summary->fold->process;

	if (vain && vain->time_ns <= open->enter_ns) {
		blocked->vain_thread = vain->thread;
		blocked->vain_ns = open->enter_ns - vain->time_ns;
		blocked->is_lost_wakeup =
			process->end == SUMMARY_KILLED || process->end == SUMMARY_LEFT ||
			process->end == SUMMARY_DETACHED || open->thread == process->pid;
		summary->lost_wakeups += blocked->is_lost_wakeup;
		blocked->vain_backtrace = place_of(summary, &summary->signals.sites, vain->site);
	}
	find_notify(summary, open, blocked);
	if (has_holder)
		blocked->holder_backtrace = place_of(summary, &summary->locks.sites, holder.site);
}

/*
 * Adds an open call to summary->blocked. Threads that wait in the same function for the same object
 * share an entry, but not if they are deadlocked. For calls of RESOURCE_CALL, the backtraces must
 * also be the same. first: index of the first entry of this process.
 */
static void close_open(struct summary *summary, const struct fold_open *open, size_t first)
{
	for (size_t i = first; i < summary->blocked.count; i++) {
		struct summary_blocked *blocked = &summary->blocked.items[i];

		if (blocked->object != open->object || strcmp(blocked->function, open->function) ||
		    blocked->is_deadlock || open->is_deadlock)
			continue;
		/* these calls may have no object, so compare the backtraces, too */
		if (open->resource == RESOURCE_CALL &&
		    blocked->backtrace !=
			    space_backtrace(&summary->space, open->backtrace, open->index))
			continue;
		blocked->threads++;
		blocked->waited_ns += open->waited_ns;
		if (open->waited_ns > blocked->longest_ns)
			blocked->longest_ns = open->waited_ns;
		return;
	}
	add_blocked(summary, open);
}

/* ---- the end of a process ---- */

static void clear_fold(struct summary *summary)
{
	struct summary_fold *fold = summary->fold;

	ledger_clear(summary->ledger);
	locks_clear(&summary->locks);
	gil_clear(&summary->gil);
	wakes_clear(&summary->signals);
	wakes_clear(&summary->calls);
	descriptors_clear(&summary->descriptors);
	coverage_clear(&summary->coverage);
	map_clear(&fold->threads);
	fold->thread_count = fold->silent = 0;
	sites_clear(&fold->sites);
	waits_free(&fold->waits);
	waits_init(&fold->waits);
	memset(fold->thread_cache, 0, sizeof(fold->thread_cache));
	fold->open.count = 0;
	fold->command_length = 0;
	fold->malloc = NULL;
	fold->told_events = 0;
	fold->executed = NULL;
	fold->executor = 0;
	fold->process = (struct summary_process){ 0 };
	fold->is_begun = false;
	space_begin_process(&summary->space);
}

static void keep_process(struct summary *summary)
{
	struct summary_fold *fold = summary->fold;
	struct summary_process *process = ARRAY_ADD(&summary->processes);

	*process = fold->process;
	process->number = (uint32_t)summary->processes.count - 1;
	process->path = fold->path;
	process->threads = (uint32_t)(fold->thread_count + fold->silent);
	process->inherited = ledger_inherited(summary->ledger);
	memcpy(process->had, ledger_before(summary->ledger)->sums, sizeof(process->had));
	process->unmapped = ledger_before(summary->ledger)->calls;
	process->command = pool_text(&summary->pool, fold->command, fold->command_length);
	coverage_of_process(&summary->coverage,
			    process->ended_ns ? process->ended_ns : process->end_ns,
			    &process->coverage);
	coverage_add(&summary->blocked_time, &process->coverage);
	summary->events += process->events;
	summary->lost += process->lost;
	summary->inherited += process->inherited;
}

/*
 * Objects and open calls of a process that executed another program do not count: exec has ended
 * its other threads and released its memory.
 */
void summary_close_process(struct summary *summary)
{
	struct summary_process *process = &summary->fold->process;
	struct fold_open *open = summary->fold->open.items;
	bool was_replaced = process->end == SUMMARY_EXEC;
	uint32_t pid = process->pid;
	size_t passed = summary->passed.count, blocked = summary->blocked.count;
	size_t count = was_replaced ? 0 : summary->fold->open.count;
	struct ledger_held held;
	const struct wakes *signals = &summary->signals;
	const struct summary_class *conditions;

	learn_classes(summary);
	close_held(summary);
	if (summary->causes)
		peaks_process(&summary->causes->peaks, pid, process->name);
	close_locks(summary);
	close_gil(summary);
	conditions = summary_class_of(summary, RESOURCE_CONDITION);
	if (conditions) {
		wakes_finish(&summary->signals, summary->fold->process.end_ns);
		for (size_t i = 1; i < signals->stats.count; i++)
			summary->classes[conditions - summary->classes].vain +=
				signals->stats.items[i].vain;
	}
	close_calls(summary);
	for (uint32_t i = 0; i < summary->class_count; i++) {
		const struct waits_object *object = waits_hottest(&summary->fold->waits, i, 1000);

		close_class(summary, i);
		if (object) {
			struct summary_hot hot = {
				.object = object->object,
				.ns = waits_ns(&object->times, 1000),
				.first = place_of(summary, &summary->fold->sites, object->first),
			};

			keep_hot(summary, i, &hot, &summary->fold->sites, object->waiter,
				 object->other);
		}
	}
	allocators_process(summary);
	for (size_t i = 0; i < count; i++)
		open[i].is_deadlock = is_deadlock(summary, &open[i]);
	for (size_t i = 0; i < count; i++)
		close_open(summary, &open[i], blocked);
	touched_process(&summary->touched, &summary->space);
	/*
	 * Store the descriptors for the next program; its ~fd notes list which of them it has
	 * inherited. Descriptors 0, 1 and 2 were probably opened for the next program, so they
	 * count as inherited there.
	 */
	if (was_replaced && process->has_end && !process->untraced)
		for (size_t at = 0; ledger_passed(summary->ledger, &at, &held);)
			if (held.object > 2)
				pass_descriptor(summary, &held);
	/* free the backtraces of the process first, to have memory for the call sites of the run */
	ledger_forget(summary->ledger);
	tallies_close(&summary->tallies, ledger_sites(summary->ledger));
	keep_process(summary);
	clear_fold(summary);
	forget_forked(summary, pid);
	forget_passed(summary, pid, passed);
}

/* ---- the end of the run ---- */

static int compare_sites(const void *left, const void *right, void *context)
{
	const struct summary_site *a = left, *b = right;
	const struct summary *summary = context;

	return ORDER(ledger_class(summary->ledger, a->class)->rank,
		     ledger_class(summary->ledger, b->class)->rank)
	       ?: ORDER(a->class, b->class)
	       ?: ORDER(b->bytes, a->bytes)
	       ?: ORDER(b->count, a->count)
	       ?: ORDER(a->order, b->order);
}

static int compare_blocked(const void *left, const void *right)
{
	const struct summary_blocked *a = left, *b = right;

	return ORDER(b->is_deadlock, a->is_deadlock)
	       ?: ORDER(b->is_lost_wakeup, a->is_lost_wakeup)
	       ?: ORDER(b->resource == RESOURCE_LOCK, a->resource == RESOURCE_LOCK)
	       ?: ORDER(a->is_idle, b->is_idle)
	       ?: ORDER(b->longest_ns, a->longest_ns);
}

/* Sorts processes by their start, so the first process of the run is first. */
static int compare_processes(const void *left, const void *right)
{
	const struct summary_process *a = left, *b = right;

	return ORDER(a->start_ns, b->start_ns) ?: ORDER(a->stream, b->stream)
					       ?: ORDER(a->pid, b->pid);
}

static void sum_processes(struct summary *summary)
{
	for (size_t i = 0; i < summary->processes.count; i++) {
		const struct summary_process *process = &summary->processes.items[i];
		bool is_first;

		summary->allocators += process->allocator != NULL;
		summary->namespaces += process->has_namespace;
		summary->late += process->late;
		summary->damaged += process->is_damaged;
		if (process->pauses > summary->pauses)
			summary->pauses = process->pauses;
		if (process->pause_ns > summary->pause_ns)
			summary->pause_ns = process->pause_ns;
		if (process->start_ns &&
		    (!summary->start_ns || process->start_ns < summary->start_ns))
			summary->start_ns = process->start_ns;
		if (process->end_ns > summary->end_ns)
			summary->end_ns = process->end_ns;
		/*
		 * the search is quadratic, so only the first 4096 processes are compared; later
		 * pids are assumed to be different
		 */
		is_first = true;
		for (size_t k = 0; i < 4096 && k < i && is_first; k++)
			is_first = summary->processes.items[k].pid != process->pid;
		summary->pids += is_first;
		/*
		 * after an exec, the process continues in a thread that has already been counted; a
		 * process without calls has one thread, too
		 */
		if (process->has_tails)
			summary->threads += (process->threads ? process->threads : 1) - !is_first;
	}
}

/*
 * Whether a trace of the child, if there were one, would certainly be among the traces that were
 * read. This is not certain if a process has pid 1: the run then spans several pid namespaces, and
 * in its own namespace the child may have another pid.
 */
static bool would_be_read(const struct summary *summary, const struct summary_spawned *spawned)
{
	const struct summary_process *parent = summary_process_at(summary, spawned->process);

	for (size_t i = 0; i < summary->processes.count; i++)
		if (summary->processes.items[i].pid == 1 || summary->processes.items[i].gone)
			return false;
	return parent && parent->is_in_run && summary_has_ended(parent) && !summary->follow &&
	       !(summary->selection && summary->selection->filters);
}

/* Adds an entry to summary->sites for each call site with live objects. */
static void make_sites(struct summary *summary)
{
	for (uint32_t i = 0; summary->held && i < tallies_count(&summary->tallies); i++) {
		const struct tally_place *place = &summary->tallies.places.items[i];
		struct held *held = tally_of_place(summary->held, i);
		struct summary_site *site;

		if (held)
			held->count -= summary_orphans(summary, &summary->children, held->children);
		if (!held || !held->count)
			continue;
		site = ARRAY_ADD(&summary->sites);
		*site = (struct summary_site){
			.class = place->class,
			.is_part = place->is_part,
			.backtrace = place->backtrace,
			.function = place->function,
			.count = held->count,
			.bytes = held->bytes,
			.processes = held->processes,
			.process = held->process,
			.order = i,
			.example = held->example,
			.has_more_examples = held->has_more_examples,
		};
		summary->classes[site->class].sites += !site->is_part;
		summary->sites.whole += !site->is_part;
	}
}

void summary_close_run(struct summary *summary)
{
	size_t untraced = 0;

	space_rest(&summary->space);
	ARRAY_SORT(&summary->processes, compare_processes);
	for (size_t i = 0; i < summary->processes.count; i++)
		map_set(&summary->last_by_pid, 0, summary->processes.items[i].pid, (uint32_t)i + 1);
	for (size_t i = 0; i < summary->spawned.count; i++)
		if (!map_get(&summary->last_by_pid, 0, summary->spawned.items[i].pid) &&
		    would_be_read(summary, &summary->spawned.items[i]))
			summary->spawned.items[untraced++] = summary->spawned.items[i];
	summary->spawned.count = untraced;
	/*
	 * children that outlived their parent do not count as live, because the parent could not
	 * have waited for them
	 */
	for (uint32_t i = 0; i < summary->class_count; i++)
		if (summary->classes[i].known == RESOURCE_PROCESS)
			summary->classes[i].held -=
				summary_orphans(summary, &summary->children, summary->unwaited);
	make_sites(summary);
	/*
	 * add up the waits of event loops. Only when all processes have ended is it known which
	 * call sites are event loops: a worker process may have waited once.
	 */
	for (size_t i = 0; i < summary->polls.count; i++) {
		const struct summary_poll *poll = &summary->polls.items[i];

		if (wakes_is_loop(poll->hook, &poll->sums)) {
			summary->called.idle += poll->calls.waits;
			summary->called.idle_ns += poll->calls.ns;
			for (size_t k = 0; k < summary->blocked.count; k++)
				summary->blocked.items[k].is_idle |=
					summary->blocked.items[k].backtrace == poll->backtrace;
		} else {
			add_longest(&summary->called, &poll->calls);
		}
	}
	summary->polls.count = 0;
	ARRAY_SORT(&summary->blocked, compare_blocked);
	if (summary->sites.count)
		qsort_r(summary->sites.items, summary->sites.count, sizeof(*summary->sites.items),
			compare_sites, summary);
	if (summary->causes)
		causes_run(summary->causes);
	sum_processes(summary);
	for (uint32_t i = 0; i < summary->class_count; i++) {
		struct summary_class *class = &summary->classes[i];
		uint64_t *peak_ns = &class->peak.time_ns;

		*peak_ns = *peak_ns > summary->start_ns ? *peak_ns - summary->start_ns : 0;
		if (class->known == RESOURCE_MEMORY)
			summary->earlier_blocks += class->earlier;
		else if (class->known != RESOURCE_MAPPING)
			summary->earlier_others += class->earlier;
	}
}

/* ---- the sites to show ---- */

/*
 * Returns how many sites of a class other than memory are shown: fewer for classes whose objects
 * may stay live on purpose.
 */
static size_t share_of(const struct summary *summary, uint32_t class)
{
	return ledger_rank(summary->classes[class].known) <= 9 ? 3 : 1;
}

/* Returns the index of the first row of the next class. Rows are grouped by class. */
static size_t end_of_class(const uint32_t *classes, size_t count, size_t from)
{
	size_t to = from;

	while (to < count && classes[to] == classes[from])
		to++;
	return to;
}

size_t summary_share(const struct summary *summary, const uint32_t *classes, size_t all,
		     size_t room, uint32_t *chosen)
{
	size_t end = end_of_class(classes, all, 0);
	size_t reserved = 0, count = 0;

	for (size_t from = end, to; from < all; from = to) {
		size_t share = share_of(summary, classes[from]);

		to = end_of_class(classes, all, from);
		reserved += to - from < share ? to - from : share;
	}
	if (reserved > room / 2)
		reserved = room / 2;
	for (size_t from = 0, to; from < all && count < room; from = to) {
		/*
		 * if the first class is mappings, not memory, show only a few of them, because
		 * loaders and allocators make many
		 */
		bool is_plenty = from || summary->classes[classes[from]].known == RESOURCE_MAPPING;
		size_t share = is_plenty ? share_of(summary, classes[from]) : room - reserved;

		to = end_of_class(classes, all, from);
		for (size_t i = from; i < to && share && count < room; i++, share--)
			chosen[count++] = (uint32_t)i;
	}
	return count;
}
