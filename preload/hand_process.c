/* SPDX-License-Identifier: MIT */
/* Hooked by hand: how processes begin and end, and what becomes of their code. */
#include "hand.h"

#include "facts.h"
#include "maps.h"
#include "ring.h"

#include <stdarg.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>

/* Afterwards rules and modules may be stale, whether or not the call is recorded. */
static int close_library(void *handle)
{
	int result = real.dlclose(handle);

	maps_check();
	return result;
}

/* Destructors run inside, and call hooked functions. */
EXPORT int dlclose(void *handle)
{
	int result;

	BEGIN(dlclose, MOMENT_WAITS, handle, 0, close_library(handle))
	call_sleeps(&call);
	result = close_library(handle);
	call_returned(&call);
	facts_tell_gone();
	EVENT(.resource = RESOURCE_EVENT, .operation = OPERATION_END, .moment = MOMENT_LEAVE,
	      .failed = result != 0, .object = WORD(handle), .result = WORD(result));
	call_end(&call);
	return result;
}

/*
 * Children. In fork's child the call belongs to the parent's thread, whose slot it must not touch:
 * the next hook finds out by the fork mark and gives the child its own.
 */

static pid_t child_event(struct call *call, pid_t pid, const struct call_argument *arguments)
{
	call_event(call, &(struct call_event){ .resource = RESOURCE_PROCESS,
					       .operation = OPERATION_ALLOC,
					       .moment = MOMENT_LEAVE,
					       .failed = pid <= 0,
					       .object = pid > 0 ? (uint64_t)pid : 0,
					       .size = 1,
					       .result = WORD(pid),
					       .arguments = arguments });
	call_end(call);
	return pid;
}

EXPORT pid_t fork(void)
{
	pid_t pid;

	BEGIN(fork, MOMENT_LEAVE, 0, 0, real.fork())
	pid = real.fork();
	if (!pid)
		return pid;
	call_returned(&call);
	return child_event(&call, pid, NO_ARGUMENTS);
}

EXPORT pid_t _Fork(void)
{
	pid_t pid;

	BEGIN(_Fork, MOMENT_LEAVE, 0, 0, real._Fork())
	pid = real._Fork();
	if (!pid)
		return pid;
	call_returned(&call);
	return child_event(&call, pid, NO_ARGUMENTS);
}

/* The spawned child is made by a system call of libc's own, and its pid need not be asked for. */
static int spawn_event(struct call *call, int result, pid_t pid,
		       const struct call_argument *arguments)
{
	call->error = result;
	child_event(call, result ? 0 : pid, arguments);
	return result;
}

EXPORT int posix_spawn(pid_t *restrict pid, const char *restrict path,
		       const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *restrict attributes, char *const argv[],
		       char *const envp[])
{
	pid_t own;
	int result;

	BEGIN(posix_spawn, MOMENT_LEAVE, 0, 0,
	      real.posix_spawn(pid, path, actions, attributes, argv, envp))
	result = real.posix_spawn(pid ? pid : &own, path, actions, attributes, argv, envp);
	call_returned(&call);
	return spawn_event(&call, result, result ? 0 : pid ? *pid : own, ARGUMENTS(TEXT(path), HEX(pid), HEX(actions), HEX(attributes), HEX(argv), HEX(envp)));
}

EXPORT int posix_spawnp(pid_t *restrict pid, const char *restrict path,
			const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *restrict attributes, char *const argv[],
			char *const envp[])
{
	pid_t own;
	int result;

	BEGIN(posix_spawnp, MOMENT_LEAVE, 0, 0,
	      real.posix_spawnp(pid, path, actions, attributes, argv, envp))
	result = real.posix_spawnp(pid ? pid : &own, path, actions, attributes, argv, envp);
	call_returned(&call);
	return spawn_event(&call, result, result ? 0 : pid ? *pid : own, ARGUMENTS(TEXT(path), HEX(pid), HEX(actions), HEX(attributes), HEX(argv), HEX(envp)));
}

/* A child is given back when its end was told, not when it was stopped or continued. */
static pid_t wait_event(struct call *call, pid_t pid, int status,
			const struct call_argument *arguments)
{
	bool has_ended = pid > 0 && (WIFEXITED(status) || WIFSIGNALED(status));

	if (has_ended)
		life_tell_end(pid, status);
	call_event(call,
		   &(struct call_event){ .resource = RESOURCE_PROCESS,
					 .operation = has_ended ? OPERATION_FREE : OPERATION_WAIT,
					 .moment = MOMENT_LEAVE,
					 .failed = pid<0, .object = pid> 0 ? (uint64_t)pid : 0,
					 .result = WORD(pid),
					 .arguments = arguments });
	call_end(call);
	return pid;
}

EXPORT pid_t wait(int *status)
{
	int own = 0;
	pid_t result;

	BEGIN(wait, MOMENT_WAITS, 0, 0, real.wait(status))
	call_sleeps(&call);
	result = real.wait(status ? status : &own);
	call_returned(&call);
	own = result > 0 && status ? *status : own;
	return wait_event(&call, result, own, ARGUMENTS(HEX(own), HEX(status)));
}

EXPORT pid_t waitpid(pid_t pid, int *status, int options)
{
	int own = 0;
	pid_t result;

	BEGIN(waitpid, MOMENT_WAITS, pid, 0, real.waitpid(pid, status, options))
	call_sleeps(&call);
	result = real.waitpid(pid, status ? status : &own, options);
	call_returned(&call);
	own = result > 0 && status ? *status : own;
	return wait_event(&call, result, own, ARGUMENTS(DECIMAL(pid), HEX(options), HEX(own), HEX(status)));
}

EXPORT pid_t wait3(int *status, int options, struct rusage *usage)
{
	int own = 0;
	pid_t result;

	BEGIN(wait3, MOMENT_WAITS, 0, 0, real.wait3(status, options, usage))
	call_sleeps(&call);
	result = real.wait3(status ? status : &own, options, usage);
	call_returned(&call);
	own = result > 0 && status ? *status : own;
	return wait_event(&call, result, own, ARGUMENTS(HEX(options), HEX(own), HEX(status), HEX(usage)));
}

EXPORT pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	int own = 0;
	pid_t result;

	BEGIN(wait4, MOMENT_WAITS, pid, 0, real.wait4(pid, status, options, usage))
	call_sleeps(&call);
	result = real.wait4(pid, status ? status : &own, options, usage);
	call_returned(&call);
	own = result > 0 && status ? *status : own;
	return wait_event(&call, result, own, ARGUMENTS(DECIMAL(pid), HEX(options), HEX(own), HEX(status), HEX(usage)));
}

/* As the other functions of waiting have it. */
static int status_of(const siginfo_t *info)
{
	switch (info->si_pid ? info->si_code : 0) {
	case CLD_EXITED:
		return W_EXITCODE(info->si_status & 0xff, 0);
	case CLD_KILLED:
		return info->si_status;
	case CLD_DUMPED:
		return info->si_status | WCOREFLAG;
	case CLD_STOPPED:
	case CLD_TRAPPED:
		return W_STOPCODE(info->si_status);
	case CLD_CONTINUED:
		return __W_CONTINUED;
	default:
		return 0;
	}
}

EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	siginfo_t own = { 0 };
	const siginfo_t *said = info ? info : &own;
	bool has_ended;
	int result, status;

	BEGIN(waitid, MOMENT_WAITS, id, 0, real.waitid(type, id, info, options))
	call_sleeps(&call);
	result = real.waitid(type, id, info ? info : &own, options);
	call_returned(&call);
	has_ended = !result && said->si_pid && !(options & WNOWAIT) &&
		    (said->si_code == CLD_EXITED || said->si_code == CLD_KILLED ||
		     said->si_code == CLD_DUMPED);
	status = result ? 0 : status_of(said);
	if (has_ended)
		life_tell_end(said->si_pid, status);
	EVENT(.resource = RESOURCE_PROCESS,
	      .operation = has_ended ? OPERATION_FREE : OPERATION_WAIT, .moment = MOMENT_LEAVE,
	      .failed = result != 0, .object = result ? 0 : WORD(said->si_pid),
	      .result = WORD(result),
	      .arguments = ARGUMENTS(DECIMAL(type), DECIMAL(id), HEX(options), HEX(status),
				   HEX(info)));
	call_end(&call);
	return result;
}

/*
 * vfork returns twice on one stack, and what its child does there destroys the frame of any
 * function between it and its caller. So the stub is assembly: it leaves no frame behind, and
 * keeps its return address with the thread.
 */
struct vfork_target {
	pid_t (*real)(void);
	uint64_t is_traced;
};

struct vfork_target hand_vfork_enter(uintptr_t ip, uintptr_t cfa, uintptr_t fp);
uintptr_t hand_vfork_leave(pid_t pid, uintptr_t cfa, uintptr_t fp);

/*
 * In memory that a fork copies: where vfork is a fork (qemu-user), the parent has gone on when the
 * child comes for its copy, and what they share says nothing any more.
 */
static __thread uintptr_t vfork_return;

/* A child of vfork that calls it again would lose the first return address: it goes untraced. */
__attribute__((used)) struct vfork_target hand_vfork_enter(uintptr_t ip, uintptr_t cfa,
							   uintptr_t fp)
{
	struct thread *thread;

	(void)cfa;
	(void)fp;
	real_ready();
	thread = life_armed[HOOK_vfork] || life_wake(HOOK_vfork) ? call_thread() : NULL;
	if (!thread || thread->vfork_return)
		return (struct vfork_target){ real.vfork, 0 };
	vfork_return = thread->vfork_return = ip;
	thread->vfork_open = thread->slot.open_count;
	return (struct vfork_target){ real.vfork, 1 };
}

/* Both return here; the parent alone takes its thread back as it was, and records. */
__attribute__((used)) uintptr_t hand_vfork_leave(pid_t pid, uintptr_t cfa, uintptr_t fp)
{
	struct thread *thread = thread_self;
	const struct origin origin = { .ip = vfork_return, .cfa = cfa, .fp = fp };
	int saved = *thread->error;
	struct call call;

	if (!pid)
		return origin.ip;
	thread->vfork_return = 0;
	thread->slot.open_count = thread->vfork_open;
	if (call_begin(&call, HOOK_vfork, MOMENT_LEAVE, &origin, 0, 0)) {
		call_returned(&call);
		call.error = saved;
		child_event(&call, pid, NO_ARGUMENTS);
	}
	return origin.ip;
}

/* Where nobody has written one, vfork goes unseen. */
#ifdef ARCH_VFORK
__asm__(ARCH_VFORK);
#endif

/*
 * clone. A child in our memory that we sleep for runs on this thread's TLS, as vfork's does. One
 * that we do not sleep for shares it with a thread that goes on: two tasks would write one ring, so
 * nothing is recorded from there on, and that is counted.
 */
static bool shares_tls(int flags)
{
	return (flags & (CLONE_VM | CLONE_SETTLS)) == CLONE_VM;
}

static int clone_child(struct call *call, int (*start)(void *), void *stack, int flags,
		       void *argument, void *const *rest)
{
	struct thread *thread = call->thread;
	bool is_guest = shares_tls(flags) && flags & CLONE_VFORK && !thread->vfork_return;
	uint32_t open = thread->slot.open_count;
	int result;

	if (is_guest)
		thread->vfork_return = call->origin->ip;
	result = real.clone(start, stack, flags, argument, rest[0], rest[1], rest[2]);
	if (is_guest) {
		thread->vfork_return = 0;
		thread->slot.open_count = open;
	}
	return result;
}

EXPORT int clone(int (*start)(void *), void *stack, int flags, void *argument, ...)
{
	bool is_thread = flags & CLONE_THREAD;
	void *rest[3];
	va_list list;
	int result;

	va_start(list, argument);
	for (int i = 0; i < 3; i++)
		rest[i] = va_arg(list, void *);
	va_end(list);
	if (shares_tls(flags) && !(flags & CLONE_VFORK))
		life_seal(true);
	BEGIN(clone, MOMENT_WAITS, 0, 0,
	      real.clone(start, stack, flags, argument, rest[0], rest[1], rest[2]))
	call_sleeps(&call);
	result = clone_child(&call, start, stack, flags, argument, rest);
	call_returned(&call);
	EVENT(.resource = RESOURCE_PROCESS,
	      .operation = is_thread ? OPERATION_USE : OPERATION_ALLOC, .moment = MOMENT_LEAVE,
	      .failed = result < 0, .object = result > 0 ? WORD(result) : 0, .size = 1,
	      .result = WORD(result),
	      .arguments = ARGUMENTS(HEX(flags), HEX(WORD(start)), HEX(stack), HEX(argument)));
	call_end(&call);
	return result;
}

/*
 * Exec. Said in a first half before it happens, since it does not return; the second half is there
 * only if it failed.
 */

static void exec_begins(struct call *call, const struct call_argument *arguments)
{
	call->leave = call->enter;
	call->error = 0;
	call_event(call, &(struct call_event){ .resource = RESOURCE_EVENT,
					       .operation = OPERATION_END,
					       .moment = MOMENT_HALF,
					       .part = 1,
					       .arguments = arguments });
	life_note_end(true);
	call_sleeps(call);
}

static int exec_failed(struct call *call, const struct call_argument *arguments)
{
	life_note_end(false);
	call_returned(call);
	call_event(call, &(struct call_event){ .resource = RESOURCE_EVENT,
					       .operation = OPERATION_END,
					       .moment = MOMENT_LEAVE,
					       .failed = true,
					       .result = WORD(-1),
					       .arguments = arguments });
	call_end(call);
	return -1;
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	BEGIN(execve, MOMENT_SPLIT, 0, 0, real.execve(path, argv, envp))
	exec_begins(&call, ARGUMENTS(TEXT(path), HEX(argv), HEX(envp)));
	real.execve(path, argv, envp);
	return exec_failed(&call, ARGUMENTS(TEXT(path), HEX(argv), HEX(envp)));
}

EXPORT int execv(const char *path, char *const argv[])
{
	BEGIN(execv, MOMENT_SPLIT, 0, 0, real.execv(path, argv))
	exec_begins(&call, ARGUMENTS(TEXT(path), HEX(argv)));
	real.execv(path, argv);
	return exec_failed(&call, ARGUMENTS(TEXT(path), HEX(argv)));
}

EXPORT int execvp(const char *path, char *const argv[])
{
	BEGIN(execvp, MOMENT_SPLIT, 0, 0, real.execvp(path, argv))
	exec_begins(&call, ARGUMENTS(TEXT(path), HEX(argv)));
	real.execvp(path, argv);
	return exec_failed(&call, ARGUMENTS(TEXT(path), HEX(argv)));
}

EXPORT int execvpe(const char *path, char *const argv[], char *const envp[])
{
	BEGIN(execvpe, MOMENT_SPLIT, 0, 0, real.execvpe(path, argv, envp))
	exec_begins(&call, ARGUMENTS(TEXT(path), HEX(argv), HEX(envp)));
	real.execvpe(path, argv, envp);
	return exec_failed(&call, ARGUMENTS(TEXT(path), HEX(argv), HEX(envp)));
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	BEGIN(fexecve, MOMENT_SPLIT, fd, 0, real.fexecve(fd, argv, envp))
	exec_begins(&call, ARGUMENTS(DECIMAL(fd), HEX(argv), HEX(envp)));
	real.fexecve(fd, argv, envp);
	return exec_failed(&call, ARGUMENTS(DECIMAL(fd), HEX(argv), HEX(envp)));
}

EXPORT int execveat(int dirfd, const char *path, char *const argv[], char *const envp[], int flags)
{
	BEGIN(execveat, MOMENT_SPLIT, dirfd, 0, real.execveat(dirfd, path, argv, envp, flags))
	exec_begins(&call, ARGUMENTS(DECIMAL(dirfd), TEXT(path), HEX(flags), HEX(argv), HEX(envp)));
	real.execveat(dirfd, path, argv, envp, flags);
	return exec_failed(&call, ARGUMENTS(DECIMAL(dirfd), TEXT(path), HEX(flags), HEX(argv), HEX(envp)));
}

/*
 * The forms with a list of arguments are those with an array, as glibc has them, too. On the stack
 * as there: in vfork's child nothing else is safe.
 */
#define LIST_MAX 1024

struct list {
	char *argv[LIST_MAX];
	char *const *envp;
};

/* False if the list is longer than we can hold: E2BIG, as from the kernel. */
static bool take_list(struct list *list, const char *first, va_list rest, bool with_environment)
{
	unsigned int n = 0;

	list->argv[n] = (char *)(uintptr_t)first;
	while (list->argv[n])
		if (++n == LIST_MAX)
			return false;
		else
			list->argv[n] = va_arg(rest, char *);
	if (with_environment)
		list->envp = va_arg(rest, char *const *);
	return true;
}

#define TAKE_LIST(list, arg, with_environment)                          \
	do {                                                            \
		va_list rest;                                           \
		bool fits;                                              \
                                                                        \
		va_start(rest, arg);                                    \
		fits = take_list(&(list), arg, rest, with_environment); \
		va_end(rest);                                           \
		if (!fits) {                                            \
			errno = E2BIG;                                  \
			return -1;                                      \
		}                                                       \
	} while (0)

EXPORT int execl(const char *path, const char *arg, ...)
{
	struct list list;

	TAKE_LIST(list, arg, false);
	{
		BEGIN(execl, MOMENT_SPLIT, 0, 0, real.execv(path, list.argv))
		exec_begins(&call, ARGUMENTS(TEXT(path), HEX(arg)));
		real.execv(path, list.argv);
		return exec_failed(&call, ARGUMENTS(TEXT(path), HEX(arg)));
	}
}

EXPORT int execlp(const char *path, const char *arg, ...)
{
	struct list list;

	TAKE_LIST(list, arg, false);
	{
		BEGIN(execlp, MOMENT_SPLIT, 0, 0, real.execvp(path, list.argv))
		exec_begins(&call, ARGUMENTS(TEXT(path), HEX(arg)));
		real.execvp(path, list.argv);
		return exec_failed(&call, ARGUMENTS(TEXT(path), HEX(arg)));
	}
}

EXPORT int execle(const char *path, const char *arg, ...)
{
	struct list list;

	TAKE_LIST(list, arg, true);
	{
		BEGIN(execle, MOMENT_SPLIT, 0, 0, real.execve(path, list.argv, list.envp))
		exec_begins(&call, ARGUMENTS(TEXT(path), HEX(arg)));
		real.execve(path, list.argv, list.envp);
		return exec_failed(&call, ARGUMENTS(TEXT(path), HEX(arg)));
	}
}

/* All that any option may read; what is not there is never looked at (prctl(2)). */
EXPORT int prctl(int option, ...)
{
	unsigned long a, b, c, d;
	const char *name;
	va_list list;
	int result;

	va_start(list, option);
	a = va_arg(list, unsigned long);
	b = va_arg(list, unsigned long);
	c = va_arg(list, unsigned long);
	d = va_arg(list, unsigned long);
	va_end(list);
	if (option != PR_SET_NAME) {
		/* Under these even reading the processor's counter kills, and the vDSO reads it,
		 * too. */
		bool seals = (option == PR_SET_SECCOMP && a == SECCOMP_MODE_STRICT) ||
			     (option == PR_SET_TSC && a == PR_TSC_SIGSEGV);

		real_ready();
		if (option == PR_SET_SECCOMP)
			ring_be_quiet();
		if (seals)
			life_seal(true);
		result = real.prctl(option, a, b, c, d);
		if (seals && result)
			life_seal(false);
		return result;
	}
	BEGIN(prctl, MOMENT_LEAVE, 0, 0, real.prctl(option, a, b, c, d))
	result = real.prctl(option, a, b, c, d);
	call_returned(&call);
	name = result ? NULL : (const char *)a;
	EVENT(.resource = RESOURCE_THREAD, .operation = OPERATION_USE, .moment = MOMENT_LEAVE,
	      .failed = result != 0, .object = call.thread->slot.pthread, .result = WORD(result),
	      .arguments = ARGUMENTS(TEXT(name), DECIMAL(option)));
	call_end(&call);
	return result;
}

/* The ends: recorded before they happen, since they do not return. */

static void end_event(struct call *call, const struct call_argument *arguments)
{
	call_returned(call);
	call_event(call, &(struct call_event){ .resource = RESOURCE_EVENT,
					       .operation = OPERATION_END,
					       .moment = MOMENT_ENTER,
					       .arguments = arguments });
	call_end(call);
}

#define END_BY(name)                                                             \
	EXPORT __attribute__((noreturn)) void name(int status)                   \
	{                                                                        \
		const struct origin origin = CAPTURE_ORIGIN();                   \
		struct call call;                                                \
                                                                                 \
		if (call_begin(&call, HOOK_##name, MOMENT_ENTER, &origin, 0, 0)) \
			end_event(&call, ARGUMENTS(DECIMAL(status)));            \
		life_note_end(true);                                             \
		real_ready();                                                    \
		real.name(status);                                               \
		__builtin_unreachable();                                         \
	}

END_BY(exit)
END_BY(_exit)
END_BY(_Exit)
END_BY(quick_exit)

EXPORT __attribute__((noreturn)) void abort(void)
{
	const struct origin origin = CAPTURE_ORIGIN();
	struct call call;

	if (call_begin(&call, HOOK_abort, MOMENT_ENTER, &origin, 0, 0))
		end_event(&call, NO_ARGUMENTS);
	real_ready();
	real.abort();
	__builtin_unreachable();
}
