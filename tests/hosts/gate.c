/* SPDX-License-Identifier: MIT */
/*
 * Does one thing that a limit of --fail-on is about, or keeps from doing it: the arguments say
 * what. tests/e2e/gate has the limits that each must break, keep or leave unknown.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *volatile kept; /* nobody may leave a malloc out */
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;

static void pause_ms(long ms)
{
	struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&pause, NULL);
}

static void clean(void)
{
	void *volatile block = malloc(100);
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	free(block);
	close(fd);
}

static void leak(void)
{
	for (int i = 0; i < 3; i++)
		kept = malloc(100);
}

/* Blocks of an allocator with a name of its own, as jemalloc's with a prefix. */
static __attribute__((noinline)) void *pages_map(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static __attribute__((noinline)) void *_rjem_malloc(size_t size)
{
	static char *next, *end;

	if (next + size > end || !next) {
		next = pages_map(1 << 20);
		end = next + (1 << 20);
	}
	next += size;
	return next - size;
}

static void inner(void)
{
	for (int i = 0; i < 50; i++)
		kept = _rjem_malloc(64);
}

/* Fifty blocks of memory that no known function maps. */
static void arena(void)
{
	const size_t size = 1 << 20;
	char *next = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (next == MAP_FAILED)
		_exit(99);
	for (int i = 0; i < 50; i++)
		kept = memset(next + i * 64, 1, 64);
}

/* Memory of its own, a small part of what it has of malloc meanwhile. */
static void buffer(void)
{
	free(memset(malloc(20 << 20), 1, 20 << 20));
	arena();
}

/* Memory that blocks are seldom made of. */
static void pages(void)
{
	const int flags = MAP_ANONYMOUS | MAP_NORESERVE;

	if (mmap(NULL, 1 << 20, PROT_READ, MAP_SHARED | flags, -1, 0) == MAP_FAILED ||
	    mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_STACK | flags, -1, 0) == MAP_FAILED ||
	    mmap(NULL, 1 << 20, PROT_EXEC, MAP_PRIVATE | flags, -1, 0) == MAP_FAILED ||
	    mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | flags, -1, 0) == MAP_FAILED)
		_exit(99);
}

static void other(void)
{
	kept = malloc(50);
}

static void descriptor(void)
{
	if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
		_exit(99);
}

static void stream(void)
{
	kept = fopen("/dev/null", "re");
}

static void mapping(void)
{
	kept = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void *nothing(void *argument)
{
	return argument;
}

static void thread(void)
{
	pthread_t made;

	pthread_create(&made, NULL, nothing, NULL);
	pause_ms(20);
}

static void joined(void)
{
	pthread_t made;

	pthread_create(&made, NULL, nothing, NULL);
	pthread_join(made, NULL);
}

static void child(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	pause_ms(20);
}

/* The middle process of a daemon ends without waiting, and its child lives on. */
static void orphan(void)
{
	pid_t pid = fork();

	if (!pid) {
		if (!fork()) {
			clean(); /* or it is not known to be recorded */
			pause_ms(100);
		}
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void waited_for(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static void lock(void)
{
	pthread_mutex_lock(&first);
}

static void *ends_later(void *unused)
{
	pause_ms(300);
	exit(0);
	return unused;
}

/* The kernel keeps a main thread that has ended until its process ends; it waits for nothing. */
static void main_leaves(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, ends_later, NULL);
	pthread_detach(thread);
	pthread_exit(NULL);
}

static void *holds_first(void *unused)
{
	pthread_mutex_lock(&first);
	pause();
	return unused;
}

/* Whether the process waits for a futex. */
static int is_stuck(pid_t child)
{
	char path[40], text[20] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)child);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
		close(fd);
	return *text && atoi(text) == SYS_futex;
}

/* Kills the child 300 ms after it began to wait for a lock, or after 10 s. */
static void kill_stuck(pid_t child)
{
	for (int i = 0; i < 1000 && !is_stuck(child); i++)
		usleep(10000);
	usleep(300000);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* fork() copies a lock that another thread holds, but not that thread. */
static void forked_lock(void)
{
	pthread_t thread;
	pid_t child;

	pthread_create(&thread, NULL, holds_first, NULL);
	while (pthread_mutex_trylock(&first) == 0)
		pthread_mutex_unlock(&first);
	child = fork();
	if (!child)
		pthread_mutex_lock(&first);
	kill_stuck(child);
}

static void forked_own_lock(void)
{
	pid_t child;

	pthread_mutex_lock(&first);
	child = fork();
	if (!child)
		pthread_mutex_lock(&first);
	kill_stuck(child);
}

/* A mutex of two processes: the recording of the one that waits does not have its holder. */
static void shared_lock(void)
{
	pthread_mutex_t *mutex = mmap(NULL, sizeof(*mutex), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attributes;
	pid_t child;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(mutex, &attributes);
	child = fork();
	if (!child) {
		while (pthread_mutex_trylock(mutex) == 0) {
			pthread_mutex_unlock(mutex);
			usleep(1000);
		}
		pthread_mutex_lock(mutex);
	}
	pthread_mutex_lock(mutex);
	kill_stuck(child);
	pthread_mutex_unlock(mutex);
}

static void peak(void)
{
	void *volatile block = malloc(3000000);

	free(block);
}

/* fclose() closes what open() opened. */
static void stream_given(void)
{
	fclose(fdopen(open("/dev/null", O_RDONLY | O_CLOEXEC), "r"));
}

/* What a child of vfork() opens is not its parent's. */
static void vfork_opens(void)
{
	pid_t child = vfork();

	if (!child) {
		open("/dev/null", O_RDONLY);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

/* fclose() closes the descriptor a second time, which no recorded call shows to have failed. */
static void stream_twice(void)
{
	FILE *stream = fopen("/dev/null", "r");

	close(fileno(stream));
	fclose(stream);
}

/* The stream closes what dup2() put in place of its descriptor. */
static void stream_replaced(void)
{
	FILE *stream = fopen("/dev/null", "r");
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	close(fileno(stream));
	dup2(fd, fileno(stream));
	close(fd);
	fclose(stream);
}

static void twice(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	close(fd);
}

static void *take_first(void *argument)
{
	pthread_mutex_lock(&first);
	pthread_mutex_unlock(&first);
	return argument;
}

static void wait_long(void)
{
	pthread_t made;

	pthread_mutex_lock(&first);
	pthread_create(&made, NULL, take_first, NULL);
	pause_ms(60);
	pthread_mutex_unlock(&first);
	pthread_join(made, NULL);
}

static void *lock_first(void *argument)
{
	pthread_mutex_lock(&first);
	return argument;
}

static int leak_once(void *unused)
{
	kept = malloc(60);
	return unused != NULL;
}

/* A process in this memory, whose end closes the recording: all events are dropped. */
static void memory_child(void)
{
	static _Alignas(16) char stack[65536];

	waitpid(clone(leak_once, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL), NULL, 0);
}

static sigjmp_buf before_wait;
static sem_t locked, jumped;

static void jump(int number)
{
	siglongjmp(before_wait, number);
}

static void *lock_until_jumped(void *unused)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	pthread_mutex_lock(&first);
	sem_post(&locked);
	sem_wait(&jumped);
	pthread_mutex_unlock(&first);
	return unused;
}

/* A handler jumps out of waits of 50 ms, for a lock and for a semaphore. */
static void jumped_waits(void)
{
	pthread_t thread;
	sem_t never;

	signal(SIGALRM, jump);
	sem_init(&never, 0, 0);
	sem_init(&locked, 0, 0);
	sem_init(&jumped, 0, 0);
	pthread_create(&thread, NULL, lock_until_jumped, NULL);
	sem_wait(&locked);
	if (!sigsetjmp(before_wait, 1)) {
		ualarm(50000, 0);
		pthread_mutex_lock(&first);
	}
	if (!sigsetjmp(before_wait, 1)) {
		ualarm(50000, 0);
		sem_wait(&never);
	}
	sem_post(&jumped);
	pthread_join(thread, NULL);
}

static void unlock(void)
{
	pthread_t made;

	pthread_create(&made, NULL, lock_first, NULL);
	pthread_join(made, NULL);
	pthread_mutex_unlock(&first);
}

static void refused(void)
{
	pthread_mutexattr_t kind;
	pthread_mutex_t mutex;

	pthread_mutexattr_init(&kind);
	pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&mutex, &kind);
	pthread_mutex_unlock(&mutex);
	pthread_mutex_destroy(&mutex);
}

static void *other_order(void *argument)
{
	pthread_mutex_lock(&second);
	pthread_mutex_lock(&first);
	pthread_mutex_unlock(&first);
	pthread_mutex_unlock(&second);
	return argument;
}

static void order(void)
{
	pthread_t made;

	pthread_mutex_lock(&first);
	pthread_mutex_lock(&second);
	pthread_mutex_unlock(&second);
	pthread_mutex_unlock(&first);
	pthread_create(&made, NULL, other_order, NULL);
	pthread_join(made, NULL);
}

static void same_order(void)
{
	for (int i = 0; i < 2; i++) {
		pthread_mutex_lock(&first);
		pthread_mutex_lock(&second);
		pthread_mutex_unlock(&second);
		pthread_mutex_unlock(&first);
	}
}

static void *lock_both(void *argument)
{
	pthread_mutex_lock(&second);
	pause_ms(50);
	pthread_mutex_lock(&first);
	return argument;
}

/* The main thread ends the process, which would hang. */
static void deadlock(void)
{
	pthread_t one;

	alarm(1);
	pthread_mutex_lock(&first);
	pthread_create(&one, NULL, lock_both, NULL);
	pause_ms(20);
	pthread_mutex_lock(&second);
}

/* What ends a program that hangs. */
static void end_soon(void)
{
	ualarm(200000, 0);
}

static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;

static void *wait_for_condition(void *argument)
{
	pthread_mutex_lock(&second);
	for (;;)
		pthread_cond_wait(&never, &second);
	return argument;
}

static void hang_condition(void)
{
	end_soon();
	wait_for_condition(NULL);
}

static void hang_semaphore(void)
{
	end_soon();
	sem_init(&semaphore, 0, 0);
	while (sem_wait(&semaphore))
		;
}

static void *sleep_long(void *argument)
{
	pause_ms(10000);
	return argument;
}

static void hang_join(void)
{
	pthread_t made;

	end_soon();
	pthread_create(&made, NULL, sleep_long, NULL);
	pthread_join(made, NULL);
}

/* A lock of a thread that has ended. */
static void orphaned_lock(void)
{
	pthread_t made;

	end_soon();
	pthread_create(&made, NULL, lock_first, NULL);
	pthread_join(made, NULL);
	pthread_mutex_lock(&first);
}

/* A pool's thread that waits for work when the program ends. */
static void idle(void)
{
	pthread_t made;

	pthread_create(&made, NULL, wait_for_condition, NULL);
	pthread_detach(made);
	pause_ms(50);
}

/* libc's own function, which no hook sees. */
static long (*past_hooks)(long number, ...);

/* libc's own syscall(), which has no hook. */
static long (*libc_syscall(void))(long, ...)
{
	return (long (*)(long, ...))dlsym(dlopen("libc.so.6", RTLD_LAZY), "syscall");
}

static void *wake(void *word)
{
	pause_ms(300);
	*(int *)word = 1;
	past_hooks(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	return NULL;
}

/* A wait that no hooked function makes. */
static void futex_wait(void)
{
	static int word;
	pthread_t made;

	past_hooks = libc_syscall();
	pthread_create(&made, NULL, wake, &word);
	while (!*(volatile int *)&word)
		past_hooks(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	pthread_join(made, NULL);
}

/* Descriptors that no hooked function opens or closes. */
static void raw_fd(void)
{
	libc_syscall()(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC, 0);
}

static void raw_close(void)
{
	libc_syscall()(SYS_close, open("/dev/null", O_RDONLY | O_CLOEXEC));
}

static void raw_map(void)
{
	syscall(SYS_mmap, NULL, 8192, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void raw_arena(void)
{
	syscall(SYS_mmap, NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		0);
}

/* A child of a call that is neither hooked nor made by syscall(2). */
static long fork_bare(void)
{
#ifdef __x86_64__
	long pid;

	__asm__ volatile("syscall" : "=a"(pid) : "0"(SYS_fork) : "rcx", "r11", "memory");
	return pid;
#else
	return syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
#endif
}

static void raw_fork(void)
{
	if (!fork_bare())
		syscall(SYS_exit_group, 0);
	pause_ms(20);
}

/* Where the kernel is not asked for children at the end. */
static void raw_fork_killed(void)
{
	if (!syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL))
		syscall(SYS_exit_group, 0);
	pause_ms(20);
	raise(SIGKILL);
}

/* Receives a descriptor by a number that is not recorded. */
static void receive_by_number(void)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	int ends[2];

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || sendmsg(ends[0], &message, 0) != 1 ||
	    syscall(SYS_recvmsg, ends[1], &message, 0) != 1)
		_exit(99);
	close(ends[0]);
	close(ends[1]);
}

/* Where the kernel is not asked for descriptors at the end. */
static void raw_received_killed(void)
{
	receive_by_number();
	raise(SIGKILL);
}

static void raw_event_killed(void)
{
	syscall(SYS_eventfd2, 0, 0);
	raise(SIGKILL);
}

/* Likewise, while the process goes on. */
static void past_waits(void)
{
	receive_by_number();
	pause_ms(60000);
}

/* A child of vfork opens it for itself. */
static void vfork_raw_killed(void)
{
	pid_t pid = vfork();

	if (!pid) {
		syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC, 0);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	raise(SIGKILL);
}

/* A library with a libc of its own. */
static void namespace(void)
{
	if (!dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW))
		_exit(99);
}

/* Likewise, while the process goes on. */
static void namespace_waits(void)
{
	namespace();
	pause_ms(60000);
}

static void raw_wait(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	syscall(SYS_wait4, pid, NULL, 0, NULL);
}

/* The kernel keeps no zombies of it. */
static void ignored_child(void)
{
	signal(SIGCHLD, SIG_IGN);
	child();
}

static void *lock_robust(void *mutex)
{
	pthread_mutex_lock(mutex);
	return NULL;
}

/* A lock that passes from a thread that has ended to another one. */
static void robust(void)
{
	pthread_mutexattr_t kind;
	pthread_mutex_t mutex;
	pthread_t made;

	pthread_mutexattr_init(&kind);
	pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&mutex, &kind);
	pthread_create(&made, NULL, lock_robust, &mutex);
	pthread_join(made, NULL);
	pthread_mutex_lock(&mutex);
	pthread_mutex_consistent(&mutex);
	pthread_mutex_unlock(&mutex);
	pthread_mutex_destroy(&mutex);
}

/* More events than the rings have room for while no collector reads them. */
static void flood(void)
{
	for (int i = 0; i < 400000; i++) {
		void *volatile block = malloc(16);

		free(block);
	}
}

/* Until there is a line to read. */
static void ready(void)
{
	char byte;

	write(1, "ready\n", 6);
	while (read(0, &byte, 1) == 1 && byte != '\n')
		;
}

/* What is executed must not see the library: as a static program does not. */
static void untraced(void)
{
	char *const arguments[] = { (char *)"true", NULL }, *const none[] = { NULL };

	execve("/bin/true", arguments, none);
	_exit(99);
}

/* The same in a child: the rest of the run is seen. */
static void untraced_child(void)
{
	pid_t pid = fork();

	if (!pid)
		untraced();
	waitpid(pid, NULL, 0);
}

/* The same by calls whose child is not recorded before it executes; and by one that fails. */
static void untraced_spawn(void)
{
	char *const arguments[] = { (char *)"true", NULL }, *const none[] = { NULL };
	pid_t pid;

	if (posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, none))
		_exit(99);
	waitpid(pid, NULL, 0);
}

static void vfork_and(const char *program, char *const *environment)
{
	char *const arguments[] = { (char *)"true", NULL };
	pid_t pid = vfork();

	if (!pid) {
		execve(program, arguments, environment);
		_exit(9);
	}
	waitpid(pid, NULL, 0);
}

static void untraced_vfork(void)
{
	char *const none[] = { NULL };

	vfork_and("/bin/true", none);
}

static void traced_vfork(void)
{
	vfork_and("/bin/true", environ);
	vfork_and("/no/such/program", environ);
}

/* Lives on when the program has ended. */
static void daemon_child(void)
{
	if (!fork()) {
		clean(); /* or nobody knows of it yet */
		pause_ms(1500);
		_exit(0);
	}
	pause_ms(50);
}

static const struct {
	const char *word;
	void (*act)(void);
} acts[] = {
	{ "clean", clean },
	{ "leak", leak },
	{ "inner", inner },
	{ "arena", arena },
	{ "buffer", buffer },
	{ "pages", pages },
	{ "other", other },
	{ "fd", descriptor },
	{ "stream", stream },
	{ "mapping", mapping },
	{ "thread", thread },
	{ "joined", joined },
	{ "child", child },
	{ "orphan", orphan },
	{ "waited-for", waited_for },
	{ "lock", lock },
	{ "peak", peak },
	{ "twice", twice },
	{ "wait", wait_long },
	{ "jumped-waits", jumped_waits },
	{ "memory-child", memory_child },
	{ "unlock", unlock },
	{ "refused", refused },
	{ "order", order },
	{ "same-order", same_order },
	{ "deadlock", deadlock },
	{ "hang-condition", hang_condition },
	{ "hang-semaphore", hang_semaphore },
	{ "hang-join", hang_join },
	{ "orphaned-lock", orphaned_lock },
	{ "idle", idle },
	{ "futex", futex_wait },
	{ "flood", flood },
	{ "raw-fd", raw_fd },
	{ "raw-close", raw_close },
	{ "stream-given", stream_given },
	{ "vfork-opens", vfork_opens },
	{ "stream-twice", stream_twice },
	{ "stream-replaced", stream_replaced },
	{ "main-leaves", main_leaves },
	{ "forked-lock", forked_lock },
	{ "forked-own-lock", forked_own_lock },
	{ "shared-lock", shared_lock },
	{ "raw-map", raw_map },
	{ "raw-arena", raw_arena },
	{ "raw-fork", raw_fork },
	{ "raw-fork-killed", raw_fork_killed },
	{ "past-waits", past_waits },
	{ "namespace-waits", namespace_waits },
	{ "raw-event-killed", raw_event_killed },
	{ "raw-received-killed", raw_received_killed },
	{ "vfork-raw-killed", vfork_raw_killed },
	{ "namespace", namespace },
	{ "raw-wait", raw_wait },
	{ "ignored-child", ignored_child },
	{ "robust", robust },
	{ "ready", ready },
	{ "untraced", untraced },
	{ "untraced-child", untraced_child },
	{ "untraced-spawn", untraced_spawn },
	{ "untraced-vfork", untraced_vfork },
	{ "traced-vfork", traced_vfork },
	{ "daemon", daemon_child },
};

int main(int argc, char **argv)
{
	for (int word = 1; word < argc; word++)
		for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
			if (strcmp(acts[i].word, argv[word]) == 0)
				acts[i].act();
	return argc < 2;
}
