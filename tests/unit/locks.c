/* SPDX-License-Identifier: MIT */
/* Tests who held a lock, and in which order locks were taken, with events made by hand. */
#include "waits/locks.h"

#include <errno.h>
#include <stdlib.h>

#include "hook_table.h"
#include "tests/lib/tap.h"
#include "waits/waits.h"

enum { LOCK, MUTEX, MEMORY, CLASSES };
enum { A = 0x1000, B = 0x2000, C = 0x3000 };

static struct locks locks;
static struct resource_class classes[CLASSES] = {
	[LOCK] = { .type = "lock", .known = RESOURCE_LOCK, .flags = 1 },
	[MUTEX] = { .type = "mutex", .known = RESOURCE_MUTEX },
	[MEMORY] = { .type = "memory", .known = RESOURCE_MEMORY },
};
static struct function functions[HOOK_COUNT];
static struct trace_node frames[16];
static struct backtrace backtraces[16];
static uint64_t now_ns;

static void begin(void)
{
	for (uint32_t i = 0; i < CLASSES; i++)
		classes[i].id = classes[i].ordinal = i;
	for (uint32_t i = 0; i < HOOK_COUNT; i++)
		functions[i] = (struct function){ .id = i,
						  .name = hook_table[i].name,
						  .hook = &hook_table[i] };
	for (uint32_t i = 0; i < 16; i++) {
		frames[i] = (struct trace_node){ &trace_no_node, i, 1, i + 1 };
		backtraces[i] = (struct backtrace){ .id = i, .count = 1, .node = &frames[i] };
	}
	locks_clear(&locks);
	now_ns = 1000;
}

/* Sends a call that begins at enter_ns and returns now. place: number of the call site. */
static void call(enum hook_number hook, int class, enum call_type type, uint32_t thread,
		 uint64_t object, uint32_t place, uint64_t enter_ns, uint8_t flags)
{
	struct event event = {
		.kind = EVENT_CALL,
		.function = &functions[hook],
		.resource = &classes[class],
		.type = type,
		.operation = hook_table[hook].operation,
		.object = object,
		.size = class == MEMORY ? 64 : 1,
		.backtrace = &backtraces[place],
		.has_tail = true,
		.flags = flags,
		.error = flags & CALL_FAILED ? ETIMEDOUT : 0,
		.thread = thread,
		.enter_ns = enter_ns,
		.leave_ns = now_ns,
		.time_ns = now_ns,
	};

	locks_event(&locks, &event);
	now_ns += 100;
}

static void take(uint32_t thread, uint64_t object, uint32_t place)
{
	call(HOOK_pthread_mutex_lock, LOCK, CALL_TYPE_ALLOC, thread, object, place, now_ns - 10, 0);
}

static void take_after(uint32_t thread, uint64_t object, uint32_t place, uint64_t enter_ns)
{
	call(HOOK_pthread_mutex_lock, LOCK, CALL_TYPE_ALLOC, thread, object, place, enter_ns, 0);
}

static void release(uint32_t thread, uint64_t object)
{
	call(HOOK_pthread_mutex_unlock, LOCK, CALL_TYPE_FREE, thread, object, 15, now_ns, 0);
}

static void both(uint32_t thread, uint64_t first, uint64_t second, uint32_t place)
{
	take(thread, first, place);
	take(thread, second, place + 1);
	release(thread, second);
	release(thread, first);
}

/* Returns the times of a call site, or zeros. */
static struct locks_times times_at(uint32_t place)
{
	for (uint32_t i = 1; i < locks.sites.list.count; i++)
		if (sites_at(&locks.sites, i)->backtrace == &backtraces[place] &&
		    locks_site(&locks, i))
			return locks_site(&locks, i)->times;
	return (struct locks_times){ 0 };
}

static uint64_t frame_of(uint32_t site)
{
	return sites_at(&locks.sites, site)->backtrace->node->address;
}

static void holds(void)
{
	begin();
	take(1, A, 1);
	take(1, A, 2);
	release(1, A);
	release(1, A);
	ok(times_at(1).holds == 1 && times_at(1).held_ns == 300 && times_at(2).taken == 1 &&
		   times_at(2).holds == 0,
	   "a lock that is taken again is held from the first to the last");
	begin();
	take(1, A, 1);
	release(2, A);
	ok(times_at(1).holds == 1, "another thread may give it back");
	begin();
	take(1, A, 1);
	take(2, A, 2);
	release(2, A);
	ok(times_at(1).holds == 0 && times_at(2).held_ns == 100,
	   "whoever died with a lock has held it for nobody knows how long");
	begin();
	take(1, A, 1);
	locks_finish(&locks, now_ns + 900);
	ok(times_at(1).held_ns == 1000, "a lock that is held at the end was held until the end");
	begin();
	release(1, A);
	ok(locks.locks.count == 0, "a release of a lock taken before the trace starts is ignored");
}

static void waits(void)
{
	begin();
	take(1, A, 1); /* from 1000; released at 1100 */
	release(1, A);
	take_after(2, A, 2, 1150); /* the lock is free at 1150 */
	ok(times_at(2).contended == 0, "a call after the release did not wait");
	release(2, A);
	begin();
	take(1, A, 1); /* at 1000 */
	now_ns = 9000;
	release(1, A); /* at 9000 */
	take(3, A, 3); /* at 9100 */
	release(3, A); /* at 9200 */
	take_after(2, A, 2, 1500);
	ok(times_at(2).contended == 1 && times_at(2).waited_ns == 7800,
	   "a call during the hold waited");
	ok(locks.pairs.count == 2 && frame_of(locks.pairs.items[1].holder) == 1,
	   "for the one that had it for most of the time, not the last one");
	begin();
	take(1, A, 1);
	call(HOOK_pthread_mutex_timedlock, LOCK, CALL_TYPE_NONE, 2, A, 2, 1050, CALL_FAILED);
	ok(times_at(2).refused == 1 && times_at(2).taken == 0 && times_at(2).contended == 1 &&
		   frame_of(locks.pairs.items[1].holder) == 1,
	   "a time-out is a wait for who has it still");
}

/* Returns the call site of the holder for which the call site `place` waited; 0: none. */
static uint64_t frame_of_holder(uint32_t place)
{
	for (size_t i = 1; i < locks.pairs.count; i++)
		if (frame_of(locks.pairs.items[i].waiter) == place)
			return frame_of(locks.pairs.items[i].holder);
	return 0;
}

static void queues(void)
{
	bool is_right = true;

	begin();
	take(1, A, 1); /* at 1000 */
	now_ns = 30000;
	release(1, A);
	for (uint32_t thread = 2; thread < 12; thread++) {
		take_after(thread, A, thread, 1500);
		release(thread, A);
		is_right &= frame_of_holder(thread) == 1;
	}
	ok(is_right, "all of a queue waited for the one that had the lock for most of the time");
	begin();
	for (int i = 0; i < 100000; i++)
		both(1 + (uint32_t)i % 7, A, B, 1);
	ok(locks.locks.items[1].past.capacity <= 2 * LOCKS_PAST_MAX,
	   "few holds are remembered, however many there were");
}

static void readers(void)
{
	begin();
	call(HOOK_pthread_rwlock_rdlock, LOCK, CALL_TYPE_ALLOC, 1, A, 1, now_ns, 0);
	call(HOOK_pthread_rwlock_rdlock, LOCK, CALL_TYPE_ALLOC, 2, A, 2, 1000, 0);
	call(HOOK_pthread_rwlock_unlock, LOCK, CALL_TYPE_FREE, 1, A, 15, now_ns, 0);
	call(HOOK_pthread_rwlock_rdlock, LOCK, CALL_TYPE_ALLOC, 3, A, 3, 1000, 0);
	ok(times_at(2).contended + times_at(3).contended == 0 && times_at(1).held_ns == 200,
	   "readers do not wait for readers");
	call(HOOK_pthread_rwlock_unlock, LOCK, CALL_TYPE_FREE, 2, A, 15, now_ns, 0);
	call(HOOK_pthread_rwlock_unlock, LOCK, CALL_TYPE_FREE, 3, A, 15, now_ns, 0);
	call(HOOK_pthread_rwlock_wrlock, LOCK, CALL_TYPE_ALLOC, 4, A, 4, 1000, 0);
	ok(times_at(4).contended == 1, "a writer does");
}

static void orders(void)
{
	begin();
	both(1, A, B, 1);
	both(2, B, A, 3);
	ok(locks.order.cycles.count == 1 && !locks.order.cycles.items[0].is_one_thread,
	   "two locks taken in both orders are a cycle");
	both(1, A, B, 1);
	both(2, B, A, 3);
	ok(locks.order.cycles.count == 1, "that is told once");
	begin();
	both(1, A, B, 1);
	both(1, B, A, 3);
	ok(locks.order.cycles.items[0].is_one_thread, "one thread may have done both");
	both(2, B, A, 3);
	ok(locks.order.cycles.count == 1 && !locks.order.cycles.items[0].is_one_thread,
	   "until another one does it, too");
	begin();
	take(1, C, 5);
	both(1, A, B, 1);
	release(1, C);
	take(2, C, 5);
	both(2, B, A, 3);
	release(2, C);
	ok(locks.order.cycles.count == 0, "a gate makes it safe");
	both(3, B, A, 6);
	ok(locks.order.cycles.count == 1, "unless somebody goes round it");
	begin();
	both(1, A, B, 1);
	both(2, B, C, 3);
	both(3, C, A, 5);
	ok(locks.order.cycles.count == 1 && locks.order.cycles.items[0].count == 3,
	   "three locks make a circle as well");
}

static void lives(void)
{
	begin();
	both(1, A, B, 1);
	call(HOOK_malloc, MEMORY, CALL_TYPE_ALLOC, 1, A - 8, 9, now_ns, 0);
	both(2, B, A, 3);
	ok(locks.order.cycles.count == 0, "a lock in a block that was handed out anew is another");
	begin();
	both(1, A, B, 1);
	call(HOOK_pthread_mutex_init, MUTEX, CALL_TYPE_ALLOC, 1, B, 9, now_ns, 0);
	both(2, B, A, 3);
	ok(locks.order.cycles.count == 0, "a lock that was initialised anew has no edges");
	ok(locks.live == 2 && locks_site(&locks, 2)->gone == 1 &&
		   locks_site(&locks, 2)->gone_times[0].taken == 1,
	   "the statistics of a destroyed lock stay with the site that took it first");
	begin();
	for (uint64_t i = 0; i < 100000; i++) {
		both(1, A, B, 1);
		call(HOOK_pthread_mutex_destroy, MUTEX, CALL_TYPE_FREE, 1, A, 9, now_ns, 0);
	}
	ok(locks.locks.count < 10 && locks.holds.count < 10 && locks.order.edges.count < 10 &&
		   locks.order.ways.count < 10,
	   "locks that come and go take no memory");
}

/* Adds many objects, so that their order in the hash table varies with its seed. */
static void equals(void)
{
	struct waits_class class = { .calls = 0 };
	const struct waits_object *hottest;
	struct waits waits;

	waits_init(&waits);
	for (uint64_t object = 100; object; object--)
		waits_add(&class, waits_object(&waits, 1, object),
			  &(struct waits_call){ .duration_ns = 50000 });
	hottest = waits_hottest(&waits, 1, 1000);
	ok(hottest && hottest->object == 1,
	   "of objects with equal waits the one with the lowest address is the hottest");
	ok(!waits_hottest(&waits, 2, 1000), "a class without objects has no hottest object");
	waits_free(&waits);
}

static void moved(void)
{
	struct waits_class class = { .calls = 0 };
	struct waits_object *from, *to;
	struct waits waits;

	waits_init(&waits);
	from = waits_object(&waits, 1, 0x10);
	to = waits_object(&waits, 1, 0x20);
	waits_notify(from, 5, 1, 100);
	from->moved = to;
	waits_notify(to, 6, 1, 200);
	waits_add(&class, from, &(struct waits_call){ 50, 160, 2, 3 });
	ok(from->waiter == 3 && from->other == 6,
	   "the wake of the futex to which a thread was moved has ended its wait");
	waits_free(&waits);
}

int main(void)
{
	equals();
	moved();
	locks_init(&locks);
	locks.wants_order = true;
	holds();
	waits();
	queues();
	readers();
	orders();
	lives();
	locks_free(&locks);
	return tap_end();
}
