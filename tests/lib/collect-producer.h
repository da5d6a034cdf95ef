/* SPDX-License-Identifier: MIT */
#ifndef TESTS_COLLECT_PRODUCER_H
#define TESTS_COLLECT_PRODUCER_H

/*
 * A small producer for tests of the collector. Without the library, it makes a control page and the
 * memory of processes, and writes records to real rings, as include/arena.h specifies. Each
 * producer is one thread.
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
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "arena.h"
#include "contract.h"
#include "counter.h"
#include "hooks.h"
#include "wire.h"

#define PRODUCER_LEVEL 2 /* size level of its rings: the largest */

/* The shared memory of a process, with what the collector knows about it. */
struct producer_memory {
	const struct control_page *control;
	struct arena_hello hello;
	char *map;
	struct chunk_layout layout;
	int fd;
};

struct producer {
	const struct control_page *control;
	struct slot *slot;
	char *ring;
	uint64_t reserved, tail_seen;
	uint64_t calls;
	uint64_t wakes;
	struct record_model model;
};

__attribute__((unused)) static uint64_t producer_now(const struct control_page *control)
{
	struct timespec now;

	if (control->clock == CONTROL_CLOCK_COUNTER)
		return counter_read_ordered();
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Creates a control page. *fd: the memfd that contains it. */
__attribute__((unused)) static struct control_page *producer_control(int *fd)
{
	struct control_page *control;

	*fd = memfd_create(CONTROL_NAME, MFD_ALLOW_SEALING);
	if (*fd < 0 || ftruncate(*fd, sizeof(*control)) < 0)
		abort();
	control = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (control == MAP_FAILED)
		abort();
	control->size = sizeof(*control);
	control->contract = CONTRACT_HASH;
	control->clock = counter_is_invariant() ? CONTROL_CLOCK_COUNTER : CONTROL_CLOCK_MONOTONIC;
	control->session[0] = 0x0123456789abcdefull;
	control->session[1] = (uint64_t)getpid() << 32 | (uint64_t)time(NULL);
	control->secret[0] = 0xfedcba9876543210ull;
	settings_default(&control->settings);
	control->magic = CONTROL_MAGIC;
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
	return control;
}

/* Maps the control page read-only and holds a shared lock, as an attaching process does. */
__attribute__((unused)) static const struct control_page *producer_map(int fd)
{
	char path[64];
	const struct control_page *control;
	int own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_RDONLY | O_CLOEXEC);
	if (own < 0 || flock(own, LOCK_SH) < 0)
		abort();
	control = mmap(NULL, sizeof(*control), PROT_READ, MAP_SHARED, own, 0);
	if (control == MAP_FAILED)
		abort();
	close(own);
	return control;
}

/* Creates the shared memory of a new process. parent: NULL if the process was not forked. */
__attribute__((unused)) static void
producer_make(struct producer_memory *memory, const struct control_page *control, uint32_t slots,
	      const struct producer_memory *parent, const char *name)
{
	struct arena_hello *hello = &memory->hello;

	memset(memory, 0, sizeof(*memory));
	memory->control = control;
	memory->layout = chunk_lay_out(slots, ARENA_RING_MOST, 0);
	hello->contract = CONTRACT_HASH;
	hello->secret[0] = control->secret[0];
	hello->secret[1] = control->secret[1];
	hello->start = hello->key[0] = producer_now(control);
	hello->pid = getpid();
	hello->key[1] = (uint64_t)hello->pid;
	hello->parent_pid = getppid();
	hello->parent_stream = WIRE_NO_STREAM;
	hello->slots = slots;
	hello->ring_size = ARENA_RING_MOST;
	if (parent)
		memcpy(hello->parent, parent->hello.key, sizeof(hello->parent));
	snprintf(hello->name, sizeof(hello->name), "%s", name);
	memory->fd = memfd_create(ARENA_NAME, MFD_ALLOW_SEALING);
	if (memory->fd < 0 || ftruncate(memory->fd, (off_t)memory->layout.size) < 0)
		abort();
	memory->map = mmap(NULL, memory->layout.size, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_NORESERVE, memory->fd, 0);
	if (memory->map == MAP_FAILED)
		abort();
}

/* Sends the memory to the collector. */
__attribute__((unused)) static void producer_hand_over(const struct producer_memory *memory)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { (void *)(uintptr_t)&memory->hello, sizeof(memory->hello) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int length =
		snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s%016llx%016llx",
			 CONTROL_SOCKET_PREFIX, (unsigned long long)memory->control->session[1],
			 (unsigned long long)memory->control->session[0]);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &memory->fd, sizeof(int));
	if (connection < 0 ||
	    connect(connection, (struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) < 0 ||
	    sendmsg(connection, &message, MSG_NOSIGNAL) < 0)
		abort();
	close(connection);
}

static void producer_wake(struct producer *producer)
{
	const uint32_t *sleeping = &producer->control->sleeping;

	if (__atomic_load_n(sleeping, __ATOMIC_RELAXED) & 1) {
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

/* Reserves a record in state FILLING. If the ring is full, waits without a limit. */
static void *producer_reserve(struct producer *producer, enum record_kind kind, uint32_t length)
{
	uint32_t size = ARENA_RING_MOST;
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
	__atomic_store_n(&producer->slot->head, (at + length) | PRODUCER_LEVEL, __ATOMIC_RELEASE);
	if ((at ^ (at + length)) & ~(uint64_t)(ARENA_WAKE_STEP - 1))
		producer_wake(producer);
	return record;
}

static inline void producer_publish(void *record)
{
	__atomic_store_n(&((struct record *)record)->state, RECORD_DONE, __ATOMIC_RELEASE);
}

/* Takes a free slot for the calling thread, and writes a record about the thread to its ring. */
__attribute__((unused)) static void producer_attach(struct producer *producer,
						    const struct producer_memory *memory)
{
	struct arena *head = (struct arena *)(void *)memory->map;
	uint32_t i = __atomic_fetch_add(&head->used, 1, __ATOMIC_RELAXED);
	struct record_thread *record;

	if (i >= memory->hello.slots)
		abort();
	memset(producer, 0, sizeof(*producer));
	producer->control = memory->control;
	producer->slot = chunk_slot(memory->map, i);
	producer->ring = memory->map + memory->layout.rings + (size_t)i * ARENA_RING_MOST;
	producer->slot->watermark = 1;
	producer->slot->pthread = 0x7f0000000000ull + i;
	producer->slot->thread = (int32_t)syscall(SYS_gettid);
	__atomic_store_n(&producer->slot->state, SLOT_TAKEN, __ATOMIC_RELEASE);
	record = producer_reserve(producer, RECORD_THREAD, sizeof(*record));
	record->record.time = producer_now(memory->control);
	record->thread = producer->slot->thread;
	record->pthread = producer->slot->pthread;
	record->creator = 0;
	record->creator_thread = 0;
	producer_publish(record);
	__atomic_store_n(&producer->slot->watermark, 0, __ATOMIC_RELEASE);
}

/* A test's description of a call. Members that are 0 are 0 in the record, too. */
struct producer_call {
	enum hook_number hook;
	enum operation operation;
	enum resource resource;
	enum moment moment;
	uint64_t time; /* 0: the time of entry or return, depending on `moment` */
	uint64_t enter, leave;
	uint64_t object, related, size, result;
	uint32_t kept, fresh;
	const uint64_t *frames; /* innermost frame first */
	uint32_t numbers;
	const uint64_t *number;
	const char *text; /* texts, each terminated by NUL */
	uint32_t text_size;
	uint8_t flags, part, error;
};

/* Writes a whole record. The caller must publish the record. */
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
	record->record.time = call->time ? call->time
			      : call->moment == MOMENT_LEAVE || call->moment == MOMENT_SPLIT
				      ? call->leave
				      : call->enter;
	record->enter = call->enter;
	record->leave = call->leave;
	record->call = ++producer->calls;
	record->object = call->object;
	record->related = call->related;
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
	record->error = call->error;
	record->part = call->part;
	record->cpu = -1;
	if (call->numbers)
		memcpy(record + 1, call->number, call->numbers * 8);
	if (call->text_size)
		memcpy((char *)(record + 1) + call->numbers * 8, call->text, call->text_size);
	if (call->fresh)
		memcpy((char *)(record + 1) + values, call->frames, call->fresh * 8);
	producer->model = (struct record_model){ .call = producer->calls,
						 .cpu = -1,
						 .flags = call->flags & CALL_CUT,
						 .is_known = true };
	return record;
}

__attribute__((unused)) static void producer_say(struct producer *producer,
						 const struct producer_call *call)
{
	producer_publish(producer_fill(producer, call));
}

__attribute__((unused)) static bool producer_has_more(const struct producer_call *call)
{
	return call->enter != call->leave || call->numbers || call->text_size || call->error;
}

/* Writes the part that most short records lack. Returns its size in bytes. */
static uint32_t producer_put_more(char *at, const struct producer_call *call)
{
	uint32_t values = values_size(call->numbers, call->text_size);
	struct short_more more = { .lasted = (uint32_t)(call->leave - call->enter),
				   .text = (uint16_t)call->text_size,
				   .numbers = (uint8_t)call->numbers,
				   .error = call->error };

	memcpy(at, &more, sizeof(more));
	at += sizeof(more);
	memset(at, 0, values);
	if (call->numbers)
		memcpy(at, call->number, call->numbers * 8);
	if (call->text_size)
		memcpy(at + call->numbers * 8, call->text, call->text_size);
	return (uint32_t)sizeof(more) + values;
}

/* Like producer_fill(), but writes a short record. related: 0 if the call has no related object. */
__attribute__((unused)) static struct record_short *
producer_fill_short(struct producer *producer, const struct producer_call *call, uint64_t related,
		    bool closes)
{
	uint32_t form = (uint32_t)call->operation |
			(call->moment == MOMENT_LEAVE ? SHORT_LEAVES : 0u) |
			(call->result ? SHORT_MADE : 0u) | (related ? SHORT_RELATED : 0u) |
			(closes ? SHORT_CLOSES : 0u);
	uint32_t size = short_size((uint8_t)form);
	uint32_t rest = producer_has_more(call)
				? (uint32_t)sizeof(struct short_more) +
					  values_size(call->numbers, call->text_size)
				: 0;
	struct record_short *record =
		producer_reserve(producer, RECORD_SHORT, size + rest + call->fresh * 8);

	record->record.more = (uint16_t)call->hook;
	record->record.time = call->moment == MOMENT_LEAVE ? call->leave : call->enter;
	record->object = call->object;
	record->size = (uint32_t)call->size;
	record->frame = 0;
	record->kept = call->flags & CALL_NO_BACKTRACE ? SHORT_NO_BACKTRACE : (uint16_t)call->kept;
	record->fresh = (uint16_t)call->fresh;
	record->call = (uint8_t)(++producer->calls - producer->model.call);
	record->depth = 0;
	record->form = (uint8_t)form;
	record->resource =
		(uint8_t)call->resource | (call->moment == MOMENT_SPLIT ? (uint8_t)SHORT_SPLIT : 0);
	if (related)
		memcpy(record + 1, &related, 8);
	if (rest) {
		record->resource |= SHORT_MORE;
		size += producer_put_more((char *)record + size, call);
	}
	if (call->fresh)
		memcpy((char *)record + size, call->frames, call->fresh * 8);
	producer->model.call = producer->calls;
	return record;
}

/* Writes a note. text: the note's name and `pairs` pairs of texts, each terminated by NUL. */
__attribute__((unused)) static void producer_note(struct producer *producer, const char *text,
						  uint32_t size, uint32_t pairs)
{
	struct record_note *record = producer_reserve(producer, RECORD_NOTE,
						      ((uint32_t)sizeof(*record) + size + 7) & ~7u);

	record->record.more = (uint16_t)pairs;
	record->record.time = producer_now(producer->control);
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
	record->record.time = producer_now(producer->control);
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
