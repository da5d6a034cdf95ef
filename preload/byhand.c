/* SPDX-License-Identifier: MIT */
/*
 * Hooked functions that no row can describe: those that gain and lose at once, make two objects,
 * take a variable number of arguments, or start something.
 */
#include "stub.h"

#include "maps.h"

#include <stdarg.h>

/* Every body begins so: `origin` and `call`, or the real function alone. */
#define BEGIN(name, moment, object, related, ...)                                            \
	const struct origin origin = CAPTURE_ORIGIN();                                       \
	struct call call;                                                                    \
                                                                                             \
	if (!call_begin(&call, HOOK_##name, moment, &origin, WORD(object), WORD(related))) { \
		real_ready();                                                                \
		return __VA_ARGS__;                                                          \
	}

#define EVENT(...) call_event(&call, &(struct call_event){ __VA_ARGS__ })

/* Memory. Blocks of the pool were handed out before the real allocator was known. */

EXPORT void free(void *ptr)
{
	const struct origin origin = CAPTURE_ORIGIN();
	struct call call;
	bool ours = pool_owns(ptr);

	if (!call_begin(&call, HOOK_free, MOMENT_ENTER, &origin, WORD(ptr), 0)) {
		real_ready();
		if (!ours)
			real.free(ptr);
		return;
	}
	if (!ours)
		real.free(ptr);
	call_returned(&call);
	EVENT(.resource = RESOURCE_MEMORY, .operation = OPERATION_FREE, .moment = MOMENT_ENTER,
	      .failed = !ptr, .object = WORD(ptr));
	call_end(&call);
}

/* Moves a block out of the pool, or asks the real one. */
static void *resize(void *ptr, size_t size)
{
	void *moved;

	if (!pool_owns(ptr))
		return real.realloc(ptr, size);
	moved = real.malloc(size);
	for (size_t i = 0; moved && i < size && pool_owns((char *)ptr + i); i++)
		((char *)moved)[i] = ((char *)ptr)[i];
	return moved;
}

/*
 * A block that was moved was lost at entry and gained at return; both are published after it, and
 * nobody can have had the old address in between but through a later event.
 */
static void *realloc_event(struct call *call, void *old, size_t size, void *result)
{
	if (old && (result || !size))
		call_event(call, &(struct call_event){ .resource = RESOURCE_MEMORY,
						       .operation = OPERATION_FREE,
						       .moment = MOMENT_ENTER,
						       .part = 1,
						       .object = WORD(old) });
	call_event(call, &(struct call_event){ .resource = RESOURCE_MEMORY,
					       .operation = OPERATION_ALLOC,
					       .moment = MOMENT_LEAVE,
					       .failed = !result,
					       .object = WORD(result),
					       .related = WORD(old),
					       .size = size,
					       .result = WORD(result) });
	call_end(call);
	return result;
}

EXPORT void *realloc(void *ptr, size_t size)
{
	void *result;

	BEGIN(realloc, MOMENT_ENTER, ptr, 0, resize(ptr, size))
	result = resize(ptr, size);
	call_returned(&call);
	return realloc_event(&call, ptr, size, result);
}

static void *resize_array(void *ptr, size_t count, size_t size)
{
	size_t bytes;

	if (!pool_owns(ptr) || __builtin_mul_overflow(count, size, &bytes))
		return real.reallocarray(ptr, count, size);
	return resize(ptr, bytes);
}

EXPORT void *reallocarray(void *ptr, size_t count, size_t size)
{
	void *result;

	BEGIN(reallocarray, MOMENT_ENTER, ptr, 0, resize_array(ptr, count, size))
	result = resize_array(ptr, count, size);
	call_returned(&call);
	return realloc_event(&call, ptr, count * size, result);
}

EXPORT int posix_memalign(void **where, size_t alignment, size_t size)
{
	int result;

	BEGIN(posix_memalign, MOMENT_LEAVE, 0, 0, real.posix_memalign(where, alignment, size))
	result = real.posix_memalign(where, alignment, size);
	call_returned(&call);
	call.error = result;
	EVENT(.resource = RESOURCE_MEMORY, .operation = OPERATION_ALLOC, .moment = MOMENT_LEAVE,
	      .failed = result != 0, .object = result ? 0 : WORD(*where), .size = size,
	      .result = WORD(result), .arguments = ARGUMENTS(DECIMAL(alignment)));
	call_end(&call);
	return result;
}

/* Descriptors. */

static int fd_event(struct call *call, int result, const struct call_argument *arguments)
{
	call_event(call, &(struct call_event){ .resource = RESOURCE_FD,
					       .operation = OPERATION_ALLOC,
					       .moment = MOMENT_LEAVE,
					       .failed = result < 0,
					       .object = WORD(result),
					       .size = 1,
					       .result = WORD(result),
					       .arguments = arguments });
	call_end(call);
	return result;
}

/* The mode is there only if the file may be made (open(2)). */
#define TAKE_MODE(flags, mode)                                             \
	do {                                                               \
		if ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE) { \
			va_list list;                                      \
                                                                           \
			va_start(list, flags);                             \
			mode = va_arg(list, mode_t);                       \
			va_end(list);                                      \
		}                                                          \
	} while (0)

EXPORT int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	int result;

	TAKE_MODE(flags, mode);
	BEGIN(open, MOMENT_WAITS, 0, 0, real.open(path, flags, mode))
	call_sleeps(&call);
	result = real.open(path, flags, mode);
	call_returned(&call);
	return fd_event(&call, result, ARGUMENTS(TEXT(path), HEX(flags), OCTAL(mode)));
}

EXPORT int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;
	int result;

	TAKE_MODE(flags, mode);
	BEGIN(open64, MOMENT_WAITS, 0, 0, real.open64(path, flags, mode))
	call_sleeps(&call);
	result = real.open64(path, flags, mode);
	call_returned(&call);
	return fd_event(&call, result, ARGUMENTS(TEXT(path), HEX(flags), OCTAL(mode)));
}

EXPORT int openat(int dirfd, const char *path, int flags, ...)
{
	mode_t mode = 0;
	int result;

	TAKE_MODE(flags, mode);
	BEGIN(openat, MOMENT_WAITS, 0, 0, real.openat(dirfd, path, flags, mode))
	call_sleeps(&call);
	result = real.openat(dirfd, path, flags, mode);
	call_returned(&call);
	return fd_event(&call, result,
			ARGUMENTS(DECIMAL(dirfd), TEXT(path), HEX(flags), OCTAL(mode)));
}

EXPORT int openat64(int dirfd, const char *path, int flags, ...)
{
	mode_t mode = 0;
	int result;

	TAKE_MODE(flags, mode);
	BEGIN(openat64, MOMENT_WAITS, 0, 0, real.openat64(dirfd, path, flags, mode))
	call_sleeps(&call);
	result = real.openat64(dirfd, path, flags, mode);
	call_returned(&call);
	return fd_event(&call, result,
			ARGUMENTS(DECIMAL(dirfd), TEXT(path), HEX(flags), OCTAL(mode)));
}

/* dup2 and dup3 close what the number stood for, in the same instant. */
static void replaced_event(struct call *call, int oldfd, int newfd, int result)
{
	if (result >= 0 && oldfd != newfd)
		call_event(call, &(struct call_event){ .resource = RESOURCE_FD,
						       .operation = OPERATION_FREE,
						       .moment = MOMENT_ENTER,
						       .part = 1,
						       .object = WORD(newfd) });
}

/* Equal descriptors: nothing was gained, and the call is a use. */
static int duplicate_event(struct call *call, int oldfd, int newfd, int result,
			   const struct call_argument *arguments)
{
	replaced_event(call, oldfd, newfd, result);
	if (oldfd != newfd)
		return fd_event(call, result, arguments);
	call_event(call, &(struct call_event){ .resource = RESOURCE_FD,
					       .operation = OPERATION_USE,
					       .moment = MOMENT_LEAVE,
					       .failed = result < 0,
					       .object = WORD(newfd),
					       .result = WORD(result),
					       .arguments = arguments });
	call_end(call);
	return result;
}

EXPORT int dup2(int oldfd, int newfd)
{
	int result;

	BEGIN(dup2, MOMENT_ENTER, newfd, 0, real.dup2(oldfd, newfd))
	result = real.dup2(oldfd, newfd);
	call_returned(&call);
	return duplicate_event(&call, oldfd, newfd, result, ARGUMENTS(DECIMAL(oldfd)));
}

EXPORT int dup3(int oldfd, int newfd, int flags)
{
	int result;

	BEGIN(dup3, MOMENT_ENTER, newfd, 0, real.dup3(oldfd, newfd, flags))
	result = real.dup3(oldfd, newfd, flags);
	call_returned(&call);
	return duplicate_event(&call, oldfd, newfd, result, ARGUMENTS(DECIMAL(oldfd), HEX(flags)));
}

/* Both ends; each names the other as its peer. */
static int pipe_event(struct call *call, const int *fds, int result, int flags, bool with_flags)
{
	for (int end = 1; end >= 0; end--) {
		int peer = result ? -1 : fds[!end];
		struct call_argument arguments[] = { DECIMAL(peer), HEX(flags), { 0 } };

		if (!with_flags)
			arguments[1].kind = ARGUMENT_NONE;
		if (result && end)
			continue;
		call_event(call, &(struct call_event){ .resource = RESOURCE_FD,
						       .operation = OPERATION_ALLOC,
						       .moment = MOMENT_LEAVE,
						       .part = (uint8_t)end,
						       .failed = result != 0,
						       .object = result ? 0 : WORD(fds[end]),
						       .size = 1,
						       .result = WORD(result),
						       .arguments = arguments });
	}
	call_end(call);
	return result;
}

EXPORT int pipe(int fds[2])
{
	int result;

	BEGIN(pipe, MOMENT_LEAVE, 0, 0, real.pipe(fds))
	result = real.pipe(fds);
	call_returned(&call);
	return pipe_event(&call, fds, result, 0, false);
}

EXPORT int pipe2(int fds[2], int flags)
{
	int result;

	BEGIN(pipe2, MOMENT_LEAVE, 0, 0, real.pipe2(fds, flags))
	result = real.pipe2(fds, flags);
	call_returned(&call);
	return pipe_event(&call, fds, result, flags, true);
}

/* Streams: the FILE is part 0, the descriptor that was opened with it part 1. */

static FILE *fopen_event(struct call *call, FILE *result, const struct call_argument *arguments)
{
	if (result)
		call_event(call, &(struct call_event){ .resource = RESOURCE_FD,
						       .operation = OPERATION_ALLOC,
						       .moment = MOMENT_LEAVE,
						       .part = 1,
						       .object = WORD(real.fileno(result)),
						       .related = WORD(result),
						       .size = 1,
						       .arguments = arguments });
	call_event(call, &(struct call_event){ .resource = RESOURCE_FILE,
					       .operation = OPERATION_ALLOC,
					       .moment = MOMENT_LEAVE,
					       .failed = !result,
					       .object = WORD(result),
					       .size = 1,
					       .result = WORD(result),
					       .arguments = arguments });
	call_end(call);
	return result;
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
	FILE *result;

	BEGIN(fopen, MOMENT_WAITS, 0, 0, real.fopen(path, mode))
	call_sleeps(&call);
	result = real.fopen(path, mode);
	call_returned(&call);
	return fopen_event(&call, result, ARGUMENTS(TEXT(path), TEXT(mode)));
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
	FILE *result;

	BEGIN(fopen64, MOMENT_WAITS, 0, 0, real.fopen64(path, mode))
	call_sleeps(&call);
	result = real.fopen64(path, mode);
	call_returned(&call);
	return fopen_event(&call, result, ARGUMENTS(TEXT(path), TEXT(mode)));
}

/* fclose gives both back whatever it returns (POSIX); a stream in memory has no descriptor. */
EXPORT int fclose(FILE *stream)
{
	int fd, result;

	BEGIN(fclose, MOMENT_ENTER, stream, 0, real.fclose(stream))
	fd = stream ? real.fileno(stream) : -1;
	result = real.fclose(stream);
	call_returned(&call);
	if (fd >= 0)
		EVENT(.resource = RESOURCE_FD, .operation = OPERATION_FREE, .moment = MOMENT_ENTER,
		      .part = 1, .object = WORD(fd), .related = WORD(stream));
	EVENT(.resource = RESOURCE_FILE, .operation = OPERATION_FREE, .moment = MOMENT_ENTER,
	      .object = WORD(stream), .related = WORD(fd), .result = WORD(result));
	call_end(&call);
	return result;
}

/* Threads. */

static size_t stack_size_of(const pthread_attr_t *attributes)
{
	size_t size = 0;

	if (attributes)
		real.pthread_attr_getstacksize(attributes, &size);
	return size;
}

/* The size of threads made without attributes; asked for once, since asking allocates. */
static size_t default_stack_size(void)
{
	static size_t known;
	pthread_attr_t attributes;

	if (known)
		return known;
	if (real.pthread_getattr_default_np(&attributes))
		return 0;
	known = stack_size_of(&attributes);
	return known;
}

/*
 * A thread exists from the earlier of the creator's return and its own first breath, which may
 * already detach it. The floor of the creator stands at its entry meanwhile.
 */
static uint64_t birth_time(const struct birth *birth, const struct call *call)
{
	uint64_t breath = __atomic_load_n(&birth->breath, __ATOMIC_ACQUIRE);

	return breath && breath < call->leave ? breath : call->leave;
}

EXPORT int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
			  void *(*start)(void *), void *restrict argument)
{
	struct birth *birth;
	pthread_t made = 0;
	uint64_t time;
	int result;

	BEGIN(pthread_create, MOMENT_LEAVE, 0, 0,
	      real.pthread_create(thread, attributes, start, argument))
	birth = birth_take();
	if (!birth) {
		result = real.pthread_create(thread, attributes, start, argument);
		call_returned(&call);
		time = call.leave;
	} else {
		birth->creator = call.thread->owner->thread;
		birth->call = call.number;
		birth->breath = 0;
		birth->stack_size = attributes ? stack_size_of(attributes) : default_stack_size();
		birth->start = start;
		birth->argument = argument;
		result = real.pthread_create(thread, attributes, thread_start, birth);
		call_returned(&call);
		time = birth_time(birth, &call);
		birth_leave(birth);
		if (result)
			birth_leave(birth);
	}
	call.error = result;
	if (!result)
		made = *thread;
	EVENT(.resource = RESOURCE_THREAD, .operation = OPERATION_ALLOC, .moment = MOMENT_LEAVE,
	      .failed = result != 0, .object = WORD(made), .size = 1, .result = WORD(result),
	      .time = time);
	call_end(&call);
	return result;
}

/*
 * Given back at entry, since another thread may be made with the same handle before we are back;
 * published before the sleep. Where the join was refused the thread is still there.
 */
EXPORT int pthread_join(pthread_t thread, void **value)
{
	int result;

	BEGIN(pthread_join, MOMENT_SPLIT, thread, 0, real.pthread_join(thread, value))
	EVENT(.resource = RESOURCE_THREAD, .operation = OPERATION_FREE, .moment = MOMENT_HALF,
	      .part = 1, .object = WORD(thread));
	call_sleeps(&call);
	result = real.pthread_join(thread, value);
	call_returned(&call);
	call.error = result;
	if (result && result != ESRCH)
		EVENT(.resource = RESOURCE_THREAD, .operation = OPERATION_ALLOC,
		      .moment = MOMENT_LEAVE, .part = 2, .object = WORD(thread), .size = 1);
	EVENT(.resource = RESOURCE_THREAD, .operation = OPERATION_WAIT, .moment = MOMENT_LEAVE,
	      .failed = result != 0, .object = WORD(thread), .result = WORD(result));
	call_end(&call);
	return result;
}

/* Conditions: the mutex is given back before the sleep and held again after it. */

static void condition_sleeps(struct call *call, pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	call_event(call, &(struct call_event){ .resource = RESOURCE_LOCK,
					       .operation = OPERATION_RELEASE,
					       .moment = MOMENT_HALF,
					       .part = 1,
					       .object = WORD(mutex),
					       .related = WORD(cond) });
	call_sleeps(call);
}

static int condition_event(struct call *call, pthread_cond_t *cond, pthread_mutex_t *mutex,
			   int result, const struct call_argument *arguments)
{
	call->error = result;
	call_event(call, &(struct call_event){ .resource = RESOURCE_LOCK,
					       .operation = OPERATION_ACQUIRE,
					       .moment = MOMENT_LEAVE,
					       .part = 2,
					       .object = WORD(mutex),
					       .related = WORD(cond),
					       .size = 1 });
	call_event(call, &(struct call_event){ .resource = RESOURCE_CONDITION,
					       .operation = OPERATION_WAIT,
					       .moment = MOMENT_LEAVE,
					       .failed = result != 0,
					       .object = WORD(cond),
					       .related = WORD(mutex),
					       .result = WORD(result),
					       .arguments = arguments });
	call_end(call);
	return result;
}

EXPORT int pthread_cond_wait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex)
{
	int result;

	BEGIN(pthread_cond_wait, MOMENT_SPLIT, cond, mutex, real.pthread_cond_wait(cond, mutex))
	condition_sleeps(&call, cond, mutex);
	result = real.pthread_cond_wait(cond, mutex);
	call_returned(&call);
	return condition_event(&call, cond, mutex, result, NO_ARGUMENTS);
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
				  const struct timespec *restrict until)
{
	int result;

	BEGIN(pthread_cond_timedwait, MOMENT_SPLIT, cond, mutex,
	      real.pthread_cond_timedwait(cond, mutex, until))
	condition_sleeps(&call, cond, mutex);
	result = real.pthread_cond_timedwait(cond, mutex, until);
	call_returned(&call);
	return condition_event(&call, cond, mutex, result, ARGUMENTS(TIME(until)));
}

/* Semaphores. Mode and value are there only if the semaphore may be made (sem_open(3)). */
EXPORT sem_t *sem_open(const char *name, int flags, ...)
{
	unsigned int value = 0;
	mode_t mode = 0;
	sem_t *result;

	if (flags & O_CREAT) {
		va_list list;

		va_start(list, flags);
		mode = va_arg(list, mode_t);
		value = va_arg(list, unsigned int);
		va_end(list);
	}
	BEGIN(sem_open, MOMENT_WAITS, 0, 0, real.sem_open(name, flags, mode, value))
	call_sleeps(&call);
	result = real.sem_open(name, flags, mode, value);
	call_returned(&call);
	EVENT(.resource = RESOURCE_SEMAPHORE, .operation = OPERATION_ALLOC, .moment = MOMENT_LEAVE,
	      .failed = result == SEM_FAILED, .object = result == SEM_FAILED ? 0 : WORD(result),
	      .size = 1, .result = WORD(result),
	      .arguments = ARGUMENTS(TEXT(name), HEX(flags), OCTAL(mode), DECIMAL(value)));
	call_end(&call);
	return result;
}

/* Destructors run inside, and call hooked functions; afterwards rules and modules may be stale. */
EXPORT int dlclose(void *handle)
{
	int result;

	BEGIN(dlclose, MOMENT_WAITS, handle, 0, real.dlclose(handle))
	call_sleeps(&call);
	result = real.dlclose(handle);
	maps_check();
	call_returned(&call);
	EVENT(.resource = RESOURCE_EVENT, .operation = OPERATION_END, .moment = MOMENT_LEAVE,
	      .failed = result != 0, .object = WORD(handle), .result = WORD(result));
	call_end(&call);
	return result;
}

/* The end of the process: recorded before it happens, since it does not return. */
EXPORT __attribute__((noreturn)) void exit(int status)
{
	const struct origin origin = CAPTURE_ORIGIN();
	struct call call;

	if (call_begin(&call, HOOK_exit, MOMENT_ENTER, &origin, 0, 0)) {
		call_returned(&call);
		EVENT(.resource = RESOURCE_EVENT, .operation = OPERATION_END,
		      .moment = MOMENT_ENTER, .arguments = ARGUMENTS(DECIMAL(status)));
		call_end(&call);
	}
	real_ready();
	real.exit(status);
	__builtin_unreachable();
}
