/* SPDX-License-Identifier: MIT */
#ifndef TESTS_COLLECT_PRODUCER_H
#define TESTS_COLLECT_PRODUCER_H

/*
 * A small producer for the collector's tests: makes arenas and writes records into real rings
 * as include/arena.h says, without the library. One producer is one thread.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arena.h"
#include "contract.h"
#include "counter.h"
#include "hooks.h"
#include "wire.h"

struct producer {
	struct arena *arena;
	struct arena_owner *owner;
	struct slot *slot;
	char *ring;
	uint64_t reserved, tail_seen;
	uint64_t calls;
	uint64_t wakes;
};

__attribute__((unused)) static uint64_t producer_now(const struct arena *arena)
{
	struct timespec now;

	if (arena->clock == ARENA_CLOCK_COUNTER)
		return counter_read_ordered();
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A fresh arena on a memfd, which is left in *fd. */
__attribute__((unused)) static struct arena *producer_arena(int *fd, uint32_t slots)
{
	struct arena layout = { .magic = ARENA_MAGIC };
	struct arena *arena;

	layout.contract = CONTRACT_HASH;
	layout.clock = counter_is_invariant() ? ARENA_CLOCK_COUNTER : ARENA_CLOCK_MONOTONIC;
	layout.session[0] = 0x0123456789abcdefull;
	layout.session[1] = (uint64_t)getpid() << 32 | (uint64_t)time(NULL);
	arena_lay_out(&layout, slots);
	settings_default(&layout.settings);
	*fd = memfd_create("holdtrace", 0);
	if (*fd < 0 || ftruncate(*fd, (off_t)layout.size) < 0)
		abort();
	arena = mmap(NULL, layout.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, *fd, 0);
	if (arena == MAP_FAILED)
		abort();
	*arena = layout;
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
	return arena;
}

/* As a process does that attaches: a mapping that holds a shared lock. */
__attribute__((unused)) static struct arena *producer_map(int fd)
{
	char path[64];
	struct arena *arena;
	int own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_RDWR | O_CLOEXEC);
	if (own < 0 || flock(own, LOCK_SH) < 0)
		abort();
	arena = mmap(NULL, sizeof(*arena), PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
	if (arena == MAP_FAILED)
		abort();
	arena = mremap(arena, sizeof(*arena), arena->size, MREMAP_MAYMOVE);
	if (arena == MAP_FAILED)
		abort();
	close(own);
	return arena;
}

/* An entry of the table of processes. */
__attribute__((unused)) static uint32_t producer_enter(struct arena *arena, uint32_t parent,
						       const char *name)
{
	uint32_t index = __atomic_fetch_add(&arena->processes_used, 1, __ATOMIC_ACQ_REL);
	struct arena_process *process = &arena->processes[index];

	process->pid = getpid();
	process->parent_pid = getppid();
	process->parent = parent;
	process->stream = __atomic_fetch_add(&arena->next_stream, 1, __ATOMIC_RELAXED);
	process->start = producer_now(arena);
	snprintf(process->name, sizeof(process->name), "%s", name);
	__atomic_store_n(&process->state, PROCESS_ALIVE, __ATOMIC_RELEASE);
	return index;
}

static void producer_wake(struct producer *producer)
{
	uint32_t *sleeping = &producer->arena->sleeping;

	if (__atomic_load_n(sleeping, __ATOMIC_RELAXED) &&
	    __atomic_exchange_n(sleeping, 0, __ATOMIC_ACQ_REL)) {
		producer->wakes++;
		syscall(SYS_futex, sleeping, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
}

static void producer_wait(struct producer *producer, uint64_t tail)
{
	static const struct timespec limit = { .tv_nsec = 10000000 };
	struct slot *slot = producer->slot;

	__atomic_store_n(&slot->waiting, 1, __ATOMIC_SEQ_CST);
	producer_wake(producer);
	if (__atomic_load_n(&slot->tail, __ATOMIC_SEQ_CST) == tail)
		syscall(SYS_futex, (uint32_t *)&slot->tail, FUTEX_WAIT, (uint32_t)tail, &limit,
			NULL, 0);
	__atomic_store_n(&slot->waiting, 0, __ATOMIC_RELAXED);
}

/* Reserves a record, state FILLING; waits for as long as it takes. */
static void *producer_reserve(struct producer *producer, enum record_kind kind, uint32_t length)
{
	uint32_t size = producer->arena->ring_size;
	uint64_t at = producer->reserved;
	uint32_t left = size - (uint32_t)(at & (size - 1));
	uint32_t pad = left < length ? left : 0;
	struct record *record;

	while (at + pad + length - producer->tail_seen > size) {
		uint64_t tail = __atomic_load_n(&producer->slot->tail, __ATOMIC_ACQUIRE);

		if (tail == producer->tail_seen)
			producer_wait(producer, tail);
		producer->tail_seen = __atomic_load_n(&producer->slot->tail, __ATOMIC_ACQUIRE);
	}
	if (pad) {
		record = (struct record *)(producer->ring + (at & (size - 1)));
		record->length = pad;
		record->kind = RECORD_PAD;
		record->state = RECORD_DONE;
		at += pad;
	}
	record = (struct record *)(producer->ring + (at & (size - 1)));
	record->length = length;
	record->kind = (uint8_t)kind;
	record->state = RECORD_FILLING;
	record->more = 0;
	producer->reserved = at + length;
	__atomic_store_n(&producer->slot->head, at + length, __ATOMIC_RELEASE);
	if ((at ^ (at + length)) & ~(uint64_t)(ARENA_WAKE_STEP - 1))
		producer_wake(producer);
	return record;
}

static inline void producer_publish(void *record)
{
	__atomic_store_n(&((struct record *)record)->state, RECORD_DONE, __ATOMIC_RELEASE);
}

/* Gives the calling thread a free slot and says so in its ring. */
__attribute__((unused)) static void producer_attach(struct producer *producer, struct arena *arena,
						    uint32_t process)
{
	struct record_thread *record;
	uint32_t i, used, expected;

	for (i = 0; i < arena->slots; i++) {
		expected = SLOT_FREE;
		if (__atomic_compare_exchange_n(&arena->owners[i].state, &expected, SLOT_TAKING,
						false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			break;
	}
	if (i == arena->slots)
		abort();
	memset(producer, 0, sizeof(*producer));
	producer->arena = arena;
	producer->owner = &arena->owners[i];
	producer->slot = arena_slot(arena, i);
	producer->ring = arena_ring(arena, i);
	producer->reserved = producer->slot->head;
	producer->tail_seen = producer->slot->tail;
	producer->slot->floor = 1;
	producer->slot->pthread = 0x7f0000000000ull + i;
	producer->owner->process = process;
	producer->owner->thread = (int32_t)syscall(SYS_gettid);
	__atomic_store_n(&producer->owner->state, SLOT_TAKEN, __ATOMIC_RELEASE);
	__atomic_store_n(&producer->owner->ready, 1, __ATOMIC_RELEASE);
	used = arena->slots_used;
	while (used <= i && !__atomic_compare_exchange_n(&arena->slots_used, &used, i + 1, false,
							 __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	record = producer_reserve(producer, RECORD_THREAD, sizeof(*record));
	record->record.time = producer_now(arena);
	record->process = process;
	record->thread = producer->owner->thread;
	record->pthread = producer->slot->pthread;
	record->creator = 0;
	record->creator_thread = 0;
	record->pad = 0;
	producer_publish(record);
	__atomic_store_n(&producer->slot->floor, 0, __ATOMIC_RELEASE);
}

/* What a test says of a call; what is 0 there is 0 in the record. */
struct producer_call {
	enum hook_number hook;
	enum operation operation;
	enum resource resource;
	enum moment moment;
	uint64_t time; /* 0: enter or leave, by moment */
	uint64_t enter, leave;
	uint64_t object, size, result;
	uint32_t kept, fresh;
	const uint64_t *frames; /* innermost first */
	uint32_t numbers;
	const uint64_t *number;
	const char *text; /* texts, each with its NUL */
	uint32_t text_size;
	uint8_t flags, part;
};

/* A whole record, unpublished. */
static struct record_call *producer_fill(struct producer *producer,
					 const struct producer_call *call)
{
	uint32_t values = (call->numbers * 8 + call->text_size + 7) & ~7u;
	struct record_call *record = producer_reserve(
		producer, RECORD_CALL, (uint32_t)sizeof(*record) + values + call->fresh * 8);
	uint32_t length = record->record.length;

	memset(&record->record.time, 0, sizeof(*record) - 8);
	record->record.length = length;
	record->record.more = (uint16_t)call->hook;
	record->record.time = call->time		     ? call->time
			      : call->moment == MOMENT_LEAVE ? call->leave
							     : call->enter;
	record->enter = call->enter;
	record->leave = call->leave;
	record->call = ++producer->calls;
	record->object = call->object;
	record->size = call->size;
	record->result = call->result;
	record->kept = (uint16_t)call->kept;
	record->fresh = (uint16_t)call->fresh;
	record->text = (uint16_t)call->text_size;
	record->numbers = (uint8_t)call->numbers;
	record->operation = (uint8_t)call->operation;
	record->moment = (uint8_t)call->moment;
	record->resource = (uint8_t)call->resource;
	record->flags = call->flags;
	record->part = call->part;
	record->cpu = -1;
	if (call->numbers)
		memcpy(record + 1, call->number, call->numbers * 8);
	if (call->text_size)
		memcpy((char *)(record + 1) + call->numbers * 8, call->text, call->text_size);
	if (call->fresh)
		memcpy((char *)(record + 1) + values, call->frames, call->fresh * 8);
	return record;
}

__attribute__((unused)) static void producer_say(struct producer *producer,
						 const struct producer_call *call)
{
	producer_publish(producer_fill(producer, call));
}

/* A note: its name and pairs, each with its NUL. */
__attribute__((unused)) static void producer_note(struct producer *producer, const char *text,
						  uint32_t size, uint32_t pairs)
{
	struct record_note *record = producer_reserve(producer, RECORD_NOTE,
						      ((uint32_t)sizeof(*record) + size + 7) & ~7u);

	record->record.more = (uint16_t)pairs;
	record->record.time = producer_now(producer->arena);
	record->text = size;
	record->pad = 0;
	memcpy(record + 1, text, size);
	producer_publish(record);
}

__attribute__((unused)) static void producer_module(struct producer *producer, uint16_t number,
						    uint64_t start, const char *path)
{
	static const uint8_t id[] = { 0xde, 0xad, 0xbe, 0xef };
	uint32_t size = (uint32_t)strlen(path) + 1;
	struct record_module *record =
		producer_reserve(producer, RECORD_MODULE,
				 ((uint32_t)(sizeof(*record) + size + sizeof(id)) + 7) & ~7u);

	record->record.more = number;
	record->record.time = producer_now(producer->arena);
	record->base = start - 0x1000;
	record->start = start;
	record->end = start + 0x10000;
	record->offset = 0x1000;
	record->path_size = (uint16_t)size;
	record->build_id_size = sizeof(id);
	record->pad = 0;
	memcpy(record + 1, path, size);
	memcpy((char *)(record + 1) + size, id, sizeof(id));
	producer_publish(record);
}

#endif
