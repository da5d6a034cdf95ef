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

/* The collector's heartbeat, plus 1, when a thread gave up waiting for it to change; 0: never. */
static uint64_t stalled_beat;

#define WAITS_MOST  20 /* the longest wait for space, in multiples of --patience */
#define ROUNDS_MOST 8

void ring_be_quiet(void)
{
	__atomic_store_n(&sys_is_quiet, true, __ATOMIC_RELAXED);
}

bool ring_is_quiet(void)
{
	return __atomic_load_n(&sys_is_quiet, __ATOMIC_RELAXED);
}

void ring_drop(struct thread *thread, enum loss reason)
{
	thread->slot->lost[reason]++;
}

/*
 * Compares and swaps without the lock prefix. Only a signal handler of the same thread can change
 * the word at the same time, and a signal cannot interrupt an instruction.
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
	return __atomic_load_n(&life.control->heartbeat, __ATOMIC_RELAXED);
}

/*
 * Called when the collector makes no progress: returns whether it has ended or is a zombie. Returns
 * true also if this process must not make the system calls that find this out.
 */
static bool collector_is_dead(void)
{
	int32_t pid = __atomic_load_n(&life.control->collector, __ATOMIC_RELAXED);
	char path[32], text[128];
	long length;
	int fd;

	if (ring_is_quiet())
		return true;
	if (sys_call2(__NR_kill, pid, 0) == -ESRCH)
		return true;
	plain_copy(plain_number(path + plain_copy(path, "/proc/", 8) - 1, (uint64_t)pid, 10),
		   "/stat", 8);
	fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	length = fd < 0 ? -1 : sys_read(fd, text, sizeof(text));
	if (fd >= 0)
		sys_close(fd);
	/* the text is "PID (name) state ...", and the collector's name has no parenthesis */
	for (long i = 0; i + 2 < length; i++)
		if (text[i] == ')')
			return text[i + 2] == 'Z' || text[i + 2] == 'X';
	return false;
}

/*
 * Wakes the collector if it sleeps. Each process does this only once for each sleep, unless `again`
 * is set. `woken` is the number of the last sleep from which this process has woken the collector;
 * it is here because programs cannot write to the control page. A collector that is about to sleep
 * may miss the wake; then it sleeps for some milliseconds at most.
 */
static void wake_collector(bool again)
{
	static uint32_t woken;
	const uint32_t *sleeping = &life.control->sleeping;
	uint32_t sleep = __atomic_load_n(sleeping, __ATOMIC_RELAXED);

	if (!(sleep & 1) || ring_is_quiet())
		return;
	if (__atomic_exchange_n(&woken, sleep, __ATOMIC_RELAXED) != sleep || again)
		sys_futex_wake(sleeping, 1, 1);
}

void ring_wake(void)
{
	wake_collector(false);
}

/* Sleeps until the collector has read from the ring, at most 10 ms. */
static void sleep_on_tail(struct slot *slot, uint64_t tail)
{
	static const struct timespec limit = { .tv_nsec = 10000000 };

	if (ring_is_quiet()) {
		for (volatile unsigned int i = 0; i < 5000; i++)
			; /* spin for some microseconds */
		return;
	}
	__atomic_store_n(&slot->waiting, 1, __ATOMIC_SEQ_CST);
	wake_collector(true);
	/* the futex is the low half of the little-endian tail, which is always stored whole */
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

/* Returns the slot's tail; if another process has overwritten it, the last plausible tail. */
static uint64_t look_at_tail(const struct thread *thread)
{
	uint64_t tail = __atomic_load_n(&thread->slot->tail, __ATOMIC_ACQUIRE);
	uint64_t seen = thread->tail_seen;

	return tail - seen <= position(thread->head) - seen && !(tail & RING_LEVEL) ? tail : seen;
}

/* Whether the collector has made no progress since a thread gave up waiting (stalled_beat). */
static bool is_stalled(void)
{
	uint64_t beat = __atomic_load_n(&stalled_beat, __ATOMIC_RELAXED);

	if (!beat)
		return false;
	if (beat == heartbeat() + 1)
		return true;
	__atomic_store_n(&stalled_beat, 0, __ATOMIC_RELAXED);
	return false;
}

static uint64_t now_ms(void)
{
	return clock_monotonic() / 1000000;
}

/* State of a wait for space. */
struct wait {
	uint64_t begun, since; /* times in ms */
	uint64_t beat, rounds; /* the collector's heartbeat and rounds when last read */
	bool is_stalled;       /* the collector has made no progress for the time of --patience */
};

/*
 * Whether to give up a wait. There are three reasons: the collector has made no progress for the
 * time of --patience; it has read all rings several times in more than this time, but nothing from
 * this ring; or the wait has lasted twenty times --patience. With --patience=forever a wait ends
 * only if the collector is dead, or has no stream for this process although it has read all rings.
 */
static bool has_waited_enough(struct wait *wait)
{
	const struct settings *settings = &life.control->settings;
	const struct arena *head = memory_head();
	uint64_t now = now_ms(), patience = (uint64_t)settings->patience.ms;
	bool is_passed_over =
		now - wait->begun > patience &&
		__atomic_load_n(&life.control->rounds, __ATOMIC_RELAXED) - wait->rounds >
			ROUNDS_MOST;

	if (heartbeat() != wait->beat) {
		wait->beat = heartbeat();
		wait->since = now;
	}
	wait->is_stalled = now - wait->since > patience;
	if (!settings->patience.is_forever)
		return wait->is_stalled || is_passed_over ||
		       now - wait->begun > WAITS_MOST * patience;
	if (is_passed_over && head && !__atomic_load_n(&head->stream, __ATOMIC_RELAXED))
		return true;
	if (!wait->is_stalled)
		return false;
	wait->since = now;
	return collector_is_dead();
}

/*
 * Waits until the collector has moved the tail. While the collector makes progress, slowing the
 * program down is better than dropping events: a dropped free would be reported as a leak. If a
 * thread has given up waiting although the collector makes progress, it does not wait again before
 * the tail has moved.
 *
 * Returns false at once if the collector will never move the tail. The collector itself waits for
 * this thread if it has read all visible records, or if the next record is incomplete (this code
 * runs in a signal handler that interrupted the record's writer, or a jump left the writer). It
 * does not read the ring of a parent process, or of a process whose library was detached.
 */
static bool wait_for_room(struct thread *thread, uint64_t tail)
{
	struct wait wait = { .beat = heartbeat() };

	if (is_stalled() || thread->given_up == tail + 1 || memory_is_refused(thread))
		return false;
	wait.begun = wait.since = now_ms();
	wait.rounds = __atomic_load_n(&life.control->rounds, __ATOMIC_RELAXED);
	while (look_at_tail(thread) == tail) {
		if (__atomic_load_n(&life.control->state, __ATOMIC_RELAXED) != CONTROL_RUNNING ||
		    tail == position(thread->head) || !*life.fork_mark || life.is_off ||
		    record_at(thread, tail, ring_bytes(thread->head))->state == RECORD_FILLING)
			return false;
		sleep_on_tail(thread->slot, tail);
		if (!has_waited_enough(&wait))
			continue;
		if (wait.is_stalled)
			__atomic_store_n(&stalled_beat, wait.beat + 1, __ATOMIC_RELAXED);
		else
			thread->given_up = tail + 1;
		return false;
	}
	return true;
}

/*
 * Makes the ring four times as large, if every unread byte keeps its offset: all unread bytes must
 * be in the first quarter of the larger ring. Returns whether the ring is larger now; a signal
 * handler may have enlarged it instead.
 */
static bool grow_ring(struct thread *thread, uint64_t reserved)
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

/* The bytes to skip at the end of the ring so that the next `length` bytes are contiguous. */
static inline uint32_t padding(uint64_t bytes, uint64_t at, uint32_t length)
{
	uint32_t left = (uint32_t)(bytes - (at & (bytes - 1)));

	return left < length ? left : 0;
}

/* Whether the ring has space up to position `end`, now or after a wait. */
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
 * Advances the reservation by `length` bytes and padding. Returns the old reservation, which also
 * encodes the ring's size, or UINT64_MAX if there is no space.
 */
static inline uint64_t reserve_bytes(struct thread *thread, uint32_t length, uint32_t *pad)
{
	for (;;) {
		uint64_t reserved = __atomic_load_n(&thread->reserved, __ATOMIC_RELAXED);
		uint64_t at = position(reserved), bytes = ring_bytes(reserved);

		*pad = padding(bytes, at, length);
		if (*pad || at + length - thread->tail_seen > bytes) {
			if (grow_ring(thread, reserved))
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
 * Moves the head, which the collector reads, to the end of all reservations. A signal handler that
 * interrupted another reservation leaves the head where it is, because headers before its record
 * are not written yet. Later, the writer that decrements unheaded to 0 moves the head over all of
 * these records. Returns the new head, or 0.
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

/* Marks incomplete records as abandoned. Checks lengths, which other processes may have damaged. */
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

	/* some headers before the end of the reservation are missing */
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

/* Wakes the collector. Not inlined, so that the caller can make a tail call. */
static __attribute__((noinline)) struct record *wake_for(struct record *record)
{
	ring_wake();
	return record;
}

/* Writes the header of the padding, if there is padding, and the header of the record. */
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

/* The slow path of ring_reserve(), which has already counted the reservation in `unheaded`. */
static __attribute__((noinline)) struct record *
reserve_slowly(struct thread *thread, enum record_kind kind, uint32_t length)
{
	uint32_t pad;
	uint64_t reserved = reserve_bytes(thread, length, &pad);

	if (likely(reserved != UINT64_MAX))
		return put_headers(thread, kind, length, reserved, pad);
	show_head(thread);
	ring_drop(thread, kind == RECORD_CALL || kind == RECORD_SHORT ? LOSS_FULL : LOSS_NOTE);
	return NULL;
}

/* The rare cases are tail calls, so that the frequent case does not have to save registers. */
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
