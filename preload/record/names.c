/* SPDX-License-Identifier: MIT */
#include "names.h"

#include "life.h"
#include "ring.h"

#define CONTEXTS 32u /* maximum number of contexts; each has one bit in a record */
#define CLASSES \
	(RESOURCES_MAX - (RESOURCE_COUNT - 1)) /* number of classes that the program may create */
#define CLASS_BIT	32u		       /* first bit of the classes in `untold` */
#define NAME_SIZE	128u
#define DESCRIPTION_MAX 256u

enum { NAME_NONE, NAME_FILLING, NAME_READY };

struct name {
	uint32_t state; /* an entry is taken by compare-and-swap and never freed */
	uint32_t flags; /* in a class: the flags of its record */
	bool listed;	/* in a class: whether its events are recorded */
	char text[NAME_SIZE];
	char description[DESCRIPTION_MAX];
};

__thread uint32_t names_own_contexts;
uint32_t names_all_contexts;

static SPARSE struct name contexts[CONTEXTS];
static SPARSE struct name classes[CLASSES];

/* One bit for each name that is ready but not yet reported in this process's stream. */
static uint64_t untold;

/* ---- records ---- */

static bool tell_name(struct thread *thread, enum record_kind kind, uint32_t id, uint64_t time,
		      const struct name *name)
{
	uint32_t text = (uint32_t)plain_length(name->text) + 1;
	uint32_t description = (uint32_t)plain_length(name->description) + 1;
	struct record_name *record = (struct record_name *)ring_reserve(
		thread, kind, ((uint32_t)sizeof(*record) + text + description + 7) & ~7u);
	char *at;

	if (!record)
		return false;
	record->record.time = time;
	record->id = id;
	record->flags = name->flags;
	record->name_size = (uint16_t)text;
	record->description_size = (uint16_t)description;
	record->pad = 0;
	at = (char *)(record + 1);
	at += plain_copy(at, name->text, text);
	plain_copy(at, name->description, description);
	ring_publish(&record->record);
	return true;
}

void names_tell(struct thread *thread)
{
	uint64_t mine, time;
	bool owns_watermark;

	if (!thread || !__atomic_load_n(&untold, __ATOMIC_RELAXED))
		return;
	owns_watermark = thread_begin_alone(thread, true);
	time = thread->last;
	/* take the names after the time, so that their records precede all events that use them */
	mine = __atomic_exchange_n(&untold, 0, __ATOMIC_ACQ_REL);
	for (unsigned int bit = 0; bit < 64; bit++)
		if (mine >> bit & 1 &&
		    !(bit < CLASS_BIT
			      ? tell_name(thread, RECORD_CONTEXT, 1u << bit, time, &contexts[bit])
			      : tell_name(thread, RECORD_CLASS, RESOURCE_COUNT + bit - CLASS_BIT,
					  time, &classes[bit - CLASS_BIT])))
			__atomic_fetch_or(&untold, 1ull << bit, __ATOMIC_RELAXED);
	thread_end_alone(thread, owns_watermark);
}

void names_mark(struct thread *thread, const char *text)
{
	static const char head[] = "~mark\0text"; /* name of the note, name of its value */
	size_t length = plain_length(text) + 1;
	uint32_t size = (uint32_t)sizeof(head) +
			(uint32_t)(length < ARENA_TEXT_MAX ? length : ARENA_TEXT_MAX);
	struct record_note *record;
	bool owns_watermark;
	uint64_t time;
	char *at;

	if (!thread)
		return;
	owns_watermark = thread_begin_alone(thread, true);
	time = thread->last;
	record = (struct record_note *)ring_reserve(thread, RECORD_NOTE,
						    ((uint32_t)sizeof(*record) + size + 7) & ~7u);
	if (record) {
		record->record.more = 1;
		record->record.time = time;
		record->text = size;
		record->pad = 0;
		at = (char *)(record + 1);
		for (unsigned int i = 0; i < sizeof(head); i++)
			*at++ = head[i];
		plain_copy(at, text, size - sizeof(head));
		ring_publish(&record->record);
	}
	thread_end_alone(thread, owns_watermark);
}

void names_forked(void)
{
	untold = 0;
	for (unsigned int i = 0; i < CONTEXTS; i++)
		if (contexts[i].state == NAME_READY)
			untold |= 1ull << i;
	for (unsigned int i = 0; i < CLASSES; i++)
		if (classes[i].state == NAME_READY)
			untold |= 1ull << (CLASS_BIT + i);
}

/* ---- names ---- */

/*
 * Returns the index of the name, or of a new entry that the caller fills in, or -1 if the table is
 * full. If two threads add the same name at the same time, the name may get two entries.
 */
static int find_name(struct name *names, unsigned int count, const char *text, bool *is_new)
{
	char cut[NAME_SIZE];

	plain_copy(cut, text, sizeof(cut));
	*is_new = false;
	for (unsigned int i = 0; i < count; i++)
		if (__atomic_load_n(&names[i].state, __ATOMIC_ACQUIRE) == NAME_READY &&
		    plain_equal(names[i].text, cut))
			return (int)i;
	*is_new = true;
	for (unsigned int i = 0; i < count; i++)
		if (plain_claim(&names[i].state, NAME_NONE, NAME_FILLING))
			return (int)i;
	return -1;
}

static void make_ready(struct name *name, unsigned int bit)
{
	__atomic_store_n(&name->state, NAME_READY, __ATOMIC_RELEASE);
	__atomic_fetch_or(&untold, 1ull << bit, __ATOMIC_RELEASE);
}

uint32_t names_context(const char *name)
{
	bool is_new;
	int i = find_name(contexts, CONTEXTS, name, &is_new);

	if (i < 0)
		return 0;
	if (is_new) {
		plain_copy(contexts[i].text, name, NAME_SIZE);
		make_ready(&contexts[i], (unsigned int)i);
	}
	return 1u << i;
}

uint32_t names_context_count(void)
{
	uint32_t count = 0;

	for (unsigned int i = 0; i < CONTEXTS; i++)
		count += contexts[i].state == NAME_READY;
	return count;
}

uint32_t names_class(const char *name, const char *description, bool counted)
{
	bool is_new;
	int i = find_name(classes, CLASSES, name, &is_new);

	if (i < 0)
		return 0;
	if (is_new) {
		plain_copy(classes[i].text, name, NAME_SIZE);
		plain_copy(classes[i].description, description, DESCRIPTION_MAX);
		classes[i].flags = counted;
		/* --events=holdtrace_acquired includes all of the program's classes */
		classes[i].listed = life.control &&
				    (life_is_listed(name) || life_is_listed("holdtrace_acquired"));
		if (classes[i].listed)
			life_armed[HOOK_holdtrace_acquired] = life_armed[HOOK_holdtrace_released] =
				1;
		make_ready(&classes[i], CLASS_BIT + (unsigned int)i);
	}
	return RESOURCE_COUNT + (uint32_t)i;
}

bool names_class_is_listed(uint32_t ordinal)
{
	uint32_t i = ordinal - RESOURCE_COUNT;

	return i < CLASSES && __atomic_load_n(&classes[i].state, __ATOMIC_ACQUIRE) == NAME_READY &&
	       classes[i].listed;
}
