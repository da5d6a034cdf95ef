/* SPDX-License-Identifier: MIT */
#include "ring.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "clock.h"
#include "life.h"
#include "plain.h"
#include "sys.h"
#include "thread.h"

/* Heartbeat of the collector when a producer last gave up on it, and 0 while nobody has. */
static uint64_t stalled_beat;

static bool is_quiet;

void ring_be_quiet(void)
{
	__atomic_store_n(&is_quiet, true, __ATOMIC_RELAXED);
}

bool ring_is_quiet(void)
{
	return __atomic_load_n(&is_quiet, __ATOMIC_RELAXED);
}

void ring_lose(struct thread *thread, enum loss reason)
{
	thread->slot.lost[reason]++;
}

/*
 * Compares and swaps without the bus lock: the only rival is a signal handler of this very
 * thread, and one instruction cannot be interrupted in its middle.
 */
static inline bool swap_local(uint64_t *word, uint64_t expected, uint64_t desired)
{
#if defined(__x86_64__)
	bool swapped;

	__asm__ volatile("cmpxchgq %3, %1"
			 : "=@ccz"(swapped), "+m"(*word), "+a"(expected)
			 : "r"(desired)
			 : "memory");
	return swapped;
#else
	return __atomic_compare_exchange_n(word, &expected, desired, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
#endif
}

static inline uint64_t heartbeat(void)
{
	return __atomic_load_n(&life.arena->heartbeat, __ATOMIC_RELAXED);
}

static bool collector_runs(void)
{
	return __atomic_load_n(&life.arena->state, __ATOMIC_RELAXED) == ARENA_RUNNING;
}

/*
 * Whether a collector that makes no progress is no more: gone, or a zombie that nobody waited for.
 * Where we may not ask, it is.
 */
static bool collector_is_dead(void)
{
	int32_t pid = __atomic_load_n(&life.arena->collector, __ATOMIC_RELAXED);
	char path[32], text[128];
	long length;
	int fd;

	if (ring_is_quiet())
		return true;
	if (sys_kill(pid, 0) == -ESRCH)
		return true;
	plain_copy(plain_number(path + plain_copy(path, "/proc/", 8) - 1, (uint64_t)pid, 10),
		   "/stat", 8);
	fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	length = fd < 0 ? -1 : sys_read(fd, text, sizeof(text));
	if (fd >= 0)
		sys_close(fd);
	/* "PID (name) state …": the name is the collector's own and has no parenthesis */
	for (long i = 0; i + 2 < length; i++)
		if (text[i] == ')')
			return text[i + 2] == 'Z' || text[i + 2] == 'X';
	return false;
}

void ring_wake(void)
{
	struct arena *arena = life.arena;

	if (!ring_is_quiet() && __atomic_load_n(&arena->sleeping, __ATOMIC_RELAXED) &&
	    __atomic_exchange_n(&arena->sleeping, 0, __ATOMIC_ACQ_REL))
		sys_futex_wake(&arena->sleeping, 1, 1);
}

/* Some microseconds without a system call. */
static void spin(void)
{
	for (volatile unsigned int i = 0; i < 5000; i++)
		;
}

/* Sleeps until the collector has taken something, at most 10 ms. */
static void sleep_on_tail(struct slot *slot, uint64_t tail)
{
	static const struct timespec limit = { .tv_nsec = 10000000 };

	if (ring_is_quiet()) {
		spin();
		return;
	}
	__atomic_store_n(&slot->waiting, 1, __ATOMIC_SEQ_CST);
	ring_wake();
	/* The low half of a little-endian word; the collector stores all of it. */
	if (__atomic_load_n(&slot->tail, __ATOMIC_SEQ_CST) == tail)
		sys_futex_wait((const uint32_t *)&slot->tail, (uint32_t)tail, &limit, 1);
	__atomic_store_n(&slot->waiting, 0, __ATOMIC_RELAXED);
}

static inline struct record *record_at(const struct thread *thread, uint64_t at)
{
	return (struct record *)(thread->ring + (at & (life.arena->ring_size - 1)));
}

/*
 * Whether waiting is in vain, because the collector waits for us: all that it can see is taken, or
 * what comes next is a record that is not whole. Then this is a signal handler in the middle of
 * that record, or its writer was jumped out of.
 */
static bool waits_for_us(const struct thread *thread, uint64_t tail)
{
	return tail == thread->slot.head || record_at(thread, tail)->state == RECORD_FILLING;
}

/* Whether the collector moved since somebody gave up on it; then we trust it again. */
static bool is_stalled(void)
{
	uint64_t beat = __atomic_load_n(&stalled_beat, __ATOMIC_RELAXED);

	if (!beat)
		return false;
	if (beat == heartbeat())
		return true;
	__atomic_store_n(&stalled_beat, 0, __ATOMIC_RELAXED);
	return false;
}

static uint64_t now_ms(void)
{
	return clock_monotonic() / 1000000;
}

/*
 * Waits until the tail has moved from where it was. A lost free is a false leak, so slowing the
 * host down is the lesser evil while the collector makes progress; when its heart has not beaten
 * for the time the user allows, false.
 */
static bool wait_for_room(struct thread *thread, uint64_t tail)
{
	const struct settings *settings = &life.arena->settings;
	uint64_t beat = heartbeat(), since = now_ms();

	if (is_stalled())
		return false;
	while (__atomic_load_n(&thread->slot.tail, __ATOMIC_ACQUIRE) == tail) {
		if (!collector_runs() || waits_for_us(thread, tail))
			return false;
		sleep_on_tail(&thread->slot, tail);
		if (heartbeat() != beat) {
			beat = heartbeat();
			since = now_ms();
		} else if (now_ms() - since > (uint64_t)settings->patience) {
			since = now_ms();
			if (settings->lossless && !collector_is_dead())
				continue;
			__atomic_store_n(&stalled_beat, beat ? beat : 1, __ATOMIC_RELAXED);
			return false;
		}
	}
	return true;
}

/* Bytes to skip so that length bytes lie in one piece. */
static inline uint32_t padding(const struct arena *arena, uint64_t at, uint32_t length)
{
	uint32_t left = arena->ring_size - (uint32_t)(at & (arena->ring_size - 1));

	return left < length ? left : 0;
}

/* Moves the reservation on by what length needs. Returns where it began, or UINT64_MAX. */
static inline uint64_t reserve_bytes(struct thread *thread, uint32_t length, uint32_t *pad)
{
	const struct arena *arena = life.arena;

	for (;;) {
		uint64_t at = __atomic_load_n(&thread->reserved, __ATOMIC_RELAXED);

		*pad = padding(arena, at, length);
		if (unlikely(at + *pad + length - thread->tail_seen > arena->ring_size)) {
			uint64_t tail = __atomic_load_n(&thread->slot.tail, __ATOMIC_ACQUIRE);

			if (tail == thread->tail_seen && !wait_for_room(thread, tail))
				return UINT64_MAX;
			thread->tail_seen = __atomic_load_n(&thread->slot.tail, __ATOMIC_ACQUIRE);
			continue;
		}
		if (likely(swap_local(&thread->reserved, at, at + *pad + length)))
			return at;
	}
}

static inline struct record *write_header(struct thread *thread, uint64_t at, uint32_t length,
					  enum record_kind kind, enum record_state state)
{
	struct record *record = record_at(thread, at);

	record->length = length;
	record->kind = (uint8_t)kind;
	record->state = (uint8_t)state;
	record->more = 0;
	return record;
}

/*
 * Shows the collector all that is reserved, unless this is a handler in the middle of another
 * reservation: the headers in front of its record are not written yet, and whoever brings
 * unheaded back to 0 moves head over both.
 */
static inline uint64_t show_head(struct thread *thread)
{
	uint64_t head;

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (--thread->unheaded) {
		thread->unseen++;
		return 0;
	}
	thread->unseen = 0;
	head = __atomic_load_n(&thread->reserved, __ATOMIC_RELAXED);
	__atomic_store_n(&thread->slot.head, head, __ATOMIC_RELEASE);
	return head;
}

uint32_t ring_settle(struct thread *thread)
{
	uint64_t at = __atomic_load_n(&thread->slot.tail, __ATOMIC_ACQUIRE);
	uint32_t count = 0;

	/* The headers up to the reservation's end are not all there. */
	if (thread->unheaded) {
		count = thread->unseen + 1;
		thread->reserved = thread->slot.head;
		thread->unheaded = 0;
		thread->unseen = 0;
	}
	while (at < thread->slot.head) {
		struct record *record = record_at(thread, at);

		if (record->state == RECORD_FILLING) {
			__atomic_store_n(&record->state, RECORD_ABANDONED, __ATOMIC_RELEASE);
			count++;
		}
		at += record->length;
	}
	thread->slot.lost[LOSS_ABANDONED] += count;
	return count;
}

struct record *ring_reserve(struct thread *thread, enum record_kind kind, uint32_t length)
{
	struct record *record;
	uint32_t pad;
	uint64_t at, head;

	thread->unheaded++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	at = reserve_bytes(thread, length, &pad);
	if (unlikely(at == UINT64_MAX)) {
		show_head(thread);
		ring_lose(thread, LOSS_FULL);
		return NULL;
	}
	if (pad)
		write_header(thread, at, pad, RECORD_PAD, RECORD_DONE);
	record = write_header(thread, at + pad, length, kind, RECORD_FILLING);
	head = show_head(thread);
	if (unlikely(head && (at ^ head) & ~(uint64_t)(ARENA_WAKE_STEP - 1)))
		ring_wake();
	return record;
}
