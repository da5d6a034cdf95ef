/* SPDX-License-Identifier: MIT */
/* Hooked by hand, and effects: functions that start, await or execute programs, or unload code. */
#include "hand.h"

#include "preload/record/facts.h"
#include "preload/record/memory.h"
#include "preload/record/python.h"
#include "preload/record/ring.h"
#include "preload/start/late.h"
#include "preload/walk/maps.h"

#include <stdarg.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>

/* Calls dlclose, then drops the unwind rules of unloaded modules, even if nothing is recorded. */
int close_library(void *handle)
{
	bool is_paused;
	int result;

	facts_tell_bypass_of(handle);
	is_paused = python_pause();
	result = real.dlclose(handle);
	maps_check();
	if (is_paused)
		python_resume();
	return result;
}

/* The destructors that dlclose ran may have called hooked functions and unloaded modules. */
void library_closed(struct call *call, struct call_event *event)
{
	(void)call;
	(void)event;
	facts_tell_gone();
}

/*
 * Records the start of a child. Only the parent records the call. In the child of a fork,
 * life_child_of() first ends the use of the parent's shared memory. The next hooked call in the
 * child finds that the kernel has zeroed life.fork_mark, and maps an arena for the child.
 */

static pid_t child_event(struct call *call, pid_t pid)
{
	call_event(call, &EVENT_OF(fork, .moment = MOMENT_LEAVE, .failed = pid <= 0,
				   .object = pid > 0 ? (uint64_t)pid : 0, .size = 1,
				   .result = WORD(pid)));
	call_end(call);
	return pid;
}

EXPORT pid_t fork(void)
{
	pid_t pid;

	BEGIN(fork, 0, 0, life_child_of(real.fork(), NULL))
	pid = life_child_of(real.fork(), &call);
	if (!pid)
		return pid;
	call_returned(&call);
	return child_event(&call, pid);
}

EXPORT pid_t _Fork(void)
{
	pid_t pid;

	BEGIN(_Fork, 0, 0, life_child_of(real._Fork(), NULL))
	pid = life_child_of(real._Fork(), &call);
	if (!pid)
		return pid;
	call_returned(&call);
	return child_event(&call, pid);
}

/* In the child of forkpty, the slave side of the terminal is standard input, output and error. */
EXPORT int forkpty(int *master, char *name, const struct termios *terminal,
		   const struct winsize *window)
{
	pid_t pid;

	BEGIN(forkpty, 0, 0, real.forkpty(master, name, terminal, window))
	pid = real.forkpty(master, name, terminal, window);
	if (!pid)
		return pid;
	call_returned(&call);
	if (pid > 0)
		fd_acquired(&call, 1, *master, (uint64_t)pid, NULL);
	return child_event(&call, pid);
}

/*
 * Notes a wait for a child. The child is released if wait reports its end. It is not released if
 * wait reports a stop or a continuation, or leaves the child waitable (`stays`, WNOWAIT).
 */
static void note_child(struct call_event *event, pid_t pid, int status, bool stays)
{
	event->object = (uint64_t)pid;
	event->operation = OPERATION_WAIT;
	if (!pid || stays || !(WIFEXITED(status) || WIFSIGNALED(status)))
		return;
	event->operation = OPERATION_FREE;
	life_tell_end(pid, status);
}

void child_waited(struct call *call, struct call_event *event, const int *status,
		  struct spare *spare)
{
	pid_t pid = (pid_t)event->result;

	(void)call;
	if (pid > 0 && status)
		spare->number = *status;
	note_child(event, pid > 0 ? pid : 0, spare->number, false);
}

/* Converts waitid's result to a status as wait(2) returns it. */
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

void child_told(struct call *call, struct call_event *event, const siginfo_t *info, int options,
		struct spare *spare)
{
	(void)call;
	spare->number = event->failed ? 0 : status_of(info);
	note_child(event, event->failed ? 0 : info->si_pid, spare->number, options & WNOWAIT);
}

/*
 * vfork returns twice on one stack, and its child destroys the frame of any function between vfork
 * and its caller. So the stub is assembly that leaves no frame on the stack; the return address is
 * kept in the thread's memory.
 */
struct vfork_target {
	pid_t (*real)(void);
	uint64_t is_traced;
};

struct vfork_target hand_vfork_enter(uintptr_t ip, uintptr_t cfa, uintptr_t fp);
uintptr_t hand_vfork_leave(pid_t pid, uintptr_t cfa, uintptr_t fp);

/*
 * A thread-local variable, because a fork copies it. Where vfork is implemented as a fork
 * (qemu-user), the parent may have changed the shared memory before the child reads it.
 */
static __thread uintptr_t vfork_return;

/*
 * Returns the address of the function that the stub calls, and whether the call is recorded. If a
 * child of vfork calls vfork again, that call is not recorded: its stub would overwrite the first
 * return address.
 */
__attribute__((used)) struct vfork_target hand_vfork_enter(uintptr_t ip, uintptr_t cfa,
							   uintptr_t fp)
{
	struct thread *thread;

	(void)cfa;
	(void)fp;
	real_ready();
	thread = stub_is_armed(HOOK_vfork) ? call_thread() : NULL;
	if (!thread || thread->vfork_return)
		return (struct vfork_target){ real.vfork, 0 };
	vfork_return = thread->vfork_return = ip;
	thread->vfork_open = thread->open_count;
	return (struct vfork_target){ real.vfork, 1 };
}

/* Called after vfork in the child and then in the parent, whose state it restores. */
__attribute__((used)) uintptr_t hand_vfork_leave(pid_t pid, uintptr_t cfa, uintptr_t fp)
{
	struct thread *thread = thread_self;
	const struct origin origin = { .ip = vfork_return, .cfa = cfa, .fp = fp };
	int saved = *thread->error;
	struct call call;

	if (!pid)
		return origin.ip;
	thread->vfork_return = 0;
	thread_set_open(thread, thread->vfork_open);
	if (BEGIN_CALL(&call, vfork, &origin, 0, 0)) {
		call_returned(&call);
		call.error = saved;
		child_event(&call, pid);
	}
	return origin.ip;
}

/* On processors without this stub, vfork is not recorded. */
#ifdef ARCH_VFORK
__asm__(ARCH_VFORK);
#endif

/*
 * Whether a child of clone uses this thread's TLS. With CLONE_VFORK, this thread waits until the
 * child ends, so the child is treated like one of vfork. Without CLONE_VFORK, two tasks with the
 * same TLS would write to one ring, so recording stops for good, and further events are counted as
 * dropped.
 */
static bool shares_tls(int flags)
{
	return (flags & (CLONE_VM | CLONE_SETTLS)) == CLONE_VM;
}

EXPORT int clone(int (*start)(void *), void *stack, int flags, void *argument, ...)
{
	struct call_event event;
	struct thread *thread;
	void *rest[3];
	va_list list;
	uint32_t open;
	bool is_guest;
	int result;

	va_start(list, argument);
	for (int i = 0; i < 3; i++)
		rest[i] = va_arg(list, void *);
	va_end(list);
	if (shares_tls(flags) && !(flags & CLONE_VFORK))
		life_seal(true);
	BEGIN(clone, 0, 0, real.clone(start, stack, flags, argument, rest[0], rest[1], rest[2]))
	call_sleeps(&call);
	thread = call.thread;
	is_guest = shares_tls(flags) && flags & CLONE_VFORK && !thread->vfork_return;
	open = thread->open_count;
	if (is_guest)
		thread->vfork_return = origin.ip;
	result = real.clone(start, stack, flags, argument, rest[0], rest[1], rest[2]);
	if (is_guest) {
		thread->vfork_return = 0;
		thread_set_open(thread, open);
	}
	call_returned(&call);
	event = EVENT_OF(clone, .moment = MOMENT_LEAVE,
			 .failed = result<0, .object = result> 0 ? WORD(result) : 0, .size = 1,
			 .result = WORD(result),
			 .arguments = VALUES_FOR(clone, HEX(flags), HEX(WORD(start)), HEX(stack),
						 HEX(argument)));
	only_used(&call, &event, flags & CLONE_THREAD);
	call_event(&call, &event);
	call_end(&call);
	return result;
}

/*
 * exec does not return, so its event is recorded before the call, as a first half. The second half
 * follows only if exec failed.
 */

void exec_begins(struct call *call, struct call_event *event)
{
	struct call_event half = *event;

	half.moment = MOMENT_HALF;
	half.part = 1;
	call_event(call, &half);
	facts_tell_bypass(false);
	life_note_end(true);
}

/* exec returns only if it has failed, whatever value it returns. */
void exec_failed(struct call *call, struct call_event *event)
{
	(void)call;
	life_note_end(false);
	event->failed = true;
}

/*
 * Evaluates `then` with the environment, or with a changed copy of it. The copy is on the stack,
 * like the argument array, because no other memory is safe in a child of vfork.
 */
#define WITH_ENVIRONMENT(environment, then)                                                      \
	do {                                                                                     \
		size_t room = late_room(environment);                                            \
                                                                                                 \
		if (room)                                                                        \
			(environment) = late_environment(__builtin_alloca(room), (environment)); \
		room = late_look(environment);                                                   \
		if (room)                                                                        \
			(environment) = late_without(__builtin_alloca(room), (environment));     \
		return then;                                                                     \
	} while (0)

int exec_path(const char *path, char *const *argv, char *const *environment)
{
	WITH_ENVIRONMENT(environment, real.execve(path, argv, environment));
}

int exec_word(const char *word, char *const *argv, char *const *environment)
{
	WITH_ENVIRONMENT(environment, real.execvpe(word, argv, environment));
}

int exec_own_path(const char *path, char *const *argv)
{
	if (!late_room(__environ) && !late_look(__environ))
		return real.execv(path, argv);
	return exec_path(path, argv, __environ);
}

int exec_own_word(const char *word, char *const *argv)
{
	if (!late_room(__environ) && !late_look(__environ))
		return real.execvp(word, argv);
	return exec_word(word, argv, __environ);
}

int exec_fd(int fd, char *const *argv, char *const *environment)
{
	WITH_ENVIRONMENT(environment, real.fexecve(fd, argv, environment));
}

int exec_at(int directory, const char *path, char *const *argv, char *const *environment, int flags)
{
	WITH_ENVIRONMENT(environment, real.execveat(directory, path, argv, environment, flags));
}

int spawn_path(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
	       const posix_spawnattr_t *attributes, char *const *argv, char *const *environment)
{
	WITH_ENVIRONMENT(environment,
			 real.posix_spawn(pid, path, actions, attributes, argv, environment));
}

int spawn_word(pid_t *pid, const char *word, const posix_spawn_file_actions_t *actions,
	       const posix_spawnattr_t *attributes, char *const *argv, char *const *environment)
{
	WITH_ENVIRONMENT(environment,
			 real.posix_spawnp(pid, word, actions, attributes, argv, environment));
}

/*
 * execl and its variants build an array and call the exec function that takes an array, as in
 * glibc. The array is on the stack, because no other memory is safe in a child of vfork.
 */
static size_t count_list(const char *first, va_list rest)
{
	size_t count = 0;

	for (const char *arg = first; arg; arg = va_arg(rest, const char *))
		count++;
	return count;
}

static void take_list(char **argv, const char *first, size_t count, va_list *rest)
{
	argv[0] = (char *)(uintptr_t)first;
	for (size_t i = 1; first && i <= count; i++)
		argv[i] = va_arg(*rest, char *);
}

/* Builds the array in the caller's frame. then: code that reads the arguments after the list. */
#define TAKE_LIST(argv, arg, then)                                        \
	do {                                                              \
		size_t count;                                             \
		va_list rest;                                             \
                                                                          \
		va_start(rest, arg);                                      \
		count = count_list(arg, rest);                            \
		va_end(rest);                                             \
		(argv) = __builtin_alloca((count + 1) * sizeof(*(argv))); \
		va_start(rest, arg);                                      \
		take_list(argv, arg, count, &rest);                       \
		then;                                                     \
		va_end(rest);                                             \
	} while (0)

static int exec_event(struct call *call, const struct call_argument *arguments, int result)
{
	life_note_end(false);
	call_returned(call);
	call_event(call, &EVENT_OF(execl, .moment = MOMENT_LEAVE, .failed = true,
				   .result = WORD(result), .arguments = arguments));
	call_end(call);
	return result;
}

static void exec_list_begins(struct call *call, const struct call_argument *arguments)
{
	exec_begins(call, &EVENT_OF(execl, .arguments = arguments));
	call_sleeps(call);
}

EXPORT int execl(const char *path, const char *arg, ...)
{
	const struct call_argument *values = VALUES_FOR(execl, TEXT(path), HEX(arg));
	char **argv;

	TAKE_LIST(argv, arg, );
	BEGIN(execl, 0, 0, exec_own_path(path, argv))
	exec_list_begins(&call, values);
	return exec_event(&call, values, exec_own_path(path, argv));
}

EXPORT int execlp(const char *path, const char *arg, ...)
{
	const struct call_argument *values = VALUES_FOR(execlp, TEXT(path), HEX(arg));
	char **argv;

	TAKE_LIST(argv, arg, );
	BEGIN(execlp, 0, 0, exec_own_word(path, argv))
	exec_list_begins(&call, values);
	return exec_event(&call, values, exec_own_word(path, argv));
}

EXPORT int execle(const char *path, const char *arg, ...)
{
	const struct call_argument *values = VALUES_FOR(execle, TEXT(path), HEX(arg));
	char *const *envp;
	char **argv;

	TAKE_LIST(argv, arg, envp = va_arg(rest, char *const *));
	BEGIN(execle, 0, 0, exec_path(path, argv, envp))
	exec_list_begins(&call, values);
	return exec_event(&call, values, exec_path(path, argv, envp));
}

/* No option has more than five arguments, and the kernel ignores unused ones (prctl(2)). */
EXPORT int prctl(int option, ...)
{
	unsigned long a, b, c, d;
	char name[16] = "";
	va_list list;
	int result;

	va_start(list, option);
	a = va_arg(list, unsigned long);
	b = va_arg(list, unsigned long);
	c = va_arg(list, unsigned long);
	d = va_arg(list, unsigned long);
	va_end(list);
	if (option != PR_SET_NAME) {
		/*
		 * After either of these calls, the kernel ends the program if it reads the
		 * processor's counter, as clock_gettime() in the vDSO does.
		 */
		bool seals = (option == PR_SET_SECCOMP && a == SECCOMP_MODE_STRICT) ||
			     (option == PR_SET_TSC && a == PR_TSC_SIGSEGV);

		real_ready();
		if (option == PR_SET_SECCOMP ||
		    (option == PR_SET_SYSCALL_USER_DISPATCH && a != PR_SYS_DISPATCH_OFF)) {
			memory_prepare();
			ring_be_quiet();
		}
		if (seals)
			life_seal(true);
		result = real.prctl(option, a, b, c, d);
		if (seals && result)
			life_seal(false);
		return result;
	}
	BEGIN(prctl, 0, 0, real.prctl(option, a, b, c, d))
	result = real.prctl(option, a, b, c, d);
	call_returned(&call);
	/* The kernel reads at most 15 bytes of a name. */
	for (size_t i = 0; !result && i < sizeof(name) - 1 && ((const char *)a)[i]; i++)
		name[i] = ((const char *)a)[i];
	call_event(&call, &EVENT_OF(prctl, .moment = MOMENT_LEAVE, .failed = result != 0,
				    .object = call.thread->pthread, .result = WORD(result),
				    .arguments = VALUES_FOR(prctl, TEXT(name), DECIMAL(option))));
	call_end(&call);
	return result;
}
