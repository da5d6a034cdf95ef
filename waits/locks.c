/* SPDX-License-Identifier: MIT */
#include "waits/locks.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "hook_table.h"

#define PAGE_SHIFT 12
/* if a block has more pages than this plus a quarter of the locks, forget_in() checks all locks */
#define PAGES_WALKED 16u
/* maximum number of a thread's held locks, the newest ones, that enter the lock order */
#define HELD_MAX      8u
#define UNSEEN_NS     100000000u /* a longer call counts as a wait, even if no holder was seen */
#define PAIRS_MAX     65536u
#define HOLDERS_MAX   1024u	 /* maximum number of holds of one lock; others are ignored */
#define RELEASE_CLASS LOCKS_WAYS /* class of the sites of releases */

/* The kinds of keys in the index. */
enum { OF_LOCK, OF_PAGE, OF_THREAD, OF_PAIR };

const char *locks_way_name(unsigned way)
{
	static const char *const names[LOCKS_WAYS] = {
		[LOCKS_MUTEX] = "mutex",
		[LOCKS_READ] = "read",
		[LOCKS_WRITE] = "write",
		[LOCKS_SPIN] = "spin",
	};

	return names[way];
}

void locks_init(struct locks *locks)
{
	*locks = (struct locks){ 0 };
	map_init(&locks->index);
	lock_order_init(&locks->order);
}

static void free_past(struct locks *locks)
{
	for (size_t i = 1; i < locks->locks.count; i++)
		free(locks->locks.items[i].past.items);
}

void locks_free(struct locks *locks)
{
	free_past(locks);
	map_clear(&locks->index);
	lock_order_free(&locks->order);
	sites_free(&locks->sites);
	free(locks->locks.items);
	free(locks->holds.items);
	free(locks->threads.items);
	free(locks->pairs.items);
	free(locks->stats.items);
}

void locks_clear(struct locks *locks)
{
	free_past(locks);
	map_clear(&locks->index);
	lock_order_clear(&locks->order);
	sites_clear(&locks->sites);
	locks->locks.count = locks->holds.count = locks->threads.count = locks->pairs.count = 0;
	locks->stats.count = 0;
	locks->spare_lock = locks->spare_hold = locks->serials = locks->live = 0;
	locks->is_finished = false;
}

/* ---- numbers ---- */

/* Returns the index of a thread; adds the thread if it is new. */
static uint32_t thread_of(struct locks *locks, uint32_t id)
{
	struct map_entry *entry = map_put(&locks->index, OF_THREAD, id);

	if (!entry->value) {
		entry->value = ARRAY_NUMBER(&locks->threads);
		locks->threads.items[entry->value].id = id;
	}
	return entry->value;
}

const struct locks_site *locks_site(const struct locks *locks, uint32_t site)
{
	return site < locks->stats.count ? &locks->stats.items[site] : NULL;
}

static struct locks_site *stats_of(struct locks *locks, uint32_t site)
{
	return ARRAY_AT(&locks->stats, site);
}

/* ---- locks ---- */

/* Returns the index of the lock at an address; adds the lock if it is new. */
static uint32_t lock_of(struct locks *locks, uint64_t object)
{
	uint32_t index = map_get(&locks->index, OF_LOCK, object);
	struct map_entry *page;

	if (index)
		return index;
	index = locks->spare_lock;
	if (index)
		locks->spare_lock = locks->locks.items[index].next;
	else
		index = ARRAY_NUMBER(&locks->locks);
	map_set(&locks->index, OF_LOCK, object, index);
	page = map_put(&locks->index, OF_PAGE, object >> PAGE_SHIFT);
	locks->locks.items[index] = (struct locks_lock){ .object = object,
							 .serial = ++locks->serials,
							 .next = page->value };
	if (page->value)
		locks->locks.items[page->value].previous = index;
	page->value = index;
	locks->live++;
	return index;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void locks_add_times(struct locks_times *sum, const struct locks_times *times)
{
	sum->taken += times->taken;
	sum->contended += times->contended;
	sum->refused += times->refused;
	sum->waited_ns += times->waited_ns;
	sum->longest_wait_ns = most(sum->longest_wait_ns, times->longest_wait_ns);
	sum->asked += times->asked;
	sum->holds += times->holds;
	sum->held_ns += times->held_ns;
	sum->longest_hold_ns = most(sum->longest_hold_ns, times->longest_hold_ns);
}

/* ---- holds ---- */

static struct locks_times *times_of(struct locks *locks, uint32_t lock, enum locks_way way)
{
	return &locks->locks.items[lock].times[way == LOCKS_READ];
}

static uint32_t find_hold(const struct locks *locks, uint32_t lock, uint32_t thread)
{
	uint32_t i = locks->locks.items[lock].first;

	while (i && locks->holds.items[i].thread != thread)
		i = locks->holds.items[i].of_lock.next;
	return i;
}

static void add_hold(struct locks *locks, const struct locks_hold *wanted)
{
	uint32_t index = locks->spare_hold;
	uint32_t *of_lock = &locks->locks.items[wanted->lock].first;
	uint32_t *of_thread = &locks->threads.items[wanted->thread].first;
	struct locks_hold *holds;

	if (index)
		locks->spare_hold = locks->holds.items[index].of_lock.next;
	else
		index = ARRAY_NUMBER(&locks->holds);
	holds = locks->holds.items;
	locks->locks.items[wanted->lock].holders++;
	holds[index] = *wanted;
	holds[index].of_lock.next = *of_lock;
	holds[index].of_thread.next = *of_thread;
	if (*of_lock)
		holds[*of_lock].of_lock.previous = index;
	if (*of_thread)
		holds[*of_thread].of_thread.previous = index;
	*of_lock = *of_thread = index;
}

static void remove_hold(struct locks *locks, uint32_t index)
{
	struct locks_hold *holds = locks->holds.items, *hold = &holds[index];

	if (hold->of_lock.previous)
		holds[hold->of_lock.previous].of_lock.next = hold->of_lock.next;
	else
		locks->locks.items[hold->lock].first = hold->of_lock.next;
	if (hold->of_lock.next)
		holds[hold->of_lock.next].of_lock.previous = hold->of_lock.previous;
	if (hold->of_thread.previous)
		holds[hold->of_thread.previous].of_thread.next = hold->of_thread.next;
	else
		locks->threads.items[hold->thread].first = hold->of_thread.next;
	if (hold->of_thread.next)
		holds[hold->of_thread.next].of_thread.previous = hold->of_thread.previous;
	locks->locks.items[hold->lock].holders--;
	hold->of_lock.next = locks->spare_hold;
	locks->spare_hold = index;
}

/*
 * Drops past holds that no wait needs. A wait is attributed to the hold of another thread that
 * overlaps the wait longest. A later hold outdoes an earlier hold if each unfinished wait that
 * overlaps both overlaps the later hold for at least as long. So a past hold is not needed if a
 * later hold of the same thread outdoes it, or if later holds of two other threads do (one of the
 * two may be the waiting thread). Few holds remain, because each is longer than the holds after it.
 */
static void drop_past(struct locks_lock *lock, const struct locks_past *later)
{
	struct locks_past *items = lock->past.items;
	size_t count = 0, shortest = 0;

	for (size_t i = 0; i < lock->past.count; i++) {
		bool is_outdone = later->until_ns - later->since_ns >=
					  items[i].until_ns - items[i].since_ns &&
				  (!later->is_shared || items[i].is_shared);

		if (is_outdone && (items[i].thread == later->thread ||
				   (items[i].outdone_by && items[i].outdone_by != later->thread)))
			continue;
		if (is_outdone)
			items[i].outdone_by = later->thread;
		items[count] = items[i];
		if (items[count].until_ns - items[count].since_ns <
		    items[shortest].until_ns - items[shortest].since_ns)
			shortest = count;
		count++;
	}
	if (count == LOCKS_PAST_MAX)
		memmove(&items[shortest], &items[shortest + 1],
			(--count - shortest) * sizeof(*items));
	lock->past.count = count;
}

/* Counts a hold that ended. release: the call that released the lock; NULL: no release was seen. */
static void count_hold(struct locks *locks, uint32_t index, uint64_t until_ns,
		       const struct event *release)
{
	const struct locks_hold *hold = &locks->holds.items[index];
	struct locks_lock *lock = &locks->locks.items[hold->lock];
	uint64_t ns = until_ns > hold->since_ns ? until_ns - hold->since_ns : 0;
	struct locks_times more = { .holds = 1, .held_ns = ns, .longest_hold_ns = ns };
	struct locks_site *site = stats_of(locks, hold->site);

	if (ns > site->times.longest_hold_ns || !site->times.holds) {
		site->since_ns = hold->since_ns;
		site->object = lock->object;
		site->thread = locks->threads.items[hold->thread].id;
		site->released = release ? sites_of(&locks->sites, RELEASE_CLASS, release) : 0;
	}
	locks_add_times(&site->times, &more);
	locks_add_times(times_of(locks, hold->lock, hold->way), &more);
	/* keep the hold, because waits that have not ended yet may overlap it */
	if (ns) {
		struct locks_past past = {
			.since_ns = hold->since_ns,
			.until_ns = until_ns,
			.thread = hold->thread,
			.site = hold->site,
			.is_shared = hold->way == LOCKS_READ,
		};

		drop_past(lock, &past);
		*ARRAY_ADD(&lock->past) = past;
	}
	if (locks->listener.held) {
		struct locks_held held = { .object = lock->object,
					   .since_ns = hold->since_ns,
					   .until_ns = until_ns,
					   .thread = locks->threads.items[hold->thread].id,
					   .site = hold->site,
					   .serial = lock->serial };

		locks->listener.held(locks->listener.user, &held);
	}
}

/* ---- waits ---- */

/* How long the hold overlaps the call, in ns. */
static uint64_t overlap(const struct locks_past *past, const struct event *event)
{
	uint64_t from = most(past->since_ns, event->enter_ns);
	uint64_t to = past->until_ns < event->leave_ns ? past->until_ns : event->leave_ns;

	return to > from ? to - from : 0;
}

/* True if the hold could block a call of this thread; a reader does not block readers. */
static bool is_in_the_way(const struct locks_past *past, enum locks_way way, uint32_t thread)
{
	return past->site && past->thread != thread && !(past->is_shared && way == LOCKS_READ);
}

/* Returns the hold that overlaps the call longest; its site is 0 if no hold overlaps the call. */
static struct locks_past find_holder(const struct locks *locks, uint32_t index, enum locks_way way,
				     uint32_t thread, const struct event *event)
{
	const struct locks_lock *lock = &locks->locks.items[index];
	struct locks_past best = { 0 };
	uint64_t longest = 0;
	uint32_t next = event->flags & (CALL_FAILED | CALL_OPEN) ? lock->first : 0;

	for (size_t i = 0; i < lock->past.count; i++) {
		uint64_t ns = overlap(&lock->past.items[i], event);

		if (ns > longest && is_in_the_way(&lock->past.items[i], way, thread)) {
			longest = ns;
			best = lock->past.items[i];
		}
	}
	/* if the call timed out or still waits, the current holders may have blocked it */
	for (; next; next = locks->holds.items[next].of_lock.next) {
		const struct locks_hold *hold = &locks->holds.items[next];
		struct locks_past now = { .since_ns = hold->since_ns,
					  .until_ns = event->leave_ns,
					  .thread = hold->thread,
					  .site = hold->site,
					  .is_held = true,
					  .is_shared = hold->way == LOCKS_READ };

		if (overlap(&now, event) <= longest || !is_in_the_way(&now, way, thread))
			continue;
		longest = overlap(&now, event);
		best = now;
	}
	return best;
}

static void add_pair(struct locks *locks, uint32_t site, const struct locks_past *holder,
		     const struct event *event, uint64_t ns)
{
	uint64_t key = (uint64_t)site << 32 | holder->site;
	uint32_t index = map_get(&locks->index, OF_PAIR, key);
	struct locks_pair *pair;

	if (!index && locks->pairs.count > PAIRS_MAX)
		return;
	if (!index) {
		index = ARRAY_NUMBER(&locks->pairs);
		map_set(&locks->index, OF_PAIR, key, index);
	}
	pair = &locks->pairs.items[index];
	pair->waiter = site;
	pair->holder = holder->site;
	pair->count++;
	pair->ns += ns;
	if (pair->longest_ns && ns <= pair->longest_ns)
		return;
	pair->longest_ns = ns;
	pair->object = event->object;
	pair->since_ns = event->enter_ns;
	pair->waiter_thread = event->thread;
	pair->holder_thread = holder->site	    ? locks->threads.items[holder->thread].id
			      : locks->is_contended ? (uint32_t)event->related
						    : 0;
}

static void tell_wait(const struct locks *locks, uint32_t site, const struct locks_past *holder,
		      const struct event *event)
{
	struct locks_wait wait = {
		.object = event->object,
		.since_ns = event->enter_ns,
		.until_ns = most(event->enter_ns, event->leave_ns),
		.thread = event->thread,
		.site = site,
		.holder_site = holder->site,
		.function = event_argument(event, "call") ?: event->function->name,
		.is_open = (event->flags & CALL_OPEN) != 0,
	};

	if (!locks->listener.wait)
		return;
	if (!holder->site && locks->is_contended)
		wait.holder_thread = (uint32_t)event->related;
	if (holder->site) {
		wait.holder_thread = locks->threads.items[holder->thread].id;
		wait.released_ns = holder->is_held ? 0 : holder->until_ns;
	}
	locks->listener.wait(locks->listener.user, &wait);
}

/*
 * Adds a call for a lock to the statistics of its site and lock, whether or not the call took the
 * lock.
 */
static void add_call(struct locks *locks, uint32_t lock, uint32_t site, enum locks_way way,
		     uint32_t thread, const struct event *event)
{
	uint64_t ns = event->leave_ns > event->enter_ns ? event->leave_ns - event->enter_ns : 0;
	bool may_wait = event->operation == OPERATION_ACQUIRE && event->has_tail;
	struct locks_past holder = { 0 };
	struct locks_times more = { .taken = !(event->flags & (CALL_FAILED | CALL_OPEN)),
				    .refused = (event->flags & (CALL_FAILED | CALL_UNWOUND)) ==
					       CALL_FAILED };
	struct locks_site *stats = stats_of(locks, site);
	uint32_t owner = (uint32_t)event->related;
	/*
	 * with --locks=contended, events show that the lock was busy; if a thread waits for a lock
	 * that it holds itself, this is an error, not contention
	 */
	bool was_busy = locks->is_contended && !(event->flags & CALL_FAILED) &&
			(event->related & RELATED_BUSY || (owner && owner != event->thread));

	more.asked = may_wait;
	if (may_wait)
		holder = find_holder(locks, lock, way, thread, event);
	if (holder.site || (may_wait && (ns >= UNSEEN_NS || was_busy))) {
		more.contended = 1;
		more.waited_ns = more.longest_wait_ns = ns;
		add_pair(locks, site, &holder, event, ns);
		tell_wait(locks, site, &holder, event);
	}
	locks_add_times(&stats->times, &more);
	locks_add_times(times_of(locks, lock, way), &more);
}

/* ---- calls ---- */

static enum locks_way way_of(const struct hook *hook)
{
	switch (hook ? hook->how : HOW_PLAIN) {
	case HOW_READS:
		return LOCKS_READ;
	case HOW_WRITES:
		return LOCKS_WRITE;
	case HOW_SPINS:
		return LOCKS_SPIN;
	case HOW_PLAIN:
	case HOW_JOINS:
	case HOW_WAKES_ALL:
	case HOW_RW_UNLOCKS:
	case HOW_POLLS:
	case HOW_PAUSES:
		break;
	}
	return LOCKS_MUTEX;
}

static void add_order(struct locks *locks, const struct locks_hold *wanted)
{
	struct lock_order_held held[HELD_MAX], taken = {
		.lock = wanted->lock,
		.serial = locks->locks.items[wanted->lock].serial,
		.site = wanted->site,
		.object = locks->locks.items[wanted->lock].object,
		.is_shared = wanted->way == LOCKS_READ,
	};
	const struct locks_thread *thread = &locks->threads.items[wanted->thread];
	unsigned count = 0;

	for (uint32_t i = thread->first; i && count < HELD_MAX;
	     i = locks->holds.items[i].of_thread.next) {
		const struct locks_hold *hold = &locks->holds.items[i];

		held[count++] = (struct lock_order_held){
			.lock = hold->lock,
			.serial = locks->locks.items[hold->lock].serial,
			.site = hold->site,
			.object = locks->locks.items[hold->lock].object,
			.is_shared = hold->way == LOCKS_READ,
		};
	}
	lock_order_add(&locks->order, held, count, &taken, thread->id);
}

static void take_lock(struct locks *locks, const struct event *event)
{
	struct locks_hold wanted = {
		.way = (uint8_t)way_of(event->function->hook),
		.since_ns = event->time_ns,
		.count = 1,
		.lock = lock_of(locks, event->object),
		.thread = thread_of(locks, event->thread),
	};
	struct locks_lock *lock = &locks->locks.items[wanted.lock];
	uint32_t again, next;

	wanted.site = sites_of(&locks->sites, wanted.way, event);
	if (!lock->born)
		lock->born = wanted.site;
	lock->is_rwlock |= wanted.way == LOCKS_READ || wanted.way == LOCKS_WRITE;
	/*
	 * if event->part is set, the event is not a call of its own: a wait for a condition has
	 * locked its mutex again
	 */
	if (!event->part)
		add_call(locks, wanted.lock, wanted.site, wanted.way, wanted.thread, event);
	again = find_hold(locks, wanted.lock, wanted.thread);
	if (again) {
		locks->holds.items[again].count++;
		return;
	}
	/* end the holds whose release was not seen: this thread has the lock now */
	for (uint32_t i = locks->locks.items[wanted.lock].first; i; i = next) {
		next = locks->holds.items[i].of_lock.next;
		if (wanted.way != LOCKS_READ || locks->holds.items[i].way != LOCKS_READ)
			remove_hold(locks, i);
	}
	if (locks->wants_order && event->operation == OPERATION_ACQUIRE)
		add_order(locks, &wanted);
	if (lock->holders < HOLDERS_MAX)
		add_hold(locks, &wanted);
}

static void release_lock(struct locks *locks, const struct event *event)
{
	uint32_t lock = map_get(&locks->index, OF_LOCK, event->object);
	uint32_t thread = map_get(&locks->index, OF_THREAD, event->thread);
	uint32_t hold = lock && thread ? find_hold(locks, lock, thread) : 0;

	/* if exactly one other thread holds the lock, end the hold of that thread */
	if (lock && !hold) {
		hold = locks->locks.items[lock].first;
		if (hold && locks->holds.items[hold].of_lock.next)
			hold = 0;
	}
	if (!hold)
		return;
	if (locks->holds.items[hold].count > 1) {
		locks->holds.items[hold].count--;
		return;
	}
	count_hold(locks, hold, event->time_ns, event);
	remove_hold(locks, hold);
}

void locks_open(struct locks *locks, const struct event *note, const struct hook *hook)
{
	const struct function waiting = { .name = hook->name, .hook = hook };
	struct event call = *note;
	struct locks_hold wanted = { .way = (uint8_t)way_of(hook), .count = 1 };

	if (hook->resource != RESOURCE_LOCK || hook->operation != OPERATION_ACQUIRE)
		return;
	call.operation = hook->operation;
	call.flags = (uint8_t)((call.flags & ~CALL_FAILED) | CALL_OPEN);
	wanted.lock = lock_of(locks, call.object);
	wanted.thread = thread_of(locks, call.thread);
	wanted.site = sites_of(&locks->sites, wanted.way, &call);
	/* must follow sites_of(), which stores the event's function in the site */
	call.function = &waiting;
	add_call(locks, wanted.lock, wanted.site, wanted.way, wanted.thread, &call);
	if (!locks->locks.items[wanted.lock].born)
		locks->locks.items[wanted.lock].born = wanted.site;
	/* A lock that the thread already holds makes no edge. */
	if (locks->wants_order && !find_hold(locks, wanted.lock, wanted.thread))
		add_order(locks, &wanted);
}

/* ---- the end of a lock ---- */

/* Removes a lock that no longer exists. Its statistics move to the site that first took it. */
static void forget_lock(struct locks *locks, uint32_t index)
{
	struct locks_lock *items = locks->locks.items, *lock = &items[index];

	while (lock->first)
		remove_hold(locks, lock->first);
	lock_order_forget(&locks->order, index);
	if (lock->born) {
		struct locks_site *site = stats_of(locks, lock->born);

		site->gone++;
		locks_add_times(&site->gone_times[0], &lock->times[0]);
		locks_add_times(&site->gone_times[1], &lock->times[1]);
	}
	map_set(&locks->index, OF_LOCK, lock->object, 0);
	if (lock->next)
		items[lock->next].previous = lock->previous;
	if (lock->previous)
		items[lock->previous].next = lock->next;
	else
		map_set(&locks->index, OF_PAGE, lock->object >> PAGE_SHIFT, lock->next);
	free(lock->past.items);
	memset(&lock->past, 0, sizeof(lock->past));
	lock->serial = 0;
	lock->next = locks->spare_lock;
	locks->spare_lock = index;
	locks->live--;
}

static void forget_if_in(struct locks *locks, uint32_t index, uint64_t from, uint64_t to)
{
	const struct locks_lock *lock = &locks->locks.items[index];

	if (lock->serial && lock->object >= from && lock->object < to)
		forget_lock(locks, index);
}

/* Removes the locks at addresses inside a newly allocated block: these locks no longer exist. */
static void forget_in(struct locks *locks, uint64_t from, uint64_t size)
{
	uint64_t to = from + size;
	uint32_t next;

	if (!locks->live || to <= from)
		return;
	if ((to - 1 - from) >> PAGE_SHIFT > PAGES_WALKED + locks->live / 4) {
		for (uint32_t i = 1; i < locks->locks.count; i++)
			forget_if_in(locks, i, from, to);
		return;
	}
	for (uint64_t page = from >> PAGE_SHIFT; page <= (to - 1) >> PAGE_SHIFT; page++)
		for (uint32_t i = map_get(&locks->index, OF_PAGE, page); i; i = next) {
			next = locks->locks.items[i].next;
			forget_if_in(locks, i, from, to);
		}
}

void locks_event(struct locks *locks, const struct event *event)
{
	const struct hook *hook = event->function->hook;
	enum resource known = event->resource->known;
	bool has_failed = event->flags & CALL_FAILED;

	/* in the stream, a failed call has no class, so the class of its hook is used */
	if (known == RESOURCE_LOCK || (has_failed && hook && hook->resource == RESOURCE_LOCK)) {
		/* failed and abandoned calls (longjmp(), cancellation) may not hold the lock */
		if (has_failed && !(event->flags & CALL_OPEN) && !event->part &&
		    (event->operation == OPERATION_ACQUIRE || event->operation == OPERATION_TRY)) {
			enum locks_way way = way_of(event->function->hook);
			uint32_t lock = lock_of(locks, event->object);
			uint32_t thread = thread_of(locks, event->thread);
			uint32_t site = sites_of(&locks->sites, (uint8_t)way, event);

			if (!locks->locks.items[lock].born)
				locks->locks.items[lock].born = site;
			add_call(locks, lock, site, way, thread, event);
		} else if (!has_failed && event->type == CALL_TYPE_FREE)
			release_lock(locks, event);
		else if (!has_failed && event->type == CALL_TYPE_ALLOC)
			take_lock(locks, event);
	} else if (!has_failed && known == RESOURCE_MEMORY && event->type == CALL_TYPE_ALLOC) {
		forget_in(locks, event->object, event->size);
	} else if (!has_failed && (known == RESOURCE_MUTEX || known == RESOURCE_RWLOCK ||
				   known == RESOURCE_SPINLOCK)) {
		uint32_t index = map_get(&locks->index, OF_LOCK, event->object);

		if (index)
			forget_lock(locks, index);
	}
}

static struct locks_holder holder_of(const struct locks *locks, const struct locks_hold *hold)
{
	return (struct locks_holder){ .thread = locks->threads.items[hold->thread].id,
				      .site = hold->site,
				      .is_shared = hold->way == LOCKS_READ };
}

bool locks_holder(const struct locks *locks, uint64_t object, uint32_t *at,
		  struct locks_holder *holder)
{
	uint32_t lock = *at ? 0 : map_get(&locks->index, OF_LOCK, object);

	if (*at)
		*at = locks->holds.items[*at].of_lock.next;
	else
		*at = lock ? locks->locks.items[lock].first : 0;
	if (!*at)
		return false;
	*holder = holder_of(locks, &locks->holds.items[*at]);
	return true;
}

bool locks_next_held(const struct locks *locks, struct locks_at *at, uint64_t *object,
		     struct locks_holder *holder)
{
	const struct locks_hold *hold;

	at->hold = at->hold ? locks->holds.items[at->hold].of_thread.next : 0;
	while (!at->hold && ++at->thread < locks->threads.count)
		at->hold = locks->threads.items[at->thread].first;
	if (!at->hold)
		return false;
	hold = &locks->holds.items[at->hold];
	*object = locks->locks.items[hold->lock].object;
	*holder = holder_of(locks, hold);
	return true;
}

void locks_finish(struct locks *locks, uint64_t end_ns)
{
	for (size_t i = 1; !locks->is_finished && i < locks->locks.count; i++) {
		uint32_t hold = locks->locks.items[i].serial ? locks->locks.items[i].first : 0;

		for (; hold; hold = locks->holds.items[hold].of_lock.next)
			count_hold(locks, hold, end_ns, NULL);
	}
	locks->is_finished = true;
}

void locks_sum(const struct locks *locks, struct locks_times *sum)
{
	for (size_t i = 1; i < locks->stats.count; i++)
		locks_add_times(sum, &locks->stats.items[i].times);
}

const struct locks_pair *locks_hottest(const struct locks *locks)
{
	const struct locks_pair *hottest = NULL;

	for (size_t i = 1; i < locks->pairs.count; i++)
		if (!hottest || locks->pairs.items[i].ns > hottest->ns)
			hottest = &locks->pairs.items[i];
	return hottest;
}
