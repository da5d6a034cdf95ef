/* SPDX-License-Identifier: MIT */
#include "waits/waits.h"

/*
 * a thread that notifies within this time after it was woken passes the object on to the next
 * thread
 */
#define AT_ONCE_NS 20000u

void waits_init(struct waits *waits)
{
	*waits = (struct waits){ 0 };
	hash_table_init(&waits->objects);
}

void waits_free(struct waits *waits)
{
	hash_table_free(&waits->objects);
	pool_free(&waits->pool);
}

static bool is_object(const void *item, const void *key)
{
	const struct waits_object *a = item, *b = key;

	return a->object == b->object && a->class == b->class;
}

struct waits_object *waits_object(struct waits *waits, uint32_t class, uint64_t object)
{
	const struct waits_object key = { .class = class, .object = object };
	uint64_t hash = hash_two(waits->objects.seed, object, class);
	struct waits_object *found = hash_table_find(&waits->objects, hash, is_object, &key);

	if (found || waits->objects.count >= WAITS_OBJECTS_MAX)
		return found;
	found = pool_zalloc(&waits->pool, sizeof(*found));
	found->class = class;
	found->object = object;
	hash_table_add(&waits->objects, hash, found);
	return found;
}

static unsigned step_of(uint64_t ns)
{
	unsigned step = 0;

	while (step + 1 < WAITS_STEPS && ns >= 1000ull << step)
		step++;
	return step;
}

/* Bucket of a duration: its octave (power of two) and the three bits after the leading 1. */
static unsigned speed_of(uint64_t ns)
{
	unsigned octave;

	if (ns < 8)
		return (unsigned)ns;
	octave = 63 - (unsigned)__builtin_clzll(ns);
	return (octave - 2) * 8 + (unsigned)(ns >> (octave - 3) & 7);
}

static void add_time(struct waits_times *times, uint64_t ns)
{
	unsigned step = step_of(ns);

	times->count[step]++;
	times->ns[step] += ns;
	if (ns > times->longest_ns)
		times->longest_ns = ns;
}

/*
 * If a thread notifies within AT_ONCE_NS after it was woken, the thread only passes the object on.
 * The wait of the next thread is then attributed to the thread that notified first in this chain.
 */
void waits_notify(struct waits_object *object, uint32_t site, uint32_t thread, uint64_t time_ns)
{
	uint64_t most_ns =
		object->waited_ns / 10 > AT_ONCE_NS ? object->waited_ns / 10 : AT_ONCE_NS;
	bool is_passed_on = object->woken_thread == thread && object->begun &&
			    time_ns - object->woken_ns < most_ns;

	object->begun = is_passed_on ? object->begun : site;
	object->last = site;
	object->last_thread = thread;
	object->last_ns = time_ns;
}

void waits_add(struct waits_class *class, struct waits_object *object,
	       const struct waits_call *call)
{
	const struct waits_object *by = object;

	class->calls++;
	class->speeds[speed_of(call->duration_ns)]++;
	add_time(&class->times, call->duration_ns);
	if (!object)
		return;
	/* threads were moved to another object: its notification may have ended the wait */
	if (object->moved && object->moved->last_ns > object->last_ns)
		by = object->moved;
	if (call->duration_ns > object->times.longest_ns) {
		object->waiter = call->site;
		/* the site that notified during the wait */
		object->other = by->last_ns > call->enter_ns && by->last_thread != call->thread
					? by->last
					: 0;
		object->first = object->other ? by->begun : 0;
	}
	add_time(&object->times, call->duration_ns);
	object->woken_thread = call->thread;
	object->woken_ns = call->enter_ns + call->duration_ns;
	object->waited_ns = call->duration_ns;
}

void waits_add_sure(struct waits_class *class, uint64_t calls, uint64_t waits, uint64_t ns,
		    uint64_t longest_ns)
{
	class->is_sure = true;
	class->calls += calls;
	class->times.count[0] += waits;
	class->times.ns[0] += ns;
	if (longest_ns > class->times.longest_ns)
		class->times.longest_ns = longest_ns;
}

const struct waits_object *waits_hottest(const struct waits *waits, uint32_t class,
					 uint64_t least_ns)
{
	const struct waits_object *hottest = NULL;
	uint64_t most = 0;

	for (size_t i = 0; waits->objects.slots && i <= waits->objects.mask; i++) {
		const struct waits_object *object = waits->objects.slots[i].item;
		uint64_t ns =
			object && object->class == class ? waits_ns(&object->times, least_ns) : 0;

		/* the order of the slots is random: between equal times, the lowest address wins */
		if (ns > most || (ns && ns == most && object->object < hottest->object)) {
			most = ns;
			hottest = object;
		}
	}
	return hottest;
}

uint64_t waits_threshold(const struct waits_class *class)
{
	uint64_t calls = 0, fast = 0, wanted, threshold = 1000;
	unsigned speed = 0;

	if (class->is_sure)
		return 0;
	for (unsigned i = 0; i < WAITS_SPEEDS; i++)
		calls += class->speeds[i];
	for (; speed < WAITS_SPEEDS - 1; speed++) {
		fast += class->speeds[speed];
		if (fast && fast >= calls / 10)
			break;
	}
	wanted = speed < 8 ? speed : (8ull | (speed & 7)) << (speed / 8 - 1);
	while (threshold < 8000 && threshold / 10 < wanted)
		threshold *= 2;
	return threshold;
}

uint64_t waits_count(const struct waits_times *times, uint64_t threshold_ns)
{
	uint64_t count = 0;

	for (unsigned step = step_of(threshold_ns); step < WAITS_STEPS; step++)
		count += times->count[step];
	return count;
}

uint64_t waits_ns(const struct waits_times *times, uint64_t threshold_ns)
{
	uint64_t ns = 0;

	for (unsigned step = step_of(threshold_ns); step < WAITS_STEPS; step++)
		ns += times->ns[step];
	return ns;
}
