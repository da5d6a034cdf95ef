/* SPDX-License-Identifier: MIT */
#include "ring.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "life.h"
#include "memory.h"
#include "preload/ground/clock.h"
#include "preload/ground/plain.h"
#include "preload/ground/sys.h"
#include "thread.h"

/* Heartbeat of the collector when a producer last gave up on it, and 0 while nobody has. */
static uint64_t stalled_beat;

#define WAITS_MOST  20 /* times the user's patience: so long waits nobody for room */
#define ROUNDS_MOST 8

void ring_be_quiet(void)
{
	__atomic_store_n(&sys_is_quiet, true, __ATOMIC_RELAXED);
}

bool ring_is_quiet(void)
{
	return __atomic_load_n(&sys_is_quiet, __ATOMIC_RELAXED);
}

void ring_lose(struct thread *thread, enum loss reason)
{
	thread->slot->lost[reason]++;
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
	return __atomic_load_n(&life.board->heartbeat, __ATOMIC_RELAXED);
}

static bool collector_runs(void)
{
	return __atomic_load_n(&life.board->state, __ATOMIC_RELAXED) == BOARD_RUNNING;
}

/*
 * Whether a collector that makes no progress is no more: gone, or a zombie that nobody waited for.
 * Where we may not ask, it is.
 */
static bool collector_is_dead(void)
{
	int32_t pid = __atomic_load_n(&life.board->collector, __ATOMIC_RELAXED);
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

/*
 * We only read the word: which sleep it is tells whether we have woken it from this one. It may
 * have been about to sleep; then it sleeps for some milliseconds at most.
 */
static void wake(bool again)
{
	static uint32_t woken;
	const uint32_t *sleeping = &life.board->sleeping;
	uint32_t sleep = __atomic_load_n(sleeping, __ATOMIC_RELAXED);

	if (!(sleep & 1) || ring_is_quiet())
		return;
	if (__atomic_exchange_n(&woken, sleep, __ATOMIC_RELAXED) != sleep || again)
		sys_futex_wake(sleeping, 1, 1);
}

void ring_wake(void)
{
	wake(false);
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
	wake(true);
	/* The low half of a little-endian word; the collector stores all of it. */
	if (__atomic_load_n(&slot->tail, __ATOMIC_SEQ_CST) == tail)
		sys_futex_wait((const uint32_t *)&slot->tail, (uint32_t)tail, &limit, 1);
	__atomic_store_n(&slot->waiting, 0, __ATOMIC_RELAXED);
}

static inline uint64_t position(uint64_t head)
{
	return head & ~RING_LEVEL;
}

static inline struct record *record_at(const struct thread *thread, uint64_t at, uint64_t bytes)
{
	return (struct record *)(void *)(thread->ring + (at & (bytes - 1)));
}

/*
 * The collector's tail, as far as it can be true: the slot may be written by more than the
 * collector. What cannot be true is no news.
 */
static uint64_t look_at_tail(const struct thread *thread)
{
	uint64_t tail = __atomic_load_n(&thread->slot->tail, __ATOMIC_ACQUIRE);
	uint64_t seen = thread->tail_seen;

	return tail - seen <= position(thread->head) - seen && !(tail & RING_LEVEL) ? tail : seen;
}

/*
 * Whether waiting is in vain, because the collector waits for us: all that it can see is taken, or
 * what comes next is a record that is not whole. Then this is a signal handler in the middle of
 * that record, or its writer was jumped out of. Or nobody reads this ring: it is a parent's, or
 * the library was detached.
 */
static bool waits_for_us(const struct thread *thread, uint64_t tail)
{
	return tail == position(thread->head) || !*life.fork_mark || life.is_off ||
	       record_at(thread, tail, ring_bytes(thread->head))->state == RECORD_FILLING;
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

/* What is known of a wait for room. */
struct wait {
	uint64_t begun, since; /* ms */
	uint64_t beat, rounds; /* as the collector had them then */
};

/*
 * Whether it is in vain. A collector that makes no progress is given as long as the user allows;
 * one that looks into all rings and leaves this one as it is, or that takes twenty times as long
 * for anything, no longer.
 */
static bool has_waited_enough(struct wait *wait)
{
	const struct settings *settings = &life.board->settings;
	uint64_t now = now_ms(), patience = (uint64_t)settings->patience.ms;

	if (heartbeat() != wait->beat) {
		wait->beat = heartbeat();
		wait->since = now;
	}
	if (settings->patience.is_forever) {
		if (now - wait->since <= patience)
			return false;
		wait->since = now;
		return collector_is_dead();
	}
	if (now - wait->since > patience || now - wait->begun > WAITS_MOST * patience)
		return true;
	return now - wait->begun > patience &&
	       __atomic_load_n(&life.board->rounds, __ATOMIC_RELAXED) - wait->rounds > ROUNDS_MOST;
}

/*
 * Waits until the tail has moved from where it was. A lost free is a false leak, so slowing the
 * host down is the lesser evil while the collector makes progress.
 */
static bool wait_for_room(struct thread *thread, uint64_t tail)
{
	struct wait wait = { .beat = heartbeat() };

	if (is_stalled())
		return false;
	wait.begun = wait.since = now_ms();
	wait.rounds = __atomic_load_n(&life.board->rounds, __ATOMIC_RELAXED);
	while (look_at_tail(thread) == tail) {
		if (!collector_runs() || waits_for_us(thread, tail))
			return false;
		sleep_on_tail(thread->slot, tail);
		if (has_waited_enough(&wait)) {
			__atomic_store_n(&stalled_beat, wait.beat ? wait.beat : 1,
					 __ATOMIC_RELAXED);
			return false;
		}
	}
	return true;
}

/*
 * Makes the ring four times as large, if every byte that is not yet consumed lies at the same
 * place then: all of them behind a multiple of its size to be, and not farther from it than the
 * ring is large now. True if it has become larger, by whomever.
 */
static bool grow(struct thread *thread, uint64_t reserved)
{
	uint64_t at = position(reserved), bytes = ring_bytes(reserved);
	uint64_t lap = (at ? at - 1 : 0) & ~(4 * bytes - 1);

	if (4 * bytes > thread->ring_most || at - lap > bytes || look_at_tail(thread) < lap ||
	    !memory_grant(bytes, 4 * bytes))
		return false;
	if (!swap_local(&thread->reserved, reserved, reserved + 1))
		memory_refund(bytes, 4 * bytes);
	return true;
}

/* Bytes to skip so that length bytes lie in one piece. */
static inline uint32_t padding(uint64_t bytes, uint64_t at, uint32_t length)
{
	uint32_t left = (uint32_t)(bytes - (at & (bytes - 1)));

	return left < length ? left : 0;
}

/* Whether there is room for so much behind at, now or after a wait. */
static bool has_room(struct thread *thread, uint64_t end, uint64_t bytes)
{
	uint64_t tail;

	if (likely(end - thread->tail_seen <= bytes))
		return true;
	tail = look_at_tail(thread);
	if (tail == thread->tail_seen && !wait_for_room(thread, tail))
		return false;
	thread->tail_seen = look_at_tail(thread);
	return has_room(thread, end, bytes);
}

/*
 * Moves the reservation on by what length needs. Returns where it began, with the ring's level, or
 * UINT64_MAX.
 */
static inline uint64_t reserve_bytes(struct thread *thread, uint32_t length, uint32_t *pad)
{
	for (;;) {
		uint64_t reserved = __atomic_load_n(&thread->reserved, __ATOMIC_RELAXED);
		uint64_t at = position(reserved), bytes = ring_bytes(reserved);

		*pad = padding(bytes, at, length);
		if (*pad || at + length - thread->tail_seen > bytes) {
			if (grow(thread, reserved))
				continue;
			if (!has_room(thread, at + *pad + length, bytes))
				return UINT64_MAX;
			if (reserved != __atomic_load_n(&thread->reserved, __ATOMIC_RELAXED))
				continue;
		}
		if (likely(swap_local(&thread->reserved, reserved, reserved + *pad + length)))
			return reserved;
	}
}

static inline struct record *write_header(struct record *record, uint32_t length,
					  enum record_kind kind, enum record_state state)
{
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
	thread->head = head;
	__atomic_store_n(&thread->slot->head, head, __ATOMIC_RELEASE);
	return head;
}

/* Gives up the records that are not whole. What they say of their length is looked at twice. */
static uint32_t abandon(struct thread *thread)
{
	uint64_t at = look_at_tail(thread), head = position(thread->head);
	uint64_t bytes = ring_bytes(thread->head);
	uint32_t count = 0;

	while (at < head) {
		struct record *record = record_at(thread, at, bytes);
		uint32_t length = record->length;

		if (length < 8 || length % 8 || length > head - at)
			break;
		if (record->state == RECORD_FILLING) {
			__atomic_store_n(&record->state, RECORD_ABANDONED, __ATOMIC_RELEASE);
			count++;
		}
		at += length;
	}
	return count;
}

uint32_t ring_settle(struct thread *thread)
{
	uint32_t count = 0;

	/* The headers up to the reservation's end are not all there. */
	if (thread->unheaded) {
		count = thread->unseen + 1;
		thread->reserved = thread->head;
		thread->unheaded = 0;
		thread->unseen = 0;
	}
	count += abandon(thread);
	thread->slot->lost[LOSS_ABANDONED] += count;
	return count;
}

/* Wakes the collector, for a record that its writer goes on with. */
static __attribute__((noinline)) struct record *wake_for(struct record *record)
{
	ring_wake();
	return record;
}

/* The headers of what was reserved, behind pad bytes that are skipped. */
static inline __attribute__((always_inline)) struct record *
put_headers(struct thread *thread, enum record_kind kind, uint32_t length, uint64_t reserved,
	    uint32_t pad)
{
	uint64_t at = position(reserved), bytes = ring_bytes(reserved), head;
	struct record *record;

	if (pad)
		write_header(record_at(thread, at, bytes), pad, RECORD_PAD, RECORD_DONE);
	record = write_header(record_at(thread, at + pad, bytes), length, kind, RECORD_FILLING);
	head = show_head(thread);
	if (unlikely(head && (at ^ head) & ~(ring_step(bytes) - 1)))
		return wake_for(record);
	return record;
}

/* The reservation has begun: unheaded counts it. */
static __attribute__((noinline)) struct record *
reserve_slowly(struct thread *thread, enum record_kind kind, uint32_t length)
{
	uint32_t pad;
	uint64_t reserved = reserve_bytes(thread, length, &pad);

	if (likely(reserved != UINT64_MAX))
		return put_headers(thread, kind, length, reserved, pad);
	show_head(thread);
	ring_lose(thread, kind == RECORD_CALL || kind == RECORD_SHORT ? LOSS_FULL : LOSS_NOTE);
	return NULL;
}

/*
 * What is rare stands behind calls at the very end: so nothing has to be saved for it where there
 * is room, which is nearly always.
 */
struct record *ring_reserve(struct thread *thread, enum record_kind kind, uint32_t length)
{
	uint64_t reserved, at, bytes;

	thread->unheaded++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	reserved = __atomic_load_n(&thread->reserved, __ATOMIC_RELAXED);
	at = position(reserved);
	bytes = ring_bytes(reserved);
	if (unlikely(padding(bytes, at, length) || at + length - thread->tail_seen > bytes ||
		     !swap_local(&thread->reserved, reserved, reserved + length)))
		return reserve_slowly(thread, kind, length);
	return put_headers(thread, kind, length, reserved, 0);
}
