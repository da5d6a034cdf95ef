/* SPDX-License-Identifier: MIT */
#include "life.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/stat.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "bypass.h"
#include "call.h"
#include "memory.h"
#include "names.h"
#include "python.h"
#include "preload/ground/clock.h"
#include "preload/ground/sys.h"
#include "reach.h"
#include "ring.h"
#include "sampling.h"
#include "thread.h"

enum { LIFE_UNBORN, LIFE_STARTING, LIFE_RUNNING, LIFE_SEALED, LIFE_SILENT };

static uint32_t fork_mark_unset = 1;

struct life life = { .fork_mark = &fork_mark_unset };
uint8_t life_armed[HOOK_COUNT];
void (*life_look_at_loads)(const struct origin *origin);
bool clock_is_counter;

static uint32_t state;

bool life_is_unborn(void)
{
	return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == LIFE_UNBORN;
}

bool life_begin(void)
{
	uint32_t expected = LIFE_UNBORN;

	return __atomic_compare_exchange_n(&state, &expected, LIFE_STARTING, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

bool life_begin_again(void)
{
	uint32_t expected = LIFE_SILENT;

	return life_begin() || __atomic_compare_exchange_n(&state, &expected, LIFE_STARTING, false,
							   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void life_run(void)
{
	__atomic_store_n(&state, LIFE_RUNNING, __ATOMIC_RELEASE);
}

bool life_is_running(void)
{
	return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == LIFE_RUNNING && *life.fork_mark;
}

void life_silence(void)
{
	for (unsigned int i = 0; i < HOOK_COUNT; i++)
		life_armed[i] = 0;
	__atomic_store_n(&state, LIFE_SILENT, __ATOMIC_RELEASE);
}

/* The hooks that were armed when life_seal(true) was called. */
static uint8_t sealed[HOOK_COUNT];

void life_seal(bool on)
{
	uint32_t expected = on ? LIFE_RUNNING : LIFE_SEALED;

	if (!__atomic_compare_exchange_n(&state, &expected, on ? LIFE_SEALED : LIFE_RUNNING, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	for (unsigned int i = 0; i < HOOK_COUNT; i++) {
		if (on)
			sealed[i] = life_armed[i];
		life_armed[i] = on ? 0 : sealed[i];
	}
}

/* Events that were dropped while the process had no arena to count them in. */
static uint64_t early[LOSS_COUNT];
static uint32_t early_past;

void life_drop(enum loss reason)
{
	struct arena *head = memory_head();

	__atomic_fetch_add(head ? &head->lost[reason] : &early[reason], 1, __ATOMIC_RELAXED);
}

void life_count_sealed(enum hook_number hook)
{
	if (__atomic_load_n(&state, __ATOMIC_RELAXED) == LIFE_SEALED && sealed[hook])
		life_drop(LOSS_SEALED);
}

/* A new child has no arena until its first hooked call; before that, early_past has the bits. */
void life_note_past(uint32_t past)
{
	const struct thread *thread = thread_self;
	struct arena *head;

	/* a child of vfork has descriptors and children of its own */
	if (thread && thread->vfork_return)
		past &= ~(1u << PAST_FD | 1u << PAST_PROCESS);
	if (!past || __atomic_load_n(&state, __ATOMIC_ACQUIRE) != LIFE_RUNNING)
		return;
	head = *life.fork_mark ? memory_head() : NULL;
	__atomic_fetch_or(head ? &head->past : &early_past, past, __ATOMIC_RELAXED);
}

/*
 * Libraries in another link namespace call that namespace's libc without a stub. The loader
 * increases r_version when it creates a namespace, and never decreases it (glibc's elf/dl-debug.c).
 */
void life_note_namespaces(void)
{
	if (_r_debug.r_version > 1)
		life_note_past(1u << PAST_NAMESPACE);
}

void life_note_end(bool is_over)
{
	const struct thread *thread = thread_self;
	struct arena *head = memory_head();

	if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != LIFE_RUNNING || !*life.fork_mark ||
	    (thread && thread->vfork_return))
		return;
	if (head)
		__atomic_store_n(&head->ended, is_over ? clock_now_ordered() : 0, __ATOMIC_RELAXED);
	life_note_namespaces();
}

void life_tell_end(int32_t pid, int status)
{
	struct arena *head = life.control ? memory_head() : NULL;
	uint32_t place;

	if (!head)
		return;
	place = __atomic_fetch_add(&head->told_count, 1, __ATOMIC_RELAXED) % ARENA_TOLD;
	__atomic_store_n(&head->told[place], (uint64_t)(uint32_t)pid << 32 | (uint32_t)status,
			 __ATOMIC_RELEASE);
}

static bool equal_word(const char *word, const char *end, const char *name)
{
	while (word < end && *word == *name) {
		word++;
		name++;
	}
	return word == end && !*name;
}

bool life_is_listed(const char *name)
{
	const char *list = life.control->settings.events;

	while (*list) {
		const char *end = list;

		while (*end && *end != ',')
			end++;
		if (equal_word(list, end, "all") || equal_word(list, end, name))
			return true;
		list = *end ? end + 1 : end;
	}
	return false;
}

/*
 * Returns the calling thread if the fork interrupted library code in it, which continues in the
 * child; else NULL. call: the recorded fork, or NULL.
 */
static const struct thread *busy_thread(const struct call *call)
{
	struct thread *thread = thread_self;

	return thread && thread_is_busy(thread, call != NULL, call && call->owns_watermark) ? thread
											    : NULL;
}

int life_child_of(int pid, const struct call *call)
{
	/* a handler of pthread_atfork() may have made a hooked call, which has done this already */
	if (!pid && life.control && !life.is_off && !*life.fork_mark) {
		memory_forsake(busy_thread(call));
		sampling_forked();
	}
	return pid;
}

void life_forked(void)
{
	/* if no hook saw the creation of this child, life_child_of() was not called */
	memory_forsake(busy_thread(NULL));
	thread_forget();
	names_forked();
	bypass_forked();
	python_renew(true);
	*life.fork_mark = 1;
	if (!life.control || life.is_off)
		return;
	/* getpid() may be forbidden; libc's thread id equals the process id here */
	life.pid = ring_is_quiet() ? thread_id() : sys_getpid();
	if (!life.records_children) {
		/* a seccomp filter may forbid the message */
		if (!ring_is_quiet())
			reach_leave_out(memory_name());
		life.control = NULL;
		life_silence();
		return;
	}
	if (memory_begin(&(struct memory_image){ .is_forked = true })) {
		for (unsigned int i = 0; i < LOSS_COUNT; i++)
			if (early[i])
				__atomic_fetch_add(
					&memory_head()->lost[i],
					__atomic_exchange_n(&early[i], 0, __ATOMIC_RELAXED),
					__ATOMIC_RELAXED);
		life_note_past(__atomic_exchange_n(&early_past, 0, __ATOMIC_RELAXED));
		return;
	}
	life.control = NULL;
	life_silence();
}

enum late_result life_detach(void)
{
	struct arena *head = memory_head();

	if (!life_is_running() || !head)
		return LATE_IS_OFF;
	if (!memory_hold())
		return LATE_BUSY;
	life_note_namespaces();
	life.is_off = true;
	life_silence();
	__atomic_store_n(&head->ended, clock_now_ordered(), __ATOMIC_RELAXED);
	__atomic_fetch_or(&head->flags, PROCESS_DETACHED, __ATOMIC_RELEASE);
	memory_detach();
	return LATE_DONE;
}

void life_renew(void)
{
	static uint32_t generation = 1;

	if (!*life.fork_mark) {
		memory_forsake(NULL);
		thread_forget();
	}
	thread_renew();
	names_forked();
	bypass_forked();
	python_renew(false);
	sampling_renew();
	life.is_off = false;
	*life.fork_mark = ++generation;
}

/* ---- the end of the process ---- */

#define STEP_MS 10
/* a wait for progress of the scan lasts at most this many times --patience */
#define BUSY_TIMES 4

/* Whether the library may ask the kernel: not in a child of vfork or under a seccomp filter. */
static bool may_ask(void)
{
	const struct thread *thread = thread_self;

	return life_is_running() && memory_head() && !(thread && thread->vfork_return) &&
	       !ring_is_quiet() && sys_getpid() == life.pid;
}

void ending_look(void)
{
	siginfo_t child = { 0 };
	struct statx directory;
	struct arena *head;
	long ended;

	if (!may_ask())
		return;
	head = memory_head();
	/* since Linux 6.2 the directory's size is the number of descriptors */
	if (life_armed[HOOK_open] && life_armed[HOOK_close] &&
	    !sys_statx(AT_FDCWD, "/proc/self/fd", AT_STATX_DONT_SYNC, STATX_SIZE, &directory))
		__atomic_store_n(&head->descriptors, (uint32_t)directory.stx_size,
				 __ATOMIC_RELAXED);
	if (!life_armed[HOOK_fork])
		return;
	ended = sys_call5(__NR_waitid, P_ALL, 0, (long)&child, WEXITED | WNOHANG | WNOWAIT | __WALL,
			  0);
	__atomic_store_n(&head->children,
			 ended == -ECHILD ? CHILDREN_NONE
			 : ended	  ? CHILDREN_UNKNOWN
			 : child.si_pid	  ? CHILDREN_ENDED
					  : CHILDREN_RUNNING,
			 __ATOMIC_RELAXED);
}

void ending_await_scan(void)
{
	static const struct timespec step = { .tv_nsec = STEP_MS * 1000000 };
	struct arena *head;
	uint32_t beat;
	int64_t patience;
	uint64_t since;

	if (!may_ask() || life.control->settings.scan != SCAN_EXIT)
		return;
	head = memory_head();
	if (!head)
		return;
	patience = life.control->settings.patience.ms;
	beat = __atomic_load_n(&head->scan_beat, __ATOMIC_RELAXED);
	/* lets the collector trace us despite Yama; the program's own choice no longer matters */
	sys_prctl(PR_SET_PTRACER, (unsigned long)life.control->collector, 0, 0, 0);
	__atomic_store_n(&head->ending, thread_id(), __ATOMIC_RELEASE);
	ring_wake();
	/*
	 * A signal ends a sleep early, so the total wait may be shorter. On a busy machine both a
	 * sleep and the collector take longer, so the clock also limits the wait.
	 */
	since = clock_monotonic();
	for (int64_t idle_ms = 0; idle_ms <= patience; idle_ms += STEP_MS) {
		uint32_t now;

		if ((clock_monotonic() - since) / 1000000 > BUSY_TIMES * (uint64_t)patience)
			return;
		if (__atomic_load_n(&head->released, __ATOMIC_ACQUIRE))
			return;
		sys_futex_wait(&head->released, 0, &step, 1);
		now = __atomic_load_n(&head->scan_beat, __ATOMIC_RELAXED);
		if (now != beat) {
			idle_ms = 0;
			since = clock_monotonic();
		}
		beat = now;
	}
}
