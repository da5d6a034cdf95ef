/* SPDX-License-Identifier: MIT */
/*
 * The short way from a ring to an .htr against the long one: the same calls of a thread come to the
 * same bytes, whether they are handed out in brief, as whole records, or some so and some so.
 */
#include "tests/collect-producer.h"
#include "tests/unit/tap.h"

#include "collect/encode.h"
#include "collect/merge.h"

#define ROUNDS	  30
#define CALLS	  4000 /* of a round; they fit into the ring */
#define DEPTH_MAX 620
#define BLOCKS	  64

/* What one way made of the calls. */
struct way {
	uint32_t refuses; /* one brief of so many; 0: all */
	struct producer_memory memory;
	struct producer producer;
	struct merge *merge;
	struct encoder encoder;
	uint8_t buffer[4 * ENCODE_MOST];
	struct htr_block_parts *blocks[BLOCKS];
	uint32_t count;
	uint64_t briefs, events, time, random;
	uint32_t depth;
};

static struct ticks ticks;

static uint64_t draw(struct way *way)
{
	way->random ^= way->random << 13;
	way->random ^= way->random >> 7;
	way->random ^= way->random << 17;
	return way->random;
}

/* ---- the host ---- */

static void move_stack(struct way *way, struct producer_call *call, uint64_t *frames)
{
	uint64_t dice = draw(way);
	uint32_t drop = (uint32_t)(dice & 3), most = dice >> 8 & 255 ? 3 : 600;

	call->kept = way->depth > drop ? way->depth - drop : 0;
	call->fresh = (uint32_t)(dice >> 16) % (most + 1);
	if (call->kept + call->fresh > DEPTH_MAX)
		call->kept = 5;
	if (!(dice >> 40 & 1023))
		call->kept = 0;
	for (uint32_t i = 0; i < call->fresh; i++)
		frames[i] = 0x401000 + 32 * (draw(way) & 15);
	way->depth = call->kept + call->fresh;
	call->frames = frames;
}

static void say_whole(struct way *way, struct producer_call *call, uint64_t dice)
{
	struct record_call *record;

	call->leave += dice >> 8 & 1 ? 30 : 0;
	call->result = dice >> 9 & 1 ? call->object : dice & 7;
	call->flags = dice >> 10 & 1 ? CALL_FAILED : dice >> 11 & 1 ? CALL_CUT : 0;
	record = producer_fill(&way->producer, call);
	record->context = (uint32_t)(dice >> 16 & 3);
	record->cpu = (int32_t)(dice >> 18 & 3) - 1;
	record->cut = dice >> 20 & 3 ? 0 : (uint16_t)(dice >> 24 & 31);
	record->frame = 0x7ffc00000000 + (dice >> 32 & 0xffff);
	record->related = dice >> 48 & 3 ? 0 : dice;
	producer_publish(record);
}

static void say_short(struct way *way, struct producer_call *call, uint64_t dice)
{
	uint64_t related = dice & 15 ? 0 : dice >> 20;
	struct record_short *record;

	call->result = dice >> 4 & 1;
	record = producer_fill_short(&way->producer, call, related, dice >> 5 & 63);
	record->frame = dice >> 9 & 3 ? 0 : (int32_t)(dice >> 32);
	record->depth = dice >> 11 & 63 ? 0 : (uint8_t)(dice >> 20);
	producer_publish(record);
}

static void say(struct way *way)
{
	static const struct {
		enum hook_number hook;
		enum operation operation;
		enum resource resource;
		enum moment moment;
	} kinds[] = {
		{ HOOK_malloc, OPERATION_ALLOC, RESOURCE_MEMORY, MOMENT_LEAVE },
		{ HOOK_free, OPERATION_FREE, RESOURCE_MEMORY, MOMENT_ENTER },
		{ HOOK_calloc, OPERATION_ALLOC, RESOURCE_MEMORY, MOMENT_LEAVE },
		{ HOOK_pthread_mutex_lock, OPERATION_ACQUIRE, RESOURCE_LOCK, MOMENT_LEAVE },
		{ HOOK_pthread_mutex_unlock, OPERATION_RELEASE, RESOURCE_LOCK, MOMENT_ENTER },
		{ HOOK_sem_post, OPERATION_NOTIFY, RESOURCE_EVENT, MOMENT_ENTER },
	};
	uint64_t frames[DEPTH_MAX], dice = draw(way);
	size_t kind = dice & 15 ? dice >> 4 & 1 : (dice >> 4) % (sizeof(kinds) / sizeof(*kinds));
	struct producer_call call = { .hook = kinds[kind].hook,
				      .operation = kinds[kind].operation,
				      .resource = kinds[kind].resource,
				      .moment = kinds[kind].moment,
				      .enter = way->time,
				      .leave = way->time };

	way->time += dice >> 8 & 127;
	call.object = 0x5500000000 + (dice >> 16 & 0xfffff) * (dice >> 15 & 1 ? 16 : 1);
	call.size = dice >> 36 & 7 ? dice >> 40 & 255 : dice >> 40;
	call.size &= UINT32_MAX;
	move_stack(way, &call, frames);
	if (!way->producer.model.is_known || !(draw(way) & 31))
		say_whole(way, &call, draw(way));
	else
		say_short(way, &call, draw(way));
}

/* ---- the collector ---- */

static void take_block(struct way *way)
{
	struct htr_block_parts *parts = htr_take(way->encoder.htr);

	if (parts && way->count < BLOCKS)
		way->blocks[way->count++] = parts;
}

static void on_event(void *context, void *owner, const struct merge_event *event)
{
	struct way *way = context;

	(void)owner;
	way->events++;
	if (htr_is_full(way->encoder.htr))
		take_block(way);
	encode_event(&way->encoder, event);
}

static bool on_brief(void *context, void *owner, const struct brief *brief)
{
	struct way *way = context;

	(void)owner;
	if (!way->refuses || (way->refuses > 1 && brief->turn % way->refuses == 0) ||
	    !encode_brief(&way->encoder, brief))
		return false;
	way->briefs++;
	return true;
}

static void go(struct way *way, const struct board *board, uint64_t begin, bool has_brief)
{
	struct merge_handler handler = { .event = on_event,
					 .brief = has_brief ? on_brief : NULL,
					 .context = way };
	struct process *process;
	struct chunk *chunk;
	struct error err;

	way->random = 88172645463325252ull;
	way->time = begin;
	producer_make(&way->memory, board, 2, NULL, "brief");
	chunk = chunk_open(way->memory.fd, &way->memory.hello, &err);
	encode_init(&way->encoder, way->buffer, sizeof(way->buffer), PROTOCOL_2_0, &ticks);
	way->encoder.htr = htr_create();
	way->merge = merge_create((struct board *)(uintptr_t)board, &handler);
	process = merge_add(way->merge, NULL);
	merge_add_chunk(process, chunk);
	producer_attach(&way->producer, &way->memory);
	for (int i = 0; i < ROUNDS; i++) {
		for (int k = 0; k < CALLS; k++)
			say(way);
		merge_round(way->merge);
	}
	merge_end(process);
	merge_round(way->merge);
	take_block(way);
	printf("# %llu in brief, %llu as events, %u blocks, %llu late, %llu damaged\n",
	       (unsigned long long)way->briefs, (unsigned long long)way->events, way->count,
	       (unsigned long long)merge_counts(process)->late,
	       (unsigned long long)merge_counts(process)->damaged);
	merge_destroy(way->merge);
	chunk_close(chunk);
	htr_destroy(way->encoder.htr);
}

static bool is_same(const struct way *one, const struct way *two)
{
	for (uint32_t i = 0; i < one->count && i < two->count; i++) {
		const struct htr_block *header = &one->blocks[i]->header;

		if (memcmp(header, &two->blocks[i]->header, sizeof(*header)) != 0 ||
		    memcmp(one->blocks[i]->bytes, two->blocks[i]->bytes,
			   header->definitions_size + header->events_size) != 0)
			return false;
	}
	return one->count == two->count && one->count > 2;
}

int main(void)
{
	static struct way whole, brief = { .refuses = 1 }, mixed = { .refuses = 3 };
	int fd;
	struct board *board = producer_board(&fd);
	uint64_t begin = producer_now(board) - 1000000000;

	ticks_measure(&ticks, board->clock);
	ticks_begin(&ticks);
	go(&whole, board, begin, false);
	go(&brief, board, begin, true);
	go(&mixed, board, begin, true);
	ok(whole.events == (uint64_t)ROUNDS * CALLS && !whole.briefs, "all go the long way");
	ok(brief.briefs > 2 * brief.events, "most go the short one");
	ok(is_same(&whole, &brief), "what comes of both is the same");
	ok(mixed.briefs > mixed.events / 2 && mixed.events > mixed.briefs / 3,
	   "calls go both ways in turn");
	ok(is_same(&whole, &mixed), "which makes no difference either");
	return tap_end();
}
