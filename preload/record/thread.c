/* SPDX-License-Identifier: MIT */
#include "thread.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>

#include "call.h"
#include "facts.h"
#include "life.h"
#include "names.h"
#include "preload/ground/clock.h"
#include "preload/ground/plain.h"
#include "preload/ground/real.h"
#include "preload/ground/self.h"
#include "preload/ground/sys.h"
#include "ring.h"

#define BIRTHS 1024
/* maximum distance in bytes from a thread's outermost frame up to its struct pthread */
#define BLOCK_TOP_MAX (1u << 20)

/*
 * The TLS model is initial-exec, because other models may call malloc in the middle of a hook.
 * thread_self is only a pointer, because static TLS is scarce: a library that is loaded by dlopen
 * may need the rest.
 */
__thread struct thread *thread_self;

uint32_t thread_modules_told;

static SPARSE struct birth births[BIRTHS];

static bool is_forgotten; /* this is a child of fork, and its thread has not attached yet */
static uint32_t ended;	  /* number of threads that have left their slots */
/* `ended` + 1 at the last search for a slot, if the search failed; 0: it succeeded */
static uint32_t crowded_at;

/*
 * Initialises a block for a new thread. The ring of a fresh block is empty; any other ring may
 * still contain records of an earlier thread.
 */
static void prepare_block(struct thread *thread, bool fresh)
{
	if (fresh) {
		thread->reserved = thread->head = thread->tail_seen = 0;
		thread->given_up = 0;
		thread->unheaded = thread->unseen = 0;
		thread->stack_serial = 0;
		memory_grant(0, ARENA_RING_LEAST);
	} else {
		ring_settle(thread);
	}
	thread->busy.frame = 0;
	/* the lowest watermark: the collector waits for any record of this thread */
	thread_set_watermark(thread, 1);
	thread_set_open(thread, 0);
	thread->slot->stack_count = 0;
	thread->memory.count = 0;
	thread->in_libunwind = false;
	thread->told = thread->shown = thread->shown_all = 0;
	thread->model.is_known = false;
	thread->calls = 0;
	thread->taken_count = 0;
	thread->modules = __atomic_load_n(&thread_modules_told, __ATOMIC_ACQUIRE);
	thread->vfork_return = 0;
}

/* Tells the collector which thread writes the records that follow in the ring. */
static void announce_thread(struct thread *thread, const struct birth *birth)
{
	struct record_thread *record = (struct record_thread *)ring_reserve(
		thread, RECORD_THREAD, sizeof(struct record_thread));

	if (!record)
		return;
	record->record.time = thread->last;
	record->thread = thread->owner->thread;
	record->pthread = thread->pthread;
	record->creator = birth ? birth->call : 0;
	record->creator_thread = birth ? birth->creator : 0;
	ring_publish(&record->record);
}

/*
 * Whether to skip the search for a slot: the last search failed, and no thread has ended since.
 * Without this, each event of a thread without a slot would ask the kernel about every thread that
 * has a slot. Every 256th search is made nevertheless, because not every thread ends through
 * end_thread().
 */
static bool is_crowded(void)
{
	static uint32_t refused;
	uint32_t at = __atomic_load_n(&crowded_at, __ATOMIC_RELAXED);

	return at && at == __atomic_load_n(&ended, __ATOMIC_RELAXED) + 1 &&
	       __atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED) % 256;
}

/*
 * The kernel's id of the thread. System calls may be forbidden, so the id is read from a locked
 * mutex, in which libc has stored the id of the owner. The kernel is asked only if libc did not
 * create the thread.
 */
int32_t thread_id(void)
{
	pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

	real.pthread_mutex_lock(&lock);
	return lock.__data.__owner > 0 ? lock.__data.__owner : sys_gettid();
}

struct thread *thread_attach(const struct stack_bounds *bounds, const struct birth *birth)
{
	uint32_t ended_before = __atomic_load_n(&ended, __ATOMIC_RELAXED);
	/* read the mark first: a fork or detach may change it before the thread has a slot */
	uint32_t mark = *life.fork_mark;
	struct thread *thread;
	int32_t tid;
	bool fresh;

	if (is_crowded())
		return NULL;
	/* a child's only thread has the process's id, even if libc has missed the fork */
	tid = is_forgotten ? life.pid : thread_id();
	is_forgotten = false;
	thread = memory_take_again(thread_self, tid);
	fresh = thread != NULL;
	if (!thread)
		thread = memory_take(tid, &fresh);
	__atomic_store_n(&crowded_at, thread ? 0 : ended_before + 1, __ATOMIC_RELAXED);
	if (!thread)
		return NULL;
	thread->mark = mark;
	prepare_block(thread, fresh);
	thread->pthread = (uint64_t)pthread_self();
	thread->error = &errno;
	thread->stack = bounds ? *bounds : (struct stack_bounds){ 0, 0 };
	thread->asked = 0;
	thread->turn++;
	/* the following stores show the collector which thread has the slot */
	__atomic_store_n(&thread->owner->thread, tid, __ATOMIC_RELAXED);
	__atomic_store_n(&thread->owner->state, OWNER_TAKEN, __ATOMIC_RELEASE);
	thread->slot->thread = tid;
	thread->slot->pthread = thread->pthread;
	__atomic_store_n(&thread->slot->state, SLOT_TAKEN, __ATOMIC_RELEASE);
	thread->last = clock_now();
	thread_self = thread;
	announce_thread(thread, birth);
	names_tell(thread);
	thread_set_watermark(thread, 0);
	return thread;
}

bool thread_begin_alone(struct thread *thread, bool is_now)
{
	bool owns_watermark = !thread->watermark;

	/* as in call_begin(): the low watermark is stored before the clock is read */
	if (owns_watermark)
		thread_set_watermark(thread, thread->last);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (is_now)
		thread->last = clock_now_ordered();
	return owns_watermark;
}

void thread_end_alone(struct thread *thread, bool owns_watermark)
{
	if (owns_watermark)
		thread_set_watermark(thread, 0);
}

struct birth *birth_take(void)
{
	static uint32_t next;
	uint32_t start = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < BIRTHS; i++) {
		struct birth *birth = &births[(start + i) % BIRTHS];
		uint32_t expected = 0;

		if (__atomic_compare_exchange_n(&birth->users, &expected, 2, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return birth;
	}
	return NULL;
}

void birth_leave(struct birth *birth)
{
	__atomic_sub_fetch(&birth->users, 1, __ATOMIC_RELEASE);
}

/* Called at the start of a new thread. top: the highest known address of its stack. */
static void begin_thread(struct birth *birth, uintptr_t top)
{
	/* in glibc's mapping, static TLS and struct pthread follow the stack */
	uintptr_t descriptor = arch_thread_pointer();
	struct stack_bounds bounds = { top - birth->stack_size,
				       descriptor - top < BLOCK_TOP_MAX ? descriptor : top };

	if (!thread_self && life.control && !life.is_off && thread_attach(&bounds, birth))
		facts_tell_thread(birth->creator, birth->call);
	__atomic_store_n(&birth->breath, thread_self ? thread_self->last : clock_now(),
			 __ATOMIC_RELEASE);
	birth_leave(birth);
}

/* Called after the start routine. Destructors of thread-local data still use the slot. */
static void end_thread(void)
{
	if (!thread_self || life.is_off || call_is_of_another_life(thread_self))
		return;
	call_give_up(thread_self);
	facts_tell_thread_end();
	memory_leave(thread_self);
	__atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED);
}

/*
 * The unwinder calls this when pthread_exit or cancellation has unwound all of the thread's own
 * frames and reaches ours (Itanium C++ ABI, 2.5.2). Our frame has no landing pad, so the library
 * needs no function of libgcc_s, and the unwinder continues as if our frame did not exist.
 */
__attribute__((used)) static int thread_personality(int version, int actions)
{
	enum { FORCE_UNWIND = 8, CONTINUE_UNWIND = 8 };

	(void)version;
	if (actions & FORCE_UNWIND)
		end_thread();
	return CONTINUE_UNWIND;
}

/* encoding 0x1b of the personality routine's address: pc-relative, 4 bytes, signed */
#define TELL_UNWINDER() __asm__ volatile(".cfi_personality 0x1b, thread_personality")

__attribute__((noinline)) void *thread_start(void *argument)
{
	struct birth *birth = argument;
	void *(*start)(void *) = birth->start;
	void *start_argument = birth->argument;
	void *result;

	TELL_UNWINDER();
	begin_thread(birth, (uintptr_t)__builtin_dwarf_cfa());
	result = start(start_argument);
	end_thread();
	return result;
}

__attribute__((noinline)) int thread_start_c11(void *argument)
{
	struct birth *birth = argument;
	int (*start)(void *) = birth->start_c11;
	void *start_argument = birth->argument;
	int result;

	TELL_UNWINDER();
	begin_thread(birth, (uintptr_t)__builtin_dwarf_cfa());
	result = start(start_argument);
	end_thread();
	return result;
}

struct stack_bounds thread_main_stack(void)
{
	struct rlimit limit;
	uintptr_t high = (uintptr_t)__libc_stack_end;
	uintptr_t size = 8u << 20;

	if (sys_call4(__NR_prlimit64, 0, RLIMIT_STACK, 0, (long)&limit) == 0)
		size = limit.rlim_cur > (1u << 30) ? 1u << 30 : limit.rlim_cur;
	return (struct stack_bounds){ high - size, high };
}

void thread_forget(void)
{
	thread_self = NULL;
	is_forgotten = true;
	thread_modules_told = 0;
}

void thread_renew(void)
{
	is_forgotten = false;
	thread_modules_told = 0;
	crowded_at = 0;
}
