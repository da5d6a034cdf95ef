/* SPDX-License-Identifier: MIT */
/*
 * syscall(2). Its stub (ARCH_SYSCALL) jumps to libc's function, except for these system calls:
 *
 *  - futexes, which are recorded as waits and wakes;
 *  - calls on descriptors, which are recorded as calls of libc's functions (numbers.def);
 *  - calls that acquire or release resources of other hooks (mmap, fork, ...). The process notes
 *    that such a call was made, and limits on these resources become unknown;
 *  - calls after which our own system calls would harm the program: a seccomp filter could kill it,
 *    and under syscall user dispatch (Wine, emulators) it would receive our calls as SIGSYS.
 */
#include "hand.h"

#include "preload/ground/arch.h"
#include "preload/ground/loader.h"
#include "preload/record/memory.h"
#include "preload/record/ring.h"

#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#ifdef ARCH_SYSCALL
#define NUMBERS 512 /* ARCH_SYSCALL contains the same number */

enum {
	PASSES,	 /* the stub jumps to libc's function */
	IS_MADE, /* the stub jumps to hand_syscall(), which makes the call */
	/* the stub calls hand_syscall_note() and then libc's function, which may return twice */
	IS_NOTED,
};

__attribute__((visibility("hidden"), used)) long hand_syscall(long number, long a, long b, long c,
							      long d, long e ARCH_SIXTH_PARAMETER);
__attribute__((visibility("hidden"), used)) void hand_syscall_note(long number, long first);

/*
 * does: what the stub does for each system call number. next: the function to which the stub jumps,
 * at first hand_syscall(), which finds libc's function and stores it here.
 */
extern __attribute__((visibility("hidden"))) struct {
	uint8_t does[NUMBERS];
	void *next;
} hand_numbers;

__attribute__((used)) __typeof__(hand_numbers) hand_numbers = {
	.does = {
#define NUMBER(call, ...) [__NR_##call] = IS_MADE,
#include "numbers.def"
		[__NR_futex] = IS_MADE,
		[__NR_futex_waitv] = IS_MADE,
		[__NR_futex_wake] = IS_MADE,
		[__NR_futex_wait] = IS_MADE,
		[__NR_futex_requeue] = IS_MADE,
		[__NR_mmap] = IS_MADE,
		[__NR_munmap] = IS_MADE,
		[__NR_mremap] = IS_MADE,
		[__NR_mq_open] = IS_MADE,
		[__NR_recvmsg] = IS_MADE,
		[__NR_recvmmsg] = IS_MADE,
		[__NR_wait4] = IS_MADE,
		[__NR_waitid] = IS_MADE,
		[__NR_seccomp] = IS_NOTED,
		[__NR_prctl] = IS_NOTED,
#ifdef __NR_fork
		[__NR_fork] = IS_NOTED,
		[__NR_vfork] = IS_NOTED,
#endif
		[__NR_clone] = IS_NOTED,
		[__NR_clone3] = IS_NOTED,
	},
	.next = (void *)hand_syscall,
};

_Static_assert(offsetof(__typeof__(hand_numbers), next) == NUMBERS,
	       "ARCH_SYSCALL has another offset for this member");

__asm__(ARCH_SYSCALL);

static void find_next(void)
{
	real_ready();
	__atomic_store_n(&hand_numbers.next, (void *)real.syscall, __ATOMIC_RELAXED);
}

/* Called before an IS_NOTED call. Ignores clone3's flags, whose memory may be unreadable. */
void hand_syscall_note(long number, long first)
{
	bool puts_filter_on = (number == __NR_seccomp && (first == SECCOMP_SET_MODE_FILTER ||
							  first == SECCOMP_SET_MODE_STRICT)) ||
			      (number == __NR_prctl &&
			       (first == PR_SET_SECCOMP || first == PR_SET_SYSCALL_USER_DISPATCH));

	find_next();
	if (puts_filter_on && life_is_running()) {
		memory_prepare();
		ring_be_quiet();
	}
	if (number != __NR_seccomp && number != __NR_prctl &&
	    !(number == __NR_clone && first & CLONE_THREAD))
		life_note_past(1u << PAST_PROCESS);
}

/*
 * Whether the caller is a library that defines the recorded malloc (tcmalloc), which maps memory
 * for recorded blocks only. False if the program itself defines malloc, because its code may also
 * map memory for other blocks.
 */
static bool is_of_malloc(const struct origin *origin)
{
	struct loaded caller, library;

	return !loader_find((const void *)origin->ip, &caller) &&
	       !loader_find((const void *)(uintptr_t)real.malloc, &library) &&
	       caller.link_map == library.link_map && library.link_map->l_prev;
}

/* The bits of enum arena_past that a successful call sets. */
static uint32_t past_of(const struct origin *origin, long number, const long *argument, long result)
{
	switch (number) {
	case __NR_mmap:
		return 1u << PAST_MAPPING | (argument[2] & PROT_WRITE &&
					     argument[3] & MAP_ANONYMOUS && !is_of_malloc(origin))
						    << PAST_MEMORY;
	case __NR_munmap:
	case __NR_mremap:
		return 1u << PAST_MAPPING;
	case __NR_recvmsg: /* the kernel has set the length of the received control data */
		return (((const struct msghdr *)argument[1])->msg_controllen != 0) << PAST_FD;
	case __NR_mq_open:
	case __NR_recvmmsg:
		return 1u << PAST_FD;
	case __NR_wait4:
		return (result != 0) << PAST_PROCESS;
	case __NR_waitid:
		return 1u << PAST_PROCESS;
	default:
		return 0;
	}
}

/* ---- futexes ---- */

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

/* struct futex_waitv of linux/futex.h, since Linux 5.16 */
struct waiter {
	uint64_t value, address;
	uint32_t flags, reserved;
};

/*
 * What the call does. LISTED: the addresses of the futexes are in an array of struct waiter. MOVES:
 * the call wakes some threads and moves others to the queue of a second futex. UNLOCKS: the call
 * may wake a thread, but its result does not show whether it did.
 */
enum futex_does {
	FUTEX_OTHER,
	FUTEX_WAITS,
	FUTEX_WAITS_LISTED,
	FUTEX_WAKES,
	FUTEX_UNLOCKS,
	FUTEX_MOVES,
	FUTEX_MOVES_LISTED,
};

static enum futex_does futex_does(long number, long operation)
{
	switch (number) {
	case __NR_futex_wait:
		return FUTEX_WAITS;
	case __NR_futex_waitv:
		return FUTEX_WAITS_LISTED;
	case __NR_futex_wake:
		return FUTEX_WAKES;
	case __NR_futex_requeue:
		return FUTEX_MOVES_LISTED;
	case __NR_futex:
		break;
	default:
		return FUTEX_OTHER;
	}
	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
	case FUTEX_WAIT_REQUEUE_PI:
		return FUTEX_WAITS;
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
		return FUTEX_WAKES;
	case FUTEX_UNLOCK_PI:
		return FUTEX_UNLOCKS;
	case FUTEX_WAKE_OP: /* wakes threads of two futexes */
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
	case FUTEX_CMP_REQUEUE_PI:
		return FUTEX_MOVES;
	default: /* FUTEX_TRYLOCK_PI does not wait */
		return FUTEX_OTHER;
	}
}

static long call_next(long number, const long *a)
{
	real_ready();
	return real.syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Stores the futexes' addresses. The lists are readable: the kernel has read them without error. */
static void set_objects(struct call_event *event, enum futex_does does, const long *a, long result)
{
	const struct waiter *list = (const struct waiter *)a[0];

	event->object = WORD(a[0]);
	if (does == FUTEX_WAITS_LISTED)
		event->object = list[result > 0 ? result : 0].address;
	else if (does == FUTEX_MOVES)
		event->related = WORD(a[4]);
	else if (does == FUTEX_MOVES_LISTED) {
		event->object = list[0].address;
		event->related = list[1].address;
	}
}

/* Makes the call, and records it if it slept or woke threads. */
static __attribute__((noinline)) long call_futex(const struct origin *origin, enum futex_does does,
						 long number, const long *a)
{
	bool is_wait = does == FUTEX_WAITS || does == FUTEX_WAITS_LISTED;
	bool is_listed = does == FUTEX_WAITS_LISTED || does == FUTEX_MOVES_LISTED;
	/* whether the call has a time limit, which the collector reads while the call is open */
	bool has_limit = !is_wait || a[number == __NR_futex_wait ? 4 : 3];
	struct call_event event;
	struct call call;
	long result;

	if (!stub_begin(&call, HOOK_syscall, is_wait ? WHEN_RETURN : WHEN_ENTRY,
			is_wait ? BLOCKS_YES : BLOCKS_NO, origin, is_listed ? 0 : WORD(a[0]),
			has_limit))
		return call_next(number, a);
	if (is_wait)
		call_sleeps(&call);
	result = call_next(number, a);
	if (is_wait)
		call_returned(&call);
	else
		call_returned_early(&call);
	event = (struct call_event){
		.resource = RESOURCE_FUTEX,
		.operation = is_wait ? OPERATION_WAIT : OPERATION_NOTIFY,
		.moment = is_wait ? MOMENT_LEAVE : MOMENT_ENTER,
		.failed = result < 0,
		.size = is_wait			? 0
			: does == FUTEX_UNLOCKS ? 1
						: (uint64_t)result,
		.arguments = VALUES_FOR(syscall, DECIMAL(number), DECIMAL(a[1]), DECIMAL(a[2])),
	};
	if (is_wait		    ? result >= 0 || call.error == ETIMEDOUT || call.error == EINTR
	    : does == FUTEX_UNLOCKS ? !result
				    : result > 0) {
		set_objects(&event, does, a, result);
		call_event(&call, &event);
	}
	call_end(&call);
	return result;
}

long hand_syscall(long number, long a, long b, long c, long d, long e ARCH_SIXTH_PARAMETER)
{
	const struct origin origin = CAPTURE_ORIGIN();
	const long argument[] = { a, b, c, d, e, ARCH_SIXTH(origin.cfa) };
	enum futex_does does = futex_does(number, b);
	long result;

	if (unlikely(hand_numbers.next == (void *)hand_syscall))
		find_next();
	if (does)
		return call_futex(&origin, does, number, argument);
	if (stubs_by_number(&origin, number, argument, &result))
		return result;
	result = call_next(number, argument);
	if (result != -1)
		life_note_past(past_of(&origin, number, argument, result));
	return result;
}
#endif
